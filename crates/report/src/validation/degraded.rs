//! Arrays that have lost a member: published rows and the model's predictions.

use assay_model::validate::DegradedRow;

use super::{figure, text, yes_or_no};
use crate::table::{Column, Format, Table};

const HEAD: &str = "
## With a failed disk

Linux md RAID6, 8 + 2 disks (`published/degraded`), then what reviews say in words. Nothing was fitted to these rows;
the queue depth of the first is not stated and taken as 32.

";

const REMARK: &str = "
The random reads of the md array were not limited by its disks, so that they say nothing of a failed one. All nine sizes
follow one line, 1 / rate = 1.04 ms + size / 202 MB/s, within 3 %; with a failed disk it is 1.01 ms + size / 198 MB/s,
within 6 %. Disks that work side by side would bend it at 128 KiB, the chunk, from where on an I/O is read by two, four
and eight of them at once; and nine disks for ten would have cost the reads of whole stripes (1024 KiB) a tenth, though
they read nothing extra. What is in front of them, at about one thousand I/Os per second and the throughput of one disk,
the source does not say. The model has the disks as the limit and stays outside for seven of the nine; the reviews of
other controllers saw random reads halved, as it predicts.

Sequential reads of md read the rest of a stripe again for a lost chunk. At 128 KiB and more the measured loss is the
slow end of that and more: between the two readings the platter has passed.
";

pub(super) fn section(rows: &[DegradedRow]) -> String {
    let mut table = Table::new(vec![
        Column::text("row"),
        figure("measured"),
        figure("predicted"),
        figure("ratio"),
        Column::text("inside"),
        Column::text("source"),
    ]);
    for row in rows {
        // What is left of a rate is a share, all other rows are rates.
        let digits = if row.measured < 1.0 { 2 } else { 0 };
        table.push([
            text(&row.test),
            text(format!("{:.digits$}", row.measured)),
            text(format!("{:.digits$}", row.predicted)),
            text(format!("{:.2}", row.predicted / row.measured)),
            row.inside.map_or_else(|| text("-"), yes_or_no),
            text(&row.source),
        ]);
    }
    format!("{HEAD}{}{REMARK}", table.render(Format::Markdown))
}
