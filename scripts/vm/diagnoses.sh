# Runs inside of the machine that boot.sh starts, with CASES, BUDGET and LIMIT_S set before: plants a cause, diagnoses it, and
# prints one line for each: ROW | case | planted | said first | said second | right | experiments, rate |
export DM_DISABLE_UDEV=1 NO_COLOR=1 ASSAY_STORE=/tmp/store.sqlite
MEMBER=131072 # sectors
# One that does not end must leave the next case its turn.
DIAGNOSE="timeout -k 10 $LIMIT_S assay diagnose"

# The shell of busybox prefers its own.
ip() { /bin/ip "$@"; }
tc() { /bin/tc "$@"; }
wanted() { case " $CASES " in "  " | *" $1 "*) return 0 ;; *) return 1 ;; esac }
plan() { # NAME KEYS…
    name=$1; shift
    { echo "name = \"$name\""; echo "[[test]]"; echo "name = \"$name\""; for key in "$@"; do echo "$key"; done; } >"/tmp/$name.toml"
    echo "/tmp/$name.toml"
}
READ=$(plan read 'outstanding = 16' 'access = [{ size = "4KiB", read = 100, random = 100 }]')
ONE=$(plan one 'outstanding = 1' 'access = [{ size = "4KiB", read = 100, random = 100 }]')
FOUR=$(plan four 'outstanding = 4' 'access = [{ size = "4KiB", read = 100, random = 100 }]')
SEQ=$(plan seq 'outstanding = 8' 'access = [{ size = "64KiB", read = 100, random = 0 }]')
WRITE=$(plan write 'outstanding = 16' 'access = [{ size = "4KiB", read = 0, random = 100 }]')

row() { # NAME CAUSES… -- COMMAND…: any of CAUSES is right
    name=$1; shift
    causes=""
    while [ "$1" != -- ]; do causes="$causes $1"; shift; done
    shift
    "$@" --budget "$BUDGET" --json >/tmp/out.json 2>/tmp/err
    awk -v name="$name" -v causes="$causes" '
        /"odds": \[/ { odds = 1 }
        odds && /"cause":/ { gsub(/[",]/, ""); cause[++n] = $2 }
        odds && /"probability":/ { gsub(/,/, ""); p[n] = $2 }
        odds && /^ *\],?$/ { odds = 0 }
        /"iops":/ { gsub(/,/, ""); iops = $2 }
        END {
            if (!n) { while ((getline last < "/tmp/err") > 0) line = last; printf "ROW | %s |%s | none: %s | | | |\n", name, causes, substr(line, 1, 90); exit }
            right = index(causes " ", " " cause[1] " ") ? "yes" : index(causes " ", " " cause[2] " ") ? "second" : "no"
            sub(/^ /, "", causes); gsub(/ /, " or ", causes)
            printf "ROW | %s | %s | %s, %.0f %% | %s, %.0f %% | %s | %.0f IOPS |\n", name, causes, cause[1], p[1] * 100, cause[2], p[2] * 100, right, iops
        }' /tmp/out.json
    [ -z "${EXPLAIN:-}" ] || assay show "$(sed -n 's/.*"run": "\([^"]*\)".*/\1/p' /tmp/out.json | head -1)" --explain 2>&1 | head -90
}
identity() { assay check "$1" 2>/dev/null | sed -n 's/^ *identity *\([^ ]*\).*/\1/p'; }

for folder in /sys/block/sd*; do
    grep -q PLANTED "$folder/device/vpd_pg80" 2>/dev/null && DISK=/dev/${folder##*/}
done
# Data, so that no block is a hole: the first random MiB again and again.
dd if=/dev/urandom of=/tmp/mib bs=1M count=1 2>/dev/null
for at in $(seq 0 1023); do dd if=/tmp/mib of="$DISK" bs=1M seek="$at" conv=notrunc 2>/dev/null; done

# slow NAME NUMBER MS: a device of MEMBER sectors of the disk whose I/Os take MS longer.
slow() { dmsetup create "$1" --table "0 $MEMBER delay $DISK $(($2 * MEMBER)) $3" && dmsetup mknodes; }
# stripe NAME MEMBERS CHUNK_KIB MS SLOW_MS: md RAID 0 of which the third member is slower.
stripe() {
    members=""
    for n in $(seq 0 $(($2 - 1))); do
        ms=$4; [ "$n" = 2 ] && ms=$5
        slow "m$n" "$n" "$ms"; members="$members /dev/mapper/m$n"
    done
    mdadm --create /dev/md0 --run --level=0 --raid-devices="$2" --chunk="$3" $members >/dev/null 2>&1
}
unstripe() { mdadm --stop /dev/md0 >/dev/null 2>&1; for n in 0 1 2 3 4 5 6 7; do dmsetup remove "m$n" 2>/dev/null; done; }

for set in "md-4x64-2 4 64 4 8" "md-4x64-5 4 64 2 10" "md-8x64-3 8 64 4 12" "md-8x16-5 8 16 2 10" "md-4x1024-3 4 1024 3 9"; do
    set -- $set
    wanted "$1" || continue
    stripe "$@"
    row "$1" slow-member -- $DIAGNOSE /dev/md0 "$READ" --read-only
    unstripe
done

if wanted md-even; then
    stripe even 4 64 4 4
    row md-even few-outstanding -- $DIAGNOSE /dev/md0 "$READ" --read-only
    unstripe
fi

if wanted part-slow; then
    # A fifth of the volume lies on something that is ten times slower.
    dmsetup create part --table "0 262144 delay $DISK 0 2
262144 131072 delay $DISK 262144 20
393216 262144 delay $DISK 393216 2" && dmsetup mknodes
    row part-slow weak-region -- $DIAGNOSE /dev/mapper/part "$READ" --read-only
    dmsetup remove part
fi
if wanted part-slow-small; then
    dmsetup create part --table "0 655360 delay $DISK 0 3
655360 32768 delay $DISK 655360 60" && dmsetup mknodes
    row part-slow-small weak-region -- $DIAGNOSE /dev/mapper/part "$READ" --read-only
    dmsetup remove part
fi

if wanted delay-one; then
    slow d 0 5
    row delay-one few-outstanding -- $DIAGNOSE /dev/mapper/d "$ONE" --read-only
    dmsetup remove d
fi
if wanted delay-four; then
    slow d 0 8
    row delay-four few-outstanding -- $DIAGNOSE /dev/mapper/d "$FOUR" --read-only
    dmsetup remove d
fi

if wanted rebuild; then
    slow m0 0 2; slow m1 1 2
    echo 1000 >/proc/sys/dev/raid/speed_limit_min; echo 3000 >/proc/sys/dev/raid/speed_limit_max
    mdadm --create /dev/md0 --run --level=1 --raid-devices=2 --metadata=1.2 /dev/mapper/m0 /dev/mapper/m1 >/dev/null 2>&1
    row rebuild rebuild few-outstanding -- $DIAGNOSE /dev/md0 "$READ" --read-only
    unstripe
fi

if wanted thin-first; then
    # 32 GiB of which nothing is kept: on a small volume every block is allocated within a second.
    thin=67108864
    slow meta 4 8
    dd if=/dev/zero of=/dev/mapper/meta bs=4096 count=16 2>/dev/null
    dmsetup create nothing --table "0 $thin zero" && dmsetup mknodes
    dmsetup create data --table "0 $thin delay /dev/mapper/nothing 0 3" && dmsetup mknodes
    dmsetup create pool --table "0 $thin thin-pool /dev/mapper/meta /dev/mapper/data 128 0" && dmsetup mknodes
    dmsetup message pool 0 "create_thin 0"
    dmsetup create thin --table "0 $thin thin /dev/mapper/pool 0" && dmsetup mknodes
    row thin-first first-write -- $DIAGNOSE /dev/mapper/thin "$WRITE" --not-blank --no-fill --overwrite "$(identity /dev/mapper/thin)"
    dmsetup remove thin; dmsetup remove pool; dmsetup remove data; dmsetup remove nothing; dmsetup remove meta
fi

if wanted crypt; then
    key=$(printf '%064d' 7)
    dmsetup create crypt --table "0 $MEMBER crypt aes-cbc-essiv:sha256 $key 0 $DISK 0" && dmsetup mknodes
    row crypt crypt -- $DIAGNOSE /dev/mapper/crypt "$SEQ" --read-only
    dmsetup remove crypt
fi

# Version 2 of control groups. The group of this shell gets the limit; the disk is the one that the kernel throttles.
mkdir -p /tmp/cg && mount -t cgroup2 c /tmp/cg 2>/dev/null
echo "+io +cpu +memory" >/tmp/cg/cgroup.subtree_control 2>/dev/null
limited() { # FILE VALUE COMMAND…
    file=$1 value=$2; shift 2
    mkdir -p /tmp/cg/planted
    echo "$value" >"/tmp/cg/planted/$file" || echo "no $file" >&2
    sh -c 'echo $$ >/tmp/cg/planted/cgroup.procs; exec "$@"' sh "$@"
    rmdir /tmp/cg/planted
}
NUMBER=$(cat "/sys/block/${DISK##*/}/dev")
wanted max-riops && row max-riops iops-cap -- limited io.max "$NUMBER riops=300" $DIAGNOSE "$DISK" "$READ" --read-only
wanted max-rbps && row max-rbps bytes-cap -- limited io.max "$NUMBER rbps=4000000" $DIAGNOSE "$DISK" "$SEQ" --read-only
wanted cpu-max && row cpu-max tester-cpu host-cpu -- limited cpu.max "8000 100000" $DIAGNOSE "$DISK" "$READ" --read-only

if wanted sdebug-one; then
    # One place in the queue, 2 ms for each command. The device says so; one that only refuses more (max_queue) fails I/Os.
    D=$(for f in /sys/bus/pseudo/drivers/scsi_debug/adapter0/host*/target*/*/block/*; do echo "/dev/${f##*/}"; done | head -1)
    echo 1 >"/sys/block/${D##*/}/device/queue_depth"
    echo 0 >/sys/bus/pseudo/drivers/scsi_debug/delay 2>/dev/null
    echo 2000000 >/sys/bus/pseudo/drivers/scsi_debug/ndelay 2>/dev/null
    for at in 0 1 2 3 4 5 6 7; do dd if=/tmp/mib of="$D" bs=1M seek="$at" conv=notrunc 2>/dev/null; done
    row sdebug-one target-serial -- $DIAGNOSE "$D" "$READ" --read-only
fi

# A target in a namespace of its own, reached over a link that can be shaped.
mkdir -p /var/run
PORT=0
target() { # THREADS BACKING
    PORT=$((PORT + 1)) # a new control port: the old one may not be free yet
    ip netns add t; ip link add vi type veth peer name vt netns t
    ip addr add 10.9.0.1/24 dev vi; ip link set vi up
    ip -n t addr add 10.9.0.2/24 dev vt; ip -n t link set vt up; ip -n t link set lo up
    ip netns exec t tgtd -f -C $PORT -t "$1" >/tmp/tgtd.log 2>&1 & TGT=$!
    for _ in 1 2 3 4 5 6 7 8 9 10; do tgtadm -C $PORT --op show --mode target >/dev/null 2>&1 && break; sleep 1; done
    tgtadm -C $PORT --lld iscsi --op new --mode target --tid 1 -T iqn.2026-01.planted:d
    tgtadm -C $PORT --lld iscsi --op new --mode logicalunit --tid 1 --lun 1 -b "$2" --bsoflags direct
    tgtadm -C $PORT --lld iscsi --op bind --mode target --tid 1 -I ALL
}
untarget() { kill -9 $TGT 2>/dev/null; wait $TGT 2>/dev/null; ip link del vi; ip netns del t; }
LUN=iscsi://10.9.0.2/iqn.2026-01.planted:d/1
for set in "tgt-1 1 target-serial" "tgt-4 4 server-threads"; do
    set -- $set
    wanted "$1" || continue
    slow d 0 8
    target "$2" /dev/mapper/d
    row "$1" "$3" -- $DIAGNOSE "$LUN" "$READ"
    untarget
    dmsetup remove d
done
if wanted netem-delay; then
    target 16 "$DISK"
    tc qdisc add dev vi root netem delay 20ms
    row netem-delay round-trip -- $DIAGNOSE "$LUN" "$FOUR"
    untarget
fi
if wanted netem-loss; then
    target 16 "$DISK"
    # Frames are lost one by one, not all those that the sender's segmentation offload hands over together.
    ip -n t link set vt gso_max_segs 1
    tc -n t qdisc add dev vt root netem delay 2ms loss 2%
    row netem-loss network-fault -- $DIAGNOSE "$LUN" "$SEQ"
    untarget
fi
if wanted tbf; then
    target 16 "$DISK"
    tc -n t qdisc add dev vt root tbf rate 20mbit burst 64k latency 100ms
    row tbf link bytes-cap -- $DIAGNOSE "$LUN" "$SEQ"
    untarget
fi
