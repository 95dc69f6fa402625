//! Design invariant 1: between measure and drain a worker allocates nothing.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use assay_engine::StopSignal;
use assay_target::{Completion, Geometry, NullTarget, Op, OpenRequest, Target, TargetLost, Wait};

use crate::bench::run_on;
use crate::counting;

/// Records the number of allocations of its thread at the first and at the last I/O.
struct Watching {
    inner: NullTarget,
    first: Option<u64>,
    last: u64,
    ops: u64,
    report: Arc<Mutex<Vec<(u64, u64)>>>,
    total: Arc<AtomicU64>,
}

impl Target for Watching {
    fn geometry(&self) -> &Geometry {
        self.inner.geometry()
    }

    fn submit(&mut self, op: Op) -> Result<(), Op> {
        self.first.get_or_insert(counting::allocations());
        self.ops += 1;
        self.inner.submit(op)
    }

    fn poll(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), TargetLost> {
        let result = self.inner.poll(wait, done);
        self.last = counting::allocations();
        result
    }

    fn reopen(&mut self, member: u32) -> Result<(), TargetLost> {
        self.inner.reopen(member)
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.total.fetch_add(self.ops, Ordering::Relaxed);
        self.report.lock().unwrap().push((self.first.unwrap_or(0), self.last));
    }
}

fn allocations(text: &str) -> Vec<u64> {
    let (report, total) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicU64::new(0)));
    let opener = |r: &OpenRequest<'_>| Watching {
        inner: NullTarget::new(r.spans(), r.depth),
        first: None,
        last: 0,
        ops: 0,
        report: Arc::clone(&report),
        total: Arc::clone(&total),
    };
    run_on(text, 2, &opener, &StopSignal::default(), &mut |_| Ok(())).unwrap();
    assert!(total.load(Ordering::Relaxed) > 1000);
    report.lock().unwrap().iter().map(|(first, last)| last - first).collect()
}

#[test]
fn nothing_is_allocated_between_measure_and_drain() {
    // Each is longer than an interval, so that intervals are cut and sent as well.
    let closed = "[[test]]\nname = \"t\"\nrun = \"1200ms\"\noutstanding = 64\nworkers = 2\n\
                  access = [{ size = \"4KiB\", read = 70, random = 60 }]\n";
    assert_eq!(allocations(closed), [0, 0]);
    let iometer = "semantics = \"iometer\"\n[[test]]\nname = \"t\"\nrun = \"1200ms\"\noutstanding = 16\n\
                   reconnect_every = 500\naccess = [{ size = \"4KiB\", read = 50, random = 50, reply = \"512\" }]\n";
    assert_eq!(allocations(iometer), [0]);
    let open = "[[test]]\nname = \"t\"\nrun = \"1200ms\"\noutstanding = 16\ndata = { compress = 2, dedupe = 2 }\n\
                pace = { rate = \"20000/s\", arrivals = \"poisson\" }\naccess = [{ size = \"4KiB\", read = 50 }]\n";
    assert_eq!(allocations(open), [0]);
}
