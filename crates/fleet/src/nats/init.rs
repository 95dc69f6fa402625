//! A configuration of nats-server in which each agent can do its own part and nothing else.
//!
//! ```text
//!            may publish                                          may subscribe
//! agent a    its announcement, what it says of runs, replies      what it is asked, its own inbox
//! others     everything of Assay and of JetStream                 the same
//! ```
//! An agent has no subject of JetStream's interface: with the right to create a stream it could have the messages of
//! others copied to itself.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use nkeys::KeyPair;

use crate::error::FleetError;
use crate::nats::bus::{check_name, first_line, inbox};
use crate::order::{InitDone, InitOptions};

/// Name of the user that starts runs and lists hosts.
const COORDINATOR: &str = "coordinator";

/// Writes a configuration of nats-server, a key for the coordinator and one for each agent. Keys and a certificate that
/// are there already stay, so that a host can be added later.
///
/// # Errors
/// Where a name cannot be one, and where a file cannot be written.
pub fn init(options: &InitOptions) -> Result<InitDone, FleetError> {
    options.hosts.iter().try_for_each(|host| check_name(host))?;
    if let Some(host) = options.hosts.iter().find(|host| *host == COORDINATOR) {
        return Err(FleetError::BadName(host.clone()));
    }
    let folder = &options.folder;
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|source| FleetError::Write { path: folder.clone(), source })?;
    let (coordinator, public) = key(folder, COORDINATOR)?;
    let mut users = user(
        &public,
        "{ publish: [\"assay.>\", \"$KV.assay_hosts.>\", \"$JS.>\", \"_INBOX.>\"], \
                                   subscribe: [\"assay.>\", \"_INBOX.>\"] }",
    );
    let mut agents = Vec::new();
    for host in &options.hosts {
        let (path, public) = key(folder, host)?;
        users.push_str(&user(&public, &permissions(host)));
        agents.push(path);
    }
    let tls = if options.server.is_empty() { None } else { Some(certificate(folder, &options.server)?) };
    let mut text = format!("# Written by assay hosts init.\nlisten: {:?}\n", options.listen);
    let _ = writeln!(text, "jetstream {{ store_dir: {:?} }}", folder.join("jetstream"));
    if let Some((cert, key)) = &tls {
        let _ = writeln!(text, "tls {{ cert_file: {cert:?}, key_file: {key:?} }}");
    }
    let _ = writeln!(text, "authorization {{ users = [\n{users}] }}");
    let config = folder.join("nats.conf");
    // It has public keys only, and is made again with each new host.
    std::fs::write(&config, text).map_err(|source| FleetError::Write { path: config.clone(), source })?;
    Ok(InitDone { config, coordinator, agents, ca: tls.map(|(cert, _)| cert) })
}

/// What an agent may do on the bus.
fn permissions(host: &str) -> String {
    let inbox = inbox(host);
    format!(
        "{{ publish: [\"$KV.assay_hosts.{host}\", \"assay.run.*.{host}\", \"assay.ask.{host}\"], subscribe: \
         [\"assay.ask.{host}\", \"{inbox}.>\"], allow_responses: {{ max: 1, expires: \"10s\" }} }}"
    )
}

fn user(public: &str, permissions: &str) -> String {
    format!("  {{ nkey: {public}, permissions: {permissions} }}\n")
}

/// Returns the file with a user's seed, made if it is not there, and the public key.
fn key(folder: &Path, name: &str) -> Result<(PathBuf, String), FleetError> {
    let path = folder.join(format!("{name}.nkey"));
    let bad = || FleetError::BadKey(path.clone());
    let pair = match path.exists() {
        true => KeyPair::from_seed(&first_line(&path)?).map_err(|_| bad())?,
        false => {
            let pair = KeyPair::new_user();
            write_secret(&path, &format!("{}\n", pair.seed().map_err(|_| bad())?))?;
            pair
        }
    };
    Ok((path, pair.public_key()))
}

/// Returns the certificate of the server and its key, made if they are not there.
fn certificate(folder: &Path, names: &[String]) -> Result<(PathBuf, PathBuf), FleetError> {
    let (cert, key) = (folder.join("server.pem"), folder.join("server-key.pem"));
    if cert.exists() && key.exists() {
        return Ok((cert, key));
    }
    let made = rcgen::generate_simple_self_signed(names.to_vec());
    let made = made.map_err(|error| FleetError::Certificate(error.to_string()))?;
    write_secret(&key, &made.signing_key.serialize_pem())?;
    std::fs::write(&cert, made.cert.pem())
        .map_err(|source| FleetError::Write { path: cert.clone(), source })?;
    Ok((cert, key))
}

fn write_secret(path: &Path, text: &str) -> Result<(), FleetError> {
    let written = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let written = written.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|source| FleetError::Write { path: path.to_owned(), source })
}
