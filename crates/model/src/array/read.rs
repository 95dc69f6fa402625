//! Reads an array file with the reader of plan files; every error names the file, the line, the field, and what would
//! do.

use std::collections::BTreeMap;

use assay_spec::reader::{Source, Table, Value};
use assay_spec::units::Bytes;
use assay_spec::{PlanError, suggest};

use super::check;
use super::error::ArrayError;
use super::fields::{Limits, Range, Unit, Visitor, walk};
use super::named;
use super::types::{Array, Device, Flash, Hdd, LinkRate, ProtocolKind};
use super::unmodelled;
use super::words::Words;
use crate::quantity::{Provenance, Quantity};

/// Reads an array file. `file` is only used in messages.
///
/// # Errors
/// All errors, in the file's order.
pub fn parse(file: &str, text: &str) -> Result<Array, ArrayError> {
    parse_as(file, text, FixedRange::Refused)
}

/// Reads an array file that a run or a target of a store was given once. Ranges of fields that say which array it is
/// were accepted at first, and had no effect: they have none here.
///
/// # Errors
/// All errors, in the file's order.
pub fn parse_stored(place: &str, text: &str) -> Result<Array, ArrayError> {
    parse_as(place, text, FixedRange::Ignored)
}

/// The cache of a SATA disk is on when it is sold, and stays on unless something turns it off: adapters with a cache of
/// their own do, and what stands in a server is not known.
fn imply_write_cache(array: &mut Array) {
    let adapter = array.controller.write_back.is_some() || array.controller.battery;
    let is_local = array.protocol.kind == ProtocolKind::Local && !adapter;
    let of_set = array.link.rate;
    if let Device::Hdd(hdd) = &mut array.device
        && hdd.write_cache.is_none()
        && is_local
        && [hdd.link, of_set].iter().any(|link| matches!(link, LinkRate::Sata(_)))
    {
        let from = "SATA disks have it on; `write_cache = \"none\"` where it is off";
        hdd.write_cache = Some(Hdd::usual_write_cache(Provenance::Assumed(from.to_owned())));
    }
}

/// What becomes of a range where [`Range::Refused`] stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FixedRange {
    Refused,
    Ignored,
}

fn parse_as(file: &str, text: &str, fixed: FixedRange) -> Result<Array, ArrayError> {
    let source = Source::new(file, text);
    let root = source.parse()?;
    let mut reader = Reader::new(Table::top(&source, &root), fixed);
    let named = named::preset(&reader.top, &mut reader.wrong);
    reader.has_device = named.has_device;
    reader.is_misnamed = named.has_device && !reader.wrong.is_empty();
    let mut array = named.array;
    walk(&mut array, &mut reader);
    let lines = reader.finish()?;
    if !lines.contains_key("device.write_cache") {
        imply_write_cache(&mut array);
    }
    if let Some(counted) = named.counted.filter(|_| !lines.contains_key("raid.level")) {
        let says = "says how many drives there are, and no `[raid]` says how they are combined; \
                    add one with its `level`";
        return Err(PlanError { message: says.to_owned(), ..counted }.into());
    }
    let impossible = check::check(&array).into_iter().map(|found| {
        let line = lines.get(found.field).or_else(|| lines.get(found.table())).copied().unwrap_or(1);
        let place = format!("{file}:{line}: {}", found.field);
        PlanError::new(place, format!("impossible: {}", found.says))
    });
    let errors: Vec<PlanError> = impossible.collect();
    if errors.is_empty() { Ok(array) } else { Err(ArrayError { errors }) }
}

#[expect(clippy::struct_excessive_bools, reason = "each says what the file has or lacks")]
struct Reader<'a> {
    top: Table<'a>,
    fixed: FixedRange,

    /// The table whose fields are read; `None` at the top, and where the file does not have it.
    table: Option<Table<'a>>,
    table_name: &'static str,
    /// Provenance of numbers that do not say their own: the table's `from`.
    table_from: Option<Provenance>,
    /// Line of every field that was given, for the checks across fields.
    lines: BTreeMap<String, usize>,
    wrong: Vec<PlanError>,
    /// What is required and absent: the key, and the error.
    missing: Vec<(String, PlanError)>,
    /// Whether the kind of device is unknown, so that no other field of it can be judged.
    kindless: bool,
    /// Whether the device is known by its name.
    has_device: bool,
    /// Whether that name is wrong, so that nothing that follows from it is missing.
    is_misnamed: bool,
    /// Whether a number of this table does not say where it comes from, and was answered.
    sourceless: bool,
}

impl<'a> Reader<'a> {
    fn new(top: Table<'a>, fixed: FixedRange) -> Self {
        Self {
            top,
            fixed,
            table: None,
            table_name: "",
            table_from: None,
            lines: BTreeMap::new(),
            wrong: Vec::new(),
            missing: Vec::new(),
            kindless: false,
            has_device: false,
            is_misnamed: false,
            sourceless: false,
        }
    }

    /// Returns the lines of all fields, or all errors.
    fn finish(mut self) -> Result<BTreeMap<String, usize>, ArrayError> {
        self.finish_table();
        // A word at the top that says where everything comes from is allowed, as in the tables.
        self.top.get("from");
        let mut errors = self.wrong;
        errors.extend(self.top.strays());
        let mut errors: Vec<PlanError> = errors.into_iter().map(unmodelled::explained).collect();
        // A misspelt key explains a missing one, and a misspelt table all of its keys.
        let near = |key: &str| errors.iter().any(|e| e.message.contains(&format!("did you mean `{key}`")));
        let table_near = |key: &str| key.split_once('.').is_some_and(|(table, _)| near(table));
        let unexplained = self
            .missing
            .iter()
            .filter(|(key, _)| !near(key.rsplit('.').next().unwrap_or(key)) && !table_near(key));
        let unexplained: Vec<PlanError> = unexplained.map(|(_, error)| error.clone()).collect();
        errors.extend(unexplained);
        errors.sort_by_key(line_of);
        if errors.is_empty() { Ok(self.lines) } else { Err(ArrayError { errors }) }
    }

    /// Keeps an error; returns the value where there is none.
    fn note<T>(&mut self, read: Result<T, PlanError>) -> Option<T> {
        read.map_err(|error| {
            // One word for its table mends all of them.
            let sourceless = error.message.starts_with(SOURCELESS);
            if !(sourceless && self.sourceless) {
                self.wrong.push(error);
            }
            self.sourceless |= sourceless;
        })
        .ok()
    }

    fn missing(&mut self, key: &str, needs: &str) {
        if self.is_misnamed {
            return;
        }
        let message = format!("missing; {needs}");
        let error = match &self.table {
            Some(table) => table.lacks(key, message),
            None if self.table_name.is_empty() => self.top.lacks(key, message),
            None => self.top.lacks(&format!("{}.{key}", self.table_name), message),
        };
        if !(self.kindless && self.table_name == "device" && key != "kind") {
            let name = if self.table_name.is_empty() {
                key.to_owned()
            } else {
                format!("{}.{key}", self.table_name)
            };
            self.missing.push((name, error));
        }
    }

    fn take(&mut self, key: &'static str) -> Option<Value<'a>> {
        let value = match &self.table {
            Some(table) => table.get(key)?,
            None if self.table_name.is_empty() => self.top.get(key)?,
            None => return None,
        };
        let field = match self.table_name {
            "" => key.to_owned(),
            table => format!("{table}.{key}"),
        };
        self.lines.insert(field, value.line());
        Some(value)
    }

    /// Refuses the keys of the current table that no field claimed.
    fn finish_table(&mut self) {
        if let Some(table) = self.table.take().filter(|_| !(self.kindless && self.table_name == "device")) {
            self.wrong.extend(table.strays());
        }
    }
}

/// How the answer to a number without its source begins.
const SOURCELESS: &str = "does not say where it comes from";

/// The line that an error names; 0 if none.
fn line_of(error: &PlanError) -> usize {
    error.place.split(':').nth(1).and_then(|line| line.parse().ok()).unwrap_or(0)
}

fn provenance(value: &Value<'_>) -> Result<Provenance, PlanError> {
    value.string().ok().and_then(Provenance::parse).ok_or_else(|| {
        value.complain(format!(
            "`from` must start with one of {}; write it like \"sheet: vendor 2009\"",
            Provenance::WORDS.join(", ")
        ))
    })
}

/// A number with its range and provenance; `from` is that of its table.
fn quantity(
    value: &Value<'_>,
    limits: Limits,
    fixed: FixedRange,
    table_from: Option<&Provenance>,
) -> Result<Quantity, PlanError> {
    if !value.is_table() {
        let number = scalar(value, limits)?;
        return with_range(value, number, None, table_from.cloned());
    }
    let table = value.table()?;
    let (inner, mut range, from) = (table.get("value"), table.get("range"), table.get("from"));
    table.finish()?;
    let inner = inner.ok_or_else(|| value.complain("an inline table needs `value = …`"))?;
    let number = scalar(&inner, limits)?;
    if limits.range == Range::Refused && fixed == FixedRange::Ignored {
        range = None;
    }
    if range.is_some() && limits.range == Range::Refused {
        return Err(value.complain(
            "takes no range: another value is another array; leave out `range`, and compare values with --what-if",
        ));
    }
    let range = range.map(|range| ends(&range, value, limits)).transpose()?;
    let from = from.map(|from| provenance(&from)).transpose()?;
    with_range(value, number, range, from.or_else(|| table_from.cloned()))
}

/// The `value` of an inline table that may say where it is from.
fn valued<'t>(value: &Value<'t>) -> Result<Value<'t>, PlanError> {
    let table = value.table()?;
    let inner = table.get("value").ok_or_else(|| value.complain("an inline table needs `value = …`"))?;
    table.get("from").map(|from| provenance(&from)).transpose()?;
    table.finish()?;
    Ok(inner)
}

/// The two ends of a `range`; `of` is the field it belongs to.
fn ends(range: &Value<'_>, of: &Value<'_>, limits: Limits) -> Result<(f64, f64), PlanError> {
    let both = range.array().unwrap_or_default();
    let [lo, hi] = &both[..] else {
        return Err(of.complain("`range` is two numbers: [lowest, highest]"));
    };
    let (lo, hi) = (scalar(lo, limits)?, scalar(hi, limits)?);
    if lo > hi {
        return Err(of.complain(format!("range [{lo}, {hi}] starts above its end; swap the two")));
    }
    Ok((lo, hi))
}

fn with_range(
    value: &Value<'_>,
    number: f64,
    range: Option<(f64, f64)>,
    from: Option<Provenance>,
) -> Result<Quantity, PlanError> {
    let Some(from) = from else {
        return Err(value.complain(format!(
            "{SOURCELESS}; add `from = \"sheet\"` (or measured, calibrated, assumed) to the value or to its \
                 table"
        )));
    };
    let (lo, hi) = range.unwrap_or((number, number));
    if number < lo || number > hi {
        return Err(value.complain(format!("value {number} is outside its own range [{lo}, {hi}]")));
    }
    Ok(Quantity { value: number, lo, hi, from })
}

fn scalar(value: &Value<'_>, limits: Limits) -> Result<f64, PlanError> {
    let number = match limits.unit {
        Unit::Bytes if value.is_text() => value.parsed::<Bytes>()?.0 as f64,
        Unit::Bytes => value.finite("a size like \"64KiB\"")?,
        Unit::Real | Unit::Whole => value.finite("a number")?,
    };
    within(limits, number).map_err(|says| value.complain(says))
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
        return Err(format!("{} is out of range: {min} to {max}", show(limits, number)));
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
        self.table_name = name;
        self.table_from = None;
        self.sourceless = false;
        if name.is_empty() {
            return;
        }
        let Some(found) = self.top.get(name) else { return };
        self.lines.insert(name.to_owned(), found.line());
        self.table = self.note(found.table());
        let from = self.table.as_ref().and_then(|table| table.get("from"));
        let given = from.is_some();
        self.table_from = from.and_then(|from| self.note(provenance(&from)));
        self.sourceless = given && self.table_from.is_none();
    }

    fn number(&mut self, key: &'static str, limits: Limits, slot: &mut Quantity) {
        match self.take(key) {
            Some(value) => {
                if let Some(read) = self.note(quantity(&value, limits, self.fixed, self.table_from.as_ref()))
                {
                    *slot = read;
                }
            }
            None if slot.value.is_nan() => self.missing(
                key,
                &format!(
                    "every array needs it; write `{key} = {{ value = …, from = \"sheet\" }}` (from {} to {})",
                    show(limits, limits.min),
                    show(limits, limits.max)
                ),
            ),
            None => {}
        }
    }

    fn maybe(&mut self, key: &'static str, limits: Limits, slot: &mut Option<Quantity>) {
        let Some(value) = self.take(key) else { return };
        *slot = match value.scalar() {
            Ok(text) if text == "none" => None,
            _ => self.note(quantity(&value, limits, self.fixed, self.table_from.as_ref())),
        };
    }

    fn flag(&mut self, key: &'static str, slot: &mut bool) {
        let Some(value) = self.take(key) else { return };
        *slot = self.note(value.boolean()).unwrap_or(*slot);
    }

    fn maybe_flag(&mut self, key: &'static str, slot: &mut Option<bool>) {
        let Some(value) = self.take(key) else { return };
        *slot = self.note(value.boolean()).or(*slot);
    }

    fn text(&mut self, key: &'static str, slot: &mut String) {
        let Some(value) = self.take(key) else { return };
        if let Some(text) = self.note(value.string()) {
            text.clone_into(slot);
        }
    }

    fn word<W: Words>(&mut self, key: &'static str, slot: &mut W) {
        let Some(value) = self.take(key) else { return };
        let named = value.scalar().and_then(|text| {
            W::named(&text).ok_or_else(|| {
                if let Some(says) = unmodelled::word(&text) {
                    return value.complain(says);
                }
                let known: Vec<&str> = W::words().iter().map(|(word, _)| *word).collect();
                value.complain(format!("`{text}` is not known{}", suggest(&W::usual(&text), &known)))
            })
        });
        *slot = self.note(named).unwrap_or(*slot);
    }

    fn link_rate(&mut self, key: &'static str, slot: &mut LinkRate) {
        let Some(value) = self.take(key) else { return };
        // `{ value = "10GbE", from = "sheet" }`, like a number.
        let inner = if value.is_table() { self.note(valued(&value)) } else { Some(value) };
        let Some(value) = inner else { return };
        let read = value.scalar().and_then(|text| match LinkRate::named(&text) {
            Some(rate) => Ok(rate),
            None if text.contains("bit") => Err(value.complain(format!(
                "`{text}` is not a rate; write it like \"0.9..1.0 Gbit/s\" or \"300 Mbit/s\", from 1 Mbit/s to 1000 \
                 Gbit/s, the lower end first"
            ))),
            None => {
                let known: Vec<&str> = LinkRate::NAMES.iter().map(|(name, _)| *name).collect();
                Err(value.complain(format!("`{text}` is not known{}", suggest(&text, &known))))
            }
        });
        *slot = self.note(read).unwrap_or(*slot);
    }

    fn device_kind(&mut self, key: &'static str, slot: &mut Device) {
        const KINDS: [(&str, Kind); 2] = [("hdd", Kind::Hdd), ("ssd", Kind::Ssd)];
        let Some(value) = self.take(key) else {
            if !self.has_device {
                self.missing(key, "write `kind = \"hdd\"` or `kind = \"ssd\"`");
                self.kindless = true;
            }
            return;
        };
        match (self.note(value.word(&KINDS)), &*slot) {
            (Some(Kind::Hdd), Device::Hdd(_)) | (Some(Kind::Ssd), Device::Ssd(_)) if self.has_device => {}
            (Some(Kind::Hdd), _) => *slot = Device::Hdd(Hdd::default()),
            (Some(Kind::Ssd), _) => *slot = Device::Ssd(Flash::default()),
            (None, _) => self.kindless = true,
        }
    }
}

/// Kinds of devices, as words.
#[derive(Clone, Copy)]
enum Kind {
    Hdd,
    Ssd,
}
