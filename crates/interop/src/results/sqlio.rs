//! What SQLIO 1.5 prints: one block for each of its runs.

use assay_record::{AccessStats, Latency, OpStats};
use assay_spec::units::{KIB, MIB};

use super::{ImportedResult, ROWS_MAX, ResultRow, RowJob, access, leading_number, ns_of_ms, repeated, whole};
use crate::{ImportError, complain};

/// Whether a text is what SQLIO prints.
pub fn is_results(text: &str) -> bool {
    text.contains("IOs/sec:") && text.contains("MBs/sec:")
}

/// A block as far as it is read.
#[derive(Debug, Default)]
struct Block {
    threads: u32,
    /// 0 where nothing says that there are several.
    outstanding: u32,
    is_write: bool,
    is_random: bool,
    size: u64,
    seconds: f64,
    file: String,
    iops: Option<f64>,
    mib_per_s: Option<f64>,
    mean_ms: Option<f64>,
    max_ms: Option<f64>,
}

/// Reads all blocks.
///
/// # Errors
/// When there is none, or one lacks its rates or its duration.
pub fn import(origin: &str, text: &str) -> Result<ImportedResult, ImportError> {
    let mut blocks: Vec<(usize, Block)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.contains(" threads reading for ")
            || line.contains(" threads writing for ")
            || line.contains(" thread reading for ")
            || line.contains(" thread writing for ")
        {
            if blocks.len() >= ROWS_MAX {
                return Err(complain(origin, index + 1, format!("has more than {ROWS_MAX} blocks")));
            }
            blocks.push((index + 1, head(line)));
        } else if let Some((_, block)) = blocks.last_mut() {
            detail(block, line);
        }
    }
    let mut rows: Vec<ResultRow> = Vec::new();
    let mut targets: Vec<String> = Vec::new();
    for (line, block) in blocks {
        if !targets.contains(&block.file) && !block.file.is_empty() {
            targets.push(block.file.clone());
        }
        let row = row(origin, line, &block, &rows)?;
        rows.push(row);
    }
    if rows.is_empty() {
        let says = "contains no SQLIO result: a line like `4 threads reading for 60 secs`";
        return Err(complain(origin, 0, says));
    }
    let says =
        "SQLIO's MBs/sec are 2^20 bytes. Its latencies are whole milliseconds: a mean of 0 is unknown here.";
    let result = ImportedResult::of(origin, "SQLIO", &["percentiles", "CPU use"], rows).on(targets);
    Ok(ImportedResult { notes: vec![says.to_owned()], ..result })
}

/// `32 threads writing for 30 secs to file e:\testfile.dat`.
fn head(line: &str) -> Block {
    let threads = leading_number(line).map_or(1, whole);
    let seconds = line.split(" for ").nth(1).and_then(leading_number).unwrap_or(0.0);
    let file =
        [" file ", " to ", " from "].iter().find_map(|word| line.split(word).nth(1)).unwrap_or_default();
    Block {
        threads: u32::try_from(threads).unwrap_or(1).max(1),
        is_write: line.contains(" writing for "),
        seconds,
        file: file.trim().to_owned(),
        ..Block::default()
    }
}

fn detail(block: &mut Block, line: &str) {
    let after = |key: &str| line.strip_prefix(key).and_then(leading_number);
    if let Some(size) = after("using ").filter(|_| line.ends_with("IOs")) {
        block.size = whole(size).saturating_mul(KIB);
        block.is_random = line.contains("random");
    }
    if line.starts_with("enabling multiple I/Os") {
        let depth = line.split(" with ").nth(1).and_then(leading_number).map_or(1, whole);
        block.outstanding = u32::try_from(depth).unwrap_or(1).max(1);
    }
    block.iops = after("IOs/sec:").or(block.iops);
    block.mib_per_s = after("MBs/sec:").or(block.mib_per_s);
    block.mean_ms = after("Avg_Latency(ms):").or(block.mean_ms);
    block.max_ms = after("Max_Latency(ms):").or(block.max_ms);
}

fn row(origin: &str, line: usize, block: &Block, others: &[ResultRow]) -> Result<ResultRow, ImportError> {
    let (Some(iops), true) = (block.iops, block.seconds > 0.0 && block.seconds < 1e9) else {
        return Err(complain(origin, line, "the block has no IOs/sec, or no duration"));
    };
    let (count, seconds) = (whole(iops * block.seconds), block.seconds);
    let bytes =
        block.mib_per_s.map_or(count.saturating_mul(block.size), |mib| whole(mib * MIB as f64 * seconds));
    let outstanding = block.outstanding.max(1);
    let size = if block.size > 0 { block.size } else { bytes.checked_div(count).unwrap_or(0) };
    let mean_ns = block.mean_ms.unwrap_or(0.0) * 1e6;
    let service = Latency::from_summary(count, mean_ns, None, block.max_ms.map(ns_of_ms));
    let side = OpStats { bytes, service, ..OpStats::default() };
    let stats = match block.is_write {
        true => AccessStats { write: side, ..AccessStats::default() },
        false => AccessStats { read: side, ..AccessStats::default() },
    };
    let (read, random) =
        (if block.is_write { 0.0 } else { 100.0 }, if block.is_random { 100.0 } else { 0.0 });
    let test = format!(
        "{} {} {}, {} x {}",
        assay_spec::units::Bytes(size),
        if block.is_random { "random" } else { "sequential" },
        if block.is_write { "write" } else { "read" },
        block.threads,
        outstanding
    );
    let job = RowJob {
        name: test.clone(),
        workers: block.threads,
        outstanding,
        mix: vec![access(size, read, random)],
        stats,
        measured_ns: whole(seconds * 1e9),
        ..RowJob::default()
    };
    Ok(ResultRow { swept: repeated(&test, others), test, jobs: vec![job], cpu_busy: None })
}
