//! Cells of the fault matrix on a file of nfs-ganesha; `make soak-faults` plays all of them.

use std::time::Duration;

use assay_testkit::faults::{self, Cell, Fault, Kind, Phase};

#[test]
fn a_server_that_restarts_while_its_file_is_measured_costs_nothing_that_was_kept() {
    let cell = Cell { fault: Fault::Restart, phase: Phase::Measure, kind: Kind::Nfs };
    let Some(ending) = faults::run(cell, env!("CARGO_BIN_EXE_assay"), Duration::from_millis(120)) else {
        return;
    };
    assert!(ending.broken.is_empty(), "{}: {ending:?}", cell.name());
}
