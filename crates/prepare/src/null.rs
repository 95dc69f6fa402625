//! `null:`, the target that measures the tester itself. It needs no inspection, fill or close.

use assay_record::{Content, MemberFacts, MemberKind, TargetFacts};
use assay_spec::Address;
use assay_target::Member;

use crate::context::InspectContext;
use crate::error::PrepareError;
use crate::span;

/// A null target.
pub(crate) struct NullTarget {
    pub(crate) facts: TargetFacts,
}

/// Inspects a null target. It is as large as its address says, and the plan uses as much of it as of any device, so
/// that the positions are those of the same plan on a disk.
pub(crate) fn inspect(
    context: &InspectContext<'_>,
    address: &Address,
    capacity_bytes: u64,
) -> Result<NullTarget, PrepareError> {
    let span_bytes = span::of_device(context, &address.to_string(), capacity_bytes)?;
    let member = MemberFacts {
        kind: MemberKind::Null,
        capacity_bytes,
        span_bytes,
        block_bytes: 512,
        engine: assay_spec::Engine::Null,
        content: Content::None,
        ..MemberFacts::default()
    };
    Ok(NullTarget { facts: TargetFacts { address: address.to_string(), member } })
}

impl NullTarget {
    pub(crate) fn member(&self) -> Member {
        Member::Null { capacity_bytes: self.facts.member.span_bytes }
    }
}
