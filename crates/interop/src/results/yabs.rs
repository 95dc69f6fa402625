//! The table of fio results that yabs.sh prints, as it stands in posts, or its JSON: mixed reads and writes of four
//! sizes.

use assay_record::{AccessStats, Imported, Latency, OpStats};
use assay_spec::Semantics;
use assay_spec::units::{KIB, MIB};

use super::{ImportedResult, ResultRow, RowJob, access, leading_number, tell_apart, whole};
use crate::{ImportError, complain};

/// How long each of its tests runs, s.
const SECONDS: u64 = 30;

/// Whether a text has such a table, or what yabs.sh writes with `-j` and `-w`.
#[must_use]
pub fn is_results(text: &str) -> bool {
    text.contains("fio Disk Speed Tests (Mixed R/W 50/50)")
        || text.contains("Block Size | 4k ")
        || (text.contains("\"speed_rw\"") && text.contains("\"iops_rw\""))
}

/// The line of JSON: rates in KiB/s, which it calls KBps, with all their digits.
fn json_rows(text: &str) -> Option<Vec<(u64, [f64; 2])>> {
    let line =
        text.lines().map(str::trim).find(|line| line.starts_with('{') && line.contains("\"speed_rw\""))?;
    let all: serde_json::Value = serde_json::from_str(line).or_else(|_| serde_json::from_str(text)).ok()?;
    let row = |row: &serde_json::Value| {
        let rate =
            |key: &str| row[key].as_f64().filter(|kib| (0.0..1e12).contains(kib)).map(|kib| kib * KIB as f64);
        Some((size(&format!("{} ", row["bs"].as_str()?))?, [rate("speed_r")?, rate("speed_w")?]))
    };
    Some(all["fio"].as_array()?.iter().filter_map(row).collect())
}

/// Reads the table.
///
/// # Errors
/// When it has no rate.
pub fn import(origin: &str, text: &str) -> Result<ImportedResult, ImportError> {
    let (mut sizes, mut rows) = (Vec::new(), Vec::<(u64, [f64; 2])>::new());
    for line in text.lines().map(|line| line.trim_start_matches(['>', ' ', '\t', '`'])) {
        let mut cells = line.split('|').map(str::trim);
        let way = match cells.next() {
            Some("Block Size") => {
                sizes = cells.filter_map(size).collect();
                rows.extend(sizes.iter().map(|size| (*size, [0.0; 2])));
                continue;
            }
            Some("Read") => 0,
            Some("Write") => 1,
            _ => continue,
        };
        let first = rows.len() - sizes.len();
        for (row, cell) in rows[first..].iter_mut().zip(cells) {
            row.1[way] = bytes_per_second(cell).unwrap_or(0.0);
        }
    }
    // The same figures, less rounded.
    if let Some(found) = json_rows(text).filter(|found| !found.is_empty()) {
        rows = found;
    }
    rows.retain(|(_, rates)| rates.iter().any(|rate| *rate > 0.0));
    if rows.is_empty() {
        return Err(complain(origin, 0, "contains no rate in its table of Block Size, Read and Write"));
    }
    let name = crate::names::stem(origin).to_owned();
    let mut rows: Vec<ResultRow> = rows.into_iter().map(|(size, rates)| row(size, rates)).collect();
    let of_rows = vec![name.clone(); rows.len()];
    let targets = tell_apart(&mut rows, of_rows);
    Ok(ImportedResult {
        from: Imported {
            tool: "yabs.sh".to_owned(),
            file: crate::names::file_name(origin).to_owned(),
            missing: vec!["latencies".to_owned(), "CPU use".to_owned()],
            has_series: false,
        },
        started_unix_ms: None,
        targets,
        name,
        semantics: Semantics::Fio,
        rows,
        notes: vec![
            "yabs.sh calls 1,000 KiB a MB and 1,000,000 KiB a GB; bytes and rates here are what it measured. Each of \
             its tests runs for 30 s with two jobs of 64 outstanding."
                .to_owned(),
        ],
    })
}

fn row(size: u64, rates: [f64; 2]) -> ResultRow {
    let side = |rate: f64| {
        let bytes = whole(rate * SECONDS as f64);
        let service = Latency::from_summary(bytes / size, 0.0, None, None);
        OpStats { bytes, service, ..OpStats::default() }
    };
    let test = match size {
        size if size.is_multiple_of(MIB) => format!("mixed {}m", size / MIB),
        size => format!("mixed {}k", size / KIB),
    };
    let read = rates[0] / (rates[0] + rates[1]) * 100.0;
    let job = RowJob {
        flush: None,
        name: test.clone(),
        workers: 2,
        outstanding: 64,
        mix: vec![access(size, read.round(), 100.0)],
        stats: AccessStats { read: side(rates[0]), write: side(rates[1]) },
        measured_ns: SECONDS * 1_000_000_000,
        series: Vec::new(),
    };
    ResultRow { test, swept: Vec::new(), jobs: vec![job], cpu_busy: None }
}

/// `4k            (IOPS)`
fn size(cell: &str) -> Option<u64> {
    let factor = if cell.contains("m ") || cell.starts_with("1m") { MIB } else { KIB };
    leading_number(cell).map(|number| whole(number) * factor).filter(|size| (512..=64 * MIB).contains(size))
}

/// `170.81 MB/s  (42.7k)`
fn bytes_per_second(cell: &str) -> Option<f64> {
    let number = leading_number(cell)?;
    let kib = match () {
        () if cell.contains("GB/s") => 1e6,
        () if cell.contains("MB/s") => 1e3,
        () if cell.contains("KB/s") => 1.0,
        () => return None,
    };
    Some(number * kib * KIB as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table beside it is rounded.
    #[test]
    fn the_json_counts() {
        let row = |size: &str, rates: [u64; 2]| {
            format!(
                "{{\"bs\":\"{size}\",\"speed_r\":{},\"iops_r\":1,\"speed_w\":{},\"iops_w\":1,\"speed_rw\":2,\
                 \"iops_rw\":2,\"speed_units\":\"KBps\"}}",
                rates[0], rates[1]
            )
        };
        let rows = [row("4k", [418_200, 421_300]), row("1m", [2_130_000, 2_070_000])];
        let json = format!("{{\"version\":\"v2026-07-24\",\"fio\":[{}]}}", rows.join(","));
        let table = "Block Size | 4k            (IOPS) | 1m           (IOPS)\nRead       | 418.00 MB/s (104.5k) | \
            2.10 GB/s   (2.0k)\nWrite      | 421.00 MB/s (105.3k) | 2.10 GB/s   (2.0k)\n";
        for text in [json.clone(), format!("{table}\nYABS JSON output:\n{json}\n")] {
            assert!(is_results(&text));
            let result = import("y.json", &text).unwrap();
            let bytes: Vec<[u64; 2]> = result
                .rows
                .iter()
                .map(|row| {
                    let stats = &row.jobs[0].stats;
                    [stats.read.bytes / 30 / 1024, stats.write.bytes / 30 / 1024]
                })
                .collect();
            assert_eq!(bytes, [[418_200, 421_300], [2_130_000, 2_070_000]]);
        }
    }
}
