//! How long workers waited for a CPU.

use assay_engine::StopSignal;
use assay_host::{allowed_cpus, pin_current_thread};
use assay_record::RunEvent;
use assay_target::{NullTarget, OpenRequest};

use crate::bench::run_on;

/// Whoever looks for what limits a load must know whether it waits for its host.
#[test]
fn workers_that_share_a_cpu_say_how_long_they_waited_for_it() {
    if std::fs::read_to_string("/proc/thread-self/schedstat").is_err() {
        return;
    }
    let on_one_cpu = |request: &OpenRequest<'_>| {
        pin_current_thread(allowed_cpus()[0]).unwrap();
        NullTarget::new(request.spans(), request.depth)
    };
    let plan = "[[test]]\nname = \"t\"\nrun = \"600ms\"\noutstanding = 4\nworkers = 3\n\
                access = [{ size = \"4KiB\" }]\n";
    let mut waited = Vec::new();
    run_on(plan, 1, &on_one_cpu, &StopSignal::default(), &mut |event| {
        if let RunEvent::StepEnded(end) = event.what {
            waited.push(end.cpu.workers_waited);
        }
        Ok(())
    })
    .unwrap();
    // Each has at most a third of it.
    assert!(matches!(waited.as_slice(), [Some(share)] if (0.4..=1.0).contains(share)), "{waited:?}");
}
