//! Reads an array file; every error names the file, the line, the field, and what would do.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use assay_spec::units::Bytes;
use thiserror::Error;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::check;
use super::fields::{Limits, Unit, Visitor, walk};
use super::types::{Array, Device, Flash, Hdd, LinkRate};
use super::words::Words;
use crate::quantity::{Provenance, Quantity};

/// Where in a file an error is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct At {
    /// File name as the caller gave it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// `table.key`.
    pub field: String,
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: ", self.file, self.line)?;
        if self.field.is_empty() { Ok(()) } else { write!(f, "{}: ", self.field) }
    }
}

/// Why an array file was refused. Messages are complete lines: file, line, field, reason, remedy.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ArrayError {
    /// Not TOML.
    #[error("{at}not valid TOML: {says}")]
    Toml {
        /// Where.
        at: At,
        /// What the TOML parser says.
        says: String,
    },
    /// A key that no field has.
    #[error("{at}unknown {what}{}", .near.as_ref().map(|n| format!("; did you mean `{n}`?")).unwrap_or_default())]
    Unknown {
        /// Where.
        at: At,
        /// "key", "table", or what the word should have been.
        what: String,
        /// The nearest word that is known.
        near: Option<String>,
    },
    /// A required field is absent.
    #[error("{at}missing; {needs}")]
    Missing {
        /// Where it should be.
        at: At,
        /// What to write.
        needs: String,
    },
    /// The value has the wrong form.
    #[error("{at}{says}")]
    Form {
        /// Where.
        at: At,
        /// What is wrong, and what would do.
        says: String,
    },
    /// Each value is fine, but no such array can exist.
    #[error("{at}impossible: {says}")]
    Impossible {
        /// Where.
        at: At,
        /// The reason.
        says: String,
    },
}

/// Reads an array file. `file` is only used in messages.
///
/// # Errors
/// The first error in the file's order of fields; see [`ArrayError`].
pub fn parse(file: &str, text: &str) -> Result<Array, ArrayError> {
    let root = DeTable::parse(text).map_err(|e| ArrayError::Toml {
        at: At {
            file: file.to_owned(),
            line: line_of(text, e.span().map_or(0, |s| s.start)),
            field: String::new(),
        },
        says: e.message().to_owned(),
    })?;
    let mut array = Array::default();
    let mut reader = Reader::new(file, text, root.get_ref());
    walk(&mut array, &mut reader);
    reader.finish_table();
    reader.refuse_unknown_tables();
    if let Some(error) = reader.error {
        return Err(error);
    }
    let lines = reader.lines;
    check::check(&array).map_err(|found| {
        let line = lines.get(found.field).or_else(|| lines.get(found.table())).copied().unwrap_or(1);
        let at = At { file: file.to_owned(), line, field: found.field.to_owned() };
        ArrayError::Impossible { at, says: found.says }
    })?;
    Ok(array)
}

/// Line of a byte offset, from 1.
fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes().iter().take(offset).filter(|b| **b == b'\n').count() + 1
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    root: &'a DeTable<'a>,

    table_name: &'static str,
    table: Option<&'a DeTable<'a>>,
    table_line: usize,
    /// Provenance of numbers that do not say their own: the table's `from`.
    table_from: Option<Provenance>,
    known: Vec<&'static str>,
    tables: Vec<&'static str>,
    /// Line of every field that was given, for the checks across fields.
    lines: BTreeMap<String, usize>,
    error: Option<ArrayError>,
}

impl<'a> Reader<'a> {
    fn new(file: &'a str, text: &'a str, root: &'a DeTable<'a>) -> Self {
        Self {
            file,
            text,
            root,
            table_name: "",
            table: None,
            table_line: 1,
            table_from: None,
            known: Vec::new(),
            tables: Vec::new(),
            lines: BTreeMap::new(),
            error: None,
        }
    }

    fn line(&self, span: Range<usize>) -> usize {
        line_of(self.text, span.start)
    }

    fn at(&self, key: &str, span: Option<Range<usize>>) -> At {
        let field = match (self.table_name, key) {
            ("", key) => key.to_owned(),
            (table, "") => table.to_owned(),
            (table, key) => format!("{table}.{key}"),
        };
        let line = span.map_or(self.table_line, |s| self.line(s));
        At { file: self.file.to_owned(), line, field }
    }

    /// Keeps the first error; later ones are often its consequences. But a misspelt key explains a missing one.
    fn fail(&mut self, error: ArrayError) {
        let explains = matches!(error, ArrayError::Unknown { .. });
        if self.error.is_none() || explains && matches!(self.error, Some(ArrayError::Missing { .. })) {
            self.error = Some(error);
        }
    }

    fn form(&mut self, key: &str, span: Range<usize>, says: String) {
        let at = self.at(key, Some(span));
        self.fail(ArrayError::Form { at, says });
    }

    fn take(&mut self, key: &'static str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.known.push(key);
        let value = self.table?.iter().find(|(k, _)| k.get_ref() == key).map(|(_, v)| v)?;
        let at = self.at(key, Some(value.span()));
        self.lines.insert(at.field, at.line);
        Some(value)
    }

    /// Refuses the keys of the current table that no field claimed.
    fn finish_table(&mut self) {
        let Some(table) = self.table else { return };
        for (key, _) in table {
            let name = key.get_ref().as_ref();
            let is_table =
                self.table_name.is_empty() && table.get(name).is_some_and(|v| v.get_ref().is_table());
            if name == "from" || is_table || self.known.contains(&name) {
                continue;
            }
            let near = assay_spec::nearest(name, self.known.iter().copied()).map(str::to_owned);
            let at = self.at(name, Some(key.span()));
            self.fail(ArrayError::Unknown { at, what: "key".to_owned(), near });
        }
    }

    fn refuse_unknown_tables(&mut self) {
        self.table_name = "";
        for (key, value) in self.root {
            let name = key.get_ref().as_ref();
            if !value.get_ref().is_table() || self.tables.contains(&name) {
                continue;
            }
            let near = assay_spec::nearest(name, self.tables.iter().copied().filter(|t| !t.is_empty()))
                .map(str::to_owned);
            let at = self.at(name, Some(key.span()));
            self.fail(ArrayError::Unknown { at, what: "table".to_owned(), near });
        }
    }

    fn provenance(&mut self, key: &str, value: &Spanned<DeValue<'_>>) -> Option<Provenance> {
        let found = value.get_ref().as_str().and_then(Provenance::parse);
        if found.is_none() {
            let says = format!(
                "`from` must start with one of {}; write it like \"sheet: vendor 2009\"",
                Provenance::WORDS.join(", ")
            );
            self.form(key, value.span(), says);
        }
        found
    }

    /// A number with its range and provenance; `None` after an error was noted.
    fn quantity(
        &mut self,
        key: &'static str,
        limits: Limits,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<Quantity> {
        let Some(table) = value.get_ref().as_table() else {
            let number = self.scalar(key, limits, value)?;
            return self.with_range(key, value, number, None, self.table_from.clone());
        };
        let parts = self.inline_parts(key, table)?;
        let Some(inner) = parts.value else {
            self.form(key, value.span(), "an inline table needs `value = …`".to_owned());
            return None;
        };
        let number = self.scalar(key, limits, inner)?;
        let range = match parts.range {
            Some(range) => Some(self.range(key, limits, range)?),
            None => None,
        };
        let from = match parts.from {
            Some(from) => Some(self.provenance(key, from)?),
            None => self.table_from.clone(),
        };
        self.with_range(key, value, number, range, from)
    }

    fn inline_parts<'t>(&mut self, key: &str, table: &'t DeTable<'t>) -> Option<InlineParts<'t>> {
        let mut parts = InlineParts { value: None, range: None, from: None };
        for (name, value) in table {
            match name.get_ref().as_ref() {
                "value" => parts.value = Some(value),
                "range" => parts.range = Some(value),
                "from" => parts.from = Some(value),
                other => {
                    let near =
                        assay_spec::nearest(other, ["value", "range", "from"].into_iter()).map(str::to_owned);
                    let at = self.at(&format!("{key}.{other}"), Some(name.span()));
                    self.fail(ArrayError::Unknown { at, what: "key".to_owned(), near });
                    return None;
                }
            }
        }
        Some(parts)
    }

    fn range(
        &mut self,
        key: &'static str,
        limits: Limits,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<(f64, f64)> {
        let ends = value.get_ref().as_array().filter(|a| a.len() == 2);
        let Some(ends) = ends else {
            self.form(key, value.span(), "`range` is two numbers: [lowest, highest]".to_owned());
            return None;
        };
        let (lo, hi) = (self.scalar(key, limits, &ends[0])?, self.scalar(key, limits, &ends[1])?);
        if lo > hi {
            self.form(key, value.span(), format!("range [{lo}, {hi}] starts above its end; swap the two"));
            return None;
        }
        Some((lo, hi))
    }

    fn with_range(
        &mut self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
        number: f64,
        range: Option<(f64, f64)>,
        from: Option<Provenance>,
    ) -> Option<Quantity> {
        let Some(from) = from else {
            let says = "does not say where it comes from; add `from = \"sheet\"` (or measured, calibrated, assumed) \
                        to the value or to its table";
            self.form(key, value.span(), says.to_owned());
            return None;
        };
        let (lo, hi) = range.unwrap_or((number, number));
        if number < lo || number > hi {
            self.form(key, value.span(), format!("value {number} is outside its own range [{lo}, {hi}]"));
            return None;
        }
        Some(Quantity { value: number, lo, hi, from })
    }

    fn scalar(&mut self, key: &'static str, limits: Limits, value: &Spanned<DeValue<'_>>) -> Option<f64> {
        match read_scalar(limits, value.get_ref()) {
            Ok(number) => Some(number),
            Err(says) => {
                self.form(key, value.span(), says);
                None
            }
        }
    }
}

struct InlineParts<'t> {
    value: Option<&'t Spanned<DeValue<'t>>>,
    range: Option<&'t Spanned<DeValue<'t>>>,
    from: Option<&'t Spanned<DeValue<'t>>>,
}

fn read_scalar(limits: Limits, value: &DeValue<'_>) -> Result<f64, String> {
    let number = match value {
        DeValue::Integer(i) => parse_number(i.as_str())?,
        DeValue::Float(x) => parse_number(x.as_str())?,
        DeValue::String(text) if limits.unit == Unit::Bytes => {
            text.parse::<Bytes>().map_err(|e| e.to_string())?.0 as f64
        }
        other => {
            let wanted = if limits.unit == Unit::Bytes { "a size like \"64KiB\"" } else { "a number" };
            return Err(format!("must be {wanted}, not a {}", other.type_str()));
        }
    };
    within(limits, number)
}

fn parse_number(text: &str) -> Result<f64, String> {
    let plain = text.replace('_', "");
    plain
        .parse::<f64>()
        .ok()
        .filter(|n| n.is_finite())
        .ok_or_else(|| format!("`{text}` is not a decimal number"))
}

/// `number`, if the limits allow it; also used for overrides.
pub(super) fn within(limits: Limits, number: f64) -> Result<f64, String> {
    if number < 0.0 {
        return Err(format!("{number} is negative"));
    }
    if limits.unit != Unit::Real && number.fract() != 0.0 {
        return Err(format!("{number} must be a whole number"));
    }
    if number < limits.min || number > limits.max {
        let (min, max) = (show(limits, limits.min), show(limits, limits.max));
        return Err(format!("{} is outside what exists: {min} to {max}", show(limits, number)));
    }
    Ok(number)
}

/// A number as the file would write it.
pub(super) fn show(limits: Limits, number: f64) -> String {
    if limits.unit == Unit::Bytes {
        Bytes(crate::num::whole(number)).to_string()
    } else {
        format!("{number}")
    }
}

impl Visitor for Reader<'_> {
    fn table(&mut self, name: &'static str) {
        self.finish_table();
        self.known.clear();
        self.tables.push(name);
        self.table_name = name;
        self.table_from = None;
        self.table_line = 1;
        if name.is_empty() {
            self.table = Some(self.root);
            return;
        }
        let found = self.root.iter().find(|(k, _)| k.get_ref() == name);
        self.table = found.and_then(|(_, v)| v.get_ref().as_table());
        if let Some((key, value)) = found {
            self.table_line = self.line(key.span());
            self.lines.insert(name.to_owned(), self.table_line);
            if self.table.is_none() {
                self.form("", value.span(), format!("must be a table: [{name}]"));
            }
        }
        let from = self.table.and_then(|t| t.iter().find(|(k, _)| k.get_ref() == "from")).map(|(_, v)| v);
        if let Some(from) = from {
            self.table_from = self.provenance("from", from);
        }
    }

    fn number(&mut self, key: &'static str, limits: Limits, slot: &mut Quantity) {
        match self.take(key) {
            Some(value) => {
                if let Some(quantity) = self.quantity(key, limits, value) {
                    *slot = quantity;
                }
            }
            None if slot.value.is_nan() => {
                let needs = format!(
                    "every array needs it; write `{key} = {{ value = …, from = \"sheet\" }}` (from {} to {})",
                    show(limits, limits.min),
                    show(limits, limits.max)
                );
                let at = self.at(key, None);
                self.fail(ArrayError::Missing { at, needs });
            }
            None => {}
        }
    }

    fn maybe(&mut self, key: &'static str, limits: Limits, slot: &mut Option<Quantity>) {
        if let Some(value) = self.take(key) {
            *slot = self.quantity(key, limits, value);
        }
    }

    fn flag(&mut self, key: &'static str, slot: &mut bool) {
        let Some(value) = self.take(key) else { return };
        match value.get_ref().as_bool() {
            Some(flag) => *slot = flag,
            None => self.form(key, value.span(), "must be true or false".to_owned()),
        }
    }

    fn text(&mut self, key: &'static str, slot: &mut String) {
        let Some(value) = self.take(key) else { return };
        match value.get_ref().as_str() {
            Some(text) => text.clone_into(slot),
            None => self.form(key, value.span(), "must be text in quotes".to_owned()),
        }
    }

    fn word<W: Words>(&mut self, key: &'static str, slot: &mut W) {
        let Some(value) = self.take(key) else { return };
        // A RAID level reads naturally as a number: `level = 5`.
        let text = match value.get_ref() {
            DeValue::Integer(i) => i.as_str(),
            other => other.as_str().unwrap_or_default(),
        };
        match W::named(text) {
            Some(found) => *slot = found,
            None => {
                let known: Vec<&str> = W::words().iter().map(|(word, _)| *word).collect();
                let near = assay_spec::nearest(&W::usual(text), known.iter().copied()).map(str::to_owned);
                let at = self.at(key, Some(value.span()));
                let what = format!("word `{text}`; use one of {}", known.join(", "));
                self.fail(ArrayError::Unknown { at, what, near });
            }
        }
    }

    fn link_rate(&mut self, key: &'static str, slot: &mut LinkRate) {
        let Some(value) = self.take(key) else { return };
        let text = value.get_ref().as_str().unwrap_or_default();
        match LinkRate::named(text) {
            Some(rate) => *slot = rate,
            None => {
                let known: Vec<&str> = LinkRate::NAMES.iter().map(|(name, _)| *name).collect();
                let near = assay_spec::nearest(text, known.iter().copied()).map(str::to_owned);
                let at = self.at(key, Some(value.span()));
                let what = format!("link rate `{text}`; use one of {}", known.join(", "));
                self.fail(ArrayError::Unknown { at, what, near });
            }
        }
    }

    fn device_kind(&mut self, key: &'static str, slot: &mut Device) {
        let Some(value) = self.take(key) else {
            let at = self.at(key, None);
            self.fail(ArrayError::Missing {
                at,
                needs: "write `kind = \"hdd\"` or `kind = \"ssd\"`".to_owned(),
            });
            return;
        };
        match value.get_ref().as_str() {
            Some("hdd") => *slot = Device::Hdd(Hdd::default()),
            Some("ssd") => *slot = Device::Ssd(Flash::default()),
            other => {
                let says = format!("`{}` is not a kind of device; use hdd or ssd", other.unwrap_or("?"));
                self.form(key, value.span(), says);
            }
        }
    }
}
