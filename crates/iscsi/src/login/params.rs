//! The values that both sides offer and agree on: every operational key of RFC 7143 §13.

/// A digest list to offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DigestOffer {
    /// `None` only.
    Never,
    /// `None,CRC32C`: none if the target agrees.
    PreferNone,
    /// `CRC32C,None`: digests if the target supports them.
    PreferCrc32c,
    /// `CRC32C` only; the login fails if the target does not support it.
    Always,
}

impl DigestOffer {
    /// Returns the value as sent.
    pub fn value(self) -> &'static str {
        match self {
            Self::Never => "None",
            Self::PreferNone => "None,CRC32C",
            Self::PreferCrc32c => "CRC32C,None",
            Self::Always => "CRC32C",
        }
    }
}

/// Values that the initiator offers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one key of the standard that says Yes or No")]
pub struct Offer {
    /// Digest over headers.
    pub header_digest: DigestOffer,
    /// Digest over data segments.
    pub data_digest: DigestOffer,
    /// Write data waits for an R2T (result: OR).
    pub initial_r2t: bool,
    /// The command PDU may carry write data (result: AND).
    pub immediate_data: bool,
    /// Largest data segment that the initiator accepts, bytes, in [512, 2^24 - 1].
    pub max_recv_segment_bytes: u32,
    /// Largest solicited burst, bytes, in [512, 2^24 - 1] (result: minimum).
    pub max_burst_bytes: u32,
    /// Largest unsolicited burst, bytes, in [512, 2^24 - 1] (result: minimum).
    pub first_burst_bytes: u32,
    /// Number of R2Ts that the target may have open per command, in [1, 65535] (result: minimum).
    pub max_outstanding_r2t: u32,
    /// Data PDUs of a sequence arrive in order (result: OR).
    pub data_pdu_in_order: bool,
    /// Sequences arrive in order (result: OR).
    pub data_sequence_in_order: bool,
}

impl Default for Offer {
    /// No digests and large bursts, for the best throughput if the target agrees.
    fn default() -> Self {
        Self {
            header_digest: DigestOffer::PreferNone,
            data_digest: DigestOffer::PreferNone,
            initial_r2t: false,
            immediate_data: true,
            max_recv_segment_bytes: 256 * 1024,
            max_burst_bytes: DATA_BYTES_MAX,
            first_burst_bytes: 256 * 1024,
            max_outstanding_r2t: 8,
            data_pdu_in_order: true,
            data_sequence_in_order: true,
        }
    }
}

/// Bounds of the length keys, bytes.
pub(super) const DATA_BYTES_MIN: u32 = 512;
pub(super) const DATA_BYTES_MAX: u32 = 0x00ff_ffff;

/// The negotiated values.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one key of the standard that says Yes or No")]
pub struct Negotiated {
    /// CRC32C over headers.
    pub header_digest: bool,
    /// CRC32C over data segments.
    pub data_digest: bool,
    /// Write data waits for an R2T.
    pub initial_r2t: bool,
    /// The command PDU may carry write data.
    pub immediate_data: bool,
    /// Largest data segment that the initiator may send, bytes (the target's MaxRecvDataSegmentLength).
    pub max_send_segment_bytes: u32,
    /// Largest data segment that the initiator declared, bytes.
    pub max_recv_segment_bytes: u32,
    /// Largest solicited burst, bytes.
    pub max_burst_bytes: u32,
    /// Largest unsolicited burst, bytes.
    pub first_burst_bytes: u32,
    /// Number of R2Ts open per command.
    pub max_outstanding_r2t: u32,
    /// Data PDUs of a sequence arrive in order.
    pub data_pdu_in_order: bool,
    /// Sequences arrive in order.
    pub data_sequence_in_order: bool,
    /// Number of connections per session; this initiator opens one.
    pub max_connections: u32,
    /// Error recovery level; this initiator offers 0.
    pub error_recovery_level: u32,
    /// Seconds to wait before reconnecting after a failure.
    pub default_time2wait_s: u32,
    /// Seconds the target keeps tasks after a failure.
    pub default_time2retain_s: u32,
    /// Portal group of the portal, if the target reported it.
    pub target_portal_group: Option<u16>,
    /// Alias of the target, for display.
    pub target_alias: Option<String>,
    /// Authentication that took place: `None` or `CHAP` with its digest number.
    pub authentication: String,
    /// Session identifying handle.
    pub tsih: u16,
    /// Next command sequence number to use.
    pub cmd_sn: u32,
    /// Next status number to expect.
    pub exp_stat_sn: u32,
    /// Last command sequence number the target accepts.
    pub max_cmd_sn: u32,
    /// Values of the target that the standard does not allow and that were replaced, in words.
    pub deviations: Vec<String>,
}

impl Negotiated {
    /// Returns the values that apply if a key is never answered (RFC 7143 §13), with our own declarations.
    pub(super) fn defaults(offer: &Offer) -> Self {
        Self {
            header_digest: false,
            data_digest: false,
            initial_r2t: true,
            // An answer to No is optional (RFC 7143 §6.2), and Linux LIO gives none: offering No settles the key.
            immediate_data: offer.immediate_data,
            max_send_segment_bytes: 8192,
            max_recv_segment_bytes: offer.max_recv_segment_bytes,
            max_burst_bytes: 262_144,
            first_burst_bytes: 65_536,
            max_outstanding_r2t: 1,
            data_pdu_in_order: true,
            data_sequence_in_order: true,
            max_connections: 1,
            error_recovery_level: 0,
            default_time2wait_s: 2,
            default_time2retain_s: 20,
            target_portal_group: None,
            target_alias: None,
            authentication: "None".into(),
            tsih: 0,
            cmd_sn: 1,
            exp_stat_sn: 0,
            max_cmd_sn: 1,
            deviations: Vec::new(),
        }
    }
}
