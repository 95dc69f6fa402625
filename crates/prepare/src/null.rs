//! `null:`, the target that measures the tester itself. It needs no inspection, fill or close.

use assay_record::{Content, MemberFacts, MemberKind, TargetFacts};
use assay_spec::Address;
use assay_target::Member;

/// A null target.
pub(crate) struct NullTarget {
    pub(crate) facts: TargetFacts,
}

pub(crate) fn inspect(address: &Address, capacity_bytes: u64) -> NullTarget {
    let member = MemberFacts {
        kind: MemberKind::Null,
        capacity_bytes,
        span_bytes: capacity_bytes,
        block_bytes: 512,
        engine: assay_spec::Engine::Null,
        content: Content::None,
        ..MemberFacts::default()
    };
    NullTarget { facts: TargetFacts { address: address.to_string(), member } }
}

impl NullTarget {
    pub(crate) fn member(&self) -> Member {
        Member::Null { capacity_bytes: self.facts.member.capacity_bytes }
    }
}
