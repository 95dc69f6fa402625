//! Which store: a file, or a schema in a PostgreSQL database.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use assay_spec::{has_secret, without_secret};
use thiserror::Error;

use crate::postgres::PostgresAddress;

/// Schemes of PostgreSQL's own connection strings.
const POSTGRES: [&str; 2] = ["postgres://", "postgresql://"];

/// Where a store is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreAddress {
    /// A file of SQLite.
    File(PathBuf),
    /// A schema in a database of a PostgreSQL server.
    Postgres(Box<PostgresAddress>),
}

/// Why a text is no address of a store.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StoreAddressError {
    /// It is an address of something else.
    #[error(
        "{shown} cannot be the store: it looks like an address, and a store is a file or \
         postgres://USER@HOST/DATABASE; for a file write ./{shown}"
    )]
    NoFile {
        /// As given, without a secret.
        shown: String,
    },
    /// A password is in it.
    #[error(
        "{shown} cannot be the store: it has a password in it, which every user of this machine can read (ps); put the \
         password into the file that PGPASSFILE names (by default ~/.pgpass, mode 0600), or into a service of \
         ~/.pg_service.conf"
    )]
    Password {
        /// As given, without the secret.
        shown: String,
    },
    /// A part of the address of a server could not be read.
    #[error("{shown} cannot be the store: {why}")]
    Postgres {
        /// As given, without a secret.
        shown: String,
        /// What is wrong.
        why: String,
    },
}

impl StoreAddress {
    /// Reads what somebody typed: an address of PostgreSQL by its scheme, otherwise the path of a file. As with
    /// targets, a word that looks like another address is never a path.
    ///
    /// # Errors
    /// For an address of something else, and for one with a password in it.
    pub fn parse(typed: impl Into<PathBuf>) -> Result<Self, StoreAddressError> {
        let path: PathBuf = typed.into();
        let text = path.to_string_lossy();
        let shown = || without_secret(&text);
        if POSTGRES.iter().any(|scheme| text.starts_with(scheme)) {
            if has_secret(&text) {
                return Err(StoreAddressError::Password { shown: shown() });
            }
            let address = PostgresAddress::parse(&text);
            return address
                .map(|address| Self::Postgres(Box::new(address)))
                .map_err(|why| StoreAddressError::Postgres { shown: shown(), why });
        }
        let is_scheme = |first: std::path::Component<'_>| first.as_os_str().to_string_lossy().contains(':');
        // In the environment it may have a secret; the command line was searched for them.
        if path.components().next().is_some_and(is_scheme) || has_secret(&text) {
            return Err(StoreAddressError::NoFile { shown: shown() });
        }
        Ok(Self::File(path))
    }

    /// Returns the file; `None` for a store in a server.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Postgres(_) => None,
        }
    }

    /// Returns whether there may be a store: a file that exists, or a server, which is asked when the store is opened.
    #[must_use]
    pub fn exists(&self) -> bool {
        self.file().is_none_or(Path::exists)
    }

    /// Returns the same store as every working directory has it.
    #[must_use]
    pub fn absolute(&self) -> Self {
        match self {
            Self::File(path) => Self::File(std::path::absolute(path).unwrap_or_else(|_| path.clone())),
            Self::Postgres(_) => self.clone(),
        }
    }

    /// Returns what [`Self::parse`] reads as this address; it has no secret.
    #[must_use]
    pub fn typed(&self) -> OsString {
        match self {
            Self::File(path) => path.clone().into_os_string(),
            Self::Postgres(address) => address.to_string().into(),
        }
    }
}

impl fmt::Display for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Postgres(address) => write!(f, "{address}"),
        }
    }
}

impl<P: AsRef<Path>> From<P> for StoreAddress {
    /// The file of that path, whatever it looks like.
    fn from(path: P) -> Self {
        Self::File(path.as_ref().to_owned())
    }
}

impl From<&StoreAddress> for StoreAddress {
    fn from(address: &StoreAddress) -> Self {
        address.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_postgresql_is_a_store_and_another_address_is_none() {
        for (typed, is_postgres) in [
            ("runs.sqlite", false),
            ("/srv/postgres://x", false),
            ("./postgres:/x", false),
            ("postgres://bob@db/runs", true),
            ("postgresql:///runs?host=/run/postgresql", true),
            ("postgres://?service=assay", true),
        ] {
            let address = StoreAddress::parse(typed).unwrap_or_else(|error| panic!("{typed}: {error}"));
            assert_eq!(matches!(address, StoreAddress::Postgres(_)), is_postgres, "{typed}");
            assert_eq!(StoreAddress::parse(address.typed()), Ok(address), "{typed}");
        }
        for typed in ["mysql://db/runs", "nas:/vol/runs", "postgres:db"] {
            let error = StoreAddress::parse(typed).expect_err(typed);
            assert!(matches!(error, StoreAddressError::NoFile { .. }), "{typed}: {error}");
        }
        for typed in [
            "postgres://bob:S3CR3T@db/runs",
            "postgresql://bob:S3CR3T@db",
            "postgres://db/runs?password=S3CR3T",
            "postgres://bob%3AS3CR3T@db/runs",
        ] {
            let says = StoreAddress::parse(typed).expect_err(typed).to_string();
            assert!(says.contains("PGPASSFILE") && !says.contains("S3CR3T"), "{typed}: {says}");
        }
    }
}
