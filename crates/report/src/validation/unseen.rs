//! Rows of systems that the model was not made from.

use assay_model::unseen::{Half, Set};
use assay_model::validate::{UnseenHalf, UnseenRow};

use super::{figure, text, yes_or_no};
use crate::table::{Cell, Column, Format, Table};

const HEAD: &str = "
## Systems that the model was not made from

Rows of `published/unseen/`, predicted from the data sheets in `arrays/unseen/`. The systems were split by the parity
of the FNV-1a hash of their names, and committed, before anything was predicted: the open half was looked at to mend
the physics and to set the model error, the half that was held back was predicted once, after that. Its table is that
first prediction (`published/held-back.tsv`): later changes of the model do not predict it again. An interval
holds the ranges of the inputs and the error of the model, and is meant to hold 80 % of the rows. Where the cost of
software is unknown, the interval is a bound, and a row is inside if it is below it.
";

const TAIL: &str = "
### What they show

None of the goals is shown by the half that was held back. 67 of its 84 rows lie inside, 79.8 %, just short of the 80 %
required. The median error is 31 % where hardware limits, required 15 %, and 31 % over all rows, required 25 %. These
rows do not test whether the limit is named rightly in 90 % of them. Most of the error is flash: no data sheet says
anything of what hosts and full drives do. Not explained are
- sequential reads at 0.36 to 0.7 of the sheet (970 EVO, 980 PRO, 990 EVO, A2000, P31): links of the host narrower than
  the drive's would do it, and the source does not describe the host;
- random writes to drives that were full of earlier writes, predicted at 0.12 to 12 times the measured rate: garbage
  collection and write caches differ more between drives than their sheets;
- drives behind a host adapter or a RAID controller that reach 45,000 to 75,000 I/Os per second each;
- three drives of one array, which the model puts behind one SATA link.

The sources show rates, and seldom which resource was full: `model.names` of 138 of the 139 rows lists the devices and
the I/Os in flight, most of them the link or the host too, and any of them would count as right. Such a row does not
test the name of a limit, unless it is faster than the interval allows.
";

pub(super) fn section(halves: &[UnseenHalf]) -> String {
    let mut out = HEAD.to_owned();
    for half in halves {
        let title = title(half.set, half.half);
        let mut table = Table::new(vec![
            Column::text("system"),
            Column::text("row"),
            figure("measured"),
            figure("predicted"),
            figure("ratio"),
            Column::text("inside"),
            Column::text("predicted limit"),
        ]);
        half.rows.iter().for_each(|row| table.push(cells(row)));
        out.push_str(&format!(
            "\n### {title}\n\n{} rows of {} systems. Inside: {:.1} %. Median |error|: {:.0} % where hardware limits, \
             {:.0} % of all. {}\n\n{}",
            half.rows.len(),
            half.systems(),
            half.inside() * 100.0,
            half.median_error_hardware() * 100.0,
            half.median_error() * 100.0,
            limits(half),
            table.render(Format::Markdown)
        ));
    }
    out + TAIL
}

fn title(set: Set, half: Half) -> &'static str {
    match (set, half) {
        (Set::First, Half::Open) => "The open half",
        (Set::First, Half::HeldBack) => "The half that was held back",
        (Set::Second, Half::Open) => "The open half of the second set",
        (Set::Second, Half::HeldBack) => "The half of the second set that was held back",
    }
}

/// How often the limit is named rightly, where the rows test that.
fn limits(half: &UnseenHalf) -> String {
    let tested = match half.limit_right() {
        (_, 0) => "Name of the limit: not tested, as the source of every row leaves several open.".to_owned(),
        (right, tested) => {
            format!("Limit named rightly: {right} of the {tested} rows whose source shows a single one.")
        }
    };
    format!(
        "{tested} Faster than the interval, so that the named limit was none: {} rows.",
        half.limit_wrong()
    )
}

fn cells(row: &UnseenRow) -> [Cell; 7] {
    // Rates of large I/Os are small numbers.
    let digits = if row.measured < 100.0 { 1 } else { 0 };
    let predicted = &row.predicted;
    [
        text(&row.system),
        text(&row.test),
        text(format!("{:.digits$}", row.measured)),
        text(format!(
            "{:.digits$} ({:.digits$} to {:.digits$})",
            predicted.value, predicted.lo, predicted.hi
        )),
        text(format!("{:.2}", row.ratio)),
        yes_or_no(row.inside),
        text(&row.limit),
    ]
}
