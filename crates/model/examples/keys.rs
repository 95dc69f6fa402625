//! Prints every key of an array file with what it takes.
#![expect(clippy::print_stdout, reason = "an example prints")]

fn main() {
    for key in assay_model::array::keys() {
        println!("{} | {}", key.name, key.takes);
    }
}
