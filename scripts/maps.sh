#!/bin/bash
# Maps of planted surfaces: prints a row of a Markdown table for each, with time, reads and what was found. Needs root,
# nbdkit with its Python plugin, nbdfuse, tgt, fio.
#   ASSAY=path BUDGET=30s KEEP=folder scripts/maps.sh [CASE…]     names of cases; all without any. KEEP gets the pages
set -u
ASSAY=$(realpath "${ASSAY:-target/debug/assay}")
BUDGET=${BUDGET:-30s}
HERE=$(dirname "$(realpath "$0")")
WORK=$(mktemp -d "${WORK_IN:-/var/tmp}/assay-maps.XXXXXX")
export ASSAY_STORE=$WORK/runs.sqlite
KEEP=${KEEP:-$WORK}
WANTED=" $* "
TGT=7797
declare -a PIDS=() MOUNTS=() LOOPS=()

clean() {
    for loop in "${LOOPS[@]:-}"; do [ -n "$loop" ] && losetup -d "$loop"; done
    for mount in "${MOUNTS[@]:-}"; do [ -n "$mount" ] && fusermount3 -u -z "$mount"; done
    for pid in "${PIDS[@]:-}"; do [ -n "$pid" ] && kill "$pid"; done
    rm -rf "$WORK"
} 2>/dev/null
trap clean EXIT
trap 'exit 130' INT TERM

wanted() { [ "$WANTED" = "  " ] || [[ "$WANTED" == *" $1 "* ]]; }

# map NAME TARGET [OPTIONS]: maps a target and prints its row.
map() {
    local name=$1
    shift
    # One map as a page, and the same as numbers.
    "$ASSAY" map "$@" --budget "$BUDGET" -o "$KEEP/$name.html" --json >"$WORK/$name.json" 2>"$WORK/err" || {
        echo "| $name | | | $(tail -n 1 "$WORK/err" | cut -c 1-150) |"
        return
    }
    python3 - "$name" "$WORK/$name.json" <<'PY'
import json, sys
name, path = sys.argv[1:]
map = json.load(open(path))
mib = lambda at: f"{at / 2**20:.4g}"
def says(f):
    kind = f["kind"]
    if kind == "slow-member":
        slow = ", ".join(f"{s['member']} ({s['times']:.1f}x)" for s in f["slow"])
        return f"slow member {slow} of {f['members']}, chunk {f['chunk_bytes'] >> 10} KiB"
    if kind == "zoned":
        return f"zoned {f['first_mib_per_s']:.0f} to {f['last_mib_per_s']:.0f} MiB/s"
    if "from_bytes" in f:
        return f"{kind} {mib(f['from_bytes'])} to {mib(f['to_bytes'])} MiB" + (f" ({f['times']:.1f}x)" if "times" in f else "")
    if kind == "weak-place":
        return f"weak place at {mib(f['offset_bytes'])} MiB ({f['times']:.1f}x)"
    return f"{kind} {f.get('places', f.get('share', ''))}".strip()
print(f"| {name} | {map['seconds']:.1f} s | {map['reads']} | {'; '.join(says(f) for f in map['findings']) or 'nothing'} |")
PY
}

# device MODE: a device of planted/device.py as a file of FUSE, $DEVICE.
device() {
    local at=$WORK/$1
    mkdir -p "$at"
    nbdkit -f -U "$at.sock" -t 8 python "$HERE/planted/device.py" mode="$1" >/dev/null 2>"$at.err" &
    PIDS+=($!)
    for _ in $(seq 100); do [ -S "$at.sock" ] && break; sleep 0.1; done
    nbdfuse "$at" --unix "$at.sock" >/dev/null 2>>"$at.err" &
    MOUNTS+=("$at")
    for _ in $(seq 100); do [ -e "$at/nbd" ] && break; sleep 0.1; done
    DEVICE=$at/nbd
}

# beside COMMAND…: runs it while another program reads $DEVICE for two seconds of every five.
beside() {
    (while :; do
        fio --name=n --filename="$DEVICE" --direct=1 --rw=randread --bs=64k --iodepth=16 --ioengine=libaio \
            --readonly --time_based --runtime=2 >/dev/null 2>&1
        sleep 3
    done) &
    local pid=$!
    "$@"
    kill "$pid" $(ps -o pid= --ppid "$pid"); wait "$pid"
} 2>/dev/null

echo "| surface | time | reads | found |"
echo "|---|---|---|---|"
if wanted disk; then
    head -c 268435456 /dev/urandom >"$WORK/t.dat"; sync "$WORK/t.dat"
    map disk "$WORK/t.dat"
    DEVICE=$WORK/t.dat beside map disk-disturbed "$WORK/t.dat"
fi
if wanted surface; then
    device surface
    LOOP=$(losetup -f --show -r --direct-io=on "$DEVICE") && LOOPS+=("$LOOP")
    map surface "$DEVICE"
    [ -z "$LOOP" ] || map surface-loop "$LOOP"
    beside map surface-disturbed "$DEVICE"
fi
if wanted stripe; then device six; map stripe "$DEVICE"; beside map stripe-disturbed "$DEVICE"; fi
if wanted plain; then device plain; map plain "$DEVICE"; beside map plain-disturbed "$DEVICE"; fi
if wanted zoned; then map zoned sim:hdd-7200; map zoned-sequential sim:hdd-7200 --sequential; fi
if wanted lun; then
    head -c 134217728 /dev/urandom >"$WORK/lun.img"
    tgtd -f -C $TGT --iscsi portal=127.0.0.1:3297 >/dev/null 2>&1 &
    PIDS+=($!)
    for _ in $(seq 50); do tgtadm -C $TGT --op show --mode target >/dev/null 2>&1 && break; sleep 0.1; done
    in=(tgtadm -C $TGT --lld iscsi)
    "${in[@]}" --op new --mode target --tid 1 -T iqn.2026-01.maps:d
    "${in[@]}" --op new --mode logicalunit --tid 1 --lun 1 -b "$WORK/lun.img"
    "${in[@]}" --op bind --mode target --tid 1 -I ALL
    map lun iscsi://127.0.0.1:3297/iqn.2026-01.maps:d/1
    "${in[@]}" --op delete --force --mode target --tid 1
    tgtadm -C $TGT --op delete --mode system
fi
