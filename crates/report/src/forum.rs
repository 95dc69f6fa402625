//! The forum table: a row for each step, under it a row for each job, target and path where there are several.

use std::collections::BTreeMap;

use assay_analysis::{Cost, JobSummary, OpSummary, StepSummary, precision};
use assay_record::{Latency, MemberEnd, PathEnd, Price};

use crate::member::MemberUse;
use crate::network::PathUse;
use crate::number::{self, TimeUnit, separated};
use crate::table::{Cell, Column, Decimals, Narrow, Row, Table};

/// Names of tests keep this many columns where text is narrow: those of the forum's tests fit.
const NAME_COLUMNS: usize = 24;
/// The port of iSCSI portals unless another is given.
const DEFAULT_PORT: &str = ":3260";
/// A person sees the row of each target up to this many.
const MEMBERS_MAX: usize = 8;

/// So many rows of targets and paths fit a screen beside four tests.
const PARTS_MAX: usize = 4;
/// Targets and paths whose shares are within this part of an even share need no row each.
const EVEN: f64 = 0.1;
/// Nor do those whose mean latencies differ by no more than this factor.
const UNLIKE: f64 = 1.5;

/// Where the half width of the interval of the IOPS stands.
const ERROR_COLUMN: usize = 3;

/// Who reads a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    /// Titles as short as forum tables have them; columns that a narrow terminal can do without are left out.
    Person,
    /// Each title with its unit.
    Program,
}

/// Returns the table of some steps, with what the rates cost where the price of the targets is known.
pub(crate) fn priced(steps: &[StepSummary], reader: Reader, price: Option<&Price>) -> Table {
    let mut table = table(steps, reader);
    let Some(price) = price else { return table };
    let unit = price.currency.as_str();
    for title in ["per 1000 IOPS", "per MiB/s"] {
        table.columns.push(Column::number(&format!("{unit} {title}"), "").narrow(Narrow::Drop(0)));
    }
    // Rows of steps come in the order of the steps; jobs and paths have no price of their own.
    let mut steps = steps.iter();
    for row in &mut table.rows {
        let cost = match row {
            Row::Cells(_) => {
                let measured = steps.by_ref().find(|step| instead(step).is_none());
                measured.and_then(|step| Cost::of(price, step.total.iops, step.total.mib_per_s))
            }
            _ => None,
        };
        if let Row::Cells(cells) | Row::Part(cells) = row {
            cells.push(cost.as_ref().map(|cost| cost.per_1000_iops).into());
            cells.push(cost.as_ref().map(|cost| cost.per_mib_per_s).into());
        }
    }
    table
}

/// Returns the table of some steps, all latencies in one unit: for programs always milliseconds, so that the columns of
/// any two runs have the same names.
pub(crate) fn table(steps: &[StepSummary], reader: Reader) -> Table {
    let means: Vec<f64> = steps.iter().filter_map(|s| s.total.waited().mean_ns()).collect();
    let unit = match reader {
        Reader::Person => TimeUnit::for_means(&means),
        Reader::Program => TimeUnit::Millis,
    };
    let mut table = Table::new(columns(unit, reader));
    for step in steps {
        table.rows.push(step_row(step, unit));
        if step.skipped.is_some() || step.unmeasured.is_some() {
            continue;
        }
        if reader == Reader::Person && step.gap_s() > 0.0 {
            let words = format!("Assay did not run for {:.1} s of this window", step.gap_s());
            table.rows.push(Row::Words { name: "  gap".to_owned(), words });
        }
        if step.jobs.len() > 1 {
            table.rows.extend(step.jobs.iter().map(|job| job_row(job, unit)));
        }
        table.rows.extend(member_rows(step, reader, unit));
        if step.paths.len() > 1 {
            table.rows.extend(step.paths.iter().map(|path| path_row(path, step, unit)));
        }
    }
    let is_known = |row: &Row| matches!(row, Row::Cells(cells) if cells[ERROR_COLUMN] != Cell::Empty);
    if reader == Reader::Person && !table.rows.iter().any(is_known) {
        table.columns.remove(ERROR_COLUMN);
        for row in &mut table.rows {
            if let Row::Cells(cells) | Row::Part(cells) = row {
                cells.remove(ERROR_COLUMN);
            }
        }
    }
    table
}

/// The columns that a narrow terminal can do without have a rank; the highest goes first.
fn columns(unit: TimeUnit, reader: Reader) -> Vec<Column> {
    let time = |title: &str| Column::number(title, if reader == Reader::Program { unit.name() } else { "" });
    vec![
        Column::text("Test").narrow(Narrow::Cut(NAME_COLUMNS)),
        Column::number("MiB/s", ""),
        Column::number("IOPS", ""),
        Column::number(if reader == Reader::Program { "IOPS ±%" } else { "±%" }, "")
            .decimals(Decimals::Fixed(1))
            .narrow(Narrow::Drop(2)),
        Column::number("Avg", unit.name()),
        Column::number("Max", unit.name()).narrow(Narrow::Drop(1)),
        time("p50").narrow(Narrow::Drop(3)),
        time("p99"),
        time("p99.9").narrow(Narrow::Drop(4)),
        Column::number("Outst.", "").narrow(Narrow::Drop(5)),
        Column::number("CPU %", "").decimals(Decimals::Fixed(0)).narrow(Narrow::Drop(6)),
    ]
}

fn step_row(step: &StepSummary, unit: TimeUnit) -> Row {
    let name = step_name(step);
    if let Some(words) = instead(step) {
        return Row::Words { name, words };
    }
    let mut cells = cells(name, &step.total, step.outstanding_effective, unit);
    cells[ERROR_COLUMN] = error_cell(precision(step).and_then(|of| of.iops.half_width()));
    cells.push(step.cpu.used.map(|c| c.host_busy * 100.0).into());
    Row::Cells(cells)
}

/// Half an interval over its value, in percent; one that is wider than the value says nothing more.
pub(crate) fn error_cell(half_width: Option<f64>) -> Cell {
    match half_width {
        Some(width) if width > 1.0 => ">100".into(),
        width => width.map(|width| width * 100.0).into(),
    }
}

/// Test and swept values.
fn step_name(step: &StepSummary) -> String {
    format!("{} {}", step.test, step.step).trim_end().to_owned()
}

/// What stands in place of numbers.
fn instead(step: &StepSummary) -> Option<String> {
    step.skipped.as_ref().map(|why| format!("left out: {why}")).or_else(|| step.unmeasured.clone())
}

fn job_row(job: &JobSummary, unit: TimeUnit) -> Row {
    let mut cells = cells(format!("  {}", job.name), &job.total, job.outstanding_effective, unit);
    cells.push(Cell::Empty);
    Row::Part(cells)
}

/// Returns the steps without the rows of their targets and paths, and what is said in place of these, where they are
/// many and all alike: each has its share of the I/Os and no unlike latency, and no path went down.
pub(crate) fn without_even_parts(steps: &[StepSummary]) -> Option<(Vec<StepSummary>, String)> {
    let several = |count: usize| if count > 1 { count } else { 0 };
    let rows: usize = steps.iter().map(|step| several(step.members.len()) + several(step.paths.len())).sum();
    let is_faulty = |path: &PathEnd| !path.is_up || path.failures > 0;
    if rows <= PARTS_MAX || steps.iter().flat_map(|step| &step.paths).any(is_faulty) {
        return None;
    }
    let groups = |parts: &dyn Fn(&StepSummary) -> Vec<(u32, Part)>| -> Vec<Vec<Part>> {
        let of_step = |step: &StepSummary| {
            let mut by_job = BTreeMap::<u32, Vec<Part>>::new();
            parts(step).into_iter().for_each(|(job, part)| by_job.entry(job).or_default().push(part));
            by_job.into_values().filter(|group| group.len() > 1).collect::<Vec<_>>()
        };
        steps.iter().flat_map(of_step).collect()
    };
    let targets = groups(&|step| {
        let part = |one: &MemberEnd| (MemberUse::of(one, step).ops_share, [one.mean_service_ns(), None]);
        step.members.iter().map(|one| (one.job, part(one))).collect()
    });
    let paths = groups(&|step| {
        let part = |one: &PathEnd| {
            (PathUse::of(one, step).ops_share, [one.latency.mean_ns(), one.latency.quantile_ns(0.99)])
        };
        step.paths.iter().map(|one| (one.job, part(one))).collect()
    });
    let says = [alike(&targets, "targets")?, alike(&paths, "paths")?].into_iter().flatten();
    let says = format!("{}; --explain has a row for each.", says.collect::<Vec<_>>().join("; "));
    let bare = |step: &StepSummary| StepSummary { members: Vec::new(), paths: Vec::new(), ..step.clone() };
    Some((steps.iter().map(bare).collect(), says))
}

/// Share of the I/Os of a job, in [0, 1], and mean and p99 of their latency, ns.
type Part = (Option<f64>, [Option<f64>; 2]);

/// What is said of the parts of jobs that are alike, if there are any; `None` where one is not.
fn alike(groups: &[Vec<Part>], of: &str) -> Option<Option<String>> {
    let (mut count, mut lo, mut hi) = (0, 1.0_f64, 0.0_f64);
    for group in groups {
        let shares: Vec<f64> = group.iter().map(|(share, _)| *share).collect::<Option<_>>()?;
        let is_unlike = |which: usize| {
            let times = || group.iter().filter_map(|(_, times)| times[which]);
            times().fold(0.0, f64::max) > times().fold(f64::INFINITY, f64::min) * UNLIKE
        };
        let is_even = shares.iter().all(|share| (share * shares.len() as f64 - 1.0).abs() <= EVEN);
        // The range that is said is of jobs with as many.
        let is_of_others = count > 0 && count != group.len();
        if !is_even || is_unlike(0) || is_unlike(1) || is_of_others {
            return None;
        }
        count = count.max(group.len());
        (lo, hi) = shares.iter().fold((lo, hi), |(lo, hi), share| (lo.min(*share), hi.max(*share)));
    }
    let [lo, hi] = [lo, hi].map(|share| format!("{:.1}", 100.0 * share));
    let shares = if lo == hi { lo } else { format!("{lo} to {hi}") };
    let range = format!("Each of {count} {of} had {shares} % of the I/Os");
    Some((count > 0).then_some(range))
}

/// Returns a row for each target of jobs with several. Of many, a person sees only those that got least and most.
fn member_rows(step: &StepSummary, reader: Reader, unit: TimeUnit) -> Vec<Row> {
    let row = |member: &MemberEnd| member_row(member, step, unit);
    if reader == Reader::Program || step.members.len() <= MEMBERS_MAX {
        return step.members.iter().map(row).collect();
    }
    let ends = [step.members.iter().min_by_key(|m| m.ops), step.members.iter().max_by_key(|m| m.ops)];
    ends.into_iter().flatten().map(row).collect()
}

/// Share and address in the name.
fn member_row(member: &MemberEnd, step: &StepSummary, unit: TimeUnit) -> Row {
    let MemberUse { ops_share, iops, mib_per_s } = MemberUse::of(member, step);
    let mean_ns = member.mean_service_ns();
    let name = format!("  {} {:.1} %", member.member, 100.0 * ops_share.unwrap_or(0.0));
    let mut cells: Vec<Cell> = vec![name.into(), mib_per_s.into(), iops.into(), Cell::Empty];
    cells.push(mean_ns.map(|ns| unit.of_ns(ns)).into());
    cells.extend([Cell::Empty, Cell::Empty, Cell::Empty, Cell::Empty]);
    cells.extend([mean_ns.map(|ns| iops * ns / 1e9).into(), Cell::Empty]);
    Row::Part(cells)
}

/// Share and portal in the name; rates over the window of the path's job.
fn path_row(path: &PathEnd, step: &StepSummary, unit: TimeUnit) -> Row {
    let PathUse { ops_share, iops, mib_per_s, in_flight, .. } = PathUse::of(path, step);
    let state = if path.is_up { "" } else { ", down" };
    let share = 100.0 * ops_share.unwrap_or(0.0);
    let portal = path.portal.strip_suffix(DEFAULT_PORT).unwrap_or(&path.portal);
    let host = step.jobs.get(path.job as usize).filter(|_| !step.hosts.is_empty());
    let of = host.map(|host| format!("{} ", host.name)).unwrap_or_default();
    let name = format!("  {of}path {} {portal} {share:.1} %{state}", path.path);
    let mut cells: Vec<Cell> = vec![name.into(), mib_per_s.into(), iops.into(), Cell::Empty];
    cells.extend(times(&path.latency, unit));
    cells.extend([in_flight.into(), Cell::Empty]);
    Row::Part(cells)
}

fn cells(name: String, total: &OpSummary, outstanding: f64, unit: TimeUnit) -> Vec<Cell> {
    let mut cells: Vec<Cell> = vec![name.into(), total.mib_per_s.into(), total.iops.into(), Cell::Empty];
    cells.extend(times(total.waited(), unit));
    // It is the rate times the mean latency: unknown without one.
    cells.push(total.waited().mean_ns().map(|_| outstanding).into());
    cells
}

/// Mean, maximum, p50, p99 and p99.9.
fn times(latency: &Latency, unit: TimeUnit) -> [Cell; 5] {
    let max = latency.max_ns().map(|ns| ns as f64);
    let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|q| latency.quantile_ns(q));
    [latency.mean_ns(), max, p50, p99, p999].map(|ns| ns.map(|ns| unit.of_ns(ns)).into())
}

/// Returns what a step came to, in the numbers of its row: `62.8 IOPS, 0.25 MiB/s, p99 18.2 ms`.
pub fn step_line(step: &StepSummary) -> String {
    if let Some(words) = instead(step) {
        return words;
    }
    let short = number::long;
    let total = &step.total;
    let p99 = total.waited().quantile_ns(0.99).map(|ns| {
        let unit = TimeUnit::for_means(&[ns]);
        format!(", p99 {} {}", short(unit.of_ns(ns)), unit.name())
    });
    let errors = match step.errors {
        0 => String::new(),
        1 => ", 1 error".to_owned(),
        n => format!(", {} errors", separated(&n.to_string())),
    };
    let gap = match step.gap_s() {
        none if none <= 0.0 => String::new(),
        gap => format!(", not running for {gap:.1} s"),
    };
    format!(
        "{} IOPS, {} MiB/s{}{errors}{gap}",
        short(total.iops),
        short(total.mib_per_s),
        p99.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_alike_by_share_mean_and_p99_and_in_jobs_with_as_many() {
        let part = |share, mean, p99| (Some(share), [Some(mean), p99]);
        let even = vec![part(0.5, 100.0, Some(200.0)), part(0.5, 110.0, Some(210.0))];
        let said = alike(std::slice::from_ref(&even), "paths").flatten().unwrap();
        assert_eq!(said, "Each of 2 paths had 50.0 % of the I/Os");
        assert_eq!(alike(&[], "paths"), Some(None));
        for unlike in [
            vec![part(0.6, 100.0, None), part(0.4, 100.0, None)],
            vec![part(0.5, 100.0, None), part(0.5, 200.0, None)],
            vec![part(0.5, 100.0, Some(200.0)), part(0.5, 100.0, Some(4000.0))],
        ] {
            assert_eq!(alike(&[unlike], "paths"), None);
        }
        // Of four, a quarter each is even as well, and the range of both would not be.
        assert_eq!(alike(&[even, vec![part(0.25, 100.0, None); 4]], "paths"), None);
    }
}
