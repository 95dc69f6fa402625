# SMB of Samba and the kernel's client, block devices of a server, of memory and of a cache, and file systems that no
# other list has; and trim on virtio.
mkdir -p /mnt/smb /mnt/smb2 /mnt/fs
cat >/tmp/trim.toml <<'END'
[[test]]
name = "t"
run = "1s"
access = [{ size = "64KiB", read = 0, change = "trim" }]
END
names
# smbd of the host.
ip link set eth0 up; ip addr add 10.0.2.15/24 dev eth0
smb() { mount -t cifs //10.0.2.2/s "$1" -o "ip=10.0.2.2,port=14450,username=guest,password=none,vers=3.1.1,nosharesock,$2"; }
if smb /mnt/smb hard,cache=strict && smb /mnt/smb2 soft,cache=none; then
    grep cifs /proc/mounts
    file=/mnt/smb/s.dat
    tells "SMB: check before there is a file" 2 "would create" assay check $file
    tells "SMB: a new file" 0 "server-memory" assay run /tmp/plan.toml $file --size 4MiB
    tells "SMB: verify" 0 "" assay run /tmp/verify.toml $file --size 4MiB
    tells "SMB: check" 0 "cifs" assay check $file
    tells "SMB: in the page cache" 0 "cache" assay run /tmp/plan.toml $file --size 4MiB --cached
    tells "SMB: diagnose" 0 "CAUSE" assay diagnose $file --budget 15s
    tells "SMB: map" 0 "" assay map $file --budget 3s
    tells "SMB: arrays detect" 2 "" assay arrays detect $file
    echo theirs >/mnt/smb2/other.dat
    tells "SMB: a file of somebody else" 2 "overwrite" assay run /tmp/plan.toml /mnt/smb/other.dat
    tells "SMB: one file by two mounts" 2 "in use\|two\|twice" assay run /tmp/plan.toml $file /mnt/smb2/s.dat
    tells "SMB: two runs at once" "0 2" "" sh -c "assay run /tmp/long.toml $file --size 4MiB >/tmp/one 2>&1 & sleep 12; assay run /tmp/plan.toml /mnt/smb2/s.dat --size 4MiB; code=\$?; wait; exit \$code"
    lose() { rm -f /mnt/smb2/s.dat; }
    meanwhile 2 lose
    tells "SMB: another client removes the file" "0 1" "" assay run /tmp/long.toml $file --size 4MiB
    wait
    tells "SMB: a new one" 0 "" assay run /tmp/long.toml $file --size 4MiB
    away() { ip link set eth0 down; sleep 6; ip link set eth0 up; }
    meanwhile 2 away
    tells "SMB: the server is away for 6 s" "0 1" "" assay run /tmp/long.toml $file --size 4MiB
    wait
    tells "SMB: once more, with the server" 0 "" assay run /tmp/long.toml $file --size 4MiB
    umount -l /mnt/smb /mnt/smb2
else
    echo "RESULT FAILED | SMB | it could not be mounted"
    dmesg | tail -5
fi

truncate -s 32M /tmp/nbd.img
printf '[generic]\nallowlist = true\n[e]\nexportname = /tmp/nbd.img\nflush = true\ntrim = true\n' >/tmp/nbd.conf
nbd-server -C /tmp/nbd.conf -p /run/nbd.pid
sleep 1
# Without a timeout the kernel waits for ever for a server that has ended.
if nbd-client -t 4 -N e 10.9.0.1 /dev/nbd0 >/dev/null; then
    measured "NBD" /dev/nbd0
    tells "NBD: check" 0 "nbd" assay check /dev/nbd0
    gone() { killall nbd-server; }
    meanwhile 2 gone
    attempt /dev/nbd0 /tmp/long.toml
    code=$?
    case $code in 0) verdict=FAILED ;; *) verdict=ok ;; esac
    echo "RESULT $verdict | NBD: its server ends | ($code) $(said)"
    wait
    nbd-client -d /dev/nbd0 >/dev/null 2>&1
else
    echo "RESULT FAILED | NBD | no client"
fi

echo 32M >/sys/block/zram0/disksize && measured "zram" /dev/zram0
tells "zram: what it packs" "0 2" "" assay check /dev/zram0

# A set needs 128 buckets, which the default size has not on so small a disk.
if make-bcache -b 64k -C "$A" >/dev/null; then
    refused "a bcache cache set" "$A"
else
    echo "RESULT FAILED | a bcache cache set | it could not be made"
fi
make-bcache -B "$B" >/dev/null; echo "$B" >/sys/fs/bcache/register 2>/dev/null
sleep 1
refused "a bcache backing device" "$B"
[ -b /dev/bcache0 ] && measured "bcache" /dev/bcache0
[ -b /dev/bcache0 ] && echo 1 >/sys/block/bcache0/bcache/stop
sleep 1; wipe "$A" "$B"

truncate -s 256M /tmp/a.img /tmp/b.img
LA=$(losetup -f); losetup "$LA" /tmp/a.img; LB=$(losetup -f); losetup "$LB" /tmp/b.img
if mkfs.btrfs -q -f -d raid1 -m raid1 "$LA" "$LB"; then
    refused "a member of btrfs" "$LA"
    refused "its other member" "$LB"
    mount -t btrfs -o "device=$LB" "$LA" /mnt/fs && {
        refused "a member of btrfs, mounted" "$LB" changing
        tells "btrfs: a file" 0 "" assay run /tmp/verify.toml /mnt/fs/f.dat --size 8MiB
        tells "btrfs: check" 0 "btrfs" assay check /mnt/fs/f.dat
        umount /mnt/fs
    }
else
    echo "RESULT FAILED | btrfs | it could not be made"
fi
losetup -d "$LB"
truncate -s 400M /tmp/a.img; losetup -c "$LA"
mkfs.xfs -q -f "$LA" && refused "xfs, not mounted" "$LA" && mount -t xfs "$LA" /mnt/fs && {
    tells "xfs: a file" 0 "" assay run /tmp/verify.toml /mnt/fs/f.dat --size 8MiB
    mkdir -p /mnt/fs/upper /mnt/fs/work /mnt/over
    mkdir -p /export; echo lower >/export/lower.dat
    mount -t overlay o -o lowerdir=/export,upperdir=/mnt/fs/upper,workdir=/mnt/fs/work /mnt/over && {
        tells "overlayfs: a new file" 0 "" assay run /tmp/verify.toml /mnt/over/f.dat --size 8MiB
        tells "overlayfs: a file of the lower layer" 2 "overwrite" assay run /tmp/plan.toml /mnt/over/lower.dat
        umount /mnt/over
    }
    umount /mnt/fs
}
losetup -d "$LA"

V=$(disk SOAKVIRTIO)
measured "virtio-blk" "$V"
attempt "$V" /tmp/trim.toml
code=$?
if [ $code = 0 ]; then verdict=ok; else verdict=FAILED; fi
echo "RESULT $verdict | trim on virtio-blk | ($code) $(said)"
