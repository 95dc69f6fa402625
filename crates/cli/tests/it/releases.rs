//! Runs of earlier releases: this version shows them as the release did that stored them, but for added fields.

use std::path::Path;

use serde_json::Value;

use crate::story::{DONE, Story};

/// What is not stored but judged anew each time a run is shown, by the rules and in the words of the version that shows
/// it: the array it was compared with is stored, the judgement is not.
const JUDGED: [&str; 4] = ["findings", "verdict", "limits", "expected"];
/// How sure a figure is is judged anew, too; the figure itself (`value`) stays.
const ERRORS_OF_FIGURES: [&str; 3] = ["lo", "hi", "n_effective"];

/// Lists where `new` does not say what `old` said. Fields may be added, and nothing else.
fn differences(at: &str, old: &Value, new: &Value, found: &mut Vec<String>) {
    match (old, new) {
        // A window that was cut off within its first second is no result any more: its rates were taken from a blink.
        (_, Value::Object(new)) if new.get("unmeasured").is_some_and(Value::is_string) => {}
        // The baseline of a run on a relative path was looked for in the folder of whoever asked.
        (Value::Null, Value::Object(_)) if at.ends_with("/baseline") => {}
        (Value::Object(old), Value::Object(new)) => {
            let is_estimate = old.contains_key("value") && old.contains_key("n_effective");
            let is_judged =
                |key: &str| JUDGED.contains(&key) || (is_estimate && ERRORS_OF_FIGURES.contains(&key));
            for (key, old) in old.iter().filter(|(key, _)| !is_judged(key)) {
                let at = format!("{at}/{key}");
                match new.get(key) {
                    Some(new) => differences(&at, old, new, found),
                    None => found.push(format!("{at} is gone; it was {old}")),
                }
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (index, (old, new)) in old.iter().zip(new).enumerate() {
                differences(&format!("{at}/{index}"), old, new, found);
            }
        }
        // Equal numbers have equal digits: both are printed by their shortest form.
        (old, new) if old == new => {}
        (old, new) => found.push(format!("{at} is {new}; it was {old}")),
    }
}

#[test]
fn runs_of_every_release_are_shown_as_it_showed_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/tests/data");
    let (mut runs, mut found) = (0, Vec::new());
    for release in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if !release.is_dir() {
            continue;
        }
        let story = Story::new();
        std::fs::copy(release.join("store.sqlite"), story.path("store.sqlite")).unwrap();
        for document in std::fs::read_dir(release.join("runs")).unwrap().map(|entry| entry.unwrap().path()) {
            let old: Value = serde_json::from_str(&std::fs::read_to_string(&document).unwrap()).unwrap();
            let run = document.file_stem().unwrap().to_str().unwrap();
            let new = story.assay(&["show", run, "--json"]).ends(DONE).json();
            differences(run, &old, &new, &mut found);
            runs += 1;
        }
    }
    assert!(runs >= 12 && found.is_empty(), "of {runs} runs:\n{}", found.join("\n"));
}
