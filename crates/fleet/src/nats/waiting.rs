//! What a run over hosts waits for, and for how long: nothing is waited for without a word, and nothing for ever.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use assay_record::StepId;
use assay_runner::Follower;

/// What is waited for longer than this is said, with those who are waited for.
const SAY_AFTER: Duration = Duration::from_secs(5);
/// And again after so long.
const SAY_AGAIN: Duration = Duration::from_secs(10);
/// So many names stand in a line.
const NAMES_MAX: usize = 3;

/// What hosts are waited for to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// To take the run.
    Accept,
    /// To inspect their targets.
    Inspect,
    /// To open and fill them.
    Open,
    /// To be ready for a step.
    Ready(StepId),
    /// To begin it.
    Begin(StepId),
    /// To end it.
    End(StepId),
    /// To close their targets.
    Close,
}

impl Wait {
    /// How long a host may take, and say nothing of the run meanwhile, although its agent answers. Longer than what a
    /// run on one host waits for itself: the log-ins of an inspection, the first write of a fill, a flush at the end.
    pub(crate) fn limit(self) -> Duration {
        Duration::from_secs(match self {
            Self::Begin(_) => 30,
            Self::End(_) => 60,
            Self::Accept | Self::Inspect | Self::Open | Self::Ready(_) => 300,
            Self::Close => 600,
        })
    }

    fn what(self) -> &'static str {
        match self {
            Self::Accept => "take the run",
            Self::Inspect => "inspect their targets",
            Self::Open => "open and fill their targets",
            Self::Ready(_) => "be ready for the next step",
            Self::Begin(_) => "begin the step",
            Self::End(_) => "end the step",
            Self::Close => "close their targets",
        }
    }

    fn undone(self) -> &'static str {
        match self {
            Self::Accept => "taken the run",
            Self::Inspect => "ended the inspection of its targets",
            Self::Open => "opened or filled its targets",
            Self::Ready(_) => "been ready for the next step",
            Self::Begin(_) => "begun the step",
            Self::End(_) => "ended the step",
            Self::Close => "closed its targets",
        }
    }
}

/// Hosts that are waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Waiting<'a> {
    pub(crate) wait: Wait,
    /// Not before this their turn is over: the end of a window, a moment that was stated. `None`: nobody knows.
    pub(crate) due: Option<Instant>,
    pub(crate) hosts: Vec<&'a str>,
    /// Number of those that were waited for at the beginning.
    pub(crate) of: usize,
}

/// What follows from a wait.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Waited {
    /// A line for who looks on.
    pub(crate) says: Option<String>,
    /// Hosts that are waited for no longer, with the reason.
    pub(crate) given_up: Vec<(String, String)>,
}

/// How long the present wait has lasted.
#[derive(Debug)]
pub(crate) struct Patience {
    wait: Option<Wait>,
    since: Instant,
    said: Option<Instant>,
    /// When each host said something of the run last.
    heard: BTreeMap<String, Instant>,
}

impl Patience {
    pub(crate) fn new(now: Instant) -> Self {
        Self { wait: None, since: now, said: None, heard: BTreeMap::new() }
    }

    /// This process did not run for so long: nobody could be heard meanwhile, and nobody is later for it.
    pub(crate) fn paused(&mut self, paused: Duration, now: Instant) {
        let moments = self.heard.values_mut().chain(&mut self.said).chain([&mut self.since]);
        moments.for_each(|moment| *moment = (*moment + paused).min(now));
    }

    /// A host has said something of the run.
    pub(crate) fn heard(&mut self, host: &str, now: Instant) {
        match self.heard.get_mut(host) {
            Some(heard) => *heard = now,
            None => drop(self.heard.insert(host.to_owned(), now)),
        }
    }

    /// Looks at the present wait.
    pub(crate) fn look(&mut self, waiting: &Waiting<'_>, now: Instant) -> Waited {
        let wait = waiting.wait;
        if self.wait != Some(wait) {
            (self.wait, self.since, self.said) = (Some(wait), now, None);
        }
        let since = waiting.due.map_or(self.since, |due| self.since.max(due));
        if waiting.hosts.is_empty() || now < since + SAY_AFTER {
            return Waited::default();
        }
        let silent_for = |host: &str| {
            let since = self.heard.get(host).map_or(since, |heard| since.max(*heard));
            now.saturating_duration_since(since)
        };
        let is_over = |host: &&&str| silent_for(host) > wait.limit();
        let why = || {
            format!(
                "it has not {} within {} s, although its agent answers",
                wait.undone(),
                wait.limit().as_secs()
            )
        };
        let given_up = waiting.hosts.iter().filter(is_over).map(|host| ((*host).to_owned(), why())).collect();
        // A step that lasts as long as its I/Os take is not late while it says how they go on.
        let is_late = |host: &&str| {
            waiting.due.is_some() || !matches!(wait, Wait::End(_)) || silent_for(host) >= SAY_AFTER
        };
        let late: Vec<&str> = waiting.hosts.iter().copied().filter(is_late).collect();
        let is_due = !late.is_empty() && self.said.is_none_or(|said| now >= said + SAY_AGAIN);
        if is_due {
            self.said = Some(now);
        }
        Waited { says: is_due.then(|| says(wait, &late, waiting.of)), given_up }
    }
}

/// Waits for something, and says every few seconds what it is.
pub(crate) async fn saying<T>(
    work: impl Future<Output = T>,
    follower: &mut dyn Follower,
    says: impl Fn() -> String,
) -> T {
    let mut work = std::pin::pin!(work);
    let mut after = SAY_AFTER;
    loop {
        if let Ok(done) = tokio::time::timeout(after, &mut work).await {
            return done;
        }
        follower.waits(&says());
        after = SAY_AGAIN;
    }
}

/// Returns the line that says who is waited for.
pub(crate) fn says(wait: Wait, hosts: &[&str], of: usize) -> String {
    let named = named(hosts);
    format!("waiting for {} of {} hosts to {}: {named}", grouped(hosts.len()), grouped(of), wait.what())
}

/// Returns the first of many names, and how many more there are.
pub(crate) fn named(hosts: &[&str]) -> String {
    match hosts.len() {
        count if count > NAMES_MAX + 1 => {
            format!("{} and {} more", hosts[..NAMES_MAX].join(", "), grouped(count - NAMES_MAX))
        }
        _ => hosts.join(", "),
    }
}

fn grouped(number: usize) -> String {
    assay_spec::units::grouped(&number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: StepId = StepId { test: 0, step: 0 };
    const WAITS: [Wait; 7] = [
        Wait::Accept,
        Wait::Inspect,
        Wait::Open,
        Wait::Ready(STEP),
        Wait::Begin(STEP),
        Wait::End(STEP),
        Wait::Close,
    ];

    fn waiting<'a>(wait: Wait, due: Option<Instant>, hosts: &[&'a str]) -> Waiting<'a> {
        Waiting { wait, due, hosts: hosts.to_vec(), of: 1000 }
    }

    #[test]
    fn every_wait_is_said_after_a_few_seconds_and_ends() {
        let now = Instant::now();
        for wait in WAITS {
            let mut patience = Patience::new(now);
            let of = waiting(wait, None, &["a", "b", "c"]);
            let (mut lines, mut given_up_at) = (Vec::new(), None);
            for second in 0..=700 {
                let at = now + Duration::from_secs(second);
                let waited = patience.look(&of, at);
                lines.extend(waited.says.map(|line| (second, line)));
                if let [(host, why), ..] = waited.given_up.as_slice()
                    && given_up_at.is_none()
                {
                    assert!(host == "a" && why.contains("within"), "{why}");
                    assert_eq!(waited.given_up.len(), 3, "{wait:?}");
                    given_up_at = Some(second);
                }
            }
            assert_eq!(given_up_at, Some(wait.limit().as_secs() + 1), "{wait:?}");
            assert_eq!(lines[0].0, SAY_AFTER.as_secs(), "{wait:?}");
            assert!(
                lines[0].1.starts_with("waiting for 3 of 1,000 hosts to ")
                    && lines[0].1.ends_with(": a, b, c")
            );
            assert!(lines.windows(2).all(|two| two[1].0 - two[0].0 == SAY_AGAIN.as_secs()), "{wait:?}");
        }
    }

    /// A fill of hours, and a step that is bounded by its I/Os: who says something is not given up.
    #[test]
    fn who_says_something_has_all_the_time_and_nobody_is_late_before_it_is_due() {
        let now = Instant::now();
        let mut patience = Patience::new(now);
        let (mut given_up, end) = (Vec::new(), now + Duration::from_secs(500));
        for second in 0..1000 {
            let at = now + Duration::from_secs(second);
            patience.heard("a", at);
            let waited = patience.look(&waiting(Wait::End(STEP), Some(end), &["a", "b"]), at);
            assert!(second >= 505 || waited == Waited::default(), "{second}: {waited:?}");
            given_up.extend(waited.given_up.into_iter().map(|(host, _)| (second, host)));
        }
        assert_eq!(given_up[0], (561, "b".to_owned()));
        assert!(given_up.iter().all(|(_, host)| host == "b"));
    }

    #[test]
    fn a_step_that_is_bounded_by_its_ios_is_late_where_it_falls_silent() {
        let now = Instant::now();
        let mut patience = Patience::new(now);
        for second in 0..60 {
            let at = now + Duration::from_secs(second);
            patience.heard("a", at);
            let says = patience.look(&waiting(Wait::End(STEP), None, &["a"]), at).says;
            assert_eq!(says, None, "{second}");
        }
        let says =
            patience.look(&waiting(Wait::End(STEP), None, &["a", "b"]), now + Duration::from_secs(60)).says;
        assert_eq!(says.unwrap(), "waiting for 1 of 1,000 hosts to end the step: b");
    }

    /// A coordinator that was stopped for minutes gave up every host when it went on.
    #[test]
    fn while_this_process_does_not_run_nobody_is_late() {
        let now = Instant::now();
        let at = |second: u64| now + Duration::from_secs(second);
        let mut patience = Patience::new(now);
        let end = waiting(Wait::End(STEP), Some(at(60)), &["a"]);
        for second in 0..10 {
            patience.heard("a", at(second));
            assert_eq!(patience.look(&end, at(second)), Waited::default());
        }
        patience.paused(Duration::from_secs(600), at(610));
        let waited = patience.look(&end, at(610));
        assert!(waited.given_up.is_empty(), "{waited:?}");
        assert_eq!(patience.look(&end, at(672)).given_up.len(), 1, "what follows counts");
    }

    #[test]
    fn another_wait_begins_anew() {
        let now = Instant::now();
        let mut patience = Patience::new(now);
        let late = now + Duration::from_secs(119);
        patience.look(&waiting(Wait::Inspect, None, &["a"]), now);
        assert!(patience.look(&waiting(Wait::Inspect, None, &["a"]), late).says.is_some());
        assert_eq!(patience.look(&waiting(Wait::Open, None, &["a"]), late), Waited::default());
    }

    #[test]
    fn many_names_are_shortened() {
        assert_eq!(named(&["a", "b", "c", "d"]), "a, b, c, d");
        assert_eq!(named(&["a", "b", "c", "d", "e"]), "a, b, c and 2 more");
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
