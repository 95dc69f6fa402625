//! What a run will do to its target, and what is expected of it.

use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use assay_model::array::parse;
use assay_report::html::escape;
use assay_report::size;
use assay_spec::units::SizeSpec;
use assay_spec::{Address, Plan, Span};

use crate::pages::predict;

/// Returns what is written, and what is lost by it. `asked` is the size that the form asks for, or nothing.
pub(super) fn on_target(plan: &Plan, address: &str, asked: &str, overwrite: &str) -> String {
    let span = if asked.is_empty() { held(plan.span, address) } else { plan.span };
    said(on_address(span, plan.writes(), address, overwrite))
}

/// Returns what is used of a file by a plan whose own size may be more than the file has: that makes no file grow.
fn held(span: Span, address: &str) -> Span {
    let (Span::Size(SizeSpec::Bytes(size)), Ok(Address::Path(path))) = (span, address.parse()) else {
        return span;
    };
    let is_smaller = std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() < size.0);
    if is_smaller { Span::Whole } else { span }
}

/// Returns what a diagnosis writes, of a load that writes itself or only reads.
pub(super) fn of_diagnosis(span: Span, is_writing: bool, address: &str, is_read_only: bool) -> String {
    if is_read_only {
        let says = "Nothing: the diagnosis is refused where a file would have to be made or filled.";
        return said(Some((says.to_owned(), false)));
    }
    let experiments = match is_writing {
        true => "Experiments write as the load does, and nowhere else.",
        false => "The experiments themselves only read.",
    };
    let of = on_address(span, is_writing, address, "");
    said(of.map(|(says, is_grave)| match is_grave {
        true => {
            let says = "The load writes, and the content of the device or LUN would be lost: such a diagnosis is \
                        refused here, and started in a terminal with --overwrite and the serial number or WWID.";
            (says.to_owned(), true)
        }
        false => (format!("{says} {experiments}"), false),
    }))
}

fn said(of: Option<(String, bool)>) -> String {
    let Some((says, is_grave)) = of else { return String::new() };
    let class = if is_grave { "banner" } else { "effect" };
    format!("<p class=\"{class}\"><strong>What is written:</strong> {}</p>\n", escape(&says))
}

/// Returns what is written to a target, and whether something can be lost by it.
fn on_address(span: Span, is_writing: bool, address: &str, overwrite: &str) -> Option<(String, bool)> {
    let wanted = match span {
        Span::Whole => "all of it".to_owned(),
        Span::Size(size) => format!("the first {size}"),
    };
    Some(match address.parse() {
        Ok(Address::Null { .. } | Address::Sim { .. }) => {
            ("Nothing is stored: the target exists in memory alone.".to_owned(), false)
        }
        Ok(Address::Path(path)) => on_path(&path, &wanted, is_writing, overwrite),
        Ok(Address::Iscsi(_)) => on_device("The LUN", &wanted, is_writing, overwrite),
        Ok(Address::Nfs(_)) => (
            format!(
                "The file is made and filled where it is not there; a file of another program is refused. Used is \
                 {wanted}."
            ),
            false,
        ),
        Err(_) => return None,
    })
}

fn on_path(path: &Path, wanted: &str, is_writing: bool, overwrite: &str) -> (String, bool) {
    match std::fs::metadata(path) {
        Ok(found) if found.file_type().is_block_device() => {
            on_device("The device", wanted, is_writing, overwrite)
        }
        Ok(found) if found.is_dir() => {
            (format!("A file is made in this directory and filled with data; used is {wanted}."), false)
        }
        Ok(found) => (
            format!(
                "The file has {}; used is {wanted}. If Assay made it, its content is written again; a file of another \
                 program is refused.",
                size(found.len())
            ),
            false,
        ),
        Err(_) => (
            format!(
                "The file is made, {} where the plan names no size, and filled with data before anything is measured.",
                Span::NEW_FILE.rounded()
            ),
            false,
        ),
    }
}

/// A device or LUN, whose content is lost if it is written to.
fn on_device(what: &str, wanted: &str, is_writing: bool, overwrite: &str) -> (String, bool) {
    match (is_writing, overwrite) {
        (false, _) => (format!("{what} is only read; used is {wanted}."), false),
        (true, "") => (
            format!(
                "{what} would be overwritten, {wanted}. Without its serial number or WWID under “Overwrite” the run \
                 is refused."
            ),
            true,
        ),
        (true, identity) => {
            (format!("{what} is overwritten, {wanted}, if it is {identity}: its content is lost."), true)
        }
    }
}

/// Returns what the array of the target is expected to give.
pub(super) fn expected(plan: &Plan, array: Option<&str>) -> String {
    let Some(text) = array else {
        return "<p class=\"soft\">No array is attached to this target, so that nothing is expected of it: <code>assay \
                target set TARGET --array FILE</code></p>\n"
            .to_owned();
    };
    match parse("the target's array", text) {
        Ok(array) => format!(
            "<details open><summary><h2>Expected of {}</h2></summary>\n{}</details>\n",
            escape(&array.title),
            predict::expected(&array, plan)
        ),
        Err(error) => format!("<p class=\"banner\">{}</p>\n", escape(&error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "The file has 128 MiB; used is the first 4GiB": the size of a suite.
    #[test]
    fn the_size_of_a_suite_makes_no_file_grow() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.dat");
        std::fs::write(&path, [0; 8192]).unwrap();
        let of = |size: &str| held(Span::Size(size.parse().unwrap()), path.to_str().unwrap());
        assert_eq!((of("4GiB"), of("4KiB")), (Span::Whole, Span::Size("4KiB".parse().unwrap())));
    }
}
