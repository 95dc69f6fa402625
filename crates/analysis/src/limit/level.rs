//! What a change of the rate between two levels says of the limit. The finding `level-change` has the same change with
//! all that may lie behind it; here counts what physics ties to a limit.

use super::{Certainty, LimitKind, Suspect};
use crate::rules::{Behind, StepCase, figure, level_of_rate};
use assay_statistics::shape::Change;

/// Returns the limit that a change of level shows; `None` where the rate has one level, or the reason is open.
pub(super) fn level(case: StepCase<'_>) -> Option<Suspect> {
    let (change, behind) = level_of_rate(case)?;
    let (kind, limit, certainty) = match behind {
        // The same second in two independent series is no chance.
        Behind::Others(_) => (LimitKind::Neighbour, "other load on the same disks", Certainty::Shown),
        Behind::Foreign(_) => {
            (LimitKind::Neighbour, "other load on the same disks", Certainty::ByElimination)
        }
        Behind::Limit(_) => {
            (LimitKind::Credit, "a limit that holds once burst credit is used up", Certainty::ByElimination)
        }
        Behind::Written(_) => {
            (LimitKind::WriteCache, "a full write cache or fast write area", Certainty::ByElimination)
        }
        Behind::Faster | Behind::Slower => return None,
    };
    let limit = limit.to_owned();
    Some(Suspect { kind, limit, evidence: evidence(&change, behind), certainty })
}

fn evidence(change: &Change, behind: Behind) -> String {
    let verb = if change.after < change.before { "fell" } else { "rose" };
    let (before, after) = (figure(change.before), figure(change.after));
    let moved = format!("the rate {verb} from {before} to {after} IOPS at second {}", change.at);
    match behind {
        Behind::Others(others) => {
            let (from, to) = (figure(others.before.max(0.0)), figure(others.after.max(0.0)));
            format!("{moved}, when other programs went from {from} to {to} MiB/s")
        }
        Behind::Foreign(share) => {
            format!("{moved}, and other programs caused {:.0} % of the disk traffic", share * 100.0)
        }
        Behind::Limit(spread) => format!("{moved} and varies by {:.1} % since", spread * 100.0),
        Behind::Written(gib) => format!("{moved}, after {gib:.1} GiB"),
        Behind::Faster | Behind::Slower => moved,
    }
}
