//! `cargo run -p assay-model --example learned > published/learned.tsv`: what the rows of measured systems teach.

#![expect(clippy::print_stdout, reason = "an example prints")]

use assay_model::validate::{learned_table, validate};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    print!("{}", learned_table(&validate()?.crossed));
    Ok(())
}
