#!/bin/sh
# Runs Assay against an NFS server that Debian does not package: go-nfs (Go), which offers AUTH_NONE only and sends more
# than FSSTAT has. Builds it with its own package manager under target/soak and starts it on loopback.
# Usage: scripts/soak-nfs.sh
set -u

root=$(cd "$(dirname "$0")/.." && pwd)
folder=$root/target/soak/go-nfs
assay=${ASSAY:-$root/target/release/assay}
port=13290
server=""
failures=0
mkdir -p "$folder/share"
export ASSAY_STORE="$folder/runs.db"

stop() {
    [ -n "$server" ] && kill "$server" 2>/dev/null && wait "$server" 2>/dev/null
    server=""
}
trap 'stop; exit 130' INT TERM
trap stop EXIT

command -v go >/dev/null 2>&1 || { echo "missing: go; install it" >&2; exit 1; }
[ -x "$assay" ] || { echo "missing: $assay; make soak-targets builds it" >&2; exit 1; }
cd "$folder" || exit 1
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
go mod tidy >out 2>&1 && go build -o server . >>out 2>&1 || { echo "  FAIL  build"; tail -n 5 out; exit 1; }
./server "127.0.0.1:$port" "$folder/share" >log 2>&1 &
server=$!
sleep 1

# check WORDS COMMAND...: runs it and says how it ended.
check() {
    words=$1
    shift
    if timeout 180 "$@" >out 2>&1; then
        echo "  ok    $words"
    else
        echo "  FAIL  $words"
        tail -n 5 out | sed 's/^/        /'
        failures=$((failures + 1))
    fi
}

echo go-nfs
file="nfs://127.0.0.1:$port/mount/t.dat?mountport=$port"
check "assay check" "$assay" check "$file"
check "assay run vmware" "$assay" run vmware "$file" --size 64MiB --set run=1s
[ "$failures" = 0 ] || { echo "$failures checks failed"; exit 1; }
