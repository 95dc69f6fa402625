//! The model through its public functions.

mod arrays;
mod calibration;
mod engines;
mod laws;
mod physics;
mod plans;
mod simulation;
mod validation;
mod what_ifs;

use assay_model::array::{Array, shipped};
use assay_model::plant::{Class, Plant, Tables};
use assay_model::quantity::Corner;
use assay_model::workload::Workload;

/// A shipped array.
pub fn array(name: &str) -> Array {
    shipped::named(name).unwrap_or_else(|| panic!("no array {name}")).unwrap_or_else(|e| panic!("{e}"))
}

/// A plant and its classes at nominal values.
pub fn plant(array: &Array, workload: &Workload) -> (Plant, Vec<Class>) {
    let plant = Plant::new(array, Corner::Nominal, workload.region(), &mut Tables::default());
    let classes = plant.classes(workload);
    (plant, classes)
}

/// Asserts that `got` is within `tolerance` (relative) of `expected`.
#[track_caller]
pub fn close(got: f64, expected: f64, tolerance: f64, what: &str) {
    assert!(
        (got / expected - 1.0).abs() <= tolerance,
        "{what}: {got} is not within {tolerance} of {expected}"
    );
}
