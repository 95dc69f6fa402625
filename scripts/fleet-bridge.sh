# A bridge of this machine with a network namespace for each host; sourced by the scripts that play several.

bridge() { # prefix, first three numbers of the network, hosts: from .2 on, and .1 is this machine
    local prefix=$1 network=$2 number=2 host
    ip link add "$prefix-bridge" type bridge && ip addr add "$network.1/24" dev "$prefix-bridge" &&
        ip link set "$prefix-bridge" up
    for host in "${@:3}"; do
        ip netns add "$prefix-$host"
        ip link add "$prefix-$host" type veth peer name eth0 netns "$prefix-$host"
        ip link set "$prefix-$host" master "$prefix-bridge" up
        ip -n "$prefix-$host" addr add "$network.$number/24" dev eth0
        ip -n "$prefix-$host" link set eth0 up
        ip -n "$prefix-$host" link set lo up
        number=$((number + 1))
    done
}

no_bridge() { # prefix, hosts
    local host
    for host in "${@:2}"; do ip netns del "$1-$host" 2>/dev/null; done
    ip link del "$1-bridge" 2>/dev/null
}
