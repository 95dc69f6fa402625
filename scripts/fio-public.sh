#!/bin/sh
# Public job files of fio (crates/cli/tests/fio/public.tsv: blob, repository, path; the files themselves are not here):
# how many fio parses, how many of these Assay converts, and why it refuses the others.
#
#   scripts/fio-public.sh CLONES
#
# CLONES has a clone of each repository as OWNER+NAME, bare or not. ASSAY and FIO name other programs. Each file stands in a folder
# of its own with what it includes, and variables have the values below, for both programs. Half of the files, those whose blob
# begins with 8 to f, are counted by themselves: reasons are printed of the other half only, unless HELD=1.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
clones=${1:?usage: scripts/fio-public.sh CLONES}
assay=${ASSAY:-$root/target/release/assay}
fio=${FIO:-fio}
index=${INDEX:-$root/crates/cli/tests/fio/public.tsv}
folder=$(mktemp -d "${TMPDIR:-/tmp}/fio-public.XXXXXX")
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM

# Variables that job files ask for.
export BLKSIZE=4k BS=4k FIO_BS=4k BLOCKSIZE=4k BLOCK_SIZE=4k bs=4k TIME=10 RUNTIME=10 RAMPTIME=1 RAMP=1 SIZE=1g size=1g FILE_SIZE=1g \
    FILESIZE=1g FILL_SIZE=1g FINISH_SIZE=1g WRITE_SIZE=1g READ_SIZE=1g CONCUR_WRITE_SIZE=1g CONCUR_FILL_SIZE=1g APPEND_SIZE=1g \
    IOENGINE=libaio DIRECTORY=/tmp FIO_DIR=/tmp JOBS=2 NUMJOBS=2 FIO_RW=randread RW=randread RANDRW=randrw READ_TYPE=read NRFILES=1 \
    DEPTH=4 DEPTH1=4 DEPTH2=4 WRITE_IODEPTH=4 READ_IODEPTH=4 APPEND_IODEPTH=4 TRIM_IODEPTH=4 FIO_IODEPTH=4 DEV=/tmp/f dev=/tmp/f \
    logfile=log test_number=1 W1THINK=10 W2THINK=10 W3THINK=10 W4THINK=10 W5THINK=10 RRATE=100 RATE1=100 RATE2=100 OFFSET1=0 \
    OFFSET2=16 RWMIXREAD=70 DIRECT=1 directio=1 SYNC_TYPE=0 RANDSEED=1 PERF_RANDSEED=1 COMPPERCENT=50 PERF_COMPPERCENT=50 \
    COMPCHUNK=4k PERF_COMPCHUNK=4k PREFIX=p PREFIX_FILENAME=p S3_ID=a S3_KEY=b GPU_DEV_IDS=0 MISC=4k FTL_BDEV_NAME=x \
    FTL_JSON_CONF=x INCREMENT=1 off=0 zone_size=256m durationsec=10 randomiofilepath=/tmp/r randomiofilesize=1g \
    sequentialiofilepath=/tmp/s sequentialiofilesize=1g

# Writes what a job file includes, from the newest tree of its repository, beside it.
includes() { # GIT PATH FILE
    sed -nE 's/^[[:space:]]*include[[:space:]]+([^[:space:]]+).*/\1/p' "$3" | while read -r name || [ -n "$name" ]; do
        case $name in /* | *..*) continue ;; esac
        [ -e "$name" ] && continue
        mkdir -p "$(dirname "$name")"
        git -C "$1" show "HEAD:$(dirname "$2")/$name" >"$name" 2>error || rm -f "$name"
        [ -e "$name" ] && includes "$1" "$(dirname "$2")/$name" "$name"
    done
}

while IFS="$(printf '\t')" read -r blob repository path; do
    clone=$clones/$(echo "$repository" | tr / +)
    for git in "$clone" "$clone/.git" "$clone/repo" "$clone/repo/.git"; do
        [ -e "$git/HEAD" ] && break
    done
    rm -rf "$folder/one"
    mkdir "$folder/one"
    cd "$folder/one"
    git -C "$git" cat-file blob "$blob" >job.fio 2>error || { echo "missing $blob $repository $path"; continue; }
    includes "$git" "$path" job.fio
    half=seen
    case $blob in [89a-f]*) half=held ;; esac
    set_of=others
    case $repository/$path in axboe/fio/examples/*) set_of=examples ;; esac
    timeout 10 "$fio" --parse-only job.fio >out 2>&1 && parses=yes || parses=no
    if timeout 20 "$assay" convert job.fio -o - >out 2>error; then
        echo "file $half $set_of $parses yes"
    else
        echo "file $half $set_of $parses no"
        [ "$parses" = no ] && continue
        [ "$half" = seen ] || [ -n "${HELD:-}" ] || continue
        sed -nE 's/^ *line [0-9]+: ([^;]*).*/reason \1/p; s/^error: job\.fio:?[0-9]*:? ([^;]*)$/reason \1/p' error | grep -v 'not supported$\|runs without' | sort -u
    fi
done <"$index" >"$folder/list"

awk '
    $1 == "missing" { missing++ }
    $1 == "file" { key = $3 " " $2; files[key]++; if ($4 == "yes") { parses[key]++; if ($5 == "yes") converts[key]++ } if ($5 == "yes") all[key]++ }
    END {
        printf "%-16s %6s %11s %22s %9s\n", "files", "all", "fio parses", "of these converted", "in all"
        for (key in files) printf "%-16s %6d %11d %22d %9d\n", key, files[key], parses[key], converts[key], all[key]
        if (missing) print missing " are in no clone"
    }' "$folder/list"
sed -n 's/^reason //p' "$folder/list" | sort | uniq -c | sort -rn | head -60
