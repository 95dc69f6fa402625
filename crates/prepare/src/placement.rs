//! Position of the used part of a target on its disk, from a file's extents and a partition's start.

use assay_record::{MemberFacts, MemberKind, Placement};
use assay_target::file::Placed;

/// Returns the position of a target on its disk. `placed` are the extents of a file; devices and LUNs are used from
/// their start. `None` if a volume manager, a loop device or another machine (NFS) maps the blocks, so that their
/// position is unknown.
pub(crate) fn placement(facts: &MemberFacts, placed: Option<Placed>) -> Option<Placement> {
    let whole = Placed { first_bytes: 0, end_bytes: facts.span_bytes, pieces: 1 };
    let (start_bytes, device_bytes, placed) = match facts.kind {
        MemberKind::Lun | MemberKind::Simulated => (0, facts.capacity_bytes, whole),
        MemberKind::Device | MemberKind::File => {
            let on_disk = assay_host::place_on_disk(facts.device.as_ref()?)?;
            let placed = if facts.kind == MemberKind::File { placed? } else { whole };
            (on_disk.start_bytes, on_disk.disk_bytes, placed)
        }
        MemberKind::Null | MemberKind::Nfs => return None,
    };
    Some(Placement {
        first_bytes: start_bytes + placed.first_bytes,
        end_bytes: start_bytes + placed.end_bytes,
        pieces: placed.pieces,
        device_bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lun_is_used_from_its_start_and_a_file_on_an_unknown_device_has_no_position() {
        let lun = MemberFacts {
            kind: MemberKind::Lun,
            capacity_bytes: 100,
            span_bytes: 40,
            ..MemberFacts::default()
        };
        let expected = Placement { first_bytes: 0, end_bytes: 40, pieces: 1, device_bytes: 100 };
        assert_eq!(placement(&lun, None), Some(expected));
        let file = MemberFacts { kind: MemberKind::File, ..MemberFacts::default() };
        let placed = Placed { first_bytes: 5, end_bytes: 9, pieces: 2 };
        assert_eq!(placement(&file, Some(placed)), None);
    }
}
