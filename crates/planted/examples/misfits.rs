//! How far the numbers of planted set-ups lie from what the best cause expects, with the planted cause in the list and
//! without it: what the odds of the open answer are fitted to. `cargo run -p assay-planted --example misfits -- 1 500`.
#![expect(clippy::print_stdout, reason = "a program that prints a table")]

use assay_diagnose::{Cause, HYPOTHESES};
use assay_planted::{diagnosed, planted_case};

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|text| text.parse::<u64>().ok());
    let (from, count) = (numbers.next().unwrap_or(1), numbers.next().unwrap_or(100));
    for seed in from..from + count {
        let case = planted_case(seed);
        let others: Vec<_> = HYPOTHESES.into_iter().filter(|of| of.cause != case.cause).collect();
        for (list, hypotheses) in [("listed", &HYPOTHESES[..]), ("left-out", &others)] {
            let (of, _) = diagnosed(&case, hypotheses);
            let listed: Vec<_> = of.odds.iter().filter(|odds| odds.cause != Cause::NoneOfThese).collect();
            let all: f64 = listed.iter().map(|odds| odds.probability).sum();
            let misfits: Vec<String> = of
                .rows
                .iter()
                .map(|row| {
                    format!("{:?}/{}={:.2}@{:.3}", row.experiment, row.quantity, row.misfit, row.measured)
                })
                .collect();
            println!(
                "{seed}\t{list}\t{}\t{}\t{:.4}\t{}",
                case.cause.name(),
                listed[0].cause.name(),
                listed[0].probability / all.max(1e-12),
                misfits.join(";").replace(' ', "_")
            );
        }
    }
}
