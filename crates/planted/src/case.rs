//! Random set-ups with one planted cause, and the experiments on them in virtual time.
//!
//! A set-up begins ample: every station of [`World`] could do several times what the load asks. Then one station is
//! made the bottleneck, and it is drawn again until the load is slower by it than without it.

use assay_diagnose::{Cause, Reach, Setting, timing};
use assay_record::Experiment;
use assay_spec::{Data, Job, Pacing};

use crate::random::Random;
use crate::world::{
    Lock, Medium, PlantedLoad, Region, Seen, Serves, Spread, TARGET_BYTES, World, WriteCache, measure,
};

mod causes;
mod stripes;

pub(crate) use stripes::{Cell, KINDS, cells};

/// Targets that are the same storage, reached in other ways: every path in turn, one path, the next path for each I/O,
/// more connections.
pub(crate) const ONE_PATH: u32 = 1;
pub(crate) const EVEN_PATHS: u32 = 2;
pub(crate) const MORE_CONNECTIONS: u32 = 3;
/// Time for a diagnosis, s.
const BUDGET_S: f64 = 120.0;
/// Every cause that can be planted.
pub(crate) const CAUSES: [Cause; 40] = [
    Cause::TesterCpu,
    Cause::HostCpu,
    Cause::FewOutstanding,
    Cause::PageCache,
    Cause::ReadCache,
    Cause::WriteCacheAbsorbing,
    Cause::WriteCacheFull,
    Cause::RotatingRandom,
    Cause::RotatingSequential,
    Cause::FlashParallelism,
    Cause::SlowMember,
    Cause::WeakRegion,
    Cause::Rebuild,
    Cause::RoundTrip,
    Cause::ServerThreads,
    Cause::FileLock,
    Cause::FirstWrite,
    Cause::Crypt,
    Cause::PowerState,
    Cause::LinkDowngraded,
    Cause::Thermal,
    Cause::Fragmented,
    Cause::SlcExhausted,
    Cause::GarbageCollection,
    Cause::Interface,
    Cause::Link,
    Cause::PathPolicy,
    Cause::SlowPath,
    Cause::NetworkFault,
    Cause::TargetPerIo,
    Cause::TargetPerByte,
    Cause::TargetSerial,
    Cause::IopsCap,
    Cause::BytesCap,
    Cause::BurstCredit,
    Cause::ReadModifyWrite,
    Cause::Flush,
    Cause::ReducibleData,
    Cause::UnmappedBlocks,
    Cause::Neighbour,
];

/// A set-up, its load, and the cause.
#[derive(Debug, Clone)]
pub struct PlantedCase {
    /// What limits the load.
    pub cause: Cause,
    /// How it is reached, and what its load is.
    pub setting: Setting,
    /// The set-up.
    pub world: World,
    /// The load.
    pub load: PlantedLoad,
    /// Relative error that each measurement has beside its own.
    pub noise: f64,
    /// Whether experiments may write where the load only reads.
    pub(crate) may_write: bool,
    pub(crate) seed: u64,
    /// Share of the host's CPU time that others use before the diagnosis. In \[0, 1\].
    pub(crate) others_busy: f64,
    /// Whether a server on this host does what waits for a CPU, and not the workers.
    pub(crate) is_served_here: bool,
    /// Whether the bucket of a limit with credit is full at the beginning.
    has_credit: bool,
    /// Time for the diagnosis, s.
    pub(crate) budget_s: f64,
    /// Experiments after which a drive is hot, or a span written, for two thirds.
    settles: f64,
    /// Share of the span that is written after many experiments.
    fills: f64,
}

/// Draws a set-up; the same seed gives the same one.
pub fn planted_case(seed: u64) -> PlantedCase {
    let mut random = Random::new(seed);
    let cause = CAUSES[random.below(CAUSES.len())];
    // A draw that is no bottleneck is drawn again; after these many the last stands.
    let mut case = causes::draw(cause, seed, &mut random);
    for _ in 0..40 {
        if causes::limits(&case) {
            break;
        }
        case = causes::draw(cause, seed, &mut random);
    }
    case
}

impl PlantedCase {
    /// Simulates an experiment; `number` counts those before it.
    pub(crate) fn measure(
        &self,
        experiment: Experiment,
        job: &Job,
        number: usize,
        random: &mut Random,
    ) -> Seen {
        let load = self.load_of(experiment, job);
        let seed = random.seed();
        if self.cause == Cause::Thermal || self.cause == Cause::FirstWrite {
            return self.later(number, &load, seed);
        }
        let slow = measure(&self.world, &load, seed);
        let Some((factor, lasts_s)) = self.world.burst else { return slow };
        // A bucket that is full lets more through until it is empty.
        let is_full = experiment == Experiment::AfterIdle || (number == 0 && self.has_credit);
        if !is_full {
            return slow;
        }
        let fast_world = World {
            iops_cap: self.world.iops_cap.map(|cap| cap * factor),
            bytes_cap: self.world.bytes_cap.map(|cap| cap * factor),
            ..self.world.clone()
        };
        let fast = measure(&fast_world, &load, seed);
        // Of a window of 5 s so much is fast.
        let share = (lasts_s / 5.0).min(1.0);
        let iops = fast.iops * share + slow.iops * (1.0 - share);
        let trend = if share < 1.0 { slow.iops / fast.iops } else { 1.0 };
        Seen { iops, trend, ..fast }
    }

    /// What depends on the load before: a drive heats up within some experiments, and what was written is allocated.
    fn later(&self, number: usize, load: &PlantedLoad, seed: u64) -> Seen {
        let warm = 1.0 - (-(number as f64) / self.settles).exp();
        let world = World {
            throttle: 1.0 + (self.world.throttle - 1.0) * warm,
            unallocated: (self.world.unallocated.0 * (1.0 - self.fills * warm), self.world.unallocated.1),
            ..self.world.clone()
        };
        measure(&world, load, seed)
    }

    /// The load of an experiment, from the job of its step.
    fn load_of(&self, experiment: Experiment, job: &Job) -> PlantedLoad {
        let line = &job.mix[0];
        let align = if line.align.0 == 0 { line.size.0 } else { line.align.0 };
        PlantedLoad {
            outstanding: (job.workers * job.outstanding) as usize,
            workers: job.workers as usize,
            size: line.size.0 as f64,
            reads: line.read / 100.0,
            random: line.random / 100.0,
            span: self.span_of(job),
            is_sync: job.sync,
            repeats: job.data == Data::IometerRepeating,
            misaligned: !align.is_multiple_of(4096) && line.random > 0.0,
            one_path: job.targets == [ONE_PATH],
            even_paths: job.targets == [EVEN_PATHS],
            more_connections: job.targets == [MORE_CONNECTIONS],
            after_idle: experiment == Experiment::AfterIdle,
            rate: match job.pacing {
                Pacing::Throttled { rate } => Some(rate.0),
                _ => None,
            },
            window_s: timing(self.budget_s).0,
        }
    }

    fn span_of(&self, job: &Job) -> f64 {
        let window = job.window.of(TARGET_BYTES);
        let all = job.span.map_or(window.end.min(TARGET_BYTES) - window.start, |span| span.0);
        all as f64 / TARGET_BYTES as f64
    }

    /// Bytes that the device moves over those of the tester.
    pub(crate) fn device_bytes(&self, _experiment: Experiment, random: &mut Random) -> f64 {
        match self.setting.reach {
            Reach::Cached => random.within(0.001, 0.1),
            _ if matches!(self.cause, Cause::Neighbour | Cause::Rebuild) => {
                1.0 / (1.0 - f64::midpoint(self.world.neighbour.0, self.world.neighbour.1))
            }
            // What was never written is not read from the device.
            _ => random.within(0.99, 1.02) * (1.0 - self.setting.reads * self.world.unmapped),
        }
    }
}
