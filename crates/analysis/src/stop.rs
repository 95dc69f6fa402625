//! Whether a measured window has lasted long enough for a figure to be known well enough.
//!
//! An interval that is looked at again and again is narrow by luck sooner or later. So it is looked at rarely (each
//! look a tenth later than the one before), and it has to be narrow enough at three looks in a row. docs/method.md has
//! the share of simulated runs whose stated interval holds the true rate.
//!
//! A noise that wanders slowly looks like a level for as long as it takes to come back, and an interval from such a
//! window is far too narrow. So the window also has to last many times the memory of the noise.

use assay_spec::{Figure, Goal, Tolerance};
use assay_statistics::correlation_time;

use crate::precision::Window;
use crate::series::Point;
use crate::summary::OpSummary;

/// Each look comes so many times later than the one before.
const LOOK_RATIO: f64 = 1.1;
/// A window lasts at least so many autocorrelation times of its noise before its interval is believed. The time itself
/// is estimated from the window, too short in short ones: with 30, simulated runs of slow noise stated intervals that
/// held the rate in 65 %, with 50 in more than 90 % (docs/method.md).
const MEMORIES_MIN: f64 = 50.0;
/// Looks in a row at which the interval has to be narrow enough.
const LOOKS: usize = 3;

/// Whether the interval of a figure is tight enough after these seconds, and was at the two looks before; `false`
/// between two looks. The interval is the one that tables print ([`Window`]).
pub(crate) fn is_within(tolerance: Tolerance, points: &[Point], total: &OpSummary) -> bool {
    let is_tight = |seconds: &usize| {
        let window = Window::new(&points[..*seconds], total);
        let width = window.of(tolerance.figure).and_then(|estimate| estimate.half_width());
        let memory = memory_s(tolerance.figure, &window);
        width.is_some_and(|width| width <= tolerance.share)
            && memory.is_some_and(|memory| needed_s(memory) <= *seconds as f64)
    };
    last_looks(points.len()).is_some_and(|looks| looks.iter().rev().all(is_tight))
}

/// The looks that decide after so many seconds, the last of them now; `None` where there is no look now, or too few
/// before it.
fn last_looks(seconds: usize) -> Option<[usize; LOOKS]> {
    let mut look = usize::try_from(Goal::FIRST_LOOK.0 / 1_000_000_000).unwrap_or(usize::MAX);
    let mut looks = [0; LOOKS];
    while look <= seconds {
        looks.rotate_left(1);
        looks[LOOKS - 1] = look;
        look = next_look(look);
    }
    (looks[0] > 0 && looks[LOOKS - 1] == seconds).then_some(looks)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of seconds")]
fn next_look(look: usize) -> usize {
    (look as f64 * LOOK_RATIO).ceil() as usize
}

/// How long a window has to last for noise of such a memory, s.
pub(crate) fn needed_s(memory_s: f64) -> f64 {
    memory_s * MEMORIES_MIN
}

/// Autocorrelation time of the seconds that a figure is judged by, s; 1 where seconds do not depend on each other.
pub(crate) fn memory_s(figure: Figure, window: &Window<'_>) -> Option<f64> {
    let seconds = window.seconds_of(figure)?;
    (!seconds.is_empty()).then(|| correlation_time(&seconds))
}

#[cfg(test)]
mod tests {
    use assay_statistics::mean;
    use assay_statistics::window::of_mean;

    use super::*;

    /// `until = "p90:5%"` stopped by the scatter of p99, and the report printed a wider interval.
    #[test]
    fn a_run_never_stops_by_an_interval_that_is_narrower_than_the_printed_one() {
        let mut service = assay_record::Latency::default();
        (1..=100_000_u64).for_each(|us| service.record(us * 100));
        let total = OpSummary { ops: 100_000, iops: 1000.0, service, ..OpSummary::default() };
        for seed in 0..200 {
            let mut points = noisy(seed, 25, 0.0);
            let wild = noisy(seed + 1000, 25, 0.0);
            for (point, other) in points.iter_mut().zip(&wild) {
                // The median scatters more than p99.
                let median = 5000.0 * (other.iops / 1000.0).powi(3);
                (point.mean_us, point.p50_us, point.p99_us) = (Some(5000.0), Some(median), Some(9900.0));
            }
            let window = Window::new(&points, &total);
            for figure in [Figure::Iops, Figure::P50, Figure::P90, Figure::P95, Figure::P99] {
                let Some(printed) = window.of(figure).and_then(|of| of.half_width()) else { continue };
                let tolerance = Tolerance { figure, share: printed * 0.999 };
                assert!(!is_within(tolerance, &points, &total), "{seed} {figure:?} {printed}");
            }
        }
    }

    #[test]
    fn looks_come_a_tenth_later_each() {
        assert_eq!((last_looks(20), last_looks(22), last_looks(24)), (None, None, None));
        assert_eq!((last_looks(25), last_looks(26)), (Some([20, 22, 25]), None));
    }

    /// Seconds of a steady rate of 1000 whose noise of 5 % remembers this share of the second before.
    fn noisy(seed: u64, seconds: u32, memory: f64) -> Vec<Point> {
        let mut state = (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut last = 0.0;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let uniform = (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0;
            last = memory * last + 0.087 * (1.0 - memory * memory).sqrt() * uniform;
            1000.0 * (1.0 + last)
        };
        // The first seconds forget where the recursion began.
        (0..50).for_each(|_| _ = next());
        let point = |t_s: u32| Point {
            t_s: f64::from(t_s),
            iops: next(),
            mib_per_s: 1.0,
            mean_us: None,
            p50_us: None,
            p99_us: None,
            waited: None,
            errors: 0,
        };
        (1..=seconds).map(point).collect()
    }

    /// Simulated runs of each memory; of those whose noise wanders for 19 s, many do not stop at all.
    #[test]
    fn a_run_that_stopped_at_two_percent_states_an_interval_that_holds_the_true_rate() {
        let tolerance: Tolerance = "2%".parse().unwrap();
        for (memory, seconds, runs, least) in
            [(0.0, 600, 200, 190), (0.5, 900, 200, 180), (0.8, 1500, 100, 90), (0.9, 2500, 60, 50)]
        {
            let (mut held, mut stopped) = (0, 0);
            for seed in 0..runs {
                let points = noisy(seed, seconds, memory);
                let total = OpSummary { iops: 1000.0, ..OpSummary::default() };
                let end = (20..=points.len()).find(|n| is_within(tolerance, &points[..*n], &total));
                let Some(end) = end else { continue };
                stopped += 1;
                let values: Vec<f64> = points[..end].iter().map(|p| p.iops).collect();
                let width = of_mean(mean(&values), &values).half_width().unwrap();
                held += i32::from((mean(&values) - 1000.0).abs() <= width * mean(&values));
            }
            let share = f64::from(held) / f64::from(stopped);
            println!("memory {memory}: {stopped} of {runs} stopped, {share:.3} of them hold the rate");
            assert!(stopped >= least && share >= 0.9, "memory {memory}: {stopped} stopped, {share}");
        }
    }
}
