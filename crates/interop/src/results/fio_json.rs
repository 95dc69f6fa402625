//! Results of fio, `--output-format=json` and `json+`, both ways.

use std::collections::BTreeMap;

use assay_record::{AccessStats, Event, Imported, Latency, OpStats, RunHeader, StepCpu};
use assay_spec::units::Bytes;
use assay_spec::{Access, Change, Flush, Job, Pacing, Semantics};
use serde::de::DeserializeSeed as _;
use serde_json::{Map, Value, json};

use super::fio_bins::{bin, bins, percentile};
use super::fio_tree::{BINS_MAX, Place};
use super::measured::Second;
use super::{ImportedResult, MeasuredJob, ROWS_MAX, ResultRow, RowJob, access, measured, whole};
use crate::{ImportError, complain};

/// The percentiles that fio prints by default.
const PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];

/// The most documents that end too early: each may be read to the end of the text.
const CUT_MAX: usize = 100;

/// Whether a text may be results of fio.
pub fn is_results(text: &str) -> bool {
    let head = text.get(..text.floor_char_boundary(64 << 10)).unwrap_or(text);
    head.contains("\"fio version\"") || (head.contains("\"jobs\"") && head.contains("\"jobname\""))
}

/// Reads results of fio. `origin` is the file's name in messages.
///
/// # Errors
/// When the text is no JSON, or no results of fio.
pub fn import(origin: &str, text: &str) -> Result<ImportedResult, ImportError> {
    // Older versions print warnings into their JSON, in front of it.
    let from = text.find('{').unwrap_or(0);
    let text = if text[from..].trim().is_empty() { "null" } else { &text[from..] };
    let mut state = Missing::default();
    let mut kept: Vec<Value> = Vec::new();
    let (texts, cut) = documents(text);
    state.cut = cut;
    for text in texts {
        let mut reader = serde_json::Deserializer::from_str(text);
        let document = Place::Document.deserialize(&mut reader).map_err(|error| {
            complain(origin, error.line(), format!("is not a complete JSON document: {error}"))
        })?;
        if jobs_of(&document).next().is_none() {
            continue;
        }
        match kept.last_mut().filter(|last| goes_on(last, &document)) {
            Some(last) => {
                *last = document;
                state.goes_on = true;
            }
            None => kept.push(document),
        }
    }
    let jobs: Vec<&Value> = kept.iter().flat_map(jobs_of).collect();
    if jobs.is_empty() {
        return Err(complain(origin, 0, "contains no fio results: the list `jobs` is missing or empty"));
    }
    if jobs.len() > ROWS_MAX {
        return Err(complain(origin, 0, format!("has more than {ROWS_MAX} jobs")));
    }
    let mut rows: Vec<ResultRow> = Vec::new();
    for document in &kept {
        rows.extend(rows_of(origin, document, &mut state)?);
    }
    let has_measured = |job: &RowJob| {
        let (read, write) = (&job.stats.read, &job.stats.write);
        read.ops() > 0 || write.ops() > 0 || read.errors > 0 || job.flush.is_some()
    };
    if !rows.iter().flat_map(|row| &row.jobs).any(has_measured) {
        let says =
            "contains no measurement: no job has a `total_ios` above 0 in `read`, `write`, `trim` or `sync`";
        return Err(complain(origin, 0, says));
    }
    number(&mut rows);
    let document = &kept[0];
    let version = document["fio version"].as_str().unwrap_or("fio");
    Ok(ImportedResult {
        from: Imported {
            tool: version.chars().take(60).collect(),
            file: crate::names::file_name(origin).to_owned(),
            missing: state.list(),
            has_series: false,
        },
        started_unix_ms: document["timestamp_ms"]
            .as_u64()
            .or(document["timestamp"].as_u64().map(|s| s.saturating_mul(1000))),
        name: crate::names::stem(origin).to_owned(),
        targets: targets(document, &jobs),
        semantics: Semantics::Assay,
        rows,
        notes: state.notes(),
    })
}

/// The documents of a text: one, or several after one another, as with `--status-interval` or where files were put
/// together, and how many were cut short. Those are left out; where no other is, the reader says what is wrong.
fn documents(text: &str) -> (Vec<&str>, usize) {
    let (mut found, mut cut) = (Vec::new(), 0);
    let mut rest = text;
    while found.len() < ROWS_MAX && cut < CUT_MAX {
        let mut documents = serde_json::Deserializer::from_str(rest).into_iter::<serde::de::IgnoredAny>();
        let is_whole = documents.next().is_some_and(|read| read.is_ok());
        let mut behind = rest;
        if is_whole {
            let document;
            (document, behind) = rest.split_at(documents.byte_offset());
            found.push(document);
        } else {
            cut += 1;
        }
        // What fio prints for people may stand between two.
        let Some(next) =
            behind.find("\n{").filter(|next| behind[next + 2..].starts_with(['\r', '\n', ' ', '"']))
        else {
            break;
        };
        rest = &behind[next + 1..];
    }
    if found.is_empty() { (vec![text], 0) } else { (found, cut) }
}

/// The jobs of a document, those of all hosts where fio itself was spread over several.
fn jobs_of(document: &Value) -> impl Iterator<Item = &Value> {
    let list = |key: &str| document[key].as_array().map(Vec::as_slice).unwrap_or_default();
    let clients = list("client_stats");
    // The last of the clients is the sum of the others.
    let is_sum = move |job: &&Value| clients.len() > 1 && job["jobname"] == "All clients";
    list("jobs").iter().chain(clients.iter().filter(move |job| !is_sum(job)))
}

/// Whether a document is a later look at what an earlier one shows: the same jobs with the same start. Versions that
/// do not state it: as much later as their jobs ran longer. A run that begins when another has ended comes later than
/// that, by all that the other took, so that must be more than what rounding makes of a time.
fn goes_on(earlier: &Value, later: &Value) -> bool {
    let (before, after): (Vec<_>, Vec<_>) = (jobs_of(earlier).collect(), jobs_of(later).collect());
    let is_same = |(earlier, later): (&&Value, &&Value)| {
        ["jobname", "groupid", "job_start"].iter().all(|key| earlier[*key] == later[*key])
            && WAYS.iter().all(|way| total(later, way) >= total(earlier, way))
    };
    let pairs = || before.iter().zip(&after);
    let all = |jobs: &[&Value]| jobs.iter().flat_map(|job| WAYS.map(|way| total(job, way))).sum::<u64>();
    let has_starts = before.iter().all(|job| job["job_start"].is_u64());
    let stamps = [later, earlier].map(stamp_ms);
    let ran_on = || {
        let [Some((later_ms, of_later)), Some((earlier_ms, of_earlier))] = stamps else { return false };
        let apart = (later_ms.saturating_sub(earlier_ms), of_later.max(of_earlier));
        // Of jobs after one another those that have ended stay as they are.
        pairs().all(|(before, after)| has_ended(before, after) || is_longer(before, after, apart))
            && all(&after) > all(&before)
    };
    before.len() == after.len() && pairs().all(is_same) && (has_starts || ran_on())
}

/// When a document was written, ms since 1970, and how far off that may be.
fn stamp_ms(document: &Value) -> Option<(i64, i64)> {
    let exact = document["timestamp_ms"].as_i64().map(|ms| (ms, 200));
    exact.or_else(|| Some((document["timestamp"].as_i64()?.saturating_mul(1000), 1000)))
}

/// Whether a job ran on between two looks that are so many milliseconds apart, by its own time where that grew: a
/// second run of as long as the later one shows does not fit between them. Else by that of the whole fio, in seconds.
fn is_longer(earlier: &Value, later: &Value, (apart_ms, late_ms): (i64, i64)) -> bool {
    const ROUNDING_S: i64 = 2;
    let [before, after] = [earlier, later].map(runtime_ms);
    if after > before && before > 0 {
        let most = apart_ms.saturating_add(late_ms);
        return after.saturating_sub(before) <= most && after > most;
    }
    let [before, after] = [earlier, later].map(|job| job["elapsed"].as_i64().unwrap_or(0));
    let longer = after.saturating_sub(before).saturating_mul(1000);
    before > ROUNDING_S && longer > 0 && longer.saturating_sub(apart_ms).saturating_abs() <= ROUNDING_S * 1000
}

fn has_ended(earlier: &Value, later: &Value) -> bool {
    runtime_ms(earlier) > 0
        && runtime_ms(earlier) == runtime_ms(later)
        && WAYS.iter().all(|way| total(earlier, way) == total(later, way))
}

/// How long a job did I/O, ms.
fn runtime_ms(job: &Value) -> i64 {
    // `job_runtime` is no such time: of clones in a group it is their sum.
    WAYS.iter().filter_map(|way| job[*way]["runtime"].as_i64()).max().unwrap_or(0)
}

const WAYS: [&str; 4] = ["read", "write", "trim", "mixed"];

fn total(job: &Value, way: &str) -> u64 {
    job[way]["total_ios"].as_u64().unwrap_or(0)
}

/// The rows of a document: jobs that ran side by side are one.
fn rows_of(origin: &str, document: &Value, state: &mut Missing) -> Result<Vec<ResultRow>, ImportError> {
    let version = document["fio version"].as_str().unwrap_or_default();
    state.is_old = version.starts_with("fio-2.") || version.starts_with("fio-1.");
    let is_spread = document["client_stats"].is_array();
    let mut rows: Vec<ResultRow> = Vec::new();
    let mut groups: Vec<Option<u64>> = Vec::new();
    for (index, job) in jobs_of(document).enumerate() {
        let (name, job_rows) = row_jobs(origin, index, job, &document["global options"], state)?;
        let group = job["groupid"].as_u64();
        // The jobs of each host follow each other, and their groups begin anew.
        let known = match is_spread {
            true => groups.iter().position(|known| *known == group),
            false => groups.len().checked_sub(1).filter(|last| groups[*last] == group),
        };
        match known.filter(|_| group.is_some()) {
            Some(at) => {
                rows[at].test = format!("{} + {name}", rows[at].test).chars().take(200).collect();
                rows[at].jobs.extend(job_rows);
            }
            None => {
                rows.push(ResultRow { test: name, swept: Vec::new(), jobs: job_rows, cpu_busy: None });
                groups.push(group);
            }
        }
    }
    Ok(rows)
}

/// Rows of equal names get numbers.
fn number(rows: &mut [ResultRow]) {
    let mut seen: std::collections::HashMap<String, u32> = std::collections::HashMap::new();
    for row in rows {
        let count = seen.entry(row.test.clone()).or_insert(0);
        *count += 1;
        if *count > 1 {
            row.test = format!("{} ({count})", row.test);
        }
    }
}

/// What `unified_rw_reporting` comes to.
pub(super) const MIXED: &str =
    "fio counted reads and writes together (unified_rw_reporting=1): all are shown as reads.";

/// What becomes of a job that wrote and trimmed.
pub(super) const SPLIT: &str = "A job that wrote and trimmed (rw=trimwrite) is shown as two jobs side by side: reads \
                                and writes, and trims.";

/// What becomes of the rates of directions that did not take the same time.
pub(super) const UNEVEN: &str = "Reads and writes of a job took different times. fio gives the rate of each over its \
                                 own time; here both are over the longer one.";

/// Whether the times of the directions of a job, 0 of one that did nothing, differ by more than a hundredth.
pub(super) fn are_uneven(ms: [u64; 3]) -> bool {
    let most = ms.into_iter().max().unwrap_or(0);
    ms.into_iter().any(|ms| ms > 0 && most - ms > most / 100)
}

/// What a document lacks.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each becomes a sentence of its own")]
struct Missing {
    bins: bool,
    percentiles: bool,
    /// Jobs that wrote and trimmed are two here.
    is_split: bool,
    /// Reads and writes of a job took different times.
    is_uneven: bool,
    /// Written by a version before 3, with other units.
    is_old: bool,
    /// Earlier looks at the same jobs are in the file.
    goes_on: bool,
    /// Documents that end too early.
    cut: usize,
    /// Reads and writes are counted together.
    is_mixed: bool,
}

impl Missing {
    fn list(&self) -> Vec<String> {
        let mut list = vec!["the CPU use of the host".to_owned()];
        if self.percentiles {
            list.push("the percentiles of some rows".to_owned());
        }
        list
    }

    fn notes(&self) -> Vec<String> {
        let mut notes =
            vec!["Latency is fio's completion latency (clat): from submission to completion.".to_owned()];
        if self.bins {
            notes.push(
                "The file has percentiles but no histogram (fio writes one with --output-format=json+): between the \
                 listed percentiles the distribution is a step."
                    .to_owned(),
            );
        }
        if self.goes_on {
            let says =
                "The file has the state of its jobs at several times (--status-interval): the last is used.";
            notes.push(says.to_owned());
        }
        if self.cut > 0 {
            let least = if self.cut < CUT_MAX { "" } else { "at least " };
            let says =
                format!("Documents of the file that are cut short, and left out: {least}{}.", self.cut);
            notes.push(says);
        }
        if self.is_mixed {
            notes.push(MIXED.to_owned());
        }
        if self.is_split {
            notes.push(SPLIT.to_owned());
        }
        if self.is_uneven {
            notes.push(UNEVEN.to_owned());
        }
        notes
    }
}

/// The files of all jobs, each once; one that the text names for all counts for the jobs that name none.
fn targets(document: &Value, jobs: &[&Value]) -> Vec<String> {
    let of = |options: &Value| options["filename"].as_str().map(str::to_owned);
    let global = of(&document["global options"]);
    let mut found = Vec::new();
    for name in jobs.iter().filter_map(|job| of(&job["job options"]).or_else(|| global.clone())) {
        if !found.contains(&name) && found.len() < TARGETS_MAX {
            found.push(name);
        }
    }
    if found.is_empty() { vec![global.unwrap_or_else(|| "fio".to_owned())] } else { found }
}

/// Targets that are named; of more files the first ones stand for all.
const TARGETS_MAX: usize = 64;

/// Returns the name of a job, and the job; a job that wrote and trimmed becomes two, as one counts trims as writes.
fn row_jobs(
    origin: &str,
    index: usize,
    job: &Value,
    global: &Value,
    missing: &mut Missing,
) -> Result<(String, Vec<RowJob>), ImportError> {
    let name: String =
        job["jobname"].as_str().map_or(format!("job {}", index + 1), |name| name.chars().take(100).collect());
    let name = match job["hostname"].as_str() {
        Some(host) => format!("{name} of {host}").chars().take(200).collect(),
        None => name,
    };
    let option = |key: &str| {
        let own = job["job options"][key].as_str();
        own.or_else(|| global[key].as_str()).unwrap_or_default().to_owned()
    };
    let failed = |part: &str, why: String| complain(origin, 0, format!("job \"{name}\", {part}: {why}"));
    let mut side = |kind: &str| direction(&job[kind], missing).map_err(|why| failed(kind, why));
    let (mut read, write, trim) = (side("read")?, side("write")?, side("trim")?);
    if [&read, &write, &trim].iter().all(|side| side.stats.ops() == 0) {
        read = side("mixed")?;
        missing.is_mixed |= read.stats.ops() > 0;
    }
    let times = [&read, &write, &trim].map(|side| side.measured_ms);
    missing.is_uneven |= are_uneven(times);
    let measured_ms = times.into_iter().max().unwrap_or(0);
    if measured_ms == 0 && [&read, &write, &trim].iter().any(|side| side.stats.ops() > 0) {
        return Err(complain(origin, 0, format!("job \"{name}\" did I/O, but its runtime is 0")));
    }
    let flush = flushes(&job["sync"], missing).map_err(|why| failed("sync", why))?;
    let random =
        if option("rw").contains("rand") || option("readwrite").contains("rand") { 100.0 } else { 0.0 };
    let number = |key: &str| option(key).parse::<u32>().ok().filter(|n| *n > 0).unwrap_or(1);
    let row = |name: String, change, stats: AccessStats, flush| {
        let ops = stats.read.ops() + stats.write.ops();
        let read = if ops == 0 { 100.0 } else { stats.read.ops() as f64 / ops as f64 * 100.0 };
        let size = stats.read.bytes.saturating_add(stats.write.bytes).checked_div(ops).unwrap_or(0);
        RowJob {
            name,
            workers: number("numjobs"),
            outstanding: number("iodepth"),
            mix: vec![Access { change, ..access(size, read.round(), random) }],
            flush,
            stats,
            measured_ns: measured_ms.saturating_mul(1_000_000),
            ..RowJob::default()
        }
    };
    let has_both = write.stats.ops() > 0 && trim.stats.ops() > 0;
    missing.is_split |= has_both;
    let change = if has_both || trim.stats.ops() == 0 { Change::Write } else { Change::Trim };
    let first = if change == Change::Trim { trim.stats.clone() } else { write.stats };
    let mut stats = AccessStats { read: read.stats, write: first };
    stats.read.errors = job["total_err"].as_u64().unwrap_or(0);
    let mut rows = vec![row(name.clone(), change, stats, flush)];
    if has_both {
        let stats = AccessStats { write: trim.stats, ..AccessStats::default() };
        rows.push(row(format!("{name}: trims"), Change::Trim, stats, None));
    }
    Ok((name, rows))
}

/// Reads, writes or trims of a job.
#[derive(Default)]
struct Direction {
    stats: OpStats,
    measured_ms: u64,
}

fn direction(part: &Value, missing: &mut Missing) -> Result<Direction, String> {
    let mut ops = count(&part["total_ios"]).map_err(|why| format!("total_ios: {why}"))?;
    if missing.is_old && part["total_ios"].is_null() {
        let seconds = part["runtime"].as_f64().unwrap_or(0.0) / 1000.0;
        ops = whole(part["iops"].as_f64().unwrap_or(0.0) * seconds);
    }
    if ops == 0 {
        return Ok(Direction::default());
    }
    let kib = part["io_kbytes"].as_u64().map(|kib| kib.saturating_mul(1024));
    // Version 2 called KiB `io_bytes`, and had no `io_kbytes` beside it.
    let of_bytes = part["io_bytes"]
        .as_u64()
        .map(|n| if missing.is_old && kib.is_none() { n.saturating_mul(1024) } else { n });
    let bytes = of_bytes.or(kib).unwrap_or(0);
    let stats = OpStats { bytes, service: latency(part, ops, missing)?, ..OpStats::default() };
    Ok(Direction { stats, measured_ms: part["runtime"].as_u64().unwrap_or(0) })
}

/// A count; 0 where there is none.
fn count(value: &Value) -> Result<u64, String> {
    match value {
        Value::Null => Ok(0),
        value => value.as_u64().ok_or_else(|| format!("`{value}` is not a count")),
    }
}

/// The flushes of a job; `None` where it made none.
fn flushes(part: &Value, missing: &mut Missing) -> Result<Option<OpStats>, String> {
    let Some(ops) = part["total_ios"].as_u64().filter(|ops| *ops > 0) else { return Ok(None) };
    Ok(Some(OpStats { service: latency(part, ops, missing)?, ..OpStats::default() }))
}

/// The completion latency of one direction: from buckets, from percentiles, or a mean alone.
fn latency(part: &Value, ops: u64, missing: &mut Missing) -> Result<Latency, String> {
    // Before version 3 times were microseconds, under `clat`.
    let (times, unit) = match (&part["clat_ns"], &part["clat"]) {
        (Value::Null, Value::Null) => (&part["lat_ns"], 1.0),
        (Value::Null, old) => (old, 1000.0),
        (times, _) => (times, 1.0),
    };
    let at = |key: &str| times[key].as_f64().map(|value| value * unit).filter(|value| *value >= 0.0);
    let mean = at("mean").unwrap_or(0.0);
    let (min, max) = (at("min").map(whole), at("max").map(whole));
    let pairs = |key: &str| -> Result<Vec<(f64, f64)>, String> {
        let Some(lines) = times[key].as_str() else { return Ok(Vec::new()) };
        // Of equal keys the last one counts.
        let object: BTreeMap<&str, &str> = lines.lines().filter_map(|line| line.split_once(' ')).collect();
        if object.len() > BINS_MAX || lines.lines().count() > BINS_MAX {
            return Err(format!("{key} has more than {BINS_MAX} entries"));
        }
        let mut pairs = Vec::new();
        for (name, value) in object {
            let pair = name
                .parse::<f64>()
                .ok()
                .zip(value.parse::<f64>().ok())
                .filter(|(a, b)| *a >= 0.0 && *b >= 0.0);
            pairs.push(pair.ok_or_else(|| format!("{key} has an entry that is not a number"))?);
        }
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(pairs)
    };
    let buckets = pairs("bins")?;
    let (min, max) = (min.unwrap_or(0), max.unwrap_or(0));
    if !buckets.is_empty() {
        let counts = buckets.iter().map(|(ns, count)| (whole(ns * unit), whole(*count)));
        return Ok(Latency::from_buckets(counts, mean, min, max));
    }
    let known = pairs("percentile")?;
    if known.is_empty() {
        missing.percentiles = true;
        return Ok(Latency::from_summary(ops, mean, (min > 0).then_some(min), (max > 0).then_some(max)));
    }
    missing.bins = true;
    let known: Vec<(f64, f64)> = known.into_iter().map(|(percent, time)| (percent, time * unit)).collect();
    Ok(Latency::from_buckets(steps(&known, ops, max).into_iter(), mean, min, max))
}

/// The distribution of `ops` I/Os of which percentiles are known (percent, ns): between them it is a step.
pub(super) fn steps(known: &[(f64, f64)], ops: u64, max_ns: u64) -> Vec<(u64, u64)> {
    let mut counted = 0;
    let mut counts: Vec<(u64, u64)> = Vec::new();
    for (percent, ns) in known {
        // A percentile of fio is the first value that so many I/Os reach at least; 1e-14 is for what floats cannot say.
        let share = (percent.min(100.0) * ops as f64 / 100.0 * (1.0 - 1e-14)).ceil();
        let up_to = whole(share).min(ops);
        counts.push((whole(*ns), up_to.saturating_sub(counted)));
        counted = counted.max(up_to);
    }
    counts.push((max_ns, ops - counted));
    counts
}

/// Writes a run as fio's json+ would be.
pub fn export(header: &RunHeader, events: &[Event]) -> String {
    let seconds = header.started_unix_ms / 1000;
    let file = header.targets.iter().map(|t| t.address.replace(':', "\\:")).collect::<Vec<_>>().join(":");
    let mut jobs = Vec::new();
    for (group, step) in measured(header, events).into_iter().enumerate() {
        for job in &step.jobs {
            let name = match step.jobs.len() {
                1 => step.name(),
                _ => format!("{}: {}", step.name(), job.job.name),
            };
            // The tester's time is that of all jobs together, so it belongs to one only where it is alone.
            let cpu = step.cpu.filter(|_| step.jobs.len() == 1);
            jobs.push(job_json(&name, group, job, cpu));
        }
    }
    let document = json!({
        "fio version": header.imported.as_ref().map_or("fio-3.33".to_owned(), |from| from.tool.clone()),
        "timestamp": seconds,
        "timestamp_ms": header.started_unix_ms,
        "time": "",
        "global options": { "ioengine": "assay", "filename": file },
        "jobs": jobs,
        "disk_util": [],
        "written by": format!("Assay {}", header.version),
    });
    format!("{document:#}\n")
}

fn job_json(name: &str, group: usize, job: &MeasuredJob<'_>, cpu: Option<StepCpu>) -> Value {
    let plan = job.job;
    let total = job.stats.total();
    let total = &total.service;
    // Percent of one CPU over the window, as fio has it.
    let used = |part: fn(f64) -> f64| {
        let cpu = cpu?;
        Some(cpu.tester_ns as f64 * part(cpu.tester_system?) / job.measured_ns as f64 * 100.0)
    };
    let flush = job.flush.clone().unwrap_or_default();
    let changed = side(&job.stats.write, job, 1);
    let none = || side(&OpStats::default(), job, 1);
    let (write, trim) = if only_trims(plan) { (none(), changed) } else { (changed, none()) };
    json!({
        "jobname": name,
        "groupid": group,
        "error": 0,
        "eta": 0,
        "elapsed": job.measured_ns.div_ceil(1_000_000_000),
        "job options": options(name, job),
        "read": side(&job.stats.read, job, 0),
        "write": write,
        "trim": trim,
        "sync": { "total_ios": flush.ops(), "lat_ns": times(&flush.service) },
        "usr_cpu": used(|system| 1.0 - system),
        "sys_cpu": used(|system| system),
        "latency_ns": shares(total, 1, &[2, 4, 10, 20, 50, 100, 250, 500, 750, 1000]),
        "latency_us": shares(total, 1000, &[2, 4, 10, 20, 50, 100, 250, 500, 750, 1000]),
        "latency_ms": shares(total, 1_000_000, &[2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000]),
        "job_runtime": job.measured_ns / 1_000_000,
        "total_err": job.stats.read.errors + job.stats.write.errors,
        "latency_depth": plan.outstanding,
    })
}

/// Whether what a job does besides reads is trims.
fn only_trims(job: &Job) -> bool {
    job.mix.iter().any(Access::trims) && job.mix.iter().all(|line| line.read >= 100.0 || line.trims())
}

/// The options of fio by which a job is described.
fn options(name: &str, job: &MeasuredJob<'_>) -> Map<String, Value> {
    let plan = job.job;
    let is_random = plan.mix.iter().any(|line| line.random > 0.0);
    let is_read = plan.mix.iter().any(Access::reads);
    let kind = match (is_random, is_read, plan.writes()) {
        (true, false, _) if only_trims(plan) => "randtrim",
        (false, false, _) if only_trims(plan) => "trim",
        (true, true, true) => "randrw",
        (true, false, _) => "randwrite",
        (true, true, false) => "randread",
        (false, true, true) => "rw",
        (false, false, _) => "write",
        (false, true, false) => "read",
    };
    let size = plan.mix.iter().map(|line| line.size).max().unwrap_or(Bytes(0));
    let mut options = Map::new();
    let mut put = |key: &str, value: String| options.insert(key.to_owned(), value.into());
    put("name", name.to_owned());
    put("rw", kind.to_owned());
    put("bs", size.0.to_string());
    put("iodepth", plan.outstanding.to_string());
    put("numjobs", plan.workers.to_string());
    // The option as it was typed: a window is a few milliseconds longer.
    put("runtime", (job.measured_ns.saturating_add(500_000_000) / 1_000_000_000).max(1).to_string());
    if let [line] = plan.mix.as_slice() {
        put("rwmixread", line.read.round().to_string());
    }
    if let Pacing::Throttled { rate } | Pacing::Open { rate, .. } = plan.pacing {
        put("rate_iops", rate.0.round().to_string());
    }
    if let Some(flushes) = plan.flush {
        put(if flushes.kind == Flush::All { "fsync" } else { "fdatasync" }, flushes.every.to_string());
    }
    options
}

/// Shares of the I/Os in percent by the upper ends of fio's coarse buckets, in a unit of this many ns.
fn shares(latency: &Latency, unit_ns: u64, ends: &[u64]) -> Value {
    if latency.is_empty() || !latency.has_distribution() {
        return Value::Object(Map::new());
    }
    // The first bucket of a unit begins where the unit before it ends.
    let mut from_ns = if unit_ns == 1 { 0 } else { unit_ns };
    let mut object = Map::new();
    let counted = |from: u64, to: u64| -> u64 {
        latency.buckets().filter(|(ns, _)| (from..to).contains(ns)).map(|(_, count)| count).sum()
    };
    let percent = |count: u64| count as f64 / latency.count() as f64 * 100.0;
    for end in ends {
        let to_ns = end * unit_ns;
        object.insert(end.to_string(), percent(counted(from_ns, to_ns)).into());
        from_ns = to_ns;
    }
    if ends.last() == Some(&2000) {
        object.insert(">=2000".to_owned(), percent(counted(from_ns, u64::MAX)).into());
    }
    Value::Object(object)
}

/// Mean, deviation, least and most of whole seconds, of I/Os (`iops`) or of KiB (`bw`); nothing where no seconds are
/// known.
fn per_second_fields(what: &str, values: &[f64]) -> Map<String, Value> {
    let mut fields = Map::new();
    if values.is_empty() {
        return fields;
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(0.0, f64::max);
    let deviation = if what == "bw" { "dev" } else { "stddev" };
    for (key, value) in [("mean", mean), (deviation, variance.sqrt())] {
        fields.insert(format!("{what}_{key}"), value.into());
    }
    for (key, value) in [("min", least), ("max", most)] {
        fields.insert(format!("{what}_{key}"), whole(value).into());
    }
    fields.insert(format!("{what}_samples"), values.len().into());
    fields
}

/// One direction of a job: 0 reads, 1 writes.
fn side(stats: &OpStats, job: &MeasuredJob<'_>, direction: usize) -> Value {
    let measured_ns = job.measured_ns;
    let seconds = measured_ns as f64 / 1e9;
    let per_second = |value: u64| value as f64 / seconds;
    let times = times(&stats.service);
    let mut side = json!({
        "io_bytes": stats.bytes,
        "io_kbytes": stats.bytes / 1024,
        "bw_bytes": whole(per_second(stats.bytes)),
        "bw": whole(per_second(stats.bytes) / 1024.0),
        "iops": per_second(stats.ops()),
        "runtime": if stats.ops() == 0 { 0 } else { measured_ns / 1_000_000 },
        "total_ios": stats.ops(),
        "short_ios": 0,
        "drop_ios": 0,
        "slat_ns": { "min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0 },
        "clat_ns": times.clone(),
        "lat_ns": times,
    });
    if let Some(object) = side.as_object_mut().filter(|_| stats.ops() > 0) {
        let of = |value: &dyn Fn(&Second) -> f64| job.seconds.iter().map(value).collect::<Vec<f64>>();
        object.extend(per_second_fields("iops", &of(&|second| second.ops[direction] as f64)));
        object.extend(per_second_fields("bw", &of(&|second| second.bytes[direction] as f64 / 1024.0)));
    }
    side
}

/// Times as fio has them. What is not known is left out.
fn times(latency: &Latency) -> Value {
    let mut object = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            object.insert(key.to_owned(), value);
        }
    };
    put("min", Some(latency.min_ns().unwrap_or(0).into()));
    put("max", Some(latency.max_ns().unwrap_or(0).into()));
    put("mean", Some(latency.mean_ns().unwrap_or(0.0).into()));
    put("stddev", deviation(latency).map(Value::from));
    put("N", Some(latency.count().into()));
    if !latency.is_empty() && latency.has_distribution() {
        let bins = bins(latency);
        let named =
            PERCENTILES.iter().filter_map(|p| Some((format!("{p:.6}"), percentile(&bins, *p)?.into())));
        put("percentile", Some(Value::Object(named.collect())));
        put(
            "bins",
            Some(Value::Object(bins.iter().map(|(ns, count)| (ns.to_string(), (*count).into())).collect())),
        );
    }
    Value::Object(object)
}

/// Standard deviation by the buckets, ns.
fn deviation(latency: &Latency) -> Option<f64> {
    let mean = latency.mean_ns().filter(|_| latency.has_distribution())?;
    let sum: f64 = latency.buckets().map(|(ns, count)| (bin(ns) as f64 - mean).powi(2) * count as f64).sum();
    Some((sum / (latency.count() as f64 - 1.0).max(1.0)).sqrt())
}
