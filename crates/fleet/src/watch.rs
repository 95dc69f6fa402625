//! Whether the hosts of a run are still there: asked each second, beside the run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use assay_record::ClockDrift;
use futures_util::future::join_all;

use crate::bus::Bus;
use crate::clock::Offset;
use crate::drift::Track;
use crate::probe::{ASK_LIMIT, offsets};
use crate::wire::{Answer, Ask};

/// How often every host is asked, if there are few, and how much later for each: 1,000 hosts every 5 s, a third of a
/// lease.
const ASK_EVERY: Duration = Duration::from_secs(1);
const ASK_LATER: Duration = Duration::from_millis(4);
/// A stop that was not answered within this is reported as not arrived.
pub(crate) const STOP_LIMIT: Duration = Duration::from_secs(1);

/// How often the clocks are measured while a run goes on, if there are few hosts, and how much later for each.
const CLOCKS_EVERY: Duration = Duration::from_secs(5);
const CLOCKS_LATER: Duration = Duration::from_millis(40);
/// Requests by which each of them is measured then.
const CLOCK_PROBES: u32 = 4;

fn ask_every(hosts: usize) -> Duration {
    ASK_EVERY + ASK_LATER * u32::try_from(hosts).unwrap_or(u32::MAX)
}

/// What is known of the hosts.
#[derive(Debug, Clone)]
pub(crate) struct Watch(Arc<Mutex<Known>>);

#[derive(Debug)]
struct Known {
    /// When each was heard last.
    heard: BTreeMap<String, Instant>,
    /// Those that say that they know nothing of the run.
    strangers: BTreeSet<String>,
    /// Whether they are to stop, and which of them have heard it.
    is_stopping: bool,
    stopped: BTreeSet<String>,
    clocks: BTreeMap<String, Track>,
    /// Whether their drift is better known than it was said.
    has_news: bool,
}

impl Watch {
    /// Begins to ask these hosts about a run, until nobody wants to know any more.
    pub(crate) fn begin(bus: Bus, run: String, hosts: Vec<String>) -> Self {
        let now = Instant::now();
        let watch = Self(Arc::new(Mutex::new(Known {
            heard: hosts.iter().map(|host| (host.clone(), now)).collect(),
            strangers: BTreeSet::new(),
            is_stopping: false,
            stopped: BTreeSet::new(),
            clocks: BTreeMap::new(),
            has_news: false,
        })));
        tokio::spawn(measure(Arc::downgrade(&watch.0), bus.clone(), hosts.len()));
        tokio::spawn(watch.clone().watch(bus, run, hosts));
        watch
    }

    async fn watch(self, bus: Bus, run: String, hosts: Vec<String>) {
        let every = ask_every(hosts.len());
        let mut tick = tokio::time::interval(every);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        // The other one is the conductor's.
        while Arc::strong_count(&self.0) > 1 {
            tick.tick().await;
            // An answer of a busy host counts until it is asked again.
            join_all(hosts.iter().map(|host| self.look(&bus, &run, host, every))).await;
            if !bus.is_connected() {
                // As long as this side is cut off, it knows nothing of the hosts.
                self.lock().heard.values_mut().for_each(|heard| *heard = Instant::now());
            }
        }
    }

    pub(crate) fn add_clocks(&self, offsets: &BTreeMap<String, (i64, Offset)>) {
        let mut known = self.lock();
        for (host, (at_unix_ns, offset)) in offsets {
            known.clocks.entry(host.clone()).or_default().add(*at_unix_ns, *offset);
        }
        known.has_news = true;
    }

    /// Returns how fast the clocks run away, if that is better known than at the last call.
    pub(crate) fn new_drifts(&self) -> Option<BTreeMap<String, ClockDrift>> {
        let mut known = self.lock();
        if !std::mem::take(&mut known.has_news) {
            return None;
        }
        let drifts = known.clocks.iter().filter_map(|(host, track)| Some((host.clone(), track.drift()?)));
        Some(drifts.collect()).filter(|drifts: &BTreeMap<_, _>| !drifts.is_empty())
    }

    async fn look(&self, bus: &Bus, run: &str, host: &str, limit: Duration) {
        let stops = self.lock().is_stopping && !self.lock().stopped.contains(host);
        let ask = if stops { Ask::Stop(run.to_owned()) } else { Ask::Knows(run.to_owned()) };
        let answer = bus.ask(host, &ask, limit).await;
        let mut known = self.lock();
        match answer {
            Some(Answer::Accepted) => {
                if stops {
                    known.stopped.insert(host.to_owned());
                }
                known.heard.insert(host.to_owned(), Instant::now());
            }
            Some(Answer::UnknownRun) => {
                known.strangers.insert(host.to_owned());
            }
            _ => {}
        }
    }

    /// Stops the run on every host, also on those that are heard of again later. Returns those that were not reached.
    pub(crate) async fn stop(&self, bus: &Bus, run: &str) -> Vec<String> {
        let hosts: Vec<String> = {
            let mut known = self.lock();
            known.is_stopping = true;
            known.heard.keys().cloned().collect()
        };
        join_all(hosts.iter().map(|host| self.look(bus, run, host, STOP_LIMIT))).await;
        let known = self.lock();
        hosts.into_iter().filter(|host| !known.stopped.contains(host)).collect()
    }

    pub(crate) fn heard(&self, host: &str) {
        if let Some(heard) = self.lock().heard.get_mut(host) {
            *heard = Instant::now();
        }
    }

    /// Returns why a host has to be given up, if nothing was heard of it for longer than `limit`.
    pub(crate) fn gone(&self, host: &str, limit: Duration) -> Option<String> {
        let known = self.lock();
        if known.strangers.contains(host) {
            return Some("its agent was restarted and no longer knows the run".to_owned());
        }
        let silent = known.heard.get(host)?.elapsed();
        (silent > limit).then(|| {
            format!(
                "it has not answered for {} s: its agent, its host or its network has stopped, or it or this host \
                 has no CPU to answer or to hear it",
                silent.as_secs()
            )
        })
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// Returns the hosts whose clocks are worth a measurement: a silent one would be waited for, and a run that stops
    /// needs no clock any more.
    fn measurable(&self) -> Vec<String> {
        if self.is_stopping {
            return Vec::new();
        }
        let limit = ask_every(self.heard.len()) + ASK_LIMIT;
        let heard = self.heard.iter().filter(|(_, heard)| heard.elapsed() <= limit);
        heard.map(|(host, _)| host.clone()).collect()
    }
}

/// Measures the clocks as long as anybody wants to know, beside the questions whether the hosts are there: hosts that
/// fall silent meanwhile must not delay those.
async fn measure(known: Weak<Mutex<Known>>, bus: Bus, hosts: usize) {
    let every = CLOCKS_EVERY + CLOCKS_LATER * u32::try_from(hosts).unwrap_or(u32::MAX);
    loop {
        tokio::time::sleep(every).await;
        let Some(watch) = known.upgrade().map(Watch) else { return };
        let hosts = watch.lock().measurable();
        // The watch ends when nobody holds it, so it is not held while hosts are asked.
        drop(watch);
        let offsets = offsets(&bus, hosts, CLOCK_PROBES).await;
        let Some(watch) = known.upgrade().map(Watch).filter(|_| !offsets.is_empty()) else { continue };
        watch.add_clocks(&offsets);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silent_hosts_are_not_asked_for_their_clocks_and_nobody_is_while_a_run_stops() {
        let now = Instant::now();
        let silent = now.checked_sub(Duration::from_secs(60)).unwrap();
        let mut known = Known {
            heard: [("a", now), ("b", silent)].map(|(host, heard)| (host.to_owned(), heard)).into(),
            strangers: BTreeSet::new(),
            is_stopping: false,
            stopped: BTreeSet::new(),
            clocks: BTreeMap::new(),
            has_news: false,
        };
        assert_eq!(known.measurable(), ["a"]);
        known.is_stopping = true;
        assert!(known.measurable().is_empty());
    }
}
