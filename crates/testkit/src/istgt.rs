//! An istgt for one test, whose discovery requires a secret; removed at the end.

use std::fs::File;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::{free_port, need};

/// Name of its target.
pub const NAME: &str = "iqn.2026-11.example.assay:closed";

/// A running istgt with one target that accepts every initiator.
#[derive(Debug)]
pub struct Istgt {
    child: Child,
    /// Portal: `127.0.0.1:PORT`.
    pub portal: String,
    _dir: tempfile::TempDir,
}

/// Starts the target; skips the test if that is not possible.
#[track_caller]
pub fn start() -> Option<Istgt> {
    if !need::programs(&["istgt"]) {
        return None;
    }
    need::or_skip("istgt does not start", try_start())
}

fn try_start() -> Result<Istgt, String> {
    let dir = tempfile::Builder::new()
        .prefix("assay-istgt-")
        .tempdir_in("/dev/shm")
        .map_err(|error| error.to_string())?;
    let at = dir.path().to_str().unwrap();
    File::create(dir.path().join("disk")).unwrap().set_len(16 << 20).unwrap();
    let auth = dir.path().join("auth");
    std::fs::write(&auth, "[AuthGroup1]\n  Auth \"bob\" \"hush-hush-hush-42\"\n").unwrap();
    // It refuses a secret file that others can read.
    std::fs::set_permissions(&auth, std::fs::Permissions::from_mode(0o600)).unwrap();
    let (portal, control) = (format!("127.0.0.1:{}", free_port()), free_port());
    let settings = format!(
        "[Global]\n  NodeBase \"iqn.2026-11.example.assay\"\n  AuthFile {at}/auth\n  MediaDirectory {at}\n  \
         DiscoveryAuthMethod CHAP\n  \
         DiscoveryAuthGroup AuthGroup1\n[UnitControl]\n  AuthMethod CHAP\n  AuthGroup AuthGroup1\n  \
         Portal UC1 127.0.0.1:{control}\n  Netmask 127.0.0.1\n\
         [PortalGroup1]\n  Portal DA1 {portal}\n[InitiatorGroup1]\n  \
         InitiatorName \"ALL\"\n  Netmask 127.0.0.0/8\n[LogicalUnit1]\n  TargetName {NAME}\n  \
         Mapping PortalGroup1 InitiatorGroup1\n  AuthMethod None\n  UnitType Disk\n  LUN0 Storage {at}/disk Auto\n"
    );
    std::fs::write(dir.path().join("conf"), settings).unwrap();
    let child = Command::new("istgt")
        .args(["-D", "-q", "-c", &format!("{at}/conf"), "-p", &format!("{at}/pid")])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    let mut istgt = Istgt { child, portal, _dir: dir };
    let deadline = Instant::now() + Duration::from_secs(10);
    while TcpStream::connect(&istgt.portal).is_err() {
        if let Ok(Some(status)) = istgt.child.try_wait() {
            return Err(format!("it ended with {status}"));
        }
        if Instant::now() > deadline {
            return Err("it does not listen".into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(istgt)
}

impl Drop for Istgt {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
