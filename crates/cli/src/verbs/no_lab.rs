//! In the place of `assay lab`, where a build leaves out FUSE.

use anyhow::bail;

use crate::args::LabArgs;
use crate::exit::Exit;

/// Refuses.
pub(crate) fn lab(_: &LabArgs) -> anyhow::Result<Exit> {
    bail!(assay_spec::left_out("FUSE, so no labs"))
}
