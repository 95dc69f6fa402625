//! Preparation removes what it created if it fails.

use std::fs;
use std::process::Command;

use assay_testkit::need;

use crate::{own_file, prepare};

/// A mounted tmpfs; removed at the end.
struct Tmpfs(tempfile::TempDir);

impl Tmpfs {
    fn mount(options: &str) -> Option<Self> {
        if !need::root() || !need::programs(&["mount", "umount"]) {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        let mounted = mount.args(["-t", "tmpfs", "-o", options, "none"]).arg(folder.path()).output().unwrap();
        need::or_skip(
            "no tmpfs can be mounted",
            mounted.status.success().then_some(()).ok_or(String::from_utf8_lossy(&mounted.stderr)),
        )?;
        Some(Self(folder))
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_new_file_is_removed_if_it_cannot_be_filled() {
    let Some(full) = Tmpfs::mount("size=4m") else { return };
    let path = full.0.path().join("t.dat");
    // The space is available at the inspection, and gone when it is to be reserved.
    let error = prepare(&[path.to_str().unwrap()], &[], || {
        fs::write(full.0.path().join("other"), vec![1; 4 << 20]).unwrap_err();
    });
    let error = error.err().unwrap().to_string();
    assert!(error.contains("t.dat"), "{error}");
    assert_eq!(names(full.0.path()), ["other"]);
}

/// A new file that could not be marked was left behind, and the next run refused it as foreign.
#[test]
fn a_new_file_is_removed_if_it_cannot_be_marked() {
    // One inode for the file, and none for an attribute or for a file beside it.
    let Some(small) = Tmpfs::mount("size=4m,nr_inodes=2") else { return };
    let path = small.0.path().join("t.dat");
    let error = prepare(&[path.to_str().unwrap()], &[], || {}).err().unwrap().to_string();
    assert!(error.contains("cannot mark") && error.contains("t.dat"), "{error}");
    assert_eq!(names(small.0.path()), Vec::<String>::new());
}

fn names(folder: &std::path::Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn only_the_file_of_the_run_is_removed_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.dat");
    own_file(&path);
    let prepared = prepare(&[path.to_str().unwrap()], &[], || {}).unwrap();
    fs::rename(&path, folder.path().join("aside")).unwrap();
    own_file(&path);
    let kept = prepared.close().unwrap().remove().unwrap();
    assert_eq!(kept.len(), 1);
    assert!(kept[0].why.contains("now refers to another file"), "{}", kept[0].why);
    assert_eq!(names(folder.path()), ["aside", "t.dat"]);
}
