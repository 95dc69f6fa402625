//! From what was written to what it means: layers laid over each other, defaults filled in, sweeps unrolled,
//! contradictions refused.

use std::collections::HashSet;

use crate::extent;
use crate::file::{JobFile, PacingFile, PlanFile, Settings, SteadyFile, SweepKey, TestFile, sweep_value};
use crate::goal::{Goal, Times};
use crate::limits::{OPEN_BUFFERS, OPEN_OUTSTANDING, STEP_WORKERS_MAX};
use crate::overrides::{Maxima, Maximum, Overrides};
use crate::place::{Extent, Window};
use crate::plan::{
    Access, Data, Job, Pacing, Plan, Role, Semantics, Span, Step, Stop, Swept, Test, named_steps,
};
use crate::plan_error::PlanError;
use crate::reader::suggest;
use crate::resolve_access::{complain, own_rule, resolve_mix, resolve_zoned};
use crate::threshold::{Threshold, meant};
use crate::units::{Bytes, Nanos, PerSecond};

/// The measured window where a plan says nothing.
const RUN_DEFAULT: Nanos = Nanos::from_secs(30);
/// The longest measured window of a test that stops by bytes or operations.
const RUN_BOUND: Nanos = Stop::TIME_BOUND;
/// A window that lasts until a figure is known well enough lasts at most so many times the planned one.
const UNTIL_TIMES: u64 = 10;
const SECOND: Nanos = Nanos::from_secs(1);
/// Failed I/Os after which a step, and with it the run, is given up.
const ERROR_LIMIT_DEFAULT: u64 = 100;
/// `--quick` divides the measured window by this, and keeps the result between the two bounds below.
const QUICK_DIVISOR: u64 = 24;
const QUICK_RUN_MIN: Nanos = Nanos::from_secs(2);
const QUICK_RUN_MAX: Nanos = Nanos::from_secs(10);
/// Rounds of a sweep that otherwise lasts until it is steady: no round of `--quick` is.
const QUICK_ROUNDS: u64 = 1;
const QUICK_WARMUP_MAX: Nanos = Nanos::from_secs(1);
/// Verify mode stamps each this many bytes.
const STAMP_BYTES: u64 = 512;

impl PlanFile {
    /// Fills in every default and checks that the whole makes sense.
    pub fn resolve(&self, over: &Overrides) -> Result<Plan, PlanError> {
        let written = self.semantics.unwrap_or(Semantics::Assay);
        // Iometer has no rates.
        let semantics = match written {
            Semantics::Iometer if over.is_open => Semantics::Assay,
            written => written,
        };
        let mut notes = self.notes.clone();
        if semantics != written {
            notes.push(
                "With --rate this plan runs with Assay semantics: Iometer has no open loop.".to_owned(),
            );
        }
        extent::check(self, over)?;
        let mut tests = self.resolved_tests(semantics, over)?;
        // Every write of a plan that verifies carries stamps, so every writing job must be fit for them.
        if tests.iter().flat_map(|t: &Test| &t.steps).any(|s| s.verify) {
            for (file, test) in self.tests.iter().zip(&tests) {
                let writing = test.steps.iter().flat_map(|s| &s.jobs).filter(|job| job.writes());
                check_verify(&file.place, writing, semantics)?;
            }
        }
        let mut limits = self.limits_of(&tests)?;
        let all = tests.clone();
        keep_only(&mut tests, &over.only)?;
        // A limit on a test that --only leaves out is not about this run, nor about one with its name as a part.
        limits.retain(|limit| about(limit, &tests).is_subset(&about(limit, &all)) && is_about(limit, &tests));
        notes.extend(trim_notes(&tests));
        if over.settings.is_span || self.all_settings().any(|settings| settings.is_span) {
            notes.push("The plan says `span`, the old name of `window`: window = \"4GiB\".".to_owned());
        }
        // Writing everything twice is not quick; whoever asks for it on the command line gets it.
        let of_plan = self.precondition.filter(|_| !over.quick);
        if let Some(Times(times)) = over.precondition.or(of_plan) {
            tests.insert(0, precondition(times));
        }
        Ok(Plan {
            name: self.name.clone().unwrap_or_else(|| self.origin.clone()),
            about: self.about.clone(),
            source: self.source.clone(),
            notes,
            semantics,
            seed: over.seed.or(self.seed).unwrap_or(1),
            span: over.size.or(self.size).map_or(Span::Whole, Span::Size),
            quick: over.quick,
            changes: over.changes.clone(),
            limits,
            tests,
        })
    }

    /// Returns the limits, each of which is about a test: one that is about none would be found out after the run.
    fn limits_of(&self, tests: &[Test]) -> Result<Vec<Threshold>, PlanError> {
        match self.limits.iter().find(|limit| !is_about(limit, tests)) {
            None => Ok(self.limits.clone()),
            Some(limit) => {
                let names: Vec<&str> = tests.iter().map(|test| test.name.as_str()).collect();
                let typed = limit.test.as_deref().unwrap_or_default();
                let says = format!("limit: no test is called `{typed}`{}", suggest(typed, &names));
                Err(complain(&self.origin, &says))
            }
        }
    }

    /// Resolves every test; what is wrong is said of all of them.
    fn resolved_tests(&self, semantics: Semantics, over: &Overrides) -> Result<Vec<Test>, PlanError> {
        let (mut tests, mut names, mut wrong) = (Vec::new(), HashSet::new(), Vec::new());
        for file in &self.tests {
            if !names.insert(file.name.as_str()) {
                wrong.push(complain(&file.place, "another test has this name already"));
                continue;
            }
            match resolve_test(file, &self.defaults, semantics, over) {
                Ok(test) => tests.push(test),
                // One fault of the defaults or of the command line is one, however many tests it is met in.
                Err(error) if wrong.contains(&error) => {}
                Err(error) => wrong.push(error),
            }
        }
        PlanError::of_all(wrong).map_or(Ok(tests), Err)
    }

    /// Returns the plan that finds the rates which `rate = "max"` means: each such load point as a closed loop, once
    /// for all shares of its rate. `None` if the plan has none.
    ///
    /// # Errors
    /// As [`Self::resolve`]; and when several jobs of such a test do not share its rate.
    pub fn search(&self, over: &Overrides) -> Result<Option<Plan>, PlanError> {
        let is_max = |settings: &Settings| matches!(settings.pace, Some(PacingFile::OpenMax { .. }));
        let needs = |test: &TestFile| {
            let own = if test.settings.pace.is_some() { &test.settings } else { &self.defaults };
            is_max(own) || test.jobs.iter().any(|job| is_max(&job.settings))
        };
        let is_replaced = over.settings.pace.is_some() || over.settings.rate.is_some();
        if is_replaced || !self.tests.iter().any(needs) {
            return Ok(None);
        }
        for test in self.tests.iter().filter(|test| needs(test) && test.jobs.len() > 1) {
            let of_test = test.settings.pace.or(self.defaults.pace);
            check_shares(&test.place, test.jobs.iter().map(|job| job.settings.pace.or(of_test)))?;
        }
        let mut plan = self.resolve(&Overrides { maxima: Maxima::Sought, ..over.clone() })?;
        plan.tests.retain(|test| self.tests.iter().any(|file| file.name == test.name && needs(file)));
        for test in &mut plan.tests {
            test.steps.iter_mut().for_each(|step| step.swept.retain(|swept| swept.key != "load"));
            let mut seen = HashSet::new();
            test.steps.retain(|step| seen.insert(step.label()));
        }
        Ok((!plan.tests.is_empty()).then_some(plan))
    }

    /// Every layer of settings that the file has.
    fn all_settings(&self) -> impl Iterator<Item = &Settings> {
        let of_tests = self.tests.iter().flat_map(|test| {
            std::iter::once(&test.settings).chain(test.jobs.iter().map(|job| &job.settings))
        });
        std::iter::once(&self.defaults).chain(of_tests)
    }
}

/// Checks that the jobs of a test whose highest rate is sought share it.
fn check_shares(place: &str, paces: impl Iterator<Item = Option<PacingFile>>) -> Result<(), PlanError> {
    let mut sum = 0.0;
    for pace in paces {
        let Some(PacingFile::OpenMax { share: Some(share), .. }) = pace else {
            let says = "pace: rate = \"max\" is the highest rate of all jobs of a test together; give each job a \
                        `share` of it in percent, for example pace = { rate = \"max\", arrivals = \"poisson\", share \
                        = 50 }";
            return Err(complain(place, says));
        };
        sum += share;
    }
    match sum <= 100.1 {
        true => Ok(()),
        false => {
            Err(complain(place, &format!("pace: the shares of rate = \"max\" sum to {sum}, more than 100")))
        }
    }
}

/// The span and the window of a job: a window from the start, in bytes, is kept as the span.
fn places(window: Window, increment: Extent) -> (Option<Bytes>, Window) {
    match window {
        _ if increment != Extent::default() => (None, window),
        Window { offset: Extent::Bytes(Bytes(0)), size: Some(Extent::Bytes(bytes)) } => {
            (Some(bytes), Window::WHOLE)
        }
        window => (None, window),
    }
}

/// What a reader must know of a plan that trims.
fn trim_notes(tests: &[Test]) -> Vec<String> {
    let lines =
        || tests.iter().flat_map(|test| &test.steps).flat_map(|step| &step.jobs).flat_map(|job| &job.mix);
    if !lines().any(Access::trims) {
        return Vec::new();
    }
    let mut notes =
        vec!["Trims count as writes: their rate is in I/Os, bytes and latencies of writes.".to_owned()];
    if lines().any(Access::reads) {
        notes.push("Reads of blocks that this plan has trimmed cost the storage nothing.".to_owned());
    }
    notes
}

/// Whether a plan has a step that a limit is about.
fn is_about(limit: &Threshold, tests: &[Test]) -> bool {
    !meant(limit.test.as_deref(), named_steps(tests)).is_empty()
}

/// Names of the steps that a limit is about.
fn about(limit: &Threshold, tests: &[Test]) -> HashSet<String> {
    let names: Vec<String> = named_steps(tests).map(|(_, name)| name).collect();
    meant(limit.test.as_deref(), named_steps(tests)).into_iter().map(|at| names[at].clone()).collect()
}

/// Keeps what `--only` names: tests, or steps of a sweep by their name in the table (`throughput size=64KiB`) or a
/// part.
fn keep_only(tests: &mut Vec<Test>, only: &[String]) -> Result<(), PlanError> {
    if only.is_empty() {
        return Ok(());
    }
    let mut kept: Vec<Vec<bool>> = tests.iter().map(|test| vec![false; test.steps.len()]).collect();
    for part in only {
        let named = named_by(tests, part);
        if named.is_empty() {
            return Err(complain(&format!("--only {part}"), &unnamed(tests, part)));
        }
        named.into_iter().for_each(|(test, step)| kept[test][step] = true);
    }
    for (test, kept) in tests.iter_mut().zip(&kept) {
        let mut kept = kept.iter();
        test.steps.retain(|_| kept.next().is_some_and(|is_kept| *is_kept));
    }
    tests.retain(|test| !test.steps.is_empty());
    Ok(())
}

/// Whether a test of that name, or a step of that full name, is meant.
type Means<'m> = &'m dyn Fn(&str, &str) -> bool;

/// Indices of the test and step of everything that `part` means. A full name means that alone, even where it is a part
/// of another's; a test goes before steps, and `4KiB` does not mean 64KiB while there is a step of 4KiB.
fn named_by(tests: &[Test], part: &str) -> Vec<(usize, usize)> {
    let part = part.to_lowercase();
    let all: Vec<(usize, usize, String, String)> = tests
        .iter()
        .enumerate()
        .flat_map(|(t, test)| test.steps.iter().enumerate().map(move |(s, step)| (t, test, s, step)))
        .map(|(t, test, s, step)| {
            let full = format!("{} {}", test.name, step.label());
            (t, s, test.name.to_lowercase(), full.trim_end().to_lowercase())
        })
        .collect();
    let rules: [Means<'_>; 5] = [
        &|test, _| test == part,
        &|_, step| step == part,
        &|test, _| test.contains(&part),
        &|_, step| has_words(step, &part),
        &|_, step| step.contains(&part),
    ];
    let by = |rule: Means<'_>| -> Vec<(usize, usize)> {
        all.iter().filter(|(_, _, test, step)| rule(test, step)).map(|(t, s, ..)| (*t, *s)).collect()
    };
    rules.into_iter().map(by).find(|found| !found.is_empty()).unwrap_or_default()
}

/// Whether `part` stands in `text` with no letter or digit beside it.
fn has_words(text: &str, part: &str) -> bool {
    let is_free = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    text.match_indices(part).any(|(at, _)| {
        is_free(text[..at].chars().next_back()) && is_free(text[at + part.len()..].chars().next())
    })
}

fn unnamed(tests: &[Test], part: &str) -> String {
    let parts: Vec<&str> = part.split(',').map(str::trim).collect();
    if parts.len() > 1 && parts.iter().all(|part| !named_by(tests, part).is_empty()) {
        return format!("give each its own: --only {}", parts.join(" --only "));
    }
    let names: Vec<&str> = tests.iter().map(|t| t.name.as_str()).collect();
    let mut says = format!("no test or step has this in its name{}", suggest(part, &names));
    // Tests that sweep the same values are named together.
    let mut sweeps: Vec<(Vec<String>, Vec<&str>)> = Vec::new();
    for test in tests.iter().filter(|test| test.steps.len() > 1) {
        let steps: Vec<String> = test.steps.iter().map(Step::label).collect();
        match sweeps.iter_mut().find(|(known, _)| *known == steps) {
            Some((_, tests)) => tests.push(&test.name),
            None => sweeps.push((steps, vec![&test.name])),
        }
    }
    for (steps, tests) in sweeps {
        says.push_str(&format!("; steps of {}: {}", tests.join(", "), steps.join(", ")));
    }
    says
}

fn resolve_test(
    file: &TestFile,
    defaults: &Settings,
    semantics: Semantics,
    over: &Overrides,
) -> Result<Test, PlanError> {
    let mut settings = defaults.clone();
    file.settings.lay_over(&mut settings);
    // What `--set` fixes is no longer swept.
    let is_set =
        |key: SweepKey| over.settings.fixes(key) || over.sweep.iter().any(|(swept, _)| *swept == key);
    let mut sweep: Vec<_> =
        over.sweep.iter().chain(file.sweep.iter().filter(|(key, _)| !is_set(*key))).collect();
    let steady = over.settings.steady.as_ref().or(settings.steady.as_ref());
    let tracked = match steady {
        Some(SteadyFile::Sweep(point)) => Some(tracked(file, point, &sweep, over)?),
        _ => None,
    };
    let most = if over.quick { QUICK_ROUNDS } else { Goal::ROUNDS_MAX };
    let until_steady = (SweepKey::Round, (1..=most).map(|round| round.to_string()).collect());
    if tracked.is_some() && !sweep.iter().any(|(key, _)| *key == SweepKey::Round) {
        sweep.insert(0, &until_steady);
    }
    let repeat = over.settings.repeat.or(settings.repeat).unwrap_or(1);
    let rounds = (SweepKey::Round, (1..=repeat).map(|round| round.to_string()).collect());
    if repeat > 1 && !sweep.iter().any(|(key, _)| *key == SweepKey::Round) {
        // Repetitions of a load point follow one another.
        sweep.push(&rounds);
    }
    let is_tracked = |swept: &[(SweepKey, String)]| {
        tracked.as_ref().is_some_and(|point| point.iter().all(|part| swept.contains(part)))
    };
    let steps = unroll(&sweep)
        .iter()
        .map(|swept| {
            let mut step = resolve_step(file, &settings, swept, semantics, over)?;
            if is_tracked(swept) {
                step.stop.goal = Some(Goal::SteadySweep);
            }
            Ok(step)
        })
        .collect::<Result<_, _>>()?;
    Ok(Test { name: file.name.clone(), notes: file.notes.clone(), role: Role::Measured, steps })
}

/// The load point of a sweep that tells when its rounds are over, without what `--set` fixes.
fn tracked(
    file: &TestFile,
    point: &[(SweepKey, String)],
    sweep: &[&(SweepKey, Vec<String>)],
    over: &Overrides,
) -> Result<Vec<(SweepKey, String)>, PlanError> {
    let mut tracked = Vec::new();
    for (key, value) in point.iter().filter(|(key, _)| !over.settings.fixes(*key)) {
        let values = sweep.iter().find(|(swept, _)| swept == key).map_or(&[][..], |(_, values)| values);
        if values.contains(value) {
            tracked.push((*key, value.clone()));
        } else {
            let says = format!(
                "steady: {}={value} is not a value of the sweep; name a load point that it has",
                key.name()
            );
            return Err(complain(&file.place, &says));
        }
    }
    Ok(tracked)
}

/// Every combination of the swept values, the first key varying slowest.
fn unroll(sweep: &[&(SweepKey, Vec<String>)]) -> Vec<Vec<(SweepKey, String)>> {
    let mut steps = vec![Vec::new()];
    for (key, values) in sweep {
        let longer = |step: Vec<(SweepKey, String)>| {
            values.iter().map(move |value| {
                let mut step = step.clone();
                step.push((*key, value.clone()));
                step
            })
        };
        steps = steps.into_iter().flat_map(longer).collect();
    }
    steps
}

fn resolve_step(
    file: &TestFile,
    settings: &Settings,
    swept: &[(SweepKey, String)],
    semantics: Semantics,
    over: &Overrides,
) -> Result<Step, PlanError> {
    let whole = [JobFile { name: None, hosts: Vec::new(), settings: Settings::default() }];
    let job_files = if file.jobs.is_empty() { &whole[..] } else { &file.jobs[..] };
    let maximum = maximum(&file.name, swept, over);
    let (mut jobs, mut timing) = (Vec::new(), settings.clone());
    over.settings.lay_over(&mut timing);
    for (index, job_file) in job_files.iter().enumerate() {
        let mut layered = settings.clone();
        job_file.settings.lay_over(&mut layered);
        for (key, value) in swept {
            sweep_value(*key, value, &mut layered)?;
        }
        if over.is_open && semantics == Semantics::Assay && !sweeps_depth(swept) {
            without_depth_of_closed_loop(&mut layered);
        }
        over.settings.lay_over(&mut layered);
        if over.is_open {
            // A queue that is drained again and again cannot keep a rate.
            layered.reconnect_every = None;
        }
        let name = job_file.name.clone().unwrap_or_else(|| format!("job {}", index + 1));
        let place = if file.jobs.is_empty() { file.place.clone() } else { format!("{}: {name}", file.place) };
        let mut job = resolve_job(name, &place, &layered, semantics, maximum)?;
        job.hosts.clone_from(&job_file.hosts);
        job.stop = own_stop(&job_file.settings).filter(|_| own_stop(&over.settings).is_none());
        jobs.push(job);
    }
    cover(&jobs, &mut timing);
    check_workers(&file.place, &jobs)?;
    let verify = timing.verify.unwrap_or(false);
    if verify {
        check_verify(&file.place, jobs.iter(), semantics)?;
    }
    let stop = stop(&file.place, &timing, over)?;
    let whole = self::stop(&file.place, &timing, &Overrides { quick: false, ..over.clone() })?.time;
    for job in &mut jobs {
        // A job that begins late begins late in a short window too.
        job.start_delay = Nanos(scaled(job.start_delay.0, stop.time.0, whole.0));
        if job.start_delay >= stop.time {
            let says = format!(
                "start_delay: {} leaves nothing of the measured window, {}; use a longer `run`",
                job.start_delay, stop.time
            );
            return Err(complain(&file.place, &says));
        }
        if let Some(own) = job.stop.as_mut().filter(|own| own.time < RUN_BOUND) {
            own.time = Nanos(scaled(own.time.0, stop.time.0, whole.0));
        }
    }
    let swept =
        swept.iter().map(|(key, value)| Swept { key: key.name().to_owned(), value: value.clone() }).collect();
    Ok(Step {
        swept,
        jobs,
        // What was asked for by --set is not shortened: it was meant for this run.
        warmup: shorten_warmup(
            timing.warmup.unwrap_or_default(),
            over.quick && over.settings.warmup.is_none(),
        ),
        stop,
        error_limit: timing.error_limit.unwrap_or(ERROR_LIMIT_DEFAULT),
        verify,
    })
}

fn sweeps_depth(swept: &[(SweepKey, String)]) -> bool {
    swept.iter().any(|(key, _)| *key == SweepKey::Outstanding)
}

/// The depth of a closed loop is its load; as a limit of an open loop it would cap the rate in silence.
fn without_depth_of_closed_loop(settings: &mut Settings) {
    if !matches!(settings.pace, Some(PacingFile::Open(..) | PacingFile::OpenMax { .. })) {
        settings.outstanding = None;
    }
}

/// Refuses more workers than one step may have.
fn check_workers(place: &str, jobs: &[Job]) -> Result<(), PlanError> {
    let workers = jobs.iter().map(|job| job.workers).fold(0, u32::saturating_add);
    if workers <= STEP_WORKERS_MAX {
        return Ok(());
    }
    let says = format!(
        "has {workers} workers in all its jobs; at most {STEP_WORKERS_MAX} are allowed in one step: use fewer workers \
         with a larger `outstanding`"
    );
    Err(complain(place, &says))
}

/// What ends a job before the others of its test; `None` if it says nothing of it.
fn own_stop(settings: &Settings) -> Option<Stop> {
    let Settings { run, bytes, ops, passes: spans, .. } = *settings;
    let says = run.is_some() || bytes.is_some() || ops.is_some() || spans.is_some();
    says.then(|| Stop { time: run.unwrap_or(RUN_BOUND), bytes, ops, spans, goal: None })
}

/// Lets the window of a test whose jobs all have an end of their own last until the last of them.
fn cover(jobs: &[Job], timing: &mut Settings) {
    let ends: Option<Vec<(Nanos, Stop)>> =
        jobs.iter().map(|job| job.stop.map(|stop| (job.start_delay, stop))).collect();
    let Some(ends) = ends else { return };
    let time = ends.iter().map(|(delay, stop)| Nanos(delay.0.saturating_add(stop.time.0).min(RUN_BOUND.0)));
    timing.run = time.max();
    timing.bytes = ends.iter().filter_map(|(_, stop)| stop.bytes).max();
    timing.ops = ends.iter().filter_map(|(_, stop)| stop.ops).max();
    timing.passes = ends.iter().filter_map(|(_, stop)| stop.spans).max();
}

/// What is known of the highest rate of a load point, which has a search for all shares of it.
fn maximum(test: &str, swept: &[(SweepKey, String)], over: &Overrides) -> Maximum {
    let others: Vec<String> = swept
        .iter()
        .filter(|(key, _)| *key != SweepKey::Load)
        .map(|(key, value)| format!("{}={value}", key.name()))
        .collect();
    over.maxima.of(test, &others.join(" "))
}

/// Sequential writes of every span, so many times, before anything is measured.
fn precondition(times: u32) -> Test {
    let size = Bytes(128 << 10);
    let access = Access { size, read: 0.0, random: 0.0, align: size, ..Access::default() };
    let job = Job {
        name: "job 1".to_owned(),
        mix: vec![access],
        outstanding: 32,
        data: Data::Unique,
        ..Job::default()
    };
    let step = Step {
        swept: Vec::new(),
        jobs: vec![job],
        warmup: Nanos(0),
        stop: Stop { time: RUN_BOUND, spans: Some(times), ..Stop::default() },
        error_limit: ERROR_LIMIT_DEFAULT,
        verify: false,
    };
    Test {
        name: format!("Precondition: fill {times}x"),
        notes: "Sequential writes of the whole span; not a result.".to_owned(),
        role: Role::Precondition,
        steps: vec![step],
    }
}

fn stop(place: &str, settings: &Settings, over: &Overrides) -> Result<Stop, PlanError> {
    let quick = over.quick && over.settings.run.is_none();
    let bounded = settings.bytes.is_some() || settings.ops.is_some() || settings.passes.is_some();
    let run = settings.run.unwrap_or(if bounded { RUN_BOUND } else { RUN_DEFAULT });
    let time = if quick && run != RUN_BOUND { shortened(run) } else { run };
    let stop = Stop { time, bytes: settings.bytes, ops: settings.ops, spans: settings.passes, goal: None };
    let round = match &settings.steady {
        Some(SteadyFile::Window(round)) => Some(round),
        Some(SteadyFile::Sweep(_)) | None => None,
    };
    match (settings.until, round) {
        (Some(_), _) if settings.steady.is_some() => {
            Err(complain(place, "`until` and `steady` exclude each other; give one of them"))
        }
        (Some(tolerance), _) => {
            let at_most =
                settings.at_most.unwrap_or(Nanos(time.0.saturating_mul(UNTIL_TIMES).min(RUN_BOUND.0)));
            // Three looks at the interval, each a tenth later than the one before.
            let least = Nanos(Goal::FIRST_LOOK.0 * 3 / 2);
            if settings.at_most.is_some_and(|most| most < least) {
                return Err(complain(place, &format!("at_most: must be {least} or more for `until`")));
            }
            Ok(Stop { time: at_most.max(least), goal: Some(Goal::Within(tolerance)), ..stop })
        }
        (None, Some(round)) => {
            let round = if over.quick && over.settings.steady.is_none() { shortened(*round) } else { *round };
            let round = Nanos(round.0.div_ceil(SECOND.0) * SECOND.0);
            let rounds = settings.at_most.map_or(Goal::ROUNDS_MAX, |most| most.0 / round.0);
            if rounds < Goal::ROUNDS as u64 {
                return Err(complain(
                    place,
                    &format!("at_most: must be five rounds of {round} or more for `steady`"),
                ));
            }
            Ok(Stop {
                time: Nanos(round.0.saturating_mul(rounds)),
                goal: Some(Goal::Steady { round }),
                ..stop
            })
        }
        (None, None) if settings.at_most.is_some() => {
            Err(complain(place, "`at_most` limits `until` and `steady`; without them, `run` is the length"))
        }
        (None, None) => Ok(stop),
    }
}

fn shortened(run: Nanos) -> Nanos {
    run.min(Nanos(run.0 / QUICK_DIVISOR).clamp(QUICK_RUN_MIN, QUICK_RUN_MAX))
}

/// `value` x `part` / `whole`.
fn scaled(value: u64, part: u64, whole: u64) -> u64 {
    let share = u128::from(value) * u128::from(part) / u128::from(whole.max(1));
    u64::try_from(share).unwrap_or(u64::MAX)
}

fn shorten_warmup(warmup: Nanos, quick: bool) -> Nanos {
    if quick { warmup.min(QUICK_WARMUP_MAX) } else { warmup }
}

fn resolve_job(
    name: String,
    place: &str,
    settings: &Settings,
    semantics: Semantics,
    maximum: Maximum,
) -> Result<Job, PlanError> {
    let Some(lines) = &settings.access else {
        return Err(complain(
            place,
            "needs `access`, for example access = [{ size = \"8KiB\", read = 70, random = 100 }]",
        ));
    };
    let pacing = resolve_pacing(place, settings, semantics, maximum)?;
    let increment = own_rule(place, "increment", settings.increment, semantics)?.unwrap_or_default();
    let (span, window) = places(settings.window.unwrap_or_default(), increment);
    let mix = resolve_mix(place, lines, &settings.line, semantics)?;
    let workers = settings.workers.unwrap_or(1);
    let zoned = resolve_zoned(place, (settings.zoned, workers), &mix, semantics)?;
    Ok(Job {
        name,
        targets: resolve_targets(settings),
        span,
        outstanding: settings
            .outstanding
            .unwrap_or_else(|| outstanding_default(semantics, settings.pace, &mix)),
        mix,
        workers,
        pacing,
        reconnect_every: settings.reconnect_every.filter(|n| *n > 0),
        data: settings.data.unwrap_or(default_data(semantics)),
        sync: settings.sync.unwrap_or(false),
        window,
        flush: settings.flush.flatten(),
        start_delay: settings.start_delay.unwrap_or_default(),
        increment,
        strides: own_rule(place, "strides", settings.strides, semantics)?,
        zoned,
        targets_each: settings.targets_each.unwrap_or(0),
        flow: own_rule(place, "flow", settings.flow, semantics)?.unwrap_or(0),
        ends: settings.ends,
        stop: None,
        hosts: Vec::new(),
        shift: 0.0,
    })
}

/// Returns when the I/Os of a job are issued.
fn resolve_pacing(
    place: &str,
    settings: &Settings,
    semantics: Semantics,
    maximum: Maximum,
) -> Result<Pacing, PlanError> {
    let full = match (settings.pace.unwrap_or(PacingFile::Closed), settings.rate) {
        (PacingFile::Closed, None) => Pacing::Closed,
        (PacingFile::Closed, Some(rate))
        | (PacingFile::Throttled(_), Some(rate))
        | (PacingFile::Throttled(rate), None) => Pacing::Throttled { rate },
        (PacingFile::Open(rate, arrivals), over) => Pacing::Open { rate: over.unwrap_or(rate), arrivals },
        (PacingFile::OpenMax { arrivals, share }, over) => match (over, maximum) {
            (Some(rate), _) => Pacing::Open { rate, arrivals },
            (None, Maximum::Found(rate)) => {
                Pacing::Open { rate: PerSecond(rate.0 * share.unwrap_or(100.0) / 100.0), arrivals }
            }
            (None, Maximum::Sought) => Pacing::Closed,
            (None, Maximum::Unknown) => {
                return Err(complain(
                    place,
                    "pace: rate = \"max\" needs a search before the run; assay run does that for one plan at a time, \
                     without --repeat, --each and --also",
                ));
            }
        },
    };
    let is_sought = maximum == Maximum::Sought && matches!(settings.pace, Some(PacingFile::OpenMax { .. }));
    let load = settings.load.filter(|_| !is_sought);
    let pacing = load.map_or(Ok(full), |percent| partial(full, percent, place))?;
    if semantics == Semantics::Iometer && pacing != Pacing::Closed {
        return Err(complain(
            place,
            "pace: Iometer has no rates; use semantics = \"assay\", or `delay` and `burst`",
        ));
    }
    Ok(pacing)
}

/// Returns what writes write where a plan says nothing.
fn default_data(semantics: Semantics) -> Data {
    match semantics {
        Semantics::Assay | Semantics::Fio => Data::Unique,
        Semantics::Iometer => Data::IometerRepeating,
    }
}

/// Returns the queue depth where a plan gives none. A closed loop has one I/O in flight, and so has every load under
/// the rules of fio. An open loop has as many as cannot be its limit: up to [`OPEN_OUTSTANDING`], in buffers of at
/// most [`OPEN_BUFFERS`].
fn outstanding_default(semantics: Semantics, pace: Option<PacingFile>, mix: &[Access]) -> u32 {
    match pace {
        Some(PacingFile::Open(..) | PacingFile::OpenMax { .. }) if semantics == Semantics::Assay => {
            let largest = mix.iter().map(|line| line.size.max(line.reply).0).max().unwrap_or(1).max(1);
            u32::try_from(OPEN_BUFFERS.0 / largest)
                .map_or(OPEN_OUTSTANDING, |depth| depth.clamp(1, OPEN_OUTSTANDING))
        }
        _ => 1,
    }
}

/// A share of a rate, percent.
fn partial(full: Pacing, percent: f64, place: &str) -> Result<Pacing, PlanError> {
    let share = |rate: PerSecond| PerSecond(rate.0 * percent / 100.0);
    match full {
        Pacing::Closed => Err(complain(
            place,
            "load: is a share of a rate; give the rate too, for example pace = { rate = \"2000/s\", arrivals = \
             \"poisson\" }",
        )),
        Pacing::Throttled { rate } => Ok(Pacing::Throttled { rate: share(rate) }),
        Pacing::Open { rate, arrivals } => Ok(Pacing::Open { rate: share(rate), arrivals }),
    }
}

/// The first of the listed targets, or of all, where a sweep says how many.
fn resolve_targets(settings: &Settings) -> Vec<u32> {
    let count = settings.targets_count;
    match (&settings.targets, count) {
        (Some(targets), count) => {
            let count = count.map_or(usize::MAX, |count| usize::try_from(count).unwrap_or(usize::MAX));
            targets.iter().take(count).copied().collect()
        }
        (None, Some(count)) => (0..count).collect(),
        (None, None) => Vec::new(),
    }
}

fn check_verify<'j>(
    place: &str,
    jobs: impl Iterator<Item = &'j Job>,
    semantics: Semantics,
) -> Result<(), PlanError> {
    if semantics == Semantics::Iometer {
        return Err(complain(
            place,
            "verify: needs semantics = \"assay\"; Iometer lets I/Os to one block overlap",
        ));
    }
    for job in jobs {
        if job.data != Data::Unique {
            return Err(complain(
                place,
                "verify: needs data = \"unique\": the stamps make every block different",
            ));
        }
        if job.mix.iter().any(Access::trims) {
            return Err(complain(
                place,
                "verify: trimmed blocks hold no stamps; leave out `change` or `verify`",
            ));
        }
        let whole = |bytes: Bytes| bytes.0.is_multiple_of(STAMP_BYTES);
        if !job.mix.iter().all(|a| whole(a.size) && whole(a.align) && whole(a.reply)) {
            return Err(complain(place, "verify: size, align and reply must be multiples of 512 bytes"));
        }
    }
    Ok(())
}
