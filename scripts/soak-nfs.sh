#!/bin/sh
# Runs Assay against NFS servers that Debian does not package: go-nfs (Go), which offers AUTH_NONE only and sends more
# than FSSTAT has, and nfsserve (Rust), with files in memory. Builds them with their own package managers under
# target/soak, starts each on loopback, and has another reader look at the file. Usage: scripts/soak-nfs.sh [go|rust]...
set -u

root=$(cd "$(dirname "$0")/.." && pwd)
assay=${ASSAY:-$root/target/release/assay}
cargo=${CARGO:-cargo}
port=13290
server=""
failures=0
mkdir -p "$root/target/soak"
export ASSAY_STORE="$root/target/soak/nfs.db"

stop() {
    [ -n "$server" ] && kill "$server" 2>/dev/null && wait "$server" 2>/dev/null
    server=""
}
trap 'stop; exit 130' INT TERM
trap stop EXIT

[ -x "$assay" ] || { echo "missing: $assay; make soak-targets builds it" >&2; exit 1; }

# Each build_NAME makes the server in a folder of its own; each start_NAME starts it on $port and sets `server` and the
# `path` of its export.
build_go() {
    command -v go || { echo "missing: go; install it"; return 1; }
    mkdir -p "$root/target/soak/go-nfs/share"
    cd "$root/target/soak/go-nfs" || return 1
    cat >go.mod <<'EOF'
module soak

go 1.21

require (
	github.com/go-git/go-billy/v5 v5.6.0
	github.com/willscott/go-nfs v0.0.4
)
EOF
    cat >main.go <<'EOF'
package main

import (
	"net"
	"os"

	"github.com/go-git/go-billy/v5/osfs"
	nfs "github.com/willscott/go-nfs"
	helpers "github.com/willscott/go-nfs/helpers"
)

func main() {
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		panic(err)
	}
	handler := helpers.NewNullAuthHandler(osfs.New(os.Args[2]))
	panic(nfs.Serve(listener, helpers.NewCachingHandler(handler, 1024)))
}
EOF
    go mod tidy && go build -o server .
}

start_go() {
    path=/mount
    ./server "127.0.0.1:$port" "$PWD/share" >log 2>&1 &
    server=$!
}

# libnfs does not understand an answer that offers AUTH_NONE only. Every path is an export here, so t.dat is a folder.
read_go() { cat share/assay.dat; }

build_rust() {
    command -v "$cargo" || { echo "missing: cargo; install it"; return 1; }
    mkdir -p "$root/target/soak/nfsserve/src"
    cd "$root/target/soak/nfsserve" || return 1
    cat >Cargo.toml <<'EOF'
[package]
name = "soak"
version = "0.0.0"
edition = "2021"

[dependencies]
async-trait = "0.1"
nfsserve = "=0.10.2"
tokio = { version = "1", features = ["macros", "rt-multi-thread"] }

[workspace]
EOF
    cat >src/main.rs <<'EOF'
use async_trait::async_trait;
use nfsserve::nfs::*;
use nfsserve::tcp::{NFSTcp, NFSTcpListener};
use nfsserve::vfs::{DirEntry, NFSFileSystem, ReadDirResult, VFSCapabilities};
use std::sync::Mutex;

/// Files of one folder, in memory: names, and what is in them. The folder is number 1, the first file 2.
#[derive(Default)]
struct Files(Mutex<Vec<(Vec<u8>, Vec<u8>)>>);

fn attributes(id: fileid3, size: Option<usize>) -> fattr3 {
    fattr3 {
        ftype: if size.is_some() { ftype3::NF3REG } else { ftype3::NF3DIR },
        mode: if size.is_some() { 0o666 } else { 0o777 },
        nlink: 1,
        size: size.unwrap_or(0) as u64,
        used: size.unwrap_or(0) as u64,
        fileid: id,
        ..Default::default()
    }
}

impl Files {
    fn change<T>(&self, id: fileid3, change: impl FnOnce(&mut Vec<u8>) -> T) -> Result<T, nfsstat3> {
        let at = id.checked_sub(2).ok_or(nfsstat3::NFS3ERR_ISDIR)? as usize;
        self.0.lock().unwrap().get_mut(at).map(|(_, data)| change(data)).ok_or(nfsstat3::NFS3ERR_STALE)
    }
}

#[async_trait]
impl NFSFileSystem for Files {
    fn capabilities(&self) -> VFSCapabilities {
        VFSCapabilities::ReadWrite
    }
    fn root_dir(&self) -> fileid3 {
        1
    }
    async fn lookup(&self, _: fileid3, name: &filename3) -> Result<fileid3, nfsstat3> {
        if name.as_ref() == b"." || name.as_ref() == b".." {
            return Ok(1);
        }
        let files = self.0.lock().unwrap();
        let at = files.iter().position(|(own, _)| own.as_slice() == name.as_ref());
        at.map(|at| at as u64 + 2).ok_or(nfsstat3::NFS3ERR_NOENT)
    }
    async fn getattr(&self, id: fileid3) -> Result<fattr3, nfsstat3> {
        match id {
            1 => Ok(attributes(1, None)),
            id => self.change(id, |data| attributes(id, Some(data.len()))),
        }
    }
    async fn setattr(&self, id: fileid3, to: sattr3) -> Result<fattr3, nfsstat3> {
        if let set_size3::size(size) = to.size {
            self.change(id, |data| data.resize(size as usize, 0))?;
        }
        self.getattr(id).await
    }
    async fn read(&self, id: fileid3, offset: u64, count: u32) -> Result<(Vec<u8>, bool), nfsstat3> {
        self.change(id, |data| {
            let from = (offset as usize).min(data.len());
            let to = (from + count as usize).min(data.len());
            (data[from..to].to_vec(), to == data.len())
        })
    }
    async fn write(&self, id: fileid3, offset: u64, bytes: &[u8]) -> Result<fattr3, nfsstat3> {
        self.change(id, |data| {
            let to = offset as usize + bytes.len();
            data.resize(data.len().max(to), 0);
            data[offset as usize..to].copy_from_slice(bytes);
            attributes(id, Some(data.len()))
        })
    }
    async fn create(&self, dir: fileid3, name: &filename3, to: sattr3) -> Result<(fileid3, fattr3), nfsstat3> {
        let id = match self.lookup(dir, name).await {
            Ok(id) => id,
            Err(_) => self.create_exclusive(dir, name).await?,
        };
        Ok((id, self.setattr(id, to).await?))
    }
    async fn create_exclusive(&self, _: fileid3, name: &filename3) -> Result<fileid3, nfsstat3> {
        let mut files = self.0.lock().unwrap();
        files.push((name.as_ref().to_vec(), Vec::new()));
        Ok(files.len() as u64 + 1)
    }
    async fn mkdir(&self, _: fileid3, _: &filename3) -> Result<(fileid3, fattr3), nfsstat3> {
        Err(nfsstat3::NFS3ERR_NOTSUPP)
    }
    async fn remove(&self, _: fileid3, _: &filename3) -> Result<(), nfsstat3> {
        Err(nfsstat3::NFS3ERR_NOTSUPP)
    }
    async fn rename(&self, _: fileid3, _: &filename3, _: fileid3, _: &filename3) -> Result<(), nfsstat3> {
        Err(nfsstat3::NFS3ERR_NOTSUPP)
    }
    async fn readdir(&self, _: fileid3, after: fileid3, most: usize) -> Result<ReadDirResult, nfsstat3> {
        let files = self.0.lock().unwrap();
        let all = (2..).zip(files.iter()).filter(|(id, _)| *id > after);
        let entry = |(id, (name, data)): (u64, &(Vec<u8>, Vec<u8>))| DirEntry {
            fileid: id,
            name: name.as_slice().into(),
            attr: attributes(id, Some(data.len())),
        };
        let entries: Vec<DirEntry> = all.map(entry).take(most).collect();
        let end = entries.last().map_or(after, |last| last.fileid) > files.len() as u64;
        Ok(ReadDirResult { end: end || entries.is_empty(), entries })
    }
    async fn symlink(
        &self, _: fileid3, _: &filename3, _: &nfspath3, _: &sattr3,
    ) -> Result<(fileid3, fattr3), nfsstat3> {
        Err(nfsstat3::NFS3ERR_NOTSUPP)
    }
    async fn readlink(&self, _: fileid3) -> Result<nfspath3, nfsstat3> {
        Err(nfsstat3::NFS3ERR_NOTSUPP)
    }
}

#[tokio::main]
async fn main() {
    let address = std::env::args().nth(1).unwrap();
    NFSTcpListener::bind(&address, Files::default()).await.unwrap().handle_forever().await.unwrap();
}
EOF
    "$cargo" build --release --quiet
}

start_rust() {
    path=""
    target/release/soak "127.0.0.1:$port" >log 2>&1 &
    server=$!
}

read_rust() {
    command -v nfs-cat >/dev/null || { echo "missing: nfs-cat; install libnfs-utils"; return 1; }
    nfs-cat "nfs://127.0.0.1$path//t.dat?nfsport=$port&mountport=$port&version=3"
}

# check WORDS COMMAND...: runs it and says how it ended.
check() {
    words=$1
    shift
    if "$@" >out 2>&1; then
        echo "  ok    $words"
    else
        echo "  FAIL  $words"
        tail -n 5 out | sed 's/^/        /'
        failures=$((failures + 1))
    fi
}

# Another reader must find a file as long as Assay's, that is not empty.
reads_alike() {
    "read_$kind" >copy || return 1
    [ "$(wc -c <copy)" = $((64 << 20)) ] || { echo "it has $(wc -c <copy) bytes"; return 1; }
    cmp -s -n 4096 copy /dev/zero && { echo "it has zeros"; return 1; }
    return 0
}

soak() {
    kind=$1
    echo "$kind"
    if ! "build_$kind" >"$root/target/soak/out" 2>&1; then
        echo "  FAIL  build"
        tail -n 5 "$root/target/soak/out" | sed 's/^/        /'
        failures=$((failures + 1))
        return
    fi
    "start_$kind"
    sleep 1
    file="nfs://127.0.0.1:$port$path/t.dat?mountport=$port"
    check "assay check" timeout 180 "$assay" check "$file"
    check "assay run vmware" timeout 180 "$assay" run vmware "$file" --size 64MiB --set run=1s
    check "the same file by another reader" reads_alike
    rm -f copy
    stop
}

for kind in ${*:-go rust}; do
    soak "$kind"
    port=$((port + 1))
done
[ "$failures" = 0 ] || { echo "$failures checks failed"; exit 1; }
