//! Nothing is written to a target that was changed or replaced after its inspection. Without a second check six of
//! seven such changes were overwritten, within seconds if another target was slow to inspect.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, OnceLock};

use assay_claim::Marker;
use assay_prepare::{PrepareError, PreparedTargets};
use assay_record::StepId;
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

const CHANGES: [Change; 6] = [
    Change { name: "another file is moved there", make: moved_over, says: "replaced by another file" },
    Change { name: "a link to another file is put there", make: linked, says: "replaced by another file" },
    Change { name: "it is edited in place", make: edited, says: "(its modification time)" },
    Change { name: "it is formatted, and its time set back", make: formatted, says: "start or end" },
    Change { name: "its middle is edited, and its time set back", make: restored, says: "(its change time)" },
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

/// Nothing of it but the change time differs at the ends and in the attributes: it was overwritten.
fn restored(path: &Path) {
    let file = File::options().write(true).open(path).unwrap();
    let time = file.metadata().unwrap().modified().unwrap();
    file.write_all_at(b"sixteen precious", 512 << 10).unwrap();
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

/// Returns the files of a folder but marks, with their content.
fn visible(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let is_mark = |path: &Path| path.file_name().unwrap().to_string_lossy().starts_with('.');
    contents(folder).into_iter().filter(|(path, _)| !is_mark(path)).collect()
}

/// Returns true if Assay's mark still claims a file.
fn is_claimed(path: &Path) -> bool {
    Marker::read(path, &File::open(path).unwrap()).unwrap().is_some()
}

/// The refusal marked the changed file as Assay's own again, so that the second attempt overwrote the change.
#[test]
fn a_file_that_changed_before_its_fill_is_refused_again() {
    for change in CHANGES {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.dat");
        own_file(&path);
        let text = path.to_str().unwrap();
        let mut kept = Vec::new();
        let result = prepare(&[text], &[], || {
            (change.make)(&path);
            kept = visible(folder.path());
        });
        check_refused(result, change.says, &kept, change.name);
        assert!(!is_claimed(&path), "{}", change.name);
        check_refused(prepare(&[text], &[], || {}), "--overwrite", &kept, change.name);
    }
}

/// The same of a file that came after the one that was refused, and was closed with it.
#[test]
fn the_mark_of_a_file_that_changed_while_it_was_open_is_void() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("first.dat"), folder.path().join("second.dat"));
    own_file(&first);
    own_file(&second);
    let refused = prepare(&[first.to_str().unwrap(), second.to_str().unwrap()], &[], || {
        cut(&first);
        cut(&second);
    });
    assert!(refused.is_err());
    assert!(!is_claimed(&first) && !is_claimed(&second));
}

/// The mark that was written after a run claimed whatever another program had written to the file meanwhile, and
/// `--remove` removed it.
#[test]
fn a_file_that_another_program_changed_during_the_run_is_no_longer_assays() {
    let folder = tempfile::tempdir().unwrap();
    let (written, read) = (folder.path().join("written.dat"), folder.path().join("read.dat"));
    let targets = [written.to_str().unwrap(), read.to_str().unwrap()];
    let plan = crate::plan("1MiB", 2);
    let step = StepId { test: 0, step: 0 };
    let run = |during: &dyn Fn(), after: &dyn Fn()| {
        for path in [&written, &read] {
            let _ = fs::remove_file(path);
            own_file(path);
        }
        let mut prepared = prepare(&targets, &[], || {}).unwrap();
        prepared.step_started(&plan, step).unwrap();
        File::options().write(true).open(&written).unwrap().write_all_at(&[0; 4096], 4096).unwrap();
        during();
        prepared.step_ended(&plan, step);
        after();
        let closed = prepared.close().unwrap();
        let says: Vec<String> = closed.warnings.iter().map(|warning| warning.says.clone()).collect();
        let kept = closed.remove().unwrap();
        assert_eq!(kept.len(), says.len(), "{kept:?}");
        says
    };
    assert_eq!(run(&|| {}, &|| {}), Vec::<String>::new());
    assert!(!written.exists() && !read.exists(), "they were removed");
    let check = |says: Vec<String>, path: &Path| {
        assert!(says.len() == 1 && says[0].contains(path.to_str().unwrap()), "{says:?}");
        assert!(path.exists() && !is_claimed(path));
    };
    check(run(&|| edited(&read), &|| {}), &read);
    check(run(&|| cut(&read), &|| {}), &read);
    check(run(&|| cut(&written), &|| {}), &written);
    check(run(&|| {}, &|| edited(&written)), &written);
    check(run(&|| {}, &|| edited(&read)), &read);
    check(run(&|| {}, &|| restored(&written)), &written);
    check(run(&|| restored(&read), &|| {}), &read);
}

/// A diagnosis writes to its target in other ways too, as targets of the run's plan that were not prepared. Such writes
/// were taken for those of another program, and the file was given up.
#[test]
fn what_a_step_writes_in_another_way_is_assays_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.dat");
    let step = StepId { test: 0, step: 0 };
    let close = |ways: usize, during: &dyn Fn()| {
        own_file(&path);
        let mut prepared = prepare(&[path.to_str().unwrap()], &[], || {}).unwrap();
        prepared.add_ways(0, ways);
        // Its only job writes to the target with index 1.
        let mut plan = crate::plan("1MiB", 1);
        plan.tests[0].steps[0].jobs[0].targets = vec![1];
        prepared.step_started(&plan, step).unwrap();
        edited(&path);
        during();
        prepared.step_ended(&plan, step);
        prepared.close().unwrap()
    };
    let closed = close(1, &|| {});
    assert!(closed.warnings.is_empty(), "{:?}", closed.warnings);
    assert!(is_claimed(&path));
    assert_eq!(closed.remove().unwrap().len(), 0);
    assert!(!path.exists());
    // Without that way nobody wrote to it but another program, and nor does anybody else cut it.
    assert_eq!(close(0, &|| {}).warnings.len(), 1);
    fs::remove_file(&path).unwrap();
    assert_eq!(close(1, &|| cut(&path)).warnings.len(), 1);
}

/// What another program wrote between two steps was noted, and overwritten by the second of them.
#[test]
fn a_step_does_not_write_to_a_file_that_another_program_changed_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.dat");
    let (plan, step) = (crate::plan("1MiB", 1), StepId { test: 0, step: 0 });
    for (change, says) in [(edited as fn(&Path), "(its modification time)"), (cut, "(its size)")] {
        let _ = fs::remove_file(&path);
        own_file(&path);
        let mut prepared = prepare(&[path.to_str().unwrap()], &[], || {}).unwrap();
        prepared.step_started(&plan, step).unwrap();
        prepared.step_ended(&plan, step);
        change(&path);
        for _ in 0..2 {
            let refused = prepared.step_started(&plan, step).unwrap_err().to_string();
            assert!(refused.contains(says) && refused.contains("the next step was not started"), "{refused}");
        }
        let closed = prepared.close().unwrap();
        assert_eq!(closed.warnings.len(), 1);
        let kept = closed.remove().unwrap();
        assert!(kept[0].why.contains("another program has changed it"), "{kept:?}");
        assert!(path.exists() && !is_claimed(&path));
    }
}

/// Fills two new targets, and changes the first while the second is filled.
fn change_after_fill(targets: [&str; 2], change: impl Fn()) -> Result<PreparedTargets, PrepareError> {
    let plan = crate::plan("1MiB", 2);
    let addresses: Vec<Address> = targets.iter().map(|target| crate::address(target)).collect();
    let options = options(&[]);
    let open =
        assay_prepare::open(&plan, &addresses, &options, &assay_host::host_facts(), &mut || true).unwrap();
    open.fill(&|| false, &mut |progress| {
        if progress.path == Path::new(targets[1]) && progress.done_bytes == progress.total_bytes {
            change();
        }
    })
}

/// What was put into a file after its fill was overwritten by the first worker, hours later if another target is large.
#[test]
fn a_file_that_changes_after_its_fill_is_not_written() {
    for change in CHANGES {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("first.dat"), folder.path().join("second.dat"));
        let mut kept = Vec::new();
        let kept_by = std::cell::RefCell::new(&mut kept);
        let result = change_after_fill([first.to_str().unwrap(), second.to_str().unwrap()], || {
            (change.make)(&first);
            **kept_by.borrow_mut() = visible(folder.path());
        });
        check_refused(result, change.says, &kept, change.name);
        assert!(!is_claimed(&first), "{}", change.name);
    }
}

/// A worker found the mark of its run, and did not look at the data.
#[test]
fn a_worker_does_not_write_to_a_file_with_other_data_at_its_start() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let path = folder.path().join("t.dat");
    let mut options = options(&[]);
    options.caching = Caching::Direct;
    let prepared = prepare_with(&[path.to_str().unwrap()], &options, || {}).unwrap();
    open_worker(&prepared).map(drop).unwrap();
    let file = File::options().write(true).open(&path).unwrap();
    let time = file.metadata().unwrap().modified().unwrap();
    let sector: Vec<u8> = (0..=255).cycle().take(512).collect();
    file.write_all_at(&sector, 4096).unwrap();
    file.sync_all().unwrap();
    file.set_modified(time).unwrap();
    let error = open_worker(&prepared).err().unwrap().to_string();
    assert!(error.contains("its start holds data that Assay did not write"), "{error}");
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

#[test]
fn a_file_on_a_server_that_changes_after_its_fill_is_not_written_then_or_later() {
    let Some(server) = ganesha::start() else { return };
    // After the fill only length and time of a file on a server are compared (docs/safety.md).
    let is_compared =
        |change: &Change| !["start", "change time"].iter().any(|word| change.says.contains(word));
    for (index, change) in CHANGES.into_iter().filter(is_compared).enumerate() {
        let folder = server.file(&format!("rw/f{index}"));
        fs::create_dir(&folder).unwrap();
        let names = ["first", "second"].map(|name| nfs_address(&server, &format!("f{index}/{name}.dat")));
        let mut kept = Vec::new();
        let kept_by = std::cell::RefCell::new(&mut kept);
        let result = change_after_fill([&names[0], &names[1]], || {
            (change.make)(&folder.join("first.dat"));
            **kept_by.borrow_mut() = visible(&folder);
        });
        let (says, again) = match change.says {
            _ if change.name.contains("link") => ("links are not followed", "links are not followed"),
            says if says.contains("replaced") => ("now refers to another file", "--overwrite"),
            says => (says, "--overwrite"),
        };
        check_refused(result, says, &kept, change.name);
        check_refused(prepare(&[&names[0]], &[], || {}), again, &kept, change.name);
    }
}

/// The refusal of a changed file on a server sealed its mark, so that the second attempt overwrote the change.
#[test]
fn a_file_on_a_server_that_changed_before_its_fill_is_refused_again() {
    let Some(server) = ganesha::start() else { return };
    let (address, path) = (nfs_address(&server, "t.dat"), server.file("rw/t.dat"));
    prepare(&[&address], &[], || {}).unwrap().close().unwrap();
    let result = prepare(&[&address], &[], || cut(&path));
    let kept = [(path.clone(), fs::read(&path).unwrap())];
    check_refused(result, "(its size)", &kept, "first");
    check_refused(prepare(&[&address], &[], || {}), "--overwrite", &kept, "second");
    // A run during which it was cut does not claim it either.
    fs::remove_file(&path).unwrap();
    let prepared = prepare(&[&address], &[], || {}).unwrap();
    cut(&path);
    let closed = prepared.close().unwrap();
    assert!(closed.warnings[0].says.contains("Another program has changed"), "{:?}", closed.warnings);
    let kept = [(path.clone(), fs::read(&path).unwrap())];
    check_refused(prepare(&[&address], &[], || {}), "--overwrite", &kept, "closed");
}

/// The mark of a file that Assay was about to create stayed beside the empty file that another client created then, and
/// the next run took that file for its own.
#[test]
fn a_file_that_another_client_creates_first_is_not_claimed() {
    use assay_testkit::lying::Act;
    use assay_testkit::lying::nfs::{LyingNfs, Procedure, record};
    let cell: Arc<OnceLock<LyingNfs>> = Arc::default();
    let server = Arc::downgrade(&cell);
    let started = LyingNfs::start(move |asked, honest| {
        // The first data that is written is that mark.
        if asked.procedure == Procedure::Write && asked.count == 1 {
            server.upgrade().unwrap().get().unwrap().put("t.dat", b"");
        }
        vec![Act::Bytes(record(&honest))]
    });
    cell.set(started).unwrap();
    let server = cell.get().unwrap();
    let address = format!("nfs://127.0.0.1:{0}/export/t.dat?mountport={0}", server.port);
    let error = prepare(&[&address], &[], || {}).err().unwrap();
    assert!(!matches!(error, PrepareError::NotUndone { .. }), "{error}");
    let again = prepare(&[&address], &[], || {}).err().unwrap().to_string();
    assert!(again.contains("--overwrite"), "{again}");
    assert_eq!(server.file("t.dat").unwrap(), b"");
}

/// Whatever was left on a server, a refusal ended with the exit code that says that nothing was touched.
#[test]
fn what_opening_left_on_a_server_is_reported() {
    use assay_testkit::lying::Act;
    use assay_testkit::lying::nfs::{LyingNfs, Procedure, record};
    const ACCES: u32 = 13;
    for (denied, left) in [(None, None), (Some(Procedure::Remove), Some("was created"))] {
        let server = LyingNfs::start(move |asked, honest| {
            // The second file cannot be created once the first one is there.
            let is_second = asked.arguments.windows(b"second".len()).any(|part| part == b"second");
            let denies =
                denied == Some(asked.procedure) || (is_second && asked.procedure == Procedure::Create);
            let answer = if denies { asked.accepted().words(&[ACCES, 0, 0]).0 } else { honest };
            vec![Act::Bytes(record(&answer))]
        });
        let file = |name: &str| format!("nfs://127.0.0.1:{0}/export/{name}?mountport={0}", server.port);
        let error = prepare(&[&file("t.dat"), &file("second.dat")], &[], || {}).err().unwrap();
        match left {
            None => assert!(!matches!(error, PrepareError::NotUndone { .. }), "{error}"),
            Some(left) => {
                let PrepareError::NotUndone { left: says, .. } = &error else { panic!("{error}") };
                assert!(says.contains("/t.dat") && says.ends_with(left), "{says}");
            }
        }
    }
}

/// The lower layer's file is copied when it is opened for writing: Assay called that a change by somebody else.
#[test]
fn a_file_of_an_overlay_s_lower_layer_is_overwritten_at_the_first_try() {
    if !assay_testkit::need::root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in ["lower", "upper", "work", "merged"] {
        fs::create_dir(at(name)).unwrap();
    }
    fs::write(at("lower/f"), PRECIOUS).unwrap();
    let layers = ["lower", "upper", "work"].map(|name| format!("{name}dir={}", at(name).display())).join(",");
    let merged = at("merged").display().to_string();
    let mounted = std::process::Command::new("mount")
        .args(["-t", "overlay", "overlay", "-o", &layers, &merged])
        .output()
        .unwrap();
    let says = String::from_utf8_lossy(&mounted.stderr).into_owned();
    let is_there = if mounted.status.success() { Ok(()) } else { Err(says) };
    if assay_testkit::need::or_skip("no overlay", is_there).is_none() {
        return;
    }
    let file = format!("{merged}/f");
    let result = prepare(&[&file], &[&file], || {}).map(|prepared| prepared.close().unwrap());
    let overwritten = fs::read(&file).unwrap() != PRECIOUS;
    // A program that another test starts has the file for a moment, with all that this process has open.
    assay_testkit::story::run(&["umount", "--lazy", &merged]);
    result.unwrap();
    assert!(overwritten);
    assert!(fs::read(at("lower/f")).unwrap() == PRECIOUS, "the layer below is as it was");
}

/// The image of a mounted file system, or of a virtual machine, was overwritten under the program that used it.
#[test]
fn a_file_that_another_program_has_open_for_writing_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disk.img");
    fs::write(&path, PRECIOUS).unwrap();
    let text = path.to_str().unwrap();
    let open = |how: &str| {
        let mut user = std::process::Command::new("sh")
            .args(["-c", &format!("exec 3{how}\"$0\"; echo; exec sleep infinity"), text])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Read::read_exact(user.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        user
    };
    let mut user = open("<>");
    let refused = prepare(&[text], &[text], || {});
    let process = format!("(process {})", user.id());
    user.kill().unwrap();
    user.wait().unwrap();
    let says = refused.err().expect("it is refused").to_string();
    assert!(says.contains("it is open for writing in ") && says.contains(&process), "{says}");
    assert!(fs::read(&path).unwrap() == PRECIOUS);
    let mut reader = open("<");
    let read = prepare(&[text], &[text], || {});
    reader.kill().unwrap();
    reader.wait().unwrap();
    read.unwrap().close().unwrap();
}

/// Two hosts whose paths lead to one file of a shared file system create it at one moment. The later one said that its
/// own creation of it could not be undone.
#[test]
fn a_file_that_another_run_creates_first_is_left_to_that_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.dat");
    let (plan, addresses) = (crate::plan("1MiB", 1), [crate::address(path.to_str().unwrap())]);
    let mut other = || fs::write(&path, PRECIOUS).is_ok();
    let (options, host) = (options(&[]), assay_host::host_facts());
    let opened = assay_prepare::open(&plan, &addresses, &options, &host, &mut other);
    let error = opened.map(drop).unwrap_err();
    assert!(matches!(error, PrepareError::CreatedMeanwhile { .. }), "{error}");
    assert_eq!(fs::read(&path).unwrap(), PRECIOUS);
}
