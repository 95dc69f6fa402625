//! Reads the tables of the catalogue: tab-separated, a line `@KEY` for each source, `-` for what a source does not say.

use std::collections::BTreeMap;

use assay_spec::units::Bytes;

use super::class::{Class, Given, Range, SeekClass};
use super::{Model, words};
use crate::array::{Device, Flash, Hdd, LinkRate};
use crate::quantity::{Provenance, Quantity};

/// What a stream gets of the rate of the medium that a sheet gives instead: 0.63 (Constellation ES.3), 0.85 (Deskstar
/// 7K500), 0.86 (Constellation ES) and 0.93 (Savvio 10K.3), whose sheets have both.
const OF_MEDIUM: Range = Range(0.62, 0.75, 0.93);
/// What a drive may miss of the highest figures of its family: reads and streams of reads, and writes.
const OF_FAMILY: [f64; 2] = [0.75, 0.40];
/// How much faster than its steady rate a data-centre drive may write while it has erased blocks.
const WHILE_FRESH: f64 = 3.0;
/// A flush of a drive whose cache survives a power cut, ms.
const FLUSH_PROTECTED: Range = Range(0.0, 0.02, 0.1);
/// Size of a random I/O of a sheet, bytes.
const SHEET_IO: f64 = 4096.0;

/// A row, its columns by name.
struct Row<'t> {
    columns: BTreeMap<&'t str, &'t str>,
    source: String,
}

/// The rows of a table.
fn rows(text: &str) -> Vec<Row<'_>> {
    let mut sources = BTreeMap::new();
    let mut header: Vec<&str> = Vec::new();
    let mut rows = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let cells: Vec<&str> = line.split('\t').collect();
        if line.starts_with('@') {
            sources.insert(cells[0], cells.get(1).copied().unwrap_or_default());
        } else if header.is_empty() {
            header = cells;
        } else if cells.len() == header.len() {
            let columns: BTreeMap<&str, &str> = header.iter().copied().zip(cells).collect();
            let source = columns.get("source").and_then(|key| sources.get(key));
            let source = source.copied().unwrap_or_default().to_owned();
            rows.push(Row { columns, source });
        }
    }
    rows
}

impl Row<'_> {
    /// A cell; `None` where the source does not say.
    fn cell(&self, column: &str) -> Option<&str> {
        self.columns.get(column).copied().filter(|cell| *cell != "-")
    }

    fn number(&self, column: &str) -> Option<f64> {
        self.cell(column)?.parse().ok()
    }

    fn bytes(&self, column: &str) -> Option<f64> {
        Some(self.cell(column)?.parse::<Bytes>().ok()?.0 as f64)
    }

    fn patterns(&self) -> Vec<Vec<String>> {
        self.cell("names").unwrap_or_default().split('|').map(words).collect()
    }

    fn first_name(&self) -> String {
        self.cell("names").unwrap_or_default().split('|').next().unwrap_or_default().to_owned()
    }

    fn sheet(&self) -> Provenance {
        Provenance::Sheet(self.source.clone())
    }

    /// A number of the sheet, exactly.
    fn exact(&self, value: f64) -> Quantity {
        Quantity::exact(value, self.sheet())
    }

    /// A time for reads and writes: `7.5/8.5`; the model has one, of reads, that reaches up to that of writes.
    fn seek(&self, column: &str) -> Option<Quantity> {
        let cell = self.cell(column)?;
        let (read, write) = cell.split_once('/').unwrap_or((cell, cell));
        let (read, write) = (read.parse().ok()?, write.parse::<f64>().ok()?);
        Some(Quantity { value: read, lo: read, hi: write.max(read), from: self.sheet() })
    }

    /// The rate of a zone: of a stream, or what a stream gets of the medium's.
    fn zone(&self, column: &str) -> Option<Quantity> {
        let cell = self.cell(column)?;
        match cell.strip_suffix('i') {
            None => Some(self.exact(cell.parse().ok()?)),
            Some(medium) => {
                let rate: f64 = medium.parse().ok()?;
                let says = format!("a share of the {rate} MB/s of the medium in {}", self.source);
                Some(OF_MEDIUM.scaled(rate).quantity(Provenance::Assumed(says)))
            }
        }
    }

    /// Returns the links by what the table calls them; SAS and Fibre Channel drives have one lane here.
    fn link(&self) -> LinkRate {
        self.cell("link").and_then(LinkRate::named).unwrap_or_default()
    }
}

/// The disks of a table.
pub(super) fn disks(text: &str) -> Vec<Model> {
    rows(text).iter().filter_map(disk).collect()
}

fn disk(row: &Row<'_>) -> Option<Model> {
    let capacity = row.bytes("capacity")?;
    let rpm = row.number("rpm");
    let of_class = || row.cell("rpm")?.strip_prefix('~')?.parse::<f64>().ok();
    let class = Class::of_speed(rpm.or_else(of_class)?, row.number("form")? < 3.0);
    let base = match class.device(&row.first_name(), Some(capacity), class.name()) {
        Device::Hdd(hdd) => hdd,
        Device::Ssd(_) => return None,
    };
    let SeekClass { track, avg, full } = class.seeks();
    let given = Given {
        avg: row.seek("seek_avg"),
        track: row.seek("seek_track"),
        full: row.seek("seek_full"),
        outer: row.zone("outer"),
        inner: row.zone("inner"),
    };
    let mut hdd: Hdd = given.over(base, (track, avg, full));
    if let Some(rpm) = rpm {
        hdd.rpm = row.exact(rpm);
    }
    hdd.capacity = row.exact(capacity);
    hdd.link = row.link();
    // SAS and Fibre Channel disks come with their write cache off, SATA disks with it on.
    hdd.write_cache = match (row.number("cache"), hdd.write_cache.take()) {
        (_, _) if !matches!(hdd.link, LinkRate::Sata(_) | LinkRate::Unlimited) => None,
        (Some(mib), _) => Some(row.exact(mib * 1_048_576.0)),
        (None, of_class) => of_class,
    };
    hdd.shingled = row.cell("recording") == Some("SMR");
    Some(Model {
        name: row.first_name(),
        patterns: row.patterns(),
        source: row.source.clone(),
        class,
        device: Device::Hdd(hdd),
    })
}

/// The solid-state drives of a table.
pub(super) fn drives(text: &str) -> Vec<Model> {
    rows(text).iter().filter_map(drive).collect()
}

fn drive(row: &Row<'_>) -> Option<Model> {
    let (capacity, link) = (row.bytes("capacity")?, row.link());
    let class = Class::of_link(link, row.cell("steady") == Some("="));
    let mut ssd = match class.device(&row.first_name(), Some(capacity), class.name()) {
        Device::Ssd(ssd) => ssd,
        Device::Hdd(_) => return None,
    };
    let is_family = row.cell("of") == Some("family");
    let set = |slot: &mut Quantity, column: &str, left: f64| {
        if let Some(value) = row.number(column) {
            let lo = if is_family { value * left } else { value };
            *slot = Quantity { value, lo, hi: value, from: row.sheet() };
        }
    };
    let [reads, writes] = OF_FAMILY;
    set(&mut ssd.read_mb_s, "read_mb", reads);
    set(&mut ssd.write_mb_s, "write_mb", writes);
    set(&mut ssd.read_iops_max, "read_iops", reads);
    set(&mut ssd.write_iops_max, "write_iops", writes);
    set(&mut ssd.qd1_read_iops, "qd1_read", reads);
    set(&mut ssd.qd1_write_iops, "qd1_write", writes);
    ssd.capacity = row.exact(capacity);
    ssd.link = link;
    if row.number("read_iops").is_some() {
        // The sheet has what the planes of the dies add.
        let q = &mut ssd.dies;
        (q.lo, q.value, q.hi) = (q.lo * 2.0, q.value * 2.0, q.hi * 2.0);
    }
    caches(row, &mut ssd);
    // No single command is faster than many at a time.
    for (alone, most) in
        [(&mut ssd.qd1_read_iops, &ssd.read_iops_max), (&mut ssd.qd1_write_iops, &ssd.write_iops_max)]
    {
        (alone.value, alone.hi) = (alone.value.min(most.value), alone.hi.min(most.hi));
        alone.lo = alone.lo.min(alone.value).min(most.lo);
    }
    Some(Model {
        name: row.first_name(),
        patterns: row.patterns(),
        source: row.source.clone(),
        class,
        device: Device::Ssd(ssd),
    })
}

/// What a drive's write caches do: SLC, its steady state, and whether it survives a power cut.
fn caches(row: &Row<'_>, ssd: &mut Flash) {
    if let Some((lo, hi)) = row.cell("slc").and_then(|cell| cell.split_once('-'))
        && let (Ok(lo), Ok(hi)) = (lo.parse::<f64>(), hi.parse::<f64>())
    {
        ssd.slc = Some(Quantity { value: hi * 1e9, lo: lo * 1e9, hi: hi * 1e9, from: row.sheet() });
    }
    if let Some(rate) = row.number("slc_full_mb") {
        ssd.slc_full_mb_s = Some(row.exact(rate));
    }
    match row.cell("steady") {
        Some("=") => {
            ssd.steady_write_iops = Some(ssd.write_iops_max.clone());
            let by_rate = ssd.write_mb_s.hi * 1e6 / SHEET_IO;
            let most = &mut ssd.write_iops_max;
            most.hi = (most.value * WHILE_FRESH).min(by_rate.max(most.value));
            (ssd.slc, ssd.slc_full_mb_s) = (None, None);
        }
        Some(_) => ssd.steady_write_iops = row.number("steady").map(|rate| row.exact(rate)),
        None => {}
    }
    if row.cell("plp") == Some("yes") {
        ssd.flush_ms = Some(FLUSH_PROTECTED.quantity(row.sheet()));
    }
}
