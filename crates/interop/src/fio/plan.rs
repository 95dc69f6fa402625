//! From the jobs of a job file to a plan.

use assay_spec::units::{Bytes, Nanos};
use assay_spec::{Access, Ends, Extent, Flush, Semantics, Window};

use super::exits::exits;
use super::extent::End;
use super::known::WITHOUT_IO;
use super::lines::{JobLines, jobs};
use super::options::{FioJob, Group, Verifies, Weight, job};
use super::taken::Findings;
use super::typed;
use super::value::is_true;
use crate::draft::{Checks, Draft, DraftJob, DraftTest, end_fields};
use crate::names::{file_name, stem, unique};
use crate::secrets::{covering, of_lines};
use crate::surroundings::Surroundings;
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
    let has_none = read.iter().all(|job| job.line == 0);
    let says = "The file has no job, only [global]; it is run as one.";
    let notes = if has_none { vec![Note::new(0, says)] } else { Vec::new() };
    plan(&labels, &read, notes, options)
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
    let kept = running(origin, read, &mut notes)?;
    let left_out = |name: &str| {
        read.iter().any(|lines| lines.name == name && !kept.iter().any(|kept| std::ptr::eq(*kept, lines)))
    };
    let mut all: Vec<FioJob> =
        kept.iter().map(|lines| job(lines, &mut findings)).collect::<Result<_, _>>()?;
    for (job, waits) in all.iter_mut().zip(waits_of_those_left_out(read, &kept)) {
        job.waits |= waits;
    }
    if options.targets_given == Some(1) {
        all.iter_mut().for_each(join_files);
    }
    let Findings { notes: found, mut refused } = findings;
    let mut groups = grouped(&all, &left_out, &mut refused);
    let ends = exits(read, &kept, &mut groups, (&mut notes, &mut refused));
    refused.extend(groups.iter().enumerate().flat_map(|(index, group)| parted(group, &groups[..index])));
    notes.extend(found);
    // An option of [global] is met in every job.
    notes.sort_by_key(|note| note.line);
    notes.dedup();
    settle(origin, "option", options.strictness, refused, &mut notes)?;
    let files: Vec<Vec<String>> = all.iter().map(|job| job.files.by_clone.concat()).collect();
    let targets = TargetNames::of(origin, &files, options, &mut notes)?;
    let span = span(&all, &mut notes);
    let mut tests: Vec<DraftTest> = Vec::new();
    // Assay verifies a plan as a whole: what one test trims holds no stamps for another.
    let trims = all.iter().flat_map(|job| &job.mix).any(Access::trims);
    for group in &groups {
        let written = test(group, &targets, (span, trims, &ends), &mut notes);
        for test in [read_back(group, &written), Some(written)].into_iter().flatten().rev() {
            let name = unique(&test.name, |name| tests.iter().any(|t| t.name == name));
            tests.push(DraftTest { name, ..test });
        }
    }
    let mut seeds: Vec<u64> = all.iter().filter_map(|job| job.seed).collect();
    seeds.dedup();
    let draft = Draft {
        name: labels.name.clone(),
        about: String::new(),
        source: labels.source.clone(),
        notes: notes.iter().map(ToString::to_string).collect(),
        semantics: Semantics::Fio,
        seed: seeds.first().copied(),
        size: span.map(Bytes),
        tests,
    };
    Ok(draft.imported(labels.tool, notes, targets))
}

/// The jobs that do I/O: with `create_only` fio makes files, and nothing else; engines for other work do none.
fn running<'l>(
    origin: &str,
    read: &'l [JobLines],
    notes: &mut Vec<Note>,
) -> Result<Vec<&'l JobLines>, ImportError> {
    let only_creates = |lines: &&JobLines| {
        let option = lines.options.iter().rfind(|option| option.key == "create_only");
        option.is_some_and(|option| is_true(&option.value) != Ok(false))
    };
    let (idle, running): (Vec<_>, Vec<_>) = read.iter().partition(only_creates);
    for lines in &idle {
        let says =
            "create_only: the job only makes its files, and is left out; Assay fills files before a run.";
        notes.push(Note::new(lines.line, says));
    }
    if let (true, Some(first)) = (running.is_empty(), idle.first()) {
        let says = "create_only: every job only makes its files, so there is no I/O to do; leave it out";
        return Err(crate::complain(origin, first.line, says));
    }
    let (others, with_io): (Vec<&JobLines>, Vec<&JobLines>) = running
        .iter()
        .copied()
        .partition(|lines| engine(lines).is_some_and(|name| WITHOUT_IO.contains(&name)));
    // A file that has nothing else is refused, with its line.
    if with_io.is_empty() {
        return Ok(running);
    }
    for lines in others {
        let says = format!(
            "ioengine={}: the job {} does no I/O to storage and is left out; under fio it runs too.",
            engine(lines).unwrap_or_default(),
            lines.name
        );
        notes.push(Note::new(lines.line, says));
    }
    Ok(with_io)
}

/// Whether each job that is kept begins after all before it because of a job just before it that is left out: what fio
/// runs one after another stays so.
fn waits_of_those_left_out(read: &[JobLines], kept: &[&JobLines]) -> Vec<bool> {
    let waits = |lines: &JobLines| {
        let is_wait = |key: &str| ["stonewall", "wait_for_previous"].contains(&key);
        let option = lines.options.iter().rfind(|option| is_wait(&option.key));
        option.is_some_and(|option| is_true(&option.value) != Ok(false))
    };
    let (mut found, mut carried) = (Vec::new(), false);
    for lines in read {
        if kept.iter().any(|kept| std::ptr::eq(*kept, lines)) {
            found.push(std::mem::take(&mut carried));
        } else {
            carried |= waits(lines);
        }
    }
    found
}

/// The engine of a job, if it names one.
fn engine(lines: &JobLines) -> Option<&str> {
    lines.options.iter().rfind(|option| option.key == "ioengine").map(|option| option.value.trim())
}

/// Makes the files of a job one, which is as large as all of them: what they are where a single target is given.
fn join_files(job: &mut FioJob) {
    let others = job.files.distinct() - 1;
    let Some(Extent::Bytes(Bytes(each))) = job.used else { return };
    let more = each.saturating_mul(others);
    job.used = Some(Extent::Bytes(Bytes(each.saturating_add(more))));
    job.span = job.span.map(|span| span.saturating_add(more));
}

/// How much of each target the jobs need; `None` if that is all of it.
fn span(all: &[FioJob], notes: &mut Vec<Note>) -> Option<u64> {
    let span = all.iter().filter_map(|job| job.span).max()?;
    // Shares are those of what is there, not of what a job uses.
    if all.iter().any(|job| job.is_relative) {
        return None;
    }
    let names = |job: &FioJob| job.files.by_clone.concat();
    let Some(open) = all.iter().find(|job| job.span.is_none()) else { return Some(span) };
    if names(open).iter().any(|name| is_device(name)) {
        return None;
    }
    notes.push(Note::new(
        open.line,
        format!(
            "The job has no size of its own: {} is used, as a file has that other jobs made; of a device fio would \
             use all (--size).",
            Bytes(span)
        ),
    ));
    Some(span)
}

/// Whether a target is a device by its name, on Linux or Windows.
fn is_device(name: &str) -> bool {
    name.starts_with("/dev/") || name.starts_with(r"\\.\")
}

/// Puts jobs together that run side by side. A job that waits for another one begins a group if all that runs then is
/// that one: what `wait_for` says of a single job, `stonewall` says of all. Others are refused, and so is who waits
/// for a job that is left out.
fn grouped<'j>(
    all: &'j [FioJob],
    left_out: &dyn Fn(&str) -> bool,
    refused: &mut Vec<Note>,
) -> Vec<Group<'j>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for (index, job) in all.iter().enumerate() {
        let name = job.waits_for.as_ref().map(|(_, name)| name);
        let is_all_of = |group: &Group<'_>| group.iter().all(|(_, other)| Some(&other.name) == name);
        let waits_alike =
            |(_, other): &(usize, &FioJob)| other.waits_for.as_ref().map(|(_, name)| name) == name;
        let joins = match (groups.as_slice(), &job.waits_for) {
            ([], _) => false,
            _ if job.waits => false,
            ([.., last], _) if is_all_of(last) => false,
            ([.., last], _) if last.iter().all(waits_alike) => true,
            (_, Some((line, name))) if left_out(name) => {
                let says = format!(
                    "wait_for={name}: that job is left out, and when it ends is not known; use stonewall"
                );
                refused.push(Note::new(*line, says));
                true
            }
            (_, None) => {
                let says = "wait_for: jobs before this one wait, and this one does not; put it before them";
                refused.push(Note::new(job.line, says));
                true
            }
            (_, Some((line, name))) => {
                let says = format!("wait_for={name}: other jobs than that one run beside it; use stonewall");
                refused.push(Note::new(*line, says));
                true
            }
        };
        match groups.last_mut().filter(|_| joins) {
            Some(group) => group.push((index, job)),
            None => groups.push(vec![(index, job)]),
        }
    }
    groups
}

/// What of `flow` cannot be kept: a proportion is one of all jobs of a test.
fn parted(group: &Group<'_>, before: &[Group<'_>]) -> Option<Note> {
    let flows = |group: &Group<'_>| group.iter().filter_map(|(_, job)| job.flow).collect::<Vec<_>>();
    let own = flows(group);
    let first = own.first()?;
    let other = own.iter().find(|flow| flow.id != first.id);
    let says = "flow_id: jobs that run side by side have several proportions; only one is supported";
    let has_begun = |flow: &Weight| before.iter().flat_map(flows).any(|earlier| earlier.id == flow.id);
    let waits = "flow: fio counts the weight of this job while those before it run, which may wait for it for ever; \
                 give it a flow_id of its own";
    other
        .map(|other| Note::new(other.line, says))
        .or_else(|| own.iter().find(|flow| has_begun(flow)).map(|flow| Note::new(flow.line, waits)))
}

/// The test that reads back what the jobs of a group that verify have written, after it: once, in order.
fn read_back(group: &[(usize, &FioJob)], written: &DraftTest) -> Option<DraftTest> {
    if written.checks != Checks::Verify {
        return None;
    }
    let verifies = |(_, job): &&(usize, &FioJob)| job.checks == Verifies::Written;
    let verified = || group.iter().filter(verifies).map(|(_, job)| *job);
    // What was written so many times is read back so many times.
    let end = |job: &FioJob| match job.end {
        End { bytes, passes, is_whole: true, .. } if (bytes, passes) != (None, None) => {
            End { bytes, passes, ..End::default() }
        }
        _ => End { passes: Some(1), ..End::default() },
    };
    let first = end(verified().next()?);
    let have_own_ends = verified().any(|job| end(job) != first);
    let jobs = group.iter().zip(&written.jobs).filter(|(job, _)| verifies(job)).map(|((_, job), draft)| {
        let size = job.mix.iter().map(|line| line.size).max().unwrap_or_default();
        // In an order like that of the writes, where that visits every block once.
        let (random, once) = if job.mix.iter().all(|line| line.once && line.size == size) {
            (100.0, true)
        } else {
            (0.0, false)
        };
        DraftJob {
            mix: vec![Access { size, align: size, random, once, ..Access::default() }],
            pace: None,
            flush: None,
            is_durable: false,
            start_delay: Nanos(0),
            flow: 0,
            ends: None,
            end: if have_own_ends { end_fields_of(&end(job)) } else { Vec::new() },
            ..draft.clone()
        }
    });
    let end = if have_own_ends { End::default() } else { first };
    Some(DraftTest {
        name: crate::names::shortened(&format!("{}, read back", written.name)),
        bytes: end.bytes.map(Bytes),
        passes: end.passes,
        checks: Checks::Verify,
        jobs: jobs.collect(),
        ..DraftTest::default()
    })
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
    let first = delays().min().unwrap_or_default();
    if first > Nanos(0) {
        notes.push(Note::new(
            group[0].1.line,
            "startdelay: nothing runs before the first job, so its delay is left out.",
        ));
    }
    first
}

fn test(
    group: &[(usize, &FioJob)],
    targets: &TargetNames,
    (span, trims, ends): (Option<u64>, bool, &[Option<Ends>]),
    notes: &mut Vec<Note>,
) -> DraftTest {
    let jobs = || group.iter().map(|(_, job)| *job);
    let first = group[0].1;
    let names: Vec<&str> = jobs().map(|job| job.name.as_str()).collect();
    let is_ramp_equal = jobs().all(|job| job.ramp == first.ramp);
    if !is_ramp_equal {
        notes.push(Note::new(
            first.line,
            "ramp_time of the jobs that run side by side differ; the largest is used for all.",
        ));
    }
    let is_verified = jobs().any(|job| job.checks != Verifies::Nothing);
    if is_verified && trims {
        notes.push(Note::new(
            first.line,
            "verify: left out, because a job of the file trims, and Assay verifies all of a plan or nothing.",
        ));
    }
    let first_delay = first_delay(group, notes);
    let delay = |job: &FioJob| Nanos(job.start_delay.0.saturating_sub(first_delay.0));
    // Side by side each job of fio ends by itself, counted from its own start.
    let have_own_ends = jobs().any(|job| job.end != first.end || delay(job) > Nanos(0));
    let mut drafts: Vec<DraftJob> = Vec::new();
    for (index, job) in group {
        let name = unique(&crate::names::shortened(&job.name), |name| drafts.iter().any(|d| d.name == name));
        let own = targets.of_user(*index, usize::MAX);
        let each = if job.files.are_own() && !own.is_empty() { job.files.distinct() } else { 0 };
        notes.extend(flush_note(job).filter(|_| !own.is_empty()));
        drafts.push(DraftJob {
            name,
            targets: own,
            targets_each: u32::try_from(each).unwrap_or(0),
            flow: job.flow.map_or(0, |flow| flow.weight),
            workers: job.workers,
            outstanding: job.outstanding,
            pace: job.pace,
            pace_max: None,
            reconnect_every: None,
            is_durable: job.is_durable && job.mix.iter().any(Access::writes),
            data: Some(job.data),
            mix: job.mix.clone(),
            window: window(job, span),
            increment: job.increment,
            strides: job.strides,
            zoned: job.zoned,
            flush: job.flush.filter(|_| job.mix.iter().any(Access::writes)),
            start_delay: delay(job),
            ends: ends[*index],
            end: if have_own_ends { end_fields_of(&job.end) } else { Vec::new() },
        });
    }
    let end = if have_own_ends { End::default() } else { first.end };
    DraftTest {
        name: crate::names::shortened(&names.join(" + ")),
        notes: String::new(),
        run: end.run,
        bytes: end.bytes.map(Bytes),
        ops: end.ops,
        passes: end.passes,
        warmup: jobs().map(|job| job.ramp).max().unwrap_or(Nanos(0)),
        checks: if is_verified && !trims { Checks::Verify } else { Checks::None },
        sweep: Vec::new(),
        jobs: drafts,
    }
}

/// What differs between flushes of a job with several files for each clone.
fn flush_note(job: &FioJob) -> Option<Note> {
    let is_apart = job.files.distinct() > 1 && job.mix.iter().any(Access::writes);
    let flush = job.flush.filter(|flush| is_apart && flush.every > 1)?;
    let option = if flush.kind == Flush::All { "fsync" } else { "fdatasync" };
    let says = format!(
        "{option}={}: fio counts the writes of a job to all of its files, and flushes the one that it wrote last; here \
         a flush of a file follows so many writes to that file.",
        flush.every
    );
    Some(Note::new(job.line, says))
}

fn end_fields_of(end: &End) -> Vec<(&'static str, String)> {
    end_fields(end.run, end.bytes.map(Bytes), end.ops, end.passes)
}
