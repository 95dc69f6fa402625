//! Files behind loop devices, by whatever name and file system they are reached.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt as _;

use assay_host::{file_users, shared_storage};
use assay_testkit::loop_device::{CAPACITY_BYTES, LoopDevice};
use assay_testkit::need;

/// A trimmed name, or one that is not text, was no file of a loop device: a mounted image was overwritten.
#[test]
fn a_file_of_any_name_that_is_attached_as_a_device_is_found() {
    for name in [&b"disk.img "[..], b"disk.img\n", b"Gr\xf6\xdfe/disk.img"] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(OsStr::from_bytes(name));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        File::create(&file).unwrap().set_len(CAPACITY_BYTES).unwrap();
        let Some(device) = LoopDevice::over(folder, &file, &[]) else { return };
        let users = file_users(&file);
        assert!(users.len() == 1 && users[0].contains(&device.text()), "{file:?}: {users:?}");
        let (file, device) = (shared_storage(&file).unwrap(), shared_storage(&device.path).unwrap());
        assert_eq!(file.overlap(&device), Some("one is a loop device over the other"), "{name:?}");
    }
}

#[test]
fn a_file_on_an_overlay_is_the_one_in_its_upper_directory() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in ["lower", "upper/a b", "work", "merged"] {
        fs::create_dir_all(at(name)).unwrap();
    }
    let (upper, merged, lower) = (at("upper/a b/disk.img"), at("merged/a b/disk.img"), at("lower/old.img"));
    for file in [&upper, &lower] {
        File::create(file).unwrap().set_len(CAPACITY_BYTES).unwrap();
    }
    let layers = ["lower", "upper", "work"].map(|name| format!("{name}dir={}", at(name).display())).join(",");
    let words = ["mount", "-t", "overlay", "overlay", "-o", &layers, &at("merged").display().to_string()];
    if !need::root() {
        return;
    }
    let mounted = std::process::Command::new(words[0]).args(&words[1..]).output().unwrap();
    let says = String::from_utf8_lossy(&mounted.stderr).into_owned();
    let is_there = if mounted.status.success() { Ok(()) } else { Err(says) };
    if need::or_skip("no overlay", is_there).is_none() {
        return;
    }
    let unmount = at("merged");
    let result = std::panic::catch_unwind(|| {
        let of = |path| shared_storage(path).unwrap();
        assert_eq!(of(&upper).overlap(&of(&merged)), Some("they are two names (hard links) of one file"));
        // What is only in the lower directory is copied before it is written.
        assert_eq!(of(&lower).overlap(&of(&at("merged/old.img"))), None);
        let Some(device) = LoopDevice::over(tempfile::tempdir().unwrap(), &merged, &[]) else { return };
        let users = file_users(&upper);
        assert!(users.len() == 1 && users[0].contains(&device.text()), "{users:?}");
    });
    assay_testkit::story::run(&["umount", unmount.to_str().unwrap()]);
    result.unwrap();
}
