//! Every system predicted with what the others teach.

use assay_model::family::Family;
use assay_model::learned::{LEVELS, SYSTEMS_MIN};
use assay_model::published::RowLimit;
use assay_model::unseen::Set;
use assay_model::validate::{ClearBy, CrossedRow, median_of, systems};

use super::{figure, text};
use crate::layout::wrap;
use crate::table::{Cell, Column, Format, Table};

const HEAD: &str = "
## Every system left out once

All rows of `published/unseen/`, both halves of all sets, by the model of today. An interval is what `assay predict`
states; its ends and those of other levels are as far as the rows of other systems teach (`model/src/learned.rs` has
the formulas, `published/learned.tsv` what all rows teach and `predict` uses). Here the parts and the factor of a row
come from the rows of the other systems only, so that no row teaches anything about itself: those of its group of loads
(random reads, random writes or streams of a family, at a link or not, limited by the time of an I/O or not, with a
sheet or by class alone) where at least eight other systems have any, or else those of its family; a group ships
with nine. The physics, the constants of classes and the fixed error of the model were mended while rows of the first
five sets were known; the nominal values are not blind. Neither are the power of a side, the least parts and the
groups: they were chosen with all rows known. The sixth set stands by itself: its inputs are the limits that AWS
publishes and enforces, so that its rows teach nothing, are in no other line, and test little of the model.

Every input at its end at once is what no system has: such intervals held 90 % of the rows and were 3.8 wide where
hardware limits. What is learned narrows a side the more, the wider it is. The range of a published limit of a volume,
and whether a drive survives a power cut, are stated as they are. A bound, of unknown software, has no lower end and
teaches nothing. \"With the family's factor\" is the error if nominal values were multiplied by the median of measured
over predicted of the family's other systems; `predict` has no such factor.

Drives that are known by their class alone had an error of 41 %, as their nominal values were those of sheets of 1 TB
drives: what 19 drives of 256 and 512 GB read in a stream was predicted 1.5 times too fast. The class now goes with the
size. Its constants are near the medians of these drives; leaving one out moves seven of the eight medians by 6 % at
most, and the streams of reads of 256 GB by 16 %.
";

const NOTES: &str = "
Goals: 80 % inside at 80 % and 95 % at 95 %, median error 15 % where hardware limits and 25 % of all, width 2.0, limit
right in 90 %. Fewer than 19 systems do not tell what one in twenty does: the interval of 95 % reaches as far as the
furthest row of the family. Where goals are missed, and what would settle it:
- **Error where hardware limits.** The largest part is the drives known by class, above all what they write when they
  are full of earlier writes: of drives of one size, one is ten times as fast as another.
- **Constants of classes** were set with the drives known whose intervals they then narrow: the error of drives by class
  is no prediction of drives that nobody has seen, and their groups have the least part of a family. Another collection
  of such drives would test it.
- **Limits.** Whether a drive or the thread of its host limits is guessed wrongly where the host is not described.
- **Width.** Rows at a link are 1.2 to 1.8 wide, streams and random reads of SATA drives 1.4 to 2.5, random reads of
  one disk about 2. Random and sustained writes of SSDs are 4 to 12, ZFS 11: half of all
  rows are of the kinds that nothing in an array file tells. A median of 2.0 would need a median error of 15 %
  everywhere. `assay calibrate` narrows a system by measuring it; no constant does.
- **NVMe drives**, in part known by their class alone: a thread of an unknown host issues 170,000 to 770,000 I/Os per
  second, slots are unknown, and random writes depend on what was written before. A row that states the processor, the
  slot (`LnkSta` of lspci) and a full overwrite before it would settle all three.
- **ZFS**: what its memory holds decides the row: of four pools of one host that read 4 KiB at random in a file of a
  size nobody gives, two did so 30 to 50 times as fast as their disks. `arcstat` beside the row, and a span of several
  times the memory, would settle it; `zpool list` how full the pool was.
- **Virtual disks**: five systems and a Xen guest. Their rows teach nothing and have the intervals of their drives, as
  the class of virtual disks was taken from some of them. What the host's drive does by itself is known; the version of
  the hypervisor, its polling and the number of threads are not. One I/O at a time in the guest and on the host would
  tell the time of the layer, and a RAM disk that of its thread.
- **Linux md** has ten systems, six of them of NVMe drives. Rows of named disks with the chunk, the bitmap, the queue
  depth and the kernel are missing, above all of RAID6 and of more than eight disks: reads of RAID5 were four times as
  fast from Linux 5.14 on.
- **Several disks** behind a RAID adapter: no public row was found that names disks, adapter, cache, level and depth
  together. Eight disks together, and one of them alone, would separate the adapter.
- **Over a network** every row is a bound: servers of unknown software. A run against a memory-backed target on the same
  server would separate its software from its disks.
";

/// Which rows are clear, and how many of them are named rightly by what makes them so.
fn limits(rows: &[CrossedRow]) -> String {
    let of = |by: ClearBy| {
        let rows = rows.iter().filter(|r| r.set != Set::Sixth && r.clear_by == Some(by));
        let rows = rows.filter_map(|r| r.limit_right);
        format!("{} of {}", rows.clone().filter(|right| *right).count(), rows.count())
    };
    let [source, link, sheet, alone] = ClearBy::ALL.map(of);
    format!(
        "
A limit is tested where the row leaves one, by rules that those who made the model chose: the source names a single
one ({source} right); 0.90 to 1.02 of what the link carries was measured, and the members allow 1.25 times it
({link}); at least 32 random I/Os in flight reached 0.90 to 1.10 of the sheet of one drive, and the links carry 1.25
times as many ({sheet}); a drive with one small random I/O in flight did less than half of what its sheet and its links
allow, so that only the time of one is left ({alone}). The last can hardly be wrong, and is in no line of the table.
Bounds count by the second only. Wrong are rows of drives as fast as their sheets, of which the model says
that a thread of an unknown host issues no more than 300,000; one of a guest, of which it does not know the thread;
and a stream to a pool of ZFS.
"
    )
}

pub(super) fn section(rows: &[CrossedRow]) -> String {
    let all: Vec<&CrossedRow> = rows.iter().collect();
    let mut table = Table::new(vec![
        Column::text("family"),
        figure("systems"),
        figure("rows"),
        figure("bounds below"),
        figure("inside at 50 %"),
        figure("at 80 %"),
        figure("at 95 %"),
        figure("median width at 80 %"),
        figure("median error"),
        figure("with the family's factor"),
        figure("limit right"),
    ]);
    for (name, of) in groups(&all) {
        table.push(cells(&name, &of));
    }
    let enforced: Vec<&CrossedRow> = all.iter().copied().filter(|r| r.set == Set::Sixth).collect();
    table.push(cells("drives that a provider limits", &enforced));
    format!("{HEAD}\n{}{}{NOTES}", table.render(Format::Markdown), limits(rows))
}

/// Rows that belong together, with what they are called.
fn groups<'r>(all: &[&'r CrossedRow]) -> Vec<(String, Vec<&'r CrossedRow>)> {
    let of = |is: &dyn Fn(&CrossedRow) -> bool| {
        all.iter().copied().filter(|r| r.set != Set::Sixth && is(r)).collect::<Vec<_>>()
    };
    // Of these sets no drive is in the catalogue.
    let by_class = |r: &CrossedRow| matches!(r.set, Set::Third | Set::Fourth | Set::Fifth);
    let mut groups = Vec::new();
    for family in Family::ALL {
        let rows = of(&|r| r.family == family && !r.is_guest);
        if rows.is_empty() {
            continue;
        }
        let few = if systems(&rows) <= SYSTEMS_MIN { " (few: scatter of all, or its own)" } else { "" };
        groups.push((format!("{}{few}", family.says()), rows));
    }
    groups.extend([
        ("behind virtual disks".to_owned(), of(&|r| r.is_guest)),
        ("of them by class alone".to_owned(), of(&by_class)),
        ("where hardware limits".to_owned(), of(&|r| r.kind == RowLimit::Hardware)),
        ("the same, with a sheet".to_owned(), of(&|r| r.kind == RowLimit::Hardware && !by_class(r))),
        ("width of 3 or less".to_owned(), of(&|r| !r.is_bound && r.width() <= 3.0)),
        ("all".to_owned(), of(&|_| true)),
        ("all with a sheet".to_owned(), of(&|r| !by_class(r))),
    ]);
    groups
}

/// Families with the share of rows inside their interval, its width and the error, and what that means.
pub(super) fn brief(rows: &[CrossedRow], columns: usize) -> String {
    let all: Vec<&CrossedRow> = rows.iter().collect();
    let mut table = Table::new(vec![
        Column::text("Predicted"),
        figure("Systems"),
        figure("Rows"),
        figure("Inside at 80 %"),
        figure("Width"),
        figure("Error"),
    ]);
    for (name, of) in groups(&all) {
        let name = name.split(" (").next().unwrap_or(&name).to_owned();
        let [_, systems, rows, _, _, inside, _, width, error, ..] = cells(&name, &of);
        table.push([text(name), systems, rows, inside, width, error]);
    }
    let says = "Each system is predicted with what the others teach. Inside: measured rates within the interval of \
                80 %; width: its highest over its lowest rate; error: that of the nominal rate. Width and error are \
                medians.";
    format!(
        "{}\n{}\n{}",
        table.render(Format::Text(columns)),
        wrap(says, columns, ""),
        wrap("--explain prints every row, and docs/model-validation.md has the same.", columns, "")
    )
}

fn cells(name: &str, rows: &[&CrossedRow]) -> [Cell; 11] {
    let (bounds, stated): (Vec<&CrossedRow>, Vec<&CrossedRow>) = rows.iter().partition(|r| r.is_bound);
    let share = |level: usize| {
        let inside = stated.iter().filter(|r| r.is_inside(level)).count();
        match stated.len() {
            0 => text("-"),
            all => text(format!("{:.0} %", inside as f64 / all as f64 * 100.0)),
        }
    };
    // What cannot but be right, and a limit that is an input, is no test.
    let is_test = |r: &&&CrossedRow| r.clear_by != Some(ClearBy::Alone) && r.set != Set::Sixth;
    let tested = rows.iter().filter(is_test).filter_map(|r| r.limit_right);
    let right = tested.clone().filter(|right| *right).count();
    let per_cent = |value: f64| text(format!("{:.0} %", value * 100.0));
    let below = bounds.iter().filter(|r| r.is_inside(1)).count();
    debug_assert_eq!(LEVELS.len(), 3);
    [
        text(name),
        text(systems(rows).to_string()),
        text(rows.len().to_string()),
        text(if bounds.is_empty() { "-".to_owned() } else { format!("{below} of {}", bounds.len()) }),
        share(0),
        share(1),
        share(2),
        text(if stated.is_empty() {
            "-".to_owned()
        } else {
            format!("{:.1}", median_of(&stated, CrossedRow::width))
        }),
        per_cent(median_of(rows, CrossedRow::error)),
        per_cent(median_of(rows, CrossedRow::error_shifted)),
        text(format!("{right} of {}", tested.count())),
    ]
}
