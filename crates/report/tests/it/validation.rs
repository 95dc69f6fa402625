//! The documents of `assay validate`.

use assay_model::validate::{grid, validate};
use assay_report::validation;

#[test]
fn the_document_is_the_one_that_validate_makes() {
    let document = include_str!("../../../../docs/model-validation.md");
    let grid = grid().unwrap();
    assert!(grid.points == 2048 && grid.mean < 0.05 && grid.worst.0 < 0.30, "{grid:?}");
    let same = document == validation::model_document(&validate().unwrap(), &grid);
    assert!(same, "run `assay validate -o docs/model-validation.md`, and look at what changed");
}

/// The tables of both documents were once written by hand, one line of format after the other.
#[test]
fn diagnoses_are_tables_of_the_common_form() {
    let of = assay_analysis::diagnose::validate(1_000_000, 3);
    let text = validation::diagnosis_section("A sample", &of);
    assert!(
        text.starts_with(
            "## A sample\n\n3 set-ups, seeds 1000000 to 1000002. The planted cause came first in"
        )
    );
    for head in [
        "| stated probability | mean of it | right | by chance | set-ups |\n|---|---|---|---|---|\n",
        "| planted | set-ups | first | first or second | said instead |\n|---|---|---|---|---|\n",
    ] {
        assert!(text.contains(head), "{text}");
    }
}
