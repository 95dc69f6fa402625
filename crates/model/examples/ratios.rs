//! Prints the ratios that the regression test of the validation stores:
//! `cargo run --release -p assay-model --example ratios > crates/model/tests/it/ratios.txt`.
#![expect(clippy::print_stdout, reason = "an example prints")]

use assay_model::validate::{ValidateError, validate};

fn main() -> Result<(), ValidateError> {
    for (name, ratio) in validate()?.ratios() {
        println!("{ratio:.4} | {name}");
    }
    Ok(())
}
