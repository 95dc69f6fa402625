//! Expressions that readers stumble over: literal translations, for which the field has its own terms
//! (docs/glossary.md).

use crate::{Source, none, sources};

/// Expressions in lower case, and their replacement. Split in two parts, so that this file does not match itself.
const ODD: [(&str, &str); 32] = [
    (concat!("hur", "ts"), "costs, slows, limits"),
    (concat!("what o", "f it"), "name the thing"),
    (concat!("speaks aga", "inst"), "prevents, rules out"),
    (concat!("lays ba", "re"), "shows, reports"),
    (concat!("in the e", "nd"), "the physical link; finally"),
    (concat!("has not the rig", "hts"), "permission denied"),
    (concat!("lets one exp", "ect"), "predicts"),
    (concat!("stands bet", "ween"), "is on the path"),
    (concat!("of ou", "rs"), "of Assay, of this host"),
    (concat!("what beca", "me of"), "the fate of, how it ended"),
    (concat!("to", "ld"), "reported; of two things: distinguished"),
    (concat!("carries in the e", "nd"), "is the physical link of"),
    (concat!("carry in the e", "nd"), "are the physical links of"),
    (concat!("held aga", "inst"), "compared with"),
    (concat!("hold aga", "inst"), "compare with"),
    (concat!("holds aga", "inst"), "compares with; takes precedence over"),
    (concat!("hold it aga", "inst"), "compare it with"),
    (concat!("hold them aga", "inst"), "compare them with"),
    (concat!("in the a", "ir"), "in flight"),
    (concat!("beyond rea", "son"), "implausibly large"),
    (concat!("broke the proto", "col"), "violated the protocol"),
    (concat!("to every", "body"), "to everyone"),
    (concat!("stops pay", "ing"), "has no effect beyond, flattens"),
    (concat!("made by As", "say"), "created by Assay"),
    (concat!("gave up fi", "rst"), "was the limit"),
    (concat!("gives up fi", "rst"), "is the limit"),
    (concat!("past the page ca", "che"), "bypassing the page cache"),
    (concat!("is no nu", "mber"), "is not a number"),
    (concat!("is no si", "ze"), "is not a size"),
    (concat!("beside meas", "ured"), "and measured values"),
    (concat!("measured bes", "ide"), "measured together with, compared with"),
    (concat!("job file of f", "io"), "fio job file"),
];

/// Names that programs parse, with the room that has them: a change would break those programs. This is a key in the
/// JSON of `assay check`.
const MACHINE_READ: [(&str, &str); 1] = [("crates/cli/", concat!("\"hur", "ts\""))];

const TEXTS: [&str; 5] = [".rs", ".md", ".toml", ".sh", "Makefile"];

fn is_read_by_people(source: &Source) -> bool {
    TEXTS.iter().any(|end| source.path.ends_with(end))
}

/// Returns the line in lower case, without names that programs parse.
fn words_of(source: &Source, line: &str) -> String {
    let names = MACHINE_READ.iter().filter(|(room, _)| source.path.starts_with(room));
    names.fold(line.to_lowercase(), |line, (_, name)| line.replace(name, ""))
}

#[test]
fn odd_words_do_not_reappear() {
    let mut offenders = Vec::new();
    for source in sources().iter().filter(|source| is_read_by_people(source)) {
        for (number, line) in (1..).zip(source.text.lines()) {
            let line = words_of(source, line);
            let found = ODD.iter().filter(|(words, _)| has_words(&line, words));
            offenders.extend(found.map(|(words, instead)| {
                format!("{}:{number}: `{words}`; for example: {instead}", source.path)
            }));
        }
    }
    none(&offenders, "say it as the field does");
}

/// Returns true if the words occur, not as part of longer ones.
fn has_words(line: &str, words: &str) -> bool {
    let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    line.match_indices(words).any(|(at, _)| {
        let (before, after) = (line[..at].chars().next_back(), line[at + words.len()..].chars().next());
        !is_letter(before) && !is_letter(after)
    })
}

#[test]
fn words_inside_longer_words_are_not_found() {
    for (line, expected) in [(concat!("this hur", "ts."), true), ("hurtsome", false), ("of hours", false)] {
        assert_eq!(ODD.iter().any(|(words, _)| has_words(line, words)), expected, "{line}");
    }
}
