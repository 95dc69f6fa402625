//! Where I/O goes, as people write it on the command line.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::address_word::{Meant, meant, scheme, shown};

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
        "`{0}:` targets are not supported; give a file, a directory, a device, iscsi://…, nfs://…, sim:… or null:, or \
         {1} for a file of that name"
    )]
    UnknownScheme(String, String),
    /// A share of an SMB server: Assay has no client of its own for it.
    #[error("Assay has no SMB client; give the path below a mounted share: {0}")]
    Smb(String),
    /// Looks like an address; as a path it would make a local file, and measure that.
    #[error("`{text}` looks like {what}, not a file; write {like}, or {path} for a file of that name")]
    NoPath {
        /// As given, without what may be a password.
        text: String,
        /// What it looks like.
        what: &'static str,
        /// What to write.
        like: String,
        /// How a file of that name is written.
        path: String,
    },
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
        match scheme(text).as_ref().map(|(scheme, rest)| (scheme.as_str(), rest)) {
            Some(("smb" | "cifs", share)) => {
                let path = shown(&format!("//{}", share.trim_start_matches('/')));
                let says = crate::SmbShare::of(&path).map(|share| share.to_string());
                Err(AddressError::Smb(
                    says.unwrap_or_else(|| "mount -t cifs //HOST/SHARE /mnt/share".to_owned()),
                ))
            }
            Some((scheme @ ("published" | "http" | "https" | "s3" | "ftp" | "ssh" | "nvme"), _)) => {
                Err(AddressError::UnknownScheme(scheme.to_owned(), path_form(text)))
            }
            _ => match meant(text) {
                Some(meant) => Err(no_path(text, meant)),
                // The messages about a file repeat its name.
                None if crate::secret::without_secret(text) != text => {
                    let like = "iscsi://…, nfs://… or the directory of a mounted share".to_owned();
                    Err(no_path(text, Meant { what: "an address with options", like }))
                }
                None => Ok(Self::Path(PathBuf::from(text))),
            },
        }
    }
}

fn no_path(text: &str, Meant { what, like }: Meant) -> AddressError {
    // What to write repeats what was typed.
    let like = shown(&like);
    AddressError::NoPath { text: shown(text), what, like, path: path_form(text) }
}

/// Returns how a file of that name is written; a name that may hold a password is not repeated.
fn path_form(text: &str) -> String {
    if shown(text) == text { format!("./{text}") } else { "./NAME".to_owned() }
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

    /// The value of a misspelt key may be a secret, wherever the pair stands.
    #[test]
    fn values_of_unknown_keys_are_not_in_messages() {
        for text in [
            "nfs://h/vol?uid=1;scret=hush",
            "nfs://h/vol?uid=1?scret=hush",
            "nfs://h/vol?sync=file,scret=hush",
            "nfs://h/vol/x%3Fscret=hush",
            "nfs://h/vol?uid=1%26scret=hush",
            "nfs://h/vol?scret%3Dhush",
            "nfs://h:1;scret=hush/vol",
            "nfs://h;scret=hush/vol",
            "iscsi://h/iqn.x/1?portal=a;scret=hush",
            "iscsi://h/iqn.x/1?policy=rr;scret=hush",
            "iscsi://h/iqn.x/1?initiator=iqn.y;scret=hush",
            "iscsi://h/iqn.x/1?initial_r2t=no,scret=hush",
            "iscsi://h/iqn.x/1?portals=all;scret=hush",
            "iscsi://h/iqn.x/1&scret=hush",
            "iscsi://h/iqn.x;scret=hush/1",
            "iscsi://h/x;scret=hush/1",
            "iscsi://h;scret=hush/iqn.x/1",
            "iscsi://h/1;scret=hush",
            "//nas/share?scret=hush",
            "\\\\nas\\share?scret=hush",
            "smb://nas/share;scret=hush",
            "nas:/vol?scret=hush",
            "nas:/vol;scret=hush",
        ] {
            let error = text.parse::<Address>().expect_err(text).to_string();
            assert!(!error.contains("hush"), "{text}: {error}");
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
            "./a:b",
            "/mnt/x:y/z",
        ] {
            assert_eq!(text.parse::<Address>().map(|a| a.to_string()), Ok(text.to_owned()));
        }
    }
}
