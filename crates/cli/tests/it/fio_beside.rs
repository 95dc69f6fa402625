//! Ten job files under fio itself and under Assay's engine: the same reads, sizes and positions.
//!
//! fio writes the positions of its I/Os to a log (`write_iolog`); a target that notes them sees Assay's. Both run on a
//! target that does nothing, so no time is involved.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::{Arc, Mutex};

use assay_engine::{RunRequest, RunTargets, StopSignal, run_with};
use assay_interop::fio::{Surroundings, import};
use assay_interop::{ImportOptions, Strictness};
use assay_record::{MemberFacts, RunHeader, TargetFacts};
use assay_spec::{Overrides, PlanFile};
use assay_target::{
    Completion, Geometry, IoEngine, Member, NullTarget, Op, OpKind, OpenRequest, Target, TargetLost, Wait,
};
use assay_testkit::need;
use assay_testkit::story::{DONE, Story, count};
use assay_testkit::synthetic;

const JOBS: [(&str, &str); 10] = [
    ("uniform", include_str!("../fio/01-uniform.fio")),
    ("split", include_str!("../fio/02-bssplit.fio")),
    ("zipf", include_str!("../fio/03-zipf.fio")),
    ("pareto", include_str!("../fio/04-pareto.fio")),
    ("normal", include_str!("../fio/05-normal.fio")),
    ("zoned", include_str!("../fio/06-zoned.fio")),
    ("window", include_str!("../fio/07-window-fsync.fio")),
    ("sizes", include_str!("../fio/08-two-sizes.fio")),
    ("runs", include_str!("../fio/09-sequences.fio")),
    ("beside", include_str!("../fio/10-beside.fio")),
];
/// Size of the file. fio begins its positions anew after each pass over it, so no job is that long.
const SPAN: u64 = 4 << 30;
/// Jobs whose hot blocks lie anywhere.
const SCATTERED: [&str; 3] = ["zipf", "pareto", "normal"];
/// What the figures may differ by.
const TOLERANCE: f64 = 0.02;

/// An I/O: whether it reads, its size and its position, bytes.
type Io = (bool, u64, u64);

/// fio counts anew behind its ramp: `number_ios` is what the job moves after it. How many it moved before depends on
/// the host, so only those behind it are compared.
#[test]
fn ios_are_counted_anew_behind_a_ramp() {
    if !need::programs(&["fio"]) {
        return;
    }
    let story = Story::new();
    let job =
        "--name=x --rw=randread --bs=4k --size=8m --iodepth=1 --number_ios=300 --ramp_time=1 --rate_iops=200";
    let theirs = Command::new("fio")
        .arg(format!("--filename={}", story.path("theirs.dat").display()))
        .args(job.split(' '))
        .args(["--output-format=json"])
        .output()
        .unwrap();
    let theirs: serde_json::Value = serde_json::from_slice(&theirs.stdout).unwrap();
    assert_eq!(theirs.pointer("/jobs/0/read/total_ios").and_then(serde_json::Value::as_u64), Some(300));
    let ours = story.assay(&["run", &format!("fio {job}"), "ours.dat", "--json"]).ends(DONE).json();
    assert_eq!(count(&ours, "/tests/0/total/ops"), 300);
}

#[test]
fn ten_job_files_give_the_reads_sizes_and_positions_of_fio() {
    // A million I/Os each.
    if !need::slow() || !need::programs(&["fio"]) {
        return;
    }
    for (name, text) in JOBS {
        let theirs = under_fio(name, text);
        let ours = under_assay(name, text, &theirs);
        assert!(!ours.is_empty() && ours.len() == theirs.len(), "{name}: {} {}", ours.len(), theirs.len());
        for (job, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            let mut differences = differences(ours, theirs);
            if theirs.iter().all(|io| io.1 != 64 << 10) && !SCATTERED.contains(&name) {
                differences.push(("regions", regions(ours, theirs)));
            }
            let listed: Vec<String> =
                differences.iter().map(|(what, by)| format!("{what} {by:.4}")).collect();
            println!("{name} {job}: {} {} I/Os; {}", ours.len(), theirs.len(), listed.join(", "));
            assert!(
                differences.iter().all(|(_, by)| *by <= TOLERANCE),
                "{name} {job}: {}",
                listed.join(", ")
            );
        }
    }
}

/// The largest difference of each property, as a share of all I/Os.
fn differences(ours: &[Io], theirs: &[Io]) -> Vec<(&'static str, f64)> {
    let share = |ios: &[Io], of: &dyn Fn(&Io) -> bool| {
        ios.iter().filter(|io| of(io)).count() as f64 / ios.len() as f64
    };
    let sizes: std::collections::BTreeSet<u64> = ours.iter().chain(theirs).map(|io| io.1).collect();
    let by_size = sizes.iter().map(|size| {
        let of = |io: &Io| io.1 == *size;
        (share(ours, &of) - share(theirs, &of)).abs()
    });
    // Where hot blocks lie is chance; how hot they are is not.
    let curves = [hottest(ours), hottest(theirs)];
    let hot = curves[0].iter().zip(&curves[1]).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    let reads = |io: &Io| io.0;
    vec![
        ("reads", (share(ours, &reads) - share(theirs, &reads)).abs()),
        ("sizes", by_size.fold(0.0, f64::max)),
        ("hot blocks", hot),
        ("following", (share_of_successors(ours) - share_of_successors(theirs)).abs()),
    ]
}

/// The largest difference between the shares of the I/Os up to any position.
fn regions(ours: &[Io], theirs: &[Io]) -> f64 {
    const PARTS: u64 = 256;
    let shares = |ios: &[Io]| -> Vec<f64> {
        let mut counts = vec![0.0; usize::try_from(PARTS).unwrap()];
        ios.iter()
            .for_each(|io| counts[usize::try_from(io.2 / (SPAN / PARTS)).unwrap()] += 1.0 / ios.len() as f64);
        counts
            .iter()
            .scan(0.0, |sum, share| {
                *sum += share;
                Some(*sum)
            })
            .collect()
    };
    shares(ours).iter().zip(shares(theirs)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Shares of the I/Os that go to the hottest blocks of 4 KiB: the first, the first ten, and so on.
fn hottest(ios: &[Io]) -> Vec<f64> {
    let mut hits: BTreeMap<u64, u64> = BTreeMap::new();
    ios.iter().for_each(|io| *hits.entry(io.2 / 4096).or_default() += 1);
    let mut hits: Vec<u64> = hits.into_values().collect();
    hits.sort_unstable_by(|a, b| b.cmp(a));
    let share = |count: usize| hits.iter().take(count).sum::<u64>() as f64 / ios.len() as f64;
    [1, 10, 100, 1_000, 10_000, 30_000].map(share).to_vec()
}

/// Share of the I/Os that begin where the one before ended.
fn share_of_successors(ios: &[Io]) -> f64 {
    ios.windows(2).filter(|pair| pair[0].2 + pair[0].1 == pair[1].2).count() as f64 / ios.len() as f64
}

/// The I/Os of each job of the file under fio, in its order.
fn under_fio(name: &str, text: &str) -> Vec<Vec<Io>> {
    let story = Story::new();
    let mut log = 0;
    let mut file = String::new();
    for line in text.lines() {
        let is_left_out = ["rate_iops", "fsync", "iodepth"].iter().any(|option| line.starts_with(option));
        match line {
            _ if is_left_out => continue,
            "ioengine=libaio" => file.push_str("ioengine=null\n"),
            _ => file.push_str(&format!("{line}\n")),
        }
        if line.starts_with('[') && line != "[global]" {
            file.push_str(&format!("write_iolog=log.{log}\n"));
            log += 1;
        }
    }
    story.write("job.fio", &file);
    let ran = Command::new("fio").arg("job.fio").current_dir(story.path("")).output().unwrap();
    assert!(ran.status.success(), "{name}: {}", String::from_utf8_lossy(&ran.stderr));
    (0..log).map(|job| logged(&String::from_utf8(story.read(&format!("log.{job}"))).unwrap())).collect()
}

/// `[time] file read OFFSET SIZE` of fio's log.
fn logged(text: &str) -> Vec<Io> {
    let io = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words.iter().position(|word| matches!(*word, "read" | "write" | "trim"))?;
        Some((words[at] == "read", words.get(at + 2)?.parse().ok()?, words.get(at + 1)?.parse().ok()?))
    };
    text.lines().filter_map(io).collect()
}

/// The I/Os of each job of the file under Assay's engine.
fn under_assay(name: &str, text: &str, theirs: &[Vec<Io>]) -> Vec<Vec<Io>> {
    let surroundings = Surroundings { include: &|_| Err("none".to_owned()), variable: &|_| None };
    let options = ImportOptions { targets_given: Some(1), strictness: Strictness::Strict };
    // Rates give a mix other shares, and the job of fio runs without them too.
    let text: String =
        text.lines().filter(|line| !line.starts_with("rate_iops")).map(|line| format!("{line}\n")).collect();
    let imported =
        import("job.fio", &text, &surroundings, &options).unwrap_or_else(|e| panic!("{name}: {e}"));
    let file = PlanFile::parse("job.fio", &imported.plan).unwrap();
    let mut plan = file.resolve(&Overrides::default()).unwrap_or_else(|e| panic!("{name}: {e}"));
    let mut all = Vec::new();
    for test in std::mem::take(&mut plan.tests) {
        for index in 0..test.steps[0].jobs.len() {
            // Each job by itself, as fast as it goes: what is noted is then of that job.
            let mut alone = test.clone();
            let step = &mut alone.steps[0];
            step.jobs = vec![step.jobs[index].clone()];
            let job = &mut step.jobs[0];
            (job.pacing, job.flush, job.outstanding) = (assay_spec::Pacing::Closed, None, 1);
            (step.stop.ops, step.stop.bytes) = (Some(theirs[all.len()].len() as u64), None);
            plan.tests = vec![alone];
            all.push(run(&plan));
        }
    }
    all
}

fn run(plan: &assay_spec::Plan) -> Vec<Io> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let targets = RunTargets {
        members: vec![Member::Null { capacity_bytes: SPAN }],
        facts: vec![TargetFacts { address: "null:".to_owned(), member: MemberFacts::default() }],
        io: IoEngine::Psync,
        memory_bytes: 1 << 30,
    };
    let header = RunHeader { targets: targets.facts.clone(), ..synthetic::header(plan.clone()) };
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
        Ok(Noting { inner: NullTarget::new(request.spans(), request.depth), seen: Arc::clone(&seen) })
    };
    run_with(request, &opener, &mut |_| Ok(())).unwrap();
    std::mem::take(&mut *seen.lock().unwrap())
}

/// A null target that notes what is asked of it.
struct Noting {
    inner: NullTarget,
    seen: Arc<Mutex<Vec<Io>>>,
}

impl Target for Noting {
    fn geometry(&self) -> &Geometry {
        self.inner.geometry()
    }

    fn submit(&mut self, op: Op) -> Result<(), Op> {
        self.seen.lock().unwrap().push((op.kind == OpKind::Read, op.size_bytes.into(), op.offset_bytes));
        self.inner.submit(op)
    }

    fn poll(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), TargetLost> {
        self.inner.poll(wait, done)
    }

    fn reopen(&mut self, member: u32) -> Result<(), TargetLost> {
        self.inner.reopen(member)
    }
}
