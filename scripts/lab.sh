#!/bin/sh
# A storage network on one machine: two network namespaces, four links of exactly 1 Gbit/s, tgt with four portals.
#
#   scripts/lab.sh up [MTU]           build it (default MTU 9000, as storage networks are built) and say how to use it
#   scripts/lab.sh mtu LINK MTU [END] set the MTU of link 1 to 4; END is client or server, both where it is left out
#   scripts/lab.sh switch LINK MTU    put a switch between, which drops larger frames without a word (until down)
#   scripts/lab.sh router LINK MTU [silent]  put a router between, whose link to the server has this MTU; a silent one
#                                     says of no packet that it is too large (until down)
#   scripts/lab.sh cut LINK           pull the cable of link 1 to 4;   scripts/lab.sh heal LINK   plug it in again
#   scripts/lab.sh kill | start       end the iSCSI target as a crash would; start it again with the same settings
#   scripts/lab.sh status             say what there is
#   scripts/lab.sh down               remove everything
#
# LAB=NAME (default assay-lab) builds a second one: namespaces NAME-client and NAME-server, data in
# /dev/shm/NAME, its own target names. Needs root, iproute2 and tgt; NFS too, where scripts/lab-nfs.sh is there.
# LUN 1 of the target `open` is free, LUN 2 holds an ext4 file system; the target `chap` wants the name `lab` with the
# secret `lab-secret-1234`. tgt tells of a target's other portals to nobody; istgt, where it is installed, does: its
# target `portals` (LUN 0) is at port 3261 of every link. The shaper counts 14 bytes of Ethernet header per frame, so the
# payload ceiling of a link is (MTU-52)/(MTU+14) Gbit/s: 956.4 Mbit/s at MTU 1500 and 992.7 at 9000. The portals have
# IPv6 addresses as well: fd77:LINK::2, and on each link fe80::77:2 (iscsi://[fe80::77:2%cLINK]/...).
set -eu

LAB=${LAB:-assay-lab}
case $LAB in
'' | *[!a-z0-9-]*) echo "LAB=$LAB: use small letters, digits and hyphens" >&2; exit 2 ;;
esac
CLIENT=$LAB-client
SERVER=$LAB-server
SWITCH=$LAB-switch
ROUTER=$LAB-router
DATA=/dev/shm/$LAB
NAME=iqn.2026-11.example.$LAB
LUN_BYTES=268435456
LINKS="1 2 3 4"
# tgtd is distinguished by its control port, which is not in any namespace.
CONTROL=$(($(printf %s "$LAB" | cksum | cut -d ' ' -f 1) % 20000 + 1000))
NFS=$(dirname "$0")/lab-nfs.sh

fail() {
    echo "lab: $*" >&2
    exit 1
}

is_up() {
    [ -e "/run/netns/$CLIENT" ] && [ -e "/run/netns/$SERVER" ]
}

need_up() {
    is_up || fail "$LAB is not up; LAB=$LAB $0 up"
}

link_number() {
    case ${1:-} in
    [1-4]) ;;
    *) fail "a link is a number from 1 to 4, not '${1:-}'" ;;
    esac
}

admin() {
    ip netns exec "$SERVER" tgtadm -C "$CONTROL" --lld iscsi "$@"
}

shape() { # namespace, interface: a burst and a queue large enough that nothing is lost and nothing jitters
    tc -n "$1" qdisc add dev "$2" root handle 1: htb default 1
    tc -n "$1" class add dev "$2" parent 1: classid 1:1 htb rate 1gbit burst 256k cburst 256k quantum 60000
    tc -n "$1" qdisc add dev "$2" parent 1:1 handle 10: pfifo limit 2000
}

six() { # namespace, interface, number, end; where the kernel has no IPv6 the lab has none
    ip -n "$1" addr add "fd77:$3::$4/64" dev "$2" nodad 2>/dev/null || true
    ip -n "$1" addr add "fe80::77:$4/64" dev "$2" nodad 2>/dev/null || true
}

link() { # number, MTU
    ip link add "c$1" netns "$CLIENT" mtu "$2" type veth peer name "s$1" netns "$SERVER" mtu "$2"
    ip -n "$CLIENT" addr add "10.77.$1.1/24" dev "c$1"
    ip -n "$SERVER" addr add "10.77.$1.2/24" dev "s$1"
    six "$CLIENT" "c$1" "$1" 1
    six "$SERVER" "s$1" "$1" 2
    ip -n "$CLIENT" link set "c$1" up
    ip -n "$SERVER" link set "s$1" up
    shape "$CLIENT" "c$1"
    shape "$SERVER" "s$1"
}

set_mtu() { # number, MTU, end
    link_number "${1:-}"
    case ${2:-} in
    '' | *[!0-9]*) fail "an MTU is a number of bytes, not '${2:-}'" ;;
    esac
    case ${3:-both} in
    client) ip -n "$CLIENT" link set "c$1" mtu "$2" ;;
    server) ip -n "$SERVER" link set "s$1" mtu "$2" ;;
    both)
        ip -n "$CLIENT" link set "c$1" mtu "$2"
        ip -n "$SERVER" link set "s$1" mtu "$2"
        ;;
    *) fail "an end is client or server, not '$3'" ;;
    esac
}

# A bridge looks at the size of single frames only, so the ends must send single frames: no segmentation offload.
put_switch() { # number, MTU
    link_number "${1:-}"
    case ${2:-} in
    '' | *[!0-9]*) fail "an MTU is a number of bytes, not '${2:-}'" ;;
    esac
    [ -e "/run/netns/$SWITCH" ] || ip netns add "$SWITCH"
    if ip -n "$SWITCH" link show "b$1" >/dev/null 2>&1; then fail "link $1 has a switch already"; fi
    mtu=$(ip -n "$CLIENT" -o link show "c$1" | sed 's/.* mtu \([0-9]*\) .*/\1/')
    ip -n "$CLIENT" link del "c$1"
    ip -n "$SWITCH" link add "b$1" type bridge
    plug "$CLIENT" "c$1" "10.77.$1.1" "$mtu" "$1" "$2"
    plug "$SERVER" "s$1" "10.77.$1.2" "$mtu" "$1" "$2"
    ip -n "$SWITCH" link set "b$1" up
}

plug() { # namespace, interface, address, its MTU, number of the switch, MTU of the switch
    ip link add "$2" netns "$1" mtu "$4" type veth peer name "x$2" netns "$SWITCH" mtu "$4"
    ip -n "$1" link set "$2" gso_max_segs 1
    ip -n "$1" addr add "$3/24" dev "$2"
    ip -n "$SWITCH" link set "x$2" master "b$5"
    ip -n "$SWITCH" link set "x$2" mtu "$6" up
    ip -n "$1" link set "$2" up
    shape "$1" "$2"
}

# The client moves to a subnet of its own, 10.87.LINK.0/24; the portal keeps its address.
put_router() { # number, MTU of the second link, silent or nothing
    link_number "${1:-}"
    case ${2:-} in
    '' | *[!0-9]*) fail "an MTU is a number of bytes, not '${2:-}'" ;;
    esac
    [ -e "/run/netns/$ROUTER" ] || ip netns add "$ROUTER"
    if ip -n "$ROUTER" link show "n$1" >/dev/null 2>&1; then fail "link $1 has a router already"; fi
    mtu=$(ip -n "$CLIENT" -o link show "c$1" | sed 's/.* mtu \([0-9]*\) .*/\1/')
    ip -n "$CLIENT" link del "c$1"
    ip link add "c$1" netns "$CLIENT" mtu "$mtu" type veth peer name "n$1" netns "$ROUTER" mtu "$mtu"
    ip link add "s$1" netns "$SERVER" mtu "$2" type veth peer name "f$1" netns "$ROUTER" mtu "$2"
    for end in "$CLIENT c$1 10.87.$1.1" "$ROUTER n$1 10.87.$1.254" "$ROUTER f$1 10.77.$1.254" "$SERVER s$1 10.77.$1.2"; do
        # shellcheck disable=SC2086
        set -- "$1" "$2" "${3:-}" $end
        ip -n "$4" addr add "$6/24" dev "$5"
        ip -n "$4" link set "$5" up
        shape "$4" "$5"
    done
    ip -n "$CLIENT" route add "10.77.$1.0/24" via "10.87.$1.254"
    ip -n "$SERVER" route add "10.87.$1.0/24" via "10.77.$1.254"
    ip netns exec "$ROUTER" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
    # What a router sends of its own accord goes nowhere: the same as a filter for ICMP on it.
    [ "${3:-}" != silent ] || ip -n "$ROUTER" rule add iif lo pref 1 blackhole
}

start() {
    [ ! -f "$DATA/tgtd.pid" ] || fail "the target runs already"
    portals=$(for number in $LINKS; do printf 'portal=10.77.%s.2:3260,' "$number"; done)
    for number in $LINKS; do
        ip -n "$SERVER" addr show dev "s$number" 2>/dev/null | grep -q "fd77:$number::2/64" || continue
        portals="$portals$(printf 'portal=[fd77:%s::2]:3260,portal=[fe80::77:2%%s%s]:3260,' "$number" "$number")"
    done
    ip netns exec "$SERVER" tgtd -f -C "$CONTROL" --iscsi "${portals%,}" >"$DATA/tgtd.log" 2>&1 &
    echo $! >"$DATA/tgtd.pid"
    tries=0
    until admin --op show --mode target >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ "$tries" -le 100 ] || fail "tgtd does not answer: $(tail -n 3 "$DATA/tgtd.log")"
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
    start_istgt
}

start_istgt() {
    command -v istgt >/dev/null || return 0
    cat >"$DATA/istgt.conf" <<CONF
[Global]
  NodeBase "$NAME"
  AuthFile $DATA/istgt.auth
  MediaDirectory $DATA
  DiscoveryAuthMethod None
[UnitControl]
  AuthMethod CHAP
  AuthGroup AuthGroup1
  Portal UC1 127.0.0.1:3262
  Netmask 127.0.0.1
[PortalGroup1]
$(for number in $LINKS; do echo "  Portal DA$number 10.77.$number.2:3261"; done)
[InitiatorGroup1]
  InitiatorName "ALL"
  Netmask 10.77.0.0/16
[LogicalUnit1]
  TargetName $NAME:portals
  Mapping PortalGroup1 InitiatorGroup1
  AuthMethod None
  UnitType Disk
  LUN0 Storage $DATA/lun4 Auto
CONF
    : >"$DATA/istgt.auth"
    chmod 600 "$DATA/istgt.auth"
    ip netns exec "$SERVER" istgt -D -q -c "$DATA/istgt.conf" -p "$DATA/istgt.own" >"$DATA/istgt.log" 2>&1 &
    echo $! >"$DATA/istgt.pid"
}

kill_target() {
    kill_one tgtd
    kill_one istgt
    rm -f "/var/run/tgtd/socket.$CONTROL" "/var/run/tgtd/socket.$CONTROL.lock"
}

kill_one() { # tgtd or istgt
    [ -f "$DATA/$1.pid" ] || return 0
    pid=$(cat "$DATA/$1.pid")
    kill -9 "$pid" 2>/dev/null || true
    tries=0
    # A new target cannot have the portals before the old one is gone.
    while kill -0 "$pid" 2>/dev/null && [ "$tries" -lt 100 ]; do
        tries=$((tries + 1))
        sleep 0.02
    done
    rm -f "$DATA/$1.pid"
}

nfs() { # start or stop; a lab without NFS is a lab all the same
    [ -x "$NFS" ] || return 0
    LAB=$LAB "$NFS" "$1" || echo "lab: no NFS here ($NFS $1 failed)" >&2
}

up() {
    ! is_up || fail "$LAB is up already; LAB=$LAB $0 down"
    case $1 in
    '' | *[!0-9]*) fail "an MTU is a number of bytes, not '$1'" ;;
    esac
    [ "$(id -u)" = 0 ] || fail "network namespaces need root"
    for command in ip tc tgtd tgtadm mkfs.ext4; do
        command -v "$command" >/dev/null || fail "$command is missing"
    done
    # Half a lab would stand in the way of the next try.
    trap 'down' EXIT
    ip netns add "$CLIENT"
    ip netns add "$SERVER"
    ip -n "$CLIENT" link set lo up
    ip -n "$SERVER" link set lo up
    for number in $LINKS; do link "$number" "$1"; done
    mkdir -p "$DATA"
    for lun in lun1 lun2 lun3 lun4; do truncate -s "$LUN_BYTES" "$DATA/$lun"; done
    mkfs.ext4 -q -F "$DATA/lun2"
    start
    nfs start
    trap - EXIT
    cat <<WORDS
The lab is up. Try, one path and four:
  ip netns exec $CLIENT assay check 'iscsi://10.77.1.2/$NAME:open/1'
  ip netns exec $CLIENT assay check 'iscsi://10.77.1.2/$NAME:open/1?portal=10.77.2.2&portal=10.77.3.2&portal=10.77.4.2'
WORDS
}

down() {
    [ -d "$DATA" ] && nfs stop
    kill_target
    ip netns del "$CLIENT" 2>/dev/null || true
    ip netns del "$SERVER" 2>/dev/null || true
    ip netns del "$SWITCH" 2>/dev/null || true
    ip netns del "$ROUTER" 2>/dev/null || true
    rm -rf "$DATA"
}

status() {
    is_up || { echo "$LAB is not up"; return 1; }
    ip -n "$CLIENT" -br link show type veth
    if [ -f "$DATA/tgtd.pid" ]; then echo "tgtd runs: $NAME:open, $NAME:chap"; else echo "tgtd does not run"; fi
}

PATH=$PATH:/usr/sbin:/sbin
case "${1:-}" in
up) up "${2:-9000}" ;;
down) down ;;
status) status ;;
kill) need_up && kill_target ;;
start) need_up && start ;;
mtu) need_up && set_mtu "${2:-}" "${3:-}" "${4:-both}" ;;
switch) need_up && put_switch "${2:-}" "${3:-}" ;;
router) need_up && put_router "${2:-}" "${3:-}" "${4:-}" ;;
cut) need_up && link_number "${2:-}" && ip -n "$SERVER" link set "s$2" down ;;
heal) need_up && link_number "${2:-}" && ip -n "$SERVER" link set "s$2" up ;;
*)
    sed -n '2,24s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
