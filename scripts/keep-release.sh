#!/bin/sh
# Writes the test data of a release, which later versions must read for ever: a store with runs of every kind, and what
# `assay show RUN --json` prints of each, in crates/store/tests/data/NAME. Usage: scripts/keep-release.sh NAME [PROGRAM]
# Needs jq, tgtd and ganesha.nfsd, and root for them. What is kept is below 512 KiB, so it is a run of each kind of target and of each
# end, with windows as short as they can be.
set -eu

name=${1:?how is the release called?}
folder=$(cd "$(dirname "$0")/.." && pwd)
program=${2:-$folder/target/release/assay}
kept=$folder/crates/store/tests/data/$name
[ ! -e "$kept" ] || { echo "$kept exists: what is kept is never changed" >&2; exit 1; }
for tool in jq tgtd tgtadm ganesha.nfsd; do
    command -v "$tool" >/dev/null || { echo "missing: $tool" >&2; exit 1; }
done

home=$(mktemp -d)
ganesha= tgt=
finish() {
    # tgtd ends when it has no target any more.
    [ -z "$tgt" ] || { tgtadm -C 27 --lld iscsi --op delete --force --mode target --tid 1; tgtadm -C 27 --op delete --mode system; }
    [ -z "$ganesha" ] || kill "$ganesha"
    wait
    rm -rf "$home"
}
trap finish EXIT
cd "$home"
mkdir -p share "$kept/runs"
export ASSAY_STORE="$home/store.sqlite" NO_COLOR=1
assay() { "$program" "$@" </dev/null >/dev/null 2>>"$home/said" || echo "assay $*: code $?" >>"$home/said"; }

truncate -s 16M lun.img
tgtd -f -C 27 --iscsi portal=127.0.0.1:3297 >/dev/null 2>&1 & tgt=$!
cat >ganesha.conf <<END
NFS_CORE_PARAM { Protocols = 3; NFS_Port = 2057; MNT_Port = 20057; Bind_addr = 127.0.0.1; Enable_NLM = false; Enable_RQUOTA = false; }
EXPORT { Export_Id = 1; Path = $home/share; Pseudo = /share; Access_Type = RW; Squash = No_Root_Squash; Protocols = 3;
         Transports = TCP; SecType = sys; FSAL { Name = VFS; } }
END
ganesha.nfsd -F -f "$home/ganesha.conf" -L "$home/ganesha.log" -p "$home/ganesha.pid" >/dev/null 2>&1 & ganesha=$!
sleep 4
tgtadm -C 27 --lld iscsi --op new --mode target --tid 1 -T iqn.2004-01.example:kept
tgtadm -C 27 --lld iscsi --op new --mode logicalunit --tid 1 --lun 1 -b "$home/lun.img"
tgtadm -C 27 --lld iscsi --op bind --mode target --tid 1 -I ALL
lun=iscsi://127.0.0.1:3297/iqn.2004-01.example:kept/1

cat >mixed.toml <<'END'
name = "mixed"
[[test]]
name = "random"
run = "400ms"
outstanding = 4
access = [{ size = "4KiB", read = 70, random = 100 }]
[[test]]
name = "log"
run = "400ms"
flush = { every = 4 }
access = [{ size = "8KiB", read = 0 }]
END
sed 's/400ms/30s/' mixed.toml >long.toml

assay run mixed.toml ./t.dat --size 8MiB --label before --note "as found"
assay run mixed.toml ./t.dat --size 8MiB --label after --cached --set outstanding=8
assay run mixed.toml "$lun" --size 8MiB --overwrite "$("$program" check "$lun" --json | jq -r '.identities[0]')"
assay run mixed.toml "nfs://127.0.0.1:2057$home/share/t.dat?mountport=20057" --size 8MiB --only random
assay baseline set after
assay target set ./t.dat --array ssd-sata
assay check ./t.dat
timeout -s INT 2 "$program" run long.toml ./t.dat --size 8MiB >/dev/null 2>&1 || true
timeout -s KILL 2 "$program" run long.toml ./t.dat --size 8MiB >/dev/null 2>&1 || true

for run in $("$program" runs --json | jq -r '.[].run'); do
    # jq would write 70 for 70.0.
    "$program" show "$run" --json |
        python3 -c 'import json, sys; json.dump(json.load(sys.stdin), sys.stdout, separators=(",", ":"), ensure_ascii=False); print()' \
            >"$kept/runs/$run.json"
done
"$program" runs | sed 's/^/  /'
# One file, as a copy of a store that nobody writes.
python3 - "$ASSAY_STORE" "$kept/store.sqlite" <<'END'
import sqlite3, sys
source, kept = sqlite3.connect(sys.argv[1]), sqlite3.connect(sys.argv[2])
source.backup(kept)
kept.execute("PRAGMA journal_mode = DELETE")
kept.execute("VACUUM")
kept.close()
END
cat "$home/said" | grep -E '^(error|assay )' || true
du -sh "$kept"
