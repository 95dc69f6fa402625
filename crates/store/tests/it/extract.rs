//! Extracts: what is kept of a run for its page, and when it is passed over.

use assay_store::Store;

use crate::{RUN, begin, header, write};

fn extract(store: &Store, run: &str, version: u32) -> Option<Vec<f64>> {
    store.extract(run, version).unwrap()
}

#[test]
fn an_extract_is_read_as_it_was_written_and_goes_with_its_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.sqlite");
    let store = Store::open(&path).unwrap();
    let events = write(&store, &header(RUN), None);
    assert_eq!(extract(&store, RUN, 1), None);
    let figures = vec![0.1 + 0.2, 1e300, -0.0, 123_456.789_012_345_68];
    store.set_extract(RUN, 1, (events.len(), &figures)).unwrap();
    assert_eq!(extract(&store, RUN, 1), Some(figures.clone()));
    assert_eq!(extract(&store, RUN, 2), None, "of another version");
    assert_eq!(store.extract::<String>(RUN, 1).unwrap(), None, "of another form");
    store.set_extract(RUN, 1, (events.len() - 1, &figures)).unwrap();
    assert_eq!(extract(&store, RUN, 1), None, "of a part of the events");
    store.set_extract("991231-zzzz", 1, (3, &figures)).unwrap();
    store.remove(RUN).unwrap();
    let raw = rusqlite::Connection::open(&path).unwrap();
    let left: i64 = raw.query_row("SELECT count(*) FROM extract", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 0);
}

#[test]
fn an_extract_that_the_writer_kept_is_passed_over_once_more_events_follow() {
    let folder = tempfile::tempdir().unwrap();
    let mut begun = begin(folder.path(), 4);
    begun.writer.keep_extract(1, &vec![1.0]).unwrap();
    assert_eq!(extract(&begun.store, RUN, 1), Some(vec![1.0]));
    begun.writer.append(&begun.events[4]).unwrap();
    assert_eq!(extract(&begun.store, RUN, 1), None);
}
