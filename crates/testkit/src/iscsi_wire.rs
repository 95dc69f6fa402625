//! PDUs of the scripted iSCSI targets. No code is shared with the client, not even the layout of a header, so that a
//! mistake cannot hide in both.

/// The tag that means "none".
pub const NO_TAG: u32 = 0xffff_ffff;

/// Opcodes of requests.
pub(crate) const COMMAND: u8 = 0x01;
pub(crate) const MANAGEMENT: u8 = 0x02;
pub(crate) const LOGIN: u8 = 0x03;
pub(crate) const TEXT: u8 = 0x04;
pub(crate) const DATA_OUT: u8 = 0x05;
pub(crate) const LOGOUT: u8 = 0x06;

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
    pub fn new(opcode: u8) -> Self {
        let mut header = [0; 48];
        (header[0], header[1]) = (opcode, 0x80);
        Self { header, more: Vec::new(), data: Vec::new(), announced: None }
    }

    /// Opcode, without the immediate bit.
    pub fn opcode(&self) -> u8 {
        self.header[0] & 0x3f
    }

    /// Returns the word at a byte of the header.
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
    pub fn bytes(&self) -> Vec<u8> {
        self.digested(Digests::None)
    }

    /// Returns the header with the lengths of what follows it.
    pub(crate) fn sealed(&self) -> [u8; 48] {
        let mut header = self.header;
        let length = u32::try_from(self.announced.unwrap_or(self.data.len())).unwrap();
        header[4] = u8::try_from(self.more.len() / 4).unwrap();
        header[5..8].copy_from_slice(&length.to_be_bytes()[1..]);
        header
    }

    pub(crate) fn digested(&self, digests: Digests) -> Vec<u8> {
        let mut bytes = [&self.sealed()[..], &self.more].concat();
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

/// Numbers of a connection, as the target counts them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Numbers {
    pub stat_sn: u32,
    pub exp_cmd_sn: u32,
    /// Number of commands that the initiator may have in flight.
    pub window: u32,
}

impl Numbers {
    /// Counts a request.
    pub(crate) fn received(&mut self, request: &Pdu) {
        if request.header[0] & 0x40 == 0 && request.opcode() != DATA_OUT {
            self.exp_cmd_sn = request.word(24).wrapping_add(1);
        }
    }

    /// Returns a PDU that answers a request; it consumes the next status number.
    pub(crate) fn reply(&mut self, opcode: u8, request: &Pdu) -> Pdu {
        let mut pdu = Pdu::new(opcode);
        pdu.set(16, request.word(16)).set(24, self.stat_sn).set(28, self.exp_cmd_sn);
        pdu.set(32, self.exp_cmd_sn.wrapping_add(self.window - 1));
        self.stat_sn = self.stat_sn.wrapping_add(1);
        pdu
    }

    /// Returns a PDU that consumes no status number.
    pub(crate) fn aside(&mut self, opcode: u8, request: &Pdu) -> Pdu {
        let pdu = self.reply(opcode, request);
        self.stat_sn = self.stat_sn.wrapping_sub(1);
        pdu
    }

    /// Returns the end of a command, with its sense data.
    pub(crate) fn status(&mut self, request: &Pdu, status: u8, sense: &[u8]) -> Pdu {
        let mut pdu = self.reply(0x21, request);
        pdu.header[3] = status;
        if !sense.is_empty() {
            let length = u16::try_from(sense.len()).unwrap().to_be_bytes();
            pdu.data = [&length[..], sense].concat();
        }
        pdu
    }

    /// Returns the answer to a step of a login: the security stage without CHAP, then these limits.
    pub(crate) fn login(&mut self, request: &Pdu, limits: &Limits) -> Pdu {
        let mut pdu = self.reply(0x23, request);
        pdu.header[1] = request.header[1];
        pdu.header[8..14].copy_from_slice(&request.header[8..14]);
        pdu.header[15] = 1;
        let digest = if limits.digests == Digests::Crc32c { "CRC32C" } else { "None" };
        let Limits { segment_bytes, first_burst_bytes, burst_bytes, .. } = limits;
        pdu.data = match request.header[1] >> 2 & 3 {
            0 => "AuthMethod=None\0TargetPortalGroupTag=1\0".to_owned(),
            _ => format!(
                "InitialR2T=Yes\0ImmediateData=Yes\0DefaultTime2Wait=0\0DefaultTime2Retain=0\0\
                 HeaderDigest={digest}\0DataDigest={digest}\0MaxRecvDataSegmentLength={segment_bytes}\0\
                 FirstBurstLength={first_burst_bytes}\0MaxBurstLength={burst_bytes}\0MaxOutstandingR2T=1\0"
            ),
        }
        .into_bytes();
        pdu
    }
}

/// Limits that a target agrees on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub digests: Digests,
    /// Longest data segment that the target accepts, bytes.
    pub segment_bytes: usize,
    /// Most data that a command may bring, bytes.
    pub first_burst_bytes: usize,
    /// Longest sequence of data of one READ or R2T, bytes.
    pub burst_bytes: usize,
}
