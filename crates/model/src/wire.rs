//! What a link can carry: exact efficiencies, R2T round trips, and what round robin leaves of several paths.
//!
//! A data transfer on the wire is a sequence of frames with headers around frames of payload:
//! ```text
//!  preamble 8 | Ethernet 14 (+4 VLAN) | IP 20 | TCP 20 (+12 timestamps) | payload | FCS 4 | gap 12
//!             |<------------------------ MTU: IP packet --------------->|
//!  wire bytes per frame = MTU + 38 (+ 4);  payload per frame = MTU - 40 (- 12)
//!  iSCSI: one 48-byte basic header segment per data PDU of at most MaxRecvDataSegmentLength bytes
//! ```
//! Sources: IEEE 802.3 (preamble, gap, FCS), RFC 791/793/7323 (headers), RFC 7143 section 11 (BHS),
//! FC-FS (frame of 2148 bytes with 2112 of payload at most; 2048 are used per frame here).

use crate::array::{Link, LinkRate, PathPolicy, Paths, Protocol, ProtocolKind};
use crate::quantity::{Corner, at_corner};

/// Preamble 8, header 14, FCS 4, inter-frame gap 12: bytes around an IP packet.
pub const ETHERNET_OVERHEAD: f64 = 38.0;
/// IPv4 20 and TCP 20, without options.
const IP_TCP_HEADERS: f64 = 40.0;
/// TCP timestamp option with its padding.
const TIMESTAMP_OPTION: f64 = 12.0;
/// 802.1Q tag.
pub const VLAN_TAG: f64 = 4.0;
/// iSCSI basic header segment.
const ISCSI_BHS: f64 = 48.0;
/// CRC32C of a PDU's data segment.
const DATA_DIGEST: f64 = 4.0;
/// What goes before the data of an NFSv3 READ over TCP: record mark 4 and RPC reply 24 (RFC 5531), then status 4,
/// attributes 88, and count, end mark and length 12 (RFC 1813). Every known server sends the attributes.
const NFS_READ_REPLY: f64 = 132.0;
/// Largest transfer of one command on a SATA link, bytes; larger I/Os are split.
const SATA_COMMAND: f64 = 1_048_576.0;
/// What the slow end leaves of a PCI Express link whose slot is not known: half of the lanes, or the generation
/// before. Of 13 drives in hosts that nobody described, five were read at 0.36 to 0.7 of their sheets.
const SLOT_LEFT: f64 = 0.5;
/// Five frame information structures of a queued command (register, set-up, data, status twice) and the handshakes
/// between them, as bytes of the link's time. 4 KiB commands fill a 3 Gbit/s port at 52,000 I/Os per second.
const SATA_TURNS: f64 = 1600.0;
/// A command of USB 2.0 storage beside its data, us: slow, nominal and fast. Bulk-only transport moves the command, the
/// data and the status one after the other, and a host sees the end of each at the next microframe of 125 us: at best
/// all three in one, at worst each a microframe later.
const USB2_COMMAND_US: [f64; 3] = [750.0, 375.0, 125.0];
/// Largest command of it, bytes: 240 sectors, unless somebody sets `max_sectors`. Of such commands bridges reach
/// [`USB2_MB_S`].
const USB2_COMMAND: f64 = 122_880.0;
const USB2_MB_S: f64 = 38.0;
/// What goes before the data of an SMB2 or SMB3 WRITE: transport header 4, SMB2 header 64, WRITE request 48
/// (MS-SMB2 2.2.21). A READ response has 16 in place of the 48.
const SMB_HEADER: f64 = 116.0;
/// Largest transfer of one SMB3 call with its usual credits, bytes.
const SMB_CALL: f64 = 1_048_576.0;
/// ONC RPC record mark, RPC header, NFSv3 READ/WRITE header and attributes: about this per 64 KiB call.
const NFS_HEADER: f64 = 200.0;

/// Full frames of a TCP connection, and what of them counts against the rate of the link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frames {
    /// Largest IP packet, bytes.
    pub mtu_bytes: f64,
    /// TCP timestamps (12 bytes of every segment).
    pub timestamps: bool,
    /// What counts beside the IP packet, bytes: [`ETHERNET_OVERHEAD`] on a cable, less where software counts.
    pub around_bytes: f64,
}

impl Frames {
    /// TCP payload of a frame, bytes.
    #[must_use]
    pub fn payload_bytes(&self) -> f64 {
        self.mtu_bytes - IP_TCP_HEADERS - if self.timestamps { TIMESTAMP_OPTION } else { 0.0 }
    }

    /// What a frame costs of the link, bytes.
    #[must_use]
    pub fn wire_bytes(&self) -> f64 {
        self.mtu_bytes + self.around_bytes
    }
}

/// Fraction of an Ethernet link's bits that carry TCP payload.
#[must_use]
pub fn tcp_efficiency(link: &Link) -> f64 {
    let frames = Frames {
        mtu_bytes: link.mtu.value,
        timestamps: link.timestamps.unwrap_or(true),
        around_bytes: ETHERNET_OVERHEAD + if link.vlan { VLAN_TAG } else { 0.0 },
    };
    frames.payload_bytes() / frames.wire_bytes()
}

/// Bytes of headers that an I/O of `size_bytes` needs: one for each iSCSI data PDU of at most `segment_bytes`.
#[must_use]
pub fn pdu_header_bytes(size_bytes: f64, segment_bytes: f64, has_data_digest: bool) -> f64 {
    let per_pdu = ISCSI_BHS + if has_data_digest { DATA_DIGEST } else { 0.0 };
    (size_bytes / segment_bytes).ceil().max(1.0) * per_pdu
}

/// Bytes of headers that an NFSv3 read of `size_bytes` needs: one reply for each call of at most `call_bytes`.
#[must_use]
pub fn nfs_read_header_bytes(size_bytes: f64, call_bytes: f64) -> f64 {
    (size_bytes / call_bytes).ceil().max(1.0) * NFS_READ_REPLY
}

/// Payload ceiling of one path in one direction, MB/s (10^6), for transfers of `size_bytes`.
///
/// Infinite when there is no link that could limit.
#[must_use]
pub fn ceiling_mb_s(link: &Link, protocol: &Protocol, size_bytes: f64) -> f64 {
    ceiling_at(link, protocol, size_bytes, Corner::Nominal)
}

/// The same at a corner: of ranges of rates, frames and segments, and without TCP timestamps at the fast end
/// where they are unknown.
#[must_use]
pub fn ceiling_at(link: &Link, protocol: &Protocol, size_bytes: f64, corner: Corner) -> f64 {
    let stamped = link.timestamps.unwrap_or(corner != Corner::Fast);
    let mut link = Link { timestamps: Some(stamped), ..link.clone() };
    link.mtu.value = link.mtu.rate_at(corner);
    let link = &link;
    let ethernet = |gbit_s: f64| {
        gbit_s * 125.0 * tcp_efficiency(link) * protocol_efficiency(protocol, size_bytes, corner)
    };
    match link.rate {
        LinkRate::Ethernet(gbit_s) => ethernet(gbit_s),
        LinkRate::Ranged { lo, hi } => ethernet(match corner {
            Corner::Slow => lo,
            Corner::Nominal => f64::midpoint(lo, hi),
            Corner::Fast => hi,
        }),
        LinkRate::Usb(..1.0) => usb2_mb_s(size_bytes, corner),
        port => port_mb_s(port, size_bytes) * slot_left(link, corner),
    }
}

/// Share of its lanes that a drive has in a slot nobody described.
pub(crate) fn slot_left(link: &Link, corner: Corner) -> f64 {
    let is_slot = matches!(link.rate, LinkRate::Pcie { .. });
    if is_slot && !link.slot_known && corner == Corner::Slow { SLOT_LEFT } else { 1.0 }
}

/// Payload ceiling of a port of a drive or an expander, or of Fibre Channel, MB/s (10^6), for transfers of
/// `size_bytes`.
#[must_use]
pub(crate) fn port_mb_s(rate: LinkRate, size_bytes: f64) -> f64 {
    match rate {
        // Of a network, only its frames are counted here.
        LinkRate::Unlimited | LinkRate::Ethernet(_) | LinkRate::Ranged { .. } => f64::INFINITY,
        LinkRate::FibreChannel(generation) => fibre_channel_mb_s(generation),
        // 8b/10b, and about 1 % for frame information structures: a 6 Gbit/s port carries about 594 MB/s;
        // what drives reach (550 to 560) is on their sheets.
        LinkRate::Sata(gbit_s) => {
            gbit_s * 100.0 * 0.99 * size_bytes / (size_bytes + sata_command_bytes(size_bytes))
        }
        // SAS-4: 22.5 GBd, of which 128 of 150 bits are data.
        LinkRate::Sas { lane_gbit_s, lanes } if lane_gbit_s > 12.0 => {
            22.5e3 * (128.0 / 150.0) / 8.0 * f64::from(lanes) * (1024.0 / 1060.0)
        }
        // 8b/10b; SSP frames carry 1024 bytes of about 1060.
        LinkRate::Sas { lane_gbit_s, lanes } => lane_gbit_s * 100.0 * f64::from(lanes) * (1024.0 / 1060.0),
        LinkRate::Pcie { generation, lanes } => pcie_lane_mb_s(generation) * f64::from(lanes),
        LinkRate::Usb(..1.0) => usb2_mb_s(size_bytes, Corner::Nominal),
        LinkRate::Usb(gbit_s) => usb_mb_s(gbit_s),
        LinkRate::InfiniBand(gbit_s) => infiniband_mb_s(gbit_s),
    }
}

/// What commands of at most [`SATA_COMMAND`] bytes cost of the link beside their data, bytes.
fn sata_command_bytes(size_bytes: f64) -> f64 {
    SATA_TURNS * (size_bytes / SATA_COMMAND).ceil().max(1.0)
}

/// iSCSI: payload / (payload + headers) with full PDUs of `MaxRecvDataSegmentLength`; NFS: one header per call.
fn protocol_efficiency(protocol: &Protocol, size_bytes: f64, corner: Corner) -> f64 {
    match protocol.kind {
        ProtocolKind::Iscsi => {
            let segment = protocol.max_recv_data_segment.rate_at(corner);
            size_bytes / (size_bytes + pdu_header_bytes(size_bytes, segment, protocol.data_digest))
        }
        ProtocolKind::Nfs => size_bytes / (size_bytes + NFS_HEADER * (size_bytes / 65_536.0).ceil().max(1.0)),
        ProtocolKind::Smb => size_bytes / (size_bytes + SMB_HEADER * (size_bytes / SMB_CALL).ceil().max(1.0)),
        // A header of 24 bytes for each PDU of data, as large as the command or 64 KiB.
        ProtocolKind::NvmeTcp => size_bytes / (size_bytes + 24.0 * (size_bytes / 65_536.0).ceil().max(1.0)),
        // No TCP: headers of UDP, RoCE and its check (58 bytes) for each 4 KiB in place of those of TCP/IP.
        ProtocolKind::NvmeRdma => 1.0,
        // Fibre Channel frames of 2112 bytes in Ethernet frames, in place of TCP/IP: 2048 of 2218.
        ProtocolKind::Fcoe => 0.97,
        ProtocolKind::Local | ProtocolKind::Sas | ProtocolKind::FibreChannel => 1.0,
    }
}

/// Payload of a Fibre Channel link, MB/s. 1-8GFC: 1.0625 GBd x generation, 8b/10b. 16 and 32GFC: 14.025 and
/// 28.05 GBd, 64b/66b. Frames: 2048 payload of 2108 on the wire (SOF 4, header 24, CRC 4, EOF 4, six idles 24).
fn fibre_channel_mb_s(generation: u32) -> f64 {
    let frame = 2048.0 / 2108.0;
    match generation {
        16 => 14_025.0 * (64.0 / 66.0) / 8.0 * frame,
        32 => 28_050.0 * (64.0 / 66.0) / 8.0 * frame,
        // Two bits a symbol, 256b/257b, and 5140 of 5440 bits behind the forward error correction.
        64 | 128 => {
            28_900.0 * 2.0 * (256.0 / 257.0) * (5140.0 / 5440.0) / 8.0 * frame * f64::from(generation / 64)
        }
        other => 1062.5 * f64::from(other) * 0.8 / 8.0 * frame,
    }
}

/// Payload of one PCI Express lane, MB/s: line rate, coding (8b/10b or 128b/130b), and about 88 % for
/// transaction headers at 256-byte payloads.
fn pcie_lane_mb_s(generation: u32) -> f64 {
    let raw = match generation {
        1 => 250.0,
        2 => 500.0,
        3 => 984.6,
        4 => 1969.2,
        5 => 3938.5,
        // Two bits a symbol; flits of 256 bytes carry 236.
        _ => 8000.0 * 236.0 / 256.0,
    };
    raw * 0.88
}

/// Payload of USB 2.0 storage, MB/s, for transfers of `size_bytes`.
fn usb2_mb_s(size_bytes: f64, corner: Corner) -> f64 {
    let alone_us = at_corner(USB2_COMMAND_US, corner);
    let byte_us = 1.0 / USB2_MB_S - alone_us / USB2_COMMAND;
    size_bytes / ((size_bytes / USB2_COMMAND).ceil().max(1.0) * alone_us + size_bytes * byte_us)
}

/// Payload of USB storage above 2.0, MB/s: USB Attached SCSI; what bridges reach, as `assay check` has it. 40 Gbit/s
/// tunnels four lanes of PCIe 3.0, of which about 3,000 MB/s are left.
fn usb_mb_s(gbit_s: f64) -> f64 {
    match gbit_s {
        ..6.0 => 400.0,
        ..12.0 => 1000.0,
        ..25.0 => 2000.0,
        _ => 3000.0,
    }
}

/// Payload of InfiniBand, MB/s: 8b/10b up to QDR, 64b/66b from FDR on, and about 2 % for the headers of 4 KiB packets.
fn infiniband_mb_s(gbit_s: f64) -> f64 {
    let coded = if gbit_s <= 40.0 { 0.8 } else { 64.0 / 66.0 };
    gbit_s * 125.0 * coded * 0.98
}

/// R2T round trips that a write of `size_bytes` waits for: `ceil((size - unsolicited) / MaxBurst)`.
///
/// Unsolicited data is what may travel before the target asks: immediate data up to one PDU, and, when
/// `InitialR2T` is off, up to `FirstBurstLength` (RFC 7143, 13.10-13.14).
#[must_use]
pub fn r2t_round_trips(protocol: &Protocol, size_bytes: f64) -> f64 {
    if protocol.kind != ProtocolKind::Iscsi {
        return 0.0;
    }
    let first = protocol.first_burst.value;
    let immediate =
        if protocol.immediate_data { first.min(protocol.max_recv_data_segment.value) } else { 0.0 };
    let unsolicited = if protocol.initial_r2t { immediate } else { first };
    ((size_bytes - unsolicited).max(0.0) / protocol.max_burst.value).ceil()
}

/// Paths that the load can use. A LUN with a fixed path uses one, and others may be given the next; sessions
/// that are hashed fall on p paths at random: l of them use `p (1 - (1 - 1/p)^l)`.
#[must_use]
pub(crate) fn usable_paths(paths: &Paths) -> f64 {
    match paths.policy {
        PathPolicy::RoundRobin | PathPolicy::LeastQueue => paths.count.value,
        PathPolicy::Fixed => paths.luns.value.min(paths.count.value),
        PathPolicy::Hash => {
            let p = paths.count.value;
            p * (1.0 - (1.0 - 1.0 / p).powf(paths.luns.value))
        }
    }
}

/// I/Os that go to one path before the next: `rr_ios` at a corner, or fewer when the byte limit comes first.
#[must_use]
pub(crate) fn ios_per_turn(paths: &Paths, size_bytes: f64, corner: Corner) -> f64 {
    match paths.policy {
        PathPolicy::RoundRobin => {
            let by_bytes = paths.rr_bytes.as_ref().map_or(f64::INFINITY, |b| (b.value / size_bytes).ceil());
            paths.rr_ios.cost_at(corner).min(by_bytes).max(1.0)
        }
        PathPolicy::LeastQueue | PathPolicy::Fixed | PathPolicy::Hash => 1.0,
    }
}

/// How many paths' worth of bandwidth round robin delivers when the wire is the limit.
///
/// k I/Os per turn, N outstanding, P paths, each serving mu:
/// * `N < k/2`: while the new path fills, the old one still drains its N, so a turn of k I/Os takes
///   `(k - N) / mu` instead of `k / mu`: speed-up `1 / (1 - N/k)`.
/// * `N >= k/2`: s turns are in service at once; the mean number outstanding is `k (s - 1) / 2`, so
///   `s = 1 + 2N/k`. Both meet at `N = k/2` (s = 2).
/// * never more than P, and never more than N.
///
/// Derived here; the simulation agrees within 2 % (`tests/it/engines.rs`).
#[must_use]
pub fn round_robin_speedup(paths: f64, ios_per_turn: f64, outstanding: f64) -> f64 {
    let (k, n) = (ios_per_turn, outstanding);
    let free = if n < k / 2.0 { 1.0 / (1.0 - n / k) } else { 1.0 + 2.0 * n / k };
    free.min(paths).min(n.max(1.0))
}
