#!/bin/sh
# Installs what tests need (the words of NEEDS), builds all tests, runs them, and runs those that failed once more:
# scripts/test.sh
#
# Two test programs run at a time, the longest first, as most tests wait: for a window of measuring, a server, a link.
# Those that compare real time with a simulation run after them, alone. A test that fails beside others and passes
# alone is printed, so that somebody makes it independent of what else runs; one that fails twice is a failure. More
# than RETRIED_MOST at once are a fault and not bad luck, and only a test that failed by its name is run again, no
# program that crashed.
set -u
: "${CARGO:=cargo}" "${RETRIED_MOST:=8}"
export SLOW_TESTS=1

# Runs one test program in the folder of its crate, as Cargo does; prints its output whole: one PROGRAM [ARGUMENT...]
one() {
    program=$(realpath "$1")
    crate=$(crate_of "$1")
    shift
    output=$(mktemp)
    # What Cargo tells a test of its crate.
    (cd "$crate" && CARGO_MANIFEST_DIR="$PWD" CARGO_BIN_EXE_assay="${program%/deps/*}/assay" \
        "$program" "$@" </dev/null >"$output" 2>&1)
    status=$?
    { echo "== $crate: ${program##*/} $*"; cat "$output"; } >"$output.all"
    cat "$output.all"
    rm -f "$output" "$output.all"
    return $status
}

# The folder of a test program's crate, by the sources it was made of.
crate_of() { grep -o 'crates/[^/ ]*/\(src\|tests\)/' "$1.d" | head -n 1 | cut -d / -f 1,2; }

# One program of the list, which leaves the names of its failed tests in $RESULTS.
if [ "${1:-}" = one ]; then
    log=$(mktemp)
    one "$2" >"$log"
    status=$?
    cat "$log"
    if [ $status != 0 ]; then
        awk -v program="$2" '
            /^---- .* stdout ----$/ { print program, $2; named++ }
            /^test result: FAILED/ { failed = $6 }
            END { if (!named || named != failed) print program, "" }
        ' "$log" >>"$RESULTS/failed"
    fi
    rm -f "$log"
    exit 0
fi

RESULTS=$(mktemp -d)
export RESULTS CARGO
trap 'rm -rf "$RESULTS"' EXIT
# What is installed comes over the network, while all CPUs build.
# shellcheck disable=SC2086 # a list of words
scripts/need.sh ${NEEDS:-} &
needs=$!
"$CARGO" test --workspace --no-run 2>&1 | tee "$RESULTS/build"
wait $needs || exit 1
sed -n 's/^ *Executable .*(\(.*\))$/\1/p' "$RESULTS/build" >"$RESULTS/programs"
[ -s "$RESULTS/programs" ] || exit 1
"$CARGO" test --workspace --no-run --quiet || exit 1

touch "$RESULTS/failed"
# The stories of the program take longest by far, then those of three rooms; those against real time are alone.
{ for first in cli prepare model sizing; do
        grep '/it-' "$RESULTS/programs" | while read -r it; do
            [ "$(crate_of "$it")" = "crates/$first" ] && echo "$it"
        done
    done
    cat "$RESULTS/programs"; } | grep -v '/real_time-' | awk '!seen[$0]++' | xargs -n 1 -P 2 "$0" one
grep '/real_time-' "$RESULTS/programs" | xargs -r -n 1 "$0" one

[ -s "$RESULTS/failed" ] || exit 0
count=$(wc -l <"$RESULTS/failed")
if [ "$count" -gt "$RETRIED_MOST" ] || grep -q ' $' "$RESULTS/failed"; then
    echo "== failed (more than $RETRIED_MOST, or a program and no test by its name), so none is run again:"
    cat "$RESULTS/failed"
    exit 1
fi
echo "== $count failed beside others; each once more, alone"
while read -r program name; do
    if one "$program" --exact "$name" --test-threads 1; then
        echo "== failed beside others, passed alone: $name ($(crate_of "$program"))"
    else
        echo "== FAILED TWICE: $name ($(crate_of "$program"))"
        echo "$name" >>"$RESULTS/twice"
    fi
done <"$RESULTS/failed"
[ ! -e "$RESULTS/twice" ]
