#!/bin/bash
# Boots a real kernel under QEMU in a few seconds: boot.sh KERNEL_FOLDER INIT_SCRIPT -m "MODULE…" -p PROGRAM… -- QEMU_ARGUMENT…
# KERNEL_FOLDER is an unpacked linux-image package. The machine has busybox, the modules and programs that are named, with
# what they need, and nothing else; the script runs as root. Prints the console, and ends when the script does.
set -euo pipefail

image=$1 script=$2
shift 2
modules="" programs=()
while [ $# -gt 0 ]; do
    case $1 in
        -m) modules=$2; shift 2 ;;
        -p) programs+=("$(command -v "$2")"); shift 2 ;;
        --) shift; break ;;
        *) echo "boot.sh: $1 is unknown" >&2; exit 2 ;;
    esac
done
kernel=$(echo "$image"/boot/vmlinuz-*)
version=${kernel##*/vmlinuz-}
[ -d "$image/lib/modules" ] || ln -s usr/lib "$image/lib"
[ -e "$image/lib/modules/$version/modules.dep" ] || depmod -b "$image" "$version"

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/{bin,proc,sys,dev,tmp,run,etc,lib64,modules}
chmod 755 "$root"
cp /bin/busybox "$root/bin/"
cp "$script" "$root/script"
order=""
for module in virtio_pci virtio_scsi sd_mod nvme $modules; do
    while read -r kind path _; do
        [ "$kind" = insmod ] || continue
        name=${path##*/}
        [ -e "$root/modules/$name" ] && continue
        cp "$path" "$root/modules/$name"
        order+=" $name"
    done < <(modprobe -d "$image" -S "$version" --show-depends "$module" 2>/dev/null || echo "missing $module" >&2)
done
for program in "${programs[@]}"; do
    cp -L "$program" "$root/bin/"
    for library in $(ldd "$program" 2>/dev/null | grep -o '/[^ )]*' || :); do
        mkdir -p "$root${library%/*}"
        [ -e "$root$library" ] || cp -L "$library" "$root$library"
    done
done
cat >"$root/init" <<END
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin HOME=/tmp
mount -t proc p /proc; mount -t sysfs s /sys; mount -t devtmpfs d /dev; mount -t tmpfs t /tmp; mount -t tmpfs r /run
mkdir -p /dev/shm /run/lock; mount -t tmpfs s /dev/shm
for module in $order; do insmod /modules/\$module 2>/dev/null; done
sh /script
echo "EXIT \$?"
poweroff -f
END
chmod +x "$root/init"
(cd "$root" && find . | cpio -o -H newc 2>/dev/null | gzip -1) >"$root.cpio.gz"
trap 'rm -rf "$root" "$root.cpio.gz"' EXIT
# Emulated in software: hardware virtualisation is not everywhere, and what is right does not depend on how fast it is. On a
# busy host the timer looks broken to a kernel that checks it.
timeout "${VM_SECONDS:-600}" qemu-system-x86_64 -accel tcg -cpu max -smp 2 -m 2048 -nographic -no-reboot \
    -kernel "$kernel" -initrd "$root.cpio.gz" -append "console=ttyS0 quiet loglevel=1 panic=-1 no_timer_check" "$@" </dev/null |
    sed -u 's/\r//; s/\x1b[^a-zA-Z]*[a-zA-Z]//g'
