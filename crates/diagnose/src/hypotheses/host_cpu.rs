//! CPU time that other programs or the hypervisor take.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::hypothesis::Hypothesis;
use crate::quantity::{LEAST, Quantity as Q};
use crate::range::{Range, range};
use crate::setting::Setting;
use crate::unchanged;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::HostCpu,
    name: "CPU contention on this host",
    physics: "Workers that wait for a CPU neither issue nor complete I/O. What the tester uses is small, and what \
        others use is large; the rate follows their load, not the target's. Others that use every CPU and give way at \
        once limit nothing.",
    source: "The kernel's time in which workers were ready to run without a CPU (schedstat), but for what a control \
        group withheld (cpu.stat) and what they wait for each other; time of others on the same CPUs and time \
        stolen by the hypervisor in the measured window (/proc/stat), and time of others in the second before.",
    applies: |_| true,
    forms: &[expects, expects_without_copies, expects_taking_turns, expects_of_one_worker],
    unchanged: &[
        &unchanged::WAYS,
        &unchanged::PLACES,
        &unchanged::ALIGNMENT,
        &unchanged::DURABILITY,
        &unchanged::REST,
    ],
    helps: "Stop the other programs, move the virtual machine, or bind the workers to CPUs of their own (--cpus). A \
        server of the target that runs on this host needs CPU itself: test from another host.",
    gain: None,
    look: "Nothing on the target: this host has no CPU time left.",
};

fn expects(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        // Some I/Os wait for a CPU, others find one free.
        Q::LowToMean => range(0.02, 1.07),
        Q::PacedToOne => range(0.3, 4.0),
        Q::OthersBusy => range(0.4, 1.02),
        // Less is no bottleneck: without it the load would hardly be faster.
        Q::WaitForOthers => of_workers(0.25, 1.02, s),
        Q::TesterBusy => of_workers(0.08, 0.85, s),
        Q::Rate(E::MoreOutstanding) => range(0.92, 1.3),
        Q::Rate(E::OneOutstanding) => range(0.05, 0.95),
        Q::Rate(E::LargerIo) => range(0.3, 1.0),
        Q::Rate(E::MoreWorkers) => range(0.85, 2.1),
        Q::PacedLatency => range(0.015, 0.8),
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.85, 1.2),
        Q::Rate(E::Base) => range(0.8, 1.25),
        Q::MedianToMean => range(0.4, 1.07),
        _ => None,
    }
}

/// Direct I/O: the device itself moves the data, so that the CPU time of an I/O depends on neither its size nor its
/// direction.
fn expects_without_copies(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::LargerIo) => range(0.85, 1.03),
        Q::Rate(E::SmallerIo) => range(0.97, 1.1),
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.94, 1.06),
        Q::MedianToMean => range(0.85, 1.07),
        _ => expects(quantity, s),
    }
}

/// Others want all CPUs all the time: what an experiment gets depends on the turns that the scheduler gives it.
fn expects_taking_turns(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        // Some I/Os wait for a CPU, others find one free.
        Q::LowToMean => range(0.02, 1.07),
        Q::PacedToOne => range(0.3, 4.0),
        Q::OthersBusy => range(0.6, 1.05),
        Q::WaitForOthers => of_workers(0.25, 1.05, s),
        Q::TesterBusy => of_workers(0.02, 0.85, s),
        Q::Rate(E::MoreOutstanding) => range(0.7, 3.0),
        Q::Rate(E::OneOutstanding) => range(0.03, 1.0),
        Q::Rate(E::LargerIo) => range(0.2, 1.1),
        Q::Rate(E::SmallerIo) => range(0.7, 4.0),
        Q::PacedLatency => range(0.03, 1.5),
        Q::Rate(E::Base) => range(0.3, 3.0),
        Q::Rate(_) => range(0.55, 1.7),
        Q::Trend => range(0.6, 1.6),
        Q::MedianToMean => range(0.3, 1.07),
        _ => None,
    }
}

/// The one worker gets so little of a CPU that its turns take nearly all of an I/O's time: more in flight only wait for
/// it, and a second worker gets as much again.
fn expects_of_one_worker(quantity: Q, s: &Setting) -> Option<Range> {
    // With one or two in flight nothing waits for the others.
    if s.outstanding <= 2.0 {
        return expects_without_copies(quantity, s);
    }
    match quantity {
        Q::OthersBusy => range(0.8, 1.02),
        Q::WaitForOthers => of_workers(0.5, 1.02, s),
        Q::Rate(E::OneOutstanding) => range(0.7, 1.03),
        Q::Rate(E::MoreWorkers) => range(1.6, 2.15),
        Q::LowToMean => range(0.8, 1.07),
        Q::PacedLatency => range(0.6 / s.outstanding, 0.3),
        Q::PacedToOne => range(0.85, 2.0),
        _ => expects_without_copies(quantity, s),
    }
}

/// A time of the workers: where a server, a program or a thread of the kernel on this host waits in their place, they
/// sleep meanwhile, and may have as little of it as there is.
fn of_workers(least: f64, most: f64, s: &Setting) -> Option<Range> {
    range(if s.helpers_may_wait { LEAST } else { least }, most)
}
