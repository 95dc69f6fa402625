//! A condition of a search, as SQL.

/// It, with what it compares with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) sql: Clause,
    /// One for each `?` in it.
    pub(crate) values: Vec<String>,
}

/// A condition of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Clause {
    Is(String),
    /// It is one of those whose numbers this query has, each once.
    Among(String),
    /// It is one of those whose numbers this query has, each once, which SQLite is not to look up one by one.
    Found(String),
}

impl<T: Into<String>> From<T> for Clause {
    fn from(condition: T) -> Self {
        Self::Is(condition.into())
    }
}

/// Returns a text in all the cases that its letters beyond ASCII may have: SQLite knows those of ASCII only.
pub(crate) fn cases(word: &str) -> Vec<String> {
    let other = |letter: char| {
        let mut upper = letter.to_uppercase();
        let upper = upper.next().filter(|of| *of != letter && upper.next().is_none());
        upper.or_else(|| letter.to_lowercase().next().filter(|of| *of != letter))
    };
    word.chars().fold(vec![String::new()], |texts, letter| {
        let both = std::iter::once(letter).chain(other(letter).filter(|_| !letter.is_ascii()));
        let texts = both.flat_map(|letter| texts.iter().map(move |text| format!("{text}{letter}")));
        texts.collect()
    })
}

/// Returns the condition that a run is one of these.
pub(crate) fn one_of(runs: &[i64]) -> String {
    // PostgreSQL knows no list without a member.
    format!("id IN ({})", if runs.is_empty() { "NULL".to_owned() } else { joined(runs) })
}

/// Returns numbers as SQL lists them.
pub(crate) fn joined(runs: &[i64]) -> String {
    runs.iter().map(i64::to_string).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::cases;

    #[test]
    fn letters_beyond_ascii_have_two_cases() {
        assert_eq!(cases("k7"), ["k7"]);
        assert_eq!(cases("ü%"), ["ü%", "Ü%"]);
        assert_eq!(cases("ÄΣ"), ["ÄΣ", "äΣ", "Äσ", "äσ"]);
        assert_eq!(cases("ß"), ["ß"], "its capital is two letters");
    }
}
