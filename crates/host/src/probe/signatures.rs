//! Formats found on a device, LUN or file: by util-linux's `wipefs`, which uses `libblkid`, and by the
//! [table](crate::content) of formats that libblkid does not know. One prober for every kind of target.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;

use super::related::Node;
use super::{Hold, ProbeError};
use crate::content::{HEAD_BYTES, TAIL_BYTES, content_of};
use crate::program::{FOLDERS, answer, found};

/// Time limit: a device that does not answer must not block the probe forever; signatures are a few hundred small
/// reads.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// Name under which the program opens the file passed to it.
const STANDARD_INPUT: &str = "/proc/self/fd/0";

/// Output of `wipefs --json`.
#[derive(Debug, Deserialize)]
struct Report {
    signatures: Vec<Signature>,
}

#[derive(Debug, Deserialize)]
struct Signature {
    #[serde(rename = "type")]
    kind: String,
    uuid: Option<String>,
    label: Option<String>,
}

/// Returns one hold for each kind of content on the device.
pub(crate) fn holds(node: &Node, path: &Path) -> Result<Vec<Hold>, ProbeError> {
    let open = |source| ProbeError::Open { path: path.to_owned(), source };
    let device = File::open(path).map_err(open)?;
    let size_bytes = rustix::fs::seek(&device, rustix::fs::SeekFrom::End(0)).map_err(|e| open(e.into()))?;
    let sentence = |content: String| {
        Hold::content(format!(
            "{} holds {content}; if it is no longer needed, wipe it first: wipefs -a {}",
            node.subject(),
            path.display()
        ))
    };
    Ok(contents(&device, size_bytes, path)?.into_iter().map(sentence).collect())
}

/// Returns the contents of a file, a device or a sparse copy of parts of one, each kind once, as in `an LVM physical
/// volume (`LVM2_member`)`. Errors use `name` for it. Only reads.
///
/// # Errors
/// If that cannot be determined: it must not be written then.
pub fn contents(file: &File, size_bytes: u64, name: &Path) -> Result<Vec<String>, ProbeError> {
    let failed = |says: String| ProbeError::ToolFailed { path: name.to_owned(), says };
    let own = file.try_clone().map_err(|error| failed(error.to_string()))?;
    let text = run(&program()?, own).map_err(failed)?;
    let report = parse(&text).map_err(|error| failed(format!("its output cannot be parsed: {error}")))?;
    let mut kinds: Vec<&str> = Vec::new();
    let mut found = Vec::new();
    // A partition table has a backup, ZFS hundreds of labels: each kind is reported once.
    for signature in &report.signatures {
        if !kinds.contains(&signature.kind.as_str()) {
            kinds.push(&signature.kind);
            found.push(words(signature));
        }
    }
    if found.is_empty() {
        found = contents_by_table(file, size_bytes).map_err(|error| failed(error.to_string()))?;
    }
    Ok(found)
}

/// Returns the contents by the table alone. libblkid accepts some signatures only if structures far from the ends
/// confirm them, and those of a LUN are not read.
///
/// # Errors
/// If the file cannot be read.
pub fn contents_by_table(file: &File, size_bytes: u64) -> io::Result<Vec<String>> {
    let read = |from: u64, bytes: u64| {
        let mut all = vec![0; usize::try_from(bytes).expect("a few MiB")];
        file.read_exact_at(&mut all, from).map(|()| all)
    };
    let (head_bytes, tail_bytes) = (HEAD_BYTES.min(size_bytes), TAIL_BYTES.min(size_bytes));
    let (head, tail) = (read(0, head_bytes)?, read(size_bytes - tail_bytes, tail_bytes)?);
    Ok(content_of(&head, &tail, size_bytes).into_iter().map(str::to_owned).collect())
}

/// Parses the output. Versions before 2.38 print nothing if there is no signature.
fn parse(text: &str) -> Result<Report, serde_json::Error> {
    if text.trim().is_empty() { Ok(Report { signatures: Vec::new() }) } else { serde_json::from_str(text) }
}

fn words(signature: &Signature) -> String {
    let details: Vec<String> = [("label", &signature.label), ("UUID", &signature.uuid)]
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name} {}", value.as_deref().filter(|v| !v.is_empty())?)))
        .collect();
    let details = if details.is_empty() { String::new() } else { format!(" ({})", details.join(", ")) };
    format!("{}{details}", describe(&signature.kind))
}

/// Returns a description of libblkid's names that are not self-explanatory.
fn describe(kind: &str) -> String {
    let meaning = match kind {
        "gpt" | "dos" | "PMBR" | "sun" | "bsd" | "mac" | "sgi" | "atari" => "a partition table",
        "LVM2_member" | "LVM1_member" => "an LVM physical volume",
        "linux_raid_member" => "a member of a Linux RAID (md)",
        "zfs_member" => "a member of a ZFS pool",
        "VMFS_volume_member" | "VMFS" => "a VMware VMFS datastore",
        "crypto_LUKS" => "an encrypted volume",
        "swap" | "swsuspend" => "swap space",
        "bcache" => "a bcache device",
        "ddf_raid_member" | "isw_raid_member" => "a member of a firmware RAID",
        _ => return format!("`{kind}`"),
    };
    format!("{meaning} (`{kind}`)")
}

fn program() -> Result<PathBuf, ProbeError> {
    found("wipefs").ok_or_else(|| ProbeError::ToolMissing { searched: FOLDERS.join(", ") })
}

/// Runs the program and returns its output, or an error. The program gets the open file, not a name that may lead
/// elsewhere by then.
fn run(program: &Path, file: File) -> Result<String, String> {
    // An empty environment, so that no variable of the caller can redirect libblkid to another cache or configuration.
    let mut command = Command::new(program);
    command.args(["--no-act", "--json", STANDARD_INPUT]).env_clear().env("LC_ALL", "C").stdin(file);
    let answer = answer(command, ANSWER_WITHIN)?;
    let (out, err) = (answer.out, answer.err);
    if answer.succeeded && err.trim().is_empty() {
        Ok(out)
    } else {
        Err(format!("{} {}", err.trim(), out.trim()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wipefs_output_is_parsed_and_anything_else_is_an_error() {
        let kinds = |text: &str| {
            parse(text).map(|r| r.signatures.into_iter().map(|s| s.kind).collect::<Vec<_>>()).ok()
        };
        let one =
            r#"{"signatures": [{"device":"sdb","offset":"0x438","type":"ext4","uuid":"u","label":null}]}"#;
        assert_eq!(kinds(one), Some(vec!["ext4".to_owned()]));
        assert_eq!(kinds("{\n \"signatures\": [\n\n ]\n}"), Some(vec![]));
        assert_eq!(kinds(""), Some(vec![]));
        assert_eq!(kinds("{\"signatures\": [{\"device\":"), None);
        assert_eq!(kinds("usage: wipefs"), None);
    }

    #[test]
    fn output_of_a_failed_program_is_not_used() {
        // It reads files and devices, not directories.
        let folder = || File::open("/").unwrap();
        assert!(run(&program().unwrap(), folder()).is_err());
        assert!(run(Path::new("/no/such/program"), folder()).unwrap_err().contains("cannot be started"));
    }
}
