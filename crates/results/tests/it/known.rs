//! What is remembered of a target, and of a run, is what the store says of it.

use std::sync::Arc;

use assay_analysis::RunExtract;
use assay_results::{KnownTargets, Readings, Stored, TargetHistory, TargetRuns, collector_of};
use assay_store::Store;

use crate::baseline::{TARGET, filled, run};

/// The page of all targets read 400 digests of each and searched them for changes after every write to the store.
#[test]
fn a_target_is_read_again_when_one_of_its_runs_changed_and_at_no_other_time() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("runs.sqlite")).unwrap();
    filled(&store);
    let known = KnownTargets::default();
    let read = || known.read(&store, &known.look(&store).unwrap(), TARGET, 400).unwrap();
    let whole = || known.read_whole(&store, &known.look(&store).unwrap(), TARGET).unwrap();
    let (mut before, mut whole_before) = (read(), whole());
    store.set_null_ceiling("4KiB", 1e6).unwrap();
    assert!(Arc::ptr_eq(&before, &read()), "no run of it was touched");
    assert!(Arc::ptr_eq(&whole_before, &whole()), "no run of it was touched");
    let newest = || store.rows(&assay_store::RunFilter::default(), assay_store::RunSlice::ALL).unwrap();
    let oldest = newest().pop().unwrap().run;
    let changes: [(&str, &dyn Fn()); 5] = [
        ("a label", &|| store.set_label(&oldest, Some("first")).unwrap()),
        ("a digest", &|| {
            let mut digest = store.digest(&oldest).unwrap().unwrap();
            digest.tests[0].iops.value *= 2.0;
            store.set_digest(&oldest, &digest).unwrap();
        }),
        ("a run", &|| drop(run(&store, 7, "later", 170.0))),
        ("no run", &|| store.remove(&oldest).unwrap()),
        ("another run", &|| drop(run(&store, 8, "later", 180.0))),
    ];
    for (what, change) in changes {
        change();
        let after = read();
        assert!(!Arc::ptr_eq(&before, &after), "{what}");
        assert!(Arc::ptr_eq(&after, &read()), "{what}");
        check(&after, &TargetHistory::read(&store, TARGET, 400).unwrap(), what);
        before = after;
        let after = whole();
        assert!(!Arc::ptr_eq(&whole_before, &after), "{what}");
        assert!(Arc::ptr_eq(&after, &whole()), "{what}");
        check(&after, &TargetHistory::read(&store, TARGET, usize::MAX).unwrap(), what);
        whole_before = after;
    }
    assert_eq!(
        read().target.runs.iter().filter(|run| run.digest.is_some()).count(),
        1,
        "the rest is dropped"
    );
}

fn check(remembered: &TargetHistory, stored: &TargetHistory, what: &str) {
    let rows = |of: &TargetRuns| of.runs.iter().map(|run| run.row.clone()).collect::<Vec<_>>();
    let last = |of: &TargetRuns| -> Vec<String> {
        of.last()
            .iter()
            .map(|last| format!("{} {:?} {:?}", last.run.row.run, last.test, last.effective))
            .collect()
    };
    assert_eq!(remembered.trends, stored.trends, "{what}");
    assert_eq!(remembered.events, stored.events, "{what}");
    assert_eq!(rows(&remembered.target), rows(&stored.target), "{what}");
    assert_eq!(last(&remembered.target), last(&stored.target), "{what}");
    assert_eq!(remembered.target.count, stored.target.count, "{what}");
}

/// A comparison of eight labels read 64 runs, and judged each by the array of its targets, whenever one was removed.
#[test]
fn a_run_is_read_once_for_comparisons_until_it_is_another_one() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("runs.sqlite")).unwrap();
    let id = run(&store, 1, "first", 170.0).run;
    let known = Readings::default();
    let read = || known.read(&store, &id).unwrap();
    let before = read();
    assert_eq!(before, Stored::read_extract(&store, &id).unwrap().result_set());
    assert!(Arc::ptr_eq(&before.rows[0].heat, &read().rows[0].heat), "it was read again");
    // As an import replaces a run of which the store lost the rest.
    let (header, mut events) = (store.header(&id).unwrap(), store.load(&id).unwrap());
    events.truncate(4);
    let part = collector_of(&header, &events).extract();
    let all = store.load(&id).unwrap().len();
    store.set_extract(&id, RunExtract::VERSION, (all, &part)).unwrap();
    assert_ne!(read(), before);
    assert_eq!(read(), Stored::read_extract(&store, &id).unwrap().result_set());
}
