//! `PLAN TARGET` and `TARGET PLAN` are both understood, where it is clear which is which.

use std::path::Path;

use assay_spec::suites::suite;

use crate::args::Verb;
use crate::words::plan_file::is_plan;
use crate::words::targets::looks_like_target;

/// Endings of files of data.
const DATA: [&str; 6] = ["dat", "data", "img", "bin", "raw", "tst"];

/// Puts plan and target of a verb where they belong.
pub(crate) fn settle(verb: &mut Verb) {
    match verb {
        Verb::Run(args) => plan_to_front(&mut args.plan, &mut args.targets),
        Verb::Scale(args) => plan_to_front(&mut args.plan, &mut args.targets),
        Verb::Curve(args) => target_to_front(&mut args.target, &mut args.plan),
        Verb::Diagnose(args) => target_to_front(&mut args.target, &mut args.plan),
        // A file of a plan and one of an array end alike, so only a suite is known for a plan by its name.
        Verb::Predict(args) if suite(&args.array).is_some() && suite(&args.plan).is_none() => {
            std::mem::swap(&mut args.array, &mut args.plan);
        }
        _ => {}
    }
}

/// A word that can only be a target in the place of the plan, and one plan among the targets. A word that may be the
/// plan's misspelled name is left: a run would create a file of that name.
fn plan_to_front(plan: &mut String, targets: &mut [String]) {
    let mut plans = targets.iter().enumerate().filter(|(_, word)| is_plan(word)).map(|(index, _)| index);
    if let (Some(index), None) = (plans.next(), plans.next())
        && !is_plan(plan)
        && is_target(plan)
    {
        // The targets keep their order.
        targets[..=index].rotate_right(1);
        std::mem::swap(plan, &mut targets[0]);
    }
}

/// Also a name that ends as files of data do: no suite does, nor a slip of the pen in its name.
fn is_target(word: &str) -> bool {
    let ending = Path::new(word).extension().and_then(|ending| ending.to_str());
    looks_like_target(word) || ending.is_some_and(|ending| DATA.contains(&ending))
}

fn target_to_front(target: &mut String, plan: &mut Option<String>) {
    if let Some(plan) = plan
        && is_plan(target)
        && !is_plan(plan)
        && is_target(plan)
    {
        std::mem::swap(target, plan);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(plan: &str, targets: &[&str]) -> (String, Vec<String>) {
        let (mut plan, mut targets) =
            (plan.to_owned(), targets.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>());
        plan_to_front(&mut plan, &mut targets);
        (plan, targets)
    }

    #[test]
    fn both_orders_mean_the_same() {
        let expected = ("vmware".to_owned(), vec!["./a".to_owned(), "./b".to_owned()]);
        assert_eq!(settled("vmware", &["./a", "./b"]), expected);
        assert_eq!(settled("./a", &["vmware", "./b"]), expected);
        assert_eq!(settled("./a", &["./b", "vmware"]), expected);
        assert_eq!(settled("a.dat", &["vmware"]), ("vmware".to_owned(), vec!["a.dat".to_owned()]));
        // A slip of the pen in the plan's name is not taken for a file to create.
        assert_eq!(settled("vmwaer", &["vmware"]).0, "vmwaer");
        assert_eq!(settled("./a", &["vmware", "super-atto"]).0, "./a", "two plans: not clear");
        let (mut target, mut plan) = ("vmware".to_owned(), Some("null:".to_owned()));
        target_to_front(&mut target, &mut plan);
        assert_eq!((target.as_str(), plan.as_deref()), ("null:", Some("vmware")));
    }
}
