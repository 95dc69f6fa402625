//! Counts what a plan unrolls to, and compares it with the limits before anything is unrolled.

use crate::file::{PlanFile, Settings, SteadyFile, SweepKey, TestFile};
use crate::goal::Goal;
use crate::limits::{LINES_OF_PLAN_MAX, LOADS_MAX, STEPS_MAX};
use crate::overrides::Overrides;
use crate::plan_error::PlanError;

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
                    "up to here the plan has {count} {what}; at most {most} are allowed: sweep fewer values, or split \
                     the plan"
                );
                return Err(PlanError::new(test.place.clone(), message));
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
        let is_sweep = |layer: &&Settings| layer.steady.is_some();
        let rounds = match layers.into_iter().flatten().find(is_sweep).and_then(|layer| layer.steady.as_ref())
        {
            Some(SteadyFile::Sweep(_)) => usize::try_from(Goal::ROUNDS_MAX).unwrap_or(usize::MAX),
            _ => 1,
        };
        let repeat = repeat.max(rounds);
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
