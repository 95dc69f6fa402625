//! A store that another file takes the place of while it is served.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use assay_store::Store;
use assay_testkit::synthetic;

use crate::served::{RUN, Reach, SAID, Served};

const PAGES: [&str; 4] = ["/runs", "/targets", "/", "/api/v1/runs"];

/// What was said of the store of a server.
fn said(served: &Served) -> Vec<String> {
    let store = served.store_path().display().to_string();
    SAID.lock().unwrap().iter().filter(|says| says.contains(&store)).cloned().collect()
}

/// Makes a store of one run.
fn made(path: &Path, run: &str) {
    let mut header = synthetic::header(synthetic::plan(
        "name = \"other\"\n[[test]]\nname = \"Reads\"\nrun = \"2s\"\naccess = [{ size = \"8KiB\", read = 100 }]\n",
    ));
    header.run = run.to_owned();
    header.targets[0].address = format!("/srv/{run}");
    let mut writer = Store::open(path).unwrap().begin_run(&header, None, None).unwrap();
    let events = synthetic::events(&header, synthetic::Target::default());
    events[1..].iter().for_each(|event| writer.append(event).unwrap());
}

/// Connections that were kept went on showing the file that was gone, and new ones the other: two overviews disagreed.
#[test]
fn a_store_that_was_replaced_is_noticed_and_shown_by_every_page() {
    let served = Served::start(Reach::Loopback);
    let store = served.store_path();
    let round = AtomicU32::new(0);
    // Answers of the last second are kept by their addresses.
    let page =
        |path: &str| served.get(&format!("{path}?round={}", round.fetch_add(1, Ordering::Relaxed)), &[]);
    let shows = |run: &str, not: &str| {
        for path in PAGES {
            let answer = page(path);
            assert_eq!(answer.status, 200, "{path}: {}", answer.body);
            assert!(!answer.body.contains(not), "{path} shows what is gone: {}", answer.body);
            assert!(path == "/" || answer.body.contains(run), "{path}: {}", answer.body);
        }
        assert_eq!((page(&format!("/runs/{run}")).status, page(&format!("/runs/{not}")).status), (200, 404));
    };
    shows(RUN, "261122-aaaa");
    assert_eq!(said(&served), Vec::<String>::new());

    // What was written last is in the log, which SQLite finds by its name and would take for that of the new file.
    served.store().set_label(RUN, Some("the last of it")).unwrap();
    let log = store.with_file_name("store.sqlite-wal");
    assert!(std::fs::metadata(&log).unwrap().len() > 0);
    let (other, aside) = (store.with_file_name("other.sqlite"), store.with_file_name("aside.sqlite"));
    made(&other, "261122-aaaa");
    std::fs::hard_link(&store, &aside).unwrap();
    std::fs::rename(&other, &store).unwrap();
    shows("261122-aaaa", RUN);
    assert_eq!(Store::open(&aside).unwrap().row(RUN).unwrap().label.as_deref(), Some("the last of it"));
    assert_eq!(said(&served).len(), 1, "{:?}", said(&served));
    assert!(said(&served)[0].contains("was replaced by another file"), "{:?}", said(&served));

    for end in ["", "-wal", "-shm"] {
        std::fs::remove_file(store.with_file_name(format!("store.sqlite{end}"))).unwrap();
    }
    assert_eq!([page("/runs").status, page("/runs").status], [404, 404]);
    assert!(said(&served).len() == 2 && said(&served)[1].contains("was deleted"), "{:?}", said(&served));
    made(&store, "261123-bbbb");
    shows("261123-bbbb", "261122-aaaa");
    assert!(said(&served).len() == 3 && said(&served)[2].contains("again"), "{:?}", said(&served));
}

/// A log that another program has open was moved and cut under it, and what it wrote next was lost.
#[test]
fn a_log_that_another_program_has_open_is_left_alone_until_that_ends() {
    let served = Served::start(Reach::Loopback);
    let store = served.store_path();
    let page = |round: u32| served.get(&format!("/runs?round={round}"), &[]);
    assert_eq!(page(0).status, 200);
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "replaced::child_that_has_a_store_open", "--ignored", "--nocapture"])
        .env("ASSAY_TEST_STORE", &store)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.contains("it is open")), "the child has it open");
    let log = store.with_file_name("store.sqlite-wal");
    let before = std::fs::metadata(&log).unwrap().len();
    assert!(before > 0);
    let (other, aside) = (store.with_file_name("other.sqlite"), store.with_file_name("aside.sqlite"));
    made(&other, "261122-aaaa");
    std::fs::hard_link(&store, &aside).unwrap();
    std::fs::rename(&other, &store).unwrap();
    let refused = page(1);
    assert!(refused.status == 500 && refused.body.contains("another program"), "{}", refused.body);
    // The server may have added what the runs lacked.
    assert!(std::fs::metadata(&log).unwrap().len() >= before, "the log is not cut");
    assert_eq!(said(&served), Vec::<String>::new());

    child.kill().unwrap();
    child.wait().unwrap();
    let answer = page(2);
    assert!(answer.status == 200 && answer.body.contains("261122-aaaa"), "{}", answer.body);
    assert_eq!(said(&served).len(), 1);
    let kept = Store::open(&aside).unwrap().row(RUN).unwrap();
    assert_eq!(kept.label.as_deref(), Some("of another program"));
}

#[test]
#[ignore = "run by a_log_that_another_program_has_open_is_left_alone_until_that_ends"]
fn child_that_has_a_store_open() {
    let Some(path) = std::env::var_os("ASSAY_TEST_STORE") else { return };
    let store = Store::open(Path::new(&path)).unwrap();
    store.set_label(RUN, Some("of another program")).unwrap();
    std::io::stdout().write_all(b"it is open\n").unwrap();
    let _ = std::io::stdin().read_line(&mut String::new());
}
