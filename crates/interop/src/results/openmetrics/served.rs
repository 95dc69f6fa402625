//! What a server exports for Prometheus: the last value of each test per target, what runs now, faults, baselines.

use assay_record::{FigureDigest, HostDigest, TestDigest};

use super::exposition::{About, Exposition, Kind, Labels};

const BYTES_OF_MIB: f64 = 1_048_576.0;

/// Everything that is exported at one moment. No secret is in it: addresses are as the store keeps them.
#[derive(Debug, Clone, Default)]
pub struct Served<'s> {
    /// Of each test of each plan on each target, the last that was completed.
    pub last: Vec<LastValue<'s>>,
    /// Steps that are measured now.
    pub live: Vec<LiveStep<'s>>,
    /// The last check of each target.
    pub checked: Vec<CheckedTarget<'s>>,
    /// Figures of the last run against the baseline of its plan and target.
    pub baselines: Vec<BaselineFigure<'s>>,
    /// Number of runs in the store, by how they ended.
    pub stored: Vec<StoredRuns<'s>>,
}

/// The last complete result of a test on a target.
#[derive(Debug, Clone)]
pub struct LastValue<'s> {
    /// Its name in the store.
    pub target: &'s str,
    /// Number of targets of the run, all hosts': the figures are of all of them together.
    pub targets: usize,
    /// Name of the plan.
    pub plan: &'s str,
    /// How it was measured.
    pub settings: Settings<'s>,
    /// Start of the run, ms since 1970 UTC.
    pub started_unix_ms: u64,
    /// The figures.
    pub test: &'s TestDigest,
}

/// How a test was measured in effect: figures with other settings are other series.
#[derive(Debug, Clone, Default)]
pub struct Settings<'s> {
    /// What the command line changed of the plan's load; empty where nothing.
    pub changed: &'s str,
    /// Whether the steps were shortened.
    pub is_quick: bool,
    /// I/Os in flight; 0 where that is not known.
    pub depth: u64,
    /// Whether this host's page cache was used; `None` where that is not known.
    pub cached: Option<bool>,
    /// The way to the storage: `uring`, `iscsi`.
    pub path: String,
}

/// A step that is measured now, over its last second.
#[derive(Debug, Clone, Copy)]
pub struct LiveStep<'s> {
    /// Id of the run.
    pub run: &'s str,
    /// Its first target.
    pub target: &'s str,
    /// Name of the plan.
    pub plan: &'s str,
    /// Name of the test.
    pub test: &'s str,
    /// Swept values; may be empty.
    pub step: &'s str,
    /// Successful operations per second.
    pub iops: f64,
    /// 2^20 bytes per second.
    pub mib_per_s: f64,
    /// Median latency, µs.
    pub p50_us: Option<f64>,
    /// 99th percentile of it, µs.
    pub p99_us: Option<f64>,
    /// Operations that failed in the last second.
    pub errors: u64,
}

/// The last check of a target.
#[derive(Debug, Clone, Copy)]
pub struct CheckedTarget<'s> {
    /// Its name in the store.
    pub target: &'s str,
    /// When, ms since 1970 UTC.
    pub checked_unix_ms: u64,
    /// Number of faults that it found.
    pub faults: usize,
    /// Size, bytes, where the check saw it.
    pub size_bytes: Option<u64>,
    /// Free space of its file system, bytes, where it has one.
    pub free_bytes: Option<u64>,
}

/// A figure of the last run over that of the baseline.
#[derive(Debug, Clone)]
pub struct BaselineFigure<'s> {
    /// Its name in the store.
    pub target: &'s str,
    /// Name of the plan.
    pub plan: &'s str,
    /// Name of the test.
    pub test: &'s str,
    /// Swept values; may be empty.
    pub step: &'s str,
    /// How the last run measured it.
    pub settings: Settings<'s>,
    /// `iops`, `p50` or `p99`.
    pub figure: &'s str,
    /// The ratio with its interval.
    pub ratio: FigureDigest,
    /// Whether it is worse than the baseline, beyond noise.
    pub is_worse: bool,
}

/// Runs of one kind in the store.
#[derive(Debug, Clone, Copy)]
pub struct StoredRuns<'s> {
    /// How they ended.
    pub status: &'s str,
    /// Their number.
    pub count: usize,
}

/// Returns the text of OpenMetrics.
pub fn served(served: &Served<'_>) -> String {
    let mut text = Exposition::default();
    last(&mut text, &served.last);
    hosts(&mut text, &served.last);
    live(&mut text, &served.live);
    checked(&mut text, &served.checked);
    baselines(&mut text, &served.baselines);
    text.family(Kind::Gauge, STORED);
    for runs in &served.stored {
        text.sample(STORED.name, &Labels::of(&[("status", runs.status)]), runs.count as f64);
    }
    text.end()
}

/// Returns the name of every family that is exported, for those who draw them.
pub fn served_names() -> Vec<&'static str> {
    fn names<T>(families: &[Of<T>]) -> impl Iterator<Item = &'static str> {
        families.iter().map(|family| family.about.name)
    }
    names(&last_families())
        .chain(names(&host_families()))
        .chain(names(&live_families()))
        .chain(names(&checked_families()))
        .chain(names(&baselines_families()))
        .chain([STORED.name])
        .collect()
}

/// A family with the value of a sample, where it is known.
struct Of<T> {
    about: About,
    value: fn(&T) -> Option<f64>,
}

fn of<T>(name: &'static str, unit: &'static str, help: &'static str, value: fn(&T) -> Option<f64>) -> Of<T> {
    Of { about: About { name, unit, help }, value }
}

/// Writes a family for each figure, with a sample for each item.
fn families<T>(text: &mut Exposition, families: &[Of<T>], items: &[T], labels: impl Fn(&T) -> Labels) {
    for family in families {
        text.family(Kind::Gauge, family.about);
        for item in items {
            if let Some(value) = (family.value)(item) {
                text.sample(family.about.name, &labels(item), value);
            }
        }
    }
}

const US: f64 = 1e6;

fn last_families<'s>() -> [Of<LastValue<'s>>; 14] {
    [
        of("assay_io_rate_per_second", "", "I/Os per second of the last complete run.", |last| {
            Some(last.test.iops.value)
        }),
        of(
            "assay_io_rate_low_per_second",
            "",
            "Lower end of the 95 % interval of the I/Os per second.",
            |last| last.test.iops.lo,
        ),
        of(
            "assay_io_rate_high_per_second",
            "",
            "Upper end of the 95 % interval of the I/Os per second.",
            |last| last.test.iops.hi,
        ),
        of("assay_throughput_bytes_per_second", "", "Bytes per second of the last complete run.", |last| {
            Some(last.test.mib_per_s.value * BYTES_OF_MIB)
        }),
        of("assay_latency_mean_seconds", "seconds", "Mean latency of the last complete run.", |last| {
            last.test.mean_us.map(|us| us.value / US)
        }),
        of("assay_latency_p50_seconds", "seconds", "Median latency of the last complete run.", |last| {
            last.test.p50_us.map(|us| us.value / US)
        }),
        of(
            "assay_latency_p99_seconds",
            "seconds",
            "99th percentile of the latency of the last complete run.",
            |last| last.test.p99_us.map(|us| us.value / US),
        ),
        of(
            "assay_latency_p99_low_seconds",
            "seconds",
            "Lower end of the 95 % interval of that percentile.",
            |last| last.test.p99_us.and_then(|us| us.lo).map(|us| us / US),
        ),
        of(
            "assay_latency_p99_high_seconds",
            "seconds",
            "Upper end of the 95 % interval of that percentile.",
            |last| last.test.p99_us.and_then(|us| us.hi).map(|us| us / US),
        ),
        of(
            "assay_io_rate_peak_per_second",
            "",
            "Highest I/Os of one second of the last complete run.",
            |last| last.test.iops_max,
        ),
        of(
            "assay_throughput_peak_bytes_per_second",
            "",
            "Most bytes of one second of the last complete run.",
            |last| last.test.mib_per_s_max.map(|mib| mib * BYTES_OF_MIB),
        ),
        of("assay_io_errors", "", "I/Os of the last complete run that failed.", |last| {
            Some(last.test.errors as f64)
        }),
        of("assay_measured_window_seconds", "seconds", "Length of the measured window.", |last| {
            Some(last.test.measured_s)
        }),
        of(
            "assay_last_run_timestamp_seconds",
            "seconds",
            "Start of the last complete run, since 1970.",
            |last| Some(last.started_unix_ms as f64 / 1e3),
        ),
    ]
}

fn last(text: &mut Exposition, last: &[LastValue<'_>]) {
    families(text, &last_families(), last, |last| {
        let (test, step) = (last.test.test.as_str(), last.test.step.as_str());
        let mut of = vec![("target", last.target), ("plan", last.plan), ("test", test), ("step", step)];
        let targets = last.targets.to_string();
        // Of one target it is none, so that series keep their name.
        of.extend((last.targets > 1).then_some(("targets", targets.as_str())));
        labels(&of, &last.settings)
    });
}

/// What one host had of a test that several did together.
struct HostValue<'l, 's> {
    last: &'l LastValue<'s>,
    host: &'l HostDigest,
}

fn host_families<'l, 's>() -> [Of<HostValue<'l, 's>>; 2] {
    [
        of(
            "assay_host_io_rate_per_second",
            "",
            "I/Os per second of one host in the last complete run over several.",
            |of| Some(of.host.iops),
        ),
        of(
            "assay_host_throughput_bytes_per_second",
            "",
            "Bytes per second of one host in the last complete run over several.",
            |of| Some(of.host.mib_per_s * BYTES_OF_MIB),
        ),
    ]
}

/// Beside each target of a run over several hosts the rate of its own host: the other figures are of all of them.
fn hosts(text: &mut Exposition, last: &[LastValue<'_>]) {
    let own = |last| {
        let LastValue { target, test, .. }: &LastValue<'_> = last;
        let host =
            test.hosts.iter().find(|host| target.split_once(':').is_some_and(|(name, _)| name == host.name));
        host.map(|host| HostValue { last, host })
    };
    let values: Vec<HostValue<'_, '_>> = last.iter().filter_map(own).collect();
    families(text, &host_families(), &values, |HostValue { last, host }| {
        let (test, step) = (last.test.test.as_str(), last.test.step.as_str());
        let of = [
            ("host", host.name.as_str()),
            ("target", last.target),
            ("plan", last.plan),
            ("test", test),
            ("step", step),
        ];
        labels(&of, &last.settings)
    });
}

/// These, and how it was measured.
fn labels(of: &[(&str, &str)], settings: &Settings<'_>) -> Labels {
    let yes_no = |yes| if yes { "yes" } else { "no" };
    // An empty label is none.
    let depth = if settings.depth == 0 { String::new() } else { settings.depth.to_string() };
    let how = [
        ("depth", depth.as_str()),
        ("cached", settings.cached.map_or("", yes_no)),
        ("quick", yes_no(settings.is_quick)),
        ("path", &settings.path),
        ("set", settings.changed),
    ];
    Labels::of(&[of, &how].concat())
}

fn live_families<'s>() -> [Of<LiveStep<'s>>; 5] {
    [
        of("assay_live_io_rate_per_second", "", "I/Os of the last second of a run in progress.", |live| {
            Some(live.iops)
        }),
        of(
            "assay_live_throughput_bytes_per_second",
            "",
            "Bytes of the last second of a run in progress.",
            |live| Some(live.mib_per_s * BYTES_OF_MIB),
        ),
        of("assay_live_latency_p50_seconds", "seconds", "Median latency of the last second.", |live| {
            live.p50_us.map(|us| us / US)
        }),
        of(
            "assay_live_latency_p99_seconds",
            "seconds",
            "99th percentile of the latency of the last second.",
            |live| live.p99_us.map(|us| us / US),
        ),
        of("assay_live_io_errors", "", "I/Os of the last second that failed.", |live| {
            Some(live.errors as f64)
        }),
    ]
}

fn live(text: &mut Exposition, live: &[LiveStep<'_>]) {
    families(text, &live_families(), live, |live| {
        Labels::of(&[
            ("run", live.run),
            ("target", live.target),
            ("plan", live.plan),
            ("test", live.test),
            ("step", live.step),
        ])
    });
}

fn checked_families<'s>() -> [Of<CheckedTarget<'s>>; 4] {
    [
        of("assay_target_faults", "", "Faults that the last check of a target found.", |checked| {
            Some(checked.faults as f64)
        }),
        of(
            "assay_target_checked_timestamp_seconds",
            "seconds",
            "Time of the last check, since 1970.",
            |checked| Some(checked.checked_unix_ms as f64 / 1e3),
        ),
        of("assay_target_size_bytes", "bytes", "Size of a target, by its last check.", |checked| {
            checked.size_bytes.map(|bytes| bytes as f64)
        }),
        of(
            "assay_target_free_bytes",
            "bytes",
            "Free space of its file system, by its last check.",
            |checked| checked.free_bytes.map(|bytes| bytes as f64),
        ),
    ]
}

fn checked(text: &mut Exposition, checked: &[CheckedTarget<'_>]) {
    families(text, &checked_families(), checked, |checked| Labels::of(&[("target", checked.target)]));
}

fn baselines_families<'s>() -> [Of<BaselineFigure<'s>>; 4] {
    [
        of("assay_baseline_ratio", "ratio", "A figure of the last run over that of the baseline.", |held| {
            Some(held.ratio.value)
        }),
        of("assay_baseline_low_ratio", "ratio", "Lower end of the 95 % interval of that ratio.", |held| {
            held.ratio.lo
        }),
        of("assay_baseline_high_ratio", "ratio", "Upper end of the 95 % interval of that ratio.", |held| {
            held.ratio.hi
        }),
        of(
            "assay_baseline_worse",
            "",
            "1 if a figure is worse than the baseline by more than noise, else 0.",
            |held| Some(if held.is_worse { 1.0 } else { 0.0 }),
        ),
    ]
}

fn baselines(text: &mut Exposition, baselines: &[BaselineFigure<'_>]) {
    families(text, &baselines_families(), baselines, |held| {
        let of = [("target", held.target), ("plan", held.plan), ("test", held.test), ("step", held.step)];
        labels(&[&of[..], &[("figure", held.figure)]].concat(), &held.settings)
    });
}

const STORED: About = About { name: "assay_stored_runs", unit: "", help: "Runs in the store." };
