//! How a worker's I/Os are shared by its targets.

use assay_record::MemberEnd;

use crate::flights::Flight;

/// Counts by target, for a worker with several; a worker with one counts nothing here, and pays one comparison.
pub(crate) struct Shares {
    members: Vec<MemberEnd>,
}

impl Shares {
    /// Returns the empty counts of the targets of job `job`.
    pub(crate) fn new(job: u32, names: &[String]) -> Self {
        let members = match names {
            [] | [_] => Vec::new(),
            several => several.iter().map(|name| MemberEnd::new(job, name)).collect(),
        };
        Self { members }
    }

    /// Counts an I/O that was started at `began_ns` and has completed.
    #[inline(always)]
    pub(crate) fn completed(&mut self, flight: &Flight, began_ns: u64, now_ns: u64) {
        if let Some(member) = self.members.get_mut(flight.member as usize) {
            member.ops += 1;
            member.bytes += u64::from(flight.size_bytes);
            member.service_ns += now_ns.saturating_sub(began_ns);
        }
    }

    /// Counts an I/O that has failed.
    pub(crate) fn failed(&mut self, flight: &Flight) {
        if let Some(member) = self.members.get_mut(flight.member as usize) {
            member.errors += 1;
        }
    }

    pub(crate) fn finish(self) -> Vec<MemberEnd> {
        self.members
    }
}

/// Returns the sums over the workers of each job. The workers of a job have the same targets in the same order.
pub(crate) fn sum<'e>(workers: impl Iterator<Item = &'e [MemberEnd]>) -> Vec<MemberEnd> {
    let mut sums: Vec<MemberEnd> = Vec::new();
    for shares in workers {
        match sums.iter().position(|sum| shares.first().is_some_and(|share| share.job == sum.job)) {
            Some(first) => sums[first..].iter_mut().zip(shares).for_each(|(sum, share)| sum.merge(share)),
            None => sums.extend_from_slice(shares),
        }
    }
    sums
}
