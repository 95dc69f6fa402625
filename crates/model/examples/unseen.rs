//! `cargo run -p assay-model --example unseen`: the open halves of the unseen rows, predicted and measured.

#![expect(clippy::print_stdout, reason = "an example prints")]

use assay_model::resolved::Tables;
use assay_model::unseen::Set;
use assay_model::validate::open_half;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut tables = Tables::default();
    for set in Set::ALL {
        let open = open_half(set, &mut tables)?;
        for r in &open.rows {
            println!(
                "{:<20} {:<52} {:>9.0} {:>9.0} [{:>8.0} {:>8.0}] {:>5.2} {} {}",
                r.system,
                r.test,
                r.measured,
                r.predicted.value,
                r.predicted.lo,
                r.predicted.hi,
                r.ratio,
                if r.inside { "in " } else { "OUT" },
                r.limit
            );
        }
        println!(
            "inside {:.2}, median error hardware {:.3}, all {:.3}",
            open.inside(),
            open.median_error_hardware(),
            open.median_error()
        );
    }
    Ok(())
}
