//! Prints how fast the engines are: `cargo run --release -p assay-model --example speed`.
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::hint::black_box;
use std::time::Instant;

use assay_model::array::shipped;
use assay_model::des::{SimOptions, simulate};
use assay_model::predict::{Engines, predict};
use assay_model::quantity::Corner;
use assay_model::resolved::{ResolvedArray, Tables};
use assay_model::workload::Workload;
use assay_spec::units::{Bytes, GIB};

fn main() -> Result<(), assay_model::array::ArrayError> {
    let arrays = shipped::all()?;
    let mut suites = Workload::forum_tests(Bytes(4 * GIB));
    suites.extend(Workload::atto_tests(4));
    suites.extend(Workload::corner_tests(Bytes(GIB)));
    suites.extend(Workload::corner_tests(Bytes(64 * GIB)));

    let start = Instant::now();
    let mut tables = Tables::default();
    let mut tests = 0;
    for array in &arrays {
        for workload in &suites {
            black_box(predict(array, workload, Engines::Closed, &mut tables));
            tests += 1;
        }
    }
    println!(
        "closed form: {tests} tests ({} arrays) in {:.0} ms",
        arrays.len(),
        start.elapsed().as_secs_f64() * 1e3
    );

    for array in &arrays {
        for workload in Workload::forum_tests(Bytes(4 * GIB)) {
            let resolved = ResolvedArray::new(array, Corner::Nominal, workload.region(), &mut tables);
            let max_ios = if array.name == "ix4-200d" { u64::MAX } else { 2_000_000 };
            let start = Instant::now();
            let outcome = simulate(
                &resolved,
                std::slice::from_ref(&workload),
                SimOptions { seed: 1, max_ios, cache_full: false },
            );
            let seconds = start.elapsed().as_secs_f64();
            let ios = outcome.first().map_or(0, |o| o.ios);
            println!(
                "simulation: {:20} {:26} {ios:8} I/Os in {:7.1} ms, {:5.2} million/s",
                array.name,
                workload.name,
                seconds * 1e3,
                ios as f64 / seconds / 1e6
            );
        }
    }
    Ok(())
}
