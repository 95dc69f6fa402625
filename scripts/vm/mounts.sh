# Files on mounts of the kernel, NFS 3 and 4.2 of its own server: what is measured, and what becomes of a run when the server
# is restarted, is away, or no longer knows the file.
mkdir -p /export /mnt/v3 /mnt/v42 /mnt/soft /mnt/softv42
mke2fs -q "$B" 2>/dev/null || mkfs.ext2 "$B" >/dev/null
mount -t ext4 "$B" /export
serve_nfs /export
waits="timeo=10,retrans=2"
mount.nfs 10.9.0.1:/export /mnt/v3 -o vers=3,nolock,hard,$waits
mount.nfs 10.9.0.1:/export /mnt/v42 -o vers=4.2,hard,$waits
mount.nfs 10.9.0.1:/export /mnt/soft -o vers=3,nolock,soft,$waits
mount.nfs 10.9.0.1:/export /mnt/softv42 -o vers=4.2,soft,$waits
grep "10.9" /proc/mounts
for kind in v3 v42; do
    file=/mnt/$kind/$kind.dat
    tells "$kind: a new file" 0 "server-memory" assay run /tmp/plan.toml $file --size 4MiB
    tells "$kind: the memory of the server is known" 0 "storage-memory" assay run /tmp/plan.toml $file --size 4MiB --storage-ram 512MiB
    tells "$kind: verify" 0 "" assay run /tmp/verify.toml $file --size 4MiB
    tells "$kind: check" 0 "of 10.9.0.1:/export" assay check $file
    tells "$kind: diagnose" 0 "CAUSE" assay diagnose $file --budget 15s
    tells "$kind: map" 0 "" assay map $file --budget 3s
    tells "$kind: in the page cache" 0 "cache" assay run /tmp/plan.toml $file --size 4MiB --cached
    tells "$kind: arrays detect" 2 "10.9.0.1:/export" assay arrays detect $file
done
tells "v3, soft: check" 0 "mounted with .soft" assay check /mnt/soft/v3.dat
restart() { rpc.nfsd 0; sleep 2; rpc.nfsd 4; }
for kind in v3 v42; do
    meanwhile 2 restart
    tells "$kind, hard: the server restarts" 0 "stall\|waited" assay run /tmp/long.toml /mnt/$kind/$kind.dat --size 4MiB
    wait
done
away() { rpc.nfsd 0; sleep 15; rpc.nfsd 4; }
for kind in v3 v42; do
    soft=/mnt/soft; [ $kind = v42 ] && soft=/mnt/softv42
    meanwhile 2 away
    tells "$kind, soft: the server is away for 15 s" "0 1" "stall\|waited\|failed" assay run /tmp/long.toml $soft/$kind.dat --size 4MiB
    wait
    tells "$kind, soft: once more, with the server" 0 "" assay run /tmp/long.toml $soft/$kind.dat --size 4MiB
done
for kind in v3 v42; do
    lose() { rm -f /export/$kind.dat; }
    meanwhile 2 lose
    tells "$kind: the server removes the file" "0 1" "" assay run /tmp/long.toml /mnt/$kind/$kind.dat --size 4MiB
    wait
    tells "$kind: a new one" 0 "" assay run /tmp/long.toml /mnt/$kind/$kind.dat --size 4MiB
    unexport() { exportfs -ua; }
    meanwhile 2 unexport
    tells "$kind: the export is removed" "0 1" "" assay run /tmp/long.toml /mnt/$kind/$kind.dat --size 4MiB
    wait
    tells "$kind: check without the export" "0 1 2" "" timeout 60 assay check /mnt/$kind/$kind.dat
    exportfs -a; exportfs -f; sleep 2
done
protect() { mount -o remount,ro /export; }
meanwhile 2 protect
tells "v3: the server's file system becomes read-only" "0 1" "" assay run /tmp/long.toml /mnt/v3/v3.dat --size 4MiB
wait
mount -o remount,rw /export
umount -l /mnt/soft /mnt/softv42
