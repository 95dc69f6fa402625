//! An iSCSI target with one LUN in memory, which answers according to the standard, or to a lie.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::{Act, Line, Listening, Over};
use crate::iscsi_wire::{COMMAND, DATA_OUT, LOGIN, LOGOUT, Limits, MANAGEMENT, Numbers, TEXT};
pub use crate::iscsi_wire::{Digests, NO_TAG, Pdu};
use crate::unit::{self, Answer, BLOCK_BYTES, Unit};

/// Number of blocks of the LUN.
const BLOCKS: u64 = 4096;

/// Longest data segment that either side may send, bytes.
pub(crate) const SEGMENT_BYTES: usize = 8192;
/// Longest sequence of data of one READ or R2T, bytes.
pub(crate) const BURST_BYTES: usize = 262_144;
/// The name of the target.
pub const NAME: &str = "iqn.2026-11.example:lying";

/// Returns the serial number of the LUN of the target on that port: two LUNs with one name must not be written to.
pub fn serial(port: u16) -> String {
    format!("LIAR-{port:05}")
}

/// Kind of a request, for lies that apply only to some.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Part of a login.
    Login,
    /// A command that examines the LUN, with its operation code.
    Look(u8),
    /// A READ of the test.
    Read,
    /// A WRITE of a test, or data for it.
    Write,
    /// A ping.
    Ping,
    /// A task management function.
    Management,
    /// A text request: discovery.
    Text,
    /// A logout.
    Logout,
    /// Any other request; for a lie, every request.
    Other,
}

/// A request, with the facts about the conversation that a lie may need.
#[derive(Debug)]
pub struct Asked<'a> {
    /// Kind of request.
    pub when: When,
    /// The request as received.
    pub request: &'a Pdu,
    /// Number of the connection.
    pub connection: u32,
    /// Number of READs and WRITEs over all connections, including this one.
    pub io_count: u32,
    /// The next status number.
    pub stat_sn: u32,
    /// The digests of this connection.
    pub digests: Digests,
    /// `host:port` of the target.
    pub portal: &'a str,
}

impl Asked<'_> {
    /// Returns a correct PDU as an act.
    pub fn send(&self, pdu: &Pdu) -> Act {
        Act::Bytes(pdu.digested(self.digests))
    }

    /// Returns a correct PDU as an act.
    pub fn all(&self, pdus: &[Pdu]) -> Vec<Act> {
        pdus.iter().map(|pdu| self.send(pdu)).collect()
    }
}

/// Function that turns the correct answer to a request into acts.
pub type Lie = dyn Fn(&Asked<'_>, Vec<Pdu>) -> Vec<Act> + Send + Sync;

/// State shared by all connections.
struct Shared {
    lie: Box<Lie>,
    digests: Digests,
    disk: Arc<Mutex<Vec<u8>>>,
    /// Number of the LUN, if it is not that of the portal: another portal leads to it, too.
    lun: Option<u16>,
    io_count: Mutex<u32>,
}

/// A running target. Stops on drop.
pub struct LyingTarget {
    /// `host:port`.
    pub portal: String,
    shared: Arc<Shared>,
    _listening: Listening,
}

impl std::fmt::Debug for LyingTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LyingTarget({})", self.portal)
    }
}

impl LyingTarget {
    /// Starts a target that agrees on these digests.
    pub fn start(
        digests: Digests,
        lie: impl Fn(&Asked<'_>, Vec<Pdu>) -> Vec<Act> + Send + Sync + 'static,
    ) -> Self {
        let disk = Arc::new(Mutex::new(vec![0; usize::try_from(BLOCKS).unwrap() * BLOCK_BYTES]));
        Self::serving(Shared { lie: Box::new(lie), digests, disk, lun: None, io_count: Mutex::new(0) })
    }

    /// Starts an honest portal to the same LUN.
    ///
    /// # Panics
    /// If the portal is no address.
    pub fn beside(&self) -> Self {
        let address: std::net::SocketAddr = self.portal.parse().unwrap();
        Self::serving(Shared {
            lie: Box::new(|asked, honest| asked.all(&honest)),
            digests: self.shared.digests,
            disk: Arc::clone(&self.shared.disk),
            lun: Some(address.port()),
            io_count: Mutex::new(0),
        })
    }

    fn serving(shared: Shared) -> Self {
        let shared = Arc::new(shared);
        let served = shared.clone();
        let listening = Listening::start(move |line, number| {
            let portal = line.stream.local_addr().map(|address| address.to_string()).unwrap_or_default();
            let _ = Connection::new(line, number, portal, &served).serve();
        });
        Self { portal: listening.address.to_string(), shared, _listening: listening }
    }

    /// Returns a copy of the LUN's content.
    ///
    /// # Panics
    /// If a connection panicked.
    pub fn disk(&self) -> Vec<u8> {
        self.shared.disk.lock().unwrap().clone()
    }
}

/// A WRITE whose data has not completely arrived.
struct Write {
    request: Pdu,
    data: Vec<u8>,
    filled: usize,
}

struct Connection<'a> {
    line: Line,
    number: u32,
    portal: String,
    shared: &'a Shared,
    digests: Digests,
    numbers: Numbers,
    is_discovery: bool,
    writes: HashMap<u32, Write>,
}

impl<'a> Connection<'a> {
    fn new(line: Line, number: u32, portal: String, shared: &'a Shared) -> Self {
        let (digests, writes) = (Digests::None, HashMap::new());
        let numbers = Numbers { stat_sn: 1, exp_cmd_sn: 1, window: 32 };
        Self { line, number, portal, shared, digests, numbers, is_discovery: false, writes }
    }

    fn serve(mut self) -> Result<(), Over> {
        loop {
            let request = self.receive()?;
            self.numbers.received(&request);
            let when = self.when(&request);
            let io_count = {
                let mut count = self.shared.io_count.lock().unwrap();
                *count += u32::from(matches!(when, When::Read | When::Write) && request.opcode() == COMMAND);
                *count
            };
            let stat_sn = self.numbers.stat_sn;
            let honest = self.answer(&request, when);
            let asked = Asked {
                when,
                request: &request,
                connection: self.number,
                io_count,
                stat_sn,
                digests: self.digests,
                portal: &self.portal,
            };
            let acts = (self.shared.lie)(&asked, honest);
            if acts.is_empty() {
                // A PDU that is never sent consumes no status number, or the next answer would show a gap.
                self.numbers.stat_sn = stat_sn;
            }
            for act in acts {
                self.line.act(act)?;
            }
            if when == When::Login
                && self.shared.digests == Digests::Crc32c
                && request.header[1] & 0x83 == 0x83
            {
                self.digests = Digests::Crc32c;
            }
        }
    }

    fn receive(&mut self) -> Result<Pdu, Over> {
        let digest = if self.digests == Digests::Crc32c { 4 } else { 0 };
        let header: [u8; 48] = self.line.read(48)?.try_into().unwrap();
        let more = self.line.read(usize::from(header[4]) * 4)?;
        self.line.read(digest)?;
        let length = u32::from_be_bytes([0, header[5], header[6], header[7]]) as usize;
        let mut data = self.line.read(length.next_multiple_of(4))?;
        data.truncate(length);
        if length > 0 {
            self.line.read(digest)?;
        }
        Ok(Pdu { header, more, data, announced: None })
    }

    fn when(&self, request: &Pdu) -> When {
        match request.opcode() {
            LOGIN => When::Login,
            TEXT => When::Text,
            0x00 => When::Ping,
            MANAGEMENT => When::Management,
            LOGOUT => When::Logout,
            DATA_OUT => When::Write,
            // I/O of tests is larger than a block; the initiator reads single blocks to find the end of the LUN.
            COMMAND => match request.header[32] {
                0x28 | 0x88 if request.word(20) as usize > BLOCK_BYTES => When::Read,
                0x2a | 0x8a => When::Write,
                operation => When::Look(operation),
            },
            _ => When::Other,
        }
    }

    fn answer(&mut self, request: &Pdu, when: When) -> Vec<Pdu> {
        match (request.opcode(), when) {
            (_, When::Login) => vec![self.login(request)],
            (_, When::Text) => {
                let mut pdu = self.numbers.reply(0x24, request).with(20, NO_TAG);
                pdu.data = format!("TargetName={NAME}\0TargetAddress={},1\0", self.portal).into_bytes();
                vec![pdu]
            }
            (_, When::Ping) if request.word(16) != NO_TAG => {
                vec![self.numbers.reply(0x20, request).with(20, NO_TAG)]
            }
            (_, When::Management) => vec![self.numbers.reply(0x22, request)],
            (_, When::Logout) => vec![self.numbers.reply(0x26, request)],
            (COMMAND, When::Write) => self.write(request),
            (DATA_OUT, _) => self.data_out(request),
            (COMMAND, When::Read | When::Look(0x28 | 0x88)) => self.read(request),
            (COMMAND, _) => self.look(request),
            _ => Vec::new(),
        }
    }

    fn login(&mut self, request: &Pdu) -> Pdu {
        let text = String::from_utf8_lossy(&request.data).into_owned();
        if text.contains("InitiatorName=") {
            self.is_discovery = text.contains("SessionType=Discovery");
        }
        let limits = Limits {
            digests: self.shared.digests,
            segment_bytes: SEGMENT_BYTES,
            first_burst_bytes: SEGMENT_BYTES,
            burst_bytes: BURST_BYTES,
        };
        self.numbers.login(request, &limits)
    }

    /// Returns the data of a command in segments, with the status in the last one.
    fn data_in(&mut self, request: &Pdu, data: &[u8]) -> Vec<Pdu> {
        let most = (request.word(20) as usize).min(data.len());
        let (pieces, left) =
            (data[..most].chunks(SEGMENT_BYTES), request.word(20) - u32::try_from(most).unwrap());
        let last = pieces.len().saturating_sub(1);
        let mut pdus = Vec::new();
        for (index, piece) in pieces.enumerate() {
            let number = u32::try_from(index).unwrap();
            let offset = u32::try_from(index * SEGMENT_BYTES).unwrap();
            let mut pdu = match index == last {
                true => self.numbers.reply(0x25, request),
                false => self.numbers.aside(0x25, request),
            };
            pdu.header[1] = match (index == last, left) {
                (false, _) => 0,
                (true, 0) => 0x81,
                (true, _) => 0x83,
            };
            pdu.set(20, NO_TAG).set(36, number).set(40, offset).set(44, if index == last { left } else { 0 });
            pdu.data = piece.to_vec();
            pdus.push(pdu);
        }
        pdus
    }

    fn port(&self) -> u16 {
        self.line.stream.local_addr().map_or(0, |address| address.port())
    }

    fn look(&mut self, request: &Pdu) -> Vec<Pdu> {
        let port = self.shared.lun.unwrap_or_else(|| self.port());
        let unit = Unit { blocks: BLOCKS, product: "LYING DISK", number: port, serial: serial(port) };
        match unit.look(&request.header[32..48]) {
            Answer::Data(data) => self.data_in(request, &data),
            Answer::Status(status, sense) => vec![self.numbers.status(request, status, &sense)],
        }
    }

    fn read(&mut self, request: &Pdu) -> Vec<Pdu> {
        let Some(range) = unit::range(&request.header[32..48], BLOCKS) else {
            return vec![self.numbers.status(request, 2, &unit::sense(5, 0x21, 0))];
        };
        let data = self.shared.disk.lock().unwrap()[range].to_vec();
        self.data_in(request, &data)
    }

    fn write(&mut self, request: &Pdu) -> Vec<Pdu> {
        let Some(range) = unit::range(&request.header[32..48], BLOCKS) else {
            return vec![self.numbers.status(request, 2, &unit::sense(5, 0x21, 0))];
        };
        let mut write = Write { request: request.clone(), data: vec![0; range.len()], filled: 0 };
        write.put(0, &request.data);
        self.go_on(write)
    }

    fn data_out(&mut self, request: &Pdu) -> Vec<Pdu> {
        let Some(mut write) = self.writes.remove(&request.word(16)) else { return Vec::new() };
        write.put(request.word(40) as usize, &request.data);
        if request.header[1] & 0x80 == 0 {
            self.writes.insert(request.word(16), write);
            return Vec::new();
        }
        self.go_on(write)
    }

    /// Requests the missing data of a WRITE, or executes it.
    fn go_on(&mut self, write: Write) -> Vec<Pdu> {
        let request = write.request.clone();
        let missing = (write.data.len() - write.filled).min(BURST_BYTES);
        if missing > 0 {
            let mut pdu = self.numbers.aside(0x31, &request).with(20, 0x7000 + request.word(16));
            pdu.set(40, u32::try_from(write.filled).unwrap()).set(44, u32::try_from(missing).unwrap());
            self.writes.insert(request.word(16), write);
            return vec![pdu];
        }
        if let Some(range) = unit::range(&request.header[32..48], BLOCKS) {
            self.shared.disk.lock().unwrap()[range].copy_from_slice(&write.data);
        }
        vec![self.numbers.status(&request, 0, &[])]
    }
}

impl Write {
    /// Stores data in order; data beyond the end is dropped.
    fn put(&mut self, at: usize, data: &[u8]) {
        let end = (at + data.len()).min(self.data.len());
        if at < end {
            self.data[at..end].copy_from_slice(&data[..end - at]);
            self.filled = self.filled.max(end);
        }
    }
}
