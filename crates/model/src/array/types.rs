//! The entities of an array file. Units are the last part of each name.

use crate::quantity::{Provenance, Quantity};

/// A storage system as the model sees it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Array {
    /// Short name; the file's stem.
    pub name: String,
    /// What a person calls it.
    pub title: String,
    /// Where the description comes from.
    pub source: String,
    /// What a member of the array is; all members are alike.
    pub device: Device,
    /// How the members are combined.
    pub raid: Raid,
    /// The controller between RAID and target: caps and caches.
    pub controller: Controller,
    /// What the target's software costs per I/O.
    pub target: Target,
    /// How commands reach it.
    pub protocol: Protocol,
    /// One link.
    pub link: Link,
    /// How many links, and how I/Os are spread over them.
    pub paths: Paths,
    /// The host side.
    pub initiator: Initiator,
}

impl Array {
    /// Returns the array as its own end of the network sees it: no links, no protocol, no initiator.
    #[must_use]
    pub fn without_network(&self) -> Self {
        Self {
            protocol: Protocol::default(),
            link: Link::default(),
            paths: Paths::default(),
            initiator: Initiator::default(),
            ..self.clone()
        }
    }
}

/// A member of the array.
#[derive(Debug, Clone, PartialEq)]
pub enum Device {
    /// A rotating disk.
    Hdd(Hdd),
    /// A solid-state drive.
    Ssd(Flash),
}

impl Default for Device {
    fn default() -> Self {
        Self::Hdd(Hdd::default())
    }
}

/// A rotating disk, from its sheet.
#[derive(Debug, Clone, PartialEq)]
pub struct Hdd {
    /// Model name.
    pub model: String,
    /// Revolutions per minute.
    pub rpm: Quantity,
    /// Track-to-track seek, ms.
    pub seek_track_ms: Quantity,
    /// Average seek (one third of the stroke), ms.
    pub seek_avg_ms: Quantity,
    /// Full-stroke seek, ms.
    pub seek_full_ms: Quantity,
    /// Command overhead per I/O, ms.
    pub overhead_ms: Quantity,
    /// Sustained rate of the outermost zone, MB/s (10^6).
    pub outer_mb_s: Quantity,
    /// Sustained rate of the innermost zone, MB/s (10^6).
    pub inner_mb_s: Quantity,
    /// Capacity, bytes.
    pub capacity: Quantity,
    /// Commands the disk reorders at once; 1 = no command queueing.
    pub ncq: Quantity,
    /// Exponent on the gain of reordering: 1 = as simulated, 0 = none. Fitted, never on a sheet.
    pub ncq_gain: Quantity,
    /// What it orders its queue by.
    pub sorting: Sorting,
    /// Write cache of the disk itself, bytes; absent = there is none, or it is off.
    pub write_cache: Option<Quantity>,
}

/// What a disk orders its queue by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sorting {
    /// Time until the head is there: seek and rotation.
    Position,
    /// Place only: seek, but not rotation.
    Seek,
    /// Not known; the interval holds both.
    Unknown,
}

impl Default for Hdd {
    fn default() -> Self {
        Self {
            model: String::new(),
            rpm: missing(),
            seek_track_ms: missing(),
            seek_avg_ms: missing(),
            seek_full_ms: missing(),
            overhead_ms: Quantity::assumed(0.1),
            outer_mb_s: missing(),
            inner_mb_s: missing(),
            capacity: missing(),
            ncq: Quantity::assumed(31.0),
            ncq_gain: Quantity::assumed(1.0),
            sorting: Sorting::Unknown,
            write_cache: None,
        }
    }
}

/// A solid-state drive, from its sheet.
#[derive(Debug, Clone, PartialEq)]
pub struct Flash {
    /// Model name.
    pub model: String,
    /// Capacity, bytes.
    pub capacity: Quantity,
    /// Random 4 KiB reads at one outstanding, per second.
    pub qd1_read_iops: Quantity,
    /// Random 4 KiB writes at one outstanding, per second.
    pub qd1_write_iops: Quantity,
    /// Dies times planes that work at once.
    pub dies: Quantity,
    /// Controller limit of random reads, per second.
    pub read_iops_max: Quantity,
    /// Controller limit of random writes, per second.
    pub write_iops_max: Quantity,
    /// Sequential read limit, MB/s (10^6).
    pub read_mb_s: Quantity,
    /// Sequential write limit while the SLC cache takes writes, MB/s (10^6).
    pub write_mb_s: Quantity,
    /// Size of the SLC write cache, bytes; absent = none.
    pub slc: Option<Quantity>,
    /// Write limit after the SLC cache is full, MB/s (10^6).
    pub slc_full_mb_s: Option<Quantity>,
    /// Random write limit in steady state (after preconditioning), per second.
    pub steady_write_iops: Option<Quantity>,
    /// Whether the drive was preconditioned.
    pub state: FlashState,
}

impl Default for Flash {
    fn default() -> Self {
        Self {
            model: String::new(),
            capacity: missing(),
            qd1_read_iops: missing(),
            qd1_write_iops: missing(),
            dies: Quantity::assumed(32.0),
            read_iops_max: missing(),
            write_iops_max: missing(),
            read_mb_s: missing(),
            write_mb_s: missing(),
            slc: None,
            slc_full_mb_s: None,
            steady_write_iops: None,
            state: FlashState::Fresh,
        }
    }
}

/// Whether an SSD still has erased blocks to spare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlashState {
    /// As bought or freshly trimmed: sheet figures.
    Fresh,
    /// Every block written more than once: garbage collection runs.
    Steady,
}

/// RAID level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum Level {
    Single,
    Raid0,
    Raid1,
    Raid10,
    Raid5,
    Raid6,
    Raid50,
    Raid60,
    Raidz1,
    Raidz2,
    Raidz3,
    Draid1,
    Draid2,
    Draid3,
}

/// How the members are combined.
#[derive(Debug, Clone, PartialEq)]
pub struct Raid {
    /// The level.
    pub level: Level,
    /// Members that hold data or parity.
    pub disks: Quantity,
    /// RAID 50/60 legs, or raidz vdevs.
    pub groups: Quantity,
    /// Data plus parity of one dRAID stripe; dRAID only.
    pub width: Option<Quantity>,
    /// Stripe unit per member, bytes; for raidz and dRAID the record size.
    pub chunk: Quantity,
    /// Whether a sequential read streams from both halves of a mirror.
    pub read_both_mirrors: bool,
    /// Members that have failed, all of one leg, vdev or mirror; absent = none.
    pub failed: Option<Quantity>,
    /// Time of the members that are left there which a rebuild takes, %; absent = there is none.
    pub rebuild_pct: Option<Quantity>,
}

impl Default for Raid {
    fn default() -> Self {
        Self {
            level: Level::Single,
            disks: missing(),
            groups: Quantity::assumed(1.0),
            width: None,
            chunk: Quantity::assumed(65_536.0),
            read_both_mirrors: false,
            failed: None,
            rebuild_pct: None,
        }
    }
}

/// The controller: caps of its own, and its caches (or the server's page cache).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Controller {
    /// Read cache, bytes.
    pub read_cache: Option<Quantity>,
    /// Write-back cache, bytes; absent = write-through.
    pub write_back: Option<Quantity>,
    /// Whether the write-back cache survives a power cut (BBU, NVRAM): a flush then costs nothing.
    pub battery: bool,
    /// Read limit of the controller or its bus, MB/s (10^6).
    pub read_mb_s: Option<Quantity>,
    /// Write limit of the controller or its bus, MB/s (10^6).
    pub write_mb_s: Option<Quantity>,
    /// I/Os per second the controller can handle.
    pub iops_max: Option<Quantity>,
}

/// What the target's software costs: T = a + b*size per I/O, and what it serialises.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// CPUs (or threads) that pay the cost at once.
    pub cores: Quantity,
    /// a of a read, us per I/O.
    pub read_op_us: Option<Quantity>,
    /// b of a read, us per KiB.
    pub read_kib_us: Option<Quantity>,
    /// a of a write, us per I/O.
    pub write_op_us: Option<Quantity>,
    /// b of a write, us per KiB.
    pub write_kib_us: Option<Quantity>,
    /// I/Os the target works on at once; absent = no limit.
    pub workers: Option<Quantity>,
    /// Time of one random write when writes pass one at a time, ms; absent = they do not.
    pub serial_write_ms: Option<Quantity>,
    /// Cost, in that queue, of a sequential write that follows a random I/O, as a fraction of a random one.
    /// Pure streams do not pass the queue.
    pub serial_sequential: Quantity,
}

impl Default for Target {
    fn default() -> Self {
        Self {
            cores: Quantity::assumed(1.0),
            read_op_us: None,
            read_kib_us: None,
            write_op_us: None,
            write_kib_us: None,
            workers: None,
            serial_write_ms: None,
            serial_sequential: Quantity::assumed(0.0),
        }
    }
}

/// What carries the commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum ProtocolKind {
    Local,
    Sas,
    FibreChannel,
    Iscsi,
    Nfs,
}

/// Protocol and its negotiated parameters. The iSCSI defaults are those of RFC 7143.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a negotiated yes or no of the protocol")]
pub struct Protocol {
    /// Which protocol.
    pub kind: ProtocolKind,
    /// iSCSI `MaxRecvDataSegmentLength`: payload of one data PDU, bytes.
    pub max_recv_data_segment: Quantity,
    /// iSCSI: the target must ask (R2T) before unsolicited Data-Out.
    pub initial_r2t: bool,
    /// iSCSI: data may ride in the command PDU.
    pub immediate_data: bool,
    /// iSCSI `FirstBurstLength`, bytes.
    pub first_burst: Quantity,
    /// iSCSI `MaxBurstLength`: data per R2T, bytes.
    pub max_burst: Quantity,
    /// iSCSI: CRC32C of data PDUs (4 more bytes on the wire per PDU).
    pub data_digest: bool,
    /// NFS: every write is committed to stable storage before it is answered.
    pub nfs_sync: bool,
    /// Command to first response over an idle link, us.
    pub round_trip_us: Quantity,
}

impl Default for Protocol {
    fn default() -> Self {
        Self {
            kind: ProtocolKind::Local,
            max_recv_data_segment: Quantity::assumed(8192.0),
            initial_r2t: true,
            immediate_data: true,
            first_burst: Quantity::assumed(65_536.0),
            max_burst: Quantity::assumed(262_144.0),
            data_digest: false,
            nfs_sync: false,
            round_trip_us: Quantity::assumed(0.0),
        }
    }
}

/// Kind and rate of a link, as it is sold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LinkRate {
    /// No link that could limit: the controller and devices say everything.
    Unlimited,
    /// Ethernet of this many Gbit/s.
    Ethernet(f64),
    /// Fibre Channel of this generation (1, 2, 4, 8, 16, 32).
    FibreChannel(u32),
    /// SATA of this many Gbit/s (1.5, 3, 6).
    Sata(f64),
    /// SAS: Gbit/s per lane (3, 6, 12) and lanes.
    Sas {
        /// Gbit/s of one lane.
        lane_gbit_s: f64,
        /// Lanes of the wide port.
        lanes: u32,
    },
    /// PCI Express: generation (1..5) and lanes.
    Pcie {
        /// Generation.
        generation: u32,
        /// Lanes.
        lanes: u32,
    },
}

/// One link.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// Kind and rate.
    pub rate: LinkRate,
    /// Ethernet MTU, bytes.
    pub mtu: Quantity,
    /// TCP timestamps (12 bytes of every segment).
    pub timestamps: bool,
    /// VLAN tag (4 bytes of every frame).
    pub vlan: bool,
}

impl Default for Link {
    fn default() -> Self {
        Self { rate: LinkRate::Unlimited, mtu: Quantity::assumed(1500.0), timestamps: true, vlan: false }
    }
}

/// How I/Os are spread over the paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum PathPolicy {
    Fixed,
    RoundRobin,
    LeastQueue,
    /// Link aggregation: one session hashes to one link.
    Hash,
}

/// The paths between initiator and target.
#[derive(Debug, Clone, PartialEq)]
pub struct Paths {
    /// Number of paths.
    pub count: Quantity,
    /// Policy.
    pub policy: PathPolicy,
    /// Round robin: I/Os before the next path.
    pub rr_ios: Quantity,
    /// Round robin: bytes before the next path; whichever limit comes first.
    pub rr_bytes: Option<Quantity>,
}

impl Default for Paths {
    fn default() -> Self {
        Self {
            count: Quantity::assumed(1.0),
            policy: PathPolicy::Fixed,
            rr_ios: Quantity::assumed(1000.0),
            rr_bytes: None,
        }
    }
}

/// The host side.
#[derive(Debug, Clone, PartialEq)]
pub struct Initiator {
    /// I/Os the LUN accepts at once; more wait in the host.
    pub queue_depth: Option<Quantity>,
    /// Largest I/O sent as one command, bytes.
    pub split: Option<Quantity>,
    /// Host CPU per I/O of one worker, us: a worker issues no faster than this.
    pub op_us: Quantity,
}

impl Default for Initiator {
    fn default() -> Self {
        Self { queue_depth: None, split: None, op_us: Quantity::assumed(0.0) }
    }
}

/// A required number that the file has not given yet; the reader turns it into an error.
pub(crate) fn missing() -> Quantity {
    Quantity { value: f64::NAN, lo: f64::NAN, hi: f64::NAN, from: Provenance::Assumed("missing".to_owned()) }
}
