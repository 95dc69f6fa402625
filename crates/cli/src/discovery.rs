//! Discovery: `iscsi://host` without a target lists targets and portals.

use assay_spec::{Address, AddressError, IscsiPortal, NfsAddress, without_secret};
use assay_target::lun::DiscoveredTarget;
use serde_json::{Value, json};

/// The largest number of a LUN.
const LUN_MAX: u32 = 16_383;

/// Returns the portal, if an address names nothing else.
pub(crate) fn portal_in(target: &str) -> anyhow::Result<Option<IscsiPortal>> {
    let portal = target.strip_prefix("iscsi://").and_then(IscsiPortal::parse);
    Ok(portal.transpose()?)
}

/// Returns the targets of a portal, as JSON and as text.
pub(crate) fn tell(portal: &IscsiPortal) -> anyhow::Result<(Value, String)> {
    let found = ask(portal)?;
    let json = json!({
        "schema": "assay.check/1",
        "target": format!("iscsi://{}", portal.portal()),
        "kind": "portal",
        "targets": found.iter().map(as_json).collect::<Vec<_>>(),
    });
    Ok((json, format!("iscsi://{} (portal)\n{}", portal.portal(), listing(portal, &found))))
}

/// Explains an address that cannot be parsed; if only its target or export is missing, with the list of those.
pub(crate) fn explain(target: &str, error: AddressError) -> anyhow::Error {
    if let Some(Ok(server)) = target.strip_prefix("nfs://").and_then(NfsAddress::parse_server) {
        return crate::check_nfs::without_export(&server).unwrap_or_else(|| error.into());
    }
    let Ok(Some(portal)) = portal_in(target) else {
        return without_lun(target).unwrap_or_else(|| error.into());
    };
    match ask(&portal) {
        Ok(found) => {
            anyhow::anyhow!("it names no LUN. The portal has:\n{}", listing(&portal, &found).trim_end())
        }
        Err(_) => error.into(),
    }
}

/// Lists the LUNs of a target whose address ends before their number; `None` for any other address.
fn without_lun(target: &str) -> Option<anyhow::Error> {
    let (place, query) = target.split_once('?').map_or((target, None), |(place, query)| (place, Some(query)));
    let place = place.trim_end_matches('/');
    let query = query.map_or_else(String::new, |query| format!("?{query}"));
    // A number that no target has: the answer names those that it has.
    let Ok(Address::Iscsi(lun)) = format!("{place}/{LUN_MAX}{query}").parse::<Address>() else { return None };
    let list = crate::check_lun::tell(&lun).err()?.to_string();
    let (_, list) = list.split_once("The target has:")?;
    // What follows is about the network, which has just answered.
    let units: Vec<&str> = list.lines().filter(|line| line.starts_with("    - ")).collect();
    let next = format!("Add its number: {}/LUN{query}", without_secret(place));
    Some(anyhow::anyhow!("it names no LUN. The target has:\n{}\n  {next}", units.join("\n")))
}

fn ask(portal: &IscsiPortal) -> anyhow::Result<Vec<DiscoveredTarget>> {
    let typed = crate::secret::ask(&[assay_spec::Address::Iscsi(Box::new(portal.lun("", 0)))])?;
    Ok(assay_prepare::targets_at(portal, typed.as_ref())?)
}

fn as_json(target: &DiscoveredTarget) -> Value {
    let portal = |p: &assay_target::lun::DiscoveredPortal| json!({ "address": p.address, "group": p.group });
    json!({ "name": target.name, "portals": target.portals.iter().map(portal).collect::<Vec<_>>() })
}

fn listing(portal: &IscsiPortal, found: &[DiscoveredTarget]) -> String {
    let Some(first) = found.first() else {
        return "  it offers no target to this initiator; check its access list, and whether it asks for a user \
                (iscsi://NAME@…)\n"
            .into();
    };
    let mut text = String::new();
    for target in found {
        text.push_str(&format!("  {}\n", target.name));
        for portal in &target.portals {
            let group = portal.group.map(|group| format!(", group {group}")).unwrap_or_default();
            text.push_str(&format!("    {}{group}\n", portal.address));
        }
    }
    // Numbers of LUNs need a login: one that is not there is answered with those that are.
    let example = portal.lun(&first.name, 1).to_string();
    let example = example.strip_suffix("/1").map_or(example.clone(), |target| format!("{target}/LUN"));
    text.push_str(&format!("  Choose one, and a LUN (assay check lists them):\n    {example}\n"));
    if first.portals.len() > 1 {
        text.push_str(&format!("    {example}?portals=all\n"));
    }
    text
}
