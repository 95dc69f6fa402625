//! Runs as an agent or the program starts them, without a process of their own: what is kept, what is said, and what is
//! left behind when somebody stops them, the store goes away, or a target cannot be closed.
#![expect(clippy::unwrap_used, reason = "a panic in a test is a test that failed")]

mod asked;
mod choices;
mod ends;
mod lost_store;

use std::path::PathBuf;

use assay_engine::{RunTargets, StopSignal};
use assay_prepare::{Changes, FillChoice, IoChoice, PrepareOptions, PrepareProgress};
use assay_record::{Event, RunEvent, RunHeader, RunSetting, StatedMemory, StepId};
use assay_runner::{Done, Experiments, Follower, Keeper, Order, RunnerError, Sinks, Stage, Steps, StoreNews};
use assay_spec::{Overrides, Plan, PlanFile};
use assay_store::Store;
use assay_target::Caching;

/// A directory with a store.
struct Place {
    folder: tempfile::TempDir,
    store: Store,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("runs.sqlite")).unwrap();
        Self { folder, store }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, order: Order, follower: &mut dyn Follower) -> Result<Done, RunnerError> {
        assay_runner::run(order, &assay_target::open, Sinks { store: Some(&self.store), follower })
    }
}

/// Random reads at a low rate, so that an interval is cheap.
fn plan(text: &str) -> Plan {
    sized("1MiB", text)
}

/// The same on so much of each target.
fn sized(size: &str, text: &str) -> Plan {
    let text = format!("[defaults]\nrate = \"2000/s\"\naccess = [{{ size = \"4KiB\" }}]\n{text}");
    let mut overrides = Overrides::default();
    overrides.size = Some(size.parse().unwrap());
    PlanFile::parse("p", &text).unwrap().resolve(&overrides).unwrap()
}

fn order(plan: Plan, targets: &[&str]) -> Order {
    Order {
        plan,
        targets: targets.iter().map(|target| target.parse().unwrap()).collect(),
        steps: Steps::Planned,
        kept: Vec::new(),
        options: PrepareOptions {
            io: IoChoice::Psync,
            caching: Caching::Cached,
            changes: Changes::AsNeeded,
            fill: FillChoice::WhereNeeded,
            ..PrepareOptions::reading()
        },
        remove: false,
        keep_awake: false,
        cpus: Vec::new(),
        stop: StopSignal::default(),
        label: Some("l".to_owned()),
        note: None,
        array: None,
        stated: StatedMemory::default(),
        setting: RunSetting::default(),
        turn: None,
        run: None,
        start: assay_engine::CommonStart::default(),
    }
}

/// What a follower does at a moment of the run.
type Act = Box<dyn FnMut()>;

/// Plans the experiments of a diagnosis.
type Planner = Box<dyn FnMut(&Plan, &RunTargets) -> Experiments>;

/// Notes everything, and acts where a test wants something to happen.
#[derive(Default)]
struct Notes {
    stages: Vec<Stage>,
    header: Option<RunHeader>,
    events: Vec<Event>,
    kept: usize,
    store: Vec<StoreNews>,
    /// Done at the first interval.
    at_interval: Option<Act>,
    /// Done at the first progress of a fill.
    at_fill: Option<Act>,
    /// Done when targets are about to be closed.
    at_close: Option<Act>,
    /// Tests whose sweeps are steady from the start.
    steady: Vec<u32>,
    /// Turns the load into a diagnosis.
    experiments: Option<Planner>,
    next: Vec<StepId>,
}

impl Notes {
    fn of(&self, is_meant: impl Fn(&RunEvent) -> bool) -> usize {
        self.events.iter().filter(|event| is_meant(&event.what)).count()
    }

    fn begun(&self) -> Vec<StepId> {
        let step = |event: &Event| match event.what {
            RunEvent::StepStarted(step) => Some(step),
            _ => None,
        };
        self.events.iter().filter_map(step).collect()
    }
}

impl Follower for Notes {
    fn stage(&mut self, stage: Stage) {
        self.stages.push(stage);
        if stage == Stage::Closing {
            self.at_close.take().iter_mut().for_each(|act| act());
        }
    }

    fn filling(&mut self, _: &PrepareProgress) {
        self.at_fill.take().iter_mut().for_each(|act| act());
    }

    fn experiments(&mut self, plan: &Plan, targets: &RunTargets) -> Option<Experiments> {
        assert!(self.header.is_none(), "experiments are planned before there is a header");
        self.experiments.as_mut().map(|experiments| experiments(plan, targets))
    }

    fn begins(&mut self, header: &RunHeader) {
        assert!(self.events.is_empty());
        self.header = Some(header.clone());
    }

    fn event(&mut self, event: &Event) -> bool {
        self.events.push(event.clone());
        if matches!(event.what, RunEvent::Interval(_)) {
            self.at_interval.take().iter_mut().for_each(|act| act());
        }
        false
    }

    fn kept(&mut self, _: &Event, _: &Keeper) {
        self.kept += 1;
    }

    fn is_steady(&self, test: u32) -> bool {
        self.steady.contains(&test)
    }

    fn next(&mut self) -> Option<StepId> {
        self.next.pop()
    }

    fn store_changed(&mut self, news: &StoreNews) {
        self.store.push(news.clone());
    }
}
