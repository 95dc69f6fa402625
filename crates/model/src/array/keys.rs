//! Every key of an array file with its limits, for completion, help and the guide.

use super::fields::{Limits, Unit, Visitor, walk};
use super::read::show;
use super::types::{Array, Device, Flash, LinkRate};
use super::words::Words;
use crate::quantity::Quantity;

/// A key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// `table.key`, as an override names it.
    pub name: String,
    /// What it takes: "0.05 to 20", "512B to 64MiB", "yes or no", "one of …".
    pub takes: String,
}

/// Every key, disks' before drives'.
#[must_use]
pub fn keys() -> Vec<Key> {
    let mut list = List { table: "", keys: Vec::new() };
    walk(&mut Array::default(), &mut list);
    let mut flash = Array { device: Device::Ssd(Flash::default()), ..Array::default() };
    walk(&mut flash, &mut list);
    let mut seen = Vec::new();
    list.keys.retain(|key| {
        let new = !seen.contains(&key.name);
        seen.push(key.name.clone());
        new
    });
    list.keys
}

struct List {
    table: &'static str,
    keys: Vec<Key>,
}

impl List {
    fn push(&mut self, key: &str, takes: String) {
        let name = if self.table.is_empty() { key.to_owned() } else { format!("{}.{key}", self.table) };
        self.keys.push(Key { name, takes });
    }

    fn limits(&mut self, key: &str, limits: Limits) {
        let whole = if limits.unit == Unit::Whole { "whole, " } else { "" };
        self.push(key, format!("{whole}{} to {}", show(limits, limits.min), show(limits, limits.max)));
    }

    fn one_of<'w>(&mut self, key: &str, words: impl Iterator<Item = &'w str>) {
        self.push(key, format!("one of {}", words.collect::<Vec<_>>().join(", ")));
    }
}

impl Visitor for List {
    fn table(&mut self, name: &'static str) {
        self.table = name;
    }

    fn number(&mut self, key: &'static str, limits: Limits, _: &mut Quantity) {
        self.limits(key, limits);
    }

    fn maybe(&mut self, key: &'static str, limits: Limits, _: &mut Option<Quantity>) {
        self.limits(key, limits);
    }

    fn flag(&mut self, key: &'static str, _: &mut bool) {
        self.push(key, "true or false".to_owned());
    }

    fn maybe_flag(&mut self, key: &'static str, _: &mut Option<bool>) {
        self.push(key, "true or false".to_owned());
    }

    fn text(&mut self, key: &'static str, _: &mut String) {
        self.push(key, "text".to_owned());
    }

    fn word<W: Words>(&mut self, key: &'static str, _: &mut W) {
        self.one_of(key, W::words().iter().map(|(word, _)| *word));
    }

    fn link_rate(&mut self, key: &'static str, _: &mut LinkRate) {
        self.one_of(key, LinkRate::NAMES.iter().map(|(name, _)| *name).chain(["0.9..1.0Gbit/s"]));
    }

    fn device_kind(&mut self, key: &'static str, _: &mut Device) {
        self.one_of(key, ["hdd", "ssd"].into_iter());
    }
}
