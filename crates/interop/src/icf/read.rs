//! An `.icf` file as values, as they stand in it.

use assay_spec::units::{Bytes, Nanos};
use assay_spec::{Access, Data, IO_BYTES_MAX};

use super::lex::{Entry, entries, is_section, numbers};
use crate::{ImportError, Note, complain};

/// Iometer's own limit of lines in an access specification.
const SPEC_LINES_MAX: usize = 100;
/// The most access specifications, and the most workers, that a file may have. The largest files seen have 300.
const LIST_MAX: usize = 4_096;
/// Iometer's own limit of targets.
const TARGETS_MAX: usize = 2_048;

/// A file.
#[derive(Debug, Default)]
pub(super) struct Icf {
    /// As written, `1.1.0`; empty where the file names none.
    pub(super) version: [u64; 3],
    pub(super) description: String,
    pub(super) run: Nanos,
    pub(super) ramp: Nanos,
    pub(super) workers: Cycling,
    pub(super) targets: Cycling,
    pub(super) queue: Cycling,
    pub(super) test_type: TestType,
    pub(super) specs: Vec<Spec>,
    pub(super) managers: Vec<Manager>,
    pub(super) notes: Vec<Note>,
}

/// How a number is cycled: start, end (queue depth only), step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cycling {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) step: u64,
    pub(super) growth: Growth,
}

impl Default for Cycling {
    fn default() -> Self {
        Self { start: 1, end: 32, step: 1, growth: Growth::Linear }
    }
}

/// How a cycled number grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Growth {
    Linear,
    Exponential,
}

/// Iometer's test types, in the order of their numbers in old files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum TestType {
    #[default]
    Normal,
    CycleTargets,
    CycleWorkers,
    IncrementTargetsParallel,
    IncrementTargetsSerial,
    CycleWorkersAndTargets,
    CycleOutstanding,
    CycleOutstandingAndTargets,
}

impl TestType {
    pub(super) const ALL: [(&'static str, Self); 8] = [
        ("NORMAL", Self::Normal),
        ("CYCLE_TARGETS", Self::CycleTargets),
        ("CYCLE_WORKERS", Self::CycleWorkers),
        ("INCREMENT_TARGETS_PARALLEL", Self::IncrementTargetsParallel),
        ("INCREMENT_TARGETS_SERIAL", Self::IncrementTargetsSerial),
        ("CYCLE_WORKERS_AND_TARGETS", Self::CycleWorkersAndTargets),
        ("CYCLE_OUTSTANDING_IOS", Self::CycleOutstanding),
        ("CYCLE_OUTSTANDING_IOS_AND_TARGETS", Self::CycleOutstandingAndTargets),
    ];
}

/// An access specification.
#[derive(Debug)]
pub(super) struct Spec {
    pub(super) name: String,
    pub(super) line: usize,
    /// Whether new workers get it.
    pub(super) is_default: bool,
    pub(super) mix: Vec<Access>,
}

/// A host.
#[derive(Debug, Default)]
pub(super) struct Manager {
    pub(super) name: String,
    /// Disk workers only.
    pub(super) workers: Vec<Worker>,
}

/// A disk worker.
#[derive(Debug, Clone)]
pub(super) struct Worker {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) is_network: bool,
    pub(super) outstanding: u64,
    pub(super) reconnect_every: Option<u64>,
    pub(super) seed: Option<u64>,
    pub(super) size_sectors: u64,
    pub(super) start_sector: u64,
    pub(super) data: Option<Data>,
    pub(super) specs: Vec<(usize, String)>,
    pub(super) targets: Vec<String>,
}

impl Worker {
    pub(super) fn new(name: &str, line: usize) -> Self {
        Self {
            name: name.to_owned(),
            line,
            is_network: false,
            outstanding: 1,
            reconnect_every: None,
            seed: None,
            size_sectors: 0,
            start_sector: 0,
            data: None,
            specs: Vec::new(),
            targets: Vec::new(),
        }
    }
}

/// What is being read.
struct Reader<'t> {
    origin: &'t str,
    icf: Icf,
    /// The specification whose lines come next.
    spec: Option<(usize, String, bool)>,
    /// The target whose type comes next.
    target: Option<String>,
}

/// Reads a file.
pub(super) fn read(origin: &str, text: &str) -> Result<Icf, ImportError> {
    let has_section = text.lines().any(|line| super::lex::SECTIONS.iter().any(|name| is_section(line, name)));
    if !has_section {
        return Err(complain(
            origin,
            0,
            "is not an Iometer configuration: it has none of the sections TEST SETUP, RESULTS DISPLAY, ACCESS \
             SPECIFICATIONS and MANAGER LIST",
        ));
    }
    let mut reader = Reader { origin, icf: Icf::default(), spec: None, target: None };
    reader.icf.run = Nanos(0);
    reader.icf.version = version(text);
    for entry in entries(text) {
        reader.entry(&entry)?;
    }
    Ok(reader.icf)
}

/// The numbers of the first line that is not blank; zeros where it names no version.
fn version(text: &str) -> [u64; 3] {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let mut parts = numbers(first.trim_end()).map(|n| n.and_then(|n| u64::try_from(n).ok()).unwrap_or(0));
    std::array::from_fn(|_| parts.next().unwrap_or(0))
}

impl Reader<'_> {
    fn entry(&mut self, entry: &Entry<'_>) -> Result<(), ImportError> {
        let key = entry.key.as_str();
        let is = |start: &str| key.starts_with(start);
        match key {
            "test description" => self.icf.description = cleaned(entry.value().1),
            "run time" => self.icf.run = self.run_time(entry)?,
            _ if is("ramp up time") => self.icf.ramp = self.seconds(entry)?,
            "worker cycling" => self.icf.workers = self.cycling(entry, Ends::All)?,
            "disk cycling" | "target cycling" => self.icf.targets = self.cycling(entry, Ends::All)?,
            "queue depth cycling" => self.icf.queue = self.cycling(entry, Ends::Given)?,
            "test type" => self.icf.test_type = self.test_type(entry)?,
            _ if is("access specification name") => self.spec_name(entry)?,
            _ if key == "size" || is("size,") || is("size ") => self.spec_lines(entry)?,
            _ if is("manager id") => self.manager(entry)?,
            "worker" => self.worker(entry)?,
            "worker type" | "target type" => self.kind(entry),
            _ if is("number of outstanding ios") => self.outstanding(entry)?,
            _ if is("disk maximum size") => self.disk_size(entry)?,
            "assigned access specs" => self.assigned(entry),
            "target" => self.target = Some(entry.value().1.to_owned()),
            "end target" => self.end_target(entry)?,
            _ if is_known(key) => {}
            _ => self
                .icf
                .notes
                .push(Note::new(entry.line, format!("`{}` is not known and was left out.", shortened(key)))),
        }
        Ok(())
    }

    fn complain(&self, line: usize, message: impl Into<String>) -> ImportError {
        complain(self.origin, line, message)
    }

    fn numbers(&self, line: usize, text: &str) -> Result<Vec<u64>, ImportError> {
        checked_numbers(self.origin, line, text)
    }

    fn run_time(&self, entry: &Entry<'_>) -> Result<Nanos, ImportError> {
        let (line, text) = entry.value();
        let parts = self.numbers(line, text)?;
        let seconds = parts
            .iter()
            .zip([3600, 60, 1])
            .try_fold(0_u64, |sum, (part, unit): (&u64, u64)| sum.checked_add(part.checked_mul(unit)?));
        self.nanos(line, seconds)
    }

    fn seconds(&self, entry: &Entry<'_>) -> Result<Nanos, ImportError> {
        let (line, text) = entry.value();
        let seconds = self.numbers(line, text)?.first().copied().unwrap_or(0);
        self.nanos(line, Some(seconds))
    }

    fn nanos(&self, line: usize, seconds: Option<u64>) -> Result<Nanos, ImportError> {
        /// A year: beyond it, somebody mistook the unit.
        const SECONDS_MAX: u64 = 366 * 86_400;
        match seconds.filter(|seconds| *seconds <= SECONDS_MAX) {
            Some(seconds) => Ok(Nanos::from_secs(seconds)),
            None => Err(self.complain(line, "is longer than a year")),
        }
    }

    fn cycling(&self, entry: &Entry<'_>, ends: Ends) -> Result<Cycling, ImportError> {
        let (line, text) = entry.value();
        let numbers = self.numbers(line, text)?;
        let upper = text.to_uppercase();
        let given = match ends {
            Ends::All => 2,
            Ends::Given => 3,
        };
        // Old files write the kind of step as a number behind the others.
        let is_exponential =
            upper.contains("EXP") || (!upper.contains("LIN") && numbers.get(given) == Some(&1));
        let growth = if is_exponential { Growth::Exponential } else { Growth::Linear };
        let default = Cycling::default();
        let at = |index: usize, or: u64| numbers.get(index).copied().unwrap_or(or).max(1);
        Ok(match ends {
            Ends::All => Cycling { start: at(0, 1), end: default.end, step: at(1, 1), growth },
            Ends::Given => Cycling { start: at(0, 1), end: at(1, 32), step: at(2, 2), growth },
        })
    }

    fn test_type(&self, entry: &Entry<'_>) -> Result<TestType, ImportError> {
        let (line, text) = entry.value();
        let word = text.to_uppercase();
        let by_name = TestType::ALL.iter().find(|(name, _)| *name == word);
        let number = || numbers(text).next().flatten().and_then(|n| usize::try_from(n).ok());
        match by_name.or_else(|| number().and_then(|n| TestType::ALL.get(n))) {
            Some((_, test_type)) => Ok(*test_type),
            None if word.is_empty() => Ok(TestType::Normal),
            None => {
                let known: Vec<&str> = TestType::ALL.iter().map(|(name, _)| *name).collect();
                Err(self.complain(
                    line,
                    format!("`{}` is not a test type; Iometer has {}", shortened(text), known.join(", ")),
                ))
            }
        }
    }

    fn spec_name(&mut self, entry: &Entry<'_>) -> Result<(), ImportError> {
        let (line, text) = entry.value();
        let (name, assignment) = text.rsplit_once(',').unwrap_or((text, "NONE"));
        let is_default = matches!(assignment.trim().to_uppercase().as_str(), "ALL" | "DISK" | "1" | "2");
        let name = cleaned(name);
        if name.is_empty() {
            return Err(self.complain(entry.line, "an access specification has no name"));
        }
        self.spec = Some((line, name, is_default));
        Ok(())
    }

    fn spec_lines(&mut self, entry: &Entry<'_>) -> Result<(), ImportError> {
        match self.spec.take() {
            Some((line, name, is_default)) => {
                let mut mix = Vec::new();
                for (line, text) in &entry.values {
                    mix.extend(self.access(*line, text)?);
                }
                self.add_spec(Spec { name, line, is_default, mix })
            }
            // Before May 1998 specifications had no names, and each ended where its percentages made 100.
            None => self.old_specs(entry),
        }
    }

    fn old_specs(&mut self, entry: &Entry<'_>) -> Result<(), ImportError> {
        let (mut mix, mut first) = (Vec::new(), None);
        for (line, text) in &entry.values {
            first.get_or_insert(*line);
            mix.extend(self.access(*line, text)?);
            if mix.iter().map(|a: &Access| a.weight).sum::<u32>() >= 100 {
                let name = described(&mix);
                let line = first.take().unwrap_or(*line);
                self.add_spec(Spec { name, line, is_default: true, mix: std::mem::take(&mut mix) })?;
            }
        }
        match first {
            Some(line) if !mix.is_empty() => {
                self.add_spec(Spec { name: described(&mix), line, is_default: true, mix })
            }
            _ => Ok(()),
        }
    }

    fn access(&self, line: usize, text: &str) -> Result<Option<Access>, ImportError> {
        access(self.origin, line, text)
    }

    fn add_spec(&mut self, spec: Spec) -> Result<(), ImportError> {
        let Spec { name, line, mix, .. } = &spec;
        let total: u64 = mix.iter().map(|a| u64::from(a.weight)).sum();
        if total != 100 {
            return Err(self.complain(
                *line,
                format!("the percentages of \"{}\" sum to {total}; they must sum to 100", shortened(name)),
            ));
        }
        if mix.len() > SPEC_LINES_MAX {
            return Err(self.complain(
                *line,
                format!("\"{}\" has {} lines; Iometer allows {SPEC_LINES_MAX}", shortened(name), mix.len()),
            ));
        }
        // As in Iometer, a later specification of the same name replaces the earlier one.
        let known = self.icf.specs.iter().position(|known| known.name.eq_ignore_ascii_case(name));
        match known {
            Some(at) => self.icf.specs[at] = spec,
            None if self.icf.specs.len() >= LIST_MAX => {
                return Err(
                    self.complain(*line, format!("there are more than {LIST_MAX} access specifications"))
                );
            }
            None => self.icf.specs.push(spec),
        }
        Ok(())
    }

    fn manager(&mut self, entry: &Entry<'_>) -> Result<(), ImportError> {
        let (_, text) = entry.value();
        let name = text.split_once(',').map_or(text, |(_, name)| name);
        self.check_count(entry.line, self.icf.managers.len(), "managers")?;
        self.icf.managers.push(Manager { name: cleaned(name), workers: Vec::new() });
        Ok(())
    }

    fn worker(&mut self, entry: &Entry<'_>) -> Result<(), ImportError> {
        let count = self.icf.managers.iter().map(|m| m.workers.len()).sum();
        self.check_count(entry.line, count, "workers")?;
        if self.icf.managers.is_empty() {
            self.icf.managers.push(Manager::default());
        }
        let worker = Worker::new(&cleaned(entry.value().1), entry.line);
        if let Some(manager) = self.icf.managers.last_mut() {
            manager.workers.push(worker);
        }
        Ok(())
    }

    fn check_count(&self, line: usize, count: usize, what: &str) -> Result<(), ImportError> {
        match count < LIST_MAX {
            true => Ok(()),
            false => Err(self.complain(line, format!("there are more than {LIST_MAX} {what}"))),
        }
    }

    fn last_worker(&mut self) -> Option<&mut Worker> {
        self.icf.managers.last_mut()?.workers.last_mut()
    }

    fn kind(&mut self, entry: &Entry<'_>) {
        let is_network = entry.value().1.to_uppercase().starts_with("NETWORK");
        if entry.key == "target type" {
            // Network targets belong to network workers, which are left out as a whole.
            if is_network {
                self.target = None;
            }
        } else if let Some(worker) = self.last_worker() {
            worker.is_network = is_network;
        }
    }

    fn outstanding(&mut self, entry: &Entry<'_>) -> Result<(), ImportError> {
        let (line, text) = entry.value();
        let numbers = self.numbers(line, text)?;
        let words = text.to_uppercase();
        let enabled: Vec<bool> = words
            .split(|c: char| !c.is_ascii_alphabetic())
            .filter(|word| matches!(*word, "ENABLED" | "DISABLED"))
            .map(|word| word == "ENABLED")
            .collect();
        if let Some(worker) = self.last_worker() {
            worker.outstanding = numbers.first().copied().unwrap_or(1);
            let is_on = enabled.first() == Some(&true);
            worker.reconnect_every = is_on.then(|| numbers.get(1).copied().unwrap_or(1));
            worker.seed = (enabled.get(1) == Some(&true)).then(|| numbers.get(2).copied()).flatten();
        }
        Ok(())
    }

    fn disk_size(&mut self, entry: &Entry<'_>) -> Result<(), ImportError> {
        let (line, text) = entry.value();
        let numbers = self.numbers(line, text)?;
        let data = match numbers.get(2) {
            None => None,
            Some(0) => Some(Data::IometerRepeating),
            Some(1) => Some(Data::IometerPseudoRandom),
            Some(2) => Some(Data::IometerFullRandom),
            Some(other) => {
                return Err(
                    self.complain(line, format!("{other} is not a data pattern; Iometer has 0, 1 and 2"))
                );
            }
        };
        if numbers.first().is_some_and(|sectors| *sectors > u64::MAX / 2 / super::SECTOR_BYTES) {
            return Err(self.complain(line, "the maximum disk size is too large"));
        }
        if numbers.get(1).is_some_and(|sector| *sector > u64::MAX / 4 / super::SECTOR_BYTES) {
            return Err(self.complain(line, "the starting sector is too large"));
        }
        if let Some(worker) = self.last_worker() {
            worker.size_sectors = numbers.first().copied().unwrap_or(0);
            worker.start_sector = numbers.get(1).copied().unwrap_or(0);
            worker.data = data;
        }
        Ok(())
    }

    fn assigned(&mut self, entry: &Entry<'_>) {
        let names = entry.values.iter().map(|(line, name)| (*line, cleaned(name))).collect();
        if let Some(worker) = self.last_worker() {
            worker.specs = names;
        }
    }

    fn end_target(&mut self, entry: &Entry<'_>) -> Result<(), ImportError> {
        let Some(name) = self.target.take().filter(|name| !name.is_empty()) else { return Ok(()) };
        let count = self.last_worker().map_or(0, |worker| worker.targets.len());
        if count >= TARGETS_MAX {
            return Err(self.complain(entry.line, format!("a worker has more than {TARGETS_MAX} targets")));
        }
        if let Some(worker) = self.last_worker() {
            worker.targets.push(name);
        }
        Ok(())
    }
}

/// The numbers of a value, each checked to fit.
fn checked_numbers(origin: &str, line: usize, text: &str) -> Result<Vec<u64>, ImportError> {
    numbers(text)
        .map(|n| match n {
            Some(n) if n < 0 => Err(complain(origin, line, format!("{n} must not be negative"))),
            Some(n) => Ok(u64::try_from(n).unwrap_or(u64::MAX)),
            None => {
                Err(complain(origin, line, format!("`{}` has a number that is too large", shortened(text))))
            }
        })
        .collect()
}

/// A line of a specification; `None` if its weight is zero.
pub(super) fn access(origin: &str, line: usize, text: &str) -> Result<Option<Access>, ImportError> {
    let parts = checked_numbers(origin, line, text)?;
    let at = |index: usize, or: u64| parts.get(index).copied().unwrap_or(or);
    let (size, weight) = (at(0, 0), at(1, 0));
    if weight == 0 {
        return Ok(None);
    }
    for (value, what) in [(weight, "% of size"), (at(2, 100), "% reads"), (at(3, 0), "% random")] {
        if value > 100 {
            return Err(complain(origin, line, format!("{what} is {value}; it must be from 0 to 100")));
        }
    }
    if size == 0 || size > IO_BYTES_MAX {
        let most = Bytes(IO_BYTES_MAX);
        return Err(complain(
            origin,
            line,
            format!("the size of an I/O is {size} B; it must be from 1 B to {most}"),
        ));
    }
    let delay_ms = at(4, 0);
    if delay_ms > 86_400_000 || at(6, 0) > IO_BYTES_MAX || at(7, 0) > IO_BYTES_MAX || at(5, 1) > 1_000_000_000
    {
        return Err(complain(origin, line, "delay, burst, align or reply is larger than Assay allows"));
    }
    let percent = |value: u64| f64::from(u32::try_from(value).unwrap_or(100));
    Ok(Some(Access {
        weight: u32::try_from(weight).unwrap_or(100),
        size: Bytes(size),
        read: percent(at(2, 100)),
        random: percent(at(3, 0)),
        align: Bytes(at(6, 0)),
        delay: Nanos::from_millis(delay_ms),
        burst: u32::try_from(at(5, 1).max(1)).unwrap_or(1),
        reply: Bytes(at(7, 0)),
        ..Access::default()
    }))
}

/// Whether the line of a cycle says where it ends.
#[derive(Clone, Copy)]
enum Ends {
    /// With everything there is.
    All,
    Given,
}

/// Keys that are understood and change nothing here: marks of ends, the display, the network.
fn is_known(key: &str) -> bool {
    const STARTS: [&str; 17] = [
        "end ",
        "test setup",
        "results display",
        "access specifications",
        "manager list",
        "default disk workers",
        "default network workers",
        "default workers",
        "record ",
        "update frequency",
        "bar chart",
        "manager network address",
        "default target settings",
        "local network interface",
        "vi outstanding",
        "target ",
        "version",
    ];
    STARTS.iter().any(|start| key.starts_with(start))
}

/// A name without what separates fields: Iometer cannot write a comma in a name, nor read one. Its own names have 127
/// characters at most.
pub(super) fn cleaned(name: &str) -> String {
    const CHARS_MAX: usize = 127;
    let name: String = name.trim().chars().take(CHARS_MAX).collect();
    name.trim_end().replace(',', "-")
}

/// A name for a specification that has none.
fn described(mix: &[Access]) -> String {
    match mix {
        [a] => format!("{}; {}% Read; {}% random", a.size, a.read, a.random),
        _ => format!("Mix of {} lines", mix.len()),
    }
}

/// The start of a text, for messages.
pub(super) fn shortened(text: &str) -> String {
    const CHARS: usize = 60;
    let short: String = text.chars().take(CHARS).collect();
    if short.len() < text.len() { short + "…" } else { short }
}
