//! Input from the kernel and other programs about this host: files of /proc, netlink and ethtool messages, and the size
//! of a device.

use assay_host::fuzzing;

use crate::input::{Input, text};

pub(crate) fn procfs(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    fuzzing::procfs(text);
    let _ = assay_host::cpu_list(text);
}

pub(crate) fn netlink(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let kind = input.byte();
    fuzzing::netlink(kind, input.rest());
}

/// Checks the places of a device that are examined for signatures, for a device of any size.
pub(crate) fn places(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let size_bytes = (u64::from(input.word()) << 32 | u64::from(input.word())) >> (input.byte() % 64);
    for (at, bytes) in assay_host::signature_places(size_bytes) {
        let is_inside = at.checked_add(bytes).is_some_and(|end| end <= size_bytes);
        assert!(is_inside, "{bytes} bytes at {at} lie on a device of {size_bytes} bytes");
    }
}
