//! What a server must show before anything is said to it.

use std::path::Path;

use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};

/// Returns what makes encrypted connections to servers with a certificate of these authorities, or of the system's.
pub(super) fn connector(root_certificates: Option<&Path>) -> Result<MakeRustlsConnect, String> {
    let mut roots = RootCertStore::empty();
    match root_certificates {
        Some(path) => {
            let wrong = |why: &dyn std::fmt::Display| format!("sslrootcert={}: {why}", path.display());
            for certificate in CertificateDer::pem_file_iter(path).map_err(|error| wrong(&error))? {
                let certificate = certificate.map_err(|error| wrong(&error))?;
                roots.add(certificate).map_err(|error| wrong(&error))?;
            }
            if roots.is_empty() {
                return Err(wrong(&"there is no certificate in it"));
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    let config = ClientConfig::builder_with_provider(crypto::ring::default_provider().into())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}
