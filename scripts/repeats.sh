#!/bin/bash
# How often the intervals of repetitions hold, and how often two halves of equal runs are distinguished. Runs a suite N
# times on a file and prints, for each test:
#   held   repetitions whose 95 % interval contains the pooled median
#   equal  drawings of two random halves of which `assay compare` says "the same" or "in the noise"
# A test passes with 17 of 20 held or more, and 18 of 20 equal or more.
#   scripts/repeats.sh [FILE]                       FILE is made, and removed at the end
#   ASSAY=path RUNS=20 SUITE=vmware-modern SIZE=4GiB scripts/repeats.sh
set -eu
ASSAY=$(realpath "${ASSAY:-target/release/assay}")
RUNS=${RUNS:-20}
SUITE=${SUITE:-vmware-modern}
FILE=${1:-/var/tmp/assay-repeats.dat}
WORK=$(mktemp -d /tmp/assay-repeats.XXXXXX)
export ASSAY_STORE=${STORE:-$WORK/runs.sqlite}
trap 'rm -rf "$WORK" "$FILE"' EXIT

"$ASSAY" run "$SUITE" "$FILE" --size "${SIZE:-4GiB}" --quick --repeat "$RUNS" --label equal --json >"$WORK/repeats.json"
python3 - "$ASSAY" "$WORK/repeats.json" <<'PYTHON'
import json, random, subprocess, sys

assay, path = sys.argv[1:]
side = json.load(open(path))["sides"][0]
runs, drawings = side["runs"], 20
equal, all_equal = {}, 0
EQUAL = ("same", "unclear")  # "the same" and "in the noise"
for seed in range(drawings):
    drawn = random.Random(seed).sample(runs, len(runs))
    half = len(runs) // 2
    halves = [",".join(drawn[:half]), ",".join(drawn[half : 2 * half])]
    out = subprocess.run([assay, "compare", *halves, "--json"], capture_output=True, text=True)
    changes = {}
    for test in json.loads(out.stdout)["tests"]:
        name = " ".join(filter(None, [test["name"], test.get("step")]))
        changes[name] = test["sides"][1]["against_first"]["change"] in EQUAL
    for name, is_equal in changes.items():
        equal[name] = equal.get(name, 0) + is_equal
    all_equal += all(changes.values())

print("%-36s %8s %7s %6s %9s %9s" % ("test", "IOPS", "CV %", "±%", "held", "equal"))
passed = True
for test in side["tests"]:
    name = " ".join(filter(None, [test["name"], test.get("step")]))
    iops = test["iops"]
    width = max(iops["value"] - iops["lo"], iops["hi"] - iops["value"]) / iops["value"] * 100 if iops["lo"] else float("nan")
    held = test["holding"]
    print("%-36s %8.0f %7.1f %6.1f %3d of %2d %3d of %2d" % (name[:36], iops["value"], test["cv"] * 100, width, held,
        len(test["repetitions"]), equal.get(name, 0), drawings))
    passed &= held * 20 >= 17 * len(test["repetitions"]) and equal.get(name, 0) >= 18
print("drawings in which no test changed: %d of %d" % (all_equal, drawings))
sys.exit(0 if passed else 1)
PYTHON
