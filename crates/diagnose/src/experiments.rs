//! The experiments of a load as the tests of a plan.

use assay_record::Experiment;
use assay_spec::units::{Bytes, Nanos, PerSecond};
use assay_spec::{Access, Data, Job, Pacing, Plan, Semantics, Step, Stop, Swept, Test, Window};

/// How long the load rests before the experiment after a pause, s.
pub(crate) const PAUSE_S: f64 = 5.0;

/// Times that the load itself may be measured: at the beginning, between experiments, and at the end.
const BASES: usize = 6;
/// Times that another experiment may be made: again where the hypervisor disturbed it.
const TRIES: usize = 2;
/// Longer warm-up of the first measurement, s.
const FIRST_WARM_UP_S: f64 = 1.5;

/// The few bytes that are used again and again.
pub(crate) const HOT: u64 = 4 << 20;
/// Outstanding I/Os of the experiment with more of them, times those of the load.
pub(crate) const MORE_OUTSTANDING: f64 = 4.0;
/// Larger and smaller I/Os differ from those of the load by this factor.
pub(crate) const SIZE_TIMES: u64 = 8;
/// Largest I/O of an experiment, bytes.
const SIZE_MAX: u64 = 8 << 20;
/// Physical block of modern disks and page of memory, bytes.
const BLOCK: u64 = 4096;
/// Rates that the load may be held at: from the first, each a factor of two above the one before.
pub(crate) const RATES: (f64, usize) = (4.0, 20);

/// Whether experiments may write where the load itself only reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WritesAllowed {
    /// As the load does.
    AsTheLoad,
    /// They may.
    Yes,
}

/// Targets of the run that are the same storage, reached in another way; `None` where there is no other way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OtherWays {
    /// One path of several.
    pub one_path: Option<u32>,
    /// Every I/O on the next path.
    pub even_paths: Option<u32>,
    /// More sessions or connections.
    pub more_connections: Option<u32>,
    /// Writes that are not durable one by one.
    pub without_sync: Option<u32>,
}

/// An experiment and its test.
#[derive(Debug, Clone, PartialEq)]
pub struct ExperimentTest {
    /// The experiment.
    pub experiment: Experiment,
    /// The load with one thing changed.
    pub test: Test,
}

/// What a plan of experiments is made from.
#[derive(Debug, Clone)]
pub struct Order<'o> {
    /// A plan with the load as its only test, of one step.
    pub plan: &'o Plan,
    /// Time for all experiments, s.
    pub budget_s: f64,
    /// Bytes of the target that are used, where that is known.
    pub span_bytes: Option<u64>,
    /// Other ways to the same storage.
    pub ways: OtherWays,
    /// Whether experiments may write where the load only reads.
    pub writes: WritesAllowed,
}

/// Returns the length of the measured window and of the warm-up for a budget, s.
pub fn timing(budget_s: f64) -> (f64, f64) {
    let run = (budget_s / 24.0).clamp(1.05, 15.0);
    (run, (run / 4.0).clamp(0.25, 2.0))
}

/// Returns every experiment that can be made with a load.
pub fn plan(order: &Order<'_>) -> Vec<ExperimentTest> {
    let Some(load) = order.plan.tests.first().and_then(|test| test.steps.first()) else { return Vec::new() };
    let (run, warmup) = timing(order.budget_s);
    let base = Step {
        swept: Vec::new(),
        jobs: load.jobs.iter().map(|job| Job { targets: vec![0], ..job.clone() }).collect(),
        warmup: seconds(warmup),
        stop: Stop { time: seconds(run), ..Stop::default() },
        error_limit: load.error_limit,
        verify: false,
    };
    let mut tests: Vec<ExperimentTest> = (1..=BASES)
        .map(|number| {
            let name = again(number);
            // The first seconds fill caches, start the target's threads and bring CPUs up to speed.
            let first = if number == 1 { FIRST_WARM_UP_S } else { 0.0 };
            one(Experiment::Base, &name, vec![Step { warmup: seconds(warmup + first), ..base.clone() }])
        })
        .collect();
    for experiment in Experiment::ALL.into_iter().filter(|e| *e != Experiment::Base) {
        let steps = steps(order, experiment, &base);
        if !steps.is_empty() {
            tests.extend((1..=TRIES).map(|number| one(experiment, &again(number), steps.clone())));
        }
    }
    tests
}

/// What the name of a test has after that of its experiment.
fn again(number: usize) -> String {
    if number == 1 { String::new() } else { format!(", again ({number})") }
}

fn one(experiment: Experiment, more: &str, steps: Vec<Step>) -> ExperimentTest {
    let notes = match experiment {
        Experiment::AfterIdle => format!("{PAUSE_S:.0} s without load come before."),
        _ => String::new(),
    };
    let test =
        Test { name: format!("{}{more}", experiment.name()), notes, role: assay_spec::Role::Measured, steps };
    ExperimentTest { experiment, test }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some seconds")]
fn seconds(s: f64) -> Nanos {
    Nanos((s * 1e9) as u64)
}

/// The steps of an experiment; none where the load does not allow it.
fn steps(order: &Order<'_>, experiment: Experiment, base: &Step) -> Vec<Step> {
    use Experiment as E;
    let way = |index: Option<u32>| {
        index.map(|index| changed(base, |job| job.targets = vec![index])).into_iter().collect::<Vec<Step>>()
    };
    match experiment {
        E::OnePath => way(order.ways.one_path),
        E::EvenPaths => way(order.ways.even_paths),
        E::MoreConnections => way(order.ways.more_connections),
        E::WithoutSync => match order.ways.without_sync {
            None if base.jobs.iter().any(waits) => {
                vec![changed(base, |job| (job.sync, job.flush) = (false, None))]
            }
            of_target => of_target
                .map(|index| {
                    changed(base, |job| (job.targets, job.sync, job.flush) = (vec![index], false, None))
                })
                .into_iter()
                .collect(),
        },
        E::HalfRate => half_rates(order, base),
        E::AfterIdle => vec![base.clone()],
        _ => {
            let step = changed(base, |job| change(order, experiment, job));
            // What changes nothing is no experiment.
            if step == *base { Vec::new() } else { vec![step] }
        }
    }
}

fn changed(base: &Step, change: impl Fn(&mut Job)) -> Step {
    let mut step = base.clone();
    step.jobs.iter_mut().for_each(change);
    step
}

fn change(order: &Order<'_>, experiment: Experiment, job: &mut Job) {
    use Experiment as E;
    let mixed = job.mix.iter().any(|line| line.writes()) && job.mix.iter().any(|line| line.reads());
    match experiment {
        E::MoreOutstanding => job.outstanding = (job.outstanding * 4).min(1024),
        E::OneOutstanding => (job.workers, job.outstanding) = (1, 1),
        // A mix of which some lines change and others do not, or not by as much, gives a ratio of neither.
        E::LargerIo if all_sizes(job, |size| size * SIZE_TIMES <= SIZE_MAX) => {
            resize(job, |size| size * SIZE_TIMES)
        }
        E::SmallerIo if all_sizes(job, |size| size.is_multiple_of(SIZE_TIMES * BLOCK)) => {
            resize(job, |size| size / SIZE_TIMES);
        }
        // A window that begins elsewhere stays as it is.
        E::HotSpan | E::TenthSpan if job.window != Window::default() => {}
        E::HotSpan => job.span = hot(order, job),
        E::TenthSpan => job.span = tenth(order, job),
        // What lies outside of the window may be read, and is not written.
        E::WholeSpan if !job.writes() && is_part(order, job) => {
            (job.span, job.window) = (None, Window::default())
        }
        E::ReadsOnly if job.writes() => job.mix.iter_mut().for_each(|line| line.read = 100.0),
        E::WritesOnly if mixed || order.writes == WritesAllowed::Yes => {
            job.mix.iter_mut().for_each(|line| line.read = 0.0);
        }
        E::Mixed if !mixed && (job.writes() || order.writes == WritesAllowed::Yes) => {
            job.mix.iter_mut().for_each(|line| line.read = 50.0);
        }
        E::Sequential => job.mix.iter_mut().for_each(|line| line.random = 0.0),
        E::Random => {
            job.mix.iter_mut().filter(|line| line.random < 50.0).for_each(|line| line.random = 100.0)
        }
        E::Misaligned if job.writes() => {
            job.mix.iter_mut().filter(|line| is_aligned(line)).for_each(|line| line.align = Bytes(512));
        }
        E::Aligned if job.writes() => job.mix.iter_mut().filter(|line| !is_aligned(line)).for_each(align),
        // As many I/Os in flight as before.
        E::MoreWorkers if job.outstanding >= 2 && job.outstanding.is_multiple_of(2) => {
            (job.workers, job.outstanding) = (job.workers * 2, job.outstanding / 2)
        }
        // A target that makes every write durable has another way without.
        E::WithSync if job.writes() && !waits(job) && order.ways.without_sync.is_none() => job.sync = true,
        E::RepeatingData if job.writes() && job.data == Data::Unique => job.data = Data::IometerRepeating,
        E::UniqueData if job.writes() => job.data = Data::Unique,
        _ => {}
    }
}

fn all_sizes(job: &Job, is: impl Fn(u64) -> bool) -> bool {
    job.mix.iter().all(|line| is(line.size.0))
}

/// Sizes change, and positions stay multiples of a size where they were.
fn resize(job: &mut Job, of: impl Fn(u64) -> u64) {
    for line in &mut job.mix {
        let size = Bytes(of(line.size.0));
        if line.align == line.size {
            line.align = size;
        }
        line.size = size;
    }
}

fn is_aligned(line: &Access) -> bool {
    let align = if line.align.0 == 0 { line.size.0 } else { line.align.0 };
    align.is_multiple_of(BLOCK) && line.size.0.is_multiple_of(BLOCK) && line.random > 0.0
}

fn align(line: &mut Access) {
    line.size = Bytes(line.size.0.next_multiple_of(BLOCK));
    line.align = Bytes(line.size.0);
}

/// A few MiB, but room for some I/Os of each worker.
fn hot(order: &Order<'_>, job: &Job) -> Option<Bytes> {
    let least = job.size_max().0 * 4 * u64::from(job.workers);
    let span = HOT.max(least);
    let all = used(order, job).unwrap_or(u64::MAX);
    if span.saturating_mul(4) <= all { Some(Bytes(span)) } else { job.span }
}

/// Whether the load uses at most half of the target.
fn is_part(order: &Order<'_>, job: &Job) -> bool {
    order.span_bytes.is_some_and(|all| {
        let window = job.window.of(all);
        let own = job.span.map_or(window.end.min(all).saturating_sub(window.start), |span| span.0);
        own.saturating_mul(2) <= all
    })
}

/// Whether its writes wait until they are durable.
pub(crate) fn waits(job: &Job) -> bool {
    job.writes() && (job.sync || job.flush.is_some())
}

/// Bytes that the load itself uses: of the target, or the window of its job.
fn used(order: &Order<'_>, job: &Job) -> Option<u64> {
    let window = job.span.map(|span| span.0);
    order.span_bytes.into_iter().chain(window).min()
}

fn tenth(order: &Order<'_>, job: &Job) -> Option<Bytes> {
    let tenth = used(order, job).unwrap_or(0) / 10 / (1 << 20) * (1 << 20);
    if tenth >= 4 * HOT { Some(Bytes(tenth)) } else { job.span }
}

/// One step for each rate; which is half of the rate of the load is known when that was measured.
fn half_rates(order: &Order<'_>, base: &Step) -> Vec<Step> {
    let is_closed = base.jobs.iter().all(|job| job.pacing == Pacing::Closed);
    if order.plan.semantics == Semantics::Iometer || !is_closed || base.jobs.len() != 1 {
        return Vec::new();
    }
    let rates = (0..RATES.1).map(rate_at);
    rates
        .map(|rate| {
            let rate = PerSecond(rate);
            let mut step = changed(base, |job| job.pacing = Pacing::Throttled { rate });
            step.swept = vec![Swept { key: "rate".to_owned(), value: rate.to_string() }];
            step
        })
        .collect()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "an index of a short list")]
pub(crate) fn rate_at(index: usize) -> f64 {
    RATES.0 * 2_f64.powi(index as i32)
}
