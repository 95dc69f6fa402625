//! Dates as Iometer writes them: `2023-03-25 03:05:43:661`.

const DAY_MS: u64 = 86_400_000;

/// Days from 1970-01-01 to the first of March of the year 0, by which leap days come last.
const ERA_DAYS: i64 = 719_468;

/// ms since 1970 as a date, UTC.
pub(crate) fn stamp(unix_ms: u64) -> String {
    let days = i64::try_from(unix_ms / DAY_MS).unwrap_or(0) + ERA_DAYS;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    let ms = unix_ms % DAY_MS;
    let (h, m, s) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60);
    format!("{year:04}-{month:02}-{day:02} {h:02}:{m:02}:{s:02}:{:03}", ms % 1_000)
}

/// The other way; `None` for what is no such date.
pub(crate) fn parse_stamp(text: &str) -> Option<u64> {
    let mut parts = text.split(['-', ' ', ':', '.']).map(|part| part.parse::<i64>().ok());
    let mut next = || parts.next().flatten();
    let (year, month, day) = (next()?, next()?, next()?);
    let (h, m, s) = (next()?, next()?, next()?);
    let ms = next().unwrap_or(0);
    let is_date = (1970..10_000).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    let is_time =
        (0..24).contains(&h) && (0..60).contains(&m) && (0..61).contains(&s) && (0..1000).contains(&ms);
    if !is_date || !is_time {
        return None;
    }
    let y = if month <= 2 { year - 1 } else { year };
    let shifted = (month + 9) % 12;
    let day_of_year = (153 * shifted + 2) / 5 + day - 1;
    let era = y.div_euclid(400);
    let of_era = y.rem_euclid(400);
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + day_of_year - ERA_DAYS;
    u64::try_from((days * 86_400 + h * 3_600 + m * 60 + s) * 1_000 + ms).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_go_both_ways() {
        for (unix_ms, text) in [
            (0, "1970-01-01 00:00:00:000"),
            (1_679_713_543_661, "2023-03-25 03:05:43:661"),
            (951_782_400_000, "2000-02-29 00:00:00:000"),
        ] {
            assert_eq!((stamp(unix_ms).as_str(), parse_stamp(text)), (text, Some(unix_ms)));
        }
        for text in ["", "yesterday", "2023-13-01 00:00:00", "99999999999999999999-1-1 0:0:0"] {
            assert_eq!(parse_stamp(text), None, "{text}");
        }
    }
}
