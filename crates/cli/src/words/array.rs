//! The array that a name means: one that ships, or a file.

use anyhow::bail;
use assay_model::array::{Array, parse, shipped};
use assay_model::catalogue;
use assay_spec::suggest;
use assay_spec::suites::suite;
use assay_target::input::{Input, read_text};

/// The largest file of the shipped ones has 5 KiB, most of it comments.
const ARRAY: Input = Input { name: "an array", bytes_max: 1 << 20 };

/// Returns the origin and the text of an array: one that ships, or a file.
pub(crate) fn text_of(name: &str) -> anyhow::Result<(String, String)> {
    let path = std::path::Path::new(name);
    let known = shipped::FILES.iter().find(|(stem, _)| *stem == name);
    if let Some((stem, text)) = known.filter(|_| !path.is_file()) {
        return Ok((format!("arrays/{stem}.toml"), (*text).to_owned()));
    }
    match read_text(path, ARRAY) {
        Ok(text) => Ok((name.to_owned(), text)),
        Err(error) if error.is_not_found() => {
            if suite(name).is_some() {
                bail!("{}", plan_not_array(name, "a suite"));
            }
            let names: Vec<&str> = shipped::FILES.iter().map(|(stem, _)| *stem).collect();
            if let Some(array) = name.strip_prefix("sim:").filter(|array| names.contains(array)) {
                bail!("{name} is a target that simulates an array; the array itself is {array}");
            }
            bail!(
                "{name}: there is no such array file, and no array of that name ships with Assay{}",
                suggest(name, &names)
            )
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns the array that `name` means.
pub(crate) fn array(name: &str) -> anyhow::Result<Array> {
    array_text(name).map(|(array, _)| array)
}

/// Refuses an array that was detected and whose drives nobody has named since: the class values that stand in for them
/// would be answered like figures.
///
/// # Errors
/// Says what to fill in.
pub(crate) fn check_described(array: &Array) -> anyhow::Result<()> {
    anyhow::ensure!(
        !catalogue::is_not_seen(&array.device),
        "{}: nobody has seen its drives, so there is nothing to predict; write what they are in place of [device], as \
         in `disks = {{ model = \"…\", count = 8 }}` or with `class` and `capacity`, and their level into [raid]",
        array.name
    );
    Ok(())
}

/// The same with its text.
pub(crate) fn array_text(name: &str) -> anyhow::Result<(Array, String)> {
    let (file, text) = text_of(name)?;
    match parse(&file, &text) {
        Ok(array) => Ok((array, text)),
        Err(_) if has_table(&text, "[[test") => bail!("{}", plan_not_array(name, "a plan")),
        Err(error) => Err(error.into()),
    }
}

fn plan_not_array(name: &str, what: &str) -> String {
    format!(
        "{name} is {what}, but an array is needed here (`assay arrays` lists them); to predict it: assay predict \
         ARRAY {name}"
    )
}

/// Whether a line begins with the head of that TOML table; tells kinds of files apart, even invalid ones.
pub(crate) fn has_table(text: &str, head: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with(head))
}
