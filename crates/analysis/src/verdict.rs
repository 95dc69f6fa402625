//! The verdict: what limits, with the numbers, the second suspect, and the one experiment that would separate them.

use assay_model::demand::{Resource, ResourceKind};
use assay_model::quantity::Bounds;
use assay_model::resolved::Software;

use crate::case::{Beside, Case, Measured, Modelled};
use crate::rules::model::Found;

/// Measured within this of the expected interval is as expected, on top of the interval itself.
const TOLERANCE: f64 = 0.10;
/// So far above the interval something is faster than the array file says.
const FASTER: f64 = 1.25;
/// Findings that name a limit by themselves, and so make a suspicion firmer.
const NAMING: [&str; 6] = ["SERIAL", "WSERIAL", "CPU", "LINK", "RAIDPEN", "INVAR"];

/// How a measurement stands to its expectation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Within the interval and its tolerance.
    AsExpected,
    /// Below it: something not in the array file is in the way.
    Below,
    /// Above it: a cache, or the array is faster than described.
    Above,
}

/// What limits a test.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Verdict {
    /// One sentence with its numbers.
    pub says: String,
    /// What limits, in few words.
    pub limit: String,
    /// What else may limit; empty where nothing comes near.
    pub second: String,
    /// The one experiment that would tell the two apart.
    pub experiment: String,
    /// How the measurement stands to the expectation.
    pub standing: Standing,
    /// Measured over expected, nominal.
    pub ratio: f64,
    /// Rules that support it.
    pub rules: Vec<String>,
}

/// What limits a run.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct RunVerdict {
    /// One or two sentences.
    pub says: String,
    /// What limits most of the tests.
    pub limit: String,
    /// Tests that it limits.
    pub tests: usize,
    /// Tests that were judged.
    pub judged: usize,
}

/// How a measurement stands to an interval, with the measurement's own error as tolerance where that is larger.
fn standing(measured: &Measured, expected: Bounds) -> Standing {
    let tolerance = measured.error.unwrap_or(0.0).max(TOLERANCE);
    match measured.iops {
        x if x > expected.hi * FASTER.max(1.0 + tolerance) => Standing::Above,
        x if x < expected.lo * (1.0 - tolerance).max(0.0) => Standing::Below,
        _ => Standing::AsExpected,
    }
}

/// The verdict on a case; `None` where the model has nothing to say of it.
pub(crate) fn of_case(case: &Case, index: usize, found: &[Found]) -> Option<Verdict> {
    match &case.beside {
        Some(beside) => Some(of_job(&case.measured, beside)),
        None => of_load(case, index, found),
    }
}

fn of_load(case: &Case, index: usize, found: &[Found]) -> Option<Verdict> {
    let load = case.load.as_ref()?;
    let p = &load.prediction;
    let measured = case.measured.iops;
    let hi = p.iops.hi * (1.0 + TOLERANCE);
    let standing = standing(&case.measured, p.iops);
    let of_case = |f: &&Found| f.cases.contains(&index);
    let rules: Vec<String> = found
        .iter()
        .filter(of_case)
        .map(|f| f.finding.rule.clone())
        .filter(|rule| NAMING.contains(&rule.as_str()) || rule.starts_with("CACHE"))
        .collect();
    let (limit, second, kinds) = suspects(load, standing, &rules);
    let experiment = experiment(kinds.0, kinds.1);
    let is = match rules.len() {
        _ if standing == Standing::AsExpected && p.software != Software::Unknown && measured <= hi => "is",
        0 => "is perhaps",
        1 => "is probably",
        _ => "is",
    };
    let interval = match p.software {
        Software::Unknown => format!("at most {:.0} of the hardware (software cost unknown)", p.iops.hi),
        Software::None | Software::Known => format!("{:.0} to {:.0}", p.iops.lo, p.iops.hi),
    };
    let ratio = if p.iops.value > 0.0 { measured / p.iops.value } else { 0.0 };
    let second_words = if second.is_empty() { String::new() } else { format!("; second suspect: {second}") };
    let says = format!(
        "the limit {is} {limit}: {measured:.0} IOPS measured{}, {interval} expected (x{ratio:.2}){second_words}. To tell them apart: {experiment}",
        unsteady(&case.measured)
    );
    Some(Verdict { says, limit, second, experiment: experiment.to_owned(), standing, ratio, rules })
}

/// The measurement's own error, where it is larger than what is tolerated anyhow.
fn unsteady(measured: &Measured) -> String {
    match measured.error {
        Some(error) if error > TOLERANCE => format!(" (known within {:.0} %: unsteady)", error * 100.0),
        _ => String::new(),
    }
}

/// The verdict on one of several loads that ran at once.
fn of_job(measured: &Measured, beside: &Beside) -> Verdict {
    let job = beside.expected();
    let expected = job.simulated.iops;
    let is_bound = beside.together.software == Software::Unknown;
    let standing = standing(measured, expected);
    let names: Vec<&str> = beside.together.shared.iter().map(|s| s.name.as_str()).collect();
    let shared = names.first().copied().unwrap_or("nothing that is in the array file");
    let (limit, second) = match standing {
        Standing::AsExpected => (shared.to_owned(), names.get(1).copied().unwrap_or_default().to_owned()),
        Standing::Below if is_bound => ("the target's software".to_owned(), shared.to_owned()),
        Standing::Below => ("something the array file does not describe".to_owned(), shared.to_owned()),
        Standing::Above => ("not in the array file".to_owned(), "a cache".to_owned()),
    };
    let is = if standing == Standing::AsExpected && !is_bound { "is" } else { "is perhaps" };
    let ratio = if expected.value > 0.0 { measured.iops / expected.value } else { 0.0 };
    let interval = match is_bound {
        true => format!("at most {:.0} of the hardware (software cost unknown)", expected.hi),
        false => format!("{:.0} to {:.0}", expected.lo, expected.hi),
    };
    let experiment = format!(
        "run it alone: about {:.0} IOPS are expected then, and what it gains is what the others take.",
        job.alone_iops
    );
    let second_words = if second.is_empty() { String::new() } else { format!("; second suspect: {second}") };
    let says = format!(
        "the limit {is} {limit}: {:.0} IOPS measured beside {} others, {interval} expected (x{ratio:.2}); {}{second_words}. To tell them apart: {experiment}",
        measured.iops,
        beside.together.jobs.len() - 1,
        beside.together.says()
    )
    .replace("beside 1 others", "beside one other");
    Verdict { says, limit, second, experiment, standing, ratio, rules: Vec::new() }
}

/// Who limits and who is second, in words and as kinds of resources; `None` is the software nobody described.
fn suspects(
    load: &Modelled,
    standing: Standing,
    rules: &[String],
) -> (String, String, (Option<ResourceKind>, Option<ResourceKind>)) {
    let p = &load.prediction;
    let first = p.table.resources.iter().find(|r| r.kind == p.limit).or(p.table.first());
    let next = p.table.resources.iter().find(|r| first.is_none_or(|f| f.kind != r.kind));
    let name = |r: Option<&Resource>| r.map_or(String::new(), |r| r.name.clone());
    let at = |r: Option<&Resource>| {
        r.map_or(String::new(), |r| format!("{} (full at {:.0} IOPS)", r.name, r.ceiling_iops))
    };
    match standing {
        Standing::Above if rules.iter().any(|r| r.starts_with("CACHE")) => {
            ("a cache".to_owned(), "a faster array than the file describes".to_owned(), (None, None))
        }
        Standing::Above => ("not in the array file".to_owned(), "a cache".to_owned(), (None, None)),
        Standing::Below if p.software == Software::Unknown => {
            let words = if rules.iter().any(|r| r == "SERIAL" || r == "WSERIAL") {
                "the target's software, which serialises"
            } else {
                "the target's software"
            };
            (words.to_owned(), at(first), (Some(ResourceKind::TargetCpu), first.map(|r| r.kind)))
        }
        Standing::Below => (
            "something the array file does not describe".to_owned(),
            at(first),
            (None, first.map(|r| r.kind)),
        ),
        Standing::AsExpected => {
            let limit = if p.limit_name().is_empty() { name(first) } else { p.limit_name() };
            (limit, at(next), (first.map(|r| r.kind), next.map(|r| r.kind)))
        }
    }
}

/// The experiment that changes the one and leaves the other.
fn experiment(first: Option<ResourceKind>, second: Option<ResourceKind>) -> &'static str {
    use ResourceKind as K;
    match (first, second) {
        (Some(K::Latency), _) | (_, Some(K::Latency)) => {
            "double the outstanding I/Os; a rate that doubles was waiting, one that stays was full."
        }
        (Some(K::SerialWrites), _) | (_, Some(K::SerialWrites)) => {
            "run the same with reads only; reads that fly show that writes pass one at a time."
        }
        (Some(K::LinkRead | K::LinkWrite), _) | (_, Some(K::LinkRead | K::LinkWrite)) => {
            "halve the I/O size; a full link keeps its MB/s, busy software keeps its IOPS."
        }
        (Some(K::Members), _) | (_, Some(K::Members)) => {
            "repeat on a tenth of the span; disks get faster by shorter seeks, software does not."
        }
        (Some(K::Workers), _) | (_, Some(K::Workers)) => {
            "add a second client with sequential reads; with a pool of workers both fall together."
        }
        (Some(K::Controller), _) | (_, Some(K::Controller)) => {
            "read the same few MiB again and again; the controller stays full, the disks fall idle."
        }
        (Some(K::TargetCpu), _) | (_, Some(K::TargetCpu)) => {
            "watch the target's CPU while the test runs; a full core names the software."
        }
        (Some(K::LoadModel), _) | (_, Some(K::LoadModel)) => "raise the rate of the plan until it is missed.",
        (None, None) => "repeat on a span of several times the array's memory; a cache stops helping there.",
    }
}

/// The limit that most tests share, and the test that is furthest from its expectation.
pub(crate) fn of_run(cases: &[Case], verdicts: &[Option<Verdict>]) -> Option<RunVerdict> {
    let judged: Vec<(&Case, &Verdict)> =
        cases.iter().zip(verdicts).filter_map(|(c, v)| Some((c, v.as_ref()?))).collect();
    let count = |limit: &str| judged.iter().filter(|(_, v)| v.limit == limit).count();
    // The first of equals: the order of the tests decides.
    let (_, commonest) = judged.iter().rev().max_by_key(|(_, v)| count(&v.limit))?;
    let tests = count(&commonest.limit);
    let far = |v: &Verdict| v.ratio.max(1e-9).ln().abs();
    let (case, furthest) = judged.iter().max_by(|a, b| far(a.1).total_cmp(&far(b.1)))?;
    let second = if commonest.second.is_empty() {
        String::new()
    } else {
        format!("; second suspect: {}", commonest.second)
    };
    let says = format!(
        "{} limits {tests} of {} tests{second}. Furthest from its expectation is {} (x{:.2}). The one experiment: {}",
        capital(&commonest.limit),
        judged.len(),
        case.measured.name,
        furthest.ratio,
        commonest.experiment
    );
    Some(RunVerdict { says, limit: commonest.limit.clone(), tests, judged: judged.len() })
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
