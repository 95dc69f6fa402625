# The clock of the host jumps while a run is in progress: an hour back, an hour forward, a year; in the warm-up and in the
# measured window. Figures, the order of what is stored, and what reads it afterwards must not care.
plan() { # warm-up
    cat >/tmp/clock.toml <<END
[[test]]
name = "t"
warmup = "$1"
run = "4s"
outstanding = 4
access = [{ size = "4KiB", read = 100 }]
END
}
set_by() { date -s "@$(($(date +%s) + $1))"; }
jump() { # seconds from now on, jump in seconds
    (sleep "$1"; set_by "$2") >/dev/null 2>&1 &
}
value() { tr ',{' '\n\n' | sed -n "s/^ *\"$1\": *\"\{0,1\}\([^\"]*\)\"\{0,1\}/\1/p" | head -1; }
# Runs with a jump: the measured window must have 4 s, whatever the wall clock said, and the jump must be named.
jumps() { # set-up warm-up jump
    plan "$2"; meanwhile 1 set_by "$3"
    tells "$1" 0 "clock was set \(back\|forward\)" assay run /tmp/clock.toml "$A" --json
    wait
    seconds=$(value seconds </tmp/out)
    case $seconds in 4.0*) verdict=ok ;; *) verdict=FAILED ;; esac
    echo "RESULT $verdict | $1: the window | $seconds s"
}
plan 0s; assay run /tmp/clock.toml "$A"
jumps "an hour back in the measured window" 0s -3600
jumps "an hour forward in the measured window" 0s 3600
jumps "an hour back in the warm-up" 4s -3600
jumps "a year forward in the warm-up" 4s 31536000
jumps "a year back" 0s -31536000
assay show last --json >/tmp/last.json
tells "runs, after jumps" 0 "plan\|clock" assay runs
tells "show, after jumps" 0 "" assay show last
tells "show --series" 0 "" assay show last --series 1s
tells "compare, after jumps" "0 4" "" assay compare last~1 last
tells "export hdr" 0 "" assay export last --format hdr
tells "export openmetrics" 0 "" assay export last --format openmetrics
tells "report" 0 "" assay report last -o /tmp/report.html
jump 4 -3600
tells "map, an hour back" 0 "" assay map "$A" --budget 8s
wait; jump 6 3600
tells "diagnose, an hour forward" 0 "" assay diagnose "$A" --budget 15s --read-only
wait; jump 3 -3600
tells "a curve, an hour back" 0 "" assay curve "$A" --run 1s
wait; jump 3 -3600
tells "probe-cache, an hour back" 0 "" assay probe-cache "$A" --read-only --run 1s --absorb 2s --size 16MiB
wait
plan 0s
tells "a journal" 0 "" assay journal new j "$A" /tmp/clock.toml
jump 3 -7200
tells "a journal's first step, two hours back" 0 "" assay run /tmp/clock.toml "$A" --step one --repeat 2
wait
jump 3 10800
tells "its second step, three hours forward" 0 "" assay run /tmp/clock.toml "$A" --step two --repeat 2
wait
tells "the journal: two steps in the order in which they were measured" 0 "2\. two" sh -c 'assay journal show >/tmp/j; cat /tmp/j; ! grep -q "^3. one" /tmp/j'
jump 3 -3600
tells "repetitions, an hour back between them" 0 "" assay run /tmp/clock.toml "$A" --repeat 2
wait
(assay serve --listen 127.0.0.1:8080 >/tmp/serve.txt 2>&1 & echo $! >/tmp/serve.pid)
for try in $(seq 60); do wget -q -O /dev/null http://127.0.0.1:8080/metrics && break; sleep 0.5; done
tells "the page of runs" 0 "clock" wget -q -O - http://127.0.0.1:8080/runs
tells "a page of a run" 0 "IOPS" sh -c "wget -q -O - http://127.0.0.1:8080/runs/$(assay runs --json | value run)"
tells "metrics" 0 "assay_" wget -q -O - http://127.0.0.1:8080/metrics
date -s "@$(($(date +%s) - 7200))" >/dev/null
tells "the page of runs, two hours earlier" 0 "clock" wget -q -O - http://127.0.0.1:8080/runs
tells "runs --since" 0 "" assay runs --since 3h
kill "$(cat /tmp/serve.pid)"
cat /tmp/serve.txt
# Two agents, their server and the coordinator; the clock of all is set while they run together. Each host must have all of
# its I/Os once, and the window of the plan, and it must be said of both that their clock was set, and by how much (which
# `date` does to the second).
ip link set lo up
# It would reserve no more than there is in the memory of this machine, and refuse the stream of a run.
printf 'listen: "127.0.0.1:4222"\njetstream { store_dir: "/tmp/js", max_file_store: 4GB }\n' >/tmp/nats.conf
nats-server -c /tmp/nats.conf >/dev/null 2>&1 &
export ASSAY_NATS=nats://127.0.0.1:4222
sleep 2
for host in a b; do assay agent --name $host >/tmp/agent-$host 2>&1 & done
for try in $(seq 60); do [ "$(assay hosts 2>/dev/null | grep -c ' ready ')" = 2 ] && break; sleep 0.5; done
cat >/tmp/fleet.toml <<'END'
[[test]]
name = "t"
run = "6s"
access = [{ size = "4KiB" }]
outstanding = 16
pace = { rate = "100/s", arrivals = "constant" }
END
for set in 3 -3; do
    for after in 0 1 3; do
        what="two hosts, the clock set by $set s, $after s after the run is ready"
        meanwhile $after set_by $set
        tells "$what" 0 "clock of host [ab] was set .* by [23]\.[0-9] s .* of host [ab] was set" \
            assay run /tmp/fleet.toml null: --hosts a,b --json
        wait $!
        ops=$(tr ',{' '\n\n' </tmp/out | sed -n 's/^ *"ops": *\([0-9]*\)$/\1/p' | sort -n | uniq | tr '\n' ' ')
        skew=$(value start_skew_us </tmp/out) seconds=$(value seconds </tmp/out)
        case "$ops$seconds" in "0 300 600 6.0"* | "0 299 300 599 6.0"* | "0 299 598 6.0"*) verdict=ok ;; *) verdict=FAILED ;; esac
        echo "RESULT $verdict | $what: I/Os and window | $ops in $seconds s, skew $skew us"
    done
done
