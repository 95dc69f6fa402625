//! `nfs://host[:port]/export/path[?…]`: a file on an NFS server, reached without the kernel.

use std::fmt;

use thiserror::Error;

use crate::address_keys::NFS_KEYS;
use crate::address_part::{self, PartError, Result, TIMEOUT_S, number, shown, wrong};

/// A file or directory on an NFSv3 server. What is exported of the path, the server says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NfsAddress {
    /// Name or address; an IPv6 address in brackets.
    pub host: String,
    /// Path on the server, from its root.
    pub path: String,
    /// Port of NFS; `None`: as the server's port mapper says, or 2049.
    pub port: Option<u16>,
    /// Port of MOUNT; `None`: as the server's port mapper says.
    pub mount_port: Option<u16>,
    /// TCP connections of each worker, in [1, 16].
    pub connections: u8,
    /// How durable a write is when it counts as done.
    pub sync: NfsSync,
    /// User that we say we are; `None`: the one of the process.
    pub uid: Option<u32>,
    /// Group that we say we are in; `None`: the one of the process.
    pub gid: Option<u32>,
    /// After how long an I/O that has not ended fails, s, in [1, 3600].
    pub timeout_s: u32,
}

/// How durable a write is when it counts as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NfsSync {
    /// The server may hold it in memory; one COMMIT at the end of the test makes all of them durable.
    Unstable,
    /// On stable storage: each write waits for it.
    File,
}

/// Why an `nfs://` address could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("NFS address, {part}: {why}; write nfs://host[:port]/export/path[?key=value&…]")]
pub struct NfsAddressError {
    /// Which part.
    pub part: &'static str,
    /// What is wrong with it.
    pub why: String,
}

/// The longest path of the MOUNT protocol, bytes.
const PATH_BYTES_MAX: usize = 1024;

impl From<PartError> for NfsAddressError {
    fn from(PartError { part, why }: PartError) -> Self {
        Self { part, why }
    }
}

impl NfsAddress {
    /// Reads what stands after `nfs://`.
    pub fn parse(text: &str) -> std::result::Result<Self, NfsAddressError> {
        Ok(Self::read(text)?)
    }

    fn read(text: &str) -> Result<Self> {
        address_part::refuse_secret(&format!("nfs://{text}"))?;
        let (place, query) = text.split_once('?').unwrap_or((text, ""));
        address_part::refuse_coded("path", place)?;
        let Some((authority, path)) = place.split_once('/') else {
            return wrong("path", "the path is missing after the host");
        };
        let (host, port) = authority_of(authority)?;
        let mut address = Self {
            host,
            path: clean_path(path)?,
            port,
            mount_port: None,
            connections: 1,
            sync: NfsSync::Unstable,
            uid: None,
            gid: None,
            timeout_s: TIMEOUT_S,
        };
        address.read_query(query)?;
        Ok(address)
    }

    /// Reads what stands after `nfs://` where it names a server alone, with `/` for its path; `None` where a path
    /// follows.
    pub fn parse_server(text: &str) -> Option<std::result::Result<Self, NfsAddressError>> {
        let (place, query) = text.split_once('?').unwrap_or((text, ""));
        let authority = place.trim_end_matches('/');
        let is_alone = !authority.contains('/');
        is_alone.then(|| Self::parse(&format!("{authority}/-?{query}")).map(|of| of.with_path("/".into())))
    }

    fn read_query(&mut self, query: &str) -> Result<()> {
        for (key, value) in address_part::query(query, &NFS_KEYS, "")? {
            match key {
                "port" if self.port.is_some() => return wrong("port", "it is already given after the host"),
                "port" => self.port = Some(number("port", value, 1, u16::MAX)?),
                "mountport" => self.mount_port = Some(number("mountport", value, 1, u16::MAX)?),
                "connections" => self.connections = number("connections", value, 1, 16)?,
                "sync" => self.sync = sync_named(value)?,
                "uid" => self.uid = Some(number("uid", value, 0, u32::MAX)?),
                "gid" => self.gid = Some(number("gid", value, 0, u32::MAX)?),
                "timeout" => self.timeout_s = number("timeout", value, 1, 3600)?,
                other => unreachable!("{other} is not among the keys"),
            }
        }
        Ok(())
    }

    /// The same place with another path, and nothing else changed.
    pub fn with_path(&self, path: String) -> Self {
        Self { path, ..self.clone() }
    }
}

fn authority_of(text: &str) -> Result<(String, Option<u16>)> {
    let bracket = text.rfind(']').map_or(0, |at| at + 1);
    let (host, port) = match text[bracket..].find(':') {
        Some(colon) => (&text[..bracket + colon], Some(&text[bracket + colon + 1..])),
        None => (text, None),
    };
    if text.contains('@') {
        return wrong("host", "NFS takes no user name; give numeric ids: ?uid=1000&gid=1000");
    }
    if host.is_empty() || host.contains(|c: char| c.is_whitespace() || c.is_control() || c == '=') {
        return wrong("host", "a host name or address is missing");
    }
    if host.starts_with('[') != (bracket > 0) || host.len() > bracket && bracket > 0 {
        return wrong("host", format!("`{}` is not an IPv6 address in brackets", shown(host)));
    }
    if let Some(why) = address_part::lacks_zone(host) {
        return wrong("host", why);
    }
    let port = port.map(|port| address_part::port("port", port)).transpose()?;
    Ok((host.to_owned(), port))
}

/// The path with one slash between names; names that lead upwards would leave the export.
fn clean_path(path: &str) -> Result<String> {
    let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty() && *name != ".").collect();
    if names.is_empty() {
        return wrong(
            "path",
            "name the export and, if wanted, a file in it (assay check nfs://host lists the exports)",
        );
    }
    if names.contains(&"..") {
        return wrong("path", "`..` is not followed; write the path without it");
    }
    let clean: String = names.iter().flat_map(|name| ["/", name]).collect();
    if clean.len() > PATH_BYTES_MAX || clean.contains(char::is_control) {
        return wrong("path", "it is too long, or has control characters");
    }
    Ok(clean)
}

fn sync_named(name: &str) -> Result<NfsSync> {
    match name {
        "unstable" => Ok(NfsSync::Unstable),
        "file" => Ok(NfsSync::File),
        _ => wrong(
            "sync",
            format!(
                "`{}` is neither unstable (one COMMIT at the end) nor file (each write durable)",
                shown(name)
            ),
        ),
    }
}

impl fmt::Display for NfsAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nfs://{}", self.host)?;
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        f.write_str(&self.path)?;
        let mut query: Vec<String> = Vec::new();
        let mut put =
            |key: &str, value: Option<String>| query.extend(value.map(|value| format!("{key}={value}")));
        put("mountport", self.mount_port.map(|port| port.to_string()));
        put("connections", (self.connections != 1).then(|| self.connections.to_string()));
        put("sync", (self.sync == NfsSync::File).then(|| "file".to_owned()));
        put("uid", self.uid.map(|uid| uid.to_string()));
        put("gid", self.gid.map(|gid| gid.to_string()));
        put("timeout", (self.timeout_s != TIMEOUT_S).then(|| self.timeout_s.to_string()));
        if query.is_empty() { Ok(()) } else { write!(f, "?{}", query.join("&")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> std::result::Result<NfsAddress, NfsAddressError> {
        NfsAddress::parse(text.strip_prefix("nfs://").unwrap())
    }

    #[test]
    fn addresses_read_back_from_their_own_text() {
        for text in [
            "nfs://nas/vol1",
            "nfs://nas:2050/vol1/t.dat",
            "nfs://[fe80::1%eth0]/a/b/c",
            "nfs://[fd00::1]:12049/a",
            "nfs://10.0.0.5/x?mountport=20048&connections=4&sync=file&uid=1000&gid=100&timeout=5",
        ] {
            assert_eq!(read(text).unwrap().to_string(), text);
        }
        let read = read("nfs://nas//vol1/./t.dat/?port=2050&sync=unstable").unwrap();
        assert_eq!(read.to_string(), "nfs://nas:2050/vol1/t.dat");
        assert_eq!((read.connections, read.sync, read.timeout_s), (1, NfsSync::Unstable, 60));
        assert_eq!(read.with_path("/x".into()).to_string(), "nfs://nas:2050/x");
    }

    #[test]
    fn a_server_alone_has_no_path() {
        let read = |text| NfsAddress::parse_server(text).map(|server| server.map(|of| of.to_string()));
        assert_eq!(read("nas"), Some(Ok("nfs://nas/".into())));
        assert_eq!(
            read("[fd00::1]:2050//?mountport=7"),
            Some(Ok("nfs://[fd00::1]:2050/?mountport=7".into()))
        );
        assert_eq!(read("nas/vol1"), None);
        assert!(read("").unwrap().is_err() && read("nas?colour=red").unwrap().is_err());
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, part) in [
            ("nfs://nas", "path"),
            ("nfs://nas/", "path"),
            ("nfs:///vol", "host"),
            ("nfs://nas/a/../b", "path"),
            ("nfs://bob@nas/a", "host"),
            ("nfs://nas:x/a", "port"),
            ("nfs://fe80::1/a", "port"),
            ("nfs://[fe80::1]/a", "host"),
            ("nfs://[fe80::1/a", "host"),
            ("nfs://nas:1/a?port=2", "port"),
            ("nfs://nas/a?connections=17", "connections"),
            ("nfs://nas/a?sync=maybe", "sync"),
            ("nfs://nas/a?uid=-1", "uid"),
            ("nfs://nas/a?timeout=0", "timeout"),
            ("nfs://nas/a?gid=1&gid=2", "query"),
            ("nfs://nas/a?rsize=1", "query"),
        ] {
            let error = read(text).unwrap_err();
            assert_eq!(error.part, part, "{text}: {error}");
        }
    }
}
