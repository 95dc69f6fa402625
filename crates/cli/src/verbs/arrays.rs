//! `assay arrays`: the array descriptions that ship with Assay.

use assay_model::array::shipped;
use serde_json::json;

use crate::args::{ArraysArgs, ArraysVerb};
use crate::exit::Exit;
use crate::output::terminal::{entry, paragraph, say};
use crate::words::array::text_of;

/// Columns of the names in the list.
const NAME_COLUMNS: usize = 20;

pub(crate) fn arrays(args: &ArraysArgs) -> anyhow::Result<Exit> {
    match &args.verb {
        Some(ArraysVerb::Show { name }) => say(&text_of(name)?.1)?,
        None => {
            let arrays = shipped::all()?;
            if args.form.json {
                let list = arrays.iter().map(
                    |a| json!({ "array": a.name, "title": a.title, "source": a.source, "members": a.raid.disks.value }),
                );
                say(&format!("{:#}\n", list.collect::<serde_json::Value>()))?;
            } else {
                let mut text: String =
                    arrays.iter().map(|a| entry(&a.name, NAME_COLUMNS, &a.title)).collect();
                text.push('\n');
                text.push_str(&paragraph(
                    "assay arrays show NAME prints one as a file to copy; assay predict NAME predicts it.",
                    "  ",
                ));
                say(&text)?;
            }
        }
    }
    Ok(Exit::Done)
}
