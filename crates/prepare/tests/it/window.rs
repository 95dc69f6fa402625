//! Nothing is written to a target that was changed or replaced after its inspection. Without a second check six of
//! seven such changes were overwritten, within seconds if another target was slow to inspect.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};

use assay_prepare::{PrepareError, PreparedTargets};
use assay_spec::Address;
use assay_target::{AnyTarget, Caching, OpenError, OpenRequest};
use assay_testkit::ganesha::{self, Ganesha};
use assay_testkit::loop_device::LoopDevice;
use assay_testkit::tgt::{self, Tgt};

use crate::{options, own_file, prepare, prepare_with, relay};

const PRECIOUS: &[u8] = &[0xB7; 1 << 20];

/// A change of a file, and the message of the refusal.
struct Change {
    name: &'static str,
    make: fn(&Path),
    says: &'static str,
}

const CHANGES: [Change; 5] = [
    Change { name: "another file is moved there", make: moved_over, says: "replaced by another file" },
    Change { name: "a link to another file is put there", make: linked, says: "replaced by another file" },
    Change { name: "it is edited in place", make: edited, says: "(its modification time)" },
    Change { name: "it is formatted, and its time set back", make: formatted, says: "start or end" },
    Change { name: "it is cut", make: cut, says: "(its size)" },
];

fn moved_over(path: &Path) {
    let other = path.with_extension("other");
    fs::write(&other, PRECIOUS).unwrap();
    fs::rename(other, path).unwrap();
}

fn linked(path: &Path) {
    let other = path.with_extension("other");
    fs::write(&other, PRECIOUS).unwrap();
    fs::remove_file(path).unwrap();
    std::os::unix::fs::symlink(other, path).unwrap();
}

fn edited(path: &Path) {
    let file = File::options().write(true).open(path).unwrap();
    file.write_all_at(b"somebody's", 512 << 10).unwrap();
    let later = std::time::SystemTime::now() + std::time::Duration::from_millis(10);
    file.set_modified(later).unwrap();
}

fn formatted(path: &Path) {
    let file = File::options().write(true).open(path).unwrap();
    let time = file.metadata().unwrap().modified().unwrap();
    file.write_all_at(b"XFSB", 0).unwrap();
    file.set_modified(time).unwrap();
}

fn cut(path: &Path) {
    File::options().write(true).open(path).unwrap().set_len(512 << 10).unwrap();
}

/// Returns the address of a target's LUN 1 that becomes reachable once `change` has happened.
fn slow_lun(tgt: &Tgt, change: impl FnOnce() + Send + 'static) -> String {
    let at = relay(tgt.portals[0].clone(), change);
    format!("iscsi://{at}/{}/1", tgt.name())
}

/// Checks that the run was refused, and that neither file has changed since `kept`.
#[track_caller]
fn check_refused(
    result: Result<PreparedTargets, PrepareError>,
    says: &str,
    kept: &[(PathBuf, Vec<u8>)],
    name: &str,
) {
    let Err(error) = result else { panic!("{name}: nobody noticed") };
    let error = error.to_string();
    assert!(error.contains(says), "{name}: {error}");
    for (path, content) in kept {
        assert!(fs::read(path).unwrap() == *content, "{name}: {} was written", path.display());
    }
}

/// Returns the result of the change. If the run was refused for another reason, before the change, there is none.
#[track_caller]
fn sent<T>(kept: &Receiver<T>, result: &Result<PreparedTargets, PrepareError>, name: &str) -> T {
    let refused = || result.as_ref().err().map(ToString::to_string);
    kept.try_recv().unwrap_or_else(|_| panic!("{name}: refused before the change: {:?}", refused()))
}

fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

#[test]
fn a_file_that_changes_during_the_inspection_of_another_target_is_not_written() {
    let Some(tgt) = tgt::start(1) else { return };
    for change in CHANGES {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.dat");
        own_file(&path);
        let (make, changed, (sender, kept)) = (change.make, path.clone(), channel());
        let there = folder.path().to_owned();
        let slow = slow_lun(&tgt, move || {
            make(&changed);
            sender.send(contents(&there)).unwrap();
        });
        let result = prepare(&[path.to_str().unwrap(), &slow], &[], || {});
        let kept = sent(&kept, &result, change.name);
        check_refused(result, change.says, &kept, change.name);
    }
}

#[test]
fn a_file_that_changes_before_it_is_filled_is_not_written() {
    for change in CHANGES {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.dat");
        // A foreign file with permission to overwrite it: there is something to fill.
        fs::write(&path, vec![0x11; 1 << 20]).unwrap();
        let mut kept = Vec::new();
        let text = path.to_str().unwrap();
        let result = prepare(&[text], &[text], || {
            (change.make)(&path);
            kept = contents(folder.path());
        });
        check_refused(result, change.says, &kept, change.name);
    }
}

/// A worker opens the file long after preparation has ended.
#[test]
fn a_worker_does_not_open_a_replacement_of_its_file() {
    for change in [&CHANGES[0], &CHANGES[1]] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.dat");
        own_file(&path);
        let prepared = prepare(&[path.to_str().unwrap()], &[], || {}).unwrap();
        (change.make)(&path);
        let error = open_worker(&prepared).err().expect(change.name).to_string();
        assert!(error.contains(change.says), "{error}");
        prepared.close().unwrap();
        let kept = if change.name.contains("link") { path.with_extension("other") } else { path };
        assert!(fs::read(kept).unwrap() == PRECIOUS);
    }
}

#[test]
fn a_device_formatted_after_its_inspection_is_not_written() {
    let (Some(tgt), Some(device)) = (tgt::start(1), LoopDevice::over_empty(4 << 20)) else { return };
    let (path, identity) = (device.text(), format!("{}-{}", device.name(), 4 << 20));
    let wipe = || device.write(0, &[0; 4]);
    let holds = || fs::read(&device.path).unwrap();
    let formatted = |mut data: Vec<u8>| {
        data[..4].copy_from_slice(b"XFSB");
        data
    };
    let node = PathBuf::from(&path);
    let slow = slow_lun(&tgt, move || formatted_device(&node));
    let kept = [(PathBuf::from(&path), formatted(holds()))];
    check_refused(prepare(&[&path, &slow], &[&identity], || {}), "start or end", &kept, "another target");
    wipe();
    let result = prepare(&[&path], &[&identity], || device.write(0, b"XFSB"));
    check_refused(result, "start or end", &kept, "before the fill");
    wipe();
    let mut options = options(&[&identity]);
    options.caching = Caching::Direct;
    let prepared = prepare_with(&[&path], &options, || {}).unwrap();
    open_worker(&prepared).map(drop).unwrap();
    let sector: Vec<u8> = (0..=255).cycle().take(512).collect();
    device.write(0, &sector);
    let error = open_worker(&prepared).err().unwrap().to_string();
    assert!(error.contains("its start holds data that Assay did not write"), "{error}");
}

/// Opens the targets as a worker does, at any time of the run.
fn open_worker(prepared: &PreparedTargets) -> Result<AnyTarget, OpenError> {
    let members = prepared.members();
    assay_target::open(&OpenRequest { members: &members, depth: 1, engine: prepared.io, buffers: &[] })
}

fn formatted_device(node: &Path) {
    let device = File::options().write(true).open(node).unwrap();
    device.write_all_at(b"XFSB", 0).unwrap();
    device.sync_all().unwrap();
}

/// Puts another disk behind the number of LUN 1; the server gives it the same serial number and WWID.
fn remap(tgt: &mut Tgt, disk: &Path) {
    tgt.set("--op delete --mode logicalunit --tid 1 --lun 1").unwrap();
    let disk = disk.display();
    tgt.set(&format!("--op new --mode logicalunit --tid 1 --lun 1 -b {disk}")).unwrap();
}

fn disk_of(tgt: &Tgt, name: &str) -> PathBuf {
    let disk = tgt.lun_path().with_file_name(name);
    let file = File::create(&disk).unwrap();
    file.set_len(tgt::LUN_BYTES).unwrap();
    file.write_all_at(b"XFSB", 0).unwrap();
    disk
}

#[test]
fn a_lun_that_is_another_disk_after_its_inspection_is_not_written() {
    let (Some(mut tgt), Some(mut other)) = (tgt::start(1), tgt::start(1)) else { return };
    // Both servers number their LUNs alike, and a name shared by two targets permits nothing.
    other.set("--op update --mode logicalunit --tid 1 --lun 1 --params scsi_sn=other").unwrap();
    let (lun, disk) = (tgt.address("", ""), disk_of(&tgt, "other"));
    let Address::Iscsi(at) = crate::address(&lun) else { panic!("{lun}") };
    let device = assay_prepare::inspect_lun(&at, None).unwrap().facts.device.unwrap();
    let identity = device.serial.clone().unwrap();
    let kept = [(disk.clone(), fs::read(&disk).unwrap())];
    let lun_path = tgt.lun_path();
    let result = prepare(&[&lun], &[&identity], || remap(&mut tgt, &disk));
    check_refused(result, "start or end", &kept, "before the fill");
    remap(&mut tgt, &lun_path);
    let (sender, back) = channel();
    let there = disk.clone();
    let slow = slow_lun(&other, move || {
        remap(&mut tgt, &there);
        sender.send(tgt).unwrap();
    });
    check_refused(prepare(&[&lun, &slow], &[&identity], || {}), "start or end", &kept, "another target");
    drop(back.recv().unwrap());
}

/// Every worker logs in by itself, at any time of the run.
#[test]
fn a_worker_does_not_use_a_lun_that_is_another_disk() {
    let Some(mut tgt) = tgt::start(1) else { return };
    let lun = tgt.address("", "");
    let Address::Iscsi(at) = crate::address(&lun) else { panic!("{lun}") };
    let identity = assay_prepare::inspect_lun(&at, None).unwrap().facts.device.unwrap().serial.unwrap();
    let prepared = prepare(&[&lun], &[&identity], || {}).unwrap();
    open_worker(&prepared).map(drop).unwrap();
    let disk = disk_of(&tgt, "larger");
    File::options().write(true).open(&disk).unwrap().set_len(2 * tgt::LUN_BYTES).unwrap();
    remap(&mut tgt, &disk);
    let error = open_worker(&prepared).err().unwrap().to_string();
    assert!(error.contains("its size differs"), "{error}");
    let disk = disk_of(&tgt, "as-large");
    remap(&mut tgt, &disk);
    let error = open_worker(&prepared).err().unwrap().to_string();
    assert!(error.contains("it is a different unit"), "{error}");
}

fn nfs_address(server: &Ganesha, name: &str) -> String {
    format!("nfs://127.0.0.1:{}/rw/{name}?mountport={}", server.port, server.mount_port)
}

#[test]
fn a_file_on_a_server_that_changes_after_its_inspection_is_not_written() {
    let (Some(server), Some(tgt)) = (ganesha::start(), tgt::start(1)) else { return };
    for (index, change) in CHANGES.into_iter().enumerate() {
        // Times are all that the server reports of its content; that of the last change cannot be set back.
        let says = match change.says {
            "start or end" => "(its change time)",
            says if says.contains("replaced") => "now refers to another file",
            says => says,
        };
        let address = nfs_address(&server, &format!("d{index}/t.dat"));
        let path = server.file(&format!("rw/d{index}/t.dat"));
        let folder = path.parent().unwrap().to_owned();
        fs::create_dir(&folder).unwrap();
        prepare(&[&address], &[], || {}).unwrap().close().unwrap();
        let (make, changed, (sender, kept)) = (change.make, path.clone(), channel());
        let there = folder.clone();
        let slow = slow_lun(&tgt, move || {
            make(&changed);
            sender.send(contents(&there)).unwrap();
        });
        // A link is not a regular file, which the second check reports first.
        let says = if change.name.contains("link") { "" } else { says };
        let result = prepare(&[&address, &slow], &[], || {});
        let kept = sent(&kept, &result, change.name);
        check_refused(result, says, &kept, change.name);
        fs::remove_dir_all(&folder).unwrap();
        fs::create_dir(&folder).unwrap();
        fs::write(&path, vec![0x11; 1 << 20]).unwrap();
        let mut kept = Vec::new();
        let result = prepare(&[&address], &[&address], || {
            (change.make)(&path);
            let file = |(path, _): &(PathBuf, Vec<u8>)| {
                !path.file_name().unwrap().to_string_lossy().starts_with('.')
            };
            kept = contents(&folder).into_iter().filter(file).collect();
        });
        check_refused(result, says, &kept, change.name);
    }
}
