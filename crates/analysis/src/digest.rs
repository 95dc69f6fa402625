//! A run in short, for lists, cards and trends: the same figures as its report, without its distributions.

use assay_record::{FigureDigest, FindingDigest, HostDigest, Imported, RunDigest, RunHeader, TestDigest};

use crate::compare::{deciding, load};
use crate::expected::Judgement;
use crate::finding::Finding;
use crate::fleet::HostSpread;
use crate::limit::verdict_on;
use crate::precision::precision;
use crate::summary::{Load, RunSummary, StepSummary};
use assay_statistics::Estimate;

/// Returns the digest of a run, from what its report is made from; `diagnosed` is the result of its diagnosis, a
/// sentence, where it is one.
pub fn digest(
    header: &RunHeader,
    summary: &RunSummary,
    findings: &[Finding],
    judgement: Option<&Judgement>,
    diagnosed: Option<String>,
) -> RunDigest {
    let says = || verdict_on(header, summary, judgement).map(|verdict| verdict.says);
    RunDigest {
        length_s: summary.length_s,
        planned_steps: u32::try_from(summary.steps_planned).unwrap_or(u32::MAX),
        tests: summary.steps.iter().filter_map(|step| of_step(header, step, judgement)).collect(),
        findings: of_findings(findings),
        verdict: diagnosed.or_else(says),
        changed: changed(header),
        under: deciding(header),
        versions: versions(header),
        journal: header.setting.journal.as_ref().map(|step| format!("{}: {}", step.journal, step.change)),
        series: header.series(),
        is_diagnosis: header.diagnosis.is_some(),
        spark: spark(&summary.steps),
    }
}

/// Returns the versions of what measured.
fn versions(header: &RunHeader) -> Vec<(String, String)> {
    let of = |name: &str, version: &str| (name.to_owned(), version.to_owned());
    match header.imported.as_ref().map(Imported::tool_and_version) {
        None => vec![of("kernel", &header.host.kernel), of("assay", &header.version)],
        Some((_, "")) => Vec::new(),
        Some((tool, version)) => vec![of(tool, version)],
    }
}

/// Returns what the command line changed of the load; the order in which it was typed does not matter.
fn changed(header: &RunHeader) -> String {
    let mut words = header.plan.changes.clone();
    words.sort_unstable();
    if header.plan.quick {
        words.insert(0, "--quick".to_owned());
    }
    words.join(", ")
}

/// Returns the figures of a step; `None` where it measured nothing.
fn of_step(header: &RunHeader, step: &StepSummary, judgement: Option<&Judgement>) -> Option<TestDigest> {
    let precision = precision(step)?;
    let figure =
        |estimate: Estimate| FigureDigest { value: estimate.value, lo: estimate.lo, hi: estimate.hi };
    // A last second that was cut short has a rate of its own.
    let whole = || step.series.iter().filter(|point| point.t_s.fract() < 1e-6);
    // A share of a bound is no share of what is expected.
    let expected = judgement.and_then(|judgement| judgement.step(step.id));
    let verdict = expected.filter(|(case, _)| !case.is_bound()).and_then(|(_, verdict)| verdict);
    Some(TestDigest {
        expected_ratio: verdict.map(|verdict| verdict.ratio).filter(|ratio| ratio.is_finite()),
        test: step.test.clone(),
        step: step.step.clone(),
        load: load(header, step),
        is_paced: !matches!(step.load, Load::Closed | Load::Mixed),
        measured_s: step.seconds,
        iops: figure(precision.iops),
        mib_per_s: figure(precision.mib_per_s),
        iops_max: whole().map(|point| point.iops).max_by(f64::total_cmp),
        mib_per_s_max: whole().map(|point| point.mib_per_s).max_by(f64::total_cmp),
        mean_us: precision.mean_us.map(figure),
        p50_us: precision.p50_us.map(figure),
        p99_us: precision.p99_us.map(figure),
        errors: step.errors,
        complete: step.complete,
        hosts: hosts(header, step),
    })
}

/// Returns the rates of the hosts of a step, where those are several and few.
fn hosts(header: &RunHeader, step: &StepSummary) -> Vec<HostDigest> {
    let Some(spread) = HostSpread::of(header, step) else { return Vec::new() };
    let measured = spread.measured().filter(|host| !host.is_lost());
    let hosts: Vec<HostDigest> = measured
        .map(|host| HostDigest { name: host.name.clone(), iops: host.iops, mib_per_s: host.mib_per_s })
        .collect();
    if hosts.len() > RunDigest::HOSTS_MAX { Vec::new() } else { hosts }
}

fn of_findings(findings: &[Finding]) -> Vec<FindingDigest> {
    let mut short: Vec<FindingDigest> = Vec::new();
    for finding in findings {
        match short.iter_mut().find(|known| known.rule == finding.rule) {
            Some(known) => known.severity = known.severity.max(finding.severity),
            None => {
                short.push(FindingDigest { rule: finding.rule.clone(), severity: finding.severity });
            }
        }
    }
    short.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    short
}

/// Returns the IOPS of all steps, one after another, in equal parts: the highest of each, as a share of the highest of
/// all.
fn spark(steps: &[StepSummary]) -> Vec<f32> {
    let seconds: Vec<f64> = steps.iter().flat_map(|step| &step.series).map(|point| point.iops).collect();
    let top = seconds.iter().copied().fold(0.0, f64::max);
    if top <= 0.0 {
        return Vec::new();
    }
    let parts = seconds.len().min(RunDigest::SPARK_MAX);
    let part = |index: usize| {
        let (from, to) = (index * seconds.len() / parts, (index + 1) * seconds.len() / parts);
        let most = seconds[from..to].iter().copied().fold(0.0, f64::max);
        // Three digits are more than a small drawing shows.
        #[expect(clippy::cast_possible_truncation, reason = "a share in [0, 1] with three digits")]
        let share = ((most / top * 1e3).round() / 1e3) as f32;
        share
    };
    (0..parts).map(part).collect()
}
