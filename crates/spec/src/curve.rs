//! The plans behind `assay curve`: a search for the maximum over queue depths, then shares of it as an open loop.
//!
//! Both are ordinary plans. What [`load_plan`] returns is what this text resolves to, with the numbers that the search
//! found:
//! ```toml
//! [[test]]
//! name = "4 KiB random read, maximum"
//! outstanding = 32
//! [[test]]
//! name = "4 KiB random read, open loop"
//! outstanding = 256
//! pace = { rate = "8000/s", arrivals = "poisson" }
//! sweep = { load = ["10%", "20%", "50%", "95%"] }
//! ```

use crate::limits::OPEN_OUTSTANDING;
use crate::plan::{Arrivals, Job, Pacing, Plan, Semantics, Step, Swept, Test};
use crate::units::{Nanos, PerSecond};

/// Queue depths of a sweep.
pub(crate) const CURVE_DEPTHS: [u32; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
/// Offered loads, percent of the maximum.
pub(crate) const CURVE_LOADS: [u32; 10] = [10, 20, 30, 40, 50, 60, 70, 80, 90, 95];
/// A depth of this share of the best rate is as good as the best: deeper queues only wait longer.
const ENOUGH: f64 = 0.97;

/// How long each step takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CurveTiming {
    /// Load before the measured window.
    pub warmup: Nanos,
    /// The measured window.
    pub run: Nanos,
}

/// The highest rate of a test, and the queue depth that gives it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Maximum {
    /// I/Os in flight per worker.
    pub outstanding: u32,
    /// I/Os per second of the whole job.
    pub rate: PerSecond,
}

/// A plan of which no curve can be drawn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CurveError {
    /// Jobs side by side have no common rate.
    #[error(
        "test \"{0}\" has several jobs side by side, and a curve is of one load; choose another test (--only), or give \
         each job a test of its own"
    )]
    SeveralJobs(String),
    /// Verification is no load test.
    #[error("test \"{0}\" verifies what it reads, which a curve does not; choose another test (--only)")]
    Verifies(String),
}

/// Returns the sweep over queue depths of each test of `plan`, as a closed loop. Of a test that sweeps, its first step
/// counts.
///
/// # Errors
/// When a test has several jobs, or verifies.
pub fn depth_plan(plan: &Plan, timing: CurveTiming) -> Result<Plan, CurveError> {
    let of_test = |test: &Test| {
        let step = only_job(test)?;
        let at = |depth: &u32| {
            let swept = Swept { key: "outstanding".to_owned(), value: depth.to_string() };
            with(step, timing, vec![swept], |job| Job {
                outstanding: *depth,
                pacing: Pacing::Closed,
                ..job.clone()
            })
        };
        Ok(Test { steps: CURVE_DEPTHS.iter().map(at).collect(), ..test.clone() })
    };
    let tests = plan.tests.iter().map(of_test).collect::<Result<_, _>>()?;
    Ok(Plan { semantics: Semantics::Assay, tests, ..plan.clone() })
}

/// Returns the plan of the curve: for each test of `plan` its maximum as a closed loop, then shares of it as an open
/// loop with random (Poisson) arrivals. `maxima` are of the tests in their order.
///
/// # Errors
/// When a test has several jobs, or verifies.
pub fn load_plan(plan: &Plan, maxima: &[Maximum], timing: CurveTiming) -> Result<Plan, CurveError> {
    let mut tests = Vec::new();
    for (test, maximum) in plan.tests.iter().zip(maxima) {
        let step = only_job(test)?;
        let outstanding = maximum.outstanding;
        let closed =
            with(step, timing, Vec::new(), |job| Job { outstanding, pacing: Pacing::Closed, ..job.clone() });
        let at = |percent: &u32| {
            let swept = Swept { key: "load".to_owned(), value: format!("{percent}%") };
            let rate = PerSecond(maximum.rate.0 * f64::from(*percent) / 100.0);
            let pacing = Pacing::Open { rate, arrivals: Arrivals::Poisson };
            // The depth that reaches the maximum delays arrivals that come together.
            let outstanding = outstanding.max(OPEN_OUTSTANDING);
            with(step, timing, vec![swept], |job| Job { outstanding, pacing, ..job.clone() })
        };
        let steps = CURVE_LOADS.iter().map(at).collect();
        tests.push(Test { name: format!("{}, maximum", test.name), steps: vec![closed], ..test.clone() });
        tests.push(Test { name: format!("{}, open loop", test.name), steps, ..test.clone() });
    }
    Ok(Plan { semantics: Semantics::Assay, tests, ..plan.clone() })
}

/// Returns the maximum of a sweep over queue depths, given as (depth, I/Os per second): the shallowest queue that
/// reaches 97 % of the highest rate, with its rate. `None` if nothing was completed.
pub fn maximum_of(rates: &[(u32, f64)]) -> Option<Maximum> {
    let best = rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    let enough = rates.iter().filter(|(_, rate)| best > 0.0 && *rate >= best * ENOUGH);
    let (outstanding, rate) = enough.min_by_key(|(depth, _)| *depth)?;
    Some(Maximum { outstanding: *outstanding, rate: PerSecond(*rate) })
}

/// The first step of a test that a curve can be drawn of.
fn only_job(test: &Test) -> Result<&Step, CurveError> {
    let step = &test.steps[0];
    if step.jobs.len() > 1 {
        return Err(CurveError::SeveralJobs(test.name.clone()));
    }
    if step.verify {
        return Err(CurveError::Verifies(test.name.clone()));
    }
    Ok(step)
}

/// A step with other timing and another load.
fn with(step: &Step, timing: CurveTiming, swept: Vec<Swept>, load: impl Fn(&Job) -> Job) -> Step {
    // A queue that is drained again and again has no steady rate.
    let jobs = step.jobs.iter().map(|job| Job { reconnect_every: None, ..load(job) }).collect();
    let stop = crate::plan::Stop { time: timing.run, ..crate::plan::Stop::default() };
    Step { swept, jobs, warmup: timing.warmup, stop, ..step.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Overrides, PlanFile};

    fn plan(text: &str) -> Plan {
        PlanFile::parse("plan.toml", text).unwrap().resolve(&Overrides::default()).unwrap()
    }

    const SECONDS: CurveTiming = CurveTiming { warmup: Nanos::from_secs(1), run: Nanos::from_secs(10) };
    const BASE: &str = "[[test]]\nname = \"t\"\naccess = [{ size = \"4KiB\", random = 100 }]\n";

    #[test]
    fn a_curve_is_what_a_plan_file_of_the_same_loads_resolves_to() {
        let maximum = Maximum { outstanding: 8, rate: PerSecond(8000.0) };
        let made = load_plan(&plan(BASE), &[maximum], SECONDS).unwrap();
        let timing = "warmup = \"1s\"\nrun = \"10s\"\n";
        let loads: Vec<String> = CURVE_LOADS.iter().map(|load| format!("\"{load}%\"")).collect();
        let written = plan(&format!(
            "{}{timing}outstanding = 8\n{}{timing}pace = {{ rate = \"8000/s\", arrivals = \"poisson\" }}\n\
             sweep = {{ load = [{}] }}\n",
            BASE.replace("\"t\"", "\"t, maximum\""),
            BASE.replace("\"t\"", "\"t, open loop\""),
            loads.join(", ")
        ));
        assert_eq!(made.tests, written.tests);
    }

    #[test]
    fn the_shallowest_queue_with_nearly_the_best_rate_is_the_maximum() {
        let rates = [(1, 500.0), (2, 990.0), (4, 1000.0), (8, 985.0)];
        assert_eq!(maximum_of(&rates), Some(Maximum { outstanding: 2, rate: PerSecond(990.0) }));
        assert_eq!(maximum_of(&[(1, 0.0)]), None);
    }

    #[test]
    fn a_test_with_jobs_side_by_side_has_no_curve() {
        let jobs = format!("{BASE}[[test.job]]\nname = \"a\"\n[[test.job]]\nname = \"b\"\n");
        assert_eq!(depth_plan(&plan(&jobs), SECONDS), Err(CurveError::SeveralJobs("t".into())));
    }

    #[test]
    fn a_load_is_a_share_of_its_rate_and_needs_one() {
        let rated =
            plan(&format!("{BASE}pace = {{ rate = \"400/s\", arrivals = \"poisson\" }}\nload = \"25%\"\n"));
        assert_eq!(rated.tests[0].steps[0].jobs[0].pacing.rate(), Some(PerSecond(100.0)));
        let closed = PlanFile::parse("plan.toml", &format!("{BASE}load = \"25%\"\n")).unwrap();
        let refused = closed.resolve(&Overrides::default()).unwrap_err().to_string();
        assert!(refused.contains("a share of a rate"), "{refused}");
    }
}
