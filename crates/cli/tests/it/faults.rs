//! A few cells of the fault matrix on files and devices; `make soak-faults` plays all of them.

use std::time::Duration;

use assay_testkit::faults::{self, Cell, Fault, Kind, Phase};

/// Plays a cell with the program under test, and fails with what was not kept.
fn check(fault: Fault, phase: Phase, kind: Kind) {
    let cell = Cell { fault, phase, kind };
    let Some(ending) = faults::run(cell, env!("CARGO_BIN_EXE_assay"), Duration::from_millis(120)) else {
        return;
    };
    assert!(ending.broken.is_empty(), "{}: {ending:?}", cell.name());
}

#[test]
fn a_run_on_a_file_that_is_killed_while_it_measures_keeps_what_it_must() {
    check(Fault::Kill, Phase::Measure, Kind::File);
}

#[test]
fn a_run_on_a_device_that_is_killed_while_it_fills_keeps_what_it_must() {
    check(Fault::Kill, Phase::Fill, Kind::Device);
}

#[test]
fn a_run_that_is_stopped_for_a_while_keeps_what_it_must() {
    check(Fault::Stop, Phase::Measure, Kind::File);
}

#[test]
fn a_file_that_takes_the_place_of_the_target_is_not_touched() {
    check(Fault::Replace, Phase::Measure, Kind::File);
    check(Fault::Replace, Phase::Close, Kind::Device);
}
