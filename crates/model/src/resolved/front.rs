//! Devices in front of the members: a tier that holds the hottest data, and a log for durable writes.
//!
//! Both answer an I/O as one station with a rate, a throughput and a latency. Who answers is drawn: a tier
//! holds the hottest part of the span, so that its share follows from its capacity and the skew of the load.

use crate::array::{self, TierHolds};
use crate::quantity::{Corner, Quantity};
use crate::raid::Kind;
use crate::workload::Skew;

use super::IoCost;

/// The device that an I/O passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Front {
    /// None.
    None,
    /// The tier answers it, and no member is visited.
    Tier,
    /// The log makes it durable, and the members are written later.
    Log,
}

/// A device in front of the members at one corner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FrontDevice {
    /// Latency of a 4 KiB I/O alone, ns.
    pub latency_ns: f64,
    /// I/Os per second.
    pub iops_max: f64,
    /// Throughput, bytes/s.
    pub bytes_s: f64,
    /// Bytes that it holds.
    pub capacity_bytes: f64,
}

impl FrontDevice {
    /// The log of an array file; `None` where there is none.
    pub(crate) fn log(log: &array::Log, corner: Corner) -> Option<Self> {
        Self::of(log.iops_max.as_ref()?, log.mb_s.as_ref()?, &log.latency_us, &log.capacity, corner)
    }

    fn of(
        iops: &Quantity,
        mb_s: &Quantity,
        us: &Quantity,
        capacity: &Quantity,
        corner: Corner,
    ) -> Option<Self> {
        Some(Self {
            latency_ns: us.cost_at(corner) * 1e3,
            iops_max: iops.rate_at(corner),
            bytes_s: mb_s.rate_at(corner) * 1e6,
            capacity_bytes: capacity.rate_at(corner),
        })
    }

    /// Time that the device is busy with an I/O, ns.
    #[must_use]
    pub fn busy_ns(&self, bytes: f64) -> f64 {
        (1e9 / self.iops_max).max(bytes / self.bytes_s * 1e9)
    }

    /// What an I/O takes beyond that, ns: its latency with the transfer of what is more than 4 KiB.
    #[must_use]
    pub(crate) fn wait_ns(&self, bytes: f64) -> f64 {
        let alone = self.latency_ns + (bytes - 4096.0).max(0.0) / self.bytes_s * 1e9;
        (alone - self.busy_ns(bytes)).max(0.0)
    }
}

/// A tier at one corner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tier {
    /// Its devices.
    pub device: FrontDevice,
    /// Whether it holds the hottest data when a run starts.
    pub is_warm: bool,
    holds: TierHolds,
    /// Share of the I/Os that it answers, where the file says so.
    hit: Option<f64>,
    /// Theta of the data, where the load says nothing.
    skew: f64,
}

impl Tier {
    /// The tier of an array file; `None` where there is none.
    pub(crate) fn of(tier: &array::Tier, corner: Corner) -> Option<Self> {
        let (capacity, iops, mb_s) = (tier.capacity.as_ref()?, tier.iops_max.as_ref()?, tier.mb_s.as_ref()?);
        Some(Self {
            device: FrontDevice::of(iops, mb_s, &tier.latency_us, capacity, corner)?,
            is_warm: tier.warm,
            holds: tier.holds,
            hit: tier.hit_pct.as_ref().map(|q| q.rate_at(corner) / 100.0),
            skew: tier.skew.rate_at(corner),
        })
    }

    /// Whether it answers I/Os of this kind.
    #[must_use]
    pub fn takes(&self, kind: Kind) -> bool {
        kind == Kind::Read || self.holds == TierHolds::All
    }

    /// Share of the I/Os of a class that it answers. A stream passes it, unless it holds the whole span.
    #[must_use]
    pub fn hit(&self, span_bytes: f64, io_cost: &IoCost, skew: Skew) -> f64 {
        let part = (self.device.capacity_bytes / span_bytes.max(1.0)).min(1.0);
        if part >= 1.0 {
            return 1.0;
        }
        match (io_cost.random, self.hit) {
            (false, _) => 0.0,
            (true, Some(hit)) => hit,
            (true, None) => {
                let own = if self.skew > 0.0 { Skew::Zipf(self.skew) } else { Skew::None };
                let skew = if skew == Skew::None { own } else { skew };
                skew.on_hottest(part, span_bytes / io_cost.bytes)
            }
        }
    }
}

/// Mean over a run of what a tier holds that starts cold, as a part of what it will hold.
///
/// Data are read at random, those that are held already too, so that the part at t is `1 - e^(-t/T)`; its mean
/// over a run
/// of length D is `1 - T/D (1 - e^(-D/T))`. The members limit how fast they are read, whatever the tier answers.
#[must_use]
pub(crate) fn mean_warmth(run_s: f64, time_s: f64) -> f64 {
    let ratio = run_s / time_s.max(1e-9);
    if ratio < 1e-9 { 0.0 } else { 1.0 - (1.0 - (-ratio).exp()) / ratio }
}
