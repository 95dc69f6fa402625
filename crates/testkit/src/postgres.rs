//! A PostgreSQL server on loopback and on a socket, for one test or for all of a process; removed at the end.

use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::{free_port, need, servant};

/// Where Debian has the programs of its versions.
const VERSIONS: &str = "/usr/lib/postgresql";
/// The server does not run as root. This user and its group are on every machine.
const NOBODY: u32 = 65_534;
/// The owner of the cluster, and the database that it makes.
const OWNER: &str = "assay";
const DATABASE: &str = "runs";
/// Who may log in if nothing else is said: everybody who reaches the server, which only this machine does.
const TRUST: &str = "local all all trust\nhost all all 127.0.0.1/32 trust\n";

/// A running server.
#[derive(Debug)]
pub struct Postgres {
    child: Option<Child>,
    port: u16,
    programs: PathBuf,
    folder: tempfile::TempDir,
}

/// A database of its own in a server that the tests of a process share.
#[derive(Debug)]
pub struct Database {
    server: Arc<Postgres>,
    name: String,
}

/// Returns a new database in a server that all tests share which use one now. Skips the test if that is not possible.
///
/// # Panics
/// If the database cannot be made.
#[track_caller]
pub fn database() -> Option<Database> {
    static SHARED: Mutex<(Weak<Postgres>, u32)> = Mutex::new((Weak::new(), 0));
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    let server = match shared.0.upgrade() {
        Some(server) => server,
        None => Arc::new(start()?),
    };
    *shared = (Arc::downgrade(&server), shared.1 + 1);
    let name = format!("runs_{}", shared.1);
    server.sql(&format!("CREATE DATABASE {name}"));
    Some(Database { server, name })
}

impl Database {
    /// Returns its address as a store of its owner.
    pub fn url(&self) -> String {
        self.url_of(OWNER)
    }

    /// Returns its address as a store of a user.
    pub fn url_of(&self, user: &str) -> String {
        self.server.url_in(user, &self.name)
    }

    /// Runs statements as the owner; returns what they print, without titles.
    ///
    /// # Panics
    /// If one fails.
    pub fn sql(&self, text: &str) -> String {
        self.server.sql_in(&self.name, text)
    }
}

/// Starts a server. Skips the test if that is not possible.
///
/// # Panics
/// If there is no temporary folder.
#[track_caller]
pub fn start() -> Option<Postgres> {
    with("", TRUST)
}

/// Starts a server with lines for postgresql.conf, and with a pg_hba.conf. Skips the test if that is not possible.
///
/// # Panics
/// If there is no temporary folder.
#[track_caller]
pub fn with(config: &str, logins: &str) -> Option<Postgres> {
    let Some(programs) = programs() else {
        need::skip("PostgreSQL's server is not installed (Debian: apt-get install postgresql)");
        return None;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut postgres = Postgres { child: None, port: free_port(), programs, folder };
    need::or_skip("PostgreSQL does not start", postgres.create(config, logins))?;
    Some(postgres)
}

fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir(VERSIONS).ok()?.flatten().map(|entry| entry.path().join("bin"));
    versions.filter(|folder| folder.join("initdb").exists()).max()
}

fn is_root() -> bool {
    std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap()) == 0
}

fn done(output: &Output) -> Result<(), String> {
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&[&*output.stdout, &output.stderr].concat()).into_owned()),
    }
}

impl Postgres {
    fn create(&mut self, config: &str, logins: &str) -> Result<(), String> {
        let text = |error: std::io::Error| error.to_string();
        if is_root() {
            chown(self.folder.path(), Some(NOBODY), Some(NOBODY)).map_err(text)?;
        }
        let data = self.data();
        let mut made = self.program("initdb");
        made.arg("-D").arg(&data).args([
            "-U", OWNER, "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "--wal-segsize=1", "-A", "trust",
        ]);
        done(&made.output().map_err(text)?)?;
        let own = format!(
            // What a process has written survives it also without.
            "fsync = off\nlisten_addresses = '127.0.0.1'\nport = {}\nunix_socket_directories = '{}'\n{config}\n",
            self.port,
            self.folder.path().display()
        );
        let file = data.join("postgresql.conf");
        let all = std::fs::read_to_string(&file).map_err(text)? + &own;
        std::fs::write(file, all).map_err(text)?;
        std::fs::write(data.join("pg_hba.conf"), logins).map_err(text)?;
        self.launch()?;
        let mut made = self.program("createdb");
        made.args(["-U", OWNER, DATABASE]);
        done(&self.reaching(made).output().map_err(text)?)
    }

    fn launch(&mut self) -> Result<(), String> {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let mut server = self.program("postgres");
            server.arg("-D").arg(self.data()).stdout(Stdio::null()).stderr(Stdio::null());
            let mut child = servant::spawn(server).map_err(|error| error.to_string())?;
            while child.try_wait().map_err(|error| error.to_string())?.is_none() {
                let mut ready = self.program("pg_isready");
                ready.args(["-q", "-U", OWNER]).stderr(Stdio::null());
                if self.reaching(ready).status().is_ok_and(|status| status.success()) {
                    self.child = Some(child);
                    return Ok(());
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            // The children of one that was killed hold its memory for a moment.
            if Instant::now() > deadline {
                return Err("it ends at once".to_owned());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A program of the server's version, as a user that it runs as.
    fn program(&self, name: &str) -> Command {
        let path = self.programs.join(name);
        let mut command = servant::command();
        if is_root() {
            let id = NOBODY.to_string();
            command.args(["--reuid", &id, "--regid", &id, "--clear-groups"]);
        }
        command.arg("--").arg(path).current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    fn reaching(&self, mut command: Command) -> Command {
        command.env("PGHOST", self.folder.path()).env("PGPORT", self.port.to_string());
        command
    }

    /// Returns the port on loopback.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the folder of its socket and of its files.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the address of the database as a store of its owner.
    pub fn url(&self) -> String {
        self.url_of(OWNER)
    }

    /// Returns the address of the database as a store of a user.
    pub fn url_of(&self, user: &str) -> String {
        self.url_in(user, DATABASE)
    }

    fn url_in(&self, user: &str, database: &str) -> String {
        format!("postgres://{user}@127.0.0.1:{}/{database}", self.port)
    }

    /// Runs statements as the owner; returns what they print, without titles.
    ///
    /// # Panics
    /// If one fails.
    pub fn sql(&self, text: &str) -> String {
        self.sql_in(DATABASE, text)
    }

    /// Runs statements as the owner in another database of the server.
    ///
    /// # Panics
    /// If one fails.
    pub fn sql_in(&self, database: &str, text: &str) -> String {
        let mut psql = self.program("psql");
        psql.args(["-U", OWNER, "-d", database, "-qAt", "-v", "ON_ERROR_STOP=1", "-c", text]);
        let output = self.reaching(psql).output().unwrap();
        done(&output).unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    /// Has the server encrypt connections with a certificate and its key, files of PEM.
    ///
    /// # Panics
    /// If it cannot.
    pub fn use_certificate(&self, cert: &Path, key: &Path) {
        use std::os::unix::fs::PermissionsExt as _;
        for (from, name) in [(cert, "server.crt"), (key, "server.key")] {
            let to = self.data().join(name);
            std::fs::copy(from, &to).unwrap();
            std::fs::set_permissions(&to, std::fs::Permissions::from_mode(0o600)).unwrap();
            if is_root() {
                chown(&to, Some(NOBODY), Some(NOBODY)).unwrap();
            }
        }
        self.sql("ALTER SYSTEM SET ssl = on");
        self.sql("SELECT pg_reload_conf()");
        while self.sql("SHOW ssl") != "on\n" {
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Kills the server as `kill -9` does; sessions end with it.
    ///
    /// # Panics
    /// If it does not run.
    pub fn kill(&mut self) {
        let mut child = self.child.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Starts a server that was killed.
    ///
    /// # Panics
    /// If it does not start.
    pub fn start_again(&mut self) {
        self.launch().unwrap();
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
