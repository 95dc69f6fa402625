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
    /// A tier of faster devices in front of the members.
    pub tier: Tier,
    /// A separate log device for writes that must be durable.
    pub log: Log,
    /// The machine that the target runs on.
    pub server: Server,
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
    /// The virtual disk through which a guest of a hypervisor sees all of that.
    pub guest: Guest,
}

impl Array {
    /// Returns the software that combines the members: raidz and dRAID are of ZFS, whether or not the file names it.
    #[must_use]
    pub fn software(&self) -> SoftwareName {
        match self.target.software {
            SoftwareName::Unknown if self.raid.level.spreads_records() => SoftwareName::Zfs,
            named => named,
        }
    }

    /// Returns the array as its own end of the network sees it: no links, no protocol, no initiator.
    #[must_use]
    pub fn without_network(&self) -> Self {
        Self {
            protocol: Protocol::default(),
            link: Link::default(),
            paths: Paths::default(),
            initiator: Initiator::default(),
            guest: Guest::default(),
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
    /// Link of each disk.
    pub link: LinkRate,
    /// Whether tracks overlap, so that a band is written as a whole.
    pub shingled: bool,
    /// What a shingled disk takes of random writes before it cleans bands for each, bytes.
    pub media_cache: Quantity,
    /// Band of a shingled disk, bytes.
    pub band: Quantity,
}

impl Hdd {
    /// The write cache of a SATA disk of unknown size: of the 14 in `arrays/catalogue` whose sheets name it, half have
    /// 16 to 64 MiB and two have more than 256.
    #[must_use]
    pub fn usual_write_cache(from: Provenance) -> Quantity {
        Quantity { value: 67_108_864.0, lo: 16_777_216.0, hi: 268_435_456.0, from }
    }
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
            link: LinkRate::Unlimited,
            shingled: false,
            media_cache: Quantity { lo: 10e9, hi: 40e9, ..Quantity::assumed(20e9) },
            band: Quantity { lo: 16_777_216.0, hi: 268_435_456.0, ..Quantity::assumed(37_748_736.0) },
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
    /// Time of a flush, ms: 0 = none, as the drive's cache survives a power cut; absent = unknown.
    pub flush_ms: Option<Quantity>,
    /// Link of each drive.
    pub link: LinkRate,
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
            flush_ms: None,
            link: LinkRate::Unlimited,
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
    /// Not known: the interval reaches down to the steady state.
    Unknown,
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
    /// I/Os that the software keeps in flight on a member; absent = no limit, but for ZFS 10.
    pub member_queue: Option<Quantity>,
    /// Least that raidz and dRAID write to a member, bytes: 2^ashift.
    pub sector: Quantity,
    /// How full a pool of ZFS on disks is, %; absent = unknown.
    pub full_pct: Option<Quantity>,
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
            member_queue: None,
            sector: Quantity::assumed(4096.0),
            full_pct: None,
        }
    }
}

/// The controller: caps of its own, and its caches (or the server's page cache).
#[derive(Debug, Clone, PartialEq)]
pub struct Controller {
    /// Read cache, bytes.
    pub read_cache: Option<Quantity>,
    /// Write-back cache, bytes; absent = write-through.
    pub write_back: Option<Quantity>,
    /// Whether the write-back cache survives a power cut (BBU, NVRAM): a flush then costs nothing.
    pub battery: bool,
    /// Whether the write-back cache is full of earlier writes when a run starts.
    pub starts_full: bool,
    /// Read limit of the controller or its bus, MB/s (10^6).
    pub read_mb_s: Option<Quantity>,
    /// Write limit of the controller or its bus, MB/s (10^6).
    pub write_mb_s: Option<Quantity>,
    /// I/Os per second the controller can handle; absent = no limit, but for one with a cache a class value.
    pub iops_max: Option<Quantity>,
    /// I/Os per second that it allows for a while (volumes of clouds); absent = no more than `iops_max`.
    pub burst_iops: Option<Quantity>,
    /// I/Os above `iops_max` that it allows until then: 0 = they are spent.
    pub burst_credits: Option<Quantity>,
    /// Time of a 4 KiB I/O that the cache answers, us, beside links and software.
    pub hit_us: Quantity,
    /// The slot of the controller or adapter in its host.
    pub slot: LinkRate,
    /// The port between the controller and the members, if they share one.
    pub expander: LinkRate,
    /// Whether drives with SATA are behind a SAS adapter, which tunnels each of their commands.
    pub tunnels_sata: bool,
}

impl Default for Controller {
    fn default() -> Self {
        Self {
            read_cache: None,
            write_back: None,
            battery: false,
            starts_full: false,
            read_mb_s: None,
            write_mb_s: None,
            iops_max: None,
            burst_iops: None,
            burst_credits: None,
            hit_us: Quantity { lo: 8.0, hi: 100.0, ..Quantity::assumed(40.0) },
            slot: LinkRate::Unlimited,
            expander: LinkRate::Unlimited,
            tunnels_sata: false,
        }
    }
}

/// A tier of faster devices. What it holds costs the members nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Tier {
    /// Data that it holds, bytes; absent = there is no tier.
    pub capacity: Option<Quantity>,
    /// What it answers.
    pub holds: TierHolds,
    /// Share of the I/Os that it answers when it is warm, %; absent = by its capacity and the skew.
    pub hit_pct: Option<Quantity>,
    /// How unevenly the data are used: theta of a zipf distribution, 0 = evenly.
    pub skew: Quantity,
    /// Whether it holds the hottest data when a run starts.
    pub warm: bool,
    /// Latency of a 4 KiB I/O alone, us.
    pub latency_us: Quantity,
    /// I/Os per second of the tier.
    pub iops_max: Option<Quantity>,
    /// Throughput of the tier, MB/s (10^6).
    pub mb_s: Option<Quantity>,
}

impl Default for Tier {
    fn default() -> Self {
        Self {
            capacity: None,
            holds: TierHolds::Reads,
            hit_pct: None,
            skew: Quantity::assumed(0.0),
            warm: true,
            latency_us: Quantity { lo: 60.0, hi: 200.0, ..Quantity::assumed(100.0) },
            iops_max: None,
            mb_s: None,
        }
    }
}

/// What a tier answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TierHolds {
    /// Reads only: writes go to the members (L2ARC, bcache write-through).
    Reads,
    /// Reads and writes of the data it holds (tiering, bcache write-back).
    All,
}

/// A log device for durable writes (SLOG, journal). The data go to the members later.
#[derive(Debug, Clone, PartialEq)]
pub struct Log {
    /// I/Os per second; absent = there is no log device.
    pub iops_max: Option<Quantity>,
    /// Throughput, MB/s (10^6).
    pub mb_s: Option<Quantity>,
    /// Latency of a durable 4 KiB write alone, us.
    pub latency_us: Quantity,
    /// Writes that wait in memory for the members, bytes.
    pub capacity: Quantity,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            iops_max: None,
            mb_s: None,
            latency_us: Quantity { lo: 15.0, hi: 100.0, ..Quantity::assumed(40.0) },
            capacity: Quantity { lo: 1e9, ..Quantity::assumed(4_294_967_296.0) },
        }
    }
}

/// The machine that the target runs on.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Server {
    /// Memory that may hold data that were read, bytes. It widens bounds; a cache that is known to be used is
    /// `controller.read_cache`.
    pub ram: Option<Quantity>,
}

/// Software between the host and the members, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SoftwareName {
    /// Not said.
    Unknown,
    /// There is none, or it costs nothing.
    None,
    /// The device mapper: LVM, dm-linear, dm-crypt without its cipher.
    Lvm,
    /// Linux md RAID.
    Md,
    /// ZFS.
    Zfs,
    /// NetApp's WAFL: writes fill whole stripes of RAID-DP, wherever they belong.
    Wafl,
}

/// What the target's software costs: T = a + b*size per I/O, and what it serialises.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// Software by its name: class values of the costs below, where none of them is given.
    pub software: SoftwareName,
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
    /// Bytes of the load's data over the bytes that reach the members, where the software compresses; absent = none.
    pub compression: Option<Quantity>,
}

impl Default for Target {
    fn default() -> Self {
        Self {
            software: SoftwareName::Unknown,
            cores: Quantity::assumed(1.0),
            read_op_us: None,
            read_kib_us: None,
            write_op_us: None,
            write_kib_us: None,
            workers: None,
            serial_write_ms: None,
            serial_sequential: Quantity::assumed(0.0),
            compression: None,
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
    Smb,
    NvmeTcp,
    NvmeRdma,
    Fcoe,
}

impl ProtocolKind {
    /// Whether the other end is a server whose software answers each command.
    #[must_use]
    pub(crate) fn has_server(self) -> bool {
        matches!(self, Self::Iscsi | Self::Nfs | Self::Smb | Self::NvmeTcp | Self::NvmeRdma)
    }
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
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum LinkRate {
    /// No link that could limit: the controller and devices say everything.
    #[default]
    Unlimited,
    /// Ethernet of this many Gbit/s.
    Ethernet(f64),
    /// A network of which only a range is known, Gbit/s of Ethernet frames: wireless, a shaped or a shared link.
    Ranged {
        /// Lowest.
        lo: f64,
        /// Highest.
        hi: f64,
    },
    /// Fibre Channel of this generation (1, 2, 4, … 128).
    FibreChannel(u32),
    /// InfiniBand of this many Gbit/s with four lanes (SDR 10 to NDR 400).
    InfiniBand(f64),
    /// USB of this many Gbit/s (0.48, 5, 10, 20, 40).
    Usb(f64),
    /// SATA of this many Gbit/s (1.5, 3, 6).
    Sata(f64),
    /// SAS: Gbit/s per lane (3, 6, 12, 24) and lanes.
    Sas {
        /// Gbit/s of one lane.
        lane_gbit_s: f64,
        /// Lanes of the wide port.
        lanes: u32,
    },
    /// PCI Express: generation (1 to 6) and lanes.
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
    /// TCP timestamps (12 bytes of every segment); `None`: unknown. Linux sends them, Windows does not.
    pub timestamps: Option<bool>,
    /// VLAN tag (4 bytes of every frame).
    pub vlan: bool,
    /// Whether it is known that the slot of a PCI Express drive has all of its lanes and its generation.
    pub slot_known: bool,
}

impl Default for Link {
    fn default() -> Self {
        Self {
            rate: LinkRate::Unlimited,
            mtu: Quantity::assumed(1500.0),
            timestamps: None,
            vlan: false,
            slot_known: true,
        }
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
    /// LUNs or sessions that the load is spread over, each with a path of its own choice.
    pub luns: Quantity,
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
            luns: Quantity::assumed(1.0),
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
    /// Hosts that issue the load, each with all of its I/Os in flight.
    pub clients: Quantity,
    /// Link of each host.
    pub link: LinkRate,
    /// Whether a worker waits for each I/O that it submits.
    pub submission: Submission,
    /// Memory of each host that may hold data that were read, bytes. It widens bounds.
    pub ram: Option<Quantity>,
}

/// How a worker submits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Submission {
    /// As many I/Os as the load keeps in flight.
    Asynchronous,
    /// One at a time, whatever the load asks for: a file system that submits in the caller's thread.
    Synchronous,
}

impl Default for Initiator {
    fn default() -> Self {
        Self {
            queue_depth: None,
            split: None,
            op_us: Quantity::assumed(0.0),
            clients: Quantity::assumed(1.0),
            link: LinkRate::Unlimited,
            submission: Submission::Asynchronous,
            ram: None,
        }
    }
}

/// A virtual disk: what a hypervisor puts between its guest and the storage.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Guest {
    /// Which.
    pub disk: VirtualDisk,
    /// What it adds to the time of an I/O alone, us; absent = that of its kind.
    pub latency_us: Option<Quantity>,
    /// Time of the hypervisor's thread for an I/O of this disk, us; absent = that of its kind.
    pub thread_us: Option<Quantity>,
}

/// How a hypervisor offers a disk to a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum VirtualDisk {
    /// There is no hypervisor, or the guest has the device itself.
    #[default]
    None,
    /// A disk that guest and hypervisor know to be virtual: virtio-blk, virtio-scsi, pvscsi, storvsc, blkfront.
    Paravirtual,
    /// A controller of hardware that is imitated, register by register: IDE, AHCI, LSI, NVMe.
    Emulated,
}

/// A required number that the file has not given yet; the reader turns it into an error.
pub(crate) fn missing() -> Quantity {
    Quantity { value: f64::NAN, lo: f64::NAN, hi: f64::NAN, from: Provenance::Assumed("missing".to_owned()) }
}
