//! The token by which a visitor proves that they may see and change what is served: made at first start, kept in a file
//! that only its owner can read, compared in constant time.

use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::error::ServeError;
use crate::named;

/// Random bytes of a token: nobody guesses 256 bits.
const TOKEN_BYTES: usize = 32;
/// A file that is longer is no token.
const FILE_BYTES_MAX: u64 = 4096;
/// A token that somebody chose must be this long.
const CHARS_MIN: usize = 16;

/// A secret. Its `Debug` form does not show it.
#[derive(Clone)]
pub(crate) struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// Returns a new one.
    pub(crate) fn random() -> Result<Self, ServeError> {
        let mut bytes = [0_u8; TOKEN_BYTES];
        getrandom::fill(&mut bytes).map_err(|source| ServeError::Random { why: source.to_string() })?;
        Ok(Self(hex(&bytes)))
    }

    /// Returns its text.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Returns true if `typed` is this token. The time it takes does not depend on where the two differ.
    pub(crate) fn is(&self, typed: &str) -> bool {
        // Digests have one length, and a difference in one says nothing of the token.
        let (known, typed) = (Sha256::digest(self.0.as_bytes()), Sha256::digest(typed.as_bytes()));
        known.iter().zip(typed.iter()).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
    }
}

/// Returns bytes in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads the token in a file, or makes one where there is no file.
pub(crate) fn read_or_make(path: &Path) -> Result<Token, ServeError> {
    let fail = |source| ServeError::TokenFile { path: path.to_owned(), source };
    let token = Token::random()?;
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(fail)?;
    }
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(mut file) => {
            file.write_all(format!("{}\n", token.0).as_bytes()).map_err(fail)?;
            Ok(token)
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => read(path),
        Err(error) => Err(fail(error)),
    }
}

fn read(path: &Path) -> Result<Token, ServeError> {
    let fail = |source| ServeError::TokenFile { path: path.to_owned(), source };
    let file = named::open(path).map_err(fail)?;
    let mode = file.metadata().map_err(fail)?.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(ServeError::TokenShared { path: path.to_owned(), mode });
    }
    let mut text = String::new();
    file.take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(fail)?;
    let token = text.trim();
    if token.chars().count() < CHARS_MIN {
        return Err(ServeError::TokenShort { path: path.to_owned(), least: CHARS_MIN });
    }
    Ok(Token(token.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_made_once_kept_with_mode_0600_and_refused_where_others_can_read_it() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("new/token");
        let made = read_or_make(&path).expect("it is made");
        assert_eq!(std::fs::metadata(&path).expect("the file").mode() & 0o777, 0o600);
        let read = read_or_make(&path).expect("it is read");
        assert!(made.is(read.text()) && !made.is("") && !made.is(&made.text()[1..]));
        assert!(!format!("{made:?}").contains(made.text()));
        let mode = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o644);
        std::fs::set_permissions(&path, mode).expect("it is ours");
        assert!(matches!(read_or_make(&path), Err(ServeError::TokenShared { mode: 0o644, .. })));
    }

    #[test]
    fn a_short_token_is_refused() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("token");
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).expect("a file");
        file.write_all(b"letmein\n").expect("it is written");
        assert!(matches!(read_or_make(&path), Err(ServeError::TokenShort { .. })));
    }
}
