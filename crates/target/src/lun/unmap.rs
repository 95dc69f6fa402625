//! Whether the blocks of a LUN can be unmapped, and within which limits (SBC-4: READ CAPACITY(16), VPD pages B0, B2).

use assay_iscsi::scsi::{BlockLimits, BlockProvisioning, Capacity};

/// Limits of the trims of a LUN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnmapLimits {
    /// Largest trim, bytes.
    pub bytes_max: u64,
    /// Unit in which the target frees blocks, bytes; at least a logical block.
    pub granularity_bytes: u64,
    /// Number of ranges in one command, at least 1.
    pub ranges_max: u32,
}

/// Returns the limits, or the reason why blocks cannot be unmapped. `limits` and `page` are `None` if the target lacks
/// these VPD pages.
pub fn unmap_limits(
    capacity: &Capacity,
    limits: Option<BlockLimits>,
    page: Option<BlockProvisioning>,
) -> Result<UnmapLimits, &'static str> {
    if !capacity.thin {
        return Err("the LUN is not thin provisioned (LBPME is 0 in READ CAPACITY(16))");
    }
    if !page.is_some_and(|page| page.unmap) {
        return Err("the target does not support UNMAP (LBPU is not set in VPD page B2)");
    }
    let limits = limits.unwrap_or_default();
    if limits.unmap_blocks_max == 0 || limits.unmap_ranges_max == 0 {
        return Err("the target reports no size for UNMAP (VPD page B0)");
    }
    let granularity = u64::from(limits.unmap_granularity_blocks.max(1));
    if !u64::from(limits.unmap_alignment_blocks).is_multiple_of(granularity) {
        return Err(
            "its unmap granularity does not begin at block 0 (VPD page B0), where Assay's offsets do",
        );
    }
    let block = u64::from(capacity.block_bytes);
    Ok(UnmapLimits {
        bytes_max: u64::from(limits.unmap_blocks_max) * block,
        granularity_bytes: granularity * block,
        ranges_max: limits.unmap_ranges_max,
    })
}

#[cfg(test)]
mod tests {
    use assay_iscsi::scsi::Provisioning;

    use super::*;

    #[test]
    fn each_reason_why_a_lun_cannot_be_trimmed_is_named() {
        let capacity = Capacity { blocks: 1 << 20, block_bytes: 512, thin: true, ..Capacity::default() };
        let page = BlockProvisioning { provisioning: Provisioning::Thin, unmap: true };
        let limits = BlockLimits {
            unmap_blocks_max: 2048,
            unmap_ranges_max: 4,
            unmap_granularity_blocks: 8,
            unmap_alignment_blocks: 16,
            ..BlockLimits::default()
        };
        let good = UnmapLimits { bytes_max: 1 << 20, granularity_bytes: 4096, ranges_max: 4 };
        assert_eq!(unmap_limits(&capacity, Some(limits), Some(page)), Ok(good));
        let refused = |capacity, limits, page| unmap_limits(&capacity, limits, page).unwrap_err();
        let full = Capacity { thin: false, ..capacity };
        assert!(refused(full, Some(limits), Some(page)).contains("LBPME"));
        assert!(refused(capacity, Some(limits), None).contains("LBPU"));
        let without = BlockProvisioning { unmap: false, ..page };
        assert!(refused(capacity, Some(limits), Some(without)).contains("LBPU"));
        assert!(refused(capacity, None, Some(page)).contains("no size"));
        let none = BlockLimits { unmap_blocks_max: 0, ..limits };
        assert!(refused(capacity, Some(none), Some(page)).contains("no size"));
        let shifted = BlockLimits { unmap_alignment_blocks: 4, ..limits };
        assert!(refused(capacity, Some(shifted), Some(page)).contains("block 0"));
        let unknown = BlockLimits { unmap_granularity_blocks: 0, unmap_alignment_blocks: 0, ..limits };
        let one_block = unmap_limits(&capacity, Some(unknown), Some(page)).unwrap();
        assert_eq!(one_block.granularity_bytes, 512, "no granularity is reported");
    }
}
