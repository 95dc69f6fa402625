//! Prints the validation document: `cargo run --release --example validate > docs/model-validation.md`, or
//! with `--ratios` the lines that the regression test stores.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example prints")]

use assay_model::resolved::Tables;
use assay_model::unseen::Half;
use assay_model::validate::{ValidateError, grid, to_markdown, unseen_half, validate};

fn main() -> Result<(), ValidateError> {
    let mut validation = validate()?;
    if std::env::args().any(|a| a == "--held-back") {
        validation.unseen.push(unseen_half(Half::HeldBack, &mut Tables::default())?);
        for (name, ratio) in validation.ratios() {
            eprintln!("{ratio:.4} | {name}");
        }
    }
    if std::env::args().any(|a| a == "--ratios") {
        for (name, ratio) in validation.ratios() {
            println!("{ratio:.4} | {name}");
        }
    } else {
        print!("{}", to_markdown(&validation, &grid()?));
    }
    Ok(())
}
