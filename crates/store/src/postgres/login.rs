//! Who logs in where, and with which password: from the address, a service file, and what PostgreSQL's own programs
//! read of the environment.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::address::{PostgresAddress, Tls};

/// Where Debian and most others have the socket of a server.
const SOCKET_FOLDER: &str = "/var/run/postgresql";
const PORT: u16 = 5432;
/// Rights of a file of passwords that make PostgreSQL's programs pass it over.
const OTHERS: u32 = 0o077;

/// A connection to be made.
pub(super) struct Login {
    pub(super) config: Config,
    pub(super) tls: Tls,
    pub(super) root_certificates: Option<PathBuf>,
}

/// The environment, as far as a login depends on it.
pub(super) struct Surroundings<'s> {
    pub(super) variable: &'s dyn Fn(&str) -> Option<String>,
    /// Name of this user on this machine.
    pub(super) user: Option<String>,
}

/// Returns the login that an address means.
pub(super) fn login(address: &PostgresAddress, around: &Surroundings<'_>) -> Result<Login, String> {
    let mut config = address.config()?;
    let (mut tls, mut root_certificates) = (address.tls, address.root_certificates.clone());
    if let Some(name) = &address.service {
        for (key, value) in service(name, around)? {
            match key.as_str() {
                "sslmode" => tls = tls.or(Some(Tls::parse(&value)?)),
                "sslrootcert" => root_certificates = root_certificates.or_else(|| Some(value.into())),
                _ => add(&mut config, name, &key, &value)?,
            }
        }
    }
    let variable = |name| (around.variable)(name).filter(|value| !value.is_empty());
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        config.host(variable("PGHOST").as_deref().unwrap_or(SOCKET_FOLDER));
    }
    if config.get_ports().is_empty()
        && let Some(port) = variable("PGPORT")
    {
        config.port(port.parse().map_err(|_| format!("PGPORT={port} is no port"))?);
    }
    if config.get_user().is_none() {
        let user = variable("PGUSER").or_else(|| around.user.clone());
        config.user(user.ok_or("it names no user, and this user of the machine has no name")?);
    }
    if config.get_dbname().is_none() {
        let name = variable("PGDATABASE").or_else(|| config.get_user().map(str::to_owned));
        config.dbname(name.unwrap_or_default());
    }
    if config.get_password().is_none()
        && let Some(password) =
            variable("PGPASSWORD").map_or_else(|| of_file(&config, around), |p| Ok(Some(p)))?
    {
        config.password(password);
    }
    let is_here = config.get_hosts().iter().all(is_here)
        && config.get_hostaddrs().iter().all(|address| address.to_canonical().is_loopback());
    let tls = tls.unwrap_or(if is_here { Tls::Disable } else { Tls::VerifyFull });
    Ok(Login { config, tls, root_certificates })
}

fn is_here(host: &Host) -> bool {
    match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            let address = name.parse::<std::net::IpAddr>();
            name == "localhost" || address.is_ok_and(|address| address.to_canonical().is_loopback())
        }
    }
}

/// Sets what a service says, where the address itself says nothing.
fn add(config: &mut Config, service: &str, key: &str, value: &str) -> Result<(), String> {
    let number = || format!("service `{service}`: {key}={value} is not a number");
    match key {
        "host" if config.get_hosts().is_empty() => drop(config.host(value)),
        "hostaddr" if config.get_hostaddrs().is_empty() => {
            let address =
                value.parse().map_err(|_| format!("service `{service}`: {value} is no IP address"))?;
            config.hostaddr(address);
        }
        "port" if config.get_ports().is_empty() => drop(config.port(value.parse().map_err(|_| number())?)),
        "user" if config.get_user().is_none() => drop(config.user(value)),
        "dbname" if config.get_dbname().is_none() => drop(config.dbname(value)),
        "password" if config.get_password().is_none() => drop(config.password(value)),
        "connect_timeout" if config.get_connect_timeout().is_none() => {
            let seconds = value.parse().map_err(|_| number())?;
            config.connect_timeout(std::time::Duration::from_secs(seconds));
        }
        "host" | "hostaddr" | "port" | "user" | "dbname" | "password" | "connect_timeout" => {}
        "application_name" => {}
        _ => {
            return Err(format!(
                "service `{service}` sets {key}, which Assay does not know; remove it there"
            ));
        }
    }
    Ok(())
}

/// Returns what an entry of the service file says: of this user's, or of the system's.
fn service(name: &str, around: &Surroundings<'_>) -> Result<Vec<(String, String)>, String> {
    let variable = |name| (around.variable)(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let own =
        variable("PGSERVICEFILE").or_else(|| variable("HOME").map(|home| home.join(".pg_service.conf")));
    let system = variable("PGSYSCONFDIR").unwrap_or_else(|| "/etc/postgresql-common".into());
    let files: Vec<PathBuf> = own.into_iter().chain([system.join("pg_service.conf")]).collect();
    for file in &files {
        let Ok(text) = fs::read_to_string(file) else { continue };
        if let Some(entry) = entry(&text, name) {
            return entry.map_err(|line| format!("{}: `{line}` is not KEY=VALUE", file.display()));
        }
    }
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    Err(format!("no service `{name}` in {}", files.join(" or ")))
}

/// Returns the pairs below `[name]`, or the line that is none.
fn entry(text: &str, name: &str) -> Option<Result<Vec<(String, String)>, String>> {
    let lines = text.lines().map(str::trim);
    let mut lines = lines.skip_while(|line| *line != format!("[{name}]"));
    lines.next()?;
    let pairs = lines
        .take_while(|line| !line.starts_with('['))
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            // A line that is no pair may be a password.
            let (key, value) = line.split_once('=').ok_or("***")?;
            Ok((key.trim().to_owned(), value.trim().to_owned()))
        });
    Some(pairs.collect())
}

/// Returns the password of a login from the file of passwords.
fn of_file(config: &Config, around: &Surroundings<'_>) -> Result<Option<String>, String> {
    let variable = |name| (around.variable)(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let named = variable("PGPASSFILE");
    let Some(path) = named.clone().or_else(|| variable("HOME").map(|home| home.join(".pgpass"))) else {
        return Ok(None);
    };
    let metadata = match fs::metadata(&path) {
        Ok(metadata) => metadata,
        Err(error) if named.is_some() => return Err(format!("PGPASSFILE={}: {error}", path.display())),
        Err(_) => return Ok(None),
    };
    if metadata.is_file() && metadata.mode() & OTHERS != 0 {
        let (path, mode) = (path.display(), metadata.mode() & 0o777);
        return Err(format!(
            "other users can read the passwords in {path} (mode {mode:04o}); chmod 600 {path}"
        ));
    }
    let text = read(&path)?;
    Ok(text.lines().find_map(|line| of_line(line, config)))
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// Returns the password of a line `HOST:PORT:DATABASE:USER:PASSWORD` that fits a login.
fn of_line(line: &str, config: &Config) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let fields = fields(line);
    let [host, port, database, user, password] = fields.as_slice() else { return None };
    let hosts = config.get_hosts().iter().map(|known| match known {
        Host::Tcp(name) => name.clone(),
        // So PostgreSQL calls all sockets of the machine.
        Host::Unix(_) => "localhost".to_owned(),
    });
    let mut hosts: Vec<String> = hosts.collect();
    hosts.extend(config.get_hostaddrs().iter().map(ToString::to_string));
    let port_known = config.get_ports().first().copied().unwrap_or(PORT).to_string();
    let fits = |field: &str, known: &str| field == "*" || field == known;
    let is_it = hosts.iter().any(|known| fits(host, known))
        && fits(port, &port_known)
        && fits(database, config.get_dbname().unwrap_or_default())
        && fits(user, config.get_user().unwrap_or_default());
    is_it.then(|| password.clone())
}

/// Splits a line at its colons; a backslash takes the next letter as it is.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        let last = fields.last_mut().expect("there is one");
        match letter {
            '\\' => last.extend(letters.next()),
            ':' => fields.push(String::new()),
            _ => last.push(letter),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn made(text: &str, variables: &[(&str, &str)]) -> Result<Login, String> {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let address = PostgresAddress::parse(text).expect("an address");
        login(&address, &Surroundings { variable: &variable, user: Some("me".into()) })
    }

    #[test]
    fn a_login_is_completed_as_programs_of_postgresql_do() {
        let login = made("postgres://", &[]).expect("a login");
        assert_eq!(login.config.get_hosts(), [Host::Unix(SOCKET_FOLDER.into())]);
        assert_eq!((login.config.get_user(), login.config.get_dbname()), (Some("me"), Some("me")));
        let variables = [("PGHOST", "db"), ("PGPORT", "5433"), ("PGUSER", "bob"), ("PGDATABASE", "runs")];
        let login = made("postgres://", &variables).expect("a login");
        assert_eq!(login.config.get_hosts(), [Host::Tcp("db".into())]);
        assert_eq!(login.config.get_ports(), [5433]);
        assert_eq!((login.config.get_user(), login.config.get_dbname()), (Some("bob"), Some("runs")));
        let login = made("postgres://eve@127.0.0.1:6000/x", &variables).expect("a login");
        assert_eq!((login.config.get_user(), login.config.get_ports()), (Some("eve"), &[6000_u16][..]));
    }

    #[test]
    fn a_server_elsewhere_is_verified_unless_that_is_switched_off() {
        for (text, tls) in [
            ("postgres://db/runs", Tls::VerifyFull),
            ("postgres://192.0.2.1/runs", Tls::VerifyFull),
            ("postgres://db/runs?sslmode=disable", Tls::Disable),
            ("postgres://localhost/runs", Tls::Disable),
            ("postgres://[::1]/runs", Tls::Disable),
            ("postgres://localhost,db/runs", Tls::VerifyFull),
            ("postgres://localhost/runs?hostaddr=192.0.2.1", Tls::VerifyFull),
            ("postgres:///runs?host=/run/postgresql", Tls::Disable),
            ("postgres://localhost/runs?sslmode=verify-full", Tls::VerifyFull),
        ] {
            assert_eq!(made(text, &[]).expect(text).tls, tls, "{text}");
        }
    }

    #[test]
    fn a_password_comes_from_the_environment_a_file_or_a_service_and_only_from_one_that_others_cannot_read() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (passwords, services) = (folder.path().join("pgpass"), folder.path().join("services"));
        fs::write(
            &passwords,
            "# hosts\nother:*:*:*:no\ndb:5432:runs:bob:a\\:b\\\\c\nlocalhost:*:*:*:local\n",
        )
        .expect("a file");
        fs::write(&services, "[x]\nhost=no\n[lab]\n# ours\nhost = db\nuser=bob\ndbname=runs\n[y]\nport=1\n")
            .expect("a file");
        let [passwords_text, services_text] =
            [&passwords, &services].map(|path| path.to_str().expect("text"));
        let variables = [("PGPASSFILE", passwords_text), ("PGSERVICEFILE", services_text)];
        let error = made("postgres://bob@db/runs", &variables).err().expect("others can read it");
        assert!(error.contains("chmod 600"), "{error}");
        fs::set_permissions(&passwords, fs::Permissions::from_mode(0o600)).expect("rights");
        let password = |text: &str, variables: &[(&str, &str)]| {
            let login = made(text, variables).expect(text);
            login.config.get_password().map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        };
        assert_eq!(password("postgres://bob@db/runs", &variables).as_deref(), Some("a:b\\c"));
        assert_eq!(password("postgres://?service=lab", &variables).as_deref(), Some("a:b\\c"));
        assert_eq!(password("postgres://eve@?service=lab", &variables), None, "another user");
        assert_eq!(password("postgres://db2/runs", &variables), None);
        assert_eq!(password("postgres:///runs", &variables).as_deref(), Some("local"), "a socket");
        let with = [variables[0], variables[1], ("PGPASSWORD", "env")];
        assert_eq!(password("postgres://bob@db/runs", &with).as_deref(), Some("env"));
        for (text, variables, says) in [
            ("postgres://?service=nope", &variables[..], "no service `nope`"),
            ("postgres://db", &[("PGPASSFILE", "/no/such")][..], "/no/such"),
        ] {
            let error = made(text, variables).err().expect(text);
            assert!(error.contains(says), "{error}");
        }
    }
}
