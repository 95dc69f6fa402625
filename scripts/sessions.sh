#!/bin/sh
# Types a new user's first commands in a terminal of 80 and in one of 60 columns, in an empty home, and writes what the
# terminals show to docs/sessions/first-80.txt and first-60.txt. Usage: scripts/sessions.sh [PROGRAM]
# Needs tmux. The figures are those of the machine that it runs on.
set -eu

folder=$(cd "$(dirname "$0")/.." && pwd)
program=${1:-$folder/target/release/assay}
command -v tmux >/dev/null || { echo "missing: tmux; install it" >&2; exit 1; }
[ -x "$program" ] || { echo "missing: $program; build it: cargo build --release --package assay-cli" >&2; exit 1; }

home=$(mktemp -d)
socket=assay-sessions-$$
trap 'tmux -L "$socket" kill-server 2>/dev/null || true; rm -rf "$home"' EXIT
mkdir -p "$home/bin" "$folder/docs/sessions"
cp "$program" "$home/bin/assay"

cat >"$home/commands" <<'END'
assay
assay ./t.dat
assay run ./t.dat vmware
assay run vmware ./t.dat --size 10TB
assay run vmware ./t.dat --size 256MiB --quick
assay run vmware-modern ./t.dat --quick --only RealLife --rate 500/s --label paced
assay runs
assay show paced --format csv
assay compare last~1 last
assay predict nas-4bay --only Random
assay check ./t.dat
END
# The shell echoes each command as a terminal would show it typed.
cat >"$home/type" <<'END'
while read -r command; do
    printf '$ %s\n' "$command"
    eval "$command" </dev/tty
done <commands
tmux -L "$1" wait-for -S typed
sleep 60
END

for columns in 80 60; do
    rm -rf "$home/t.dat" "$home/.local"
    tmux -L "$socket" -f /dev/null new-session -d -x "$columns" -y 40 -s first "sleep 0.2; \
        cd '$home' && exec env -i HOME='$home' PATH='$home/bin:/usr/bin:/bin' TERM=screen NO_COLOR=1 \
        TMUX=\"\$TMUX\" sh '$home/type' '$socket'" \; set-option -g history-limit 10000
    tmux -L "$socket" wait-for typed
    tmux -L "$socket" capture-pane -p -J -S - -t first | sed -e "s#$home#/home/user#g" -e 's/[ ]*$//' \
        >"$folder/docs/sessions/first-$columns.txt"
    tmux -L "$socket" kill-session -t first
done
