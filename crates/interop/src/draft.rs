//! A plan on its way from another tool's file to the text of a plan file.

pub(crate) mod outline;

use std::fmt::Write as _;

use assay_spec::units::{Bytes, Nanos, PerSecond};
use assay_spec::{
    Access, Arrivals, Change, Data, Distribution, Ends, Extent, Flush, Flushes, Semantics, Strides, Window,
    Zoned,
};

use crate::targets::TargetNames;
use crate::{ImportedPlan, Note};

/// A plan file to be written.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) source: String,
    pub(crate) notes: Vec<String>,
    pub(crate) semantics: Semantics,
    pub(crate) seed: Option<u64>,
    pub(crate) size: Option<Bytes>,
    pub(crate) tests: Vec<DraftTest>,
}

/// A `[[test]]`.
#[derive(Debug, Clone, Default)]
pub(crate) struct DraftTest {
    pub(crate) name: String,
    pub(crate) notes: String,
    pub(crate) run: Option<Nanos>,
    pub(crate) bytes: Option<Bytes>,
    pub(crate) ops: Option<u64>,
    /// So many times all that is used.
    pub(crate) passes: Option<u32>,
    pub(crate) warmup: Nanos,
    pub(crate) checks: Checks,
    pub(crate) sweep: Vec<(&'static str, Vec<u64>)>,
    /// Never empty.
    pub(crate) jobs: Vec<DraftJob>,
}

/// Whether reads are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Checks {
    #[default]
    None,
    Verify,
}

/// A `[[test.job]]`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DraftJob {
    pub(crate) name: String,
    /// Empty: all.
    pub(crate) targets: Vec<u32>,
    pub(crate) workers: u32,
    pub(crate) outstanding: u32,
    pub(crate) pace: Option<(PerSecond, Option<Arrivals>)>,
    /// An open loop at the highest rate of the closed one, of which the sweep offers shares; and what percentage of it
    /// the job gets.
    pub(crate) pace_max: Option<(Arrivals, f64)>,
    pub(crate) reconnect_every: Option<u32>,
    /// Whether each write waits until it is durable.
    pub(crate) is_durable: bool,
    pub(crate) data: Option<Data>,
    pub(crate) mix: Vec<Access>,
    pub(crate) window: Window,
    pub(crate) flush: Option<Flushes>,
    pub(crate) start_delay: Nanos,
    /// How much further on the window of each worker begins.
    pub(crate) increment: Extent,
    /// Stripes of the window that are used in turn.
    pub(crate) strides: Option<Strides>,
    /// Zones that are written from their beginnings.
    pub(crate) zoned: Option<Zoned>,
    /// How many targets are each worker's own; 0: all are everyone's.
    pub(crate) targets_each: u32,
    /// The weight of its I/Os among those of other jobs; 0: none.
    pub(crate) flow: u32,
    /// What ends with its first worker.
    pub(crate) ends: Option<Ends>,
    /// Its own end, where it is not that of the test.
    pub(crate) end: Vec<Field>,
}

impl Default for DraftJob {
    fn default() -> Self {
        Self {
            name: String::new(),
            targets: Vec::new(),
            workers: 1,
            outstanding: 1,
            pace: None,
            pace_max: None,
            reconnect_every: None,
            is_durable: false,
            data: None,
            mix: Vec::new(),
            window: Window::WHOLE,
            flush: None,
            start_delay: Nanos(0),
            increment: Extent::default(),
            strides: None,
            zoned: None,
            targets_each: 0,
            flow: 0,
            ends: None,
            end: Vec::new(),
        }
    }
}

/// A field and its value in TOML.
pub(crate) type Field = (&'static str, String);

impl Draft {
    /// Returns the plan file. Fields that all tests and jobs share stand under `[defaults]`.
    pub(crate) fn to_toml(&self) -> String {
        let mut text = String::new();
        let mut put = |key: &str, value: String| {
            let _ = writeln!(text, "{key} = {value}");
        };
        put("name", quoted(&crate::names::shortened(&self.name)));
        for (key, value) in [("about", &self.about), ("source", &self.source)] {
            if !value.is_empty() {
                put(key, quoted(value));
            }
        }
        if !self.notes.is_empty() {
            let notes: String = self.notes.iter().map(|n| format!("  {},\n", quoted(n))).collect();
            put("notes", format!("[\n{notes}]"));
        }
        let semantics = match self.semantics {
            Semantics::Assay => "assay",
            Semantics::Iometer => "iometer",
            Semantics::Fio => "fio",
        };
        put("semantics", quoted(semantics));
        if let Some(seed) = self.seed {
            put("seed", seed.to_string());
        }
        if let Some(size) = self.size {
            put("size", quoted(&size.to_string()));
        }
        let tests: Vec<Vec<Field>> = self.tests.iter().map(test_fields).collect();
        let jobs: Vec<Vec<Field>> = self.tests.iter().flat_map(|t| &t.jobs).map(job_fields).collect();
        let mut shared = common(&tests);
        if self.tests.iter().any(|test| test.bytes.is_some() || test.ops.is_some() || test.passes.is_some()) {
            // In a plan, one way to stop replaces those of the defaults.
            shared.retain(|(key, _)| !["run", "bytes", "ops", "passes"].contains(key));
        }
        shared.extend(common(&jobs));
        if !shared.is_empty() {
            text.push_str("\n[defaults]\n");
            put_all(&mut text, shared.iter());
        }
        for test in &self.tests {
            self.put_test(&mut text, test, &shared);
        }
        text
    }

    fn put_test(&self, text: &mut String, test: &DraftTest, shared: &[Field]) {
        let own = |fields: Vec<Field>| fields.into_iter().filter(|field| !shared.contains(field));
        let _ = writeln!(text, "\n[[test]]\nname = {}", quoted(&test.name));
        if !test.notes.is_empty() {
            let _ = writeln!(text, "notes = {}", quoted(&test.notes));
        }
        put_all(text, own(test_fields(test)).collect::<Vec<_>>().iter());
        if !test.sweep.is_empty() {
            let keys: Vec<String> =
                test.sweep.iter().map(|(key, values)| format!("{key} = {values:?}")).collect();
            let _ = writeln!(text, "sweep = {{ {} }}", keys.join(", "));
        }
        for job in &test.jobs {
            if test.jobs.len() > 1 {
                let _ = writeln!(text, "[[test.job]]\nname = {}", quoted(&job.name));
            }
            put_all(text, own(job_fields(job)).collect::<Vec<_>>().iter());
            put_all(text, job.end.iter());
            let lines: Vec<String> =
                job.mix.iter().map(|a| access(a, self.semantics, job.mix.len())).collect();
            let _ = match lines.as_slice() {
                [line] => writeln!(text, "access = [{line}]"),
                _ => writeln!(text, "access = [\n  {},\n]", lines.join(",\n  ")),
            };
        }
    }
}

fn put_all<'f>(text: &mut String, fields: impl Iterator<Item = &'f Field>) {
    for (key, value) in fields {
        let _ = writeln!(text, "{key} = {value}");
    }
}

/// Returns the fields that stand in every list, with the same value.
fn common(lists: &[Vec<Field>]) -> Vec<Field> {
    let Some((first, rest)) = lists.split_first() else { return Vec::new() };
    // What only says which targets belongs to its job.
    let is_common =
        |field: &&Field| field.0 != "targets" && !rest.is_empty() && rest.iter().all(|l| l.contains(field));
    first.iter().filter(is_common).cloned().collect()
}

fn test_fields(test: &DraftTest) -> Vec<Field> {
    let mut fields = Vec::new();
    // The first limit reached ends a test, so all that are given stand together.
    fields.extend(end_fields(test.run, test.bytes, test.ops, test.passes));
    if test.warmup.0 > 0 {
        fields.push(("warmup", quoted(&test.warmup.to_string())));
    }
    if test.checks == Checks::Verify {
        fields.push(("verify", "true".to_owned()));
    }
    fields
}

/// What ends a test or a job.
pub(crate) fn end_fields(
    run: Option<Nanos>,
    bytes: Option<Bytes>,
    ops: Option<u64>,
    passes: Option<u32>,
) -> Vec<Field> {
    let fields = [
        run.map(|run| ("run", quoted(&run.to_string()))),
        bytes.map(|bytes| ("bytes", quoted(&bytes.to_string()))),
        ops.map(|ops| ("ops", ops.to_string())),
        passes.map(|passes| ("passes", passes.to_string())),
    ];
    fields.into_iter().flatten().collect()
}

fn job_fields(job: &DraftJob) -> Vec<Field> {
    let mut fields = vec![("workers", job.workers.to_string()), ("outstanding", job.outstanding.to_string())];
    if !job.targets.is_empty() {
        fields.push(("targets", format!("{:?}", job.targets)));
    }
    fields.extend(job.pace.map(|(rate, arrivals)| ("pace", pace(&rate.to_string(), arrivals))));
    fields.extend(job.pace_max.map(|(arrivals, share)| {
        let all = pace("max", Some(arrivals));
        let part = || format!("{}, share = {share} }}", all.trim_end_matches(" }"));
        ("pace", if share < 100.0 { part() } else { all.clone() })
    }));
    fields.extend(job.reconnect_every.map(|every| ("reconnect_every", every.to_string())));
    fields.extend(job.data.map(|data| ("data", data_value(data))));
    if !job.window.is_whole() {
        fields.push(("window", window(job.window)));
    }
    if job.is_durable {
        fields.push(("sync", "true".to_owned()));
    }
    fields.extend(job.flush.map(|flush| ("flush", flushes(flush))));
    if job.start_delay.0 > 0 {
        fields.push(("start_delay", quoted(&job.start_delay.to_string())));
    }
    if job.increment != Extent::default() {
        fields.push(("increment", quoted(&job.increment.to_string())));
    }
    fields.extend(job.strides.map(|strides| ("strides", stripes(strides))));
    fields.extend(job.zoned.map(|zoned| ("zoned", zones(zoned))));
    if job.targets_each > 0 {
        fields.push(("targets_each", job.targets_each.to_string()));
    }
    if job.flow > 0 {
        fields.push(("flow", job.flow.to_string()));
    }
    fields.extend(job.ends.map(|ends| ("ends", quoted(if ends == Ends::Job { "job" } else { "test" }))));
    fields
}

fn zones(zoned: Zoned) -> String {
    let open = if zoned.open > 0 { format!(", open = {}", zoned.open) } else { String::new() };
    format!("{{ size = \"{}\"{open} }}", zoned.bytes)
}

fn stripes(strides: Strides) -> String {
    let own = if strides.bytes == strides.length {
        String::new()
    } else {
        format!(", bytes = \"{}\"", strides.bytes)
    };
    format!("{{ length = \"{}\", skip = \"{}\"{own} }}", strides.length, strides.skip)
}

fn pace(rate: &str, arrivals: Option<Arrivals>) -> String {
    match arrivals {
        None => format!("{{ rate = \"{rate}\" }}"),
        Some(Arrivals::Constant) => format!("{{ rate = \"{rate}\", arrivals = \"constant\" }}"),
        Some(Arrivals::Poisson) => format!("{{ rate = \"{rate}\", arrivals = \"poisson\" }}"),
    }
}

fn window(window: Window) -> String {
    match window.size {
        Some(size) if window.offset == Window::WHOLE.offset => quoted(&size.to_string()),
        None => format!("{{ offset = \"{}\" }}", window.offset),
        Some(size) => format!("{{ offset = \"{}\", size = \"{size}\" }}", window.offset),
    }
}

fn flushes(flush: Flushes) -> String {
    match flush.kind {
        Flush::Data => format!("{{ every = {} }}", flush.every),
        Flush::All => format!("{{ every = {}, kind = \"all\" }}", flush.every),
    }
}

fn distribution(distribution: &Distribution) -> String {
    match distribution {
        Distribution::Uniform => quoted("uniform"),
        Distribution::Zipf(theta) => format!("{{ zipf = {theta} }}"),
        Distribution::Pareto(h) => format!("{{ pareto = {h} }}"),
        Distribution::Normal(deviation) => format!("{{ normal = {deviation} }}"),
        Distribution::Zones(zones) => {
            let zones: Vec<String> = zones
                .iter()
                .map(|zone| format!("{{ share = {}, size = \"{}\" }}", zone.share, zone.size))
                .collect();
            format!("{{ zones = [{}] }}", zones.join(", "))
        }
    }
}

fn data_value(data: Data) -> String {
    match data {
        Data::Unique => quoted("unique"),
        Data::IometerRepeating => quoted("repeating"),
        Data::IometerPseudoRandom => quoted("pseudo-random"),
        Data::IometerFullRandom => quoted("full-random"),
        Data::Reducible { compress, dedupe } => {
            format!("{{ compress = {compress:?}, dedupe = {dedupe:?} }}")
        }
    }
}

fn access(line: &Access, semantics: Semantics, lines: usize) -> String {
    let mut text = String::from("{ ");
    if lines > 1 || line.weight != 100 {
        let _ = write!(text, "weight = {}, ", line.weight);
    }
    let _ = write!(text, "size = \"{}\", read = {}, random = {}", line.size, line.read, line.random);
    let align_default = match semantics {
        Semantics::Assay | Semantics::Fio => line.size,
        Semantics::Iometer => Bytes(0),
    };
    if line.align != align_default {
        let _ = write!(text, ", align = \"{}\"", line.align);
    }
    if line.delay.0 > 0 {
        let _ = write!(text, ", delay = \"{}\"", line.delay);
    }
    if line.burst != 1 {
        let _ = write!(text, ", burst = {}", line.burst);
    }
    if line.reply.0 > 0 {
        let _ = write!(text, ", reply = \"{}\"", line.reply);
    }
    if !line.distribution.is_uniform() {
        let _ = write!(text, ", distribution = {}", distribution(&line.distribution));
    }
    if line.sequence > 1 {
        let _ = write!(text, ", sequence = {}", line.sequence);
    }
    match line.change {
        Change::Write => {}
        Change::Trim => text.push_str(", change = \"trim\""),
        Change::TrimWrite => text.push_str(", change = \"trim-write\""),
    }
    if line.once {
        text.push_str(", once = true");
    }
    if line.gap.0 > 0 {
        let _ = write!(text, ", gap = \"{}\"", line.gap);
    }
    if line.back.0 > 0 {
        let _ = write!(text, ", back = \"{}\"", line.back);
    }
    text + " }"
}

/// Returns a text as TOML writes it, on one line, without secrets that another tool's file has in it.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in crate::without_secrets(text).chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

impl Draft {
    /// Returns the plan of another tool's file, with the notes on it and the targets that the file names.
    pub(crate) fn imported(
        &self,
        tool: impl Into<String>,
        notes: Vec<Note>,
        targets: TargetNames,
    ) -> ImportedPlan {
        let (understood, plan) = (outline::of_draft(self), self.to_toml());
        ImportedPlan { tool: tool.into(), plan, understood, notes, targets: targets.names }
    }
}
