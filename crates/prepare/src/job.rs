//! From the targets of a run to those of one job.

use std::sync::Arc;

use assay_spec::{Job, Step};
use assay_target::lun::LunMember;
use assay_target::nfs::NfsMember;
use assay_target::{FileMember, IoEngine, SimulatedMember};

use super::{Prepared, PreparedTarget, PreparedTargets};
use crate::fit::JobTargets;
use crate::stamp::StampTable;

/// The members a job drives, all of one kind.
pub(crate) struct JobTarget {
    pub(crate) members: Vec<FileMember>,
    pub(crate) null_members: Vec<u64>,
    pub(crate) simulated: Vec<SimulatedMember>,
    pub(crate) luns: Vec<LunMember>,
    pub(crate) nfs: Vec<NfsMember>,
    pub(crate) names: Vec<String>,
    pub(crate) spans: Vec<u64>,
    pub(crate) block_bytes: u32,
    pub(crate) engine: IoEngine,
    /// One for each member in a plan that verifies.
    pub(crate) stamps: Vec<Arc<StampTable>>,
}

impl PreparedTargets {
    /// The targets a job uses: indices on the command line.
    fn indices(&self, job: &Job) -> Vec<usize> {
        match job.targets.as_slice() {
            [] => (0..self.targets.len()).collect(),
            named => named.iter().map(|index| *index as usize).collect(),
        }
    }

    /// What fitting must know of the targets of each of a step's jobs.
    pub(crate) fn job_targets(&self, step: &Step) -> Vec<JobTargets> {
        step.jobs.iter().map(|job| self.targets_of(job)).collect()
    }

    fn targets_of(&self, job: &Job) -> JobTargets {
        let targets: Vec<&PreparedTarget> = self.indices(job).into_iter().map(|i| &self.targets[i]).collect();
        let names: Vec<&str> = targets.iter().map(|t| t.facts.address.as_str()).collect();
        JobTargets {
            spans: targets.iter().map(|t| t.span()).collect(),
            block_bytes: targets.iter().map(|t| t.facts.member.block_bytes).max().unwrap_or(512),
            transfer_bytes_max: targets
                .iter()
                .filter_map(|t| t.transfer_bytes_max())
                .min()
                .unwrap_or(u64::MAX),
            name: names.join(", "),
            depth_max: targets.iter().map(|t| t.depth_max(self.engine)).min().unwrap_or(u32::MAX),
            memory_bytes: self.memory_bytes,
        }
    }

    /// What the workers of a job drive.
    pub(crate) fn of_job(&self, job: &Job) -> JobTarget {
        let place = self.targets_of(job);
        let indices = self.indices(job);
        let mut target = JobTarget {
            members: Vec::new(),
            null_members: Vec::new(),
            simulated: Vec::new(),
            luns: Vec::new(),
            nfs: Vec::new(),
            names: indices.iter().map(|i| self.targets[*i].facts.address.clone()).collect(),
            spans: place.spans,
            block_bytes: place.block_bytes,
            engine: self.engine,
            stamps: indices.iter().filter_map(|i| self.stamps.get(*i).cloned()).collect(),
        };
        for index in indices {
            match &self.targets[index].kind {
                Prepared::Null { capacity } => target.null_members.push(*capacity),
                Prepared::Simulated(member) => target.simulated.push(member.clone()),
                Prepared::Path { member, .. } => target.members.push(member.clone()),
                Prepared::Lun(member) => target.luns.push((**member).clone()),
                Prepared::Nfs { member, .. } => target.nfs.push((**member).clone()),
            }
        }
        target
    }
}
