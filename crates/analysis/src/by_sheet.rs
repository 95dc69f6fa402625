//! Expected and measured rates without an array file: what the data sheets of the drives that a host sees let expect.

use assay_model::quantity::Bounds;
use assay_record::{MemberKind, RunHeader};

use crate::detected::{Detected, detected};
use crate::expected::predicted;
use crate::figures::whole;
use crate::summary::RunSummary;

/// An interval that is wider says nothing: its highest rate over its lowest.
const WIDTH_MAX: f64 = 6.0;
/// Measured within this of an interval is as expected.
const TOLERANCE: f64 = 0.10;

/// What a step was expected to do, and did.
struct Beside {
    name: String,
    expected: Bounds,
    measured: f64,
}

impl Beside {
    fn is_inside(&self) -> bool {
        self.measured >= self.expected.lo * (1.0 - TOLERANCE)
            && self.measured <= self.expected.hi * (1.0 + TOLERANCE)
    }

    /// How far outside it lies, as a factor above 1.
    fn distance(&self) -> f64 {
        (self.expected.lo / self.measured.max(1e-9)).max(self.measured / self.expected.hi.max(1e-9))
    }

    fn says(&self) -> String {
        let Bounds { lo, hi, .. } = self.expected;
        format!(
            "{}: {} to {} IOPS expected, {} measured",
            self.name,
            whole(lo),
            whole(hi),
            whole(self.measured)
        )
    }
}

/// Returns a sentence that compares a run with the data sheets of the drives below it; `None` for a run with an array
/// file, and where too little of the drives is known.
pub fn by_sheet(header: &RunHeader, summary: &RunSummary) -> Option<String> {
    if header.array.is_some() || header.imported.is_some() || header.diagnosis.is_some() {
        return None;
    }
    let Detected { array, is_known: true, .. } = same_for_all(header)? else { return None };
    let expected = predicted(&array, header);
    let steps: Vec<Beside> = summary
        .steps
        .iter()
        .filter(|step| step.skipped.is_none() && step.total.ops > 0)
        .filter_map(|step| {
            let plan = header.plan.tests.get(step.id.test as usize)?.steps.get(step.id.step as usize)?;
            let (_, _, prediction) = expected.iter().find(|(_, of, _)| std::ptr::eq(*of, plan))?;
            let name = format!("{} {}", step.test, step.step).trim_end().to_owned();
            Some(Beside { name, expected: prediction.iops, measured: step.total.iops })
        })
        .filter(|beside| beside.expected.hi <= beside.expected.lo * WIDTH_MAX)
        .collect();
    let of = array.title.clone();
    let inside = steps.iter().filter(|beside| beside.is_inside()).count();
    let furthest = steps.iter().max_by(|a, b| a.distance().total_cmp(&b.distance()))?;
    Some(match (steps.len(), inside) {
        (1, _) => format!("By the data sheet of {of}, {}.", furthest.says()),
        (all, inside) if all == inside => {
            format!(
                "By the data sheet of {of}, all {all} steps are as expected; nearest to its end is {}.",
                furthest.says()
            )
        }
        (all, inside) => {
            format!(
                "By the data sheet of {of}, {inside} of {all} steps are as expected; furthest is {}.",
                furthest.says()
            )
        }
    })
}

/// The array that all targets of a run are on, on local drives.
fn same_for_all(header: &RunHeader) -> Option<Detected> {
    if header.host.hypervisor.is_some() {
        return None;
    }
    let mut found: Option<Detected> = None;
    for target in &header.targets {
        let member = &target.member;
        // What the page cache answers is no matter of drives.
        if !member.direct || !matches!(member.kind, MemberKind::File | MemberKind::Device) {
            return None;
        }
        let one = detected(member)?;
        match &found {
            Some(known) if known.array.device != one.array.device || known.array.title != one.array.title => {
                return None;
            }
            _ => found = Some(one),
        }
    }
    found
}
