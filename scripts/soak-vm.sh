#!/bin/bash
# Runs Assay on set-ups of a real kernel under QEMU, and prints a table of them: make soak-vm. The kernel is Debian's
# package, unpacked under target/soak-vm and not installed. Ends with 1 if a set-up had another result than it must.
# SETUPS="clocks broken" takes only these lists of scripts/vm.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
folder=${CARGO_TARGET_DIR:-$here/../target}/soak-vm
assay=${ASSAY:?the program to be tested}
mkdir -p "$folder"
cd "$folder"
. "$here/vm/kernel.sh"
drive() { echo "-drive file=$1.img,if=none,id=d$1,format=raw,cache=unsafe"; }
# boots one list of set-ups
list() { # name "modules" program…
    local name=$1 modules=$2 programs=()
    shift 2
    for program in "$@"; do programs+=(-p "$program"); done
    for disk in a b nvme 4k v; do rm -f "$disk.img"; truncate -s 32M "$disk.img"; done
    cat "$here/vm/common.sh" "$here/vm/servers.sh" "$here/vm/$name.sh" >"$name.script"
    # shellcheck disable=SC2046 # lists of arguments
    VM_SECONDS=2400 "$here/vm/boot.sh" kernel "$name.script" -m "virtio_blk $modules" -p "$assay" "${programs[@]}" \
        -- ${NIC:-} $(drive a) $(drive b) $(drive 4k) $(drive nvme) $(drive v) -device virtio-scsi-pci \
        -device scsi-hd,drive=da,serial=SOAKA -device scsi-hd,drive=db,serial=SOAKB \
        -device scsi-hd,drive=d4k,serial=SOAK4K,logical_block_size=4096,physical_block_size=4096 \
        -device nvme,serial=SOAKNVME,drive=dnvme -device virtio-blk-pci,serial=SOAKVIRTIO,drive=dv \
        >"console-$name.txt" 2>&1 || :
    sed -n 's/^.*RESULT //p' "console-$name.txt" >>results.txt
    # A machine that ends before its script does has not shown what it must.
    grep -aq "^EXIT" "console-$name.txt" || echo "FAILED | the machine of $name | it ended before its script" >>results.txt
}
began=$SECONDS
: >results.txt
for name in ${SETUPS:-setups more mounts clocks broken limits shares verbs}; do
    case $name in
        setups)
            list setups "dm-mod dm-crypt dm-thin-pool dm-flakey dm-multipath dm-round-robin md-mod raid1 ext4 aesni-intel aes \
                cbc essiv sha256 ecb" wipefs dmsetup mdadm lvm blockdev ip ;;
        more)
            list more "dm-mod dm-snapshot dm-cache dm-cache-smq dm-era dm-integrity dm-multipath dm-round-robin crc32c md-mod \
                raid456 brd loop scsi_debug null_blk virtio_net sch_netem configfs target_core_mod target_core_iblock target_core_file \
                iscsi_target_mod nvmet nvmet-tcp nvme-tcp" wipefs dmsetup mdadm blockdev setpriv unshare ip tc ;;
        mounts)
            list mounts "ext4 nfs nfsv3 nfsv4 nfsd lockd crc32c" wipefs blockdev ip mount.nfs rpc.nfsd exportfs rpc.mountd rpcbind ;;
        clocks) list clocks "" wipefs blockdev ip nats-server ;;
        broken)
            list broken "ext4 dm-mod dm-flakey dm-thin-pool dm-snapshot md-mod raid456 brd" wipefs blockdev dmsetup lvm mdadm ip ;;
        limits)
            list limits "dm-mod ext4 sch_netem configfs target_core_mod target_core_iblock iscsi_target_mod" wipefs blockdev ip tc tgtd \
                tgtadm setpriv unshare dmsetup ;;
        shares)
            # A server of SMB on this host, for the machine alone.
            mkdir -p smb/export
            printf '%s\n' "[global]" "interfaces = 127.0.0.1" "bind interfaces only = yes" "smb ports = 14450" "guest account = root" \
                "map to guest = bad user" "disable netbios = yes" "private dir = $folder/smb" "state directory = $folder/smb" \
                "lock directory = $folder/smb" "cache directory = $folder/smb" "pid directory = $folder/smb" "log file = $folder/smb/log" \
                "[s]" "path = $folder/smb/export" "read only = no" "guest ok = yes" >smb/smb.conf
            smbd --foreground --no-process-group --configfile="$PWD/smb/smb.conf" >smb/out 2>&1 &
            smbd=$!
            NIC="-nic user,model=virtio-net-pci" list shares "ext4 cifs nls_utf8 hmac md5 sha256 sha512 cmac aes-generic ecb ctr gcm ccm \
                cryptd aesni-intel nbd zram lzo lzo-rle bcache crc64 btrfs xfs overlay loop virtio_net" wipefs blockdev ip nbd-server \
                nbd-client make-bcache mkfs.btrfs mkfs.xfs
            kill $smbd ;;
        verbs)
            list verbs "dm-mod dm-thin-pool md-mod raid1 ext4 nfs nfsv3 nfsd lockd crc32c configfs target_core_mod \
                target_core_iblock iscsi_target_mod" wipefs blockdev dmsetup mdadm ip tc nft mount.nfs rpc.nfsd exportfs \
                rpc.mountd rpcbind ;;
    esac
done
awk -F' [|] ' '{ printf "%-7s %-42s %s\n", $1, $2, $3 }' results.txt
failed=$(grep -c '^FAILED' results.txt || :)
count=$(wc -l <results.txt)
echo "$count set-ups, $failed with another result than they must have, $((SECONDS - began)) s; the consoles are in $folder"
[ "$count" -ge 1 ] && [ "$failed" = 0 ]
