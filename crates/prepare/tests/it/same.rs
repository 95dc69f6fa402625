//! Targets of one run share no storage.

use std::fs;

use assay_testkit::loop_device::LoopDevice;

use crate::{own_file, prepare};

#[track_caller]
fn check(targets: [&str; 2], says: &str) {
    let Err(error) = prepare(&targets, &[], || {}) else { panic!("{targets:?} were taken") };
    let error = error.to_string();
    assert!(error.contains("cannot be targets of one run") && error.contains(says), "{error}");
}

/// One file under two names counted as two targets.
#[test]
fn two_names_of_one_file_are_not_two_targets() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (folder.path().join("one.dat"), folder.path().join("two.dat"));
    own_file(&one);
    let content = fs::read(&one).unwrap();
    fs::hard_link(&one, &two).unwrap();
    check([one.to_str().unwrap(), two.to_str().unwrap()], "two names (hard links) of one file");
    assert!(fs::read(&one).unwrap() == content);
}

#[test]
fn a_loop_device_and_its_file_are_not_two_targets() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backing");
    fs::write(&file, vec![0; 4 << 20]).unwrap();
    let text = file.to_str().unwrap().to_owned();
    let Some(device) = LoopDevice::over(folder, &file, &[]) else { return };
    check([&text, &device.text()], "a loop device over the other");
    let other = tempfile::tempdir().unwrap();
    let Some(twin) = LoopDevice::over(other, &file, &[]) else { return };
    check([&twin.text(), &device.text()], "loop devices over the same file");
    let link = device.path.file_name().map(|name| tempfile::tempdir().unwrap().keep().join(name)).unwrap();
    std::os::unix::fs::symlink(&device.path, &link).unwrap();
    let error = prepare(&[&device.text(), link.to_str().unwrap()], &[], || {}).err().unwrap().to_string();
    assert!(error.contains("given twice"), "{error}");
    fs::remove_dir_all(link.parent().unwrap()).unwrap();
}
