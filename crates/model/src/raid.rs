//! What one I/O asks of the members: how many visits, how large, in which phases.
//!
//! A random write of k chunks to a stripe of d data and p parity chunks costs the smaller of
//! * read-modify-write: read k + p old chunks, then write k + p: `2 (k + p)` in two serial phases;
//! * reconstruct: read the other `d - k`, then write k + p;
//! * and a full stripe is `d + p` writes without reads.
//!
//! For one small write this gives the known penalties: RAID 0: 1, 1/10: 2, 5/50: 4, 6/60: 6.
//! raidz: a record is spread over all data disks of a vdev, so every read of a record visits all of them, and
//! writes are gathered per transaction group into full stripes: they are sequential work.

mod degraded;

pub use degraded::{Case, Part};

use crate::array::{Level, Raid};
use crate::num::{small, whole};

/// Reading or writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Data towards the host.
    Read,
    /// Data from the host.
    Write,
}

/// How a write gets to its place on a disk. Drives make no difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Place {
    /// Through the disk's own write cache, if it has one, which sorts what it holds.
    #[default]
    Cached,
    /// To the platter before it is answered; so many writes are flushed together. At least 1.
    Platter(u32),
    /// To the platter, right behind the last one: a revolution later, which all that wait share.
    Behind,
}

/// Visits that run side by side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Phase {
    /// Members visited at once; 0 = there is no such phase.
    pub visits: u32,
    /// Bytes moved by each visit.
    pub bytes: f64,
    /// Whether the members read or write.
    pub kind: Kind,
    /// How a write gets to its place.
    pub place: Place,
}

impl Phase {
    /// No visit.
    pub const NONE: Self = Self { visits: 0, bytes: 0.0, kind: Kind::Read, place: Place::Cached };

    /// Visits by way of the members' own caches.
    #[must_use]
    pub const fn new(visits: u32, bytes: f64, kind: Kind) -> Self {
        Self { visits, bytes, kind, place: Place::Cached }
    }

    /// The same, where a write gets to its place in that way; reads are as they were.
    #[must_use]
    pub fn placed(self, place: Place) -> Self {
        if self.kind == Kind::Write && self.place != Place::Behind { Self { place, ..self } } else { self }
    }
}

/// A RAID group's geometry, resolved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    /// The level.
    pub level: Level,
    /// Members in all.
    pub members: u32,
    /// Members of one group (stripe width for dRAID).
    pub group: u32,
    /// Parity members of one group.
    pub parity: u32,
    /// Copies of every block.
    pub copies: u32,
    /// Stripe unit (record size for raidz and dRAID), bytes.
    pub chunk: f64,
    /// Sequential reads stream from both halves of a mirror.
    pub read_both: bool,
    /// Passing over copies and parity takes a stream no time: there is no head that has to move over them.
    pub skips: bool,
    /// Members that have failed, all of one group.
    pub failed: u32,
    /// Least that raidz and dRAID write to a member, bytes.
    pub sector: f64,
}

/// A small write.
const SECTOR: f64 = 4096.0;

impl Shape {
    /// The geometry of a checked array.
    #[must_use]
    pub fn of(raid: &Raid) -> Self {
        let members = small(whole(raid.disks.value));
        let legs = small(whole(raid.groups.value)).max(1);
        let group = raid.width.as_ref().map_or(members / legs, |w| small(whole(w.value)));
        let (parity, copies) = match raid.level {
            Level::Single | Level::Raid0 => (0, 1),
            Level::Raid1 => (0, members),
            Level::Raid10 => (0, 2),
            Level::Raid5 | Level::Raid50 | Level::Raidz1 | Level::Draid1 => (1, 1),
            Level::Raid6 | Level::Raid60 | Level::Raidz2 | Level::Draid2 => (2, 1),
            Level::Raidz3 | Level::Draid3 => (3, 1),
        };
        Self {
            level: raid.level,
            members,
            group,
            parity,
            copies,
            chunk: raid.chunk.value,
            read_both: raid.read_both_mirrors,
            skips: false,
            failed: raid.failed.as_ref().map_or(0, |f| small(whole(f.value))),
            sector: raid.sector.value,
        }
    }

    /// Whether records are spread over the whole group (raidz, dRAID).
    #[must_use]
    pub fn spreads_records(&self) -> bool {
        self.level.spreads_records()
    }

    /// Fraction of the members' capacity that holds data.
    #[must_use]
    pub(crate) fn data_fraction(&self) -> f64 {
        if self.spreads_records() {
            return self.record_fraction();
        }
        f64::from(self.group - self.parity) / f64::from(self.group) / f64::from(self.copies)
    }

    /// The same of records: each row of sectors has its parity, however few data are in it, and what is left is
    /// padded: of raidz to a multiple of parity and one, so that every gap can be used, of dRAID to the whole row
    /// (zpoolconcepts(7); M. Ahrens, "RAIDZ stripe width", 2014).
    fn record_fraction(&self) -> f64 {
        let sectors = (self.chunk / self.sector).ceil().max(1.0);
        let (group, parity) = (f64::from(self.group), f64::from(self.parity));
        let rows = (sectors / (group - parity)).ceil();
        let taken = match self.level {
            Level::Draid1 | Level::Draid2 | Level::Draid3 => rows * group,
            _ => ((sectors + rows * parity) / (parity + 1.0)).ceil() * (parity + 1.0),
        };
        sectors / taken
    }

    /// Members' worth of bandwidth for a sequential read.
    #[must_use]
    pub(crate) fn read_streams(&self) -> f64 {
        if self.skips {
            return f64::from(self.alive());
        }
        let mirrored = if self.read_both { f64::from(self.copies) } else { 1.0 };
        f64::from(self.members) * self.data_fraction() * mirrored
    }

    /// Members' worth of bandwidth for a sequential write.
    #[must_use]
    pub(crate) fn write_streams(&self) -> f64 {
        f64::from(self.members) * self.data_fraction()
    }

    /// Members that an I/O of this size streams over, were all there: those with its chunks, and with copies of them
    /// where it writes. A record lies on many members of its vdev, and is written together with its parity.
    #[must_use]
    pub(crate) fn stream_visits(&self, kind: Kind, bytes: f64) -> u32 {
        let chunks = small(whole((bytes / self.chunk).ceil())).max(1);
        let (data, copies, parity) = match kind {
            _ if !self.spreads_records() => (1, self.copies, 0),
            _ => (self.record_visits(bytes / f64::from(chunks)), 1, self.parity),
        };
        let each = if kind == Kind::Write { data * copies + parity } else { data };
        chunks.saturating_mul(each).min(self.members)
    }

    /// Bytes of a stream's I/O that one member moves, of the members that move it side by side.
    #[must_use]
    pub(crate) fn stream_piece(&self, bytes: f64) -> f64 {
        let chunk = bytes.min(self.chunk);
        if self.spreads_records() { chunk / f64::from(self.record_visits(chunk)) } else { chunk }
    }

    /// Members with data of a record of so many bytes.
    fn record_visits(&self, bytes: f64) -> u32 {
        small(whole((bytes / self.sector).ceil())).clamp(1, self.group - self.parity)
    }

    fn data_chunks(&self, bytes: f64, limit: u32) -> u32 {
        small(whole((bytes / self.chunk).ceil())).clamp(1, limit.max(1))
    }

    /// Visits of a random read.
    #[must_use]
    pub fn random_read(&self, bytes: f64) -> [Phase; 2] {
        if self.spreads_records() {
            let record = bytes.max(self.chunk);
            // Records that follow each other fill a vdev, and passing over their parity takes time.
            if record > self.chunk {
                let visits = (self.group - self.failed).max(1);
                let each = record / (f64::from(visits) * self.record_fraction());
                return [Phase::new(visits, each, Kind::Read), Phase::NONE];
            }
            let visits = self.record_visits(record);
            return [Phase::new(visits, record / f64::from(visits), Kind::Read), Phase::NONE];
        }
        let stripe = small(whole(f64::from(self.members) * self.data_fraction()));
        let visits = self.data_chunks(bytes, stripe);
        [Phase::new(visits, bytes / f64::from(visits), Kind::Read), Phase::NONE]
    }

    /// Visits of a write that continues the last one and must be durable before it is answered.
    ///
    /// raidz and dRAID write an intent log record to one vdev; the stripe follows with its transaction group.
    #[must_use]
    pub(crate) fn durable_write(&self, bytes: f64) -> [Phase; 2] {
        let phases = if self.spreads_records() {
            let data = self.record_visits(bytes);
            [Phase::new(data + self.parity, bytes / f64::from(data), Kind::Write), Phase::NONE]
        } else {
            self.random_write(bytes)
        };
        // What it reads before it writes was written just now, and is in memory.
        let written = if phases[1].visits > 0 { phases[1] } else { phases[0] };
        [written.placed(Place::Behind), Phase::NONE]
    }

    /// Visits of a random write; none for levels that gather writes into sequential stripes.
    #[must_use]
    pub fn random_write(&self, bytes: f64) -> [Phase; 2] {
        if self.spreads_records() {
            return [Phase::NONE, Phase::NONE];
        }
        let stripe = small(whole(f64::from(self.members) * self.data_fraction()));
        let data = self.group - self.parity;
        if self.parity == 0 {
            let chunks = self.data_chunks(bytes, stripe);
            let each = bytes / f64::from(chunks);
            return [Phase::new(chunks * self.copies, each, Kind::Write), Phase::NONE];
        }
        let k = self.data_chunks(bytes, data);
        let each = (bytes / f64::from(k)).min(self.chunk.max(bytes / f64::from(data)));
        let write = Phase::new(k + self.parity, each, Kind::Write);
        if k == data {
            return [write, Phase::NONE];
        }
        let modify = k + self.parity;
        let reconstruct = data - k;
        let reads = Phase::new(modify.min(reconstruct), each, Kind::Read);
        [reads, write]
    }

    /// Member I/Os per small random write, as calculators count them.
    #[must_use]
    pub fn write_penalty(&self) -> f64 {
        let phases = self.random_write(SECTOR.min(self.chunk));
        f64::from(phases[0].visits + phases[1].visits)
    }
}
