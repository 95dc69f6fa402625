//! What one of several targets did in a step: the numbers of its row in the table and in JSON.

use assay_analysis::StepSummary;
use assay_record::MemberEnd;

/// A target's part of its job.
pub(crate) struct MemberUse {
    /// Share of the job's successful I/Os, in [0, 1]; `None` if there were none.
    pub(crate) ops_share: Option<f64>,
    /// I/Os per second: its share of the job's.
    pub(crate) iops: f64,
    /// 2^20 bytes per second: its share of the job's.
    pub(crate) mib_per_s: f64,
}

impl MemberUse {
    pub(crate) fn of(member: &MemberEnd, step: &StepSummary) -> Self {
        let share = |count: fn(&MemberEnd) -> u64| {
            let all: u64 = step.members.iter().filter(|other| other.job == member.job).map(count).sum();
            (all > 0).then(|| count(member) as f64 / all as f64)
        };
        let (ops_share, bytes_share) = (share(|m| m.ops), share(|m| m.bytes));
        let total = step.jobs.get(member.job as usize).map_or(&step.total, |job| &job.total);
        Self {
            ops_share,
            iops: total.iops * ops_share.unwrap_or(0.0),
            mib_per_s: total.mib_per_s * bytes_share.unwrap_or(0.0),
        }
    }
}
