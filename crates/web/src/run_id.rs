//! Ids of runs in addresses.

use assay_store::is_run_id;

use crate::answer::Refusal;

/// Refuses what cannot be the id of a run.
pub(crate) fn checked_id(run: &str) -> Result<(), Refusal> {
    if is_run_id(run) { Ok(()) } else { Err(Refusal::not_found("This is not the id of a run.")) }
}
