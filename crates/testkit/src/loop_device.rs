//! Loop devices that clean up after themselves, even if a test fails.

use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::need;

/// Number of attempts to undo a command, with a pause between two: the kernel releases a ring's files a moment after
/// their process has ended; until then a file system is busy.
const UNDO_ATTEMPTS: u32 = 20;
const UNDO_PAUSE: Duration = Duration::from_millis(100);

/// A loop device over its own sparse file, or over an existing file.
#[derive(Debug)]
pub struct LoopDevice {
    /// `/dev/loopN`.
    pub path: PathBuf,
    /// Commands run in reverse order before the device is detached.
    undo: Vec<Vec<String>>,
    /// Contains the file, and whatever else the test puts there.
    pub folder: tempfile::TempDir,
}

/// Capacity of [`LoopDevice::new`], bytes.
pub const CAPACITY_BYTES: u64 = 64 << 20;

impl LoopDevice {
    /// Attaches a device of 64 MiB of zeros; skips the test if that is not possible.
    #[track_caller]
    pub fn new() -> Option<Self> {
        Self::over_empty(CAPACITY_BYTES)
    }

    /// Attaches a device of that many bytes of zeros; skips the test if that is not possible.
    ///
    /// # Panics
    /// If the file cannot be made.
    #[track_caller]
    pub fn over_empty(bytes: u64) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("backing");
        File::create(&file).unwrap().set_len(bytes).unwrap();
        Self::over(folder, &file, &[])
    }

    /// Attaches a device over an existing file, with further losetup options; skips the test if that is not possible.
    ///
    /// # Panics
    /// If losetup prints no path.
    #[track_caller]
    pub fn over(folder: tempfile::TempDir, file: &Path, options: &[&str]) -> Option<Self> {
        if !need::root() || !need::programs(&["losetup"]) {
            return None;
        }
        let output =
            Command::new("losetup").args(options).args(["--find", "--show"]).arg(file).output().unwrap();
        if !output.status.success() {
            return need::or_skip("no loop device", Err(String::from_utf8_lossy(&output.stderr)));
        }
        let path = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
        Some(Self { path, undo: Vec::new(), folder })
    }

    /// Returns the name of the device: `loopN`.
    ///
    /// # Panics
    /// Never: losetup prints a path.
    pub fn name(&self) -> String {
        self.path.file_name().unwrap().to_str().unwrap().to_owned()
    }

    /// Writes to the device, bypassing any file system on it.
    ///
    /// # Panics
    /// If that fails.
    pub fn write(&self, offset: u64, bytes: &[u8]) {
        let mut device = File::options().write(true).open(&self.path).unwrap();
        device.seek(SeekFrom::Start(offset)).unwrap();
        device.write_all(bytes).unwrap();
        device.sync_all().unwrap();
    }

    /// Runs a command that must succeed; `undo` is run before the device is detached. Returns `false` and skips the
    /// test if the program is not installed.
    ///
    /// # Panics
    /// If the command fails.
    #[track_caller]
    pub fn run(&mut self, command: &[&str], undo: &[&str]) -> bool {
        if !need::programs(&command[..1]) {
            return false;
        }
        crate::story::run(command);
        if !undo.is_empty() {
            self.undo.push(undo.iter().map(|&word| word.to_owned()).collect());
        }
        true
    }

    /// Creates an ext4 on it and mounts it on `folder` until the device is dropped; skips the test if that is not
    /// possible.
    ///
    /// # Panics
    /// If a command fails.
    #[track_caller]
    #[must_use]
    pub fn mount_ext4(&mut self, folder: &Path) -> bool {
        let (device, folder) = (self.text(), folder.to_str().unwrap().to_owned());
        self.run(&["mkfs.ext4", "-q", &device], &[])
            && self.run(&["mount", &device, &folder], &["umount", &folder])
    }

    /// Returns the path as text.
    pub fn text(&self) -> String {
        self.path.display().to_string()
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        for command in self.undo.iter().rev() {
            let is_undone =
                || Command::new(&command[0]).args(&command[1..]).output().is_ok_and(|o| o.status.success());
            for _ in 0..UNDO_ATTEMPTS {
                if is_undone() {
                    break;
                }
                std::thread::sleep(UNDO_PAUSE);
            }
        }
        let _ = Command::new("losetup").arg("--detach").arg(&self.path).status();
    }
}
