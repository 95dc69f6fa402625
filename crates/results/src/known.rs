//! Targets as they were read last: one of which no run changed is not read again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use assay_analysis::trend::Trend;
use assay_store::{Reader, RunFilter, StoreError};

use crate::targets::TargetRuns;

/// Targets that are remembered at once: each has the rows of its runs and the points of its trends, 300 KiB for 400
/// runs.
const KNOWN_MAX: usize = 64;

/// A target with its trends.
#[derive(Debug, Clone)]
pub struct TargetHistory {
    /// The target. Runs whose tests were all measured again later may be without their digests.
    pub target: TargetRuns,
    /// The trend of each of its tests.
    pub trends: Vec<Trend>,
}

/// What was read of some targets, from the newest runs of each.
#[derive(Debug, Default)]
pub struct KnownTargets {
    known: Mutex<BTreeMap<(String, usize), Known>>,
}

#[derive(Debug, Clone)]
struct Known {
    /// What the store called the runs of the target when the history was read.
    version: String,
    history: Arc<TargetHistory>,
}

impl TargetHistory {
    /// Reads what there is of a target, the newest `limit` runs of it; no event is read.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn read(store: &Reader, address: &str, limit: usize) -> Result<Self, StoreError> {
        let target = TargetRuns::read(store, address, limit)?;
        Ok(Self { trends: target.trends(), target })
    }
}

impl KnownTargets {
    /// The same, read anew where a run of the target was added, changed or removed since.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn read(
        &self,
        store: &Reader,
        address: &str,
        limit: usize,
    ) -> Result<Arc<TargetHistory>, StoreError> {
        let filter = RunFilter { on_target: Some(address.to_owned()), ..RunFilter::default() };
        // Before the runs: what is written in between is noticed the next time.
        let version = store.version_of(&filter)?;
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (address.to_owned(), limit);
        let is_same = |known: &&Known| known.version == version;
        if let Some(known) = lock().get(&key).filter(is_same) {
            return Ok(Arc::clone(&known.history));
        }
        let mut history = TargetHistory::read(store, address, limit)?;
        history.target.forget_older_digests();
        let history = Arc::new(history);
        let mut all = lock();
        if all.len() >= KNOWN_MAX {
            all.pop_first();
        }
        all.insert(key, Known { version, history: Arc::clone(&history) });
        Ok(history)
    }
}
