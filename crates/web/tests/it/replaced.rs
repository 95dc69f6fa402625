//! A store that another file takes the place of while it is served.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use assay_store::Store;
use assay_testkit::synthetic;

use crate::served::{RUN, Reach, Served, TOLD};

const PAGES: [&str; 4] = ["/runs", "/targets", "/", "/api/v1/runs"];

/// What was told of the store of a server.
fn told(served: &Served) -> Vec<String> {
    let store = served.store_path().display().to_string();
    TOLD.lock().unwrap().iter().filter(|says| says.contains(&store)).cloned().collect()
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
    assert_eq!(told(&served), Vec::<String>::new());

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
    assert_eq!(told(&served).len(), 1, "{:?}", told(&served));
    assert!(told(&served)[0].contains("was replaced by another file"), "{:?}", told(&served));

    for end in ["", "-wal", "-shm"] {
        std::fs::remove_file(store.with_file_name(format!("store.sqlite{end}"))).unwrap();
    }
    assert_eq!([page("/runs").status, page("/runs").status], [404, 404]);
    assert!(told(&served).len() == 2 && told(&served)[1].contains("was deleted"), "{:?}", told(&served));
    made(&store, "261123-bbbb");
    shows("261123-bbbb", "261122-aaaa");
    assert!(told(&served).len() == 3 && told(&served)[2].contains("again"), "{:?}", told(&served));
}
