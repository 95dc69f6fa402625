//! A panic in one worker must not block the others or the caller.

use std::sync::atomic::{AtomicU64, Ordering};

use assay_engine::{RunError, StopSignal};
use assay_record::{Event, Outcome, RunEvent};
use assay_target::{Completion, Geometry, NullTarget, Op, OpenRequest, Target, TargetLost, Wait};

use crate::bench::run_on;

const PLAN: &str = "
[[test]]
name = \"t\"
access = [{ size = \"4KiB\", read = 50, random = 50 }]
outstanding = 2
workers = 3
run = \"1h\"
";

#[test]
fn a_panicking_worker_ends_the_run_and_blocks_nobody() {
    let (panicking, opened) = (AtomicU64::new(0), AtomicU64::new(0));
    for panics_at in [PanicsAt::Open, PanicsAt::Poll] {
        let opener = |request: &OpenRequest<'_>| {
            let is_first = panicking.fetch_add(1, Ordering::Relaxed) == 0;
            assert!(!is_first || panics_at != PanicsAt::Open, "a bug in opening");
            opened.fetch_add(1, Ordering::Relaxed);
            Panicking { inner: NullTarget::new(request.spans(), request.depth), is_first }
        };
        let mut events = Vec::new();
        let mut sink = |event: Event| {
            events.push(event);
            Ok(())
        };

        let error = run_on(PLAN, 1, &opener, &StopSignal::default(), &mut sink).unwrap_err();
        assert!(matches!(&error, RunError::WorkerPanicked { says, .. } if says.contains("a bug")), "{error}");
        assert!(error.to_string().contains("of job 1 broke down"), "{error}");
        assert!(matches!(events.last().unwrap().what, RunEvent::Ended(Outcome::Failed)));
        panicking.store(0, Ordering::Relaxed);
    }
    assert_eq!(opened.into_inner(), 2 + 3);
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum PanicsAt {
    Open,
    Poll,
}

struct Panicking {
    inner: NullTarget,
    is_first: bool,
}

impl Target for Panicking {
    fn geometry(&self) -> &Geometry {
        self.inner.geometry()
    }

    fn submit(&mut self, op: Op) -> Result<(), Op> {
        self.inner.submit(op)
    }

    fn poll(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), TargetLost> {
        assert!(!self.is_first, "a bug in polling");
        self.inner.poll(wait, done)
    }

    fn reopen(&mut self, member: u32) -> Result<(), TargetLost> {
        self.inner.reopen(member)
    }
}
