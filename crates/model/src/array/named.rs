//! Drives and volumes that an array file names, in place of their numbers: `disks = { model = "ST8000AS0002", count =
//! 8 }`, `cloud = { type = "gp3", size = "500GiB" }`, and a `[device]` with a `model` and no `kind`.

use std::collections::BTreeMap;

use assay_spec::PlanError;
use assay_spec::reader::{Table, Value};
use assay_spec::units::Bytes;

use super::fields::{Limits, Visitor, walk};
use super::types::{Array, Device, LinkRate};
use super::words::Words;
use crate::catalogue::{self, Class, Hint, cloud};
use crate::quantity::{Provenance, Quantity};

/// What a file names.
pub(super) struct Preset {
    /// The array to begin with.
    pub array: Array,
    /// Whether its device is known.
    pub has_device: bool,
    /// Where the members are counted, if they are; the place of complaints about how they are combined.
    pub counted: Option<PlanError>,
}

/// Reads what the file names; other keys change it afterwards.
pub(super) fn preset(top: &Table<'_>, wrong: &mut Vec<PlanError>) -> Preset {
    let mut preset = Preset { array: Array::default(), has_device: false, counted: None };
    let named = [
        top.get("cloud").map(|value| volume(&value).map(|array| preset.array = array)),
        top.get("disks").map(|value| members(&value, &mut preset)),
    ];
    preset.has_device = named.iter().any(Option::is_some);
    let asked: Vec<Result<(), PlanError>> = named.into_iter().flatten().collect();
    wrong.extend(asked.into_iter().filter_map(Result::err));
    if !preset.has_device
        && let Some(Ok(device)) = top.get("device").map(|value| value.table())
        && device.get("kind").is_none()
        && let Some(Ok(model)) = device.get("model").map(|value| value.string())
        && let Some(found) = catalogue::find(model)
    {
        preset.array.device = found.device.clone();
        preset.has_device = true;
    }
    preset
}

/// `{ type = "gp3", size = "500GiB", iops = 6000, throughput = 250, count = 2 }`.
fn volume(value: &Value<'_>) -> Result<Array, PlanError> {
    let table = value.table()?;
    let kind = table.get("type").ok_or_else(|| {
        value.complain(format!("a volume needs its `type`, one of {}", cloud::names().join(", ")))
    })?;
    let size = table.parsed::<Bytes>("size")?;
    let number = |key: &'static str| table.get(key).map(|v| v.number(1.0..=1e9)).transpose();
    let order = cloud::Order {
        bytes: size.map(|bytes| bytes.0 as f64),
        iops: number("iops")?,
        mb_s: number("throughput")?,
    };
    let name = kind.string()?;
    let count = table.integer("count", 1..=64)?.unwrap_or(1) as f64;
    table.finish()?;
    let array = cloud::volume(name, order).map_err(|says| value.complain(says))?;
    Ok(if count > 1.0 { cloud::striped(array, count) } else { array })
}

/// `{ model = "…", count = 8 }`, or several of them that are mixed in one array.
fn members(value: &Value<'_>, preset: &mut Preset) -> Result<(), PlanError> {
    let tables: Vec<Table<'_>> = if value.is_table() {
        vec![value.table()?]
    } else {
        let list = value.array().map_err(|_| {
            value.complain(
                "is the drives by their model: `disks = { model = \"…\", count = 8 }`; \
                 their number alone is `disks` in \
                 `[raid]`",
            )
        })?;
        list.iter().map(Value::table).collect::<Result<_, _>>()?
    };
    let mut count = 0.0;
    let mut devices: Vec<Device> = Vec::new();
    for table in tables {
        let model = table
            .get("model")
            .ok_or_else(|| table.complain("drives need their `model`, as the system reports it"))?;
        count += table.integer("count", 1..=8192)?.unwrap_or(1) as f64;
        let class = table.get("class").map(|word| class_of(&word)).transpose()?;
        let capacity = table.parsed::<Bytes>("capacity")?;
        let name = model.string()?;
        table.finish()?;
        devices.push(catalogue::device(name, Hint { class, capacity }).map_err(|says| model.complain(says))?);
    }
    preset.array.device = slowest_of(devices).map_err(|says| value.complain(says))?;
    preset.array.raid.disks = Quantity::exact(count, Provenance::Measured("given as `disks`".to_owned()));
    preset.counted = (count > 1.0).then(|| value.complain(String::new()));
    Ok(())
}

fn class_of(word: &Value<'_>) -> Result<Class, PlanError> {
    let text = word.string()?;
    Class::named(text).ok_or_else(|| {
        let known: Vec<&str> = Class::ALL.iter().map(|class| class.word()).collect();
        word.complain(format!("`{text}` is not known; use one of {}", known.join(", ")))
    })
}

/// Members of several kinds work at the pace of the slowest, and hold what the smallest holds; the interval reaches
/// from the slowest to the fastest.
fn slowest_of(devices: Vec<Device>) -> Result<Device, String> {
    let mut devices = devices.into_iter();
    let first = devices.next().ok_or("an empty list: name the drives, `{ model = \"…\", count = 8 }`")?;
    devices.try_fold(first, |one, other| {
        if std::mem::discriminant(&one) != std::mem::discriminant(&other) {
            return Err(
                "disks and SSDs in one list: SSDs in front of disks are the table `[tier]`".to_owned()
            );
        }
        let mut numbers = Numbers::default();
        walk(&mut Array { device: other, ..Array::default() }, &mut numbers);
        let mut array = Array { device: one, ..Array::default() };
        walk(&mut array, &mut Slower { numbers: numbers.found, is_device: false });
        Ok(array.device)
    })
}

/// Every number of an array by its key.
#[derive(Default)]
struct Numbers {
    found: BTreeMap<&'static str, Quantity>,
}

/// Takes the slower of two numbers, and a range that holds both.
struct Slower {
    numbers: BTreeMap<&'static str, Quantity>,
    is_device: bool,
}

impl Slower {
    fn join(&self, key: &'static str, slot: &mut Quantity) {
        let both = |other: &&Quantity| self.is_device && !other.value.is_nan() && !slot.value.is_nan();
        let Some(other) = self.numbers.get(key).filter(both) else { return };
        // A time is slower the longer it is; everything else the smaller.
        let slower = if key.ends_with("_ms") { f64::max } else { f64::min };
        let value = slower(slot.value, other.value);
        // The capacity that counts is the smallest, whatever the others hold.
        let (lo, hi) = match key {
            "capacity" => (value, value),
            _ => (slot.lo.min(other.lo), slot.hi.max(other.hi)),
        };
        let from = if value == slot.value { slot.from.clone() } else { other.from.clone() };
        *slot = Quantity { value, lo, hi, from };
    }
}

impl Visitor for Numbers {
    fn table(&mut self, _: &'static str) {}

    fn number(&mut self, key: &'static str, _: Limits, slot: &mut Quantity) {
        self.found.entry(key).or_insert_with(|| slot.clone());
    }

    fn maybe(&mut self, key: &'static str, _: Limits, slot: &mut Option<Quantity>) {
        if let Some(quantity) = slot {
            self.found.entry(key).or_insert_with(|| quantity.clone());
        }
    }

    fn flag(&mut self, _: &'static str, _: &mut bool) {}
    fn maybe_flag(&mut self, _: &'static str, _: &mut Option<bool>) {}
    fn text(&mut self, _: &'static str, _: &mut String) {}
    fn word<W: Words>(&mut self, _: &'static str, _: &mut W) {}
    fn link_rate(&mut self, _: &'static str, _: &mut LinkRate) {}
    fn device_kind(&mut self, _: &'static str, _: &mut Device) {}
}

impl Visitor for Slower {
    fn table(&mut self, name: &'static str) {
        self.is_device = name == "device";
    }

    fn number(&mut self, key: &'static str, _: Limits, slot: &mut Quantity) {
        self.join(key, slot);
    }

    fn maybe(&mut self, key: &'static str, _: Limits, slot: &mut Option<Quantity>) {
        if let Some(quantity) = slot {
            self.join(key, quantity);
        }
    }

    fn flag(&mut self, _: &'static str, _: &mut bool) {}
    fn maybe_flag(&mut self, _: &'static str, _: &mut Option<bool>) {}
    fn text(&mut self, _: &'static str, _: &mut String) {}
    fn word<W: Words>(&mut self, _: &'static str, _: &mut W) {}
    fn link_rate(&mut self, _: &'static str, _: &mut LinkRate) {}
    fn device_kind(&mut self, _: &'static str, _: &mut Device) {}
}
