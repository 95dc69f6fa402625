"""A device of 256 MiB as a plugin of nbdkit, with one cause planted by mode=NAME."""
import errno
import os
import threading
import time
import zlib

import nbdkit

API_VERSION = 2
SIZE = 256 << 20
# half: the second half is slower. stall: nothing is answered for a second of every five. fills: writes are taken in at
# once until so many bytes wait, which drain at their own rate. flush: a flush takes long. reduces: data are compressed
# before they are stored. six: a stripe of six members of which one is slower. serial, pieces: one I/O at a time.
# surface: a hole, a slow region, an unreadable place and a fast region that holds data.
CHUNK, MEMBERS, SLOW = 128 << 10, 6, 3
HOLE, SLOW_SPAN, FAST_SPAN = (64 << 20, 96 << 20), (128 << 20, 144 << 20), (192 << 20, 224 << 20)
BROKEN = 240 << 20
CACHE_BYTES, DRAIN_PER_S = 48 << 20, 4e6
STORED_PER_S = 12e6

mode = "plain"
data = bytearray()
lock = threading.Lock()
free = [0.0] * MEMBERS
level, level_at = 0.0, 0.0
busy_until = 0.0


def config(key, value):
    global mode
    assert key == "mode"
    mode = value


def get_ready():
    data.extend(os.urandom(SIZE))
    if mode == "surface":
        data[HOLE[0]:HOLE[1]] = bytes(HOLE[1] - HOLE[0])


def thread_model():
    return nbdkit.THREAD_MODEL_PARALLEL


def open(_readonly):
    return 1


def get_size(_h):
    return SIZE


def can_multi_conn(_h):
    return True


def can_flush(_h):
    return True


def wait_until(at):
    left = at - time.monotonic()
    if left > 0:
        time.sleep(left)


def queued(takes_s, queue):
    """Waits for a server that serves in the order of arrival."""
    global busy_until
    with lock:
        now = time.monotonic()
        if queue is None:
            busy_until = max(now, busy_until) + takes_s
            end = busy_until
        else:
            free[queue] = max(now, free[queue]) + takes_s
            end = free[queue]
    wait_until(end)


def media(offset, size, is_write):
    global level, level_at
    if mode == "half":
        time.sleep(0.005 if offset >= SIZE // 2 else 0.0005)
    elif mode == "surface":
        if offset <= BROKEN < offset + size:
            nbdkit.set_error(errno.EIO)
            raise OSError(errno.EIO, "planted")
        places = [(HOLE, 0.0), (SLOW_SPAN, 0.006), (FAST_SPAN, 0.0002)]
        time.sleep(next((s for (a, b), s in places if a <= offset < b), 0.001))
    elif mode == "stall":
        now = time.monotonic()
        if now % 5 < 1:
            wait_until(now - now % 5 + 1)
        time.sleep(0.0005)
    elif mode == "fills" and is_write:
        with lock:
            now = time.monotonic()
            level = max(0.0, level - (now - level_at) * DRAIN_PER_S) + size
            level_at = now
            wait_s = max(0.0, level - CACHE_BYTES) / DRAIN_PER_S
        time.sleep(wait_s)
    elif mode == "six":
        for chunk in range(offset // CHUNK, (offset + size - 1) // CHUNK + 1):
            member = chunk % MEMBERS
            queued(0.004 if member == SLOW else 0.001, member)
    elif mode == "serial":
        queued(0.003, None)
    elif mode == "pieces":
        queued(0.001, None)
    else:
        time.sleep(0.0003)


def pread(_h, buf, offset, _flags):
    media(offset, len(buf), False)
    buf[:] = data[offset:offset + len(buf)]


def pwrite(_h, buf, offset, _flags):
    if mode == "reduces":
        queued(len(zlib.compress(buf, 1)) / STORED_PER_S, None)
    else:
        media(offset, len(buf), True)
    data[offset:offset + len(buf)] = buf


def flush(_h, _flags):
    if mode == "flush":
        queued(0.006, None)
