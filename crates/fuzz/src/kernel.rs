//! What the kernel and other programs say of this host: files of /proc, netlink and ethtool messages, and the
//! first and last bytes of a device.

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

/// What is on a device, by its bytes: a short input is laid at the places where signatures are.
pub(crate) fn signatures(bytes: &[u8]) {
    const PLACES: [usize; 12] =
        [0, 510, 512, 1024, 1080, 4096, 4086, 32_768, 65_536, 65_600, 0x10_0000, 0x20_0000];
    let mut input = Input::new(bytes);
    let size_bytes = u64::from(input.word()) << input.below(40);
    let mut head = vec![0; 0x20_1000.min(usize::try_from(size_bytes).unwrap_or(usize::MAX))];
    let mut tail = vec![0; head.len().min(0x1_0000)];
    while !input.is_empty() {
        let (is_tail, at) = (input.byte() & 1 == 1, PLACES[input.below(PLACES.len())]);
        let piece = input.piece();
        let place = if is_tail { &mut tail } else { &mut head };
        for (place, byte) in place.iter_mut().skip(at).zip(piece) {
            *place = *byte;
        }
    }
    let _ = assay_host::content_of(&head, &tail, size_bytes);
}
