//! `assay arrays detect`: the array file of what is in front of this host.

use std::io::IsTerminal as _;
use std::path::Path;

use anyhow::{Context as _, bail};
use assay_analysis::{Detected, detected};
use assay_model::array::to_toml;
use assay_model::catalogue::class_note;
use assay_prepare::PathInspectionKind;
use assay_record::{MemberFacts, MemberKind};
use assay_spec::Address;

use crate::exit::Exit;
use crate::output::terminal::{self, note, say};
use crate::words::typed::as_typed;

/// Columns of a comment.
const COMMENT_COLUMNS: usize = 110;

pub(crate) fn detect(target: &str, output: Option<&Path>) -> anyhow::Result<Exit> {
    let member = member_of(target)?;
    let Some(found) = detected(&member) else { bail!("{}", nothing_seen(target, &member)) };
    let text = file_of(target, &found);
    match output {
        Some(path) => {
            std::fs::write(path, text).with_context(|| format!("failed to write {}", path.display()))?
        }
        None => {
            say(&text)?;
            remind(target, &text);
        }
    }
    Ok(Exit::Done)
}

/// Repeats what the file leaves open below it, where a terminal shows the end, and how it is used.
fn remind(target: &str, text: &str) {
    if !std::io::stdout().is_terminal() {
        return;
    }
    for question in text.lines().filter_map(|line| line.strip_prefix("# ? ")) {
        note!("{}", terminal::wrapped(&format!("open: {question}")));
    }
    let target = as_typed(target);
    note!("to keep it: assay arrays detect {target} -o array.toml, then assay predict array.toml");
}

/// The facts about a target, as a run has them in its header.
fn member_of(target: &str) -> anyhow::Result<MemberFacts> {
    let address = target.parse::<Address>().with_context(|| format!("target `{target}`"))?;
    Ok(match address {
        Address::Path(path) => {
            // Nothing is written, so that nothing is asked of wipefs, and a disk in use is as good as any.
            let (kind, found) = assay_prepare::path_drives(&path)?;
            let kind = match kind {
                PathInspectionKind::Device => MemberKind::Device,
                PathInspectionKind::File | PathInspectionKind::Directory => MemberKind::File,
            };
            MemberFacts {
                path: path.display().to_string(),
                kind,
                device: found.device,
                filesystem: found.filesystem,
                ..MemberFacts::default()
            }
        }
        Address::Iscsi(lun) => {
            let typed = crate::words::secret::ask(&[Address::Iscsi(lun.clone())])?;
            assay_prepare::inspect_lun(&lun, typed.as_ref())?.facts
        }
        Address::Nfs(file) => assay_prepare::inspect_nfs(&file)?.facts,
        Address::Sim { array } => bail!("sim: is simulated; assay arrays show {array} prints its array"),
        Address::Null { .. } => bail!("null: has no array"),
    })
}

/// Why there is nothing to describe.
fn nothing_seen(target: &str, member: &MemberFacts) -> String {
    match member.filesystem.as_ref() {
        Some(fs) if fs.kind == "zfs" => format!(
            "{target} is on the ZFS pool {}, whose drives the kernel does not show; \
             describe it by what `zpool status -v` lists: \
             disks = {{ model = …, count = … }}, level = \"raidz2\", software = \"zfs\" in [target]",
            fs.source.split('/').next().unwrap_or_default()
        ),
        Some(fs) => {
            format!("{target} is on {} ({}), which is on no drive that the kernel shows", fs.source, fs.kind)
        }
        None => format!("no drive below {target} is seen"),
    }
}

fn file_of(target: &str, found: &Detected) -> String {
    let mut text = format!("# What this host sees below `{target}`.\n");
    if let Some(note) = class_note(&found.array.device) {
        text.push_str(&comment(&note));
    }
    for question in &found.questions {
        text.push_str(&comment(&format!("? {question}")));
    }
    text.push_str(&to_toml(&found.array));
    text
}

/// A sentence as comment lines.
fn comment(sentence: &str) -> String {
    let mut lines = vec![String::from("#")];
    for word in sentence.split_whitespace() {
        let last = lines.last_mut().map_or(0, |line| line.len());
        if last + word.len() + 1 > COMMENT_COLUMNS {
            lines.push(String::from("#  "));
        }
        if let Some(line) = lines.last_mut() {
            line.push(' ');
            line.push_str(word);
        }
    }
    lines.join("\n") + "\n"
}
