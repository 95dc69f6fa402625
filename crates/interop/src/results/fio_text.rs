//! What fio prints for people, of versions 2 and 3, and its terse lines (`--minimal`), as they stand in posts.

use assay_record::{AccessStats, Latency, OpStats};
use assay_spec::units::KIB;
use assay_spec::{Access, Change, Semantics};

use super::fio_json::{MIXED, SPLIT, UNEVEN, are_uneven, steps};
use super::{ImportedResult, ROWS_MAX, ResultRow, RowJob, access, leading_number, whole};
use crate::{ImportError, complain};

/// How much of a name is kept.
const NAME_CHARS: usize = 100;

/// Whether a text is what fio prints.
pub fn is_results(text: &str) -> bool {
    let is_job = |line: &str| line.contains(": (groupid=") && line.contains("err=");
    text.lines().any(|line| is_job(line) || is_terse(plain(line)) || is_sum(plain(line)))
}

/// What stands before the sums of a group of jobs, behind all jobs.
fn is_sum(line: &str) -> bool {
    line.starts_with("Run status group")
}

/// A line without the marks of a quotation in a post.
fn plain(line: &str) -> &str {
    line.trim_start_matches(['>', ' ', '\t']).trim_end()
}

/// A text without what a log puts before every line of fio: a time, the name of a container. How long that is stands
/// before a line whose beginning is known.
///
/// # Errors
/// Where lines of several programs are mixed: whose a line is cannot be said then.
fn without_log(origin: &str, text: &str) -> Result<Option<String>, ImportError> {
    const BEGINNINGS: [&str; 2] = ["  IO depths    : 1=", "  cpu          : usr="];
    let before = |line: &str| BEGINNINGS.iter().find_map(|known| line.find(known));
    let Some(log) = text.lines().find_map(|line| before(line).and_then(|at| line.get(..at))) else {
        return Ok(None);
    };
    // One of a quotation is no log.
    if !log.contains(|c: char| c.is_alphanumeric() || c == '|') {
        return Ok(None);
    }
    // Digits of a time change, and blanks fill it up; a name stays as it is.
    let is_time = |c: char| c.is_ascii_digit() || c == ' ';
    let is_alike = |(a, b): (char, char)| a == b || (is_time(a) && is_time(b));
    let rest = |line: &str| {
        let own = line.get(..log.len())?;
        let is_same = own.chars().zip(log.chars()).all(is_alike) && names(own).eq(names(log));
        is_same.then(|| line.get(log.len()..)).flatten().map(str::to_owned)
    };
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let rest = rest(line);
        if rest.is_none() && (before(line).is_some() || line.contains(": (groupid=")) {
            let says =
                "is not of the same program as the lines before it: import what each printed by itself";
            return Err(complain(origin, index + 1, says));
        }
        lines.push(rest.unwrap_or_else(|| line.to_owned()));
    }
    Ok(Some(lines.join("\n")))
}

/// The words of what a log puts before a line that are no time: `node-1`, `fio[7]:`, and not `2026-11-29T03:57:00Z`.
fn names(log: &str) -> impl Iterator<Item = &str> {
    let is_clock = |word: &str| {
        let digit = |c: u8| c.is_ascii_digit();
        word.as_bytes().windows(3).any(|part| digit(part[0]) && part[1] == b':' && digit(part[2]))
    };
    log.split_whitespace().filter(move |word| word.contains(char::is_alphabetic) && !is_clock(word))
}

fn is_terse(line: &str) -> bool {
    let mut fields = line.split(';');
    let has_version = fields.next().is_some_and(|field| ["3", "4", "5"].contains(&field));
    has_version && fields.next().is_some_and(|field| field.starts_with("fio-"))
}

/// Which of the words before a rate says that it is of all directions; it is kept as that of the reads.
const MIXED_WAY: usize = 3;

/// One direction of a job.
#[derive(Clone, Default)]
struct Side {
    ops: u64,
    bytes: u64,
    /// What its rate of bytes comes to over its time.
    bytes_at_rate: u64,
    runtime_ms: u64,
    /// ns for each unit of the latencies.
    mean_ns: f64,
    min_ns: u64,
    max_ns: u64,
    /// Percent, ns.
    percentiles: Vec<(f64, f64)>,
}

/// A job while it is read.
#[derive(Clone)]
struct Job {
    name: String,
    /// Which of the outputs of the text it is in: jobs of two are not side by side, though each begins with group 0.
    output: usize,
    group: u64,
    jobs: u32,
    pid: u64,
    is_terse: bool,
    /// Reads and writes are one figure.
    is_mixed: bool,
    failed: bool,
    /// Reads, writes, trims.
    sides: [Side; 3],
}

/// What the line of a job's definition says: `x: (g=0): rw=randread, bs=4K-4K/4K-4K, ioengine=libaio, iodepth=32`.
struct Definition {
    name: String,
    output: usize,
    is_random: bool,
    /// Bytes of every I/O, where all have the same size.
    size: Option<u64>,
    depth: u32,
}

/// Reads the text.
///
/// # Errors
/// When it has no job that did I/O.
pub fn import(origin: &str, text: &str) -> Result<ImportedResult, ImportError> {
    let (mut definitions, mut jobs, mut version) = (Vec::new(), Vec::<Job>::new(), None);
    let (mut way, mut unit, mut is_percentiles) = (0, 1.0, false);
    let (mut output, mut looks, mut unused) = (Outputs::default(), 0, Side::default());
    let logged = without_log(origin, text)?;
    for (index, line) in logged.as_deref().unwrap_or(text).lines().map(plain).enumerate() {
        if jobs.len() > ROWS_MAX {
            return Err(complain(origin, index + 1, format!("has more than {ROWS_MAX} jobs")));
        }
        if is_terse(line) {
            version = line.split(';').nth(1).map(str::to_owned);
            jobs.push(terse(line));
        } else if line.starts_with("fio-") && !line.contains(' ') {
            version = Some(line.to_owned());
            output.begins();
        } else if is_sum(line) {
            output.ends();
        } else if let Some(definition) = definition(line) {
            output.begins();
            output.is_spread |= line.starts_with('<');
            definitions.push(Definition { output: output.index, ..definition });
        } else if let Some(job) = job(line) {
            let job = Job { output: output.of_job(), ..job };
            looks += output.forget_earlier(&mut jobs, &job);
            jobs.push(job);
            (way, is_percentiles) = (0, false);
        } else if let Some(job) = jobs.last_mut() {
            if let Some(found) = way_of(line) {
                // The sum of those that stand before it (unified_rw_reporting=both) is none of them.
                let is_sum = found == MIXED_WAY && job.sides.iter().any(|side| side.ops > 0);
                job.is_mixed |= found == MIXED_WAY && !is_sum;
                (way, is_percentiles) = (if is_sum { MIXED_WAY } else { found % MIXED_WAY }, false);
                rate(job.sides.get_mut(way).unwrap_or(&mut unused), line);
            } else if line.starts_with("clat (") || line.starts_with("clat percentiles (") {
                unit = unit_of(line);
                is_percentiles = line.starts_with("clat percentiles");
                if !is_percentiles {
                    times(job.sides.get_mut(way).unwrap_or(&mut unused), line, unit);
                }
            } else if line.starts_with('|') && is_percentiles {
                let side = job.sides.get_mut(way).unwrap_or(&mut unused);
                side.percentiles.extend(percentiles(line, unit));
            } else if line.starts_with("issued") {
                issued(&mut job.sides, line);
            }
        }
    }
    let mut result = result(origin, &definitions, jobs, version)?;
    if looks > 0 {
        let says =
            "The text has the state of its jobs at several times (--status-interval): the last is used.";
        result.notes.push(says.to_owned());
    }
    Ok(result)
}

/// Which output of fio a line is of, where a text has several.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is what was seen so far")]
struct Outputs {
    index: usize,
    has_jobs: bool,
    has_ended: bool,
    /// Nothing stands before its jobs.
    is_bare: bool,
    /// Of several hosts, whose processes may have equal numbers.
    is_spread: bool,
}

impl Outputs {
    /// Definitions and the version stand before the jobs of an output.
    fn begins(&mut self) {
        if self.has_jobs {
            let is_spread = self.is_spread;
            *self = Self { index: self.index + 1, is_spread, ..Self::default() };
        }
    }

    /// The sums of the groups stand behind all jobs.
    fn ends(&mut self) {
        self.has_ended = true;
    }

    fn of_job(&mut self) -> usize {
        if self.has_ended {
            self.begins();
            self.is_bare = true;
        }
        self.has_jobs = true;
        self.index
    }

    /// Removes an earlier look at the same process, which counted from the same start; returns how many there were.
    fn forget_earlier(&self, jobs: &mut Vec<Job>, job: &Job) -> usize {
        let (count, is_later) = (jobs.len(), self.is_bare && !self.is_spread && job.pid > 0);
        let key = |job: &Job| (job.pid, job.group, job.jobs, job.name.clone());
        jobs.retain(|earlier| !(is_later && earlier.output < job.output && key(earlier) == key(job)));
        count - jobs.len()
    }
}

/// The definition of a job: where several have its name, that in its place.
fn definition_of<'d>(
    definitions: &'d [Definition],
    job: &Job,
    before: &[(usize, String)],
) -> Option<&'d Definition> {
    let alike: Vec<&Definition> =
        definitions.iter().filter(|known| known.output == job.output && known.name == job.name).collect();
    let place = before.iter().filter(|(output, name)| *output == job.output && *name == job.name).count();
    alike.get(place.min(alike.len().saturating_sub(1))).copied()
}

fn result(
    origin: &str,
    definitions: &[Definition],
    jobs: Vec<Job>,
    version: Option<String>,
) -> Result<ImportedResult, ImportError> {
    let mut rows: Vec<ResultRow> = Vec::new();
    let (mut group, mut before, mut are_terse_together, mut is_split) = (None, Vec::new(), false, false);
    let is_mixed = jobs.iter().any(|job| job.is_mixed);
    let times = |job: &Job| job.sides.each_ref().map(|side| if side.ops > 0 { side.runtime_ms } else { 0 });
    let uneven = jobs.iter().any(|job| are_uneven(times(job))).then(|| UNEVEN.to_owned());
    for job in jobs {
        let (own, name) = (Some((job.output, job.group)), job.name.clone());
        let definition = definition_of(definitions, &job, &before);
        before.push((job.output, name.clone()));
        if job.sides.iter().all(|side| side.ops == 0) {
            continue;
        }
        let is_terse = job.is_terse;
        let jobs = row_jobs(job, definition);
        is_split |= jobs.len() > 1;
        match rows.last_mut().filter(|_| group == own) {
            Some(last) => {
                last.test = format!("{} + {name}", last.test).chars().take(200).collect();
                last.jobs.extend(jobs);
                are_terse_together |= is_terse;
            }
            None => {
                rows.push(ResultRow {
                    swept: super::repeated(&name, &rows),
                    test: name,
                    jobs,
                    cpu_busy: None,
                });
            }
        }
        group = own;
    }
    if rows.is_empty() {
        let says = match before.is_empty() {
            true => {
                "has only the sums of fio's groups of jobs (Run status group), which count no I/Os: import what fio \
                 printed of the jobs before them"
            }
            false => "contains no job of fio that did I/O",
        };
        return Err(complain(origin, 0, says));
    }
    let tool: String = version.unwrap_or_else(|| "fio".to_owned()).chars().take(60).collect();
    let notes = notes(is_mixed, is_split, are_terse_together).into_iter().chain(uneven).collect();
    let result = ImportedResult::of(origin, tool, &["histograms", "CPU use"], rows);
    Ok(ImportedResult { semantics: Semantics::Fio, notes, ..result })
}

fn notes(is_mixed: bool, is_split: bool, are_terse_together: bool) -> Vec<String> {
    let mut notes = vec![
        "Latency is fio's completion latency (clat): from submission to completion. Between the listed percentiles \
         the distribution is a step."
            .to_owned(),
        "fio rounds what it prints for people; where all I/Os have one size, bytes are the exact count times it."
            .to_owned(),
    ];
    if is_mixed {
        notes.push(MIXED.to_owned());
    }
    if is_split {
        notes.push(SPLIT.to_owned());
    }
    if are_terse_together {
        let says = "Terse lines of one group are taken for jobs that ran side by side, and their rates are summed; \
                    lines of several runs are to be imported one by one.";
        notes.push(says.to_owned());
    }
    notes
}

/// A job; one that wrote and trimmed becomes two, as one counts trims as writes.
fn row_jobs(mut job: Job, definition: Option<&Definition>) -> Vec<RowJob> {
    let has_both = job.sides[1].ops > 0 && job.sides[2].ops > 0;
    let trims = has_both.then(|| Job {
        name: format!("{}: trims", job.name),
        sides: [Side::default(), Side::default(), std::mem::take(&mut job.sides[2])],
        failed: false,
        ..job.clone()
    });
    [Some(job), trims].into_iter().flatten().map(|job| row_job(job, definition)).collect()
}

fn row_job(job: Job, definition: Option<&Definition>) -> RowJob {
    let measured_ms = job.sides.iter().map(|side| side.runtime_ms).max().unwrap_or(0);
    let ops: u64 = job.sides.iter().map(|side| side.ops).sum();
    let bytes: u64 = job.sides.iter().map(|side| side.bytes).sum();
    let read = job.sides[0].ops as f64 / ops.max(1) as f64 * 100.0;
    let trims = job.sides[2].ops > 0 && job.sides[1].ops == 0;
    let size = definition.and_then(|definition| definition.size);
    let [reads, writes, trimmed] = job.sides.map(|side| stats(&side, size));
    let mut stats = AccessStats { read: reads, write: if trims { trimmed } else { writes } };
    stats.read.errors = u64::from(job.failed);
    let random = if definition.is_some_and(|definition| definition.is_random) { 100.0 } else { 0.0 };
    let change = if trims { Change::Trim } else { Change::Write };
    let size = size.unwrap_or_else(|| bytes.checked_div(ops).unwrap_or(0));
    RowJob {
        name: job.name,
        workers: job.jobs,
        outstanding: definition.map_or(1, |definition| definition.depth),
        mix: vec![Access { change, ..access(size, read.round(), random) }],
        stats,
        measured_ns: measured_ms.saturating_mul(1_000_000),
        ..RowJob::default()
    }
}

fn stats(side: &Side, size: Option<u64>) -> OpStats {
    let exact = size.map(|size| side.ops.saturating_mul(size));
    // Some versions of fio print `14.0GiB` of 14.99 GiB, beside the right rate.
    let is_said =
        |exact: &u64| [side.bytes, side.bytes_at_rate].iter().any(|said| exact.abs_diff(*said) <= said / 50);
    let bytes = exact.filter(is_said).unwrap_or(side.bytes);
    let service = if side.percentiles.is_empty() {
        let known = |ns: u64| (ns > 0).then_some(ns);
        Latency::from_summary(side.ops, side.mean_ns, known(side.min_ns), known(side.max_ns))
    } else {
        let counts = steps(&side.percentiles, side.ops, side.max_ns);
        Latency::from_buckets(counts.into_iter(), side.mean_ns, side.min_ns, side.max_ns)
    };
    OpStats { bytes, service, ..OpStats::default() }
}

fn definition(line: &str) -> Option<Definition> {
    let (name, rest) = line.split_once(": (g=")?;
    // Of a client of fio, behind its host.
    let name = name.split_once("> ").filter(|_| name.starts_with('<')).map_or(name, |(_, name)| name);
    let after = |key: &str| rest.split(key).nth(1).map(|text| text.split(',').next().unwrap_or(text));
    // `(R) 4096B-4096B, (W) …`, or `4K-4K/4K-4K/4K-4K` of version 2.
    let sizes = rest.split(" bs=").nth(1)?.split(", ioengine").next()?;
    let read = if sizes.contains("(R)") { amount } else { amount_of_version_2 };
    let sizes: Vec<Option<u64>> = sizes
        .split(['-', '/', ','])
        .map(|part| read(part.trim().trim_start_matches(|c: char| !c.is_ascii_digit())))
        .collect();
    let is_one = sizes.windows(2).all(|pair| pair[0] == pair[1]);
    Some(Definition {
        name: name.trim().chars().take(NAME_CHARS).collect(),
        output: 0,
        is_random: after("rw=").is_some_and(|rw| rw.contains("rand")),
        size: sizes.first().copied().flatten().filter(|_| is_one),
        depth: after("iodepth=")
            .and_then(leading_number)
            .map(whole)
            .and_then(|n| u32::try_from(n).ok())
            .unwrap_or(1),
    })
}

fn job(line: &str) -> Option<Job> {
    let (name, rest) = line.split_once(": (groupid=")?;
    let number = |key: &str| rest.split(key).nth(1).and_then(leading_number).map(whole);
    Some(Job {
        name: name.trim().chars().take(NAME_CHARS).collect(),
        output: 0,
        group: leading_number(rest).map(whole)?,
        jobs: number("jobs=").and_then(|n| u32::try_from(n).ok()).unwrap_or(1).max(1),
        pid: number("pid=").unwrap_or(0),
        is_terse: false,
        is_mixed: false,
        failed: number("err=").is_some_and(|errors| errors > 0),
        sides: Default::default(),
    })
}

fn way_of(line: &str) -> Option<usize> {
    ["read", "write", "trim", "mixed"].iter().position(|way| {
        let rest = line.strip_prefix(way).map(str::trim_start).and_then(|rest| rest.strip_prefix(':'));
        rest.is_some_and(|rest| rest.contains("IOPS=") || rest.contains("iops="))
    })
}

/// `read: IOPS=20.9k, BW=81.6MiB/s (85.6MB/s)(3928KiB/47msec)`, or of version 2
/// `read : io=3071.7MB, bw=48237KB/s, iops=12059, runt= 65207msec`.
fn rate(side: &mut Side, line: &str) {
    let old = line.split("io=").nth(1).filter(|_| line.contains("runt="));
    let (bytes, runtime) = match old {
        Some(old) => (old.split(',').next().and_then(amount_of_version_2), line.split("runt=").nth(1)),
        None => match line.rsplit_once(")(").and_then(|(_, last)| last.split(')').next()?.split_once('/')) {
            Some((bytes, runtime)) => (amount(bytes), Some(runtime)),
            None => (None, None),
        },
    };
    side.bytes = bytes.unwrap_or(0);
    side.runtime_ms = runtime.and_then(leading_number).map_or(0, whole);
    let bandwidth = match old {
        Some(_) => line.split("bw=").nth(1).and_then(amount_of_version_2),
        None => line.split("BW=").nth(1).and_then(|rest| amount(rest.split('/').next()?)),
    };
    side.bytes_at_rate = bandwidth.unwrap_or(0).saturating_mul(side.runtime_ms) / 1000;
    let iops = line.split_once("IOPS=").or_else(|| line.split_once("iops=")).map(|(_, rest)| rest);
    let iops = iops.and_then(|rest| scaled(rest.split(',').next().unwrap_or_default().trim())).unwrap_or(0.0);
    // The line of what was issued has the exact count.
    side.ops = whole(iops * side.runtime_ms as f64 / 1000.0);
}

/// `clat (usec): min=56, max=6100, avg=123.45, stdev=…`; large numbers end in `k`.
fn times(side: &mut Side, line: &str, unit: f64) {
    let at = |key: &str| {
        let text = line.split(key).nth(1)?.split(',').next()?.trim();
        scaled(text).map(|value| value * unit)
    };
    (side.min_ns, side.max_ns) = (at("min=").map_or(0, whole), at("max=").map_or(0, whole));
    side.mean_ns = at("avg=").unwrap_or(0.0);
}

/// `| 50.00th=[ 41728], 99.00th=[2539520],`
fn percentiles(line: &str, unit: f64) -> impl Iterator<Item = (f64, f64)> {
    line.trim_start_matches('|').split(',').filter_map(move |part| {
        let (percent, value) = part.split_once("th=[")?;
        let value = scaled(value.trim().trim_end_matches(']').trim())?;
        Some((percent.trim().parse::<f64>().ok()?, value * unit))
    })
}

/// `issued rwts: total=982,1066,0,0 short=…`, or of version 2 `issued    : total=r=785920/w=262656/d=0, short=…`.
fn issued(sides: &mut [Side; 3], line: &str) {
    let Some(totals) = line.split("total=").nth(1).and_then(|rest| rest.split([' ']).next()) else { return };
    let counts = totals.split([',', '/']).filter_map(leading_number).map(whole);
    for (side, count) in sides.iter_mut().zip(counts) {
        side.ops = count;
    }
}

/// A terse line of version 3 or later: fields of reads from the sixth on, as many for each direction, latencies
/// in microseconds.
fn terse(line: &str) -> Job {
    const FIRST: usize = 5;
    let fields: Vec<&str> = line.split(';').collect();
    // The fifth version has counts of the samples and the rates of I/Os besides.
    let each = if fields[0] == "5" { 47 } else { 41 };
    let number = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    // Trims are there from version 4 on.
    let ways = if fields.first().is_some_and(|version| *version == "3") { 2 } else { 3 };
    let side = |way: usize| {
        let at = FIRST + way * each;
        let has_any = way < ways && number(at) > 0.0;
        if !has_any {
            return Side::default();
        }
        let runtime_ms = whole(number(at + 3));
        let listed = fields.iter().skip(at + 12).take(20).filter_map(|field| field.split_once("%="));
        let pairs = listed
            .filter_map(|(percent, us)| Some((percent.parse::<f64>().ok()?, us.parse::<f64>().ok()? * 1e3)));
        let bytes = whole(number(at)).saturating_mul(KIB);
        Side {
            ops: terse_count(bytes, number(at + 2), runtime_ms as f64 / 1000.0),
            bytes,
            bytes_at_rate: bytes,
            runtime_ms,
            min_ns: whole(number(at + 8) * 1e3),
            max_ns: whole(number(at + 9) * 1e3),
            mean_ns: number(at + 10) * 1e3,
            percentiles: pairs.filter(|(percent, _)| *percent > 0.0).collect(),
        }
    };
    Job {
        name: fields.get(2).unwrap_or(&"fio").chars().take(NAME_CHARS).collect(),
        output: 0,
        group: whole(number(3)),
        jobs: 1,
        pid: 0,
        is_terse: true,
        is_mixed: false,
        failed: number(4) > 0.0,
        sides: [side(0), side(1), side(2)],
    }
}

/// How many I/Os a terse line counts, which has their rate without its decimals: as many as have a size that is a power
/// of two, where there is such a number, else the fewest.
fn terse_count(bytes: u64, rate: f64, seconds: f64) -> u64 {
    let (least, less_than) = (rate * seconds, (rate + 1.0) * seconds);
    // Below one in a second many sizes fit.
    if rate < 1.0 {
        return u64::from(bytes > 0).max(whole(least.ceil()));
    }
    let of_size = |power: u32| bytes >> power;
    let fits = |count: &u64| (least..less_than).contains(&(*count as f64));
    (12..=26).chain(9..12).map(of_size).find(fits).unwrap_or_else(|| whole(least.ceil()))
}

/// ns of a unit in parentheses.
fn unit_of(line: &str) -> f64 {
    match line.split('(').nth(1).and_then(|rest| rest.split(')').next()) {
        Some("usec") => 1e3,
        Some("msec") => 1e6,
        Some("sec") => 1e9,
        _ => 1.0,
    }
}

/// `20.9k`, `1234`, `1.2M`: a number, thousands, millions.
fn scaled(text: &str) -> Option<f64> {
    let factor = match text.chars().last()? {
        'k' | 'K' => 1e3,
        'M' | 'm' => 1e6,
        _ => 1.0,
    };
    leading_number(text).map(|number| number * factor)
}

/// `3928KiB`, `4096B`, in powers of 1024, or `33.6MB` (with `kb_base=1000`), in powers of 1000.
fn amount(text: &str) -> Option<u64> {
    let base = if text.contains("iB") { 1024.0 } else { 1000.0 };
    amount_in(text, base)
}

/// `3071.7MB`, `4K`: all in powers of 1024.
fn amount_of_version_2(text: &str) -> Option<u64> {
    amount_in(text, 1024.0)
}

fn amount_in(text: &str, base: f64) -> Option<u64> {
    let number = leading_number(text)?;
    let unit = text.trim().trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let power = match unit.chars().next() {
        Some('K' | 'k') => 1,
        Some('M' | 'm') => 2,
        Some('G' | 'g') => 3,
        Some('T' | 't') => 4,
        _ => 0,
    };
    Some(whole(number * base.powi(power)))
}
