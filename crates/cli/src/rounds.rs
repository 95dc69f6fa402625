//! The order of steps of a plan that repeats a sweep until it is steady.

use std::cell::RefCell;
use std::collections::VecDeque;

use assay_analysis::Collector;
use assay_record::StepId;
use assay_spec::{Goal, Plan, Step};

/// Returns true if a test of a plan repeats its sweep until it is steady.
pub(crate) fn has_rounds(plan: &Plan) -> bool {
    plan.tests.iter().flat_map(|test| &test.steps).any(|step| step.stop.goal == Some(Goal::SteadySweep))
}

/// The steps of a plan in their order, without the rounds after a steady state.
pub(crate) struct Rounds<'r> {
    plan: &'r Plan,
    collector: &'r RefCell<Collector>,
    /// Those that are still to come.
    steps: VecDeque<StepId>,
    last: Option<StepId>,
}

impl<'r> Rounds<'r> {
    pub(crate) fn new(plan: &'r Plan, collector: &'r RefCell<Collector>) -> Self {
        let of_test = |(test, of): (u32, &assay_spec::Test)| {
            (0..).zip(&of.steps).map(move |(step, _)| StepId { test, step }).collect::<Vec<_>>()
        };
        Self { plan, collector, steps: (0..).zip(&plan.tests).flat_map(of_test).collect(), last: None }
    }

    pub(crate) fn next(&mut self) -> Option<StepId> {
        let next = *self.steps.front()?;
        let is_new_round =
            self.last.is_some_and(|last| last.test == next.test && self.round(last) != self.round(next));
        if is_new_round && self.is_steady(next.test) {
            self.steps.retain(|step| step.test != next.test);
        }
        self.last = self.steps.pop_front();
        self.last
    }

    fn round(&self, id: StepId) -> Option<&str> {
        let step: &Step = self.plan.tests.get(id.test as usize)?.steps.get(id.step as usize)?;
        step.swept.iter().find(|swept| swept.key == "round").map(|swept| swept.value.as_str())
    }

    fn is_steady(&self, test: u32) -> bool {
        self.collector.borrow().steady_sweep(test).is_some_and(|(_, state)| state.is_reached)
    }
}
