//! Devices and files that the kernel's own storage servers export. NVMe targets, and LIO's backstores of the kind fileio,
//! open them without holding them exclusively and in no process, so that only configfs shows it.

use std::path::{Path, PathBuf};

use crate::machine::{Machine, attribute, names_in, path_attribute};

/// What one of these servers has open.
pub(super) struct Export {
    pub(super) path: PathBuf,
    /// By whom, to be read after "exported by".
    pub(super) by: String,
}

/// Returns all exports. Where configfs is not mounted nothing can be exported by its means.
pub(super) fn exports(machine: &Machine) -> Vec<Export> {
    let mut found = namespaces(&machine.path("/sys/kernel/config/nvmet/subsystems"));
    found.extend(backstores(&machine.path("/sys/kernel/config/target/core")));
    found
}

/// Returns the enabled namespaces of the kernel's NVMe target.
fn namespaces(folder: &Path) -> Vec<Export> {
    let mut found = Vec::new();
    for subsystem in names_in(folder) {
        let all = folder.join(&subsystem).join("namespaces");
        for number in names_in(&all) {
            let is_enabled = attribute(&all.join(&number).join("enable")).is_some_and(|word| word != "0");
            let by = || format!("the kernel's NVMe target (subsystem {subsystem}, namespace {number})");
            let path = path_attribute(&all.join(&number).join("device_path")).filter(|_| is_enabled);
            found.extend(path.map(|path| Export { path, by: by() }));
        }
    }
    found
}

/// Returns the backstores of LIO that are files, or devices opened as files.
fn backstores(folder: &Path) -> Vec<Export> {
    let mut found = Vec::new();
    for plugin in names_in(folder).into_iter().filter(|name| name.starts_with("fileio_")) {
        for name in names_in(&folder.join(&plugin)) {
            let info = attribute(&folder.join(&plugin).join(&name).join("info")).unwrap_or_default();
            let path = info.split_once("File: ").and_then(|(_, rest)| rest.split_once("  Size:"));
            let by = format!("the kernel's SCSI target (backstore {name})");
            found.extend(path.map(|(path, _)| Export { path: path.into(), by }));
        }
    }
    found
}
