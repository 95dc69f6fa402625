//! Words of the commands that Assay prints.

use assay_spec::Plan;

/// Returns what the command line changed in a plan, as it is typed: `--quick`, `--set run=20s`, `--rate 500/s`. The
/// record has the words of `--set` as they were, and of other options what they set.
pub fn options(plan: &Plan) -> Vec<String> {
    let typed = |change: &String| {
        let named = |option: &str, value: &str| format!("{option} {}", quoted(value));
        if let Some(rate) = change.strip_prefix("rate=").and_then(|rate| rate.strip_suffix(", open loop")) {
            named("--rate", rate)
        } else if let Some(tolerance) = change.strip_prefix("until ") {
            named("--until", tolerance)
        } else if let Some(times) = change.strip_prefix("precondition=") {
            named("--precondition", times)
        } else {
            named("--set", change)
        }
    };
    let quick = plan.quick.then(|| "--quick".to_owned());
    quick.into_iter().chain(plan.changes.iter().map(typed)).collect()
}

/// Returns a word as it is typed in a shell.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,+@%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
