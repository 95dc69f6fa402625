//! Changes single fields of an array: `raid.level=10`, `disks=8`, `link=10GbE`.

use assay_spec::units::Bytes;
use thiserror::Error;

use super::check;
use super::fields::{Limits, Unit, Visitor, walk};
use super::read::within;
use super::types::{Array, Device, LinkRate};
use super::words::Words;
use crate::quantity::{Provenance, Quantity};

/// Short names people use, and the field each stands for.
pub(super) const ALIASES: &[(&str, &str)] = &[
    ("raid", "raid.level"),
    ("disks", "raid.disks"),
    ("groups", "raid.groups"),
    ("chunk", "raid.chunk"),
    ("link", "link.rate"),
    ("mtu", "link.mtu"),
    ("paths", "paths.count"),
    ("cache", "controller.write_back"),
    ("workers", "target.workers"),
    ("cores", "target.cores"),
];

/// Why an override was refused. The message is complete.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SetError {
    /// There is no `=`.
    #[error("`{0}` is not of the form field=value, like raid=10 or paths.rr_ios=1")]
    Form(String),
    /// No such field.
    #[error("`{field}` is not a field of an array{}", .near.as_ref().map(|n| format!("; did you mean \
     `{n}`?")).unwrap_or_default())]
    Unknown {
        /// What was written.
        field: String,
        /// The nearest known field.
        near: Option<String>,
    },
    /// The value does not fit the field.
    #[error("{field}: {says}")]
    Value {
        /// The field.
        field: String,
        /// What is wrong.
        says: String,
    },
    /// The changed array cannot exist.
    #[error("{field}: impossible: {says}")]
    Impossible {
        /// The field to look at.
        field: String,
        /// The reason.
        says: String,
    },
}

/// Applies several overrides, separated by blanks or commas, and checks the result.
///
/// Several go together because one alone may be impossible (`link=10GbE` and `protocol.kind=iscsi`).
/// The value `none` removes an optional number.
///
/// # Errors
/// See [`SetError`]; the array is unchanged then.
pub fn set(array: &mut Array, overrides: &str) -> Result<(), SetError> {
    let mut changed = array.clone();
    for one in overrides.split([' ', ',', ';']).filter(|part| !part.is_empty()) {
        set_one(&mut changed, one)?;
    }
    if let Some(found) = check::check(&changed).into_iter().next() {
        return Err(SetError::Impossible { field: found.field.to_owned(), says: found.says });
    }
    *array = changed;
    Ok(())
}

fn set_one(array: &mut Array, text: &str) -> Result<(), SetError> {
    let Some((field, value)) = text.split_once('=') else { return Err(SetError::Form(text.to_owned())) };
    let field = field.trim();
    let full = ALIASES.iter().find(|(short, _)| *short == field).map_or(field, |(_, full)| full);
    let mut setter =
        Setter { field: full, value: value.trim(), table: "", outcome: Outcome::NotFound, known: None };
    walk(array, &mut setter);
    if matches!(setter.outcome, Outcome::NotFound) {
        // Names are for a message: searches change thousands of arrays, and need none.
        setter.known = Some(Vec::new());
        walk(array, &mut setter);
    }
    match setter.outcome {
        Outcome::Set => Ok(()),
        Outcome::Refused(says) => Err(SetError::Value { field: full.to_owned(), says }),
        Outcome::NotFound => {
            let shorts = ALIASES.iter().map(|(short, _)| *short);
            let known = setter.known.unwrap_or_default();
            let near =
                assay_spec::nearest(field, known.iter().map(String::as_str).chain(shorts)).map(str::to_owned);
            Err(SetError::Unknown { field: field.to_owned(), near })
        }
    }
}

enum Outcome {
    NotFound,
    Set,
    Refused(String),
}

struct Setter<'a> {
    field: &'a str,
    value: &'a str,
    table: &'static str,
    outcome: Outcome,
    /// The names of all fields, where they are wanted.
    known: Option<Vec<String>>,
}

impl Setter<'_> {
    fn wanted(&mut self, key: &str) -> bool {
        if let Some(known) = &mut self.known {
            known.push(if self.table.is_empty() { key.to_owned() } else { format!("{}.{key}", self.table) });
        }
        match self.table {
            "" => self.field == key,
            table => self.field.strip_prefix(table).and_then(|rest| rest.strip_prefix('.')) == Some(key),
        }
    }

    fn note<T>(&mut self, result: Result<T, String>) -> Option<T> {
        match result {
            Ok(value) => {
                self.outcome = Outcome::Set;
                Some(value)
            }
            Err(says) => {
                self.outcome = Outcome::Refused(says);
                None
            }
        }
    }

    fn parse(&self, limits: Limits) -> Result<Quantity, String> {
        let number = match limits.unit {
            Unit::Bytes => self.value.parse::<Bytes>().map_err(|e| e.to_string())?.0 as f64,
            Unit::Real | Unit::Whole => {
                self.value.parse().map_err(|_| format!("`{}` is not a number", self.value))?
            }
        };
        let number = within(limits, number)?;
        Ok(Quantity::exact(number, Provenance::Assumed("what if".to_owned())))
    }
}

impl Visitor for Setter<'_> {
    fn table(&mut self, name: &'static str) {
        self.table = name;
    }

    fn number(&mut self, key: &'static str, limits: Limits, slot: &mut Quantity) {
        if self.wanted(key) {
            let parsed = self.parse(limits);
            if let Some(quantity) = self.note(parsed) {
                *slot = quantity;
            }
        }
    }

    fn maybe(&mut self, key: &'static str, limits: Limits, slot: &mut Option<Quantity>) {
        if self.wanted(key) {
            let parsed = if self.value == "none" { Ok(None) } else { self.parse(limits).map(Some) };
            if let Some(quantity) = self.note(parsed) {
                *slot = quantity;
            }
        }
    }

    fn flag(&mut self, key: &'static str, slot: &mut bool) {
        if self.wanted(key) {
            let parsed = match self.value {
                "true" | "yes" | "on" => Ok(true),
                "false" | "no" | "off" => Ok(false),
                other => Err(format!("`{other}` is not yes or no")),
            };
            if let Some(flag) = self.note(parsed) {
                *slot = flag;
            }
        }
    }

    fn maybe_flag(&mut self, key: &'static str, slot: &mut Option<bool>) {
        if !self.wanted(key) {
            return;
        }
        if self.value == "none" {
            (*slot, self.outcome) = (None, Outcome::Set);
            return;
        }
        let mut given = slot.unwrap_or_default();
        self.flag(key, &mut given);
        if matches!(self.outcome, Outcome::Set) {
            *slot = Some(given);
        }
    }

    fn text(&mut self, key: &'static str, slot: &mut String) {
        if self.wanted(key) {
            self.value.clone_into(slot);
            self.outcome = Outcome::Set;
        }
    }

    fn word<W: Words>(&mut self, key: &'static str, slot: &mut W) {
        if self.wanted(key) {
            let found = W::named(self.value);
            let known: Vec<&str> = W::words().iter().map(|(word, _)| *word).collect();
            let parsed = found.ok_or_else(|| format!("`{}` is not one of {}", self.value, known.join(", ")));
            if let Some(word) = self.note(parsed) {
                *slot = word;
            }
        }
    }

    fn link_rate(&mut self, key: &'static str, slot: &mut LinkRate) {
        if self.wanted(key) {
            let parsed = LinkRate::named(self.value).ok_or_else(|| LinkRate::unknown(self.value));
            if let Some(rate) = self.note(parsed) {
                *slot = rate;
            }
        }
    }

    fn device_kind(&mut self, key: &'static str, _slot: &mut Device) {
        if self.wanted(key) {
            self.outcome = Outcome::Refused(
                "the kind of device cannot be changed here; use another array file".to_owned(),
            );
        }
    }
}
