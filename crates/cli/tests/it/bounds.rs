//! Words and files that are none of what they are given as: refused at once, with what is there and what to do.

use crate::story::{DONE, Story};

#[test]
fn a_word_like_an_address_never_becomes_a_file() {
    for (word, like) in [
        ("NULL:", "null:"),
        ("nul:", "null:"),
        ("SIM:ix4-200d", "sim:ix4-200d"),
        ("file:x", "./x"),
        ("127.1", "iscsi://127.1/TARGET/LUN"),
        ("isci://10.0.0.5/iqn.x/1", "iscsi://10.0.0.5/iqn.x/1"),
        ("nas:/vol1", "nfs://nas/vol1"),
        ("[::1]", "iscsi://[::1]/TARGET/LUN"),
        ("nas.local:3260", "iscsi://nas.local:3260/TARGET/LUN"),
        (r"C:\x", "Windows"),
        (r"\\nas\share", "//nas/share"),
        ("sdb", "/dev/sdb"),
    ] {
        let story = Story::new();
        for verb in [&["run", "vmware", word, "--size", "1MiB", "--quick"][..], &["check", word], &[word]] {
            story.assay(verb).refused(&[word, like]);
        }
        assert_eq!(story.files(), Vec::<String>::new(), "{word}");
    }
}

/// Nothing that a word names may be read without end, or block: each verb ends at once and says what it found.
#[test]
fn an_input_that_is_no_regular_file_is_refused() {
    let story = Story::new();
    let made = std::process::Command::new("mkfifo").arg(story.path("fifo")).status().unwrap();
    assert!(made.success());
    for (input, is) in
        [("/dev/zero", "is a device"), ("./fifo", "is a pipe (FIFO)"), ("..", "is a directory")]
    {
        for call in [
            &["run", input, "null:"][..],
            &["predict", "ix4-200d", input],
            &["predict", input],
            &["run", "vmware", "null:", "--array", input],
            &["target", "set", "./t.dat", "--array", input],
            &["import", input],
        ] {
            // Of a folder, import takes what it knows.
            if call == ["import", ".."] {
                continue;
            }
            story.assay(call).refused(&[input, is, "regular file"]);
        }
        let lun = format!("iscsi://bob@127.0.0.1:1/iqn.x/1?chap_file={input}");
        story.assay(&["check", &lun]).refused(&[input, is]);
    }
    std::os::unix::fs::symlink("/dev/zero", story.path("zero.json")).unwrap();
    story.assay(&["compare", "zero.json", "zero.json"]).refused(&["zero.json", "is a device"]);
}

/// A plan of tests with these lines, and `count` times the element.
fn plan_of(before: &str, element: impl Fn(usize) -> String, count: usize, after: &str) -> String {
    let elements: String = (0..count).map(element).collect();
    format!("{before}{elements}{after}")
}

#[test]
fn a_plan_beyond_a_limit_is_refused_with_what_it_has_and_what_it_may_have() {
    let test = |i: usize| format!("[[test]]\nname = \"t{i}\"\naccess = [{{ size = \"4KiB\" }}]\n");
    let job = |i: usize| format!("[[test.job]]\nname = \"j{i}\"\naccess = [{{ size = \"4KiB\" }}]\n");
    let line = |_: usize| "{ weight = 1, size = \"4KiB\" },\n".to_owned();
    let head = "[[test]]\nname = \"t\"\n";
    let values: Vec<String> = (1..=100).map(|i| i.to_string()).collect();
    let sweep = |test: &str| {
        format!(
            "[[test]]\nname = \"{test}\"\nsweep = {{ outstanding = [{0}], workers = [{0}] }}\n",
            values.join(", ")
        )
    };
    for (plan, words) in [
        (plan_of("", test, 200_000, ""), &["plan.toml has", "MiB; a plan may have at most 4 MiB"][..]),
        (plan_of("", test, 20_000, ""), &["plan.toml:1", "has 20000 tests; at most 5000 are allowed"]),
        (plan_of(head, job, 1_000, ""), &["plan.toml:3", "has 1000 jobs; at most 256 are allowed"]),
        (
            plan_of(&format!("{head}access = [\n"), line, 16_000, "]\n"),
            &["plan.toml:3", "access", "has 16000 access lines; at most 1000 are allowed"],
        ),
        (
            format!("{}access = [{{ size = 4096 }}]\n", sweep("t")),
            &["plan.toml:1", "10000 steps", "at most 5000"],
        ),
        (
            // Each line is said once, and used in every step.
            format!(
                "[defaults]\naccess = [\n{}]\n{}",
                plan_of("", line, 900, ""),
                (0..200).map(|i| format!("[[test]]\nname = \"t{i}\"\n")).collect::<String>()
            ),
            &["test \"t111\"", "100800 access lines, summed over jobs and steps; at most 100000"],
        ),
        (
            plan_of(head, |i| format!("{}workers = 100\n", job(i)), 11, ""),
            &["test \"t\"", "has 1100 workers in all its jobs; at most 1024"],
        ),
        (
            format!("[[test]]\nname = \"{}\"\naccess = [{{ size = 4096 }}]\n", "n".repeat(300)),
            &["the name has 300 characters; at most 200"],
        ),
    ] {
        let story = Story::new();
        story.write("plan.toml", &plan);
        let began = std::time::Instant::now();
        story.assay(&["run", "plan.toml", "null:"]).refused(words);
        assert!(began.elapsed().as_secs() < 20, "{words:?} took {:?}", began.elapsed());
        assert_eq!(story.files(), ["plan.toml"], "nothing is created");
    }
}

#[test]
fn as_many_workers_as_a_step_may_have_start_soon() {
    let story = Story::new();
    let job =
        |i: usize| format!("[[test.job]]\nname = \"j{i}\"\naccess = [{{ size = 4096 }}]\nworkers = 4\n");
    story.write("plan.toml", plan_of("[[test]]\nname = \"t\"\nrun = \"1ms\"\n", job, 256, ""));
    let began = std::time::Instant::now();
    story.assay(&["run", "plan.toml", "null:"]).ends(DONE);
    // Before, each waited by looking 10,000 times a second, and the last one took minutes to arrive.
    assert!(began.elapsed().as_secs() < 30, "{:?}", began.elapsed());
}

#[test]
fn a_load_that_ends_behind_the_data_of_an_array_is_refused() {
    let story = Story::new();
    let call = ["predict", "hdd-7200", "vmware", "--size", "20TB"];
    story.assay(&call).refused(&["ends beyond the array's data", "hdd-7200 holds 6000.0 GB", "--size"]);
}
