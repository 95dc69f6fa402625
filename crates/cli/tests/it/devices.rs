//! Block devices: reading is the default, and writing needs a probe that finds nothing and the device's identity.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;

use crate::loop_device::{CAPACITY_BYTES, LoopDevice};
use crate::story::{DONE, count, run};

/// `O_EXCL` of Linux, in all its architectures.
const EXCLUSIVE: i32 = 0o200;
const READ: &str = r#"
[[test]]
name = "only reads"
access = [{ size = "4KiB", read = 100, random = 100 }]
"#;
const WRITE: &str = r#"
[[test]]
name = "writes too"
access = [{ size = "4KiB", read = 50, random = 100 }]
"#;

/// A device that holds something is never written, whatever is typed; reading it is fine. Nothing changes on it.
#[track_caller]
fn check_refused(device: &LoopDevice, path: &str, words: &[&str]) {
    check_refused_and_kept(device, path, words, usize::MAX);
}

/// The same, where only the first `kept` bytes are nobody else's to change.
#[track_caller]
fn check_refused_and_kept(device: &LoopDevice, path: &str, words: &[&str], kept: usize) {
    let content = || {
        let mut content = device.content();
        content.truncate(kept);
        content
    };
    let story = &device.story;
    story.write("read.toml", READ);
    story.write("write.toml", WRITE);
    let (before, identity) = (content(), device.identity());
    let refused = [&["refusing to write to", path, "Nothing was written"], words].concat();
    device.assay("write.toml", path, &[]).refused(&refused);
    device.assay("write.toml", path, &["--overwrite", &identity]).refused(&refused);
    device.assay("write.toml", path, &["--overwrite", &identity, "--no-fill"]).refused(&refused);
    assert!(
        !story.path("store.sqlite").exists()
            || story.assay(&["runs", "--json"]).json() == serde_json::json!([])
    );
    let read = device.assay("read.toml", path, &[]).ends(DONE).json();
    assert!(count(&read, "/tests/0/read/ops") > 0);
    assert!(content() == before, "the device has changed");
    let checked = story.assay(&["check", path, "--json"]).ends(DONE).json();
    assert_eq!(checked["writable"], false, "{checked:#}");
    story.assay(&["rm", "last"]).ends(DONE);
}

/// Refused for what is on it, and `wipefs` is named as the way out.
#[track_caller]
fn check_content(prepare: &[&str], words: &[&str]) {
    let Some(mut device) = LoopDevice::new() else { return };
    let path = device.path.clone();
    device.run(&[prepare, &[&path]].concat(), &[]);
    check_refused(&device, &path, &[words, &["wipefs -a"]].concat());
}

#[test]
fn a_device_with_a_file_system_is_refused() {
    check_content(&["mkfs.ext4", "-q"], &["ext4"]);
}

#[test]
fn a_device_with_a_swap_signature_is_refused() {
    check_content(&["mkswap"], &["swap"]);
}

#[test]
fn a_device_with_a_partition_table_is_refused() {
    for (label, kind, word) in [("dos", "83", "`dos`"), ("gpt", "L", "`gpt`")] {
        let Some(mut device) = LoopDevice::new() else { return };
        let path = device.path.clone();
        device.partition(&format!("label: {label}\n,8MiB,{kind}\n,8MiB,{kind}\n"));
        check_refused(&device, &path, &["partition", word]);
    }
}

#[test]
fn a_device_with_a_partition_table_that_the_kernel_does_not_show_is_refused() {
    let Some(mut device) = LoopDevice::new() else { return };
    let path = device.path.clone();
    device.partition("label: gpt\n,8MiB,L\n");
    run(&["partx", "--delete", &path]);
    check_refused(&device, &path, &["partition table"]);
    // What the device's own cleaning takes away must be there.
    run(&["partx", "--add", &path]);
}

#[test]
fn an_empty_partition_may_be_named_and_what_lies_beside_it_stays() {
    let Some(mut device) = LoopDevice::new() else { return };
    let path = device.path.clone();
    device.partition("label: dos\n,8MiB,83\n,8MiB,83\n");
    device.run(&["mkfs.ext4", "-q", &format!("{path}p2")], &[]);
    device.story.write("write.toml", WRITE);
    let (before, empty) = (device.content(), format!("{path}p1"));
    let reported = device.assay("write.toml", &empty, &[]).refused(&["writes too", &empty]);
    let identity = reported.err.rsplit("--overwrite ").next().unwrap().trim().to_owned();
    // The identity of the partition is not that of the disk, and the other way round.
    device.assay("write.toml", &path, &["--overwrite", &identity]).refused(&["partition"]);
    device.assay("write.toml", &empty, &["--overwrite", &device.identity()]).refused(&[]);
    assert!(device.content() == before);
    device.assay("write.toml", &empty, &["--overwrite", &identity]).ends(DONE);
    let (after, first, end) = (device.content(), 1 << 20, 9 << 20);
    assert!(after[first..end] != before[first..end]);
    assert!(after[..first] == before[..first] && after[end..] == before[end..]);
}

/// Issue 28, A3: fio discards; a hole punched into a device is WRITE ZEROES, which a device may carry out by writing.
#[test]
fn a_trim_of_a_device_is_a_discard() {
    let Some(device) = LoopDevice::new() else { return };
    device.story.write("trim.fio", "[t]\nrw=randtrim\nbs=64k\nsize=8m\n");
    let statistics = format!("/sys/block/{}/stat", device.path.trim_start_matches("/dev/"));
    // Field 12 counts discards; WRITE ZEROES are counted as writes.
    let discards = || {
        let text = std::fs::read_to_string(&statistics).unwrap();
        text.split_whitespace().nth(11).unwrap().parse::<u64>().unwrap()
    };
    for engine in ["uring", "psync"] {
        let before = discards();
        let (path, identity) = (device.path.as_str(), device.identity());
        device.story.assay(&["run", "trim.fio", path, "--overwrite", &identity, "--io", engine]).ends(DONE);
        assert_eq!(discards() - before, 128, "{engine}");
    }
}

#[test]
fn a_mounted_device_is_refused() {
    let Some(mut device) = LoopDevice::new() else { return };
    let path = device.path.clone();
    mount(&mut device, &path);
    check_refused(&device, &path, &["mounted", "mnt"]);
}

#[test]
fn the_parent_of_a_mounted_partition_is_refused() {
    let Some(mut device) = LoopDevice::new() else { return };
    let path = device.path.clone();
    device.partition("label: dos\n,16MiB,83\n,,83\n");
    mount(&mut device, &format!("{path}p1"));
    check_refused(&device, &path, &["p1", "mounted", "mnt"]);
    check_refused(&device, &format!("{path}p1"), &["mounted"]);
}

/// With a file system, mounted for reading: a mount for writing would change the device by itself.
fn mount(device: &mut LoopDevice, path: &str) {
    let folder = device.story.path("mnt");
    std::fs::create_dir(&folder).unwrap();
    let folder = folder.to_str().unwrap().to_owned();
    device.run(&["mkfs.ext4", "-q", path], &[]);
    device.run(&["mount", "-o", "ro,noload", path, &folder], &["umount", &folder]);
}

#[test]
fn a_device_in_use_as_swap_is_refused() {
    let Some(mut device) = LoopDevice::new() else { return };
    let path = device.path.clone();
    device.run(&["mkswap", "-q", &path], &[]);
    device.run(&["swapon", &path], &["swapoff", &path]);
    // Behind the header the kernel puts memory that it needs for something else, whenever it likes.
    check_refused_and_kept(&device, &path, &["swap"], 4096);
}

#[test]
fn a_device_reached_by_a_link_is_refused_for_what_it_is() {
    let Some(mut device) = LoopDevice::new() else { return };
    let path = device.path.clone();
    device.run(&["mkfs.ext4", "-q", &path], &[]);
    let link = device.story.path("by-id-like");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    check_refused(&device, link.to_str().unwrap(), &["ext4"]);
}

#[test]
fn an_empty_device_is_written_only_when_its_identity_is_typed() {
    let Some(device) = LoopDevice::new() else { return };
    let (story, path) = (&device.story, device.path.as_str());
    story.write("write.toml", WRITE);
    let reported =
        device.assay("write.toml", path, &[]).refused(&["writes too", path, "Everything on it will be lost"]);
    let identity = reported.err.rsplit("--overwrite ").next().unwrap().trim().to_owned();
    assert_eq!(identity, device.identity(), "the message and `assay check` name the same");
    let name = path.trim_start_matches("/dev/");
    for wrong in ["WD-1234", path, name, "yes", ""] {
        let reported = device
            .assay("write.toml", path, &["--overwrite", wrong])
            .refused(&[&format!("`{wrong}` is not its name")]);
        assert_eq!(
            reported.err.rsplit("--overwrite ").next().unwrap().trim(),
            identity,
            "what would be right"
        );
    }
    assert!(device.content().iter().all(|byte| *byte == 0), "nothing was written");
    let document = device.assay("write.toml", path, &["--overwrite", &identity]).ends(DONE).json();
    assert!(count(&document, "/tests/0/write/ops") > 0);
    assert_eq!(document["targets"][0]["member"]["content"], "prepared");
    let content = device.content();
    assert_eq!(content.len() as u64, CAPACITY_BYTES);
    assert!(
        content.chunks(4096).all(|block| block.iter().any(|byte| *byte != 0)),
        "nothing is measured on holes"
    );
}

#[test]
fn a_device_that_may_be_written_but_is_not_filled_says_what_that_means() {
    let Some(device) = LoopDevice::new() else { return };
    let path = device.path.as_str();
    device.story.write("write.toml", WRITE);
    let identity = device.identity();
    let args = ["--overwrite", &identity, "--no-fill"];
    let document = device.assay("write.toml", path, &args).ends(DONE).json();
    assert!(crate::story::rules(&document).contains(&"unknown-content"), "{:#}", document["findings"]);
}

#[test]
fn a_suite_that_writes_runs_on_a_device_smaller_than_its_default_size() {
    let Some(device) = LoopDevice::new() else { return };
    let identity = device.identity();
    let document = device.assay("vmware", &device.path, &["--overwrite", &identity]).ends(DONE).json();
    assert_eq!(count(&document, "/targets/0/member/span_bytes"), CAPACITY_BYTES);
    device
        .assay("vmware", &device.path, &["--overwrite", &identity, "--size", "1GiB"])
        .refused(&["32MiB", "1GiB"]);
}

#[test]
fn check_says_what_a_device_is_without_load() {
    let Some(mut device) = LoopDevice::new() else { return };
    let path = device.path.clone();
    let empty = device.story.assay(&["check", &path, "--json"]).ends(DONE).json();
    for key in ["serial", "wwid", "holds", "writable", "size_bytes", "device", "kind"] {
        assert!(empty.get(key).is_some(), "{key} in {empty:#}");
    }
    assert_eq!((&empty["writable"], &empty["kind"]), (&true.into(), &"device".into()));
    let attached = |how: &str| {
        crate::story::run(&["losetup", &format!("--direct-io={how}"), &path]);
        device.story.assay(&["check", &path]).ends(DONE)
    };
    attached("off").says(&["page cache", "losetup --direct-io=on"]);
    let document = device.assay("vmware", &path, &["--overwrite", &device.identity()]).ends(DONE).json();
    assert!(crate::story::rules(&document).contains(&"cached-loop"), "{document:#}");
    assert!(!attached("on").out.contains("losetup --direct-io=on"));
    device.run(&["mkfs.ext4", "-q", &path], &[]);
    device.story.assay(&["check", &path]).ends(DONE).says(&[
        "cannot write",
        "ext4",
        "what --overwrite takes",
    ]);
}

#[test]
fn a_device_in_use_by_another_run_is_refused() {
    let Some(device) = LoopDevice::new() else { return };
    let (story, path) = (&device.story, device.path.as_str());
    story.write("write.toml", WRITE);
    let identity = device.identity();
    let args = ["run", "write.toml", path, "--set", "run=60s", "--overwrite", &identity];
    let mut other = story.start(&args);
    story.wait_for(|run| run["tests"][0].is_object());
    device.assay("write.toml", path, &["--overwrite", &identity]).refused(&[path]);
    other.signal("INT");
    other.end().ends(crate::story::INTERRUPTED);
}

/// Issue 28: udev holds a device for a moment after it has changed, and the run after a `check` was refused.
#[test]
fn a_device_that_is_held_for_a_moment_is_waited_for() {
    let Some(device) = LoopDevice::new() else { return };
    device.story.write("write.toml", WRITE);
    let identity = device.identity();
    let held = File::options().read(true).custom_flags(EXCLUSIVE).open(&device.path).unwrap();
    let holder = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_secs(1));
        drop(held);
    });
    device.assay("write.toml", &device.path, &["--overwrite", &identity]).ends(DONE);
    holder.join().unwrap();
}

#[test]
fn a_test_file_cannot_be_asked_to_be_larger_than_its_file_system() {
    let Some(mut device) = LoopDevice::new() else { return };
    let folder = device.mount_ext4();
    let file = format!("{folder}/t.dat");
    let run_with = |size: &str| {
        device
            .story
            .assay(&["run", "vmware", &file, "--size", size, "--set", "run=100ms", "--only", "100%Read"])
    };
    let reported = run_with("31MiB").refused(&["does not fit", &folder]);
    assert!(!std::path::Path::new(&file).exists());
    let most = reported.err.split("use --size ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    run_with(&most).ends(DONE);
    let size = std::fs::metadata(&file).unwrap().len();
    assert!(size >= 16 << 20, "the size that the message offers is made: {size}");
}

/// Whatever has no signature but was not written by Assay costs a second word, and the first is not enough.
#[test]
fn a_device_with_data_that_nobody_knows_is_overwritten_only_with_both_words() {
    let Some(device) = LoopDevice::new() else { return };
    let (path, identity, lasting) = (device.path.as_str(), device.identity(), device.lasting_identity());
    assert!(lasting.starts_with(&format!("{identity}-seq")), "{lasting}");
    device.story.write("write.toml", WRITE);
    device.write((5 << 20) + 512, b"\x1b[2Jthe only copy of something");
    let before = device.content();
    let typed = format!("--overwrite {lasting} --not-blank");
    let words =
        ["refusing to write", "not blank", "at offset 5243392", "1b 5b 32 4a", "|.[2Jthe only cop|", &typed];
    device.assay("write.toml", path, &[]).refused(&words);
    let reported = device.assay("write.toml", path, &["--overwrite", &identity]).refused(&words);
    assert!(!reported.err.contains('\x1b'), "what stands on a disk does not reach the terminal");
    device.assay("write.toml", path, &["--not-blank"]).refused(&["--overwrite"]);
    let checked = device.story.assay(&["check", path, "--json"]).ends(DONE).json();
    assert_eq!(checked["writable"], false, "{checked:#}");
    // A name and a size are those of any disk that is attached there.
    let both = ["--overwrite", identity.as_str(), "--not-blank"];
    device.assay("write.toml", path, &both).refused(&[&format!("`{identity}` is not its name"), &typed]);
    assert!(device.content() == before, "the device has changed");
    device.assay("write.toml", path, &["--overwrite", &lasting, "--not-blank"]).ends(DONE);
    // What is there now is Assay's own.
    device.assay("write.toml", path, &["--overwrite", &identity]).ends(DONE);
}

#[test]
fn what_assay_wrote_itself_does_not_refuse_the_next_run() {
    let Some(device) = LoopDevice::new() else { return };
    let identity = device.identity();
    let kinds = [
        "\"unique\"",
        "\"repeating\"",
        "\"pseudo-random\"",
        "\"full-random\"",
        "{ compress = 3, dedupe = 2 }",
    ];
    for data in kinds.map(|kind| format!("data = {kind}")).iter().map(String::as_str).chain(["verify = true"])
    {
        let plan =
            format!("{data}\n[[test]]\nname = \"t\"\naccess = [{{ size = 12288, read = 0, random = 70 }}]\n");
        let plan = plan.replace("verify = true\n[[test]]", "[[test]]\nverify = true");
        let plan = match data.strip_prefix("data") {
            Some(_) => plan.replacen(data, &format!("[defaults]\n{data}"), 1),
            None => plan,
        };
        device.story.write("write.toml", &plan);
        device.assay("write.toml", &device.path, &["--overwrite", &identity]).ends(DONE);
    }
    let checked = device.story.assay(&["check", &device.path, "--json"]).ends(DONE).json();
    assert_eq!(checked["writable"], true, "{checked:#}");
}

#[test]
fn a_sizing_question_is_answered_from_the_curve_of_a_device() {
    let Some(device) = LoopDevice::new() else { return };
    crate::story::sized_by_its_curve(&device.story, &device.path);
}
