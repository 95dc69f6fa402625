//! Runs that are going on: followed in the store, drawn once a second for everybody who looks.
//!
//! The [`Follower`] reads the new events of every running run, whichever process writes them, and keeps a `Collector`
//! for each. While somebody looks it is asked once a second, and what it draws is one [`Frame`], which all viewers are
//! sent. Nobody looks: nothing is read and nothing is drawn.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use assay_analysis::compare::ResultSet;
use assay_analysis::{Collector, Finding, RunSummary, Standing, StepSummary};
use assay_record::{Event, FigureDigest, Outcome, Phase, RunEvent, RunHeader, StepId};
use assay_report::html::{Live as LiveCharts, Reference, ReferenceLevel, Span, escape};
use assay_report::standing::moment;
use assay_results::{Baselines, judged, keys_of};
use assay_store::{Reader, StoreError};
use tokio::sync::watch;

use crate::frame::{Frame, Shown, WHOLE};

/// A frame that is younger than this is not drawn again.
const FRAME_AGE: Duration = Duration::from_millis(900);
/// What the run so far means is judged anew this often; its figures and charts with each frame.
const JUDGE_EVERY: Duration = Duration::from_secs(5);
/// Both are done this much more seldom for each of so many seconds that were measured: another second of a run of hours
/// is less than a pixel of its charts, and watching must take less than 1 % of a core.
const SECONDS_AT_ONCE: u32 = 400;
/// A run that has ended is shown for so long.
const ENDED_SHOWN: Duration = Duration::from_secs(300);
/// Events that are read at once: an hour of intervals and samples of two jobs.
const EVENTS_AT_ONCE: usize = 10_000;

/// All running runs, and who looks at them.
pub(crate) struct Live {
    follower: Mutex<Follower>,
    frames: watch::Sender<Arc<Frame>>,
    /// Held by whoever looks at charts of the whole time: they are drawn for nobody else.
    whole: Arc<()>,
}

impl Default for Live {
    fn default() -> Self {
        Self { follower: Mutex::default(), frames: watch::channel(Arc::default()).0, whole: Arc::default() }
    }
}

/// Somebody who looks at charts of the whole time.
pub(crate) struct WholeWatcher {
    _held: Arc<()>,
}

/// A step of a run that goes on.
pub(crate) struct LiveSummary {
    pub(crate) header: RunHeader,
    pub(crate) step: StepSummary,
}

impl Live {
    /// Returns frames as they are drawn; somebody looks as long as the receiver lives.
    pub(crate) fn frames(&self) -> watch::Receiver<Arc<Frame>> {
        self.frames.subscribe()
    }

    /// Returns what keeps charts of the whole time drawn as long as it lives.
    pub(crate) fn watch_whole(&self) -> WholeWatcher {
        WholeWatcher { _held: Arc::clone(&self.whole) }
    }

    /// Returns the charts of the whole time of the test that a run measures now; `None` between two windows.
    pub(crate) fn whole(&self, run: &str) -> Option<String> {
        let follower = self.follower();
        let followed = follower.followed.get(run)?;
        Some(followed.charts(&followed.measured()?, Span::Whole))
    }

    /// Returns true while somebody looks.
    pub(crate) fn is_watched(&self) -> bool {
        self.frames.receiver_count() > 0
    }

    /// Returns a frame of now, drawn by this call if the last one is too old.
    pub(crate) fn frame(&self, store: &Reader) -> Result<Arc<Frame>, StoreError> {
        let mut follower = self.follower();
        if follower.drawn.is_none_or(|drawn| drawn.elapsed() >= FRAME_AGE) {
            follower.follow(store)?;
            let before = Arc::clone(&self.frames.borrow());
            let spans: &[Span] = match Arc::strong_count(&self.whole) > 1 {
                true => &[Span::Last, Span::Whole],
                false => &[Span::Last],
            };
            self.frames.send_replace(Arc::new(Frame::after(&before, follower.shown(spans))));
        }
        Ok(Arc::clone(&self.frames.borrow()))
    }

    /// Returns the step that each running run measures now, with what it has so far.
    pub(crate) fn steps(&self, store: &Reader) -> Result<Vec<LiveSummary>, StoreError> {
        let mut follower = self.follower();
        let drawn = follower.drawn;
        follower.follow(store)?;
        // Viewers still get the next frame in time.
        follower.drawn = drawn;
        let going = follower.followed.values().filter(|followed| followed.end.is_none());
        Ok(going.filter_map(Followed::live).collect())
    }

    /// Follows no run any more, and shows none: the store is another one.
    pub(crate) fn forget(&self) {
        *self.follower() = Follower::default();
        let before = Arc::clone(&self.frames.borrow());
        self.frames.send_replace(Arc::new(Frame::after(&before, Vec::new())));
    }

    /// Returns what a run that is followed has measured so far.
    pub(crate) fn summary(&self, run: &str) -> Option<RunSummary> {
        self.follower().followed.get(run).map(|followed| followed.collector.summary())
    }

    fn follower(&self) -> MutexGuard<'_, Follower> {
        self.follower.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs that are followed.
#[derive(Default)]
struct Follower {
    followed: BTreeMap<String, Followed>,
    drawn: Option<Instant>,
}

impl Follower {
    /// Reads what is new.
    fn follow(&mut self, store: &Reader) -> Result<(), StoreError> {
        self.drawn = Some(Instant::now());
        let running = store.running()?;
        for run in &running {
            if !self.followed.contains_key(run) {
                self.followed.insert(run.clone(), Followed::new(store.header(run)?));
            }
        }
        for (run, followed) in &mut self.followed {
            followed.read(store, run)?;
            followed.refer(store);
            if followed.end.is_none() && !running.contains(run) {
                // What it wrote last may have come between the two looks.
                followed.read(store, run)?;
                followed.end = Some((Instant::now(), followed.outcome));
                followed.judge();
            }
        }
        self.followed.retain(|_, followed| followed.end.is_none_or(|(at, _)| at.elapsed() < ENDED_SHOWN));
        Ok(())
    }

    /// What is shown of each run: those that go on, then those that have ended, the newest first.
    fn shown(&mut self, spans: &[Span]) -> Vec<Shown> {
        let mut followed: Vec<&mut Followed> = self.followed.values_mut().collect();
        followed.sort_by_key(|of| (of.end.is_some(), std::cmp::Reverse(of.header.started_unix_ms)));
        followed.into_iter().map(|followed| followed.shown(spans)).collect()
    }
}

/// A run that is followed.
struct Followed {
    header: RunHeader,
    collector: Collector,
    standing: Standing,
    /// Number of events that were taken in.
    events: u64,
    outcome: Option<Outcome>,
    /// When it was seen to have ended, and how; no outcome: it was killed.
    end: Option<(Instant, Option<Outcome>)>,
    /// What it meant when it was judged last.
    judged: Option<Judged>,
    /// What the step that was measured last is compared with.
    referred: Option<(StepId, Vec<Reference>)>,
    drawn: Vec<Drawn>,
}

/// The charts of a step at a moment.
struct Drawn {
    at: Instant,
    step: StepId,
    span: Span,
    html: String,
}

/// What a run meant at a moment.
struct Judged {
    at: Instant,
    summary: RunSummary,
    findings: Vec<Finding>,
    /// The odds of a diagnosis; empty for other runs.
    odds: String,
}

impl Followed {
    fn new(header: RunHeader) -> Self {
        let standing = match &header.diagnosis {
            Some(facts) => Standing::of_diagnosis(&header.plan, facts.budget_s),
            None => Standing::new(&header.plan),
        };
        let collector = Collector::new(&header);
        Self {
            header,
            collector,
            standing,
            events: 0,
            outcome: None,
            end: None,
            judged: None,
            referred: None,
            drawn: Vec::new(),
        }
    }

    fn read(&mut self, store: &Reader, run: &str) -> Result<(), StoreError> {
        if self.end.is_some() {
            return Ok(());
        }
        loop {
            let events = match store.events_from(run, self.events, EVENTS_AT_ONCE) {
                Ok(events) => events,
                // It was removed after it had ended.
                Err(StoreError::Find { .. }) => return Ok(()),
                Err(error) => return Err(error),
            };
            events.iter().for_each(|event| self.add(event));
            if events.len() < EVENTS_AT_ONCE {
                return Ok(());
            }
        }
    }

    fn add(&mut self, event: &Event) {
        self.events += 1;
        self.collector.add(event);
        self.standing.add(event);
        match &event.what {
            RunEvent::Ended(outcome) => self.outcome = Some(*outcome),
            // The table has a new row.
            RunEvent::StepEnded(_) => self.judged = None,
            _ => {}
        }
    }

    /// Returns the step that is measured now.
    fn live(&self) -> Option<LiveSummary> {
        let at_ns = now_unix_ms().saturating_sub(self.header.started_unix_ms).saturating_mul(1_000_000);
        let at = self.standing.at(at_ns).filter(|at| at.phase == Phase::Measure)?;
        let step = self.collector.step_so_far(at.step)?;
        Some(LiveSummary { header: self.header.clone(), step })
    }

    fn judge(&mut self) {
        let mut summary = self.collector.summary();
        if self.end.is_none() {
            summary.status = assay_analysis::RunStatus::Running;
        }
        let findings = judged(&self.header, &summary).map(|(findings, _)| findings).unwrap_or_default();
        let odds = assay_report::diagnosis::html(&self.header, &summary);
        self.judged = Some(Judged { at: Instant::now(), summary, findings, odds });
    }

    fn shown(&mut self, spans: &[Span]) -> Shown {
        let is_old = |judged: &Judged| {
            let measured = judged.summary.steps.iter().map(|step| step.series.len()).sum();
            judged.at.elapsed() >= JUDGE_EVERY * slower(measured)
        };
        if self.end.is_none() && self.judged.as_ref().is_none_or(is_old) {
            self.judge();
        }
        let targets: Vec<&str> = self.header.targets.iter().map(|target| target.address.as_str()).collect();
        Shown {
            run: self.header.run.clone(),
            name: escape(&self.header.plan.name),
            about: format!("on {} from {}", escape(&targets.join(", ")), escape(&self.header.host.name)),
            is_running: self.end.is_none(),
            parts: self.parts(spans),
        }
    }

    /// Finds what the step that is measured now is compared with, once for each step: its baseline, and what its array
    /// is expected to give.
    fn refer(&mut self, store: &Reader) {
        let Some(step) = self.measured() else { return };
        if self.referred.as_ref().is_some_and(|(known, _)| *known == step.id) {
            return;
        }
        let id = step.id;
        let mut alone = self.collector.summary();
        alone.steps = vec![step];
        let reading = ResultSet::of_run(&self.header, &alone, &[], None);
        let targets = keys_of(store, &self.header).unwrap_or_default();
        // A run is shown without what it is compared with where that cannot be read.
        let baselines = Baselines::read(store).unwrap_or_default();
        let levels = baselines.levels(&self.header.plan.name, &targets, &reading);
        let step = &alone.steps[0];
        let of = levels.iter().find(|(test, _)| test.test == step.test && test.step == step.step);
        let level = |figure: FigureDigest| ReferenceLevel {
            lo: figure.lo.unwrap_or(figure.value),
            hi: figure.hi.unwrap_or(figure.value),
            value: Some(figure.value),
        };
        let baseline = of.map(|(test, of)| Reference {
            name: "baseline",
            iops: level(of.iops),
            // The latency of a paced load has the wait in it, the chart has not.
            p99_us: of.p99_us.filter(|_| !test.is_paced).map(level),
        });
        let judgement = judged(&self.header, &alone).ok().and_then(|(_, judgement)| judgement);
        let expected = judgement.and_then(|judgement| Reference::expected(&judgement, id));
        self.referred = Some((id, baseline.into_iter().chain(expected).collect()));
    }

    /// Returns the step that is measured or drained now, with what it has so far.
    fn measured(&self) -> Option<StepSummary> {
        let at_ns = now_unix_ms().saturating_sub(self.header.started_unix_ms).saturating_mul(1_000_000);
        let at = self.standing.at(at_ns)?;
        matches!(at.phase, Phase::Measure | Phase::Drain).then(|| self.collector.step_so_far(at.step))?
    }

    fn parts(&mut self, spans: &[Span]) -> Vec<(&'static str, String)> {
        let at_ns = now_unix_ms().saturating_sub(self.header.started_unix_ms).saturating_mul(1_000_000);
        let step = self.measured();
        if let Some(step) = &step {
            spans.iter().for_each(|span| self.draw(step, *span));
        }
        let (status, name) = self.status(at_ns);
        let mut parts = vec![("status", status), ("step", name)];
        let Some(Judged { summary, findings, odds, .. }) = &self.judged else { return parts };
        let live = LiveCharts { summary, step: step.as_ref(), references: &[] };
        if self.end.is_none() {
            parts.push(("figures", live.figures()));
            parts.push(("links", live.links(&self.header)));
            // Between two windows the charts of the last one stay on the page.
            for drawn in self.drawn.iter().filter(|_| step.is_some()) {
                let part = if drawn.span == Span::Last { "charts" } else { WHOLE };
                parts.push((part, drawn.html.clone()));
            }
        }
        if !odds.is_empty() {
            parts.push(("odds", odds.clone()));
        }
        parts.push(("finding", LiveCharts::finding(&self.header.run, findings)));
        parts.push(("table", live.table(&self.header)));
        parts
    }

    /// Draws the charts of the step that goes on, unless those that are there will do.
    fn draw(&mut self, step: &StepSummary, span: Span) {
        let rest = FRAME_AGE * (slower(step.series.len()) - 1);
        let will_do = |drawn: &Drawn| drawn.step == step.id && drawn.at.elapsed() < rest;
        let known = self.drawn.iter().find(|drawn| drawn.span == span);
        if self.judged.is_none() || known.is_some_and(will_do) {
            return;
        }
        let html = self.charts(step, span);
        self.drawn.retain(|drawn| drawn.span != span);
        self.drawn.push(Drawn { at: Instant::now(), step: step.id, span, html });
    }

    fn charts(&self, step: &StepSummary, span: Span) -> String {
        let Some(Judged { summary, .. }) = &self.judged else { return String::new() };
        let references = self.referred.as_ref().filter(|(known, _)| *known == step.id);
        let references = references.map_or(&[][..], |(_, references)| references);
        LiveCharts { summary, step: Some(step), references }.charts(&self.header, span)
    }

    /// Returns where the run stands, and which step goes on.
    fn status(&self, at_ns: u64) -> (String, String) {
        let says = |says: &str| format!("<strong>{says}</strong>");
        match self.end {
            Some((_, Some(Outcome::Done))) => (says("Done"), String::new()),
            Some((_, Some(Outcome::Interrupted))) => {
                (says("Stopped: the results so far are kept"), String::new())
            }
            Some((_, Some(Outcome::Failed))) => (says("Failed"), String::new()),
            Some((_, None)) => (
                says("Killed: the process ended before the run did. The results up to then are kept."),
                String::new(),
            ),
            None => match self.standing.at(at_ns) {
                Some(at) => {
                    let share = at.length.map_or(String::new(), |length| {
                        format!(
                            " <progress aria-label=\"Progress of the phase\" max=\"{:.0}\" value=\"{:.0}\"></progress>",
                            length.as_secs_f64().max(1.0),
                            at.spent.as_secs_f64()
                        )
                    });
                    (format!("{}{share}", escape(&moment(&at))), escape(&at.name))
                }
                None => ("Between two steps".to_owned(), String::new()),
            },
        }
    }
}

/// Returns how many times less often what grows with the seconds that were measured is made.
fn slower(seconds: usize) -> u32 {
    u32::try_from(seconds).unwrap_or(u32::MAX) / SECONDS_AT_ONCE + 1
}

fn now_unix_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}
