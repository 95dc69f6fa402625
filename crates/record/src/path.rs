//! The network between this host and a portal, and samples of the TCP connections each second. The room `host` provides
//! them.

use serde::{Deserialize, Serialize};

/// The network between this host and one address, as found by the examination.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NetPathFacts {
    /// Route of packets; `None` if the kernel has no route.
    pub route: Option<RouteFacts>,
    /// Outgoing interface.
    pub interface: Option<InterfaceFacts>,
    /// Largest frames that arrive.
    pub frames: FrameFacts,
}

/// Route of packets to an address.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RouteFacts {
    /// Interface.
    pub device: String,
    /// Next hop; `None` if the address is on the link itself.
    pub gateway: Option<String>,
    /// Source address.
    pub source: Option<String>,
    /// The subnet of that route, `10.0.1.0/24`; empty for the default route and for addresses of this host.
    pub subnet: String,
    /// Routing table of the route, if a rule (`ip rule`) chose another one than the usual tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<u32>,
}

/// A network interface of this host.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct InterfaceFacts {
    /// Its name.
    pub name: String,
    /// `veth`, `bond`, `vlan`, `bridge`, … ; empty for hardware.
    pub kind: String,
    /// State of the link.
    pub state: LinkState,
    /// Largest IP packet, bytes.
    pub mtu_bytes: u32,
    /// Speed reported by the driver, Mbit/s. Meaningless for virtual interfaces.
    pub speed_mbit_s: Option<u32>,
    /// `full` or `half`, if the driver reports it.
    pub duplex: Option<String>,
    /// Limit of a shaper on it.
    pub shaper: Option<ShaperFacts>,
    /// Pause frames sent and obeyed, if the driver reports them.
    pub pause: Option<PauseFacts>,
    /// Sizes of the rings, if the driver reports them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rings: Option<RingFacts>,
    /// Interrupt coalescing, if the driver reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coalescing: Option<CoalescingFacts>,
    /// Active offloads, with ethtool's names; `None` if the driver does not report them.
    pub offloads: Option<Vec<String>>,
    /// Counters since the interface was created.
    pub counters: InterfaceCounters,
    /// Distribution of packets over the members of a bond.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bond: Option<BondFacts>,
    /// Interfaces below it: the device under a VLAN, the members of a bond, the port of a bridge that leads there.
    /// Empty if there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lower: Vec<InterfaceFacts>,
}

/// Largest depth of stacked interfaces: a VLAN on a bridge on a VLAN on a bond is five.
const STACK_MAX: usize = 8;

impl InterfaceFacts {
    /// The `kind` of an interface in another network namespace, of which this process sees nothing else.
    pub const ELSEWHERE: &'static str = "elsewhere";

    /// Returns the physical links that carry its packets: the interface itself if it has no lower one. For a bond, only
    /// members that are up; for an active-backup bond, only the active one.
    pub fn carriers(&self) -> Vec<&InterfaceFacts> {
        self.carriers_within(STACK_MAX)
    }

    fn carriers_within(&self, depth: usize) -> Vec<&InterfaceFacts> {
        let mut found: Vec<&InterfaceFacts> = Vec::new();
        if depth > 0 {
            let below = self.serving().into_iter().flat_map(|lower| lower.carriers_within(depth - 1));
            for carrier in below {
                if !found.iter().any(|known| known.name == carrier.name) {
                    found.push(carrier);
                }
            }
        }
        if found.is_empty() { vec![self] } else { found }
    }

    /// Returns the names of this interface and of all below it that this process sees, each once.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        let mut waiting = vec![self];
        while let Some(one) = waiting.pop() {
            waiting.extend(&one.lower);
            if one.kind != Self::ELSEWHERE && !names.contains(&one.name.as_str()) {
                names.push(&one.name);
            }
        }
        names
    }

    /// Returns the interfaces of the layer below that carry packets now, or all of them if none does.
    pub fn serving(&self) -> Vec<&InterfaceFacts> {
        let active = self.bond.as_ref().and_then(|bond| bond.active.as_deref());
        let serves = |lower: &&InterfaceFacts| {
            lower.state == LinkState::Up && active.is_none_or(|active| active == lower.name)
        };
        let serving: Vec<&InterfaceFacts> = self.lower.iter().filter(serves).collect();
        if serving.is_empty() { self.lower.iter().collect() } else { serving }
    }
}

/// Distribution of packets over a bond.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BondFacts {
    /// `802.3ad`, `active-backup`, `balance-xor`, …
    pub mode: String,
    /// Fields that are hashed to choose a member: `layer2` (Ethernet addresses), `layer3+4` (IP addresses and ports), …
    pub hash: String,
    /// The active member, if the others are backups.
    pub active: Option<String>,
}

/// State of an interface's link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkState {
    /// It carries packets.
    #[default]
    Up,
    /// It is administratively up, but has no carrier.
    NoCarrier,
    /// It is administratively down.
    Down,
}

/// A shaper: packets leave no faster than this. It limits what this host sends, not what it receives.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ShaperFacts {
    /// Queueing discipline: `htb`.
    pub kind: String,
    /// Rate, bits per second, over IP packets and `counted_bytes`.
    pub bit_s: u64,
    /// Number of bytes per frame that count in addition to the IP packet: 14 for the Ethernet header by default.
    pub counted_bytes: u32,
}

/// Ethernet flow control (IEEE 802.3x).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PauseFacts {
    /// Received pause frames are obeyed.
    pub rx: bool,
    /// Pause frames are sent when buffers run full.
    pub tx: bool,
}

/// Rings between a network card and its driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RingFacts {
    /// Size of the receive ring, packets.
    pub rx: u32,
    /// Largest possible size.
    pub rx_max: u32,
    /// Size of the transmit ring, packets.
    pub tx: u32,
    /// Largest possible size.
    pub tx_max: u32,
}

/// Interrupt coalescing: less work for the CPU, at the cost of latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CoalescingFacts {
    /// Delay after the first received packet, µs.
    pub rx_us: Option<u32>,
    /// Number of packets after which it interrupts regardless of the delay.
    pub rx_packets: Option<u32>,
    /// True if the driver adapts these values to the load.
    pub adaptive_rx: bool,
}

/// Counters of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct InterfaceCounters {
    /// Number of packets received.
    pub rx_packets: u64,
    /// Number of packets sent.
    pub tx_packets: u64,
    /// Number of receive errors.
    pub rx_errors: u64,
    /// Number of transmit errors.
    pub tx_errors: u64,
    /// Number of received packets that were dropped.
    pub rx_dropped: u64,
    /// Number of packets dropped before transmission.
    pub tx_dropped: u64,
    /// Number of bytes received, including the Ethernet header.
    #[serde(default)]
    pub rx_bytes: u64,
    /// Number of bytes sent.
    #[serde(default)]
    pub tx_bytes: u64,
    /// Number of receive errors with a wrong checksum: cables, transceivers, ports.
    #[serde(default)]
    pub rx_crc_errors: u64,
    /// Number of packets lost because the receive ring was full: the host was too slow.
    #[serde(default)]
    pub rx_overruns: u64,
}

impl InterfaceCounters {
    /// Returns the difference from `before`. A decreased counter, as of a newly created interface, counts as zero.
    pub fn since(&self, before: &Self) -> Self {
        self.with(before, u64::saturating_sub)
    }

    /// Returns the sum of both.
    pub fn plus(&self, other: &Self) -> Self {
        self.with(other, u64::saturating_add)
    }

    fn with(&self, other: &Self, of: fn(u64, u64) -> u64) -> Self {
        Self {
            rx_packets: of(self.rx_packets, other.rx_packets),
            tx_packets: of(self.tx_packets, other.tx_packets),
            rx_errors: of(self.rx_errors, other.rx_errors),
            tx_errors: of(self.tx_errors, other.tx_errors),
            rx_dropped: of(self.rx_dropped, other.rx_dropped),
            tx_dropped: of(self.tx_dropped, other.tx_dropped),
            rx_bytes: of(self.rx_bytes, other.rx_bytes),
            tx_bytes: of(self.tx_bytes, other.tx_bytes),
            rx_crc_errors: of(self.rx_crc_errors, other.rx_crc_errors),
            rx_overruns: of(self.rx_overruns, other.rx_overruns),
        }
    }
}

/// Counters of an interface under the targets during about one second, for the whole host.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LinkSample {
    /// Its name.
    pub interface: String,
    /// Counts in this second.
    pub counters: InterfaceCounters,
}

/// Frames that pass unfragmented to the other side and back.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FrameFacts {
    /// Method of the test, or the reason why it was not possible.
    pub how: FrameProbe,
    /// Tested sizes, IP packet in bytes, in ascending order.
    pub tried: Vec<FrameTry>,
    /// Largest size that passed, IP packet in bytes.
    pub largest_bytes: Option<u32>,
    /// The fastest echo, µs.
    pub echo_us: Option<u32>,
    /// Last router that reported a packet as too large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<FrameRefusal>,
    /// Reach of full frames, if routers are on the way and not all sizes arrive: routers that answered, starting here,
    /// up to the first that a full frame did not reach.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hops: Vec<FrameHop>,
}

/// A router's report that a packet is too large for its next link (ICMP "fragmentation needed", "packet too big").
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FrameRefusal {
    /// Address of the router; empty if the kernel does not report it.
    pub by: String,
    /// MTU of its next link, IP packet in bytes; 0 if not reported.
    pub mtu_bytes: u32,
}

/// A router on the way, or the destination.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameHop {
    /// The first router is 1.
    pub number: u8,
    /// Address of the router; `None` for the destination.
    pub address: Option<String>,
    /// Result for full frames up to here.
    pub full: FrameOutcome,
}

impl FrameFacts {
    /// Returns true if frames within our own interface's MTU do not arrive.
    pub fn is_lossy(&self) -> bool {
        let is_gone =
            |one: &FrameTry| matches!(one.outcome, FrameOutcome::Lost | FrameOutcome::RefusedOnTheWay);
        self.how == FrameProbe::Echo && self.tried.iter().any(is_gone)
    }
}

/// Method of the frame test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FrameProbe {
    /// ICMP echoes that must not be fragmented.
    Echo,
    /// The other side answers no echo of any size: only the TCP parameters are known.
    Unanswered,
    /// The system does not permit this user to send echoes: only the TCP parameters are known.
    NotAllowed,
    /// Echoes would take another route than the connection: rules select routes by protocol or port.
    OtherWay,
    /// There is no route.
    #[default]
    NoRoute,
}

/// A tested size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameTry {
    /// IP packet, bytes.
    pub bytes: u32,
    /// Result.
    pub outcome: FrameOutcome,
}

/// Result of a probe frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FrameOutcome {
    /// It arrived and was answered.
    Passes,
    /// It is larger than the MTU of the local interface.
    TooLargeHere,
    /// A router on the way reported that it is too large.
    RefusedOnTheWay,
    /// No answer arrived.
    Lost,
}

/// The TCP connections of this process to one portal, during about one second.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TcpSample {
    /// Remote address and port.
    pub remote: String,
    /// Number of connections open at its end.
    pub connections: u32,
    /// Smoothed round-trip time, mean over the connections, µs.
    pub rtt_us: u32,
    /// Number of segments retransmitted in this second. Those of a connection that ended in it are unknown.
    pub retransmits: u32,
    /// Number of segments received out of order in this second: of what the other side sends, one was lost or
    /// overtaken. `None` where the kernel does not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out_of_order: Option<u32>,
    /// Smallest segment size for sending, bytes.
    pub send_mss_bytes: u32,
    /// Smallest congestion window, segments.
    pub congestion_window_segments: u32,
}
