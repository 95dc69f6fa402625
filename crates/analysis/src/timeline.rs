//! What happened around a step, second by second: phases, and the lanes of host, devices, links and portals.

use std::sync::Arc;

use assay_record::{DiskSample, HostSample};
use serde::{Deserialize, Serialize};

/// Around the measured window of a step; times are s since it began, so the warm-up lies below zero.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Timeline {
    /// Start of the warm-up; `None` where there was none.
    pub warmup_s: Option<f64>,
    /// End of the window, when the drain began.
    pub drain_s: Option<f64>,
    /// End of the step.
    pub end_s: Option<f64>,
    /// Samples of the host, in order, warm-up and drain included.
    pub samples: Vec<TimelineSample>,
}

/// Figures of things that have names. The names of a run's samples are one another's: a run of hours has thousands.
pub type Named = Box<[(Arc<str>, f64)]>;

/// The host during about one second.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TimelineSample {
    /// End of the sample, s since the window began.
    pub t_s: f64,
    /// Share of CPU time in use, mean over the CPUs. In [0, 1].
    pub cpu_busy: f64,
    /// The same of the busiest CPU. In [0, 1].
    pub cpu_busy_max: f64,
    /// Rate of each block device under the targets, by all programs, 2^20 bytes per second.
    pub disks: Named,
    /// Rate of each network interface under the targets, both directions, 10^6 bytes per second.
    pub links: Named,
    /// Smoothed TCP round trip to each portal, µs.
    pub portals: Named,
    /// What software RAIDs under the targets did beside the load, by device: `recover`, `check`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rebuilds: Vec<(String, String)>,
}

/// Shortest sample that gives a rate, ns.
const SAMPLE_MIN_NS: u64 = 100_000_000;

impl TimelineSample {
    /// Returns the sample with times since the run began, and the names of `before`; `None` if it is too short for
    /// rates.
    pub(crate) fn of(sample: &HostSample, before: Option<&Self>) -> Option<Self> {
        if sample.length_ns < SAMPLE_MIN_NS {
            return None;
        }
        let seconds = sample.length_ns as f64 / 1e9;
        let disks = sample.disks.iter().map(|disk| {
            let bytes = disk.read_bytes + disk.write_bytes;
            (&disk.device, bytes as f64 / seconds / f64::from(1 << 20))
        });
        let links = sample.links.iter().map(|link| {
            let bytes = link.counters.rx_bytes + link.counters.tx_bytes;
            (&link.interface, bytes as f64 / seconds / 1e6)
        });
        let rebuild = |disk: &DiskSample| Some((disk.device.clone(), disk.sync_action.clone()?));
        let portals = sample.tcp.iter().filter(|tcp| tcp.connections > 0);
        Some(Self {
            t_s: sample.at_ns as f64 / 1e9,
            cpu_busy: sample.cpu_busy,
            cpu_busy_max: sample.cpu_busy_max,
            disks: named(disks, before.map(|before| &before.disks)),
            links: named(links, before.map(|before| &before.links)),
            portals: named(
                portals.map(|tcp| (&tcp.remote, f64::from(tcp.rtt_us))),
                before.map(|before| &before.portals),
            ),
            rebuilds: sample.disks.iter().filter_map(rebuild).collect(),
        })
    }
}

fn named<'n>(figures: impl Iterator<Item = (&'n String, f64)>, before: Option<&Named>) -> Named {
    let known =
        |name: &str| before?.iter().find(|(known, _)| **known == *name).map(|(known, _)| Arc::clone(known));
    figures.map(|(name, figure)| (known(name).unwrap_or_else(|| name.as_str().into()), figure)).collect()
}

/// Latencies of a window over time: how many I/Os took about how long in each second.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HeatMap {
    /// One for each second: (rung, I/Os), in ascending order of the rung.
    pub seconds: Vec<Vec<(i32, u64)>>,
}

impl HeatMap {
    /// Rungs for each doubling of the latency.
    pub(crate) const PER_OCTAVE: i32 = 4;

    /// The rung of a latency.
    #[expect(clippy::cast_possible_truncation, reason = "a logarithm of a time")]
    pub fn rung(ns: f64) -> i32 {
        (ns.max(1.0).log2() * f64::from(Self::PER_OCTAVE)).floor() as i32
    }

    /// The shortest latency of a rung, ns.
    pub fn low_ns(rung: i32) -> f64 {
        (f64::from(rung) / f64::from(Self::PER_OCTAVE)).exp2()
    }
}
