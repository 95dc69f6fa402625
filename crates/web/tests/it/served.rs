//! A server on a port of its own, with a store of synthetic runs.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use assay_store::{Store, StoreAddress};
use assay_testkit::synthetic;
use assay_web::{Limits, Options, RunPermission, RunTarget, Server, Stopper, Tls};

use crate::client::{Answer, connect, exchange};

/// The run in every store.
pub(crate) const RUN: &str = "261121-k7f2";
/// What must never be more than text.
pub(crate) const HOSTILE: &str = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>";

/// What servers said of their stores, each with the path of its own.
pub(crate) static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// A server that is answering.
pub(crate) struct Served {
    folder: tempfile::TempDir,
    store: StoreAddress,
    address: SocketAddr,
    stopper: Stopper,
    has_tls: bool,
}

/// Who a server is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// This machine.
    Loopback,
    /// Every machine, with TLS.
    Network,
}

impl Served {
    pub(crate) fn start(reach: Reach) -> Self {
        Self::with(reach, Limits::default())
    }

    pub(crate) fn with(reach: Reach, limits: Limits) -> Self {
        Self::with_program(reach, limits, PathBuf::from("/bin/false"))
    }

    /// `program` is what a new run starts.
    pub(crate) fn with_program(reach: Reach, limits: Limits, program: PathBuf) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store.sqlite");
        std::fs::copy(filled(), &store).unwrap();
        Self::of(folder, store.into(), reach, limits, program)
    }

    /// Serves the store in a server, which is filled as all others are.
    pub(crate) fn in_server(url: &str) -> Self {
        let store = StoreAddress::parse(url).unwrap();
        fill(&Store::open(&store).unwrap());
        let folder = tempfile::tempdir().unwrap();
        Self::of(folder, store, Reach::Loopback, Limits::default(), PathBuf::from("/bin/false"))
    }

    fn of(
        folder: tempfile::TempDir,
        store: StoreAddress,
        reach: Reach,
        limits: Limits,
        program: PathBuf,
    ) -> Self {
        let (listen, tls) = match reach {
            Reach::Loopback => ("127.0.0.1:0", Tls::Off),
            Reach::Network => ("0.0.0.0:0", Tls::SelfSigned { folder: folder.path().to_owned() }),
        };
        let options = Options {
            listen: listen.parse().unwrap(),
            store: store.clone(),
            token_file: folder.path().join("token"),
            tls,
            runs: Some(RunPermission {
                program,
                targets: vec![RunTarget {
                    name: format!("disk{HOSTILE}"),
                    address: folder.path().join("t.dat").display().to_string(),
                }],
                plans: vec![],
            }),
            found: vec![RunTarget { name: format!("found{HOSTILE}"), address: "/dev/sdz".to_owned() }],
            own_process: None,
            limits,
            tell: |says| SAID.lock().unwrap().push(says.to_owned()),
        };
        let server = Server::bind(options).unwrap();
        let port = server.url().rsplit_once(':').unwrap().1.parse().unwrap();
        let stopper = server.stopper();
        std::thread::spawn(move || server.run().unwrap());
        let address = ([127, 0, 0, 1], port).into();
        Self { folder, store, address, stopper, has_tls: reach == Reach::Network }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn token(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("token")).unwrap().trim().to_owned()
    }

    pub(crate) fn store(&self) -> Store {
        Store::open(&self.store).unwrap()
    }

    /// The file of the store.
    pub(crate) fn store_path(&self) -> PathBuf {
        self.store.file().unwrap().to_owned()
    }

    /// The `Host` of a browser.
    pub(crate) fn host(&self) -> String {
        format!("localhost:{}", self.address.port())
    }

    pub(crate) fn connect(&self) -> Box<dyn crate::client::Stream> {
        let certificate = self.folder.path().join("serve-cert.pem");
        connect(self.address, self.has_tls.then_some(certificate.as_path()))
    }

    /// Sends a request with these header lines.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Answer {
        let mut request =
            format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.host());
        headers.iter().for_each(|line| request.push_str(&format!("{line}\r\n")));
        if method == "POST" {
            request.push_str(&format!(
                "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n",
                body.len()
            ));
        }
        request.push_str(&format!("\r\n{body}"));
        exchange(&mut *self.connect(), request.as_bytes()).expect("an answer")
    }

    pub(crate) fn get(&self, path: &str, headers: &[&str]) -> Answer {
        self.send("GET", path, headers, "")
    }

    /// Signs in. Returns the line of the cookie and the value of its forms.
    pub(crate) fn sign_in(&self) -> (String, String) {
        let answer = self.send("POST", "/login", &[], &format!("token={}", self.token()));
        assert_eq!(answer.status, 303, "{}", answer.body);
        let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        let cookie = format!("Cookie: {cookie}");
        let page = self.get("/runs", &[&cookie]).body;
        let (_, after) = page.split_once("name=\"csrf\" value=\"").expect("a form of the session");
        (cookie, after.split_once('"').unwrap().0.to_owned())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stopper.stop();
    }
}

/// A store that was filled once for all tests; SQLite puts everything into the file when the last connection closes.
fn filled() -> &'static Path {
    static FILLED: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = FILLED.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.sqlite");
        fill(&Store::open(&path).unwrap());
        (folder, path)
    });
    path
}

/// A run in which every string that comes from elsewhere is hostile.
fn fill(store: &Store) {
    let mut header = synthetic::header(synthetic::suite("vmware", 12));
    header.host.name = format!("host{HOSTILE}");
    header.host.os = format!("os{HOSTILE}");
    header.targets[0].address = format!("iscsi://nas/iqn.2004-01.example:{HOSTILE}/1");
    if let Some(device) = &mut header.targets[0].member.device {
        device.model = format!("model{HOSTILE}");
    }
    header.array = Some(
        assay_model::array::shipped::FILES[0]
            .1
            .lines()
            .map(|line| match line.strip_prefix("title") {
                Some(_) => "title = '''array<script>alert(1)</script>'''\n".to_owned(),
                None => format!("{line}\n"),
            })
            .collect(),
    );
    let events = synthetic::events(&header, synthetic::Target::default());
    let (label, note) = (format!("label{HOSTILE}"), format!("note{HOSTILE}"));
    let mut writer = store.begin_run(&header, Some(&label), Some(&note)).unwrap();
    events.iter().for_each(|event| writer.append(event).unwrap());
    writer.finish().unwrap();
    drop(writer);
    let mut second = synthetic::header(synthetic::suite("vmware", 12));
    second.run = "261121-aaaa".into();
    let events =
        synthetic::events(&second, synthetic::Target { service_ns: 200_000.0, ..Default::default() });
    let mut writer = store.begin_run(&second, Some("second"), None).unwrap();
    events.iter().for_each(|event| writer.append(event).unwrap());
    writer.finish().unwrap();
}
