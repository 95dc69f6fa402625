#!/bin/bash
# Faults of a fleet, each played on three agents in network namespaces and a real nats-server, and what was kept of it:
# a line of the table in docs/design/010-fleet.md for each.
#
#   scripts/fleet-faults.sh             play all
#   scripts/fleet-faults.sh NAME...     play these (the functions below)
#
# ASSAY (default: assay) is the program; OTHER is that of another version, without which the mismatch is left out. Every
# host does exactly 200 I/Os per second in the runs, so that a lost or a doubled one shows in its count. Needs root, ip,
# nats-server and python3.
set -u

ASSAY=${ASSAY:-assay}
OTHER=${OTHER:-}
. "$(dirname "$0")/fleet-bridge.sh"
WORK=$(mktemp -d /tmp/fleet-faults.XXXXXX)
PORT=${PORT:-14555}
URL=nats://10.77.0.1:$PORT
RUN_S=8
export ASSAY_STORE=$WORK/runs.db
cd "$WORK" || exit 1

declare -A AGENT
NATS=
RUNNING=

end() {
    kill -9 $NATS "${AGENT[@]}" 2>/dev/null
    no_bridge ff a b c
    umount "$WORK/small" 2>/dev/null
    rm -rf "$WORK"
}
trap end EXIT

nats() { # folder
    # It would reserve no more than there is on a small disk, and refuse the stream of a run.
    cat >nats.conf <<WORDS
listen: "10.77.0.1:$PORT"
jetstream { store_dir: "${1:-$WORK/js}", max_file_store: 4GB }
WORDS
    nats-server -c nats.conf >/dev/null 2>&1 &
    NATS=$!
    sleep 1
}

agent() { # host, program, options
    local host=$1 program=${2:-$ASSAY}
    ip netns exec "ff-$host" "$program" agent --nats "$URL" --name "$host" "${@:3}" 2>"agent-$host.log" &
    AGENT[$host]=$!
}

plan() { # seconds
    cat >plan.toml <<WORDS
[[test]]
name = "paced"
access = [{ size = "4KiB", random = 100 }]
pace = { rate = "600/s", arrivals = "constant" }
outstanding = 64
run = "$1s"
WORDS
}

run() { # options
    "$ASSAY" run plan.toml null: --hosts a,b,c --nats "$URL" --json "$@" >out.json 2>says.txt &
    RUNNING=$!
}

# Waits until every host measures.
measuring() {
    for _ in $(seq 100); do
        grep -q "1 step" says.txt && sleep 3 && return
        sleep 0.1
    done
}

# Prints a line of the table: the fault, what was kept, what was said, how it ended.
tell() { # fault
    wait "$RUNNING"
    local code=$?
    FAULT=$1 CODE=$code python3 - <<'WORDS'
import json, os, re
says = " ".join(open("says.txt").read().split("\n"))
says = re.sub(r"^.*?(?=error:|warning:|The stop)", "", says) if re.search("error:|warning:", says) else ""
try:
    run = json.load(open("out.json"))
    test = run["tests"][0]
    kept = ", ".join(f'{job["name"]} {job["total"]["ops"]}' for job in test["jobs"])
    lost = [host["name"] for host in test["hosts"]["hosts"] if host["lost"]]
    rules = sorted({finding["rule"] for finding in run.get("findings", [])} & {"host-lost", "messages-not-kept",
        "stop-not-reached", "slow-host", "gap", "stopped", "no-common-start"})
    kept = f'{kept}; {run["status"]}' + (f'; lost: {", ".join(lost)}' if lost else "")
    says = (f'findings: {", ".join(rules)}. ' if rules else "") + says
except ValueError:
    kept = "nothing began"
print(f'| {os.environ["FAULT"]} | {kept} | {says.strip()[:260]} | {os.environ["CODE"]} |', flush=True)
WORDS
}

ready() {
    for _ in $(seq 40); do
        [ "$("$ASSAY" hosts --nats "$URL" 2>/dev/null | grep -c ' ready ')" = 3 ] && return
        sleep 0.5
    done
}

again() { # hosts that may have died
    for host in a b c; do
        kill -CONT "${AGENT[$host]}" 2>/dev/null
        kill -0 "${AGENT[$host]}" 2>/dev/null || agent "$host"
    done
    kill -0 "$NATS" 2>/dev/null || nats
    plan $RUN_S
    ready
}

nothing() { run; tell "none"; }
agent_killed() { run; measuring; kill -9 "${AGENT[b]}"; tell "agent killed (-9)"; }
frozen_for_a_while() { run; measuring; kill -STOP "${AGENT[b]}"; sleep 5; kill -CONT "${AGENT[b]}"; tell "host frozen for 5 s"; }
frozen_for_good() {
    run; measuring; kill -STOP "${AGENT[b]}"; tell "host frozen for good"
    # It goes on where it was, to the end of the plan's time.
    kill -CONT "${AGENT[b]}"; sleep $RUN_S
}
cut_for_a_while() { run; measuring; ip link set ff-b down; sleep 5; ip link set ff-b up; tell "network cut for 5 s"; }
cut_for_good() { run; measuring; ip link set ff-b down; tell "network cut for good"; ip link set ff-b up; }
nats_restarted() { run; measuring; kill -9 "$NATS"; wait "$NATS" 2>/dev/null; nats; tell "nats-server killed and started"; }
nats_gone() {
    run; measuring; kill -9 "$NATS"; sleep 4; kill -INT "$RUNNING"; tell "nats-server killed for good, then Ctrl-C"; nats
}
nats_disk_full() {
    kill "$NATS"; wait "$NATS" 2>/dev/null
    mkdir -p small && mount -t tmpfs -o size=24m tmpfs small && nats "$WORK/small"
    ready; run; measuring
    head -c 30m /dev/zero >small/fill 2>/dev/null
    sleep $((RUN_S + 12)); kill -INT "$RUNNING"
    tell "disk of nats-server full, then Ctrl-C"
    kill -9 "$NATS" "${AGENT[@]}" 2>/dev/null; sleep 1; umount small; nats
}
coordinator_killed() {
    run; measuring; kill -9 "$RUNNING"; wait "$RUNNING" 2>/dev/null
    local id
    id=$(find js -maxdepth 5 -type d -name 'ASSAY_RUN_*' | sed 's/.*ASSAY_RUN_//' | head -1)
    "$ASSAY" attach "$id" --nats "$URL" --json >out.json 2>says.txt &
    RUNNING=$!
    tell "coordinator killed (-9), then assay attach"
}
coordinator_gone() {
    run; measuring; kill -9 "$RUNNING"; wait "$RUNNING" 2>/dev/null
    local id
    id=$(find js -maxdepth 5 -type d -name 'ASSAY_RUN_*' | sed 's/.*ASSAY_RUN_//' | head -1)
    # Long after the plan's time, and nothing was heard for more than a lease.
    sleep $((RUN_S + 20))
    "$ASSAY" attach "$id" --nats "$URL" --json >out.json 2>says.txt &
    RUNNING=$!
    tell "coordinator killed, attached after the end of the plan"
}
store_lost() {
    run --store "$WORK/lost.db"; measuring; rm -f lost.db lost.db-wal lost.db-shm
    tell "store of the coordinator deleted"
    local kept
    kept=$(find / -xdev -name '*.assay' -newer plan.toml 2>/dev/null | head -1)
    echo "  ($(wc -l <"${kept:-/dev/null}") lines in the file beside it)" >&2
}
slow_agent() {
    run; measuring
    for _ in $(seq 12); do kill -STOP "${AGENT[b]}"; sleep 0.3; kill -CONT "${AGENT[b]}"; sleep 0.1; done
    tell "agent that gets a quarter of the time"
}
started_anew() {
    run; measuring; kill -9 "${AGENT[b]}"; sleep 0.5; agent b; tell "agent that comes back started anew"
}
lease_gone() {
    kill -STOP "${AGENT[b]}"; sleep 17; run; tell "lease gone before the run"; kill -CONT "${AGENT[b]}"
}
silent() { kill -STOP "${AGENT[b]}"; run; tell "silent within its lease"; kill -CONT "${AGENT[b]}"; }
stopped() {
    plan 3600; run; measuring
    local began ended
    began=$(date +%s%N); kill -INT "$RUNNING"; wait "$RUNNING"; ended=$(date +%s%N)
    (exit 130) & RUNNING=$!
    tell "Ctrl-C in a run of an hour: over after $(((ended - began) / 1000000)) ms"
}
stop_not_reached() {
    plan 3600; run; measuring; kill -STOP "${AGENT[b]}"; kill -INT "$RUNNING"; tell "Ctrl-C, and one host frozen"
}
other_version() {
    [ -n "$OTHER" ] || return
    kill "${AGENT[b]}"; wait "${AGENT[b]}" 2>/dev/null; agent b "$OTHER"; sleep 1
    run; tell "another version on one host"
    kill "${AGENT[b]}"; wait "${AGENT[b]}" 2>/dev/null
}
forbidden() {
    mkdir -p data/a data/b data/c
    printf '[[target]]\npattern = "%s/**"\nwrite = true\n' "$WORK/data" >write.toml
    printf '[[target]]\npattern = "%s/**"\n' "$WORK/data" >read.toml
    for host in a b c; do kill "${AGENT[$host]}"; wait "${AGENT[$host]}" 2>/dev/null; done
    agent a "$ASSAY" --config write.toml; agent b "$ASSAY" --config read.toml; agent c "$ASSAY" --config write.toml
    ready
    "$ASSAY" run plan.toml "$WORK/data/{host}/t.dat" --size 1MiB --set read=0 --hosts a,b,c --nats "$URL" --json \
        >out.json 2>says.txt &
    RUNNING=$!
    tell "configuration of one host forbids writing"
    echo "  ($(find data -type f | wc -l) files were made)" >&2
}
refused() {
    for host in b; do kill "${AGENT[$host]}"; wait "${AGENT[$host]}" 2>/dev/null; done
    agent b "$ASSAY" --config write.toml; ready; rmdir data/b
    "$ASSAY" run plan.toml "$WORK/data/{host}/t.dat" --size 1MiB --set read=0 --hosts a,b,c --nats "$URL" --json \
        >out.json 2>says.txt &
    RUNNING=$!
    tell "one host has no such folder"
    echo "  ($(find data -type f | wc -l) files were made)" >&2
    for host in a b c; do kill "${AGENT[$host]}"; wait "${AGENT[$host]}" 2>/dev/null; done
}

ALL="nothing agent_killed started_anew frozen_for_a_while frozen_for_good slow_agent cut_for_a_while cut_for_good
nats_restarted nats_gone nats_disk_full coordinator_killed coordinator_gone store_lost lease_gone silent stopped
stop_not_reached other_version forbidden refused"

bridge ff 10.77.0 a b c
nats
for host in a b c; do agent "$host"; done
echo "| fault | kept | said | code |"
echo "|---|---|---|---|"
for fault in ${*:-$ALL}; do
    again
    "$fault"
done
