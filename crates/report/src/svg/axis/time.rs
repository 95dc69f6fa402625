//! An axis of dates and times (UTC), with ticks where people expect them: whole hours, days, months, years.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};

use super::Axis;

/// Most ticks: each has up to ten letters.
const TICKS_MAX: u64 = 7;
const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;
/// Steps that have one length.
const STEPS_MS: [u64; 12] = [
    MINUTE_MS,
    5 * MINUTE_MS,
    15 * MINUTE_MS,
    30 * MINUTE_MS,
    HOUR_MS,
    3 * HOUR_MS,
    6 * HOUR_MS,
    12 * HOUR_MS,
    DAY_MS,
    2 * DAY_MS,
    7 * DAY_MS,
    14 * DAY_MS,
];
/// Steps of months.
const STEPS_MONTHS: [u64; 6] = [1, 3, 6, 12, 24, 60];
/// Mean length of a month.
const MONTH_MS: u64 = 2_629_746_000;
/// The axis goes so much further than its ends at both sides, as a share.
const ROOM: u64 = 40;
/// A moment has at least so much room at both sides.
const ROOM_MIN_MS: u64 = 5 * MINUTE_MS;

impl Axis {
    /// From one moment to another, ms since 1970 UTC.
    pub(crate) fn time(from_ms: u64, to_ms: u64) -> Self {
        let room = (to_ms.saturating_sub(from_ms) / ROOM).max(ROOM_MIN_MS);
        let (low, high) = (from_ms.saturating_sub(room), to_ms.saturating_add(room));
        let title = match (written(from_ms, "%Y-%m-%d"), written(to_ms, "%Y-%m-%d")) {
            (first, last) if first == last => format!("{first}, UTC"),
            (first, last) if first.get(..4) == last.get(..4) => {
                format!("{}, UTC", first.get(..4).unwrap_or(""))
            }
            _ => "UTC".to_owned(),
        };
        Self { title, ticks: ticks(low, high), low: low as f64, high: high as f64, is_log: false }
    }
}

fn ticks(low: u64, high: u64) -> Vec<(f64, String)> {
    let span = high - low;
    if let Some(step) = STEPS_MS.into_iter().find(|step| span / step <= TICKS_MAX) {
        let first = low.div_ceil(step);
        let at = (first..).map(|count| count * step).take_while(|at| *at <= high);
        let is_one_year = written(low, "%Y") == written(high, "%Y");
        return at.map(|at| (at as f64, name(at, is_one_year))).collect();
    }
    let months =
        STEPS_MONTHS.into_iter().find(|months| span / (months * MONTH_MS) <= TICKS_MAX).unwrap_or(60);
    let format = if months < 12 { "%Y-%m" } else { "%Y" };
    let known = month_starts(low, high, months).into_iter();
    known.map(|at| (at as f64, written(at, format))).collect()
}

/// A day by its date, a moment within it by its time.
fn name(at: u64, is_one_year: bool) -> String {
    match (at.is_multiple_of(DAY_MS), is_one_year) {
        (false, _) => written(at, "%H:%M"),
        (true, true) => written(at, "%m-%d"),
        (true, false) => written(at, "%Y-%m-%d"),
    }
}

/// Every so many months of the years in between.
fn month_starts(low: u64, high: u64, months: u64) -> Vec<u64> {
    let Some(first) = moment(low).map(|first| first.to_zoned(TimeZone::UTC).date()) else {
        return Vec::new();
    };
    let Ok(mut at) = Date::new(first.year(), 1, 1) else { return Vec::new() };
    let mut starts = Vec::new();
    let step = i32::try_from(months).unwrap_or(1).months();
    while let Ok(start) = at.to_zoned(TimeZone::UTC) {
        let start = u64::try_from(start.timestamp().as_millisecond()).unwrap_or(0);
        if start > high {
            break;
        }
        if start >= low {
            starts.push(start);
        }
        let Ok(next) = at.checked_add(step) else { break };
        at = next;
    }
    starts
}

fn moment(unix_ms: u64) -> Option<Timestamp> {
    i64::try_from(unix_ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok())
}

fn written(unix_ms: u64, format: &str) -> String {
    moment(unix_ms).map_or_else(String::new, |moment| moment.strftime(format).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_hours_of_a_day_days_of_weeks_and_months_of_a_year() {
        // 2026-11-21 00:00 UTC.
        const START: u64 = 1_795_219_200_000;
        let written = |length: u64| {
            let axis = Axis::time(START, START + length);
            let names: Vec<String> = axis.ticks.iter().map(|(_, name)| name.clone()).collect();
            (axis.title.clone(), names.join("|"))
        };
        let is = |title: &str, names: &str| (title.to_owned(), names.to_owned());
        assert_eq!(written(10 * HOUR_MS), is("2026-11-21, UTC", "11-21|03:00|06:00|09:00"));
        assert_eq!(written(5 * DAY_MS), is("2026, UTC", "11-21|11-22|11-23|11-24|11-25|11-26"));
        assert_eq!(written(365 * DAY_MS), is("UTC", "2027-01|2027-04|2027-07|2027-10"));
        assert_eq!(written(3000 * DAY_MS), is("UTC", "2028|2030|2032|2034"));
        assert_eq!(written(0).0, "2026-11-21, UTC");
    }
}
