//! One measured load beside what the model expects of it.
//!
//! A [`Case`] holds one measured load ([`Measured`]: a step of a run, or a row of a published table), what the model
//! expects of it, and the physical facts of its array. Rules about loads and the verdicts see cases only, so
//! that both kinds of results are judged by the same words.

use std::sync::Arc;

use assay_model::array::Array;
use assay_model::concurrent::Concurrent;
use assay_model::facts::{Facts, facts};
use assay_model::predict::{Engines, Prediction, predict};
use assay_model::resolved::{Software, Tables};
use assay_model::workload::Workload;
use assay_record::StepId;

/// The measurement of one load. Unknown values are absent, and rules that need them stay silent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Measured {
    /// As people call it.
    pub name: String,
    /// I/Os per second.
    pub iops: f64,
    /// MB/s (10^6) as stated, where it was stated beside the IOPS; not computed from them.
    pub stated_mb_s: Option<f64>,
    /// Mean response time, ms.
    pub mean_ms: Option<f64>,
    /// Median of reads, ms.
    pub read_p50_ms: Option<f64>,
    /// The time that a fifth of the reads does not exceed, ms.
    pub read_p20_ms: Option<f64>,
    /// Mean of writes, ms.
    pub write_mean_ms: Option<f64>,
    /// Measured time, s.
    pub seconds: Option<f64>,
    /// Bytes that were stated to have moved, with the time that it was stated to take, s.
    pub stated_transfer: Option<(f64, f64)>,
    /// Whether each write waited until it was durable.
    pub synced: bool,
    /// Half of the 95 % interval of the mean rate, as a share of it.
    pub error: Option<f64>,
    /// The medium as the host sees it, whatever the array file says.
    pub medium: Medium,
}

/// The medium under a target, as the host sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Medium {
    /// The host does not say, or the target is remote.
    #[default]
    Unknown,
    /// A disk that rotates.
    Rotating,
    /// Anything without moving parts.
    SolidState,
}

/// A measured load beside its expectation.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Which step of the run; `None` for a published row.
    pub step: Option<StepId>,
    /// The measurement.
    pub measured: Measured,
    /// The load; `None` where the model has no way to say it, or where others ran beside it: rules are about one load.
    pub load: Option<Modelled>,
    /// What to expect of it beside others.
    pub beside: Option<JobCase>,
}

impl Case {
    /// Returns whether its expectation is only a bound of the hardware, because the cost of the software is unknown.
    pub fn is_bound(&self) -> bool {
        let software = match (&self.beside, &self.load) {
            (Some(beside), _) => beside.together.software,
            (None, Some(load)) => load.prediction.software,
            (None, None) => return false,
        };
        software == Software::Unknown
    }
}

/// One of several loads that ran at once.
#[derive(Debug, Clone, PartialEq)]
pub struct JobCase {
    /// What to expect of all of them.
    pub together: Arc<Concurrent>,
    /// Which of them it is.
    pub job: usize,
}

impl JobCase {
    /// What to expect of this one.
    pub fn expected(&self) -> &assay_model::concurrent::ConcurrentJob {
        &self.together.jobs[self.job]
    }
}

/// The prediction and the physical facts of a load.
#[derive(Debug, Clone, PartialEq)]
pub struct Modelled {
    /// The load as the model sees it.
    pub workload: Workload,
    /// The array under it.
    pub array: Arc<Array>,
    /// What to expect.
    pub prediction: Prediction,
    /// Physical facts of the array under it.
    pub facts: Facts,
    /// Whether it is known where on the array the load lies; else the prediction holds all places.
    pub is_placed: bool,
}

impl Modelled {
    /// Returns the prediction and the facts of `workload` on `array`.
    #[must_use]
    pub fn new(array: &Arc<Array>, workload: Workload, engines: Engines, tables: &mut Tables) -> Self {
        Self {
            prediction: predict(array, &workload, engines, tables),
            facts: facts(array, &workload, tables),
            array: Arc::clone(array),
            workload,
            is_placed: true,
        }
    }

    /// Share of reads, %, over the mix.
    pub fn read_pct(&self) -> f64 {
        self.mean_of(|a| a.read_pct)
    }

    /// Share of random positions, %, over the mix.
    pub fn random_pct(&self) -> f64 {
        self.mean_of(|a| a.random_pct)
    }

    fn mean_of(&self, of: impl Fn(&assay_model::workload::Access) -> f64) -> f64 {
        let weight: f64 = self.workload.mix.iter().map(|a| a.weight).sum();
        self.workload.mix.iter().map(|a| of(a) * a.weight).sum::<f64>() / weight
    }

    /// Rate in MB/s (10^6) of this many I/Os per second.
    pub fn mb_s(&self, iops: f64) -> f64 {
        iops * self.workload.mean_size() / 1e6
    }
}
