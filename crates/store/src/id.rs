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

/// Returns true if `text` has the form of a run's id: a day, a dash and four letters.
#[must_use]
pub fn is_run_id(text: &str) -> bool {
    let is_letter = |byte: u8| LETTERS.contains(&byte);
    text.split_once('-').is_some_and(|(day, letters)| {
        day.len() == 6
            && day.bytes().all(|byte| byte.is_ascii_digit())
            && letters.len() == 4
            && letters.bytes().all(is_letter)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_the_day_and_four_letters() {
        assert_eq!(new_run_id(1_795_231_800_000, 0), "261121-2222");
        assert_eq!(new_run_id(1_795_231_800_000, u64::MAX), "261121-zzzz");
        assert_eq!(new_run_id(0, 1), "700101-3222");
        assert!(is_run_id("261121-zzzz"));
        for other in ["../../x", "261121-zz", "26112-zzzz", "261121-zz\u{1b}z", ""] {
            assert!(!is_run_id(other), "{other}");
        }
        assert!(new_run_id(u64::MAX, 7).starts_with("999999-"));
    }
}
