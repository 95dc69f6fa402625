//! What the program does while a run goes on: the summary grows, the display moves, the digest for lists is kept.

use std::time::Instant;

use assay_analysis::{Collector, RunExtract, digest, gap_in_fill};
use assay_diagnose::headline;
use assay_engine::{RunTargets, StopSignal};
use assay_prepare::PrepareProgress;
use assay_record::{Event, Gap, RunEvent, RunHeader, StepId, Warning};
use assay_runner::{Experiments, Follower, Keeper, LostStore, Order, Stage, StoreNews};
use assay_spec::{Plan, without_secret};

use super::experiments::{Budget, next};
use crate::output::patience::Patience;
use crate::output::progress::{Progress, note_above};
use crate::signals::{enter, pause_if_asked, terminal_is_closed};
use assay_results::judged;

/// The program as the follower of a run.
pub(super) struct Following {
    /// `None` until there is a plan.
    progress: Option<Progress>,
    /// Of a diagnosis.
    budget: Option<Budget>,
    stop: StopSignal,
    /// The targets of this host, for people.
    targets: String,
    /// While they are examined.
    patience: Option<Patience>,
    /// The run, from its header on.
    run: Option<Followed>,
}

/// A run that has begun.
struct Followed {
    header: RunHeader,
    collector: Collector,
    began: Instant,
    steps_ended: u32,
}

impl Following {
    pub(super) fn new(order: &Order, budget: Option<Budget>) -> Self {
        let targets: Vec<String> = order.targets.iter().map(|a| without_secret(&a.to_string())).collect();
        Self {
            progress: Some(Progress::new(&order.plan)),
            budget,
            stop: order.stop.clone(),
            targets: match targets.as_slice() {
                [] | [_] => targets.concat(),
                several => format!("one of {} targets", several.len()),
            },
            patience: None,
            run: None,
        }
    }

    /// Of a run that begins to be followed here: its header says what it is.
    pub(super) fn attached(stop: &StopSignal) -> Self {
        let (stop, targets) = (stop.clone(), String::new());
        Self { progress: None, budget: None, stop, targets, patience: None, run: None }
    }

    /// Returns what was measured; `None` if nothing began.
    pub(super) fn into_collector(self) -> Option<Collector> {
        self.run.map(|run| run.collector)
    }
}

impl Follower for Following {
    fn stage(&mut self, stage: Stage) {
        // Hosts examine theirs themselves, and whom of them a run waits for is said besides.
        let is_here = stage == Stage::Inspecting && !self.targets.is_empty();
        self.patience = is_here.then(|| Patience::with(self.targets.clone()));
        if stage == Stage::Closing {
            self.progress.iter_mut().for_each(Progress::finish);
        }
        enter(stage);
    }

    fn filling(&mut self, progress: &PrepareProgress) {
        self.progress.iter_mut().for_each(|shown| shown.fill(progress));
    }

    fn filled(&mut self, gaps: &[Gap]) -> Option<Warning> {
        self.progress.iter_mut().for_each(Progress::filled);
        gap_in_fill(gaps)
    }

    fn experiments(&mut self, plan: &Plan, targets: &RunTargets) -> Option<Experiments> {
        Some(self.budget.as_ref()?.experiments(plan, targets))
    }

    fn begins(&mut self, header: &RunHeader) {
        if let Some(facts) = &header.diagnosis {
            self.progress = Some(Progress::of_diagnosis(&header.plan, facts.budget_s));
        }
        self.progress.get_or_insert_with(|| Progress::new(&header.plan));
        let collector = Collector::new(header);
        let began = Instant::now();
        self.run = Some(Followed { header: header.clone(), collector, began, steps_ended: 0 });
    }

    fn event(&mut self, event: &Event) -> bool {
        let Some(run) = &mut self.run else { return false };
        run.collector.add(event);
        if let Some(progress) = &mut self.progress {
            progress.event(event, &run.collector);
        }
        let RunEvent::Interval(interval) = &event.what else { return false };
        run.collector.is_enough(StepId { test: interval.test, step: interval.step })
    }

    fn kept(&mut self, event: &Event, keeper: &Keeper) {
        self.run.iter_mut().for_each(|run| run.keep_digest(event, keeper));
    }

    fn is_steady(&self, test: u32) -> bool {
        let sweep = self.run.as_ref().and_then(|run| run.collector.steady_sweep(test));
        sweep.is_some_and(|(_, state)| state.is_reached)
    }

    fn between(&mut self) {
        pause_if_asked();
    }

    fn next(&mut self) -> Option<StepId> {
        let run = self.run.as_ref()?;
        next(&run.header, &run.collector, run.began, &self.stop)
    }

    fn ends(&mut self) -> Option<Warning> {
        terminal_is_closed().then(closed_terminal)
    }

    fn waits(&mut self, says: &str) {
        note_above(says);
    }

    fn store_changed(&mut self, news: &StoreNews) {
        note_above(&match news {
            StoreNews::Lost(lost) => store_lost(lost),
            StoreNews::Back(store) => {
                format!("note: the store {store} is back, and has all events of this run")
            }
        });
    }
}

fn store_lost(LostStore { store, why, instead, is_asked_again }: &LostStore) -> String {
    let instead = match instead {
        Some(file) => format!("the run goes on, and is kept in {}", file.display()),
        None => "the run goes on, and is kept in memory".to_owned(),
    };
    match is_asked_again {
        true => format!("warning: {why}; {instead} until the server is back"),
        false => format!("warning: this run can no longer use the store {store}: {why}; {instead}"),
    }
}

impl Followed {
    /// Keeps the run in short after steps 1, 2, 4, 8 and so on, so that a sweep of a thousand steps is not summarized
    /// a thousand times, and at the end of the run. No load is measured then. Only at the end it is compared with what
    /// its array should do, as simulations take CPU time that the next step needs, and its extract is kept for its
    /// page.
    fn keep_digest(&mut self, event: &Event, keeper: &Keeper) {
        let (header, collector) = (&self.header, &self.collector);
        match event.what {
            RunEvent::StepEnded(_) => {
                self.steps_ended += 1;
                if self.steps_ended.is_power_of_two() {
                    let summary = collector.summary();
                    let findings = assay_analysis::findings(header, &summary);
                    keeper.keep_digest(&digest(
                        header,
                        &summary,
                        &findings,
                        None,
                        headline(header, &summary),
                    ));
                }
            }
            RunEvent::Ended(_) => {
                let summary = collector.summary();
                // An array that is not understood is reported where the result is printed.
                let (findings, judgement) = judged(header, &summary).unwrap_or_default();
                let diagnosed = headline(header, &summary);
                keeper.keep_digest(&digest(header, &summary, &findings, judgement.as_ref(), diagnosed));
                keeper.keep_extract(RunExtract::VERSION, &collector.extract());
            }
            _ => {}
        }
    }
}

fn closed_terminal() -> Warning {
    Warning {
        rule: "terminal-closed".into(),
        says: "The terminal was closed while the run went on (SIGHUP), which stopped it.".into(),
        next: "Start a long run in tmux or screen, or with nohup.".into(),
    }
}
