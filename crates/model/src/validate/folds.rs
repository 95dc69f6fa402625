//! Leave-one-out: which rows are fitted, and which are predicted from them.
//!
//! * `atto`: each row of the block sweep from the other fourteen; the forum's sequential tests from all.
//! * `001d`, `001b`: one random row of the ix4 from the other, through the serial random-write time.
//! * `atto-3`, `008`: three machines at once by simulation, from the sweep and tests 001d and 001b.
//! * `step2`: the 4- and 8-disk tables of Openfiler from its step 2.

use super::{Compared, ValidateError, array_of};
use crate::array::{Array, SetError, set};
use crate::calibrate::{Point, fit_line, match_rate, predicted_iops, strip_software};
use crate::demand::unloaded_ns;
use crate::des::{SimOptions, simulate};
use crate::published::{Published, Row, RowLimit};
use crate::quantity::{Bounds, Corner};
use crate::resolved::{ResolvedArray, Tables};
use crate::workload::Workload;

/// Workers of the ix4's target: 8 fits the three rows of test 008 (4 to 8 do), and is a known default.
const IX4_WORKERS: u32 = 8;
/// I/Os of a simulated group.
const GROUP_IOS: u64 = 400_000;

type Rows<'a> = Vec<(&'a Published, &'a Row)>;

/// Cross-predicted rows, and the block sweep's own.
pub(super) fn run(
    published: &[Published],
    tables: &mut Tables,
) -> Result<(Vec<Compared>, Vec<Compared>), ValidateError> {
    let rows: Rows<'_> = published.iter().flat_map(|t| t.rows.iter().map(move |r| (t, r))).collect();
    let fold = |name: &str| -> Rows<'_> {
        rows.iter().copied().filter(|(_, r)| r.model.as_ref().is_some_and(|m| m.calibrated == name)).collect()
    };
    let (sweep_rows, sequential): (Rows<'_>, Rows<'_>) =
        fold("atto").into_iter().partition(|(_, r)| r.test.starts_with("ATTO"));
    let sweep = sweep_from_itself(&sweep_rows, tables)?;
    let ix4 = ix4_from_sweep(&sweep_rows, tables)?;
    let mut cross = Vec::new();
    for (table, row) in &sequential {
        cross.push(single(&ix4, table, row, "block sweep", tables)?);
    }
    let (b, d) = (fold("001d"), fold("001b"));
    let (Some((table_b, row_b)), Some((table_d, row_d))) = (b.first(), d.first()) else {
        return Err(ValidateError::NoRow("001b and 001d"));
    };
    cross.push(single(&with_serial(&ix4, row_d, tables)?, table_b, row_b, "block sweep, 001d", tables)?);
    cross.push(single(&with_serial(&ix4, row_b, tables)?, table_d, row_d, "block sweep, 001b", tables)?);
    // Test 008 is in neither row, so both may be used: the random one, then the sequential share.
    let mut pool = with_serial(&ix4, row_d, tables)?;
    match_rate(&mut pool, "target.serial_sequential", (0.0, 1.0), &point(row_b)?, tables)
        .map_err(refused(row_b))?;
    change(&mut pool, row_d, &format!("target.workers={IX4_WORKERS}"))?;
    cross.extend(group(&pool, &fold("atto-3"), "block sweep", Summary::Total, tables)?);
    cross.extend(group(&pool, &fold("008"), "block sweep, 001d, 001b", Summary::Each, tables)?);
    cross.extend(openfiler(&rows, &fold("step2"), tables)?);
    Ok((cross, sweep))
}

fn change(array: &mut Array, row: &Row, text: &str) -> Result<(), ValidateError> {
    set(array, text).map_err(|source| ValidateError::Set { row: row.test.clone(), source })
}

fn refused(row: &Row) -> impl Fn(SetError) -> ValidateError + '_ {
    |source| ValidateError::Set { row: row.test.clone(), source }
}

fn point(row: &Row) -> Result<Point, ValidateError> {
    match (row.workload(), row.measured_iops()) {
        (Some(workload), Some(iops)) => Ok(Point { workload, iops }),
        _ => Err(ValidateError::NoRow("a modelled row")),
    }
}

fn bare(row: &Row) -> Result<Array, ValidateError> {
    let mut array = array_of(row)?;
    strip_software(&mut array);
    Ok(array)
}

/// (size in KiB, software time, total time) of a row at one outstanding, us.
fn sample(array: &Array, row: &Row, tables: &mut Tables) -> Result<(f64, f64, f64), ValidateError> {
    let point = point(row)?;
    let resolved = ResolvedArray::new(array, Corner::Nominal, point.workload.region(), tables);
    let hardware: f64 =
        resolved.classes(&point.workload).iter().map(|c| c.share * unloaded_ns(&resolved, c)).sum::<f64>()
            / 1e3;
    let total = 1e6 / point.iops;
    Ok((point.workload.mean_size() / 1024.0, total - hardware, total))
}

fn put_line(array: &mut Array, row: &Row, (a, b): (f64, f64)) -> Result<(), ValidateError> {
    let kind = if row.read_pct == Some(100.0) { "read" } else { "write" };
    change(array, row, &format!("target.{kind}_op_us={a} target.{kind}_kib_us={b}"))
}

fn sweep_from_itself(rows: &Rows<'_>, tables: &mut Tables) -> Result<Vec<Compared>, ValidateError> {
    let mut out = Vec::new();
    for (table, row) in rows {
        let mut array = bare(row)?;
        let mut samples = Vec::new();
        for (_, other) in rows.iter().filter(|(_, o)| o.read_pct == row.read_pct && o.test != row.test) {
            samples.push(sample(&array, other, tables)?);
        }
        put_line(&mut array, row, fit_line(&samples))?;
        out.push(single(&array, table, row, "the other 14 sizes", tables)?);
    }
    Ok(out)
}

/// The ix4 with its four costs fitted on the whole sweep.
fn ix4_from_sweep(rows: &Rows<'_>, tables: &mut Tables) -> Result<Array, ValidateError> {
    let (_, first) = rows.first().ok_or(ValidateError::NoRow("atto"))?;
    let mut array = bare(first)?;
    let plain = array.clone();
    for read_pct in [100.0, 0.0] {
        let of_kind: Vec<&Row> =
            rows.iter().map(|(_, r)| *r).filter(|r| r.read_pct == Some(read_pct)).collect();
        let mut samples = Vec::new();
        for row in &of_kind {
            samples.push(sample(&plain, row, tables)?);
        }
        if let Some(row) = of_kind.first() {
            put_line(&mut array, row, fit_line(&samples))?;
        }
    }
    Ok(array)
}

/// The array with its serial random-write time fitted to one row.
fn with_serial(array: &Array, row: &Row, tables: &mut Tables) -> Result<Array, ValidateError> {
    let mut array = array.clone();
    match_rate(&mut array, "target.serial_write_ms", (0.1, 1000.0), &point(row)?, tables)
        .map_err(refused(row))?;
    Ok(array)
}

fn compared(table: &Published, row: &Row, iops: f64, measured: f64, on: &str) -> Compared {
    Compared {
        table: table.name.clone(),
        test: row.test.clone(),
        measured,
        predicted: Bounds { lo: iops, value: iops, hi: iops },
        ratio: iops / measured,
        limit: if on.is_empty() { "simulated side by side".to_owned() } else { String::new() },
        kind: row.model.as_ref().map_or(RowLimit::Software, |m| m.limit),
        calibrated_on: on.to_owned(),
        why: String::new(),
    }
}

fn single(
    array: &Array,
    table: &Published,
    row: &Row,
    on: &str,
    tables: &mut Tables,
) -> Result<Compared, ValidateError> {
    let p = point(row)?;
    Ok(compared(table, row, predicted_iops(array, &p.workload, tables), p.iops, on))
}

/// Rows that ran at the same time, from data sheets only.
pub(super) fn groups_from_sheets(
    published: &[Published],
    tables: &mut Tables,
) -> Result<Vec<Compared>, ValidateError> {
    let rows: Rows<'_> = published.iter().flat_map(|t| t.rows.iter().map(move |r| (t, r))).collect();
    let group_of = |row: &Row| row.model.as_ref().map(|m| m.group.clone()).filter(|g| !g.is_empty());
    let mut names: Vec<String> = rows.iter().filter_map(|(_, r)| group_of(r)).collect();
    names.dedup();
    let mut out = Vec::new();
    for name in names {
        let members: Rows<'_> =
            rows.iter().copied().filter(|(_, r)| group_of(r).as_ref() == Some(&name)).collect();
        if let Some((_, row)) = members.first() {
            out.extend(group(&bare(row)?, &members, "", Summary::Each, tables)?);
        }
    }
    Ok(out)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Summary {
    /// One comparison of the sums.
    Total,
    /// One comparison per client.
    Each,
}

/// Rows that ran at the same time, by simulation.
fn group(
    array: &Array,
    rows: &Rows<'_>,
    on: &str,
    summary: Summary,
    tables: &mut Tables,
) -> Result<Vec<Compared>, ValidateError> {
    let points = rows.iter().map(|(_, r)| point(r)).collect::<Result<Vec<_>, _>>()?;
    let (Some(first), Some((table, row))) = (points.first(), rows.first()) else {
        return Err(ValidateError::NoRow("a group"));
    };
    let resolved = ResolvedArray::new(array, Corner::Nominal, first.workload.region(), tables);
    let workloads: Vec<Workload> = points.iter().map(|p| p.workload.clone()).collect();
    let options = SimOptions { max_ios: GROUP_IOS, ..SimOptions::default() };
    let outcomes = simulate(&resolved, &workloads, options);
    if summary == Summary::Total {
        let (sum, measured) = (outcomes.iter().map(|o| o.iops).sum(), points.iter().map(|p| p.iops).sum());
        let mut total = compared(table, row, sum, measured, on);
        total.test = "Test 007 total of three".to_owned();
        return Ok(vec![total]);
    }
    let each = rows.iter().zip(&outcomes).zip(&points);
    Ok(each.map(|(((table, row), o), p)| compared(table, row, o.iops, p.iops, on)).collect())
}

/// Openfiler: read cost, write cost, serial write and its sequential share from the four rows of step 2, in
/// that order, each by matching one row; then the other tables are predicted.
fn openfiler(
    all: &Rows<'_>,
    targets: &Rows<'_>,
    tables: &mut Tables,
) -> Result<Vec<Compared>, ValidateError> {
    let step2 = |test: &str| {
        let found = all.iter().find(|(t, r)| {
            t.name == "openfiler-2.3" && r.test.starts_with("step2") && r.test.ends_with(test)
        });
        found.map(|(_, r)| *r).ok_or(ValidateError::NoRow("step2"))
    };
    let fitted: [(&str, &Row, (f64, f64)); 4] = [
        ("target.read_op_us", step2("Max Throughput-100%Read")?, (0.0, 5000.0)),
        ("target.write_op_us", step2("Max Throughput-50%Read")?, (0.0, 5000.0)),
        ("target.serial_write_ms", step2("Random-8k-70%Read")?, (0.1, 1000.0)),
        ("target.serial_sequential", step2("RealLife-60%Rand-65%Read")?, (0.0, 1.0)),
    ];
    let mut knobs = Vec::new();
    let mut array = bare(fitted[0].1)?;
    for (field, row, range) in fitted {
        let value = match_rate(&mut array, field, range, &point(row)?, tables).map_err(refused(row))?;
        knobs.push(format!("{field}={value}"));
    }
    let mut out = Vec::new();
    for (table, row) in targets {
        let mut array = bare(row)?;
        change(&mut array, row, &knobs.join(" "))?;
        out.push(single(&array, table, row, "step 2, one number per row", tables)?);
    }
    Ok(out)
}
