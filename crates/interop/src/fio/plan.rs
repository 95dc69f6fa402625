//! From the jobs of a job file to a plan.

use assay_spec::units::{Bytes, Nanos};
use assay_spec::{Access, Extent, Semantics, Window};

use super::lines::{JobLines, Surroundings, jobs};
use super::options::{FioJob, job};
use super::taken::Findings;
use super::typed;
use crate::draft::{Checks, Draft, DraftJob, DraftTest};
use crate::names::{file_name, stem, unique};
use crate::secrets::{covering, of_lines};
use crate::targets::TargetNames;
use crate::unsupported::settle;
use crate::{ImportError, ImportOptions, ImportedPlan, Note};

/// Reads a fio job file. `origin` is its name in messages.
///
/// # Errors
/// When the text is no such file, includes itself, or asks for what Assay cannot do and is not to be read leniently.
pub fn import(
    origin: &str,
    text: &str,
    surroundings: &Surroundings<'_>,
    options: &ImportOptions,
) -> Result<ImportedPlan, ImportError> {
    let read = covering(surroundings, |surroundings| jobs(origin, &of_lines(text), surroundings))?;
    let labels = Labels {
        origin,
        name: stem(origin).to_owned(),
        source: format!("fio job file {}.", file_name(origin)),
        tool: "fio job file",
    };
    plan(&labels, &read, Vec::new(), options)
}

/// Reads command lines of fio. `origin` is the name of the script, or `fio` for a line that was typed.
///
/// # Errors
/// As of [`import`].
pub(crate) fn import_commands(
    origin: &str,
    text: &str,
    surroundings: &Surroundings<'_>,
    options: &ImportOptions,
) -> Result<ImportedPlan, ImportError> {
    let mut notes = Vec::new();
    let read = typed::jobs(origin, text, surroundings, &mut notes)?;
    let is_typed = origin == TYPED;
    let labels = Labels {
        origin,
        name: if is_typed { "fio line".to_owned() } else { stem(origin).to_owned() },
        source: if is_typed {
            text.trim().chars().take(500).collect()
        } else {
            format!("fio commands of {}.", file_name(origin))
        },
        tool: if is_typed { "command line of fio" } else { "command lines of fio" },
    };
    plan(&labels, &read, notes, options)
}

/// Origin of a command line that is in no file.
pub(crate) const TYPED: &str = "fio";

/// What an import is called.
struct Labels<'o> {
    origin: &'o str,
    name: String,
    source: String,
    tool: &'static str,
}

fn plan(
    labels: &Labels<'_>,
    read: &[JobLines],
    mut notes: Vec<Note>,
    options: &ImportOptions,
) -> Result<ImportedPlan, ImportError> {
    let mut findings = Findings::default();
    let origin = labels.origin;
    let all: Vec<FioJob> = read.iter().map(|lines| job(lines, &mut findings)).collect::<Result<_, _>>()?;
    let Findings { notes: found, refused } = findings;
    notes.extend(found);
    // An option of [global] is met in every job.
    notes.sort_by_key(|note| note.line);
    notes.dedup();
    settle(origin, "option", options.strictness, refused, &mut notes)?;
    let files: Vec<Vec<String>> = all.iter().map(|job| job.files.clone()).collect();
    let targets = TargetNames::of(origin, &files, options, &mut notes)?;
    let mut groups: Vec<Vec<(usize, &FioJob)>> = Vec::new();
    for (index, job) in all.iter().enumerate() {
        match groups.last_mut() {
            Some(group) if !job.waits => group.push((index, job)),
            _ => groups.push(vec![(index, job)]),
        }
    }
    let span = all.iter().filter_map(|job| job.span).max();
    let mut tests: Vec<DraftTest> = Vec::new();
    for group in &groups {
        let test = test(group, &targets, span, &mut notes);
        let name = unique(&test.name, |name| tests.iter().any(|t| t.name == name));
        tests.push(DraftTest { name, ..test });
    }
    plan_notes(&all, &mut notes);
    let mut seeds: Vec<u64> = all.iter().filter_map(|job| job.seed).collect();
    seeds.dedup();
    let draft = Draft {
        name: labels.name.clone(),
        about: String::new(),
        source: labels.source.clone(),
        notes: notes.iter().map(ToString::to_string).collect(),
        semantics: Semantics::Assay,
        seed: seeds.first().copied(),
        size: span.map(Bytes),
        tests,
    };
    Ok(draft.imported(labels.tool, notes, targets))
}

/// The part of its files that a job uses, where that is not all of them.
fn window(job: &FioJob, span: Option<u64>) -> Window {
    let is_whole = job.offset == Window::WHOLE.offset
        && match job.used {
            None => true,
            Some(used) => {
                matches!(used, Extent::Bytes(Bytes(bytes)) if span.is_some_and(|span| bytes >= span))
            }
        };
    if is_whole { Window::WHOLE } else { Window { offset: job.offset, size: job.used } }
}

/// The first job of a test begins with it.
fn first_delay(group: &[(usize, &FioJob)], notes: &mut Vec<Note>) -> Nanos {
    let delays = || group.iter().map(|(_, job)| job.start_delay);
    let (first, last) = (delays().min().unwrap_or_default(), delays().max().unwrap_or_default());
    if last > Nanos(0) {
        notes.push(Note::new(
            group[0].1.line,
            if last > first {
                "startdelay: jobs that begin late end with the others; their rates are over their own time."
            } else {
                "startdelay: nothing runs before the first job, so the delay is left out."
            },
        ));
    }
    first
}

fn test(
    group: &[(usize, &FioJob)],
    targets: &TargetNames,
    span: Option<u64>,
    notes: &mut Vec<Note>,
) -> DraftTest {
    let jobs = || group.iter().map(|(_, job)| *job);
    let first = group[0].1;
    let names: Vec<&str> = jobs().map(|job| job.name.as_str()).collect();
    let differs = |what: &str, is_equal: bool, notes: &mut Vec<Note>| {
        if !is_equal {
            notes.push(Note::new(
                first.line,
                format!("{what} of the jobs that run side by side differ; the largest is used for all."),
            ));
        }
    };
    differs("runtime", jobs().all(|job| job.run == first.run), notes);
    differs("ramp_time", jobs().all(|job| job.ramp == first.ramp), notes);
    let is_bounded = jobs().all(|job| job.bytes.is_some());
    differs("size", jobs().all(|job| job.bytes == first.bytes) || !is_bounded, notes);
    differs("number_ios", jobs().all(|job| job.ops == first.ops), notes);
    if !is_bounded && jobs().any(|job| job.bytes.is_some()) {
        notes.push(Note::new(
            first.line,
            "size: a job that only its runtime ends runs beside one that its size ends; here both run that long.",
        ));
    }
    let is_verified = jobs().any(|job| job.is_verified);
    let trims = jobs().flat_map(|job| &job.mix).any(Access::trims);
    if is_verified && trims {
        notes.push(Note::new(
            first.line,
            "verify: left out, because a job trims beside it, and Assay verifies all jobs of a test or none.",
        ));
    }
    let first_delay = first_delay(group, notes);
    let mut drafts: Vec<DraftJob> = Vec::new();
    for (index, job) in group {
        let name = unique(&crate::names::shortened(&job.name), |name| drafts.iter().any(|d| d.name == name));
        drafts.push(DraftJob {
            name,
            targets: targets.of_user(*index, usize::MAX),
            workers: job.workers,
            outstanding: job.outstanding,
            pace: job.pace,
            pace_max: None,
            reconnect_every: None,
            is_durable: job.is_durable && job.mix.iter().any(Access::writes),
            data: Some(job.data),
            mix: job.mix.clone(),
            window: window(job, span),
            flush: job.flush.filter(|_| job.mix.iter().any(Access::writes)),
            start_delay: Nanos(job.start_delay.0.saturating_sub(first_delay.0)),
        });
    }
    DraftTest {
        name: crate::names::shortened(&names.join(" + ")),
        notes: String::new(),
        run: jobs().filter_map(|job| job.run).max(),
        bytes: if is_bounded { jobs().filter_map(|job| job.bytes).max().map(Bytes) } else { None },
        ops: jobs().filter_map(|job| job.ops).max(),
        warmup: jobs().map(|job| job.ramp).max().unwrap_or(Nanos(0)),
        checks: if is_verified && !trims { Checks::Verify } else { Checks::None },
        sweep: Vec::new(),
        jobs: drafts,
    }
}

fn plan_notes(all: &[FioJob], notes: &mut Vec<Note>) {
    let is_random = |job: &FioJob| job.mix.iter().any(|line| line.random > 0.0);
    if all.iter().any(is_random) {
        notes.push(Note::new(
            0,
            "Each random position is drawn independently, as with norandommap; without it fio visits \
                 every block once \
             before any twice.",
        ));
    }
    if all.iter().any(|job| job.workers > 1 && job.mix.iter().any(|line| line.random < 100.0)) {
        notes.push(Note::new(
            0,
            "Each worker of a sequential job streams through its own part of the target; fio's clones all \
                 begin at the \
             same place.",
        ));
    }
}
