//! A proxy in front of an NFS server that follows a script: it passes a call on, loses the connection, or lets a call
//! be executed later, as by a server thread that stalls, loses its client and wakes up.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Procedure number of WRITE in NFS version 3.
pub const WRITE: u32 = 7;

/// Mark of the last fragment of a record.
const LAST_FRAGMENT: u32 = 1 << 31;

/// A call of a client.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    /// Local port of the client's connection.
    pub client_port: u16,
    /// Number of the procedure; 0 is a ping.
    pub procedure: u32,
    /// Transaction number.
    pub xid: u32,
    /// Bytes of the whole call.
    pub bytes: usize,
}

/// What happens to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// It goes to the server.
    Pass,
    /// Its connection ends; the server never sees it.
    Cut,
    /// Its connection ends, and the server executes it after this time.
    Late(Duration),
}

type Script = dyn Fn(Call) -> Act + Send + Sync;

/// A proxy in front of one NFS service. Stops on drop.
pub struct NfsProxy {
    /// Port on loopback.
    pub port: u16,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    server_port: u16,
    script: Box<Script>,
    stop: AtomicBool,
    late_count: AtomicU64,
}

impl NfsProxy {
    /// Starts a proxy in front of the service at `server_port` on loopback; `script` decides about each call.
    ///
    /// # Panics
    /// If it cannot listen.
    pub fn start(server_port: u16, script: impl Fn(Call) -> Act + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            server_port,
            script: Box::new(script),
            stop: AtomicBool::new(false),
            late_count: AtomicU64::new(0),
        });
        let of_thread = shared.clone();
        let thread = std::thread::spawn(move || accept(&listener, &of_thread));
        Self { port, shared, thread: Some(thread) }
    }

    /// Number of calls that the server executed late.
    pub fn late_count(&self) -> u64 {
        self.shared.late_count.load(Ordering::SeqCst)
    }
}

impl Drop for NfsProxy {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        self.thread.take().unwrap().join().unwrap();
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut threads = Vec::new();
    while !shared.stop.load(Ordering::SeqCst) {
        let Ok((near, peer)) = listener.accept() else {
            std::thread::sleep(Duration::from_millis(2));
            continue;
        };
        let Ok(far) = connect(shared.server_port) else { continue };
        near.set_nonblocking(false).unwrap();
        let _ = near.set_read_timeout(Some(Duration::from_millis(20)));
        let (answers, back) = (far.try_clone().unwrap(), near.try_clone().unwrap());
        threads.push(std::thread::spawn(move || pass_back(answers, back)));
        let of_thread = shared.clone();
        threads.push(std::thread::spawn(move || {
            let late = serve(&near, &far, peer.port(), &of_thread);
            let _ = (near.shutdown(Shutdown::Both), far.shutdown(Shutdown::Both));
            if let Some((record, after)) = late {
                execute_late(&record, after, &of_thread);
            }
        }));
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

fn connect(port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn pass_back(mut from: TcpStream, mut to: TcpStream) {
    let _ = io::copy(&mut from, &mut to);
    let _ = (to.shutdown(Shutdown::Both), from.shutdown(Shutdown::Both));
}

/// Passes calls on until the connection ends; returns the call that is executed later, if one is.
fn serve(near: &TcpStream, mut far: &TcpStream, port: u16, shared: &Shared) -> Option<(Vec<u8>, Duration)> {
    while let Some(record) = read_record(near, shared) {
        let call = Call {
            client_port: port,
            xid: word(&record, 4),
            procedure: word(&record, 24),
            bytes: record.len() - 4,
        };
        match (shared.script)(call) {
            Act::Pass => far.write_all(&record).ok()?,
            Act::Cut => return None,
            Act::Late(after) => return Some((record, after)),
        }
    }
    None
}

fn execute_late(record: &[u8], after: Duration, shared: &Shared) {
    std::thread::sleep(after);
    let mut answer = [0; 4];
    let executed = connect(shared.server_port)
        .and_then(|mut stream| stream.write_all(record).and_then(|()| stream.read_exact(&mut answer)));
    shared.late_count.fetch_add(u64::from(executed.is_ok()), Ordering::SeqCst);
}

/// Returns a record of one fragment with its mark; `None` at the end of the connection or the test.
fn read_record(stream: &TcpStream, shared: &Shared) -> Option<Vec<u8>> {
    let mut record = vec![0; 4];
    fill(stream, &mut record, shared)?;
    let bytes = (word(&record, 0) & !LAST_FRAGMENT) as usize;
    record.resize(4 + bytes, 0);
    fill(stream, &mut record[4..], shared)?;
    Some(record)
}

fn fill(mut stream: &TcpStream, buffer: &mut [u8], shared: &Shared) -> Option<()> {
    let mut filled = 0;
    while filled < buffer.len() && !shared.stop.load(Ordering::SeqCst) {
        match stream.read(&mut buffer[filled..]) {
            Ok(0) => return None,
            Ok(got) => filled += got,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(_) => return None,
        }
    }
    (filled == buffer.len()).then_some(())
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}
