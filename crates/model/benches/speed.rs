//! How fast the model is, beside the goals it was given. Run by `make bench`; decides nothing.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark prints what it found, and stops where shipped files are wrong"
)]

use std::time::{Duration, Instant};

use assay_model::array::shipped;
use assay_model::des::{SimOptions, simulate};
use assay_model::predict::{Engines, predict};
use assay_model::quantity::Corner;
use assay_model::resolved::{ResolvedArray, Tables};
use assay_model::workload::Workload;
use assay_spec::units::{Bytes, GIB};

/// Number of rounds whose median is printed.
const ROUNDS: usize = 5;

fn main() {
    predictions();
    simulations();
}

/// The closed form: every suite on every array.
fn predictions() {
    let mut suites = Workload::forum_tests(Bytes(4 * GIB));
    suites.extend(Workload::atto_tests(4));
    suites.extend(Workload::corner_tests(Bytes(GIB)));
    let arrays = shipped::all().unwrap();
    let time = median(|| {
        let mut tables = Tables::default();
        for array in &arrays {
            for workload in &suites {
                std::hint::black_box(predict(array, workload, Engines::Closed, &mut tables));
            }
        }
        1
    });
    let what = format!("{} tests on {} arrays, closed form", suites.len(), arrays.len());
    println!("{what:<52} {:>9.1} ms   (goal: below 1000)", time.seconds * 1000.0);
}

/// The simulation: forum tests of two minutes.
fn simulations() {
    for name in ["ix4-200d", "openfiler-2.3-8disk", "x4500", "hdd-7200", "nvme"] {
        let array = shipped::named(name).unwrap().unwrap();
        for workload in Workload::forum_tests(Bytes(4 * GIB)) {
            let resolved =
                ResolvedArray::new(&array, Corner::Nominal, workload.region(), &mut Tables::default());
            let options = SimOptions { seed: 1, max_ios: 2_000_000, cache_full: false };
            let time = median(|| simulate(&resolved, std::slice::from_ref(&workload), options)[0].ios);
            let goal = if name == "ix4-200d" { "   (goal: below 50 ms)" } else { "   (goal: above 5)" };
            println!(
                "{:<52} {:>9.1} ms {:>8.2} M simulated I/O/s{goal}",
                format!("{name}, {}", workload.name),
                time.seconds * 1000.0,
                time.count as f64 / time.seconds / 1e6
            );
        }
    }
}

struct Timed {
    seconds: f64,
    count: u64,
}

fn median(mut work: impl FnMut() -> u64) -> Timed {
    let mut count = 0;
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            count = work();
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    Timed { seconds: times[ROUNDS / 2].as_secs_f64(), count }
}
