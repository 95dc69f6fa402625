# Disks and what the device mapper, LVM and md make of them.
measured "a blank SCSI disk" "$A"; wipe "$A"
measured "a blank SCSI disk of 4 KiB blocks" "$K"
measured "a blank NVMe drive" "$N"; wipe "$N"

linear lin "$A"
refused "the disk below dm-linear" "$A"
measured "dm-linear" /dev/mapper/lin
dmsetup remove lin; wipe "$A"

dmsetup create cry --table "0 $(sectors "$A") crypt aes-cbc-essiv:sha256 000102030405060708090a0b0c0d0e0f 0 $A 0" &&
    { refused "the disk below dm-crypt" "$A"; measured "dm-crypt" /dev/mapper/cry; dmsetup remove cry; }
wipe "$A"

dmsetup create pool --table "0 $(sectors "$A") thin-pool $B $A 128 0" && {
    dmsetup message pool 0 "create_thin 0"
    dmsetup create thin --table "0 32768 thin /dev/mapper/pool 0"
    refused "the metadata of an open thin pool" "$B"
    refused "the data of an open thin pool" "$A"
    refused "the thin pool itself" /dev/mapper/pool
    measured "a thin volume" /dev/mapper/thin
    dmsetup remove thin; dmsetup remove pool
    refused "the metadata of a closed thin pool" "$B"
}
wipe "$A" "$B"

if lvm pvcreate -qq -ff -y "$A" && lvm vgcreate -qq vg "$A"; then
    lvm lvcreate -qq -y -Zn -Wn -L 12M -n lv vg
    refused "an LVM member, active" "$A"
    [ -e /dev/vg/lv ] || dmsetup mknodes
    measured "an LVM volume" /dev/mapper/vg-lv
    lvm vgchange -qq -an vg
    refused "an LVM member, inactive" "$A"
else
    echo "RESULT FAILED | LVM | the set-up could not be made"
fi
dmsetup remove_all; wipe "$A"

if mdadm -q --create /dev/md0 --run --metadata=1.2 --level=1 --raid-devices=2 "$A" "$B"; then
    refused "an md member, active" "$A" changing
    measured "md RAID1, resynchronising" /dev/md0
    mdadm -q --wait /dev/md0
    mdadm -q /dev/md0 --fail "$B"; mdadm -q /dev/md0 --remove "$B"
    refused "an md member, removed" "$B"
    measured "md RAID1, degraded" /dev/md0
    mdadm -q --stop /dev/md0
    refused "an md member, stopped" "$A"
else
    echo "RESULT FAILED | md | the set-up could not be made"
fi
wipe "$A" "$B"

mkswap "$A" >/dev/null; refused "swap space, off" "$A"
swapon "$A"; refused "swap space, on" "$A"; swapoff "$A"; wipe "$A"

mke2fs -q "$A" 32768 2>/dev/null || mkfs.ext2 "$A" >/dev/null
refused "ext2, not mounted" "$A"
linear fs "$A"; mkdir -p /mnt; mount -t ext4 /dev/mapper/fs /mnt && {
    refused "a file system on dm, mounted" /dev/mapper/fs changing
    refused "the disk below dm below a file system" "$A" changing
    umount /mnt
}
dmsetup remove fs; wipe "$A"

dmsetup create mp --table "0 $(sectors "$A") multipath 0 0 1 1 round-robin 0 1 1 $A 1000" && {
    refused "a path of dm-multipath" "$A"; measured "dm-multipath" /dev/mapper/mp; dmsetup remove mp; }
wipe "$A"

dmsetup create flaky --table "0 $(sectors "$A") linear $A 0" && {
    : >/tmp/out
    (until_filled; dmsetup suspend flaky; dmsetup load flaky --table "0 $(sectors "$A") flakey $A 0 0 60 5 corrupt_bio_byte 64 w 90 0"; dmsetup resume flaky; date +%s >/tmp/corrupting) &
    sed -i 's/run = "1s"/run = "15s"/' /tmp/verify.toml
    says "corruption by dm-flakey under verify" /dev/mapper/flaky /tmp/verify.toml CRITICAL
    ended=$(date +%s)
    wait
    # A row that failed as its fault came too late says so.
    echo "    | writes were corrupted during the last $((ended - $(cat /tmp/corrupting))) of 15 s"
    dmsetup remove flaky; }
wipe "$A"

sed -i 's/run = "500ms"/run = "10s"/' /tmp/plan.toml
: >/tmp/out
(until_filled; echo 1 >"/sys/class/block/${N##*/}/device/device/remove") &
says "an NVMe drive that is pulled" "$N" /tmp/plan.toml "is gone"
wait
