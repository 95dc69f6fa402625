#!/bin/bash
# Three agents in network namespaces with shaped links to one tgt, and what a run over them must show: the rows of hosts
# that share nothing are those of the same run on one host alone, shares of a shared link, and a slow host that is named
# and found by a diagnosis.
#
#   scripts/fleet-links.sh
#
# ASSAY (default: assay) is the program; LINK, SLOW and SHARED are rates as tc has them, in mbit. Needs root, ip, tc with
# tbf, nats-server, tgtd, tgtadm and python3. Ends with 1 if something is not as it must be.
set -u

ASSAY=$(realpath "$(command -v "${ASSAY:-assay}")") || exit 1
. "$(dirname "$0")/fleet-bridge.sh"
WORK=$(mktemp -d /tmp/fleet-links.XXXXXX)
PORT=${PORT:-14556}
URL=nats://10.79.0.1:$PORT
CONTROL=${CONTROL:-79}
LINK=${LINK:-200mbit}
SLOW=${SLOW:-100mbit}
SHARED=${SHARED:-300mbit}
export ASSAY_STORE=$WORK/runs.db ASSAY_NATS=$URL
FAILED=0
PROCESSES=()
cd "$WORK" || exit 1

end() {
    # tgtd goes for nothing less while it has a session.
    kill -9 "${PROCESSES[@]}" 2>/dev/null
    wait 2>/dev/null
    no_bridge fl a b c san
    rm -rf "$WORK"
}
trap end EXIT

# Both ends of a link have the rate: what a host sends, and what is sent to it.
shape() { # namespace, rate
    tc qdisc replace dev "$1" root tbf rate "$2" burst 32k latency 100ms
    ip netns exec "$1" tc qdisc replace dev eth0 root tbf rate "$2" burst 32k latency 100ms
}

targets() {
    ip netns exec fl-san tgtd -f -C "$CONTROL" --iscsi portal=10.79.0.5:3260 >tgtd.log 2>&1 &
    PROCESSES+=($!)
    sleep 1
    number=1
    for name in a b c all; do
        head -c 64M /dev/urandom >"$name.img"
        tgtadm -C "$CONTROL" --lld iscsi --op new --mode target --tid $number -T "iqn.2026-01.links:$name"
        tgtadm -C "$CONTROL" --lld iscsi --op new --mode logicalunit --tid $number --lun 1 -b "$WORK/$name.img"
        tgtadm -C "$CONTROL" --lld iscsi --op bind --mode target --tid $number -I ALL
        number=$((number + 1))
    done
}

agents() {
    nats-server -js -a 10.79.0.1 -p "$PORT" -sd "$WORK/js" >/dev/null 2>&1 &
    PROCESSES+=($!)
    printf '[[target]]\npattern = "iscsi://10.79.0.5/**"\n' >agent.toml
    sleep 1
    for host in a b c; do
        ip netns exec "fl-$host" "$ASSAY" agent --name "$host" --config agent.toml 2>"agent-$host.log" &
        PROCESSES+=($!)
    done
    for _ in $(seq 40); do
        [ "$("$ASSAY" hosts 2>/dev/null | grep -c ' ready ')" = 3 ] && return
        sleep 0.5
    done
}

cat >plan.toml <<WORDS
[[test]]
name = "reads"
access = [{ size = "64KiB", random = 100, read = 100 }]
outstanding = 8
warmup = "2s"
run = "10s"
WORDS

run() { # document, target, hosts
    "$ASSAY" run plan.toml "iscsi://10.79.0.5/$2/1" --hosts "$3" --json >"$1.json" 2>"$1.txt" || {
        cat "$1.txt"
        FAILED=1
    }
}

# Prints what a piece of Python makes of the documents; one that is not true counts.
must() { # what, expression
    python3 - "$1" "$2" <<'WORDS' || FAILED=1
import glob, json, sys
run = {}
for path in glob.glob("*.json"):
    try:
        run[path[:-5]] = json.load(open(path))
    except ValueError:
        pass
test = lambda name: run[name]["tests"][0]
mbit = lambda name, host: next(j["total"]["mib_per_s"] for j in test(name)["jobs"] if j["name"] == host) * 8.388608
alone = lambda host: test(f"alone-{host}")["total"]["mib_per_s"] * 8.388608
rules = lambda name: {finding["rule"]: finding["says"] for finding in run[name]["findings"]}
is_right, says = eval(sys.argv[2])
print(f'{"as it must be" if is_right else "NOT AS IT MUST BE"} | {sys.argv[1]} | {says}', flush=True)
sys.exit(not is_right)
WORDS
}

bridge fl 10.79.0 a b c san
for host in a b c; do shape "fl-$host" "$LINK"; done
targets
agents
for host in a b c; do run "alone-$host" "iqn.2026-01.links:$host" "$host"; done
run own 'iqn.2026-01.links:{host}' a,b,c
must "rows of hosts with targets of their own, over the same alone" \
    '(lambda of: (all(abs(x - 1) < 0.02 for x in of), ", ".join(f"{x:.4f}" for x in of)))([mbit("own", h) / alone(h) for h in "abc"])'

tc qdisc replace dev fl-san root tbf rate 1gbit burst 64k latency 100ms
ip netns exec fl-san tc qdisc replace dev eth0 root tbf rate "$SHARED" burst 32k latency 100ms
run shared iqn.2026-01.links:all a,b,c
must "one link of $SHARED for all: Mbit/s together, of each, and the slowest" \
    '(lambda of, h: (abs(sum(of) / '"${SHARED%mbit}"' - 0.95) < 0.06 and h["slowest"] == "abc"[of.index(min(of))], f"{sum(of):.1f}; " + ", ".join(f"{x:.1f}" for x in of) + "; " + h["slowest"]))([mbit("shared", h) for h in "abc"], test("shared")["hosts"])'
ip netns exec fl-san tc qdisc del dev eth0 root

shape fl-b "$SLOW"
run slow iqn.2026-01.links:all a,b,c
must "a host with $SLOW among $LINK is named" \
    '(lambda says: ("b did" in says, says))(rules("slow").get("slow-host", "nothing"))'
"$ASSAY" diagnose "iscsi://10.79.0.5/iqn.2026-01.links:all/1" plan.toml --hosts a,b,c --budget 60s >diagnosed.txt 2>diagnosed.err
SAYS=$(grep "^ *CAUSE: " diagnosed.txt | head -1)
case $SAYS in
    *"CAUSE: the host b, not the target."*) echo "as it must be | diagnose says that it is the host | $SAYS" ;;
    *) echo "NOT AS IT MUST BE | diagnose | $(head -30 diagnosed.txt diagnosed.err)"; FAILED=1 ;;
esac
exit $FAILED
