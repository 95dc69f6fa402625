#!/bin/bash
# Runs Assay on set-ups of a real kernel under QEMU, and prints a table of them: make soak-vm. The kernel is Debian's
# package, unpacked under target/soak-vm and not installed. Ends with 1 if a set-up had another result than it must.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
folder=${CARGO_TARGET_DIR:-$here/../target}/soak-vm
assay=${ASSAY:?the program to be tested}
mkdir -p "$folder"
cd "$folder"
. "$here/vm/kernel.sh"
for name in a b nvme 4k; do rm -f "$name.img"; truncate -s 32M "$name.img"; done
drive() { echo "-drive file=$1.img,if=none,id=d$1,format=raw,cache=unsafe"; }
began=$SECONDS
# shellcheck disable=SC2046 # lists of arguments
"$here/vm/boot.sh" kernel "$here/vm/setups.sh" \
    -m "dm-mod dm-crypt dm-thin-pool dm-flakey dm-multipath dm-round-robin md-mod raid1 ext4 aesni-intel aes cbc essiv sha256 ecb" \
    -p "$assay" -p wipefs -p dmsetup -p mdadm -p lvm -p blockdev \
    -- $(drive a) $(drive b) $(drive 4k) $(drive nvme) -device virtio-scsi-pci \
    -device scsi-hd,drive=da,serial=SOAKA -device scsi-hd,drive=db,serial=SOAKB \
    -device scsi-hd,drive=d4k,serial=SOAK4K,logical_block_size=4096,physical_block_size=4096 \
    -device nvme,serial=SOAKNVME,drive=dnvme >console.txt 2>&1 || :
sed -n 's/^.*RESULT //p' console.txt >results.txt
awk -F' [|] ' '{ printf "%-7s %-42s %s\n", $1, $2, $3 }' results.txt
failed=$(grep -c '^FAILED' results.txt || :)
count=$(wc -l <results.txt)
echo "$count set-ups, $failed with another result than they must have, $((SECONDS - began)) s; the console is $folder/console.txt"
[ "$count" -ge "${SETUPS_MIN:-29}" ] && [ "$failed" = 0 ]
