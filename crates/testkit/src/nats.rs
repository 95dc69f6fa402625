//! A nats-server for one test, on loopback; removed at the end.

use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::{free_port, need, servant};

/// A running nats-server.
#[derive(Debug)]
pub struct Nats {
    child: Child,
    port: u16,
    config: String,
    folder: tempfile::TempDir,
}

/// Starts a server with `config`, in the syntax of its configuration files, besides its address and the folder of
/// JetStream. Skips the test if that is not possible.
///
/// # Panics
/// If there is no temporary folder.
#[track_caller]
pub fn start(config: &str) -> Option<Nats> {
    if !need::programs(&["nats-server", "setpriv"]) {
        return None;
    }
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    let child = need::or_skip("nats-server does not start", launch(folder.path(), port, config))?;
    Some(Nats { child, port, config: config.to_owned(), folder })
}

fn launch(folder: &Path, port: u16, config: &str) -> Result<Child, String> {
    let file = folder.join("nats.conf");
    let store = folder.join("store");
    let text = format!("listen: \"127.0.0.1:{port}\"\njetstream {{ store_dir: {store:?} }}\n{config}\n");
    std::fs::write(&file, text).map_err(|error| error.to_string())?;
    let mut command = servant::command();
    command.args(["--", "nats-server", "-c"]).arg(&file).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = servant::spawn(command).map_err(|error| error.to_string())?;
    let deadline = Instant::now() + Duration::from_secs(10);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        if let Ok(Some(status)) = child.try_wait() {
            return Err(format!("it ended with {status}"));
        }
        if Instant::now() > deadline {
            let _ = child.kill();
            return Err("it does not listen".into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(child)
}

impl Nats {
    /// Returns its address.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Kills the server, and starts it again at the same address.
    ///
    /// # Panics
    /// If it does not start.
    pub fn restart(&mut self) {
        self.end();
        self.child = launch(self.folder.path(), self.port, &self.config).unwrap();
    }

    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.end();
    }
}
