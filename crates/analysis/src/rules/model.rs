//! Rules that hold a measurement against the model, one small file per group.
//!
//! To add one: write a function from a [`Case`] (rules about one load) or from two of them (rules that compare loads)
//! to an `Option`, and list it below. Thresholds stand beside the rule that uses them. A rule that lacks a fact it
//! needs returns `None`.

mod cache;
mod cost;
mod identity;
mod link;
mod pairs;
mod serial;

use crate::case::Case;
use crate::finding::{Evidence, Finding, Severity};

/// What a rule has to say.
pub(crate) struct Says {
    pub(crate) severity: Severity,
    pub(crate) says: String,
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) next: &'static str,
}

/// A finding and the cases it is about.
pub(crate) struct Found {
    pub(crate) finding: Finding,
    pub(crate) cases: Vec<usize>,
}

type CaseRule = fn(&Case) -> Option<Says>;
type PairRule = fn(&Case, &Case) -> Option<Says>;
type AllRule = fn(&[Case]) -> Option<(Says, Vec<usize>)>;

const CASE_RULES: [(&str, CaseRule); 9] = [
    ("UNIT", identity::unit),
    ("LITTLE", identity::little),
    ("PHYS", identity::phys),
    ("CACHE-R", cache::reads),
    ("CACHE-W", cache::writes),
    ("SYNC", cache::sync),
    ("LINK", link::link),
    ("SERIAL", serial::serial),
    ("SPAN", serial::span),
];

const PAIR_RULES: [(&str, PairRule); 3] =
    [("WSERIAL", pairs::serial_writes), ("RAIDPEN", pairs::raid_penalty), ("INVAR", pairs::invariant)];

const ALL_RULES: [(&str, AllRule); 1] = [("CPU", cost::cpu)];

/// Every finding, in the order of the rules. Of a rule that fires more than once the first is told in full.
pub(crate) fn apply(cases: &[Case]) -> Vec<Found> {
    let mut found = Vec::new();
    for (name, rule) in CASE_RULES {
        let fired = cases.iter().enumerate().filter_map(|(i, c)| Some((vec![i], rule(c)?)));
        found.extend(first_of(name, cases, fired.collect()));
    }
    for (name, rule) in PAIR_RULES {
        let pairs = (0..cases.len()).flat_map(|a| (a + 1..cases.len()).map(move |b| (a, b)));
        let fired = pairs.filter_map(|(a, b)| Some((vec![a, b], rule(&cases[a], &cases[b])?)));
        found.extend(first_of(name, cases, fired.collect()));
    }
    for (name, rule) in ALL_RULES {
        let fired: Vec<_> = rule(cases).map(|(says, used)| (used, says)).into_iter().collect();
        found.extend(first_of(name, cases, fired));
    }
    found
}

/// What a resource that differs between two runs did to a load of each. The other rules about two loads are about one
/// array, and each run has been judged by them already.
pub(crate) fn across(first: &[Case], own: &[Case]) -> Vec<Finding> {
    let both: Vec<Case> = first.iter().chain(own).cloned().collect();
    let pairs = |a: usize| (first.len()..both.len()).map(move |b| (a, b));
    let fired = (0..first.len()).flat_map(pairs);
    let fired = fired.filter_map(|(a, b)| Some((vec![a, b], pairs::invariant(&both[a], &both[b])?)));
    let found = first_of("INVAR", &both, fired.collect());
    found.map(|f| Finding { steps: Vec::new(), ..f.finding }).into_iter().collect()
}

fn first_of(rule: &str, cases: &[Case], fired: Vec<(Vec<usize>, Says)>) -> Option<Found> {
    let mut indices: Vec<usize> = fired.iter().flat_map(|(used, _)| used.clone()).collect();
    indices.sort_unstable();
    indices.dedup();
    let others = fired.len() - usize::from(!fired.is_empty());
    let (used, first) = fired.into_iter().next()?;
    let names: Vec<String> = used.iter().take(2).map(|i| cases[*i].measured.name.clone()).collect();
    let more = match others {
        0 => String::new(),
        1 => " The same holds once more.".to_owned(),
        n => format!(" The same holds {n} times more."),
    };
    Some(Found {
        finding: Finding {
            rule: rule.to_owned(),
            severity: first.severity,
            says: format!("{}: {}{more}", super::list(&names), first.says),
            evidence: first.evidence,
            next: first.next.to_owned(),
            steps: indices.iter().filter_map(|i| cases[*i].step).collect(),
        },
        cases: indices,
    })
}
