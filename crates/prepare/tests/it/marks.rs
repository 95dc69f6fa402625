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

/// The samples of a file that held data without seals were never judged, so that what somebody put into the file of a
/// killed run within the time of that run was overwritten.
#[test]
fn data_in_the_file_of_a_killed_run_are_judged_whatever_their_kind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.dat");
    let text = "[[test]]\nname = \"t\"\nrun = \"1s\"\ndata = { compress = 3, dedupe = 2 }\n\
                access = [{ size = 4096, read = 0 }]\n";
    let mut overrides = assay_spec::Overrides::default();
    overrides.size = Some("1MiB".parse().unwrap());
    let plan = assay_spec::PlanFile::parse("p", text).unwrap().resolve(&overrides).unwrap();
    let open = || {
        let (addresses, options) = ([crate::address(path.to_str().unwrap())], crate::options(&[]));
        let opened =
            assay_prepare::open(&plan, &addresses, &options, &assay_host::host_facts(), &mut || true);
        opened.and_then(|open| open.fill(&|| false, &mut |_| {}))
    };
    let touch = |after_s: u64| {
        let time = SystemTime::now() + Duration::from_secs(after_s);
        File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    };
    drop(open().unwrap());
    touch(60);
    drop(open().unwrap());
    fs::write(&path, b"a measurement of somebody else's".repeat(1 << 15)).unwrap();
    touch(60);
    let content = fs::read(&path).unwrap();
    let error = open().err().expect("it is no longer Assay's").to_string();
    assert!(error.contains("it has been used since") && error.contains("did not end"), "{error}");
    assert!(fs::read(&path).unwrap() == content);
}

/// The mark of a fill on a server had the length from before the fill, so that a file whose fill was killed counted as
/// somebody else's, and the next run was refused.
#[test]
fn a_file_whose_fill_was_killed_is_used_again() {
    let Some(server) = assay_testkit::ganesha::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let local = folder.path().join("t.dat").to_str().unwrap().to_owned();
    let remote = format!("nfs://127.0.0.1:{}/rw/t.dat?mountport={}", server.port, server.mount_port);
    for (target, path) in [(local.clone(), local.into()), (remote, server.file("rw/t.dat"))] {
        let (plan, options) = (crate::plan("64MiB", 1), crate::options(&[]));
        let addresses = [crate::address(&target)];
        let killed = std::panic::catch_unwind(|| {
            let open =
                assay_prepare::open(&plan, &addresses, &options, &assay_host::host_facts(), &mut || true)
                    .unwrap();
            let ended = open.fill(&|| false, &mut |progress| {
                assert!(progress.done_bytes == 0, "killed: nothing is closed after this");
            });
            drop(ended);
        });
        assert!(killed.is_err(), "{target}");
        // The server still executes what was in flight.
        let time = || fs::metadata(&path).unwrap().modified().unwrap();
        let mut before = None;
        while before != Some(time()) {
            before = Some(time());
            std::thread::sleep(Duration::from_millis(500));
        }
        prepare(&[&target], &[], || {}).unwrap().close().unwrap();
    }
}
