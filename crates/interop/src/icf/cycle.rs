//! Which workers and targets run in which step, by Iometer's eight test types (`GalileoView.cpp`,
//! `SetActiveTargets`).

use super::read::{Cycling, Growth, Icf, TestType};
use crate::STEPS_MAX;

/// A step: for each worker the number of its targets that are active, and the queue depth where it is cycled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CycleStep {
    /// In the order of the workers; 0 for a worker that does not run.
    pub(super) active: Vec<usize>,
    pub(super) outstanding: Option<u64>,
    /// `workers=2`, `targets=3`; empty where neither is cycled.
    pub(super) label: String,
}

/// Returns the steps of one set of access specifications. `managers` has, for each manager, the number of targets of
/// each of its workers; 0 for a worker that is idle.
pub(super) fn steps(icf: &Icf, managers: &[Vec<usize>]) -> Vec<CycleStep> {
    let whole = || CycleStep { active: managers.concat(), outstanding: None, label: String::new() };
    match icf.test_type {
        TestType::Normal => vec![whole()],
        TestType::CycleTargets => cycle_targets(icf, managers),
        TestType::CycleWorkers => {
            let targets = Cycling { start: u64::MAX, ..Cycling::default() };
            growing(&icf.workers, |n| {
                Some((first_workers(managers, n, targets.start), format!("workers={n}")))
            })
        }
        TestType::IncrementTargetsParallel => growing(&icf.targets, |n| {
            let active = managers.iter().flat_map(|workers| spread(workers, n)).collect();
            Some((active, format!("targets={n}")))
        }),
        TestType::IncrementTargetsSerial => {
            growing(&icf.targets, |n| Some((spread(&managers.concat(), n), format!("targets={n}"))))
        }
        TestType::CycleWorkersAndTargets => cycle_workers_and_targets(icf, managers),
        TestType::CycleOutstanding => with_depths(icf, &[whole()]),
        TestType::CycleOutstandingAndTargets => with_depths(icf, &cycle_targets(icf, managers)),
    }
}

/// The values of a cycle, without an end.
fn values(cycling: &Cycling) -> impl Iterator<Item = u64> {
    let Cycling { start, step, growth, .. } = *cycling;
    // A factor of 1 would never end; Iometer adds then.
    let is_linear = growth == Growth::Linear || step == 1;
    std::iter::successors(Some(start), move |value| match is_linear {
        true => value.checked_add(step),
        false => value.checked_mul(step),
    })
}

/// Steps while more targets become active with each.
fn growing(cycling: &Cycling, active: impl Fn(u64) -> Option<(Vec<usize>, String)>) -> Vec<CycleStep> {
    let mut steps: Vec<CycleStep> = Vec::new();
    let mut count = 0;
    for (active, label) in values(cycling).map_while(active).take(STEPS_MAX) {
        let sum: usize = active.iter().sum();
        if sum <= count {
            break;
        }
        count = sum;
        steps.push(CycleStep { active, outstanding: None, label });
    }
    steps
}

fn cycle_targets(icf: &Icf, managers: &[Vec<usize>]) -> Vec<CycleStep> {
    let all = managers.concat();
    growing(&icf.targets, |n| {
        let active = all.iter().map(|count| (*count).min(index(n))).collect();
        Some((active, format!("targets={n}")))
    })
}

fn cycle_workers_and_targets(icf: &Icf, managers: &[Vec<usize>]) -> Vec<CycleStep> {
    let mut steps = Vec::new();
    let mut workers_before = 0;
    for workers in values(&icf.workers) {
        let count = first_workers(managers, workers, u64::MAX).iter().filter(|count| **count > 0).count();
        if count <= workers_before || steps.len() > STEPS_MAX {
            break;
        }
        workers_before = count;
        steps.extend(growing(&icf.targets, |targets| {
            let label = format!("workers={workers} targets={targets}");
            Some((first_workers(managers, workers, targets), label))
        }));
    }
    steps
}

/// Every step at every queue depth.
fn with_depths(icf: &Icf, steps: &[CycleStep]) -> Vec<CycleStep> {
    let depths: Vec<u64> =
        values(&icf.queue).take_while(|depth| *depth <= icf.queue.end).take(STEPS_MAX).collect();
    let at = |step: &CycleStep, depth| CycleStep { outstanding: Some(depth), ..step.clone() };
    steps.iter().flat_map(|step| depths.iter().map(move |depth| at(step, *depth))).collect()
}

/// The first `workers` workers of each manager that are not idle, with at most `targets` targets each.
fn first_workers(managers: &[Vec<usize>], workers: u64, targets: u64) -> Vec<usize> {
    let of_manager = |counts: &Vec<usize>| {
        let mut left = workers;
        let active = counts.iter().map(move |count| {
            let runs = *count > 0 && left > 0;
            left -= u64::from(runs);
            if runs { (*count).min(index(targets)) } else { 0 }
        });
        active.collect::<Vec<_>>()
    };
    managers.iter().flat_map(of_manager).collect()
}

/// `targets` targets given to the workers in turn, each as many as it has.
fn spread(counts: &[usize], targets: u64) -> Vec<usize> {
    let mut left = index(targets);
    counts
        .iter()
        .map(|count| {
            let given = (*count).min(left);
            left -= given;
            given
        })
        .collect()
}

fn index(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}
