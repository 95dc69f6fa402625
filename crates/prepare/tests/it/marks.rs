//! A mark is valid for one file, for a limited time, and not for data that others wrote since.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt as _, chown};
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

/// A user who may create files in a folder put a mark beside a file of another user. It claimed the file for Assay and
/// named a kind of data without seals: root's next run wrote over it.
#[test]
fn a_mark_that_another_user_put_beside_a_file_is_not_believed() {
    if !need::root() {
        return;
    }
    const NOBODY: u32 = 65534;
    let folder = tempfile::tempdir().unwrap();
    let (path, mark) = (folder.path().join("victim.dat"), folder.path().join(".victim.dat.assay"));
    let content = b"precious".repeat(1 << 17);
    fs::write(&path, &content).unwrap();
    let looks = fs::metadata(&path).unwrap();
    let (inode, bytes) = (looks.ino(), looks.len());
    let modified_ns = i128::from(looks.mtime()) * 1_000_000_000 + i128::from(looks.mtime_nsec());
    let marker = format!(
        r#"{{"version":3,"created":true,"filled_bytes":{bytes},"kinds":["repeating"],"length_bytes":{bytes},
           "inode":{inode},"is_open":false,"modified_ns":{modified_ns}}}"#
    );
    let marker = marker.replace('\n', " ").replace('"', r#"\""#);
    fs::write(&mark, format!(r#"{{"inode":{inode},"marker":"{marker}"}}"#)).unwrap();
    chown(&mark, Some(NOBODY), None).unwrap();
    let error = prepare(&[path.to_str().unwrap()], &[], || {}).err().unwrap().to_string();
    assert!(error.contains("victim.dat has a mark next to it that belongs to another user"), "{error}");
    assert!(fs::read(&path).unwrap() == content);
    // It is a good one but for that.
    chown(&mark, Some(0), None).unwrap();
    prepare(&[path.to_str().unwrap()], &[], || {}).unwrap().close().unwrap();
}

/// A run that wrote nothing left its mark on a file of somebody else's, as if it had been overwritten.
#[test]
fn the_mark_of_somebody_else_s_file_is_as_it_was_where_nothing_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("first.dat"), folder.path().join("second.dat"));
    let content = vec![0x11; 1 << 20];
    fs::write(&first, &content).unwrap();
    fs::write(&second, &content).unwrap();
    let has_mark = || {
        let attribute = rustix::fs::getxattr(&second, "user.assay", &mut [0; 4096][..]);
        attribute.is_ok() || folder.path().join(".second.dat.assay").exists()
    };
    let targets = [first.to_str().unwrap(), second.to_str().unwrap()];
    let refused = prepare(&targets, &targets, || {
        assert!(has_mark(), "both are open");
        File::options().write(true).open(&first).unwrap().set_len(512 << 10).unwrap();
    });
    assert!(refused.is_err(), "the first one has changed");
    assert!(!has_mark());
    assert!(fs::read(&second).unwrap() == content);
}
