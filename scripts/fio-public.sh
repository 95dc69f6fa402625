#!/bin/sh
# Public job files of fio (crates/cli/tests/fio/public.tsv: blob, repository, path; the files themselves are not here):
# how many fio parses, how many of these Assay converts, and why it refuses the others.
#
#   scripts/fio-public.sh CLONES
#
# CLONES has a clone of each repository as OWNER+NAME, bare or not. ASSAY and FIO name other programs. Half of the files, those whose
# blob begins with 8 to f, are counted by themselves: reasons are printed of the other half only, unless HELD=1.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
clones=${1:?usage: scripts/fio-public.sh CLONES}
assay=${ASSAY:-$root/target/release/assay}
fio=${FIO:-fio}
folder=$(mktemp -d "${TMPDIR:-/tmp}/fio-public.XXXXXX")
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM

# Variables that job files ask for.
export BLKSIZE=4k TIME=10 RAMPTIME=1 SIZE=1g IOENGINE=libaio DIRECTORY=/tmp FIO_DIR=/tmp JOBS=2 FIO_RW=randread RANDRW=randrw \
    NRFILES=1 DEPTH=4 FIO_BS=4k FTL_BDEV_NAME=x

cd "$folder"
while IFS="$(printf '\t')" read -r blob repository path; do
    clone=$clones/$(echo "$repository" | tr / +)
    for git in "$clone" "$clone/.git" "$clone/repo" "$clone/repo/.git"; do
        [ -e "$git/HEAD" ] && break
    done
    git -C "$git" cat-file blob "$blob" >job.fio 2>error || { echo "missing $blob $repository $path"; continue; }
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
done <"$root/crates/cli/tests/fio/public.tsv" >list

awk '
    $1 == "missing" { missing++ }
    $1 == "file" { key = $3 " " $2; files[key]++; if ($4 == "yes") { parses[key]++; if ($5 == "yes") converts[key]++ } if ($5 == "yes") all[key]++ }
    END {
        printf "%-16s %6s %11s %22s %9s\n", "files", "all", "fio parses", "of these converted", "in all"
        for (key in files) printf "%-16s %6d %11d %22d %9d\n", key, files[key], parses[key], converts[key], all[key]
        if (missing) print missing " are in no clone"
    }' list
sed -n 's/^reason //p' list | sort | uniq -c | sort -rn | head -60
