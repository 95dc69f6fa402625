//! Predictions: the table of a plan as expected, and the same as JSON.

mod brief;

use assay_model::array::Array;
use assay_model::catalogue::class_note;
use assay_model::concurrent::{Concurrent, ConcurrentJob, ConcurrentWhatIf};
use assay_model::demand::{Resource, ResourceKind};
use assay_model::from_plan::StepPrediction;
use assay_model::learned::Levels;
use assay_model::predict::{Prediction, Simulated};
use assay_model::quantity::Bounds;
use assay_model::resolved::Software;
use assay_model::resolved::rebuild::Rebuild;
use assay_model::whatif::{Sweep, WhatIf};
use serde_json::{Value, json};

use crate::layout::wrap;
use crate::number::{long, rounded, size};
use crate::options::{Detail, TextOptions};
use crate::table::{Align, Cell, Column, Format, Narrow, Row, Table};

/// Name and version of the JSON document's form.
pub const SCHEMA: &str = "assay.predict/1";
/// Rows a curve of a sweep is drawn with; longer ones are thinned.
const CURVE_ROWS: usize = 24;
/// Columns of the longest bar of a curve.
const BAR_COLUMNS: f64 = 24.0;
/// Sentences and tables are no wider than this, also in a wider terminal.
const TEXT_COLUMNS: usize = 80;

/// The prediction of a step.
#[derive(Debug, Clone)]
pub struct Expectation {
    /// Name of its test, with the swept values.
    pub name: String,
    /// The prediction.
    pub answer: StepPrediction,
    /// Effects of changes on a step with one job.
    pub what_ifs: Vec<WhatIf>,
    /// Effects of changes on a step with several jobs.
    pub what_ifs_together: Vec<ConcurrentWhatIf>,
    /// Effects of a range of a field.
    pub sweeps: Vec<Sweep>,
    /// Requested parts that are missing, each with the reason in a sentence.
    pub left_out: Vec<String>,
}

impl Expectation {
    /// Whether changes, or curves, were asked for.
    fn has_changes(&self) -> bool {
        !(self.what_ifs.is_empty()
            && self.what_ifs_together.is_empty()
            && self.sweeps.is_empty()
            && self.left_out.is_empty())
    }
}

/// The prediction of a plan on an array.
#[derive(Debug, Clone, Copy)]
pub struct Page<'p> {
    /// The array.
    pub array: &'p Array,
    /// Name of the plan.
    pub plan: &'p str,
    /// Bytes of the array that positions fall into, from its outer edge.
    pub span_bytes: u64,
    /// In the order of the plan.
    pub rows: &'p [Expectation],
}

/// The table; in full also how busy everything is in each test. What changes would bring always follows.
pub fn table(page: Page<'_>, options: TextOptions) -> String {
    let Page { array, plan, span_bytes, rows } = page;
    let columns = options.width.min(TEXT_COLUMNS);
    let mut text = format!(
        "{}\n{}\nThe first {} of the array are used.\n\n",
        wrap(&format!("{plan}, expected on {}", array.name), columns, "  "),
        wrap(&array.title, columns, "  "),
        size(span_bytes)
    );
    let brief = brief::table(rows).filter(|_| options.detail == Detail::Brief);
    let is_brief = brief.is_some();
    let shown = brief.unwrap_or_else(|| numbers(rows)).text(columns);
    text.push_str(&shown.text);
    // On one screen sentences follow one another.
    let mut gap = "\n";
    let mut say = |sentence: &str| {
        text.push_str(&format!("{gap}{}\n", wrap(sentence, columns, "")));
        gap = if is_brief { "" } else { "\n" };
    };
    if let [what_if] = rows.first().map_or(&[][..], |row| &row.what_ifs)
        && is_brief
    {
        say(&format!("The gain is that of {}.", what_if.change));
    }
    bound_words(rows, is_brief).into_iter().for_each(&mut say);
    if let Some(note) = class_note(&array.device) {
        say(&note);
    }
    if !rows.iter().all(is_bound) {
        say(
            "Each number is the best guess, with its lowest and highest value from the ranges in the array file.",
        );
    }
    let vague = rows.iter().filter(|row| is_brief && !is_bound(row)).filter_map(|row| match &row.answer {
        StepPrediction::Single(p) if p99_is(p).contains("magnitude") => Some(row.name.as_str()),
        _ => None,
    });
    let vague: Vec<&str> = vague.collect();
    if !vague.is_empty() && shown.dropped.is_empty() {
        say(&format!("p99 is an order of magnitude, no number, in {}.", vague.join(", ")));
    }
    // A row has the gain of each change; what a curve, or jobs side by side, show needs more room.
    let is_shown = |row: &&Expectation| {
        let has_more =
            if is_brief { !row.sweeps.is_empty() || !row.left_out.is_empty() } else { row.has_changes() };
        options.detail == Detail::Full || has_more
    };
    for row in rows.iter().filter(is_shown) {
        text.push('\n');
        text.push_str(&details(row, columns));
    }
    if !rows.iter().all(|row| is_shown(&row)) {
        let says = match is_brief {
            true => "--explain shows how busy each resource is, and what a change does.",
            false => "--explain shows how busy each resource is.",
        };
        let gap = if is_brief { "" } else { "\n" };
        text.push_str(&format!("{gap}{}\n", wrap(says, columns, "")));
    }
    text
}

/// What the words of bounds mean; nothing where there are none.
fn bound_words(rows: &[Expectation], is_brief: bool) -> Vec<&'static str> {
    const BOUNDS: &str = "\"At most\" and \"at least\" are bounds of the hardware alone, because the software cost is \
                          unknown. Software of storage targets has been 2 to 30 times slower than its hardware; assay \
                          calibrate measures it.";
    const BRIEF: &str = "\"No software\" is the same hardware at its nominal values: no expectation.";
    const GAINS: &str = "The gain of a change is that of the bounds.";
    const FULL: &str = "\"Simulated without software\" is the same hardware at the nominal values of the array file, \
                        where a bound takes the fastest: no bound, and no expectation. Software makes a target slower \
                        than that, and a cache that the file does not have makes it faster.";
    let has_both = rows.iter().any(|row| is_bound(row) && is_simulated(row));
    let bounds = rows.iter().any(is_bound).then_some(BOUNDS);
    let has_gains = has_both && is_brief && rows.iter().any(|row| !row.what_ifs.is_empty());
    let words = has_both.then_some(if is_brief { BRIEF } else { FULL });
    bounds.into_iter().chain(words).chain(has_gains.then_some(GAINS)).collect()
}

fn is_bound(row: &Expectation) -> bool {
    let software = match &row.answer {
        StepPrediction::Single(p) => p.software,
        StepPrediction::Concurrent(together) => together.software,
    };
    software == Software::Unknown
}

fn is_simulated(row: &Expectation) -> bool {
    match &row.answer {
        StepPrediction::Single(p) => p.simulated.is_some(),
        StepPrediction::Concurrent(_) => true,
    }
}

/// Returns a group for each load, named with what limits it, with its numbers below.
pub fn numbers(rows: &[Expectation]) -> Table {
    let mut table = Table::new(["IOPS", "MiB/s", "Mean ms", "p99 ms"].map(number_column).to_vec());
    table.group = "Test".to_owned();
    for row in rows {
        match &row.answer {
            StepPrediction::Single(p) => {
                let name = format!("{}: limited by {}; p99 {}", row.name, p.limit_name(), p99_is(p));
                table.rows.push(Row::Group(name));
                table.push(alone_cells(p).map(Cell::from));
                let simulated = p.simulated.as_ref().filter(|_| p.software == Software::Unknown);
                table.rows.extend(simulated.map(|s| Row::Note(simulated_words(s))));
            }
            StepPrediction::Concurrent(together) => {
                for job in &together.jobs {
                    table.rows.push(Row::Group(format!("{}: with the other jobs", job.name)));
                    table.push(job_cells(job, together).map(Cell::from));
                    if together.software == Software::Unknown {
                        table.rows.push(Row::Note(simulated_words(&job.simulated)));
                    }
                }
            }
        }
    }
    table
}

fn number_column(title: &str) -> Column {
    Column::text(title).align(Align::Right).narrow(Narrow::Keep)
}

/// Returns the plain numbers for programs: a row for each load, the ends of each interval in columns of their own.
pub(crate) fn plain_numbers(rows: &[Expectation]) -> Table {
    let mut columns = vec![Column::text("Test"), Column::text("Limited by")];
    for title in ["IOPS", "MiB/s", "Mean ms", "p99 ms"] {
        columns.push(Column::number(title, ""));
        columns.extend(["low", "high"].map(|end| Column::number(&format!("{title} {end}"), "")));
    }
    columns.push(Column::text("Software"));
    let mut table = Table::new(columns);
    let ends = |bounds: Option<Bounds>| {
        bounds.map_or([const { Cell::Empty }; 3], |b| [b.value, b.lo, b.hi].map(Cell::from))
    };
    let mut push = |name: &str, limit: &str, bounds: [Option<Bounds>; 4], software| {
        let mut cells: Vec<Cell> = vec![name.into(), limit.into()];
        cells.extend(bounds.into_iter().flat_map(ends));
        cells.push(software_name(software).into());
        table.rows.push(Row::Cells(cells));
    };
    for row in rows {
        match &row.answer {
            StepPrediction::Single(p) => {
                let bounds = [Some(p.iops), Some(p.mib_s), Some(p.mean_ms), p.p99_ms];
                push(&row.name, &p.limit_name(), bounds, p.software);
            }
            StepPrediction::Concurrent(together) => {
                let limit = together.shared.first().map_or("", |shared| shared.name.as_str());
                for job in &together.jobs {
                    let s = &job.simulated;
                    let bounds = [Some(s.iops), None, Some(s.mean_ms), Some(s.p99_ms)];
                    push(&job.name, limit, bounds, together.software);
                }
            }
        }
    }
    table
}

/// Returns a prediction in a format: the page of [`table`] as text, else its numbers.
pub fn rendered(page: Page<'_>, format: Format) -> String {
    match format {
        Format::Text(_) => table(page, TextOptions::default()),
        Format::Csv => plain_numbers(page.rows).render(format),
        Format::Markdown | Format::BbCode => numbers(page.rows).render(format),
    }
}

fn p99_is(p: &Prediction) -> &'static str {
    if p.software == Software::Unknown { "a bound" } else { p.p99_reliability.says() }
}

fn alone_cells(p: &Prediction) -> [String; 4] {
    let (most, least) = words_of(p.software);
    [most(p.iops), most(p.mib_s), least(p.mean_ms), p.p99_ms.map_or("-".to_owned(), least)]
}

fn job_cells(job: &ConcurrentJob, together: &Concurrent) -> [String; 4] {
    let (most, least) = words_of(together.software);
    let s = &job.simulated;
    [most(s.iops), "-".to_owned(), least(s.mean_ms), least(s.p99_ms)]
}

/// What the hardware does at its nominal values, beside a bound, which is of the fast end of all ranges. Without an
/// interval: neither end of one would bound what the target does.
fn simulated_words(s: &Simulated) -> String {
    let [iops, mean_ms, p99_ms] = [s.iops, s.mean_ms, s.p99_ms].map(|bounds| long(bounds.value));
    format!("simulated without software: {iops} IOPS, mean {mean_ms} ms, p99 {p99_ms} ms")
}

fn software_name(software: Software) -> &'static str {
    match software {
        Software::None => "none",
        Software::Known => "known",
        Software::Unknown => "unknown",
    }
}

/// How an interval is said.
type Words = fn(Bounds) -> String;

/// How rates and times are said: as intervals, or as bounds where software is unknown.
fn words_of(software: Software) -> (Words, Words) {
    match software {
        Software::Unknown => (|i| format!("at most {}", long(i.hi)), |i| format!("at least {}", long(i.lo))),
        Software::None | Software::Known => (interval, interval),
    }
}

/// `82 (69..107)`, or the number alone where the ends do not differ from it.
pub fn interval(i: Bounds) -> String {
    let (lo, value, hi) = (long(i.lo), long(i.value), long(i.hi));
    if lo == value && value == hi { value } else { format!("{value} ({lo}..{hi})") }
}

fn details(row: &Expectation, columns: usize) -> String {
    let mut text = match &row.answer {
        StepPrediction::Single(p) => alone_details(&row.name, p, columns),
        StepPrediction::Concurrent(together) => together_details(&row.name, together, columns),
    };
    let gain = |x: &f64| format!("x{x:.2}");
    for w in &row.what_ifs {
        let (rate, time) = words_of(w.prediction.software);
        let mut more = gain(&w.gain);
        more.extend(w.prediction.p99_ms.map(|ms| format!(", p99 {} ms", time(ms))));
        let room = head_room(&w.prediction);
        more.extend((!room.is_empty()).then(|| format!(", {room}")));
        text.push_str(&what_if_lines(&w.change, &rate(w.prediction.iops), &more, &w.says, columns));
    }
    for w in &row.what_ifs_together {
        let (rate, _) = words_of(w.together.software);
        let rates: Vec<String> = w.together.jobs.iter().map(|j| rate(j.simulated.iops)).collect();
        let gains: Vec<String> = w.gains.iter().map(gain).collect();
        text.push_str(&what_if_lines(
            &w.change,
            &rates.join(" and "),
            &gains.join(" and "),
            &w.says,
            columns,
        ));
    }
    for sweep in &row.sweeps {
        text.push_str(&indented(&curve(sweep, columns)));
    }
    for says in &row.left_out {
        text.push_str(&format!("{}\n", wrap(&format!("  left out: {says}."), columns, "    ")));
    }
    text
}

/// The change with its numbers, and the sentence below.
fn what_if_lines(change: &str, rates: &str, gains: &str, says: &str, columns: usize) -> String {
    let first = wrap(&format!("  what if {change}: {rates} IOPS, {gains}"), columns, "    ");
    format!("{first}\n{}\n", wrap(&format!("    {says}."), columns, "    "))
}

fn together_details(name: &str, together: &Concurrent, columns: usize) -> String {
    let says =
        format!("{name}: {} jobs at the same time, simulated; {}.", together.jobs.len(), together.says());
    let alone = together.jobs.iter().map(|j| format!("{} {}", j.name, long(j.alone_iops)));
    let busy = together.shared.iter().map(|s| format!("{} {:.0} %", s.name, s.utilisation * 100.0));
    let lines = [
        wrap(&says, columns, "  "),
        wrap(&format!("  alone: {} IOPS", alone.collect::<Vec<_>>().join("; ")), columns, "    "),
        wrap(&format!("  busy: {}", busy.collect::<Vec<_>>().join("; ")), columns, "    "),
    ];
    lines.join("\n") + "\n"
}

/// `The rebuild takes at least 8.3 h`: the shortest time, at the fast end of all ranges.
fn rebuild_takes(rebuild: &Rebuild) -> String {
    format!(
        "The rebuild of a device takes at least {} ({:.0} MB/s onto the new one)",
        duration(rebuild.time_s.lo),
        rebuild.bytes_s.hi / 1e6
    )
}

fn alone_details(name: &str, p: &Prediction, columns: usize) -> String {
    let busy: Vec<String> = p
        .table
        .resources
        .iter()
        .map(|r| format!("{} {:.0} % (saturates at {} IOPS)", r.name, r.utilisation * 100.0, full_at(p, r)))
        .collect();
    let mut lines = vec![
        wrap(&format!("{name}: {}.", p.says()), columns, "  "),
        wrap(&format!("  busy: {}", busy.join("; ")), columns, "    "),
    ];
    if let Some(levels) = &p.levels {
        lines.push(wrap(&format!("  {}.", levels_say(levels)), columns, "    "));
    }
    if let Some(warm_up_s) = p.warm_up_s {
        let time = duration(warm_up_s);
        let says = format!(
            "  The tier starts cold and holds 90 % of what it will hold after {time}; the rate is the mean over the \
             run."
        );
        lines.push(wrap(&says, columns, "    "));
    }
    if let Some(rebuild) = p.rebuild {
        lines.push(wrap(&format!("  {}.", rebuild_takes(&rebuild)), columns, "    "));
    }
    if let (true, Some(s)) = (p.shows_both(), &p.simulated) {
        let says = format!(
            "  The engines differ by more than 10 %: closed form {} IOPS, mean {:.2} ms; simulation {} IOPS, mean \
             {:.2} ms.",
            long(p.closed.iops),
            p.closed.mean_ms,
            interval(s.iops),
            s.mean_ms.value
        );
        lines.push(wrap(&says, columns, "    "));
    }
    lines.join("\n") + "\n"
}

/// What rows of measured systems teach of the intervals of other levels.
fn levels_say(levels: &Levels) -> String {
    let [half, nearly_all] =
        [levels.at_50, levels.at_95].map(|i| format!("{} to {}", long(i.lo), long(i.hi)));
    let by = match levels.family {
        Some(family) => format!("{} measured systems ({})", levels.systems, family.says()),
        None => format!("all {} measured systems, as its own kind has too few", levels.systems),
    };
    format!("by {by}, half of such rows lie within {half} IOPS, and 95 % within {nearly_all}")
}

/// `45 s`, `12 min`, `3.5 h`.
pub(crate) fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// The rate at which a resource is full: of the fast end of all ranges where the prediction is a bound, as that is.
fn full_at(p: &Prediction, resource: &Resource) -> String {
    match p.software {
        Software::Unknown => long(resource.ceiling.hi),
        Software::None | Software::Known => {
            interval(Bounds { value: resource.ceiling_iops, ..resource.ceiling })
        }
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

/// A bar per value, and a mark where the curve flattens.
fn curve(sweep: &Sweep, columns: usize) -> String {
    let highest = sweep.points.iter().map(|(_, p)| p.iops.value).fold(0.0, f64::max);
    // The rest of a line is the field, its value and the rate.
    let longest = if columns < TEXT_COLUMNS { BAR_COLUMNS / 2.0 } else { BAR_COLUMNS };
    let every = sweep.points.len().div_ceil(CURVE_ROWS).max(1);
    let mut text = String::new();
    for (index, (value, p)) in sweep.points.iter().enumerate() {
        // What never paid does not stop paying.
        let is_knee = index > 0 && sweep.knee == Some(*value);
        if index % every != 0 && !is_knee && index + 1 != sweep.points.len() {
            continue;
        }
        let length = (p.iops.value / highest * longest).round();
        let bar: String = (0..24).take_while(|i| f64::from(*i) < length).map(|_| '#').collect();
        let mark = if is_knee { "  <- flattens here" } else { "" };
        let p99 = p.p99_ms.map_or(String::new(), |ms| format!("  p99 {:>7} ms", long(ms.value)));
        let (iops, room) = (long(p.iops.value), head_room(p));
        text.push_str(&format!("{} {value:>6} {iops:>9} IOPS{p99}  {room:<15} {bar}{mark}\n", sweep.field));
    }
    text.push_str(&format!("{}.\n", wrap(&sweep.says, columns - 3, "  ")));
    text
}

/// How far the load is from the next limit: the rate of a paced load over what is full first, else the second suspect.
fn head_room(p: &Prediction) -> String {
    match (p.limit, p.table.first()) {
        (ResourceKind::LoadModel, Some(first)) => {
            format!("saturates at {}", long(first.ceiling_iops))
        }
        _ if p.table.distance() < 100.0 => format!("next at x{:.2}", p.table.distance()),
        _ => String::new(),
    }
}

/// The same as one JSON document; rates per second, times in ms.
pub fn document(page: Page<'_>) -> Value {
    json!({
        "schema": SCHEMA,
        "array": page.array.name,
        "title": page.array.title,
        "plan": page.plan,
        "span_bytes": page.span_bytes,
        "tests": page.rows.iter().map(row_json).collect::<Vec<_>>(),
    })
}

fn row_json(row: &Expectation) -> Value {
    let (alone, jobs) = match &row.answer {
        StepPrediction::Single(p) => (Some(prediction_json(p)), None),
        StepPrediction::Concurrent(together) => (None, Some(together_json(together))),
    };
    json!({
        "name": row.name,
        "expected": alone,
        "jobs": jobs.as_ref().map(|j| &j["jobs"]),
        "shared": jobs.as_ref().map(|j| &j["shared"]),
        "what_if_together": row.what_ifs_together.iter().map(|w| json!({
            "change": w.change,
            "gains": w.gains.iter().map(|g| rounded(*g)).collect::<Vec<_>>(),
            "says": w.says,
            "expected": together_json(&w.together),
        })).collect::<Vec<_>>(),
        "what_if": row.what_ifs.iter().map(|w| json!({
            "change": w.change,
            "gain": rounded(w.gain),
            "says": w.says,
            "expected": prediction_json(&w.prediction),
        })).collect::<Vec<_>>(),
        "sweeps": row.sweeps.iter().map(|s| json!({
            "field": s.field,
            "knee": s.knee,
            "says": s.says,
            "points": s.points.iter().map(|(value, p)| json!({
                "value": value,
                "iops": interval_json(p.iops),
                "p99_ms": p.p99_ms.map(interval_json),
                "limit": p.limit_name(),
                "second_distance": rounded(p.table.distance()),
            })).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "left_out": row.left_out,
    })
}

/// A prediction as it stands in documents.
pub(crate) fn prediction_json(p: &Prediction) -> Value {
    json!({
        "is_bound": p.software == Software::Unknown,
        "software": software_name(p.software),
        "iops": interval_json(p.iops),
        "iops_50": p.levels.map(|levels| interval_json(levels.at_50)),
        "iops_95": p.levels.map(|levels| interval_json(levels.at_95)),
        "mib_per_s": interval_json(p.mib_s),
        "mean_ms": interval_json(p.mean_ms),
        "p99_ms": p.p99_ms.map(interval_json),
        "p99_reliability": p.p99_reliability.says(),
        "limit": p.limit_name(),
        "warm_up_s": p.warm_up_s.and_then(rounded),
        "rebuild": p.rebuild.map(|rebuild| json!({
            "time_s_min": rounded(rebuild.time_s.lo),
            "bytes_per_s_max": rounded(rebuild.bytes_s.hi),
        })),
        "second": p.table.second().map(|r| r.name.clone()),
        "second_distance": rounded(p.table.distance()),
        "resources": p.table.resources.iter().map(|r| json!({
            "name": r.name,
            "demand_us": rounded(r.demand_us),
            "servers": rounded(r.servers),
            "ceiling_iops": rounded(r.ceiling_iops),
            "ceiling": interval_json(r.ceiling),
            "utilisation": rounded(r.utilisation),
        })).collect::<Vec<_>>(),
        "closed_form_iops": rounded(p.closed.iops),
        "simulation": p.simulated.as_ref().map(simulated_json),
        "says": p.says(),
    })
}

fn together_json(together: &Concurrent) -> Value {
    json!({
        "is_bound": together.software == Software::Unknown,
        "jobs": together.jobs.iter().map(|job| json!({
            "name": job.name,
            "expected": simulated_json(&job.simulated),
            "alone_iops": rounded(job.alone_iops),
        })).collect::<Vec<_>>(),
        "shared": together.shared.iter().map(|s| json!({
            "name": s.name,
            "utilisation": rounded(s.utilisation),
            "parts": s.parts.iter().map(|p| rounded(*p)).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "says": together.says(),
    })
}

pub(crate) fn simulated_json(s: &Simulated) -> Value {
    json!({
        "iops": interval_json(s.iops),
        "mean_ms": interval_json(s.mean_ms),
        "p50_ms": interval_json(s.p50_ms),
        "p99_ms": interval_json(s.p99_ms),
        "max_ms": interval_json(s.max_ms),
        "in_flight": rounded(s.in_flight),
        "ios": s.ios,
    })
}

/// An interval: nominal, lowest, highest.
pub(crate) fn interval_json(i: Bounds) -> Value {
    json!({ "value": rounded(i.value), "lo": rounded(i.lo), "hi": rounded(i.hi) })
}
