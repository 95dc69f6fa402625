//! About single paths of a target.

use assay_record::PathEnd;

use super::{Fired, StepCase};
use crate::finding::{Evidence, Severity};

/// Share of the measured window for which a path takes nothing that is worth saying, and that is worth a warning.
const UNABLE_SHARE: f64 = 0.01;
const UNABLE_SHARE_GRAVE: f64 = 0.10;

/// A path that was up refused commands, or kept its command window closed.
pub(super) fn refusing_path(case: StepCase<'_>) -> Option<Fired> {
    let paths = &case.step.paths;
    let unable_s = |path: &PathEnd| path.unable_ns as f64 / 1e9;
    let worst = paths.iter().max_by(|a, b| unable_s(a).total_cmp(&unable_s(b)))?;
    let share = unable_s(worst) / case.step.seconds;
    if !share.is_finite() || share < UNABLE_SHARE {
        return None;
    }
    let of_job = || paths.iter().filter(|path| path.job == worst.job && path.member == worst.member);
    let all: u64 = of_job().map(PathEnd::ops).sum();
    let how = match worst.refused {
        0 => "kept its command window closed".to_owned(),
        refused => format!("refused {refused} commands as busy or not ready"),
    };
    let rest = match (of_job().count(), worst.moved) {
        (1, _) => "no other path could take them".to_owned(),
        (_, moved) => {
            format!("{moved} I/Os moved to other paths, and this one completed {} of {all}", worst.ops())
        }
    };
    let others = match paths.iter().filter(|path| unable_s(path) / case.step.seconds >= UNABLE_SHARE).count()
    {
        0 | 1 => String::new(),
        count => format!(" It is the worst of {count} such paths."),
    };
    Some(Fired {
        severity: if share >= UNABLE_SHARE_GRAVE { Severity::Warning } else { Severity::Info },
        says: format!(
            "path {} ({}) was up and {how}: it took next to nothing for {:.1} of {:.1} s; {rest}.{others}",
            worst.path,
            worst.portal,
            unable_s(worst),
            case.step.seconds
        ),
        evidence: vec![
            Evidence::new("commands refused", worst.refused as f64, ""),
            Evidence::new("without I/O", unable_s(worst), "s"),
            Evidence::new("measured window", case.step.seconds, "s"),
            Evidence::new("I/Os moved", worst.moved as f64, ""),
            Evidence::new("I/Os over this path", worst.ops() as f64, ""),
        ],
        next: "Look at the target port of this path: its queue, its controller's load and its log (assay journal names \
               the times). The figures of this test are those of the other paths.",
        weight: share,
    })
}
