//! Loop devices that clean up after themselves, also when a test fails.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A loop device over a sparse file, or over a file of somebody else.
pub struct LoopDevice {
    pub path: PathBuf,
    /// Undone in reverse order before the device is detached.
    undo: Vec<Vec<String>>,
    pub folder: tempfile::TempDir,
}

pub const CAPACITY_BYTES: u64 = 64 << 20;

impl LoopDevice {
    /// A device of 64 MiB of zeros. `None`, with the reason printed, where this host gives none.
    pub fn new() -> Option<Self> {
        Self::over_empty(CAPACITY_BYTES)
    }

    /// The same of another size.
    pub fn over_empty(bytes: u64) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("backing");
        File::create(&file).unwrap().set_len(bytes).unwrap();
        Self::over(folder, &file, &[])
    }

    /// A device over a file that exists, with more options of losetup.
    pub fn over(folder: tempfile::TempDir, file: &Path, options: &[&str]) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: loop devices need root");
            return None;
        }
        let output = Command::new("losetup").args(options).args(["--find", "--show"]).arg(file).output();
        match output {
            Ok(output) if output.status.success() => {
                let path = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
                Some(Self { path, undo: Vec::new(), folder })
            }
            other => {
                eprintln!("skipped: no loop device: {other:?}");
                None
            }
        }
    }

    pub fn name(&self) -> String {
        self.path.file_name().unwrap().to_str().unwrap().to_owned()
    }

    pub fn write(&self, offset: u64, bytes: &[u8]) {
        let mut device = File::options().write(true).open(&self.path).unwrap();
        device.seek(SeekFrom::Start(offset)).unwrap();
        device.write_all(bytes).unwrap();
        device.sync_all().unwrap();
    }

    /// Runs a command that must succeed, and remembers how to undo it. `false`, with the reason printed, where the
    /// program is not installed.
    pub fn run(&mut self, command: &[&str], undo: &[&str]) -> bool {
        match Command::new(command[0]).args(&command[1..]).output() {
            Ok(output) => {
                assert!(output.status.success(), "{command:?}: {output:?}");
                if !undo.is_empty() {
                    self.undo.push(undo.iter().map(|&word| word.to_owned()).collect());
                }
                true
            }
            Err(error) => {
                eprintln!("skipped: {}: {error}", command[0]);
                false
            }
        }
    }

    pub fn text(&self) -> String {
        self.path.display().to_string()
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        for command in self.undo.iter().rev() {
            let _ = Command::new(&command[0]).args(&command[1..]).status();
        }
        let _ = Command::new("losetup").arg("--detach").arg(&self.path).status();
    }
}
