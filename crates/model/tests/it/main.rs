//! The model through its public functions.

mod arrays;
mod calibration;
mod carried;
mod catalogue;
mod degraded;
mod durable;
mod engines;
mod foresight;
mod implied;
mod laws;
mod layers;
mod mistakes;
mod open;
mod physics;
mod plans;
mod properties;
mod random;
mod refuted;
mod said;
mod simulation;
mod validation;
mod what_ifs;

use assay_model::array::{Array, set, shipped};
use assay_model::predict::{Engines, Prediction, predict};
use assay_model::quantity::Corner;
use assay_model::resolved::{Class, ResolvedArray, Tables};
use assay_model::workload::Workload;

/// A shipped array.
pub fn array(name: &str) -> Array {
    shipped::named(name).unwrap_or_else(|| panic!("no array {name}")).unwrap_or_else(|e| panic!("{e}"))
}

/// A shipped array with changes.
pub fn changed(base: &str, changes: &str) -> Array {
    let mut a = array(base);
    set(&mut a, changes).unwrap_or_else(|e| panic!("{base} {changes}: {e}"));
    a
}

/// What the closed form expects.
pub fn expected(a: &Array, load: &Workload) -> Prediction {
    predict(a, load, Engines::Closed, &mut Tables::default())
}

/// A load of one size.
pub fn load(size: u64, read_pct: f64, random_pct: f64, outstanding: u32) -> Workload {
    Workload::simple("row", size, read_pct, random_pct, outstanding)
}

/// A resolved and its classes at nominal values.
pub fn resolved(array: &Array, workload: &Workload) -> (ResolvedArray, Vec<Class>) {
    let resolved = ResolvedArray::new(array, Corner::Nominal, workload.region(), &mut Tables::default());
    let classes = resolved.classes(workload);
    (resolved, classes)
}

/// Asserts that `got` is within `tolerance` (relative) of `expected`.
#[track_caller]
pub fn close(got: f64, expected: f64, tolerance: f64, what: &str) {
    assert!(
        (got / expected - 1.0).abs() <= tolerance,
        "{what}: {got} is not within {tolerance} of {expected}"
    );
}
