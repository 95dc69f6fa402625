//! A TCP proxy in front of a server: forwards bytes, and can cut, refuse, drop or corrupt them.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

const PASS: u8 = 0;
const CUT: u8 = 1;
const SILENT: u8 = 2;
const DAMAGE_ONCE: u8 = 3;

/// A proxy in front of one portal. Stops on drop.
#[derive(Debug)]
pub struct Proxy {
    /// Portal: `ADDRESS:PORT`.
    pub portal: String,
    mode: Arc<AtomicU8>,
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Proxy {
    /// Starts a proxy that forwards everything to `host:port`.
    ///
    /// # Panics
    /// If it cannot listen.
    pub fn start(to: &str) -> Self {
        Self::at("127.0.0.1:0", to)
    }

    /// Starts a proxy that listens at `portal`; port 0 means any free one.
    ///
    /// # Panics
    /// If it cannot listen.
    pub fn at(portal: &str, to: &str) -> Self {
        let listener = TcpListener::bind(portal).unwrap();
        listener.set_nonblocking(true).unwrap();
        let portal = listener.local_addr().unwrap().to_string();
        let (mode, stop) = (Arc::new(AtomicU8::new(PASS)), Arc::new(AtomicBool::new(false)));
        let (to, thread_mode, thread_stop) = (to.to_owned(), mode.clone(), stop.clone());
        let thread = std::thread::spawn(move || serve(&listener, &to, &thread_mode, &thread_stop));
        Self { portal, mode, stop, thread: Some(thread) }
    }

    /// Breaks all connections and refuses new ones.
    pub fn cut(&self) {
        self.mode.store(CUT, Ordering::SeqCst);
    }

    /// Keeps connections open but forwards nothing.
    pub fn silence(&self) {
        self.mode.store(SILENT, Ordering::SeqCst);
    }

    /// Flips one bit in the next bytes from the target, once.
    pub fn damage_once(&self) {
        self.mode.store(DAMAGE_ONCE, Ordering::SeqCst);
    }

    /// Resumes forwarding. Bytes dropped while silent are lost, so old connections are closed first.
    pub fn restore(&self) {
        self.cut();
        std::thread::sleep(Duration::from_millis(50));
        self.mode.store(PASS, Ordering::SeqCst);
    }
}

fn serve(listener: &TcpListener, to: &str, mode: &Arc<AtomicU8>, stop: &Arc<AtomicBool>) {
    let mut threads = Vec::new();
    while !stop.load(Ordering::SeqCst) {
        let Ok((near, _)) = listener.accept() else {
            std::thread::sleep(Duration::from_millis(5));
            continue;
        };
        if mode.load(Ordering::SeqCst) == CUT {
            continue;
        }
        let Ok(far) = TcpStream::connect(to) else { continue };
        let ways = [(near.try_clone().unwrap(), far.try_clone().unwrap(), false), (far, near, true)];
        for (from, to, is_answer) in ways {
            let (mode, stop) = (mode.clone(), stop.clone());
            threads.push(std::thread::spawn(move || pass_on(from, to, is_answer, &mode, &stop)));
        }
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, is_answer: bool, mode: &AtomicU8, stop: &AtomicBool) {
    from.set_nonblocking(false).unwrap();
    to.set_nodelay(true).unwrap();
    from.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
    let mut buffer = vec![0; 64 * 1024];
    while !stop.load(Ordering::SeqCst) && mode.load(Ordering::SeqCst) != CUT {
        let got = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(got) => got,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => continue,
            Err(_) => break,
        };
        let damages =
            is_answer && mode.compare_exchange(DAMAGE_ONCE, PASS, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        if damages {
            buffer[got / 2] ^= 0x10;
        }
        if mode.load(Ordering::SeqCst) != SILENT && to.write_all(&buffer[..got]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        self.thread.take().unwrap().join().unwrap();
    }
}
