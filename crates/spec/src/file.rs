//! A plan as written: what the TOML says, no default filled in.
//!
//! One function per table, each key in one place. [`crate::resolve`] turns the result into a
//! [`Plan`](crate::Plan).

use crate::goal::{Times, Tolerance};
use crate::limits::{JOBS_MAX, LINES_MAX, NAME_CHARS_MAX, STEPS_MAX, THRESHOLDS_MAX, VALUE_CHARS_MAX};
use crate::place::{Distribution, Extent, Strides, Window, Zone, Zoned};
use crate::plan::{Arrivals, Change, Data, Ends, Flush, Flushes, Semantics};
use crate::plan_error::PlanError;
use crate::reader::{Source, Table, Value};
use crate::threshold::Threshold;
use crate::units::{Bytes, Nanos, PerSecond, SizeSpec};
use toml::de::DeTable;

/// The largest I/O a plan may ask for, bytes: the largest buffers times the deepest queue must stay allocatable.
pub const IO_BYTES_MAX: u64 = 512 << 20;
/// The largest trim, which needs no buffer, bytes.
pub const TRIM_BYTES_MAX: u64 = 4095 << 20;
/// The most workers of one job: beyond a thread per CPU of the largest hosts nothing is gained.
pub const WORKERS_MAX: u64 = 256;
/// The most I/Os in flight per worker; an io_uring holds 32,768 completions.
pub const OUTSTANDING_MAX: u64 = 4096;

/// The largest share of its rate that a job may offer, percent: overload is worth a look, nonsense is not.
const LOAD_PERCENT_MAX: f64 = 1000.0;
/// The most targets that a job may use.
const TARGETS_MAX: u32 = 10_000;
/// The largest weight of a job among those that keep a proportion, as in fio.
pub const FLOW_MAX: u64 = 1000;

/// A plan file as written.
#[derive(Debug, Clone, Default)]
pub struct PlanFile {
    pub(crate) origin: String,
    pub(crate) name: Option<String>,
    pub(crate) about: String,
    pub(crate) source: String,
    pub(crate) notes: Vec<String>,
    pub(crate) semantics: Option<Semantics>,
    pub(crate) seed: Option<u64>,
    pub(crate) size: Option<SizeSpec>,
    pub(crate) precondition: Option<Times>,
    pub(crate) defaults: Settings,
    pub(crate) limits: Vec<Threshold>,
    pub(crate) tests: Vec<TestFile>,
}

/// A `[[test]]` as written.
#[derive(Debug, Clone)]
pub(crate) struct TestFile {
    /// For complaints that only show once everything is known.
    pub(crate) place: String,
    pub(crate) name: String,
    pub(crate) notes: String,
    pub(crate) settings: Settings,
    pub(crate) sweep: Vec<(SweepKey, Vec<String>)>,
    pub(crate) jobs: Vec<JobFile>,
}

/// A `[[test.job]]` as written.
#[derive(Debug, Clone)]
pub(crate) struct JobFile {
    pub(crate) name: Option<String>,
    /// Hosts that run it; empty means all.
    pub(crate) hosts: Vec<String>,
    pub(crate) settings: Settings,
}

/// What may be said in `[defaults]`, in a test, in a job, or by `--set`; a later layer hides an earlier one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settings {
    pub(crate) access: Option<Vec<AccessFile>>,
    pub(crate) targets: Option<Vec<u32>>,
    /// Only the first this many of them; said by a sweep, never in a file.
    pub(crate) targets_count: Option<u32>,
    pub(crate) workers: Option<u32>,
    pub(crate) outstanding: Option<u32>,
    pub(crate) pace: Option<PacingFile>,
    pub(crate) rate: Option<PerSecond>,
    /// Share of the rate that is offered, percent.
    pub(crate) load: Option<f64>,
    pub(crate) reconnect_every: Option<u32>,
    pub(crate) data: Option<Data>,
    pub(crate) sync: Option<bool>,
    pub(crate) window: Option<Window>,
    /// The window is written as `span`, its old name.
    pub(crate) is_span: bool,
    /// `Some(None)`: never, where a layer below flushes.
    pub(crate) flush: Option<Option<Flushes>>,
    pub(crate) start_delay: Option<Nanos>,
    pub(crate) increment: Option<Extent>,
    pub(crate) strides: Option<Strides>,
    pub(crate) zoned: Option<Zoned>,
    pub(crate) targets_each: Option<u32>,
    pub(crate) flow: Option<u32>,
    pub(crate) ends: Option<Ends>,
    /// How often each load point runs, one after another.
    pub(crate) repeat: Option<u32>,
    pub(crate) run: Option<Nanos>,
    pub(crate) bytes: Option<Bytes>,
    pub(crate) ops: Option<u64>,
    pub(crate) passes: Option<u32>,
    pub(crate) until: Option<Tolerance>,
    pub(crate) steady: Option<SteadyFile>,
    pub(crate) at_most: Option<Nanos>,
    pub(crate) warmup: Option<Nanos>,
    pub(crate) error_limit: Option<u64>,
    pub(crate) verify: Option<bool>,
    /// Said of every access line by `--set size=…` or a sweep; never in a file.
    pub(crate) line: AccessFile,
}

/// `steady` as written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SteadyFile {
    /// `"60s"`: the window goes on in rounds of this length.
    Window(Nanos),
    /// `{ size = "4KiB", read = 0 }`: the whole sweep goes on in rounds, until this load point of it is steady.
    Sweep(Vec<(SweepKey, String)>),
}

/// `pace = "closed"`, `{ rate }` or `{ rate, arrivals }` as written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum PacingFile {
    Closed,
    Throttled(PerSecond),
    Open(PerSecond, Arrivals),
    /// `rate = "max"`: an open loop at the highest rate of the closed one, of which `load` is a share.
    OpenMax {
        arrivals: Arrivals,
        /// Percent of the rate of all jobs of the test that this one gets; `None` for the only job.
        share: Option<f64>,
    },
}

/// An access line as written.
#[derive(Debug, Clone, Default)]
pub(crate) struct AccessFile {
    pub(crate) place: String,
    pub(crate) weight: Option<u32>,
    pub(crate) size: Option<Bytes>,
    pub(crate) read: Option<f64>,
    pub(crate) random: Option<f64>,
    pub(crate) align: Option<Bytes>,
    pub(crate) delay: Option<Nanos>,
    pub(crate) burst: Option<u32>,
    pub(crate) reply: Option<Bytes>,
    pub(crate) distribution: Option<Distribution>,
    pub(crate) sequence: Option<u32>,
    pub(crate) change: Option<Change>,
    pub(crate) once: Option<bool>,
    pub(crate) gap: Option<Bytes>,
    pub(crate) back: Option<Bytes>,
}

/// What `window` was called when it could only begin at the start of a target.
const OLD_WINDOW: &str = "span";
/// The most repetitions of a test.
const REPEAT_MAX: u64 = 1_000;
/// What a step is called by that a number of hosts runs.
pub(crate) const HOSTS_KEY: &str = "hosts";
/// The most hosts of a run.
const HOSTS_MAX: u32 = 10_000;

/// What a test may sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SweepKey {
    /// Nothing changes: every combination of the other values runs once in each round.
    Round,
    /// How many of the job's targets, from the first.
    Targets,
    Size,
    Outstanding,
    Workers,
    Read,
    Rate,
    /// A share of the rate.
    Load,
    /// The part of each target.
    Window,
    /// How many of the run's hosts, from the first.
    Hosts,
}

impl SweepKey {
    pub(crate) const ALL: [(&'static str, Self); 10] = [
        ("round", Self::Round),
        ("targets", Self::Targets),
        ("size", Self::Size),
        ("outstanding", Self::Outstanding),
        ("workers", Self::Workers),
        ("read", Self::Read),
        ("rate", Self::Rate),
        ("load", Self::Load),
        ("window", Self::Window),
        (HOSTS_KEY, Self::Hosts),
    ];

    /// Returns the key of that name; `span` is the old one of `window`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let name = if name == OLD_WINDOW { Self::Window.name() } else { name };
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, key)| *key)
    }

    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, key)| *key == self).map_or("", |(name, _)| name)
    }
}

const SEMANTICS: [(&str, Semantics); 3] =
    [("assay", Semantics::Assay), ("iometer", Semantics::Iometer), ("fio", Semantics::Fio)];
const ARRIVALS: [(&str, Arrivals); 2] = [("constant", Arrivals::Constant), ("poisson", Arrivals::Poisson)];
const ENDS: [(&str, Ends); 2] = [("job", Ends::Job), ("test", Ends::Test)];
const CHANGES: [(&str, Change); 3] =
    [("write", Change::Write), ("trim", Change::Trim), ("trim-write", Change::TrimWrite)];
const FLUSHES: [(&str, Flush); 2] = [("data", Flush::Data), ("all", Flush::All)];
const DATA: [(&str, Data); 4] = [
    ("unique", Data::Unique),
    ("repeating", Data::IometerRepeating),
    ("pseudo-random", Data::IometerPseudoRandom),
    ("full-random", Data::IometerFullRandom),
];

impl PlanFile {
    /// Reads a plan's text; `origin` is what the text is called in messages (its path, or the suite's name).
    pub fn parse(origin: &str, text: &str) -> Result<Self, PlanError> {
        let source = Source::new(origin, text);
        let parsed = source.parse()?;
        source.complaints.all_of(|| Self::read(origin, &source, &parsed))
    }

    fn read(origin: &str, source: &Source<'_>, parsed: &DeTable<'_>) -> Result<Self, PlanError> {
        let top = Table::top(source, parsed);
        let plan = Self {
            origin: origin.to_owned(),
            name: text_of(&top, "name")?,
            about: text_of(&top, "about")?.unwrap_or_default(),
            source: text_of(&top, "source")?.unwrap_or_default(),
            notes: texts_of(&top, "notes")?,
            semantics: top.get("semantics").map(|v| v.word(&SEMANTICS)).transpose()?,
            seed: top.integer("seed", 0..=i64::MAX as u64)?,
            size: top.parsed("size")?,
            precondition: top.parsed("precondition")?,
            defaults: top.get("defaults").map(|v| defaults(&v)).transpose()?.unwrap_or_default(),
            limits: top
                .get("limit")
                .map(|v| v.array_up_to(THRESHOLDS_MAX, "limits")?.iter().map(limit).collect())
                .transpose()?
                .unwrap_or_default(),
            tests: top
                .get("test")
                .map(|v| v.array_up_to(STEPS_MAX, "tests")?.iter().map(test).collect())
                .transpose()?
                .unwrap_or_default(),
        };
        let missing = top.complain("a plan needs at least one [[test]]");
        // A field that is misspelt explains why another one is missing, so it is reported first.
        top.finish()?;
        if plan.tests.is_empty() { Err(missing) } else { Ok(plan) }
    }
}

/// Reads one `KEY=VALUE` of `--set` into `settings`.
pub(crate) fn read_override(assignment: &str, settings: &mut Settings) -> Result<(), PlanError> {
    let origin = format!("--set {assignment}");
    let Some((key, value)) = assignment.split_once('=') else {
        return Err(PlanError::new(origin, "must look like KEY=VALUE, for example run=20s"));
    };
    // `run=20s` is what people type; TOML wants quotes around it.
    let bare = format!("{} = {value}", key.trim());
    let quoted = format!("{} = \"{}\"", key.trim(), value.trim());
    let is_toml = Source::of_option(&origin, &bare).parse().is_ok();
    let source = Source::of_option(&origin, if is_toml { &bare } else { &quoted });
    let parsed = source.parse()?;
    let table = Table::top(&source, &parsed);
    let read = settings_of(&table)?;
    let line = access_fields(&table)?;
    table.finish()?;
    read.merge_into(settings);
    line.lay_over(&mut settings.line);
    Ok(())
}

fn defaults(value: &Value<'_>) -> Result<Settings, PlanError> {
    let table = value.table()?;
    let settings = settings_of(&table)?;
    table.finish()?;
    Ok(settings)
}

/// `[[limit]]` with `fail_if = "p99 > 20ms"`, and perhaps the `test`.
fn limit(value: &Value<'_>) -> Result<Threshold, PlanError> {
    let table = value.table()?;
    let (test, limit) = (text_of(&table, "test")?, table.parsed::<Threshold>("fail_if")?);
    let missing = table.complain("a limit needs `fail_if`, for example fail_if = \"p99 > 20ms\"");
    table.finish()?;
    let limit = limit.ok_or(missing)?;
    Ok(Threshold { test: test.or(limit.test), ..limit })
}

fn test(value: &Value<'_>) -> Result<TestFile, PlanError> {
    let mut table = value.table()?;
    let (name, missing) = (name_of(&table)?, table.complain("a test needs a `name`"));
    if let Some(name) = &name {
        table.rename(format!("test \"{name}\""));
    }
    let test = TestFile {
        place: table.complain("").place,
        notes: text_of(&table, "notes")?.unwrap_or_default(),
        settings: settings_of(&table)?,
        sweep: table.get("sweep").map(|v| sweep(&v)).transpose()?.unwrap_or_default(),
        jobs: match table.get("job") {
            Some(jobs) => jobs.array_up_to(JOBS_MAX, "jobs")?.iter().map(job).collect::<Result<_, _>>()?,
            None => Vec::new(),
        },
        name: name.clone().unwrap_or_default(),
    };
    table.finish()?;
    name.map(|_| test).ok_or(missing)
}

fn job(value: &Value<'_>) -> Result<JobFile, PlanError> {
    let table = value.table()?;
    let mut settings = job_settings_of(&table)?;
    ends_of(&table, &mut settings)?;
    let job = JobFile { name: name_of(&table)?, hosts: texts_of(&table, "hosts")?, settings };
    table.finish()?;
    Ok(job)
}

/// What a whole test, or the defaults, may say: a job's settings and the timing that all jobs share.
fn settings_of(table: &Table<'_>) -> Result<Settings, PlanError> {
    let mut settings = job_settings_of(table)?;
    ends_of(table, &mut settings)?;
    settings.until = table.parsed("until")?;
    settings.steady = table.get("steady").map(|v| steady(&v)).transpose()?;
    settings.at_most = nonzero_time(table, "at_most")?;
    settings.warmup = table.parsed("warmup")?;
    settings.error_limit = table.integer("error_limit", 0..=u64::MAX)?;
    settings.repeat = small(table, "repeat", 1, REPEAT_MAX)?;
    settings.verify = table.get("verify").map(|v| v.boolean()).transpose()?;
    Ok(settings)
}

/// What ends a test, or one of its jobs before the others.
fn ends_of(table: &Table<'_>, settings: &mut Settings) -> Result<(), PlanError> {
    settings.run = nonzero_time(table, "run")?;
    settings.bytes = table.parsed("bytes")?;
    settings.ops = table.integer("ops", 1..=u64::MAX)?;
    settings.passes = small(table, "passes", 1, 1_000_000)?;
    Ok(())
}

fn job_settings_of(table: &Table<'_>) -> Result<Settings, PlanError> {
    let (old, new) = (table.get(OLD_WINDOW), table.get("window"));
    if let (Some(old), Some(_)) = (&old, &new) {
        return Err(old.complain("is the old name of `window`; give one of them"));
    }
    Ok(Settings {
        access: table.get("access").map(|v| access(&v)).transpose()?,
        targets: table.get("targets").map(|v| targets(&v)).transpose()?,
        workers: small(table, "workers", 1, WORKERS_MAX)?,
        outstanding: small(table, "outstanding", 1, OUTSTANDING_MAX)?,
        pace: table.get("pace").map(|v| pace(&v)).transpose()?,
        rate: table.parsed("rate")?,
        load: table.get("load").map(|v| load(&v)).transpose()?,
        reconnect_every: small(table, "reconnect_every", 0, u64::from(u32::MAX))?,
        data: table.get("data").map(|v| data(&v)).transpose()?,
        sync: table.get("sync").map(|v| v.boolean()).transpose()?,
        is_span: old.is_some(),
        window: new.or(old).map(|v| window(&v)).transpose()?,
        flush: table.get("flush").map(|v| flush(&v)).transpose()?,
        start_delay: table.parsed("start_delay")?,
        increment: table.parsed("increment")?,
        strides: table.get("strides").map(|v| strides(&v)).transpose()?,
        zoned: table.get("zoned").map(|v| zoned(&v)).transpose()?,
        targets_each: small(table, "targets_each", 1, u64::from(TARGETS_MAX))?,
        flow: small(table, "flow", 1, FLOW_MAX)?,
        ends: table.get("ends").map(|v| v.word(&ENDS)).transpose()?,
        ..Settings::default()
    })
}

/// `steady = "60s"`, or `{ size = "4KiB", read = 0 }`.
fn steady(value: &Value<'_>) -> Result<SteadyFile, PlanError> {
    if !value.is_table() {
        return match value.parsed()? {
            Nanos(0) => Err(value.complain("must be more than zero")),
            round => Ok(SteadyFile::Window(round)),
        };
    }
    let table = value.table()?;
    let mut point = Vec::new();
    for (name, key) in SweepKey::ALL.into_iter().filter(|(_, key)| *key != SweepKey::Round) {
        let Some(value) = table.get(name) else { continue };
        point.push((key, value.scalar()?));
    }
    let complaint =
        table.complain("must name a load point of the sweep, for example { size = \"4KiB\", read = 0 }");
    table.finish()?;
    if point.is_empty() { Err(complaint) } else { Ok(SteadyFile::Sweep(point)) }
}

/// A share of the rate: `"50%"`, or a number of percent.
fn load(value: &Value<'_>) -> Result<f64, PlanError> {
    let text = value.scalar()?;
    let percent = text.trim().trim_end_matches('%').trim_end().parse::<f64>().ok();
    percent.filter(|percent| *percent > 0.0 && *percent <= LOAD_PERCENT_MAX).ok_or_else(|| {
        value.complain(format!(
            "`{text}` must be a share of the rate, like \"50%\", up to {LOAD_PERCENT_MAX} %"
        ))
    })
}

fn access(value: &Value<'_>) -> Result<Vec<AccessFile>, PlanError> {
    let lines = if value.is_table() { vec![value.table()?] } else { tables(value)? };
    lines
        .into_iter()
        .map(|table| {
            let mut line = access_fields(&table)?;
            line.place = table.complain("").place;
            table.finish()?;
            Ok(line)
        })
        .collect()
}

fn tables<'t>(value: &Value<'t>) -> Result<Vec<Table<'t>>, PlanError> {
    value.array_up_to(LINES_MAX, "access lines")?.iter().map(Value::table).collect()
}

fn access_fields(table: &Table<'_>) -> Result<AccessFile, PlanError> {
    Ok(AccessFile {
        place: String::new(),
        weight: small(table, "weight", 0, 1_000_000)?,
        size: io_bytes(table, "size", 1)?,
        read: percent(table, "read")?,
        random: percent(table, "random")?,
        align: io_bytes(table, "align", 0)?,
        delay: table.parsed("delay")?,
        burst: small(table, "burst", 1, 1_000_000_000)?,
        reply: io_bytes(table, "reply", 0)?,
        distribution: table.get("distribution").map(|v| distribution(&v)).transpose()?,
        sequence: small(table, "sequence", 1, 1_000_000_000)?,
        change: table.get("change").map(|v| v.word(&CHANGES)).transpose()?,
        once: table.get("once").map(|v| v.boolean()).transpose()?,
        gap: io_bytes(table, "gap", 0)?,
        back: io_bytes(table, "back", 0)?,
    })
}

/// Reads a size; what only a trim may have is checked with what the line does.
fn io_bytes(table: &Table<'_>, key: &'static str, least: u64) -> Result<Option<Bytes>, PlanError> {
    let Some(value) = table.get(key) else { return Ok(None) };
    let bytes: Bytes = value.parsed()?;
    let most = if ["size", "align", "back"].contains(&key) { TRIM_BYTES_MAX } else { IO_BYTES_MAX };
    if bytes.0 < least || bytes.0 > most {
        return Err(value.complain(format!("`{bytes}` must be from {least} B to {}", Bytes(most))));
    }
    Ok(Some(bytes))
}

fn percent(table: &Table<'_>, key: &'static str) -> Result<Option<f64>, PlanError> {
    table.get(key).map(|v| v.number(0.0..=100.0)).transpose().map_err(|mut error| {
        error.message.push_str(" (percent)");
        error
    })
}

#[expect(clippy::cast_possible_truncation, reason = "`most` fits, so what the range lets through does")]
fn small(table: &Table<'_>, key: &'static str, least: u64, most: u64) -> Result<Option<u32>, PlanError> {
    debug_assert!(u32::try_from(most).is_ok());
    Ok(table.integer(key, least..=most)?.map(|v| v as u32))
}

fn nonzero_time(table: &Table<'_>, key: &'static str) -> Result<Option<Nanos>, PlanError> {
    let Some(value) = table.get(key) else { return Ok(None) };
    match value.parsed()? {
        Nanos(0) => Err(value.complain("must be more than zero")),
        time => Ok(Some(time)),
    }
}

fn targets(value: &Value<'_>) -> Result<Vec<u32>, PlanError> {
    let mut indices = Vec::new();
    for element in value.array()? {
        let index = u32::try_from(element.integer(0..=9_999)?).expect("checked to be at most 9,999");
        if indices.contains(&index) {
            return Err(element.complain(format!("target {index} is named twice")));
        }
        indices.push(index);
    }
    Ok(indices)
}

fn pace(value: &Value<'_>) -> Result<PacingFile, PlanError> {
    if !value.is_table() {
        return value.word(&[("closed", PacingFile::Closed)]);
    }
    let table = value.table()?;
    let is_max = table.get("rate").is_some_and(|rate| rate.scalar().is_ok_and(|text| text.trim() == "max"));
    let rate: Option<PerSecond> = if is_max { None } else { table.parsed("rate")? };
    let arrivals = table.get("arrivals").map(|v| v.word(&ARRIVALS)).transpose()?;
    let share = table.get("share").map(|v| v.number(0.001..=100.0)).transpose()?;
    let shared = table.complain("`share` is a part of rate = \"max\"; any other rate is that of the job");
    let complaint =
        table.complain("needs a `rate`, for example { rate = \"500/s\", arrivals = \"poisson\" }");
    let closed = table.complain(
        "rate = \"max\" is the rate of the closed loop; an open loop at it, or at a `load` of it, needs `arrivals`",
    );
    table.finish()?;
    match (rate, arrivals) {
        (None, Some(arrivals)) if is_max => Ok(PacingFile::OpenMax { arrivals, share }),
        _ if share.is_some() && !is_max => Err(shared),
        (None, None) if is_max => Err(closed),
        (Some(rate), Some(arrivals)) => Ok(PacingFile::Open(rate, arrivals)),
        (Some(rate), None) => Ok(PacingFile::Throttled(rate)),
        (None, _) => Err(complaint),
    }
}

fn data(value: &Value<'_>) -> Result<Data, PlanError> {
    if !value.is_table() {
        return value.word(&DATA);
    }
    let table = value.table()?;
    let ratio = |key| table.get(key).map(|v| v.number(1.0..=1000.0)).transpose().map(|r| r.unwrap_or(1.0));
    let (compress, dedupe) = (ratio("compress")?, ratio("dedupe")?);
    table.finish()?;
    Ok(Data::Reducible { compress, dedupe })
}

/// `window = "4GiB"`, from the start, or `{ offset = "25%", size = "4GiB" }`.
fn window(value: &Value<'_>) -> Result<Window, PlanError> {
    if !value.is_table() {
        return Ok(Window { size: Some(extent(value)?), ..Window::WHOLE });
    }
    let table = value.table()?;
    let offset = table.parsed("offset")?.unwrap_or(Window::WHOLE.offset);
    let size = table.get("size").map(|size| extent(&size)).transpose()?;
    table.finish()?;
    Ok(Window { offset, size })
}

/// A size or a share of more than zero.
fn extent(value: &Value<'_>) -> Result<Extent, PlanError> {
    match value.parsed()? {
        Extent::Bytes(Bytes(0)) | Extent::Percent(0.0) => Err(value.complain("must be more than zero")),
        extent => Ok(extent),
    }
}

/// `flush = { every = 32 }`, `{ every = 32, kind = "all" }` or `"never"`.
fn flush(value: &Value<'_>) -> Result<Option<Flushes>, PlanError> {
    if !value.is_table() {
        return value.word(&[("never", None)]);
    }
    let table = value.table()?;
    let every = small(&table, "every", 1, 1_000_000_000)?;
    let kind = table.get("kind").map(|v| v.word(&FLUSHES)).transpose()?.unwrap_or_default();
    let complaint = table.complain("needs `every`, for example { every = 32 }: a flush after 32 writes");
    table.finish()?;
    every.map(|every| Some(Flushes { every, kind })).ok_or(complaint)
}

/// `strides = { length = "2GiB", skip = "30GiB" }`, and `bytes` where more or less than a stripe is moved in it.
fn strides(value: &Value<'_>) -> Result<Strides, PlanError> {
    let table = value.table()?;
    let part = |key| table.parsed::<Bytes>(key);
    let (length, skip, bytes) = (part("length")?, part("skip")?, part("bytes")?);
    let complaint =
        table.complain("needs `length` of more than 0, for example { length = \"1GiB\", skip = \"7GiB\" }");
    table.finish()?;
    match (length, bytes.or(length)) {
        (Some(length), Some(bytes)) if length.0 > 0 && bytes.0 > 0 => {
            Ok(Strides { bytes, length, skip: skip.unwrap_or_default() })
        }
        _ => Err(complaint),
    }
}

/// `zoned = { size = "256MiB", open = 32 }`.
fn zoned(value: &Value<'_>) -> Result<Zoned, PlanError> {
    let table = value.table()?;
    let (bytes, open) = (table.parsed::<Bytes>("size")?, small(&table, "open", 1, u64::from(u32::MAX))?);
    let complaint =
        table.complain("needs `size` of more than 0, for example { size = \"256MiB\", open = 32 }");
    table.finish()?;
    match bytes.filter(|bytes| bytes.0 > 0) {
        Some(bytes) => Ok(Zoned { bytes, open: open.unwrap_or(0) }),
        None => Err(complaint),
    }
}

/// `distribution = "uniform"`, `{ zipf = 1.2 }`, `{ pareto = 0.2 }`, `{ normal = 10 }` or
/// `{ zones = [{ share = 80, size = "20%" }, { share = 20, size = "80%" }] }`.
fn distribution(value: &Value<'_>) -> Result<Distribution, PlanError> {
    if !value.is_table() {
        return value.word(&[("uniform", ())]).map(|()| Distribution::Uniform);
    }
    let table = value.table()?;
    let open = |key, most| {
        table.get(key).map(|v| match v.number(0.0..=most)? {
            0.0 => Err(v.complain("must be more than zero")),
            number => Ok(number),
        })
    };
    let zipf = match open("zipf", 10.0).transpose()? {
        Some(1.0) => {
            return Err(table.complain("zipf = 1 has no distribution in this form; use 0.99 or 1.01"));
        }
        theta => theta.map(Distribution::Zipf),
    };
    let pareto = open("pareto", 0.999).transpose()?.map(Distribution::Pareto);
    let normal = open("normal", 100.0).transpose()?.map(Distribution::Normal);
    let zones = table.get("zones").map(|v| zones(&v)).transpose()?.map(Distribution::Zones);
    let complaint = table.complain("needs exactly one of `zipf`, `pareto`, `normal` and `zones`");
    table.finish()?;
    let mut given = [zipf, pareto, normal, zones].into_iter().flatten();
    match (given.next(), given.next()) {
        (Some(distribution), None) => Ok(distribution),
        _ => Err(complaint),
    }
}

fn zones(value: &Value<'_>) -> Result<Vec<Zone>, PlanError> {
    let mut zones = Vec::new();
    for element in value.array_up_to(Distribution::ZONES_MAX, "zones")? {
        let table = element.table()?;
        let (share, size) = (percent(&table, "share")?, table.parsed("size")?);
        let complaint =
            table.complain("a zone needs `share` and `size`, for example { share = 80, size = \"20%\" }");
        table.finish()?;
        let (Some(share), Some(size)) = (share, size) else { return Err(complaint) };
        zones.push(Zone { share, size });
    }
    let shares: f64 = zones.iter().map(|zone| zone.share).sum();
    if (shares - 100.0).abs() > 0.01 {
        return Err(value.complain(format!("the shares of the zones sum to {shares}; they must sum to 100")));
    }
    let percents: f64 =
        zones.iter().map(|zone| if let Extent::Percent(percent) = zone.size { percent } else { 0.0 }).sum();
    if percents > 100.01 {
        return Err(value.complain(format!("the zones take {percents} %; at most 100 % are there")));
    }
    Ok(zones)
}

fn sweep(value: &Value<'_>) -> Result<Vec<(SweepKey, Vec<String>)>, PlanError> {
    let table = value.table()?;
    let mut sweep = Vec::new();
    for (name, key) in SweepKey::ALL {
        let old = if key == SweepKey::Window { table.get(OLD_WINDOW) } else { None };
        let Some(values) = table.get(name).or(old) else { continue };
        let mut texts = Vec::new();
        for element in values.array_up_to(STEPS_MAX, "values")? {
            let text = element.scalar()?;
            if text.chars().count() > VALUE_CHARS_MAX {
                return Err(element
                    .complain(format!("is too long; at most {VALUE_CHARS_MAX} characters are allowed")));
            }
            // The same reader as for the field itself, so that the complaint is the same.
            sweep_value(key, &text, &mut Settings::default())
                .map_err(|error| element.complain(error.message))?;
            texts.push(text);
        }
        sweep.push((key, texts));
    }
    if table.is_empty() {
        return Err(table.complain("must name what to sweep, for example { outstanding = [1, 2, 4] }"));
    }
    table.finish()?;
    Ok(sweep)
}

/// Reads `--set KEY=VALUE,VALUE,…`: a key that may be swept, and its values; `None` for anything else.
pub(crate) fn sweep_override(assignment: &str) -> Result<Option<(SweepKey, Vec<String>)>, PlanError> {
    // `targets=[0,2]` lists targets; `targets=1,2` sweeps over their number.
    let is_sweep = |values: &str| values.contains(',') && !values.trim_start().starts_with('[');
    let Some((name, values)) = assignment.split_once('=').filter(|(_, values)| is_sweep(values)) else {
        return Ok(None);
    };
    let Some(key) = SweepKey::named(name.trim()) else { return Ok(None) };
    let values: Vec<String> = values.split(',').map(|value| value.trim().to_owned()).collect();
    for value in &values {
        sweep_value(key, value, &mut Settings::default())
            .map_err(|error| PlanError { place: format!("--set {assignment}"), ..error })?;
    }
    Ok(Some((key, values)))
}

/// Sets what is swept to one of its values.
pub(crate) fn sweep_value(key: SweepKey, text: &str, settings: &mut Settings) -> Result<(), PlanError> {
    let must = |says: String| PlanError::new(format!("{}={text}", key.name()), format!("must be {says}"));
    if key == SweepKey::Round {
        let round = text.parse::<u64>().ok().filter(|round| (1..=REPEAT_MAX).contains(round));
        return round
            .map(|_| ())
            .ok_or_else(|| must(format!("the number of a round, from 1 to {REPEAT_MAX}")));
    }
    if key == SweepKey::Hosts {
        let count = text.parse::<u32>().ok().filter(|count| (1..=HOSTS_MAX).contains(count));
        return count.map(|_| ()).ok_or_else(|| must(format!("a number of hosts, from 1 to {HOSTS_MAX}")));
    }
    if key == SweepKey::Targets {
        // A field `targets` lists which ones; a sweep says how many.
        let count = text.parse().ok().filter(|count| (1..=TARGETS_MAX).contains(count));
        let says = || must(format!("a number of targets, from 1 to {TARGETS_MAX}"));
        settings.targets_count = Some(count.ok_or_else(says)?);
        return Ok(());
    }
    read_override(&format!("{}={text}", key.name()), settings)
}

fn text_of(table: &Table<'_>, key: &'static str) -> Result<Option<String>, PlanError> {
    let Some(value) = table.get(key) else { return Ok(None) };
    match value.string()?.trim() {
        "" => Err(value.complain("must not be empty")),
        text => Ok(Some(text.to_owned())),
    }
}

/// The name of a test or a job.
fn name_of(table: &Table<'_>) -> Result<Option<String>, PlanError> {
    let name = text_of(table, "name")?;
    match name.as_ref().map(|name| name.chars().count()).filter(|chars| *chars > NAME_CHARS_MAX) {
        Some(chars) => Err(table.complain(format!(
            "the name has {chars} characters; at most {NAME_CHARS_MAX} are allowed: move the rest to `notes`"
        ))),
        None => Ok(name),
    }
}

fn texts_of(table: &Table<'_>, key: &'static str) -> Result<Vec<String>, PlanError> {
    let Some(value) = table.get(key) else { return Ok(Vec::new()) };
    value.array()?.iter().map(|v| v.string().map(|s| s.trim().to_owned())).collect()
}

/// Lays each of the named fields of `$from` over `$to`, where it is set.
macro_rules! lay_over {
    ($from:ident, $to:ident: $($field:ident),+) => {
        $(if $from.$field.is_some() { $to.$field.clone_from(&$from.$field); })+
    };
}

impl Settings {
    /// Whether these settings say what `key` would sweep.
    pub(crate) fn fixes(&self, key: SweepKey) -> bool {
        match key {
            SweepKey::Round => self.repeat.is_some(),
            SweepKey::Hosts => false,
            SweepKey::Targets => self.targets.is_some(),
            SweepKey::Size => self.line.size.is_some() || self.access.is_some(),
            SweepKey::Read => self.line.read.is_some() || self.access.is_some(),
            SweepKey::Outstanding => self.outstanding.is_some(),
            SweepKey::Workers => self.workers.is_some(),
            SweepKey::Rate => self.rate.is_some() || self.pace.is_some(),
            SweepKey::Load => self.load.is_some(),
            SweepKey::Window => self.window.is_some(),
        }
    }

    /// What is said here hides what `below` says.
    pub(crate) fn lay_over(&self, below: &mut Self) {
        // A new way to stop replaces the old ones: `ops = 1000` over `run = "2min"` means 1000 I/Os.
        if self.run.is_some() || self.bytes.is_some() || self.ops.is_some() {
            (below.run, below.bytes, below.ops) = (None, None, None);
        }
        // One goal replaces another.
        if self.until.is_some() || self.steady.is_some() {
            (below.until, below.steady) = (None, None);
        }
        // A pace hides a rate below it; a rate keeps the arrivals of the pace below it.
        if self.pace.is_some() {
            below.rate = None;
        }
        self.merge_into(below);
    }

    fn merge_into(&self, below: &mut Self) {
        lay_over!(self, below: access, targets, targets_count, workers, outstanding);
        lay_over!(self, below: pace, rate, load, reconnect_every, data, sync);
        below.is_span |= self.is_span;
        lay_over!(self, below: window, flush, start_delay, repeat, increment, strides);
        lay_over!(self, below: zoned, targets_each, flow, ends);
        lay_over!(self, below: run, bytes, ops, passes, until, steady, at_most, warmup, error_limit, verify);
        self.line.lay_over(&mut below.line);
    }
}

impl AccessFile {
    pub(crate) fn lay_over(&self, below: &mut Self) {
        lay_over!(self, below: weight, size, read, random, align, delay, burst, reply);
        lay_over!(self, below: distribution, sequence, change, once, gap, back);
    }
}
