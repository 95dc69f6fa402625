//! A plan as an `.icf` file of Iometer 1.1.0.
//!
//! In an `.icf` file depth and targets belong to a worker, not to a test, so each combination becomes a worker that
//! is idle in the tests of the others. Iometer's cycles are used where reading the file again gives the same steps;
//! other sweeps become one access specification for each step.

use std::fmt::Write as _;

use assay_spec::units::{Bytes, Nanos, SizeSpec};
use assay_spec::{Access, Data, Extent, Job, Overrides, Pacing, Plan, PlanFile, Semantics, Span, Step, Test};

use super::read::{TestType, cleaned};
use super::{SECTOR_BYTES, import};
use crate::ImportOptions;
use crate::names::base_name;

/// An `.icf` file, and what it cannot say of the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IcfExport {
    /// The file, with Windows line ends.
    pub text: String,
    /// Full sentences.
    pub notes: Vec<String>,
}

/// Writes a plan. `targets` are the names of its targets, where they are known.
pub fn export(plan: &Plan, targets: &[String]) -> IcfExport {
    let mut notes = Vec::new();
    let rows: Vec<Row<'_>> = plan.tests.iter().flat_map(unrolled).collect();
    let plain =
        Cycle { test_type: TestType::Normal, lines: [ONCE.to_owned(), ONCE.to_owned(), DEPTHS.to_owned()] };
    let cycled = cycles(plan).into_iter().find_map(|cycle| {
        let rows: Vec<Row<'_>> = plan.tests.iter().filter_map(widest).collect();
        let text = write(plan, &rows, &cycle, targets, &mut Vec::new());
        reads_back(&text, plan).then_some((cycle, rows))
    });
    let (cycle, rows) = cycled.unwrap_or((plain, rows));
    let text = write(plan, &rows, &cycle, targets, &mut notes);
    plan_notes(plan, &mut notes);
    notes.dedup();
    IcfExport { text, notes }
}

/// A test as Iometer runs it: jobs side by side.
struct Row<'p> {
    name: String,
    step: &'p Step,
}

fn unrolled(test: &Test) -> Vec<Row<'_>> {
    let name = |step: &Step| cleaned(format!("{} {}", test.name, step.label()).trim());
    test.steps.iter().map(|step| Row { name: name(step), step }).collect()
}

/// The step of a sweep that has all workers and targets.
fn widest(test: &Test) -> Option<Row<'_>> {
    test.steps.last().map(|step| Row { name: cleaned(&test.name), step })
}

/// What the file says about cycling: the lines of workers, of targets and of queue depths.
struct Cycle {
    test_type: TestType,
    lines: [String; 3],
}

const ONCE: &str = "1          1          LINEAR";
const DEPTHS: &str = "1          32         2          EXPONENTIAL";

/// The cycles that might say what the plan sweeps.
fn cycles(plan: &Plan) -> Vec<Cycle> {
    let Some(first) = plan.tests.first() else { return Vec::new() };
    let values = |key: &str| -> Vec<u64> {
        let mut values: Vec<u64> = Vec::new();
        let swept = first.steps.iter().flat_map(|s| &s.swept).filter(|s| s.key == key);
        for value in swept.filter_map(|s| s.value.parse().ok()) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values
    };
    let [workers, targets, depths] = ["workers", "targets", "outstanding"].map(values);
    let once =
        |values: &[u64]| series(values).map(|(step, kind)| format!("{:<10} {step:<10} {kind}", values[0]));
    let lines = [
        once(&workers).unwrap_or(ONCE.to_owned()),
        once(&targets).unwrap_or(ONCE.to_owned()),
        series(&depths).map_or(DEPTHS.to_owned(), |(step, kind)| {
            format!("{:<10} {:<10} {step:<10} {kind}", depths[0], depths[depths.len() - 1])
        }),
    ];
    let types: &[TestType] = match (workers.is_empty(), targets.is_empty(), depths.is_empty()) {
        (true, true, false) => &[TestType::CycleOutstanding],
        (true, false, false) => &[TestType::CycleOutstandingAndTargets],
        (true, false, true) => &[TestType::CycleTargets, TestType::IncrementTargetsSerial],
        (false, true, true) => &[TestType::CycleWorkers],
        _ => &[],
    };
    types.iter().map(|test_type| Cycle { test_type: *test_type, lines: lines.clone() }).collect()
}

/// The step between values, and how they grow. The last may be smaller than the series says: there are no more.
fn series(values: &[u64]) -> Option<(u64, &'static str)> {
    let (first, second) = match values {
        [] => return None,
        [_] => return Some((1, "LINEAR")),
        [first, second, ..] => (*first, *second),
    };
    let fits = |next: &dyn Fn(u64) -> Option<u64>| {
        values.windows(2).enumerate().all(|(index, pair)| {
            let expected = next(pair[0]);
            expected == Some(pair[1]) || (index + 2 == values.len() && expected.is_some_and(|e| pair[1] <= e))
        })
    };
    let step = second.checked_sub(first).filter(|step| *step > 0)?;
    if fits(&|value| value.checked_add(step)) {
        return Some((step, "LINEAR"));
    }
    let factor = second / first.max(1);
    fits(&|value| value.checked_mul(factor)).then_some((factor, "EXPONENTIAL"))
}

fn reads_back(text: &str, plan: &Plan) -> bool {
    let imported = import("plan.icf", text, &ImportOptions::default()).ok();
    let file = imported.and_then(|imported| PlanFile::parse("plan.icf", &imported.plan).ok());
    file.and_then(|file| file.resolve(&Overrides::default()).ok()).is_some_and(|read| {
        let shape = |plan: &Plan| -> Vec<(String, Vec<Step>)> {
            let of = |t: &Test| (cleaned(&t.name), t.steps.clone());
            plan.tests.iter().map(of).collect()
        };
        shape(&read) == shape(plan)
    })
}

/// A worker of the file: what belongs to it, and the specification of each row; `None` where it is idle.
struct Slot<'p> {
    job: &'p Job,
    rows: Vec<Option<String>>,
}

/// Whether two jobs may be done by one worker.
fn is_alike(a: &Job, b: &Job) -> bool {
    (&a.targets, a.outstanding, a.reconnect_every, pattern(a.data))
        == (&b.targets, b.outstanding, b.reconnect_every, pattern(b.data))
}

fn pattern(data: Data) -> u8 {
    match data {
        Data::IometerRepeating => 0,
        Data::IometerPseudoRandom => 1,
        Data::IometerFullRandom | Data::Unique | Data::Reducible { .. } => 2,
    }
}

fn write(
    plan: &Plan,
    rows: &[Row<'_>],
    cycle: &Cycle,
    targets: &[String],
    notes: &mut Vec<String>,
) -> String {
    let mut specs: Vec<(String, Vec<Access>)> = Vec::new();
    let mut slots: Vec<Slot<'_>> = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        // Workers follow each other as the jobs do.
        let mut next = 0;
        for job in &row.step.jobs {
            let name = spec_name(&mut specs, row, job);
            for _ in 0..job.workers {
                let at = slots[next..].iter().position(|slot| is_alike(slot.job, job));
                let at = at.map_or(slots.len(), |at| next + at);
                if at == slots.len() {
                    slots.push(Slot { job, rows: Vec::new() });
                }
                slots[at].rows.resize(index, None);
                slots[at].rows.push(Some(name.clone()));
                next = at + 1;
            }
        }
    }
    let mut text = String::from("Version 1.1.0 \n");
    put_setup(&mut text, plan, rows, cycle, notes);
    put_display(&mut text);
    put_specs(&mut text, &specs, notes);
    let names = target_names(plan, targets);
    put_managers(&mut text, plan, &slots, &names, notes);
    text.push_str("Version 1.1.0 \n");
    text.replace('\n', "\r\n")
}

/// The name of the specification of a job, added where it is new. A number behind the name, which tells equal names
/// apart in a plan, is left out.
fn spec_name(specs: &mut Vec<(String, Vec<Access>)>, row: &Row<'_>, job: &Job) -> String {
    let mix = percents(&job.mix);
    let job_name = cleaned(&job.name);
    let joined = || {
        let mut names: Vec<String> = Vec::new();
        for other in &row.step.jobs {
            let other_name = cleaned(&other.name);
            let is_known =
                |name: &str| row.step.jobs.iter().any(|j| cleaned(&j.name) == name && j.mix == other.mix);
            let base = base_name(&other_name, is_known).to_owned();
            if !names.contains(&base) {
                names.push(base);
            }
        }
        names.join(" + ")
    };
    let row_base = base_name(&row.name, |_| true).to_owned();
    let name = match row.step.jobs.len() {
        1 => row.name.clone(),
        _ if [&row.name, &row_base].contains(&&joined()) => job_name,
        _ => format!("{}: {job_name}", row.name),
    };
    let known = |specs: &[(String, Vec<Access>)], name: &str| {
        specs.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, known)| *known == mix)
    };
    let base = base_name(&name, |base| known(specs, base) == Some(true)).to_owned();
    let mut free = base.clone();
    for number in 2.. {
        match known(specs, &free) {
            Some(true) => break,
            None => {
                specs.push((free.clone(), mix));
                break;
            }
            Some(false) => free = format!("{base} ({number})"),
        }
    }
    free
}

/// The mix with weights that sum to 100, as Iometer demands, and whole percents.
fn percents(mix: &[Access]) -> Vec<Access> {
    let total: u64 = mix.iter().map(|a| u64::from(a.weight)).sum::<u64>().max(1);
    let mut lines: Vec<Access> = mix
        .iter()
        .map(|a| Access {
            weight: u32::try_from(u64::from(a.weight) * 100 / total).unwrap_or(0),
            read: a.read.round(),
            random: a.random.round(),
            ..a.clone()
        })
        .collect();
    // What rounding down lost goes to the lines that lost most.
    let lost = 100_u32.saturating_sub(lines.iter().map(|a| a.weight).sum());
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(u64::from(mix[*at].weight) * 100 % total));
    for at in order.into_iter().cycle().take(lost as usize) {
        lines[at].weight += 1;
    }
    lines
}

fn put_setup(text: &mut String, plan: &Plan, rows: &[Row<'_>], cycle: &Cycle, notes: &mut Vec<String>) {
    let seconds = |time: Nanos| time.0.div_ceil(1_000_000_000);
    let times: Vec<(u64, u64)> =
        rows.iter().map(|row| (seconds(row.step.stop.time), seconds(row.step.warmup))).collect();
    let (run, ramp) = times.iter().fold((0, 0), |(run, ramp), time| (run.max(time.0), ramp.max(time.1)));
    if times.iter().any(|time| *time != (run, ramp)) {
        notes.push(format!(
            "An .icf file has one run time for all tests: the longest, {run} s after {ramp} s."
        ));
    }
    let test_type =
        TestType::ALL.iter().find(|(_, t)| *t == cycle.test_type).map_or("NORMAL", |(name, _)| name);
    let [workers, targets, depths] = &cycle.lines;
    let _ = write!(
        text,
        "{}'Test Description\n\t{}\n'Run Time\n'\thours      minutes    seconds\n\t{:<10} {:<10} {}\n'Ramp Up Time \
         (s)\n\t{ramp}\n'Default Disk Workers to Spawn\n\tNUMBER_OF_CPUS\n'Default Network Workers to \
         Spawn\n\t0\n'Record Results\n\tALL\n'Worker Cycling\n'\tstart      step       step type\n\t{workers}\n'Disk \
         Cycling\n'\tstart      step       step type\n\t{targets}\n'Queue Depth Cycling\n'\tstart      end        \
         step       step type\n\t{depths}\n'Test Type\n\t{test_type}\n'END test setup\n",
        header("TEST SETUP"),
        one_line(&plan.name),
        run / 3600,
        run / 60 % 60,
        run % 60,
    );
}

/// The header of a section, padded to 80 columns as Iometer does.
fn header(name: &str) -> String {
    format!("{:=<80}\n", format!("'{name} "))
}

/// A value that no reader takes for a key.
fn one_line(text: &str) -> String {
    let text: String = cleaned(text).chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    text.trim_start_matches(['\'', ' ']).to_owned()
}

fn put_display(text: &mut String) {
    const CHARTS: [&str; 6] = [
        "Total I/Os per Second",
        "Total MBs per Second (Decimal)",
        "Average I/O Response Time (ms)",
        "Maximum I/O Response Time (ms)",
        "% CPU Utilization (total)",
        "Total Error Count",
    ];
    text.push_str(&header("RESULTS DISPLAY"));
    text.push_str("'Record Last Update Results,Update Frequency,Update Type\n\tDISABLED,1,LAST_UPDATE\n");
    for (number, chart) in (1..).zip(CHARTS) {
        let _ = write!(text, "'Bar chart {number} statistic\n\t{chart}\n");
    }
    text.push_str("'END results display\n");
}

fn put_specs(text: &mut String, specs: &[(String, Vec<Access>)], notes: &mut Vec<String>) {
    text.push_str(&header("ACCESS SPECIFICATIONS"));
    for (name, mix) in specs {
        let name = one_line(name);
        let _ = write!(
            text,
            "'Access specification name,default assignment\n\t{name},NONE\n'size,% of size,% reads,% \
             random,delay,burst,align,reply\n",
        );
        for a in mix {
            let delay_ms = a.delay.0.div_ceil(1_000_000);
            if delay_ms * 1_000_000 != a.delay.0 {
                notes.push(format!("\"{name}\": the delay is rounded up to whole milliseconds."));
            }
            let Access { size, weight, read, random, burst, align, reply, .. } = a;
            let _ = writeln!(
                text,
                "\t{},{weight},{read},{random},{delay_ms},{burst},{},{}",
                size.0, align.0, reply.0
            );
        }
    }
    text.push_str("'END access specifications\n");
}

/// A name for each target that the plan uses by its number; a single one where all jobs use all.
fn target_names(plan: &Plan, targets: &[String]) -> Vec<String> {
    let used = plan.jobs().flat_map(|job| &job.targets).map(|at| *at as usize + 1).max().unwrap_or(1);
    let name = |at: usize| targets.get(at).map_or(format!("Target {}", at + 1), |name| one_line(name));
    (0..used.max(targets.len())).map(name).collect()
}

fn put_managers(
    text: &mut String,
    plan: &Plan,
    slots: &[Slot<'_>],
    names: &[String],
    notes: &mut Vec<String>,
) {
    let sectors = match plan.span {
        Span::Size(SizeSpec::Bytes(Bytes(bytes))) => {
            if !bytes.is_multiple_of(SECTOR_BYTES) {
                notes.push("The size is rounded down to whole sectors of 512 bytes.".to_owned());
            }
            bytes / SECTOR_BYTES
        }
        Span::Size(size @ SizeSpec::TimesRam(_)) => {
            notes.push(format!("The size ({size}) depends on the host; the file has 0, the whole target."));
            0
        }
        Span::Whole => 0,
    };
    let seed = if plan.seed == 1 { "DISABLED,0".to_owned() } else { format!("ENABLED,{}", plan.seed) };
    text.push_str(&header("MANAGER LIST"));
    text.push_str("'Manager ID, manager name\n\t1,Assay\n'Manager network address\n\t\n");
    for (number, slot) in (1..).zip(slots) {
        let job = slot.job;
        let (size, start) = region(job, sectors);
        let connect = job.reconnect_every.map_or("DISABLED,1".to_owned(), |every| format!("ENABLED,{every}"));
        let _ = write!(
            text,
            "'Worker\n\tWorker {number}\n'Worker type\n\tDISK\n'Default target settings for worker\n'Number of \
             outstanding IOs,test connection rate,transactions per connection,use fixed seed,fixed seed \
             value\n\t{},{connect},{seed}\n'Disk maximum size,starting sector,Data \
             pattern\n\t{size},{start},{}\n'End default target settings for worker\n'Assigned access specs\n",
            job.outstanding,
            pattern(job.data),
        );
        for row in &slot.rows {
            let _ = writeln!(text, "\t{}", row.as_deref().map_or("Idle".to_owned(), one_line));
        }
        text.push_str("'End assigned access specs\n'Target assignments\n");
        let all = || (0..names.len()).collect();
        let own: Vec<usize> =
            if job.targets.is_empty() { all() } else { job.targets.iter().map(|t| *t as usize).collect() };
        for name in own.iter().filter_map(|at| names.get(*at)) {
            let _ = write!(text, "'Target\n\t{name}\n'Target type\n\tDISK\n'End target\n");
        }
        text.push_str("'End target assignments\n'End worker\n");
    }
    text.push_str("'End manager\n'END manager list\n");
}

/// What no `.icf` file can say.
/// Maximum size and starting sector of a job's window; `sectors` are those of the plan, 0 for the whole target.
fn region(job: &Job, sectors: u64) -> (u64, u64) {
    if let Some(span) = job.span {
        return (span.0 / SECTOR_BYTES, 0);
    }
    let (Extent::Bytes(Bytes(offset)), size) = (job.window.offset, job.window.size) else {
        return (sectors, 0);
    };
    let start = offset / SECTOR_BYTES;
    match size {
        None => (sectors.saturating_sub(start), start),
        Some(Extent::Bytes(Bytes(size))) => (size / SECTOR_BYTES, start),
        Some(Extent::Percent(_)) => (sectors, 0),
    }
}

fn plan_notes(plan: &Plan, notes: &mut Vec<String>) {
    if plan.semantics == Semantics::Assay {
        notes.push(
            "The plan has Assay semantics; Iometer shares one position among reads, writes and random I/O, and among \
             workers."
                .to_owned(),
        );
    }
    let jobs = || plan.jobs();
    let is_share = |extent: Extent| matches!(extent, Extent::Percent(_));
    if jobs().any(|job| is_share(job.window.offset) || job.window.size.is_some_and(is_share)) {
        notes.push("Windows in percent are left out: Iometer counts sectors.".to_owned());
    }
    if jobs().any(|job| job.flush.is_some() || job.start_delay > Nanos(0)) {
        notes.push("Iometer has no flushes and starts all workers together; both are left out.".to_owned());
    }
    let lines = || jobs().flat_map(|job| &job.mix);
    if lines().any(|line| !line.distribution.is_uniform() || line.sequence > 1) {
        notes.push("Random positions become evenly distributed and independent.".to_owned());
    }
    if lines().any(Access::trims) {
        notes.push("Iometer cannot trim; trims become writes.".to_owned());
    }
    if jobs().any(|job| job.pacing != Pacing::Closed) {
        notes.push("Rates are left out: Iometer issues the next I/O when one completes.".to_owned());
    }
    if jobs().any(|job| matches!(job.data, Data::Unique | Data::Reducible { .. })) {
        notes.push("The data of writes becomes \"full random\", which repeats after 16 MiB.".to_owned());
    }
    let is_whole = |a: &Access| a.read.fract() == 0.0 && a.random.fract() == 0.0;
    let sums = |job: &Job| job.mix.iter().map(|a| u64::from(a.weight)).sum::<u64>() == 100;
    if jobs().any(|job| !job.mix.iter().all(is_whole) || (job.mix.len() > 1 && !sums(job))) {
        notes.push("Shares are rounded to whole percents.".to_owned());
    }
    let steps = || plan.tests.iter().flat_map(|t| &t.steps);
    if steps().any(|s| s.stop.bytes.is_some() || s.stop.ops.is_some()) {
        notes.push("Tests end by time only; limits of bytes and I/Os are left out.".to_owned());
    }
    if steps().any(|s| s.verify) {
        notes.push("Iometer cannot check what it reads; verify is left out.".to_owned());
    }
}
