//! Whether the hosts of a run are still there: asked each second, beside the run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use assay_record::ClockDrift;
use futures_util::future::join_all;

use crate::listed::Offset;
use crate::nats::bus::Bus;
use crate::nats::clock::CoordinatorClock;
use crate::nats::drift::Track;
use crate::nats::probe::{ASK_LIMIT, Probes, offsets, probes};
use crate::nats::wire::{Answer, Ask};
use crate::order::LEASE;

/// How often every host is asked, if there are few, and how much later for each: 1,000 hosts every 5 s, a third of a
/// lease. Who was heard of within the last moments is not asked: while a step runs, every host says something each
/// second, and to ask 1,000 besides would cost a fifth of what the coordinator does.
const ASK_EVERY: Duration = Duration::from_secs(1);
const ASK_LATER: Duration = Duration::from_millis(4);
const HEARD_LATELY: Duration = Duration::from_secs(2);
/// While a run stops, all are asked, and at least so often: who is silent for 5 s is given up then.
const ASK_STOPPING: Duration = Duration::from_secs(2);
/// How often it is looked whether this process runs at all, and how much later than that it may be. While it does not,
/// no host can be heard: that is no silence of theirs.
const PULSE_EVERY: Duration = Duration::from_millis(250);
const PULSE_LATE: Duration = Duration::from_millis(500);
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
    /// When it was seen last that this process runs, and how long it did not, in all.
    pulse: Instant,
    paused: Duration,
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
    pub(crate) fn begin((bus, clock): (Bus, CoordinatorClock), run: String, hosts: &[String]) -> Self {
        let now = Instant::now();
        let watch = Self(Arc::new(Mutex::new(Known {
            heard: hosts.iter().map(|host| (host.clone(), now)).collect(),
            pulse: now,
            paused: Duration::ZERO,
            strangers: BTreeSet::new(),
            is_stopping: false,
            stopped: BTreeSet::new(),
            clocks: BTreeMap::new(),
            has_news: false,
        })));
        tokio::spawn(measure(Arc::downgrade(&watch.0), (bus.clone(), clock), hosts.len()));
        tokio::spawn(pulse(Arc::downgrade(&watch.0), bus.clone()));
        tokio::spawn(ask(Arc::downgrade(&watch.0), bus, run, ask_every(hosts.len())));
        watch
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

    /// Returns what a host is asked.
    fn question(&self, run: &str, host: &str) -> Ask {
        let known = self.lock();
        let stops = known.is_stopping && !known.stopped.contains(host);
        if stops { Ask::Stop(run.to_owned()) } else { Ask::Knows(run.to_owned()) }
    }

    /// Notes what a host has answered to that.
    fn answered(&self, host: &str, ask: &Ask, answer: Option<&Answer>) {
        let mut known = self.lock();
        match answer {
            Some(Answer::Accepted) => {
                if matches!(ask, Ask::Stop(_)) {
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
        join_all(hosts.iter().map(|host| async {
            let ask = Ask::Stop(run.to_owned());
            let answer = bus.ask(host, &ask, STOP_LIMIT).await;
            self.answered(host, &ask, answer.as_ref());
        }))
        .await;
        let known = self.lock();
        hosts.into_iter().filter(|host| !known.stopped.contains(host)).collect()
    }

    pub(crate) fn heard(&self, host: &str) {
        if let Some(heard) = self.lock().heard.get_mut(host) {
            *heard = Instant::now();
        }
    }

    /// Returns how long this process did not run since the watch began.
    pub(crate) fn paused(&self) -> Duration {
        self.lock().paused
    }

    /// Whether this process has run just now, so that silence is that of a host.
    pub(crate) fn is_awake(&self) -> bool {
        self.lock().pulse.elapsed() <= PULSE_EVERY + PULSE_LATE
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
    /// Notes that this process runs at a moment. What it could not hear before does not count as silence.
    fn beat(&mut self, now: Instant, is_connected: bool) {
        let late = now.saturating_duration_since(self.pulse).saturating_sub(PULSE_EVERY);
        self.pulse = now;
        if late > PULSE_LATE {
            self.paused += late;
            self.heard.values_mut().for_each(|heard| *heard = (*heard + late).min(now));
        }
        if !is_connected {
            // As long as this side is cut off, it knows nothing of the hosts.
            self.heard.values_mut().for_each(|heard| *heard = now);
        }
    }

    /// Returns the hosts of which nothing was heard lately, or all while they stop.
    fn to_ask(&self, now: Instant) -> Vec<String> {
        let is_silent = |heard: &Instant| now.saturating_duration_since(*heard) >= HEARD_LATELY;
        let asked = self.heard.iter().filter(|(_, heard)| self.is_stopping || is_silent(heard));
        asked.map(|(host, _)| host.clone()).collect()
    }

    /// Returns those who are to be asked now, if it is time for a turn, and moves the time of the next one on.
    fn turn(&self, now: Instant, due: &mut Instant, every: Duration) -> Vec<String> {
        if now < *due && !self.is_stopping {
            return Vec::new();
        }
        *due = now + every;
        self.to_ask(now)
    }

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

/// Notes again and again that this process runs, as long as anybody wants to know.
async fn pulse(known: Weak<Mutex<Known>>, bus: Bus) {
    while let Some(watch) = known.upgrade().map(Watch) {
        watch.lock().beat(Instant::now(), bus.is_connected());
        drop(watch);
        tokio::time::sleep(PULSE_EVERY).await;
    }
}

/// Asks the hosts as long as anybody wants to know. Nobody is waited for: an answer counts however late it comes.
async fn ask(known: Weak<Mutex<Known>>, bus: Bus, run: String, every: Duration) {
    let mut due = Instant::now();
    loop {
        let Some(watch) = known.upgrade().map(Watch) else { return };
        let hosts = watch.lock().turn(Instant::now(), &mut due, every);
        drop(watch);
        for host in hosts {
            let (known, bus, run) = (known.clone(), bus.clone(), run.clone());
            tokio::spawn(async move {
                let Some(ask) = known.upgrade().map(|known| Watch(known).question(&run, &host)) else {
                    return;
                };
                let answer = bus.ask(&host, &ask, LEASE).await;
                let Some(watch) = known.upgrade().map(Watch) else { return };
                watch.answered(&host, &ask, answer.as_ref());
            });
        }
        // A stop that comes meanwhile is not waited for until the next turn of many hosts.
        tokio::time::sleep(due.saturating_duration_since(Instant::now()).min(ASK_STOPPING)).await;
    }
}

/// Measures the clocks as long as anybody wants to know, beside the questions whether the hosts are there: hosts that
/// fall silent meanwhile must not delay those.
async fn measure(known: Weak<Mutex<Known>>, (bus, clock): (Bus, CoordinatorClock), hosts: usize) {
    let every = CLOCKS_EVERY + CLOCKS_LATER * u32::try_from(hosts).unwrap_or(u32::MAX);
    loop {
        tokio::time::sleep(every).await;
        let Some(watch) = known.upgrade().map(Watch) else { return };
        let hosts = watch.lock().measurable();
        // The watch ends when nobody holds it, so it is not held while hosts are asked.
        drop(watch);
        let each = Probes { least: CLOCK_PROBES, most: CLOCK_PROBES, ..probes(hosts.len()) };
        let offsets = offsets(&bus, clock, hosts, each).await.offsets;
        let Some(watch) = known.upgrade().map(Watch).filter(|_| !offsets.is_empty()) else { continue };
        watch.add_clocks(&offsets);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(now: Instant, heard: &[(&str, Instant)]) -> Known {
        Known {
            heard: heard.iter().map(|(host, heard)| ((*host).to_owned(), *heard)).collect(),
            pulse: now,
            paused: Duration::ZERO,
            strangers: BTreeSet::new(),
            is_stopping: false,
            stopped: BTreeSet::new(),
            clocks: BTreeMap::new(),
            has_news: false,
        }
    }

    /// A coordinator that was stopped for 20 s, or had no CPU, lost every host of its run.
    #[test]
    fn while_this_process_does_not_run_no_host_falls_silent() {
        let began = Instant::now();
        let at = |ms: u64| began + Duration::from_millis(ms);
        let mut known = known(began, &[("a", at(0)), ("b", at(0))]);
        for ms in (250..=1000).step_by(250) {
            known.beat(at(ms), true);
        }
        known.heard.insert("b".to_owned(), at(1000));
        let silent = |known: &Known, host: &str, ms: u64| at(ms).saturating_duration_since(known.heard[host]);
        assert_eq!(silent(&known, "a", 1000), Duration::from_secs(1));
        // It is stopped for 20 s: who was silent for a second before that is silent for no more.
        known.beat(at(21_250), true);
        assert_eq!(silent(&known, "a", 21_250), Duration::from_millis(1250));
        assert_eq!(silent(&known, "b", 21_250), Duration::from_millis(250));
        assert_eq!(known.paused, Duration::from_secs(20));
        // A little late is no pause, and what follows counts again.
        known.beat(at(21_900), true);
        assert_eq!(known.paused, Duration::from_secs(20));
        assert_eq!(silent(&known, "a", 40_000), Duration::from_secs(20));
        known.beat(at(22_150), false);
        assert_eq!(silent(&known, "a", 22_150), Duration::ZERO, "this side is cut off");
    }

    #[test]
    fn who_says_something_is_not_asked_until_the_run_stops() {
        let began = Instant::now();
        let now = began + Duration::from_secs(10);
        let mut known = known(began, &[("a", began), ("b", now)]);
        assert_eq!(known.to_ask(now), ["a"]);
        known.is_stopping = true;
        assert_eq!(known.to_ask(now), ["a", "b"]);
        known.stopped.insert("b".to_owned());
        assert_eq!(known.to_ask(now), ["a", "b"], "who has heard it is given up as soon as any other");
    }

    /// Turns of 1,000 hosts are 5 s apart: hosts that had answered a stop at once were given up before the next one.
    #[test]
    fn a_stop_does_not_wait_for_the_turn_of_many_hosts() {
        let began = Instant::now();
        let (mut known, mut due) = (known(began, &[("a", began)]), began);
        let every = ask_every(1000);
        let mut turn = |known: &Known, secs| known.turn(began + Duration::from_secs(secs), &mut due, every);
        assert!(turn(&known, 0).is_empty());
        assert!(turn(&known, 4).is_empty());
        assert_eq!(turn(&known, 5), ["a"]);
        known.is_stopping = true;
        known.stopped.insert("a".to_owned());
        assert_eq!(turn(&known, 7), ["a"]);
        assert_eq!(turn(&known, 9), ["a"]);
    }

    #[test]
    fn silent_hosts_are_not_asked_for_their_clocks_and_nobody_is_while_a_run_stops() {
        let now = Instant::now();
        let silent = now.checked_sub(Duration::from_secs(60)).unwrap();
        let mut known = known(now, &[("a", now), ("b", silent)]);
        assert_eq!(known.measurable(), ["a"]);
        known.is_stopping = true;
        assert!(known.measurable().is_empty());
    }
}
