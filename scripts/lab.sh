#!/bin/sh
# A storage network on one machine: two network namespaces, four links of exactly 1 Gbit/s, tgt with four portals.
#
#   scripts/lab.sh up [MTU]     build it (default MTU 1500) and say how to use it
#   scripts/lab.sh mtu LINK MTU set the MTU of both ends of link 1 to 4
#   scripts/lab.sh cut LINK     take link 1 to 4 down;   scripts/lab.sh heal LINK   bring it up again
#   scripts/lab.sh kill | start end the target as a crash would; start it again with the same settings
#   scripts/lab.sh down         remove everything
#
# Needs root, iproute2 and tgt. LUN 1 of the target `open` is free, LUN 2 holds an ext4 file system; the target `chap`
# wants the name `lab` with the secret `lab-secret-1234`. htb counts 14 bytes of Ethernet header per frame, so the
# payload ceiling of a link is (MTU-52)/(MTU+14) Gbit/s: 956.4 Mbit/s at MTU 1500 and 992.7 at 9000.
set -eu

CLIENT=assay-lab-client
SERVER=assay-lab-server
DATA=/dev/shm/assay-lab
CONTROL=471
NAME=iqn.2026-11.example.assay-lab
LUN_BYTES=268435456

admin() {
    ip netns exec "$SERVER" tgtadm -C "$CONTROL" --lld iscsi "$@"
}

shape() { # namespace, interface: a burst and a queue large enough that nothing is lost and nothing jitters
    tc -n "$1" qdisc add dev "$2" root handle 1: htb default 1
    tc -n "$1" class add dev "$2" parent 1: classid 1:1 htb rate 1gbit burst 256k cburst 256k quantum 60000
    tc -n "$1" qdisc add dev "$2" parent 1:1 handle 10: pfifo limit 2000
}

link() { # number, MTU
    ip link add "c$1" netns "$CLIENT" mtu "$2" type veth peer name "s$1" netns "$SERVER" mtu "$2"
    ip -n "$CLIENT" addr add "10.77.$1.1/24" dev "c$1"
    ip -n "$SERVER" addr add "10.77.$1.2/24" dev "s$1"
    ip -n "$CLIENT" link set "c$1" up
    ip -n "$SERVER" link set "s$1" up
    shape "$CLIENT" "c$1"
    shape "$SERVER" "s$1"
}

start() {
    portals=portal=10.77.1.2:3260,portal=10.77.2.2:3260,portal=10.77.3.2:3260,portal=10.77.4.2:3260
    ip netns exec "$SERVER" tgtd -f -C "$CONTROL" --iscsi "$portals" >"$DATA/tgtd.log" 2>&1 &
    echo $! >"$DATA/tgtd.pid"
    tries=0
    until admin --op show --mode target >/dev/null 2>&1; do
        tries=$((tries + 1))
        if [ "$tries" -gt 100 ]; then echo "tgtd does not answer, see $DATA/tgtd.log" >&2; exit 1; fi
        sleep 0.05
    done
    admin --op new --mode target --tid 1 -T "$NAME:open"
    admin --op new --mode logicalunit --tid 1 --lun 1 -b "$DATA/lun1"
    admin --op new --mode logicalunit --tid 1 --lun 2 -b "$DATA/lun2"
    admin --op new --mode target --tid 2 -T "$NAME:chap"
    admin --op new --mode logicalunit --tid 2 --lun 1 -b "$DATA/lun3"
    admin --op new --mode account --user lab --password lab-secret-1234
    admin --op bind --mode account --tid 2 --user lab
    for tid in 1 2; do
        for pair in InitialR2T=No MaxRecvDataSegmentLength=262144; do
            admin --op update --mode target --tid "$tid" --name "${pair%%=*}" --value "${pair#*=}"
        done
        admin --op bind --mode target --tid "$tid" -I ALL
    done
}

kill_target() {
    if [ -f "$DATA/tgtd.pid" ]; then
        kill -9 "$(cat "$DATA/tgtd.pid")" 2>/dev/null || true
        rm -f "$DATA/tgtd.pid"
    fi
}

up() {
    ip netns add "$CLIENT"
    ip netns add "$SERVER"
    ip -n "$CLIENT" link set lo up
    ip -n "$SERVER" link set lo up
    for number in 1 2 3 4; do link "$number" "$1"; done
    mkdir -p "$DATA"
    for lun in lun1 lun2 lun3; do truncate -s "$LUN_BYTES" "$DATA/$lun"; done
    mkfs.ext4 -q -F "$DATA/lun2"
    start
    cat <<WORDS
The lab is up. Try, one path and four:
  ip netns exec $CLIENT assay check 'iscsi://10.77.1.2/$NAME:open/1'
  ip netns exec $CLIENT assay check 'iscsi://10.77.1.2/$NAME:open/1?portal=10.77.2.2&portal=10.77.3.2&portal=10.77.4.2'
WORDS
}

down() {
    kill_target
    ip netns del "$CLIENT" 2>/dev/null || true
    ip netns del "$SERVER" 2>/dev/null || true
    rm -rf "$DATA"
}

case "${1:-}" in
up) up "${2:-1500}" ;;
down) down ;;
kill) kill_target ;;
start) start ;;
mtu)
    ip -n "$CLIENT" link set "c$2" mtu "$3"
    ip -n "$SERVER" link set "s$2" mtu "$3"
    ;;
cut) ip -n "$SERVER" link set "s$2" down ;;
heal) ip -n "$SERVER" link set "s$2" up ;;
*)
    sed -n '2,13s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
