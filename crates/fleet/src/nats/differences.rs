//! What is not equal on all hosts, and may make equal loads unequal.

use std::collections::BTreeMap;

use assay_record::HostFacts;

/// A fact by its name, and how a host says it.
type Fact = (&'static str, fn(&HostFacts) -> String);

const FACTS: [Fact; 6] = [
    ("kernel", |facts| facts.kernel.clone()),
    ("CPU", |facts| facts.cpu_model.clone()),
    ("number of CPUs", |facts| facts.cpus.to_string()),
    ("clock source", |facts| facts.clocksource.clone()),
    ("state of the clock", |facts| match &facts.clock {
        Some(clock) if clock.is_synchronized => "synchronized".to_owned(),
        Some(_) => "not synchronized".to_owned(),
        None => "unknown".to_owned(),
    }),
    ("CPU frequency governor", |facts| facts.governor.clone().unwrap_or_else(|| "unknown".to_owned())),
];

/// Returns a sentence for each fact that hosts differ in.
pub(crate) fn differences(hosts: &[(&str, &HostFacts)]) -> Vec<String> {
    FACTS.iter().filter_map(|(what, of)| difference(hosts, what, *of)).collect()
}

fn difference(hosts: &[(&str, &HostFacts)], what: &str, of: fn(&HostFacts) -> String) -> Option<String> {
    let mut by_value: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (name, facts) in hosts {
        by_value.entry(of(facts)).or_default().push(name);
    }
    let groups: Vec<String> =
        by_value.iter().map(|(value, names)| format!("{value} ({})", names.join(", "))).collect();
    (groups.len() > 1).then(|| format!("The {what} differs: {}.", groups.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_named_with_the_hosts_that_have_it() {
        let facts =
            |kernel: &str, cpus: u32| HostFacts { kernel: kernel.into(), cpus, ..assay_host::host_facts() };
        let (a, b, c) = (facts("6.1.0", 8), facts("6.18.1", 8), facts("6.1.0", 8));
        assert_eq!(
            differences(&[("a", &a), ("b", &b), ("c", &c)]),
            ["The kernel differs: 6.1.0 (a, c); 6.18.1 (b)."]
        );
        assert!(differences(&[("a", &a), ("c", &c)]).is_empty());
    }
}
