//! The network between this host and a portal, and what its TCP connections did each second. The room `host` fills
//! these in.

use serde::{Deserialize, Serialize};

/// The network between this host and one address, as it was when it was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NetPathFacts {
    /// How packets leave; `None` where the kernel has no way there.
    pub route: Option<RouteFacts>,
    /// What they leave through.
    pub interface: Option<InterfaceFacts>,
    /// Which frames arrive.
    pub frames: FrameFacts,
}

/// How packets to an address leave.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RouteFacts {
    /// Interface.
    pub device: String,
    /// Next hop; `None` where the address is on the link itself.
    pub gateway: Option<String>,
    /// Our address.
    pub source: Option<String>,
    /// The subnet of that route, `10.0.1.0/24`; empty for the default route and for addresses of this host.
    pub subnet: String,
    /// The routing table it stands in, where a rule chose another than the usual ones (`ip rule`).
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
    /// Whether it is up, and something is plugged in at the other end.
    pub state: LinkState,
    /// Largest IP packet, bytes.
    pub mtu_bytes: u32,
    /// What the driver calls its speed, Mbit/s. Meaningless for virtual interfaces.
    pub speed_mbit_s: Option<u32>,
    /// `full` or `half`, where the driver says.
    pub duplex: Option<String>,
    /// What a shaper on it lets out.
    pub shaper: Option<ShaperFacts>,
    /// Whether pause frames are sent and obeyed, where the driver says.
    pub pause: Option<PauseFacts>,
    /// How many packets wait for the CPU, where the driver says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rings: Option<RingFacts>,
    /// How long interrupts are held back, where the driver says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coalescing: Option<CoalescingFacts>,
    /// Offloads that are on, as ethtool calls them; `None` where the driver does not say.
    pub offloads: Option<Vec<String>>,
    /// Counters since the interface was made.
    pub counters: InterfaceCounters,
    /// How a bond spreads packets over its members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bond: Option<BondFacts>,
    /// What it stands on: the device under a VLAN, the members of a bond, the port of a bridge that leads there. Empty
    /// for what stands on nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lower: Vec<InterfaceFacts>,
}

/// Largest depth of interfaces on interfaces: a VLAN on a bridge on a VLAN on a bond is five.
const STACK_MAX: usize = 8;

impl InterfaceFacts {
    /// The `kind` of an interface that lies in another network namespace, where this process sees nothing of it.
    pub const ELSEWHERE: &'static str = "elsewhere";

    /// Returns the physical links that carry its packets: itself where it has no lower interface. Of a bond, only
    /// members that are up count; of an active-backup bond, only the active one.
    #[must_use]
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

    /// The names of this interface and of all below it that this process sees, each once.
    #[must_use]
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

    /// What of the layer below carries packets now; everything where nothing does.
    #[must_use]
    pub fn serving(&self) -> Vec<&InterfaceFacts> {
        let active = self.bond.as_ref().and_then(|bond| bond.active.as_deref());
        let serves = |lower: &&InterfaceFacts| {
            lower.state == LinkState::Up && active.is_none_or(|active| active == lower.name)
        };
        let serving: Vec<&InterfaceFacts> = self.lower.iter().filter(serves).collect();
        if serving.is_empty() { self.lower.iter().collect() } else { serving }
    }
}

/// How a bond spreads packets.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BondFacts {
    /// `802.3ad`, `active-backup`, `balance-xor`, …
    pub mode: String,
    /// What is hashed to choose a member: `layer2` (addresses of Ethernet), `layer3+4` (IP addresses and ports), …
    pub hash: String,
    /// The one member in use, where the others are spares.
    pub active: Option<String>,
}

/// Whether an interface can carry anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkState {
    /// It carries packets.
    #[default]
    Up,
    /// It is switched on, and nothing is at the other end.
    NoCarrier,
    /// It is switched off.
    Down,
}

/// A shaper: packets leave no faster than this. It limits what this host sends, not what it receives.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ShaperFacts {
    /// Queueing discipline: `htb`.
    pub kind: String,
    /// Bits per second, counted over IP packets and `counted_bytes`.
    pub bit_s: u64,
    /// Bytes of each frame that are counted beside the IP packet: 14 of the Ethernet header, where nothing else is set.
    pub counted_bytes: u32,
}

/// Ethernet flow control (IEEE 802.3x).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PauseFacts {
    /// Pause frames that arrive are obeyed.
    pub rx: bool,
    /// Pause frames are sent when buffers run full.
    pub tx: bool,
}

/// Rings between a card and its driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RingFacts {
    /// Packets that wait to be received, at most.
    pub rx: u32,
    /// What that could be set to.
    pub rx_max: u32,
    /// Packets that wait to be sent, at most.
    pub tx: u32,
    /// What that could be set to.
    pub tx_max: u32,
}

/// How a card gathers packets before it interrupts: less work for the CPU, and that much latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CoalescingFacts {
    /// How long it waits after the first received packet, µs.
    pub rx_us: Option<u32>,
    /// Packets after which it interrupts all the same.
    pub rx_packets: Option<u32>,
    /// Whether the driver adapts these to the load.
    pub adaptive_rx: bool,
}

/// What an interface has counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct InterfaceCounters {
    /// Packets received.
    pub rx_packets: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Of what was to be received, broken.
    pub rx_errors: u64,
    /// Of what was to be sent, failed.
    pub tx_errors: u64,
    /// Received and thrown away.
    pub rx_dropped: u64,
    /// To be sent and thrown away.
    pub tx_dropped: u64,
    /// Bytes received, Ethernet header and all.
    #[serde(default)]
    pub rx_bytes: u64,
    /// Bytes sent.
    #[serde(default)]
    pub tx_bytes: u64,
    /// Of the broken ones, those with a wrong checksum: cables, transceivers, ports.
    #[serde(default)]
    pub rx_crc_errors: u64,
    /// Lost because the receive ring was full: the host was too slow to take them.
    #[serde(default)]
    pub rx_overruns: u64,
}

impl InterfaceCounters {
    /// What was counted since `before`. A counter that went back, as of an interface made anew, counts as nothing.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        self.with(before, u64::saturating_sub)
    }

    /// Both together.
    #[must_use]
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

/// What an interface under the targets did during about one second, for the whole host.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LinkSample {
    /// Its name.
    pub interface: String,
    /// What it counted in this second.
    pub counters: InterfaceCounters,
}

/// Which frames pass to the other side unbroken (do not fragment), and back.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FrameFacts {
    /// How that was found out, or why it was not.
    pub how: FrameProbe,
    /// Sizes that were tried, IP packet in bytes, in ascending order.
    pub tried: Vec<FrameTry>,
    /// The largest that passed, IP packet in bytes.
    pub largest_bytes: Option<u32>,
    /// The fastest echo, µs.
    pub echo_us: Option<u32>,
    /// The last router that said that a packet is too large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<FrameRefusal>,
    /// How far full frames come, where routers are on the way and not all sizes arrive: routers that answered, from
    /// here on, up to the first that a full frame did not reach.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hops: Vec<FrameHop>,
}

/// A router's word that a packet is too large for its next link (ICMP "fragmentation needed", "packet too big").
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FrameRefusal {
    /// The router's address; empty where the kernel does not report it.
    pub by: String,
    /// What its next link takes, IP packet in bytes; 0 where it did not say.
    pub mtu_bytes: u32,
}

/// A router on the way, or the end of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameHop {
    /// The first router is 1.
    pub number: u8,
    /// The router's address; `None` at the end of the way.
    pub address: Option<String>,
    /// Whether full frames come so far.
    pub full: FrameOutcome,
}

impl FrameFacts {
    /// Whether frames that our own interface sends do not arrive.
    #[must_use]
    pub fn is_lossy(&self) -> bool {
        let is_gone =
            |one: &FrameTry| matches!(one.outcome, FrameOutcome::Lost | FrameOutcome::RefusedOnTheWay);
        self.how == FrameProbe::Echo && self.tried.iter().any(is_gone)
    }
}

/// How it was found out which frames pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FrameProbe {
    /// ICMP echoes that must not be fragmented.
    Echo,
    /// The other side answers no echo of any size: only what TCP agreed on is known.
    Unanswered,
    /// The system does not let this user send echoes: only what TCP agreed on is known.
    NotAllowed,
    /// Echoes would take another way than the connection: rules choose ways by protocol or port.
    OtherWay,
    /// There is no way there.
    #[default]
    NoRoute,
}

/// One size that was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameTry {
    /// IP packet, bytes.
    pub bytes: u32,
    /// How it ended.
    pub outcome: FrameOutcome,
}

/// The fate of a probe frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FrameOutcome {
    /// It arrived, and came back.
    Passes,
    /// It is larger than our own interface sends.
    TooLargeHere,
    /// A router on the way said that it is too large.
    RefusedOnTheWay,
    /// Nothing came back.
    Lost,
}

/// The TCP connections of this process to one portal, during about one second.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TcpSample {
    /// Address and port of the other side.
    pub remote: String,
    /// Connections that were open at its end.
    pub connections: u32,
    /// Smoothed round trip, mean over the connections, µs.
    pub rtt_us: u32,
    /// Segments sent again in this second. Those of a connection that broke in it are not known.
    pub retransmits: u32,
    /// Smallest segment size for sending, bytes.
    pub send_mss_bytes: u32,
    /// Smallest congestion window, segments.
    pub congestion_window_segments: u32,
}
