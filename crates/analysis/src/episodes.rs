//! When something happened within the measured window of a step: what a chart over time marks, and a finding leads to.

use assay_record::{GapKind, PathMoment};
use assay_statistics::shape::{Change, Shape, shape_with};

use crate::figures::whole;
use crate::series::Point;
use crate::summary::{Load, StepSummary};

/// A stretch of a measured window.
#[derive(Debug, Clone, PartialEq)]
pub struct Episode {
    /// Rule of the finding that it belongs to.
    pub rule: &'static str,
    /// What happened.
    pub says: String,
    /// Its start, s since the window began.
    pub from_s: f64,
    /// Its end.
    pub to_s: f64,
}

/// Most episodes of one kind; a step that stalls every other second has its longest.
const EPISODES_MAX: usize = 8;

/// Moments of the same words that are this close are one, s.
const SAME_S: f64 = 3.0;

/// Returns what happened in the window of a step, by kind.
#[must_use]
pub fn episodes(step: &StepSummary) -> Vec<Episode> {
    let mut found = gaps(step);
    found.extend(paths(&step.path_moments));
    found.extend(runs_of(&step.series, "stalled", "no I/O completed", |ios, _| ios <= 0.0));
    found.extend(runs_of(&step.series, "errors", "I/Os failed", |_, errors| errors > 0));
    // A gap of the tester looks like a level of the storage; a load at a rate of the plan shows its shape elsewhere.
    if step.gap_s() <= 0.0 && matches!(step.load, Load::Closed | Load::Mixed) {
        found.extend(levels(&step.series));
    }
    found
}

/// Times in which the tester itself did not run.
fn gaps(step: &StepSummary) -> Vec<Episode> {
    let gap = |gap: &assay_record::Gap| {
        let from_s = gap.since_window_ns? as f64 / 1e9;
        let says = match gap.kind {
            GapKind::Stopped => "the tester was stopped",
            GapKind::Suspended => "the machine was suspended",
            GapKind::Starved => "the tester got no CPU",
            GapKind::Paused => "the tester was paused",
            GapKind::ClockForward | GapKind::ClockBack => return None,
        };
        let to_s = from_s + gap.length_ns as f64 / 1e9;
        (to_s > 0.0).then(|| Episode {
            rule: "gap-in-window",
            says: says.to_owned(),
            from_s: from_s.max(0.0),
            to_s,
        })
    };
    step.gaps.iter().filter_map(gap).collect()
}

/// Moments of paths. Workers have sessions of their own, which say the same within moments.
fn paths(moments: &[PathMoment]) -> Vec<Episode> {
    let mut found: Vec<Episode> = Vec::new();
    for moment in moments {
        let at_s = moment.since_window_ns as f64 / 1e9;
        let is_same = |known: &Episode| known.says == moment.says && at_s - known.to_s < SAME_S;
        match found.iter_mut().find(|known| is_same(known)) {
            Some(known) => known.to_s = at_s,
            None => found.push(Episode { rule: "path", says: moment.says.clone(), from_s: at_s, to_s: at_s }),
        }
    }
    found.truncate(EPISODES_MAX);
    found
}

/// Whole seconds in a row for which something holds, the longest first.
fn runs_of(
    series: &[Point],
    rule: &'static str,
    says: &str,
    holds: impl Fn(f64, u64) -> bool,
) -> Vec<Episode> {
    let mut found: Vec<Episode> = Vec::new();
    let mut last_s = 0.0;
    for point in series {
        if holds(point.iops, point.errors) {
            match found.last_mut().filter(|episode| episode.to_s >= last_s) {
                Some(episode) => episode.to_s = point.t_s,
                None => found.push(Episode { rule, says: says.to_owned(), from_s: last_s, to_s: point.t_s }),
            }
        }
        last_s = point.t_s;
    }
    found.sort_by(|a, b| (b.to_s - b.from_s).total_cmp(&(a.to_s - a.from_s)));
    found.truncate(EPISODES_MAX);
    found
}

/// Levels of the rate of a closed load, from the second one on; where it rises or falls throughout, all of the window.
fn levels(series: &[Point]) -> Vec<Episode> {
    let points: Vec<&Point> = series.iter().filter(|point| point.t_s.fract() < 1e-6).collect();
    let rates: Vec<f64> = points.iter().map(|point| point.iops).collect();
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return Vec::new() };
    let began = |at: usize| points.get(at).map_or(last.t_s, |point| point.t_s - 1.0).max(0.0);
    let episode = |rule, says: String, from_s, to_s| Episode { rule, says, from_s, to_s };
    let to = |from: f64, to: f64| format!("{} to {} IOPS", whole(from), whole(to));
    match shape_with(&rates, &[]) {
        Some(Shape::Ramp(change)) => {
            vec![episode(
                "ramp-up",
                to(change.before, change.after),
                (first.t_s - 1.0).max(0.0),
                began(change.at),
            )]
        }
        Some(Shape::Drift { from, to: end }) => {
            vec![episode("drift", to(from, end), (first.t_s - 1.0).max(0.0), last.t_s)]
        }
        Some(Shape::Steps(changes)) => {
            let ends = changes.iter().skip(1).map(|change| began(change.at)).chain([last.t_s]);
            let level = |(change, end): (&Change, f64)| {
                episode("level-change", to(change.before, change.after), began(change.at), end)
            };
            changes.iter().zip(ends).map(level).collect()
        }
        Some(Shape::Steady | Shape::SawTooth { .. }) | None => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(rates: &[f64]) -> Vec<Point> {
        let point = |(second, iops): (u32, &f64)| Point {
            t_s: f64::from(second),
            iops: *iops,
            mib_per_s: 0.0,
            mean_us: None,
            p50_us: None,
            p99_us: None,
            waited: None,
            errors: 0,
        };
        (1..).zip(rates).map(point).collect()
    }

    #[test]
    fn what_happened_to_a_path_has_its_moment_once_for_all_workers() {
        let moment = |ms: u64, says: &str| PathMoment {
            since_window_ns: ms * 1_000_000,
            member: "iscsi://nas/t/1".to_owned(),
            says: says.to_owned(),
        };
        let moments = [
            moment(4_000, "path 1 went down"),
            moment(4_010, "path 1 went down"),
            moment(9_000, "path 1 (10.0.1.1) is up"),
            moment(12_000, "path 1 went down"),
        ];
        let found: Vec<(f64, String)> =
            paths(&moments).into_iter().map(|episode| (episode.from_s, episode.says)).collect();
        let down = "path 1 went down".to_owned();
        assert_eq!(found, [(4.0, down.clone()), (9.0, "path 1 (10.0.1.1) is up".to_owned()), (12.0, down)]);
    }

    #[test]
    fn a_stall_and_a_change_of_the_level_have_their_seconds() {
        let mut rates = vec![1000.0; 30];
        rates[10..13].fill(0.0);
        let stall = runs_of(&series(&rates), "stalled", "", |ios, _| ios <= 0.0).remove(0);
        assert_eq!((stall.rule, stall.from_s, stall.to_s), ("stalled", 10.0, 13.0));
        let rates: Vec<f64> =
            (0..60).map(|n| if n < 40 { 1000.0 } else { 400.0 } + f64::from(n % 3)).collect();
        let found = levels(&series(&rates));
        let level = &found[0];
        assert_eq!(
            (found.len(), level.rule, level.from_s, level.to_s),
            (1, "level-change", 40.0, 60.0),
            "{level:?}"
        );
        assert!(levels(&series(&[1000.0; 60])).is_empty());
    }
}
