#!/bin/bash
# Set-ups that no range of a hypothesis was compared with: what must be said of each was written down before the first
# diagnosis. Prints a row of a Markdown table for each, like diagnosis-planted.sh. Needs root, tgt, nfs-ganesha, fio,
# nbdkit with its Python plugin, nbdfuse, e2fsprogs, iproute2 and control groups of version 1.
#   ASSAY=path BUDGET=30s scripts/diagnosis-unseen.sh [CASE…]        names of cases; all without any
set -u
ASSAY=$(realpath "${ASSAY:-target/debug/assay}")
BUDGET=${BUDGET:-30s}
HERE=$(dirname "$(realpath "$0")")
WORK=$(mktemp -d "${WORK_IN:-/var/tmp}/assay-unseen.XXXXXX")
export ASSAY_STORE=${ASSAY_STORE:-$WORK/runs.sqlite}
GROUP=assay-unseen-$$
WANTED=" $* "
TGT=7796
LAB=unseen-$$
# What is taken down, the last one first.
declare -a PIDS=() UNDO=()
DEVICES=0

undo() {
    local step
    for step in "${UNDO[@]:-}"; do [ -n "$step" ] && bash -c "$step" >/dev/null 2>&1; done
    UNDO=()
}
clean() {
    for pid in "${PIDS[@]:-}"; do [ -n "$pid" ] && kill -9 "$pid" 2>/dev/null; done
    undo
    ip netns del "ap-i-$$" 2>/dev/null
    ip netns del "ap-t-$$" 2>/dev/null
    rmdir "/sys/fs/cgroup/cpu/$GROUP-t" "/sys/fs/cgroup/blkio/$GROUP/below" "/sys/fs/cgroup/blkio/$GROUP" 2>/dev/null
    rm -rf "$WORK" "/dev/shm/$LAB"
}
trap clean EXIT
trap 'exit 130' INT TERM
. "$HERE/planted/common.sh"

ONE=$(plan read-one 'outstanding = 1' 'access = [{ size = "4KiB", read = 100, random = 100 }]')
READ8=$(plan read-8 'outstanding = 8' 'access = [{ size = "4KiB", read = 100, random = 100 }]')
READ32=$(plan read-32 'outstanding = 32' 'access = [{ size = "4KiB", read = 100, random = 100 }]')
RAND64=$(plan rand-64k 'outstanding = 16' 'access = [{ size = "64KiB", read = 100, random = 100 }]')
SEQ=$(plan seq-64k 'outstanding = 16' 'access = [{ size = "64KiB", read = 100, random = 0 }]')
SEQ4=$(plan seq-four 'outstanding = 4' 'access = [{ size = "64KiB", read = 100, random = 0 }]')
WRITE8=$(plan write-8 'outstanding = 8' 'access = [{ size = "4KiB", read = 0, random = 100 }]')
WRITE64=$(plan write-64k 'outstanding = 8' 'access = [{ size = "64KiB", read = 0, random = 100 }]')
SAME=$(plan same-64k 'outstanding = 4' 'data = "repeating"' 'access = [{ size = "64KiB", read = 0, random = 100 }]')

D=("${DIAGNOSE[@]}")
DEV=$(stat -c "%Hd:%Ld" "$WORK")

# device MODE: a device of planted/device.py as a file of FUSE, $DEVICE.
device() {
    local at=$WORK/$1-$((++DEVICES))
    mkdir -p "$at"
    nbdkit -f -U "$at.sock" -t 32 python "$HERE/planted/device.py" mode="$1" >/dev/null 2>"$at.err" &
    UNDO=("kill $!" "${UNDO[@]}")
    for _ in $(seq 100); do [ -S "$at.sock" ] && break; sleep 0.1; done
    nbdfuse "$at" --unix "$at.sock" >/dev/null 2>>"$at.err" &
    UNDO=("fusermount3 -u -z '$at'" "${UNDO[@]}")
    for _ in $(seq 100); do [ -e "$at/nbd" ] && break; sleep 0.1; done
    DEVICE=$at/nbd
}

# disk MODE: the same as a loop device, $DISK, whose content $IDENTITY allows to overwrite.
disk() {
    device "$1"
    DISK=$(losetup -f --show --direct-io=on "$DEVICE" 2>/dev/null || losetup -f --show "$DEVICE") || return
    UNDO=("losetup -d $DISK" "${UNDO[@]}")
    IDENTITY=$("$ASSAY" check "$DISK" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["identities"][-1])')
}

# ext4 BACKING FOLDER: a file system on a loop device.
ext4() {
    local loop
    loop=$(losetup -f --show --direct-io=on "$1" 2>/dev/null || losetup -f --show "$1") || return
    UNDO=("losetup -d $loop" "${UNDO[@]}")
    mkdir -p "$2"
    mkfs.ext4 -q -m 0 -E nodiscard "$loop" && mount "$loop" "$2" || return
    UNDO=("umount '$2'" "${UNDO[@]}")
}

echo "| case | planted | said first | said second | right | experiments, rate |"
echo "|---|---|---|---|---|---|"

groups_and_files() {
    if wanted parent-v1; then
        # Version 1 limits the group itself and nothing below it: the file is there, and limits nobody.
        local top=/sys/fs/cgroup/blkio/$GROUP
        mkdir -p "$top/below" && echo "$DEV 400" >"$top/blkio.throttle.read_iops_device"
        row parent-v1 few-outstanding -- bash -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$top/below" "${D[@]}" "$WORK/t.dat" "$ONE" --size 256MiB
        rmdir "$top/below" "$top"
    fi
    if wanted beside-writer; then
        fio --name=w --filename="$WORK/w.dat" --size=512m --direct=1 --rw=randwrite --bs=64k --iodepth=16 \
            --ioengine=libaio --time_based --runtime=3600 >/dev/null 2>&1 &
        local pid=$!
        PIDS+=($pid)
        sleep 4
        row beside-writer neighbour -- "${D[@]}" "$WORK/r.dat" "$READ8" --size 256MiB
        kill $pid; wait $pid 2>/dev/null
    fi
    if wanted nearly-full; then
        truncate -s 400M "$WORK/full.img"
        ext4 "$WORK/full.img" "$WORK/full" && fallocate -l 250M "$WORK/full/ballast" \
            && row nearly-full few-outstanding -- "${D[@]}" "$WORK/full/t.dat" "$ONE" --size 64MiB
        undo
    fi
    if wanted pieces; then
        # Each 64 KiB lie in sixteen pieces on a device that takes a millisecond for each.
        device pieces
        ext4 "$DEVICE" "$WORK/frag" && python3 - "$WORK/frag" <<'PY'
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
room = os.statvfs(sys.argv[1])
full = os.open(f"{sys.argv[1]}/full", os.O_CREAT | os.O_RDWR)
libc.fallocate(full, 0, 0, (room.f_bavail - 64) * room.f_bsize)
# What is left are holes of one block each.
for at in range(0, 32 << 20, 8192):
    libc.fallocate(full, 3, at, 4096)
data = os.open(f"{sys.argv[1]}/t.dat", os.O_CREAT | os.O_RDWR)
for at in range(0, 15 << 20, 1 << 20):
    os.pwrite(data, os.urandom(1 << 20), at)
os.fsync(data)
PY
        row pieces fragmented target-serial -- "${D[@]}" "$WORK/frag/t.dat" "$SEQ4" --read-only
        undo
    fi
}

devices() {
    if wanted half; then device half; row half weak-region -- "${D[@]}" "$DEVICE" "$READ8" --read-only; undo; fi
    if wanted stall; then device stall; row stall none-of-these neighbour -- "${D[@]}" "$DEVICE" "$READ8" --read-only; undo; fi
    if wanted six; then device six; row six slow-member -- "${D[@]}" "$DEVICE" "$READ8" --read-only; undo; fi
    if wanted serial; then device serial; row serial target-serial -- "${D[@]}" "$DEVICE" "$READ8" --read-only; undo; fi
    if wanted fills; then disk fills; row fills write-cache-full slc-exhausted -- "${D[@]}" "$DISK" "$WRITE64" --not-blank --overwrite "$IDENTITY"; undo; fi
    if wanted flush; then disk flush; row flush flush -- "${D[@]}" "$DISK" "$WRITE8" --sync --not-blank --overwrite "$IDENTITY"; undo; fi
    if wanted reduces; then disk reduces; row reduces reducible-data -- "${D[@]}" "$DISK" "$SAME" --not-blank --overwrite "$IDENTITY"; undo; fi
}

nfs_sync() {
    wanted nfs-sync || return
    # A file system on a device with slow flushes, exported with writes that wait.
    device flush
    mkdir -p "/dev/shm/$LAB/nfs"
    ext4 "$DEVICE" "/dev/shm/$LAB/nfs/rw" || return
    LAB=$LAB NFS_PORT=12149 MOUNT_PORT=12148 "$HERE/lab-nfs.sh" start >/dev/null 2>&1
    UNDO=("LAB=$LAB NFS_PORT=12149 MOUNT_PORT=12148 '$HERE/lab-nfs.sh' kill; sleep 1" "${UNDO[@]}")
    row nfs-sync flush target-serial -- "${D[@]}" "nfs://127.0.0.1/rw/t.dat?port=12149&mountport=12148&sync=file" "$WRITE8" --size 64MiB
    undo
}

links() {
    local any=0 name
    for name in two-portals mtu-server quota-seq far-deep; do wanted $name && any=1; done
    [ $any = 1 ] || return
    dd if=/dev/urandom of="$WORK/lun" bs=1M count=128 status=none conv=fsync
    local I=(ip netns exec "ap-i-$$" "${DIAGNOSE[@]}")
    local one='iscsi://10.77.1.2/iqn.2026-01.planted:d/1'
    net_up 1gbit && tgt_up "$WORK/lun" || return
    if wanted two-portals; then
        shape 2 200mbit
        row two-portals slow-path -- "${I[@]}" "$one?portal=10.77.2.2" "$RAND64"
    fi
    if wanted mtu-server; then
        shape 1 200mbit
        ip -n "ap-t-$$" link set pt1 mtu 9000
        row mtu-server link -- "${I[@]}" "$one" "$SEQ"
        ip -n "ap-t-$$" link set pt1 mtu 1500
    fi
    shape 1 10gbit
    if wanted quota-seq; then
        mkdir -p "/sys/fs/cgroup/cpu/$GROUP-t"
        echo 10000 >"/sys/fs/cgroup/cpu/$GROUP-t/cpu.cfs_quota_us"
        echo "$TGT_PID" >"/sys/fs/cgroup/cpu/$GROUP-t/cgroup.procs"
        row quota-seq target-per-byte target-per-io -- "${I[@]}" "$one" "$SEQ"
        echo "$TGT_PID" >/sys/fs/cgroup/cpu/cgroup.procs
        rmdir "/sys/fs/cgroup/cpu/$GROUP-t"
    fi
    if wanted far-deep; then
        # 20 ms there and back, with 32 outstanding: the distance limits, and more I/Os in flight are as much faster.
        ip netns exec "ap-t-$$" python3 "$HERE/planted/far.py" 3270 3260 10 &
        PIDS+=($!)
        for _ in $(seq 100); do ip netns exec "ap-t-$$" ss -Hltn 'sport = :3270' | grep -q . && break; sleep 0.1; done
        row far-deep round-trip -- ip netns exec "ap-t-$$" "${DIAGNOSE[@]}" "iscsi://127.0.0.1:3270/iqn.2026-01.planted:d/1" "$READ32"
    fi
    tgt_down
}

groups_and_files
devices
nfs_sync
links
true
