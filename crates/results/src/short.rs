//! Runs of a list against the baselines of their plans and targets, by digests alone.

use std::collections::{HashMap, HashSet};

use assay_analysis::compare::{Change, ResultSet, Side, compare_same};
use assay_analysis::trend::Level;
use assay_record::{RunDigest, TestDigest};
use assay_store::{Baseline, ListedRun, Reader, RunFilter, StoreError};

use crate::baseline::{keys_of_row, runs_of_baseline};

/// Every baseline, with its repetitions in short.
#[derive(Debug, Clone, Default)]
pub struct Baselines(Vec<Repetitions>);

/// A baseline in short.
#[derive(Debug, Clone)]
struct Repetitions {
    baseline: Baseline,
    runs: Vec<String>,
    digests: Vec<RunDigest>,
}

/// A run against its baseline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum InShort {
    /// It is one of the repetitions.
    Own,
    /// The IOPS of its first test over the level of the baseline.
    Ratio {
        /// Over the level.
        ratio: f64,
        /// Whether that is real, as a comparison with the repetitions of the baseline says.
        change: Change,
    },
}

impl Baselines {
    /// Reads all baselines.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn read(store: &Reader) -> Result<Self, StoreError> {
        let read = |baseline: Baseline| -> Result<Repetitions, StoreError> {
            let runs = runs_of_baseline(store, &baseline)?;
            let digests = runs.iter().filter_map(|run| store.digest(run).transpose());
            let digests = digests.collect::<Result<_, _>>()?;
            Ok(Repetitions { baseline, runs, digests })
        };
        Ok(Self(store.baselines()?.into_iter().map(read).collect::<Result<_, _>>()?))
    }

    /// Returns the level of the baseline of a plan on the first of these targets (names in the store) that has one, in
    /// each test of its first repetition, where the repetitions measured what this reading does.
    pub fn levels(&self, plan: &str, targets: &[String], reading: &ResultSet) -> Vec<(&TestDigest, Level)> {
        let is_on = |of: &&Repetitions| of.baseline.plan == plan && targets.contains(&of.baseline.address);
        let Some(of) = self.0.iter().find(is_on) else { return Vec::new() };
        let same: Vec<RunDigest> =
            of.digests.iter().filter(|digest| reading.is_of_load(digest)).cloned().collect();
        let first = of.digests.iter().find(|digest| reading.is_of_load(digest));
        let tests = first.iter().flat_map(|digest| &digest.tests);
        tests.filter_map(|test| Some((test, Level::of_digests(&same, test)?))).collect()
    }

    /// Returns the runs that pass a filter and have a ratio to their baseline, the lowest first.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn sorted(&self, store: &Reader, filter: &RunFilter) -> Result<Vec<String>, StoreError> {
        let mut found: Vec<(f64, String)> = Vec::new();
        // A run on two targets that both have a baseline goes by the first, as it is shown.
        let mut known: HashSet<String> = HashSet::new();
        for of in &self.0 {
            let on_target = Some(of.baseline.address.clone());
            let runs = store.first_tests(&RunFilter { on_target, ..filter.clone() }, &of.baseline.plan)?;
            let mut levels: HashMap<i64, Option<f64>> = HashMap::new();
            for run in runs.into_iter().filter(|run| !of.runs.contains(&run.run)) {
                let level = match levels.get(&run.load) {
                    Some(level) => *level,
                    // All runs of that load have the level of any of them that can be read.
                    None => match store.digest(&run.run)? {
                        Some(digest) => *levels.entry(run.load).or_insert(of.level_in(&digest)),
                        None => continue,
                    },
                };
                if let Some(level) = level.filter(|_| known.insert(run.run.clone())) {
                    found.push((run.iops / level, run.run));
                }
            }
        }
        found.sort_by(|(a, a_run), (b, b_run)| a.total_cmp(b).then_with(|| b_run.cmp(a_run)));
        Ok(found.into_iter().map(|(_, run)| run).collect())
    }

    /// Returns how a run stands; `None` where it has no baseline, or no test that both have completed.
    pub fn against(&self, store: &Reader, run: &ListedRun) -> Option<InShort> {
        let of = self.of(store, run)?;
        if of.runs.contains(&run.row.run) {
            return Some(InShort::Own);
        }
        let (ratio, test) = of.ratio(run)?;
        Some(InShort::Ratio { ratio, change: of.change(run, test) })
    }

    /// Returns the baseline of a run.
    fn of(&self, store: &Reader, run: &ListedRun) -> Option<&Repetitions> {
        if !self.0.iter().any(|of| of.baseline.plan == run.row.name) {
            return None;
        }
        // Without them nothing can be said of the run, and the list goes on.
        let targets = keys_of_row(store, &run.row).unwrap_or_default();
        let is_of =
            |of: &&Repetitions| of.baseline.plan == run.row.name && targets.contains(&of.baseline.address);
        self.0.iter().find(is_of)
    }
}

impl Repetitions {
    /// Returns the IOPS of the first test of a run over the level of the baseline.
    fn ratio<'r>(&self, run: &'r ListedRun) -> Option<(f64, &'r TestDigest)> {
        let digest = run.digest.as_ref()?;
        let test = first_test(digest)?;
        Some((test.iops.value / self.level_in(digest)?, test))
    }

    /// Returns the IOPS of the baseline in the first test of a run.
    fn level_in(&self, digest: &RunDigest) -> Option<f64> {
        let level = Level::of_digests(&self.digests, first_test(digest)?)?.iops.value;
        Some(level).filter(|level| *level > 0.0)
    }

    /// Returns whether the IOPS of a test of a run differ by more than the repetitions do.
    fn change(&self, run: &ListedRun, test: &TestDigest) -> Change {
        let targets = run.row.targets.join(", ");
        let reading = |digest: &RunDigest| {
            let mut set = ResultSet::of_digest(&run.row.run, &run.row.name, &targets, digest)?;
            set.rows.retain(|row| row.test == test.test && row.step == test.step);
            Some(set)
        };
        let side = |readings: Vec<ResultSet>| Side { name: String::new(), readings };
        let sides = [
            side(self.digests.iter().filter_map(reading).collect()),
            side(run.digest.iter().filter_map(reading).collect()),
        ];
        if sides.iter().any(|side| side.readings.is_empty()) {
            return Change::Unknown;
        }
        let comparison = compare_same(&sides, &[]);
        let pair = comparison.tests.first().filter(|pair| !pair.is_paced);
        let against = pair.and_then(|pair| pair.cells.get(1)?.as_ref()?.against.as_ref());
        against.map_or(Change::Unknown, |against| against.change)
    }
}

/// Returns what a run goes by in a list.
fn first_test(digest: &RunDigest) -> Option<&TestDigest> {
    digest.tests.iter().find(|test| test.complete)
}
