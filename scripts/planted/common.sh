# Sourced by the scripts that plant causes on this machine. They set ASSAY, BUDGET, WORK, GROUP, WANTED, TGT and the array
# PIDS before.

# A diagnosis that takes this many seconds does not end any more: the next case must have its turn.
LIMIT_S=${LIMIT_S:-1800}
DIAGNOSE=(timeout -k 10 "$LIMIT_S" "$ASSAY" diagnose)

wanted() { [ "$WANTED" = "  " ] || [[ "$WANTED" == *" $1 "* ]]; }

# row NAME CAUSES… -- COMMAND…: runs a diagnosis and prints its row. Any of CAUSES is right.
row() {
    local name=$1 causes=()
    shift
    while [ "$1" != -- ]; do causes+=("$1"); shift; done
    shift
    local out rc
    out=$("$@" --budget "$BUDGET" --json 2>"$WORK/err"); rc=$?
    # What ended with errors has a diagnosis all the same.
    if [ -z "$out" ]; then
        echo "| $name | ${causes[*]} | none (exit code $rc): $(tail -n 1 "$WORK/err" | cut -c 1-100) | | | |"
        return
    fi
    printf '%s' "$out" | python3 -c '
import json, sys
name, *causes = sys.argv[1:]
d = json.load(sys.stdin)["diagnosis"]
o = d["odds"]
right = "yes" if o[0]["cause"] in causes else "second" if o[1]["cause"] in causes else "no"
print("| %s | %s | %s, %.0f %% | %s, %.0f %% | %s | %d, %.0f IOPS |" % (name, " or ".join(causes), o[0]["cause"],
    o[0]["probability"] * 100, o[1]["cause"], o[1]["probability"] * 100, right, len(d["series"]), d["iops"]))
' "$name" "${causes[@]}" || echo "| $name | ${causes[*]} | none: its document cannot be read | | | |"
}

# limited KIND FILE VALUE COMMAND…: runs a command in a cgroup with a limit.
limited() {
    local kind=$1 file=$2 value=$3
    shift 3
    mkdir -p "/sys/fs/cgroup/$kind/$GROUP" && echo "$value" >"/sys/fs/cgroup/$kind/$GROUP/$file" || return 1
    bash -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "/sys/fs/cgroup/$kind/$GROUP" "$@"
    local rc=$?
    rmdir "/sys/fs/cgroup/$kind/$GROUP"
    return $rc
}

plan() { # plan NAME KEYS… : writes a plan of one test
    local name=$1
    shift
    { echo "name = \"$name\""; echo "[[test]]"; echo "name = \"$name\""; printf '%s\n' "$@"; } >"$WORK/$name.toml"
    echo "$WORK/$name.toml"
}

# Two namespaces with four links between them: 10.77.N.1 initiator, 10.77.N.2 target.
net_up() {
    local i=ap-i-$$ t=ap-t-$$ rate=$1
    ip netns del "$i" 2>/dev/null; ip netns del "$t" 2>/dev/null
    ip netns add "$i" && ip netns add "$t" || return 1
    for n in 1 2 3 4; do
        ip -n "$i" link add "pi$n" type veth peer name "pt$n" netns "$t"
        ip -n "$i" addr add "10.77.$n.1/24" dev "pi$n"
        ip -n "$t" addr add "10.77.$n.2/24" dev "pt$n"
        ip -n "$i" link set "pi$n" up
        ip -n "$t" link set "pt$n" up
        shape "$n" "$rate"
    done
    ip -n "$i" link set lo up
    ip -n "$t" link set lo up
}

shape() { # shape LINK RATE
    for side in i t; do
        local ns=ap-$side-$$ dev=p$side$1
        tc -n "$ns" qdisc del dev "$dev" root 2>/dev/null
        tc -n "$ns" qdisc add dev "$dev" root handle 1: htb default 1
        tc -n "$ns" class add dev "$dev" parent 1: classid 1:1 htb rate "$2" burst 256k cburst 256k quantum 60000
        tc -n "$ns" qdisc add dev "$dev" parent 1:1 handle 10: pfifo limit 2000
    done
}

tgt_up() { # tgt_up BACKING [OPTIONS OF TGTD] [OPTIONS OF THE LUN]
    # shellcheck disable=SC2086 # a list of words
    ip netns exec "ap-t-$$" tgtd -f -C $TGT ${2:-} >/dev/null 2>&1 &
    TGT_PID=$!
    PIDS+=($TGT_PID)
    for _ in $(seq 50); do ip netns exec "ap-t-$$" tgtadm -C $TGT --op show --mode target >/dev/null 2>&1 && break; sleep 0.1; done
    local in=(ip netns exec "ap-t-$$" tgtadm -C $TGT --lld iscsi)
    "${in[@]}" --op new --mode target --tid 1 -T iqn.2026-01.planted:d
    # shellcheck disable=SC2086 # a list of words
    "${in[@]}" --op new --mode logicalunit --tid 1 --lun 1 -b "$1" ${3:-}
    "${in[@]}" --op bind --mode target --tid 1 -I ALL
}

tgt_down() {
    # It does not end by a signal that asks while sessions are open.
    kill -9 "$TGT_PID" 2>/dev/null
    wait "$TGT_PID" 2>/dev/null
    sleep 0.3
}
