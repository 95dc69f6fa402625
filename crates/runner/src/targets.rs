//! Prepared targets as the engine takes them.

use assay_engine::RunTargets;
use assay_prepare::PreparedTargets;

/// Returns what the engine needs of prepared targets.
pub(crate) fn run_targets(prepared: &PreparedTargets) -> RunTargets {
    let (io, memory_bytes) = (prepared.io, prepared.memory_bytes);
    RunTargets { members: prepared.members(), facts: prepared.facts(), io, memory_bytes }
}
