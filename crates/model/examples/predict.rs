//! Prints what every shipped array is expected to do under the forum tests: `cargo run --example predict [ARRAY]`.
#![expect(clippy::print_stdout, reason = "an example prints")]

use assay_model::array::shipped;
use assay_model::predict::{Engines, predict};
use assay_model::resolved::Tables;
use assay_model::workload::Workload;
use assay_spec::units::{Bytes, GIB};

fn main() -> Result<(), assay_model::array::ArrayError> {
    let only = std::env::args().nth(1);
    let mut tables = Tables::default();
    for array in shipped::all()? {
        if only.as_ref().is_some_and(|name| *name != array.name) {
            continue;
        }
        println!("{}", array.title);
        for workload in Workload::forum_tests(Bytes(4 * GIB)) {
            let p = predict(&array, &workload, Engines::FULL, &mut tables);
            let sim = p.simulated.as_ref().map_or(0.0, |s| s.iops.value);
            let p99 = p.p99_ms.map_or(0.0, |i| i.value);
            println!(
                "  {:26} closed {:9.1} sim {sim:9.1} mean {:8.2} ms p99 {p99:8.1} ms  {}",
                p.test,
                p.closed.iops,
                p.mean_ms.value,
                p.says()
            );
        }
    }
    Ok(())
}
