//! Memory limit of a run: a tester that swaps measures its own swapping.

use assay_record::HostFacts;
use assay_spec::Plan;
use assay_spec::units::Bytes;
use assay_target::stamp;

use crate::error::PrepareError;

/// Memory assumed if the system does not report any, bytes.
const UNKNOWN_BYTES: u64 = 1 << 30;

/// Returns the memory for I/O buffers, bytes: half of what this process may use, less the stamps of verify mode.
pub(crate) fn left_for_buffers(
    plan: &Plan,
    span_bytes: &[u64],
    host: &HostFacts,
) -> Result<u64, PrepareError> {
    let limits = host.cgroup_memory_bytes.into_iter().chain([host.memory_bytes]);
    let most = limits.filter(|bytes| *bytes > 0).min().unwrap_or(UNKNOWN_BYTES) / 2;
    if !plan.verifies() {
        return Ok(most);
    }
    let (targets, span_bytes) = (span_bytes.len() as u64, span_bytes.iter().sum());
    let stamps = stamp::memory_for_span(span_bytes);
    most.checked_sub(stamps).ok_or_else(|| PrepareError::StampMemory {
        span: Bytes(span_bytes),
        stamps: Bytes(stamps),
        most: Bytes(most),
        size: Bytes(stamp::span_for_memory(most) / targets / 2 / GRAIN * GRAIN),
    })
}

/// Granularity of sizes in messages, which is easier to type; half of the exact value leaves room for the buffers.
const GRAIN: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use assay_spec::{Overrides, PlanFile};

    fn left(verify: bool, span: u64, memory_bytes: u64, cgroup: Option<u64>) -> Result<u64, String> {
        let text = format!("[[test]]\nname = \"t\"\naccess = [{{ size = 4096 }}]\nverify = {verify}\n");
        let plan = PlanFile::parse("p", &text).unwrap().resolve(&Overrides::default()).unwrap();
        let host = HostFacts { memory_bytes, cgroup_memory_bytes: cgroup, ..HostFacts::default() };
        left_for_buffers(&plan, &[span], &host).map_err(|e| e.to_string())
    }

    #[test]
    fn half_of_the_memory_limit_is_for_buffers() {
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
    fn stamps_reduce_it_and_are_refused_if_they_do_not_fit() {
        assert_eq!(left(true, 1 << 30, 8 << 30, None), Ok((4 << 30) - (8 << 20)));
        let refused = left(true, 1 << 40, 8 << 30, None).unwrap_err();
        assert_eq!(
            refused,
            "verify keeps 4 bytes of memory for each 512 bytes of target: 8GiB for 1TiB; it may use at most 4GiB \
             (half of the memory): use --size 256GiB or less"
        );
    }
}
