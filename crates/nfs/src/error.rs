//! Errors of single calls, of opening a file, and of its I/O.

use std::io;
use std::net::SocketAddr;

use thiserror::Error;

use crate::nfs3::NfsStatus;
use crate::rpc::Refusal;
use crate::xdr::XdrError;

/// Why a single call failed.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the message of a variant says what its fields are")]
pub enum CallError {
    /// The host name could not be resolved.
    #[error("cannot resolve the address of {host}: {source}")]
    Resolve {
        /// Host name as given.
        host: String,
        source: io::Error,
    },
    /// The TCP connection failed.
    #[error("cannot connect to {what} at {address}: {source}")]
    Connect {
        /// Name of the service.
        what: &'static str,
        address: String,
        source: io::Error,
    },
    /// No address of the host accepted a TCP connection.
    #[error("cannot connect to {what} at any address of {host}: {}", each_said(said))]
    ConnectAny {
        /// Name of the service.
        what: &'static str,
        host: String,
        /// Error of each address.
        said: Vec<(SocketAddr, io::Error)>,
    },
    /// The server does not provide a service.
    #[error("{host} serves no {what}: its port mapper does not list it; {next}")]
    NotServed {
        host: String,
        /// Name of the service.
        what: &'static str,
        next: &'static str,
    },
    /// The port mapper does not respond, and the default port failed too.
    #[error(
        "the port mapper of {host} does not respond; add port= and mountport= to the address \
         (tried without it: {source})"
    )]
    MapperSilent { host: String, source: Box<CallError> },
    /// The connection failed, or no answer arrived.
    #[error("{what}: {source}")]
    Io {
        /// Name of the call.
        what: &'static str,
        source: io::Error,
    },
    /// The server did not execute the call.
    #[error("{what}: {source}")]
    Refused {
        /// Name of the call.
        what: &'static str,
        source: Refusal,
    },
    /// The answer is malformed.
    #[error("the response to {what} is malformed: {source}")]
    Answer {
        /// Name of the call.
        what: &'static str,
        source: XdrError,
    },
    /// NFS returned an error status.
    #[error("{what} failed: {status}")]
    Status {
        /// Name of the call.
        what: &'static str,
        status: NfsStatus,
    },
    /// The mount was refused.
    #[error("the server refused to mount {path}: {}", crate::mount::status_words(*status))]
    Mount {
        /// Export or directory.
        path: String,
        /// `mountstat3`.
        status: u32,
    },
}

/// Returns each address with its error.
fn each_said(said: &[(SocketAddr, io::Error)]) -> String {
    let said: Vec<String> = said.iter().map(|(address, error)| format!("{address}: {error}")).collect();
    said.join("; ")
}

impl CallError {
    /// Returns the error for the addresses that were tried.
    pub(crate) fn connect(what: &'static str, host: &str, mut said: Vec<(SocketAddr, io::Error)>) -> Self {
        match (said.pop(), said.is_empty()) {
            (Some((address, source)), true) => Self::Connect { what, address: address.to_string(), source },
            (last, _) => {
                said.extend(last);
                Self::ConnectAny { what, host: host.to_owned(), said }
            }
        }
    }

    /// Returns true if nobody answered in time, as opposed to an immediate refusal.
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

    /// Returns true if no connection came up, or it ended.
    pub fn is_unreached(&self) -> bool {
        match self {
            Self::Resolve { .. } | Self::Connect { .. } | Self::ConnectAny { .. } | Self::Io { .. } => true,
            Self::MapperSilent { source, .. } => source.is_unreached(),
            _ => false,
        }
    }

    /// Returns the NFS status if that is the cause.
    pub fn status(&self) -> Option<NfsStatus> {
        match self {
            Self::Status { status, .. } => Some(*status),
            _ => None,
        }
    }
}

/// Why a file could not be opened for I/O.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the message of a variant says what its fields are")]
pub enum FileError {
    /// The configuration is invalid.
    #[error("{field} is {value}; it must be {expected}")]
    Config {
        /// Field of [`crate::FileConfig`].
        field: &'static str,
        value: String,
        expected: &'static str,
    },
    /// No connection could be established.
    #[error("cannot connect to {address}: {last}")]
    NoConnection {
        address: String,
        /// The last error.
        last: String,
    },
}

/// Why an I/O failed. Its buffer is returned with the error.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the message of a variant says what its fields are")]
pub enum IoError {
    /// NFS returned an error status.
    #[error("{0}")]
    Status(NfsStatus),
    /// The server did not execute the call.
    #[error("{0}")]
    Refused(Refusal),
    /// The server violated the protocol.
    #[error("{0}")]
    Broken(&'static str),
    /// Every attempt failed.
    #[error("failed in each of {attempts} attempts; last error: {last}")]
    GivenUp {
        attempts: u32,
        /// Result of the last attempt.
        last: String,
    },
    /// The I/O exceeded its time limit.
    #[error("timed out after {waited_s} s; last error: {last}")]
    Expired {
        waited_s: u64,
        /// Last error.
        last: String,
    },
    /// The caller stopped waiting for it.
    #[error("abandoned after {waited_s} s without an answer")]
    Abandoned { waited_s: u64 },
    /// No answer arrived in time on any connection.
    #[error("no answer from the server for {waited_s} s")]
    NoServer { waited_s: u64 },
    /// The command is invalid.
    #[error("{0}")]
    Invalid(&'static str),
}

/// No answer arrived in time on any connection; all later calls return the same error.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the server is lost: no answer for {waited_s} s, last error: {last}")]
pub struct Lost {
    /// Time waited, s.
    pub waited_s: u64,
    /// Last error of a connection.
    pub last: String,
}
