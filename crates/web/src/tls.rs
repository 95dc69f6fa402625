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
use crate::named;
use crate::options::Tls;

/// The longest file of certificates, bytes.
const PEM_BYTES_MAX: u64 = 1 << 20;

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
    let text = |path: &Path| named::read(path, PEM_BYTES_MAX).map_err(|error| fail(path, &error));
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(text(&cert)?.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|error| fail(&cert, &error))?;
    let Some(first) = chain.first() else { return Err(fail(&cert, &"it contains no certificate")) };
    let digest = Sha256::digest(first);
    let fingerprint = digest.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":");
    let private =
        PrivateKeyDer::from_pem_slice(text(&key)?.as_bytes()).map_err(|error| fail(&key, &error))?;
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
    for (there, other) in [(&cert, &key), (&key, &cert)] {
        if there.symlink_metadata().is_ok() {
            let why = format!("{} is missing beside it; put it back, or remove both", other.display());
            return Err(fail(there, why));
        }
    }
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    names.extend(Some(host.trim().to_owned()).filter(|host| !host.is_empty()));
    names.extend((!listen.is_unspecified()).then(|| listen.to_string()));
    names.dedup();
    let made = rcgen::generate_simple_self_signed(names).map_err(|error| fail(&cert, error.to_string()))?;
    std::fs::create_dir_all(folder).map_err(|error| fail(folder, error.to_string()))?;
    write(&key, &made.signing_key.serialize_pem(), 0o600).map_err(|error| fail(&key, error.to_string()))?;
    write(&cert, &made.cert.pem(), 0o644).map_err(|error| {
        // A key alone would be in the way of the next start.
        let _ = std::fs::remove_file(&key);
        fail(&cert, error.to_string())
    })?;
    Ok((cert, key))
}

/// Writes a new file whole, or leaves none.
fn write(path: &Path, text: &str, mode: u32) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(text.as_bytes()).inspect_err(|_| {
        let _ = std::fs::remove_file(path);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_made_once_and_half_of_one_is_never_overwritten() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let listen = IpAddr::from([192, 0, 2, 1]);
        let made = || protection(&Tls::SelfSigned { folder: folder.path().to_owned() }, listen);
        let first = made().expect("it is made").expect("TLS").fingerprint;
        assert_eq!(made().expect("it is read").expect("TLS").fingerprint, first);
        let (cert, key) = (folder.path().join("serve-cert.pem"), folder.path().join("serve-key.pem"));
        let text = std::fs::read(&key).expect("the key");
        std::fs::remove_file(&cert).expect("it is ours");
        let says = made().err().expect("a key without its certificate").to_string();
        assert!(says.ends_with("serve-cert.pem is missing beside it; put it back, or remove both"), "{says}");
        assert_eq!(std::fs::read(&key).expect("the key"), text);
    }
}
