//! The way of the hosts to their first step, and how long anything is waited for.

use std::time::{Duration, Instant};

use assay_runner::{Follower, Stage};
use futures_util::future::join_all;

use super::{Conductor, TELL_AGAIN, call_off, refusal};
use crate::error::FleetError;
use crate::nats::merge::Standing;
use crate::nats::waiting::{Patience, Wait, Waiting};
use crate::nats::watch::STOP_LIMIT;
use crate::nats::wire::{Answer, Ask, Noted};

/// Every host may take so much longer to hear that it may open its targets, as all are asked at once.
const OF_EACH: Duration = Duration::from_millis(1);

impl Conductor {
    /// Has every host open its targets, once all have passed inspection.
    pub(super) fn open(&mut self, follower: &mut dyn Follower) -> Result<(), FleetError> {
        if self.merge.standings().any(|(_, standing)| *standing == Standing::Inspecting)
            && !self.stop.is_set()
        {
            return Ok(());
        }
        // One that is attached to may even be over by now.
        let has_begun = self.merge.header().is_some()
            || self.merge.standings().any(|(_, standing)| *standing == Standing::Running);
        let refusals: Vec<String> = self.merge.standings().filter_map(unready).collect();
        let may_open = has_begun || (refusals.is_empty() && !self.stop.is_set() && follower.may_open());
        if !may_open {
            self.runtime.block_on(call_off(&self.bus, self.merge.placed()));
            return Err(match refusals.is_empty() {
                true => FleetError::Interrupted,
                false => FleetError::Refused(refusals.join("; ")),
            });
        }
        follower.stage(Stage::Opening);
        self.is_open = true;
        self.tell_all_to_open();
        follower.stage(Stage::Measuring);
        Ok(())
    }

    /// Tells those again who have not heard it: a request that was lost would be waited for by both sides.
    pub(super) fn tell_to_open(&mut self) {
        if self.asked.elapsed() > TELL_AGAIN {
            self.tell_all_to_open();
        }
    }

    fn tell_all_to_open(&mut self) {
        self.asked = Instant::now();
        let waits = self.merge.standings().filter(|(host, standing)| {
            matches!(standing, Standing::Inspecting | Standing::Inspected) && !self.opening.contains(*host)
        });
        let hosts: Vec<String> = waits.map(|(host, _)| host.to_owned()).collect();
        let limit = STOP_LIMIT + OF_EACH * u32::try_from(hosts.len()).unwrap_or(u32::MAX);
        let (bus, run) = (&self.bus, self.run());
        let heard = self.runtime.block_on(join_all(hosts.iter().map(|host| {
            let ask = Ask::Open(run.clone());
            async move { bus.ask(host, &ask, limit).await }
        })));
        let heard =
            hosts.into_iter().zip(heard).filter(|(_, answer)| matches!(answer, Some(Answer::Accepted)));
        self.opening.extend(heard.map(|(host, _)| host));
    }

    /// Says who is waited for, and gives up who takes too long although its agent answers.
    pub(super) fn look_at_waits(&mut self, follower: &mut dyn Follower) {
        let now = Instant::now();
        if self.unkept.is_some() || !self.bus.is_connected() {
            // As long as nobody can be heard, nobody is late.
            self.patience = Patience::new(now);
            return;
        }
        if self.reading.is_behind() {
            return;
        }
        let (wait, hosts, of, due_unix_ns) = match self.is_open {
            true => self.merge.waits(),
            false => (Wait::Inspect, self.merge.inspecting(), self.merge.placed().hosts.len(), None),
        };
        let due = due_unix_ns.and_then(|due| {
            let left_ns = due.saturating_sub(self.clock.unix_ns());
            let left = Duration::from_nanos(left_ns.unsigned_abs());
            if left_ns < 0 { now.checked_sub(left) } else { now.checked_add(left) }
        });
        let waited = self.patience.look(&Waiting { wait, due, hosts, of }, now);
        if let Some(says) = waited.says {
            follower.waits(&says);
        }
        for (host, why) in waited.given_up {
            let (bus, ask, asked) = (self.bus.clone(), Ask::Stop(self.run()), host.clone());
            self.runtime.spawn(async move { bus.ask(&asked, &ask, STOP_LIMIT).await });
            self.note(&Noted::Lost { host, why, at_unix_ns: self.clock.unix_ns() });
        }
    }
}

/// Why a run must not begin with a host: it has refused, or cannot be heard.
fn unready((host, standing): (&str, &Standing)) -> Option<String> {
    match standing {
        Standing::Lost(why) => Some(format!("{host}: {why}")),
        _ => refusal((host, standing)),
    }
}
