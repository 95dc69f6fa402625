//! Logs that fio writes with `write_bw_log`, `write_iops_log` and `write_lat_log`, averaged by `log_avg_msec`: those of
//! one job together are a row with a series.

use std::collections::BTreeMap;

use assay_record::{AccessStats, Imported, Latency, OpStats};
use assay_spec::Semantics;
use assay_spec::units::KIB;

use super::{ImportedResult, ROWS_MAX, ResultRow, RowJob, access, whole};
use crate::{ImportError, complain};

/// The most lines of a log.
const LINES_MAX: usize = 1_000_000;

/// What a log counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Bandwidth,
    Ios,
    Latency,
}

/// The name of a log without what it counts: `run` and `1` of `run_bw.1.log`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogName {
    /// What the job file calls it.
    pub stem: String,
    /// The job; 0 where the name has none.
    pub job: u32,
}

fn parts(file_name: &str) -> Option<(LogName, Kind)> {
    let (name, job) = match file_name.strip_suffix(".log")?.rsplit_once('.') {
        Some((name, number)) if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => {
            (name, number.parse().ok()?)
        }
        _ => (file_name.strip_suffix(".log")?, 0),
    };
    let (stem, kind) = name.rsplit_once('_')?;
    let kind = match kind {
        "bw" => Kind::Bandwidth,
        "iops" => Kind::Ios,
        "lat" => Kind::Latency,
        _ => return None,
    };
    Some((LogName { stem: stem.to_owned(), job }, kind))
}

/// Returns the job whose log has this name; `None` if no log of rates or of whole latencies has.
pub fn log_name(file_name: &str) -> Option<LogName> {
    parts(file_name).map(|(name, _)| name)
}

/// Values of a log by direction (0 reads, 1 writes, 2 trims): end of the slice, ms, and value.
type Log = BTreeMap<u8, Vec<(f64, f64)>>;

fn read(file_name: &str, text: &str) -> Result<Log, ImportError> {
    let mut log = Log::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let says = "is no line of a log of fio: time in ms, value, direction, block size, …";
        if index >= LINES_MAX {
            return Err(complain(file_name, index + 1, format!("a log has more than {LINES_MAX} lines")));
        }
        let mut cells = line.split(',').map(|cell| cell.trim().parse::<u64>().ok());
        let (Some(Some(at)), Some(Some(value)), Some(Some(way))) = (cells.next(), cells.next(), cells.next())
        else {
            return Err(complain(file_name, index + 1, says));
        };
        let way = u8::try_from(way).ok().filter(|way| *way < 3);
        let way = way.ok_or_else(|| complain(file_name, index + 1, says))?;
        log.entry(way).or_default().push((at as f64, value as f64));
    }
    Ok(log)
}

/// Reads the logs of one job, with their file names; that of rates and that of I/Os are needed.
///
/// # Errors
/// When one of these is missing, or a line is damaged.
pub fn import(logs: &[(String, String)]) -> Result<ImportedResult, ImportError> {
    let origin = logs.first().map_or("log", |(name, _)| name.as_str());
    let (mut found, mut name) = (BTreeMap::new(), None);
    for (file, text) in logs {
        let Some((log_name, kind)) = parts(crate::names::file_name(file)) else { continue };
        name = Some(log_name);
        found.insert(kind, read(file, text)?);
    }
    let (Some(rates), Some(ios), Some(name)) = (found.get(&Kind::Bandwidth), found.get(&Kind::Ios), name)
    else {
        return Err(complain(
            origin,
            0,
            "needs both the log of rates (_bw) and that of I/Os (_iops) of the job",
        ));
    };
    let (series, stats) = series(rates, ios, found.get(&Kind::Latency));
    if series.is_empty() || series.len() > ROWS_MAX * 100 {
        return Err(complain(origin, 0, "has no slice of time, or far too many"));
    }
    let test = if name.job > 0 { format!("job {}", name.job) } else { "job".to_owned() };
    let (all, measured_ns) = (stats.total(), series.iter().map(|(length_ns, _)| length_ns).sum());
    let read = if all.ops() > 0 { stats.read.ops() as f64 / all.ops() as f64 * 100.0 } else { 100.0 };
    let job = RowJob {
        name: test.clone(),
        mix: vec![access(all.bytes.checked_div(all.ops()).unwrap_or(0), read.round(), 0.0)],
        stats,
        measured_ns,
        series,
        ..RowJob::default()
    };
    let result = ImportedResult {
        from: Imported {
            tool: "fio (logs)".to_owned(),
            file: crate::names::file_name(origin).to_owned(),
            missing: ["percentiles", "CPU use", "depth", "positions"].map(str::to_owned).to_vec(),
            has_series: true,
        },
        started_unix_ms: None,
        targets: vec![name.stem.clone()],
        name: name.stem,
        semantics: Semantics::Fio,
        rows: vec![ResultRow { test, swept: Vec::new(), jobs: vec![job], cpu_busy: None }],
        notes: vec![
            "Each line of a log is the average of a slice of time (log_avg_msec); counts are these averages times \
             their slices. Trims count as writes."
                .to_owned(),
        ],
    };
    Ok(result.covered().bounded())
}

/// Slices of time, with what each counted, and their sum.
fn series(rates: &Log, ios: &Log, latencies: Option<&Log>) -> (Vec<(u64, AccessStats)>, AccessStats) {
    let mut ends: Vec<f64> = rates.values().flatten().map(|(end, _)| *end).collect();
    ends.sort_by(f64::total_cmp);
    ends.dedup();
    let (mut slices, mut sum, mut from) = (Vec::new(), AccessStats::default(), 0.0);
    let mut done = [0_usize; 3];
    for end in ends.into_iter().filter(|end| *end > 0.0) {
        let seconds = (end - from) / 1e3;
        let mut stats = AccessStats::default();
        for (way, values) in rates {
            let index = &mut done[usize::from(*way)];
            while let Some((_, rate)) = values.get(*index).filter(|(at, _)| *at <= end) {
                let of =
                    |log: &Log| log.get(way).and_then(|values| values.get(*index)).map(|(_, value)| *value);
                let count = whole(of(ios).unwrap_or(0.0) * seconds);
                let mean_ns = latencies.and_then(of).unwrap_or(0.0);
                let service = Latency::from_summary(count, mean_ns, None, None);
                let bytes = whole(rate * KIB as f64 * seconds);
                let side = OpStats { bytes, service, ..OpStats::default() };
                if *way == 0 {
                    stats.read.merge(&side)
                } else {
                    stats.write.merge(&side)
                }
                *index += 1;
            }
        }
        sum.read.merge(&stats.read);
        sum.write.merge(&stats.write);
        slices.push((whole((end - from) * 1e6), stats));
        from = end;
    }
    (slices, sum)
}
