//! The CHAP secret, from a file, the environment or a prompt; never from an address or an argument, and never
//! displayed.

use std::path::{Path, PathBuf};

use assay_iscsi::chap::{Account, ChapConfig};
use assay_spec::IscsiAddress;
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use thiserror::Error;

use crate::input::{Input, InputError};

pub use assay_iscsi::chap::Secret;

/// Variable with the path of the secret file.
const FILE_VARIABLE: &str = "ASSAY_CHAP_FILE";
/// Variable with the secret.
const SECRET_VARIABLE: &str = "ASSAY_CHAP_SECRET";
/// Variables with the target's name and secret, for mutual CHAP.
const MUTUAL_USER_VARIABLE: &str = "ASSAY_CHAP_MUTUAL_USER";
const MUTUAL_SECRET_VARIABLE: &str = "ASSAY_CHAP_MUTUAL_SECRET";
/// A secret is one line; a longer file is something else.
const SECRET: Input = Input { name: "a CHAP secret", bytes_max: 4096 };

/// CHAP names and secrets of the initiator and, for mutual CHAP, of the target. `Debug` shows names only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials(pub(super) ChapConfig);

/// Why the credentials are not available.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the message of a variant says what its fields are")]
pub enum SecretError {
    /// A name was given without a secret.
    #[error(
        "CHAP name `{user}` needs a secret: put it into a file (chap_file=PATH in the address, or ASSAY_CHAP_FILE) or \
         into ASSAY_CHAP_SECRET, or type it on a terminal"
    )]
    NoSecret { user: String },
    /// A secret file was given without a name.
    #[error("chap_file is given without a CHAP name; write iscsi://NAME@host/…")]
    NoUser,
    /// The file cannot be used.
    #[error("cannot read the CHAP secret from {path}: {why}")]
    File {
        /// Which file.
        path: PathBuf,
        why: String,
    },
    /// Only one of two variables is set.
    #[error("mutual CHAP needs both ASSAY_CHAP_MUTUAL_USER and ASSAY_CHAP_MUTUAL_SECRET")]
    HalfMutual,
}

/// Returns the credentials for an address: the secret from its file, from the environment, or `typed`.
pub fn credentials(
    address: &IscsiAddress,
    typed: Option<&Secret>,
) -> Result<Option<Credentials>, SecretError> {
    let Some(user) = &address.user else {
        return if address.chap_file.is_some() { Err(SecretError::NoUser) } else { Ok(None) };
    };
    keep_out_of_dumps();
    let secret = match secret_file(address) {
        Some(path) => Some(from_file(&path)?),
        None => variable(SECRET_VARIABLE).map(Secret::new).or_else(|| typed.cloned()),
    };
    let secret = secret.ok_or_else(|| SecretError::NoSecret { user: user.clone() })?;
    let target = match (variable(MUTUAL_USER_VARIABLE), variable(MUTUAL_SECRET_VARIABLE)) {
        (Some(name), Some(secret)) => Some(Account { name, secret: Secret::new(secret) }),
        (None, None) => None,
        _ => return Err(SecretError::HalfMutual),
    };
    Ok(Some(Credentials(ChapConfig { initiator: Account { name: user.clone(), secret }, target })))
}

/// Protects the memory of this process, which holds secrets from now on, from core dumps and from debuggers of the same
/// user. Has no effect on a kernel without support.
pub fn keep_out_of_dumps() {
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// Returns the file of an address's secret with its mode, if users other than its owner can read it.
pub fn exposed_file(address: &IscsiAddress) -> Option<(PathBuf, u32)> {
    use std::os::unix::fs::PermissionsExt as _;
    address.user.as_ref()?;
    let path = secret_file(address)?;
    let mode = std::fs::metadata(&path).ok()?.permissions().mode() & 0o777;
    (mode & 0o077 != 0).then_some((path, mode))
}

/// Returns true if the secret must be typed.
pub fn needs_prompt(address: &IscsiAddress) -> bool {
    address.user.is_some() && secret_file(address).is_none() && variable(SECRET_VARIABLE).is_none()
}

fn secret_file(address: &IscsiAddress) -> Option<PathBuf> {
    address.chap_file.clone().or_else(|| variable(FILE_VARIABLE).map(PathBuf::from))
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Returns the first line of a secret file.
fn from_file(path: &Path) -> Result<Secret, SecretError> {
    let failed = |why: String| SecretError::File { path: path.to_owned(), why };
    let text = crate::input::read_text(path, SECRET).map_err(|error| match error {
        InputError::Io { source, .. } => failed(source.to_string()),
        other => failed(other.to_string()),
    })?;
    match text.lines().next().unwrap_or("").trim_end() {
        "" => Err(failed("its first line is empty".into())),
        secret => Ok(Secret::new(secret)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IscsiAddress {
        IscsiAddress::parse(text).unwrap()
    }

    #[test]
    fn the_secret_is_read_from_the_file_and_never_displayed() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "hush-hush-hush\nsecond line\n").unwrap();
        let at = address(&format!("bob@nas/iqn.x/1?chap_file={}", file.path().display()));
        let found = credentials(&at, None).unwrap().unwrap();
        assert_eq!(found.0.initiator.secret, Secret::new("hush-hush-hush"));
        assert!(!format!("{found:?}").contains("hush"));
    }

    #[test]
    fn a_process_with_a_secret_cannot_be_dumped() {
        let typed = Secret::new("typed-it-in");
        credentials(&address("bob@nas/iqn.x/1"), Some(&typed)).unwrap();
        assert_eq!(rustix::process::dumpable_behavior().unwrap(), DumpableBehavior::NotDumpable);
    }

    #[test]
    fn a_secret_file_readable_by_others_is_detected() {
        use std::os::unix::fs::PermissionsExt as _;
        let file = tempfile::NamedTempFile::new().unwrap();
        let at = address(&format!("bob@nas/iqn.x/1?chap_file={}", file.path().display()));
        for (mode, is_exposed) in [(0o600, false), (0o400, false), (0o640, true), (0o604, true)] {
            std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(mode)).unwrap();
            let expected = is_exposed.then(|| (file.path().to_owned(), mode));
            assert_eq!(exposed_file(&at), expected, "{mode:o}");
        }
    }

    #[test]
    fn errors_name_the_missing_credential() {
        let message = |at: &str, typed| credentials(&address(at), typed).unwrap_err().to_string();
        assert!(message("bob@nas/iqn.x/1", None).contains("ASSAY_CHAP_SECRET"));
        assert!(message("nas/iqn.x/1?chap_file=/x", None).contains("NAME@"));
        assert!(message("bob@nas/iqn.x/1?chap_file=/no/file", None).contains("/no/file"));
        assert_eq!(credentials(&address("nas/iqn.x/1"), None).unwrap(), None);
        let typed = Secret::new("typed-it-in");
        assert!(credentials(&address("bob@nas/iqn.x/1"), Some(&typed)).unwrap().is_some());
    }
}
