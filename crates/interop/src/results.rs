//! Results of other tools, as the events of a run; and back.
//!
//! An importer returns an [`ImportedResult`]: one [`Measured`] for each row of the other tool's table. What the
//! file does
//! not say stays unknown: a table without percentiles gets none. [`ImportedResult::into_events`] makes a stored
//! run of it, so that show, report and compare work as on a run of Assay.

pub mod bonnie;
pub mod crystaldiskmark;
pub mod dd;
pub mod diskspd;
#[cfg(test)]
mod diskspd_tests;
pub mod elbencho;
mod fio_bins;
pub mod fio_json;
pub mod fio_log;
pub mod fio_text;
mod fio_tree;
pub mod hdparm;
pub mod hdr;
pub mod iometer_csv;
mod iometer_series;
pub mod ioping;
pub mod iostat;
pub mod iozone;
mod measured;
pub mod openmetrics;
pub mod parquet;
mod plain;
#[cfg(test)]
mod posted_tests;
pub mod sqlio;
pub mod sysbench;
pub mod table;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod text_tests;
pub mod vdbench_out;
pub mod yabs;

use assay_record::{
    Event, FlushEnd, HostFacts, Imported, Interval, JobEnd, Latency, MemberFacts, Outcome, Phase, RunEvent,
    RunHeader, StepCpu, StepEnd, StepId, StepReason, TargetFacts, TurnStats, Warning,
};
use assay_spec::units::Nanos;
use assay_spec::{Access, Job, Plan, Role, Semantics, Span, Step, Stop, Swept, Test};

use crate::secrets::{of_text, without_secrets};

pub use measured::{Measured, MeasuredJob, measured};

/// How the results of a tool are recognised and read.
type Reader = (fn(&str) -> bool, fn(&str, &str) -> Result<ImportedResult, crate::ImportError>);
const READERS: [Reader; 18] = [
    (fio_json::is_results, fio_json::import),
    (fio_text::is_results, fio_text::import),
    (yabs::is_results, yabs::import),
    (iometer_csv::is_results, iometer_csv::import),
    (diskspd::is_xml, diskspd::import_xml),
    (diskspd::is_text, diskspd::import_text),
    (sqlio::is_results, sqlio::import),
    (crystaldiskmark::is_results, crystaldiskmark::import),
    (dd::is_results, dd::import),
    (iostat::is_results, iostat::import),
    (ioping::is_results, ioping::import),
    (bonnie::is_results, bonnie::import),
    (elbencho::is_results, elbencho::import),
    (iozone::is_results, iozone::import),
    (vdbench_out::is_results, vdbench_out::import),
    (sysbench::is_results, sysbench::import),
    (hdparm::is_results, hdparm::import),
    (table::is_table, table::import),
];

/// Returns true if a text holds results of a tool that is known.
pub fn is_results(text: &str) -> bool {
    let text = crate::text::of_mail(text);
    READERS.iter().any(|(is_of, _)| is_of(&text))
}

/// Reads the results of whichever tool a text is from; `None` where it is from none that is known.
///
/// # Errors
/// When the text is of a tool, and cannot be read.
pub fn import(origin: &str, text: &str) -> Result<Option<ImportedResult>, crate::ImportError> {
    let text = crate::text::of_mail(text);
    let reader = READERS.iter().find(|(is_of, _)| is_of(&text));
    let text = of_text(&text);
    let result = reader.map(|(_, import)| import(origin, &text)).transpose()?;
    Ok(result.map(|mut result| {
        result.notes.extend(others(&result.from.tool, &text));
        result.covered().bounded()
    }))
}

/// Tools whose outputs people paste below one another: what each is called, a part of the name that its results have,
/// and what its text has.
const PASTED: [Pasted; 9] = [
    ("CrystalDiskMark", "diskmark", crystaldiskmark::is_results),
    ("yabs", "yabs", yabs::is_results),
    ("ioping", "ioping", ioping::is_results),
    ("Bonnie++", "bonnie", bonnie::is_results),
    ("iozone", "iozone", iozone::is_results),
    ("elbencho", "elbencho", elbencho::is_results),
    ("sysbench", "sysbench", sysbench::is_results),
    ("hdparm", "hdparm", hdparm::is_results),
    ("dd", "dd", dd::is_results),
];
type Pasted = (&'static str, &'static str, fn(&str) -> bool);

/// What a text holds besides the results that are read.
fn others(tool: &str, text: &str) -> Option<String> {
    // Nothing stands beside a document, and to look for each tool in one takes longer than to read it.
    if text.starts_with('{') && text.trim_end().ends_with('}') {
        return None;
    }
    let tool = tool.to_lowercase();
    let found = PASTED.iter().filter(|(_, own, is_of)| !tool.contains(own) && is_of(text));
    let names: Vec<&str> = found.map(|(name, ..)| *name).collect();
    (!names.is_empty()).then(|| {
        let names = names.join(" and ");
        format!("The text also has results of {names}, which are not read: give them in a file of their own.")
    })
}

/// The most rows of an imported table: as many as a plan has steps. Each holds two distributions, 72 KiB.
const ROWS_MAX: usize = assay_spec::limits::STEPS_MAX;
/// The most bytes of a job, and the longest measurement, 2.3 years: more is damage.
const BYTES_MAX: u64 = 1 << 60;
const MEASURED_MAX_NS: u64 = 1 << 56;
/// The end of the year 9999, ms since 1970: a later date is damage.
const DATE_MAX_MS: u64 = 253_402_300_800_000;

/// Results of another tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedResult {
    /// What measured, where from, and what is not said.
    pub from: Imported,
    /// As the file has it.
    pub(crate) started_unix_ms: Option<u64>,
    /// Name of the measured system, or of the plan.
    pub name: String,
    /// What was measured on, where the file says.
    pub targets: Vec<String>,
    pub(crate) semantics: Semantics,
    pub(crate) rows: Vec<ResultRow>,
    /// What a reader must know of the units and of the file.
    pub notes: Vec<String>,
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ResultRow {
    pub(crate) test: String,
    /// `outstanding=8`; rows of a test that differ in it are its steps.
    pub(crate) swept: Vec<Swept>,
    pub(crate) jobs: Vec<RowJob>,
    /// Share of CPU time in use, in [0, 1].
    pub(crate) cpu_busy: Option<f64>,
}

/// A job of a row, with its results.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RowJob {
    pub(crate) name: String,
    pub(crate) workers: u32,
    pub(crate) outstanding: u32,
    pub(crate) mix: Vec<Access>,
    pub(crate) stats: assay_record::AccessStats,
    /// Flushes between writes, where the tool counts them.
    pub(crate) flush: Option<assay_record::OpStats>,
    pub(crate) measured_ns: u64,
    /// Length of each slice of time, ns, with what it counted, where the tool has a series; together they are `stats`.
    pub(crate) series: Vec<(u64, assay_record::AccessStats)>,
}

impl Default for RowJob {
    fn default() -> Self {
        Self {
            name: String::new(),
            workers: 1,
            outstanding: 1,
            mix: Vec::new(),
            stats: assay_record::AccessStats::default(),
            flush: None,
            measured_ns: 0,
            series: Vec::new(),
        }
    }
}

impl ImportedResult {
    /// The results in a file that says nothing else of them: they have its name, and so has their target.
    pub(crate) fn of(origin: &str, tool: impl Into<String>, missing: &[&str], rows: Vec<ResultRow>) -> Self {
        let name = crate::names::stem(origin).to_owned();
        Self {
            from: Imported {
                tool: tool.into(),
                file: crate::names::file_name(origin).to_owned(),
                missing: missing.iter().map(|what| (*what).to_owned()).collect(),
                has_series: false,
            },
            started_unix_ms: None,
            targets: vec![name.clone()],
            name,
            semantics: Semantics::Assay,
            rows,
            notes: Vec::new(),
        }
    }

    /// The same on these targets, if there are any.
    pub(crate) fn on(self, targets: Vec<String>) -> Self {
        if targets.is_empty() { self } else { Self { targets, ..self } }
    }

    /// Without secrets in what is shown and stored: a name may be an address, or repeat a command line.
    fn covered(mut self) -> Self {
        let cover = |text: &mut String| *text = without_secrets(text);
        cover(&mut self.name);
        cover(&mut self.from.tool);
        self.targets.iter_mut().chain(&mut self.notes).for_each(cover);
        for row in &mut self.rows {
            cover(&mut row.test);
            row.jobs.iter_mut().for_each(|job| cover(&mut job.name));
        }
        self
    }

    /// Cuts numbers that no measurement reaches, so that sums over them stay numbers, and says so.
    fn bounded(mut self) -> Self {
        let mut is_cut = false;
        let mut cut = |value: &mut u64, most: u64| {
            is_cut |= *value >= most;
            *value = (*value).min(most);
        };
        for job in self.rows.iter_mut().flat_map(|row| &mut row.jobs) {
            cut(&mut job.measured_ns, MEASURED_MAX_NS);
            let sides = [&mut job.stats.read, &mut job.stats.write].into_iter();
            for stats in sides.chain(&mut job.flush) {
                cut(&mut stats.bytes, BYTES_MAX);
                cut(&mut stats.errors, Latency::COUNT_MAX);
                // It never counts more.
                cut(&mut stats.ops(), Latency::COUNT_MAX);
            }
        }
        if is_cut {
            let says = "Numbers of the file are larger than any measurement's, so it is probably damaged. They were \
                        cut to 2^48 I/Os, 2^60 bytes and 2^56 ns.";
            self.notes.push(says.to_owned());
        }
        self
    }

    /// Returns the run: its header and all its events. `version` is Assay's own.
    pub fn into_events(self, run: String, version: &str, now_unix_ms: u64) -> (RunHeader, Vec<Event>) {
        let target =
            |address: &String| TargetFacts { address: address.clone(), member: MemberFacts::default() };
        let header = RunHeader {
            run,
            version: version.to_owned(),
            started_unix_ms: self.started_unix_ms().unwrap_or(now_unix_ms),
            plan: self.plan(),
            targets: self.targets.iter().map(target).collect(),
            host: HostFacts::default(),
            array: None,
            stated: Default::default(),
            imported: Some(self.from.clone()),
            setting: assay_record::RunSetting::default(),
            diagnosis: None,
        };
        let mut events = vec![Event { at_ns: 0, what: RunEvent::Started(Box::new(header.clone())) }];
        events.push(Event { at_ns: 0, what: RunEvent::Warning(self.warning()) });
        let mut at_ns = 0;
        let mut tests: Vec<&str> = Vec::new();
        let mut counts: Vec<u32> = Vec::new();
        for row in &self.rows {
            let test = tests.iter().position(|test| *test == row.test).unwrap_or_else(|| {
                tests.push(&row.test);
                counts.push(0);
                tests.len() - 1
            });
            let id = StepId { test: u32::try_from(test).unwrap_or(0), step: counts[test] };
            counts[test] += 1;
            at_ns = row.report(id, at_ns, &mut events);
        }
        events.push(Event { at_ns, what: RunEvent::Ended(Outcome::Done) });
        (header, events)
    }

    /// When the measurement began, ms since 1970 UTC, where the file says so credibly.
    pub fn started_unix_ms(&self) -> Option<u64> {
        self.started_unix_ms.filter(|ms| *ms < DATE_MAX_MS)
    }

    fn warning(&self) -> Warning {
        let missing = match self.from.missing.as_slice() {
            [] => String::new(),
            missing => format!(" The file does not contain {}.", missing.join(", ")),
        };
        Warning {
            rule: "imported".to_owned(),
            says: format!("Measured by {}, and imported from {}.{missing}", self.from.tool, self.from.file),
            next: "Compare rates and latencies; conditions of the host and the target are not known."
                .to_owned(),
        }
    }

    /// The plan that these results would be of.
    fn plan(&self) -> Plan {
        let mut tests: Vec<Test> = Vec::new();
        for row in &self.rows {
            let step = Step {
                swept: row.swept.clone(),
                jobs: row.jobs.iter().map(RowJob::plan).collect(),
                warmup: Nanos(0),
                stop: Stop {
                    time: Nanos(row.jobs.iter().map(|job| job.measured_ns).max().unwrap_or(0)),
                    ..Stop::default()
                },
                error_limit: u64::MAX,
                verify: false,
            };
            match tests.iter_mut().find(|test| test.name == row.test) {
                Some(test) => test.steps.push(step),
                None => tests.push(Test {
                    name: row.test.clone(),
                    notes: String::new(),
                    role: Role::Measured,
                    steps: vec![step],
                }),
            }
        }
        Plan {
            name: self.name.clone(),
            about: String::new(),
            source: format!("{}, imported from {}.", self.from.tool, self.from.file),
            notes: self.notes.clone(),
            semantics: self.semantics,
            seed: 1,
            span: Span::Whole,
            quick: false,
            changes: Vec::new(),
            limits: Vec::new(),
            tests,
        }
    }
}

impl ResultRow {
    /// Adds the events of the row, and returns when it ended.
    fn report(&self, step: StepId, start_ns: u64, events: &mut Vec<Event>) -> u64 {
        let end_ns = start_ns.saturating_add(self.jobs.iter().map(|job| job.measured_ns).max().unwrap_or(0));
        let mut push = |at_ns, what| events.push(Event { at_ns, what });
        push(start_ns, RunEvent::StepStarted(step));
        push(start_ns, RunEvent::PhaseStarted { step, phase: Phase::Measure });
        for (index, job) in self.jobs.iter().enumerate() {
            let interval = |from_ns: u64, to_ns: u64, stats: &assay_record::AccessStats| Interval {
                test: step.test,
                step: step.step,
                job: u32::try_from(index).unwrap_or(0),
                start_ns: from_ns,
                end_ns: to_ns,
                by_access: vec![stats.clone()],
                reconnects: 0,
                turns: TurnStats::default(),
            };
            if job.series.is_empty() {
                let whole = interval(0, job.measured_ns, &job.stats);
                push(end_ns, RunEvent::Interval(Box::new(whole)));
            }
            let mut from_ns = 0;
            for (length_ns, stats) in &job.series {
                let slice = interval(from_ns, from_ns + length_ns, stats);
                from_ns += length_ns;
                push(start_ns + from_ns, RunEvent::Interval(Box::new(slice)));
            }
        }
        let jobs =
            self.jobs.iter().map(|job| JobEnd { measured_ns: job.measured_ns, due: None, full_ns: None });
        let cpu = StepCpu { host_busy: self.cpu_busy.unwrap_or(0.0), ..StepCpu::default() };
        let mut end = StepEnd::new(step, StepReason::Done, jobs.collect(), cpu);
        let flushes = (0..).zip(&self.jobs).filter_map(|(job, row)| Some((job, row.flush.clone()?)));
        end.flushes = flushes.map(|(job, stats)| FlushEnd { job, stats }).collect();
        push(end_ns, RunEvent::StepEnded(Box::new(end)));
        end_ns
    }
}

impl RowJob {
    fn plan(&self) -> Job {
        Job {
            name: self.name.clone(),
            mix: self.mix.clone(),
            workers: self.workers.max(1),
            outstanding: self.outstanding.max(1),
            ..Job::default()
        }
    }
}

/// An access line of results whose file says little.
pub(crate) fn access(size: u64, read: f64, random: f64) -> Access {
    use assay_spec::units::Bytes;
    Access { size: Bytes(size), read, random, align: Bytes(size), ..Access::default() }
}

/// The swept value of a row whose test stands in the table already.
pub(crate) fn repeated(test: &str, others: &[ResultRow]) -> Vec<Swept> {
    match others.iter().filter(|other| other.test == test).count() {
        0 => Vec::new(),
        same => vec![Swept { key: "row".to_owned(), value: (same + 1).to_string() }],
    }
}

/// Rows of one test by the target they are of, where a text has several, and numbered where that is not enough.
/// `of_rows` has the target of each row; returns each once.
pub(crate) fn tell_apart(rows: &mut [ResultRow], of_rows: Vec<String>) -> Vec<String> {
    let mut targets: Vec<String> = Vec::new();
    let mut seen: std::collections::HashMap<(String, String), usize> = std::collections::HashMap::new();
    of_rows.iter().for_each(|target| {
        if !targets.contains(target) {
            targets.push(target.clone());
        }
    });
    for (row, target) in rows.iter_mut().zip(of_rows) {
        let count = seen.entry((row.test.clone(), target.clone())).or_default();
        *count += 1;
        if targets.len() > 1 {
            row.swept.push(Swept { key: "target".to_owned(), value: target });
        }
        if *count > 1 {
            row.swept.push(Swept { key: "row".to_owned(), value: count.to_string() });
        }
    }
    targets
}

/// The first number in a text, behind whatever is no digit.
pub(crate) fn leading_number(text: &str) -> Option<f64> {
    let digits = text.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = digits.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(digits.len());
    digits[..end].trim_end_matches('.').parse().ok()
}

/// Milliseconds as nanoseconds; 0 for what is not a time.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
pub(crate) fn ns_of_ms(ms: f64) -> u64 {
    (ms * 1e6).round() as u64
}

/// A count; 0 for what is none.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
pub(crate) fn whole(value: f64) -> u64 {
    value.round() as u64
}
