//! Expected beside measured.
//!
//! A [`Case`] holds one measured load ([`Measured`]: a step of a run, or a row of a published table), what the model
//! expects of it, and the physical facts of its array. The rules in `rules/model` and the verdicts see cases only, so
//! that both kinds of results are judged by the same words.

use std::sync::Arc;

use crate::finding::Finding;
use crate::place::place_of;
use crate::rules;
use crate::summary::{RunSummary, StepSummary};
use crate::verdict::{self, RunVerdict, Verdict};
use assay_model::array::{Array, ArrayError, parse};
use assay_model::calibrate::strip_software;
use assay_model::facts::{Facts, facts};
use assay_model::from_plan::workloads;
use assay_model::plant::Tables;
use assay_model::predict::{Engines, Prediction, predict, predict_inside};
use assay_model::published::Published;
use assay_model::validate::array_of;
use assay_model::workload::Workload;
use assay_record::{RunHeader, StepId};

/// What was measured of one load. What is not known is absent, and rules that need it stay silent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Measured {
    /// As people call it.
    pub name: String,
    /// I/Os per second.
    pub iops: f64,
    /// MB/s (10^6) as stated, where it was stated beside the IOPS; not computed from them.
    pub stated_mb_s: Option<f64>,
    /// Mean response time, ms.
    pub mean_ms: Option<f64>,
    /// Median of reads, ms.
    pub read_p50_ms: Option<f64>,
    /// The time that a fifth of the reads does not exceed, ms.
    pub read_p20_ms: Option<f64>,
    /// Mean of writes, ms.
    pub write_mean_ms: Option<f64>,
    /// Measured time, s.
    pub seconds: Option<f64>,
    /// Bytes that were stated to have moved, with the time that it was stated to take, s.
    pub stated_transfer: Option<(f64, f64)>,
    /// Whether each write waited until it was durable.
    pub synced: bool,
}

/// A measured load beside its expectation.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Which step of the run; `None` for a published row.
    pub step: Option<StepId>,
    /// What was measured.
    pub measured: Measured,
    /// The load; `None` where the model has no way to say it.
    pub load: Option<Modelled>,
}

/// What the model says of a load.
#[derive(Debug, Clone, PartialEq)]
pub struct Modelled {
    /// The load as the model sees it.
    pub workload: Workload,
    /// The array under it.
    pub array: Arc<Array>,
    /// What to expect.
    pub prediction: Prediction,
    /// Physical facts of the array under it.
    pub facts: Facts,
    /// Whether it is known where on the array the load lies; else the prediction holds all places.
    pub is_placed: bool,
}

impl Modelled {
    /// What the model says of `workload` on `array`.
    #[must_use]
    pub fn new(array: &Arc<Array>, workload: Workload, engines: Engines, tables: &mut Tables) -> Self {
        Self {
            prediction: predict(array, &workload, engines, tables),
            facts: facts(array, &workload, tables),
            array: Arc::clone(array),
            workload,
            is_placed: true,
        }
    }

    /// Share of reads, %, over the mix.
    #[must_use]
    pub fn read_pct(&self) -> f64 {
        self.mean_of(|a| a.read_pct)
    }

    /// Share of random positions, %, over the mix.
    #[must_use]
    pub fn random_pct(&self) -> f64 {
        self.mean_of(|a| a.random_pct)
    }

    fn mean_of(&self, of: impl Fn(&assay_model::workload::Access) -> f64) -> f64 {
        let weight: f64 = self.workload.mix.iter().map(|a| a.weight).sum();
        self.workload.mix.iter().map(|a| of(a) * a.weight).sum::<f64>() / weight
    }

    /// Rate in MB/s (10^6) of so many I/Os per second.
    #[must_use]
    pub fn mb_s(&self, iops: f64) -> f64 {
        iops * self.workload.mean_size() / 1e6
    }
}

/// Everything the model lets one say about results.
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
    /// What the rules found, in their order.
    pub findings: Vec<Finding>,
}

impl Judgement {
    /// Judges cases; `array` is what all of them are on, or empty.
    #[must_use]
    pub fn of(array: String, cases: Vec<Case>) -> Self {
        let findings = rules::model::apply(&cases);
        let verdicts: Vec<Option<Verdict>> =
            (0..cases.len()).map(|index| verdict::of_case(&cases[index], index, &findings)).collect();
        let findings = findings.into_iter().map(|f| f.finding).collect();
        Self { array, verdict: verdict::of_run(&cases, &verdicts), cases, verdicts, findings }
    }

    /// The case and verdict of a step.
    #[must_use]
    pub fn step(&self, id: StepId) -> Option<(&Case, Option<&Verdict>)> {
        let index = self.cases.iter().position(|c| c.step == Some(id))?;
        Some((&self.cases[index], self.verdicts[index].as_ref()))
    }
}

/// Judges a run by the array in its header; `None` where it has none.
pub fn judge(header: &RunHeader, summary: &RunSummary) -> Result<Option<Judgement>, ArrayError> {
    let Some(text) = &header.array else { return Ok(None) };
    let array = Arc::new(parse("the run's array", text)?);
    let mut tables = Tables::default();
    let cases = summary.steps.iter().filter_map(|step| run_case(header, step, &array, &mut tables)).collect();
    Ok(Some(Judgement::of(array.name.clone(), cases)))
}

/// `None` for steps that measured nothing, and for jobs side by side: what they do to each other has no table.
fn run_case(header: &RunHeader, step: &StepSummary, array: &Arc<Array>, tables: &mut Tables) -> Option<Case> {
    if step.total.ops == 0 || step.skipped.is_some() {
        return None;
    }
    let test = header.plan.tests.get(step.id.test as usize)?;
    let plan = test.steps.get(step.id.step as usize)?;
    let [job] = &plan.jobs[..] else { return None };
    let used: Vec<_> = header
        .targets
        .iter()
        .enumerate()
        .filter(|(index, _)| job.targets.is_empty() || job.targets.iter().any(|t| *t as usize == *index))
        .map(|(_, target)| &target.member)
        .collect();
    let place = place_of(&used, array);
    let workload = workloads(&test.name, header.plan.semantics, plan, place.extent).into_iter().next()?;
    let ms = |ns: Option<f64>| ns.map(|ns| ns / 1e6);
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
    };
    let mut load = Modelled::new(array, workload, Engines::FULL, tables);
    if !place.is_known {
        let inner = predict_inside(array, &load.workload, Engines::FULL, tables);
        load.prediction = load.prediction.or(inner);
        load.is_placed = false;
    }
    Some(Case { step: Some(step.id), measured, load: Some(load) })
}

/// Judges the rows of a published table by data sheets only: what software costs is what they are to show.
#[must_use]
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
        Case { step: None, measured, load }
    });
    Judgement::of(String::new(), cases.collect())
}
