//! Resolves an address on a server: the export, the directory, the name, and the existing file.

use std::net::SocketAddr;
use std::time::Duration;

use assay_nfs::mount::Export;
use assay_nfs::nfs3::{Attributes, FileKind, FsInfo, FsStat, Handle, Rights};
use assay_nfs::rpc::Credentials;
use assay_nfs::{CallError, Server, ServerConfig, portmap};
use assay_spec::NfsAddress;

use assay_target::OpenError;
use assay_target::nfs::NfsMember;

/// Name of the test file if the target is a directory.
const FILE_IN_DIRECTORY: &str = "assay.dat";
/// Longest wait for one answer before a run.
const PATIENCE: Duration = Duration::from_secs(15);
/// Read size that every server supports with one call, bytes, if this one reports no limit.
const READ_BYTES: u32 = 8 << 10;
/// Number of exports, and of clients of each, that an error lists.
const NAMED_MAX: usize = 8;

/// Location of an existing or new file, and the server's facts about it.
#[derive(Debug)]
pub struct NfsLocation {
    /// The address with the path of the file itself.
    pub address: NfsAddress,
    /// Mounted export.
    pub export: String,
    /// Authentication that the export accepts (`auth_flavor` numbers; 1 is AUTH_SYS).
    pub flavors: Vec<u32>,
    /// User and groups sent to the server.
    pub credentials: Credentials,
    /// The file system of the export, as the server numbers it.
    pub fsid: u64,
    /// Directory of the file.
    pub directory: Handle,
    /// Rights of this user in the directory.
    pub directory_rights: Rights,
    /// Name of the file.
    pub name: String,
    /// The file, if it exists.
    pub file: Option<FoundFile>,
    /// Limits of the server.
    pub limits: FsInfo,
    /// Space of its file system.
    pub space: FsStat,

    pub(super) server: Server,
    /// Id in the mark beside the file, if a mark was found, valid or not.
    pub(super) mark_id: Option<String>,
}

/// An existing file.
#[derive(Debug, Clone, Copy)]
pub struct FoundFile {
    /// File handle.
    pub handle: Handle,
    /// Its attributes.
    pub attributes: Attributes,
    /// Rights of this user on it.
    pub rights: Rights,
}

impl NfsLocation {
    /// Returns the address of the server's NFS service.
    pub fn server_address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Returns the local address of the connection to it; `None` once that has failed.
    pub fn local_address(&self) -> Option<SocketAddr> {
        self.server.local_address()
    }

    /// Returns the port of its MOUNT service.
    pub fn mount_port(&self) -> Option<u16> {
        self.server.mount_port()
    }

    /// Reads up to `bytes` bytes of the file in one call, limited by the server's maximum; fewer at its end, and none
    /// if there is no file.
    pub fn read(&mut self, offset_bytes: u64, bytes: u32) -> Result<Vec<u8>, OpenError> {
        let Some(file) = self.file else { return Ok(Vec::new()) };
        let most = if self.limits.read_max == 0 { READ_BYTES } else { self.limits.read_max };
        let read = self.server.read(&file.handle, offset_bytes, bytes.min(most));
        read.map_err(|error| failed(&self.address, &error))
    }

    /// Returns the median of a few round trips.
    pub fn round_trip(&mut self) -> Result<Duration, OpenError> {
        let mut trips = [Duration::ZERO; 5];
        for trip in &mut trips {
            *trip = self.server.ping().map_err(|error| failed(&self.address, &error))?;
        }
        trips.sort();
        Ok(trips[trips.len() / 2])
    }
}

/// Returns the user and groups that an address names, or those of this process.
pub fn credentials(address: &NfsAddress) -> Credentials {
    let own = Credentials::of_process();
    match (address.uid, address.gid) {
        (None, None) => own,
        // Another user is not in our groups.
        (uid, gid) => Credentials {
            uid: uid.unwrap_or(own.uid),
            gid: gid.unwrap_or(own.gid),
            groups: Vec::new(),
            ..own
        },
    }
}

pub(super) fn failed(address: &NfsAddress, error: &CallError) -> OpenError {
    let (file, why) = (address.to_string(), error.to_string());
    match (error.is_silence(), error.is_unreached()) {
        (true, _) => OpenError::NfsSilent { file, why },
        (false, true) => OpenError::NfsUnreached { file, why },
        (false, false) => OpenError::Nfs { file, why },
    }
}

fn server_config(address: &NfsAddress) -> ServerConfig {
    ServerConfig {
        host: address.host.clone(),
        port: address.port,
        mount_port: address.mount_port,
        mapper_port: portmap::PORT,
        credentials: credentials(address),
        patience: PATIENCE.min(Duration::from_secs(address.timeout_s.max(1).into())),
    }
}

/// Returns the exports of the server and their clients.
pub fn exports(address: &NfsAddress) -> Result<Vec<Export>, OpenError> {
    let asked = Server::connect(server_config(address)).and_then(|mut server| server.exports());
    asked.map_err(|error| failed(address, &error))
}

/// Resolves an address; changes nothing.
pub fn locate(address: &NfsAddress) -> Result<NfsLocation, OpenError> {
    locate_at(address, server_config(address))
}

/// Resolves an address on the server of `config`.
fn locate_at(address: &NfsAddress, config: ServerConfig) -> Result<NfsLocation, OpenError> {
    let failed = |error: CallError| failed(address, &error);
    let mut server = Server::connect(config).map_err(failed)?;
    let (export, mounted) = mount(&mut server, address)?;
    let below = &address.path[export.trim_end_matches('/').len()..];
    let Walked { directory, name, found, path } = walk(&mut server, address, mounted.handle, below)?;
    let file = match found {
        None => None,
        Some((handle, attributes)) if attributes.kind == FileKind::Regular => {
            let rights = server.access(&handle).map_err(failed)?;
            Some(FoundFile { handle, attributes, rights })
        }
        Some(_) => {
            return Err(not_usable(address, "it is neither a file nor a directory; links are not followed"));
        }
    };
    Ok(NfsLocation {
        address: address.with_path(path),
        export,
        flavors: mounted.flavors,
        credentials: credentials(address),
        fsid: server.attributes(&directory).map_err(failed)?.fsid,
        directory_rights: server.access(&directory).map_err(failed)?,
        directory,
        name,
        file,
        limits: server.fsinfo(&mounted.handle).map_err(failed)?,
        space: server.fsstat(&directory).map_err(failed)?,
        server,
        mark_id: None,
    })
}

/// Resolves a known file again at the same server address: another address of the name may be another server, and the
/// port mapper is only queried if this server no longer listens there. A server that was silent for its limit is not
/// queried again.
pub(super) fn locate_again(member: &NfsMember) -> Result<NfsLocation, OpenError> {
    let address = &member.address;
    let host = match member.server {
        SocketAddr::V6(v6) if v6.scope_id() != 0 => format!("{}%{}", v6.ip(), v6.scope_id()),
        server => server.ip().to_string(),
    };
    let config = ServerConfig {
        host,
        port: Some(member.server.port()),
        mount_port: member.mount_port.or(address.mount_port),
        ..server_config(address)
    };
    match locate_at(address, config) {
        Ok(place) => Ok(place),
        Err(error @ OpenError::NfsSilent { .. }) => Err(error),
        Err(error) => match locate(address)? {
            place if place.server_address().ip() == member.server.ip() => Ok(place),
            // The service there says nothing about the measured file.
            _ => Err(error),
        },
    }
}

/// Result of following a path.
struct Walked {
    directory: Handle,
    name: String,
    found: Option<(Handle, Attributes)>,
    path: String,
}

/// Follows a path from the root of its export; for a directory at its end, the test file in it is used.
fn walk(server: &mut Server, address: &NfsAddress, root: Handle, below: &str) -> Result<Walked, OpenError> {
    let failed = |error: CallError| failed(address, &error);
    let names: Vec<&str> = below.split('/').filter(|name| !name.is_empty()).collect();
    let mut directory = root;
    for (index, name) in names.iter().enumerate() {
        let is_last = index + 1 == names.len();
        match server.lookup(&directory, name).map_err(failed)? {
            Some((handle, attributes)) if attributes.kind == FileKind::Directory => directory = handle,
            found if is_last => {
                let (name, path) = ((*name).to_owned(), address.path.clone());
                return Ok(Walked { directory, name, found, path });
            }
            None => return Err(missing(address, name)),
            Some(_) => return Err(not_usable(address, &format!("`{name}` in its path is not a directory"))),
        }
    }
    let found = server.lookup(&directory, FILE_IN_DIRECTORY).map_err(failed)?;
    let path = format!("{}/{FILE_IN_DIRECTORY}", address.path);
    Ok(Walked { directory, name: FILE_IN_DIRECTORY.to_owned(), found, path })
}

fn missing(address: &NfsAddress, part: &str) -> OpenError {
    not_usable(address, &format!("the server has no directory `{part}`; create it there first"))
}

fn not_usable(address: &NfsAddress, why: &str) -> OpenError {
    OpenError::Nfs { file: address.to_string(), why: why.to_owned() }
}

/// Mounts the export that contains the path: the longest one listed by the server, else any parent directory that the
/// server accepts.
fn mount(
    server: &mut Server,
    address: &NfsAddress,
) -> Result<(String, assay_nfs::mount::Mounted), OpenError> {
    let listed = match server.exports() {
        Ok(listed) => listed,
        // A silent server does not answer the next call either.
        Err(error) if error.is_silence() => return Err(failed(address, &error)),
        // Some servers do not reveal their list.
        Err(_) => Vec::new(),
    };
    let path = address.path.as_str();
    let holds = |export: &&Export| is_within(path, &export.path);
    let known = listed.iter().filter(holds).max_by_key(|export| export.path.len());
    let candidates: Vec<&str> = match known {
        Some(export) => vec![export.path.as_str()],
        None => upwards(path),
    };
    let mut first = None;
    for candidate in candidates {
        match server.mount(candidate) {
            Ok(mounted) => return Ok((candidate.to_owned(), mounted)),
            Err(error @ CallError::Mount { .. }) => first = first.or(Some(error)),
            Err(error) => return Err(failed(address, &error)),
        }
    }
    let known = match known {
        Some(export) if export.groups.is_empty() => String::new(),
        Some(export) => format!("; it is exported to {}", some_of(&export.groups)),
        None if listed.is_empty() => "; the server does not list its exports".to_owned(),
        None => {
            let exports: Vec<String> = listed.iter().map(export_words).collect();
            format!(
                "; it lists no export that holds this path: it exports {}, and may hide exports closed to this host",
                some_of(&exports)
            )
        }
    };
    let error = first.map_or_else(|| "nothing can be mounted".to_owned(), |error| error.to_string());
    Err(not_usable(address, &format!("{error}{known}")))
}

fn export_words(export: &Export) -> String {
    match export.groups.as_slice() {
        [] => format!("{} (to everyone)", export.path),
        groups => format!("{} (to {})", export.path, some_of(groups)),
    }
}

/// Returns the first few, and the number of the others.
fn some_of(all: &[String]) -> String {
    let named = all[..all.len().min(NAMED_MAX)].join(", ");
    match all.len().saturating_sub(NAMED_MAX) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

fn is_within(path: &str, export: &str) -> bool {
    let export = export.trim_end_matches('/');
    path.strip_prefix(export).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the path and every directory above it.
fn upwards(path: &str) -> Vec<&str> {
    let mut all = vec![path];
    all.extend(path.rmatch_indices('/').map(|(at, _)| if at == 0 { "/" } else { &path[..at] }));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_belongs_to_an_export_by_whole_components() {
        assert!(is_within("/vol1/a/b", "/vol1") && is_within("/vol1", "/vol1/") && is_within("/x", "/"));
        assert!(!is_within("/vol10/a", "/vol1") && !is_within("/vol", "/vol1"));
    }

    #[test]
    fn a_long_list_is_cut_and_counted() {
        let hosts: Vec<String> = (0..11).map(|host| format!("h{host}")).collect();
        let words = export_words(&Export { path: "/a".into(), groups: hosts });
        assert_eq!(words, "/a (to h0, h1, h2, h3, h4, h5, h6, h7 and 3 more)");
        assert_eq!(export_words(&Export { path: "/a".into(), groups: vec![] }), "/a (to everyone)");
    }

    #[test]
    fn parent_directories_end_at_the_root() {
        assert_eq!(upwards("/a/b/c"), ["/a/b/c", "/a/b", "/a", "/"]);
        assert_eq!(upwards("/a"), ["/a", "/"]);
    }

    #[test]
    fn another_user_id_has_no_groups() {
        let address = |text| NfsAddress::parse(text).unwrap();
        let own = credentials(&address("nas/a"));
        assert_eq!(own, Credentials::of_process());
        let other = credentials(&address("nas/a?uid=12"));
        assert_eq!((other.uid, other.gid, other.groups.len()), (12, own.gid, 0));
    }
}
