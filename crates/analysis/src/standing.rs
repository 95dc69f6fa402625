//! Where a run stands: which step, which phase of it, and how much time is left. For displays of runs that go on.

use std::time::Duration;

use assay_record::{Event, Phase, RunEvent, StepId};
use assay_spec::Plan;

/// Where a run stands, by its plan and its events so far.
#[derive(Debug, Clone)]
pub struct Standing {
    steps: Vec<PlannedStep>,
    /// Time for a diagnosis, which chooses its steps; `None` for a plan whose steps follow each other.
    budget: Option<Duration>,

    /// Steps that have begun.
    begun: usize,
    running: Option<Running>,
}

/// What is known of a step beforehand.
#[derive(Debug, Clone)]
pub struct PlannedStep {
    /// Which one.
    pub id: StepId,
    /// Its test and its swept values.
    pub name: String,
    warmup: Duration,
    /// `None` where a number of bytes or I/Os ends the window.
    window: Option<Duration>,
    /// What ends the window, in words.
    until: String,
}

impl PlannedStep {
    /// Returns how long it takes, as far as the plan tells.
    pub fn time(&self) -> Duration {
        self.warmup + self.window.unwrap_or_default()
    }

    /// Returns what ends the measured window, in words: `2min`, `20000 I/Os`.
    pub fn until(&self) -> &str {
        &self.until
    }

    /// Returns true if the plan tells how long it takes.
    pub fn is_timed(&self) -> bool {
        self.window.is_some()
    }
}

/// The step that is going on.
#[derive(Debug, Clone, Copy)]
struct Running {
    index: usize,
    phase: Phase,
    /// When the phase began, ns of the run.
    since_ns: u64,
}

/// A moment of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Moment {
    /// The step that is going on.
    pub step: StepId,
    /// Its test and its swept values.
    pub name: String,
    /// Its number, from 1: in the order of the plan, or of the experiments of a diagnosis.
    pub number: usize,
    /// Number of steps; `None` in a diagnosis, which chooses them.
    pub of: Option<usize>,
    /// Its phase.
    pub phase: Phase,
    /// Since the phase began; at most its length where that is known.
    pub spent: Duration,
    /// Length of the phase; `None` where it has none.
    pub length: Option<Duration>,
    /// What ends the measured window, in words, where it is no time.
    pub until: Option<String>,
    /// Until the end of the run, as planned.
    pub left: Left,
}

/// Time until the end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// That of all steps.
    All(Duration),
    /// That of the steps that are bounded by time; a number of bytes or I/Os ends others.
    AtLeast(Duration),
}

impl Standing {
    /// Of a plan whose steps follow each other.
    pub fn new(plan: &Plan) -> Self {
        let mut steps = Vec::new();
        for (test_index, test) in (0..).zip(&plan.tests) {
            for (step_index, step) in (0..).zip(&test.steps) {
                steps.push(PlannedStep {
                    id: StepId { test: test_index, step: step_index },
                    name: format!("{} {}", test.name, step.label()).trim_end().to_owned(),
                    warmup: Duration::from_nanos(step.warmup.0),
                    window: (!step.stop.is_by_count()).then(|| Duration::from_nanos(step.stop.time.0)),
                    until: step.stop.words(),
                });
            }
        }
        Self { steps, budget: None, begun: 0, running: None }
    }

    /// Of experiments that are chosen one after another, in so many seconds.
    pub fn of_diagnosis(plan: &Plan, budget_s: f64) -> Self {
        Self { budget: Some(Duration::from_secs_f64(budget_s.max(0.0))), ..Self::new(plan) }
    }

    /// Returns the steps of the plan.
    pub fn steps(&self) -> &[PlannedStep] {
        &self.steps
    }

    /// Returns the number of steps that have begun.
    pub fn begun(&self) -> usize {
        self.begun
    }

    /// Returns the time for a diagnosis.
    pub fn budget(&self) -> Option<Duration> {
        self.budget
    }

    /// Returns the step that is going on.
    pub fn current(&self) -> Option<&PlannedStep> {
        self.running.and_then(|running| self.steps.get(running.index))
    }

    /// Takes in what happened.
    pub fn add(&mut self, event: &Event) {
        match &event.what {
            RunEvent::StepStarted(id) => {
                let Some(index) = self.steps.iter().position(|s| s.id == *id) else { return };
                self.running = Some(Running { index, phase: Phase::Prepare, since_ns: event.at_ns });
                self.begun += 1;
            }
            RunEvent::PhaseStarted { phase, .. } => {
                if let Some(running) = &mut self.running {
                    (running.phase, running.since_ns) = (*phase, event.at_ns);
                }
            }
            RunEvent::StepEnded(_) | RunEvent::Ended(_) => self.running = None,
            _ => {}
        }
    }

    /// Returns where the run stands, so many ns after its start; `None` between steps.
    pub fn at(&self, at_ns: u64) -> Option<Moment> {
        let running = self.running.as_ref()?;
        let step = self.steps.get(running.index)?;
        let spent = Duration::from_nanos(at_ns.saturating_sub(running.since_ns));
        let after: Duration = self.steps[running.index + 1..].iter().map(PlannedStep::time).sum();
        let (length, left) = match running.phase {
            Phase::Prepare => (None, step.time()),
            Phase::Warmup => (Some(step.warmup), step.time().saturating_sub(spent)),
            Phase::Measure => (step.window, step.window.unwrap_or_default().saturating_sub(spent)),
            Phase::Drain => (None, Duration::ZERO),
        };
        Some(Moment {
            step: step.id,
            name: step.name.clone(),
            number: if self.budget.is_some() { self.begun } else { running.index + 1 },
            of: self.budget.is_none().then_some(self.steps.len()),
            phase: running.phase,
            spent: length.map_or(spent, |length| spent.min(length)),
            length,
            until: (!step.is_timed()).then(|| step.until.clone()),
            left: match self.budget {
                Some(budget) => Left::All(budget.saturating_sub(Duration::from_nanos(at_ns))),
                None if self.steps[running.index..].iter().all(PlannedStep::is_timed) => {
                    Left::All(left + after)
                }
                None => Left::AtLeast(left + after),
            },
        })
    }
}
