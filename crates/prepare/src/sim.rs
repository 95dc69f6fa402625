//! `sim:ARRAY`, a simulated array, which the caller that runs the plan opens. It needs no fill or close.

use assay_record::{Content, MemberFacts, MemberKind, TargetFacts};
use assay_spec::units::GIB;
use assay_spec::{Address, Span};
use assay_target::{Member, SimulatedMember};

use crate::context::InspectContext;
use crate::placement::placement;
use crate::span;

/// Size of the used part of a simulated array if the plan gives none, bytes.
const SPAN_BYTES: u64 = 4 * GIB;

/// A LUN of a simulated array.
pub(crate) struct SimTarget {
    pub(crate) facts: TargetFacts,
    member: SimulatedMember,
}

/// Inspects a simulated LUN. `lun` is its index on the command line.
pub(crate) fn inspect(context: &InspectContext<'_>, lun: u32, address: &Address, array: &str) -> SimTarget {
    let span_bytes = match context.plan.span {
        Span::Whole => SPAN_BYTES,
        Span::Size(size) => span::asked_bytes(size, context.host),
    };
    let mut member = MemberFacts {
        kind: MemberKind::Simulated,
        capacity_bytes: span_bytes,
        span_bytes,
        block_bytes: 512,
        engine: assay_spec::Engine::Sim,
        content: Content::None,
        ..MemberFacts::default()
    };
    member.placement = placement(&member, None);
    SimTarget {
        facts: TargetFacts { address: address.to_string(), member },
        member: SimulatedMember { array: array.to_owned(), lun, span_bytes, flush_every: None },
    }
}

impl SimTarget {
    pub(crate) fn member(&self) -> Member {
        Member::Simulated(self.member.clone())
    }
}
