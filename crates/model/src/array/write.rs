//! Writes an array as a file, every number with its range and provenance.

use std::fmt::Write as _;

use super::fields::{Limits, Visitor, walk};
use super::read::show;
use super::types::{Array, Device, LinkRate};
use super::words::{Words, word_of};
use crate::quantity::Quantity;

/// The array as TOML text; [`super::parse`] reads it back to an equal array.
#[must_use]
pub fn to_toml(array: &Array) -> String {
    let mut writer = Writer { text: String::new() };
    // Writing needs no change, but the list of fields is walked with mutable slots; a copy is the price.
    walk(&mut array.clone(), &mut writer);
    writer.text
}

struct Writer {
    text: String,
}

impl Writer {
    fn line(&mut self, key: &str, value: &str) {
        writeln!(self.text, "{key} = {value}").expect("writing to a String cannot fail");
    }

    fn quantity(&mut self, key: &str, limits: Limits, q: &Quantity) {
        let show = |number: f64| {
            let text = show(limits, number);
            if text.ends_with('B') { quoted(&text) } else { text }
        };
        let range =
            if q.lo < q.hi { format!(", range = [{}, {}]", show(q.lo), show(q.hi)) } else { String::new() };
        let from = quoted(&q.from.to_string());
        self.line(key, &format!("{{ value = {}{range}, from = {from} }}", show(q.value)));
    }
}

/// A TOML basic string.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

impl Visitor for Writer {
    fn table(&mut self, name: &'static str) {
        if !name.is_empty() {
            writeln!(self.text, "\n[{name}]").expect("writing to a String cannot fail");
        }
    }

    fn number(&mut self, key: &'static str, limits: Limits, slot: &mut Quantity) {
        self.quantity(key, limits, slot);
    }

    fn maybe(&mut self, key: &'static str, limits: Limits, slot: &mut Option<Quantity>) {
        match slot {
            Some(q) => self.quantity(key, limits, q),
            // A file that does not say it may imply one.
            None if key == "write_cache" => self.line(key, "\"none\""),
            None => {}
        }
    }

    fn flag(&mut self, key: &'static str, slot: &mut bool) {
        self.line(key, if *slot { "true" } else { "false" });
    }

    fn maybe_flag(&mut self, key: &'static str, slot: &mut Option<bool>) {
        if let Some(mut given) = *slot {
            self.flag(key, &mut given);
        }
    }

    fn text(&mut self, key: &'static str, slot: &mut String) {
        self.line(key, &quoted(slot));
    }

    fn word<W: Words>(&mut self, key: &'static str, slot: &mut W) {
        self.line(key, &quoted(word_of(*slot)));
    }

    fn link_rate(&mut self, key: &'static str, slot: &mut LinkRate) {
        self.line(key, &quoted(&slot.name()));
    }

    fn device_kind(&mut self, key: &'static str, slot: &mut Device) {
        self.line(key, if matches!(slot, Device::Hdd(_)) { "\"hdd\"" } else { "\"ssd\"" });
    }
}
