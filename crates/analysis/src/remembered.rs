//! What the model said of loads before. Runs of one plan on one array ask it the same of each load, and an answer takes
//! a simulation: 5 ms and more, thousands of times where runs are imported, compared, or watched while they go on. An
//! answer depends on its question alone, so the ones that are remembered are those that would be computed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use assay_model::array::{Array, ArrayError, parse_stored};
use assay_model::concurrent::{Concurrent, predict_concurrent};
use assay_model::from_plan::CONCURRENT_IOS;
use assay_model::predict::{Engines, predict_inside};
use assay_model::resolved::Tables;
use assay_model::workload::Workload;

use crate::case::Modelled;

/// Arrays that are remembered at once, each with its text of a few KiB.
const ARRAYS_MAX: usize = 16;
/// Loads that are remembered of an array: the largest plans that ship have 100. An answer takes about 4 KiB, so that
/// all together take 16 MiB at the most.
const LOADS_MAX: usize = 256;

/// The arrays, the one that was asked for last at the end.
static ARRAYS: Mutex<Vec<Arc<KnownArray>>> = Mutex::new(Vec::new());

/// An array as the header of a run has it, with what was asked of it.
#[derive(Debug)]
pub(crate) struct KnownArray {
    text: String,
    /// As its text describes it.
    pub(crate) array: Arc<Array>,
    loads: Mutex<Vec<Modelled>>,
    concurrent: Mutex<Vec<(Vec<Workload>, Arc<Concurrent>)>>,
}

/// Reads the array of a run, unless it was read before.
pub(crate) fn array(text: &str) -> Result<Arc<KnownArray>, ArrayError> {
    let known = {
        let mut arrays = locked(&ARRAYS);
        let place = arrays.iter().position(|known| known.text == text);
        place.map(|place| {
            let known = arrays.remove(place);
            arrays.push(Arc::clone(&known));
            known
        })
    };
    if let Some(known) = known {
        return Ok(known);
    }
    let new = Arc::new(KnownArray {
        text: text.to_owned(),
        array: Arc::new(parse_stored("the run's array", text)?),
        loads: Mutex::default(),
        concurrent: Mutex::default(),
    });
    keep(&ARRAYS, Arc::clone(&new), ARRAYS_MAX);
    Ok(new)
}

impl KnownArray {
    /// Returns what to expect of a load. Where on the array it lies may be unknown: then the expectation holds all
    /// places.
    pub(crate) fn load(&self, workload: Workload, is_placed: bool, tables: &mut Tables) -> Modelled {
        let is_same = |known: &&Modelled| known.is_placed == is_placed && known.workload == workload;
        if let Some(known) = locked(&self.loads).iter().find(is_same) {
            return known.clone();
        }
        let mut load = Modelled::new(&self.array, workload, Engines::FULL, tables);
        if !is_placed {
            let inner = predict_inside(&self.array, &load.workload, Engines::FULL, tables);
            load.prediction = load.prediction.or(inner);
            load.is_placed = false;
        }
        keep(&self.loads, load.clone(), LOADS_MAX);
        load
    }

    /// Returns what to expect of loads side by side.
    pub(crate) fn concurrent(&self, loads: Vec<Workload>, tables: &mut Tables) -> Arc<Concurrent> {
        if let Some((_, known)) = locked(&self.concurrent).iter().find(|(known, _)| *known == loads) {
            return Arc::clone(known);
        }
        let together = Arc::new(predict_concurrent(&self.array, &loads, CONCURRENT_IOS, tables));
        keep(&self.concurrent, (loads, Arc::clone(&together)), LOADS_MAX);
        together
    }
}

/// Keeps a value; the oldest of too many goes.
fn keep<T>(all: &Mutex<Vec<T>>, value: T, most: usize) {
    let mut all = locked(all);
    if all.len() >= most {
        all.remove(0);
    }
    all.push(value);
}

/// Values are whole whenever the lock is open, so a thread that panicked left none in the middle.
fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_is_read_once_and_the_model_is_asked_once_of_a_load() {
        let shipped = assay_model::array::shipped::FILES.iter().find(|(name, _)| *name == "raid6-12bay");
        let text = format!("# of this test alone\n{}", shipped.unwrap().1);
        let (known, again) = (array(&text).unwrap(), array(&text).unwrap());
        assert!(Arc::ptr_eq(&known, &again));
        let load = |kib: u64| Workload::simple("w", kib << 10, 50.0, 100.0, 8);
        let ask = |kib, is_placed| known.load(load(kib), is_placed, &mut Tables::default());
        assert_eq!(ask(4, true), ask(4, true));
        assert_ne!(ask(4, true).prediction, ask(64, true).prediction);
        assert!(!ask(4, false).is_placed, "of a load elsewhere it is asked anew");
        assert_eq!(locked(&known.loads).len(), 3);
        let side_by_side = || known.concurrent(vec![load(4), load(64)], &mut Tables::default());
        assert!(Arc::ptr_eq(&side_by_side(), &side_by_side()));
    }
}
