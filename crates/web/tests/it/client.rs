//! A client that sends anything, also what no browser sends.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// Longest wait for an answer: a server that does not answer fails the test here.
const PATIENCE: Duration = Duration::from_secs(30);

/// What was answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Connects, with TLS where there is a certificate to trust.
pub(crate) fn connect(address: SocketAddr, trusted: Option<&Path>) -> Box<dyn Stream> {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    let Some(certificate) = trusted else { return Box::new(stream) };
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(certificate).unwrap()).unwrap();
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    Box::new(StreamOwned::new(connection, stream))
}

pub(crate) trait Stream: Read + Write {}
impl<S: Read + Write> Stream for S {}

/// Sends a request as it stands, and reads the answer. A server may close before it has read everything.
pub(crate) fn exchange(stream: &mut dyn Stream, request: &[u8]) -> Option<Answer> {
    let _ = stream.write_all(request);
    let _ = stream.flush();
    read(stream)
}

/// Reads an answer; `None` if the connection was closed without one.
pub(crate) fn read(stream: &mut dyn Stream) -> Option<Answer> {
    let (mut bytes, mut whole) = (Vec::new(), None);
    let mut buffer = [0; 16 << 10];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
        }
        // Its head is looked at once: an answer may have megabytes.
        whole = whole.or_else(|| {
            let head = bytes.windows(HEAD_END.len()).position(|end| end == HEAD_END)? + HEAD_END.len();
            parsed(&bytes[..head]).map(|(_, length)| length.map(|length| head + length))
        });
        if whole == Some(Some(bytes.len())) {
            break;
        }
    }
    parsed(&bytes).map(|(answer, _)| answer)
}

/// What ends the head of an answer.
const HEAD_END: &[u8] = b"\r\n\r\n";

/// The answer so far, and how long its body will be.
fn parsed(bytes: &[u8]) -> Option<(Answer, Option<usize>)> {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length").and_then(|(_, v)| v.parse().ok());
    Some((Answer { status, headers, body: body.to_owned() }, length))
}
