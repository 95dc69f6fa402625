//! Runs in short as a comparison sees them: their digests, which need neither their events nor their headers.

use std::sync::Arc;

use assay_record::{FigureDigest, RunDigest, RunHeader, TestDigest};
use assay_statistics::Estimate;

use super::result_set::{OWNER, TARGET, known};
use super::{Facet, ResultSet, Row, Source, Weight, facets, load_facets};
use crate::summary::StepSummary;

/// The facet that names the way to the storage. Two ways can be compared; they are no repetitions of each other.
const WAY: &str = "I/O issued by";
/// Name of the condition that holds whether I/O bypasses this host's page cache.
const BYPASSING: &str = "bypassing the page cache";
/// Name of the part of a load that holds the I/Os in flight; of one of several jobs behind its name.
const IN_FLIGHT: &str = "I/Os in flight";

/// Returns what all results of a run depend on, by name.
pub(crate) fn deciding(header: &RunHeader) -> Vec<(String, String)> {
    let decides = |facet: &Facet| {
        facet.weight >= Weight::Changed || [TARGET, OWNER, WAY].contains(&facet.name.as_str())
    };
    facets(header).into_iter().filter(decides).map(|facet| (facet.name, facet.value)).collect()
}

/// Returns the load of a step, by name.
pub(crate) fn load(header: &RunHeader, step: &StepSummary) -> Vec<(String, String)> {
    let tests = header.plan.tests.get(step.id.test as usize);
    let Some(planned) = tests.and_then(|test| test.steps.get(step.id.step as usize)) else {
        return Vec::new();
    };
    let facets = known(header, load_facets(planned)).into_iter();
    facets.filter(|facet| facet.weight >= Weight::Changed).map(|facet| (facet.name, facet.value)).collect()
}

/// How a test was measured in effect, whatever of plan, command line and target decided it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Effective {
    /// I/Os in flight of all its jobs; 0 where that is not known.
    pub depth: u64,
    /// Whether the page cache of this host was used; `None` where that is not known.
    pub cached: Option<bool>,
    /// The way to the storage: `uring`, `iscsi`.
    pub path: String,
}

/// Returns how a test was measured, by the digest of its run.
pub fn effective(digest: &RunDigest, test: &TestDigest) -> Effective {
    let of_run = |name: &str| digest.under.iter().find(|(known, _)| known == name).map(|(_, value)| value);
    let depths = test.load.iter().filter(|(name, _)| name.ends_with(IN_FLIGHT));
    Effective {
        depth: depths.filter_map(|(_, value)| value.parse::<u64>().ok()).sum(),
        cached: of_run(BYPASSING).map(|value| value != "yes"),
        path: of_run(WAY).cloned().unwrap_or_default(),
    }
}

impl ResultSet {
    /// Returns the targets of a run, as its list of conditions has them.
    pub fn targets(&self) -> Option<&str> {
        self.facets.iter().find(|facet| facet.name == TARGET).map(|facet| facet.value.as_str())
    }

    /// Whether a run in short is of the same loads under the same conditions, as far as both are known.
    pub fn is_of_load(&self, digest: &RunDigest) -> bool {
        let is_same = |facets: &[Facet], (name, value): &(String, String)| {
            facets.iter().find(|facet| facet.name == *name).is_none_or(|facet| facet.value == *value)
        };
        let row =
            |test: &TestDigest| self.rows.iter().find(|row| row.test == test.test && row.step == test.step);
        let loads = || digest.tests.iter().filter_map(|test| Some((row(test)?, &test.load)));
        loads().count() > 0
            && digest.under.iter().all(|pair| is_same(&self.facets, pair))
            && loads().all(|(row, load)| load.iter().all(|pair| is_same(&row.facets, pair)))
    }

    /// Of the digest of a run, for how far repetitions lie apart: figures and conditions without curves, seconds,
    /// findings and expectations. `None` where the digest is from before its load was kept.
    pub fn of_digest(run: &str, plan: &str, targets: &str, digest: &RunDigest) -> Option<Self> {
        let is_known = !digest.under.is_empty() && digest.tests.iter().all(|test| !test.load.is_empty());
        is_known.then(|| Self {
            id: run.to_owned(),
            source: Source::Run,
            about: format!("{plan} on {targets}"),
            facets: digest.under.iter().map(condition).collect(),
            rows: digest.tests.iter().map(row).collect(),
            ..Self::default()
        })
    }
}

fn condition((name, value): &(String, String)) -> Facet {
    let weight = if [TARGET, OWNER, WAY].contains(&name.as_str()) { Weight::Subject } else { Weight::Breaks };
    Facet::new(name, value.clone(), weight)
}

fn row(test: &TestDigest) -> Row {
    let ms = |figure: FigureDigest| Estimate {
        lo: figure.lo.map(|us| us / 1e3),
        hi: figure.hi.map(|us| us / 1e3),
        ..Estimate::bare(figure.value / 1e3)
    };
    Row {
        test: test.test.clone(),
        step: test.step.clone(),
        facets: test
            .load
            .iter()
            .map(|(name, value)| Facet::new(name, value.clone(), Weight::Changed))
            .collect(),
        is_paced: test.is_paced,
        iops: test.iops.value,
        mib_per_s: test.mib_per_s.value,
        mean_ms: test.mean_us.map(|mean| mean.value / 1e3),
        p50_ms: test.p50_us.map(ms),
        p99_ms: test.p99_us.map(ms),
        curve_ms: Vec::new(),
        seconds: Vec::new(),
        heat: Arc::default(),
        expected: None,
        is_bound: false,
    }
}
