#!/bin/sh
# The job files of crates/cli/tests/fio under fio and under Assay on the same loop device, compared by what the kernel
# saw: reads, sizes, positions and rates of the I/Os that reached the device (tracepoint block_bio_queue).
#
#   scripts/fio-beside.sh shapes [JOB]...    as fast as it goes, 100,000 I/Os each: reads, sizes, positions
#   scripts/fio-beside.sh rates [JOB]...     the rates of the files, 5 s each, in turns A B A B
#   scripts/fio-beside.sh limited [JOB]...   without rates on a device of 1,500 IOPS (blkio), 5 s each, in turns
#
# Prints a row for each job and fails if a difference exceeds 2 %. Needs root, fio, jq, tracefs, 5 GiB in $TMPDIR.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
assay=${ASSAY:-$root/target/release/assay}
mode=${1:-shapes}
[ $# -gt 0 ] && shift
turns=${TURNS:-2}
seconds=${SECONDS_EACH:-5}
limit=1500
folder=$(mktemp -d "${TMPDIR:-/tmp}/fio-beside.XXXXXX")
tracing=/sys/kernel/tracing
group=/sys/fs/cgroup/blkio/fio-beside.$$
device=""
trace=""

tidy() {
    exec 9>&-
    [ -n "$trace" ] && { echo 0 >"$trace/tracing_on"; rmdir "$trace"; } 2>/dev/null
    [ -d "$group" ] && { echo $$ >/sys/fs/cgroup/blkio/cgroup.procs; rmdir "$group"; } 2>/dev/null
    [ -n "$device" ] && losetup -d "$device"
    rm -rf "$folder"
}
trap tidy EXIT
trap 'exit 130' INT TERM

for name in fio jq losetup; do
    command -v "$name" >/dev/null || { echo "missing: $name" >&2; exit 2; }
done
[ -x "$assay" ] || { echo "no program $assay; build it, or set ASSAY" >&2; exit 2; }
case $mode in shapes | rates | limited) ;; *) sed -n 5,7p "$0" >&2; exit 2 ;; esac

# Real blocks: a hole would answer without the disk.
dd if=/dev/zero of="$folder/disk" bs=1M count=4096 status=none
device=$(losetup -f --show --direct-io=on "$folder/disk" 2>/dev/null || losetup -f --show "$folder/disk")
numbers=$(lsblk -dno MAJ:MIN "$device" | tr -d ' ')
mountpoint -q "$tracing" || mount -t tracefs tracefs "$tracing"
trace=$tracing/instances/fio-beside.$$
mkdir "$trace"
echo 32768 >"$trace/buffer_size_kb"
major=${numbers%:*} minor=${numbers#*:}
echo "dev == $((major << 20 | minor))" >"$trace/events/block/block_bio_queue/filter"
echo 1 >"$trace/events/block/block_bio_queue/enable"
export ASSAY_STORE="$folder/runs.db"
identity=$("$assay" check "$device" --json | jq -r '.identities[-1]')
# CPUs that sleep deeply answer late; both tools have them awake.
if [ -w /dev/cpu_dma_latency ]; then
    exec 9>/dev/cpu_dma_latency
    printf '\0\0\0\0' >&9
fi
if [ "$mode" = limited ]; then
    mkdir "$group"
    for kind in read write; do echo "$numbers $limit" >"$group/blkio.throttle.${kind}_iops_device"; done
    echo $$ >"$group/cgroup.procs"
fi

# The job file as this mode runs it, with a device in place of the file.
job_file() {
    case $mode in
        shapes) sed '/^rate_iops/d' ;;
        rates) sed "s/^number_ios=.*/runtime=$seconds\ntime_based/" ;;
        limited) sed "/^rate_iops/d; s/^number_ios=.*/runtime=$seconds\ntime_based/" ;;
    esac <"$1" | sed "s|^filename=.*|filename=$device|"
}

# Runs a command and prints the I/Os of its workers: seconds, R or W, bytes, offset.
traced() {
    echo >"$trace/trace"
    echo 1 >"$trace/tracing_on"
    "$@" >"$folder/out" 2>&1 || { cat "$folder/out" >&2; exit 1; }
    echo 0 >"$trace/tracing_on"
    # Assay looks at a device before it loads it and marks it afterwards, in threads that do little else.
    awk '
        /block_bio_queue/ {
            at = match($0, /[0-9]+\.[0-9]+: block_bio_queue/)
            split(substr($0, at), word, " ")
            thread = $1
            sub(/:$/, "", word[1])
            size = word[7] * 512
            if (size > 0) printf "%s %s %s %d %.0f\n", thread, word[1], substr(word[4], 1, 1) == "F" ? substr(word[4], 2, 1) : substr(word[4], 1, 1), size, word[5] * 512
        }' "$trace/trace" >"$folder/raw"
    case $1 in
        fio) cut -d' ' -f2- "$folder/raw" ;;
        *) awk 'NR == FNR { if (!main) main = $1; count[$1]++; n++; next }
                $1 != main && count[$1] >= n / 20 { print $2, $3, $4, $5 }' "$folder/raw" "$folder/raw" ;;
    esac
}

under_fio() { traced fio "$folder/job.fio" --output-format=json; }
under_assay() {
    traced "$assay" run "$folder/job.fio" "$device" --overwrite "$identity" --not-blank --no-fill
}

# What a list of I/Os is like, a figure a line: the name of a property, which of its parts, a share or a rate.
figures() {
    awk -v scattered="$1" '
        { n++; size[$3]++; if ($2 == "R") reads++
          if (n > 1 && $4 == end) follow++
          end = $4 + $3
          region[int($4 / 16777216)]++; block[int($4 / 4096)]++
          if (n == 1) first = $1; last = $1 }
        END {
            print "count all", n
            print "rate all", (n - 1) / (last - first)
            print "reads all", reads / n
            for (s in size) print "sizes", s, size[s] / n
            if (!scattered) { for (r = 0; r < 256; r++) { sum += region[r]; print "regions", r, sum / n } }
            print "following all", follow / n
            for (b in block) print "block", block[b] / n | "sort -k2,2gr"
        }' "$2" | awk '
        $1 != "block" { print; next }
        { sum += $2; k++; if (k == 1 || k == 10 || k == 100 || k == 1000 || k == 10000) print "hot", k, sum }'
}

# The largest difference of a property between two lists of figures.
difference() {
    awk -v of="$1" '
        $1 != of { next }
        FNR == NR { ours[$2] = $3; next }
        { theirs[$2] = $3 }
        END {
            for (k in ours) { d = ours[k] - theirs[k]; if (d < 0) d = -d; if (d > most) most = d }
            for (k in theirs) if (!(k in ours) && theirs[k] > most) most = theirs[k]
            printf "%.4f", most
        }' "$2" "$3"
}

median() { sort -g | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

# Parts of the I/Os of a job file: all, or those of its first group and those after. The groups are apart by the longest
# pause before the first write.
part() {
    [ "$1" = all ] && { cat; return; }
    cat >"$folder/both"
    awk -v of="$1" '
        FNR == 1 { pass++ }
        pass == 1 && !cut { if (FNR > 1 && $1 - last > pause) { pause = $1 - last; at = FNR }
                            if ($2 == "W") { cut = pause > 0.05 ? at : FNR }
                            last = $1 }
        pass == 2 && (of == "alone") == (FNR < cut) { print }' "$folder/both" "$folder/both"
}

failed=0
row() {
    printf '%s\n' "$*"
    for share in $differences; do
        awk -v s="$share" 'BEGIN { exit s <= 0.02 ? 0 : 1 }' || failed=1
    done
}

compare() { # JOB PART SCATTERED
    name=$1$([ "$2" = all ] || echo " ($2)")
    if [ "$mode" = shapes ]; then
        for tool in fio assay; do part "$2" <"$folder/$tool.1" >"$folder/list"; figures "$3" "$folder/list" >"$folder/$tool.f"; done
        differences="" text=""
        for property in reads sizes hot following regions; do
            [ "$property $3" = "regions 1" ] && { text="$text       -"; continue; }
            share=$(difference $property "$folder/assay.f" "$folder/fio.f")
            differences="$differences $share" text="$text  $share"
        done
        counts=$(for tool in assay fio; do awk '$1 == "count" { printf "%9d", $3 }' "$folder/$tool.f"; done)
        row "$(printf '%-22s%s%s' "$name" "$counts" "$text")"
        return
    fi
    for tool in fio assay; do
        for turn in $(seq "$turns"); do
            part "$2" <"$folder/$tool.$turn" >"$folder/list"
            figures 1 "$folder/list" >"$folder/$tool.f"
            awk '$1 == "rate" { print $3 }' "$folder/$tool.f"
        done | median >"$folder/$tool.rate"
    done
    share=$(difference reads "$folder/assay.f" "$folder/fio.f")
    ours=$(cat "$folder/assay.rate") theirs=$(cat "$folder/fio.rate")
    off=$(awk -v a="$ours" -v b="$theirs" 'BEGIN { d = a / b - 1; print d < 0 ? -d : d }')
    differences="$share $off"
    row "$(awk -v n="$name" -v a="$ours" -v b="$theirs" -v s="$share" 'BEGIN { printf "%-22s%9.1f%9.1f  %7.4f  %s", n, a, b, a / b, s }')"
}

case $mode in
    shapes) printf '%-22s%9s%9s  %s\n' "differences of shares" assay fio "reads   sizes   hot     follow  regions" ;;
    *) printf '%-22s%9s%9s  %7s  %s\n' "IOPS at the device" assay fio ratio "reads" ;;
esac
for file in "$root"/crates/cli/tests/fio/*.fio; do
    job=$(basename "$file" .fio)
    case " $* " in "  " | *" $job "* | *" ${job%%-*} "*) ;; *) continue ;; esac
    job_file "$file" >"$folder/job.fio"
    rounds=1
    [ "$mode" = shapes ] || rounds=$turns
    for turn in $(seq "$rounds"); do
        under_fio >"$folder/fio.$turn"
        under_assay >"$folder/assay.$turn"
    done
    case $job in
        03-* | 04-* | 05-*) compare "$job" all 1 ;;
        10-*) compare "$job" alone 0 && compare "$job" beside 1 ;;
        *) compare "$job" all 0 ;;
    esac
done
exit $failed
