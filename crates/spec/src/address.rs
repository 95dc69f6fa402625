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
    /// A file, a directory or a device node; which one only the host can tell.
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
    #[error("a target must not be empty; give a file, a directory, a device or null:")]
    Empty,
    /// `sim:` without the array.
    #[error("sim: needs an array, like sim:ix4-200d or sim:my-nas.toml")]
    SimWithoutArray,
    /// The scheme is none that this program serves.
    #[error(
        "`{0}:` targets are not served by this version; give a file, a directory, a device or null: (a file of that name: ./{1})"
    )]
    UnknownScheme(String, String),
    /// A word that is nearly the null target.
    #[error("`null` is not a target; did you mean `null:`? (a file of that name: ./null)")]
    NullWithoutColon,
    /// The size after `null:` could not be read.
    #[error("null target: {0}")]
    NullSize(crate::units::UnitError),
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
        // `C:\x` and `dir:with/colon` are paths: a scheme is two or more letters and then a colon before any slash.
        let scheme = text.split_once(':').map(|(scheme, _)| scheme);
        match scheme {
            Some(s) if matches!(s, "iscsi" | "nfs" | "published" | "http" | "https" | "s3" | "smb") => {
                Err(AddressError::UnknownScheme(s.to_owned(), text.to_owned()))
            }
            _ => Ok(Self::Path(PathBuf::from(text))),
        }
    }
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

/// Why an address in brackets cannot be used as it stands: a link-local one is on every link.
pub(crate) fn lacks_zone(host: &str) -> Option<String> {
    let (inside, _) = host.strip_prefix('[')?.split_once(']')?;
    // With a zone it is no plain address.
    let address: std::net::Ipv6Addr = inside.parse().ok()?;
    address.is_unicast_link_local().then(|| {
        format!(
            "`{inside}` is an address of every link: say which interface leads there, as in [{inside}%eth0]"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let message = "smb://nas/x".parse::<Address>().unwrap_err().to_string();
        assert!(message.starts_with("`smb:` targets are not served"), "{message}");
        assert_eq!("".parse::<Address>(), Err(AddressError::Empty));
        assert_eq!("sim:".parse::<Address>(), Err(AddressError::SimWithoutArray));
        assert!("null:lots".parse::<Address>().is_err());
    }
}
