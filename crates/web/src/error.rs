//! Why the server could not start.

use std::net::SocketAddr;
use std::path::PathBuf;

use thiserror::Error;

/// Why the server could not start.
#[derive(Debug, Error)]
pub enum ServeError {
    /// Others could read what is sent.
    #[error(
        "listening on {address} needs TLS, because other machines reach it; add --self-signed, or --cert FILE and \
         --key FILE; or listen on 127.0.0.1 and connect through SSH: ssh -L {port}:127.0.0.1:{port} THIS-HOST",
        port = address.port()
    )]
    Unprotected {
        /// Where it was to listen.
        address: SocketAddr,
    },
    /// The port could not be opened.
    #[error("cannot listen on {address}: {source}; choose another address with --listen")]
    Listen {
        /// Which one.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// The token's file cannot be used.
    #[error("cannot use the token file {path}: {source}; choose another with --token-file")]
    TokenFile {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Others can read the token.
    #[error(
        "other users have access to the token file {path} (mode {mode:04o}); delete it so that a new token is made, \
         or: chmod 600 {path}"
    )]
    TokenShared {
        /// Which one.
        path: PathBuf,
        /// The lower bits of its mode.
        mode: u32,
    },
    /// The token can be guessed.
    #[error(
        "the token in {path} has fewer than {least} characters; delete the file so that a new one is made"
    )]
    TokenShort {
        /// Which one.
        path: PathBuf,
        /// Characters that it must have.
        least: usize,
    },
    /// The kernel gave no random bytes.
    #[error("cannot get random bytes for a token: {why}")]
    Random {
        /// Why.
        why: String,
    },
    /// A certificate, or its key, cannot be used.
    #[error("cannot use {path} for TLS: {why}")]
    Tls {
        /// Which file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The runtime could not be started.
    #[error("cannot start the server: {source}")]
    Runtime {
        /// Why.
        source: std::io::Error,
    },
}
