//! From the record of a run to measurements: the rate of each experiment, and what the record of the load says beside
//! it.

use assay_analysis::{Point, RunSummary, StepSummary, loses_segments, places, step_ceiling};
use assay_record::{
    DiagnosisFacts, Experiment, IoLimit, MemberFacts, MemberKind, RunHeader, StepCpu, StepId,
};
use assay_spec::Access;
use assay_statistics::Spread;

use crate::awake::stolen_from_load;
use crate::cause::Cause;
use crate::observed::{ERROR_LEAST, ERROR_MOST, Measurement, Observed, error_of_gap, error_of_stolen};
use crate::quantity::{LEAST, NO_LOST_FRAMES, Quantity};
use crate::setting::Setting;
use crate::waits::Waits;

/// Block of modern disks, page of flash and of memory, bytes. Devices that name a smaller one often have it all the
/// same.
const PAGE: u64 = 4096;
/// Error of a rate for each share of the CPU time that others used before the diagnosis, or, where the workers do the
/// whole work themselves, for which they wait for others: these go on, and not evenly.
const ERROR_OF_OTHERS: f64 = 0.5;
/// Fewer pings than this may all have been sent before the load began.
const PINGS_LEAST: u64 = 3;
/// A round trip is a part of the latency; give or take its own scatter.
const ROUND_TRIP_MOST: f64 = 1.15;
/// From this share on a rate is near a limit.
const NEAR_LIMIT: f64 = 0.8;
/// A limit that a load exceeds by more than its bucket lets through does not hold for it. That is true of the device
/// itself: four members of a stripe with a limit each carry four times as much, and none of these limits is recognised.
const BEYOND_LIMIT: f64 = 1.25;
/// Fewer seconds than this do not show a trend.
const TREND_POINTS: usize = 3;
/// Throughput that interfaces and buses carry, MB/s: USB 2; SATA 1.5, 3 and 6 Gbit/s; USB 3.0; SAS 12 and 24 Gbit/s;
/// four lanes of PCIe 3, 4 and 5. They count where the device's own is not known.
const BUSES_MB_S: [f64; 10] = [38.0, 140.0, 280.0, 400.0, 550.0, 1150.0, 2200.0, 3500.0, 7000.0, 14_000.0];

/// Returns what the experiments of a run measured; `None` before the load itself was.
pub(crate) fn observed(header: &RunHeader, summary: &RunSummary) -> Option<Observed> {
    let experiments = &header.diagnosis.as_ref()?.experiments;
    let setting = Setting::of(header)?;
    let content = Content::of(summary);
    let measured = summary.order.iter().filter_map(|id| {
        let step = summary.steps.iter().find(|step| step.id == *id)?;
        let experiment = *experiments.get(id.test as usize)?;
        // A step that was cut off is as good as one that was not, if it is long enough to be a result.
        (step.total.ops > 0 && step.total.iops > 0.0 && step.unmeasured.is_none())
            .then(|| measurement((header, &setting), experiment, step, content))
    });
    let mut seen = Observed { made: measured.collect(), places: places(header, summary, 0) };
    seen.leave_out_cold_start();
    let has_base = seen.bases().next().is_some();
    has_base.then_some(seen)
}

/// Whether anybody knows that the blocks of the target hold data.
#[derive(Clone, Copy, PartialEq)]
enum Content {
    Known,
    Unknown,
}

impl Content {
    /// By the warning that whoever ran it got.
    fn of(summary: &RunSummary) -> Self {
        let is_unknown = summary.warnings.iter().any(|warning| warning.rule == "unknown-content");
        if is_unknown { Self::Unknown } else { Self::Known }
    }
}

fn measurement(
    (header, setting): (&RunHeader, &Setting),
    experiment: Experiment,
    step: &StepSummary,
    content: Content,
) -> Measurement {
    let seconds: Vec<f64> = step.series.iter().map(|point| point.iops).collect();
    let by_seconds = Spread::of_seconds(&seconds).map_or(0.0, |spread| spread.error);
    let by_count = 0.7 / (step.total.ops as f64).sqrt();
    let stolen = step.cpu.used.map_or(0.0, |used| used.steal);
    let of_stolen = step.cpu.used.map_or(0.0, |used| error_of_stolen(used.steal, used.host_busy));
    // In a gap nobody issued anything, whatever the target could have done.
    let stolen_error = of_stolen.hypot(error_of_gap(step.gap_s() / step.seconds.max(1e-3)));
    let others = header.diagnosis.as_ref().and_then(|facts| facts.others_busy).unwrap_or(0.0);
    let waits = Waits::of(header, step, setting.has_helpers);
    let waits = waits.for_others.filter(|_| !setting.helpers_may_wait);
    let others_error = waits.unwrap_or(others) * ERROR_OF_OTHERS;
    let error = ERROR_LEAST.hypot(by_seconds.max(by_count)).min(ERROR_MOST);
    let ios = step.total.ops as f64;
    Measurement {
        experiment,
        iops: step.total.iops,
        error,
        ios,
        stolen,
        stolen_error,
        others_error,
        mean_us: step.total.service.mean_ns().map(|ns| ns / 1e3),
        facts: facts((header, setting), experiment, step, content),
    }
}

fn facts(
    (header, setting): (&RunHeader, &Setting),
    experiment: Experiment,
    step: &StepSummary,
    content: Content,
) -> Vec<(Quantity, f64)> {
    let mean_us = step.total.service.mean_ns().map(|ns| ns / 1e3);
    match experiment {
        Experiment::OneOutstanding => mean_us.map(|us| (Quantity::LatencyOne, us)).into_iter().collect(),
        Experiment::Base => {
            let mut facts = of_base((header, setting), step, mean_us);
            let is_mapped = facts.iter().any(|(quantity, _)| *quantity == Quantity::Unwritten);
            if content == Content::Unknown && !is_mapped {
                let zeros = header.targets.first().and_then(|target| target.member.zeros);
                facts.push(match zeros {
                    Some(share) => (Quantity::OnlyZeros, share),
                    None => (Quantity::UnknownContent, 1.0),
                });
            }
            facts
        }
        _ => Vec::new(),
    }
}

fn of_base(
    (header, setting): (&RunHeader, &Setting),
    step: &StepSummary,
    mean_us: Option<f64>,
) -> Vec<(Quantity, f64)> {
    let median_us = step.total.service.quantile_ns(0.5).map(|ns| ns / 1e3);
    let low_us = step.total.service.quantile_ns(0.2).map(|ns| ns / 1e3);
    let alone = (step.outstanding_asked == 1).then_some(()).and(mean_us).map(|us| (Quantity::LatencyOne, us));
    let shape = median_us.zip(mean_us).map(|(median, mean)| (Quantity::MedianToMean, median / mean));
    let mut facts: Vec<(Quantity, f64)> = [
        alone,
        mean_us.map(|us| (Quantity::LatencyOfLoad, us)),
        shape,
        low_us.zip(mean_us).map(|(low, mean)| (Quantity::LowToMean, low / mean)),
        tester_busy(header, step).map(|busy| (Quantity::TesterBusy, busy)),
        trend(step).map(|trend| (Quantity::Trend, trend)),
        path_share(step).map(|share| (Quantity::PathShare, share)),
        path_delays(step).map(|ratio| (Quantity::PathDelays, ratio)),
        round_trip_share(header, step).map(|share| (Quantity::RoundTripShare, share)),
        helpers_busy((header, setting), step).map(|cpus| (Quantity::HelpersBusy, cpus)),
        device_bytes(header, step).map(|share| (Quantity::DeviceBytes, share)),
    ]
    .into_iter()
    .flatten()
    .collect();
    facts.extend(of_cpus((header, setting), step));
    facts.extend(network_facts(header, step));
    facts.extend(setting.shown.iter().map(|cause| (Quantity::Shown(*cause), 1.0)));
    let members = header.targets.iter().take(1).map(|target| &target.member);
    for member in members {
        // A simulated array serves every block from its media.
        let simulated = (member.kind == MemberKind::Simulated).then_some(0);
        if let Some(unwritten) = member.unwritten_bytes.or(simulated).filter(|_| member.span_bytes > 0) {
            facts.push((Quantity::Unwritten, unwritten as f64 / member.span_bytes as f64));
        }
        facts.extend(of_limits(member, step));
        facts.extend(partial_blocks(header, member).map(|share| (Quantity::PartialBlocks, share)));
        if let Some(device) = member.device.as_ref().filter(|_| member.paths().is_empty()) {
            let rate = step.total.mb_per_s;
            let own = device.bus.as_ref().map(|bus| bus.share(step.read.mb_per_s, step.write.mb_per_s));
            facts.push((Quantity::BusMatch, own.unwrap_or_else(|| rate / nearest_bus(rate))));
        }
    }
    facts
}

/// Rate and throughput over the limits that this host shows, the nearest of each kind.
fn of_limits(member: &MemberFacts, step: &StepSummary) -> Vec<(Quantity, f64)> {
    let limits = || member.device.iter().flat_map(|device| &device.notes).filter_map(|note| note.limit);
    let nearest = |is_bytes: bool| {
        nearest(limits().filter(|limit| limit.is_bytes == is_bytes).map(|limit| share_of(limit, step)))
    };
    let kinds = [(Quantity::OfIopsLimit, nearest(false)), (Quantity::OfBytesLimit, nearest(true))];
    kinds.into_iter().filter_map(|(kind, share)| Some((kind, share?))).collect()
}

/// Rate or throughput of a step over a limit.
fn share_of(limit: IoLimit, step: &StepSummary) -> f64 {
    let side = if limit.is_read { &step.read } else { &step.write };
    let rate = if limit.is_bytes { side.mb_per_s * 1e6 } else { side.iops };
    rate / limit.per_s.max(1.0)
}

/// Whether a limit of this share may hold: one that is far away says nothing, and one that is exceeded is none of this
/// load's.
fn may_hold(share: f64) -> bool {
    (NEAR_LIMIT..=BEYOND_LIMIT).contains(&share)
}

/// Of the shares of limits that may hold the one that is nearest to the whole limit.
fn nearest(shares: impl Iterator<Item = f64>) -> Option<f64> {
    let off = |share: &f64| share.max(f64::MIN_POSITIVE).ln().abs();
    shares.filter(|share| may_hold(*share)).min_by(|a, b| off(a).total_cmp(&off(b)))
}

/// Whether a limit may be the one that held the load itself.
pub(crate) fn held_by(limit: IoLimit, header: &RunHeader, summary: &RunSummary) -> bool {
    let base = base_step(header).and_then(|id| summary.steps.iter().find(|step| step.id == id));
    base.is_some_and(|step| may_hold(share_of(limit, step)))
}

/// The interface or bus whose throughput is nearest, MB/s.
fn nearest_bus(mb_per_s: f64) -> f64 {
    let near = |bus: &f64| (mb_per_s.max(1e-6) / bus).ln().abs();
    BUSES_MB_S.into_iter().min_by(|a, b| near(a).total_cmp(&near(b))).unwrap_or(1.0)
}

/// CPU time of the tester over that which its workers can use.
fn tester_busy(header: &RunHeader, step: &StepSummary) -> Option<f64> {
    // A simulated array computes and waits in the workers themselves.
    let is_own = header.targets.first().is_none_or(|target| target.member.kind != MemberKind::Simulated);
    let used = step.cpu.used.filter(|_| step.seconds > 0.0 && is_own)?;
    let cpus = header.host.cgroup_cpus.unwrap_or(f64::from(header.host.cpus)).max(0.01);
    let workers = step.workers.len().max(1) as f64;
    Some(used.tester_ns as f64 / (step.seconds * 1e9 * workers.min(cpus)))
}

/// What keeps the tester from running: others, as long as it waits for them, or else what they had before the diagnosis
/// began, with what the hypervisor takes; and the limit of a control group.
fn of_cpus((header, setting): (&RunHeader, &Setting), step: &StepSummary) -> Vec<(Quantity, f64)> {
    let Some(diagnosis) = header.diagnosis.as_ref() else { return Vec::new() };
    let waits = Waits::of(header, step, setting.has_helpers);
    let stolen = step.cpu.used.map_or(0.0, |used| stolen_from_load(&used, diagnosis.kept_awake));
    let others = match waits.for_others {
        Some(waits) => Some((Quantity::WaitForOthers, waits)),
        None => diagnosis.others_busy.map(|busy| (Quantity::OthersBusy, busy)),
    };
    let others = others.map(|(quantity, share)| (quantity, (share + stolen).min(1.0)));
    let quota = waits.for_quota.filter(|_| setting.has_cpu_quota);
    let quota = quota.map(|share| (Quantity::StoppedByQuota, share.max(LEAST)));
    others.into_iter().chain(quota).collect()
}

/// Rate of the last third over that of the first.
fn trend(step: &StepSummary) -> Option<f64> {
    let points = &step.series;
    if points.len() < TREND_POINTS {
        return None;
    }
    let third = (points.len() / 3).max(1);
    let mean = |part: &[Point]| part.iter().map(|p| p.iops).sum::<f64>() / part.len() as f64;
    let (first, last) = (mean(&points[..third]), mean(&points[points.len() - third..]));
    (first > 0.0).then(|| last / first)
}

fn path_share(step: &StepSummary) -> Option<f64> {
    let ios: Vec<f64> = step.paths.iter().map(|path| (path.reads + path.writes) as f64).collect();
    let mean = ios.iter().sum::<f64>() / ios.len().max(1) as f64;
    (ios.len() > 1 && mean > 0.0).then(|| ios.iter().copied().fold(0.0, f64::max) / mean)
}

/// Median round trip of the portal with the longest over that of the one with the shortest.
fn path_delays(step: &StepSummary) -> Option<f64> {
    let delays = || step.tcp.iter().filter_map(|tcp| tcp.rtt_us_median).map(|us| f64::from(us.max(1)));
    let (longest, shortest) = (delays().fold(0.0, f64::max), delays().fold(f64::MAX, f64::min));
    (step.tcp.len() > 1 && longest > 0.0).then(|| longest / shortest)
}

/// Bytes that the device moved for everybody over those of the tester.
fn device_bytes(header: &RunHeader, step: &StepSummary) -> Option<f64> {
    let member = &header.targets.first()?.member;
    let device = member.device.as_ref()?;
    let moved = step.host.disks.iter().find(|disk| disk.device == device.name)?;
    let own = step.host.tester_bytes.filter(|bytes| *bytes > 0.0)?;
    Some(moved.bytes as f64 / own)
}

fn network_facts(header: &RunHeader, step: &StepSummary) -> Vec<(Quantity, f64)> {
    let mut facts = Vec::new();
    let fuller = step.read.mb_per_s.max(step.write.mb_per_s);
    let ceiling = step_ceiling(header, step.id).and_then(|ceiling| ceiling.mb_per_s).filter(|mb| *mb > 0.0);
    facts.extend(ceiling.map(|ceiling| (Quantity::LinkShare, fuller / ceiling)));
    if !step.tcp.is_empty() {
        let resent: u64 = step.tcp.iter().map(|tcp| tcp.retransmits).sum();
        let per_1000 = |count: u64| count as f64 * 1000.0 / step.total.ops.max(1) as f64;
        facts.push((Quantity::Resent, per_1000(resent)));
        let out_of_order: Option<u64> = step.tcp.iter().map(|tcp| tcp.out_of_order).sum();
        facts.extend(out_of_order.map(|count| (Quantity::OutOfOrder, per_1000(count))));
    }
    let paths = header.targets.first().map(|target| target.member.paths()).unwrap_or_default();
    if paths.iter().any(|path| path.net.is_some()) {
        let is_lossy = paths.iter().any(loses_segments);
        facts.push((Quantity::LostFrames, if is_lossy { 1.0 } else { NO_LOST_FRAMES }));
    }
    facts.extend(ping_wait(header, step).map(|wait| (Quantity::PingWait, wait)));
    facts
}

/// Median of the pings to the target while it was idle, µs.
fn idle_ping_us(member: &MemberFacts) -> Option<f64> {
    let of_lun = member.paths().iter().filter_map(|path| path.ping.as_ref()).map(|ping| ping.median_us).min();
    Some(of_lun.or(member.nfs.as_ref().map(|nfs| nfs.round_trip_us))? as f64)
}

/// The shortest idle ping over the latency of the load. One that took longer than the load's own I/Os waited for
/// something else, as a server that had just started.
fn round_trip_share(header: &RunHeader, step: &StepSummary) -> Option<f64> {
    let member = &header.targets.first()?.member;
    let of_lun = member.paths().iter().filter_map(|path| path.ping.as_ref()).map(|ping| ping.min_us).min();
    let idle_us = of_lun.or(member.nfs.as_ref().map(|nfs| nfs.round_trip_us))? as f64;
    let share = idle_us * 1e3 / step.total.service.mean_ns()?.max(1.0);
    (share <= ROUND_TRIP_MOST).then_some(share)
}

/// CPUs that are busy with neither the tester nor what others did before the load began. Counted where this host itself
/// enciphers: elsewhere a target on the same machine uses them, too.
fn helpers_busy((header, setting): (&RunHeader, &Setting), step: &StepSummary) -> Option<f64> {
    let is_enciphered = setting.shows(Cause::Crypt);
    let used = step.cpu.used.filter(|_| step.seconds > 0.0 && is_enciphered)?;
    let cpus = f64::from(header.host.cpus_online.max(header.host.cpus));
    Some(cpus_beside(&used, step.seconds, cpus, header.diagnosis.as_ref()?))
}

/// CPUs beside those of the tester and of what ran before. The step counts everything that ran, so what gives way to
/// every other thread counts before it, too.
fn cpus_beside(used: &StepCpu, seconds: f64, cpus: f64, diagnosis: &DiagnosisFacts) -> f64 {
    let before = diagnosis.busy_before.or(diagnosis.others_busy).unwrap_or(0.0);
    let tester = used.tester_ns as f64 / (seconds * 1e9);
    ((used.host_busy - before) * cpus - tester).max(0.0)
}

/// Time that a ping under load takes longer than an idle one, over the mean latency of the load. A ping (NOP, NULL)
/// waits in the same queues as I/O as far as the target's software, and for no medium.
fn ping_wait(header: &RunHeader, step: &StepSummary) -> Option<f64> {
    let idle_us = idle_ping_us(&header.targets.first()?.member)?;
    // A policy may leave paths idle; the I/Os wait on the others.
    let busiest =
        step.paths.iter().filter(|path| path.ping.count() >= PINGS_LEAST).max_by_key(|p| p.ops())?;
    let loaded_us = busiest.ping.quantile_ns(0.5)? / 1e3;
    let latency_us = step.total.service.mean_ns()? / 1e3;
    Some((loaded_us - idle_us).max(0.0) / latency_us.max(1.0))
}

/// Share of the writes that begin or end within a block of 4 KiB or the larger one of the device, where the place on
/// the device is known.
fn partial_blocks(header: &RunHeader, member: &MemberFacts) -> Option<f64> {
    let device = member.device.as_ref()?;
    let block = u64::from(device.physical_block_bytes).max(PAGE);
    let first_bytes = match device.shifted_bytes {
        0 => member.placement.filter(|_| member.kind != MemberKind::File)?.first_bytes,
        shifted => u64::from(shifted),
    };
    let base = header.plan.tests.get(base_step(header)?.test as usize)?.steps.first()?;
    let writes = || base.jobs.iter().flat_map(|job| &job.mix).filter(|line| line.writes());
    let all: f64 = writes().map(|line| f64::from(line.weight)).sum();
    let is_whole_at = |line: &Access| line.size.0.is_multiple_of(block) && first_bytes.is_multiple_of(block);
    let partial = |line: &Access| {
        let align = if line.align.0 == 0 { line.size.0 } else { line.align.0 };
        // Of the positions on multiples of 512 bytes one in eight is a multiple of 4 KiB.
        let aligned = if align.is_multiple_of(block) { 1.0 } else { align as f64 / block as f64 };
        f64::from(line.weight) * if is_whole_at(line) { 1.0 - aligned.min(1.0) } else { 1.0 }
    };
    (all > 0.0).then(|| writes().map(partial).sum::<f64>() / all)
}

/// The step of the load itself.
fn base_step(header: &RunHeader) -> Option<StepId> {
    let experiments = &header.diagnosis.as_ref()?.experiments;
    let test = experiments.iter().position(|experiment| *experiment == Experiment::Base)?;
    Some(StepId { test: u32::try_from(test).ok()?, step: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A limit that was exceeded a hundred times over hid the one that held, and made every cause improbable.
    #[test]
    fn a_limit_that_the_load_exceeds_is_none_of_it() {
        let nearest = |shares: &[f64]| nearest(shares.iter().copied());
        assert_eq!(nearest(&[110.0, 0.98, 0.9]), Some(0.98));
        assert_eq!(nearest(&[110.0, 0.4]), None);
        assert_eq!(nearest(&[1.2, 0.98]), Some(0.98));
    }

    /// A program that computes in what nobody needs was a CPU of dm-crypt.
    #[test]
    fn what_gave_way_before_the_load_is_no_helper_of_it() {
        let diagnosis = DiagnosisFacts {
            load: "load".to_owned(),
            budget_s: 120.0,
            others_busy: Some(0.0),
            busy_before: Some(0.25),
            kept_awake: false,
            experiments: Vec::new(),
        };
        let used = |host_busy| StepCpu { host_busy, tester_ns: 1_000_000_000, ..StepCpu::default() };
        assert!(cpus_beside(&used(0.375), 2.0, 4.0, &diagnosis) < 1e-9);
        assert!((cpus_beside(&used(0.625), 2.0, 4.0, &diagnosis) - 1.0).abs() < 1e-9);
    }
}
