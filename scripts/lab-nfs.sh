#!/bin/sh
# A real NFSv3 server in addition to the lab, without touching the host: nfs-ganesha on files in memory.
#
#   scripts/lab-nfs.sh start    start it and say how to use it; again after `kill`: same exports, same files
#   scripts/lab-nfs.sh kill     end it as a crash would
#   scripts/lab-nfs.sh stop     end it and remove everything
#
# LAB (default assay-lab) names it: inside the namespace $LAB-server where there is one, on the ports 2049 and 20048 and
# with a port mapper; else on loopback, on NFS_PORT and MOUNT_PORT (default 12049 and 12048), without one. Files are in
# /dev/shm/$LAB/nfs. Exports: /rw, /ro (read-only), /squash (everybody is nobody, who may not write), /denied (to
# another host only).
#
# Needs root, nfs-ganesha, nfs-ganesha-vfs and rpcbind. Ganesha insists on registering with an rpcbind; it gets one of
# its own, behind a /run of its own in a mount namespace, and on loopback that one has no network ports at all. It must
# not keep attributes, or changes made to files past it would stay unseen for a minute.
set -eu

LAB=${LAB:-assay-lab}
DATA=/dev/shm/$LAB/nfs
SERVER=$LAB-server
PATH=$PATH:/usr/sbin:/sbin

in_namespace() {
    [ -e "/run/netns/$SERVER" ]
}

if in_namespace; then
    PLACE=namespace
    NFS_PORT=${NFS_PORT:-2049}
    MOUNT_PORT=${MOUNT_PORT:-20048}
    BIND=0.0.0.0
else
    PLACE=loopback
    NFS_PORT=${NFS_PORT:-12049}
    MOUNT_PORT=${MOUNT_PORT:-12048}
    BIND=127.0.0.1
fi

export_block() { # number, name, more
    cat <<WORDS
EXPORT {
    Export_Id = $1; Path = $DATA/$2; Pseudo = /$2; Protocols = 3; Transports = TCP; SecType = sys;
    $3
    FSAL { Name = VFS; }
}
WORDS
}

configure() {
    mkdir -p "$DATA/rw" "$DATA/ro" "$DATA/squash" "$DATA/denied"
    chmod 1777 "$DATA/rw"
    chmod 755 "$DATA/ro" "$DATA/squash"
    [ -e "$DATA/ro/there.dat" ] || head -c 4194304 /dev/urandom >"$DATA/ro/there.dat"
    {
        cat <<WORDS
NFS_CORE_PARAM {
    NFS_Port = $NFS_PORT; MNT_Port = $MOUNT_PORT; Bind_addr = $BIND; Protocols = 3;
    Enable_NLM = false; Enable_RQUOTA = false; Enable_UDP = false; mount_path_pseudo = true;
}
EXPORT_DEFAULTS { Attr_Expiration_Time = 0; }
NFSV4 { Graceless = true; RecoveryBackend = fs; }
WORDS
        export_block 1 rw "Access_Type = RW; Squash = No_Root_Squash;"
        export_block 2 ro "Access_Type = RO; Squash = No_Root_Squash;"
        export_block 3 squash "Access_Type = RW; Squash = All_Squash;"
        export_block 4 denied "Access_Type = NONE; CLIENT { Clients = 192.0.2.1; Access_Type = RW; }"
    } >"$DATA/ganesha.conf"
}

# Runs as root of a mount namespace of its own.
serve() {
    mount --make-rprivate /
    mount -t tmpfs tmpfs /run
    mkdir -p /run/rpcbind /run/ganesha
    if [ "$PLACE" = loopback ]; then
        grep '^local' /etc/netconfig >/run/netconfig
        mount --bind /run/netconfig /etc/netconfig
    fi
    rpcbind -f &
    echo $! >"$DATA/rpcbind.pid"
    tries=0
    until [ -S /run/rpcbind.sock ]; do
        tries=$((tries + 1))
        if [ "$tries" -gt 100 ]; then echo "rpcbind does not start" >&2; exit 1; fi
        sleep 0.05
    done
    if [ "$PLACE" = loopback ]; then umount /etc/netconfig; fi
    exec ganesha.nfsd -F -L "$DATA/ganesha.log" -f "$DATA/ganesha.conf" -p /run/ganesha/pid
}

listens() {
    if in_namespace; then set -- ip netns exec "$SERVER"; else set --; fi
    "$@" ss -Hltn "sport = :$NFS_PORT" | grep -q . && "$@" ss -Hltn "sport = :$MOUNT_PORT" | grep -q .
}

start() {
    if listens; then
        # A second server would take the place of the first in the notes, and nobody would end the first.
        echo "port $NFS_PORT or $MOUNT_PORT is taken: is it running already? ($0 stop)" >&2
        exit 1
    fi
    configure
    if in_namespace; then set -- ip netns exec "$SERVER"; else set --; fi
    # The script ends, the server stays: it must not hold the caller's pipes.
    LAB=$LAB NFS_PORT=$NFS_PORT MOUNT_PORT=$MOUNT_PORT PLACE=$PLACE \
        "$@" unshare -m sh "$0" serve >"$DATA/out.log" 2>&1 </dev/null &
    echo $! >"$DATA/ganesha.pid"
    tries=0
    until listens; do
        tries=$((tries + 1))
        if [ "$tries" -gt 200 ] || ! kill -0 "$(cat "$DATA/ganesha.pid")" 2>/dev/null; then
            echo "nfs-ganesha does not start, see $DATA/ganesha.log and $DATA/out.log" >&2
            exit 1
        fi
        sleep 0.05
    done
}

kill_server() {
    for name in ganesha rpcbind; do
        if [ -f "$DATA/$name.pid" ]; then
            kill -9 "$(cat "$DATA/$name.pid")" 2>/dev/null || true
            rm -f "$DATA/$name.pid"
        fi
    done
}

words() {
    if [ "$PLACE" = namespace ]; then
        echo "NFS is up. Try:"
        echo "  ip netns exec $LAB-client assay check nfs://10.77.1.2/rw"
    else
        echo "NFS is up. Try:"
        echo "  assay check 'nfs://127.0.0.1/rw?port=$NFS_PORT&mountport=$MOUNT_PORT'"
    fi
}

case "${1:-}" in
start) start && words ;;
serve) serve ;;
kill) kill_server ;;
stop)
    kill_server
    rm -rf "$DATA"
    rmdir "/dev/shm/$LAB" 2>/dev/null || true
    ;;
*)
    sed -n '2,15s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
