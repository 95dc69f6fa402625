//! A map of a target as one HTML file: latency over the addresses, with what is known of each place under the pointer.

use assay_surface::{Cell, Comparison, SurfaceMap, compare};

use super::{page_end, page_start};
use crate::map::{LISTED_MAX, below_ns, head, sentences_of};
use crate::number::{long, short, size};
use crate::svg::{Axis, Heat, HeatColumn, HeatOf, Line, Lines, escape};

const GIB: f64 = (1_u64 << 30) as f64;
const MIB: f64 = (1_u64 << 20) as f64;
/// A target from this size on is drawn in GiB.
const GIB_FROM: u64 = 4 << 30;

/// The whole page.
pub fn map(map: &SurfaceMap, since: Option<&Comparison>) -> String {
    let title = format!("Map of {}", map.target);
    let body = body(map, since);
    format!("{}<h1>{}</h1>\n{body}{}", page_start(&title), escape(&title), page_end())
}

/// A map that is stored, as JSON, and below it what changed since an earlier one; `None` where this version cannot read
/// it.
pub fn stored_map(map: &str, before: Option<&str>) -> Option<String> {
    let map: SurfaceMap = serde_json::from_str(map).ok()?;
    let before = before.and_then(|before| serde_json::from_str(before).ok());
    let since = before.and_then(|before| compare(&before, &map));
    Some(body(&map, since.as_ref()))
}

fn body(map: &SurfaceMap, since: Option<&Comparison>) -> String {
    let mut page = format!("<p>{}</p>\n", escape(&head(map)));
    for says in sentences_of(map, since, LISTED_MAX) {
        page.push_str(&format!("<p><strong>{}</strong></p>\n", escape(&says)));
    }
    page.push_str(&format!("<figure>{}</figure>\n", latencies(map)));
    if map.cells.iter().any(|cell| cell.mib_per_s.is_some()) {
        page.push_str(&format!("<figure>{}</figure>\n", rates(map)));
    }
    page
}

/// The unit of addresses, bytes and name.
fn unit(map: &SurfaceMap) -> (f64, &'static str) {
    if map.size_bytes >= GIB_FROM { (GIB, "address, GiB") } else { (MIB, "address, MiB") }
}

fn latencies(map: &SurfaceMap) -> String {
    let (bytes, title) = unit(map);
    let used = |cell: &Cell| {
        let rows = (0..).zip(&cell.histogram).filter(|(_, reads)| **reads > 0);
        rows.map(|(row, reads)| (row, *reads)).collect::<Vec<(usize, u32)>>()
    };
    let rows: Vec<usize> = map.cells.iter().flat_map(&used).map(|(row, _)| row).collect();
    let (first, last) = (rows.iter().min().copied().unwrap_or(0), rows.iter().max().copied().unwrap_or(0));
    let ms = |row: usize| below_ns(row) / 1e6;
    let column = |cell: &Cell| HeatColumn {
        from: cell.from_bytes as f64 / bytes,
        to: cell.to_bytes as f64 / bytes,
        cells: used(cell)
            .into_iter()
            .map(|(row, reads)| (ms(row) / 2.0, ms(row), f64::from(reads) / (cell.reads.max(1) as f64)))
            .collect(),
        says: says(cell),
    };
    let chart = Heat {
        title: "Latency over the addresses: share of the reads of a place",
        x: Axis::up_to(title, map.size_bytes as f64 / bytes),
        y: Axis::log("latency of a read, ms", ms(first) / 2.0, ms(last)),
        columns: map.cells.iter().map(column).collect(),
        of: HeatOf::Shares,
    };
    chart.svg()
}

/// A place in words, for the pointer.
fn says(cell: &Cell) -> String {
    let span = format!("{} to {}", size(cell.from_bytes), size(cell.to_bytes));
    let rate = cell.mib_per_s.map_or_else(String::new, |rate| format!(", {} MiB/s", long(rate)));
    let other = [(cell.zeros, "only zeros"), (cell.failed, "failed")];
    let other: String = other
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!(", {count} {what}"))
        .collect();
    match cell.reads {
        0 => format!("{span}: not read{other}"),
        reads => format!(
            "{span}: {reads} reads, median {} ms, 95 % below {} ms{rate}{other}",
            short(cell.median_ns as f64 / 1e6),
            short(cell.p95_ns as f64 / 1e6)
        ),
    }
}

fn rates(map: &SurfaceMap) -> String {
    let (bytes, title) = unit(map);
    let middle = |cell: &Cell| (cell.from_bytes as f64 + cell.to_bytes as f64) / 2.0 / bytes;
    let points: Vec<(f64, f64)> =
        map.cells.iter().filter_map(|cell| Some((middle(cell), cell.mib_per_s?))).collect();
    let most = points.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    let chart = Lines {
        title: "Throughput of long reads over the addresses",
        x: Axis::up_to(title, map.size_bytes as f64 / bytes),
        y: Axis::from_zero("MiB/s", most),
        lines: vec![Line { name: "median of a place".to_owned(), pieces: vec![points] }],
        breaks: Vec::new(),
        marks: Vec::new(),
    };
    chart.svg()
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_surface::Order;

    fn cell(from_bytes: u64, median_ns: u64, row: usize) -> Cell {
        let mut histogram = vec![0; 24];
        histogram[row] = 5;
        Cell {
            from_bytes,
            to_bytes: from_bytes + (1 << 30),
            reads: 5,
            zeros: 0,
            failed: 0,
            median_ns,
            p95_ns: median_ns * 2,
            log_mean: 1.0,
            log_error: Some(0.1),
            mib_per_s: Some(120.0),
            histogram,
        }
    }

    #[test]
    fn each_place_says_what_is_known_of_it_under_the_pointer() {
        let of = SurfaceMap {
            schema: "assay.map/1".to_owned(),
            target: "/dev/<sdb>".to_owned(),
            size_bytes: 8 << 30,
            made_unix_ms: None,
            order: Order::Random,
            seconds: 60.0,
            reads: 40,
            read_bytes: 40 << 12,
            cells: (0..8).map(|at| cell(at << 30, 300_000 << (at / 6), 8 + usize::from(at > 5))).collect(),
            findings: Vec::new(),
        };
        let page = map(&of, None);
        assert!(
            page.contains(
                "<title>2 GiB to 3 GiB: 5 reads, median 0.30 ms, 95 % below 0.60 ms, 120 MiB/s</title>"
            ),
            "{page}"
        );
        assert_eq!(page.matches("fill-opacity=\"0\"").count(), 8);
        assert!(page.contains("Map of /dev/&lt;sdb&gt;") && !page.contains("<sdb>"));
        assert!(page.contains("address, GiB") && page.contains("Throughput of long reads"));
    }
}
