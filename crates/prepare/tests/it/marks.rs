//! A mark is valid for one file, for a limited time, and not for data that others wrote since.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use assay_testkit::need;

use crate::{own_file, prepare};

/// Simulates a killed run: the mark of its file is open, and the file has the time of its last write.
fn killed(path: &Path, last_write: SystemTime) {
    let text = path.to_str().unwrap();
    own_file(path);
    drop(prepare(&[text], &[], || {}).unwrap());
    File::options().write(true).open(path).unwrap().set_modified(last_write).unwrap();
}

/// The mark stayed open for ever after a killed run, so that the next run overwrote whatever was there.
#[test]
fn a_file_used_long_after_a_killed_run_is_no_longer_assays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.dat");
    killed(&path, SystemTime::now() + Duration::from_secs(60));
    prepare(&[path.to_str().unwrap()], &[], || {}).unwrap().close().unwrap();
    killed(&path, SystemTime::now() + Duration::from_secs(2 * 86_400));
    let content = fs::read(&path).unwrap();
    let error = prepare(&[path.to_str().unwrap()], &[], || {}).err().unwrap().to_string();
    assert!(error.contains("was created by Assay and has been modified since"), "{error}");
    assert!(fs::read(&path).unwrap() == content);
}

#[test]
fn the_mark_of_a_copy_proves_nothing() {
    if !need::programs(&["cp"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("t.dat"), folder.path().join("copy.dat"));
    own_file(&path);
    let words = ["cp", "-a", path.to_str().unwrap(), copy.to_str().unwrap()];
    assay_testkit::story::run(&words);
    let content = fs::read(&copy).unwrap();
    let error = prepare(&[copy.to_str().unwrap()], &[], || {}).err().unwrap().to_string();
    assert!(error.contains("copy.dat is a copy of a file that Assay created"), "{error}");
    assert!(fs::read(&copy).unwrap() == content);
}
