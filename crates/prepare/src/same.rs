//! Refuses targets that share storage: one file under two names, a partition and its disk, a loop device and its file.

use std::path::PathBuf;

use assay_host::SharedStorage;
use assay_spec::Address;

use crate::error::{PrepareError, text};
use crate::path::real_path;

/// Fails if two paths lead to the same bytes. A path that cannot be examined is refused later, with its reason.
pub(crate) fn check(addresses: &[Address]) -> Result<(), PrepareError> {
    let mut earlier: Vec<(PathBuf, SharedStorage)> = Vec::new();
    for address in addresses {
        let Address::Path(path) = address else { continue };
        let Ok(storage) = assay_host::shared_storage(&real_path(path)) else { continue };
        let overlap = |(other, of): &(PathBuf, SharedStorage)| Some((text(other), of.overlap(&storage)?));
        if let Some((one, why)) = earlier.iter().find_map(overlap) {
            return Err(PrepareError::Overlap { one, other: text(path), why: why.to_owned() });
        }
        earlier.push((path.clone(), storage));
    }
    Ok(())
}
