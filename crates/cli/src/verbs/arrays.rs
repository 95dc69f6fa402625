//! `assay arrays`: the array descriptions that ship with Assay.

mod detect;
mod new;

use std::fmt::Write as _;

use anyhow::bail;
use assay_model::array::{Array, shipped, to_toml};
use assay_model::catalogue;
use assay_model::quantity::{Provenance, Quantity};
use serde_json::json;

use crate::args::{ArraysArgs, ArraysVerb};
use crate::exit::Exit;
use crate::output::terminal::{entry, entry_in_a_line, paragraph, say};
use crate::words::array::text_of;

/// Columns of the names in the list.
const NAME_COLUMNS: usize = 20;

pub(crate) fn arrays(args: &ArraysArgs) -> anyhow::Result<Exit> {
    match &args.verb {
        Some(ArraysVerb::Show { name }) => say(&text_of(name)?.1)?,
        Some(ArraysVerb::Detect { target, output }) => return detect::detect(target, output.as_deref()),
        Some(ArraysVerb::New { output }) => return new::new(output.as_deref()),
        Some(ArraysVerb::Drive { model: Some(model) }) => say(&drive(model)?)?,
        Some(ArraysVerb::Drive { model: None }) => {
            let line = |model: &catalogue::Model| entry(&model.name, NAME_COLUMNS, &model.source);
            say(&catalogue::models().iter().map(line).collect::<String>())?;
        }
        None => {
            let arrays = shipped::all()?;
            if args.form.json {
                let list = arrays.iter().map(
                    |a| json!({ "array": a.name, "title": a.title, "source": a.source, "members": a.raid.disks.value }),
                );
                say(&format!("{:#}\n", list.collect::<serde_json::Value>()))?;
            } else {
                let mut text: String =
                    arrays.iter().map(|a| entry_in_a_line(&a.name, NAME_COLUMNS, &a.title)).collect();
                text.push_str(&paragraph(
                    "assay arrays show NAME prints one to copy; assay predict NAME predicts it.",
                    "  ",
                ));
                say(&text)?;
            }
        }
    }
    Ok(Exit::Done)
}

/// A drive of the catalogue as an array file of one.
fn drive(model: &str) -> anyhow::Result<String> {
    let Some(found) = catalogue::find(model) else {
        let class = match catalogue::class_of(model) {
            Some(class) => format!(
                "; it is of the {}: write `disks = {{ model = \"{model}\", class = \"{}\", capacity = \"…\", \
                 count = 1 }}` into an array file",
                class.name(),
                class.word()
            ),
            None => String::new(),
        };
        bail!(
            "the catalogue has no drive `{model}`; `assay arrays drive` lists its {}{class}",
            catalogue::models().len()
        )
    };
    let mut array = Array { device: found.device.clone(), title: found.name.clone(), ..Array::default() };
    array.name.clone_from(&found.name);
    array.source.clone_from(&found.source);
    array.raid.disks = Quantity::exact(1.0, Provenance::Assumed("by definition".to_owned()));
    let text = to_toml(&array);
    // What is not about the drive is the default.
    let own = text.split("\n[raid]").next().unwrap_or_default();
    let mut shown = String::new();
    write!(shown, "{own}\n[raid]\nfrom = \"assumed: by definition\"\nlevel = \"single\"\ndisks = 1\n")?;
    Ok(shown)
}
