//! Lists of stored runs.

use serde_json::{Value, json};

use crate::layout::left;
use crate::table::{Cell, Column, Format, Narrow, Row, Table, look_alike};
use crate::{escape, number};

/// A run in a list.
#[derive(Debug, Clone, Copy)]
pub struct RunListing<'r> {
    /// Its id.
    pub run: &'r str,
    /// Name of its plan.
    pub name: &'r str,
    /// `done`, `failed`, `interrupted`, `running` or `partial`.
    pub status: &'r str,
    /// Its label.
    pub label: Option<&'r str>,
    /// Its note.
    pub note: Option<&'r str>,
    /// Why its events are missing from some moment on; `None`: none is.
    pub lost: Option<&'r str>,
    /// Start, ms since 1970 UTC.
    pub started_unix_ms: u64,
    /// Addresses of its targets.
    pub targets: &'r [String],
    /// Why it cannot be read, with what to do; `None`: it can be.
    pub unreadable: Option<&'r str>,
}

/// Number of columns of the widest cell in text; JSON and CSV have the whole.
const CELL_MAX: usize = 36;
/// Number of columns that cells keep on a narrow terminal, and plans and targets on one of [`WIDTH_USUAL`].
const CELL_MIN: usize = 10;
const NAME_MIN: usize = 18;
const WIDTH_USUAL: usize = 80;

/// A line per run, in the order given, at most `width` columns wide where cutting and leaving out columns allow it. If
/// different names would look alike, plan and targets stand in full on a line of their own.
pub fn runs_table(runs: &[RunListing<'_>], width: usize) -> String {
    if runs.is_empty() {
        return "No run is stored yet; `assay run SUITE TARGET` makes one.\n".to_owned();
    }
    let (unreadable, runs): (Vec<_>, Vec<_>) = runs.iter().copied().partition(|run| run.unreadable.is_some());
    let lines =
        unreadable.iter().filter_map(|run| run.unreadable).map(|says| format!("{}\n", escape::line(says)));
    let lines: String = lines.collect();
    if runs.is_empty() {
        return lines;
    }
    let runs = runs.as_slice();
    let cut = table(runs, width, &|text| left(text, CELL_MAX.min(crate::layout::width(text))));
    let targets: Vec<String> = runs.iter().map(|run| run.targets.join(", ")).collect();
    let is_confusing = cut.confuses(width)
        || look_alike(runs.iter().map(|run| run.name), CELL_MAX)
        || look_alike(targets.iter().map(String::as_str), CELL_MAX);
    let shown = if is_confusing { with_names_below(runs).text(width) } else { cut.text(width) };
    // A list has no rule under its titles, and no column that is empty throughout.
    let (titles, below) = shown.text.split_once('\n').unwrap_or_default();
    let runs = below.split_once('\n').map_or("", |(_, runs)| runs);
    format!("{titles}\n{runs}{lines}")
}

/// The list in a format for programs, forums or documents: nothing is cut.
pub fn runs_rendered(runs: &[RunListing<'_>], format: Format) -> String {
    match format {
        Format::Text(width) => runs_table(runs, width),
        Format::Csv | Format::Markdown | Format::BbCode => {
            table(runs, WIDTH_USUAL, &str::to_owned).render(format)
        }
    }
}

fn table(runs: &[RunListing<'_>], width: usize, cut: &dyn Fn(&str) -> String) -> Table {
    let cuttable = |title: &str| Column::text(title).narrow(Narrow::Cut(CELL_MIN));
    // The id has the date of the start, but nothing else has the plan and the targets.
    let least = if width < WIDTH_USUAL { CELL_MIN } else { NAME_MIN };
    let name = |title: &str| Column::text(title).narrow(Narrow::Cut(least));
    let mut table = Table::new(vec![
        Column::text("Run").narrow(Narrow::Keep),
        Column::text("Started").narrow(Narrow::Drop(2)),
        Column::text("Status").narrow(Narrow::Keep),
        name("Plan"),
        name("Targets"),
        cuttable("Label"),
        cuttable("Note").narrow(Narrow::Drop(1)),
    ]);
    for run in runs {
        let text = |text: Option<&str>| Cell::from(cut(&escape::line(text.unwrap_or_default())).trim_end());
        table.push([
            run.run.into(),
            number::minute(run.started_unix_ms).into(),
            run.status.into(),
            text(Some(run.name)),
            text(Some(&run.targets.join(", "))),
            text(run.label),
            text(run.note),
        ]);
    }
    table
}

/// The same with plan, targets and note of each run below its line, none of them cut.
fn with_names_below(runs: &[RunListing<'_>]) -> Table {
    let mut table = Table::new(vec![
        Column::text("Run").narrow(Narrow::Keep),
        Column::text("Started").narrow(Narrow::Drop(2)),
        Column::text("Status").narrow(Narrow::Keep),
        Column::text("Label").narrow(Narrow::Cut(CELL_MIN)),
    ]);
    for run in runs {
        table.push([
            run.run.into(),
            number::minute(run.started_unix_ms).into(),
            run.status.into(),
            escape::line(run.label.unwrap_or_default()).as_ref().into(),
        ]);
        let note = run.note.map_or_else(String::new, |note| format!("; {note}"));
        let says = format!("{} on {}{note}", run.name, run.targets.join(", "));
        table.rows.push(Row::Note(escape::line(&says).into_owned()));
    }
    table
}

/// A list of objects with `run`, in the order given.
pub fn runs_json(runs: &[RunListing<'_>]) -> Value {
    let object = |r: &RunListing<'_>| {
        let mut object = json!({
            "run": r.run,
            "plan": r.name,
            "status": r.status,
            "label": r.label,
            "note": r.note,
            "lost": r.lost,
            "started": number::iso(r.started_unix_ms),
            "targets": r.targets,
        });
        if let Some(says) = r.unreadable {
            object["unreadable"] = says.into();
        }
        object
    };
    Value::Array(runs.iter().map(object).collect())
}
