//! Limits in a question: `at most 24 disks`, `p99 below 20 ms`, `24 disks or fewer`.

use super::{DEVICES, QuestionError, Reading, once, refuse};
use crate::words::{means_nothing, number, number_word};

/// What a word says of the number that follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    /// At most.
    Most,
    /// Less than.
    Below,
    /// At least.
    Least,
    /// More than.
    Above,
}

impl Limit {
    fn is_upper(self) -> bool {
        matches!(self, Self::Most | Self::Below)
    }

    fn words(self) -> &'static str {
        match self {
            Self::Most => "at most",
            Self::Below => "less than",
            Self::Least => "at least",
            Self::Above => "more than",
        }
    }
}

impl Reading {
    /// Takes a word of a limit; `false` where it is none.
    pub(super) fn limit_word(&mut self, word: &str) -> Result<bool, QuestionError> {
        let of_rate = ["iops", "i/os", "rate"].contains(&self.peek());
        let limit = match word {
            "," => return self.no_limit_pends().map(|()| true),
            "most" | "max" | "maximum" | "highest" if of_rate => return Ok(true),
            "at" if self.accept(&["most"]) => Limit::Most,
            "at" if self.accept(&["least"]) => Limit::Least,
            "up" if self.accept(&["to"]) => Limit::Most,
            "no" | "not" if self.accept(&["more"]) && self.accept(&["than"]) => Limit::Most,
            "no" | "not" if self.accept(&["less", "fewer"]) && self.accept(&["than"]) => Limit::Least,
            "less" | "fewer" if self.accept(&["than"]) => Limit::Below,
            // `one disk less`: the answer has it for one step.
            "less" | "fewer" => return Ok(self.follows_devices()),
            "more" if self.accept(&["than"]) => Limit::Above,
            "max" | "maximum" | "≤" | "<=" if self.number_follows() => Limit::Most,
            "<" if self.accept(&["="]) => Limit::Most,
            "min" | "minimum" | "≥" | ">=" if self.number_follows() => Limit::Least,
            ">" if self.accept(&["="]) => Limit::Least,
            "<" | "under" | "below" | "within" if self.number_follows() => Limit::Below,
            ">" | "above" if self.number_follows() => Limit::Above,
            "over" if self.number_follows() && !self.link_follows() && !self.is_product() => Limit::Above,
            _ => return Ok(false),
        };
        self.no_limit_pends()?;
        self.pending = Some(limit);
        Ok(true)
    }

    /// Refuses a limit that no number belongs to.
    pub(super) fn no_limit_pends(&mut self) -> Result<(), QuestionError> {
        match self.pending.take() {
            None => Ok(()),
            Some(limit) => refuse(format!(
                "`{}` without a number: write it like \"{} 24 disks\"",
                limit.words(),
                limit.words()
            )),
        }
    }

    /// Refuses a limit on something that a question gives exactly.
    pub(super) fn no_limit_on(&mut self, value: f64, unit: &str) -> Result<(), QuestionError> {
        match self.pending.take() {
            None => Ok(()),
            Some(limit) => refuse(format!(
                "{} {value} {unit}: limits are on the number of disks, on latency, rate and data; give one value here",
                limit.words()
            )),
        }
    }

    /// A number of devices: exact, or a limit of it.
    pub(super) fn devices(&mut self, value: f64) -> Result<(), QuestionError> {
        let limit = self.pending.take().or_else(|| self.limit_behind());
        match limit {
            None => once(&mut self.disks, value, "disks"),
            Some(Limit::Most) => once(&mut self.disks_most, value, "disks at most"),
            Some(Limit::Below) => once(&mut self.disks_most, value - 1.0, "disks at most"),
            Some(Limit::Least) => once(&mut self.disks_least, value, "disks at least"),
            Some(Limit::Above) => once(&mut self.disks_least, value + 1.0, "disks at least"),
        }
    }

    /// `24 disks or fewer`, `24 disks max`, `24 disks at most`.
    pub(super) fn limit_behind(&mut self) -> Option<Limit> {
        let found = [
            (&["or", "fewer"][..], Limit::Most),
            (&["or", "less"], Limit::Most),
            (&["at", "most"], Limit::Most),
            (&["max"], Limit::Most),
            (&["maximum"], Limit::Most),
            (&["or", "more"], Limit::Least),
            (&["at", "least"], Limit::Least),
            (&["min"], Limit::Least),
            (&["minimum"], Limit::Least),
        ]
        .into_iter()
        .find(|(words, _)| self.words.get(self.next..).is_some_and(|rest| rest.starts_with(&owned(words))));
        let (words, limit) = found?;
        let behind = self.words.get(self.next + words.len());
        // `12 disks max 20 ms` limits the latency.
        if behind.is_some_and(|word| number(word).is_some()) {
            return None;
        }
        self.next += words.len();
        Some(limit)
    }

    /// A limit on latency is an upper one.
    pub(super) fn upper_limit(&mut self, ms: f64) -> Result<(), QuestionError> {
        match self.pending.take() {
            Some(limit) if !limit.is_upper() => {
                refuse(format!("{} {ms} ms: a limit on latency is an upper one", limit.words()))
            }
            _ => Ok(()),
        }
    }

    /// The limits fit each other and an exact number.
    pub(super) fn check_limits(&self) -> Result<(), QuestionError> {
        if let (Some(disks), Some(limit)) = (self.disks, self.disks_most.or(self.disks_least)) {
            return refuse(format!(
                "{disks} disks, and a limit of {limit}: give the number of disks or its limits"
            ));
        }
        if let (Some(least), Some(most)) = (self.disks_least, self.disks_most)
            && least > most
        {
            return refuse(format!("at least {least} and at most {most} disks: no number is both"));
        }
        let counts = [self.disks, self.disks_most, self.disks_least];
        if counts.iter().flatten().any(|disks| *disks < 1.0 || disks.fract() != 0.0) {
            return refuse("a number of disks is whole and 1 or more".to_owned());
        }
        Ok(())
    }

    /// Whether a number comes next, behind words that mean nothing.
    fn number_follows(&self) -> bool {
        let rest = self.words.get(self.next..).unwrap_or_default();
        let next = rest.iter().find(|word| *word == "," || *word != "=" && !means_nothing(word));
        next.is_some_and(|word| number(word).is_some() || number_word(word).is_some())
    }

    /// Whether the word before the one just taken counts devices.
    fn follows_devices(&self) -> bool {
        let before = self.next.checked_sub(2).and_then(|at| self.words.get(at)).map_or("", String::as_str);
        DEVICES.contains(&before) || number(before).is_some() || number_word(before).is_some()
    }

    /// Whether `2 x` comes next, which counts links.
    fn is_product(&self) -> bool {
        let next = self.words.get(self.next + 1).map_or("", String::as_str);
        self.peek().ends_with('x') || ["x", "×", "*"].contains(&next)
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
