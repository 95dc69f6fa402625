//! Job files under fio itself and under Assay's engine, I/O by I/O: the same I/Os, bytes and blocks of every file, in
//! each direction.
//!
//! fio says what it queues (`--debug=io`), on an engine that does nothing; a target that notes what is asked of it sees
//! Assay's. FIO names another fio than the one in PATH; FIO_EQUAL a folder with further job files, for a table of them.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::sync::{Arc, Mutex};

use assay_engine::{RunRequest, RunTargets, StopSignal, run_with};
use assay_interop::fio::{Surroundings, import};
use assay_interop::{ImportOptions, ImportedPlan, Strictness};
use assay_record::{MemberFacts, RunHeader, TargetFacts};
use assay_spec::{Extent, Overrides, Plan, PlanFile, Window};
use assay_target::{
    Completion, Geometry, IoEngine, Member, NullTarget, Op, OpKind, OpenRequest, Target, TargetLost, Wait,
};
use assay_testkit::story::Story;
use assay_testkit::synthetic;

/// Job files, each under a line `== NAME`; a name that ends in `~` is of a job whose counts depend on time, one that
/// ends in `+` is of a job that newer versions of fio ([`NEWER`]) run in another way than older ones.
const JOBS: &str = include_str!("equal.txt");
/// The version from which on fio does what Assay does, where versions differ; 3.33 does not.
const NEWER: (u32, u32) = (3, 42);
/// What figures may differ by.
const TOLERANCE: f64 = 0.02;
/// Size of a file whose job states none, bytes.
const SPAN: u64 = 16 << 20;
/// I/Os of which a share is known well enough.
const MANY: u64 = 1000;
/// Where the name of a target ends and its number begins.
const FAMILY: &str = "null:equal-";

/// A set of blocks, a bit each: some jobs visit millions.
#[derive(Debug, Clone, Default, PartialEq)]
struct Blocks(Vec<u64>);

impl Blocks {
    fn add(&mut self, from: u64, to: u64) {
        for word in from / 64..to.div_ceil(64) {
            let (low, high) = (from.saturating_sub(word * 64), (to - word * 64).min(64));
            let index = usize::try_from(word).unwrap();
            if self.0.len() <= index {
                self.0.resize(index + 1, 0);
            }
            self.0[index] |= u64::MAX >> (64 - (high - low)) << low;
        }
    }

    fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

/// What went to a file in one direction.
#[derive(Debug, Clone, Default, PartialEq)]
struct Seen {
    ios: u64,
    bytes: u64,
    blocks: Blocks,
    sizes: BTreeMap<u64, u64>,
    /// Those that begin where the one before of the same clone ended.
    following: u64,
}

impl Seen {
    fn add(&mut self, offset: u64, size: u64, end: &mut u64) {
        self.ios += 1;
        self.bytes += size;
        self.blocks.add(offset / 512, (offset + size).div_ceil(512));
        *self.sizes.entry(size).or_default() += 1;
        self.following += u64::from(offset == *end);
        *end = offset + size;
    }

    /// The properties that are compared: what, how much, and of how much a difference is a share.
    fn figures(&self) -> BTreeMap<String, (f64, f64)> {
        let (ios, blocks) = (self.ios as f64, self.blocks.count() as f64);
        let mut figures = BTreeMap::from([
            ("I/Os".to_owned(), (ios, ios)),
            ("bytes".to_owned(), (self.bytes as f64, self.bytes as f64)),
            ("blocks".to_owned(), (blocks, blocks)),
        ]);
        // Of few random I/Os, how many follow one another is chance.
        if self.ios >= MANY {
            figures.insert("following".to_owned(), (self.following as f64, ios));
        }
        for (size, count) in &self.sizes {
            figures.insert(format!("of {size} B"), (*count as f64, ios));
        }
        figures
    }
}

/// What went where: by file and direction (`r`, `w`, `t`).
type Traffic = BTreeMap<(String, char), Seen>;

/// Whether the counts of a job depend on time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counts {
    Fixed,
    OfTime,
}

/// Runs a job file under both; returns a row of the table, and whether they did the same.
pub(crate) fn compared(name: &str, text: &str) -> (String, bool) {
    let (theirs, ours) = (under_fio(name, text), under_assay(name, text));
    let (row, is_equal) = match ours {
        Ok((ours, notes)) => {
            let (off, what) = difference(&theirs, &ours);
            (format!("{} {off:.4} {what} ({notes} notes)", total(&theirs)), off <= TOLERANCE)
        }
        Err(why) => (format!("refused: {why}"), false),
    };
    (format!("{name:<40} {row}"), is_equal)
}

/// The job files whose counts are such, or those of the folder that the environment names.
pub(crate) fn cases(counts: Counts) -> Vec<(String, String)> {
    let own = JOBS.split("== ").skip(1).filter_map(|case| case.split_once('\n'));
    let mut cases: Vec<(String, String)> =
        own.map(|(name, text)| (name.trim().to_owned(), text.to_owned())).collect();
    if let Ok(folder) = std::env::var("FIO_EQUAL") {
        let mut paths: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        let read = |path: std::path::PathBuf| {
            (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(path).unwrap())
        };
        cases = paths.into_iter().map(read).collect();
    }
    let is_newer = is_newer();
    let is_asked = |name: &str| match name.chars().last() {
        Some('~') => counts == Counts::OfTime,
        Some('+') => counts == Counts::Fixed && is_newer,
        _ => counts == Counts::Fixed,
    };
    cases.retain(|(name, _)| is_asked(name));
    cases
}

fn total(traffic: &Traffic) -> String {
    let (ios, bytes) = traffic.values().fold((0, 0), |(ios, bytes), s| (ios + s.ios, bytes + s.bytes));
    format!(
        "{ios} I/Os, {bytes} B, {} files;",
        traffic.keys().map(|(file, _)| file).collect::<BTreeSet<_>>().len()
    )
}

/// The largest difference of any figure, as a share, and what differs.
fn difference(theirs: &Traffic, ours: &Traffic) -> (f64, String) {
    let keys: BTreeSet<_> = theirs.keys().chain(ours.keys()).collect();
    let none = Seen::default();
    let mut worst = (0.0, "equal".to_owned());
    for key in keys {
        let (a, b) = (theirs.get(key).unwrap_or(&none).figures(), ours.get(key).unwrap_or(&none).figures());
        let whole = theirs.get(key).unwrap_or(&none).ios.max(1) as f64;
        for what in a.keys().chain(b.keys()) {
            let ((theirs, of), (ours, _)) =
                (a.get(what).copied().unwrap_or((0.0, whole)), b.get(what).copied().unwrap_or((0.0, whole)));
            let off = (theirs - ours).abs() / of.max(1.0);
            if off > worst.0 {
                worst = (off, format!("{} {}: {what} {theirs} there, {ours} here", key.0, key.1));
            }
        }
    }
    worst
}

/// The fio that is compared with.
fn fio() -> String {
    std::env::var("FIO").unwrap_or_else(|_| "fio".to_owned())
}

/// Whether it is one of the newer versions.
fn is_newer() -> bool {
    let said = Command::new(fio()).arg("--version").output().unwrap().stdout;
    let said = String::from_utf8_lossy(&said).trim().trim_start_matches("fio-").to_owned();
    let mut numbers = said.split(['.', '-']).map(|part| part.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= NEWER
}

fn under_fio(name: &str, text: &str) -> Traffic {
    let story = Story::new();
    // At a greater depth it names what it queues twice.
    let line = |line: &str| match line.split('=').next() {
        Some("ioengine") => "ioengine=null\n".to_owned(),
        Some("iodepth") => "iodepth=1\n".to_owned(),
        _ => format!("{line}\n"),
    };
    let text: String = text.lines().map(line).collect();
    story.write("job.fio", &text);
    let ran =
        Command::new(fio()).args(["--debug=io", "job.fio"]).current_dir(story.path("")).output().unwrap();
    assert!(ran.status.success(), "{name}: {}", String::from_utf8_lossy(&ran.stderr));
    let (mut traffic, mut ends) = (Traffic::new(), BTreeMap::new());
    for line in String::from_utf8_lossy(&ran.stdout).lines().filter(|line| line.contains(" queue: io_u ")) {
        let field =
            |key: &str| line.split(key).nth(1).and_then(|rest| rest.split(',').next()).unwrap_or_default();
        let number = |key: &str| u64::from_str_radix(field(key).trim_start_matches("0x"), 16).unwrap();
        let way = match field("ddir=") {
            "0" => 'r',
            "1" => 'w',
            "2" => 't',
            _ => continue,
        };
        let (file, clone) =
            (field("file=").trim().to_owned(), line.split_whitespace().nth(1).map(str::to_owned));
        let end = ends.entry((clone, file.clone(), way)).or_default();
        traffic.entry((file, way)).or_default().add(number("off="), number("len="), end);
    }
    traffic
}

fn under_assay(name: &str, text: &str) -> Result<(Traffic, usize), String> {
    let surroundings = Surroundings { include: &|_| Err("none".to_owned()), variable: &|_| None };
    let options = ImportOptions { targets_given: None, strictness: Strictness::Strict };
    let imported = import("job.fio", text, &surroundings, &options).map_err(|error| error.to_string())?;
    let plan = PlanFile::parse("job.fio", &imported.plan)
        .and_then(|file| file.resolve(&Overrides::default()))
        .map_err(|error| format!("{name}: {error}\n{}", imported.plan))?;
    let notes = imported.notes.len();
    Ok((run(&imported, plan), notes))
}

fn run(imported: &ImportedPlan, mut plan: Plan) -> Traffic {
    for job in plan.tests.iter_mut().flat_map(|test| &mut test.steps).flat_map(|step| &mut step.jobs) {
        // A member is known by its capacity, so a job must not narrow it.
        if let Some(span) = job.span.take() {
            job.window = Window { size: Some(Extent::Bytes(span)), ..Window::WHOLE };
        }
    }
    let span = match plan.span {
        assay_spec::Span::Size(assay_spec::units::SizeSpec::Bytes(bytes)) => bytes.0,
        _ => SPAN,
    };
    let facts = |index| TargetFacts { address: format!("{FAMILY}{index}"), member: MemberFacts::default() };
    // The capacity tells a worker's view of a member which one it is.
    let capacity = |index: usize| span + index as u64 * 512;
    let count = imported.targets.len().max(1);
    let targets = RunTargets {
        members: (0..count).map(|index| Member::Null { capacity_bytes: capacity(index) }).collect(),
        facts: (0..count).map(facts).collect(),
        io: IoEngine::Psync,
        memory_bytes: 1 << 30,
    };
    let header = RunHeader { targets: targets.facts.clone(), ..synthetic::header(plan) };
    let seen = Arc::new(Mutex::new(Traffic::new()));
    let request = RunRequest {
        header,
        targets: &targets,
        warnings: vec![],
        stop: StopSignal::default(),
        cpus: vec![],
        start: assay_engine::CommonStart::default(),
        enough: Default::default(),
    };
    let opener = |request: &OpenRequest<'_>| {
        let names = request.members.iter().map(|member| {
            let Member::Null { capacity_bytes } = member else { unreachable!("all are null") };
            let index = usize::try_from((capacity_bytes - span) / 512).unwrap();
            imported.targets.get(index).cloned().unwrap_or_default()
        });
        let names = names.collect();
        let inner = NullTarget::new(request.spans(), request.depth);
        Ok(Noting { inner, names, ends: BTreeMap::new(), seen: Arc::clone(&seen) })
    };
    run_with(request, &opener, &mut |_| Ok(())).unwrap();
    std::mem::take(&mut *seen.lock().unwrap())
}

/// A null target that notes what is asked of it.
struct Noting {
    inner: NullTarget,
    names: Vec<String>,
    /// Where the last I/O of each direction ended on each file.
    ends: BTreeMap<(u32, char), u64>,
    seen: Arc<Mutex<Traffic>>,
}

impl Target for Noting {
    fn geometry(&self) -> &Geometry {
        self.inner.geometry()
    }

    fn submit(&mut self, op: Op) -> Result<(), Op> {
        let way = match op.kind {
            OpKind::Read => 'r',
            OpKind::Write => 'w',
            OpKind::Trim => 't',
            OpKind::Flush(_) => return self.inner.submit(op),
        };
        let file = self.names[op.member as usize].clone();
        let end = self.ends.entry((op.member, way)).or_default();
        self.seen.lock().unwrap().entry((file, way)).or_default().add(
            op.offset_bytes,
            op.size_bytes.into(),
            end,
        );
        self.inner.submit(op)
    }

    fn poll(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), TargetLost> {
        self.inner.poll(wait, done)
    }

    fn reopen(&mut self, member: u32) -> Result<(), TargetLost> {
        self.inner.reopen(member)
    }
}
