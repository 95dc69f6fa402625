#!/bin/sh
# Runs `cargo test "$@"`, and those that failed once more, each alone: scripts/test.sh --workspace --no-fail-fast
#
# Tests measure real storage beside one another on few CPUs. One that fails there and passes alone is printed, so
# that somebody makes it independent of what else runs; one that fails twice is a failure. More than RETRIED_MOST at
# once are a fault and not bad luck, and nothing that is not a test by its name (a crash, a compiler's error, an
# example of the documentation) is run again.
set -u
RETRIED_MOST=${RETRIED_MOST:-4}
log=$(mktemp) failed=$(mktemp) status=$(mktemp)
trap 'rm -f "$log" "$failed" "$status"' EXIT

{ "${CARGO:-cargo}" test "$@" 2>&1; echo $? >"$status"; } | tee "$log"
[ "$(cat "$status")" = 0 ] && exit 0

# A line `BINARY NAME` for each test that failed; fails where something else did.
awk '
    / Running .*\(.*\)$/ { binary = $NF; gsub(/[()]/, "", binary) }
    / Doc-tests / { binary = "" }
    /^---- .* stdout ----$/ { if (binary == "") other = 1; else { print binary, $2; named++ } }
    /^test result: FAILED/ { failed += $6 }
    /^error: could not compile/ || /process didn.t exit successfully/ && !/exit status: 101\)/ { other = 1 }
    END { exit other || named != failed || !named }
' "$log" >"$failed" || { echo "== no test failed by its name only: nothing is run again" >&2; exit 1; }
count=$(wc -l <"$failed")
if [ "$count" -gt "$RETRIED_MOST" ]; then
    echo "== $count tests failed, more than $RETRIED_MOST: none is run again" >&2
    exit 1
fi

echo "== $count failed beside the others; each once more, alone:"
twice=0
while read -r binary name; do
    # Cargo runs a test in the folder of its crate.
    crate=$(grep -o 'crates/[^/ ]*/\(src\|tests\)/' "$binary.d" | head -n 1 | cut -d / -f 1,2)
    binary=$(realpath "$binary")
    if (cd "$crate" && CARGO_MANIFEST_DIR="$PWD" "$binary" --exact "$name" --test-threads 1 </dev/null); then
        echo "== failed beside others, passed alone: $name ($crate)"
    else
        echo "== FAILED TWICE: $name ($crate)"
        twice=$((twice + 1))
    fi
done <"$failed"
[ "$twice" = 0 ]
