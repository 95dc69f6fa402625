//! Cells of the fault matrix on a LUN of tgt; `make soak-faults` plays all of them.

use std::time::Duration;

use assay_testkit::faults::{self, Cell, Fault, Kind, Phase};

/// Plays a cell with the program under test, and fails with what was not kept.
fn check(fault: Fault, phase: Phase) {
    let cell = Cell { fault, phase, kind: Kind::Lun };
    let Some(ending) = faults::run(cell, env!("CARGO_BIN_EXE_assay"), Duration::from_millis(120)) else {
        return;
    };
    assert!(ending.broken.is_empty(), "{}: {ending:?}", cell.name());
}

#[test]
fn a_network_that_is_cut_while_a_lun_is_measured_costs_nothing_that_was_kept() {
    check(Fault::Cut, Phase::Measure);
}

#[test]
fn a_lun_that_becomes_read_only_ends_the_run_and_nothing_else() {
    check(Fault::ReadOnly, Phase::Measure);
}
