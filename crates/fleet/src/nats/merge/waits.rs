//! What the hosts of a run are waited for.

use assay_record::StepId;

use super::{HostState, Merge, Part, Standing};
use crate::nats::waiting::Wait;

impl Merge {
    /// Returns the hosts that examine their targets.
    pub(crate) fn inspecting(&self) -> Vec<&str> {
        self.standings()
            .filter(|(_, standing)| **standing == Standing::Inspecting)
            .map(|(host, _)| host)
            .collect()
    }

    /// Returns what is waited for, once the hosts may open their targets: who has not done it, how many were to do it,
    /// and when it is due by the coordinator's clock, ns since 1970, where that is known.
    pub(crate) fn waits(&self) -> (Wait, Vec<&str>, usize, Option<i64>) {
        let of = |is_waited_for: &dyn Fn(&HostState) -> bool| {
            let hosts = self.hosts.iter().filter(|host| !host.standing.is_final() && is_waited_for(host));
            hosts.map(|host| host.name.as_str()).collect()
        };
        if self.header.is_none() {
            return (Wait::Open, of(&|host| host.header.is_none()), self.hosts.len(), None);
        }
        let Some((id, step)) = self.steps.iter().find(|(_, step)| !step.is_ended) else {
            return (Wait::Close, of(&|_| true), self.hosts.len(), None);
        };
        let takes_part = |is_waited_for: &dyn Fn(&HostState, &Part) -> bool| {
            let parts = step.parts.iter().map(|(host, part)| (&self.hosts[*host], part));
            let late = parts.filter(|(host, part)| {
                !host.standing.is_final() && part.skipped.is_none() && is_waited_for(host, part)
            });
            late.map(|(host, _)| host.name.as_str()).collect::<Vec<_>>()
        };
        let Some(at_unix_ns) = step.at_unix_ns else {
            let unready = takes_part(&|host, _| host.ready != Some(*id));
            return (Wait::Ready(*id), unready, step.parts.len(), None);
        };
        let silent = takes_part(&|_, part| !part.has_begun && part.end.is_none());
        if !silent.is_empty() {
            return (Wait::Begin(*id), silent, step.parts.len(), Some(at_unix_ns));
        }
        let unended = takes_part(&|_, part| part.end.is_none());
        let due_unix_ns = self.time_of(*id).map(|lasts_ns| at_unix_ns.saturating_add(lasts_ns));
        (Wait::End(*id), unended, step.parts.len(), due_unix_ns)
    }

    /// How long a step takes, ns; `None` where its plan does not say it.
    fn time_of(&self, id: StepId) -> Option<i64> {
        let test = self.placement.plan.tests.get(id.test as usize)?;
        let step = test.steps.get(id.step as usize).filter(|step| !step.stop.is_by_count())?;
        i64::try_from(step.warmup.0.saturating_add(step.stop.time.0)).ok()
    }
}
