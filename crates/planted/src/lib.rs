//! How often a diagnosis is right: set-ups with one planted cause, simulated in virtual time.
//!
//! A [`World`] is a set-up as stations in a row, a [`PlantedCase`] one with a cause that limits its load. [`validate`]
//! diagnoses many of them and counts; [`document`] is `docs/diagnosis-validation.md`. Development only: no shipped
//! program contains it.
#![forbid(unsafe_code)]
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts, times and bytes of a simulation are positive and far below their limits"
)]

mod case;
mod header;
mod matrix;
mod random;
mod record;
mod section;
#[cfg(test)]
mod tests;
mod validation;
mod world;

pub use case::{PlantedCase, planted_case};
use section::left_out_section;
pub use section::section;
use validation::validate_left_out;
pub use validation::{CauseScore, Validation, diagnosed, validate};
pub use world::World;

/// First seeds of the planted set-ups: those that ranges were compared with, and two kinds that they were not.
const SEEDS: [(u64, &str); 3] = [
    (1, "Planted set-ups, tuning half"),
    (17_000_001, "Planted set-ups, held-back half"),
    (21_000_001, "Planted set-ups, drawn once"),
];

/// Returns how often diagnoses of the set-ups with these seeds are right, with and without the planted cause in the
/// list: a change is tried on the tuning half alone.
pub fn sections(title: &str, from: u64, set_ups: usize) -> String {
    let (with, without) = (validate(from, set_ups), validate_left_out(from, set_ups));
    format!("{}\n{}\n", section(title, &with), left_out_section(title, &without))
}

/// Returns which slow members of stripes are named.
pub fn stripes() -> String {
    matrix::section()
}

/// Returns the document that shows how often diagnoses are right.
pub fn document(set_ups: usize) -> String {
    let mut text = include_str!("../doc/validation.md").to_owned();
    for (from, title) in SEEDS {
        text.push_str(&sections(title, from, set_ups));
    }
    text.push_str(&stripes());
    text.push_str(include_str!("../doc/real.md"));
    text
}
