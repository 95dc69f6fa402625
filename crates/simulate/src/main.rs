//! Simulates seeds; the command line is that of `cargo xtask simulate`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    ExitCode::from(u8::from(!assay_simulate::program(&arguments)))
}
