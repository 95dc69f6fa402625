//! Lists the alternatives if the requested target or unit does not exist: the targets of a portal, the units of a
//! target.

use assay_iscsi::{ConnectError, DiscoveredTarget, Missing, Unit, discover, units};
use assay_spec::IscsiAddress;
use assay_spec::units::Bytes;

use assay_target::lun::{Credentials, config};

/// Number of list entries in a message; more would hide the message itself.
const LISTED_MAX: usize = 8;

/// Returns a connection error in words, with a list of alternatives if the target or unit does not exist. If the list
/// cannot be obtained, the error stays the same.
pub(super) fn explained(
    address: &IscsiAddress,
    credentials: Option<&Credentials>,
    error: &ConnectError,
) -> String {
    let ConnectError::NoPath { missing, .. } = error else { return error.to_string() };
    let list = match missing {
        None => String::new(),
        Some(Missing::Target) => target_list(address, credentials),
        Some(Missing::Unit) => unit_list(address, credentials),
    };
    format!("{error}{list}")
}

fn target_list(address: &IscsiAddress, credentials: Option<&Credentials>) -> String {
    let config = config(address, credentials, 1);
    let portal = &address.portals[0];
    match discover(portal, &config.initiator_name, config.chap.as_ref(), &config.timeouts) {
        Ok(found) => targets(portal, &found, &address.target),
        Err(error) => format!("\n  The portal does not list its targets: {error}"),
    }
}

/// Returns the targets of a portal, the names most similar to `wanted` first.
pub(super) fn targets(portal: &str, found: &[DiscoveredTarget], wanted: &str) -> String {
    let mut names: Vec<&str> = found.iter().map(|target| target.name.as_str()).collect();
    if names.is_empty() {
        return format!("\n  {portal} offers this initiator no target; check its access list.");
    }
    names.sort_by_key(|name| std::cmp::Reverse(alike(name, wanted)));
    let more_count = names.len().saturating_sub(LISTED_MAX);
    let lines = names.into_iter().take(LISTED_MAX).map(str::to_owned);
    format!("\n  {portal} has:{}", list(lines, more_count))
}

/// Returns the number of letters that two names have in common at their starts and ends, because names on one system
/// differ in between.
fn alike(one: &str, other: &str) -> usize {
    let same = |pairs: &mut dyn Iterator<Item = (u8, u8)>| {
        pairs.take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count()
    };
    let (one, other) = (one.as_bytes(), other.as_bytes());
    same(&mut one.iter().copied().zip(other.iter().copied()))
        + same(&mut one.iter().rev().copied().zip(other.iter().rev().copied()))
}

fn unit_list(address: &IscsiAddress, credentials: Option<&Credentials>) -> String {
    match units(&config(address, credentials, 1), LISTED_MAX) {
        Ok(found) if found.units.is_empty() => "\n  The target offers this initiator no LUN.".into(),
        Ok(found) => {
            format!("\n  The target has:{}", list(found.units.iter().map(unit_words), found.more_count))
        }
        Err(error) => format!("\n  The target does not list its LUNs: {error}"),
    }
}

fn unit_words(unit: &Unit) -> String {
    let Some(inquiry) = &unit.inquiry else {
        return format!("LUN {}, which does not answer INQUIRY", unit.lun);
    };
    let size = match unit.capacity_bytes {
        _ if inquiry.device_type != 0 => ", not a disk".to_owned(),
        Some(bytes) => format!(", {}", Bytes(bytes)),
        None => String::new(),
    };
    format!("LUN {}{size} ({} {})", unit.lun, inquiry.vendor, inquiry.product)
}

fn list(lines: impl Iterator<Item = String>, more_count: usize) -> String {
    let lines: String = lines.map(|line| format!("\n    - {line}")).collect();
    let more = if more_count > 0 { format!("\n    - and {more_count} more") } else { String::new() };
    lines + &more
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_similar_names_come_first_and_eight_are_listed() {
        let names = (0..12).map(|n| format!("iqn.2026-11.example:disk{n:02}"));
        let found: Vec<DiscoveredTarget> =
            names.map(|name| DiscoveredTarget { name, portals: Vec::new() }).collect();
        let list = targets("nas", &found, "iqn.2026-11.Example:disk10");
        let lines: Vec<&str> = list.lines().collect();
        assert_eq!(lines[1..3], ["  nas has:", "    - iqn.2026-11.example:disk10"]);
        assert_eq!((lines.len(), lines[10]), (11, "    - and 4 more"));
        assert!(targets("nas", &[], "iqn.x").contains("offers this initiator no target"));
    }

    #[test]
    fn a_unit_is_described_by_its_inquiry_data() {
        let inquiry = assay_iscsi::scsi::Inquiry::parse(&{
            let mut data = [b' '; 36];
            data[..8].copy_from_slice(&[0, 0, 5, 2, 31, 0, 0, 0]);
            data[8..11].copy_from_slice(b"IET");
            data[16..23].copy_from_slice(b"VIRTUAL");
            data
        })
        .unwrap();
        let disk = Unit { lun: 1, inquiry: Some(inquiry.clone()), capacity_bytes: Some(64 << 20) };
        assert_eq!(unit_words(&disk), "LUN 1, 64MiB (IET VIRTUAL)");
        let controller = assay_iscsi::scsi::Inquiry { device_type: 12, ..inquiry };
        let controller = Unit { lun: 0, inquiry: Some(controller), capacity_bytes: None };
        assert_eq!(unit_words(&controller), "LUN 0, not a disk (IET VIRTUAL)");
        let mute = Unit { lun: 300, inquiry: None, capacity_bytes: None };
        assert_eq!(unit_words(&mute), "LUN 300, which does not answer INQUIRY");
    }
}
