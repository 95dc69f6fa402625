//! Names of a run: its id or a part of it, its label, or `last`.

use jiff::Timestamp;
use thiserror::Error;

use crate::row::RunRow;

/// Candidates listed in a message.
pub(crate) const LISTED_MAX: usize = 8;

/// Why a name does not mean one run.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FindError {
    /// There is no run at all.
    #[error("no run is stored yet; `assay run SUITE TARGET` makes one")]
    Empty,
    /// Nothing goes by that name.
    #[error("no run is called `{name}`{hint}")]
    None {
        /// What was asked for.
        name: String,
        /// What there is, or nothing.
        hint: String,
    },
    /// Several runs go by that name.
    #[error("`{name}` matches several runs; type more of the id:{candidates}")]
    Several {
        /// What was asked for.
        name: String,
        /// A line for each, preceded by a line break.
        candidates: String,
    },
}

/// Finds a run among those that a name may stand for, the newest first: an id, a label, the start or the end of an id.
/// `None` where it stands for none of them.
pub(crate) fn find(runs: &[RunRow], name: &str) -> Option<Result<String, FindError>> {
    if runs.iter().any(|r| r.run == name) {
        return Some(Ok(name.to_owned()));
    }
    let labelled: Vec<&RunRow> = runs.iter().filter(|r| r.label.as_deref() == Some(name)).collect();
    let parts = || runs.iter().filter(|r| is_part(&r.run, name)).collect();
    let found: Vec<&RunRow> = if labelled.is_empty() { parts() } else { labelled };
    match found.as_slice() {
        [] => None,
        [one] => Some(Ok(one.run.clone())),
        several => {
            let candidates = list(several.len(), several);
            Some(Err(FindError::Several { name: name.to_owned(), candidates }))
        }
    }
}

/// Says that no run goes by a name: of so many, the newest of which are these.
pub(crate) fn none(name: &str, count: usize, newest: &[RunRow]) -> FindError {
    let hint = match (runs_back(name), count) {
        (_, 0) => return FindError::Empty,
        (Some(_), count) => format!("; {count} runs are stored, so the oldest is last~{}", count - 1),
        (None, count) => {
            let newest: Vec<&RunRow> = newest.iter().collect();
            format!("; the newest stored runs are:{}", list(count, &newest))
        }
    };
    FindError::None { name: name.to_owned(), hint }
}

/// Whether a name is the start or the end of an id.
pub(crate) fn is_part(run: &str, name: &str) -> bool {
    !name.is_empty() && (run.starts_with(name) || run.ends_with(name))
}

/// 0 for `last`, N for `last~N`.
pub(crate) fn runs_back(name: &str) -> Option<usize> {
    match name.strip_prefix("last")? {
        "" => Some(0),
        rest => rest.strip_prefix('~')?.parse().ok(),
    }
}

/// Returns a line for each of the first of so many runs, with what people remember of it: its label, plan and targets,
/// and when it started.
fn list(count: usize, runs: &[&RunRow]) -> String {
    let line = |run: &&RunRow| {
        let label = run.label.as_ref().map_or_else(String::new, |label| format!(" ({label})"));
        format!("\n  {}{label}: {} on {}, {}", run.run, run.name, run.targets.join(", "), started(run))
    };
    let mut text: String = runs.iter().take(LISTED_MAX).map(line).collect();
    if count > LISTED_MAX {
        text.push_str(&format!("\n  {} more: assay runs lists them", count - LISTED_MAX));
    }
    text
}

fn started(run: &RunRow) -> String {
    let moment = i64::try_from(run.started_unix_ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    moment.map_or_else(|| "unknown".to_owned(), |moment| moment.strftime("%Y-%m-%d %H:%M UTC").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs() -> Vec<RunRow> {
        let run = |run: &str, label: Option<&str>| RunRow {
            run: run.into(),
            name: "vmware".into(),
            status: None,
            is_running: false,
            label: label.map(Into::into),
            note: None,
            started_unix_ms: 1_795_231_800_000,
            targets: vec!["./t.dat".into()],
            lost: None,
            host: None,
            unreadable: None,
        };
        vec![
            run("261122-aaaa", Some("after")),
            run("261121-k7f2", Some("before")),
            run("261121-k9b2", None),
            run("261120-zzzz", Some("before")),
        ]
    }

    fn check(name: &str, expected: &str) {
        let found = find(&runs(), name).unwrap_or_else(|| Err(none(name, runs().len(), &runs())));
        let found = found.unwrap_or_else(|e| e.to_string());
        assert_eq!(found, expected, "{name}");
    }

    #[test]
    fn runs_are_found_by_what_people_call_them() {
        for (name, expected) in [
            ("261121-k9b2", "261121-k9b2"),
            ("k7f2", "261121-k7f2"),
            ("261121-k7", "261121-k7f2"),
            ("261122", "261122-aaaa"),
            ("after", "261122-aaaa"),
        ] {
            check(name, expected);
        }
    }

    #[test]
    fn what_is_unknown_or_ambiguous_lists_the_candidates() {
        check("last~4", "no run is called `last~4`; 4 runs are stored, so the oldest is last~3");
        check(
            "261121",
            "`261121` matches several runs; type more of the id:\
             \n  261121-k7f2 (before): vmware on ./t.dat, 2026-11-21 03:30 UTC\
             \n  261121-k9b2: vmware on ./t.dat, 2026-11-21 03:30 UTC",
        );
        check(
            "before",
            "`before` matches several runs; type more of the id:\
             \n  261121-k7f2 (before): vmware on ./t.dat, 2026-11-21 03:30 UTC\
             \n  261120-zzzz (before): vmware on ./t.dat, 2026-11-21 03:30 UTC",
        );
        check(
            "nope",
            "no run is called `nope`; the newest stored runs are:\
             \n  261122-aaaa (after): vmware on ./t.dat, 2026-11-21 03:30 UTC\
             \n  261121-k7f2 (before): vmware on ./t.dat, 2026-11-21 03:30 UTC\
             \n  261121-k9b2: vmware on ./t.dat, 2026-11-21 03:30 UTC\
             \n  261120-zzzz (before): vmware on ./t.dat, 2026-11-21 03:30 UTC",
        );
        assert_eq!((find(&[], "last"), none("last", 0, &[])), (None, FindError::Empty));
        let many: Vec<RunRow> = runs().iter().cycle().take(LISTED_MAX + 3).cloned().collect();
        let says = none("nope", many.len(), &many).to_string();
        assert!(says.ends_with("UTC\n  3 more: assay runs lists them"), "{says}");
    }
}
