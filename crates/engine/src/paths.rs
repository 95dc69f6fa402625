//! What went over each path of a target, and what happened to the paths: from the target's words to the record's.

use std::net::SocketAddr;

use assay_host::{Flow, NetProbe};
use assay_record::{
    Agreed, Latency, NetPathFacts, PathEnd, PathFacts, PingFacts, RunEvent, Warning, WriteEnd,
};
use assay_target::lun::{self, Negotiated};
use assay_target::nfs::{WriteReport, WriteStats};
use assay_target::remote::{PathEvent, PathReport};

use crate::clock::Clock;
use crate::events::{Emitter, RunError};

/// More events of paths than these are not told one by one: a path that flaps would fill the record.
const EVENTS_MAX: usize = 32;

/// The paths of one worker: before the measured window and after it, and what happened to them.
#[derive(Default)]
pub(crate) struct WorkerPaths {
    pub(crate) before: Vec<PathReport>,
    pub(crate) after: Vec<PathReport>,
    pub(crate) events: Vec<PathEvent>,
    /// What became of writes, where the target may hold them in memory: when the measured window began, and after it.
    pub(crate) writes_before: Option<WriteStats>,
    pub(crate) writes: Option<WriteReport>,
}

/// Adds the paths of one worker to those of its job.
pub(crate) fn add(sums: &mut Vec<PathEnd>, job: u32, member: &str, paths: &WorkerPaths) {
    for after in &paths.after {
        let before = paths.before.iter().find(|b| b.path == after.path);
        let one = path_end(job, member, after, before);
        match sums.iter_mut().find(|sum| sum.job == job && sum.path == one.path) {
            None => sums.push(one),
            Some(sum) => merge(sum, &one),
        }
    }
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
        latency: distribution(latency.iter_recorded().map(|v| (v.value_iterated_to(), v.count_at_value()))),
        ping: distribution(
            after.stats.ping_ns.iter_recorded().map(|v| (v.value_iterated_to(), v.count_at_value())),
        ),
        tcp: after.tcp.map(assay_host::tcp_facts),
    }
}

/// What became of the writes of one worker in the measured window.
pub(crate) fn write_end(job: u32, member: &str, report: &WriteReport, before: WriteStats) -> WriteEnd {
    let stats = report.stats;
    let commits = stats.commits - before.commits;
    // A restart between has taken the uncommitted writes of the warm-up out of what there was to commit.
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
        // What a server forgot is lost, whenever that was.
        restarts: stats.restarts,
        uncertain: stats.uncertain,
        uncertain_bytes: stats.uncertain_bytes,
        failure: report.failure.clone(),
    }
}

fn distribution(buckets: impl Iterator<Item = (u64, u64)>) -> Latency {
    let mut all = Latency::default();
    buckets.for_each(|(ns, count)| all.record_many(ns, count));
    all
}

fn merge(sum: &mut PathEnd, one: &PathEnd) {
    sum.is_up &= one.is_up;
    sum.reads += one.reads;
    sum.writes += one.writes;
    sum.read_bytes += one.read_bytes;
    sum.write_bytes += one.write_bytes;
    sum.retries += one.retries;
    sum.errors += one.errors;
    sum.failures += one.failures;
    sum.latency.merge(&one.latency);
    sum.ping.merge(&one.ping);
    sum.tcp = sum.tcp.or(one.tcp);
}

/// Tells what happened to the paths, each with its time, in the order in which it happened.
pub(crate) fn tell(
    mut events: Vec<(String, PathEvent)>,
    clock: Clock,
    emitter: &mut Emitter<'_>,
) -> Result<(), RunError> {
    events.sort_by_key(|(_, event)| event.at);
    let left_out = events.len().saturating_sub(EVENTS_MAX);
    for (member, event) in events.into_iter().take(EVENTS_MAX) {
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
            says: format!("{left_out} more events of paths in this step are not listed."),
            next: String::new(),
        }))?;
    }
    Ok(())
}

/// The networks to the portals of a target, each looked at once.
pub(crate) struct Networks {
    ways: NetProbe,
    portals: Vec<(SocketAddr, NetPathFacts)>,
}

impl Networks {
    /// Those to portals; a name without an address has none.
    pub(crate) fn of(portals: &[String]) -> Self {
        let mut remotes: Vec<SocketAddr> =
            portals.iter().filter_map(|portal| lun::resolve(portal).ok()).collect();
        remotes.sort_unstable();
        remotes.dedup();
        let flows: Vec<Flow> = remotes.iter().map(|remote| Flow { remote: *remote, local: None }).collect();
        let mut ways = NetProbe::default();
        let portals = remotes.into_iter().zip(ways.look(&flows)).collect();
        Self { ways, portals }
    }

    fn to(&self, portal: &str) -> Option<&NetPathFacts> {
        let at = lun::resolve(portal).ok()?;
        self.portals.iter().find(|(known, _)| *known == at).map(|(_, net)| net)
    }

    /// Where full frames do not arrive, in words: large I/O will hang there.
    pub(crate) fn lossy(&self) -> Option<String> {
        let (at, net) = self.portals.iter().find(|(_, net)| net.frames.is_lossy())?;
        let mtu_bytes = net.interface.as_ref()?.mtu_bytes;
        let largest = net.frames.largest_bytes?;
        Some(format!(
            "our interface to {} sends frames of {mtu_bytes} bytes, and nothing larger than {largest} arrives; assay check \
             says more",
            at.ip()
        ))
    }

    /// Whether there is no network on which full frames arrive.
    pub(crate) fn all_lossy(&self) -> bool {
        self.portals.iter().all(|(_, net)| net.frames.is_lossy())
    }

    /// Every path for the record, by the way that its connection takes. A target may have sent us to other addresses than
    /// those that were given.
    pub(crate) fn facts(&mut self, paths: &[PathReport]) -> Vec<PathFacts> {
        let flows: Vec<Option<Flow>> = paths.iter().map(flow).collect();
        let mut looked = self.ways.look(&flows.iter().flatten().copied().collect::<Vec<_>>()).into_iter();
        let mut net = |flow: &Option<Flow>| flow.and_then(|_| looked.next()).map(Box::new);
        paths.iter().zip(&flows).map(|(path, flow)| PathFacts { net: net(flow), ..facts(path) }).collect()
    }
}

/// The connection of a path; of one that is down, that which it would make.
fn flow(path: &PathReport) -> Option<Flow> {
    match path.addresses {
        Some((local, remote)) => Some(Flow { remote, local: Some(local) }),
        None => lun::resolve(&path.portal).ok().map(|remote| Flow { remote, local: None }),
    }
}

/// The other side of each path; of one that is down, where it would be.
pub(crate) fn remotes(paths: &[PathFacts]) -> Vec<SocketAddr> {
    let remote = |path: &PathFacts| {
        let known = path.remote.as_ref().and_then(|remote| remote.parse().ok());
        known.or_else(|| lun::resolve(&path.portal).ok())
    };
    paths.iter().filter_map(remote).collect()
}

/// The way to an NFS server over a connection that is open.
pub(crate) fn way(local: Option<SocketAddr>, remote: SocketAddr) -> PathFacts {
    PathFacts {
        portal: remote.to_string(),
        is_up: true,
        local: local.map(|local| local.to_string()),
        remote: Some(remote.to_string()),
        tcp: local.and_then(|local| assay_host::tcp_path(local, remote)),
        net: NetProbe::default().look(&[Flow { remote, local }]).pop().map(Box::new),
        ..PathFacts::default()
    }
}

/// The network to portals that could not be logged in to; a name without an address has none.
#[must_use]
pub fn portal_networks(portals: &[String]) -> Vec<(String, Option<NetPathFacts>)> {
    let networks = Networks::of(portals);
    portals.iter().map(|portal| (portal.clone(), networks.to(portal).cloned())).collect()
}

fn facts(path: &PathReport) -> PathFacts {
    PathFacts {
        portal: path.portal.clone(),
        is_up: path.is_up,
        local: path.addresses.map(|(local, _)| local.to_string()),
        remote: path.addresses.map(|(_, remote)| remote.to_string()),
        access: path.access.map(lun::access_words).unwrap_or_default().to_owned(),
        agreed: path.agreed.as_ref().map(|of| agreed(of, path.command_window.unwrap_or(0))),
        tcp: path.tcp.map(assay_host::tcp_facts),
        ping: ping(path),
        net: None,
    }
}

fn ping(path: &PathReport) -> Option<PingFacts> {
    let pings = &path.stats.ping_ns;
    (!pings.is_empty()).then(|| PingFacts {
        count: pings.len(),
        min_us: pings.min() / 1000,
        median_us: pings.value_at_quantile(0.5) / 1000,
        max_us: pings.max() / 1000,
    })
}

fn agreed(of: &Negotiated, command_window: u32) -> Agreed {
    Agreed {
        authentication: of.authentication.clone(),
        header_digest: of.header_digest,
        data_digest: of.data_digest,
        initial_r2t: of.initial_r2t,
        immediate_data: of.immediate_data,
        max_send_segment_bytes: of.max_send_segment_bytes,
        max_recv_segment_bytes: of.max_recv_segment_bytes,
        max_burst_bytes: of.max_burst_bytes,
        first_burst_bytes: of.first_burst_bytes,
        max_outstanding_r2t: of.max_outstanding_r2t,
        command_window,
    }
}
