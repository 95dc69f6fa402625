//! A store with many runs, for benchmarks of lists and of pages.

use assay_record::{
    Event, FigureDigest, FindingDigest, Outcome, RunDigest, RunEvent, RunHeader, Severity, TestDigest,
};
use assay_store::{Completed, EventLines, Namesake, PackedExtract, Store, WholeEvents, WholeRun};
use assay_testkit::synthetic;

/// `ASSAY_BENCH_RUNS`, 10,000 where it is not set.
pub(crate) fn runs() -> u64 {
    std::env::var("ASSAY_BENCH_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(10_000)
}

const TARGETS: u64 = 12;

/// A year of nights on a dozen targets, written as imports are; the weight of events is put beside, where a list never
/// looks, in stores that are files. `extract` is what is kept beside a run with such events.
pub(crate) fn fill(
    store: &Store,
    events_mib: f64,
    extract: impl FnOnce(&RunHeader, &[Event]) -> PackedExtract,
) {
    let runs = runs();
    let plan = "name = \"vmware\"\n[[test]]\nname = \"RealLife\"\nrun = \"2s\"\n\
                access = [{ size = \"8KiB\", read = 65, random = 60 }]\noutstanding = 16\n";
    let header = synthetic::header(synthetic::plan(plan));
    let events = synthetic::events(&header, synthetic::Target::default());
    let raw = store.address().file().map(|path| rusqlite::Connection::open(path).unwrap());
    raw.iter().for_each(|raw| raw.execute_batch("PRAGMA synchronous = OFF").unwrap());
    let importer = store.importer().unwrap();
    let extract = extract(&header, &events);
    for number in 0..runs {
        let mut header = header.clone();
        header.started_unix_ms += number * 3_600_000 * 10_000 / runs;
        header.run = assay_store::new_run_id(header.started_unix_ms, number.wrapping_mul(0x9_E379));
        header.targets[0].address = format!("/srv/lun{}", number % TARGETS);
        header.host.name = format!("bench{}", number % 7);
        let label = format!("week {}", number * 50 / runs);
        let lines = [&events[1], events.last().unwrap()].map(|event| serde_json::to_string(event).unwrap());
        assert!(matches!(events.last().unwrap().what, RunEvent::Ended(Outcome::Done)));
        let mut lines = lines.into_iter().map(Ok);
        let events = WholeEvents::Lines { after_first: EventLines(&mut lines), outcome: Some(Outcome::Done) };
        let whole = WholeRun { header: &header, label: Some(&label), note: None, lost: None, events };
        let completed = Completed { digest: digest(&header, number), extract: extract.clone() };
        importer.add(whole, Namesake::Keep, Some(&completed)).unwrap();
        if let Some(raw) = &raw
            && events_mib > 0.0
        {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some MiB")]
            let body = vec![b'x'; (events_mib * 1024.0 * 1024.0) as usize];
            let weight = "INSERT INTO event (run_id, sequence, body)
                          SELECT id, 1000, ?2 FROM run WHERE run = ?1";
            raw.execute(weight, rusqlite::params![header.run, String::from_utf8(body).unwrap()]).unwrap();
        }
    }
}

fn digest(header: &RunHeader, number: u64) -> RunDigest {
    let near = |level: f64| {
        let value = level * (1.0 + (number % 17) as f64 / 200.0);
        FigureDigest { value, lo: Some(value * 0.98), hi: Some(value * 1.02) }
    };
    let pair = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let load = [
        ("access", "8KiB, 65 % read, 60 % random"),
        ("I/Os in flight", "16"),
        ("workers", "1"),
        ("pace", "closed"),
        ("reconnect every", "never"),
        ("write data", "unique"),
        ("verify", "no"),
        ("together with others", "no"),
    ];
    let under =
        [("target", header.targets[0].address.as_str()), ("span", "4GiB"), ("each write durable", "no")];
    let test = |name: &str| TestDigest {
        test: name.to_owned(),
        load: load.map(pair).to_vec(),
        measured_s: 120.0,
        iops: near(20_000.0),
        mib_per_s: near(156.0),
        iops_max: Some(23_000.0),
        mib_per_s_max: Some(180.0),
        mean_us: Some(near(800.0)),
        p50_us: Some(near(700.0)),
        p99_us: Some(near(2_500.0)),
        complete: true,
        ..TestDigest::default()
    };
    let finding = |rule: &str, severity| FindingDigest { rule: rule.to_owned(), severity };
    RunDigest {
        length_s: 500.0,
        planned_steps: 4,
        under: under.map(pair).to_vec(),
        tests: [
            "Max Throughput-100%Read",
            "RealLife-60%Rand-65%Read",
            "Max Throughput-50%Read",
            "Random-8k-70%Read",
        ]
        .map(test)
        .to_vec(),
        findings: match number % 10 {
            0 => vec![finding("errors", Severity::Critical), finding("outlier", Severity::Warning)],
            1..=3 => vec![finding("outlier", Severity::Warning)],
            _ => vec![finding("quick", Severity::Info)],
        },
        verdict: Some("The link is full: 112 of 117 MiB/s.".into()),
        spark: vec![0.5; RunDigest::SPARK_MAX],
        ..RunDigest::default()
    }
}
