//! `assay target`: the array that a target is on.

use anyhow::Context as _;
use assay_spec::{Address, without_secret};
use assay_store::Store;
use serde_json::json;

use crate::args::{TargetArgs, TargetVerb};
use crate::arrays::array_text;
use crate::exit::Exit;
use crate::open_store::{open_store, store_if_any};
use crate::terminal::{note, say};

pub(crate) fn target(args: &TargetArgs) -> anyhow::Result<Exit> {
    if let TargetVerb::Set { target, .. } = &args.verb {
        // What no run can be on is not kept either, least of all a secret in an address.
        target.parse::<Address>().with_context(|| format!("target `{}`", without_secret(target)))?;
    }
    match &args.verb {
        TargetVerb::Set { target, array } if array == "none" => {
            // Without a store there is nothing to remove, and none is created.
            if let Some(store) = store_if_any(&args.store)? {
                store.set_target_array(&key(target), None)?;
            }
            note!("{target} no longer has an array");
        }
        TargetVerb::Set { target, array } => {
            let (parsed, text) = array_text(array)?;
            open_store(&args.store)?.set_target_array(&key(target), Some(&text))?;
            note!("{target} is on {}; every run on it now shows expected beside measured", parsed.title);
        }
        TargetVerb::List { form } => {
            let store = store_if_any(&args.store)?;
            let known = store.map_or(Ok(Vec::new()), |store| store.target_arrays())?;
            let title = |text: &str| {
                assay_model::array::parse("store", text).map_or_else(|e| e.to_string(), |a| a.title)
            };
            if form.json {
                let list =
                    known.iter().map(|(target, text)| json!({ "target": target, "array": title(text) }));
                say(&format!("{:#}\n", list.collect::<serde_json::Value>()))?;
            } else if known.is_empty() {
                say("No target has an array yet; assay target set TARGET --array FILE gives it one.\n")?;
            } else {
                say(&known
                    .iter()
                    .map(|(target, text)| format!("{target}  {}\n", title(text)))
                    .collect::<String>())?;
            }
        }
    }
    Ok(Exit::Done)
}

/// Returns the name of a target in the store: paths are absolute, links followed.
fn key(target: &str) -> String {
    match target.parse::<Address>() {
        Ok(Address::Path(path)) => {
            let absolute = path.canonicalize().or_else(|_| std::path::absolute(&path));
            absolute.unwrap_or(path).display().to_string()
        }
        _ => target.to_owned(),
    }
}

/// Returns the text of the array of a run: the given one, else that of its first target, else the simulated one.
pub(crate) fn array_of_run(
    given: Option<&str>,
    targets: &[String],
    store: &Store,
) -> anyhow::Result<Option<String>> {
    if let Some(name) = given {
        return Ok(Some(array_text(name)?.1));
    }
    for target in targets {
        if let Some(text) = store.target_array(&key(target))? {
            return Ok(Some(text));
        }
        if let Ok(Address::Sim { array }) = target.parse() {
            return Ok(Some(array_text(&array)?.1));
        }
    }
    Ok(None)
}
