#!/bin/sh
# Types the first commands of five users, and those of the README, in terminals of 80 and of 60 columns and 24 lines, each in
# an empty home, and writes what the terminals show to docs/sessions/. Usage: scripts/sessions.sh [PROGRAM [USER…]]
# Each command is followed by the seconds that it took. COLUMNS_SHOWN=80 writes those alone. Needs tmux. The figures are
# those of the machine that it runs on.
set -eu

folder=$(cd "$(dirname "$0")/.." && pwd)
program=${1:-$folder/target/release/assay}
[ $# -eq 0 ] || shift
command -v tmux >/dev/null || { echo "missing: tmux; install it" >&2; exit 1; }
[ -x "$program" ] || { echo "missing: $program; build it: cargo build --release --package assay-cli" >&2; exit 1; }

home=$(mktemp -d)
socket=assay-sessions-$$
trap 'tmux -L "$socket" kill-server 2>/dev/null || true; rm -rf "$home"' EXIT
mkdir -p "$home/bin" "$folder/docs/sessions"
cp "$program" "$home/bin/assay"

commands() {
    case $1 in
    first) cat <<'END'
assay
assay ./t.dat
assay run ./t.dat vmware --size 10TB
assay run vmware ./t.dat --size 256MiB --quick
assay run vmware-modern ./t.dat --quick --only RealLife --rate 500/s --label paced
assay runs
assay show paced --format csv
assay compare last~1 last
assay predict nas-4bay --only Random
assay check ./t.dat
END
        ;;
    home-nas) cat <<'END'
assay run vmware ./t.dat --quick --size 256MiB
assay compare last array:nas-4bay
assay export last -o forum.bbcode
cat forum.bbcode
END
        ;;
    vmware-iscsi) cat <<'END'
assay check 'iscsi://127.0.0.1:1/iqn.2004-01.example:disk/1?portals=all'
assay run vmware sim:openfiler-2.3-4disk --quick --only RealLife
assay predict openfiler-2.3-4disk --what-if paths.rr_ios=1
END
        ;;
    dba) cat <<'END'
assay run 'fio --name=wal --rw=write --bs=8k --size=64m --fdatasync=1 --runtime=3 --time_based' ./wal.dat
assay run latency-qd1 ./t.dat --bs 8k
assay curve ./t.dat --quick --size 64MiB --set size=8KiB
assay run oltp-66-33 ./t.dat --quick --size 256MiB
assay run oltp-66-33 ./t.dat --size 256MiB --only log --set run=10s --fail-if 'p99 > 100ms'
END
        ;;
    nightly) cat <<'END'
assay run vmware-modern ./t.dat --quick --size 64MiB --only RealLife --label night
assay baseline set night
assay run vmware-modern ./t.dat --quick --size 64MiB --only RealLife --fail-if 'p99 > 1s' --fail-if 'errors > 0'
echo "exit code $?"
assay export last -o last.prom
head -3 last.prom
END
        ;;
    consultant) cat <<'END'
assay run vmware ./t.dat --quick --size 64MiB --label before
assay run vmware ./t.dat --quick --size 64MiB --label after --set outstanding=1
assay compare before after
assay report after -o after.html
assay compare before array:ssd-sata
assay size "1200 IOPS, 70% read, 8 KiB, p99 20 ms, 4 TB, with a failed disk"
assay size "how many 15k rpm disks in RAID10 for 1500 IOPS, 66% read, 8 KiB, mean 10 ms, 2 TB"
END
        ;;
    glance) cat <<'END'
assay
assay ./t.dat
assay run vmware ./t.dat --quick --size 64MiB --label before
assay run vmware ./t.dat --quick --size 64MiB --label after
assay compare before after
assay runs
assay check ./t.dat
assay probe-cache ./t.dat --size 64MiB
assay map ./t.dat --budget 5s
assay curve ./t.dat --quick --size 64MiB
assay diagnose ./t.dat --budget 20s
assay scale latency-qd1 ./t.dat --set run=1s --set warmup=0s
assay predict nas-4bay
assay size "how many 15k rpm disks in RAID10 for 1500 IOPS, 66% read, 8 KiB, mean 10 ms, 2 TB"
assay suites
assay arrays
END
        ;;
    *) echo "no user is called $1" >&2; exit 1 ;;
    esac
}

# The shell echoes each command as a terminal would show it typed.
cat >"$home/type" <<'END'
while read -r command; do
    printf '$ %s\n' "$command"
    began=$(date +%s)
    eval "$command" </dev/tty
    printf '[%s s]\n' "$(($(date +%s) - began))"
done <commands
tmux -L "$1" wait-for -S typed
sleep 60
END

for user in ${*:-first home-nas vmware-iscsi dba nightly consultant glance}; do
    for columns in ${COLUMNS_SHOWN:-80 60}; do
        rm -rf "$home"/*.dat "$home"/*.prom "$home"/*.html "$home"/*.bbcode "$home/.local"
        commands "$user" >"$home/commands"
        tmux -u -L "$socket" -f /dev/null new-session -d -x "$columns" -y 24 -s first "sleep 0.2; \
            cd '$home' && exec env -i HOME='$home' PATH='$home/bin:/usr/bin:/bin' TERM=screen NO_COLOR=1 LANG=C.UTF-8 \
            TMUX=\"\$TMUX\" sh '$home/type' '$socket'" \; set-option -g history-limit 10000
        tmux -L "$socket" wait-for typed
        tmux -u -L "$socket" capture-pane -p -J -S - -t first | sed -e "s#$home#/home/user#g" -e 's/[ ]*$//' \
            >"$folder/docs/sessions/$user-$columns.txt"
        tmux -L "$socket" kill-session -t first
    done
done
