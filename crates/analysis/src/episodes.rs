//! When something happened within the measured window of a step: what a chart over time marks, and a finding leads to.

use std::collections::BTreeMap;

use assay_record::{GapKind, PathMoment};
use assay_statistics::shape::{Change, Shape, shape_with};

use crate::figures::whole;
use crate::series::Point;
use crate::summary::{Load, StepSummary};
use crate::timeline::TimelineSample;

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

/// Longest time that a sample of the host says something of, s.
const SAMPLE_S: f64 = 1.5;

/// Returns what happened in the window of a step, by kind.
pub fn episodes(step: &StepSummary) -> Vec<Episode> {
    let mut found = gaps(step);
    found.extend(outages(&step.path_moments, step.seconds));
    found.extend(paths(&step.path_moments));
    found.extend(rebuilds(&step.timeline.samples, step.seconds));
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

/// Times in which a path was down, from the first worker that lost it to the last that has it again.
fn outages(moments: &[PathMoment], window_s: f64) -> Vec<Episode> {
    let mut found: Vec<(Episode, bool)> = Vec::new();
    for moment in moments {
        let at_s = moment.since_window_ns as f64 / 1e9;
        // Of several hosts each moment begins with its host.
        let parts = moment.says.split_once("path ").filter(|(of, _)| of.is_empty() || of.ends_with(": "));
        let number = parts.and_then(|(of, rest)| Some((of, rest.split([' ', ':']).next()?)));
        let Some((of, number)) = number else { continue };
        let says = format!("{of}path {number} was down");
        let is_up = moment.says.ends_with(" is up");
        let is_down = moment.says.contains(" went down") || moment.says.contains(" is still down");
        let last = found.iter_mut().rev().find(|(known, _)| known.says == says);
        match last {
            Some((known, has_end)) if is_up && (!*has_end || at_s - known.to_s < SAME_S) => {
                (known.to_s, *has_end) = (at_s, true);
            }
            // What other workers say of the same moment, or of a path that has not come back.
            Some((known, has_end)) if is_down && (!*has_end || at_s - known.to_s < SAME_S) => {}
            _ if is_down => {
                let episode = Episode { rule: "path", says, from_s: at_s, to_s: window_s.max(at_s) };
                found.push((episode, false));
            }
            _ => {}
        }
    }
    found.truncate(EPISODES_MAX);
    found.into_iter().map(|(episode, _)| episode).collect()
}

/// Returns the member of which no path was up for longest, of those that `is_asked`, and for how long, s: from the
/// first worker that lost the last path to the first that had one again.
pub(crate) fn longest_without_path(
    step: &StepSummary,
    is_asked: impl Fn(&str) -> bool,
) -> Option<(&str, f64)> {
    let mut down_s: BTreeMap<&str, f64> = BTreeMap::new();
    let mut since_s: BTreeMap<&str, f64> = BTreeMap::new();
    for moment in step.path_moments.iter().filter(|moment| is_asked(&moment.member)) {
        let (member, at_s) = (moment.member.as_str(), moment.since_window_ns as f64 / 1e9);
        if moment.says.contains("all paths are down") || moment.says.contains("all connections are down") {
            since_s.entry(member).or_insert(at_s);
        } else if moment.says.ends_with(" is up")
            && let Some(since_s) = since_s.remove(member)
        {
            *down_s.entry(member).or_default() += at_s - since_s;
        }
    }
    for (member, since_s) in since_s {
        *down_s.entry(member).or_default() += (step.seconds - since_s).max(0.0);
    }
    down_s.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))
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

/// Times of the window in which software RAIDs under the targets were rebuilt or checked.
fn rebuilds(samples: &[TimelineSample], window_s: f64) -> Vec<Episode> {
    let mut found: Vec<Episode> = Vec::new();
    let mut before_s = f64::NEG_INFINITY;
    for sample in samples {
        // The first sample has none before it; they are a second long.
        let from_s = before_s.max(sample.t_s - SAMPLE_S);
        for (device, action) in &sample.rebuilds {
            let does = match action.as_str() {
                "recover" => "rebuilt",
                "resync" => "synchronised",
                "reshape" => "reshaped",
                _ => "checked",
            };
            let says = format!("{device} was {does}");
            match found.iter_mut().find(|known| known.says == says && known.to_s >= from_s - SAMPLE_S) {
                Some(known) => known.to_s = sample.t_s,
                None => found.push(Episode { rule: "raid-busy", says, from_s, to_s: sample.t_s }),
            }
        }
        before_s = sample.t_s;
    }
    found.retain(|episode| episode.to_s > 0.0 && episode.from_s < window_s);
    for episode in &mut found {
        (episode.from_s, episode.to_s) = (episode.from_s.max(0.0), episode.to_s.min(window_s));
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
    fn a_path_is_down_from_its_first_loss_until_it_is_up_for_all_workers() {
        let moment = |ms: u64, says: &str| PathMoment {
            since_window_ns: ms * 1_000_000,
            member: "iscsi://nas/t/1".to_owned(),
            says: says.to_owned(),
        };
        let moments = [
            moment(4_000, "path 1 went down: connection reset; 3 I/Os move to other paths"),
            moment(4_010, "path 1 went down: connection reset; 2 I/Os move to other paths"),
            moment(6_000, "path 1 is still down: no route to host"),
            moment(9_000, "path 1 (10.0.1.1) is up"),
            moment(9_200, "path 1 (10.0.1.1) is up"),
            moment(15_000, "path 0 went down: timed out; 1 I/Os move to other paths"),
            moment(16_000, "the LUN was reset"),
            moment(17_000, "b: path 1 went down: connection reset; 3 I/Os move to other paths"),
            moment(18_000, "b: path 1 (10.0.1.1) is up"),
        ];
        let found: Vec<(f64, f64, String)> =
            outages(&moments, 20.0).into_iter().map(|of| (of.from_s, of.to_s, of.says)).collect();
        let expected = [
            (4.0, 9.2, "path 1 was down".to_owned()),
            (15.0, 20.0, "path 0 was down".to_owned()),
            (17.0, 18.0, "b: path 1 was down".to_owned()),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_rebuild_has_the_seconds_in_which_the_raid_was_busy() {
        let sample = |t_s: f64| {
            let action = match t_s {
                t if (9.0..14.0).contains(&t) => Some("recover"),
                t if t >= 18.0 => Some("check"),
                _ => None,
            };
            let rebuilds = action.map(|action| ("md0".to_owned(), action.to_owned()));
            TimelineSample { t_s, rebuilds: rebuilds.into_iter().collect(), ..TimelineSample::default() }
        };
        let samples: Vec<TimelineSample> = (-2..25).map(|second| sample(f64::from(second))).collect();
        let found: Vec<(f64, f64, String)> =
            rebuilds(&samples, 20.0).into_iter().map(|of| (of.from_s, of.to_s, of.says)).collect();
        let expected =
            [(8.0, 13.0, "md0 was rebuilt".to_owned()), (17.0, 20.0, "md0 was checked".to_owned())];
        assert_eq!(found, expected);
        assert!(rebuilds(&samples, 5.0).is_empty(), "it was idle in that window");
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
