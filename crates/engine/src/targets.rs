//! From the targets of a run to those of one job.

use std::net::SocketAddr;
use std::sync::Arc;

use assay_host::Watched;
use assay_record::TargetFacts;
use assay_spec::{Job, Plan, Step};
use assay_target::{IoEngine, Member};

use crate::fit::{Blocks, Fit, JobTargets, fit};
use crate::paths;
use crate::placement::Interrupts;
use crate::rng::derive;
use crate::stamp::StampTable;

/// The targets of a run, in the order of the command line. Any worker can open them.
#[derive(Debug, Clone)]
pub struct RunTargets {
    /// Members that workers open.
    pub members: Vec<Member>,
    /// Recorded facts about each target.
    pub facts: Vec<TargetFacts>,
    /// I/O engine for files and devices.
    pub io: IoEngine,
    /// Memory that I/O buffers may take, bytes.
    pub memory_bytes: u64,
}

/// A test of which no step can run on the targets.
#[derive(Debug, thiserror::Error)]
#[error("test \"{test}\": {why}")]
pub struct Misfit {
    /// Name of the test.
    pub test: String,
    /// Reason and remedy.
    pub why: String,
}

/// Fails for a plan with a test of which no step can run; single steps of a sweep are left out later.
pub fn check_fit(plan: &Plan, targets: &RunTargets) -> Result<(), Misfit> {
    for test in &plan.tests {
        let misfits: Vec<String> = test
            .steps
            .iter()
            .filter_map(|step| match fit(step, plan.semantics, &targets.job_targets(step)) {
                Fit::Fits => None,
                Fit::Misfit(why) => Some(why),
            })
            .collect();
        if misfits.len() == test.steps.len() {
            return Err(Misfit { test: test.name.clone(), why: misfits[0].clone() });
        }
    }
    Ok(())
}

/// The members that a job uses, all of one kind.
pub(crate) struct JobTarget {
    pub(crate) members: Vec<Member>,
    pub(crate) names: Vec<String>,
    pub(crate) spans: Vec<u64>,
    pub(crate) block_bytes: u32,
    pub(crate) engine: IoEngine,
    /// Interrupts by which its workers are placed on CPUs.
    pub(crate) interrupts: Interrupts,
    /// One for each member in a plan that verifies.
    pub(crate) stamps: Vec<Arc<StampTable>>,
}

impl RunTargets {
    /// Returns what the sampler observes during the run.
    pub(crate) fn watched(&self) -> Watched {
        Watched { devices: self.disk_names(), remotes: self.remotes(), interfaces: self.interfaces() }
    }

    /// Returns the remote addresses of every connection of the targets.
    fn remotes(&self) -> Vec<SocketAddr> {
        self.facts.iter().flat_map(|facts| paths::remotes(facts.member.paths())).collect()
    }

    /// Returns the network interfaces that lead to the targets, and those under them.
    fn interfaces(&self) -> Vec<String> {
        let paths = self.facts.iter().flat_map(|facts| facts.member.paths());
        let interfaces = paths.filter_map(|path| path.net.as_ref()?.interface.as_ref());
        sorted(interfaces.flat_map(|of| of.names().into_iter().map(str::to_owned)))
    }

    /// Returns the kernel names of every block device under the targets, as in /proc/diskstats.
    fn disk_names(&self) -> Vec<String> {
        let devices = self.facts.iter().filter_map(|facts| facts.member.device.as_ref());
        sorted(devices.flat_map(|device| device.stack.iter().cloned()))
    }

    /// Returns a stamp table for each target if the plan verifies, else none.
    pub(crate) fn stamps(&self, plan: &Plan) -> Vec<Arc<StampTable>> {
        if !plan.verifies() {
            return Vec::new();
        }
        let run = run_number(plan);
        let table = |member: &Member| {
            let table = StampTable::new(run, member.span_bytes());
            member.moved().iter().for_each(|part| table.moved(part.clone()));
            Arc::new(table)
        };
        self.members.iter().map(table).collect()
    }

    /// Returns the targets of a job, as indices on the command line.
    fn indices(&self, job: &Job) -> Vec<usize> {
        match job.targets.as_slice() {
            [] => (0..self.members.len()).collect(),
            named => named.iter().map(|index| *index as usize).collect(),
        }
    }

    /// Returns the target properties needed by the fit check for each job of a step.
    pub(crate) fn job_targets(&self, step: &Step) -> Vec<JobTargets> {
        step.jobs.iter().map(|job| self.targets_of(job)).collect()
    }

    fn targets_of(&self, job: &Job) -> JobTargets {
        let indices = self.indices(job);
        let members = || indices.iter().map(|index| &self.members[*index]);
        let names: Vec<&str> = indices.iter().map(|index| self.facts[*index].address.as_str()).collect();
        JobTargets {
            spans: members().map(|member| job_span(job, member)).collect(),
            block_bytes: members().map(Member::block_bytes).max().unwrap_or(512),
            blocks: match members().next() {
                Some(Member::File(_)) => Blocks::OfDirectIo,
                _ => Blocks::OfDevice,
            },
            transfer_bytes_max: members().filter_map(Member::transfer_bytes_max).min().unwrap_or(u64::MAX),
            name: names.join(", "),
            depth_max: members().map(|member| member.depth_max(self.io)).min().unwrap_or(u32::MAX),
            memory_bytes: self.memory_bytes,
            flush_refusal: members().find_map(Member::flush_refusal),
            trim_refusal: members().find_map(Member::trim_refusal),
            unmap_limits: members().filter_map(Member::unmap_limits).collect(),
        }
    }

    /// Returns where the I/O of the first of these targets completes; the others are nearly always of its kind.
    fn interrupts_of(&self, indices: &[usize]) -> Interrupts {
        let Some(first) = indices.first() else { return Interrupts::Unknown };
        match (&self.members[*first], self.io, &self.facts[*first].member.device) {
            (Member::Null { .. }, ..) | (Member::File(_), IoEngine::Inline, _) => Interrupts::None,
            (Member::File(_), _, Some(device)) => Interrupts::of(&device.stack),
            _ => Interrupts::Unknown,
        }
    }

    /// Returns the members that the workers of a job use.
    pub(crate) fn of_job(&self, job: &Job, stamps: &[Arc<StampTable>]) -> JobTarget {
        let JobTargets { spans, block_bytes, .. } = self.targets_of(job);
        let indices = self.indices(job);
        JobTarget {
            members: indices.iter().map(|index| of_job(&self.members[*index], job)).collect(),
            names: indices.iter().map(|index| self.facts[*index].address.clone()).collect(),
            spans,
            block_bytes,
            engine: self.io,
            interrupts: self.interrupts_of(&indices),
            stamps: indices.iter().filter_map(|index| stamps.get(*index).cloned()).collect(),
        }
    }
}

/// Returns the part of a member that a job uses, whole blocks, bytes.
fn job_span(job: &Job, member: &Member) -> u64 {
    let block = u64::from(member.block_bytes()).max(1);
    let span = job.span.map_or(u64::MAX, |span| span.0.next_multiple_of(block));
    span.min(member.span_bytes())
}

/// Returns a member as a job uses it: the part of it, and the durability of its writes.
fn of_job(member: &Member, job: &Job) -> Member {
    let member = match job.span {
        Some(_) => member.clone().narrowed(job_span(job, member)),
        None => member.clone(),
    };
    match job.flush {
        _ if job.sync => member.synced(),
        Some(flush) => member.flushed(flush.every),
        None => member,
    }
}

fn sorted(names: impl Iterator<Item = String>) -> Vec<String> {
    names.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
}

/// Returns the number that distinguishes this run's stamps from those of other runs.
fn run_number(plan: &Plan) -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    derive(plan.seed, &[now.as_secs(), u64::from(now.subsec_nanos()), u64::from(std::process::id())])
}
