//! How each number of a page is made: a short definition with an anchor, to which the titles of tables lead, and the
//! condition of each rule that fired, to which its finding leads.

use assay_analysis::rule_name;

use super::method;
use crate::svg::escape;

/// Anchor, name and definition.
const METHODS: [(&str, &str, &str); 21] = [
    (
        "iops",
        "IOPS",
        "I/Os that completed without an error, divided by the seconds of the measured window; of a step, the sum over \
         its jobs.",
    ),
    (
        "mibs",
        "MiB/s",
        "Bytes of successful I/Os per second, in 2<sup>20</sup> bytes: the “MB/s” of forum tables.",
    ),
    ("mbs", "MB/s", "The same in 10<sup>6</sup> bytes, as links and disks are sold."),
    ("mean", "Avg, mean", "Sum of all latencies divided by their number, exact to the nanosecond."),
    (
        "latency",
        "Latency",
        "Service time, from issue to completion; under an open load response time, from the moment an I/O was due.",
    ),
    (
        "percentile",
        "p50 … p99.99",
        "The latency that this share of the I/Os does not exceed, from the whole distribution, within 0.4 %. A \
         percentile with fewer than five I/Os beyond it is not drawn.",
    ),
    ("max", "min, Max", "The shortest and the longest latency, exact."),
    (
        "outst",
        "Outst.",
        "Mean number of I/Os in flight: sum of the service times divided by the seconds of the window (Little's law: \
         IOPS × mean latency).",
    ),
    (
        "cpu",
        "CPU %",
        "CPU time in use on this host, by all programs, over the measured window; mean over its CPUs (/proc/stat).",
    ),
    (
        "interval",
        "95 % interval",
        "From the seconds of the window: standard error of their mean with their number divided by the \
         autocorrelation time, times Student's t. Percentiles also take order statistics of the I/Os. It does not \
         include differences between runs.",
    ),
    (
        "time",
        "Over time",
        "A point for each second: IOPS and MiB/s of the I/Os that completed in it, p50 and p99 of their latencies, CPU \
         time in use, and what the kernel counted for disks, links and TCP connections in the same second.",
    ),
    (
        "distribution",
        "Distribution",
        "Latency over the share of I/Os that do not exceed it, from the whole distribution. Each nine takes as much \
         room as the one before.",
    ),
    (
        "heat",
        "Heat map",
        "Each column is a stretch of time; the shade is the share of its I/Os in a range of latencies (four ranges \
         for each doubling).",
    ),
    (
        "parts",
        "Five parts",
        "The window in five equal parts. Range: highest minus lowest mean. Slope: rise of a straight line through the \
         five means from the first to the last. Both as a share of the mean; SNIA's test specification calls a load \
         steady within 20 % and 10 %.",
    ),
    (
        "rounds",
        "Rounds",
        "A test that is measured until it is steady runs in rounds. The last five count: highest minus lowest at most \
         20 % of their mean, and the line through them at most 10 % up or down (SNIA's test specification).",
    ),
    (
        "tester",
        "Tester",
        "The generator limit is the rate of the same load on a target that costs nothing. Workers busy: CPU time of \
         the tester for each worker. Timers: mean lateness of sleeps of 1 ms. Other I/O and traffic: what disks and \
         links moved beyond the tester's own. Each number is from the test in which it is highest.",
    ),
    (
        "expected",
        "Expected",
        "From the description of the array: the service time that an I/O costs each disk, link, cache and processor, \
         and the queue at each. In brackets the lowest and the highest value that the ranges in the description \
         allow; where the software of the target is not known, a bound of its hardware.",
    ),
    (
        "ratio",
        "Ratio",
        "Measured IOPS divided by the expected ones at nominal values. Below: under the lowest expected value less \
         10 %. Above: over 1.25 times the highest.",
    ),
    (
        "difference",
        "Against A",
        "IOPS divided by those of A, under a paced load p99, with a 95 % interval by Welch's test on the logarithms of \
         the repetitions; of single runs, with the spread of stored repetitions. Faster and slower: the interval \
         excludes 1, and with fewer than three repetitions on a side all of it lies beyond 5 %.",
    ),
    (
        "cost",
        "Cost",
        "Price of the targets (<code>--price</code>, <code>assay target set --price</code>) divided by IOPS / 1000, \
         and by MiB/s.",
    ),
    (
        "knee",
        "Knee",
        "The point with the highest rate over mean latency. Steps that complete fewer than 99 % of the I/Os that were \
         due are saturated.",
    ),
];

/// Returns the anchor of the number that a column's title names.
pub(crate) fn anchor(title: &str) -> Option<&'static str> {
    // The currency stands first.
    if title.ends_with("per 1000 IOPS") || title.ends_with("per MiB/s") {
        return Some("cost");
    }
    let word = title.split_whitespace().next().unwrap_or_default();
    Some(match word {
        "IOPS" => "iops",
        "MiB/s" => "mibs",
        "MB/s" => "mbs",
        "Avg" | "mean" => "mean",
        "Max" | "min" | "max" => "max",
        "Outst." => "outst",
        "CPU" => "cpu",
        "Service" | "Response" => "latency",
        "Load" | "Offered/s" | "Achieved/s" => "knee",
        "Measured" => "iops",
        "Expected" => "expected",
        "Ratio" => "ratio",
        "against" => "difference",
        word if word.starts_with('p') && word[1..].starts_with(|c: char| c.is_ascii_digit()) => "percentile",
        _ => return None,
    })
}

/// Returns the name of a rule, as a link to its condition where [`section`] has one for it.
pub(super) fn rule_link(rule: &str) -> String {
    let (name, shown) = (rule_name(rule), escape(rule));
    match method::condition(name) {
        Some(_) => format!("<a href=\"#m-rule-{}\" title=\"When this rule fires\">{shown}</a>", escape(name)),
        None => shown,
    }
}

/// Returns links to definitions, for what has no title that could lead there.
pub(super) fn how(anchors: &[&str]) -> String {
    let name =
        |anchor: &str| METHODS.iter().find(|(known, ..)| *known == anchor).map_or("", |(_, name, _)| name);
    let link = |anchor: &&str| format!("<a href=\"#m-{anchor}\">{}</a>", name(anchor));
    format!("How: {}", anchors.iter().map(link).collect::<Vec<_>>().join(", "))
}

/// Returns the definitions to which a page leads as a part of it, with the conditions of the rules that fired.
pub(super) fn section(page: &str, fired: &[&str]) -> String {
    definitions(|anchor| page.contains(&format!("\"#m-{anchor}\"")), fired)
}

/// Returns the definitions that are wanted, with the conditions of the rules that fired.
fn definitions(is_wanted: impl Fn(&str) -> bool, fired: &[&str]) -> String {
    let items: String = METHODS
        .iter()
        .filter(|(anchor, ..)| is_wanted(anchor))
        .map(|(anchor, name, says)| format!("<dt id=\"m-{anchor}\">{name}</dt><dd>{says}</dd>\n"))
        .collect();
    let mut rules: Vec<&str> = fired.iter().map(|rule| rule_name(rule)).collect();
    rules.sort_unstable();
    rules.dedup();
    let rule = |name: &&str| {
        let says = method::condition(name)?;
        Some(format!("<dt id=\"m-rule-{0}\">{0}</dt><dd>{says}</dd>\n", escape(name)))
    };
    let rules: String = rules.iter().filter_map(rule).collect();
    format!(
        "<h2 id=\"methods\">How the numbers are obtained</h2>\n<dl class=\"methods\">\n{items}{rules}</dl>\n<p \
         class=\"note\">All formulas, units \
         and sources: docs/method.md of Assay.</p>\n"
    )
}

/// Returns the definitions and the whole document, as the body of a page.
pub fn page() -> String {
    format!(
        "<h1>Methods</h1>\n{}<div class=\"method\">\n{}</div>\n",
        definitions(|_| true, &[]),
        method::document()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_anchor_of_a_title_is_on_the_page() {
        let section = definitions(|_| true, &[]);
        for title in [
            "IOPS", "MiB/s", "MB/s", "Avg ms", "mean", "Max ms", "p50", "p99.9", "Outst.", "CPU %", "Load",
            "EUR per MiB/s", "Expected IOPS", "Ratio", "against A (95 %)",
        ] {
            let anchor = anchor(title).unwrap();
            assert!(section.contains(&format!("id=\"m-{anchor}\"")), "{title}");
        }
        assert_eq!((anchor("Test"), anchor("portal")), (None, None));
    }

    #[test]
    fn a_page_defines_what_it_leads_to_and_nothing_else() {
        let text = section("<a href=\"#m-iops\">IOPS</a>", &[]);
        assert!(text.contains("id=\"m-iops\"") && text.matches("<dt ").count() == 1, "{text}");
    }
}
