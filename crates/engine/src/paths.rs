//! Traffic and events of the paths of a target, converted from the target's types to the record's.

use std::net::SocketAddr;

use assay_record::{Failure, Latency, PathEnd, PathFacts, PathMoment, RunEvent, Warning, WriteEnd};
use assay_target::lun;
use assay_target::remote::{PathEvent, PathReport, RemoteReport, WriteReport, WriteStats};

use crate::clock::Clock;
use crate::events::{Emitter, RunError};

/// Number of path events recorded individually: a flapping path would fill the record.
const EVENTS_MAX: usize = 32;

/// Reports of a worker's target before and after the measured window; `None` for local targets.
#[derive(Default)]
pub(crate) struct WorkerPaths {
    pub(crate) before: Option<RemoteReport>,
    pub(crate) after: Option<RemoteReport>,
}

impl WorkerPaths {
    pub(crate) fn writes(&self) -> Option<&WriteReport> {
        self.after.as_ref()?.writes.as_ref()
    }

    pub(crate) fn writes_before(&self) -> WriteStats {
        let before = self.before.as_ref().and_then(|before| before.writes.as_ref());
        before.map_or_else(WriteStats::default, |writes| writes.stats)
    }

    /// Replaces the system's text for error numbers by the other side's message. Both lists are in the order in which
    /// the I/Os completed; a short transfer is a failure here, but not for the target.
    pub(crate) fn quote(&self, failures: &mut [Failure]) {
        let words = self.after.as_ref().map_or(&[][..], |report| &report.failures);
        for (failure, words) in failures.iter_mut().filter(|failure| failure.errno != 0).zip(words) {
            failure.says.clone_from(words);
        }
    }

    pub(crate) fn take_events(&mut self) -> Vec<PathEvent> {
        let reports = [&mut self.before, &mut self.after].into_iter().flatten();
        reports.flat_map(|report| std::mem::take(&mut report.events)).collect()
    }
}

/// Adds the paths of one worker to those of its job.
pub(crate) fn add(sums: &mut Vec<PathEnd>, job: u32, member: &str, paths: &WorkerPaths) {
    for after in paths_of(paths.after.as_ref()) {
        let before = paths_of(paths.before.as_ref()).iter().find(|b| b.path == after.path);
        let one = path_end(job, member, after, before);
        match sums.iter_mut().find(|sum| sum.job == job && sum.path == one.path) {
            None => sums.push(one),
            Some(sum) => sum.merge(&one),
        }
    }
}

fn paths_of(report: Option<&RemoteReport>) -> &[PathReport] {
    report.map_or(&[], |report| &report.paths)
}

fn path_end(job: u32, member: &str, after: &PathReport, before: Option<&PathReport>) -> PathEnd {
    let since = |of: fn(&PathReport) -> u64| of(after) - before.map_or(0, of);
    let mut latency = after.stats.latency_ns.clone();
    if let Some(before) = before {
        latency.subtract(&before.stats.latency_ns).expect("the same histogram at an earlier time");
    }
    PathEnd {
        job,
        member: member.to_owned(),
        path: after.path,
        portal: after.portal.clone(),
        is_up: after.is_up,
        reads: since(|p| p.stats.reads),
        writes: since(|p| p.stats.writes),
        read_bytes: since(|p| p.stats.read_bytes),
        write_bytes: since(|p| p.stats.write_bytes),
        retries: since(|p| p.stats.retries),
        errors: since(|p| p.stats.errors),
        failures: since(|p| p.stats.failures),
        refused: since(|p| p.stats.refused),
        moved: since(|p| p.stats.moved),
        unable_ns: since(|p| p.stats.unable_ns),
        latency: distribution(latency.iter_recorded().map(|v| (v.value_iterated_to(), v.count_at_value()))),
        ping: distribution(
            after.stats.ping_ns.iter_recorded().map(|v| (v.value_iterated_to(), v.count_at_value())),
        ),
        tcp: after.tcp.map(assay_host::tcp_facts),
    }
}

/// Returns the durability of the writes of one worker in the measured window.
pub(crate) fn write_end(job: u32, member: &str, report: &WriteReport, before: WriteStats) -> WriteEnd {
    let stats = report.stats;
    let commits = stats.commits - before.commits;
    // A restart meanwhile has removed the uncommitted writes of the warm-up from those that were to be committed.
    let is_carried = commits > 0 && stats.restarts == before.restarts;
    let committed_before_bytes = if is_carried { before.uncommitted_bytes } else { 0 };
    WriteEnd {
        job,
        member: member.to_owned(),
        unstable: stats.unstable - before.unstable,
        data_sync: stats.data_sync - before.data_sync,
        file_sync: stats.file_sync - before.file_sync,
        commits,
        commit_ns: stats.commit_ns - before.commit_ns,
        committed_bytes: stats.committed_bytes - before.committed_bytes - committed_before_bytes,
        committed_before_bytes,
        // Writes that a server lost are lost, whenever that happened.
        restarts: stats.restarts,
        uncertain: stats.uncertain,
        uncertain_bytes: stats.uncertain_bytes,
        // As above: a copy sent in the warm-up may still be executed.
        moved: stats.moved,
        failure: report.failure.clone(),
    }
}

fn distribution(buckets: impl Iterator<Item = (u64, u64)>) -> Latency {
    let mut all = Latency::default();
    buckets.for_each(|(ns, count)| all.record_many(ns, count));
    all
}

/// Reports the events of the paths in order, each with its time.
pub(crate) fn tell(
    events: &[(String, PathEvent)],
    clock: Clock,
    emitter: &mut Emitter<'_>,
) -> Result<(), RunError> {
    let left_out = events.len().saturating_sub(EVENTS_MAX);
    for (member, event) in events.iter().take(EVENTS_MAX) {
        let at_s = event.at.saturating_duration_since(clock.epoch()).as_secs_f64();
        emitter.emit(RunEvent::Warning(Warning {
            rule: "path".into(),
            says: format!("{at_s:.3} s into the run, {member}: {}.", event.says),
            next: String::new(),
        }))?;
    }
    if left_out > 0 {
        emitter.emit(RunEvent::Warning(Warning {
            rule: "path".into(),
            says: format!("{left_out} more path events of this step are not listed."),
            next: String::new(),
        }))?;
    }
    Ok(())
}

/// Returns what happened to the paths within the measured window, which begins and ends at these times, ns since the
/// run began. Events are in order.
pub(crate) fn moments(
    events: &[(String, PathEvent)],
    clock: Clock,
    (from_ns, to_ns): (u64, u64),
) -> Vec<PathMoment> {
    let moment = |(member, event): &(String, PathEvent)| {
        let at = event.at.saturating_duration_since(clock.epoch());
        let at_ns = u64::try_from(at.as_nanos()).ok().filter(|at| (from_ns..to_ns).contains(at))?;
        Some(PathMoment {
            since_window_ns: at_ns - from_ns,
            member: member.clone(),
            says: event.says.clone(),
        })
    };
    events.iter().filter_map(moment).take(EVENTS_MAX).collect()
}

/// Returns the remote address of each path, connected or not.
pub(crate) fn remotes(paths: &[PathFacts]) -> Vec<SocketAddr> {
    let remote = |path: &PathFacts| {
        let known = path.remote.as_ref().and_then(|remote| remote.parse().ok());
        known.or_else(|| lun::resolve(&path.portal).ok())
    };
    paths.iter().filter_map(remote).collect()
}
