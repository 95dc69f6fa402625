#!/bin/sh
# Runs Assay against iSCSI targets that Debian does not package: gotgt (Go), jSCSI (Java), iscsi-target (Rust).
# Builds them with their own package managers under target/soak, starts each on loopback, and shows what libiscsi makes
# of it too. Usage: scripts/soak-iscsi.sh [gotgt|jscsi|rust]...
set -u

folder=$(cd "$(dirname "$0")/.." && pwd)/target/soak
assay=${ASSAY:-$(cd "$(dirname "$0")/.." && pwd)/target/release/assay}
cargo=${CARGO:-cargo}
initiator=iqn.2026-11.example.assay-soak
size_mib=64
mkdir -p "$folder"
export ASSAY_STORE="$folder/runs.db"
server=""
failures=0

stop() {
    [ -n "$server" ] && kill "$server" 2>/dev/null && wait "$server" 2>/dev/null
    server=""
}
trap 'stop; exit 130' INT TERM
trap stop EXIT

need() {
    for name in "$@"; do
        command -v "$name" >/dev/null 2>&1 || { echo "missing: $name; install it, or name other targets" >&2; return 1; }
    done
}

# Each build_NAME makes the target; each start_NAME starts it on $port and sets `server` and `name`.
build_gotgt() {
    need go || return 1
    mkdir -p "$folder/gotgt/home/.gotgt"
    cd "$folder/gotgt" || return 1
    printf 'module soak\n\ngo 1.21\n\nrequire github.com/gostor/gotgt v0.2.2\n' >go.mod
    go build -mod=mod -o gotgt github.com/gostor/gotgt
}

start_gotgt() {
    name=iqn.2026-11.example:gotgt
    truncate -s "${size_mib}M" disk.img
    cat >home/.gotgt/config.json <<EOF
{ "storages": [{ "deviceID": 1000, "path": "file:$folder/gotgt/disk.img", "online": true, "thinProvisioning": false,
                 "blockShift": 9 }],
  "iscsiportals": [{ "id": 0, "portal": "127.0.0.1:$port" }],
  "iscsitargets": { "$name": { "tpgts": { "1": [0] }, "luns": { "0": 1000 } } } }
EOF
    HOME="$folder/gotgt/home" ./gotgt daemon --port "$port" >log 2>&1 &
    server=$!
}

build_jscsi() {
    need mvn java unzip || return 1
    mkdir -p "$folder/jscsi"
    cd "$folder/jscsi" || return 1
    cat >pom.xml <<'EOF'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>soak</groupId><artifactId>soak</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.jscsi</groupId><artifactId>target</artifactId><version>2.5.2</version></dependency>
  </dependencies>
</project>
EOF
    # The program of the package asks on its input for an address, and looks for its schema where it is not.
    cat >Start.java <<'EOF'
import java.io.File;
import org.jscsi.target.*;

public class Start {
    public static void main(String[] files) throws Exception {
        new TargetServer(Configuration.create(new File(files[0]), new File(files[1]), "127.0.0.1")).call();
    }
}
EOF
    [ -d lib ] || mvn -q -B dependency:copy-dependencies -DoutputDirectory=lib
    unzip -o -q lib/target-2.5.2.jar jscsi-target.xsd
}

start_jscsi() {
    name=iqn.2026-11.example:jscsi
    truncate -s "${size_mib}M" disk.img
    cat >target.xml <<EOF
<configuration xmlns="http://www.jscsi.org/2010-04">
  <TargetList><Target><TargetName>$name</TargetName>
    <SyncFileStorage><Path>$folder/jscsi/disk.img</Path><DontCreate/></SyncFileStorage></Target></TargetList>
  <GlobalConfig><AllowSloppyNegotiation>false</AllowSloppyNegotiation><Port>$port</Port></GlobalConfig>
</configuration>
EOF
    java -Xmx256m -cp "$(printf '%s:' lib/*.jar)" Start.java jscsi-target.xsd target.xml >log 2>&1 &
    server=$!
}

build_rust() {
    mkdir -p "$folder/rust/src"
    cd "$folder/rust" || return 1
    # A workspace of its own: it is built inside the folder of another one.
    cat >Cargo.toml <<'EOF'
[package]
name = "soak"
version = "0.0.0"
edition = "2021"

[dependencies]
iscsi-target = "=1.0.0"

[workspace]
EOF
    cat >src/main.rs <<'EOF'
use iscsi_target::{IscsiError, IscsiTarget, ScsiBlockDevice, ScsiResult};

struct Memory(Vec<u8>);

impl Memory {
    fn range(&self, lba: u64, bytes: usize) -> ScsiResult<std::ops::Range<usize>> {
        let start = usize::try_from(lba).unwrap_or(usize::MAX).saturating_mul(512);
        let end = start.saturating_add(bytes);
        if end > self.0.len() {
            return Err(IscsiError::Scsi("beyond the end".into()));
        }
        Ok(start..end)
    }
}

impl ScsiBlockDevice for Memory {
    fn read(&self, lba: u64, blocks: u32, _: u32) -> ScsiResult<Vec<u8>> {
        Ok(self.0[self.range(lba, blocks as usize * 512)?].to_vec())
    }
    fn write(&mut self, lba: u64, data: &[u8], _: u32) -> ScsiResult<()> {
        let range = self.range(lba, data.len())?;
        self.0[range].copy_from_slice(data);
        Ok(())
    }
    fn capacity(&self) -> u64 {
        self.0.len() as u64 / 512
    }
    fn block_size(&self) -> u32 {
        512
    }
    fn flush(&mut self) -> ScsiResult<()> {
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let (address, name, mib) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
    let disk = Memory(vec![0; mib.parse::<usize>()? << 20]);
    IscsiTarget::builder().bind_addr(&address).target_name(&name).build(disk)?.run()?;
    Ok(())
}
EOF
    $cargo build --release --quiet --target-dir "$folder/rust/target"
}

start_rust() {
    name=iqn.2026-11.example:rust
    target/release/soak "127.0.0.1:$port" "$name" "$size_mib" >log 2>&1 &
    server=$!
}

# check WORDS COMMAND...: runs it and says how it ended.
check() {
    words=$1
    shift
    if timeout 180 "$@" >"$folder/out" 2>&1; then
        echo "  ok    $words"
    else
        echo "  FAIL  $words"
        tail -n 5 "$folder/out" | sed 's/^/        /'
        failures=$((failures + 1))
    fi
}

soak() {
    kind=$1 port=$2
    echo "$kind"
    if ! "build_$kind" >"$folder/out" 2>&1; then
        echo "  FAIL  build"
        tail -n 5 "$folder/out" | sed 's/^/        /'
        failures=$((failures + 1))
        return
    fi
    "start_$kind"
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        timeout 5 iscsi-inq -i "$initiator" "iscsi://127.0.0.1:$port/$name/0" >/dev/null 2>&1 && break
        sleep 1
    done
    lun=iscsi://127.0.0.1:$port/$name/0
    check "libiscsi: capacity" iscsi-readcapacity16 "$lun"
    sed -n 's/^RETURNED LOGICAL BLOCK ADDRESS:/        last block by READ CAPACITY: /p' "$folder/out"
    check "libiscsi: discovery" iscsi-ls "iscsi://127.0.0.1:$port"
    check "assay check: discovery" "$assay" check "iscsi://127.0.0.1:$port"
    check "assay check: LUN" "$assay" check "$lun"
    grep -E '^ +(size|identity) |Deviation|READ CAPACITY' "$folder/out" | sed 's/^ */        /'
    identity=$("$assay" check "$lun" --json 2>/dev/null | sed -n 's/^ *"serial": "\(.*\)",*$/\1/p' | head -n 1)
    # Without serial number and WWID a LUN is named by target, number and size.
    : "${identity:=$name/0-$((size_mib << 20))}"
    check "assay run vmware" "$assay" run vmware "$lun" --set run=2s --overwrite "$identity"
    sed -n '/MiB\/s/,/^$/p' "$folder/out" | sed 's/^/        /'
    stop
    cd "$folder" || exit 1
}

need iscsi-inq iscsi-ls iscsi-readcapacity16 timeout || exit 1
[ -x "$assay" ] || { echo "missing: $assay; make soak builds it" >&2; exit 1; }
port=13260
for kind in ${*:-gotgt jscsi rust}; do
    soak "$kind" "$port"
    port=$((port + 1))
done
[ "$failures" = 0 ] || { echo "$failures checks failed"; exit 1; }
