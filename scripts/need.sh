#!/bin/sh
# Installs commands that tests need: scripts/need.sh NAME...
# Checks by command; as root it installs the Debian package that has it, otherwise it names what is missing.
# With CI=true a command that is still missing is a failure; elsewhere the tests that need it are skipped, and counted.
set -u

# Command and the package that has it. The one list of what tests use beyond Rust, gcc and make.
package_of() {
    case $1 in
        losetup | mount | umount) echo mount ;;
        chrt | fsfreeze | setpriv | taskset | unshare | wipefs | mkswap | swapon | partx | addpart | blockdev) echo util-linux ;;
        mkfs.minix | mkfs.bfs | mkfs.cramfs) echo util-linux ;;
        sfdisk) echo fdisk ;;
        mkfs.ext4) echo e2fsprogs ;;
        mkfs.btrfs) echo btrfs-progs ;;
        mkfs.xfs) echo xfsprogs ;;
        mkfs.fat) echo dosfstools ;;
        mkfs.exfat) echo exfatprogs ;;
        mkfs.ntfs) echo ntfs-3g ;;
        mkfs.f2fs) echo f2fs-tools ;;
        mkudffs) echo udftools ;;
        mkfs.nilfs2) echo nilfs-tools ;;
        mkfs.jfs) echo jfsutils ;;
        mkreiserfs) echo reiserfsprogs ;;
        mksquashfs) echo squashfs-tools ;;
        mkfs.erofs) echo erofs-utils ;;
        mkfs.ocfs2) echo ocfs2-tools ;;
        mkfs.gfs2) echo gfs2-utils ;;
        cryptsetup | veritysetup) echo cryptsetup-bin ;;
        make-bcache) echo bcache-tools ;;
        qemu-img) echo qemu-utils ;;
        qemu-system-x86_64) echo qemu-system-x86 ;;
        busybox) echo busybox-static ;;
        depmod) echo kmod ;;
        lvm) echo lvm2 ;;
        cpio | mdadm | dmsetup) echo "$1" ;;
        tgtd | tgtadm) echo tgt ;;
        ip | tc) echo iproute2 ;;
        nft) echo nftables ;;
        mount.nfs) echo nfs-common ;;
        smbd) echo samba ;;
        rpc.nfsd | rpc.mountd | exportfs) echo nfs-kernel-server ;;
        ganesha.nfsd) echo nfs-ganesha nfs-ganesha-vfs ;;
        iostat) echo sysstat ;;
        iscsi-inq) echo libiscsi-bin ;;
        systemd-analyze) echo systemd ;;
        prometheus-client) echo python3-prometheus-client ;;
        objdump) echo binutils ;;
        python3-venv) echo python3-venv ;;
        postgres) echo postgresql ;;
        git | chromium | fio | g++ | nbd-server | nbd-client | istgt | nats-server | rpcbind | parted | genisoimage | lintian) echo "$1" ;;
        *) echo "" ;;
    esac
}

PATH="$PATH:/usr/sbin:/sbin"

# Succeeds if a command, or what goes by the name of one, is installed.
have() {
    case $1 in
        # Libraries of the system's own Python.
        prometheus-client) /usr/bin/python3 -c 'import prometheus_client' 2>/dev/null ;;
        python3-venv) /usr/bin/python3 -c 'import ensurepip' 2>/dev/null ;;
        # Debian keeps the programs of each version in a folder of its own.
        postgres) ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 ;;
        *) command -v "$1" >/dev/null 2>&1 ;;
    esac
}

# Sets `missing` to those of the commands that are not installed, and `packages` to the packages that have them.
look() {
    missing=""
    packages=""
    for name in "$@"; do
        have "$name" && continue
        missing="$missing $name"
        packages="$packages $(package_of "$name")"
    done
}

look "$@"
[ -z "$missing" ] && exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing$packages (for$missing)"
    # shellcheck disable=SC2086 # a list of words
    { apt-get update -qq -o DPkg::Lock::Timeout=300 && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y -o DPkg::Lock::Timeout=300 --no-install-recommends $packages; } \
        >/dev/null || echo "could not be installed:$packages"
    look "$@"
    [ -z "$missing" ] && exit 0
fi
if [ "${CI:-}" = true ]; then
    echo "missing:$missing; with CI=true all of them must be installed: apt-get install$packages" >&2
    exit 1
fi
echo "missing:$missing; tests that need them are skipped. To run them: apt-get install$packages"
