#!/bin/sh
# Builds what is distributed, in target/packages: a .deb, an .rpm, a .tar.gz, a bill of materials and checksums, and checks them.
# The program is linked against glibc 2.17 (2012), so one binary runs on every distribution of the last ten years with glibc:
# static binaries cannot look up names as the system does (NSS). Needs Rust, python3 with venv, and the package registries.
set -eu
cd "$(dirname "$0")/.."

GLIBC=2.17
TARGET=x86_64-unknown-linux-gnu
SIZE_LIMIT_MIB=25
root=$PWD
tools=$root/target/tools
out=$root/target/packages
built=$root/target/$TARGET/dist/assay
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
PATH=$tools/bin:$tools/py/bin:$PATH

say() { echo "== $*"; }
fail() { echo "dist: $*" >&2; exit 1; }

# zig links against any old glibc and brings a C compiler for SQLite; both come as wheels with their binaries.
tools() {
    [ -x "$tools/py/bin/cargo-zigbuild" ] || {
        python3 -m venv "$tools/py" || fail "python3 -m venv failed: apt-get install python3-venv"
        "$tools/py/bin/pip" install -q ziglang==0.15.2 cargo-zigbuild==0.23.4
    }
    for tool in cargo-deb@3.8.0 cargo-generate-rpm@0.21.1 cargo-cyclonedx@0.5.9; do
        [ -x "$tools/bin/${tool%@*}" ] ||
            cargo install --locked --root "$tools" --target-dir "$tools/build" "$tool"
    done
}

program() {
    ASSAY_COMMIT=$(git rev-parse --short=10 HEAD 2>/dev/null || echo unknown) \
        cargo zigbuild --profile dist --target "$TARGET.$GLIBC" --package assay-cli
}

# What the packages contain besides the program.
papers() {
    rm -rf "$out" && mkdir -p "$out/man" "$out/completions"
    "$built" man -o "$out/man"
    gzip -9n "$out"/man/*.1
    gzip -9nc CHANGELOG.md >"$out/changelog.gz"
    for shell in bash zsh fish; do "$built" completions "$shell" >"$out/completions/assay.$shell"; done
    {
        echo "assay ($version) unstable; urgency=medium"
        echo
        echo "  * The changes are in /usr/share/doc/assay/changelog.gz."
        echo
        echo " -- Assay maintainers <assay@localhost>  $(git log -1 --format=%cD 2>/dev/null || date -R)"
    } >"$out/changelog"
}

packages() {
    cargo deb --package assay-cli --profile dist --target "$TARGET" --no-build --no-strip --output "$out/" >/dev/null
    cargo generate-rpm --package crates/cli --profile dist --target "$TARGET" --output "$out/" >/dev/null
    folder=$out/assay-$version
    mkdir -p "$folder"
    cp "$built" README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT "$folder"
    cp -r "$out/man" "$out/completions" contrib "$folder"
    tar -C "$out" --owner=0 --group=0 --sort=name --mtime="@$(git log -1 --format=%ct 2>/dev/null || date +%s)" \
        -czf "$out/assay-$version-x86_64-linux.tar.gz" "assay-$version"
    rm -r "$folder"
    cargo cyclonedx --manifest-path crates/cli/Cargo.toml --format json --target "$TARGET" \
        --override-filename "assay-$version.cdx" >/dev/null
    mv "crates/cli/assay-$version.cdx.json" "$out/"
    find crates -name "assay-$version.cdx.json" -delete
    rm -r "$out/man" "$out/completions" "$out/changelog" "$out/changelog.gz"
    (cd "$out" && sha256sum -- * >SHA256SUMS)
}

# The newest version of glibc whose symbols the program needs, and its size.
checks() {
    newest=$(objdump -T "$built" | sed -n 's/.*GLIBC_\([0-9.]*\).*/\1/p' | sort -uV | tail -1)
    [ "$(printf '%s\n' "$newest" "$GLIBC" | sort -V | tail -1)" = "$GLIBC" ] ||
        fail "the program needs glibc $newest, and $GLIBC is promised"
    mib=$(($(stat -c %s "$built") / 1048576))
    [ "$mib" -lt "$SIZE_LIMIT_MIB" ] || fail "the program has $mib MiB, and less than $SIZE_LIMIT_MIB are promised"
    say "the program has $mib MiB and needs glibc $newest"
    if command -v lintian >/dev/null; then
        lintian --fail-on error "$out"/*.deb && say "lintian: no error"
    else
        say "lintian is not installed, so the .deb was not checked: apt-get install lintian"
    fi
    ls -l "$out"
}

scripts/advisories.sh
tools
program
papers
packages
checks
