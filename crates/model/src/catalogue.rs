//! The catalogue: drives by the model string that they report, with what their sheets say.
//!
//! [`find`] looks a string of SCSI INQUIRY, ATA IDENTIFY or NVMe identify up in `arrays/catalogue/`; every number of
//! the [`Device`] it returns names the sheet or review that it is from, or the class that stands in for what none
//! says. [`device`] falls back to the class of a drive that is not listed, and says so in the provenance of every
//! number.

mod class;
pub mod cloud;
mod table;

use std::borrow::Cow;
use std::sync::OnceLock;

use assay_spec::units::Bytes;

use crate::array::Device;
use crate::num::whole;

pub use class::Class;

/// The embedded tables: rotating disks, and solid-state drives.
const DISKS: &str = include_str!("../../../arrays/catalogue/disks.tsv");
const DRIVES: &str = include_str!("../../../arrays/catalogue/ssds.tsv");

/// A drive of the catalogue.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// Its model string, the first where variants have several.
    pub name: String,
    /// What a string must hold to mean it, in words; `*` at the end of one stands for any characters.
    patterns: Vec<Vec<String>>,
    /// Where its numbers are from, and when they were read.
    pub source: String,
    /// The class that answers what the source does not say.
    pub class: Class,
    /// The drive.
    pub device: Device,
}

/// Every drive of the catalogue, disks first.
#[must_use]
pub fn models() -> &'static [Model] {
    static MODELS: OnceLock<Vec<Model>> = OnceLock::new();
    MODELS.get_or_init(|| table::disks(DISKS).into_iter().chain(table::drives(DRIVES)).collect())
}

/// Returns the drive that reports this model string, or that people call so: `WDC WD10EALX-009BA0`, `Samsung SSD 870
/// EVO 1TB`, `ATA ST1000DM010-2EP1`.
#[must_use]
pub fn find(text: &str) -> Option<&'static Model> {
    let said = words(text);
    let length = |pattern: &&Vec<String>| pattern.iter().map(String::len).sum::<usize>();
    let best = |model: &'static Model| {
        let fits = model.patterns.iter().filter(|pattern| holds(&said, pattern));
        fits.map(|pattern| length(&pattern)).max().map(|length| (length, model))
    };
    models().iter().filter_map(best).max_by_key(|(length, _)| *length).map(|(_, model)| model)
}

/// What else is known of a drive that the catalogue may not have.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Hint {
    /// Its class, where somebody says so.
    pub class: Option<Class>,
    /// Its capacity.
    pub capacity: Option<Bytes>,
}

/// Model of a device that nobody has seen: what is detected in front of it has such a one until its questions are
/// answered.
pub const NOT_SEEN: &str = "not seen";

/// Whether nobody has said what the drives of an array are.
#[must_use]
pub fn is_not_seen(device: &Device) -> bool {
    let model = match device {
        Device::Hdd(hdd) => &hdd.model,
        Device::Ssd(ssd) => &ssd.model,
    };
    model == NOT_SEEN
}

/// What a class answers for.
const NOT_LISTED: &str = ", as the catalogue does not have";
const NO_MODEL: &str = ", as the drive has no model string";

/// Returns a drive by its model string: from the catalogue, or of its class.
///
/// # Errors
/// A sentence, if the catalogue does not have it and neither its name nor the hint says what it is.
pub fn device(text: &str, hint: Hint) -> Result<Device, String> {
    if let Some(model) = find(text) {
        return Ok(with_capacity(model.device.clone(), hint.capacity));
    }
    let class = hint.class.or_else(|| class_of(text)).ok_or_else(|| {
        let known: Vec<&str> = Class::ALL.iter().map(|class| class.word()).collect();
        format!(
            "the catalogue does not have `{text}`, and its name does not say what it is; \
             add `class = \"hdd-7200\"` (or {}) \
             and its `capacity`",
            known[1..].join(", ")
        )
    })?;
    let capacity = hint.capacity.map(|bytes| bytes.0 as f64).or_else(|| capacity_in(&words(text)));
    let from = match text.trim() {
        "" => format!("{}{NO_MODEL}", class.name()),
        text => format!("{}{NOT_LISTED} `{text}`", class.name()),
    };
    Ok(class.device(text, capacity, &from))
}

/// Returns the class that a model string gives away; `None` where it does not.
#[must_use]
pub fn class_of(text: &str) -> Option<Class> {
    Class::of_name(&words(text))
}

/// What the numbers of a device come down to, where they are those of a class and not of a model: a sentence.
#[must_use]
pub fn class_note(device: &Device) -> Option<String> {
    let from = match device {
        Device::Hdd(hdd) => &hdd.rpm.from,
        Device::Ssd(ssd) => &ssd.read_iops_max.from,
    };
    let said = from.to_string();
    let said = said.strip_prefix("assumed: ")?;
    if let Some(class) = said.strip_suffix(NO_MODEL) {
        return Some(format!(
            "The drive has no model string: its numbers are those of the {class}, with wide ranges."
        ));
    }
    let (class, name) = said.split_once(NOT_LISTED)?;
    let name = name.trim().trim_matches('`');
    Some(format!(
        "The catalogue does not have {name}: its numbers are those of the {class}, with wide ranges."
    ))
}

fn with_capacity(mut device: Device, capacity: Option<Bytes>) -> Device {
    let slot = match &mut device {
        Device::Hdd(hdd) => &mut hdd.capacity,
        Device::Ssd(ssd) => &mut ssd.capacity,
    };
    if let Some(bytes) = capacity {
        (slot.value, slot.lo, slot.hi) = (bytes.0 as f64, bytes.0 as f64, bytes.0 as f64);
    }
    device
}

/// The words of a model string: upper case, a size as one word in GB, no vendor.
fn words(text: &str) -> Vec<String> {
    let upper = text.to_uppercase();
    let mut words: Vec<String> = Vec::new();
    for word in upper.split(|c: char| c.is_whitespace() || c == '_' || c == '/').filter(|w| !w.is_empty()) {
        // `1 TB` is one word.
        let number = words.last().filter(|last| ["GB", "TB"].contains(&word) && last.parse::<f64>().is_ok());
        match number.cloned() {
            Some(number) => {
                words.pop();
                words.push(in_gb(&format!("{number}{word}")).into_owned());
            }
            None => words.push(in_gb(word).into_owned()),
        }
    }
    words
}

/// `1TB` as `1000GB`; any other word as it is.
fn in_gb(word: &str) -> Cow<'_, str> {
    match word.strip_suffix("TB").and_then(|number| number.parse::<f64>().ok()) {
        Some(tb) => Cow::Owned(format!("{}GB", whole(tb * 1000.0))),
        None => Cow::Borrowed(word),
    }
}

/// The capacity that one of the words is, or that a maker's name begins with, bytes: `960GB`, `ST12000NM0008` (GB),
/// `WD40EFRX` (tenths of TB).
fn capacity_in(words: &[String]) -> Option<f64> {
    let coded = |word: &str, maker: &str, digits: std::ops::RangeInclusive<usize>| -> Option<f64> {
        let rest = word.strip_prefix(maker)?;
        let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
        let letters = rest.chars().skip(number.len()).take(2).filter(char::is_ascii_alphabetic).count();
        (letters == 2 && digits.contains(&number.len())).then(|| number.parse().ok())?
    };
    words.iter().find_map(|word| {
        let size = word.strip_suffix("GB").and_then(|number| number.parse::<f64>().ok()).map(|gb| gb * 1e9);
        let seagate = || coded(word, "ST", 3..=5).map(|gb| gb * 1e9);
        let western_digital = || coded(word, "WD", 2..=3).map(|tenths| tenths * 1e11);
        size.or_else(seagate).or_else(western_digital)
    })
}

/// Whether consecutive words are those of a pattern.
fn holds(said: &[String], pattern: &[String]) -> bool {
    let fits = |(said, wanted): (&String, &String)| match wanted.strip_suffix('*') {
        Some(begin) => said.starts_with(begin),
        // Behind a hyphen is the customer's variant.
        None => {
            said.strip_prefix(wanted.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        }
    };
    said.windows(pattern.len().max(1)).any(|window| window.iter().zip(pattern).all(fits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_that_drives_report_are_found_and_others_are_not() {
        for (said, name) in [
            ("ST1000DM010-2EP102", "ST1000DM010"),
            ("SEAGATE  ST3600957SS     ", "ST3600057SS"),
            ("WDC WD1002FAEX-00Z3A0", "WD1002FAEX"),
            ("HGST HUS726T6TALE6L4", "HUS726T6TAL*"),
            ("Samsung SSD 870 EVO 1TB", "870 EVO 1TB"),
            ("samsung 970 evo plus 500 gb", "970 EVO PLUS 500GB"),
            ("Samsung SSD 970 EVO 1TB", "970 EVO 1TB"),
            ("INTEL SSDPE2KX020T7", "SSDPE2KX020T7*"),
            ("Micron_5300_MTFDDAK960TDS", "MTFDDAK960TDS*"),
            ("TOSHIBA MG08ACA16TE", "MG08ACA16TE"),
        ] {
            assert_eq!(find(said).map(|model| model.name.as_str()), Some(name), "{said}");
        }
        for said in ["", "ST1000DM0109", "EVO", "870 EVO", "QEMU HARDDISK", "WD1002", "*"] {
            assert_eq!(find(said), None, "{said}");
        }
    }

    #[test]
    fn names_give_away_the_class_and_the_capacity_of_drives_that_are_not_listed() {
        for (said, class, gb) in [
            ("ST12000NM0008-2H3101", Class::Hdd7200, 12_000.0),
            ("ST2400MM0129", Class::Hdd10k, 2400.0),
            ("WDC WD80EFAX-68KNBN0", Class::Hdd5400, 8000.0),
            ("WDC WD120EFAX", Class::Hdd5400, 12_000.0),
            ("WDC WD4003FZEX", Class::Hdd7200, 4000.0),
            ("SAMSUNG MZ7LH960HAJR", Class::SataSsd, 960.0),
            ("Some NVMe 2TB", Class::Nvme, 2000.0),
            ("Samsung SSD 980 PRO 1TB", Class::Nvme, 1000.0),
            ("WDC WDS100T1X0E-00AFY0 SN850 1TB", Class::Nvme, 1000.0),
            ("KINGSTON SKC3000S 1TB", Class::Nvme, 1000.0),
            ("Samsung SSD 860 PRO 1TB", Class::SataSsd, 1000.0),
        ] {
            let Ok(device) = device(said, Hint::default()) else { panic!("{said}") };
            let bytes = match &device {
                Device::Hdd(hdd) => hdd.capacity.value,
                Device::Ssd(ssd) => ssd.capacity.value,
            };
            assert!((bytes / 1e9 - gb).abs() < 1.0, "{said}: {bytes}");
            let note = class_note(&device).unwrap_or_else(|| panic!("{said} is listed"));
            assert!(note.contains(class.name()), "{said}: {note}");
        }
        assert!(device("QEMU HARDDISK", Hint::default()).is_err());
    }

    #[test]
    fn no_string_means_two_drives() {
        for model in models() {
            for pattern in &model.patterns {
                let said = pattern.join(" ").replace('*', "");
                assert_eq!(find(&said).map(|found| &found.name), Some(&model.name), "{said}");
            }
        }
    }
}
