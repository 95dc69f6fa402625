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

/// The targets of a run: open-able by any worker, in the order of the command line.
#[derive(Debug, Clone)]
pub struct RunTargets {
    /// What workers open.
    pub members: Vec<Member>,
    /// What is recorded about each.
    pub facts: Vec<TargetFacts>,
    /// How I/O is issued to files and devices.
    pub io: IoEngine,
    /// Memory that I/O buffers may take, bytes.
    pub memory_bytes: u64,
}

/// A plan has a test of which no step can run on the targets.
#[derive(Debug, thiserror::Error)]
#[error("test \"{test}\": {why}")]
pub struct Misfit {
    /// The test.
    pub test: String,
    /// Why not, and what would do.
    pub why: String,
}

/// Refuses a plan with a test of which no step can run; single steps of a sweep are left out later.
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

/// The members a job drives, all of one kind.
pub(crate) struct JobTarget {
    pub(crate) members: Vec<Member>,
    pub(crate) names: Vec<String>,
    pub(crate) spans: Vec<u64>,
    pub(crate) block_bytes: u32,
    pub(crate) engine: IoEngine,
    /// By which its workers are placed on CPUs.
    pub(crate) interrupts: Interrupts,
    /// One for each member in a plan that verifies.
    pub(crate) stamps: Vec<Arc<StampTable>>,
}

impl RunTargets {
    /// Returns what the sampler looks at beside the run.
    pub(crate) fn watched(&self) -> Watched {
        Watched { devices: self.disk_names(), remotes: self.remotes(), interfaces: self.interfaces() }
    }

    /// The other sides of every connection that the targets make.
    fn remotes(&self) -> Vec<SocketAddr> {
        self.facts.iter().flat_map(|facts| paths::remotes(facts.member.paths())).collect()
    }

    /// The network interfaces that lead to the targets, and those under them.
    fn interfaces(&self) -> Vec<String> {
        let paths = self.facts.iter().flat_map(|facts| facts.member.paths());
        let interfaces = paths.filter_map(|path| path.net.as_ref()?.interface.as_ref());
        sorted(interfaces.flat_map(|of| of.names().into_iter().map(str::to_owned)))
    }

    /// Kernel names of every block device under the targets, as in /proc/diskstats.
    fn disk_names(&self) -> Vec<String> {
        let devices = self.facts.iter().filter_map(|facts| facts.member.device.as_ref());
        sorted(devices.flat_map(|device| device.stack.iter().cloned()))
    }

    /// The stamps of a plan that verifies, a table for each target; none else.
    pub(crate) fn stamps(&self, plan: &Plan) -> Vec<Arc<StampTable>> {
        if !plan.verifies() {
            return Vec::new();
        }
        let run = run_number(plan);
        self.members.iter().map(|member| Arc::new(StampTable::new(run, member.span_bytes()))).collect()
    }

    /// The targets a job uses: indices on the command line.
    fn indices(&self, job: &Job) -> Vec<usize> {
        match job.targets.as_slice() {
            [] => (0..self.members.len()).collect(),
            named => named.iter().map(|index| *index as usize).collect(),
        }
    }

    /// Returns what fitting must know of the targets of each of a step's jobs.
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
        }
    }

    /// Returns where I/O on the first of these targets completes; the others are nearly always of its kind.
    fn interrupts_of(&self, indices: &[usize]) -> Interrupts {
        let Some(first) = indices.first() else { return Interrupts::Unknown };
        match (&self.members[*first], self.io, &self.facts[*first].member.device) {
            (Member::Null { .. }, ..) | (Member::File(_), IoEngine::Inline, _) => Interrupts::None,
            (Member::File(_), _, Some(device)) => Interrupts::of(&device.stack),
            _ => Interrupts::Unknown,
        }
    }

    /// Returns what the workers of a job drive.
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

/// How much of a member a job uses, whole blocks, bytes.
fn job_span(job: &Job, member: &Member) -> u64 {
    let block = u64::from(member.block_bytes()).max(1);
    let span = job.span.map_or(u64::MAX, |span| span.0.next_multiple_of(block));
    span.min(member.span_bytes())
}

/// A member as a job uses it: the part of it, and how durable its writes are.
fn of_job(member: &Member, job: &Job) -> Member {
    let member = match job.span {
        Some(_) => member.clone().narrowed(job_span(job, member)),
        None => member.clone(),
    };
    if job.sync { member.synced() } else { member }
}

fn sorted(names: impl Iterator<Item = String>) -> Vec<String> {
    names.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
}

/// Tells this run's stamps from those of any other.
fn run_number(plan: &Plan) -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    derive(plan.seed, &[now.as_secs(), u64::from(now.subsec_nanos()), u64::from(std::process::id())])
}
