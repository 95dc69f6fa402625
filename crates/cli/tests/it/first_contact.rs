//! What somebody types who does not know Assay yet, and what is typed by mistake: the answer says what to type next.

use crate::story::{DONE, Story};

#[test]
fn assay_alone_shows_what_is_here_and_what_to_type() {
    let story = Story::new();
    story.assay(&[]).ends(DONE).says(&["assay run vmware ./t.dat --quick", "assay -h"]);
    assert_eq!(story.files(), Vec::<String>::new(), "a look leaves nothing behind");
    story.assay(&["run", "vmware", "null:", "--set", "ops=100"]).ends(DONE);
    story.assay(&[]).ends(DONE).says(&["Stored: 1 run; the last is", "VMware forum storage test on null:"]);
}

#[test]
fn a_target_alone_is_looked_at_and_answered_with_what_to_type_next() {
    let story = Story::new();
    story.assay(&["./t.dat"]).ends(DONE).says(&["./t.dat does not exist; assay run creates it"]);
    story.assay(&["./t.dat"]).ends(DONE).says(&["Next:", "assay run vmware ./t.dat --quick"]);
    assert_eq!(story.files(), Vec::<String>::new());
    story.write("t.dat", vec![1; 1 << 20]);
    story.assay(&["t.dat"]).ends(DONE).says(&["1 MiB", "t.dat --quick --set read=100", "read only"]);
    story.assay(&["."]).ends(DONE).says(&["directory", "assay run vmware . --quick"]);
    story.assay(&["sim:ix4-200d"]).ends(DONE).says(&["simulates ix4-200d", "assay run vmware sim:ix4-200d"]);
    story.assay(&["nowhere/t.dat"]).refused(&["the directory nowhere does not exist", "mkdir -p nowhere"]);
    story.assay(&["//nas/x/t.dat"]).refused(&["/mnt/share/t.dat after mount -t cifs //nas/x /mnt/share"]);
    story.assay(&["sdq"]).refused(&["error: target `sdq` looks like the name of a block device"]);
    story.assay(&["iscsi://127.0.0.1:1"]).refused(&["127.0.0.1:1"]);
    // A mistyped device was answered with "assay run creates it", which it does not.
    story.assay(&["/dev/sdzz"]).refused(&["/dev/sdzz: there is no such device", "lsblk"]);
}

/// Each was answered with "assay run creates it", and the run then failed; without a home nothing was said at all.
#[test]
fn a_look_says_what_a_run_would_fail_at_and_needs_no_home() {
    let story = Story::new();
    std::os::unix::fs::symlink("nowhere.dat", story.path("gone.dat")).unwrap();
    let words = ["gone.dat is a symbolic link to nowhere.dat, which does not exist"];
    story.assay(&["./gone.dat"]).refused(&words);
    story.assay(&["run", "vmware", "./gone.dat", "--size", "1MiB"]).refused(&words);
    let mut homeless = story.command(&[]);
    homeless.env_remove("HOME").env_remove("XDG_DATA_HOME").env_remove("ASSAY_STORE");
    crate::story::printed(homeless.output().unwrap()).ends(DONE).says(&["assay run vmware ./t.dat --quick"]);
}

#[test]
fn mistakes_are_answered_with_the_command_that_was_meant() {
    let story = Story::new();
    story
        .assay(&["run", "vmwaer2", "vmware"])
        .refused(&["the plan comes before its targets: assay run vmware vmwaer2"]);
    // It was answered with `assay run t.dat ./t.dat`.
    story.assay(&["run", "t.dat"]).refused(&["if t.dat is the target: assay run vmware t.dat"]);
    story.assay(&["run", "crystal", "t.dat"]).refused(&["did you mean `crystaldiskmark`?"]);
    story.assay(&["run", "cdm", "t.dat"]).refused(&["did you mean `crystaldiskmark`?"]);
    story.assay(&["predict", "vmware", "nas-4bay"]).ends(DONE).says(&["expected on nas-4bay"]);
    story.assay(&["run", "vmware", "t.dat", "--bs", "4k"]).refused(&["no option --bs", "--set size=4KiB"]);
    story.assay(&["run", "vmware", "t.dat", "--set", "qd=4"]).refused(&["`qd` is `outstanding` here"]);
    story.assay(&["run", "./t.dat"]).refused(&["which plan? assay run vmware ./t.dat --quick"]);
    story
        .assay(&["run"])
        .refused(&["which plan, on which target? For example: assay run vmware ./t.dat --quick"]);
    story.assay(&["run", "vmware"]).refused(&["no TARGET is given; for example: assay run vmware ./t.dat"]);
    story.assay(&["vmware", "./t.dat"]).refused(&["assay run vmware TARGET"]);
    story.assay(&["./t.dat", "vmware"]).refused(&["assay run vmware ./t.dat"]);
    let run = |more: &[&str]| story.assay(&[&["run", "vmware", "t.dat"], more].concat());
    run(&["--size", "-1GiB"]).refused(&["`-1GiB` is negative"]);
    // It was taken for four bytes, and refused as too small for an I/O.
    run(&["--size", "4"]).refused(&["`4` has no unit", "4GiB"]);
    run(&["--set", "run=1s", "--set", "run=2s"]).refused(&["`run` is set twice"]);
    run(&["-o", "result.pdf"]).refused(&["result.pdf", ".html, .csv, .md, .bbcode, .json or .txt"]);
    story.assay(&["run", "vmware", "smb://nas/x"]).refused(&["mount -t cifs //nas/x"]);
    story.assay(&["run", "vmware", "//nas/x"]).refused(&["mount -t cifs //nas/x"]);
    story
        .assay(&["runs", "--since", "whenever"])
        .refused(&["`whenever` is not a point in time", "s, min, h or d"]);
    // It was taken for three seconds, which lists nothing.
    story
        .assay(&["runs", "--since", "3"])
        .refused(&["it has no unit; write 3d for 3 days ago, 3h for hours"]);
    assert_eq!(story.files(), Vec::<String>::new(), "nothing was touched");
}

#[test]
fn a_name_that_no_run_has_is_answered_with_the_runs_that_there_are() {
    let story = Story::new();
    let run = ["run", "vmware", "null:", "--set", "ops=100", "--only", "Random", "--label", "monday"];
    story.assay(&run).ends(DONE);
    let says = "(monday): VMware forum storage test on null:, 20";
    story.assay(&["show", "tuesday"]).refused(&["no run is called `tuesday`", says]);
    story.assay(&run).ends(DONE);
    story.assay(&["report", "monday", "-o", "-"]).ends(DONE);
    story.assay(&["rm", "monday"]).refused(&["`monday` matches several runs", says]);
}

#[test]
fn lists_and_stored_runs_are_written_in_the_format_of_the_name() {
    let story = Story::new();
    story.assay(&["run", "vmware", "null:", "--set", "ops=100", "--only", "Random"]).ends(DONE);
    // Twice each: Assay's own files are replaced.
    for _ in 0..2 {
        story.assay(&["show", "-o", "run.csv"]).ends(DONE).says(&["report written to run.csv", "Random-8k"]);
        story.assay(&["runs", "-o", "list.md"]).ends(DONE).says(&["list written to list.md", "null:"]);
    }
    let read = |name: &str| std::fs::read_to_string(story.path(name)).unwrap();
    assert!(read("run.csv").starts_with("Test,MiB/s,"), "{}", read("run.csv"));
    assert!(read("list.md").starts_with("| Run | Started |"), "{}", read("list.md"));
    story.assay(&["runs", "-o", "list.html"]).refused(&["a list has no HTML page"]);
    story.assay(&["show", "-o", "run.pdf"]).refused(&["run.pdf", ".html, .csv, .md, .bbcode, .json or .txt"]);
    story
        .assay(&["show", "published:ix4-200d", "-o", "x.csv"])
        .refused(&["assay compare published:ix4-200d RUN -o"]);
}

#[test]
fn a_rate_and_a_sweep_need_no_plan_file() {
    let story = Story::new();
    let args =
        ["run", "vmware", "null:", "--only", "Random", "--rate", "2000/s", "--set", "run=1s", "--json"];
    let document = story.assay(&args).ends(DONE).json();
    assert_eq!(document["tests"][0]["load"], "open");
    let args = [
        "run", "vmware", "null:", "--only", "Random", "--set", "size=4KiB,64KiB", "--set", "ops=1000",
        "--json",
    ];
    let document = story.assay(&args).ends(DONE).json();
    let steps: Vec<&str> =
        crate::story::tests(&document).iter().map(|t| t["step"].as_str().unwrap()).collect();
    assert_eq!(steps, ["size=4KiB", "size=64KiB"]);
}

#[test]
fn the_program_describes_itself_to_shells_and_man() {
    let story = Story::new();
    for (shell, word) in [("bash", "_assay"), ("zsh", "#compdef assay"), ("fish", "--command assay")] {
        story.assay(&["completions", shell]).ends(DONE).says(&[word]);
    }
    story.assay(&["man", "-o", "man"]).ends(DONE);
    let page = String::from_utf8(story.read("man/assay-run.1")).unwrap();
    assert!(page.contains(".TH") && page.contains("overwrite"), "{page}");
    story.assay(&["version", "--verbose"]).ends(DONE).says(&[
        env!("CARGO_PKG_VERSION"),
        "commit: ",
        "stores: format ",
    ]);
}

/// Bash breaks words at colons and equal signs: no address and no `--array=NAME` was completed.
#[test]
fn bash_completes_addresses_and_options_with_a_value() {
    let story = Story::new();
    let script = story.assay(&["completions", "bash"]).ends(DONE).out;
    story.write("assay.bash", script);
    let offered = |words: &[&str], cursor: &str| -> String {
        let line = words.concat();
        let pieces: Vec<String> = words.iter().map(|word| format!("'{}'", word.trim())).collect();
        let text = format!(
            "assay() {{ \"$ASSAY\" \"$@\"; }}; . ./assay.bash; COMP_LINE='{line}'; COMP_WORDS=({}); \
             COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _clap_complete_assay assay '{cursor}' x 2>/dev/null; \
             echo \"${{COMPREPLY[@]}}\"",
            pieces.join(" ")
        );
        let mut bash = std::process::Command::new("bash");
        bash.args(["--norc", "-c", &text])
            .current_dir(story.path("."))
            .env("ASSAY", env!("CARGO_BIN_EXE_assay"));
        String::from_utf8(bash.output().unwrap().stdout).unwrap().trim().to_owned()
    };
    assert_eq!(offered(&["assay ", "run ", "vmware ", "sim", ":", "ix4"], "ix4"), "ix4-200d");
    assert_eq!(offered(&["assay ", "run ", "vmware ", "t.dat ", "--array", "=", "nas"], "nas"), "nas-4bay");
    assert_eq!(offered(&["assay ", "run ", "vmware-m"], "vmware-m"), "vmware-modern");
    assert!(offered(&["assay ", "run ", "vmware ", "sim", ":"], "").contains(" nas-4bay"));
    let test = |begun| offered(&["assay ", "run ", "latency-qd1 ", "t.dat ", "--only ", begun], begun);
    assert_eq!(test("64"), r"64\ KiB\ random\ read 64\ KiB\ random\ write");
}

/// Which of the words it was, nothing said.
#[test]
fn a_word_that_is_not_utf_8_is_named() {
    use std::os::unix::ffi::OsStrExt as _;
    let story = Story::new();
    let mut command = story.command(&["run", "vmware", "good.dat"]);
    command.arg(std::ffi::OsStr::from_bytes(b"bad\xff.dat"));
    let output = crate::story::printed(command.output().unwrap());
    output.refused(&[r#"error: "bad\xFF.dat" is not UTF-8"#, "ln -s"]);
}

/// `assay run t.dat vmware quick` filled a file called `quick`, and a `*.dat` that matches nothing one of that name.
#[test]
fn a_word_that_is_no_target_does_not_become_a_file() {
    let story = Story::new();
    story.write("t.dat", "");
    for (words, says) in [
        (&["vmware", "t.dat", "quick"][..], "the option is --quick; a file of that name is ./quick"),
        (&["crystaldiskmark", "t.dat", "5", "1GiB"], "to run it so many times: --repeat 5"),
        // The example of the program's first page, typed before the share was mounted, filled the disk below.
        (
            &["super-atto", "/mnt/no-such-nas"],
            "/mnt/no-such-nas does not exist: is what belongs there mounted?",
        ),
        (&["crystaldiskmark", "t.dat", "1GiB"], "use --size 1GiB for the size of the file"),
        (&["vmware", "./*.dat"], "no file matches ./*.dat"),
        (&["vmware", "new.dat "], "has a blank at its end; without it: new.dat"),
        (&["dd if=/dev/zero of=new.dat bs=1M"], "assay run dd-stream TARGET"),
        (&["vmware", "null:", "--rate", "100MB/s"], "a rate counts I/Os, not bytes"),
    ] {
        story.assay(&[&["run"], words].concat()).refused(&[says]);
    }
    let predict = ["predict", "vmware", "--array", "nas-4bay"];
    story.assay(&predict).refused(&["the array comes first: assay predict nas-4bay vmware"]);
    assert!(["quick", "*.dat", "new.dat ", "5"].iter().all(|name| !story.path(name).exists()));
}

/// A server that takes a connection and says nothing is waited for, and that is said: nobody should wonder.
#[test]
fn a_target_that_does_not_answer_is_waited_for_aloud() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let target = format!("iscsi://{}/iqn.2026-11.example:silent/1", silent.local_addr().unwrap());
    let story = Story::new();
    let (check, run) =
        (story.start(&["check", &target]), story.start(&["run", "vmware", &target, "--quick"]));
    for waited in [check.end(), run.end()] {
        let note = format!("note: {target} is still being examined after 5 s");
        waited.refused(&[&note, "took longer than 15000 ms"]);
    }
}
