#!/bin/bash
# Plants causes in machines with a real kernel under QEMU, lets `assay diagnose` look for them, and prints a row of a
# Markdown table for each, like diagnosis-planted.sh. The kernel is Debian's package, unpacked under target/soak-vm and
# not installed. Needs qemu-system-x86, busybox-static, cpio, kmod, mdadm, dmsetup, iproute2, tgt.
#   ASSAY=path BUDGET=30s scripts/diagnosis-vm.sh [CASE…]        names of cases; all without any
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
folder=${CARGO_TARGET_DIR:-$here/../target}/soak-vm
assay=$(realpath "${ASSAY:-$here/../target/debug/assay}")
mkdir -p "$folder"
cd "$folder"
. "$here/vm/kernel.sh"
own=$(mktemp -d)
trap 'rm -rf "$own"' EXIT
truncate -s 1G "$own/disk.img"
# The machine knows programs by their names: the cases call it by this one, whatever its file is called.
ln -s "$assay" "$own/assay"
# A case takes its budget and what builds it, in a machine that is emulated; one that takes twice as long has failed.
case ${BUDGET:=30s} in
    *min) budget_s=$((${BUDGET%min} * 60)) ;;
    *) budget_s=${BUDGET%s} ;;
esac
limit_s=$((budget_s * 2 + 120))
cases=$(grep -c '^ *row ' "$here/vm/diagnoses.sh")
{ echo "CASES=\"$*\" BUDGET=$BUDGET LIMIT_S=$limit_s EXPLAIN=${EXPLAIN:-}"; cat "$here/vm/diagnoses.sh"; } >"$own/script"
modules="dm-mod dm-delay dm-thin-pool dm-zero dm-crypt md-mod raid0 raid1 raid456 raid10 sch_netem sch_tbf sch_htb veth scsi_debug loop ext4
    dm-cache dm-cache-smq null_blk configfs target_core_mod target_core_iblock iscsi_target_mod nvmet-tcp nvme-tcp
    aesni-intel aes xts ecb cbc essiv sha256"
[ $# -gt 0 ] || { echo "| case | planted | said first | said second | right | experiments, rate |"; echo "|---|---|---|---|---|---|"; }
VM_SECONDS=${VM_SECONDS:-$((1200 + 2 * cases * limit_s))} "$here/vm/boot.sh" kernel "$own/script" -m "$modules" \
    -p "$own/assay" -p dmsetup -p mdadm -p wipefs -p blockdev -p ip -p tc -p tgtd -p tgtadm -p mkfs.ext4 \
    -- -drive "file=$own/disk.img,if=none,id=d,format=raw,cache=unsafe" -device virtio-scsi-pci \
    -device scsi-hd,drive=d,serial=PLANTED | sed -u 's,\r,,g' | tee console.txt | sed -u -n 's/^.*ROW //p'
grep -q '^EXIT' console.txt || { echo "the machine ended before its script did: $folder/console.txt" >&2; exit 1; }
