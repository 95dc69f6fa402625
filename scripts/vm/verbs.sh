# Each verb of the program on each kind of target: an NVMe drive, a virtio-blk disk, a thin volume, md, a LUN of LIO and a
# file on NFS; and who may write to virtio disks.
cat >/tmp/mixed.toml <<'END'
[[test]]
name = "t"
run = "1s"
outstanding = 4
access = [{ size = "4KiB", read = 70 }]
END
V=$(disk SOAKVIRTIO)
tells "virtio-blk: check" 0 "SOAKVIRTIO" assay check "$V"
refused_by() { # set-up identity word
    before=$(sum "$V")
    tells "$1" 2 "$3" assay run /tmp/mixed.toml "$V" --size 8MiB --overwrite "$2"
    [ "$(sum "$V")" = "$before" ] || echo "RESULT FAILED | $1: nothing is written | it was"
}
refused_by "virtio-blk: without its identity" "$V" "SOAKVIRTIO"
refused_by "virtio-blk: with the identity of another disk" SOAKA "SOAKVIRTIO"
mkswap "$V" >/dev/null
refused_by "virtio-blk: with its identity, swap space" "$(identity_of "$V")" "swap"
wipe "$V"; printf x | dd of="$V" bs=1 seek=20000000 conv=notrunc 2>/dev/null
refused_by "virtio-blk: with its identity, one foreign byte" "$(identity_of "$V")" "blank"
wipe "$V"
tells "virtio-blk: with its identity, blank" 0 "" assay run /tmp/mixed.toml "$V" --size 8MiB --overwrite "$(identity_of "$V")"
tells "virtio-scsi: with the identity of another disk" 2 "SOAKA" assay run /tmp/mixed.toml "$A" --size 8MiB --overwrite SOAKB
for one in "$A" "$V" "$N"; do echo "$one: discards of $(cat "/sys/block/${one##*/}/queue/discard_max_bytes") bytes"; done
sed 's/read = 70/read = 0/; s/^run = .*/run = "1s"\ntrim = 50/' /tmp/mixed.toml >/tmp/trim.toml

verbs() { # name target "--overwrite identity --not-blank" [code of arrays detect]
    kind=$1 target=$2 allowed=$3 detected=${4:-0}
    rm -f /tmp/export.* /tmp/map.json /tmp/array.toml /tmp/calibrated.toml /tmp/report.html
    tells "$kind: check" 0 "" assay check "$target"
    tells "$kind: run" 0 "" assay run /tmp/mixed.toml "$target" --size 8MiB $allowed
    tells "$kind: run --verify" 0 "" assay run /tmp/verify.toml "$target" --size 8MiB $allowed
    tells "$kind: curve" 0 "" assay curve "$target" --run 300ms --size 8MiB $allowed
    tells "$kind: probe-cache" 0 "" assay probe-cache "$target" --run 300ms --absorb 1s --size 8MiB $allowed
    tells "$kind: map" 0 "" assay map "$target" --budget 3s -o /tmp/map.json
    tells "$kind: map --baseline" 0 "" assay map "$target" --budget 3s --baseline /tmp/map.json
    tells "$kind: diagnose" 0 "CAUSE" assay diagnose "$target" --budget 10s --size 8MiB $allowed
    tells "$kind: scale" 0 "" assay scale /tmp/mixed.toml "$target" --size 8MiB --workers 2 $allowed
    tells "$kind: arrays detect" "$detected" "" assay arrays detect "$target" -o /tmp/array.toml
    tells "$kind: predict of what was detected" "$detected" "" assay predict /tmp/array.toml /tmp/mixed.toml --size 8MiB
    tells "$kind: journal new" 0 "" assay journal new "$kind" "$target" /tmp/mixed.toml
    tells "$kind: journal, a step" 0 "" assay run /tmp/mixed.toml "$target" --size 8MiB $allowed --step first --journal "$kind"
    tells "$kind: journal, another" 0 "" assay run /tmp/mixed.toml "$target" --size 8MiB $allowed --step second --journal "$kind"
    tells "$kind: journal show" 0 "second" assay journal show "$kind"
    tells "$kind: compare" "0 4" "" assay compare last~1 last
    tells "$kind: baseline" 0 "" assay baseline set last
    tells "$kind: label" 0 "" assay label last "$kind"
    tells "$kind: runs" 0 "$kind" assay runs --label "$kind"
    tells "$kind: show --explain" 0 "" assay show last --explain
    tells "$kind: report" 0 "" assay report last -o /tmp/report.html
    for format in assay icf iometer-csv fio-json openmetrics hdr parquet csv raw markdown bbcode; do
        tells "$kind: export $format" 0 "" assay export last --format $format -o "/tmp/export.$format"
    done
    ASSAY_STORE=/tmp/import.sqlite tells "$kind: import" 0 "" assay import /tmp/export.assay
    rm -f /tmp/import.sqlite
    tells "$kind: calibrate" 0 "" assay calibrate "$target" --array nvme -o /tmp/calibrated.toml --run 50ms --rounds 1 --size 8MiB $allowed
    tells "$kind: rm" 0 "" assay rm last
}
allow() { echo "--overwrite $(identity_of "$1") --not-blank"; }
verbs NVMe "$N" "$(allow "$N")"
verbs virtio-blk "$V" "$(allow "$V")"

wipe "$A" "$B"
dmsetup create pool --table "0 $(sectors "$A") thin-pool $B $A 128 0" && {
    dmsetup message pool 0 "create_thin 0"
    dmsetup create thin --table "0 65536 thin /dev/mapper/pool 0"
    verbs dm-thin /dev/mapper/thin "$(allow /dev/mapper/thin)"
    dmsetup remove thin; dmsetup remove pool
}
wipe "$A" "$B"
mdadm -q --create /dev/md0 --run --metadata=1.2 --level=1 --raid-devices=2 "$A" "$B" && {
    mdadm -q --wait /dev/md0
    verbs md /dev/md0 "$(allow /dev/md0)"
    mdadm -q --stop /dev/md0
}
wipe "$A" "$B"
mkdir -p /export /mnt/nfs
mke2fs -q "$B" 2>/dev/null || mkfs.ext2 "$B" >/dev/null
mount -t ext4 "$B" /export && serve_nfs /export && mount.nfs 10.9.0.1:/export /mnt/nfs -o vers=3,nolock && {
    tells "NFS: a new file" 0 "" assay run /tmp/mixed.toml /mnt/nfs/t.dat --size 8MiB
    verbs NFS /mnt/nfs/t.dat "" 2
    umount /mnt/nfs
}
serve_lun "$A" 10.9.0.1 && {
    lun="iscsi://10.9.0.1/iqn.2026-11.vm:lio/0"
    verbs LIO "$lun" "$(allow "$lun")"
}
tells "size" 0 "" assay size "5000 IOPS, 4 KiB random reads"
tells "arrays" 0 "" assay arrays
tells "suites" 0 "" assay suites
tells "predict" 0 "" assay predict ix4-200d
tells "overhead" 0 "" assay overhead --run 300ms
tells "lab up" "0 1 2" "" assay lab up ix4-200d
tells "lab status" "0 1 2" "" assay lab status
tells "lab down" "0 1 2" "" assay lab down
