//! Links: at their ceiling, or not spread over.

use super::Fired;
use crate::case::Case;
use crate::finding::{Evidence, Severity};

/// A rate within these shares of a ceiling is at the ceiling.
pub(super) const CEILING_MIN: f64 = 0.92;
pub(super) const CEILING_MAX: f64 = 1.02;
/// With several paths, a rate within these shares of one of them shows that they do not share.
const ONE_PATH: std::ops::RangeInclusive<f64> = 0.95..=1.30;

/// The rate is what a whole number of paths carries, or what one of several carries.
pub(super) fn link(case: &Case) -> Option<Fired> {
    let load = case.load.as_ref()?;
    let facts = &load.facts;
    if !facts.path_mb_s.is_finite() || (load.read_pct() > 0.0 && load.read_pct() < 100.0) {
        return None;
    }
    let rate = load.mb_s(case.measured.iops);
    let of_one = rate / facts.path_mb_s;
    let name = load.array.link.rate.name();
    let evidence = vec![
        Evidence::new("measured", rate, "MB/s"),
        Evidence::new("ceiling of one path", facts.path_mb_s, "MB/s"),
    ];
    if facts.paths > 1.0 && ONE_PATH.contains(&of_one) {
        return Some(Fired {
            severity: Severity::Warning,
            says: format!(
                "round robin does not spread the load: {rate:.1} MB/s is {of_one:.2} times what one of {:.0} {name} \
                 paths sustains ({:.1} MB/s). At {:.0} I/Os per turn and this queue depth, it keeps {:.2} paths busy.",
                facts.paths, facts.path_mb_s, load.array.paths.rr_ios.value, facts.paths_spread
            ),
            evidence,
            next: "Switch paths after every I/O (rr_ios=1), or raise the queue depth.",
            weight: 0.0,
        });
    }
    let full = (1..=64)
        .map(f64::from)
        .take_while(|k| *k <= facts.paths)
        .find(|k| (CEILING_MIN..=CEILING_MAX).contains(&(of_one / k)))?;
    let paths = if full == 1.0 { format!("one {name} path") } else { format!("{full:.0} {name} paths") };
    Some(Fired {
        severity: Severity::Info,
        says: format!(
            "{paths} limit{} it: {:.0} % of {:.1} MB/s.",
            if full == 1.0 { "s" } else { "" },
            of_one / full * 100.0,
            facts.path_mb_s * full
        ),
        evidence,
        next: "",
        weight: 0.0,
    })
}
