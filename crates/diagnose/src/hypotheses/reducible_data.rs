//! Data that the storage reduces.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::hypothesis::Hypothesis;
use crate::quantity::Quantity as Q;
use crate::range::{Range, range};
use crate::setting::Setting;
use crate::unchanged;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::ReducibleData,
    name: "compressible or dedupable data",
    physics: "Storage that compresses or deduplicates moves fewer bytes to its media than it receives; the rate holds \
        for these data only.",
    source: "Iometer's default data repeat one byte; unique data cannot be reduced.",
    applies: |s| s.is_reducible,
    forms: &[expects],
    unchanged: &[&unchanged::WAYS, &unchanged::PLACES, &unchanged::DATA, &unchanged::REST],
    helps: "Measure with data like those of the application (data = \"unique\" is the worst case).",
    gain: None,
    look: "Reduction ratio that the target reports.",
};

fn expects(quantity: Q, _: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::UniqueData) => range(0.05, 0.75),
        // So little reaches the medium that the tester may be as busy as the target.
        Q::TesterBusy => range(0.005, 1.0),
        Q::Rate(E::ReadsOnly) => range(0.03, 1.5),
        Q::Rate(E::LargerIo) => range(0.12, 0.5),
        Q::Rate(E::OneOutstanding) => range(0.05, 0.6),
        Q::Rate(E::SmallerIo) => range(1.0, 6.0),
        Q::PacedLatency => range(0.05, 1.0),
        Q::Rate(E::MoreOutstanding) => range(0.95, 1.9),
        Q::Rate(E::MoreWorkers) => range(0.96, 1.5),
        _ => None,
    }
}
