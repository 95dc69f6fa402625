//! Every exit code has one meaning: 0 done, 1 begun and something failed, 2 refused, 130 stopped.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use assay_testkit::need;

use crate::loop_device::LoopDevice;
use crate::story::{BAD_INPUT, DONE, ERRORS, INTERRUPTED, ProgramOutput, Story, printed, rules, run};

#[test]
fn the_help_defines_every_exit_code() {
    let help = Story::new().assay(&["--help"]).ends(DONE);
    help.says(&[
        "0 done",
        "1 begun, and something failed",
        "2 refused: nothing was started",
        "130 stopped by a signal",
    ]);
}

/// Makes a folder and the test file in it immutable, so that the file can neither be written nor marked, until
/// `meanwhile`
/// is over.
fn immutable<T>(folder: &str, meanwhile: impl FnOnce() -> T) -> T {
    run(&["chattr", "-R", "+i", folder]);
    let done = meanwhile();
    run(&["chattr", "-R", "-i", folder]);
    done
}

/// A file that was created and could not be removed again is no refusal that touched nothing.
#[test]
fn what_opening_left_behind_is_no_refusal() {
    let Some(mut device) = LoopDevice::new() else { return };
    let folder = device.mount_ext4();
    let (grows, fixed) = (format!("{folder}/grows"), format!("{folder}/fixed"));
    std::fs::create_dir(&grows).unwrap();
    std::fs::create_dir(&fixed).unwrap();
    let (one, other) = (format!("{grows}/one.dat"), format!("{fixed}/other.dat"));
    let args = ["run", "vmware", &one, &other, "--size", "1MiB", "--set", "run=100ms"];
    // A run that was refused removed a file of an earlier run, because that had never been filled.
    let kept = format!("{grows}/kept.dat");
    let again = ["run", "vmware", &kept, &other, "--size", "1MiB", "--set", "run=100ms"];
    device.story.assay(&[&again[..3], &again[4..], &["--no-fill"]].concat()).ends(DONE);
    let content = std::fs::read(&kept).unwrap();
    run(&["chattr", "+i", &fixed]);
    device.story.assay(&again).ends(BAD_INPUT).says(&["other.dat"]);
    assert!(std::fs::read(&kept).is_ok_and(|now| now == content), "a refusal leaves what was there");
    device.story.assay(&args).ends(BAD_INPUT).says(&["other.dat"]);
    assert!(!std::path::Path::new(&one).exists(), "it was taken back");
    // Files can be created there, and not removed.
    run(&["chattr", "+a", &grows]);
    let ended = device.story.assay(&args);
    run(&["chattr", "-a", &grows]);
    run(&["chattr", "-i", &fixed]);
    ended.ends(ERRORS).says(&["could not be undone", "one.dat was created"]);
    assert!(std::path::Path::new(&one).exists());
}

/// A limit on the size of files (`ulimit -f`) ended the program by a signal, without a word, and left the file.
#[test]
fn a_limit_on_the_size_of_files_is_an_error_and_leaves_nothing() {
    let story = Story::new();
    let args = ["run", "vmware", "t.dat", "--size", "8MiB", "--set", "run=100ms", "--cached"];
    limited(&story, "--fsize=4194304", &args).ends(ERRORS).says(&["t.dat", "File too large", "ulimit -f"]);
    assert!(!std::path::Path::new(&story.path("t.dat")).exists());
}

/// A limit on the address space (`ulimit -v`) aborted the program in the middle of a run.
#[test]
fn a_limit_on_the_address_space_is_an_error_before_anything_is_done() {
    let story = Story::new();
    let args = ["run", "vmware", "t.dat", "--size", "8MiB", "--cached"];
    let refused = limited(&story, "--as=300000000", &args).ends(BAD_INPUT);
    refused.says(&["292968 KiB", "ulimit -v", "raise the limit"]);
    assert!(!std::path::Path::new(&story.path("t.dat")).exists());
}

/// Each second of a sample kept a distribution of its own until the sample was through: 3.3 GB for two days.
#[test]
fn samples_that_are_a_day_long_take_little_memory() {
    let story = Story::new();
    story.write("days.txt", include_str!("../../../fuzz/seeds/iostat/two-days"));
    limited(&story, "--as=1500000000", &["import", "days.txt"]).ends(DONE).says(&["imported run"]);
}

/// Runs the program under a limit of prlimit.
fn limited(story: &Story, limit: &str, args: &[&str]) -> ProgramOutput {
    let original = story.command(args);
    let mut command = std::process::Command::new("prlimit");
    command.arg(limit).arg(original.get_program()).args(original.get_args());
    command.envs(original.get_envs().filter_map(|(key, value)| Some((key, value?))));
    printed(command.current_dir(story.path("")).stdin(Stdio::null()).output().unwrap())
}

/// A limit on processes (`ulimit -u`, `pids.max`) was a panic as the workers started.
#[test]
fn a_limit_on_threads_is_an_error() {
    if !need::root() || !need::programs(&["setpriv"]) {
        return;
    }
    let story = Story::new();
    std::fs::set_permissions(story.path(""), std::fs::Permissions::from_mode(0o777)).unwrap();
    let original = story.command(&["run", "vmware", "null:", "--set", "workers=40", "--set", "run=100ms"]);
    let mut command = std::process::Command::new("prlimit");
    command.args(["--nproc=16", "setpriv", "--reuid", "54399", "--regid", "54399", "--clear-groups"]);
    command.arg(original.get_program()).args(original.get_args());
    command.envs(original.get_envs().filter_map(|(key, value)| Some((key, value?))));
    command.current_dir(story.path("")).stdin(Stdio::null());
    printed(command.output().unwrap()).ends(ERRORS).says(&["cannot start a thread", "ulimit -u", "pids.max"]);
}

/// A fill that failed after 33 writes exited with the code that says that nothing was touched.
#[test]
fn a_fill_that_fails_has_begun() {
    let Some(mut device) = LoopDevice::new() else { return };
    let folder = device.mount_ext4();
    let file = format!("{folder}/t.dat");
    // Durable writes fill slowly enough to get in between; later than that, the next comparison of the file or its
    // closing fails, which is the same.
    let args = ["run", "vmware", &file, "--size", "16MiB", "--set", "run=1s", "--sync", "--io", "psync"];
    let mut running = device.story.start(&args);
    running.hear("filling");
    let ended = immutable(&folder, || running.end()).ends(ERRORS).says(&["t.dat"]);
    let words = ["Operation not permitted", "changed after Assay inspected it (its change time)"];
    assert!(words.iter().any(|words| ended.err.contains(words)), "{}", ended.err);
}

#[test]
fn a_report_that_cannot_be_written_after_the_run_costs_no_result() {
    let story = Story::new();
    std::fs::create_dir(story.path("out")).unwrap();
    story.write("plan.toml", "[[test]]\nname = \"t\"\nrun = \"10min\"\naccess = [{ size = \"4KiB\" }]\n");
    let mut running = story.start(&["run", "plan.toml", "null:", "-o", "out/r.html"]);
    story.wait_for(|run| run["tests"][0].is_object());
    std::fs::remove_dir(story.path("out")).unwrap();
    running.signal("INT");
    let ended = running.end().ends(ERRORS).says(&["cannot write to out/r.html", "stored as run"]);
    assert!(ended.out.contains("MiB/s"), "the result is printed: {}", ended.out);
}

#[test]
fn a_failed_close_after_a_run_is_an_error() {
    let Some(mut device) = LoopDevice::new() else { return };
    let folder = device.mount_ext4();
    let story = &device.story;
    let plan = "[[test]]\nname = \"t\"\nrun = \"10min\"\naccess = [{ size = \"4KiB\", read = 100 }]\n";
    story.write("plan.toml", plan);
    let mut running = story.start(&["run", "plan.toml", &format!("{folder}/t.dat"), "--size", "1MiB"]);
    story.wait_for(|run| run["tests"][0]["series"].as_array().is_some_and(|series| !series.is_empty()));
    // As after an error of its disk: read-only from now on, with the file as it was.
    run(&["mount", "-o", "remount,errors=remount-ro", &folder]);
    let device = std::path::Path::new(&device.path).file_name().unwrap().to_str().unwrap().to_owned();
    std::fs::write(format!("/sys/fs/ext4/{device}/trigger_fs_error"), "by a test").unwrap();
    running.signal("INT");
    let ended = running.end();
    let words = ["error: the run is over, but the next one refuses the file", "stored as run"];
    let ended = ended.ends(ERRORS).says(&words);
    assert!(ended.out.contains("MiB/s"), "the result is printed: {}", ended.out);
}

#[test]
fn a_closed_terminal_stops_a_run_and_the_record_says_so() {
    let story = Story::new();
    story.write("plan.toml", "[[test]]\nname = \"t\"\nrun = \"10min\"\naccess = [{ size = \"4KiB\" }]\n");
    // The tests themselves may run under nohup.
    let original = story.command(&["run", "plan.toml", "null:"]);
    let mut command = std::process::Command::new("env");
    command.arg("--default-signal=HUP").arg(original.get_program()).args(original.get_args());
    command.envs(original.get_envs().filter_map(|(key, value)| Some((key, value?))));
    command.current_dir(story.path("")).stdin(Stdio::null());
    let mut running = crate::story::Running::of(command);
    story.wait_for(|run| run["tests"][0]["series"].as_array().is_some_and(|series| !series.is_empty()));
    // Nobody reads any more.
    drop(running.child().stdout.take());
    drop(running.child().stderr.take());
    running.signal("HUP");
    running.signal("HUP");
    assert_eq!(running.end().code, Some(INTERRUPTED));
    let shown = story.assay(&["show", "--json"]).ends(DONE).json();
    assert_eq!(shown["status"], "interrupted");
    assert!(rules(&shown).contains(&"terminal-closed"), "{:#}", shown["findings"]);
}

#[test]
fn under_nohup_a_run_outlives_its_terminal() {
    let story = Story::new();
    story.write("plan.toml", "[[test]]\nname = \"t\"\nrun = \"2s\"\naccess = [{ size = \"4KiB\" }]\n");
    let original = story.command(&["run", "plan.toml", "null:"]);
    let mut command = std::process::Command::new("nohup");
    command.arg(original.get_program()).args(original.get_args());
    command.envs(original.get_envs().filter_map(|(key, value)| Some((key, value?))));
    command.current_dir(story.path("")).stdin(Stdio::null());
    let mut running = crate::story::Running::of(command);
    story.wait_for(|run| run["tests"][0].is_object());
    running.signal("HUP");
    running.end().ends(DONE);
}

#[test]
fn output_that_cannot_be_printed_is_an_error_and_a_closed_pipe_is_none() {
    let story = Story::new();
    story.assay(&["run", "vmware", "null:", "--set", "ops=10"]).ends(DONE);
    let into = |file: &str| {
        let mut command = story.command(&["show"]);
        command.stdout(std::fs::File::options().write(true).open(file).unwrap());
        printed(command.output().unwrap())
    };
    into("/dev/full").ends(ERRORS).says(&["cannot print the result"]);
    let mut command = story.command(&["show"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(DONE));
    // A run goes on without its reader, is kept, and ends as it would have.
    let mut command = story.command(&["run", "vmware", "null:", "--set", "ops=20", "--fail-if", "iops > 1"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let kept = child.wait_with_output().unwrap();
    assert_eq!(story.assay(&["show", "--json"]).ends(DONE).json()["status"], "done");
    assert_ne!(kept.status.code(), Some(DONE), "the limit is not forgotten");
}

#[test]
fn what_is_refused_touched_nothing() {
    let story = Story::new();
    for args in [
        &["run", "vmware", "nowhere/t.dat"][..],
        &["run", "vmware", "t.dat", "-o", "nowhere/r.html"],
        &["run", "vmware", "t.dat", "--size", "4000TiB"],
        // A file of 4 GiB was created under the name `bs=8k`.
        &["run", "vmware", "t.dat", "bs=8k"],
        &["show", "nonesuch"],
    ] {
        assert_eq!(story.assay(args).code, Some(BAD_INPUT), "{args:?}");
        assert_eq!(story.files(), Vec::<String>::new(), "{args:?}");
    }
}
