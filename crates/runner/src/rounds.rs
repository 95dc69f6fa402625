//! The order of the steps of a plan, which may repeat a sweep until it is steady.

use std::collections::VecDeque;

use assay_record::StepId;
use assay_spec::{Plan, Step, Test};

/// The steps of a plan in their order, without the rounds after a steady state.
pub(crate) struct Rounds<'r> {
    plan: &'r Plan,
    /// Those that are still to come.
    steps: VecDeque<StepId>,
    last: Option<StepId>,
}

impl<'r> Rounds<'r> {
    pub(crate) fn new(plan: &'r Plan) -> Self {
        let of_test = |(test, of): (u32, &Test)| {
            (0..).zip(&of.steps).map(|(step, _)| StepId { test, step }).collect::<Vec<_>>()
        };
        Self { plan, steps: (0..).zip(&plan.tests).flat_map(of_test).collect(), last: None }
    }

    /// Returns the next step; `is_steady` is asked about a test before each of its rounds but the first.
    pub(crate) fn next(&mut self, is_steady: impl Fn(u32) -> bool) -> Option<StepId> {
        let next = *self.steps.front()?;
        let is_new_round =
            self.last.is_some_and(|last| last.test == next.test && self.round(last) != self.round(next));
        if is_new_round && is_steady(next.test) {
            self.steps.retain(|step| step.test != next.test);
        }
        self.last = self.steps.pop_front();
        self.last
    }

    fn round(&self, id: StepId) -> Option<&str> {
        let step: &Step = self.plan.tests.get(id.test as usize)?.steps.get(id.step as usize)?;
        step.swept.iter().find(|swept| swept.key == "round").map(|swept| swept.value.as_str())
    }
}
