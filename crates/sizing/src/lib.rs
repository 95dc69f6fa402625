//! Sizing: what must be bought, or what is left, for a load.
//!
//! A [`Question`] says what must be carried ([`Need`]) and by what it may be. [`answer`] builds the candidates (a class
//! of device at a RAID level, or arrays that are described), finds the fewest devices of each that carry the load
//! with a search over simulations, and returns an [`Answer`]: the best candidate, the same with one step fewer, with a
//! failed device and under a rebuild, and what breaks first in each. [`measured`] answers from the load curve of a
//! target instead.
//!
//! Architecture invariant: pure functions of their arguments, no I/O and no clock.
#![forbid(unsafe_code)]

mod answer;
mod assess;
mod measured;
mod phrases;
mod question;
mod words;

use assay_model::array::{Level, LinkRate, ProtocolKind};
use assay_model::workload::{Access, Arrivals, LoadModel, Workload};
use assay_spec::units::{Bytes, Nanos};
use serde::Serialize;

pub use answer::{Answer, Candidate, Change, SizingError, State, answer, group_max};
pub use assess::{Assessment, LatencyKind, Precision, Short};
pub use measured::{Fall, Measured, MeasuredError, measured};
pub use question::{QuestionError, parse};

/// A limit on latency.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum LatencyLimit {
    /// There is none: the busiest resource may be 80 % busy.
    None,
    /// On the mean, ms.
    MeanMs(f64),
    /// On the 99th percentile, ms.
    P99Ms(f64),
}

impl LatencyLimit {
    /// The limit, ms; infinite where there is none.
    #[must_use]
    pub fn ms(self) -> f64 {
        match self {
            Self::None => f64::INFINITY,
            Self::MeanMs(ms) | Self::P99Ms(ms) => ms,
        }
    }
}

/// What must be carried: I/Os that arrive at random times, whatever has completed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Need {
    /// I/Os per second; `None` asks for the highest rate.
    pub iops: Option<f64>,
    /// Size of each I/O.
    pub size: Bytes,
    /// Share of reads, % in \[0, 100\].
    pub read_pct: f64,
    /// Share of random positions, % in \[0, 100\].
    pub random_pct: f64,
    /// The limit on latency.
    pub limit: LatencyLimit,
    /// Data that must fit; `None`: any amount.
    pub data: Option<Bytes>,
    /// The part of the data that I/Os fall into; `None`: all of it.
    pub active: Option<Bytes>,
    /// Whether it is one of streams, whose rates are said in bytes.
    pub in_bytes: bool,
}

/// What must still carry the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Endure {
    /// The array as it is.
    Healthy,
    /// The array with one failed device.
    Failed,
    /// The array while that device is rebuilt.
    Rebuilding,
}

/// A class of devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Class {
    /// The shipped array of one such device.
    pub array: &'static str,
    /// What people call it, in the plural.
    pub name: &'static str,
    /// The word of a question and of a price.
    pub word: &'static str,
}

impl Class {
    /// Whether the devices are disks that rotate.
    #[must_use]
    pub fn rotates(&self) -> bool {
        self.array.starts_with("hdd")
    }
}

/// The classes that a question may name.
pub const CLASSES: [Class; 6] = [
    Class { array: "hdd-5400", name: "5400 rpm disks", word: "5400rpm" },
    Class { array: "hdd-7200", name: "7200 rpm disks", word: "7200rpm" },
    Class { array: "hdd-10k", name: "10,000 rpm disks", word: "10k" },
    Class { array: "hdd-15k", name: "15,000 rpm disks", word: "15k" },
    Class { array: "ssd-sata", name: "SATA SSDs", word: "ssd" },
    Class { array: "nvme", name: "NVMe SSDs", word: "nvme" },
];

/// A sizing question.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// What must be carried.
    pub need: Need,
    /// Classes of devices to choose from; empty: all kinds.
    pub classes: Vec<Class>,
    /// RAID levels to choose from; empty: the usual ones.
    pub levels: Vec<Level>,
    /// Number of devices, where it is given.
    pub disks: Option<u32>,
    /// Largest number of devices.
    pub disks_most: Option<u32>,
    /// Smallest number of devices.
    pub disks_least: Option<u32>,
    /// Whether the number of devices of described arrays is asked for.
    pub how_many: bool,
    /// Capacity of a device; `None`: that of its class.
    pub disk_size: Option<Bytes>,
    /// The link in front of the array.
    pub link: Option<LinkRate>,
    /// The protocol over it.
    pub protocol: Option<ProtocolKind>,
    /// What must still carry the load.
    pub endure: Endure,
    /// Whether SSDs are new: their erased blocks and caches last for the whole load.
    pub fresh: bool,
    /// Changes whose effect is asked for, as overrides of an array file.
    pub changes: Vec<String>,
    /// What the question left open, and what is taken for it, in sentences.
    pub assumed: Vec<String>,
    /// Whether the load itself, size, reads or positions, is part of that.
    pub left_open: LeftOpen,
}

impl Question {
    /// Whether the number of devices is limited, and not given.
    #[must_use]
    pub(crate) fn limits_devices(&self) -> bool {
        self.disks_most.is_some() || self.disks_least.is_some()
    }
}

/// Parts of the load that a question does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LeftOpen {
    /// The size of I/Os.
    pub size: bool,
    /// The share of reads.
    pub reads: bool,
    /// The share of random positions.
    pub positions: bool,
}

/// Money for a device of a class (by its word, or `disk` for any), or for a whole array by its name.
pub type Prices = std::collections::BTreeMap<String, f64>;

/// An open loop this near to the highest rate has no latency to speak of.
const OPEN_MAX: f64 = 0.98;
/// Without a limit on latency, the busiest resource may be busy for so much of the time.
const BUSY_MAX: f64 = 0.8;

impl Need {
    /// Share of the highest rate that may be asked for, \[0, 1\].
    #[must_use]
    pub fn busy_max(&self) -> f64 {
        if self.limit == LatencyLimit::None { BUSY_MAX } else { OPEN_MAX }
    }

    /// The data that must fit, bytes; 0 where there is no such amount.
    pub(crate) fn bytes(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
        let bytes = self.data.max(self.active).map_or(0.0, |bytes| bytes.0 as f64);
        bytes
    }

    /// The load at a rate.
    #[must_use]
    pub(crate) fn load(&self, per_s: f64, usable_bytes: f64) -> Workload {
        let pace = LoadModel::Rate { per_s, arrivals: Arrivals::Poisson };
        Workload { pace, ..self.closed(OUTSTANDING_MAX, usable_bytes) }
    }

    /// The load in a closed loop: of so many workers with one I/O each, so that neither a host that waits for each I/O
    /// nor the CPU time of one worker limits what an array can do.
    pub(crate) fn closed(&self, outstanding: u32, usable_bytes: f64) -> Workload {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sizes of arrays fit")]
        let usable = Bytes(usable_bytes.max(0.0) as u64);
        let span = self.active.or(self.data).unwrap_or(usable).min(usable);
        let access =
            Access { size: self.size, read_pct: self.read_pct, random_pct: self.random_pct, weight: 1.0 };
        Workload {
            mix: vec![access],
            span,
            workers: outstanding,
            duration: Nanos::from_secs(RUN_S),
            ..Workload::simple("load", self.size.0, self.read_pct, self.random_pct, 1)
        }
    }
}

/// I/Os in flight at most: an open loop that piles up more has no latency to speak of.
const OUTSTANDING_MAX: u32 = 8192;
/// A load that is sized for lasts, s: for years, so that every cache that fills at all is full, and what it absorbed
/// until then is no part of the rate.
const RUN_S: u64 = 1_000_000_000;
