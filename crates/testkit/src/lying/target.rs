//! An iSCSI target with one LUN in memory, which answers according to the standard, or to a lie.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

pub use super::target_scsi::serial;
use super::target_scsi::{self, Answer, BLOCK_BYTES, BLOCKS};
use super::{Act, Line, Listening, Over};

/// Longest data segment that either side may send, bytes.
pub(crate) const SEGMENT_BYTES: usize = 8192;
/// Longest sequence of data of one READ or R2T, bytes.
pub(crate) const BURST_BYTES: usize = 262_144;
/// The name of the target.
pub const NAME: &str = "iqn.2026-11.example:lying";
/// The tag that means "none".
pub const NO_TAG: u32 = 0xffff_ffff;

const LOGIN: u8 = 0x03;
const TEXT: u8 = 0x04;
const COMMAND: u8 = 0x01;
const DATA_OUT: u8 = 0x05;

/// A PDU: 48 bytes of header, additional headers, data without padding.
#[derive(Debug, Clone)]
pub struct Pdu {
    /// The header. The data length is filled in when it is sent, unless `announced` contains another one.
    pub header: [u8; 48],
    /// Additional header segments.
    pub more: Vec<u8>,
    /// The data segment.
    pub data: Vec<u8>,
    /// Data length to announce instead of the correct one.
    pub announced: Option<usize>,
}

impl Pdu {
    /// Returns a PDU of this opcode with the final bit.
    #[must_use]
    pub fn new(opcode: u8) -> Self {
        let mut header = [0; 48];
        (header[0], header[1]) = (opcode, 0x80);
        Self { header, more: Vec::new(), data: Vec::new(), announced: None }
    }

    /// Opcode, without the immediate bit.
    #[must_use]
    pub fn opcode(&self) -> u8 {
        self.header[0] & 0x3f
    }

    /// Returns the word at a byte of the header.
    #[must_use]
    pub fn word(&self, at: usize) -> u32 {
        u32::from_be_bytes([self.header[at], self.header[at + 1], self.header[at + 2], self.header[at + 3]])
    }

    /// Sets the word at a byte of the header.
    pub fn set(&mut self, at: usize, word: u32) -> &mut Self {
        self.header[at..at + 4].copy_from_slice(&word.to_be_bytes());
        self
    }

    /// Returns the PDU with the word at a byte of the header changed.
    #[must_use]
    pub fn with(mut self, at: usize, word: u32) -> Self {
        self.set(at, word);
        self
    }

    /// Returns the PDU in wire format, without digests.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.digested(Digests::None)
    }

    fn digested(&self, digests: Digests) -> Vec<u8> {
        let mut header = self.header;
        let length = u32::try_from(self.announced.unwrap_or(self.data.len())).unwrap();
        header[4] = u8::try_from(self.more.len() / 4).unwrap();
        header[5..8].copy_from_slice(&length.to_be_bytes()[1..]);
        let mut bytes = [&header[..], &self.more].concat();
        if digests == Digests::Crc32c {
            bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
        }
        let mut data = self.data.clone();
        data.resize(data.len().next_multiple_of(4), 0);
        bytes.extend_from_slice(&data);
        if digests == Digests::Crc32c && !data.is_empty() {
            bytes.extend(crc32c::crc32c(&data).to_le_bytes());
        }
        bytes
    }
}

/// Digests of headers and data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Digests {
    /// No digests.
    #[default]
    None,
    /// CRC32C, after the login.
    Crc32c,
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
    #[must_use]
    pub fn send(&self, pdu: &Pdu) -> Act {
        Act::Bytes(pdu.digested(self.digests))
    }

    /// Returns a correct PDU as an act.
    #[must_use]
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
    disk: Mutex<Vec<u8>>,
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
        let disk = Mutex::new(vec![0; usize::try_from(BLOCKS).unwrap() * BLOCK_BYTES]);
        let shared = Arc::new(Shared { lie: Box::new(lie), digests, disk, io_count: Mutex::new(0) });
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
    #[must_use]
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
    stat_sn: u32,
    exp_cmd_sn: u32,
    is_discovery: bool,
    writes: HashMap<u32, Write>,
}

impl<'a> Connection<'a> {
    fn new(line: Line, number: u32, portal: String, shared: &'a Shared) -> Self {
        let (digests, writes) = (Digests::None, HashMap::new());
        Self { line, number, portal, shared, digests, stat_sn: 1, exp_cmd_sn: 1, is_discovery: false, writes }
    }

    fn serve(mut self) -> Result<(), Over> {
        loop {
            let request = self.receive()?;
            if request.header[0] & 0x40 == 0 && request.opcode() != DATA_OUT {
                self.exp_cmd_sn = request.word(24).wrapping_add(1);
            }
            let when = self.when(&request);
            let io_count = {
                let mut count = self.shared.io_count.lock().unwrap();
                *count += u32::from(matches!(when, When::Read | When::Write) && request.opcode() == COMMAND);
                *count
            };
            let stat_sn = self.stat_sn;
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
                self.stat_sn = stat_sn;
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
            0x02 => When::Management,
            0x06 => When::Logout,
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

    /// Returns a PDU that answers a request; it consumes the next status number.
    fn reply(&mut self, opcode: u8, request: &Pdu) -> Pdu {
        let mut pdu = Pdu::new(opcode);
        pdu.set(16, request.word(16)).set(24, self.stat_sn).set(28, self.exp_cmd_sn);
        pdu.set(32, self.exp_cmd_sn.wrapping_add(31));
        self.stat_sn = self.stat_sn.wrapping_add(1);
        pdu
    }

    /// Returns a PDU that consumes no status number.
    fn aside(&mut self, opcode: u8, request: &Pdu) -> Pdu {
        let pdu = self.reply(opcode, request);
        self.stat_sn = self.stat_sn.wrapping_sub(1);
        pdu
    }

    fn answer(&mut self, request: &Pdu, when: When) -> Vec<Pdu> {
        match (request.opcode(), when) {
            (_, When::Login) => vec![self.login(request)],
            (_, When::Text) => {
                let mut pdu = self.reply(0x24, request).with(20, NO_TAG);
                pdu.data = format!("TargetName={NAME}\0TargetAddress={},1\0", self.portal).into_bytes();
                vec![pdu]
            }
            (_, When::Ping) if request.word(16) != NO_TAG => {
                vec![self.reply(0x20, request).with(20, NO_TAG)]
            }
            (_, When::Management) => vec![self.reply(0x22, request)],
            (_, When::Logout) => vec![self.reply(0x26, request)],
            (COMMAND, When::Write) => self.write(request),
            (DATA_OUT, _) => self.data_out(request),
            (COMMAND, When::Read) => self.read(request),
            (COMMAND, _) => self.look(request),
            _ => Vec::new(),
        }
    }

    fn login(&mut self, request: &Pdu) -> Pdu {
        let text = String::from_utf8_lossy(&request.data).into_owned();
        if text.contains("InitiatorName=") {
            self.is_discovery = text.contains("SessionType=Discovery");
        }
        let mut pdu = self.reply(0x23, request);
        pdu.header[1] = request.header[1];
        pdu.header[8..14].copy_from_slice(&request.header[8..14]);
        pdu.header[15] = 1;
        let digest = if self.shared.digests == Digests::Crc32c { "CRC32C" } else { "None" };
        pdu.data = match request.header[1] >> 2 & 3 {
            0 => "AuthMethod=None\0TargetPortalGroupTag=1\0".to_owned(),
            _ => format!(
                "InitialR2T=Yes\0ImmediateData=Yes\0DefaultTime2Wait=0\0DefaultTime2Retain=0\0\
                 HeaderDigest={digest}\0DataDigest={digest}\0MaxRecvDataSegmentLength={SEGMENT_BYTES}\0\
                 FirstBurstLength={SEGMENT_BYTES}\0MaxBurstLength={BURST_BYTES}\0MaxOutstandingR2T=1\0"
            ),
        }
        .into_bytes();
        pdu
    }

    fn status(&mut self, request: &Pdu, status: u8, sense: &[u8]) -> Pdu {
        let mut pdu = self.reply(0x21, request);
        pdu.header[3] = status;
        if !sense.is_empty() {
            let length = u16::try_from(sense.len()).unwrap().to_be_bytes();
            pdu.data = [&length[..], sense].concat();
        }
        pdu
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
                true => self.reply(0x25, request),
                false => self.aside(0x25, request),
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
        let cdb = &request.header[32..48];
        match target_scsi::look(cdb, &self.shared.disk.lock().unwrap(), self.port()) {
            Answer::Data(data) => self.data_in(request, &data),
            Answer::Status(status, sense) => vec![self.status(request, status, &sense)],
        }
    }

    fn read(&mut self, request: &Pdu) -> Vec<Pdu> {
        let Some(range) = target_scsi::range(&request.header[32..48]) else {
            return vec![self.status(request, 2, &target_scsi::sense(5, 0x21, 0))];
        };
        let data = self.shared.disk.lock().unwrap()[range].to_vec();
        self.data_in(request, &data)
    }

    fn write(&mut self, request: &Pdu) -> Vec<Pdu> {
        let Some(range) = target_scsi::range(&request.header[32..48]) else {
            return vec![self.status(request, 2, &target_scsi::sense(5, 0x21, 0))];
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
            let mut pdu = self.aside(0x31, &request).with(20, 0x7000 + request.word(16));
            pdu.set(40, u32::try_from(write.filled).unwrap()).set(44, u32::try_from(missing).unwrap());
            self.writes.insert(request.word(16), write);
            return vec![pdu];
        }
        if let Some(range) = target_scsi::range(&request.header[32..48]) {
            self.shared.disk.lock().unwrap()[range].copy_from_slice(&write.data);
        }
        vec![self.status(&request, 0, &[])]
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
