//! Files: what Assay did not create is only read, and a refusal leaves everything as it was.

use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use assay_testkit::need;

use crate::story::{DONE, ERRORS, INTERRUPTED, Story, count, is_root, printed, rules, run};

const RUN: [&str; 8] = ["run", "vmware", "t.dat", "--size", "1MiB", "--set", "run=100ms", "--json"];
const READS: [&str; 2] = ["--only", "100%Read"];

fn with(more: &[&str]) -> Vec<String> {
    RUN.iter().chain(more).map(|word| (*word).to_owned()).collect()
}

fn assay(story: &Story, more: &[&str]) -> crate::story::ProgramOutput {
    let args = with(more);
    story.assay(&args.iter().map(String::as_str).collect::<Vec<_>>())
}

/// A file of somebody else's.
fn foreign() -> Vec<u8> {
    (0..1_u32 << 20).map(|i| (i % 251) as u8).collect()
}

#[test]
fn a_file_of_somebody_else_s_is_read_and_not_written() {
    let story = Story::new();
    story.write("t.dat", foreign());
    assay(&story, &[]).refused(&[
        "t.dat",
        "was not created by Assay",
        "--overwrite t.dat",
        "RealLife",
        "1MiB",
    ]);
    assay(&story, &["--overwrite", "other.dat"]).refused(&["t.dat"]);
    assert!(story.read("t.dat") == foreign());
    let read = assay(&story, &READS).ends(DONE).json();
    assert!(count(&read, "/tests/0/total/ops") > 0);
    assert_eq!(read["targets"][0]["member"]["content"], "foreign");
    assert!(story.read("t.dat") == foreign());
    assert_eq!(story.files(), ["t.dat"]);
}

/// The permission to destroy 4 bytes was taken for one to fill the disk with a suite's 4 GiB.
#[test]
fn a_tiny_file_that_may_be_overwritten_does_not_grow_to_a_suite_s_default() {
    let story = Story::new();
    story.write("t.dat", b"mine");
    let run = ["run", "vmware", "t.dat", "--overwrite", "t.dat", "--quick"];
    story.assay(&run).refused(&["t.dat holds only 4B", "a target needs at least 4KiB", "--size 1GiB"]);
    assert_eq!(story.read("t.dat"), b"mine");
    assay(&story, &["--overwrite", "t.dat"]).ends(DONE);
    assert_eq!(story.read("t.dat").len(), 1 << 20, "the size that was asked for");
}

#[test]
fn a_file_of_somebody_else_s_that_is_smaller_than_a_suite_s_default_is_read_whole() {
    let story = Story::new();
    story.write("t.dat", foreign());
    let args = ["run", "vmware", "t.dat", "--set", "run=100ms", "--only", "100%Read", "--json"];
    let read = story.assay(&args).ends(DONE).json();
    assert_eq!(count(&read, "/targets/0/member/span_bytes"), 1 << 20);
    story
        .assay(&[&args[..], &["--size", "2MiB"]].concat())
        .refused(&["t.dat holds only 1MiB", "--size asks for 2MiB"]);
}

#[test]
fn a_file_of_somebody_else_s_is_written_when_it_is_named() {
    for name in ["t.dat", "./t.dat"] {
        let story = Story::new();
        story.write("t.dat", foreign());
        let written = assay(&story, &["--overwrite", name]).ends(DONE).json();
        assert!(count(&written, "/tests/1/write/ops") > 0);
        assert!(story.read("t.dat") != foreign());
    }
}

/// `vmware` leaves one block repeated all over the file. Another suite wrote it again without a word, for minutes.
#[test]
fn a_file_that_is_filled_again_says_why_and_how_long_it_took() {
    let story = Story::new();
    assay(&story, &[]).ends(DONE);
    let first = assay(&story, &[]).ends(DONE).json();
    assert!(!rules(&first).contains(&"refilled"), "the same suite reuses it: {:#}", first["findings"]);
    story.write(
        "unique.toml",
        "[[test]]\nname = \"t\"\naccess = [{ size = 4096, read = 50 }]\nrun = \"100ms\"\n",
    );
    let run = story.assay(&["run", "unique.toml", "t.dat", "--json"]).ends(DONE);
    assert!(run.err.contains("filling t.dat again (it holds one repeated block"), "{}", run.err);
    let document = run.json();
    let findings = document["findings"].as_array().unwrap();
    let refilled =
        findings.iter().find(|finding| finding["rule"] == "refilled").expect("it was filled again");
    let says = refilled["says"].as_str().unwrap();
    let words =
        ["t.dat (1MiB) was filled again before the run, in 0.", " s: it holds one repeated block (Iometer's"];
    assert!(words.iter().all(|word| says.contains(word)), "{says}");
    let again = story.assay(&["run", "unique.toml", "t.dat", "--json"]).ends(DONE).json();
    assert!(!rules(&again).contains(&"refilled"), "{:#}", again["findings"]);
}

#[test]
fn a_file_is_not_filled_where_nobody_wants_that() {
    let story = Story::new();
    let run = assay(&story, &["--no-fill"]).ends(DONE);
    assert!(!run.err.contains("filling"), "{}", run.err);
    let document = run.json();
    assert_eq!(document["targets"][0]["member"]["content"], "none");
    assert_eq!(story.read("t.dat").len(), 1 << 20);
    // The next run without it makes up for it.
    let run = assay(&story, &[]).ends(DONE);
    assert!(run.err.contains("filled t.dat"), "{}", run.err);
    let verify =
        "[[test]]\nname = \"t\"\naccess = [{ size = 4096, read = 50 }]\nrun = \"100ms\"\nverify = true\n";
    story.write("verify.toml", verify);
    story
        .assay(&["run", "verify.toml", "t.dat", "--no-fill"])
        .refused(&["verify needs blocks", "leave out --no-fill"]);
}

#[test]
fn every_overwrite_must_name_a_target() {
    let story = Story::new();
    assay(&story, &["--overwrite", "t.dta"])
        .refused(&["--overwrite t.dta names none of the targets", "t.dat"]);
    assert_eq!(story.files(), Vec::<String>::new());
}

#[test]
fn a_file_that_somebody_changed_is_no_longer_assay_s() {
    let story = Story::new();
    assay(&story, &[]).ends(DONE);
    assay(&story, &[]).ends(DONE);
    let mut content = story.read("t.dat");
    content[5] ^= 1;
    // As an editor does: the same file, written again.
    story.write("t.dat", &content);
    assay(&story, &[]).refused(&["t.dat", "has been modified since"]);
    assert!(story.read("t.dat") == content);
}

#[test]
fn a_copy_of_a_test_file_is_somebody_else_s() {
    let story = Story::new();
    assay(&story, &[]).ends(DONE);
    run(&["cp", story.path("t.dat").to_str().unwrap(), story.path("copy.dat").to_str().unwrap()]);
    let args = ["run", "vmware", "copy.dat", "--size", "1MiB", "--set", "run=100ms"];
    story.assay(&args).refused(&["copy.dat", "was not created by Assay"]);
}

#[test]
fn a_file_in_use_by_another_run_is_refused() {
    let story = Story::new();
    let mut other = story.start(&["run", "vmware", "t.dat", "--size", "1MiB", "--set", "run=60s"]);
    story.wait_for(|run| run["tests"][0].is_object());
    assay(&story, &[]).refused(&["t.dat is in use by another run"]);
    assay(&story, &["--overwrite", "t.dat"]).refused(&["t.dat is in use by another run"]);
    other.signal("INT");
    other.end().ends(INTERRUPTED);
    assay(&story, &[]).ends(DONE);
}

#[test]
fn what_cannot_be_a_target_is_refused_and_nothing_is_created() {
    let story = Story::new();
    run(&["mkfifo", story.path("pipe").to_str().unwrap()]);
    std::fs::create_dir(story.path("folder")).unwrap();
    std::fs::create_dir(story.path("folder/assay.dat")).unwrap();
    story.write("empty", "");
    std::os::unix::fs::symlink("nowhere/file", story.path("dangling")).unwrap();
    let before = story.files();
    let check = |targets: &[&str], words: &[&str]| {
        let args = [&["run", "vmware"], targets, &["--set", "run=100ms"]].concat();
        story.assay(&args).refused(words);
        assert_eq!(story.files(), before, "{targets:?}");
    };
    check(&["pipe"], &["pipe is a pipe", "block device"]);
    check(&["/dev/null"], &["/dev/null is a character device"]);
    check(&["missing/t.dat"], &["cannot create missing/t.dat", "does not exist", "mkdir -p missing"]);
    check(&["folder"], &["folder/assay.dat is"]);
    check(&["dangling"], &["dangling"]);
    check(&["empty", "--only", "100%Read"], &["empty is empty"]);
    check(&["t.dat", "--size", "4000TiB"], &["t.dat", "4000TiB does not fit", "use --size"]);
    check(&["/proc/t.dat", "--size", "1MiB"], &["cannot create /proc/t.dat"]);
    check(&["t.dat", "t.dat", "--size", "1MiB"], &["given twice"]);
    check(&["t.dat", "./t.dat", "--size", "1MiB"], &["t.dat", "./t.dat", "given twice"]);
    check(&["folder/../t.dat", "./t.dat", "--size", "1MiB"], &["given twice"]);
    check(&["iscsi://nas/x"], &["iscsi"]);
    check(&[""], &["target"]);
    check(&["null:lots"], &["null", "lots"]);
    check(&["t.dat", "--size", "8KiB"], &["size"]);
    check(&["t.dat", "--size", "0"], &["size"]);
}

/// Runs the program as somebody who is not root, where the folder has that mode. It is a copy, as the program itself
/// may lie where nobody else may go.
fn as_nobody(story: &Story, mode: u32, args: &[&str]) -> (Option<i32>, String) {
    use std::os::unix::process::CommandExt as _;
    let original = story.command(args);
    let copy = story.path("assay-for-all");
    if !copy.exists() {
        // By a program of its own: a process that another thread starts meanwhile would inherit the file while it is
        // open for writing, and until that is closed nobody may run it.
        assert!(Command::new("cp").arg(original.get_program()).arg(&copy).status().unwrap().success());
    }
    std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::set_permissions(story.path("."), std::fs::Permissions::from_mode(mode)).unwrap();
    let mut command = Command::new(copy);
    command.args(args).current_dir(story.path("")).stdin(Stdio::null());
    command.envs(original.get_envs().filter_map(|(key, value)| Some((key, value?))));
    let output = command.uid(65534).gid(65534).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn what_may_not_be_looked_at_is_named_with_the_reason() {
    if !is_root() {
        return;
    }
    let story = Story::new();
    story.write("secret", "x");
    std::fs::set_permissions(story.path("secret"), std::fs::Permissions::from_mode(0o600)).unwrap();
    for args in [&["check", "secret"][..], &["run", "vmware", "secret", "--size", "1MiB"]] {
        let (code, err) = as_nobody(&story, 0o777, args);
        assert_eq!(code, Some(2), "{err}");
        assert!(
            err.starts_with(
                "error: cannot open secret: Permission denied (os error 13); choose another place"
            ),
            "{err}"
        );
    }
    assert_eq!(story.read("secret"), b"x");
}

#[test]
fn an_error_for_want_of_rights_says_what_to_do() {
    if !is_root() {
        return;
    }
    let story = Story::new();
    story.assay(&["run", "vmware", "null:", "--set", "ops=100", "--store", "of-root.sqlite"]).ends(DONE);
    std::fs::create_dir(story.path("free")).unwrap();
    std::fs::set_permissions(story.path("free"), std::fs::Permissions::from_mode(0o777)).unwrap();
    let run = ["run", "vmware", "t.dat", "--quick", "--store"];
    for (args, words) in [
        (
            [&run[..], &["free/s.sqlite"]].concat(),
            ["cannot create t.dat: Permission denied", "choose another place"],
        ),
        // It was answered with "assay run creates it".
        (vec!["./t.dat"], ["cannot create ./t.dat: Permission denied", "choose another place"]),
        ([&run[..], &["new.sqlite"]].concat(), ["cannot create files in .", "--store PATH"]),
        (vec!["runs", "--store", "of-root.sqlite"], ["this user cannot write to the file", "--store PATH"]),
    ] {
        let (code, err) = as_nobody(&story, 0o755, &args);
        assert!(code == Some(2) && words.iter().all(|word| err.contains(word)), "{args:?}: {err}");
    }
}

#[test]
fn a_second_target_that_is_refused_leaves_the_first_untouched() {
    let story = Story::new();
    story.write("theirs.dat", foreign());
    let args = ["run", "vmware", "new.dat", "theirs.dat", "--size", "1MiB", "--set", "run=100ms"];
    story.assay(&args).refused(&["theirs.dat"]);
    assert_eq!(story.files(), ["theirs.dat"]);
    assert!(story.read("theirs.dat") == foreign());
}

#[test]
fn what_is_typed_wrong_is_refused_with_the_nearest_word() {
    let story = Story::new();
    let check = |args: &[&str], words: &[&str]| {
        story.assay(args).refused(words);
        assert_eq!(story.files(), Vec::<String>::new(), "{args:?}");
        assert!(!story.path("store.sqlite").exists(), "{args:?}");
    };
    check(
        &["run", "vmwrae", "t.dat"],
        &["vmwrae", "neither a plan file nor a suite", "did you mean `vmware`?"],
    );
    check(&["run", "plan.toml", "t.dat"], &["plan.toml", "neither a plan file nor a suite"]);
    check(&["run", "randread", "t.dat"], &["a pattern of fio", "'fio --rw=randread --bs=4k …'"]);
    check(&["run", "super", "t.dat"], &["did you mean `super-atto`?"]);
    check(&["run", "vmware", "t.dat", "--set", "outstnading=3"], &["did you mean `outstanding`?"]);
    check(&["run", "vmware", "t.dat", "--set", "run=soon"], &["--set run=soon", "`soon`"]);
    check(&["run", "vmware", "t.dat", "--set", "run"], &["KEY=VALUE"]);
    check(&["run", "vmware", "t.dat", "--set", "run=5parsecs"], &["`parsecs`", "min"]);
    check(&["run", "vmware", "t.dat", "--set", "outstanding=0"], &["from 1 to 4096"]);
    check(&["run", "vmware", "t.dat", "--set", "read=120"], &["120", "percent"]);
    check(&["run", "vmware", "t.dat", "--size", "4XB"], &["--size", "`XB`", "GiB"]);
    check(&["run", "vmware", "t.dat", "--only", "RealLive"], &["--only RealLive", "RealLife"]);
    check(&["run", "vmware"], &["TARGET"]);
    check(&["run", "vmware", "t.dat", "--io", "aio"], &["--io", "psync"]);
    check(&["suites", "show", "super-attoo"], &["did you mean `super-atto`?"]);
    check(&["rnu"], &["rnu", "run"]);
    check(&["check", "t.dat"], &["t.dat does not exist"]);
}

#[test]
fn a_file_that_is_no_plan_is_answered_with_what_was_meant() {
    let story = Story::new();
    story.write("job.fio", "[a]\nrw=read\nsize=1m\n");
    story.assay(&["run", "jbo.fio", "t.dat"]).refused(&["there is no file jbo.fio; did you mean `job.fio`?"]);
    story.write(
        "dd.txt",
        "1+0 records in\n1+0 records out\n1048576 bytes (1.0 MB, 1.0 MiB) copied, 0.01 s, 105 MB/s\n",
    );
    story.assay(&["run", "dd.txt", "t.dat"]).refused(&["dd.txt holds results", "assay import dd.txt"]);
    assert_eq!(story.files(), ["dd.txt", "job.fio"]);
}

#[test]
fn a_report_is_never_written_over_anything_but_a_report() {
    let story = Story::new();
    story.write("precious.txt", "keep me");
    let run = |output: &str| assay(&story, &["-o", output]);
    run("precious.txt").refused(&["precious.txt exists, and Assay did not write it"]);
    run("./t.dat").refused(&["./t.dat: it is a target or the store"]);
    assay(&story, &[]).ends(DONE);
    run("t.dat").refused(&["t.dat: it is a target or the store"]);
    run("/dev/null").refused(&["/dev/null: it is not a file"]);
    run("/dev/no-such-node").refused(&["/dev is for device nodes"]);
    assert_eq!(story.read("precious.txt"), b"keep me");
    run("r.html").ends(DONE);
    run("r.html").ends(DONE);
    story.assay(&["report", "last", "-o", "precious.txt"]).refused(&["Assay did not write it"]);
}

#[test]
fn the_store_is_no_target() {
    let story = Story::new();
    assay(&story, &[]).ends(DONE);
    let store = story
        .command(&[])
        .get_envs()
        .find(|(k, _)| *k == "ASSAY_STORE")
        .and_then(|(_, v)| v)
        .unwrap()
        .to_owned();
    let store = store.to_str().unwrap();
    story
        .assay(&["run", "vmware", store, "--overwrite", store, "--set", "run=100ms"])
        .refused(&["is the store of runs"]);
    story.assay(&["runs"]).ends(DONE).says(&["done"]);
}

#[test]
fn a_device_that_does_not_exist_is_not_made_a_file() {
    let story = Story::new();
    story.assay(&["run", "vmware", "null"]).refused(&["write null:, or ./null"]);
    if !is_root() {
        return;
    }
    story
        .assay(&["run", "vmware", "/dev/sdzz", "--size", "1MiB", "--set", "run=100ms"])
        .refused(&["/dev/sdzz: there is no such device"]);
    // A check said that a run would create a file of that name.
    story.assay(&["check", "/dev/sdzz"]).refused(&["/dev/sdzz: there is no such device"]);
    assert!(!std::path::Path::new("/dev/sdzz").exists());
    // In a container /dev lies in memory, and a file was created there.
    if need::programs(&["unshare"]) {
        let original = story.command(&["run", "vmware", "/dev/sdzz", "--size", "1MiB", "--cached"]);
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", "mount -t tmpfs none /dev && exec \"$0\" \"$@\""]);
        command.arg(original.get_program()).args(original.get_args());
        command.envs(original.get_envs().filter_map(|(key, value)| Some((key, value?))));
        command.current_dir(story.path(""));
        printed(command.output().unwrap()).refused(&["/dev/sdzz: there is no such device"]);
    }
}

#[test]
fn a_suite_s_default_size_does_not_enlarge_a_file() {
    let story = Story::new();
    assay(&story, &[]).ends(DONE);
    let again = story.assay(&["run", "vmware", "t.dat", "--set", "run=100ms", "--json"]).ends(DONE).json();
    assert_eq!(count(&again, "/targets/0/member/span_bytes"), 1 << 20);
    assert_eq!(story.read("t.dat").len(), 1 << 20);
}

/// What another program did to a file between two tests was noted, and overwritten by the second of them.
#[test]
fn a_test_does_not_write_to_a_file_that_another_program_changed_before() {
    const PLAN: &str = r#"
[[test]]
name = "first"
run = "4s"
access = [{ size = "4KiB", read = 50, random = 100 }]
[[test]]
name = "second"
run = "300ms"
access = [{ size = "4KiB", read = 50, random = 100 }]
"#;
    let story = Story::new();
    story.write("plan.toml", PLAN);
    let running = story.start(&["run", "plan.toml", "t.dat", "--size", "4MiB", "--remove"]);
    story.wait_for(|run| run["tests"][0]["series"].as_array().is_some_and(|series| !series.is_empty()));
    let file = std::fs::File::options().write(true).open(story.path("t.dat")).unwrap();
    file.set_len(5 << 20).unwrap();
    let says =
        ["(its size)", "the next step was not started", "Another program has changed t.dat", "kept t.dat"];
    running.end().ends(ERRORS).says(&says);
    let shown = story.assay(&["show", "last", "--json"]).json();
    assert_eq!(shown["status"], "failed");
    assert!(shown["tests"][0]["complete"] == true && count(&shown, "/tests/0/total/ops") > 0, "{shown:#}");
    assert_eq!(
        shown["tests"].as_array().unwrap().iter().filter(|test| count(test, "/total/ops") > 0).count(),
        1
    );
    assert_eq!(story.read("t.dat").len(), 5 << 20);
}

/// A sparse file, and one that is reserved and written here and there, were said to lie in as many pieces as they have
/// holes, of their size with the holes.
#[test]
fn holes_make_no_pieces_of_a_file() {
    use std::os::unix::fs::FileExt as _;

    let story = Story::new();
    story.write("whole.dat", foreign());
    for name in ["sparse.dat", "reserved.dat"] {
        story.write(name, "");
        let file = std::fs::File::options().write(true).open(story.path(name)).unwrap();
        let size = 128 * 16_384;
        match name {
            "reserved.dat" => assay_target::file::allocate(&file, size).unwrap(),
            _ => file.set_len(size).unwrap(),
        }
        for place in 0..128 {
            file.write_all_at(&[7; 4096], place * 16_384).unwrap();
        }
        file.sync_all().unwrap();
    }
    for name in ["whole.dat", "sparse.dat", "reserved.dat"] {
        let text = story.assay(&["check", name]).ends(DONE).out;
        assert!(!text.contains("on average"), "{name}: {text}");
    }
}
