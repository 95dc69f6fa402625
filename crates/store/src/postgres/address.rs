//! The address of a store in a server, as PostgreSQL writes it, without a password.

use std::fmt;
use std::path::PathBuf;
#[cfg(feature = "postgres")]
use std::str::FromStr as _;

/// Schema that has the tables, if nothing else is said.
const SCHEMA: &str = "assay";
/// Longest name of PostgreSQL, bytes.
const NAME_BYTES_MAX: usize = 63;

/// Where in a server a store is: `postgres://USER@HOST:PORT/DATABASE?schema=NAME&sslmode=…&sslrootcert=FILE`, or
/// `postgres://?service=NAME`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostgresAddress {
    /// As it was typed.
    text: String,
    /// What the client reads: without the keys below.
    pub(super) uri: String,
    pub(super) schema: String,
    /// Entry of the service file that says the rest.
    pub(super) service: Option<String>,
    pub(super) tls: Option<Tls>,
    /// Certificates of authorities in PEM; `None`: those of this system.
    pub(super) root_certificates: Option<PathBuf>,
}

/// Whether the connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tls {
    /// It is not.
    Disable,
    /// It is, and the certificate of the server is that of its name.
    VerifyFull,
}

impl Tls {
    /// Reads the value of `sslmode`.
    pub(super) fn parse(mode: &str) -> Result<Self, String> {
        match mode {
            "disable" => Ok(Self::Disable),
            "verify-full" => Ok(Self::VerifyFull),
            "allow" | "prefer" | "require" | "verify-ca" => Err(format!(
                "sslmode={mode} does not find out who answers; leave it out, which is verify-full with a server \
                 elsewhere (sslrootcert=FILE for an authority of your own), or write disable for a network that you \
                 trust"
            )),
            _ => Err("sslmode is disable or verify-full".to_owned()),
        }
    }
}

impl PostgresAddress {
    /// Reads an address with its scheme and without a password.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (place, query) = text.split_once('?').unwrap_or((text, ""));
        let mut address = Self {
            text: text.to_owned(),
            uri: String::new(),
            schema: SCHEMA.to_owned(),
            service: None,
            tls: None,
            root_certificates: None,
        };
        let mut rest: Vec<&str> = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').ok_or_else(|| format!("`{pair}` has no value"))?;
            match key {
                "schema" => address.schema = name(value)?,
                "service" => address.service = Some(value.to_owned()),
                "sslmode" => address.tls = Some(Tls::parse(value)?),
                "sslrootcert" => address.root_certificates = Some(value.into()),
                _ => rest.push(pair),
            }
        }
        let query = if rest.is_empty() { String::new() } else { format!("?{}", rest.join("&")) };
        address.uri = format!("{place}{query}");
        address.check()?;
        Ok(address)
    }

    #[cfg(feature = "postgres")]
    fn check(&self) -> Result<(), String> {
        self.config().map(drop)
    }

    /// Refuses, before anything is asked of the store.
    #[cfg(not(feature = "postgres"))]
    fn check(&self) -> Result<(), String> {
        Err(assay_spec::left_out("PostgreSQL"))
    }

    /// Returns what the address itself says of the connection.
    #[cfg(feature = "postgres")]
    pub(super) fn config(&self) -> Result<tokio_postgres::Config, String> {
        tokio_postgres::Config::from_str(&self.uri).map_err(|error| super::message::says(&error))
    }
}

/// Checks a name that stands in statements as it is.
fn name(text: &str) -> Result<String, String> {
    let is_letter = |c: char| c.is_ascii_lowercase() || c == '_';
    let is_name = text.starts_with(is_letter)
        && text.len() <= NAME_BYTES_MAX
        && text.chars().all(|c| is_letter(c) || c.is_ascii_digit());
    match is_name && !text.starts_with("pg_") {
        true => Ok(text.to_owned()),
        false => Err("a schema is named by small letters, digits and _, and not pg_".to_owned()),
    }
}

impl fmt::Display for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(all(test, feature = "postgres"))]
mod tests {
    use super::*;

    #[test]
    fn what_assay_reads_itself_is_not_given_to_the_client() {
        let address = PostgresAddress::parse(
            "postgres://bob@db:5433/runs?schema=lab_2&sslmode=verify-full&connect_timeout=3&sslrootcert=/etc/ca.pem",
        )
        .expect("an address");
        assert_eq!(address.uri, "postgres://bob@db:5433/runs?connect_timeout=3");
        assert_eq!((address.schema.as_str(), address.tls), ("lab_2", Some(Tls::VerifyFull)));
        assert_eq!(address.root_certificates, Some("/etc/ca.pem".into()));
        let config = address.config().expect("it was checked");
        assert_eq!((config.get_user(), config.get_dbname()), (Some("bob"), Some("runs")));
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for (text, says) in [
            ("postgres://db/runs?sslmode=require", "who answers"),
            ("postgres://db/runs?sslmode=yes", "disable or verify-full"),
            ("postgres://db/runs?schema=a;drop", "small letters"),
            ("postgres://db/runs?schema=pg_catalog", "small letters"),
            ("postgres://db/runs?nonsense=1", "nonsense"),
            ("postgres://db:port/runs", "port"),
        ] {
            let error = PostgresAddress::parse(text).expect_err(text);
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
