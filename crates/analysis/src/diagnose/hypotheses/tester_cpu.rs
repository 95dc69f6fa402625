//! The CPU time of the tester.

use assay_record::Experiment as E;

use super::super::hypothesis::Hypothesis;
use super::super::range::{Range, range};
use super::super::{Cause, Quantity as Q, Setting};

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::TesterCpu,
    name: "the CPU time of the tester",
    physics: "A worker issues and completes every I/O itself, so its rate ends at one CPU over its cost per I/O. \
        More outstanding I/Os do not help; another worker on another CPU does. The target answers sooner \
        than the worker asks. A control group that limits the CPU time stops the worker until the next period, so some \
        I/Os take that long.",
    source: "CPU time of the tester's process (getrusage) over the measured window, shared by its workers; `assay \
        overhead` measures the cost of an I/O.",
    applies: |_| true,
    forms: &[expects, expects_otherwise],
    helps: "Use more workers, or faster CPUs, or a polled engine, or lift the CPU limit of the control group; the \
        target can do more.",
    gain: Some(E::MoreWorkers),
    look: "Nothing on the target: it waits for the tester.",
};

fn expects(quantity: Q, _: &Setting) -> Option<Range> {
    match quantity {
        Q::TesterBusy => range(0.86, 1.06),
        Q::Rate(E::LargerIo) => range(0.45, 1.0),
        Q::Rate(E::SmallerIo) => range(0.97, 1.7),
        Q::Rate(E::OneOutstanding) => range(0.1, 1.0),
        Q::Rate(E::MoreWorkers) => range(1.0, 2.1),
        Q::PacedLatency => range(0.03, 0.6),
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.8, 1.25),
        Q::MedianToMean => range(0.85, 1.07),
        _ => None,
    }
}

/// A control group's limit: the worker runs until its share of a period is used (100 ms by default in Linux).
fn expects_otherwise(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::MedianToMean => range(0.02, 0.8),
        Q::Rate(E::OneOutstanding) => range(0.1, 1.1),
        Q::Rate(E::MoreWorkers) => range(0.7, 1.15),
        Q::Rate(E::Base) => range(0.7, 1.4),
        _ => expects(quantity, s),
    }
}
