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
