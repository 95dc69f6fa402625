//! `iscsi://[user@]host[:port]/target/lun[?…]`: a logical unit and the paths to it.

use std::fmt;
use std::path::PathBuf;

use thiserror::Error;

use crate::address_keys::ISCSI_KEYS;
use crate::address_part::{self, PartError, Result, TIMEOUT_S, number, shown, wrong, yes_or_no};

/// A logical unit of an iSCSI target. Holds no secret: a CHAP secret comes from a file, the environment or a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IscsiAddress {
    /// CHAP name; with it a secret is needed.
    pub user: Option<String>,
    /// Portals, each `host` or `host:port`; at least one.
    pub portals: Vec<String>,
    /// Whether the target is asked for all its portals (of the group of the first one), which are then used.
    pub all_portals: bool,
    /// Name of the target.
    pub target: String,
    /// Logical unit, in [0, 16383].
    pub lun: u16,
    /// Sessions to each portal, in [1, 32].
    pub sessions: u8,
    /// How I/O is spread over the paths.
    pub policy: PathPolicy,
    /// CRC32C over headers: asked for, refused, or left to the target.
    pub header_digest: Option<bool>,
    /// CRC32C over data: asked for, refused, or left to the target.
    pub data_digest: Option<bool>,
    /// Whether write data waits for the target's word; `None`: as the target allows.
    pub initial_r2t: Option<bool>,
    /// Whether write data may ride in the command; `None`: as the target allows.
    pub immediate_data: Option<bool>,
    /// Our own name, where the target wants a certain one.
    pub initiator: Option<String>,
    /// The file with the CHAP secret.
    pub chap_file: Option<PathBuf>,
    /// After how long an I/O that has not ended fails, s, in [1, 3600].
    pub timeout_s: u32,
}

/// `iscsi://[user@]host[:port]` without a target: whom to ask which targets there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IscsiPortal {
    /// Everything but the target.
    address: IscsiAddress,
}

impl IscsiPortal {
    /// Reads what stands after `iscsi://`; `None` where a target is named, rightly or not.
    pub fn parse(text: &str) -> Option<std::result::Result<Self, IscsiAddressError>> {
        if let Err(error) = address_part::refuse_secret(&format!("iscsi://{text}")) {
            return Some(Err(error.into()));
        }
        let (place, query) = text.split_once('?').unwrap_or((text, ""));
        let authority = place.strip_suffix('/').unwrap_or(place);
        if authority.is_empty() || authority.contains('/') {
            return None;
        }
        // The name stands in for the target that is to be chosen.
        let address = IscsiAddress::parse(&format!("{authority}/iqn.unnamed/0?{query}"));
        Some(address.map(|address| Self { address }))
    }

    /// The portal, `host` or `host:port`.
    pub fn portal(&self) -> &str {
        &self.address.portals[0]
    }

    /// The address of a unit of a target there.
    pub fn lun(&self, target: &str, lun: u16) -> IscsiAddress {
        IscsiAddress { target: target.to_owned(), lun, ..self.address.clone() }
    }
}

/// How I/O is spread over paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathPolicy {
    /// Stay on a path for this many I/Os or bytes, whichever comes first.
    RoundRobin {
        /// I/Os per turn, at least 1.
        ios: u32,
        /// Bytes per turn, at least 1.
        bytes: u64,
    },
    /// The path with the fewest I/Os in flight.
    LeastOutstanding,
    /// The first path that works.
    Fixed,
}

/// Why an `iscsi://` address could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("iSCSI address, {part}: {why}; write iscsi://[user@]host[:port]/target-name/lun[?key=value&…]")]
pub struct IscsiAddressError {
    /// Which part.
    pub part: &'static str,
    /// What is wrong with it.
    pub why: String,
}

/// Paths in all are bounded by the initiator; so many portals no target has.
const PORTALS_MAX: usize = 64;
const EVERY_IO: PathPolicy = PathPolicy::RoundRobin { ios: 1, bytes: u64::MAX };

impl From<PartError> for IscsiAddressError {
    fn from(PartError { part, why }: PartError) -> Self {
        Self { part, why }
    }
}

impl IscsiAddress {
    /// Reads what stands after `iscsi://`.
    pub fn parse(text: &str) -> std::result::Result<Self, IscsiAddressError> {
        Ok(Self::read(text)?)
    }

    fn read(text: &str) -> Result<Self> {
        address_part::refuse_secret(&format!("iscsi://{text}"))?;
        let (place, query) = text.split_once('?').unwrap_or((text, ""));
        address_part::refuse_coded("target", place)?;
        let (authority, path) = match place.split_once('/') {
            Some(split) => split,
            None => return wrong("target", "the target's name is missing"),
        };
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user_name(user)?), host),
            None => (None, authority),
        };
        let (target, lun) = match path.rsplit_once('/') {
            Some(split) => split,
            None => return wrong("lun", format!("the number of the LUN is missing after `{}`", shown(path))),
        };
        let mut address = Self {
            user,
            portals: vec![portal("host", host)?],
            all_portals: false,
            target: name("target", target)?,
            lun: number("lun", lun, 0, 16_383)?,
            sessions: 1,
            policy: EVERY_IO,
            header_digest: None,
            data_digest: None,
            initial_r2t: None,
            immediate_data: None,
            initiator: None,
            chap_file: None,
            timeout_s: TIMEOUT_S,
        };
        address.read_query(query)?;
        Ok(address)
    }

    fn read_query(&mut self, query: &str) -> Result<()> {
        let (mut policy, mut ios, mut bytes) = (None, None, None);
        for (key, value) in address_part::query(query, &ISCSI_KEYS, "portal")? {
            match key {
                "portal" if self.portals.len() == PORTALS_MAX => {
                    return wrong("portal", format!("there are more than {PORTALS_MAX}"));
                }
                "portal" => self.portals.push(portal("portal", value)?),
                "portals" if value == "all" => self.all_portals = true,
                "portals" => return wrong("portals", format!("`{}` is not `all`", shown(value))),
                "sessions" => self.sessions = number("sessions", value, 1, 32)?,
                "policy" => policy = Some(policy_named(value)?),
                "rr_ios" => ios = Some(number("rr_ios", value, 1, u32::MAX)?),
                "rr_bytes" => bytes = Some(number("rr_bytes", value, 1, u64::MAX)?),
                "header_digest" => self.header_digest = Some(yes_or_no("header_digest", value)?),
                "data_digest" => self.data_digest = Some(yes_or_no("data_digest", value)?),
                "initial_r2t" => self.initial_r2t = Some(yes_or_no("initial_r2t", value)?),
                "immediate_data" => self.immediate_data = Some(yes_or_no("immediate_data", value)?),
                "initiator" => self.initiator = Some(name("initiator", value)?),
                "chap_file" if value.is_empty() => return wrong("chap_file", "the path is missing"),
                "chap_file" => self.chap_file = Some(PathBuf::from(value)),
                "timeout" => self.timeout_s = number("timeout", value, 1, 3600)?,
                "no_path" => self.timeout_s = number("no_path", value, 1, 3600)?,
                other => unreachable!("{other} is not among the keys"),
            }
        }
        self.policy = combine(policy, ios, bytes)?;
        Ok(())
    }
}

fn combine(policy: Option<PathPolicy>, ios: Option<u32>, bytes: Option<u64>) -> Result<PathPolicy> {
    match (policy, ios, bytes) {
        (policy, None, None) => Ok(policy.unwrap_or(EVERY_IO)),
        (None | Some(PathPolicy::RoundRobin { .. }), ios, bytes) => Ok(PathPolicy::RoundRobin {
            // A limit in bytes alone means that I/Os do not end a turn.
            ios: ios.unwrap_or(u32::MAX),
            bytes: bytes.unwrap_or(u64::MAX),
        }),
        _ => wrong("policy", "rr_ios and rr_bytes belong to policy=rr"),
    }
}

fn policy_named(name: &str) -> Result<PathPolicy> {
    Ok(match name {
        "rr" => EVERY_IO,
        "vmware" => PathPolicy::RoundRobin { ios: 1000, bytes: u64::MAX },
        "vmware-bytes" => PathPolicy::RoundRobin { ios: u32::MAX, bytes: 10_485_760 },
        "lo" | "least" => PathPolicy::LeastOutstanding,
        "fixed" => PathPolicy::Fixed,
        _ => {
            return wrong(
                "policy",
                format!(
                    "`{}` is none of rr, lo (least), fixed, vmware (rr_ios=1000), vmware-bytes (rr_bytes=10485760)",
                    shown(name)
                ),
            );
        }
    })
}

fn user_name(user: &str) -> Result<String> {
    match user {
        "" => wrong("user", "it is empty before the @"),
        user => Ok(user.to_owned()),
    }
}

fn portal(part: &'static str, text: &str) -> Result<String> {
    let bare = text.strip_prefix('[').map_or(text, |v6| v6.split_once(']').map_or(v6, |(_, rest)| rest));
    let (host, port) = match text.starts_with('[') {
        true => (text, bare.strip_prefix(':')),
        false => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    if host.is_empty() || host.contains(|c: char| c.is_whitespace() || c.is_control() || c == '=') {
        return wrong(part, "a host name or address is missing");
    }
    if let Some(why) = address_part::lacks_zone(host) {
        return wrong(part, why);
    }
    if let Some(port) = port {
        address_part::port(part, port)?;
    }
    Ok(text.to_owned())
}

fn name(part: &'static str, text: &str) -> Result<String> {
    let is_name = ["iqn.", "eui.", "naa."].iter().any(|kind| text.starts_with(kind));
    if !is_name
        || text.len() > 223
        || text.contains(|c: char| c.is_whitespace() || c.is_control() || "/=".contains(c))
    {
        return wrong(part, format!("`{}` is not an iSCSI name (iqn.…, eui.… or naa.…)", shown(text)));
    }
    Ok(text.to_owned())
}

/// What [`IscsiAddress::parse`] reads again.
impl fmt::Display for IscsiAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("iscsi://")?;
        if let Some(user) = &self.user {
            write!(f, "{user}@")?;
        }
        write!(f, "{}/{}/{}", self.portals[0], self.target, self.lun)?;
        let mut query: Vec<String> = self.portals[1..].iter().map(|p| format!("portal={p}")).collect();
        query.extend(self.all_portals.then(|| "portals=all".to_owned()));
        if self.sessions > 1 {
            query.push(format!("sessions={}", self.sessions));
        }
        match self.policy {
            EVERY_IO => {}
            PathPolicy::RoundRobin { ios, bytes } => {
                query.extend((ios < u32::MAX).then(|| format!("rr_ios={ios}")));
                query.extend((bytes < u64::MAX || ios == u32::MAX).then(|| format!("rr_bytes={bytes}")));
            }
            PathPolicy::LeastOutstanding => query.push("policy=lo".into()),
            PathPolicy::Fixed => query.push("policy=fixed".into()),
        }
        let switches = [
            ("header_digest", self.header_digest),
            ("data_digest", self.data_digest),
            ("initial_r2t", self.initial_r2t),
            ("immediate_data", self.immediate_data),
        ];
        for (key, value) in switches {
            query.extend(value.map(|yes| format!("{key}={}", if yes { "yes" } else { "no" })));
        }
        query.extend(self.initiator.iter().map(|name| format!("initiator={name}")));
        query.extend(self.chap_file.iter().map(|path| format!("chap_file={}", path.display())));
        if self.timeout_s != TIMEOUT_S {
            query.push(format!("timeout={}", self.timeout_s));
        }
        if !query.is_empty() {
            write!(f, "?{}", query.join("&"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Read<T> = std::result::Result<T, IscsiAddressError>;

    fn read(text: &str) -> Read<IscsiAddress> {
        IscsiAddress::parse(text.strip_prefix("iscsi://").unwrap())
    }

    #[test]
    fn addresses_read_back_from_their_own_text() {
        for text in [
            "iscsi://nas/iqn.2004-01.example:disk/1",
            "iscsi://bob@10.0.0.1:3261/iqn.2004-01.example:disk/0",
            "iscsi://[fe80::1%eth0]:3260/eui.0123456789abcdef/16383",
            "iscsi://a/iqn.x/1?portal=b&portal=c:3261&sessions=2&rr_ios=1000",
            "iscsi://a/iqn.x/1?rr_bytes=10485760",
            "iscsi://a/iqn.x/1?portals=all&sessions=2",
            "iscsi://a/iqn.x/1?rr_ios=10&rr_bytes=4096",
            "iscsi://a/iqn.x/1?policy=lo&header_digest=yes&data_digest=no&initial_r2t=yes&immediate_data=no",
            "iscsi://u@a/iqn.x/1?policy=fixed&initiator=iqn.me&chap_file=/etc/secret&timeout=5",
        ] {
            assert_eq!(read(text).map(|a| a.to_string()), Ok(text.to_owned()));
        }
        let renamed = read("iscsi://a/iqn.x/1?no_path=5").map(|a| a.to_string());
        assert_eq!(renamed, Ok("iscsi://a/iqn.x/1?timeout=5".into()), "as stored addresses call it");
        let preset = |text: &str| read(&format!("iscsi://a/iqn.x/1?{text}")).map(|a| a.policy);
        assert_eq!(preset("policy=vmware"), Ok(PathPolicy::RoundRobin { ios: 1000, bytes: u64::MAX }));
        assert_eq!(preset("policy=least"), Ok(PathPolicy::LeastOutstanding), "by its other name");
        assert_eq!(preset("policy=rr&rr_ios=7"), Ok(PathPolicy::RoundRobin { ios: 7, bytes: u64::MAX }));
    }

    #[test]
    fn a_portal_is_an_address_without_a_target() {
        let portal = |text| IscsiPortal::parse(text).map(|portal| portal.map(|p| p.portal().to_owned()));
        assert_eq!(portal("nas"), Some(Ok("nas".into())));
        assert_eq!(
            portal("bob@[fe80::1%eth0.7]:3261/?chap_file=/x"),
            Some(Ok("[fe80::1%eth0.7]:3261".into()))
        );
        assert_eq!(portal("nas/iqn.x/1"), None);
        assert_eq!(portal("nas/iqn.x"), None);
        assert_eq!(portal("/iqn.x/1"), None);
        assert_eq!(portal("bob:hush@nas").unwrap().unwrap_err().part, "user");
        let found = IscsiPortal::parse("bob@nas").unwrap().unwrap().lun("iqn.y", 3);
        assert_eq!(found.to_string(), "iscsi://bob@nas/iqn.y/3");
    }

    #[test]
    fn errors_name_the_part() {
        for (text, part) in [
            ("iscsi://nas", "target"),
            ("iscsi:///iqn.x/1", "host"),
            ("iscsi://nas:0/iqn.x/1", "host"),
            ("iscsi://fe80::1/iqn.x/1", "host"),
            ("iscsi://[fe80::1]:3260/iqn.x/1", "host"),
            ("iscsi://[fd00::1]/iqn.x/1?portal=[fe80::1]", "portal"),
            ("iscsi://nas/iqn.x", "lun"),
            ("iscsi://nas/iqn.x/one", "lun"),
            ("iscsi://nas/iqn.x/20000", "lun"),
            ("iscsi://nas/disk/1", "target"),
            ("iscsi://@nas/iqn.x/1", "user"),
            ("iscsi://bob:hush@nas/iqn.x/1", "user"),
            ("iscsi://nas/iqn.x/1?portal=", "portal"),
            ("iscsi://nas/iqn.x/1?sessions=33", "sessions"),
            ("iscsi://nas/iqn.x/1?portals=some", "portals"),
            ("iscsi://nas/iqn.x/1?policy=best", "policy"),
            ("iscsi://nas/iqn.x/1?policy=lo&rr_ios=2", "policy"),
            ("iscsi://nas/iqn.x/1?rr_ios=0", "rr_ios"),
            ("iscsi://nas/iqn.x/1?header_digest=maybe", "header_digest"),
            ("iscsi://nas/iqn.x/1?initiator=me", "initiator"),
            ("iscsi://nas/iqn.x/1?chap_file=", "chap_file"),
            ("iscsi://nas/iqn.x/1?sessions=2&sessions=3", "query"),
            ("iscsi://nas/iqn.x/1?secret=hush", "query"),
        ] {
            let error = read(text).unwrap_err();
            assert_eq!(error.part, part, "{text}: {error}");
            assert!(!error.to_string().contains("hush"), "{error}");
        }
    }
}
