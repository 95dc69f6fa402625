//! What ZFS implies of an array whose file does not say it: its name, and the size of its records.

use std::borrow::Cow;

use crate::array::{Array, ProtocolKind, Raid, SoftwareName};
use crate::quantity::Quantity;

/// `recordsize` of a file system of ZFS by default, bytes (zfsprops(7)).
const RECORD: f64 = 131_072.0;
/// `volblocksize` of a volume of ZFS by default, bytes (zfsprops(7), since OpenZFS 2.2).
const BLOCK_OF_VOLUME: f64 = 16_384.0;

/// The array with the software that its level implies, and with that software's records where nobody gave a size: the
/// 64 KiB of a stripe are no size of ZFS. What is exported as a disk is a volume.
pub(super) fn of_software(array: &Array) -> Cow<'_, Array> {
    let software = array.software();
    let is_default = array.raid.chunk == Raid::default().chunk;
    if software != SoftwareName::Zfs || (array.target.software == software && !is_default) {
        return Cow::Borrowed(array);
    }
    let mut array = array.clone();
    array.target.software = software;
    if is_default {
        let is_file_system =
            matches!(array.protocol.kind, ProtocolKind::Local | ProtocolKind::Nfs | ProtocolKind::Smb);
        array.raid.chunk = Quantity::assumed(if is_file_system { RECORD } else { BLOCK_OF_VOLUME });
    }
    Cow::Owned(array)
}
