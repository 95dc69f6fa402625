//! How much memory a run may take: a tester that swaps measures its own swapping.

use assay_record::HostFacts;
use assay_spec::Plan;
use assay_spec::units::Bytes;

use super::error::PrepareError;
use super::inspect::Inspected;
use assay_target::stamp;

/// What is reckoned with where the system does not say how much memory it has, bytes.
const UNKNOWN_BYTES: u64 = 1 << 30;

/// What is left for I/O buffers of the half of the memory that a run may take; the stamps of verify mode come first.
pub(super) fn left_for_buffers(
    plan: &Plan,
    targets: &[Inspected],
    host: &HostFacts,
) -> Result<u64, PrepareError> {
    let limits = host.cgroup_memory_bytes.into_iter().chain([host.memory_bytes]);
    let most = limits.filter(|bytes| *bytes > 0).min().unwrap_or(UNKNOWN_BYTES) / 2;
    if !plan.verifies() {
        return Ok(most);
    }
    let span_bytes = targets.iter().map(Inspected::span_bytes).sum();
    let stamps = stamp::memory_for_span(span_bytes);
    most.checked_sub(stamps).ok_or_else(|| PrepareError::StampMemory {
        span: Bytes(span_bytes),
        stamps: Bytes(stamps),
        most: Bytes(most),
        size: Bytes(stamp::span_for_memory(most) / targets.len() as u64 / 2 / GRAIN * GRAIN),
    })
}

/// Sizes to be typed are easier to read so; half of what would just fit leaves room for the buffers.
const GRAIN: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use assay_spec::{Overrides, PlanFile};

    fn left(verify: bool, span: u64, memory_bytes: u64, cgroup: Option<u64>) -> Result<u64, String> {
        let text = format!("[[test]]\nname = \"t\"\naccess = [{{ size = 4096 }}]\nverify = {verify}\n");
        let plan = PlanFile::parse("p", &text).unwrap().resolve(&Overrides::default()).unwrap();
        let target = Inspected::Null { address: "null:".into(), capacity: span };
        let host = HostFacts { memory_bytes, cgroup_memory_bytes: cgroup, ..HostFacts::default() };
        left_for_buffers(&plan, &[target], &host).map_err(|e| e.to_string())
    }

    #[test]
    fn half_of_what_this_process_may_use_is_for_buffers() {
        assert_eq!(left(false, 1 << 40, 8 << 30, None), Ok(4 << 30));
        assert_eq!(
            left(false, 1 << 40, 8 << 30, Some(256 << 20)),
            Ok(128 << 20),
            "a small container stays small"
        );
        assert_eq!(
            left(false, 1 << 40, 8 << 30, Some(1 << 50)),
            Ok(4 << 30),
            "a limit above the memory is none"
        );
        assert_eq!(left(false, 1 << 40, 0, None), Ok(512 << 20), "unknown");
    }

    #[test]
    fn stamps_come_out_of_it_and_are_refused_where_they_do_not_fit() {
        assert_eq!(left(true, 1 << 30, 8 << 30, None), Ok((4 << 30) - (8 << 20)));
        let refused = left(true, 1 << 40, 8 << 30, None).unwrap_err();
        assert_eq!(
            refused,
            "verify keeps a number for each 512 bytes: 8GiB of memory for 1TiB of targets, and at most 4GiB (half of \
             the memory) may be used; use --size 256GiB or less"
        );
    }
}
