//! Published results of the tests of a run: each set-up of an article that has at least half of them.

use assay_model::published::{self, Published};
use assay_statistics::geometric_mean;

use crate::summary::{RunSummary, StepSummary};

/// A set-up that somebody published, with the tests that the run has too.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedSetup {
    /// The system, and which of its set-ups where the article has several.
    pub name: String,
    /// Author, title, year.
    pub source: String,
    /// IOPS by the name of the test in the run.
    pub iops: Vec<(String, f64)>,
    /// IOPS of the run over these, the geometric mean.
    pub ratio: f64,
}

/// Returns the published set-ups with the same tests, the nearest to the run first.
pub fn published_beside(summary: &RunSummary) -> Vec<PublishedSetup> {
    let is_measured = |s: &&StepSummary| s.skipped.is_none() && s.unmeasured.is_none() && s.total.ops > 0;
    let steps: Vec<&StepSummary> = summary.steps.iter().filter(is_measured).collect();
    // A sweep has no counterpart in a table, and a null target no equal.
    if steps.is_empty() || steps.iter().any(|step| !step.step.is_empty()) {
        return Vec::new();
    }
    let tables = published::all().unwrap_or_default();
    let mut found: Vec<PublishedSetup> = tables.iter().flat_map(|table| of_table(table, &steps)).collect();
    found.retain(|setup| setup.iops.len() * 2 >= steps.len());
    found.sort_by(|a, b| a.ratio.ln().abs().total_cmp(&b.ratio.ln().abs()));
    found
}

/// The set-ups of a table: rows whose names end in the name of a test, by what stands before it.
fn of_table(table: &Published, steps: &[&StepSummary]) -> Vec<PublishedSetup> {
    let mut setups: Vec<(String, Vec<(String, f64)>)> = Vec::new();
    for row in &table.rows {
        let Some(iops) = row.measured_iops().filter(|iops| *iops > 0.0) else { continue };
        let named = |step: &&&StepSummary| {
            let before = row.test.strip_suffix(step.test.as_str())?;
            (before.is_empty() || before.ends_with(' '))
                .then(|| (before.trim_end_matches([' ', '/']).to_owned(), step.test.clone()))
        };
        let Some((setup, test)) = steps.iter().find_map(|step| named(&step)) else { continue };
        match setups.iter_mut().find(|(known, _)| *known == setup) {
            Some((_, rows)) => rows.push((test, iops)),
            None => setups.push((setup, vec![(test, iops)])),
        }
    }
    let ratio = |rows: &[(String, f64)]| {
        let of = |(test, iops): &(String, f64)| {
            steps.iter().find(|step| step.test == *test).map(|step| step.total.iops / iops)
        };
        geometric_mean(&rows.iter().filter_map(of).collect::<Vec<f64>>())
    };
    let setup = |(setup, iops): (String, Vec<(String, f64)>)| PublishedSetup {
        name: if setup.is_empty() { table.system.clone() } else { format!("{}, {setup}", table.system) },
        source: table.source.clone(),
        ratio: ratio(&iops),
        iops,
    };
    setups.into_iter().map(setup).collect()
}
