//! Where on an array the targets of a run lie: disks are faster outside than inside, and far seeks take longer.

use assay_model::array::Array;
use assay_model::facts::usable_bytes;
use assay_model::from_plan::Extent;
use assay_record::{MemberFacts, MemberKind, Placement};
use assay_spec::units::Bytes;

/// A disk that holds at least this share of the array's data is the array; a smaller one is a part of it, and where
/// that part lies is not known.
const WHOLE_ARRAY: f64 = 0.75;

/// Where the members of a job lie on an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArrayRegion {
    /// The region for the model; at the outer edge where the place is unknown.
    pub extent: Extent,
    /// Whether the position on the array is known.
    pub is_known: bool,
}

/// The place of members on an array, from their extents and the size of their disk.
pub fn array_region(members: &[&MemberFacts], array: &Array) -> ArrayRegion {
    let span = Bytes(members.iter().map(|m| m.span_bytes).sum());
    let extent = Extent { members: u32::try_from(members.len()).unwrap_or(u32::MAX), ..Extent::outer(span) };
    if members.iter().all(|m| m.kind == MemberKind::Simulated) {
        return ArrayRegion { extent, is_known: true };
    }
    let placed: Option<Vec<Placement>> = members.iter().map(|m| m.placement).collect();
    let Some(placed) = placed.filter(|placed| on_one_disk(members, placed)) else {
        return ArrayRegion { extent, is_known: false };
    };
    let first = placed.iter().map(|p| p.first_bytes).min().unwrap_or(0);
    let end = placed.iter().map(|p| p.end_bytes).max().unwrap_or(0);
    let pieces = placed.iter().map(|p| p.pieces).sum::<u64>();
    let is_known = placed.iter().any(|p| p.device_bytes as f64 >= usable_bytes(array) * WHOLE_ARRAY);
    ArrayRegion {
        extent: Extent {
            start: Bytes(if is_known { first } else { 0 }),
            reach: Bytes(end.saturating_sub(first)),
            pieces: u32::try_from(pieces).unwrap_or(u32::MAX),
            ..extent
        },
        is_known,
    }
}

/// Several files may share a disk; several LUNs each count from their own start.
fn on_one_disk(members: &[&MemberFacts], placed: &[Placement]) -> bool {
    let disk = |m: &MemberFacts| m.device.as_ref().map(|d| d.stack.last().unwrap_or(&d.name).clone());
    placed.len() == 1
        || members.iter().all(|m| m.kind != MemberKind::Lun && disk(m) == disk(members[0]))
            && placed.iter().all(|p| p.device_bytes == placed[0].device_bytes)
}
