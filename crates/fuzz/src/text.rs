//! Input written by people: plans, overrides, addresses, quantities, descriptions of arrays, tables of articles.
//!
//! The property besides not panicking: accepted input has the same meaning when it is printed and parsed again, and
//! messages show no password.

use assay_model::{array, published as articles};
use assay_spec::units::{Bytes, Nanos, PerSecond, SizeSpec};
use assay_spec::{Address, IscsiPortal, NfsAddress, Overrides, PlanFile, without_secret};

use crate::input::text;

pub(crate) fn plan(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let Ok(file) = PlanFile::parse("fuzz", text) else { return };
    let Ok(plan) = file.resolve(&Overrides::default()) else { return };
    let json = serde_json::to_string(&plan).expect("a plan has a JSON form");
    let back: assay_spec::Plan = serde_json::from_str(&json).expect("the JSON form of a plan reads back");
    assert_eq!(serde_json::to_string(&back).ok(), Some(json), "a plan reads back as it was");
}

pub(crate) fn override_(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let mut overrides = Overrides::default();
    for assignment in text.split('\n').take(8) {
        let _ = overrides.set(assignment);
    }
    let base = "[[test]]\nname = \"t\"\naccess = [{ size = \"4KiB\", read = 100 }]\nrun = \"1s\"\n";
    let file = PlanFile::parse("fuzz", base).expect("the plan is right");
    let _ = file.resolve(&overrides);
}

pub(crate) fn address(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let _ = without_secret(text);
    if let Ok(address) = text.parse::<Address>() {
        let printed = address.to_string();
        // A path is printed as typed, and parsed by other rules if it looks like an address.
        if !matches!(address, Address::Path(_)) {
            assert_eq!(printed.parse::<Address>().ok().as_ref(), Some(&address), "{text:?} as {printed:?}");
        }
    }
    let _ = (IscsiPortal::parse(text), NfsAddress::parse_server(text));
}

pub(crate) fn units(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    if let Ok(size) = text.parse::<Bytes>() {
        assert_eq!(size.to_string().parse::<Bytes>().ok(), Some(size), "{text:?}");
    }
    if let Ok(rate) = text.parse::<PerSecond>() {
        assert!(rate.to_string().parse::<PerSecond>().is_ok(), "{text:?} as {rate}");
    }
    if let Ok(time) = text.parse::<Nanos>() {
        assert!(time.to_string().parse::<Nanos>().is_ok(), "{text:?} as {time}");
    }
    if let Ok(size) = text.parse::<SizeSpec>() {
        assert!(size.to_string().parse::<SizeSpec>().is_ok(), "{text:?} as {size}");
        let _ = size.resolve(Bytes(64 << 30));
    }
    let _ = assay_model::quantity::Provenance::parse(text);
    let _ = assay_report::day_unix_ms(text);
}

pub(crate) fn array(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let (file, overrides) = text.split_once("\n#set ").unwrap_or((text, ""));
    let Ok(mut array) = array::parse("fuzz", file) else { return };
    let _ = array::set(&mut array, overrides);
    let _ = assay_model::facts::usable_bytes(&array);
    let printed = array::to_toml(&array);
    if let Ok(back) = array::parse("fuzz", &printed) {
        assert_eq!(array::to_toml(&back), printed, "an array reads back as it was");
    }
}

pub(crate) fn published(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let Ok(table) = articles::parse("fuzz", text) else { return };
    for row in &table.rows {
        let _ = (row.workload(), row.measured_iops());
    }
    let _ = assay_report::expected::published_rows(&table);
}
