//! An iSCSI target that is faster than an initiator asks: a disk in memory, one thread for each connection, and one
//! write for the responses to everything that one read brought. With it a bench measures initiators, not storage.

use std::collections::HashMap;
use std::io::{IoSlice, Read as _, Write as _};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

pub use crate::iscsi_wire::Pdu;
use crate::iscsi_wire::{
    COMMAND, DATA_OUT, Digests, LOGIN, LOGOUT, Limits, MANAGEMENT, NO_TAG, Numbers, TEXT,
};
use crate::lying::{Line, Listening, Over, is_wait};
use crate::unit::{self, Answer, BLOCK_BYTES, Unit};

/// The name of the target; its disk is LUN 0.
pub const NAME: &str = "iqn.2026-11.example:lean";

const LIMITS: Limits = Limits {
    digests: Digests::None,
    segment_bytes: 256 * 1024,
    first_burst_bytes: 64 * 1024,
    burst_bytes: 256 * 1024,
};
/// Space for what one read may bring: several PDUs of the longest kind.
const INBOX_BYTES: usize = 1 << 20;
/// Number of commands that an initiator may have in flight.
const WINDOW: u32 = 1024;
/// A longer wait is not that of a connection under load.
const LOADED: Duration = Duration::from_millis(1);

/// A running target. Stops on drop.
#[derive(Debug)]
pub struct LeanTarget {
    /// `host:port`.
    pub portal: String,
    shared: Arc<Shared>,
    _listening: Listening,
}

/// What a target has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// Number of READs and WRITEs.
    pub commands: u64,
    /// Time for which connections under load waited for the initiator, ns.
    pub waited_ns: u64,
}

#[derive(Debug)]
struct Shared {
    disk: RwLock<Vec<u8>>,
    unit: Unit,
    cpu: Option<usize>,
    commands: AtomicU64,
    waited_ns: AtomicU64,
}

impl LeanTarget {
    /// Starts a target with a disk of `bytes`, filled with random data. Its connections are served on `cpu`, or
    /// anywhere.
    ///
    /// # Panics
    /// If the address space is too small for the disk, or loopback has no free port.
    pub fn start(bytes: usize, cpu: Option<usize>) -> Self {
        let shared = Arc::new(Shared {
            unit: Unit {
                blocks: (bytes / BLOCK_BYTES) as u64,
                product: "LEAN DISK",
                number: 1,
                serial: "LEAN-00001".to_owned(),
            },
            disk: RwLock::new(random(bytes)),
            cpu,
            commands: AtomicU64::new(0),
            waited_ns: AtomicU64::new(0),
        });
        let served = shared.clone();
        let listening = Listening::start(move |line, _| {
            let _ = Connection::new(line, &served).serve();
        });
        Self { portal: listening.address.to_string(), shared, _listening: listening }
    }

    /// Returns what it has done so far.
    pub fn work(&self) -> Work {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Work { commands: of(&self.shared.commands), waited_ns: of(&self.shared.waited_ns) }
    }
}

fn random(bytes: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut data = vec![0; bytes];
    data.chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&next().to_le_bytes()));
    data
}

/// A piece of what is to be sent.
#[derive(Debug)]
enum Piece {
    /// Bytes of the outbox.
    Own(Range<usize>),
    /// Bytes of the disk.
    Disk(Range<usize>),
}

/// A WRITE whose data have not all arrived.
#[derive(Debug)]
struct Write {
    request: Pdu,
    range: Range<usize>,
    filled: usize,
}

struct Connection<'a> {
    line: Line,
    shared: &'a Shared,
    numbers: Numbers,
    /// Longest data segment that the initiator accepts, bytes.
    segment_bytes: usize,
    writes: HashMap<u32, Write>,

    outbox: Vec<u8>,
    pieces: Vec<Piece>,
}

impl<'a> Connection<'a> {
    fn new(line: Line, shared: &'a Shared) -> Self {
        let numbers = Numbers { stat_sn: 1, exp_cmd_sn: 1, window: WINDOW };
        let (outbox, pieces) = (Vec::new(), Vec::new());
        Self { line, shared, numbers, segment_bytes: 8192, writes: HashMap::new(), outbox, pieces }
    }

    fn serve(mut self) -> Result<(), Over> {
        if let Some(cpu) = self.shared.cpu {
            let mut cpus = CpuSet::new();
            cpus.set(cpu).unwrap();
            sched_setaffinity(Pid::from_raw(0), &cpus).unwrap();
        }
        let (mut inbox, mut start, mut end) = (vec![0; INBOX_BYTES], 0, 0);
        loop {
            end += self.wait(&mut inbox[end..])?;
            while let Some((request, data)) = next(&inbox[start..end]) {
                start += 48 + data.len().next_multiple_of(4);
                self.answer(&request, data)?;
            }
            if start == end {
                (start, end) = (0, 0);
            } else if start > INBOX_BYTES / 2 {
                inbox.copy_within(start..end, 0);
                (start, end) = (0, end - start);
            }
            self.flush()?;
        }
    }

    /// Waits for requests.
    fn wait(&mut self, space: &mut [u8]) -> Result<usize, Over> {
        loop {
            let began = Instant::now();
            match self.line.stream.read(space) {
                Ok(0) => return Err(Over),
                Ok(bytes) => {
                    let waited = began.elapsed();
                    if waited < LOADED {
                        let ns = u64::try_from(waited.as_nanos()).unwrap();
                        self.shared.waited_ns.fetch_add(ns, Ordering::Relaxed);
                    }
                    return Ok(bytes);
                }
                Err(error) if is_wait(&error) && !self.line.is_stopped() => {}
                Err(_) => return Err(Over),
            }
        }
    }

    fn answer(&mut self, request: &Pdu, data: &[u8]) -> Result<(), Over> {
        self.numbers.received(request);
        match request.opcode() {
            COMMAND => self.command(request, data),
            DATA_OUT => self.data_out(request, data),
            LOGIN => {
                let text = String::from_utf8_lossy(data);
                let own = text.split('\0').find_map(|pair| pair.strip_prefix("MaxRecvDataSegmentLength="));
                self.segment_bytes = own.map_or(self.segment_bytes, |bytes| bytes.parse().unwrap());
                let pdu = self.numbers.login(request, &LIMITS);
                self.push(&pdu);
            }
            // A ping, unless it only answers one.
            0 if request.word(16) != NO_TAG => {
                let pdu = self.numbers.reply(0x20, request).with(20, NO_TAG);
                self.push(&pdu);
            }
            MANAGEMENT => {
                let pdu = self.numbers.reply(0x22, request);
                self.push(&pdu);
            }
            TEXT => {
                let mut pdu = self.numbers.reply(0x24, request).with(20, NO_TAG);
                let portal = self.line.stream.local_addr().map_err(|_| Over)?;
                pdu.data = format!("TargetName={NAME}\0TargetAddress={portal},1\0").into_bytes();
                self.push(&pdu);
            }
            LOGOUT => {
                let pdu = self.numbers.reply(0x26, request);
                self.push(&pdu);
            }
            _ => {}
        }
        Ok(())
    }

    fn command(&mut self, request: &Pdu, data: &[u8]) {
        let cdb = &request.header[32..48];
        match cdb[0] {
            0x28 | 0x88 | 0x2a | 0x8a => {
                self.shared.commands.fetch_add(1, Ordering::Relaxed);
                let Some(range) = unit::range(cdb, self.shared.unit.blocks) else {
                    return self.status(request, 2, &unit::sense(5, 0x21, 0));
                };
                if matches!(cdb[0], 0x28 | 0x88) {
                    return self.read(request, range);
                }
                let mut write = Write { request: request.clone(), range, filled: 0 };
                write.put(self.shared, 0, data);
                self.go_on(write);
            }
            _ => match self.shared.unit.look(cdb) {
                Answer::Data(bytes) => self.data_in(request, &bytes),
                Answer::Status(status, sense) => self.status(request, status, &sense),
            },
        }
    }

    /// Answers a READ with its data in as few PDUs as possible, the last one with the status.
    fn read(&mut self, request: &Pdu, range: Range<usize>) {
        let mut at = range.start;
        let mut count = 0;
        while at < range.end {
            let sent = at - range.start;
            let burst_left = LIMITS.burst_bytes - sent % LIMITS.burst_bytes;
            let end = range.end.min(at + self.segment_bytes.min(burst_left));
            let is_last = end == range.end;
            let mut pdu =
                if is_last { self.numbers.reply(0x25, request) } else { self.numbers.aside(0x25, request) };
            let ends_burst = end - at == burst_left;
            pdu.header[1] = u8::from(is_last || ends_burst) << 7 | u8::from(is_last);
            pdu.set(20, NO_TAG).set(36, count).set(40, u32::try_from(sent).unwrap());
            pdu.announced = Some(end - at);
            self.push_own(&pdu.sealed());
            self.pieces.push(Piece::Disk(at..end));
            (at, count) = (end, count + 1);
        }
    }

    /// Answers any other command that returns data.
    fn data_in(&mut self, request: &Pdu, data: &[u8]) {
        let wanted = request.word(20) as usize;
        let data = &data[..data.len().min(wanted)];
        let missing = wanted - data.len();
        let mut pdu = self.numbers.reply(0x25, request).with(20, NO_TAG);
        pdu.header[1] = if missing == 0 { 0x81 } else { 0x83 };
        pdu.set(44, u32::try_from(missing).unwrap());
        pdu.data = data.to_vec();
        self.push(&pdu);
    }

    fn data_out(&mut self, request: &Pdu, data: &[u8]) {
        let Some(mut write) = self.writes.remove(&request.word(16)) else { return };
        write.put(self.shared, request.word(40) as usize, data);
        if request.header[1] & 0x80 == 0 {
            self.writes.insert(request.word(16), write);
        } else {
            self.go_on(write);
        }
    }

    /// Requests the missing data of a WRITE, or ends it.
    fn go_on(&mut self, write: Write) {
        let missing = (write.range.len() - write.filled).min(LIMITS.burst_bytes);
        if missing == 0 {
            return self.status(&write.request, 0, &[]);
        }
        let tag = write.request.word(16);
        let mut pdu = self.numbers.aside(0x31, &write.request).with(20, tag);
        pdu.set(40, u32::try_from(write.filled).unwrap()).set(44, u32::try_from(missing).unwrap());
        self.writes.insert(tag, write);
        self.push(&pdu);
    }

    fn status(&mut self, request: &Pdu, status: u8, sense: &[u8]) {
        let pdu = self.numbers.status(request, status, sense);
        self.push(&pdu);
    }

    fn push(&mut self, pdu: &Pdu) {
        self.push_own(&pdu.bytes());
    }

    fn push_own(&mut self, bytes: &[u8]) {
        let start = self.outbox.len();
        self.outbox.extend_from_slice(bytes);
        match self.pieces.last_mut() {
            Some(Piece::Own(range)) => range.end = self.outbox.len(),
            _ => self.pieces.push(Piece::Own(start..self.outbox.len())),
        }
    }

    /// Sends all responses together.
    fn flush(&mut self) -> Result<(), Over> {
        let disk = self.shared.disk.read().unwrap();
        let bytes = |piece: &Piece| match piece {
            Piece::Own(range) => &self.outbox[range.clone()],
            Piece::Disk(range) => &disk[range.clone()],
        };
        let mut slices: Vec<IoSlice<'_>> = self.pieces.iter().map(|p| IoSlice::new(bytes(p))).collect();
        let mut left = &mut slices[..];
        while !left.is_empty() {
            match self.line.stream.write_vectored(left) {
                Ok(0) => return Err(Over),
                Ok(sent) => IoSlice::advance_slices(&mut left, sent),
                Err(error) if is_wait(&error) && !self.line.is_stopped() => {}
                Err(_) => return Err(Over),
            }
        }
        self.outbox.clear();
        self.pieces.clear();
        Ok(())
    }
}

impl Write {
    /// Stores data; what lies beyond the end is dropped.
    fn put(&mut self, shared: &Shared, at: usize, data: &[u8]) {
        let start = (self.range.start + at).min(self.range.end);
        let end = (start + data.len()).min(self.range.end);
        shared.disk.write().unwrap()[start..end].copy_from_slice(&data[..end - start]);
        self.filled += end - start;
    }
}

/// Returns the next PDU that is there as a whole, and its data.
fn next(bytes: &[u8]) -> Option<(Pdu, &[u8])> {
    let header: [u8; 48] = *bytes.first_chunk()?;
    let length = u32::from_be_bytes([0, header[5], header[6], header[7]]) as usize;
    let data = bytes[48..].get(..length.next_multiple_of(4))?;
    Some((Pdu { header, more: Vec::new(), data: Vec::new(), announced: None }, &data[..length]))
}
