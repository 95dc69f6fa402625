//! Each row of a system predicted after calibration on its other rows.

use assay_model::validate::{LeftOut, median};

use super::{figure, text};
use crate::table::{Column, Format, Table};

const HEAD: &str = "
## Each row from the other rows of its system

Systems of the open half and of the shipped tables with at least four rows that hardware limits. `assay calibrate
--from` fits one factor for each class of load (random reads, random writes, sequential reads, sequential writes);
here each row is predicted after a fit to the others.

";

/// Which systems pull the median up, and why.
const REMARK: &str = "
Half of the error comes from rows that the other rows say nothing of. wd-sn580-1tb and wd-sn850x-1tb have one
row in each class, so that no other row is left to fit. In samsung-860pro the rows of two hosts share a class: at
one outstanding the drive read 9,212 times per second behind one host adapter and 16,225 times behind a slower
link, and one factor cannot hold both. travelstar-7k100 was behind two controllers, one with a write cache: 44 and
406 random writes at one outstanding. Where the rows of a system come from one set-up (samsung-f1,
samsung-870evo-1tb), the rest lies within 5 %. In md-raid5-8x2tb a factor cannot bend the curve over queue depth:
its random reads are predicted 1.6 times too fast at one outstanding and 0.9 times at 64.
";

pub(super) fn section(systems: &[LeftOut]) -> String {
    let mut table = Table::new(vec![
        Column::text("system"),
        figure("rows"),
        figure("median error from sheets"),
        figure("median error, each from the others"),
    ]);
    for s in systems {
        table.push([
            text(&s.system),
            text(s.rows.to_string()),
            text(format!("{:.0} %", s.sheet_error * 100.0)),
            text(format!("{:.0} %", s.left_out_error * 100.0)),
        ]);
    }
    let all: Vec<f64> = systems.iter().flat_map(|s| &s.ratios).map(|r| (r - 1.0).abs()).collect();
    let rows = all.len();
    let median = median(all) * 100.0;
    format!(
        "{HEAD}{}\nMedian |error| over all {rows} rows: {median:.1} %.\n{REMARK}",
        table.render(Format::Markdown)
    )
}
