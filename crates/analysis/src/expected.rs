//! Expected and measured values: a run's steps and a table's rows become cases, and cases are judged.

use std::sync::Arc;

use crate::array_region::array_region;
use crate::case::{Case, JobCase, Measured, Medium, Modelled};
use crate::finding::Finding;
use crate::remembered::{self, KnownArray};
use crate::rules;
use crate::summary::{RunSummary, StepSummary};
use crate::verdict::{self, RunVerdict, Verdict};
use assay_model::array::{Array, ArrayError};
use assay_model::calibrate::strip_software;
use assay_model::from_plan::workloads;
use assay_model::predict::{Engines, Prediction, predict};
use assay_model::published::Published;
use assay_model::resolved::Tables;
use assay_model::validate::array_of;
use assay_model::workload::Workload;
use assay_record::{MemberFacts, MemberKind, RunHeader, StepId};
use assay_spec::{Job, Step};
use assay_statistics::Spread;

/// Expectations, verdicts and findings of the model for a set of results.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// Name of the array; empty where rows have arrays of their own.
    pub array: String,
    /// In the order of the results.
    pub cases: Vec<Case>,
    /// For each case.
    pub verdicts: Vec<Option<Verdict>>,
    /// For all of them.
    pub verdict: Option<RunVerdict>,
    /// Findings of the rules, in their order.
    pub findings: Vec<Finding>,
}

impl Judgement {
    /// Judges cases; `array` is what all of them are on, or empty.
    pub fn of(array: String, cases: Vec<Case>) -> Self {
        let findings = rules::of_cases(&cases);
        let verdicts: Vec<Option<Verdict>> =
            (0..cases.len()).map(|index| verdict::of_case(&cases[index], index, &findings)).collect();
        let findings = findings.into_iter().map(|f| f.finding).collect();
        Self { array, verdict: verdict::of_run(&cases, &verdicts), cases, verdicts, findings }
    }

    /// The case and verdict of a step.
    pub fn step(&self, id: StepId) -> Option<(&Case, Option<&Verdict>)> {
        self.of_step(id).find(|(case, _)| case.beside.is_none())
    }

    /// The cases and verdicts of the jobs of a step, where there are several, in their order.
    pub fn jobs(&self, id: StepId) -> impl Iterator<Item = (&Case, Option<&Verdict>)> {
        self.of_step(id).filter(|(case, _)| case.beside.is_some())
    }

    fn of_step(&self, id: StepId) -> impl Iterator<Item = (&Case, Option<&Verdict>)> {
        let both = self.cases.iter().zip(self.verdicts.iter().map(Option::as_ref));
        both.filter(move |(case, _)| case.step == Some(id))
    }
}

/// Judges a run by the array in its header; `None` where it has none.
pub fn judge(header: &RunHeader, summary: &RunSummary) -> Result<Option<Judgement>, ArrayError> {
    let Some(text) = &header.array else { return Ok(None) };
    let known = remembered::array(text)?;
    let mut tables = Tables::default();
    let cases = summary.steps.iter().flat_map(|step| run_cases(header, step, &known, &mut tables)).collect();
    Ok(Some(Judgement::of(known.array.name.clone(), cases)))
}

/// None for a step that measured nothing; one for each job where several ran side by side.
fn run_cases(header: &RunHeader, step: &StepSummary, known: &KnownArray, tables: &mut Tables) -> Vec<Case> {
    let test = header.plan.tests.get(step.id.test as usize);
    let plan = test.and_then(|test| test.steps.get(step.id.step as usize));
    let (Some(test), Some(plan), None) = (test, plan, &step.skipped) else { return Vec::new() };
    if step.total.ops == 0 || !header.plan.is_result(step.id.test) {
        return Vec::new();
    }
    match &plan.jobs[..] {
        [job] => vec![alone(header, (step, plan, job), &test.name, known, tables)],
        _ => together(header, step, (&test.name, plan), known, tables),
    }
}

fn alone(
    header: &RunHeader,
    (step, plan, job): (&StepSummary, &Step, &Job),
    test: &str,
    known: &KnownArray,
    tables: &mut Tables,
) -> Case {
    let used = used_by(header, job);
    let place = array_region(&used, &known.array);
    let workload = workloads(test, header.plan.semantics, plan, place.extent).into_iter().next();
    let ms = |ns: Option<f64>| ns.map(|ns| ns / 1e6);
    let seconds: Vec<f64> = step.series.iter().map(|p| p.iops).collect();
    let measured = Measured {
        name: format!("{} {}", step.test, step.step).trim_end().to_owned(),
        iops: step.total.iops,
        stated_mb_s: None,
        mean_ms: ms(step.total.waited().mean_ns()),
        read_p50_ms: ms(step.read.service.quantile_ns(0.5)),
        read_p20_ms: ms(step.read.service.quantile_ns(0.2)),
        write_mean_ms: ms(step.write.service.mean_ns()),
        seconds: Some(step.seconds),
        stated_transfer: None,
        synced: used.iter().all(|m| m.sync),
        error: Spread::of_seconds(&seconds).map(Spread::half_width),
        medium: medium(header, &used),
    };
    let load = workload.map(|workload| known.load(workload, place.is_known, tables));
    Case { step: Some(step.id), measured, load, beside: None }
}

/// Returns what the closed form expects of each step of one job of a run's plan on an array, whatever it was run on.
pub(crate) fn predicted<'h>(array: &Array, header: &'h RunHeader) -> Vec<(&'h str, &'h Step, Prediction)> {
    let mut tables = Tables::default();
    let mut found = Vec::new();
    for test in &header.plan.tests {
        for step in &test.steps {
            let [job] = &step.jobs[..] else { continue };
            let extent = array_region(&used_by(header, job), array).extent;
            let loads = workloads(&test.name, header.plan.semantics, step, extent);
            let Some(load) = loads.first() else { continue };
            found.push((test.name.as_str(), step, predict(array, load, Engines::Closed, &mut tables)));
        }
    }
    found
}

/// The medium under all members, as far as the host can see it: virtual disks and LUNs claim what they like.
fn medium(header: &RunHeader, members: &[&MemberFacts]) -> Medium {
    let of = |member: &MemberFacts| match &member.device {
        Some(device) if matches!(member.kind, MemberKind::File | MemberKind::Device) => {
            match device.rotational {
                true => Medium::Rotating,
                false => Medium::SolidState,
            }
        }
        _ => Medium::Unknown,
    };
    let mut all = members.iter().map(|member| of(member));
    match all.next() {
        Some(first) if header.host.hypervisor.is_none() && all.all(|other| other == first) => first,
        _ => Medium::Unknown,
    }
}

/// The members that a job works on.
fn used_by<'h>(header: &'h RunHeader, job: &Job) -> Vec<&'h MemberFacts> {
    let is_used = |index: usize| job.targets.is_empty() || job.targets.iter().any(|t| *t as usize == index);
    let targets = header.targets.iter().enumerate();
    targets.filter(|(index, _)| is_used(*index)).map(|(_, target)| &target.member).collect()
}

/// Jobs side by side: each on its own part of the array, all of them simulated at once. None where one ended before the
/// others, or began later: the simulation has no time without it.
fn together(
    header: &RunHeader,
    step: &StepSummary,
    (test, plan): (&str, &Step),
    known: &KnownArray,
    tables: &mut Tables,
) -> Vec<Case> {
    let load = |(index, job): (usize, &Job)| {
        let extent = array_region(&used_by(header, job), &known.array).extent;
        workloads(test, header.plan.semantics, plan, extent).into_iter().nth(index)
    };
    let Some(loads) = plan.jobs.iter().enumerate().map(load).collect::<Option<Vec<Workload>>>() else {
        return Vec::new();
    };
    if step.jobs.iter().any(|job| job.seconds < 0.9 * step.seconds) {
        return Vec::new();
    }
    let together = known.concurrent(loads, tables);
    let case = |(index, job): (usize, &crate::summary::JobSummary)| Case {
        step: Some(step.id),
        measured: Measured {
            name: format!("{} {} / {}", step.test, step.step, job.name).replace("  ", " "),
            iops: job.total.iops,
            mean_ms: job.total.waited().mean_ns().map(|ns| ns / 1e6),
            seconds: Some(job.seconds),
            ..Measured::default()
        },
        load: None,
        beside: Some(JobCase { together: Arc::clone(&together), job: index }),
    };
    step.jobs.iter().enumerate().map(case).collect()
}

/// Judges the rows of a published table by data sheets only: what software costs is what they are to show.
pub fn judge_published(table: &Published) -> Judgement {
    let mut tables = Tables::default();
    let cases = table.rows.iter().map(|row| {
        let measured = Measured {
            name: row.test.clone(),
            iops: row.measured_iops().unwrap_or(0.0),
            stated_mb_s: row.iops.and_then(|_| row.mib_s.map(|m| m * 1_048_576.0 / 1e6).or(row.mb_s)),
            mean_ms: row.mean_ms,
            seconds: row.model.as_ref().map(|m| m.duration_s as f64),
            stated_transfer: row.stated_bytes.zip(row.stated_s),
            ..Measured::default()
        };
        // Rows that ran side by side disturb each other; no closed form stands for one of them.
        let alone = row.model.as_ref().is_some_and(|m| m.group.is_empty()) && measured.iops > 0.0;
        let load = row.workload().filter(|_| alone).and_then(|workload| {
            let mut array = array_of(row).ok()?;
            strip_software(&mut array);
            Some(Modelled::new(&Arc::new(array), workload, Engines::Closed, &mut tables))
        });
        Case { step: None, measured, load, beside: None }
    });
    Judgement::of(String::new(), cases.collect())
}
