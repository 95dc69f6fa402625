//! The end of a step on several hosts as the end of one step.

use assay_record::{
    ClockDrift, ClockOffset, HostEnd, JobEnd, PathMoment, PlaceSample, StepCpu, StepEnd, StepId, StepReason,
};

/// Moments of paths that the end of a step keeps of all hosts together.
const PATH_MOMENTS_MAX: usize = 4096;
/// I/Os with their places that the end of a step keeps of all hosts together; one host keeps 1,024.
const PLACES_MAX: usize = 16_384;

/// A step on a host.
pub(crate) struct HostStep<'a> {
    pub(crate) name: &'a str,
    /// Its CPUs, by which its CPU use is weighted.
    pub(crate) cpus: u32,
    /// When its events' clock showed 0, by the coordinator's clock, ns since 1970.
    pub(crate) epoch_ns: i64,
    /// When the step was to begin, by the coordinator's clock, ns since 1970.
    pub(crate) at_unix_ns: Option<i64>,
    /// The same epoch, ns since the run began.
    pub(crate) since_start_ns: u64,
    pub(crate) clock: ClockOffset,
    pub(crate) drift: Option<ClockDrift>,
    /// How much later than stated its measured window began, ns.
    pub(crate) shift_ns: u64,
    /// Index of each of its jobs in the record.
    pub(crate) jobs: &'a [u32],
    /// `None` where it did not end the step.
    pub(crate) end: Option<&'a StepEnd>,
    /// Why it did not.
    pub(crate) missing: Option<String>,
}

/// Returns the end of a step that at least one host has ended.
pub(crate) fn merged_end(step: StepId, hosts: &[HostStep<'_>]) -> StepEnd {
    let ends = || (0..).zip(hosts).filter_map(|(number, host)| Some((number, host, host.end?)));
    let mut merged = StepEnd::new(step, reason(hosts), jobs(hosts), cpu(hosts));
    for (number, host, end) in ends() {
        let job = |local: u32| host.jobs.get(local as usize).copied().unwrap_or(0);
        let member = |member: &str| format!("{}:{member}", host.name);
        merged.failures.extend(end.failures.iter().cloned().map(|mut of| {
            (of.job, of.member) = (job(of.job), member(&of.member));
            of
        }));
        merged.mismatches.extend(end.mismatches.iter().cloned());
        merged.outside_errors += end.outside_errors;
        merged.mismatch_count += end.mismatch_count;
        merged.moved_writes += end.moved_writes;
        merged.late_blocks += end.late_blocks;
        merged.members.extend(end.members.iter().cloned().map(|mut of| {
            (of.job, of.member) = (job(of.job), member(&of.member));
            of
        }));
        merged.paths.extend(end.paths.iter().cloned().map(|mut of| {
            (of.job, of.member) = (job(of.job), member(&of.member));
            of
        }));
        merged.path_moments.extend(end.path_moments.iter().cloned().map(|mut of| {
            (of.says, of.member) = (format!("{}: {}", host.name, of.says), member(&of.member));
            of.since_window_ns = of.since_window_ns.saturating_add(host.shift_ns);
            of
        }));
        merged.writes.extend(end.writes.iter().cloned().map(|mut of| {
            of.job = job(of.job);
            of
        }));
        merged.flushes.extend(end.flushes.iter().cloned().map(|mut of| {
            of.job = job(of.job);
            of
        }));
        merged.workers.extend(end.workers.iter().cloned().map(|mut of| {
            of.job = job(of.job);
            of
        }));
        merged.gaps.extend(end.gaps.iter().cloned().map(|mut of| {
            of.start_ns += host.since_start_ns;
            of.end_ns += host.since_start_ns;
            of.since_window_ns = of.since_window_ns.map(|ns| ns.saturating_add_unsigned(host.shift_ns));
            of.host = Some(number);
            of
        }));
        merged.places.extend(end.places.iter().cloned().map(|mut of| {
            of.job = job(of.job);
            of
        }));
    }
    thin(&mut merged.places);
    merged.path_moments.sort_by_key(|of| of.since_window_ns);
    shorten(&mut merged.path_moments);
    merged.failures.truncate(StepEnd::KEPT);
    merged.mismatches.truncate(StepEnd::KEPT);
    merged.hosts = hosts.iter().map(host_end).collect();
    merged
}

/// Leaves the first moments of paths, as many as one host keeps: a switch that fails is seen by a thousand hosts.
fn shorten(moments: &mut Vec<PathMoment>) {
    let Some(left_out) = moments.len().checked_sub(PATH_MOMENTS_MAX).filter(|more| *more > 0) else { return };
    moments.truncate(PATH_MOMENTS_MAX);
    if let Some(last) = moments.last().cloned() {
        moments.push(PathMoment { says: format!("{left_out} later events of paths are left out"), ..last });
    }
}

/// Leaves every second, third or later sample, whole: a few hosts with all that they kept say more of their targets
/// than some I/Os of each of a thousand.
fn thin(places: &mut Vec<PlaceSample>) {
    let kept = |places: &[PlaceSample]| places.iter().map(|sample| sample.ios.len()).sum::<usize>();
    let every = kept(places).div_ceil(PLACES_MAX).max(1);
    let mut number = 0;
    places.retain(|_| {
        number += 1;
        number % every == 1 || every == 1
    });
    // Those that were left may be the longer ones.
    while kept(places) > PLACES_MAX {
        places.pop();
    }
}

fn host_end(host: &HostStep<'_>) -> HostEnd {
    let after = |moment_ns: u64| {
        let at = host.epoch_ns.saturating_add(i64::try_from(moment_ns).unwrap_or(i64::MAX));
        host.at_unix_ns.map(|stated| at.saturating_sub(stated))
    };
    let moments = host.end.and_then(|end| end.moments);
    HostEnd {
        host: host.name.to_owned(),
        clock: host.clock,
        drift: host.drift,
        gate_ns: moments.and_then(|moments| after(moments.load_ns)),
        first_io_ns: moments.and_then(|moments| after(moments.first_io_ns?)),
        first_wait_ns: moments.and_then(|of| Some(of.first_due_ns?.saturating_sub(of.load_ns))).unwrap_or(0),
        cpu: host.end.map(|end| end.cpu).unwrap_or_default(),
        lost: host.missing.clone().filter(|_| host.end.is_none()),
    }
}

/// The worst of the reasons of the hosts that ended the step.
fn reason(hosts: &[HostStep<'_>]) -> StepReason {
    let reasons = || hosts.iter().filter_map(|host| Some((host.name, &host.end?.reason)));
    let lost = reasons().find_map(|(name, reason)| match reason {
        StepReason::TargetLost(why) => Some(StepReason::TargetLost(format!("{name}: {why}"))),
        _ => None,
    });
    let has = |wanted: &StepReason| reasons().any(|(_, reason)| reason == wanted);
    lost.unwrap_or(match () {
        () if has(&StepReason::ErrorLimit) => StepReason::ErrorLimit,
        () if has(&StepReason::Interrupted) => StepReason::Interrupted,
        () => StepReason::Done,
    })
}

/// The ends of the jobs in the order of the record. The rate of a host that was lost is that over the window of the
/// others: what it would have added is not known.
fn jobs(hosts: &[HostStep<'_>]) -> Vec<JobEnd> {
    let count = hosts.iter().flat_map(|host| host.jobs).max().map_or(0, |job| *job as usize + 1);
    let ends = || hosts.iter().filter_map(|host| host.end).flat_map(|end| &end.jobs);
    let longest_ns = ends().map(|job| job.measured_ns).max().unwrap_or(0);
    let mut jobs = vec![JobEnd { measured_ns: longest_ns, due: None, full_ns: None }; count];
    for host in hosts {
        for (job, end) in host.jobs.iter().zip(host.end.iter().flat_map(|end| &end.jobs)) {
            jobs[*job as usize] = *end;
        }
    }
    jobs
}

/// CPU use of all hosts as of one machine with all their CPUs.
fn cpu(hosts: &[HostStep<'_>]) -> StepCpu {
    let ends = || hosts.iter().filter_map(|host| Some((f64::from(host.cpus), host.end?.cpu)));
    let cpus: f64 = ends().map(|(cpus, _)| cpus).sum();
    let mean =
        |of: fn(&StepCpu) -> f64| ends().map(|(cpus, cpu)| cpus * of(&cpu)).sum::<f64>() / cpus.max(1.0);
    let tester_ns: u64 = ends().map(|(_, cpu)| cpu.tester_ns).sum();
    let sum = |of: fn(&StepCpu) -> Option<u64>| ends().map(|(_, cpu)| of(&cpu)).sum::<Option<u64>>();
    let system = ends().map(|(_, cpu)| Some(cpu.tester_system? * cpu.tester_ns as f64)).sum::<Option<f64>>();
    // Of each worker, whichever host it is on.
    let waits = hosts.iter().filter_map(|host| host.end);
    let waits = waits.map(|end| Some((end.workers.len() as f64, end.cpu.workers_waited?)));
    let waits: Option<Vec<(f64, f64)>> = waits.collect();
    let waited = waits.and_then(|waits| {
        let workers: f64 = waits.iter().map(|(workers, _)| workers).sum();
        let sum: f64 = waits.iter().map(|(workers, waited)| workers * waited).sum();
        (workers > 0.0).then(|| sum / workers)
    });
    StepCpu {
        host_busy: mean(|cpu| cpu.host_busy),
        host_busy_max: ends().map(|(_, cpu)| cpu.host_busy_max).fold(0.0, f64::max),
        steal: mean(|cpu| cpu.steal),
        tester_ns,
        tester_system: system.filter(|_| tester_ns > 0).map(|system| system / tester_ns as f64),
        workers_waited: waited,
        others_ns: sum(|cpu| cpu.others_ns),
        stopped_ns: sum(|cpu| cpu.stopped_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// They were dropped, and no slow region or member was ever found over hosts.
    #[test]
    fn ios_with_their_places_are_kept_whole_of_as_many_hosts_as_there_is_room_for() {
        let of = |ios: u64| {
            let ios = (0..ios).map(|number| assay_record::PlacedIo(0, number, number)).collect();
            PlaceSample { job: 0, every: 1, ios }
        };
        let thinned = |lengths: &mut dyn Iterator<Item = u64>| {
            let mut places: Vec<PlaceSample> = lengths.map(of).collect();
            thin(&mut places);
            places.iter().map(|sample| sample.ios.len()).collect::<Vec<_>>()
        };
        assert_eq!(thinned(&mut std::iter::repeat_n(1024, 16)), [1024; 16]);
        let many = thinned(&mut std::iter::repeat_n(1024, 1000));
        assert!(many.len() >= 15 && many.iter().all(|ios| *ios == 1024), "{many:?}");
        assert_eq!(thinned(&mut std::iter::repeat_n(16, 64_000)).len(), 1016, "hosts with many workers");
        let uneven = thinned(&mut (0..64).map(|number| if number % 4 == 0 { 1024 } else { 1 }));
        assert!(uneven.iter().sum::<usize>() <= PLACES_MAX, "{uneven:?}");
    }

    #[test]
    fn a_thousand_hosts_that_lose_a_path_make_no_record_of_megabytes() {
        let moment = |number: u64| PathMoment {
            since_window_ns: number,
            member: "iscsi".into(),
            says: "path 1 is down".into(),
        };
        let mut few: Vec<PathMoment> = (0..4096).map(moment).collect();
        shorten(&mut few);
        assert_eq!(few.len(), 4096);
        let mut many: Vec<PathMoment> = (0..9096).map(moment).collect();
        shorten(&mut many);
        assert_eq!((many.len(), many[4095].since_window_ns), (4097, 4095));
        assert_eq!(many[4096].says, "5000 later events of paths are left out");
    }
}
