//! Prints the validation document: `cargo run --release --example validate > docs/model-validation.md`, or
//! with `--ratios` the lines that the regression test stores.
#![expect(clippy::print_stdout, reason = "an example prints")]

use assay_model::validate::{ValidateError, grid, to_markdown, validate};

fn main() -> Result<(), ValidateError> {
    let validation = validate()?;
    if std::env::args().any(|a| a == "--ratios") {
        for (name, ratio) in validation.ratios() {
            println!("{ratio:.4} | {name}");
        }
    } else {
        print!("{}", to_markdown(&validation, &grid()?));
    }
    Ok(())
}
