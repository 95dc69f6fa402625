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
# stripe NAME MEMBERS CHUNK_KIB MS SLOW_MS [ALSO]: md RAID 0 of which the third member is slower, and the one of number ALSO.
stripe() {
    members=""
    for n in $(seq 0 $(($2 - 1))); do
        ms=$4
        { [ "$n" = 2 ] || [ "$n" = "${6:-}" ]; } && ms=$5
        slow "m$n" "$n" "$ms"; members="$members /dev/mapper/m$n"
    done
    mdadm --create /dev/md0 --run --level=0 --raid-devices="$2" --chunk="$3" $members >/dev/null 2>&1
}
unstripe() { mdadm --stop /dev/md0 >/dev/null 2>&1; for n in 0 1 2 3 4 5 6 7; do dmsetup remove "m$n" 2>/dev/null; done; }

for set in "md-4x64-2 4 64 4 8" "md-4x64-5 4 64 2 10" "md-8x64-3 8 64 4 12" "md-8x16-5 8 16 2 10" "md-4x1024-3 4 1024 3 9" \
    "md-two-slow 8 64 2 12 5"; do
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

if wanted raid5-degraded; then
    for n in 0 1 2 3; do slow "m$n" "$n" 5; done
    mdadm --create /dev/md0 --run --level=5 --raid-devices=4 --chunk=64 --assume-clean /dev/mapper/m[0-3] >/dev/null 2>&1
    mdadm -q /dev/md0 --fail /dev/mapper/m1
    row raid5-degraded few-outstanding -- $DIAGNOSE /dev/md0 "$FOUR" --read-only
    unstripe
fi
if wanted rebuild-slow; then
    # A member that is slow by itself, in an array that is at work beside the load.
    slow m0 0 2; slow m1 1 2; slow m2 2 14; slow m3 3 2
    echo 500 >/proc/sys/dev/raid/speed_limit_min; echo 1500 >/proc/sys/dev/raid/speed_limit_max
    mdadm --create /dev/md0 --run --level=10 --layout=n2 --raid-devices=4 --chunk=64 /dev/mapper/m[0-3] >/dev/null 2>&1
    row rebuild-slow slow-member -- $DIAGNOSE /dev/md0 "$READ" --read-only
    unstripe
fi

if wanted cache-cold; then
    # A cache that holds a quarter and nothing yet: what is read for the first time waits for the origin.
    slow origin 0 6
    dmsetup create cmeta --table "0 16384 linear $DISK 1048576" && dmsetup mknodes
    dmsetup create cdata --table "0 32768 linear $DISK 1064960" && dmsetup mknodes
    dd if=/dev/zero of=/dev/mapper/cmeta bs=4096 count=16 2>/dev/null
    dmsetup create cached --table "0 $MEMBER cache /dev/mapper/cmeta /dev/mapper/cdata /dev/mapper/origin 128 1 writethrough smq 0" &&
        dmsetup mknodes
    row cache-cold few-outstanding -- $DIAGNOSE /dev/mapper/cached "$FOUR" --read-only
    for n in cached cmeta cdata origin; do dmsetup remove $n; done
fi

if wanted zoned-null; then
    # Zones of which nothing was written, and a timer of 2 ms for each command.
    mkdir -p /sys/kernel/config; mount -t configfs c /sys/kernel/config 2>/dev/null
    N=/sys/kernel/config/nullb/planted
    mkdir $N
    echo 1 >$N/zoned; echo 64 >$N/zone_size; echo 2048 >$N/size; echo 2 >$N/irqmode; echo 2000000 >$N/completion_nsec
    echo 64 >$N/hw_queue_depth; echo 1 >$N/power
    row zoned-null few-outstanding -- $DIAGNOSE /dev/planted "$FOUR" --read-only
    echo 0 >$N/power; rmdir $N
fi

if wanted ext4-sync; then
    # Each write waits until it is durable, because the mount says so.
    slow d 0 3
    mkfs.ext4 -q -F /dev/mapper/d >/dev/null 2>&1; mkdir -p /tmp/synced; mount -t ext4 -o sync /dev/mapper/d /tmp/synced
    row ext4-sync flush -- $DIAGNOSE /tmp/synced/file "$WRITE" --size 16MiB
    umount /tmp/synced; dmsetup remove d
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
    # As cryptsetup names it: the identity is how anybody knows what a device is.
    dmsetup create crypt --uuid CRYPT-PLAIN-planted --table "0 $MEMBER crypt aes-cbc-essiv:sha256 $key 0 $DISK 0" &&
        dmsetup mknodes
    row crypt crypt -- $DIAGNOSE /dev/mapper/crypt "$SEQ" --read-only
    dmsetup remove crypt
fi
if wanted crypt-same; then
    # The CPU that issues an I/O enciphers it, and no detour over threads.
    key=$(printf '%064d' 7)
    table="0 $MEMBER crypt aes-cbc-essiv:sha256 $key 0 $DISK 0 3 same_cpu_crypt no_read_workqueue no_write_workqueue"
    dmsetup create crypt --uuid CRYPT-PLAIN-planted --table "$table" && dmsetup mknodes
    row crypt-same crypt -- $DIAGNOSE /dev/mapper/crypt "$SEQ" --read-only
    dmsetup remove crypt
fi

# Version 2 of control groups. The group of this shell gets the limit; the disk is the one that the kernel throttles.
mkdir -p /tmp/cg && mount -t cgroup2 c /tmp/cg 2>/dev/null
echo "+io +cpu +memory" >/tmp/cg/cgroup.subtree_control 2>/dev/null
limited() { # FILE VALUE COMMAND…, in a group of its own: a limit that is left from another case would be a second cause
    group=/tmp/cg/$name file=$1 value=$2; shift 2
    mkdir -p "$group"
    echo "$value" >"$group/$file" || echo "no $file" >&2
    sh -c 'group=$1; shift; echo $$ >"$group/cgroup.procs"; exec "$@"' sh "$group" "$@"
}
NUMBER=$(cat "/sys/block/${DISK##*/}/dev")
wanted max-riops && row max-riops iops-cap -- limited io.max "$NUMBER riops=300" $DIAGNOSE "$DISK" "$READ" --read-only
wanted max-rbps && row max-rbps bytes-cap -- limited io.max "$NUMBER rbps=4000000" $DIAGNOSE "$DISK" "$SEQ" --read-only
if wanted max-parent; then
    # The limit is of a group above that of the tester.
    mkdir -p /tmp/cg/outer
    echo "+io" >/tmp/cg/outer/cgroup.subtree_control; mkdir -p /tmp/cg/outer/planted
    echo "$NUMBER riops=250" >/tmp/cg/outer/io.max
    row max-parent iops-cap -- sh -c 'echo $$ >/tmp/cg/outer/planted/cgroup.procs; exec "$@"' sh \
        $DIAGNOSE "$DISK" "$READ" --read-only
fi
wanted cpu-max && row cpu-max tester-cpu -- limited cpu.max "8000 100000" $DIAGNOSE "$DISK" "$READ" --read-only

if wanted sdebug-one; then
    # One place in the queue, 2 ms for each command. The device says so; one that only refuses more (max_queue) fails I/Os.
    D=$(for f in /sys/bus/pseudo/drivers/scsi_debug/adapter0/host*/target*/*/block/*; do echo "/dev/${f##*/}"; done | head -1)
    echo 1 >"/sys/block/${D##*/}/device/queue_depth"
    echo 0 >/sys/bus/pseudo/drivers/scsi_debug/delay 2>/dev/null
    echo 2000000 >/sys/bus/pseudo/drivers/scsi_debug/ndelay 2>/dev/null
    for at in 0 1 2 3 4 5 6 7; do dd if=/tmp/mib of="$D" bs=1M seek="$at" conv=notrunc 2>/dev/null; done
    row sdebug-one target-serial -- $DIAGNOSE "$D" "$READ" --read-only
fi

if wanted nvme-far; then
    # NVMe over TCP, both ends on this kernel, 10 ms each way.
    mkdir -p /sys/kernel/config; mount -t configfs c /sys/kernel/config 2>/dev/null
    ip link set lo up
    S=/sys/kernel/config/nvmet/subsystems/planted P=/sys/kernel/config/nvmet/ports/1
    mkdir -p $S/namespaces/1 $P
    echo 1 >$S/attr_allow_any_host; echo -n "$DISK" >$S/namespaces/1/device_path; echo 1 >$S/namespaces/1/enable
    echo tcp >$P/addr_trtype; echo ipv4 >$P/addr_adrfam; echo 127.0.0.1 >$P/addr_traddr; echo 4420 >$P/addr_trsvcid
    ln -s $S $P/subsystems/planted
    echo "transport=tcp,traddr=127.0.0.1,trsvcid=4420,nqn=planted" >/dev/nvme-fabrics
    for _ in 1 2 3 4 5 6 7 8 9 10; do ls /dev/nvme*n1 >/dev/null 2>&1 && break; sleep 1; done
    tc qdisc add dev lo root netem delay 10ms
    row nvme-far few-outstanding -- $DIAGNOSE "$(ls /dev/nvme*n1 | head -1)" "$FOUR" --read-only
    tc qdisc del dev lo root
    for c in /sys/class/nvme/nvme*/delete_controller; do echo 1 >"$c"; done
    rm $P/subsystems/planted; rmdir $P $S/namespaces/1 $S
fi

if wanted lio-slow; then
    # The kernel's own iSCSI target hands everything on at once to a device that takes 8 ms for each.
    slow d 0 8
    mkdir -p /sys/kernel/config; mount -t configfs c /sys/kernel/config 2>/dev/null
    ip link set lo up
    T=/sys/kernel/config/target
    mkdir -p $T/core/iblock_0/d0
    echo "udev_path=/dev/mapper/d" >$T/core/iblock_0/d0/control; echo 1 >$T/core/iblock_0/d0/enable
    I=$T/iscsi/iqn.2026-01.planted:lio
    mkdir -p $I/tpgt_1/lun/lun_0; ln -s $T/core/iblock_0/d0 $I/tpgt_1/lun/lun_0/d0
    (cd $I/tpgt_1; echo 1 >attrib/generate_node_acls; echo 0 >attrib/demo_mode_write_protect; echo 0 >attrib/authentication
        mkdir "np/127.0.0.1:3260"; echo 1 >enable)
    row lio-slow few-outstanding -- $DIAGNOSE iscsi://127.0.0.1/iqn.2026-01.planted:lio/0 "$FOUR" --read-only
    echo 0 >$I/tpgt_1/enable; rmdir $I/tpgt_1/np/*; rm $I/tpgt_1/lun/lun_0/d0
    rmdir $I/tpgt_1/lun/lun_0 $I/tpgt_1 $I $T/core/iblock_0/d0 $T/core/iblock_0
    dmsetup remove d
fi

# A target in a namespace of its own, reached over a link that can be shaped.
mkdir -p /var/run
PORT=0
target() { # THREADS BACKING
    ip netns add t; ip link add vi type veth peer name vt netns t
    ip addr add 10.9.0.1/24 dev vi; ip link set vi up
    ip -n t addr add 10.9.0.2/24 dev vt; ip -n t link set vt up; ip -n t link set lo up
    serve "$@"
}
serve() { # THREADS BACKING, in the namespace t
    PORT=$((PORT + 1)) # a new control port: the old one may not be free yet
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
    # A sender learns of frames that its own host drops, and sends them again as if they had never been sent: they are
    # lost on a router between the two. One by one, not all those that segmentation offload hands over together.
    ip netns add r; ip link add vi type veth peer name ri netns r
    ip -n r link add rt type veth peer name vt; ip netns add t; ip -n r link set vt netns t
    ip addr add 10.9.0.1/24 dev vi; ip link set vi up; ip route add 10.9.1.0/24 via 10.9.0.9
    ip -n r addr add 10.9.0.9/24 dev ri; ip -n r link set ri up
    ip -n r addr add 10.9.1.9/24 dev rt; ip -n r link set rt up
    ip -n t addr add 10.9.1.2/24 dev vt; ip -n t link set vt up; ip -n t link set lo up
    ip -n t route add default via 10.9.1.9
    ip netns exec r sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
    ip -n t link set vt gso_max_segs 1
    serve 16 "$DISK"
    tc -n r qdisc add dev ri root netem delay 2ms loss 2%
    row netem-loss network-fault -- $DIAGNOSE iscsi://10.9.1.2/iqn.2026-01.planted:d/1 "$SEQ"
    untarget; ip netns del r
fi
if wanted tbf; then
    target 16 "$DISK"
    tc -n t qdisc add dev vt root tbf rate 20mbit burst 64k latency 100ms
    row tbf link bytes-cap -- $DIAGNOSE "$LUN" "$SEQ"
    untarget
fi
