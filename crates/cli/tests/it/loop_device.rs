//! A story with a loop device.

use std::sync::{Mutex, MutexGuard};

use assay_testkit::loop_device;

use crate::story::{ProgramOutput, Story, run};

pub const CAPACITY_BYTES: u64 = 32 << 20;

/// One story with a device at a time: hosts have few loop devices, and the partitions of one story's device must not
/// come and go under another's.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A story, and a device that goes before the story's folder does.
pub struct LoopDevice {
    device: loop_device::LoopDevice,
    pub path: String,
    pub story: Story,
    _alone: MutexGuard<'static, ()>,
}

impl LoopDevice {
    /// Attaches a device of 32 MiB of zeros; skips the story where there can be none.
    #[track_caller]
    pub fn new() -> Option<Self> {
        // A story that failed has cleaned up all the same.
        let alone = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let device = loop_device::LoopDevice::over_empty(CAPACITY_BYTES)?;
        Some(Self { path: device.text(), device, story: Story::new(), _alone: alone })
    }

    /// Runs a command that must succeed, and remembers how to undo it.
    #[track_caller]
    pub fn run(&mut self, command: &[&str], undo: &[&str]) {
        assert!(self.device.run(command, undo), "{} is not installed", command[0]);
    }

    /// Makes an ext4 on it and mounts that until the story ends; returns where.
    #[track_caller]
    pub fn mount_ext4(&mut self) -> String {
        let folder = self.story.path("mnt");
        std::fs::create_dir(&folder).unwrap();
        assert!(self.device.mount_ext4(&folder), "mkfs.ext4 or mount is not installed");
        folder.to_str().unwrap().to_owned()
    }

    /// Partitions the device by a script for sfdisk, and has the kernel show the partitions.
    #[track_caller]
    pub fn partition(&mut self, script: &str) {
        self.story.write("script", script);
        let (script, path) = (self.story.path("script"), self.path.clone());
        run(&[
            "sh",
            "-c",
            &format!("sfdisk --quiet --no-reread --no-tell-kernel {path} < {}", script.display()),
        ]);
        self.run(&["partx", "--add", &path], &["partx", "--delete", &path]);
    }

    /// Writes to the device.
    pub fn write(&self, offset_bytes: u64, bytes: &[u8]) {
        self.device.write(offset_bytes, bytes);
    }

    /// Returns everything on the device.
    pub fn content(&self) -> Vec<u8> {
        run(&["sync", &self.path]);
        std::fs::read(&self.path).unwrap()
    }

    /// Returns what `--overwrite` takes, as `assay check` prints it.
    pub fn identity(&self) -> String {
        let checked = self.story.assay(&["check", &self.path, "--json"]).ends(0).json();
        checked["identities"][0].as_str().unwrap().to_owned()
    }

    /// What `--overwrite` takes with `--not-blank`.
    pub fn lasting_identity(&self) -> String {
        let checked = self.story.assay(&["check", &self.path, "--json"]).ends(0).json();
        checked["identities"].as_array().unwrap().last().unwrap().as_str().unwrap().to_owned()
    }

    /// Runs the program on the device.
    pub fn assay(&self, plan: &str, path: &str, more: &[&str]) -> ProgramOutput {
        let mut args = vec!["run", plan, path, "--set", "run=200ms", "--json"];
        args.extend(more);
        self.story.assay(&args)
    }
}
