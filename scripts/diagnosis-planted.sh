#!/bin/bash
# Plants one cause after another on this machine, lets `assay diagnose` look for it, and prints a row of a Markdown
# table for each: what was planted, what was said. Needs root, tgt, nfs-ganesha, fio, iproute2, nftables,
# FUSE and control groups of version 1. Everything is taken down again.
#   scripts/diagnosis-planted.sh [CASE…]        names of cases; all without any
#   ASSAY=path BUDGET=30s scripts/diagnosis-planted.sh
set -u
ASSAY=$(realpath "${ASSAY:-target/debug/assay}")
BUDGET=${BUDGET:-30s}
WORK=$(mktemp -d "${WORK_IN:-/var/tmp}/assay-planted.XXXXXX")
export ASSAY_STORE=$WORK/runs.sqlite
GROUP=assay-planted-$$
WANTED=" $* "
TGT=7790
LAB=planted
# In the order in which they are taken down: the last one made comes first.
declare -a PIDS=() LOOPS=()

clean() {
    for pid in "${PIDS[@]:-}"; do [ -n "$pid" ] && kill -9 "$pid" 2>/dev/null; done
    wait 2>/dev/null
    for loop in "${LOOPS[@]:-}"; do
        [ -n "$loop" ] || continue
        partx -d "$loop" 2>/dev/null
        losetup -d "$loop" 2>/dev/null
        # The next may be the device that this mount is on.
        umount "$WORK/mnt" 2>/dev/null
    done
    "$ASSAY" lab down --name "$LAB" >/dev/null 2>&1
    ip netns del "ap-i-$$" 2>/dev/null
    ip netns del "ap-t-$$" 2>/dev/null
    for kind in blkio cpu; do rmdir "/sys/fs/cgroup/$kind/$GROUP" "/sys/fs/cgroup/$kind/$GROUP-t" 2>/dev/null; done
    rm -rf "$WORK" "/dev/shm/assay-planted-$$"
}
trap clean EXIT
trap 'exit 130' INT TERM
. "$(dirname "$(realpath "$0")")/planted/common.sh"

READ=$(plan read-4k 'outstanding = 32' 'access = [{ size = "4KiB", read = 100, random = 100 }]')
READ16=$(plan read-16k 'outstanding = 16' 'access = [{ size = "16KiB", read = 100, random = 100 }]')
SEQ=$(plan seq-64k 'outstanding = 16' 'access = [{ size = "64KiB", read = 100, random = 0 }]')
WRITE=$(plan write-4k 'outstanding = 16' 'access = [{ size = "4KiB", read = 0, random = 100 }]')
SEQW=$(plan seqw-64k 'outstanding = 16' 'access = [{ size = "64KiB", read = 0, random = 0 }]')
ONE=$(plan read-one 'outstanding = 1' 'access = [{ size = "4KiB", read = 100, random = 100 }]')
TWO=$(plan read-two 'outstanding = 2' 'access = [{ size = "8KiB", read = 100, random = 100 }]')
MIX=$(plan mix 'outstanding = 32' 'access = [{ size = "8KiB", read = 65, random = 100 }]')
ODD=$(plan odd 'outstanding = 16' 'access = [{ size = "4KiB", read = 0, random = 100, align = "512" }]')

FILE=$WORK/t.dat
DEV=$(stat -c "%Hd:%Ld" "$WORK")
D=("${DIAGNOSE[@]}")
SIZE=(--size 512MiB)

echo "| case | planted | said first | said second | right | experiments, rate |"
echo "|---|---|---|---|---|---|"

local_cases() {
    wanted iops-read && row iops-read iops-cap -- limited blkio blkio.throttle.read_iops_device "$DEV 800" "${D[@]}" "$FILE" "$READ" "${SIZE[@]}"
    wanted iops-read-2 && row iops-read-2 iops-cap -- limited blkio blkio.throttle.read_iops_device "$DEV 3000" "${D[@]}" "$FILE" "$READ16" "${SIZE[@]}"
    wanted iops-write && row iops-write iops-cap -- limited blkio blkio.throttle.write_iops_device "$DEV 600" "${D[@]}" "$FILE" "$WRITE" "${SIZE[@]}"
    wanted bytes-seq && row bytes-seq bytes-cap -- limited blkio blkio.throttle.read_bps_device "$DEV 30000000" "${D[@]}" "$FILE" "$SEQ" "${SIZE[@]}"
    wanted bytes-random && row bytes-random bytes-cap -- limited blkio blkio.throttle.read_bps_device "$DEV 12000000" "${D[@]}" "$FILE" "$READ16" "${SIZE[@]}"
    wanted bytes-write && row bytes-write bytes-cap -- limited blkio blkio.throttle.write_bps_device "$DEV 20000000" "${D[@]}" "$FILE" "$SEQW" "${SIZE[@]}"
    wanted qd1 && row qd1 few-outstanding -- "${D[@]}" "$FILE" "$ONE" "${SIZE[@]}"
    wanted qd2 && row qd2 few-outstanding -- "${D[@]}" "$FILE" "$TWO" "${SIZE[@]}"
    wanted page-cache && row page-cache page-cache -- "${D[@]}" "$FILE" "$READ" "${SIZE[@]}" --cached
    wanted sync && row sync flush -- "${D[@]}" "$FILE" "$WRITE" "${SIZE[@]}" --sync
    if wanted sparse; then
        truncate -s 512M "$WORK/sparse.img"
        row sparse unmapped-blocks -- "${D[@]}" "$WORK/sparse.img" "$READ" --no-fill
    fi
    if wanted null; then row null tester-cpu -- "${D[@]}" null: "$READ"; fi
    if wanted tester-quota; then
        row tester-quota tester-cpu host-cpu -- limited cpu cpu.cfs_quota_us 12000 "${D[@]}" "$FILE" "$READ" "${SIZE[@]}"
    fi
    if wanted busy-host; then
        local spinners=()
        for _ in $(seq $((2 * $(nproc)))); do (while :; do :; done) & spinners+=($!); done
        row busy-host host-cpu -- "${D[@]}" "$FILE" "$READ" "${SIZE[@]}"
        kill "${spinners[@]}"
        wait "${spinners[@]}" 2>/dev/null
    fi
    if wanted neighbour; then
        "$ASSAY" run "$READ" "$FILE" "${SIZE[@]}" --set run=1s >/dev/null 2>&1
        fio --name=n --filename="$FILE" --readonly --direct=1 --rw=randread --bs=64k --iodepth=32 --ioengine=libaio \
            --time_based --runtime=3600 >/dev/null 2>&1 &
        local pid=$!
        sleep 1
        row neighbour neighbour -- "${D[@]}" "$FILE" "$READ" "${SIZE[@]}"
        kill $pid
        wait $pid 2>/dev/null
    fi
}

# A partition that begins at sector 63, on a disk with blocks of 4 KiB (a file on Btrfs): each write of 4 KiB covers parts
# of two blocks, both of which are read first.
misaligned_case() {
    wanted misaligned || return
    truncate -s 1500M "$WORK/btrfs"
    local disk loop
    disk=$(losetup -f --show --direct-io=on "$WORK/btrfs") || return
    LOOPS=("$disk" "${LOOPS[@]}")
    mkdir -p "$WORK/mnt"
    mkfs.btrfs -q "$disk" >/dev/null 2>&1 && mount "$disk" "$WORK/mnt" || return
    dd if=/dev/urandom of="$WORK/mnt/disk" bs=1M count=300 status=none conv=fsync
    loop=$(losetup -f --show --direct-io=on "$WORK/mnt/disk") || return
    LOOPS=("$loop" "${LOOPS[@]}")
    echo 'start=63, type=83' | sfdisk -q "$loop" >/dev/null 2>&1
    partx -a "$loop" 2>/dev/null
    row misaligned read-modify-write -- "${D[@]}" "${loop}p1" "$WRITE" --not-blank \
        --overwrite "$(basename "$loop")p1-$(blockdev --getsize64 "${loop}p1")-seq$(cat "/sys/block/$(basename "$loop")/diskseq")"
}

loop_cases() {
    wanted tmpfs-loop || return
    mkdir -p "/dev/shm/assay-planted-$$"
    dd if=/dev/urandom of="/dev/shm/assay-planted-$$/disk" bs=1M count=256 status=none
    local loop
    loop=$(losetup -f --show --direct-io=on "/dev/shm/assay-planted-$$/disk") || loop=$(losetup -f --show "/dev/shm/assay-planted-$$/disk")
    LOOPS=("$loop" "${LOOPS[@]}")
    row tmpfs-loop read-cache target-per-io tester-cpu -- "${D[@]}" "$loop" "$READ" --read-only
}

sim_cases() {
    wanted sim-serial && row sim-serial target-serial -- "${D[@]}" sim:ix4-200d "$MIX"
    wanted sim-disk && row sim-disk rotating-random -- "${D[@]}" sim:hdd-7200 "$READ"
    wanted sim-disk-seq && row sim-disk-seq rotating-sequential -- "${D[@]}" sim:hdd-7200 "$SEQ"
    # Few dies: at the 300,000 IOPS of a whole NVMe drive the CPU that simulates it is what limits.
    wanted sim-flash && row sim-flash flash-parallelism -- "${D[@]}" "sim:$(flash_array)" "$READ"
    wanted sim-one && row sim-one few-outstanding -- "${D[@]}" sim:nvme "$ONE"
}

lun_cases() {
    local any=0 name
    for name in link100 rr1000 fixed-path slow-path lun-software tgt-quota lun-qd1 mtu mtu-hole loss sparse-lun link1000 four-paths tgt-one; do wanted $name && any=1; done
    [ $any = 1 ] || return
    mkdir -p "/dev/shm/assay-planted-$$"
    dd if=/dev/urandom of="/dev/shm/assay-planted-$$/lun" bs=1M count=128 status=none
    local I=(ip netns exec "ap-i-$$" "${DIAGNOSE[@]}")
    local one='iscsi://10.77.1.2/iqn.2026-01.planted:d/1'
    local four="$one?portal=10.77.2.2&portal=10.77.3.2&portal=10.77.4.2"
    net_up 100mbit && tgt_up "/dev/shm/assay-planted-$$/lun" || return
    wanted link100 && row link100 link -- "${I[@]}" "$one" "$SEQ"
    wanted rr1000 && row rr1000 path-policy -- "${I[@]}" "$four&policy=rr&rr_ios=1000" "$SEQ"
    wanted fixed-path && row fixed-path path-policy -- "${I[@]}" "$four&policy=fixed" "$SEQ"
    wanted four-paths && row four-paths link -- "${I[@]}" "$four" "$SEQ"
    if wanted slow-path; then
        shape 2 10mbit
        row slow-path slow-path -- "${I[@]}" "$four" "$SEQ"
        shape 2 100mbit
    fi
    if wanted mtu; then
        # TCP agrees on the smaller one, so the mismatch is a finding (path-fault) and not the limit.
        ip -n "ap-i-$$" link set pi1 mtu 9000
        row mtu link -- "${I[@]}" "$one" "$SEQ"
        ip -n "ap-i-$$" link set pi1 mtu 1500
    fi
    for n in 1 2 3 4; do shape $n 10gbit; done
    wanted lun-software && row lun-software target-per-io -- "${I[@]}" "$one" "$READ"
    wanted lun-qd1 && row lun-qd1 few-outstanding -- "${I[@]}" "$one" "$ONE"
    if wanted tgt-quota; then
        mkdir -p "/sys/fs/cgroup/cpu/$GROUP-t"
        echo 15000 >"/sys/fs/cgroup/cpu/$GROUP-t/cpu.cfs_quota_us"
        echo "$TGT_PID" >"/sys/fs/cgroup/cpu/$GROUP-t/cgroup.procs"
        row tgt-quota target-per-io -- "${I[@]}" "$one" "$READ"
        echo "$TGT_PID" >/sys/fs/cgroup/cpu/cgroup.procs
        rmdir "/sys/fs/cgroup/cpu/$GROUP-t"
    fi
    if wanted link1000; then
        shape 1 1gbit
        row link1000 link -- "${I[@]}" "$one" "$SEQ"
    fi
    if wanted loss; then
        shape 1 1gbit
        ip netns exec "ap-i-$$" nft add table netdev planted
        ip netns exec "ap-i-$$" nft add chain netdev planted in '{ type filter hook ingress device pi1 priority 0 ; }'
        ip netns exec "ap-i-$$" nft add rule netdev planted in numgen random mod 100 '<' 3 drop
        # Frames are lost one by one, not all those that the sender's segmentation offload hands over together.
        ip -n "ap-t-$$" link set pt1 gso_max_segs 1
        row loss network-fault -- "${I[@]}" "$one" "$SEQ"
        ip -n "ap-t-$$" link set pt1 gso_max_segs 65535
        ip netns exec "ap-i-$$" nft delete table netdev planted
    fi
    if wanted mtu-hole; then
        # Both ends have jumbo frames, the switch between them does not and says nothing. TCP notices after some seconds
        # of silence (tcp_mtu_probing) and sends small segments from then on; without that nothing would arrive at all.
        shape 1 1gbit
        local side
        for side in i t; do
            local ns=ap-$side-$$ dev=p${side}1
            ip -n "$ns" link set "$dev" mtu 9000
            ip -n "$ns" link set "$dev" gso_max_segs 1
            ip netns exec "$ns" sysctl -qw net.ipv4.tcp_mtu_probing=1 net.ipv4.tcp_retries1=1
            ip netns exec "$ns" nft add table netdev planted
            ip netns exec "$ns" nft add chain netdev planted in "{ type filter hook ingress device $dev priority 0 ; }"
            ip netns exec "$ns" nft add rule netdev planted in meta length '>' 1500 drop
        done
        row mtu-hole network-fault -- "${I[@]}" "$one" "$READ"
        for side in i t; do
            local ns=ap-$side-$$ dev=p${side}1
            ip -n "$ns" link set "$dev" mtu 1500
            ip -n "$ns" link set "$dev" gso_max_segs 65535
            ip netns exec "$ns" nft delete table netdev planted
        done
    fi
    tgt_down
    for n in 1 2 3 4; do shape $n 10gbit; done
    if wanted sparse-lun; then
        # tgt reads holes of a file in memory: what is left is its cost for each I/O.
        truncate -s 1G "/dev/shm/assay-planted-$$/sparse"
        tgt_up "/dev/shm/assay-planted-$$/sparse"
        row sparse-lun unmapped-blocks target-per-io read-cache -- "${I[@]}" "$one" "$READ"
        tgt_down
    fi
    if wanted tgt-one; then
        # One thread that waits for the disk of this machine, which is fast: what the thread costs counts as well.
        dd if=/dev/urandom of="$WORK/lun" bs=1M count=512 status=none conv=fsync
        tgt_up "$WORK/lun" "-t 1" "--bsoflags direct"
        row tgt-one target-serial target-per-io -- "${I[@]}" "$one" "$READ16"
        tgt_down
    fi
}

# A small SSD: eight dies, 75,000 IOPS.
flash_array() {
    cat >"$WORK/flash.toml" <<TOML
name = "planted-flash"
title = "A small SSD"
source = "diagnosis-planted.sh"
[device]
kind = "ssd"
from = "assumed: made up"
capacity = "256GB"
qd1_read_iops = 10000
qd1_write_iops = 20000
dies = 8
read_iops_max = 200000
write_iops_max = 100000
read_mb_s = 3000
write_mb_s = 2000
[raid]
from = "assumed: made up"
level = "single"
disks = 1
[link]
rate = "PCIe4x4"
TOML
    echo "$WORK/flash.toml"
}

# A file of 10 disks behind a cache that holds most of the LUN.
cache_array() {
    cat >"$WORK/cache.toml" <<TOML
name = "planted-cache"
title = "Ten disks behind a read cache"
source = "diagnosis-planted.sh"
[device]
kind = "hdd"
from = "assumed: made up"
rpm = 7200
seek_track_ms = 1.0
seek_avg_ms = 8.5
seek_full_ms = 18
outer_mb_s = 150
inner_mb_s = 75
capacity = "2TB"
[raid]
from = "assumed: made up"
level = 0
disks = 10
[controller]
from = "assumed: made up"
read_cache = "${1:-176MiB}"
[protocol]
kind = "iscsi"
[link]
rate = "10GbE"
TOML
    echo "$WORK/cache.toml"
}

# What `assay lab` serves: simulated arrays behind a real target and real links.
lab_cases() {
    local lun=iqn.2026-11.example.assay:$LAB/1 portal
    lab() { timeout -k 10 300 "$ASSAY" lab "$@" --name "$LAB" >"$WORK/lab.out" 2>&1 || { tail -n 1 "$WORK/lab.out" >&2; return 1; }; }
    portal() { "$ASSAY" lab status --name "$LAB" --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["links"][0]["server"])'; }
    if wanted fuse-serial && lab up ix4-200d --size 256MiB; then
        row fuse-serial target-serial -- "${D[@]}" "iscsi://$(portal)/$lun" "$MIX" --overwrite "assay-$LAB"
        lab down
    fi
    if wanted fuse-disks && lab up hdd-7200 --size 1GiB --iscsi --links 1GbE; then
        row fuse-disks rotating-random -- "${D[@]}" "iscsi://$(portal)/$lun" "$READ"
        lab down
    fi
    if wanted fuse-cache && lab up "$(cache_array)" --size 256MiB; then
        # What a cache holds is what was read before.
        timeout -k 10 "$LIMIT_S" "$ASSAY" run "$READ" "iscsi://$(portal)/$lun" --set run=40s >/dev/null 2>&1
        row fuse-cache read-cache -- "${D[@]}" "iscsi://$(portal)/$lun" "$READ"
        lab down
    fi
    if wanted fuse-one && lab up "$(cache_array 1MiB)" --size 256MiB; then
        # A second server in the lab's namespace, with one thread, for the same ten disks.
        local array pid
        for pid in $(ip netns pids "assay-$LAB-array" 2>/dev/null); do
            array=$(awk '$3 ~ /^fuse/ {print $2; exit}' "/proc/$pid/mounts") && [ -n "$array" ] && break
        done
        local in=(nsenter --net --mount -t "$pid")
        "${in[@]}" tgtd -f -C 7791 -t 1 --iscsi portal="$(portal):3261" >/dev/null 2>&1 &
        PIDS+=($!)
        for _ in $(seq 50); do "${in[@]}" tgtadm -C 7791 --op show --mode target >/dev/null 2>&1 && break; sleep 0.1; done
        "${in[@]}" tgtadm -C 7791 --lld iscsi --op new --mode target --tid 1 -T iqn.2026-01.planted:one
        "${in[@]}" tgtadm -C 7791 --lld iscsi --op new --mode logicalunit --tid 1 --lun 1 \
            -b "$("${in[@]}" find "$array" -maxdepth 1 -type f | head -n 1)" --bsoflags direct
        "${in[@]}" tgtadm -C 7791 --lld iscsi --op bind --mode target --tid 1 -I ALL
        row fuse-one target-serial -- "${D[@]}" "iscsi://$(portal):3261/iqn.2026-01.planted:one/1" "$READ"
        kill -9 "${PIDS[-1]}" 2>/dev/null
        lab down
    fi
    if wanted nfs-four && lab up nvme --size 256MiB --nfs --links 100MbE; then
        row nfs-four link -- "${D[@]}" "nfs://$(portal)/array/t.dat?connections=4" "$SEQ" --size 64MiB
        lab down
    fi
}

local_cases
misaligned_case
loop_cases
sim_cases
lun_cases
lab_cases
