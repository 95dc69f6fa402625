//! The table of fio results that yabs.sh prints, as it stands in posts, or its JSON: mixed reads and writes of four
//! sizes.

use assay_record::{AccessStats, Latency, OpStats};
use assay_spec::Semantics;
use assay_spec::units::{KIB, MIB};

use super::{ImportedResult, ROWS_MAX, ResultRow, RowJob, access, leading_number, tell_apart, whole};
use crate::{ImportError, complain};

/// How long each of its tests runs, s.
const SECONDS: u64 = 30;

/// Whether a text has such a table, or what yabs.sh writes with `-j` and `-w`.
pub fn is_results(text: &str) -> bool {
    text.contains("fio Disk Speed Tests (Mixed R/W 50/50)")
        || text.contains("Block Size | 4k ")
        || (text.contains("\"speed_rw\"") && text.contains("\"iops_rw\""))
}

/// Size of the I/Os, bytes, and rates of reads and writes, B/s.
type Rates = (u64, [f64; 2]);

/// What all JSON of a text says, on one line each or over several (`jq`): rates in KiB/s, which it calls KBps, with all
/// their digits.
fn json_rows(text: &str) -> Vec<Rates> {
    let row = |row: &serde_json::Value| {
        let rate =
            |key: &str| row[key].as_f64().filter(|kib| (0.0..1e12).contains(kib)).map(|kib| kib * KIB as f64);
        Some((size(&format!("{} ", row["bs"].as_str()?))?, [rate("speed_r")?, rate("speed_w")?]))
    };
    let mut found = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let start = rest.trim_start_matches(MARKS);
        let mut documents = serde_json::Deserializer::from_str(start).into_iter::<serde_json::Value>();
        let document = start.starts_with(['{', '[']).then(|| documents.next()?.ok()).flatten();
        rest = match document {
            Some(_) => &start[documents.byte_offset()..],
            None => start.split_once('\n').map_or("", |(_, next)| next),
        };
        // `jq -s` makes a list of several.
        let of_machines = match document {
            Some(serde_json::Value::Array(all)) => all,
            other => other.into_iter().collect(),
        };
        let rows = of_machines.iter().filter_map(|machine| machine["fio"].as_array()).flatten();
        found.extend(rows.filter_map(row));
    }
    found
}

/// Puts rates of JSON in place of those of the table that are the same, but rounded; others are of other machines.
fn refined(mut rows: Vec<Rates>, found: Vec<Rates>) -> Vec<Rates> {
    let of_table = rows.len();
    let mut is_refined = vec![false; of_table];
    for (size, rates) in found {
        let is_same = |row: &Rates| {
            row.0 == size
                && row.1.iter().zip(rates).all(|(shown, rate)| (shown - rate).abs() <= rate * ROUNDED)
        };
        match (0..of_table).find(|index| !is_refined[*index] && is_same(&rows[*index])) {
            Some(index) => {
                is_refined[index] = true;
                rows[index].1 = rates;
            }
            None => rows.push((size, rates)),
        }
    }
    rows
}

/// What rounding may make of a rate in the table: two places, `1.05 GB/s`.
const ROUNDED: f64 = 0.01;

/// What may stand before a line where a text is quoted.
const MARKS: [char; 4] = ['>', ' ', '\t', '`'];

/// Reads the table.
///
/// # Errors
/// When it has no rate.
pub fn import(origin: &str, text: &str) -> Result<ImportedResult, ImportError> {
    let (mut sizes, mut rows) = (Vec::new(), Vec::<Rates>::new());
    for line in text.lines().map(|line| line.trim_start_matches(MARKS)) {
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
    let found = json_rows(text);
    if rows.len() + found.len() > ROWS_MAX {
        return Err(complain(origin, 0, format!("has more than {ROWS_MAX} rows")));
    }
    let mut rows = refined(rows, found);
    rows.retain(|(_, rates)| rates.iter().any(|rate| *rate > 0.0));
    if rows.is_empty() {
        return Err(complain(origin, 0, "contains no rate in its table of Block Size, Read and Write"));
    }
    let mut rows: Vec<ResultRow> = rows.into_iter().map(|(size, rates)| row(size, rates)).collect();
    let of_rows = vec![crate::names::stem(origin).to_owned(); rows.len()];
    tell_apart(&mut rows, of_rows);
    let says = "yabs.sh calls 1,000 KiB a MB and 1,000,000 KiB a GB; bytes and rates here are what it measured. Each \
                of its tests runs for 30 s with two jobs of 64 outstanding.";
    let result = ImportedResult::of(origin, "yabs.sh", &["latencies", "CPU use"], rows);
    Ok(ImportedResult { semantics: Semantics::Fio, notes: vec![says.to_owned()], ..result })
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
        name: test.clone(),
        workers: 2,
        outstanding: 64,
        mix: vec![access(size, read.round(), 100.0)],
        stats: AccessStats { read: side(rates[0]), write: side(rates[1]) },
        measured_ns: SECONDS * 1_000_000_000,
        ..RowJob::default()
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

    const A: [(&str, u64, u64); 2] = [("4k", 418_200, 421_300), ("1m", 2_130_000, 2_070_000)];
    const B: [(&str, u64, u64); 2] = [("4k", 170_812, 171_264), ("1m", 1_161_000, 1_244_000)];

    fn json(machine: [(&str, u64, u64); 2]) -> String {
        let row = |(size, read, write): (&str, u64, u64)| {
            format!(
                "{{\"bs\":\"{size}\",\"speed_r\":{read},\"iops_r\":1,\"speed_w\":{write},\"iops_w\":1,\"speed_rw\":2,\
                 \"iops_rw\":2,\"speed_units\":\"KBps\"}}"
            )
        };
        format!("{{\"version\":\"v2026-07-24\",\"fio\":[{}]}}", machine.map(row).join(","))
    }

    /// Rounded, as yabs.sh prints it.
    fn table(machine: [(&str, u64, u64); 2]) -> String {
        let [small, large] = machine;
        let line = |name: &str, small: u64, large: u64| {
            format!(
                "{name:10} | {:.2} MB/s  (1k) | {:.2} GB/s   (1k)\n",
                small as f64 / 1e3,
                large as f64 / 1e6
            )
        };
        let head = "Block Size | 4k            (IOPS) | 1m           (IOPS)\n";
        format!("{head}{}{}", line("Read", small.1, large.1), line("Write", small.2, large.2))
    }

    /// KiB/s of reads and writes of each row.
    fn rates(text: &str) -> Vec<[u64; 2]> {
        assert!(is_results(text), "{text}");
        let rows = import("y.json", text).unwrap_or_else(|error| panic!("{error}: {text}")).rows;
        let of = |row: &ResultRow| {
            let stats = &row.jobs[0].stats;
            [stats.read.bytes / 30 / 1024, stats.write.bytes / 30 / 1024]
        };
        rows.iter().map(of).collect()
    }

    fn exact(machine: [(&str, u64, u64); 2]) -> Vec<[u64; 2]> {
        machine.map(|(_, read, write)| [read, write]).to_vec()
    }

    /// The table beside it is rounded.
    #[test]
    fn the_json_counts() {
        for text in [json(A), format!("{}\nYABS JSON output:\n{}\n", table(A), json(A))] {
            assert_eq!(rates(&text), exact(A), "{text}");
        }
    }

    #[test]
    fn json_of_one_machine_leaves_the_others() {
        let both = [exact(A), exact(B)].concat();
        assert_eq!(rates(&format!("{}\n{}", json(A), json(B))), both);
        assert_eq!(rates(&format!("{}{}\n{}{}\n", table(A), json(A), table(B), json(B))), both);
        let of_table = vec![[170_810, 171_260], [1_160_000, 1_240_000]];
        let last = [exact(A), of_table.clone()].concat();
        assert_eq!(rates(&format!("{}{}\n\nThe other one:\n{}", table(A), json(A), table(B))), last);
        let first = [of_table.clone(), exact(A)].concat();
        assert_eq!(rates(&format!("{}\n{}> {}\n", table(B), table(A), json(A))), first);
        // Without a table of its own, and two on a line.
        assert_eq!(rates(&format!("{}{}\n", json(A), json(B))), both);
        assert_eq!(rates(&format!("{}\n{}\n", table(B), json(A))), first);
    }

    #[test]
    fn json_may_be_spread_over_lines() {
        let spread = |machine| {
            let value: serde_json::Value = serde_json::from_str(&json(machine)).unwrap();
            serde_json::to_string_pretty(&value).unwrap()
        };
        assert_eq!(rates(&spread(A)), exact(A));
        let both = [exact(A), exact(B)].concat();
        assert_eq!(rates(&format!("{}\n{}\n", spread(A), spread(B))), both);
        assert_eq!(rates(&format!("[\n{},\n{}\n]\n", spread(A), spread(B))), both);
        assert_eq!(rates(&format!("{}\nJSON:\n{}\nDone.\n", table(A), spread(A))), exact(A));
    }
}
