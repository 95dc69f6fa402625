#!/bin/sh
# Sees to it that commands which tests need are there: scripts/need.sh NAME...
# Checks by command; as root it installs the Debian package that has it; else it says what is missing and skipped.
# Never fails: a test that finds its command missing says so itself.
set -u

# Command and the package that has it. The one list of what tests use beyond Rust, gcc and make.
package_of() {
    case $1 in
        losetup) echo mount ;;
        chrt | taskset | unshare | wipefs | mkswap) echo util-linux ;;
        sfdisk) echo fdisk ;;
        mkfs.ext4) echo e2fsprogs ;;
        tgtd | tgtadm) echo tgt ;;
        ip | tc) echo iproute2 ;;
        ganesha.nfsd) echo nfs-ganesha nfs-ganesha-vfs ;;
        iscsi-inq) echo libiscsi-bin ;;
        git | fio | istgt | rpcbind) echo "$1" ;;
        *) echo "" ;;
    esac
}

PATH="$PATH:/usr/sbin:/sbin"
missing=""
packages=""
for name in "$@"; do
    command -v "$name" >/dev/null 2>&1 && continue
    missing="$missing $name"
    packages="$packages $(package_of "$name")"
done
[ -z "$missing" ] && exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing$packages (for$missing)"
    # shellcheck disable=SC2086 # a list of words
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $packages; } \
        >/dev/null || echo "could not be installed:$packages"
else
    echo "missing:$missing; tests that need them are skipped. To run them: apt-get install$packages"
fi
exit 0
