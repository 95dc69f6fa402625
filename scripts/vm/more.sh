# What other drivers make of disks, servers of the kernel itself, and hosts that allow less.
module() { # name parameters: loads it anew
    rmmod "$1" 2>/dev/null
    insmod "/modules/$1.ko" ${2:-}
}
newest() { # driver: the block device of the SCSI host that it added last
    sleep 1
    for folder in /sys/block/sd*; do
        [ "$(cat "$folder/device/model" 2>/dev/null | tr -d ' ')" = "$1" ] && echo "/dev/${folder##*/}"
    done | tail -1
}
insmod /modules/scsi_debug.ko dev_size_mb=32 lbpu=1 delay=0
D=$(newest scsi_debug)
measured "scsi_debug, thin" "$D"
ends_with "its map" 0 assay map "$D" --budget 3s
module scsi_debug "dev_size_mb=32 wp=1 delay=0"
refused "scsi_debug, write-protected" "$(newest scsi_debug)"
module scsi_debug "dev_size_mb=32 delay=0 opts=2 medium_error_start=4660 medium_error_count=10"
D=$(newest scsi_debug)
says "scsi_debug with medium errors" "$D" /tmp/plan.toml "input/output error\|medium\|critical target"
module scsi_debug "dev_size_mb=64 delay=0 zbc=managed zone_size_mb=8"
D=$(newest scsi_debug)
refused "scsi_debug, zoned (host-managed)" "$D"
module scsi_debug "dev_size_mb=32 delay=0 dif=1 dix=0"
measured "scsi_debug with protection information" "$(newest scsi_debug)"
module scsi_debug "dev_size_mb=32 delay=0 sector_size=4096 physblk_exp=0"
measured "scsi_debug of 4 KiB blocks" "$(newest scsi_debug)"
module scsi_debug "dev_size_mb=32 delay=0 every_nth=400 opts=4"
rmmod scsi_debug

module null_blk "gb=1 memory_backed=1 bs=512"
measured "null_blk that stores" /dev/nullb0
module null_blk "gb=1 bs=512"
says "null_blk that stores nothing, under verify" /dev/nullb0 /tmp/verify.toml "CRITICAL\|does not hold\|stores nothing\|zeros"
module null_blk "gb=1 memory_backed=1 zoned=1 zone_size=4"
refused "null_blk, zoned" /dev/nullb0
rmmod null_blk

insmod /modules/brd.ko rd_nr=4 rd_size=32768
half=$(($(sectors "$A") / 2))
dmsetup create org --table "0 $half linear $A 0"
dmsetup create so --table "0 $half snapshot-origin /dev/mapper/org"
dmsetup create snap --table "0 $half snapshot /dev/mapper/org /dev/ram0 P 8" && {
    refused "the exception store of a snapshot" /dev/ram0 changing
    refused "the disk below a snapshot's origin" "$A" changing
    measured "a snapshot" /dev/mapper/snap
    dmsetup remove snap
    refused "the exception store of a closed snapshot" /dev/ram0
}
dmsetup create cow --table "0 1024 linear /dev/ram1 0"
dmsetup create full --table "0 $half snapshot /dev/mapper/org /dev/mapper/cow N 8" &&
    ends_with "a snapshot that fills" "1" assay run /tmp/plan.toml /dev/mapper/full --size 8MiB --overwrite "$(identity_of /dev/mapper/full)" --not-blank
dmsetup remove_all; wipe "$A"; wipe /dev/ram0 /dev/ram1

dmsetup create ca --table "0 $(sectors "$A") cache /dev/ram0 /dev/ram1 $A 512 1 writeback smq 0" && {
    refused "the metadata of an open cache" /dev/ram0
    measured "dm-cache" /dev/mapper/ca
    dmsetup remove ca
    refused "the metadata of a closed cache" /dev/ram0
}
dmsetup remove_all; wipe "$A" /dev/ram0 /dev/ram1
dmsetup create er --table "0 $(sectors "$A") era /dev/ram0 $A 512" && {
    measured "dm-era" /dev/mapper/er
    dmsetup remove er
    refused "the metadata of a closed era" /dev/ram0
}
dmsetup remove_all; wipe "$A" /dev/ram0
dmsetup create in --table "0 8 integrity $A 0 4 D 1 internal_hash:crc32c" 2>/dev/null && {
    dmsetup remove in
    refused "a closed dm-integrity device" "$A"
}
dmsetup remove_all; wipe "$A"
dmsetup create mp --table "0 $(sectors "$A") multipath 0 0 1 1 round-robin 0 2 1 $A 1000 $A 1000" && {
    dmsetup message mp 0 "fail_path $(cat "/sys/block/${A##*/}/dev")"
    ends_with "dm-multipath without a path" "1 2" timeout 60 assay check /dev/mapper/mp
    dmsetup message mp 0 "reinstate_path $(cat "/sys/block/${A##*/}/dev")"
    measured "dm-multipath whose path is back" /dev/mapper/mp
    dmsetup remove mp
}
wipe "$A"

if mdadm -q --create /dev/md1 --run --metadata=1.2 --level=5 --raid-devices=3 /dev/ram0 /dev/ram1 /dev/ram2; then
    mdadm -q --wait /dev/md1
    mdadm -q /dev/md1 --fail /dev/ram1; mdadm -q /dev/md1 --remove /dev/ram1
    measured "md RAID5, degraded" /dev/md1
    mdadm -q /dev/md1 --add /dev/ram3
    measured "md RAID5, rebuilding" /dev/md1
    refused "the spare that it rebuilds to" /dev/ram3 changing
    mdadm -q /dev/md1 --fail /dev/ram0; mdadm -q /dev/md1 --fail /dev/ram2
    ends_with "md RAID5 without enough members" "1 2" assay run /tmp/plan.toml /dev/md1 --size 8MiB --overwrite x
    mdadm -q --stop /dev/md1
else
    echo "RESULT FAILED | md RAID5 | the set-up could not be made"
fi

mkdir -p /cg && mount -t cgroup2 none /cg && echo +io >/cg/cgroup.subtree_control && mkdir /cg/slow && {
    echo "$(cat "/sys/block/${A##*/}/dev") riops=100 wiops=100" >/cg/slow/io.max
    attempt "$A" /tmp/plan.toml
    identity=${identity:-none}
    (echo 0 >/cg/slow/cgroup.procs; assay check "$A" --explain) >/tmp/out 2>&1
    if grep -q "io.max" /tmp/out; then verdict=ok; else verdict=FAILED; fi
    echo "RESULT $verdict | a limit of cgroup v2 | $(grep io.max /tmp/out | head -1 | cut -c1-140)$([ $verdict = ok ] || said)"
}
wipe "$A"

truncate -s 16M /tmp/file
L=$(losetup -f); losetup "$L" /tmp/file
measured "a loop device" "$L"
ends_with "the file below it" 2 assay run /tmp/plan.toml /tmp/file --size 8MiB --overwrite /tmp/file
losetup -d "$L"

chmod 600 "$A"; chmod 1777 /tmp
ends_with "a device of root, as another user" 2 /bin/setpriv --reuid 1000 --regid 1000 --clear-groups env ASSAY_STORE=/tmp/u.sqlite assay run /tmp/plan.toml "$A" --size 8MiB --overwrite SOAKA --not-blank
ends_with "a host without /sys" 2 /bin/unshare -m sh -c "umount -l /sys; assay run /tmp/plan.toml $A --size 8MiB --overwrite SOAKA --not-blank"
ends_with "a host without /proc" 2 /bin/unshare -m sh -c "umount -l /proc; assay run /tmp/plan.toml $A --size 8MiB --overwrite SOAKA --not-blank"
ends_with "a user namespace" "0 2" /bin/unshare -U -r -m assay run /tmp/plan.toml "$A" --size 8MiB --overwrite SOAKA --not-blank
wipe "$A"

serve_lun "$A" 127.0.0.1 127.0.0.2 && {
    lun="iscsi://127.0.0.1/iqn.2026-11.vm:lio/0?portal=127.0.0.2"
    refused "the disk below a LUN of LIO" "$A" changing
    identity=$(identity_of "$lun")
    ends_with "a LUN of LIO over two portals" 0 assay run /tmp/plan.toml "$lun" --size 8MiB --overwrite "$identity"
    tc qdisc add dev lo root netem delay 25ms 5ms loss 1% reorder 2%
    ends_with "LIO, 50 ms, loss and reordering" 0 assay run /tmp/verify.toml "$lun" --size 2MiB --overwrite "$identity" --not-blank
    tc qdisc del dev lo root
}

mkdir -p $T/core/fileio_0/d1 && {
    echo "fd_dev_name=$N,fd_dev_size=33554432" >$T/core/fileio_0/d1/control; echo 1 >$T/core/fileio_0/d1/enable
    refused "an NVMe drive that LIO has open as a file" "$N" changing
    rmdir $T/core/fileio_0/d1
}
mkdir -p /sys/kernel/config/nvmet/subsystems/soak/namespaces/1 && {
    S=/sys/kernel/config/nvmet/subsystems/soak P=/sys/kernel/config/nvmet/ports/1
    echo 1 >$S/attr_allow_any_host; echo -n "$B" >$S/namespaces/1/device_path; echo 1 >$S/namespaces/1/enable
    mkdir $P; echo tcp >$P/addr_trtype; echo ipv4 >$P/addr_adrfam; echo 127.0.0.1 >$P/addr_traddr; echo 4420 >$P/addr_trsvcid
    ln -s $S $P/subsystems/soak
    echo "transport=tcp,traddr=127.0.0.1,trsvcid=4420,nqn=soak" >/dev/nvme-fabrics && sleep 2
    F=$(ls -d /dev/nvme1n1 2>/dev/null || ls -d /dev/nvme[1-9]n1 2>/dev/null | tail -1)
    refused "the disk below an NVMe over TCP namespace" "$B" changing
    measured "NVMe over TCP" "${F:-/dev/nvme1n1}"
}
