//! Random set-ups with one planted cause, and the experiments on them in virtual time.
//!
//! A set-up begins ample: every station of [`World`] could do several times what the load asks. Then one station is
//! made the bottleneck, and it is drawn again until the load is slower by it than without it.

use assay_diagnose::trial::{Measurement, Observed, nearest_bus};
use assay_diagnose::{Cause, Quantity, Reach, Setting};
use assay_record::Experiment;

use crate::random::Random;
use crate::world::{Lock, Medium, PlantedLoad, Seen, Spread, World, WriteCache, measure};

mod causes;

/// Every cause that can be planted.
pub(crate) const CAUSES: [Cause; 28] = [
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
    /// What is known of it beforehand.
    pub setting: Setting,
    /// The set-up.
    pub world: World,
    /// The load.
    pub load: PlantedLoad,
    /// Relative error that each measurement has beside its own.
    pub noise: f64,
    /// Whether experiments may write where the load only reads.
    may_write: bool,
    seed: u64,
    /// Whether the bucket of a limit with credit is full at the beginning.
    has_credit: bool,
}

/// Draws a set-up; the same seed gives the same one.
#[must_use]
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

/// Every experiment that the load of a set-up allows.
pub(crate) fn experiments(case: &PlantedCase) -> Vec<Experiment> {
    let (s, load) = (&case.setting, &case.load);
    let allowed = |experiment: &Experiment| match experiment {
        Experiment::OneOutstanding => load.outstanding > 1,
        Experiment::SmallerIo => load.size >= 32_768.0,
        Experiment::ReadsOnly => s.writes(),
        Experiment::WritesOnly => s.reads > 0.0 && (s.writes() || case.may_write),
        Experiment::Mixed => s.reads == 0.0 || (s.reads == 1.0 && case.may_write),
        Experiment::WholeSpan => s.reads == 1.0 && load.span < 1.0,
        Experiment::Sequential => load.random > 0.0,
        Experiment::Random => load.random < 0.5,
        Experiment::Misaligned => s.writes() && !s.is_misaligned && load.random > 0.0,
        Experiment::Aligned => s.writes() && s.is_misaligned,
        Experiment::MoreWorkers => load.outstanding >= 2,
        Experiment::OnePath | Experiment::EvenPaths => s.paths > 1,
        Experiment::MoreConnections => s.is_remote() && s.paths == 1,
        Experiment::WithoutSync => s.is_sync,
        Experiment::WithSync => s.writes() && !s.is_sync,
        Experiment::RepeatingData => s.writes() && !s.is_reducible,
        Experiment::UniqueData => s.is_reducible,
        _ => true,
    };
    let mut all: Vec<Experiment> = Experiment::ALL.into_iter().filter(allowed).collect();
    all.extend([Experiment::Base; 3]);
    all
}

/// Makes an experiment; `number` counts those before it.
pub(crate) fn make(
    case: &PlantedCase,
    experiment: Experiment,
    number: usize,
    seen: &Observed,
) -> Measurement {
    let mut load = changed(&case.load, experiment);
    if experiment == Experiment::HalfRate {
        load.rate = Some(seen.base_iops() * 0.5);
    }
    let mut random = Random::new(case.seed ^ (0x9E37 + number as u64 * 77));
    let got = with_credit(case, &load, experiment, number, &mut random);
    let error = 0.02_f64.hypot(0.7 / (got.ios.max(4) as f64).sqrt());
    let iops = (got.iops * (case.noise * random.normal()).exp()).max(1e-3);
    let facts = match experiment {
        Experiment::Base => of_base(case, &got, &mut random),
        Experiment::OneOutstanding => vec![(Quantity::LatencyOne, got.mean_us)],
        Experiment::HalfRate => {
            let base = seen.made.iter().flat_map(|m| &m.facts).find(|(q, _)| *q == MEAN_OF_BASE);
            base.map(|(_, mean)| (Quantity::PacedLatency, got.mean_us / mean)).into_iter().collect()
        }
        _ => Vec::new(),
    };
    Measurement {
        experiment,
        iops,
        error,
        ios: got.ios as f64,
        stolen: 0.0,
        stolen_error: 0.0,
        others_error: 0.0,
        mean_us: None,
        facts,
    }
}

/// The mean latency of the load is kept among its numbers under a name that no hypothesis has a range for.
const MEAN_OF_BASE: Quantity = Quantity::MeanLatency;

/// A bucket that is full lets more through until it is empty.
fn with_credit(
    case: &PlantedCase,
    load: &PlantedLoad,
    experiment: Experiment,
    number: usize,
    random: &mut Random,
) -> Seen {
    let seed = random.seed();
    let slow = measure(&case.world, load, seed);
    let Some((factor, lasts_s)) = case.world.burst else { return slow };
    let is_full = experiment == Experiment::AfterIdle || (number == 0 && case.has_credit);
    if !is_full {
        return slow;
    }
    let fast_world = World {
        iops_cap: case.world.iops_cap.map(|cap| cap * factor),
        bytes_cap: case.world.bytes_cap.map(|cap| cap * factor),
        ..case.world.clone()
    };
    let fast = measure(&fast_world, load, seed);
    // Of a window of 5 s so much is fast.
    let share = (lasts_s / 5.0).min(1.0);
    let iops = fast.iops * share + slow.iops * (1.0 - share);
    let trend = if share < 1.0 { slow.iops / fast.iops } else { 1.0 };
    Seen { iops, trend, ..fast }
}

fn changed(base: &PlantedLoad, experiment: Experiment) -> PlantedLoad {
    use Experiment as E;
    let mut load = base.clone();
    match experiment {
        E::MoreOutstanding => load.outstanding *= 4,
        E::OneOutstanding => (load.outstanding, load.workers) = (1, 1),
        E::LargerIo => load.size = (load.size * 8.0).min(8_388_608.0),
        E::SmallerIo => load.size /= 8.0,
        E::HotSpan => load.span = 0.001,
        E::TenthSpan => load.span *= 0.1,
        E::WholeSpan => load.span = 1.0,
        E::ReadsOnly => load.reads = 1.0,
        E::WritesOnly => load.reads = 0.0,
        E::Mixed => load.reads = 0.5,
        E::Sequential => load.random = 0.0,
        E::Random => load.random = 1.0,
        E::Misaligned => load.misaligned = true,
        E::Aligned => (load.misaligned, load.size) = (false, (load.size / 4096.0).ceil() * 4096.0),
        E::MoreWorkers => load.workers *= 2,
        E::OnePath => load.one_path = true,
        E::EvenPaths => load.even_paths = true,
        E::WithoutSync => load.is_sync = false,
        E::WithSync => load.is_sync = true,
        E::RepeatingData => load.repeats = true,
        E::UniqueData => load.repeats = false,
        E::AfterIdle => load.after_idle = true,
        E::Base | E::MoreConnections | E::HalfRate => {}
    }
    load
}

fn of_base(case: &PlantedCase, got: &Seen, random: &mut Random) -> Vec<(Quantity, f64)> {
    let (s, w) = (&case.setting, &case.world);
    let near = |value: f64, random: &mut Random| value * (0.03 * random.normal()).exp();
    let mut facts = vec![
        (MEAN_OF_BASE, got.mean_us),
        (Quantity::MedianToMean, near(got.median_us / got.mean_us.max(1e-9), random)),
        (Quantity::LowToMean, near(got.low_us / got.mean_us.max(1e-9), random)),
        (Quantity::PartialBlocks, if case.load.misaligned && s.writes() { 7.0 / 8.0 } else { 0.0 }),
        (Quantity::TesterBusy, near(got.tester_busy, random).min(1.02)),
        (Quantity::OthersBusy, near(w.others.max(random.within(0.01, 0.15)), random).min(1.0)),
        (Quantity::Trend, near(got.trend, random)),
    ];
    if case.load.outstanding == 1 {
        facts.push((Quantity::LatencyOne, got.mean_us));
    }
    if s.paths > 1 {
        facts.push((Quantity::PathShare, got.path_share));
        facts.push((Quantity::PathDelays, near(got.path_delays, random)));
    }
    if s.is_remote() {
        facts.push((Quantity::LinkShare, near(got.link_share * causes::payload(), random)));
        // What the target sends again is not seen from here.
        let resent = if s.reads < 0.5 { got.resent } else { 0.0 };
        facts.push((Quantity::Resent, resent));
        facts.push((Quantity::LostFrames, 0.01));
        facts.push((Quantity::PingWait, near(got.ping_wait_us / got.mean_us.max(1e-9), random)));
    } else {
        let device = match s.reach {
            Reach::Cached => random.within(0.001, 0.1),
            _ if case.cause == Cause::Neighbour => 1.0 / (1.0 - (w.neighbour.0 + w.neighbour.1) / 2.0),
            // What was never written is not read from the device.
            _ => random.within(0.99, 1.02) * (1.0 - s.reads * w.unmapped),
        };
        facts.push((Quantity::DeviceBytes, device));
        facts.push((Quantity::Unwritten, if w.unmapped > 0.0 { w.unmapped } else { 0.0 }));
        let mb_s = got.iops * case.load.size / 1e6;
        facts.push((Quantity::BusMatch, mb_s / nearest_bus(mb_s)));
    }
    facts
}
