//! Rebuilds without other load: published rates, and what the devices allow.

use assay_model::validate::RebuildRow;

use super::{figure, text, yes_or_no};
use crate::table::{Column, Format, Table};

const HEAD: &str = "
## Rebuilds

Rates of rebuilds without other load (`published/degraded/rebuilds.toml`), and the highest that the devices allow. The
arrays were described before anything was predicted, and predicted once.

";

const REMARK: &str = "
No rebuild was faster than its devices allow, and one of the seven came near: the sequential rebuild of a ZFS mirror,
whose disk is not named, so that its range is wide. The others were limited by what no data sheet has. The controller
of 2004 rebuilt at a third to a seventh of what its disks stream (those of the reviewer's other tests of that year;
the page that was read does not name them), the paper gives 90 min as the best case, the author of the md message
says himself that his disks are faster, and the QNAP rebuilt at the 50,000 KiB/s that its setting `speed_limit_min`
asked for. The time that `assay predict` states, and the lesser one of `assay size`, is therefore the shortest.

The rate of a load beside a rebuild was published nowhere that was found with its set-up and its numbers: searched
were reviews of RAID controllers and NAS (xbitlabs, AnandTech, Tom's Hardware, Ars Technica), manuals and papers of
Dell, HPE, IBM and Intel, linux-raid, and the pull requests of OpenZFS. What `raid.rebuild_pct` does to a load is
checked by its definition and by the simulation only.
";

pub(super) fn section(rows: &[RebuildRow]) -> String {
    let mut table = Table::new(vec![
        Column::text("row"),
        figure("measured, MiB/s"),
        figure("at most, MiB/s"),
        figure("ratio"),
        Column::text("holds"),
    ]);
    for row in rows {
        let most = row.at_most;
        table.push([
            text(&row.test),
            text(format!("{:.1}", row.measured)),
            text(format!("{:.1} ({:.1} to {:.1})", most.value, most.lo, most.hi)),
            text(format!("{:.2}", most.value / row.measured)),
            yes_or_no(row.holds()),
        ]);
    }
    format!("{HEAD}{}{REMARK}", table.render(Format::Markdown))
}
