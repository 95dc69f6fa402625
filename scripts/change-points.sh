#!/bin/bash
# Changes something at a known second of a run, and looks whether Assay finds the change within 2 s; five loads where
# nothing changes must be found steady. Prints a row of a Markdown table for each. Needs root, fio, tgt, iproute2 and
# control groups (version 1 or 2). Everything is taken down again.
#   scripts/change-points.sh [CASE…]        all without any: limit link cache drain reader, and steady-disk
#                                           steady-limit steady-link steady-sim steady-paced
#   ASSAY=path RUN=40s scripts/change-points.sh
set -u
ASSAY=$(realpath "${ASSAY:-target/release/assay}")
HERE=$(realpath "$(dirname "$0")")
RUN=${RUN:-40s}
WORK=$(mktemp -d "${WORK_IN:-/var/tmp}/assay-changes.XXXXXX")
export ASSAY_STORE=$WORK/runs.sqlite LAB=changes-$$
FILE=$WORK/t.dat
GROUP=assay-changes-$$
WANTED=" $* "
BAD=0

clean() {
    for pid in $(jobs -p); do kill "$pid" 2>/dev/null; done
    "$HERE/lab.sh" down >/dev/null 2>&1
    for root in /sys/fs/cgroup/blkio /sys/fs/cgroup; do rmdir "$root/$GROUP" 2>/dev/null; done
    rm -rf "$WORK"
}
trap clean EXIT
trap 'exit 130' INT TERM

wanted() { [ "$WANTED" = "  " ] || [[ "$WANTED" == *" $1 "* ]]; }

plan() { # plan NAME KEYS…: prints the path of a plan of one test
    local path=$WORK/$1.toml
    printf 'name = "%s"\n[[test]]\nname = "%s"\nwarmup = "2s"\nrun = "%s"\n' "$1" "$1" "$RUN" >"$path"
    shift
    printf '%s\n' "$@" >>"$path"
    echo "$path"
}

# row NAME WHAT CHANGED_UNIX_S: prints what was found in the last run; without a time nothing must be found.
row() {
    rm -f "$WORK/last.assay"
    "$ASSAY" export last -o "$WORK/last.assay" >/dev/null 2>&1
    "$ASSAY" show last --json >"$WORK/last.json" 2>/dev/null
    python3 - "$WORK/last.assay" "$WORK/last.json" "$@" <<'PYTHON' || BAD=1
import json, re, sys

export, report, name, what, changed = sys.argv[1:]
lines = [json.loads(line) for line in open(export)][1:]
started = next(l["what"]["body"]["started_unix_ms"] for l in lines if l["what"]["event"] == "started") / 1e3
windows = [l["at_ns"] / 1e9 for l in lines
           if l["what"]["event"] == "phase_started" and l["what"]["body"]["phase"] == "measure"]
window = started + windows[-1]
d = json.load(open(report))
rules = ("level-change", "ramp-up", "drift", "saw-tooth", "two-modes", "foreign-io")
test = d["tests"][-1]["name"]
found = []
for f in d["findings"]:
    if f["rule"] in rules and (len(d["tests"]) == 1 or f["says"].startswith(test) or test in json.dumps(f)):
        seconds = [int(s) for s in re.findall(r"second (\d+)", f["says"])]
        if seconds or f["rule"] != "foreign-io":
            found.append((f["rule"], seconds))
says = "; ".join("%s %s" % (rule, ", ".join(map(str, seconds))) for rule, seconds in found) or "nothing"
if changed == "-":
    ok = not found
    truth = "none"
else:
    second = float(changed) - (window if float(changed) > 1e6 else 0)
    truth = "%.1f" % second
    ok = any(abs(s - second) <= 2 for _, seconds in found for s in seconds)
print("| %s | %s | %s | %s | %s |" % (name, what, truth, says.strip(), "yes" if ok else "no"))
sys.exit(0 if ok else 1)
PYTHON
}

device() { # number of the whole disk under the file
    local source dev
    source=$(df --output=source "$WORK" | tail -n 1)
    dev=$(lsblk -ndo PKNAME "$source" 2>/dev/null)
    lsblk -ndo MAJ:MIN "/dev/${dev:-$(basename "$source")}" | tr -d ' '
}

# In a group whose limit of reads a second may change; limit RATE sets it, 0 removes it.
group_up() {
    if [ -d /sys/fs/cgroup/blkio ]; then
        GROUP_DIR=/sys/fs/cgroup/blkio/$GROUP
        mkdir -p "$GROUP_DIR"
        limit() { echo "$(device) $1" >"$GROUP_DIR/blkio.throttle.read_iops_device"; }
    else
        GROUP_DIR=/sys/fs/cgroup/$GROUP
        echo +io >/sys/fs/cgroup/cgroup.subtree_control
        mkdir -p "$GROUP_DIR"
        limit() { echo "$(device) riops=$([ "$1" = 0 ] && echo max || echo "$1")" >"$GROUP_DIR/io.max"; }
    fi
}
grouped() { bash -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$GROUP_DIR" "$@"; }

READ=$(plan read 'outstanding = 16' 'access = [{ size = "4KiB", read = 100, random = 100 }]')
SEQ=$(plan stream 'outstanding = 16' 'access = [{ size = "64KiB", read = 100, random = 0 }]')
PACED=$(plan paced 'outstanding = 16' 'access = [{ size = "4KiB", read = 100, random = 100 }]' 'pace = { rate = "2000/s" }')
WRITE=$(plan write 'outstanding = 8' 'access = [{ size = "64KiB", read = 0, random = 100 }]')
run() { # a run that failed has no row, and the script fails
    "$ASSAY" run "$@" >"$WORK/out" 2>&1 && return
    echo "assay run failed: $(tail -n 3 "$WORK/out")" >&2
    BAD=1
    return 1
}
on_file() { run "$READ" "$FILE" --size 1GiB; }

echo "| case | what changed | at second | found | right |"
echo "|---|---|---|---|---|"

# The file is made before, so that a window begins about 3 s after its run.
wanted limit || wanted reader || wanted steady-disk || wanted steady-limit || wanted steady-paced && run "$READ" "$FILE" --size 1GiB --set run=1s

if wanted limit; then
    group_up; limit 4000
    (grouped "$ASSAY" run "$READ" "$FILE" --size 1GiB >/dev/null 2>&1) & pid=$!
    sleep 20; limit 2500; now=$(date +%s.%N); wait $pid
    row limit "cgroup limit from 4,000 to 2,500 reads/s" "$now"
fi
if wanted reader; then
    on_file & pid=$!
    sleep 20
    now=$(date +%s.%N)
    fio --name=reader --filename="$FILE" --readonly --direct=1 --rw=randread --bs=64k --iodepth=16 --ioengine=libaio \
        --time_based --runtime=300 >/dev/null 2>&1 & fio=$!
    wait $pid; kill $fio; wait $fio 2>/dev/null
    row reader "another reader on the disk (fio, 64 KiB, depth 16)" "$now"
fi
if wanted link || wanted steady-link; then
    MTU=1500 "$HERE/lab.sh" up 1500 >/dev/null || echo "no lab" >&2
    lun="iscsi://10.77.1.2/iqn.2026-11.example.$LAB:open/1"
    in_lab() { ip netns exec "$LAB-client" "$ASSAY" run "$SEQ" "$lun" --size 128MiB >"$WORK/out" 2>&1; }
    if wanted link; then
        in_lab & pid=$!
        sleep 20; now=$(date +%s.%N)
        tc -n "$LAB-server" class change dev s1 parent 1: classid 1:1 htb rate 600mbit burst 256k cburst 256k quantum 60000
        wait $pid
        tc -n "$LAB-server" class change dev s1 parent 1: classid 1:1 htb rate 1gbit burst 256k cburst 256k quantum 60000
        row link "shaped link from 1,000 to 600 Mbit/s" "$now"
    fi
    if wanted steady-link; then in_lab; row steady-link "nothing; stream over a link of 1 Gbit/s" -; fi
    "$HERE/lab.sh" down >/dev/null 2>&1
fi
array() { # array WRITE_BACK: one disk of 7200 rpm behind a controller and a link of 1 Gbit/s
    cat >"$WORK/array.toml" <<ARRAY
name = "one-disk"
[device]
kind = "hdd"
from = "assumed: class of 7200 rpm disks"
capacity = "1TB"
rpm = 7200
seek_track_ms = 0.8
seek_avg_ms = 8.5
seek_full_ms = 18
outer_mb_s = 200
inner_mb_s = 100
[raid]
from = "assumed: by definition"
level = "single"
disks = 1
[controller]
from = "assumed: by definition"
$1
[protocol]
from = "assumed: usual of such targets"
kind = "iscsi"
[link]
rate = "1GbE"
ARRAY
}
if wanted cache; then
    array 'write_back = "1GiB"'
    run "$WRITE" "sim:$WORK/array.toml" --size 64GiB
    # The cache is full when what came in beyond what the disk took is its size: 1 GiB / (rate before - rate after).
    second=$("$ASSAY" show last --json | python3 -c '
import json, sys
rate = [second["mib_per_s"] for second in json.load(sys.stdin)["tests"][-1]["series"]]
print(1024 / (sum(rate[:5]) / 5 - sum(rate[-5:]) / 5) - 2)')
    row cache "write cache of 1 GiB of a simulated array full (by its rates, 2 s of warm-up)" "$second"
fi
if wanted drain; then
    on_file & pid=$!
    # What a cache or a copy still has to write, at a rate that the disk can serve, until it is done after about 20 s.
    fio --name=drain --filename="$WORK/drain.dat" --size=4g --io_size=3g --direct=1 --rw=write --bs=1m --iodepth=8 \
        --ioengine=libaio --rate=150m >/dev/null 2>&1
    now=$(date +%s.%N); wait $pid; rm -f "$WORK/drain.dat"
    row drain "3 GiB in the background written to their end (fio, 150 MiB/s)" "$now"
fi
wanted steady-disk && on_file && row steady-disk "nothing; random reads of the disk" -
if wanted steady-limit; then
    group_up; limit 3000
    grouped "$ASSAY" run "$READ" "$FILE" --size 1GiB >/dev/null 2>&1
    row steady-limit "nothing; 3,000 reads/s by a cgroup" -
fi
if wanted steady-sim; then
    array 'read_cache = "64MiB"'
    run "$READ" "sim:$WORK/array.toml" --size 64GiB && row steady-sim "nothing; random reads of a simulated disk" -
fi
wanted steady-paced && run "$PACED" "$FILE" --size 1GiB && row steady-paced "nothing; 2,000 reads/s by the plan" -
exit $BAD
