//! How often a diagnosis is right: set-ups with one planted cause, simulated in virtual time.
//!
//! A [`World`] is a set-up as stations in a row, a [`PlantedCase`] one with a cause that limits its load. [`validate`]
//! diagnoses many of them and counts; [`document`] is `docs/diagnosis-validation.md`. Development only: no shipped
//! program contains it.
#![forbid(unsafe_code)]

mod case;
mod random;
mod section;
#[cfg(test)]
mod tests;
mod validation;
mod world;

pub use case::{PlantedCase, planted_case};
pub use section::section;
pub use validation::{CauseScore, Validation, validate};
pub use world::World;

/// First seeds of the planted set-ups: those that ranges were compared with, and two kinds that they were not.
const SEEDS: [(u64, &str); 3] = [
    (1, "Planted set-ups, tuning half"),
    (2_000_001, "Planted set-ups, held-back half"),
    (4_000_001, "Planted set-ups, drawn once"),
];

/// Returns the document that shows how often diagnoses are right.
#[must_use]
pub fn document(set_ups: usize) -> String {
    let mut text = include_str!("../doc/validation.md").to_owned();
    for (from, title) in SEEDS {
        text.push_str(&section(title, &validate(from, set_ups)));
        text.push('\n');
    }
    text.push_str(include_str!("../doc/real.md"));
    text
}
