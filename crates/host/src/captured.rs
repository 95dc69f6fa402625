//! A captured machine for tests: directories under `sys/devices/…`, and links in `sys/dev/block` and `sys/class/block`
//! as in the kernel.

use std::fs;
use std::os::unix::fs::symlink;

use crate::machine::{Machine, name_of};

pub(crate) struct Captured(tempfile::TempDir);

impl Captured {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("sys/dev/block")).unwrap();
        fs::create_dir_all(root.path().join("sys/class/block")).unwrap();
        Self(root)
    }

    pub(crate) fn machine(&self) -> Machine {
        Machine::captured(self.0.path())
    }

    pub(crate) fn file(&self, path: &str, bytes: &[u8]) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(crate) fn device(self, folder: &str, number: &str, files: &[(&str, &str)]) -> Self {
        for (file, text) in files {
            self.file(&format!("sys/devices/{folder}/{file}"), text.as_bytes());
        }
        let at = self.0.path().join("sys/devices").join(folder);
        symlink(&at, self.0.path().join("sys/dev/block").join(number)).unwrap();
        symlink(&at, self.0.path().join("sys/class/block").join(name_of(&at))).unwrap();
        self
    }
}
