//! The verdict: the bottleneck with its numbers, the second suspect, and the experiment that tells the two apart.

use assay_model::demand::{REQUESTED_RATE, Resource, ResourceKind};
use assay_model::quantity::Bounds;
use assay_model::resolved::Software;
use assay_spec::units::GIB;

use crate::case::{Case, JobCase, Measured, Modelled};
use crate::figures::whole;
use crate::rules::{Effect, Found};

/// Measured within this of the expected interval is as expected, on top of the interval itself.
const TOLERANCE: f64 = 0.10;
/// So far above the interval something is faster than the array file says.
const FASTER: f64 = 1.25;
/// Memory that servers have, and hypervisors, holds a good part of a smaller span, bytes.
const MEMORY_HOLDS: u64 = 128 * GIB;

/// Whether a measurement agrees with its expectation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Agreement {
    /// Within the interval and its tolerance.
    AsExpected,
    /// Below it: something that the array file does not describe limits.
    Below,
    /// Above it: a cache answered, or the array is faster than described.
    Above,
}

/// The bottleneck of a test.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Verdict {
    /// The verdict with its numbers, in full sentences.
    pub says: String,
    /// The first suspect in few words: a bottleneck, or what makes the result faster than expected.
    pub limit: String,
    /// The second suspect; empty where nothing comes near.
    pub second: String,
    /// The experiment that tells the two apart, or confirms the only one.
    pub experiment: String,
    /// Whether the measurement agrees with the expectation.
    #[serde(rename = "standing")]
    pub agreement: Agreement,
    /// Measured over expected: over the nominal value, or over the bound where only that is known.
    pub ratio: f64,
    /// Names of the rules that support it.
    pub rules: Vec<String>,
    /// Names that earlier releases gave these rules.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rule_aliases: Vec<String>,
}

/// The bottleneck of a run.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct RunVerdict {
    /// The verdict in full sentences.
    pub says: String,
    /// Its first sentence: the first suspect, and the second.
    #[serde(skip)]
    pub brief: String,
    /// The experiment that tells the suspects apart, or confirms the only one; empty where there is none.
    #[serde(skip)]
    pub experiment: String,
    /// The first suspect of most tests.
    pub limit: String,
    /// Number of tests with this first suspect.
    pub tests: usize,
    /// Number of tests that were judged.
    pub judged: usize,
}

/// Why a test is as fast as it is.
#[derive(Debug, Clone, PartialEq)]
enum Suspect {
    /// A resource of the array file, with the rate at which it is full where that is known.
    Resource { kind: ResourceKind, name: String, full_at: Option<String> },
    /// Software of unknown cost.
    Software,
    /// The same, where a rule shows that I/Os pass it one at a time.
    SerialSoftware,
    /// Nothing in the array file explains so low a rate.
    Undescribed,
    /// A cache answered.
    Cache,
    /// The array is faster than its file says.
    FasterArray,
}

impl Suspect {
    fn name(&self) -> String {
        match self {
            Self::Resource { name, .. } => name.clone(),
            Self::Software => "the target's software".to_owned(),
            Self::SerialSoftware => "the target's software, which serialises I/O".to_owned(),
            Self::Undescribed => "something that the array file does not describe".to_owned(),
            Self::Cache => "a cache".to_owned(),
            Self::FasterArray => "an array that is faster than its file says".to_owned(),
        }
    }

    /// The name with the rate at which it is full.
    fn with_ceiling(&self) -> String {
        match self {
            Self::Resource { name, full_at: Some(iops), .. } => format!("{name} (saturates at {iops} IOPS)"),
            other => other.name(),
        }
    }

    /// The kind of resource that an experiment can change.
    fn kind(&self) -> Option<ResourceKind> {
        match self {
            Self::Resource { kind, .. } => Some(*kind),
            Self::Software | Self::SerialSoftware => Some(ResourceKind::TargetCpu),
            Self::Undescribed | Self::Cache | Self::FasterArray => None,
        }
    }
}

/// Compares a measurement with an interval; the measurement's own error is the tolerance where it is the larger.
fn agreement(measured: &Measured, expected: Bounds) -> Agreement {
    let tolerance = measured.error.unwrap_or(0.0).max(TOLERANCE);
    match measured.iops {
        x if x > expected.hi * FASTER.max(1.0 + tolerance) => Agreement::Above,
        x if x < expected.lo * (1.0 - tolerance).max(0.0) => Agreement::Below,
        _ => Agreement::AsExpected,
    }
}

/// Returns the verdict on a case; `None` where the model cannot express its load.
pub(crate) fn of_case(case: &Case, index: usize, found: &[Found]) -> Option<Verdict> {
    match &case.beside {
        Some(job) => Some(of_job(&case.measured, job)),
        None => of_load(case, index, found),
    }
}

fn of_load(case: &Case, index: usize, found: &[Found]) -> Option<Verdict> {
    let load = case.load.as_ref()?;
    let p = &load.prediction;
    let agreement = agreement(&case.measured, p.iops);
    let supports =
        |f: &&Found| f.cases.contains(&index) && !matches!(f.effect, Effect::Explains | Effect::Disturbs(_));
    let support: Vec<&Found> = found.iter().filter(supports).collect();
    let suspects = suspects(load, agreement, &support);
    let is_certain = agreement == Agreement::AsExpected
        && p.software != Software::Unknown
        && case.measured.iops <= p.iops.hi * (1.0 + TOLERANCE);
    let certainty = match support.len() {
        _ if is_certain => "",
        0 => "possibly ",
        1 => "probably ",
        _ => "",
    };
    let ratio = ratio(&case.measured, p.iops, p.software);
    let expected = expected_words(p.iops, p.software);
    let is_over = p.software == Software::Unknown && agreement == Agreement::AsExpected && ratio > 1.0;
    let numbers = format!(
        "{} IOPS measured{}, {expected} expected (x{ratio:.2}{})",
        whole(case.measured.iops),
        unsteady(&case.measured),
        if is_over { ", over the bound by no more than the model errs" } else { "" }
    );
    let experiment = experiment(&suspects, load);
    let verdict = verdict(&Reasons { agreement, certainty, suspects, numbers, experiment, ratio });
    Some(Verdict {
        rules: support.iter().map(|f| f.finding.rule.clone()).collect(),
        rule_aliases: support.iter().flat_map(|f| f.finding.aliases.clone()).collect(),
        ..verdict
    })
}

/// Returns a rate over its expectation, as the two stand beside each other: under a bound, over that bound.
fn ratio(measured: &Measured, expected: Bounds, software: Software) -> f64 {
    let of = if software == Software::Unknown { expected.hi } else { expected.value };
    if of > 0.0 { measured.iops / of } else { 0.0 }
}

/// What a verdict rests on.
struct Reasons {
    agreement: Agreement,
    /// Empty, or a word with the blank behind it.
    certainty: &'static str,
    suspects: (Suspect, Option<Suspect>),
    /// Measured and expected.
    numbers: String,
    /// What would tell the suspects apart.
    experiment: String,
    ratio: f64,
}

/// Returns the verdict of these reasons; no rule supports it yet.
fn verdict(reasons: &Reasons) -> Verdict {
    let Reasons { agreement, certainty, suspects, numbers, experiment, ratio } = reasons;
    Verdict {
        says: sentence(*agreement, certainty, suspects, numbers, experiment),
        limit: suspects.0.name(),
        second: suspects.1.as_ref().map(Suspect::with_ceiling).unwrap_or_default(),
        experiment: experiment.clone(),
        agreement: *agreement,
        ratio: *ratio,
        rules: Vec::new(),
        rule_aliases: Vec::new(),
    }
}

/// Returns the verdict in words: whether it is as expected, the suspects, and the experiment.
fn sentence(
    agreement: Agreement,
    certainty: &str,
    (first, second): &(Suspect, Option<Suspect>),
    numbers: &str,
    experiment: &str,
) -> String {
    let lead = match agreement {
        Agreement::AsExpected => format!("{certainty}limited by {}: {numbers}", first.name()),
        Agreement::Below => {
            format!("slower than expected: {numbers}; {certainty}limited by {}", first.name())
        }
        Agreement::Above => {
            format!("faster than expected: {numbers}; {certainty}explained by {}", first.name())
        }
    };
    match second {
        Some(second) => {
            format!("{lead}; second suspect: {}. To tell them apart: {experiment}", second.with_ceiling())
        }
        None => format!("{lead}. To confirm it: {experiment}"),
    }
}

/// Returns an expectation in words: a bound where the software cost is unknown, else the interval.
fn expected_words(iops: Bounds, software: Software) -> String {
    match software {
        Software::Unknown => format!("at most {} (hardware bound, software cost unknown)", whole(iops.hi)),
        Software::None | Software::Known => range(iops),
    }
}

/// The measurement's own error, where it is larger than the tolerance.
fn unsteady(measured: &Measured) -> String {
    match measured.error {
        Some(error) if error > TOLERANCE => format!(" (unsteady: known within {:.0} %)", error * 100.0),
        _ => String::new(),
    }
}

/// The verdict on one of several jobs that ran at the same time.
fn of_job(measured: &Measured, beside: &JobCase) -> Verdict {
    let job = beside.expected();
    let (all, expected) = (&beside.together, job.simulated.iops);
    let agreement = agreement(measured, expected);
    let shared = |index: usize| {
        let resource = all.shared.get(index)?;
        Some(Suspect::Resource { kind: resource.kind, name: resource.name.clone(), full_at: None })
    };
    let suspects = match agreement {
        Agreement::AsExpected => (shared(0).unwrap_or(Suspect::Undescribed), shared(1)),
        Agreement::Below if all.software == Software::Unknown => (Suspect::Software, shared(0)),
        Agreement::Below => (Suspect::Undescribed, shared(0)),
        Agreement::Above => (Suspect::FasterArray, Some(Suspect::Cache)),
    };
    let is_certain = agreement == Agreement::AsExpected && all.software != Software::Unknown;
    let ratio = ratio(measured, expected, all.software);
    let others = match all.jobs.len() - 1 {
        1 => "one other job".to_owned(),
        n => format!("{n} other jobs"),
    };
    let numbers = format!(
        "{} IOPS measured together with {others}, {} expected (x{ratio:.2}); {}",
        whole(measured.iops),
        expected_words(expected, all.software),
        all.says()
    );
    let experiment = format!(
        "run it alone, where {} IOPS are expected; the gain is the share that the other jobs take.",
        whole(job.alone_iops)
    );
    let certainty = if is_certain { "" } else { "possibly " };
    verdict(&Reasons { agreement, certainty, suspects, numbers, experiment, ratio })
}

/// The first suspect, and the second where there is one.
fn suspects(load: &Modelled, agreement: Agreement, support: &[&Found]) -> (Suspect, Option<Suspect>) {
    let p = &load.prediction;
    let resource = |r: &Resource| Suspect::Resource {
        kind: r.kind,
        name: r.name.clone(),
        full_at: Some(match p.software {
            // The bound is that of the fast end of all ranges, so each rate beside it is of that end too.
            Software::Unknown => whole(r.ceiling.hi),
            Software::None | Software::Known => range(r.ceiling),
        }),
    };
    let first = p.table.resources.iter().find(|r| r.kind == p.limit).or(p.table.first());
    let has = |effect: Effect| support.iter().any(|f| f.effect == effect);
    match agreement {
        // Memory in front of the disks holds so small a span, whether or not the file describes it.
        Agreement::Above if has(Effect::ShowsCache) || load.workload.span.0 < MEMORY_HOLDS => {
            (Suspect::Cache, Some(Suspect::FasterArray))
        }
        Agreement::Above => (Suspect::FasterArray, Some(Suspect::Cache)),
        Agreement::Below if p.software == Software::Unknown => {
            let software = if has(Effect::Serialises) { Suspect::SerialSoftware } else { Suspect::Software };
            (software, first.map(resource))
        }
        Agreement::Below => (Suspect::Undescribed, first.map(resource)),
        Agreement::AsExpected => {
            let next = p
                .table
                .resources
                .iter()
                .find(|r| r.kind != p.limit && first.is_none_or(|f| f.kind != r.kind));
            let limit = match p.limit {
                // Workers and pace are no rows of the table.
                ResourceKind::Workers | ResourceKind::LoadModel => {
                    Suspect::Resource { kind: p.limit, name: p.limit_name(), full_at: None }
                }
                _ => first.map_or(Suspect::Undescribed, resource),
            };
            (limit, next.map(resource))
        }
    }
}

/// `1,100 to 1,300`, or one number where both ends are the same.
fn range(ceiling: Bounds) -> String {
    let (lo, hi) = (whole(ceiling.lo), whole(ceiling.hi));
    if lo == hi { lo } else { format!("{lo} to {hi}") }
}

/// Returns the experiment that changes one of the suspects and leaves the other as it is.
fn experiment((first, second): &(Suspect, Option<Suspect>), load: &Modelled) -> String {
    use ResourceKind as K;
    if matches!((first, second), (Suspect::Cache | Suspect::FasterArray, _)) {
        return "repeat on a span of several times the array's memory; a cache does not help there."
            .to_owned();
    }
    let kinds = [first.kind(), second.as_ref().and_then(Suspect::kind)];
    let has = |kind: K| kinds.contains(&Some(kind));
    let seeks = load.facts.rotating && load.random_pct() > 0.0;
    let words = if has(K::Latency) {
        "double the queue depth; the rate doubles if latency is the limit, and stays if a resource is saturated."
    } else if has(K::SerialWrites) {
        "run reads only; they are much faster if random writes pass one at a time."
    } else if has(K::LinkRead) || has(K::LinkWrite) {
        "halve the I/O size; a full link keeps its MB/s, busy software keeps its IOPS."
    } else if has(K::Members) && seeks {
        "repeat on a tenth of the span; shorter seeks make disks faster, software stays the same."
    } else if has(K::Members) {
        "run the same test on one drive directly, without the target; its rate times the drives is what they can give."
    } else if has(K::Workers) {
        "add a second client with sequential reads; a pool of workers slows both down together."
    } else if has(K::Controller) {
        "read the same few MiB again and again; the controller stays full, the drives go idle."
    } else if has(K::TargetCpu) {
        "watch the target's CPU while the test runs; a full core confirms the software."
    } else if has(K::LoadModel) {
        "raise the rate of the plan until it is missed."
    } else {
        "watch CPU, drives and links of the target while the test runs; whatever is saturated is the bottleneck."
    };
    words.to_owned()
}

/// Returns the suspect that most tests share, and the test that is furthest from its expectation.
pub(crate) fn of_run(cases: &[Case], verdicts: &[Option<Verdict>]) -> Option<RunVerdict> {
    let judged: Vec<(&Case, &Verdict)> =
        cases.iter().zip(verdicts).filter_map(|(c, v)| Some((c, v.as_ref()?))).collect();
    let is_alike = |a: &Verdict, b: &Verdict| a.limit == b.limit && a.agreement == b.agreement;
    let count = |verdict: &Verdict| judged.iter().filter(|(_, v)| is_alike(v, verdict)).count();
    // That a rate that was asked for is kept is no news beside what limits the others: a curve has ten such steps.
    let weight = |verdict: &Verdict| (verdict.limit != REQUESTED_RATE, count(verdict));
    // The first of equals: the order of the tests decides.
    let (commonest_case, commonest) = judged.iter().rev().max_by_key(|(_, v)| weight(v))?;
    let tests = count(commonest);
    let of = match (tests, judged.len()) {
        (1, 1) => "the only test judged".to_owned(),
        (1, _) => commonest_case.measured.name.clone(),
        (2, 2) => "both tests judged".to_owned(),
        (tests, judged) if tests == judged => format!("all {judged} tests"),
        (tests, judged) => format!("{tests} of {judged} tests"),
    };
    let is_bound = cases.iter().any(Case::is_bound);
    let is_over = is_bound
        && judged
            .iter()
            .any(|(_, v)| is_alike(v, commonest) && v.agreement == Agreement::AsExpected && v.ratio > 1.0);
    let verb = if tests == 1 { "is" } else { "are" };
    let lead = match is_over {
        true => format!(
            "{} {verb} within the bound of the hardware or over it by no more than the model errs, and the first \
             suspect is {}",
            capital(&of),
            commonest.limit
        ),
        false => lead(commonest, &of, verb, is_bound),
    };
    let (brief, purpose) = match commonest.second.as_str() {
        "" => (format!("{lead}."), "To confirm it"),
        second => (format!("{lead}; second suspect: {second}."), "To tell them apart"),
    };
    let experiment = format!("{purpose}: {}", commonest.experiment);
    let far = |v: &Verdict| v.ratio.max(1e-9).ln().abs();
    let (case, furthest) = judged.iter().max_by(|a, b| far(a.1).total_cmp(&far(b.1)))?;
    let further = match judged.len() {
        1 => String::new(),
        _ => format!(" Furthest from its expectation is {} (x{:.2}).", case.measured.name, furthest.ratio),
    };
    let says = format!("{brief} {experiment}{further}");
    Some(RunVerdict { says, brief, experiment, limit: commonest.limit.clone(), tests, judged: judged.len() })
}

/// Returns what most tests have in common. A bound lets the software of the array expect nothing, so that nothing is
/// as expected under it.
fn lead(commonest: &Verdict, of: &str, verb: &str, is_bound: bool) -> String {
    let limit = &commonest.limit;
    let tests = capital(of);
    match (commonest.agreement, is_bound) {
        (Agreement::AsExpected, false) => format!("The bottleneck of {of} is {limit}, as expected"),
        (Agreement::AsExpected, true) => {
            format!("{tests} {verb} within the bound of the hardware, and the first suspect is {limit}")
        }
        (Agreement::Below, false) => {
            format!("{tests} {verb} slower than expected, and the first suspect is {limit}")
        }
        (Agreement::Below, true) => {
            format!("{tests} {verb} slower than the hardware alone, and the first suspect is {limit}")
        }
        (Agreement::Above, false) => format!("{tests} {verb} faster than expected, explained by {limit}"),
        (Agreement::Above, true) => {
            format!("{tests} {verb} faster than the hardware allows, explained by {limit}")
        }
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
