//! A scripted server, for behaviour that no correct server shows (silence, invalid data, short answers). It implements
//! just enough NFS for that; everything that ganesha can do is tested against ganesha.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub const DISK_BYTES: usize = 1 << 20;
pub const READ: u32 = 6;
pub const WRITE: u32 = 7;
pub const COMMIT: u32 = 21;

/// Reaction of the server to a READ, WRITE or COMMIT.
#[derive(Clone, Debug)]
pub enum Answer {
    Good,
    /// At most this many bytes are read or written.
    Short(u32),
    /// Nothing is read, and the file does not end.
    Nothing,
    Status(u32),
    /// The correct answer in fragments of this many bytes.
    Fragments(usize),
    /// The same answer twice, after an answer to a call that was never made.
    Twice,
    /// More data than requested.
    TooMuch,
    /// Answered with this `stable_how`.
    Stable(u32),
    /// Refused by RPC: credentials too weak.
    Auth,
    Never,
    Hang,
    /// These bytes instead of a record.
    Bytes(Vec<u8>),
    /// Sends these bytes for ever, as fast as possible.
    Flood(Vec<u8>),
    /// The correct answer, one byte every 40 ms, and then the next: the connection is never silent.
    Drip,
    /// The correct answer with one byte changed: its position in the record, marks included, and the change.
    Flipped(usize, u8),
}

/// A call as received by the server.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    pub procedure: u32,
    pub xid: u32,
    pub port: u16,
    pub offset: u64,
    pub bytes: u32,
}

type Script = Box<dyn Fn(u32, u32) -> Answer + Send + Sync>;

pub struct Stage {
    script: Script,
    pub seen: Mutex<Vec<Seen>>,
    pub disk: Mutex<Vec<u8>>,
    pub verifier: AtomicU32,
    /// Connections are accepted, but nothing is answered any more, including pings.
    pub is_mute: AtomicBool,
    /// Connections are accepted and closed.
    pub closes: AtomicBool,
    stop: AtomicBool,
}

pub struct Scripted {
    pub address: SocketAddr,
    pub stage: Arc<Stage>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Scripted {
    /// Starts a server. `script` is called for every READ, WRITE and COMMIT with the procedure and the number of
    /// earlier ones.
    pub fn start(script: impl Fn(u32, u32) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let stage = Arc::new(Stage {
            script: Box::new(script),
            seen: Mutex::new(Vec::new()),
            disk: Mutex::new(vec![0; DISK_BYTES]),
            verifier: AtomicU32::new(1),
            is_mute: AtomicBool::new(false),
            closes: AtomicBool::new(false),
            stop: AtomicBool::new(false),
        });
        let shared = stage.clone();
        let thread = std::thread::spawn(move || {
            let count = Arc::new(AtomicU32::new(0));
            let mut threads = Vec::new();
            while !shared.stop.load(Ordering::SeqCst) {
                match listener.accept() {
                    Ok(_) if shared.closes.load(Ordering::SeqCst) => {}
                    Ok((stream, peer)) => {
                        let (stage, count) = (shared.clone(), count.clone());
                        threads.push(std::thread::spawn(move || serve(stream, peer, &stage, &count)));
                    }
                    Err(_) => std::thread::sleep(Duration::from_millis(2)),
                }
            }
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
        Self { address, stage, thread: Some(thread) }
    }

    pub fn seen(&self, procedure: u32) -> Vec<Seen> {
        let all = self.stage.seen.lock().unwrap();
        all.iter().filter(|seen| seen.procedure == procedure).copied().collect()
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.stage.stop.store(true, Ordering::SeqCst);
        self.thread.take().unwrap().join().unwrap();
    }
}

/// Reads exactly this many bytes; `None` at the end of the connection or the test.
fn read(stream: &mut TcpStream, stage: &Stage, bytes: usize) -> Option<Vec<u8>> {
    let (mut data, mut filled) = (vec![0; bytes], 0);
    while filled < bytes {
        match stream.read(&mut data[filled..]) {
            Ok(0) => return None,
            Ok(got) => filled += got,
            Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock) => {
                if stage.stop.load(Ordering::SeqCst) {
                    return None;
                }
            }
            Err(_) => return None,
        }
    }
    Some(data)
}

/// Writes until the end of the connection or the test.
fn write(stream: &mut TcpStream, stage: &Stage, bytes: &[u8]) -> Option<()> {
    stream.set_write_timeout(Some(Duration::from_millis(20))).unwrap();
    let mut written = 0;
    while written < bytes.len() {
        match stream.write(&bytes[written..]) {
            Ok(count) => written += count,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => return None,
        }
        if stage.stop.load(Ordering::SeqCst) {
            return None;
        }
    }
    Some(())
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn record(message: &[u8]) -> Vec<u8> {
    let mut record = words(&[u32::try_from(message.len()).unwrap() | 1 << 31]);
    record.extend_from_slice(message);
    record
}

fn serve(mut stream: TcpStream, peer: SocketAddr, stage: &Stage, count: &AtomicU32) {
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    while let Some(mark) = read(&mut stream, stage, 4) {
        let Some(call) = read(&mut stream, stage, (word(&mark, 0) & !(1 << 31)) as usize) else { return };
        let (xid, procedure) = (word(&call, 0), word(&call, 20));
        if stage.is_mute.load(Ordering::SeqCst) {
            continue;
        }
        if stage.closes.load(Ordering::SeqCst) {
            return;
        }
        if procedure == 0 {
            let _ = stream.write_all(&record(&words(&[xid, 1, 0, 0, 0, 0])));
            continue;
        }
        let credentials = word(&call, 28) as usize;
        // Empty verifier, then a handle of eight bytes.
        let at = 32 + credentials + 8 + 12;
        let offset = u64::from(word(&call, at)) << 32 | u64::from(word(&call, at + 4));
        let seen = Seen { procedure, xid, port: peer.port(), offset, bytes: word(&call, at + 8) };
        stage.seen.lock().unwrap().push(seen);
        let answer = (stage.script)(procedure, count.fetch_add(1, Ordering::SeqCst));
        match answer {
            Answer::Never => {}
            Answer::Hang => return,
            Answer::Bytes(bytes) => drop(stream.write_all(&bytes)),
            Answer::Flood(bytes) => while write(&mut stream, stage, &bytes).is_some() {},
            Answer::Drip => {
                let record = reply(seen, &Answer::Good, &call[at..], stage);
                for byte in record.chunks(1).cycle() {
                    std::thread::sleep(Duration::from_millis(40));
                    if write(&mut stream, stage, byte).is_none() {
                        return;
                    }
                }
            }
            answer => drop(stream.write_all(&reply(seen, &answer, &call[at..], stage))),
        }
    }
}

/// Returns a complete record, marks included.
fn reply(seen: Seen, answer: &Answer, arguments: &[u8], stage: &Stage) -> Vec<u8> {
    let accepted = words(&[seen.xid, 1, 0, 0, 0, 0]);
    match answer {
        Answer::Auth => record(&words(&[seen.xid, 1, 1, 1, 5])),
        Answer::Status(status) => record(&[accepted, words(&[*status, 0, 0])].concat()),
        Answer::Fragments(size) => {
            let message = [accepted, results(seen, answer, arguments, stage)].concat();
            let last = message.len().div_ceil(*size) - 1;
            let mark = |index, piece: &[u8]| {
                words(&[u32::try_from(piece.len()).unwrap() | u32::from(index == last) << 31])
            };
            message
                .chunks(*size)
                .enumerate()
                .flat_map(|(i, piece)| [mark(i, piece), piece.to_vec()].concat())
                .collect()
        }
        Answer::Twice => {
            let good = record(&[accepted, results(seen, answer, arguments, stage)].concat());
            let stray = record(&words(&[seen.xid ^ 0x4000_0000, 1, 0, 0, 0, 0, 0, 0, 4, 1, 4, 0]));
            [stray, good.clone(), good].concat()
        }
        Answer::Flipped(at, how) => {
            let mut good = record(&[accepted, results(seen, answer, arguments, stage)].concat());
            let at = at % good.len();
            good[at] ^= how;
            good
        }
        _ => record(&[accepted, results(seen, answer, arguments, stage)].concat()),
    }
}

fn results(seen: Seen, answer: &Answer, arguments: &[u8], stage: &Stage) -> Vec<u8> {
    let mut disk = stage.disk.lock().unwrap();
    let from = usize::try_from(seen.offset).unwrap_or(usize::MAX).min(DISK_BYTES);
    let asked = match answer {
        Answer::Short(most) => seen.bytes.min(*most),
        Answer::Nothing => 0,
        _ => seen.bytes,
    };
    let to = from.saturating_add(asked as usize).min(DISK_BYTES);
    let verifier = [stage.verifier.load(Ordering::SeqCst), 7];
    match seen.procedure {
        READ => {
            let mut data = disk[from..to].to_vec();
            let is_end = to == DISK_BYTES && !matches!(answer, Answer::Nothing);
            if matches!(answer, Answer::TooMuch) {
                data.extend([0; 4096]);
            }
            let length = u32::try_from(data.len()).unwrap();
            data.resize(data.len().next_multiple_of(4), 0);
            [words(&[0, 0, length, u32::from(is_end), length]), data].concat()
        }
        WRITE => {
            let written = to - from;
            disk[from..to].copy_from_slice(&arguments[20..20 + written]);
            let asked_stable = word(arguments, 12);
            let stable = if let Answer::Stable(stable) = answer { *stable } else { asked_stable };
            words(&[0, 0, 0, u32::try_from(written).unwrap(), stable, verifier[0], verifier[1]])
        }
        _ => words(&[0, 0, 0, verifier[0], verifier[1]]),
    }
}
