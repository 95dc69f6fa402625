//! Servers that send false answers: an iSCSI target ([`target`]) and an NFS server ([`nfs`]), and a table of *lies* for
//! each. A lie receives every correct answer before it is sent and can change, duplicate, delay or drop it.
//!
//! They share no code with Assay's clients, not even the layout of a header, so that a mistake cannot hide in both. A
//! test goes through the rows of a table; each row states what must hold ([`Kept`]).

pub mod nfs;
pub mod nfs_lies;
mod nfs_wire;
pub mod story;
pub mod target;
pub mod target_lies;

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Interval at which a server checks whether it has to stop.
const LOOK: Duration = Duration::from_millis(20);

/// What must hold for a client that gets a lie. In all cases it finishes in bounded time, does not panic, completes
/// every I/O once, and never returns wrong data as correct.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// Every I/O is correct: the lie is tolerable, or is temporary.
    Right,
    /// Every I/O is correct, and the client reports the lie: its events contain one of these words.
    RightAndSaid(&'static [&'static str]),
    /// An I/O or the connect fails, and errors or events contain one of these words.
    Fails(&'static [&'static str]),
    /// Either is correct, because it depends on timing.
    Either,
}

/// An action of a server instead of a correct answer.
#[derive(Debug, Clone)]
pub enum Act {
    /// Sends these bytes.
    Bytes(Vec<u8>),
    /// Sends these bytes one at a time with this pause between two.
    Drip(Vec<u8>, Duration),
    /// Sends these bytes repeatedly, as fast as possible, until the client closes the connection.
    Endless(Vec<u8>),
    /// Pauses without reading.
    Pause(Duration),
    /// Closes the connection.
    HangUp,
    /// From now on reads everything and answers nothing.
    Mute,
}

/// The end of a conversation.
#[derive(Debug)]
pub(crate) struct Over;

/// A thread that accepts connections, each served by its own thread.
#[derive(Debug)]
pub(crate) struct Listening {
    pub(crate) address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Listening {
    /// Starts listening. `serve` gets each connection and its number.
    pub(crate) fn start(serve: impl Fn(Line, u32) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, serve) = (stop.clone(), Arc::new(serve));
        let thread = std::thread::spawn(move || {
            let (mut threads, count) = (Vec::new(), AtomicU32::new(0));
            while !stopped.load(Ordering::SeqCst) {
                match listener.accept() {
                    Ok((stream, _)) => {
                        let line = Line::new(stream, stopped.clone());
                        let (serve, number) = (serve.clone(), count.fetch_add(1, Ordering::SeqCst));
                        threads.push(std::thread::spawn(move || serve(line, number)));
                    }
                    Err(_) => std::thread::sleep(Duration::from_millis(2)),
                }
            }
            for thread in threads {
                // A panic of the server fails the test that joins it.
                thread.join().unwrap();
            }
        });
        Self { address, stop, thread: Some(thread) }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "a lying server panicked");
        }
    }
}

/// One connection, from the server's side.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) stream: TcpStream,
    stop: Arc<AtomicBool>,
    is_mute: bool,
}

impl Line {
    fn new(stream: TcpStream, stop: Arc<AtomicBool>) -> Self {
        stream.set_nonblocking(false).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(LOOK)).unwrap();
        stream.set_write_timeout(Some(LOOK)).unwrap();
        Self { stream, stop, is_mute: false }
    }

    /// Returns the port that the client connected to.
    fn port(&self) -> u16 {
        self.stream.local_addr().unwrap().port()
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// Reads exactly this many bytes.
    fn read(&mut self, bytes: usize) -> Result<Vec<u8>, Over> {
        let (mut data, mut filled) = (vec![0; bytes], 0);
        while filled < bytes {
            match self.stream.read(&mut data[filled..]) {
                Ok(0) => return Err(Over),
                Ok(got) => filled += got,
                Err(error) if is_wait(&error) && !self.is_stopped() => {}
                Err(_) => return Err(Over),
            }
        }
        Ok(data)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Over> {
        let mut written = 0;
        while written < bytes.len() {
            match self.stream.write(&bytes[written..]) {
                Ok(0) => return Err(Over),
                Ok(some) => written += some,
                Err(error) if is_wait(&error) && !self.is_stopped() => {}
                Err(_) => return Err(Over),
            }
        }
        Ok(())
    }

    fn sleep(&self, time: Duration) -> Result<(), Over> {
        let mut left = time;
        while !left.is_zero() {
            if self.is_stopped() {
                return Err(Over);
            }
            let some = left.min(LOOK);
            std::thread::sleep(some);
            left -= some;
        }
        Ok(())
    }

    fn act(&mut self, act: Act) -> Result<(), Over> {
        if self.is_mute {
            return Ok(());
        }
        match act {
            Act::Bytes(bytes) => self.write(&bytes),
            Act::Drip(bytes, pause) => bytes.iter().try_for_each(|byte| {
                self.write(&[*byte])?;
                self.sleep(pause)
            }),
            Act::Endless(bytes) => loop {
                self.write(&bytes)?;
                if self.is_stopped() {
                    return Err(Over);
                }
            },
            Act::Pause(time) => self.sleep(time),
            Act::HangUp => Err(Over),
            Act::Mute => {
                self.is_mute = true;
                Ok(())
            }
        }
    }
}

pub(crate) fn is_wait(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}
