//! A distribution of times, nanoseconds.

use std::borrow::Cow;
use std::fmt;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use serde::{Deserialize, Serialize};

mod few;

use few::Few;

/// Longest latency with its own bucket, ns: 2^42, about 73 minutes. Longer ones count as this long in percentiles,
/// while mean and maximum stay exact.
const HIGHEST_NS: u64 = 1 << 42;
/// Significant decimal digits: buckets are at most 1/128 wide, so a percentile is within 0.4 % of the true value.
const DIGITS: u8 = 2;

/// A distribution of times, with percentiles from a histogram and exact count, mean, minimum and maximum.
///
/// Percentiles are never stored; each reader of a distribution computes them. Distributions merge exactly over workers,
/// hosts and time. One takes about 36 KiB.
pub struct Latency {
    times: Times,
    /// The stored form of one that was read, with the number of times in it: a coordinator passes on thousands a
    /// second, and to make it again costs more than all else that is done with them. Times are only ever added, or all
    /// cleared.
    read_as: Option<(u64, Box<str>)>,
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
    /// Number of times of which only count, sum and extremes are known, as in a table of another tool.
    unplaced: u64,
}

/// Where the times are.
#[derive(Debug)]
enum Times {
    /// None, in one that was read or copied, as most are: 1,000 hosts say thousands a second.
    None,
    /// In one that was read.
    Few(Few),
    Whole(Histogram<u64>),
}

impl Times {
    /// Returns the histogram, made if it is not there.
    #[inline]
    fn whole_mut(&mut self) -> &mut Histogram<u64> {
        if !matches!(self, Self::Whole(_)) {
            self.make_whole();
        }
        let Self::Whole(whole) = self else { unreachable!("it was made whole") };
        whole
    }

    #[cold]
    fn make_whole(&mut self) {
        *self = Self::Whole(match self {
            Self::Few(few) => few.whole(),
            _ => blank(),
        });
    }
}

fn blank() -> Histogram<u64> {
    Histogram::new_with_bounds(1, HIGHEST_NS, DIGITS).expect("the bounds are constants that fit each other")
}

impl Clone for Latency {
    fn clone(&self) -> Self {
        let times = match &self.times {
            Times::Few(few) => Times::Few(few.clone()),
            Times::Whole(whole) if !whole.is_empty() => Times::Whole(whole.clone()),
            // What holds nothing needs no memory.
            Times::None | Times::Whole(_) => Times::None,
        };
        let Self { sum_ns, min_ns, max_ns, unplaced, .. } = *self;
        Self { times, read_as: None, sum_ns, min_ns, max_ns, unplaced }
    }
}

/// Equal ones look alike, in whatever form their times are.
impl fmt::Debug for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Latency")
            .field("buckets", &self.buckets().collect::<Vec<_>>())
            .field("sum_ns", &self.sum_ns)
            .field("min_ns", &self.min_ns)
            .field("max_ns", &self.max_ns)
            .field("unplaced", &self.unplaced)
            .finish()
    }
}

impl PartialEq for Latency {
    fn eq(&self, other: &Self) -> bool {
        let sums = |of: &Self| (of.sum_ns, of.min_ns, of.max_ns, of.unplaced);
        let is_alike = match (self.placed(), other.placed()) {
            (Some(own), Some(others)) => own == others,
            (own, others) => own.is_none() && others.is_none(),
        };
        is_alike && sums(self) == sums(other)
    }
}

impl Default for Latency {
    fn default() -> Self {
        let times = Times::Whole(blank());
        Self { times, read_as: None, sum_ns: 0, min_ns: u64::MAX, max_ns: 0, unplaced: 0 }
    }
}

impl Latency {
    /// Memory of one distribution, bytes, rounded up.
    pub const BYTES: u64 = 40 << 10;
    /// Most times that one distribution counts; more are not counted. At a million a second that is nine years, and
    /// 2^15 full distributions can be merged before a bucket exceeds what HdrHistogram's stored form can hold.
    pub const COUNT_MAX: u64 = 1 << 48;

    /// Returns times of another tool of which only count, mean and extremes are known. It has no percentiles. A mean of
    /// 0 and a maximum of 0 are unknown.
    pub fn from_summary(count: u64, mean_ns: f64, min_ns: Option<u64>, max_ns: Option<u64>) -> Self {
        let count = count.min(Self::COUNT_MAX);
        Self {
            sum_ns: product(count, mean_ns),
            min_ns: min_ns.unwrap_or(u64::MAX),
            max_ns: max_ns.unwrap_or(0),
            unplaced: count,
            ..Self::default()
        }
    }

    /// Returns times from another tool's histogram: a value of each bucket with its count, and the exact mean and
    /// extremes.
    pub fn from_buckets(
        buckets: impl Iterator<Item = (u64, u64)>,
        mean_ns: f64,
        min_ns: u64,
        max_ns: u64,
    ) -> Self {
        let mut latency = Self::default();
        buckets.for_each(|(ns, count)| latency.record_many(ns, count));
        latency.sum_ns = product(latency.count(), mean_ns);
        (latency.min_ns, latency.max_ns) = (min_ns, max_ns.max(min_ns));
        latency
    }

    /// Returns the histogram, if there is a time in it.
    fn placed(&self) -> Option<Cow<'_, Histogram<u64>>> {
        match &self.times {
            Times::Whole(whole) => (!whole.is_empty()).then_some(Cow::Borrowed(whole)),
            Times::Few(few) => (few.count() > 0).then(|| Cow::Owned(few.whole())),
            Times::None => None,
        }
    }

    /// Returns the number of times in the histogram.
    fn placed_count(&self) -> u64 {
        match &self.times {
            Times::Whole(whole) => whole.len(),
            Times::Few(few) => few.count(),
            Times::None => 0,
        }
    }

    /// Counts one time. Never allocates, but for a distribution that was read, or copied and held nothing.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.times.whole_mut().saturating_record(ns);
        self.sum_ns = self.sum_ns.saturating_add(ns);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// Counts `count` times of about `ns`, from another histogram's bucket. Mean and extremes are as exact as that
    /// bucket.
    pub fn record_many(&mut self, ns: u64, count: u64) {
        let count = count.min(Self::COUNT_MAX.saturating_sub(self.placed_count()));
        if count == 0 {
            return;
        }
        self.times.whole_mut().saturating_record_n(ns, count);
        self.sum_ns = self.sum_ns.saturating_add(ns.saturating_mul(count));
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        match (&mut self.times, &other.times) {
            (_, Times::None) => {}
            (Times::None, Times::Few(few)) => self.times = Times::Few(few.clone()),
            (times, Times::Few(few)) => few.add_to(times.whole_mut()),
            (Times::None, Times::Whole(others)) => self.times = Times::Whole(others.clone()),
            (times, Times::Whole(others)) => {
                times.whole_mut().add(others).expect("all distributions have the same bounds");
            }
        }
        self.unplaced = self.unplaced.saturating_add(other.unplaced);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Clears the distribution but keeps its memory.
    pub fn clear(&mut self) {
        if self.is_empty() {
            return;
        }
        match &mut self.times {
            Times::Whole(whole) => whole.reset(),
            times => *times = Times::None,
        }
        self.read_as = None;
        (self.sum_ns, self.min_ns, self.max_ns, self.unplaced) = (0, u64::MAX, 0, 0);
    }

    /// Returns the number of times counted.
    pub fn count(&self) -> u64 {
        self.placed_count().saturating_add(self.unplaced)
    }

    /// Returns true if nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.placed_count() == 0 && self.unplaced == 0
    }

    /// Returns the sum of all times, ns.
    pub fn sum_ns(&self) -> u64 {
        self.sum_ns
    }

    /// Returns the mean, ns, exact; `None` when nothing was counted.
    pub fn mean_ns(&self) -> Option<f64> {
        let is_known = !self.is_empty() && (self.unplaced == 0 || self.sum_ns > 0);
        is_known.then(|| self.sum_ns as f64 / self.count() as f64)
    }

    /// Returns the shortest time, ns, exact.
    pub fn min_ns(&self) -> Option<u64> {
        (!self.is_empty() && self.min_ns != u64::MAX).then_some(self.min_ns)
    }

    /// Returns the longest time, ns, exact.
    pub fn max_ns(&self) -> Option<u64> {
        (!self.is_empty() && (self.unplaced == 0 || self.max_ns > 0)).then_some(self.max_ns)
    }

    /// Returns true if percentiles are known; false if only count, sum and extremes of some times are.
    pub fn has_distribution(&self) -> bool {
        self.unplaced == 0
    }

    /// Returns the time that a share `q` of all times does not exceed, ns, within 0.4 %; `q` in [0, 1]. `None` if the
    /// distribution is unknown.
    pub fn quantile_ns(&self, q: f64) -> Option<f64> {
        let histogram = self.placed().filter(|_| self.has_distribution())?;
        let highest = histogram.value_at_quantile(q);
        // The middle of the bucket halves the error, and the exact extremes bound it.
        let middle = histogram.median_equivalent(highest);
        Some((middle.clamp(self.min_ns, self.max_ns)) as f64)
    }

    /// Returns the share of times at or below `ns`, in [0, 1]; the times of the bucket of `ns` count as such. 0 where
    /// there is no time, and where no time has a place.
    pub fn share_at_or_below(&self, ns: u64) -> f64 {
        // Of times without a place, all are above it.
        self.placed().map_or(0.0, |histogram| histogram.quantile_below(ns.min(HIGHEST_NS)))
    }

    /// Returns the histogram in HdrHistogram's V2 compressed form, base64, as in its interval logs.
    pub fn to_hdr(&self) -> String {
        self.hdr().into_owned()
    }

    fn hdr(&self) -> Cow<'_, str> {
        match &self.read_as {
            Some((count, text)) if *count > 0 && *count == self.placed_count() => Cow::from(&**text),
            _ => self.placed().map_or_else(|| EMPTY.as_str().into(), |histogram| encoded(&histogram).into()),
        }
    }

    /// Returns the occupied buckets in ascending order: (upper end in ns, count).
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> {
        let placed = self.placed();
        let recorded = placed.iter().flat_map(|histogram| histogram.iter_recorded());
        let buckets = recorded.map(|v| (v.value_iterated_to(), v.count_at_value()));
        buckets.collect::<Vec<_>>().into_iter()
    }
}

fn encoded(histogram: &Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(histogram, &mut bytes).expect("writing to memory does not fail");
    BASE64.encode(bytes)
}

/// The histogram of no times, in its stored form.
static EMPTY: LazyLock<String> = LazyLock::new(|| encoded(&blank()));

/// The stored form: the exact sums, and the histogram in HdrHistogram's V2 compressed form, base64, which every
/// HdrHistogram library can read.
#[derive(Serialize, Deserialize)]
struct Stored<'t> {
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
    #[serde(borrow)]
    hdr: Cow<'t, str>,
    #[serde(default, skip_serializing_if = "is_zero")]
    unplaced: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(crate) fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Returns the sum of `count` times of `mean_ns`, ns.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates, and a mean is not negative"
)]
fn product(count: u64, mean_ns: f64) -> u64 {
    (count as f64 * mean_ns).round() as u64
}

impl Serialize for Latency {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { sum_ns, min_ns, max_ns, unplaced, .. } = *self;
        Stored { sum_ns, min_ns, max_ns, hdr: self.hdr(), unplaced }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Latency {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let Stored { sum_ns, min_ns, max_ns, hdr, unplaced } = Stored::deserialize(deserializer)?;
        let of = |times, read_as| Self { times, read_as, sum_ns, min_ns, max_ns, unplaced };
        // Most of a run's distributions: writes of a load that only reads.
        if hdr == *EMPTY {
            return Ok(of(Times::None, None));
        }
        let bytes = BASE64.decode(hdr.as_bytes()).map_err(D::Error::custom)?;
        let (times, count) = match Few::read(&bytes) {
            Some(few) => {
                let count = few.count();
                (Times::Few(few), count)
            }
            None => {
                let read: Histogram<u64> = Deserializer::new()
                    .deserialize(&mut bytes.as_slice())
                    .map_err(|e| D::Error::custom(format!("{e:?}")))?;
                if (read.low(), read.high(), read.sigfig()) != (1, HIGHEST_NS, DIGITS)
                    || read.is_auto_resize()
                {
                    let mut own = blank();
                    // Adding keeps our own bounds, whatever the bounds of the stored histogram.
                    own.add(&read).map_err(|e| D::Error::custom(format!("{e:?}")))?;
                    return Ok(of(Times::Whole(own), None));
                }
                let count = read.len();
                (Times::Whole(read), count)
            }
        };
        Ok(of(times, Some((count, hdr.into_owned().into_boxed_str()))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_takes_the_stated_memory() {
        let bytes = blank().distinct_values() as u64 * 8;
        assert!(bytes <= Latency::BYTES && bytes > Latency::BYTES / 2, "{bytes}");
    }
    use proptest::prelude::*;

    fn of(times: &[u64]) -> Latency {
        let mut latency = Latency::default();
        times.iter().for_each(|t| latency.record(*t));
        latency
    }

    #[test]
    fn an_empty_distribution_has_no_percentiles() {
        let empty = Latency::default();
        assert_eq!((empty.mean_ns(), empty.min_ns(), empty.quantile_ns(0.5)), (None, None, None));
    }

    #[test]
    fn a_summary_of_another_tool_has_a_mean_and_no_percentiles() {
        let mut summary = Latency::from_summary(1000, 2_500_000.0, None, Some(9_000_000));
        assert_eq!((summary.count(), summary.mean_ns()), (1000, Some(2_500_000.0)));
        assert_eq!(
            (summary.min_ns(), summary.max_ns(), summary.quantile_ns(0.99)),
            (None, Some(9_000_000), None)
        );
        summary.merge(&of(&[5, 6]));
        assert_eq!((summary.count(), summary.quantile_ns(0.5)), (1002, None));
        let text = serde_json::to_string(&summary).unwrap();
        assert_eq!(serde_json::from_str::<Latency>(&text).unwrap(), summary);
        let unknown = Latency::from_summary(10, 0.0, None, None);
        assert_eq!((unknown.mean_ns(), unknown.max_ns()), (None, None));
    }

    #[test]
    fn times_beyond_the_highest_keep_mean_and_maximum_exact() {
        let long = of(&[1, HIGHEST_NS * 8]);
        assert_eq!(long.max_ns(), Some(HIGHEST_NS * 8));
        assert_eq!(long.sum_ns(), HIGHEST_NS * 8 + 1);
        assert!(long.quantile_ns(1.0).is_some_and(|q| q >= HIGHEST_NS as f64 * 0.99));
    }

    #[test]
    fn clearing_removes_all_counts() {
        let mut latency = of(&[5, 6, 7]);
        latency.clear();
        assert_eq!(latency, Latency::default());
    }

    fn times() -> impl Strategy<Value = Vec<u64>> {
        proptest::collection::vec(1_u64..10_000_000_000, 0..200)
    }

    proptest! {
        #[test]
        fn merging_is_counting_together_in_any_order(a in times(), b in times(), c in times()) {
            let together = of(&[a.clone(), b.clone(), c.clone()].concat());
            let mut left = of(&a);
            left.merge(&of(&b));
            left.merge(&of(&c));
            let mut right = of(&c);
            let mut ab = of(&b);
            ab.merge(&of(&a));
            right.merge(&ab);
            prop_assert_eq!(&left, &together);
            prop_assert_eq!(&right, &together);
        }

        #[test]
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank below 200")]
        fn percentiles_are_within_four_tenths_of_a_percent(mut a in times(), q in 0.0_f64..=1.0) {
            prop_assume!(!a.is_empty());
            let found = of(&a).quantile_ns(q).unwrap();
            a.sort_unstable();
            let rank = ((q * a.len() as f64).ceil() as usize).clamp(1, a.len());
            let truth = a[rank - 1] as f64;
            prop_assert!((found - truth).abs() <= truth * 0.004 + 1.0, "{} for {}", found, truth);
        }

        /// What was read keeps its stored form, which must not outlive what is counted or cleared after it.
        #[test]
        fn what_changes_after_it_was_read_is_stored_as_it_is_then(a in times(), b in times()) {
            let text = serde_json::to_string(&of(&a)).unwrap();
            let read = || serde_json::from_str::<Latency>(&text).unwrap();
            prop_assert_eq!(&serde_json::to_string(&read()).unwrap(), &text);
            let (mut recorded, mut merged, mut refilled) = (read(), read(), read());
            b.iter().for_each(|ns| recorded.record(*ns));
            merged.merge(&of(&b));
            refilled.clear();
            b.iter().take(a.len()).for_each(|ns| refilled.record(*ns));
            let both = of(&[a.clone(), b.clone()].concat());
            let refill = of(&b[..b.len().min(a.len())]);
            for (latency, expected) in [(recorded, &both), (merged, &both), (refilled, &refill)] {
                prop_assert_eq!(latency.to_hdr(), expected.to_hdr());
            }
        }

        #[test]
        fn what_is_stored_reads_back_the_same(a in times()) {
            let latency = of(&a);
            let text = serde_json::to_string(&latency).unwrap();
            prop_assert_eq!(serde_json::from_str::<Latency>(&text).unwrap(), latency);
        }
    }
}
