# Devices, arrays and file systems that break, fill up, shrink or become read-only while a run is in progress.
cat >/tmp/long.toml <<'END'
[[test]]
name = "t"
run = "12s"
outstanding = 4
access = [{ size = "4KiB", read = 50 }]
END
sed 's/^run/verify = true\nrun/' /tmp/long.toml >/tmp/long-verify.toml
# A run of the device, with its identity, and what happens meanwhile.
broken() { # set-up "codes" words plan device size command…
    name=$1 codes=$2 words=$3 plan=$4 device=$5 size=$6
    shift 6
    identity=$(identity_of "$device")
    meanwhile 2 "$@"
    tells "$name" "$codes" "$words" assay run "$plan" "$device" --size "$size" --overwrite "${identity:-none}" --not-blank
    wait
}
reload() { # name table
    dmsetup suspend --noflush "$1"; dmsetup load "$1" --table "$2"; dmsetup resume "$1"
}
linear lin "$A"
broken "dm: all I/O becomes errors" 1 "error" /tmp/long-verify.toml /dev/mapper/lin 8MiB reload lin "0 $(sectors "$A") error"
reload lin "0 $(sectors "$A") linear $A 0"
flaky() { reload lin "0 $(sectors "$A") flakey $A 0 0 60 1 error_writes"; }
broken "dm: writes become errors" 1 "error" /tmp/long-verify.toml /dev/mapper/lin 8MiB flaky
reload lin "0 $(sectors "$A") linear $A 0"
dropped() { reload lin "0 $(sectors "$A") flakey $A 0 0 60 1 drop_writes"; }
broken "dm: writes are dropped" 1 "CRITICAL" /tmp/long-verify.toml /dev/mapper/lin 8MiB dropped
reload lin "0 $(sectors "$A") linear $A 0"
half() { reload lin "0 $(($(sectors "$A") / 4)) linear $A 0"; }
broken "dm: the device shrinks to a quarter" 1 "" /tmp/long-verify.toml /dev/mapper/lin 16MiB half
reload lin "0 $(sectors "$A") linear $A 0"
protect() { dmsetup suspend --noflush lin; dmsetup load lin --readonly --table "0 $(sectors "$A") linear $A 0"; dmsetup resume lin; }
broken "dm: the device becomes read-only" "0 1" "" /tmp/long-verify.toml /dev/mapper/lin 8MiB protect
stuck() { dmsetup suspend --noflush lin; sleep 5; dmsetup resume lin; }
dmsetup remove lin; linear lin "$A"
broken "dm: suspended for 5 s" 0 "" /tmp/long-verify.toml /dev/mapper/lin 8MiB stuck
dmsetup remove lin
broken "blockdev --setro" "0 1" "" /tmp/long-verify.toml "$A" 8MiB blockdev --setro "$A"
blockdev --setrw "$A"; wipe "$A"
gone() { echo 1 >"/sys/block/${B##*/}/device/delete"; }
broken "a SCSI disk that is deleted" 1 "no longer\|gone" /tmp/long-verify.toml "$B" 8MiB gone
scan() { for host in /sys/class/scsi_host/*/scan; do echo "- - -" >"$host"; done; sleep 2; }
scan; B=$(disk SOAKB)
offline() { echo offline >"/sys/block/${B##*/}/device/state"; }
broken "a SCSI disk that is set offline" 1 "" /tmp/long-verify.toml "$B" 8MiB offline
echo running >"/sys/block/${B##*/}/device/state"
V=$(disk SOAKVIRTIO); V=${V:-/dev/vda}
unplug() { echo "$(basename "$(readlink -f "/sys/block/${V##*/}/device")")" >/sys/bus/virtio/drivers/virtio_blk/unbind; }
broken "a virtio-blk disk that is unbound" 1 "gone" /tmp/long-verify.toml "$V" 8MiB unplug

wipe "$B"
mke2fs -q "$A" 2>/dev/null || mkfs.ext2 "$A" >/dev/null
mkdir -p /mnt/e; mount -t ext4 "$A" /mnt/e
on_file() { # set-up "codes" words plan size command…
    name=$1 codes=$2 words=$3 plan=$4 size=$5
    shift 5
    meanwhile 2 "$@"
    tells "$name" "$codes" "$words" assay run "$plan" /mnt/e/t.dat --size "$size"
    wait
}
on_file "a file that is truncated" 1 "" /tmp/long-verify.toml 8MiB truncate -s 2M /mnt/e/t.dat
rm -f /mnt/e/t.dat
on_file "a file that grows" 0 "" /tmp/long-verify.toml 8MiB truncate -s 12M /mnt/e/t.dat
rm -f /mnt/e/t.dat
on_file "a file that is removed" "0 1" "" /tmp/long-verify.toml 8MiB rm -f /mnt/e/t.dat
rm -f /mnt/e/t.dat
on_file "a file system that becomes read-only (remount)" "0 1" "" /tmp/long-verify.toml 8MiB mount -o remount,ro /mnt/e
mount -o remount,rw /mnt/e
emergency() { echo u >/proc/sysrq-trigger; }
on_file "a file system that becomes read-only (emergency)" "0 1" "" /tmp/long-verify.toml 8MiB emergency
mount -o remount,rw /mnt/e
rm -f /mnt/e/t.dat
fill() { for kib in 16384 8192 4096 2048 1024 512 256 64 16 4 1; do fallocate -l ${kib}k "/mnt/e/full$kib"; done; }
on_file "a file system that fills up, an allocated file" 0 "" /tmp/long-verify.toml 8MiB fill
rm -f /mnt/e/full* /mnt/e/t.dat
truncate -s 16M /mnt/e/t.dat
meanwhile 1 fill
tells "a file system that fills up, a sparse file" "1" "space" assay run /tmp/long.toml /mnt/e/t.dat --size 16MiB --no-fill --overwrite /mnt/e/t.dat
wait
umount /mnt/e; wipe "$A"

dmsetup create pool --table "0 16384 thin-pool $B $A 128 0 1 error_if_no_space" && {
    dmsetup message pool 0 "create_thin 0"
    dmsetup create thin --table "0 49152 thin /dev/mapper/pool 0"
    tells "a thin pool that fills" "1" "space\|full" assay run /tmp/long.toml /dev/mapper/thin --size 16MiB --overwrite "$(identity_of /dev/mapper/thin)" --not-blank
    dmsetup remove thin; dmsetup remove pool
}
wipe "$A" "$B"
if lvm pvcreate -qq -ff -y "$A" && lvm vgcreate -qq -s 1M vg "$A" && lvm lvcreate -qq -y -Zn -Wn -L 12M -n lv vg; then
    dmsetup mknodes
    lvm lvcreate -qq -y -s -L 2M -n snap /dev/vg/lv 2>&1 || echo "no snapshot"
    dmsetup mknodes; dmsetup status
    tells "the origin of a snapshot that fills" 0 "" assay run /tmp/long-verify.toml /dev/mapper/vg-lv --size 8MiB --overwrite "$(identity_of /dev/mapper/vg-lv)" --not-blank
    tells "a snapshot that has filled" "1 2" "" assay run /tmp/long.toml /dev/mapper/vg-snap --size 8MiB --overwrite "$(identity_of /dev/mapper/vg-snap)" --not-blank
    tells "check of a snapshot that has filled" "0 1 2" "" assay check /dev/mapper/vg-snap
    lvm vgchange -qq -an vg
fi
dmsetup remove_all; wipe "$A"
insmod /modules/brd.ko rd_nr=3 rd_size=32768 2>/dev/null
if mdadm -q --create /dev/md1 --run --metadata=1.2 --level=5 --raid-devices=3 /dev/ram0 /dev/ram1 /dev/ram2 --assume-clean; then
    lose() { mdadm /dev/md1 --fail /dev/ram1; sleep 1; mdadm /dev/md1 --remove /dev/ram1; mdadm --zero-superblock /dev/ram1; mdadm /dev/md1 --add /dev/ram1; }
    broken "md RAID5: a member fails, is replaced and rebuilt" 0 "" /tmp/long-verify.toml /dev/md1 8MiB lose
    both() { mdadm /dev/md1 --fail /dev/ram1; mdadm /dev/md1 --fail /dev/ram2; }
    mdadm -q --wait /dev/md1
    broken "md RAID5: two members fail" 1 "error" /tmp/long-verify.toml /dev/md1 8MiB both
    mdadm -q --stop /dev/md1
fi
