//! From an `.icf` file to a plan.

use assay_spec::units::{Bytes, Nanos};
use assay_spec::{Data, Extent, OUTSTANDING_MAX, Semantics, WORKERS_MAX, Window};

use super::SECTOR_BYTES;
use super::cycle::{CycleStep, steps};
use super::read::{Icf, Manager, Spec, TestType, Worker, read, shortened};
use crate::draft::{Draft, DraftJob, DraftTest};
use crate::names::{base_name, file_name, stem, unique};
use crate::secrets::of_text;
use crate::targets::TargetNames;
use crate::{ImportError, ImportOptions, ImportedPlan, Note, STEPS_MAX, complain, counted};

/// Reads an `.icf` file. `origin` is its name in messages.
///
/// # Errors
/// When the text is no such file, has no access specification, or asks for what no plan can do.
pub fn import(origin: &str, text: &str, options: &ImportOptions) -> Result<ImportedPlan, ImportError> {
    let mut icf = read(origin, &of_text(text))?;
    if icf.specs.is_empty() {
        return Err(complain(origin, 0, "has no access specification, so there is nothing to run"));
    }
    let mut notes = std::mem::take(&mut icf.notes);
    leave_out_network(&mut icf, &mut notes);
    if workers(&icf).next().is_none() && notes.iter().any(|note| note.says.contains("is a network worker")) {
        let says = "has network workers only; Assay measures storage, so nothing of it can run";
        return Err(complain(origin, 0, says));
    }
    assign_all(&mut icf, &mut notes);
    let targets = TargetNames::of(origin, &target_names(&icf, &mut notes), options, &mut notes)?;
    let tests = tests(origin, &icf, &targets, &mut notes)?;
    if tests.is_empty() {
        return Err(complain(
            origin,
            0,
            "has no test to run: no worker has both an access specification and a target",
        ));
    }
    timing_notes(&icf, &mut notes);
    let draft = Draft {
        name: if icf.description.is_empty() { stem(origin).to_owned() } else { icf.description.clone() },
        about: String::new(),
        source: format!("{} of {}.", file_name(origin), tool(&icf)),
        notes: notes.iter().map(ToString::to_string).collect(),
        semantics: Semantics::Iometer,
        seed: seed(&icf, &mut notes),
        size: size(&icf, &mut notes),
        tests,
    };
    let draft = Draft { notes: notes.iter().map(ToString::to_string).collect(), ..draft };
    Ok(draft.imported(tool(&icf), notes, targets))
}

fn tool(icf: &Icf) -> String {
    match icf.version {
        [0, 0, 0] => "Iometer".to_owned(),
        // The versions of Iometer's own project are dates: 2006.07.27.
        [year, month, day] if year > 1900 => format!("Iometer {year}.{month:02}.{day:02}"),
        [a, b, c] => format!("Iometer {a}.{b}.{c}"),
    }
}

fn workers(icf: &Icf) -> impl Iterator<Item = &Worker> {
    icf.managers.iter().flat_map(|m| &m.workers)
}

fn leave_out_network(icf: &mut Icf, notes: &mut Vec<Note>) {
    for worker in icf.managers.iter_mut().flat_map(|m| m.workers.extract_if(.., |w| w.is_network)) {
        notes.push(Note::new(
            worker.line,
            format!("`{}` is a network worker; Assay measures storage and leaves it out.", worker.name),
        ));
    }
}

/// A file of specifications alone runs each of them, in one worker; so does a file whose workers have none assigned.
fn assign_all(icf: &mut Icf, notes: &mut Vec<Note>) {
    if workers(icf).next().is_none() {
        icf.managers = vec![Manager { workers: vec![Worker::new("Worker 1", 0)], ..Manager::default() }];
        notes.push(Note::new(0, "The file has no disk worker; one worker with 1 outstanding I/O is used."));
    }
    if workers(icf).any(|worker| !worker.specs.is_empty()) {
        return;
    }
    let named = |is_wanted: fn(&&Spec) -> bool| -> Vec<(usize, String)> {
        icf.specs.iter().filter(is_wanted).map(|s| (s.line, s.name.clone())).collect()
    };
    let by_default = named(|spec| spec.is_default);
    let all = if by_default.is_empty() { named(|_| true) } else { by_default };
    notes.push(Note::new(
        0,
        format!(
            "No access specification is assigned to a worker; {} of the file run.",
            counted(all.len(), "specification")
        ),
    ));
    icf.managers.iter_mut().flat_map(|m| &mut m.workers).for_each(|worker| worker.specs.clone_from(&all));
}

/// The names of the targets of each worker, in order. A worker that never runs must not shift the positions of the
/// others' targets.
fn target_names(icf: &Icf, notes: &mut Vec<Note>) -> Vec<Vec<String>> {
    let several = icf.managers.iter().filter(|m| !m.workers.is_empty()).count() > 1;
    if several {
        notes
            .push(Note::new(0, "The file has several managers (hosts); all their workers run on this host."));
    }
    let of = |manager: &Manager, worker: &Worker| {
        let is_idle = worker.specs.iter().all(|(_, name)| name.eq_ignore_ascii_case("idle"));
        // C: of one host is not C: of another.
        let name =
            |target: &String| if several { format!("{} {target}", manager.name) } else { target.clone() };
        worker.targets.iter().filter(|_| !is_idle).map(name).collect()
    };
    icf.managers.iter().flat_map(|m| m.workers.iter().map(move |w| of(m, w))).collect()
}

/// What each worker does in a test: an index of a specification, or nothing.
type Assignment = Vec<Option<usize>>;

fn tests(
    origin: &str,
    icf: &Icf,
    targets: &TargetNames,
    notes: &mut Vec<Note>,
) -> Result<Vec<DraftTest>, ImportError> {
    let rows = workers(icf).map(|w| w.specs.len()).max().unwrap_or(0);
    let mut unknown: Vec<(usize, String)> = Vec::new();
    let mut tests: Vec<DraftTest> = Vec::new();
    let mut steps_left = STEPS_MAX;
    for row in 0..rows {
        let mut assigned: Assignment = Vec::new();
        for worker in workers(icf) {
            let spec = worker.specs.get(row).filter(|(_, name)| !name.eq_ignore_ascii_case("idle"));
            let found = spec.and_then(|(line, name)| {
                let found = icf.specs.iter().position(|s| s.name.eq_ignore_ascii_case(name));
                if found.is_none() && !unknown.iter().any(|(_, known)| known == name) {
                    unknown.push((*line, name.clone()));
                }
                found
            });
            assigned.push(found);
        }
        let made = row_tests(origin, icf, targets, &assigned)?;
        let count: usize = made.iter().map(|t| t.sweep.iter().map(|(_, v)| v.len()).product::<usize>()).sum();
        let too_many = || complain(origin, 0, format!("has more than {STEPS_MAX} load points"));
        steps_left = steps_left.checked_sub(count).ok_or_else(too_many)?;
        for test in made {
            let name = unique(&test.name, |name| tests.iter().any(|t| t.name == name));
            tests.push(DraftTest { name, ..test });
        }
    }
    notes.extend(unknown.iter().map(|(line, name)| {
        Note::new(
            *line,
            format!(
                "The assigned access specification `{}` is not in the file; its worker is idle.",
                shortened(name)
            ),
        )
    }));
    Ok(tests)
}

/// The tests of one row of assigned specifications: one, with what is cycled as a sweep where a sweep can say it, or
/// one for each step.
fn row_tests(
    origin: &str,
    icf: &Icf,
    targets: &TargetNames,
    assigned: &Assignment,
) -> Result<Vec<DraftTest>, ImportError> {
    let mut index = 0;
    let mut managers: Vec<Vec<usize>> = Vec::new();
    for manager in &icf.managers {
        let of_manager = manager.workers.iter().map(|_| {
            let at = index;
            index += 1;
            if assigned[at].is_some() { targets.count(at) } else { 0 }
        });
        managers.push(of_manager.collect());
    }
    if managers.iter().flatten().all(|count| *count == 0) {
        return Ok(Vec::new());
    }
    let steps = steps(icf, &managers);
    let mut sets: Vec<&CycleStep> = Vec::new();
    let mut depths: Vec<u64> = Vec::new();
    for step in &steps {
        if !sets.iter().any(|known| known.active == step.active) {
            sets.push(step);
        }
        depths.extend(step.outstanding.filter(|depth| !depths.contains(depth)));
    }
    if let Some(depth) = depths.iter().find(|depth| **depth > OUTSTANDING_MAX) {
        return Err(complain(
            origin,
            0,
            format!("cycles the queue depth to {depth}; Assay allows {OUTSTANDING_MAX}"),
        ));
    }
    let of = |step: &CycleStep| jobs(origin, icf, targets, assigned, step, depths.first().copied());
    let Some(last) = sets.last() else { return Ok(Vec::new()) };
    let widest = test(icf, of(last)?);
    let mut sweep = match sets.len() {
        1 => Vec::new(),
        _ => match swept(icf.test_type, &sets, &sets.iter().map(|s| of(s)).collect::<Result<Vec<_>, _>>()?) {
            Some(sweep) => vec![sweep],
            None => {
                let each = |step: &&CycleStep| {
                    let mut jobs = of(step)?;
                    for job in &mut jobs {
                        let spec =
                            icf.specs.iter().find(|s| s.mix == job.mix && job.name.starts_with(&s.name));
                        job.name = format!("{} {}", spec.map_or(&job.name, |s| &s.name), step.label);
                    }
                    number(&mut jobs);
                    Ok(test(icf, jobs))
                };
                return sets.iter().map(each).collect();
            }
        },
    };
    if depths.len() > 1 {
        sweep.push(("outstanding", depths.clone()));
    }
    Ok(vec![DraftTest { sweep, ..widest }])
}

/// What differs between the steps, where it is a number that a plan can sweep.
fn swept(
    test_type: TestType,
    sets: &[&CycleStep],
    jobs: &[Vec<DraftJob>],
) -> Option<(&'static str, Vec<u64>)> {
    let count = |step: &&CycleStep| step.active.iter().max().map(|count| *count as u64);
    if matches!(test_type, TestType::CycleTargets | TestType::CycleOutstandingAndTargets) {
        return Some(("targets", sets.iter().filter_map(count).collect()));
    }
    let single: Vec<&DraftJob> = jobs.iter().filter(|jobs| jobs.len() == 1).map(|jobs| &jobs[0]).collect();
    let (first, is_single) = (*single.first()?, single.len() == jobs.len());
    let with =
        |workers: u32, targets: &[u32]| DraftJob { workers, targets: targets.to_vec(), ..first.clone() };
    if is_single && single.iter().all(|job| **job == with(job.workers, &first.targets)) {
        return Some(("workers", single.iter().map(|job| job.workers.into()).collect()));
    }
    let last = *single.last()?;
    let is_prefix = |job: &&&DraftJob| {
        !job.targets.is_empty()
            && **job == &with(first.workers, &job.targets)
            && last.targets.starts_with(&job.targets)
    };
    (is_single && single.iter().filter(is_prefix).count() == single.len())
        .then(|| ("targets", single.iter().map(|job| job.targets.len() as u64).collect()))
}

fn test(icf: &Icf, jobs: Vec<DraftJob>) -> DraftTest {
    let mut names: Vec<&str> = Vec::new();
    for job in &jobs {
        let base = base_name(&job.name, |name| jobs.iter().any(|j| j.name == name && j.mix == job.mix));
        if !names.contains(&base) {
            names.push(base);
        }
    }
    DraftTest {
        name: crate::names::shortened(&names.join(" + ")),
        run: (icf.run > Nanos(0)).then_some(icf.run),
        warmup: icf.ramp,
        jobs,
        ..DraftTest::default()
    }
}

/// Equal workers as one job.
fn jobs(
    origin: &str,
    icf: &Icf,
    targets: &TargetNames,
    assigned: &Assignment,
    step: &CycleStep,
    depth: Option<u64>,
) -> Result<Vec<DraftJob>, ImportError> {
    let mut jobs: Vec<DraftJob> = Vec::new();
    for (index, worker) in workers(icf).enumerate() {
        let active = step.active.get(index).copied().unwrap_or(0);
        let Some(spec) = assigned[index].filter(|_| active > 0) else { continue };
        let outstanding = depth.unwrap_or(worker.outstanding);
        if outstanding == 0 || outstanding > OUTSTANDING_MAX {
            return Err(complain(
                origin,
                worker.line,
                format!(
                    "`{}` has {outstanding} outstanding I/Os; it must be from 1 to {OUTSTANDING_MAX}",
                    worker.name
                ),
            ));
        }
        let job = DraftJob {
            name: icf.specs[spec].name.clone(),
            targets: targets.of_user(index, active),
            workers: 1,
            outstanding: u32::try_from(outstanding).unwrap_or(1),
            reconnect_every: worker.reconnect_every.and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0),
            data: Some(worker.data.unwrap_or(default_data(icf))),
            mix: icf.specs[spec].mix.clone(),
            window: window(icf, worker),
            ..DraftJob::default()
        };
        match jobs.iter_mut().find(|known| DraftJob { workers: 1, ..(**known).clone() } == job) {
            Some(known) if u64::from(known.workers) < WORKERS_MAX => known.workers += 1,
            _ => jobs.push(job),
        }
    }
    number(&mut jobs);
    Ok(jobs)
}

/// Numbers jobs of equal names.
fn number(jobs: &mut [DraftJob]) {
    for index in 0..jobs.len() {
        let (before, rest) = jobs.split_at_mut(index);
        rest[0].name = unique(&rest[0].name, |name| before.iter().any(|job| job.name == name));
    }
}

/// Iometer 1.1.0 repeats one byte by default; versions before it had no choice of data and wrote one random buffer
/// again and again.
fn default_data(icf: &Icf) -> Data {
    match icf.version {
        [1, 1, _] | [0, 0, 0] => Data::IometerRepeating,
        _ => Data::IometerPseudoRandom,
    }
}

fn timing_notes(icf: &Icf, notes: &mut Vec<Note>) {
    if icf.run == Nanos(0) {
        notes.push(Note::new(
            0,
            "The run time is 0 (until stopped); each step runs 30 s. --set run=2min changes it.",
        ));
    }
    for worker in workers(icf) {
        if worker.reconnect_every == Some(0) {
            notes.push(Note::new(
                worker.line,
                format!(
                    "`{}` opens and closes its targets without any I/O between (0 transactions per \
                     connection); Assay leaves that out.",
                    worker.name
                ),
            ));
        }
    }
    if workers(icf).all(|w| w.data.is_none()) && default_data(icf) == Data::IometerPseudoRandom {
        notes.push(Note::new(
            0,
            "The file names no data pattern: writes repeat one pseudo-random buffer, as Iometer \
                 2006.07.27 and older do.",
        ));
    }
}

fn seed(icf: &Icf, notes: &mut Vec<Note>) -> Option<u64> {
    let mut seeds: Vec<u64> = workers(icf).filter_map(|w| w.seed).collect();
    seeds.dedup();
    match seeds.as_slice() {
        [] => None,
        [seed] if i64::try_from(*seed).is_ok() => Some(*seed),
        _ => {
            notes.push(Note::new(
                0,
                "The workers' fixed seeds differ or exceed 2^63-1; the plan has one seed, 1.",
            ));
            None
        }
    }
}

/// Returns the end of a worker's region, sectors; `None`: the end of the target.
fn end_sectors(worker: &Worker) -> Option<u64> {
    (worker.size_sectors > 0).then(|| worker.start_sector.saturating_add(worker.size_sectors))
}

/// The region of a worker, where it is not all that the plan uses.
fn window(icf: &Icf, worker: &Worker) -> Window {
    let bytes = |sectors: u64| Extent::Bytes(Bytes(sectors.saturating_mul(SECTOR_BYTES)));
    let last = workers(icf).filter_map(end_sectors).max();
    let reaches_end = worker.size_sectors == 0 || end_sectors(worker) == last;
    match (worker.start_sector, reaches_end) {
        (0, true) => Window::WHOLE,
        (start, true) => Window { offset: bytes(start), size: None },
        (start, false) => Window { offset: bytes(start), size: Some(bytes(worker.size_sectors)) },
    }
}

fn size(icf: &Icf, notes: &mut Vec<Note>) -> Option<Bytes> {
    let sectors = workers(icf).filter_map(end_sectors).max()?;
    let bytes = Bytes(sectors.saturating_mul(SECTOR_BYTES));
    if workers(icf).any(|worker| worker.size_sectors == 0) {
        notes.push(Note::new(
            0,
            format!(
                "Some workers have a maximum disk size and some have none; {sectors} sectors are used of each \
                 target."
            ),
        ));
    }
    notes.push(Note::new(
        0,
        format!(
            "{sectors} sectors of 512 bytes are {}. Iometer on Linux counts sectors of 4096 bytes: to compare with \
             results from there, use --size {}.",
            bytes.rounded(),
            Bytes(bytes.0.saturating_mul(8))
        ),
    ));
    Some(bytes)
}
