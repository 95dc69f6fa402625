//! What may limit a load.

use serde::Serialize;

/// A cause that a diagnosis can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Cause {
    /// The CPU time of the tester's workers.
    TesterCpu,
    /// CPU time that other programs or the hypervisor take.
    HostCpu,
    /// Too few I/Os outstanding: each waits for its latency.
    FewOutstanding,
    /// This host's page cache.
    PageCache,
    /// A read cache or the memory of the target.
    ReadCache,
    /// A write-back cache that takes writes in.
    WriteCacheAbsorbing,
    /// A write-back cache that is full.
    WriteCacheFull,
    /// Seeks and rotation.
    RotatingRandom,
    /// The transfer rate of rotating media.
    RotatingSequential,
    /// The dies of flash.
    FlashParallelism,
    /// One slow member of a stripe.
    SlowMember,
    /// A part of the addresses that is slower than the rest.
    WeakRegion,
    /// An array or a file system that rebuilds, checks or moves data.
    Rebuild,
    /// The distance to the target: too little is under way for the round trip.
    RoundTrip,
    /// A target with few threads.
    ServerThreads,
    /// Writes to one file, which its lock lets pass one at a time.
    FileLock,
    /// The first write to blocks that have to be allocated.
    FirstWrite,
    /// Encryption by this host.
    Crypt,
    /// Power states that take time to leave.
    PowerState,
    /// A link that is slower or narrower than both of its ends can.
    LinkDowngraded,
    /// A device that is too hot.
    Thermal,
    /// A file in many pieces.
    Fragmented,
    /// Flash whose fast write area is used up.
    SlcExhausted,
    /// Flash that moves data to make room.
    GarbageCollection,
    /// The interface or bus of a local device.
    Interface,
    /// The links together.
    Link,
    /// A path policy that does not spread I/O.
    PathPolicy,
    /// One of several paths is slower than the others.
    SlowPath,
    /// Frames that are lost, or too large for the path.
    NetworkFault,
    /// Software of the target, for each I/O.
    TargetPerIo,
    /// Software of the target, for each byte.
    TargetPerByte,
    /// A target that carries out one I/O at a time.
    TargetSerial,
    /// A limit on operations per second.
    IopsCap,
    /// A limit on bytes per second.
    BytesCap,
    /// A limit with burst credit.
    BurstCredit,
    /// Writes that make the storage read first.
    ReadModifyWrite,
    /// The flush of each write.
    Flush,
    /// Data that the target reduces.
    ReducibleData,
    /// Blocks that were never written.
    UnmappedBlocks,
    /// Other load on the target.
    Neighbour,
    /// None of the others explains what was measured.
    NoneOfThese,
}

impl Cause {
    /// As it stands in JSON and tables.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
