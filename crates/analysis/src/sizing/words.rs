//! The words of a sizing question: cut apart, and without those that only make a sentence of it.

/// Words that carry no meaning of their own here.
const FILLER: &[&str] = &[
    "after",
    "block",
    "blocks",
    "database",
    "databases",
    "during",
    "enough",
    "enterprise",
    "ethernet",
    "fibre",
    "hard",
    "host",
    "hosts",
    "lan",
    "level",
    "levels",
    "link",
    "local",
    "mix",
    "network",
    "our",
    "percentile",
    "server",
    "servers",
    "spinning",
    "sufficient",
    "survive",
    "survives",
    "user",
    "vm",
    "workload",
    "a",
    "about",
    "all",
    "an",
    "and",
    "any",
    "are",
    "array",
    "arrays",
    "at",
    "be",
    "by",
    "can",
    "capacity",
    "carried",
    "carries",
    "carry",
    "concurrent",
    "data",
    "disk",
    "do",
    "does",
    "drive",
    "each",
    "every",
    "for",
    "from",
    "give",
    "handle",
    "has",
    "have",
    "how",
    "i",
    "if",
    "in",
    "is",
    "it",
    "left",
    "less",
    "load",
    "many",
    "max",
    "most",
    "much",
    "my",
    "need",
    "needed",
    "needs",
    "of",
    "on",
    "or",
    "over",
    "per",
    "pulling",
    "rate",
    "required",
    "sas",
    "sata",
    "should",
    "space",
    "still",
    "storage",
    "support",
    "sustain",
    "system",
    "than",
    "that",
    "the",
    "there",
    "these",
    "this",
    "to",
    "under",
    "usable",
    "want",
    "was",
    "we",
    "what",
    "when",
    "which",
    "while",
    "will",
    "with",
    "would",
    "below",
    ",",
    "up",
    "<",
    "<=",
    "≤",
    "=",
    "x",
    "×",
    "*",
    "+",
    "-",
];

/// The words of a question, in lower case.
pub(super) fn cut(text: &str) -> Vec<String> {
    let mut clean = String::with_capacity(text.len());
    let letters: Vec<char> = text.to_lowercase().chars().collect();
    for (i, c) in letters.iter().enumerate() {
        let digit = |at: Option<usize>| at.and_then(|at| letters.get(at)).is_some_and(char::is_ascii_digit);
        match c {
            // 2,000 is a number, and `2000, 70 %` two of them.
            ',' if digit(i.checked_sub(1)) && (1..=3).all(|n| digit(Some(i + n))) && !digit(Some(i + 4)) => {}
            '?' | '!' | '(' | ')' | '"' => clean.push(' '),
            // A comma ends what belongs together: `4 TB, SSD` is not the size of a drive.
            ',' | ';' => clean.push_str(" , "),
            '%' | '<' | '≤' | '×' | '*' | '=' => clean.extend([' ', *c, ' ']),
            c => clean.push(*c),
        }
    }
    clean.split_whitespace().map(|word| word.trim_end_matches(['.', ':']).to_owned()).collect()
}

/// Whether a word is there for the sentence only.
pub(super) fn is_filler(word: &str) -> bool {
    word.is_empty() || FILLER.contains(&word)
}

/// A number and what is written to it: `20ms`, `7200`, `8kib`; `None` for a word.
pub(super) fn number(word: &str) -> Option<(f64, &str)> {
    let end = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
    let (digits, unit) = word.split_at(end);
    Some((digits.parse().ok()?, unit))
}

/// Bytes of a unit of size; a bare `k` is the field's 1024.
pub(super) fn bytes_of(unit: &str) -> Option<f64> {
    Some(match unit {
        "b" | "byte" | "bytes" => 1.0,
        "k" | "kb" | "kib" => 1024.0,
        "mib" => 1_048_576.0,
        "m" | "mb" => 1e6,
        "gib" => 1_073_741_824.0,
        "g" | "gb" => 1e9,
        "tib" => 1_099_511_627_776.0,
        "t" | "tb" => 1e12,
        "pb" => 1e15,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_belong_to_a_number_and_other_commas_do_not() {
        assert_eq!(cut("2,000 IOPS, 70% read"), ["2000", "iops", ",", "70", "%", "read"]);
        assert_eq!(cut("2000,70 % reads?"), ["2000", ",", "70", "%", "reads"]);
        assert_eq!(number("20ms"), Some((20.0, "ms")));
        assert_eq!(number("1.5tb"), Some((1.5, "tb")));
        assert_eq!(number("raid10"), None);
    }
}
