//! Loop devices that clean up after themselves, also when a story fails.

use std::process::Command;
use std::sync::{Mutex, MutexGuard};

use crate::story::{Story, Told, is_root, run};

pub const CAPACITY_BYTES: u64 = 32 << 20;

/// One story with a device at a time: hosts have few loop devices, and the partitions of one story's device must not
/// come and go under another's.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A loop device over a file of zeros in a story's folder.
pub struct LoopDevice {
    pub story: Story,
    pub path: String,
    /// Undone in reverse order before the device is detached.
    undo: Vec<Vec<String>>,
    _alone: MutexGuard<'static, ()>,
}

impl LoopDevice {
    /// A device of 32 MiB. `None`, with the reason printed, where this host gives none.
    pub fn new() -> Option<Self> {
        if !is_root() {
            return None;
        }
        // A story that failed has cleaned up all the same.
        let alone = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let story = Story::new();
        story.write("backing", vec![0; usize::try_from(CAPACITY_BYTES).unwrap()]);
        let output = Command::new("losetup").args(["--find", "--show"]).arg(story.path("backing")).output();
        match output {
            Ok(output) if output.status.success() => {
                let path = String::from_utf8(output.stdout).unwrap().trim().to_owned();
                Some(Self { story, path, undo: Vec::new(), _alone: alone })
            }
            other => {
                eprintln!("skipped: no loop device: {other:?}");
                None
            }
        }
    }

    /// Runs a command that must succeed, and remembers how to undo it.
    #[track_caller]
    pub fn run(&mut self, command: &[&str], undo: &[&str]) {
        run(command);
        if !undo.is_empty() {
            self.undo.push(undo.iter().map(|&word| word.to_owned()).collect());
        }
    }

    /// Makes an ext4 on it and mounts that until the story ends: where.
    #[track_caller]
    pub fn mount_ext4(&mut self) -> String {
        let path = self.path.clone();
        self.run(&["mkfs.ext4", "-q", &path], &[]);
        let folder = self.story.path("mnt");
        std::fs::create_dir(&folder).unwrap();
        let folder = folder.to_str().unwrap().to_owned();
        self.run(&["mount", &path, &folder], &["umount", &folder]);
        folder
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

    /// Everything on the device.
    pub fn content(&self) -> Vec<u8> {
        run(&["sync", &self.path]);
        std::fs::read(&self.path).unwrap()
    }

    /// What `--overwrite` takes, as `assay check` says it.
    pub fn identity(&self) -> String {
        let checked = self.story.assay(&["check", &self.path, "--json"]).ends(0).json();
        checked["identities"][0].as_str().unwrap().to_owned()
    }

    /// Runs the program on the device.
    pub fn assay(&self, plan: &str, path: &str, more: &[&str]) -> Told {
        let mut args = vec!["run", plan, path, "--set", "run=200ms", "--json"];
        args.extend(more);
        self.story.assay(&args)
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        for command in self.undo.iter().rev() {
            // The kernel lets go of a ring's files a moment after their process has ended; until then a file system
            // is busy.
            let is_done =
                || Command::new(&command[0]).args(&command[1..]).output().is_ok_and(|o| o.status.success());
            for _ in 0..20 {
                if is_done() {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(100));
            }
        }
        let _ = Command::new("losetup").arg("--detach").arg(&self.path).status();
    }
}
