//! The project's own tools, as `cargo xtask VERB`: `bench` compares with fio, `histogram` weighs histograms.
//!
//! The tidy rules are a test of this package (`tests/tidy`). No room is linked: Assay is measured as the program a
//! user runs.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program that talks to people")]

mod awake;
mod bench;
mod histogram;

use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask bench [--case TEXT]... [--rounds N] [--seconds N] [--size-mib N] [--disk FOLDER]
    compares Assay with fio, in turns; cases: null, tmpfs, disk, memory, or a part of a case's name
cargo xtask histogram
    what recording one time costs: hdrhistogram against a plain array";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let result = match args.first().map(String::as_str) {
        Some("bench") => bench::bench(&args[1..]),
        Some("histogram") => {
            histogram::histogram();
            Ok(())
        }
        Some(awake::VERB) => {
            awake::spin();
            Ok(())
        }
        _ => Err(anyhow::anyhow!("give a verb\n{USAGE}")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}
