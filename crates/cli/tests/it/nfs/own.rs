//! Files of Assay's own that are not as a run left them: on an export that became read-only, after a run that was
//! killed.

use std::fs::{File, rename};
use std::time::{Duration, SystemTime};

use super::{READ, VERIFY, WRITE, at, ganesha};
use crate::story::{BAD_INPUT, DONE, Story, count, rules};

#[test]
fn a_file_of_our_own_on_an_export_that_became_read_only_is_read() {
    let Some(server) = ganesha::start() else { return };
    let story = Story::new();
    story.write("read.toml", READ);
    story.write("write.toml", WRITE);
    story.write("mixed.toml", VERIFY);
    let checks = VERIFY.replace("read = 50", "read = 100").replace("run = \"500ms\"", "ops = 300");
    story.write("check.toml", checks);
    for (plan, name) in [("write.toml", "plain"), ("mixed.toml", "stamped")] {
        let made = ["run", plan, &at(&server, &format!("/rw/{name}"), ""), "--size", "4MiB"];
        story.assay(&made).ends(DONE);
        for of in [name.to_owned(), format!(".{name}.assay")] {
            rename(server.file(&format!("rw/{of}")), server.file(&format!("ro/{of}"))).unwrap();
        }
    }
    let mark = || std::fs::read(server.file("ro/.plain.assay")).unwrap();
    let (before, plain) = (mark(), at(&server, "/ro/plain", ""));
    let document = story.assay(&["run", "read.toml", &plain, "--json", "--remove"]).ends(DONE).json();
    assert_eq!(count(&document, "/tests/0/read/ops"), 200);
    assert_eq!(document["targets"][0]["member"]["content"], "reused");
    assert!(rules(&document).contains(&"own-file-read-only"), "{:?}", rules(&document));
    assert!(mark() == before && server.file("ro/plain").exists(), "nothing is marked or removed");

    let reported = story.assay(&["run", "write.toml", &plain]).ends(BAD_INPUT);
    assert!(reported.err.contains("denies uid 0 gid 0 write access"), "{}", reported.err);
    let reported = story.assay(&["run", "read.toml", &plain, "--size", "8MiB"]).ends(BAD_INPUT);
    assert!(reported.err.contains("4MiB"), "{}", reported.err);
    // What has stamps can be checked, what has none cannot.
    let stamped = ["run", "check.toml", &at(&server, "/ro/stamped", ""), "--json"];
    let document = story.assay(&stamped).ends(DONE).json();
    assert_eq!(
        (count(&document, "/tests/0/read/ops"), &document["tests"][0]["mismatch_count"]),
        (300, &0.into())
    );
    story.assay(&["run", "check.toml", &plain]).ends(BAD_INPUT);
}

/// After a run that was killed nobody knows when it wrote last; but what was written long after it must have ended was
/// written by somebody else, in place and to the same length.
#[test]
fn what_somebody_wrote_long_after_a_killed_run_is_not_ours() {
    let Some(server) = ganesha::start() else { return };
    let (story, file) = (Story::new(), at(&server, "/rw/t.dat", ""));
    story.write("long.toml", VERIFY.replace("500ms", "60s"));
    story.write("mixed.toml", VERIFY);
    let kill = || {
        let mut running = story.start(&["run", "long.toml", &file]);
        story.wait_for(|run| {
            run["status"] == "running"
                && run["tests"][0]["series"].as_array().is_some_and(|all| !all.is_empty())
        });
        running.signal("KILL");
        assert_eq!(running.end().code, None, "killed");
    };
    kill();
    let document = story.assay(&["run", "mixed.toml", &file, "--json"]).ends(DONE).json();
    assert_eq!(document["targets"][0]["member"]["content"], "reused", "still ours");
    assert!(rules(&document).contains(&"killed-before"), "{:?}", rules(&document));
    let document = story.assay(&["run", "mixed.toml", &file, "--json"]).ends(DONE).json();
    assert!(!rules(&document).contains(&"killed-before"), "that run ended well");

    kill();
    let modify = |after: Duration| {
        let real = File::options().write(true).open(server.file("rw/t.dat")).unwrap();
        real.set_modified(SystemTime::now() + after).unwrap();
    };
    modify(Duration::from_secs(600));
    let checked = story.assay(&["check", &file, "--json"]).ends(DONE).json();
    assert_eq!(checked["made_by_assay"], true, "a plan may last so long");
    modify(Duration::from_secs(2 * 86_400));
    let reported = story.assay(&["run", "mixed.toml", &file]).ends(BAD_INPUT);
    assert!(reported.err.contains("has been modified since"), "{}", reported.err);
}

/// The address as it had been typed for the target was refused for `--overwrite`: only one way of writing it was taken.
#[test]
fn a_file_is_named_to_overwrite_by_any_address_of_it() {
    let Some(server) = ganesha::start() else { return };
    let story = Story::new();
    story.write("write.toml", WRITE);
    let (port, mount_port) = (server.port, server.mount_port);
    let own = server.file("rw/theirs.dat");
    let typed = format!("nfs://127.0.0.1:{port}/rw//theirs.dat?timeout=60&mountport={mount_port}");
    for name in [typed.as_str(), &format!("nfs://127.0.0.1:{port}/rw/theirs.dat"), "/rw/theirs.dat"] {
        std::fs::write(&own, vec![7; 1 << 20]).unwrap();
        let run = ["run", "write.toml", &typed, "--size", "1MiB"];
        story.assay(&run).ends(BAD_INPUT);
        for other in ["/rw", "/rw/other.dat", &format!("nfs://127.0.0.1:{port}/rw")] {
            story.assay(&[&run[..], &["--overwrite", other]].concat()).ends(BAD_INPUT);
        }
        assert!(std::fs::read(&own).unwrap() == vec![7; 1 << 20], "nothing was written");
        story.assay(&[&run[..], &["--overwrite", name]].concat()).ends(DONE);
        assert!(std::fs::read(&own).unwrap() != vec![7; 1 << 20]);
    }
}

#[test]
fn a_file_on_a_server_is_not_filled_where_nobody_wants_that() {
    let Some(server) = ganesha::start() else { return };
    let (story, file) = (Story::new(), at(&server, "/rw/t.dat", ""));
    story.write("read.toml", READ);
    story.write("verify.toml", VERIFY);
    let run = ["run", "read.toml", &file, "--size", "4MiB", "--json"];
    let reported = story.assay(&[&run[..], &["--no-fill"]].concat()).ends(DONE);
    assert!(!reported.err.contains("filling"), "{}", reported.err);
    let document = reported.json();
    assert_eq!(document["targets"][0]["member"]["content"], "none");
    assert!(rules(&document).contains(&"unknown-content"), "{:?}", rules(&document));
    assert_eq!(std::fs::metadata(server.file("rw/t.dat")).unwrap().len(), 4 << 20);
    let reported = story.assay(&["run", "verify.toml", &file, "--no-fill"]).ends(BAD_INPUT);
    assert!(reported.err.contains("leave out --no-fill"), "{}", reported.err);
    let document = story.assay(&run).ends(DONE).json();
    assert_eq!(document["targets"][0]["member"]["content"], "prepared", "the next run makes up for it");
}

#[test]
fn a_diagnosis_that_only_reads_creates_nothing() {
    let Some(server) = ganesha::start() else { return };
    let story = Story::new();
    let absent = at(&server, "/rw/absent.dat", "");
    story.assay(&["diagnose", &absent, "--read-only"]).refused(&["this only reads", "absent.dat"]);
    for name in ["absent.dat", ".absent.dat.assay"] {
        assert!(!server.file(&format!("rw/{name}")).exists(), "{name} was created");
    }
}
