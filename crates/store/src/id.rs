//! Names of runs: short enough to type, with the day in them: `261121-k7f2`.

use jiff::Timestamp;

/// Base 32 without 0, 1, l and o, which are mistaken for each other.
const LETTERS: &[u8; 32] = b"23456789abcdefghijkmnpqrstuvwxyz";

/// The id of a run that starts at `now_unix_ms` (UTC), with four letters from the low 20 bits of `random`.
#[must_use]
pub fn new_run_id(now_unix_ms: u64, random: u64) -> String {
    let letters = (0..4).map(|place| {
        let index = (random >> (place * 5)) & 31;
        char::from(LETTERS[usize::try_from(index).expect("below 32")])
    });
    let day = i64::try_from(now_unix_ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    // A clock beyond the year 9999 still gets an id.
    let day = day.map_or_else(|| "999999".to_owned(), |day| day.strftime("%y%m%d").to_string());
    format!("{day}-{}", letters.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_the_day_and_four_letters() {
        assert_eq!(new_run_id(1_795_231_800_000, 0), "261121-2222");
        assert_eq!(new_run_id(1_795_231_800_000, u64::MAX), "261121-zzzz");
        assert_eq!(new_run_id(0, 1), "700101-3222");
        assert!(new_run_id(u64::MAX, 7).starts_with("999999-"));
    }
}
