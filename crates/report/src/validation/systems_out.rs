//! Every system predicted with what the others teach.

use assay_model::validate::{CrossedRow, Family, LEVELS, SYSTEMS_MIN, median_of, systems};

use super::{figure, text};
use crate::table::{Cell, Column, Format, Table};

const HEAD: &str = "
## Every system left out once

All rows of `published/unseen/`, both halves of both sets, by the model of today. Each system is predicted with what
the others teach: the factor that sheets are off by in its family, and how far rows scatter around it
(`model/src/validate/systems_out.rs` has the formulas). The physics was mended while these rows were known, so that the
nominal values are not blind; the factors and the widths are, for each system.
";

const NOTES: &str = "
The intervals here are calibrated for each system. What `assay predict` prints (the last columns but one; of unknown
software it is a bound) holds the ranges of the array file and the fixed factors of `model/src/model_error.rs`, which
were set on these rows. Where a family is off:
- **over a network** most rows have servers of unknown software: the sheets bound them, and the others' median says
  little about the next server. A run against a null or memory-backed target on the same server would separate its
  software from its disks.
- **ZFS** and **md** have few systems, measured on pools of unknown fullness and with caches of unknown size: `zpool
  list` beside the row, and a span of several times the memory, would settle it.
- **SSDs** scatter by what was written to them before: random writes after a full overwrite are missing for most.
";

pub(super) fn section(rows: &[CrossedRow]) -> String {
    let all: Vec<&CrossedRow> = rows.iter().collect();
    let mut table = Table::new(vec![
        Column::text("family"),
        figure("systems"),
        figure("rows"),
        figure("inside at 50 %"),
        figure("at 80 %"),
        figure("at 95 %"),
        figure("median error"),
        figure("of sheets alone"),
        figure("median width at 80 %"),
        figure("inside what is printed"),
        figure("its width"),
        figure("limit right"),
    ]);
    for family in Family::ALL {
        let of: Vec<&CrossedRow> = all.iter().copied().filter(|r| r.family == family).collect();
        if of.is_empty() {
            continue;
        }
        let few = if systems(&of) <= SYSTEMS_MIN { " (few: scatter of all)" } else { "" };
        table.push(cells(&format!("{}{few}", family.says()), &of));
    }
    let hardware: Vec<&CrossedRow> =
        all.iter().copied().filter(|r| r.kind == assay_model::published::RowLimit::Hardware).collect();
    let narrow: Vec<&CrossedRow> = all.iter().copied().filter(|r| r.width() <= 3.0).collect();
    table.push(cells("where hardware limits", &hardware));
    table.push(cells("width of 3 or less", &narrow));
    table.push(cells("all", &all));
    format!("{HEAD}\n{}{NOTES}", table.render(Format::Markdown))
}

fn cells(name: &str, rows: &[&CrossedRow]) -> [Cell; 12] {
    let share = |level: usize| {
        let inside = rows.iter().filter(|r| r.is_inside(level)).count();
        text(format!("{:.0} %", inside as f64 / rows.len().max(1) as f64 * 100.0))
    };
    let printed = rows.iter().filter(|r| r.is_inside_printed()).count();
    let closed: Vec<&CrossedRow> = rows.iter().copied().filter(|r| r.printed.lo > 0.0).collect();
    let tested = rows.iter().filter_map(|r| r.limit_right);
    let right = tested.clone().filter(|right| *right).count();
    let per_cent = |value: f64| text(format!("{:.0} %", value * 100.0));
    debug_assert_eq!(LEVELS.len(), 3);
    [
        text(name),
        text(systems(rows).to_string()),
        text(rows.len().to_string()),
        share(0),
        share(1),
        share(2),
        per_cent(median_of(rows, CrossedRow::error)),
        per_cent(median_of(rows, |r| (r.sheet.value / r.measured - 1.0).abs())),
        text(format!("{:.1}", median_of(rows, CrossedRow::width))),
        text(format!("{:.0} %", printed as f64 / rows.len().max(1) as f64 * 100.0)),
        text(match closed.is_empty() {
            true => "bounds only".to_owned(),
            false => format!("{:.1}", median_of(&closed, |r| r.printed.hi / r.printed.lo)),
        }),
        text(format!("{right} of {}", tested.count())),
    ]
}
