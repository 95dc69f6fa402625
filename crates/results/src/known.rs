//! Targets as they were read last: one of which no run changed is not read again, and of one whose runs are all asked
//! for, only the part of them that changed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use assay_analysis::trend::{Trend, TrendEvent};
use assay_store::{ListedRun, Look, Overview, Reader, StoreError, TargetVersion};

use crate::targets::TargetRuns;

/// Runs of all targets, and points of their trends, that are remembered: each takes some hundred bytes.
const KNOWN_MAX: usize = 300_000;

/// Runs of targets that were read whole, and their tests, that are remembered: each takes about a KiB. A target with
/// more is read whole each time.
const WHOLE_MAX: usize = 100_000;

/// A target with its trends.
#[derive(Debug, Clone, Default)]
pub struct TargetHistory {
    /// The target. Digests may lack what no trend needs, and be missing where all tests of a run were measured again
    /// later.
    pub target: TargetRuns,
    /// The trend of each of its tests.
    pub trends: Vec<Trend>,
    /// What happened beside the figures.
    pub events: Vec<TrendEvent>,
}

/// What was read of some targets, from the newest runs of each.
#[derive(Debug, Default)]
pub struct KnownTargets {
    overview: Mutex<Overview>,
    known: Mutex<Remembered>,
    /// The one that was asked for last at the end.
    whole: Mutex<Vec<(String, Whole)>>,
}

#[derive(Debug, Default)]
struct Remembered {
    /// By address, and the number of runs that was asked for.
    targets: BTreeMap<(String, usize), Known>,
    /// Of all of them together.
    weight: usize,
}

#[derive(Debug, Clone)]
struct Known {
    /// What the store called the runs of the target when the history was read.
    version: TargetVersion,
    history: Arc<TargetHistory>,
}

/// A target with all its runs.
#[derive(Debug, Clone, Default)]
struct Whole {
    /// By the parts in which the store is looked at.
    parts: BTreeMap<i64, WholePart>,
    history: Arc<TargetHistory>,
}

/// The runs of a part, the newest first.
#[derive(Debug, Clone)]
struct WholePart {
    /// What the store called them when they were read; `None` if something of them could not be read: its repair
    /// changes no checksum.
    version: Option<TargetVersion>,
    runs: Vec<Arc<ListedRun>>,
}

impl TargetHistory {
    /// Reads what there is of a target, the newest `limit` runs of it; no event is read.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn read(store: &Reader, address: &str, limit: usize) -> Result<Self, StoreError> {
        Ok(Self::of(TargetRuns::read(store, address, limit)?))
    }

    fn of(target: TargetRuns) -> Self {
        Self { trends: target.trends(), events: target.events(), target }
    }

    /// Returns the number of runs and points.
    fn weight(&self) -> usize {
        let points = self.trends.iter().map(|trend| trend.points.len() + trend.others.len()).sum::<usize>();
        self.target.runs.len() + points
    }
}

impl Remembered {
    /// Keeps what was read; without room what is there stays: all targets are read in turn, and none would be known
    /// when it is asked for again.
    fn keep(&mut self, key: (String, usize), known: Known, look: &Look) {
        if let Some(old) = self.targets.remove(&key) {
            self.weight -= old.history.weight();
        }
        if self.targets.len() > look.targets() {
            self.targets.retain(|(address, _), _| look.runs_on(address) > 0);
            self.weight = self.targets.values().map(|known| known.history.weight()).sum();
        }
        let weight = known.history.weight();
        if self.weight + weight <= KNOWN_MAX {
            self.weight += weight;
            self.targets.insert(key, known);
        }
    }
}

impl KnownTargets {
    /// Looks at what was added, changed or removed since the last look.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn look(&self, store: &Reader) -> Result<Arc<Look>, StoreError> {
        let lock = || self.overview.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody waits for the database of another one. What is put back may be the older of two looks; then some of it
        // is read once more.
        let mut overview = lock().clone();
        let look = store.look(&mut overview)?;
        *lock() = overview;
        Ok(look)
    }

    /// Reads a target as [`TargetHistory::read`] does, anew where by the look a run of it was added, changed or removed
    /// since. The look comes first: what is written in between is noticed the next time.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn read(
        &self,
        store: &Reader,
        look: &Look,
        address: &str,
        limit: usize,
    ) -> Result<Arc<TargetHistory>, StoreError> {
        let version = look.version_of(address);
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (address.to_owned(), limit);
        let is_same = |known: &&Known| known.version == version;
        if let Some(known) = lock().targets.get(&key).filter(is_same) {
            return Ok(Arc::clone(&known.history));
        }
        let mut history = TargetHistory::read(store, address, limit)?;
        history.target.forget_older_digests();
        let history = Arc::new(history);
        lock().keep(key, Known { version, history: Arc::clone(&history) }, look);
        Ok(history)
    }

    /// Reads a target with all its runs. Of a remembered one only the parts are read in which, by the look, a run was
    /// added, changed or removed since.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn read_whole(
        &self,
        store: &Reader,
        look: &Look,
        address: &str,
    ) -> Result<Arc<TargetHistory>, StoreError> {
        let lock = || self.whole.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lock().iter().find(|(known, _)| known == address).map(|(_, whole)| whole.clone());
        let whole = match known {
            Some(known) => known.again(store, look, address)?,
            None => Whole::default().again(store, look, address)?,
        };
        let history = Arc::clone(&whole.history);
        let mut all = lock();
        all.retain(|(known, _)| known != address && look.runs_on(known) > 0);
        if whole.weight() <= WHOLE_MAX {
            all.push((address.to_owned(), whole));
        }
        let mut weight = 0;
        let keep = all.iter().rev().take_while(|(_, whole)| {
            weight += whole.weight();
            weight <= WHOLE_MAX
        });
        let dropped = all.len() - keep.count();
        all.drain(..dropped);
        Ok(history)
    }
}

impl Whole {
    /// Returns the number of runs and tests.
    fn weight(&self) -> usize {
        let tests = |run: &Arc<ListedRun>| run.digest.as_ref().map_or(0, |digest| digest.tests.len());
        self.history.target.runs.iter().map(|run| 1 + tests(run)).sum()
    }

    /// Reads what changed since it was read.
    fn again(mut self, store: &Reader, look: &Look, address: &str) -> Result<Self, StoreError> {
        let mut parts: BTreeMap<i64, WholePart> = BTreeMap::new();
        let mut has_changed = false;
        for (number, version) in look.parts_of(address) {
            let part = match self.parts.remove(&number).filter(|part| part.version.as_ref() == Some(&version))
            {
                Some(part) => part,
                None => {
                    has_changed = true;
                    let runs = store.runs_of_part(address, number)?;
                    let version = runs.iter().all(is_read).then_some(version);
                    WholePart { version, runs: runs.into_iter().map(of_trends).map(Arc::new).collect() }
                }
            };
            parts.insert(number, part);
        }
        // What is left has no run of the target any more.
        if !has_changed && self.parts.is_empty() && self.history.target.address == address {
            return Ok(Self { parts, history: self.history });
        }
        // Of runs that started at once the last that was added is the newest.
        let mut runs: Vec<Arc<ListedRun>> =
            parts.values().rev().flat_map(|part| &part.runs).map(Arc::clone).collect();
        runs.sort_by_key(|run| std::cmp::Reverse(run.row.started_unix_ms));
        let target = TargetRuns { address: address.to_owned(), count: runs.len(), runs };
        Ok(Self { parts, history: Arc::new(TargetHistory::of(target)) })
    }
}

/// Whether all of a run was read that its row and its digest have to say.
fn is_read(run: &ListedRun) -> bool {
    run.row.unreadable.is_none() && (run.digest.is_some() || run.row.is_running)
}

/// Returns a run without what no trend needs.
fn of_trends(mut run: ListedRun) -> ListedRun {
    if let Some(digest) = &mut run.digest {
        (digest.findings, digest.spark, digest.verdict) = Default::default();
    }
    run
}
