//! In the place of certificates, where a build leaves them out.

use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::path::Path;

use crate::error::ServeError;
use crate::options::Tls;

/// What a server with TLS needs, of which there is none.
pub(crate) struct Protection {
    pub(crate) acceptor: Acceptor,
    pub(crate) fingerprint: String,
}

/// Shakes hands with nobody.
#[derive(Clone)]
pub(crate) struct Acceptor(Infallible);

impl Acceptor {
    pub(crate) async fn accept<S>(&self, _: S) -> io::Result<S> {
        match self.0 {}
    }
}

/// Refuses, where the options ask for certificates.
pub(crate) fn protection(tls: &Tls, _: IpAddr) -> Result<Option<Protection>, ServeError> {
    let path: &Path = match tls {
        Tls::Off => return Ok(None),
        Tls::Files { cert, .. } => cert,
        Tls::SelfSigned { folder } => folder,
    };
    Err(ServeError::Tls { path: path.to_owned(), why: assay_spec::left_out("TLS, so no pages over https") })
}
