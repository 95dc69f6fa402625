//! Errors of single calls, of opening a file, and of its I/O.

use std::io;
use std::net::SocketAddr;

use thiserror::Error;

use crate::nfs3::NfsStatus;
use crate::rpc::Refusal;
use crate::xdr::XdrError;

/// Why a single call brought nothing.
#[derive(Debug, Error)]
pub enum CallError {
    /// The name has no address.
    #[error("cannot resolve the address of {host}: {source}")]
    Resolve {
        /// As given.
        host: String,
        /// Cause.
        source: io::Error,
    },
    /// No TCP connection.
    #[error("cannot connect to {what} at {address}: {source}")]
    Connect {
        /// Which service.
        what: &'static str,
        /// Where.
        address: String,
        /// Cause.
        source: io::Error,
    },
    /// No TCP connection to any address of a name.
    #[error("cannot connect to {what} at any address of {host}: {}", each_said(said))]
    ConnectAny {
        /// Which service.
        what: &'static str,
        /// The name.
        host: String,
        /// What came of each address.
        said: Vec<(SocketAddr, io::Error)>,
    },
    /// A service is not there.
    #[error("{host} serves no {what}: its port mapper does not list it; {next}")]
    NotServed {
        /// Of the server.
        host: String,
        /// Which service.
        what: &'static str,
        /// What can be done.
        next: &'static str,
    },
    /// The port mapper does not answer, and the default port failed too.
    #[error(
        "the port mapper of {host} does not respond; add port= and mountport= to the address \
         (tried without it: {source})"
    )]
    MapperSilent {
        /// Of the server.
        host: String,
        /// What the guess led to.
        source: Box<CallError>,
    },
    /// The connection broke, or no answer came.
    #[error("{what}: {source}")]
    Io {
        /// Which call.
        what: &'static str,
        /// Cause.
        source: io::Error,
    },
    /// The server did not carry out the call.
    #[error("{what}: {source}")]
    Refused {
        /// Which call.
        what: &'static str,
        /// Cause.
        source: Refusal,
    },
    /// The answer is broken.
    #[error("the response to {what} is malformed: {source}")]
    Answer {
        /// Which call.
        what: &'static str,
        /// Cause.
        source: XdrError,
    },
    /// NFS says no.
    #[error("{what} failed: {status}")]
    Status {
        /// Which call.
        what: &'static str,
        /// Why.
        status: NfsStatus,
    },
    /// The mount was refused.
    #[error("the server refused to mount {path}: {}", crate::mount::status_words(*status))]
    Mount {
        /// Which export or directory.
        path: String,
        /// `mountstat3`.
        status: u32,
    },
}

/// Every address with its error.
fn each_said(said: &[(SocketAddr, io::Error)]) -> String {
    let said: Vec<String> = said.iter().map(|(address, error)| format!("{address}: {error}")).collect();
    said.join("; ")
}

impl CallError {
    /// What came of every address that was tried.
    pub(crate) fn connect(what: &'static str, host: &str, mut said: Vec<(SocketAddr, io::Error)>) -> Self {
        match (said.pop(), said.is_empty()) {
            (Some((address, source)), true) => Self::Connect { what, address: address.to_string(), source },
            (last, _) => {
                said.extend(last);
                Self::ConnectAny { what, host: host.to_owned(), said }
            }
        }
    }

    /// True where nobody answered within the time there was, as opposed to one that says no at once.
    #[must_use]
    pub fn is_silence(&self) -> bool {
        let is_late =
            |error: &io::Error| matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock);
        match self {
            Self::Connect { source, .. } | Self::Io { source, .. } => is_late(source),
            Self::ConnectAny { said, .. } => said.iter().any(|(_, error)| is_late(error)),
            Self::MapperSilent { source, .. } => source.is_silence(),
            _ => false,
        }
    }

    /// The status of NFS, where that is why.
    #[must_use]
    pub fn status(&self) -> Option<NfsStatus> {
        match self {
            Self::Status { status, .. } => Some(*status),
            _ => None,
        }
    }
}

/// Why a file could not be opened for I/O.
#[derive(Debug, Error)]
pub enum FileError {
    /// The configuration makes no sense.
    #[error("{field} is {value}; it must be {expected}")]
    Config {
        /// Field of [`crate::FileConfig`].
        field: &'static str,
        /// Its value.
        value: String,
        /// What would be right.
        expected: &'static str,
    },
    /// No connection came up.
    #[error("no connection to {address} came up: {last}")]
    NoConnection {
        /// Where.
        address: String,
        /// The last error.
        last: String,
    },
}

/// Why an I/O failed. The buffer comes back with it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum IoError {
    /// NFS says no.
    #[error("{0}")]
    Status(NfsStatus),
    /// The server did not carry out the call.
    #[error("{0}")]
    Refused(Refusal),
    /// The server broke its word.
    #[error("{0}")]
    Broken(&'static str),
    /// Gave up after several attempts.
    #[error("gave up after {attempts} attempts; the last one failed: {last}")]
    GivenUp {
        /// How often it was sent.
        attempts: u32,
        /// How the last try ended.
        last: String,
    },
    /// It did not end in the time that an I/O has.
    #[error("gave up because it did not complete within {waited_s} s; last error: {last}")]
    Expired {
        /// The limit, s.
        waited_s: u64,
        /// What happened last.
        last: String,
    },
    /// The caller did not wait for it.
    #[error("abandoned after {waited_s} s without an answer")]
    Abandoned {
        /// How long was waited, s.
        waited_s: u64,
    },
    /// No answer came in time, on any connection.
    #[error("no answer from the server for {waited_s} s")]
    NoServer {
        /// How long was waited, s.
        waited_s: u64,
    },
    /// The command itself makes no sense.
    #[error("{0}")]
    Invalid(&'static str),
}

/// No answer came in time, on any connection; all later calls say the same.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the server is lost: no answer for {waited_s} s, last error: {last}")]
pub struct Lost {
    /// How long was waited, s.
    pub waited_s: u64,
    /// Last error of a connection.
    pub last: String,
}
