# Servers of the kernel itself, inside of the machine, for the lists of set-ups: NFS and iSCSI (LIO).
# The shell of busybox prefers its own.
ip() { /bin/ip "$@"; }
tc() { /bin/tc "$@"; }
ip link set lo up; ip addr add 10.9.0.1/32 dev lo; ip addr add 10.9.1.1/32 dev lo
T=/sys/kernel/config/target

names() { # what a C library looks up in files
    mkdir -p /etc /var/lib/nfs /run/rpcbind
    ln -s /run /var/run
    printf 'udp tpi_clts v inet udp - -\ntcp tpi_cots_ord v inet tcp - -\nlocal tpi_cots_ord - loopback - - -\n' >/etc/netconfig
    printf 'nfs 2049/tcp\nnfs 2049/udp\nsunrpc 111/tcp portmapper\nsunrpc 111/udp portmapper\n' >/etc/services
    printf 'udp 17 UDP\ntcp 6 TCP\n' >/etc/protocols
    echo "hosts: files" >/etc/nsswitch.conf
    echo "127.0.0.1 localhost" >/etc/hosts
    printf 'root:x:0:0::/:/bin/sh\n_rpc:x:100:65534::/run/rpcbind:/bin/false\nstatd:x:101:65534::/:/bin/false\nnobody:x:65534:65534::/:/bin/false\n' >/etc/passwd
    printf 'root:x:0:\nnogroup:x:65534:\n' >/etc/group
}
serve_nfs() { # folder
    names
    touch /var/lib/nfs/etab /var/lib/nfs/rmtab
    rpcbind
    mount -t nfsd nfsd /proc/fs/nfsd
    echo 10 >/proc/fs/nfsd/nfsv4leasetime; echo 10 >/proc/fs/nfsd/nfsv4gracetime
    echo "$1 *(rw,sync,no_root_squash,insecure,fsid=1,no_subtree_check)" >/etc/exports
    exportfs -a
    rpc.mountd
    rpc.nfsd 4
}
serve_lun() { # device portal…: iqn.2026-11.vm:lio, LUN 0
    device=$1
    shift
    mkdir -p /sys/kernel/config; mount -t configfs c /sys/kernel/config 2>/dev/null
    mkdir -p $T/core/iblock_0/d0 || return 1
    echo "udev_path=$device" >$T/core/iblock_0/d0/control; echo 1 >$T/core/iblock_0/d0/enable
    I=$T/iscsi/iqn.2026-11.vm:lio
    mkdir -p $I/tpgt_1/lun/lun_0; ln -s $T/core/iblock_0/d0 $I/tpgt_1/lun/lun_0/d0
    (cd $I/tpgt_1; echo 1 >attrib/generate_node_acls; echo 0 >attrib/demo_mode_write_protect; echo 0 >attrib/authentication
        for portal in "$@"; do mkdir "np/$portal:3260"; done
        echo 1 >enable)
}
