//! What `-o` of any verb may write over: files that Assay wrote, of the same kind, and nothing else.

use std::os::unix::fs::symlink;

use crate::loop_device::LoopDevice;
use crate::story::{BAD_INPUT, DONE, Story, run};

/// Every verb that writes a file, with a name of the kind that it writes.
const VERBS: [(&[&str], &str); 10] = [
    (&["run", "vmware", "null:", "--set", "ops=10", "-o"], "html"),
    (&["run", "vmware", "null:", "--set", "ops=10", "-o"], "txt"),
    (&["report", "last", "-o"], "csv"),
    (&["report", "last", "-o"], "json"),
    (&["compare", "one", "one", "-o"], "md"),
    (&["predict", "ssd-sata", "-o"], "csv"),
    (&["export", "last", "-o"], "assay"),
    (&["validate", "-o"], "md"),
    (&["calibrate", "null:", "--array", "ssd-sata", "-o"], "toml"),
    (&["calibrate", "null:", "--array", "ssd-sata", "--replace", "-o"], "toml"),
];

fn with_a_run() -> Story {
    let story = Story::new();
    story.assay(&["run", "vmware", "null:", "--set", "ops=10", "--label", "one"]).ends(DONE);
    story
}

#[test]
fn no_verb_writes_over_anything_that_is_not_its_own() {
    let story = with_a_run();
    run(&["mkfifo", story.path("pipe").to_str().unwrap()]);
    std::fs::create_dir(story.path("folder")).unwrap();
    let store = story.path("store.sqlite");
    for (verb, end) in VERBS {
        let name = |of: &str| format!("{of}.{end}");
        story.write(&name("mine"), "of somebody else");
        for (link, to) in [
            (name("pipe"), story.path("pipe")),
            (name("folder"), story.path("folder")),
            (name("store"), store.clone()),
            (name("null"), "/dev/null".into()),
            (name("to-mine"), story.path(&name("mine"))),
            (name("dangling"), story.path("nowhere")),
        ] {
            let _ = std::fs::remove_file(story.path(&link));
            symlink(to, story.path(&link)).unwrap();
        }
        let hard = story.path(&name("hard"));
        let _ = std::fs::remove_file(&hard);
        std::fs::hard_link(&store, &hard).unwrap();
        let before = std::fs::read(&store).unwrap();
        for of in ["mine", "pipe", "folder", "store", "null", "to-mine", "dangling", "hard", "no/such"] {
            let output = name(of);
            let args = [verb, &[output.as_str()]].concat();
            let refused = story.assay(&args).ends(BAD_INPUT);
            assert!(refused.err.contains(&output), "{args:?}: {}", refused.err);
        }
        assert_eq!(story.read(&name("mine")), b"of somebody else", "{verb:?}");
        assert!(std::fs::read(&store).unwrap() == before, "{verb:?}");
        assert!(!story.path("nowhere").exists(), "{verb:?}");
        std::fs::remove_file(hard).unwrap();
    }
}

/// `calibrate -o /dev/loop1 --replace` wrote an array file over the file system there.
#[test]
fn a_device_is_never_written_to() {
    let Some(device) = LoopDevice::new() else { return };
    let head = || {
        use std::io::Read as _;
        let mut head = Vec::new();
        std::fs::File::open(&device.path).unwrap().take(1 << 20).read_to_end(&mut head).unwrap();
        head
    };
    let before = head();
    let args = ["calibrate", "null:", "--array", "ssd-sata", "--replace", "-o", &device.path];
    device.story.assay(&args).refused(&[&device.path, "it is not a file"]);
    device.story.assay(&["validate", "-o", &device.path]).refused(&["it is not a file"]);
    assert!(head() == before);
}

#[test]
fn calibrate_replaces_an_array_file_of_its_own_and_not_its_target() {
    let story = with_a_run();
    let calibrate = |more: &[&str]| {
        let short = ["--rounds", "1", "--run", "20ms", "--no-check", "--size", "2MiB"];
        story.assay(&[&["calibrate", "t.dat", "--array", "ssd-sata"], more, &short].concat())
    };
    calibrate(&["-o", "t.dat", "--replace"]).refused(&["t.dat: it is a target or the store"]);
    calibrate(&["-o", "-"]).refused(&["-o -", "needs a name"]);
    story.write("a.toml", "# Calibrated array. Goodness of fit:\n");
    let before = std::fs::metadata(story.path("a.toml")).unwrap();
    calibrate(&["-o", "a.toml"]).refused(&["a.toml exists", "--replace"]);
    // On a file in memory the fit may be impossible; the place is allowed all the same.
    let done = calibrate(&["-o", "a.toml", "--replace"]);
    assert_ne!(done.code, Some(BAD_INPUT), "{}", done.err);
    if done.code == Some(DONE) {
        use std::os::unix::fs::MetadataExt as _;
        let after = std::fs::metadata(story.path("a.toml")).unwrap();
        assert_ne!(before.ino(), after.ino(), "a whole new file has its name");
        assert!(after.len() > 1000);
    }
    assert!(!story.files().iter().any(|name| name.contains(".part")), "{:?}", story.files());
}

#[test]
fn man_pages_are_written_over_man_pages_only() {
    let story = Story::new();
    story.assay(&["man", "-o", "man"]).ends(DONE);
    story.assay(&["man", "-o", "man"]).ends(DONE).says(&["man pages in man"]);
    story.write("man/assay-run.1", "my own notes");
    std::fs::remove_file(story.path("man/assay.1")).unwrap();
    symlink("/dev/null", story.path("man/assay.1")).unwrap();
    let refused = story.assay(&["man", "-o", "man"]).ends(BAD_INPUT);
    assert!(
        ["man/assay-run.1", "man/assay.1"].iter().any(|name| refused.err.contains(name)),
        "{}",
        refused.err
    );
    assert_eq!(story.read("man/assay-run.1"), b"my own notes");
    assert!(
        std::fs::read_dir(story.path("man"))
            .unwrap()
            .all(|entry| { !entry.unwrap().file_name().to_string_lossy().contains(".part") })
    );
}

/// A file with the temporary name could not be created, and was removed all the same.
#[test]
fn what_has_the_name_of_a_temporary_file_is_left() {
    let story = with_a_run();
    let with = |before: &str, args: &[&str]| {
        let assay = story.command(args);
        let mut shell = std::process::Command::new("sh");
        // The program gets the shell's process id.
        shell.args(["-c", &format!("{before}; exec \"$@\"")]).arg("sh").arg(assay.get_program());
        shell.args(assay.get_args()).current_dir(story.path(""));
        shell.env("ASSAY_STORE", story.path("store.sqlite")).status().unwrap().code()
    };
    let content = || {
        let is_part = |name: &String| name.ends_with(".part");
        let in_man = std::fs::read_dir(story.path("man")).into_iter().flatten();
        let in_man = in_man.map(|e| format!("man/{}", e.unwrap().file_name().to_str().unwrap()));
        story.files().into_iter().chain(in_man).filter(is_part).collect::<Vec<_>>()
    };
    assert_eq!(with("echo mine >r.html.$$.part", &["report", "-o", "r.html"]), Some(DONE));
    assert_eq!(content().len(), 1, "{:?}", content());
    assert_eq!(story.read(&content()[0]), b"mine\n");
    let folder = "mkdir -p man/.assay-man.$$.part; echo mine >man/.assay-man.$$.part/notes";
    assert_eq!(with(folder, &["man", "-o", "man"]), Some(DONE));
    assert_eq!(content().len(), 2, "{:?}", content());
    assert_eq!(story.read(&format!("{}/notes", content()[1])), b"mine\n");
}

#[test]
fn a_link_to_a_report_stays_a_link_and_rights_stay_as_they_were() {
    use std::os::unix::fs::PermissionsExt as _;
    let story = with_a_run();
    story.assay(&["report", "-o", "r.html"]).ends(DONE);
    std::fs::set_permissions(story.path("r.html"), std::fs::Permissions::from_mode(0o600)).unwrap();
    symlink("r.html", story.path("newest.html")).unwrap();
    story.assay(&["report", "-o", "newest.html"]).ends(DONE);
    assert!(story.path("newest.html").is_symlink());
    let mode = std::fs::metadata(story.path("r.html")).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
}

/// A file into which somebody had put several runs was replaced by one of them: a mark anywhere in its head was enough,
/// and whatever could not be read as one document was not looked at any further.
#[test]
fn a_collection_of_runs_is_not_replaced_by_one_of_them() {
    let story = with_a_run();
    story.assay(&["run", "vmware", "null:", "--set", "ops=10", "--label", "two"]).ends(DONE);
    for run in ["one", "two"] {
        for end in ["json", "assay"] {
            let (verb, name) = (if end == "json" { "report" } else { "export" }, format!("{run}.{end}"));
            story.assay(&[verb, run, "-o", &name]).ends(DONE);
            story.assay(&[verb, run, "-o", &name]).ends(DONE);
        }
    }
    let text = |name: &str| String::from_utf8(story.read(name)).unwrap();
    let (one, two) = (text("one.json"), text("two.json"));
    for (verb, name, content) in [
        ("report", "list.json", format!("[{one}, {two}]")),
        ("report", "lines.json", format!("{one}\n{two}")),
        ("report", "notes.json", format!("{{\"mine\": [{one}, {two}]}}")),
        ("report", "cut.json", one[..one.len() / 2].to_owned()),
        ("export", "all.assay", text("one.assay") + &text("two.assay")),
        ("export", "other.assay", text("two.assay")),
        ("export", "notes.assay", text("one.assay") + "and my notes\n"),
    ] {
        story.write(name, &content);
        let refused = story.assay(&[verb, "one", "-o", name]).ends(BAD_INPUT);
        assert!(refused.err.contains(name), "{name}: {}", refused.err);
        assert!(story.read(name) == content.as_bytes(), "{name}");
    }
}

/// A few words near the beginning of a file were enough, and any document without a run was replaced by any other.
#[test]
fn a_file_that_only_looks_like_one_of_assay_is_not_replaced() {
    let story = with_a_run();
    let html = "<!DOCTYPE html>\n<title>Mine</title><p>In reports of Assay stands content=\"assay\".\n";
    for (args, name, content) in [
        (&["runs"][..], "jogging.csv", "Run,Started,Distance\nMonday,07:00,5 km\n"),
        (&["report"], "mine.csv", "Test,MiB/s,my notes\na,1,b\n"),
        (&["runs"], "jogging.md", "| Run | Started | Distance |\n|---|---|---|\n| Monday | 07:00 | 5 km |\n"),
        (&["predict", "ssd-sata"], "table.md", "# Mine\n| IOPS | MiB/s |\n|---|---|\n"),
        (&["runs"], "mine.bbcode", "[b]Mine[/b] [th]Started[/th]\n"),
        (&["report"], "mine.html", html),
        (&["compare", "one", "one"], "mine.json", "{\n  \"schema\": \"assay.mine/1\",\n  \"a\": 1\n}\n"),
        (&["compare", "one", "one"], "short.json", "{ \"schema\": \"assay.compare/1\" }\n"),
        (&["validate"], "mine.md", "My copy of\n# What the model predicts, and what was measured\n"),
    ] {
        story.write(name, content);
        story.assay(&[args, &["-o", name]].concat()).refused(&[name, "Assay did not write it"]);
        assert!(story.read(name) == content.as_bytes(), "{name}");
    }
}

#[test]
fn what_another_verb_wrote_is_not_replaced() {
    let story = with_a_run();
    let verbs = [
        (&["compare", "one", "one"][..], "a comparison"),
        (&["predict", "ssd-sata"], "a prediction"),
        (&["report", "one"], "the table of a run"),
        (&["size", "5000 IOPS, 70 % read, 8KiB"], "a sizing answer"),
    ];
    for end in ["csv", "md", "bbcode", "json"] {
        for (index, (verb, what)) in verbs.iter().enumerate() {
            let name = format!("{index}.{end}");
            let with_name = |verb: &[&str]| story.assay(&[verb, &["-o", &name]].concat());
            with_name(verb).ends(DONE);
            with_name(verb).ends(DONE);
            let before = story.read(&name);
            let (other, _) = verbs[(index + 1) % verbs.len()];
            let refused = with_name(other);
            assert_ne!(refused.code, Some(DONE), "{name}: {other:?}");
            assert!(end == "json" || refused.err.contains(&format!("holds {what}")), "{}", refused.err);
            assert!(story.read(&name) == before, "{name}");
        }
    }
}

#[test]
fn an_empty_file_of_another_user_is_not_replaced() {
    let story = with_a_run();
    if !assay_testkit::need::root() {
        return;
    }
    story.write("mine.html", "");
    story.assay(&["report", "-o", "mine.html"]).ends(DONE);
    let theirs = story.write("theirs.html", "");
    std::os::unix::fs::chown(&theirs, Some(65_534), None).unwrap();
    story.assay(&["report", "-o", "theirs.html"]).refused(&["theirs.html is an empty file of another user"]);
    assert!(story.read("theirs.html").is_empty());
}
