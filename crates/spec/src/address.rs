//! Where I/O goes, as people write it on the command line.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A target as written: a path, or a scheme with its own form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Address {
    /// A file, a directory or a device node; only the host knows which.
    Path(PathBuf),
    /// `null:` or `null:SIZE`: I/O that completes at once and goes nowhere; measures the tester itself.
    Null {
        /// The capacity it pretends to have, bytes.
        capacity: u64,
    },
    /// `sim:ARRAY`: an array that does not exist, simulated in real time.
    Sim {
        /// An array that ships, or the path of an array file.
        array: String,
    },
    /// `iscsi://…`: a logical unit of an iSCSI target, reached without the kernel.
    Iscsi(Box<crate::IscsiAddress>),
    /// `nfs://…`: a file on an NFS server, reached without the kernel.
    Nfs(Box<crate::NfsAddress>),
}

/// Capacity of a plain `null:`, bytes: 1 TiB, so that no offset arithmetic is trivial.
const NULL_CAPACITY: u64 = 1 << 40;

/// Why a target address could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AddressError {
    /// Nothing was given.
    #[error("the target is empty; give a file, a directory, a block device or null:")]
    Empty,
    /// `sim:` without the array.
    #[error("sim: needs an array, like sim:ix4-200d or sim:my-nas.toml")]
    SimWithoutArray,
    /// The scheme is none that this program serves.
    #[error(
        "`{0}:` targets are not served; give a file, a directory, a device, iscsi://…, nfs://…, sim:… or null:, \
         or ./{1} for a file of that name"
    )]
    UnknownScheme(String, String),
    /// A share of an SMB server: Assay has no client of its own for it.
    #[error(
        "Assay has no SMB client: mount the share and give the directory, for example mount -t cifs {0} /mnt/share && \
         assay run vmware /mnt/share"
    )]
    Smb(String),
    /// Nearly the address of something on a network; as a path it would make a local file, and measure that.
    #[error("`{text}` looks like {what}, not a file; write {like}, or ./{text} for a file of that name")]
    MeantNetwork {
        /// As given.
        text: String,
        /// What it looks like.
        what: &'static str,
        /// What to write.
        like: String,
    },
    /// A word that is nearly the null target.
    #[error("`null` is not a target; did you mean `null:`? Write ./null for a file of that name")]
    NullWithoutColon,
    /// The size after `null:` could not be read.
    #[error("null target: {0}")]
    NullSize(crate::units::UnitError),
    /// A secret was typed into it.
    #[error("`{covered}` has a secret in it: {advice}", advice = crate::address_part::SECRET_ADVICE)]
    Secret {
        /// The address, its secret covered.
        covered: String,
    },
    /// The iSCSI address could not be read.
    #[error(transparent)]
    Iscsi(#[from] crate::IscsiAddressError),
    /// The NFS address could not be read.
    #[error(transparent)]
    Nfs(#[from] crate::NfsAddressError),
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        if let Some((_, covered)) = crate::secret::find(text) {
            return Err(AddressError::Secret { covered });
        }
        if text.is_empty() {
            return Err(AddressError::Empty);
        }
        if text == "null" {
            return Err(AddressError::NullWithoutColon);
        }
        if let Some(size) = text.strip_prefix("null:") {
            let capacity = match size {
                "" => NULL_CAPACITY,
                size => size.parse::<crate::units::Bytes>().map_err(AddressError::NullSize)?.0,
            };
            return Ok(Self::Null { capacity });
        }
        match text.strip_prefix("sim:") {
            Some("") => return Err(AddressError::SimWithoutArray),
            Some(array) => return Ok(Self::Sim { array: array.to_owned() }),
            None => {}
        }
        if let Some(rest) = text.strip_prefix("iscsi://") {
            return Ok(Self::Iscsi(Box::new(crate::IscsiAddress::parse(rest)?)));
        }
        if let Some(rest) = text.strip_prefix("nfs://") {
            return Ok(Self::Nfs(Box::new(crate::NfsAddress::parse(rest)?)));
        }
        if let Some((what, like)) = meant_network(text) {
            return Err(AddressError::MeantNetwork { text: text.to_owned(), what, like });
        }
        // `C:\x` and `dir:with/colon` are paths: a scheme is two or more letters and then a colon before any slash.
        let scheme = text.split_once(':').map(|(scheme, _)| scheme);
        match scheme {
            Some("smb" | "cifs") => {
                let share = text.split_once(':').map_or(text, |(_, share)| share);
                Err(AddressError::Smb(format!("//{}", share.trim_start_matches('/'))))
            }
            Some(s) if matches!(s, "published" | "http" | "https" | "s3") => {
                Err(AddressError::UnknownScheme(s.to_owned(), text.to_owned()))
            }
            _ => Ok(Self::Path(PathBuf::from(text))),
        }
    }
}

/// What on a network a path may have been meant for, and how that is written. Paths with a slash before anything odd,
/// as
/// `./10.0.0.5`, are never taken for anything else.
fn meant_network(text: &str) -> Option<(&'static str, String)> {
    let lower = text.to_ascii_lowercase();
    for scheme in ["iscsi", "nfs"] {
        if let Some(rest) = lower.strip_prefix(scheme).and_then(|rest| rest.strip_prefix(':')) {
            let rest = &text[text.len() - rest.trim_start_matches('/').len()..];
            let what = if scheme == "iscsi" { "an iSCSI address" } else { "an NFS address" };
            return Some((what, format!("{scheme}://{rest}")));
        }
    }
    if ["iqn.", "eui.", "naa."].iter().any(|prefix| lower.starts_with(prefix)) && !text.contains('/') {
        return Some(("the name of an iSCSI target", format!("iscsi://HOST/{text}/LUN")));
    }
    let host = text.split('/').next().unwrap_or_default();
    let bare = host.rsplit_once(':').map_or(host, |(host, _)| host);
    if bare.parse::<std::net::IpAddr>().is_ok() || host.parse::<std::net::IpAddr>().is_ok() {
        return Some(match text.split_once(":/") {
            Some((host, export)) => ("an NFS export, as mount writes it", format!("nfs://{host}/{export}")),
            None => ("the address of a host", format!("iscsi://{host}/TARGET/LUN or nfs://{host}/EXPORT")),
        });
    }
    // `nas:/vol1`: only a host's name has no dot or slash before the colon and a path from the root behind it.
    let (host, export) = text.split_once(":/").filter(|(_, export)| !export.starts_with('/'))?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
    (host.len() > 1 && !host.contains('/') && host.chars().all(is_name))
        .then(|| ("an NFS export, as mount writes it", format!("nfs://{host}/{export}")))
}

impl TryFrom<String> for Address {
    type Error = AddressError;

    fn try_from(text: String) -> Result<Self, AddressError> {
        text.parse()
    }
}

impl From<Address> for String {
    fn from(address: Address) -> Self {
        address.to_string()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => write!(f, "{}", path.display()),
            Self::Iscsi(address) => address.fmt(f),
            Self::Nfs(address) => address.fmt(f),
            Self::Null { capacity: NULL_CAPACITY } => write!(f, "null:"),
            Self::Null { capacity } => write!(f, "null:{}", crate::units::Bytes(*capacity)),
            Self::Sim { array } => write!(f, "sim:{array}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant_for_a_network_is_no_local_file() {
        for (text, like) in [
            ("iscsi:/10.0.0.5/iqn.x/1", "iscsi://10.0.0.5/iqn.x/1"),
            ("ISCSI://10.0.0.5/iqn.x/1", "iscsi://10.0.0.5/iqn.x/1"),
            ("nfs:nas/vol", "nfs://nas/vol"),
            ("iqn.2026-11.example:x", "iscsi://HOST/iqn.2026-11.example:x/LUN"),
            ("10.0.0.5", "iscsi://10.0.0.5/TARGET/LUN or nfs://10.0.0.5/EXPORT"),
            ("10.0.0.5:3260", "iscsi://10.0.0.5:3260/TARGET/LUN"),
            ("fd00::5", "nfs://fd00::5/EXPORT"),
            ("10.0.0.5:/vol1", "nfs://10.0.0.5/vol1"),
            ("nas.example:/vol1/t.dat", "nfs://nas.example/vol1/t.dat"),
        ] {
            let error = text.parse::<Address>().unwrap_err().to_string();
            assert!(error.contains(like) && error.contains(&format!("./{text}")), "{text}: {error}");
        }
        for path in
            ["./10.0.0.5", "./iqn.x", "/mnt/nas:/x", "data/10.0.0.5", "10.dat", "a:b", "t.dat", "C:/x"]
        {
            assert!(matches!(path.parse(), Ok(Address::Path(_))), "{path}");
        }
    }

    #[test]
    fn addresses_read_back_from_their_own_text() {
        for text in [
            "./t.dat",
            "/dev/sdb",
            "null:",
            "null:64GiB",
            "nfs://nas/vol1/t.dat",
            "sim:ix4-200d",
            "sim:arrays/x.toml",
            "a:b",
            "/mnt/x:y/z",
        ] {
            assert_eq!(text.parse::<Address>().map(|a| a.to_string()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn schemes_that_are_not_served_are_named() {
        let message = |text: &str| text.parse::<Address>().unwrap_err().to_string();
        assert!(message("s3://bucket/x").starts_with("`s3:` targets are not served"));
        assert!(message("smb://nas/x").contains("mount -t cifs //nas/x /mnt/share"));
        assert_eq!("".parse::<Address>(), Err(AddressError::Empty));
        assert_eq!("sim:".parse::<Address>(), Err(AddressError::SimWithoutArray));
        assert!("null:lots".parse::<Address>().is_err());
    }
}
