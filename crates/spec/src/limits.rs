//! How much a plan may ask for. A plan within these limits starts within a second; what is beyond them is refused with
//! the place, the number found and the limit.

use crate::file::{PlanFile, Settings, SweepKey, TestFile};
use crate::reader::PlanError;
use crate::resolve::Overrides;

/// The largest plan file, bytes: ten times what the most steps take when each is written out.
pub const PLAN_BYTES_MAX: u64 = 4 << 20;
/// The most steps of a plan, over all tests and sweeps. Results are kept in memory: about 300 KiB for each job of a
/// step, so 1.5 GiB for these.
pub const STEPS_MAX: usize = 5_000;
/// The most jobs of a plan, summed over its steps; see [`STEPS_MAX`].
pub const LOADS_MAX: usize = 5_000;
/// The most jobs of one test: they run side by side.
pub const JOBS_MAX: usize = 256;
/// The most workers of all jobs of a step: each is a thread with a queue of its own.
pub const STEP_WORKERS_MAX: u32 = 1024;
/// The most access lines of one job: each has distributions of its own, about 500 KiB for each worker.
pub const LINES_MAX: usize = 1_000;
/// The most access lines of a plan, summed over the jobs of all steps: the record of a run has them all.
pub const LINES_OF_PLAN_MAX: usize = 100_000;
/// The longest name of a test or a job, characters: a wider one fits no table.
pub const NAME_CHARS_MAX: usize = 200;
/// The longest text of a swept value, characters.
pub(crate) const VALUE_CHARS_MAX: usize = 64;

/// Refuses a plan that is too large, before anything of it is unrolled.
pub(crate) fn check(file: &PlanFile, over: &Overrides) -> Result<(), PlanError> {
    let mut sum = Extent::default();
    for test in &file.tests {
        let of_test = Extent::of_test(test, &file.defaults, over);
        sum.add(&of_test);
        let found = [
            (sum.steps, STEPS_MAX, "steps"),
            (sum.loads, LOADS_MAX, "jobs, summed over their steps"),
            (sum.lines, LINES_OF_PLAN_MAX, "access lines, summed over jobs and steps"),
        ];
        for (count, most, what) in found {
            if count > most {
                let message = format!(
                    "up to here the plan has {count} {what}; at most {most} are allowed: sweep fewer values, or make \
                     several plans of it"
                );
                return Err(PlanError { place: test.place.clone(), message });
            }
        }
    }
    Ok(())
}

/// What a plan unrolls to.
#[derive(Default)]
struct Extent {
    steps: usize,
    loads: usize,
    lines: usize,
}

impl Extent {
    fn of_test(test: &TestFile, defaults: &Settings, over: &Overrides) -> Self {
        let is_set =
            |key: SweepKey| over.settings.fixes(key) || over.sweep.iter().any(|(swept, _)| *swept == key);
        let swept = over.sweep.iter().chain(test.sweep.iter().filter(|(key, _)| !is_set(*key)));
        let layers = [Some(&over.settings), Some(&test.settings), Some(defaults)];
        let repeat = layers.into_iter().flatten().find_map(|layer| layer.repeat).unwrap_or(1) as usize;
        let steps = swept.map(|(_, values)| values.len()).fold(repeat, usize::saturating_mul);
        let lines_of = |job: Option<&Settings>| {
            let layers = [Some(&over.settings), job, Some(&test.settings), Some(defaults)];
            layers.into_iter().flatten().find_map(|layer| layer.access.as_ref()).map_or(0, Vec::len)
        };
        let lines = match &test.jobs[..] {
            [] => lines_of(None),
            jobs => jobs.iter().map(|job| lines_of(Some(&job.settings))).sum(),
        };
        let jobs = test.jobs.len().max(1);
        Self { steps, loads: steps.saturating_mul(jobs), lines: steps.saturating_mul(lines) }
    }

    fn add(&mut self, other: &Self) {
        self.steps = self.steps.saturating_add(other.steps);
        self.loads = self.loads.saturating_add(other.loads);
        self.lines = self.lines.saturating_add(other.lines);
    }
}
