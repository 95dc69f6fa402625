#!/bin/sh
# Prints how many tests were skipped, and why: scripts/skipped.sh FILE
# FILE has a line `TEST<tab>WHY` for each skip, written by crates/testkit/src/need.rs. One line for each reason.
set -eu

if [ ! -s "$1" ]; then
    echo "no test was skipped"
    exit 0
fi
echo "$(cut -f 1 "$1" | sort -u | wc -l) tests were skipped, or a part of them (with CI=true only what ASSAY_KERNEL_LACKS lists):"
cut -f 2- "$1" | sort | uniq -c | sort -rn
