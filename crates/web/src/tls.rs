//! Certificates: given ones, or one that is made here.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::error::ServeError;
use crate::options::Tls;

/// What a server with TLS needs.
pub(crate) struct Protection {
    pub(crate) acceptor: TlsAcceptor,
    /// SHA-256 of the certificate, as browsers show it.
    pub(crate) fingerprint: String,
}

/// Returns what the options ask for; `None` without TLS.
pub(crate) fn protection(tls: &Tls, listen: IpAddr) -> Result<Option<Protection>, ServeError> {
    let (cert, key) = match tls {
        Tls::Off => return Ok(None),
        Tls::Files { cert, key } => (cert.clone(), key.clone()),
        Tls::SelfSigned { folder } => self_signed(folder, listen)?,
    };
    let fail = |path: &Path, why: &dyn std::fmt::Display| ServeError::Tls {
        path: path.to_owned(),
        why: why.to_string(),
    };
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(&cert)
        .and_then(Iterator::collect)
        .map_err(|error| fail(&cert, &error))?;
    let Some(first) = chain.first() else { return Err(fail(&cert, &"it contains no certificate")) };
    let digest = Sha256::digest(first);
    let fingerprint = digest.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":");
    let private = PrivateKeyDer::from_pem_file(&key).map_err(|error| fail(&key, &error))?;
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, private);
    let mut config = config.map_err(|error| fail(&cert, &error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Some(Protection { acceptor: TlsAcceptor::from(Arc::new(config)), fingerprint }))
}

/// Returns the certificate that is kept there, created if there is none: a browser has to accept it once.
fn self_signed(folder: &Path, listen: IpAddr) -> Result<(PathBuf, PathBuf), ServeError> {
    let (cert, key) = (folder.join("serve-cert.pem"), folder.join("serve-key.pem"));
    if cert.is_file() && key.is_file() {
        return Ok((cert, key));
    }
    let fail = |path: &Path, why: String| ServeError::Tls { path: path.to_owned(), why };
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    names.extend(Some(host.trim().to_owned()).filter(|host| !host.is_empty()));
    names.extend((!listen.is_unspecified()).then(|| listen.to_string()));
    names.dedup();
    let made = rcgen::generate_simple_self_signed(names).map_err(|error| fail(&cert, error.to_string()))?;
    std::fs::create_dir_all(folder).map_err(|error| fail(folder, error.to_string()))?;
    write(&key, &made.signing_key.serialize_pem(), 0o600).map_err(|error| fail(&key, error.to_string()))?;
    write(&cert, &made.cert.pem(), 0o644).map_err(|error| fail(&cert, error.to_string()))?;
    Ok((cert, key))
}

fn write(path: &Path, text: &str, mode: u32) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(path)?;
    file.write_all(text.as_bytes())
}
