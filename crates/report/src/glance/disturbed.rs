//! What disturbed a test, in words for the first sentence of a run: the names of rules stand at the findings below it.

/// By rule; the causes of one sentence are joined by commas.
const WORDS: [(&str, &str); 18] = [
    ("cpu-quota", "a CPU quota of this host"),
    ("memory-pressure", "lack of memory on this host"),
    ("background-work", "background work of the storage"),
    ("mismatch", "wrong data"),
    ("uncertain-writes", "writes of unknown outcome"),
    ("errors", "failed I/Os"),
    ("stalled", "stalls"),
    ("gap-in-window", "gaps in the measurement"),
    ("host-without-cpu", "one host without a free CPU"),
    ("no-common-start", "hosts that did not begin together"),
    ("tester-bound", "the tester itself, which was the limit"),
    ("near-null-ceiling", "the tester itself, near its own limit"),
    ("busy-host", "other programs on the CPUs of the host"),
    ("steal", "other virtual machines on the CPUs of the host"),
    ("late-timers", "late timers of the host"),
    ("foreign-io", "I/O of other programs"),
    ("retransmits", "lost packets"),
    ("link-errors", "errors of a network link"),
];

/// Returns what disturbs where this rule fires.
pub(super) fn words(rule: &str) -> &str {
    WORDS.iter().find(|(known, _)| *known == rule).map_or(rule, |(_, words)| words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_analysis::{Finding, Severity, is_disturbance};

    #[test]
    fn every_rule_that_disturbs_has_words() {
        let warning = |rule: &str| Finding {
            rule: rule.to_owned(),
            aliases: Vec::new(),
            severity: Severity::Warning,
            says: String::new(),
            evidence: Vec::new(),
            next: String::new(),
            steps: Vec::new(),
        };
        let methods = include_str!("../../../../docs/method.md");
        let rules = methods.lines().filter_map(|line| line.strip_prefix("| ")?.split(' ').next());
        let disturbing: Vec<&str> = rules.filter(|rule| is_disturbance(&warning(rule))).collect();
        let named: Vec<&str> = disturbing.iter().copied().filter(|rule| words(rule) != *rule).collect();
        assert_eq!(disturbing, named);
        let unknown = WORDS.iter().filter(|(rule, _)| !is_disturbance(&warning(rule))).count();
        assert!(disturbing.len() >= WORDS.len() && unknown == 0, "{disturbing:?}");
    }
}
