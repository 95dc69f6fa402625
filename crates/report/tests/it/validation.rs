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
