//! What a server offers, for an address that ends before a LUN or an export: `iscsi://host` lists targets and portals.

use anyhow::anyhow;
use assay_claim::nfs::Export;
use assay_spec::{Address, AddressError, IscsiPortal, NfsAddress, without_secret};
use assay_target::lun::DiscoveredTarget;

use super::secret;
use super::typed::as_typed;

/// The largest number of a LUN.
const LUN_MAX: u32 = 16_383;

/// Returns the portal, if an address names nothing else.
pub(crate) fn portal_in(target: &str) -> anyhow::Result<Option<IscsiPortal>> {
    let portal = target.strip_prefix("iscsi://").and_then(IscsiPortal::parse);
    Ok(portal.transpose()?)
}

/// Explains an address that cannot be parsed; if only its target or export is missing, with the list of those.
pub(crate) fn explain(target: &str, error: AddressError) -> anyhow::Error {
    if let Some(Ok(server)) = target.strip_prefix("nfs://").and_then(NfsAddress::parse_server) {
        return without_export(&server).unwrap_or_else(|| error.into());
    }
    let Ok(Some(portal)) = portal_in(target) else {
        return without_lun(target).unwrap_or_else(|| error.into());
    };
    match ask(&portal) {
        Ok(found) => {
            anyhow!("it names no LUN. The portal has:\n{}", listing(&portal, &found).trim_end())
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
    let typed = secret::ask(&[Address::Iscsi(lun.clone())]).ok()?;
    let list = assay_prepare::inspect_lun(&lun, typed.as_ref()).err()?.to_string();
    let (_, list) = list.split_once("The target has:")?;
    // What follows is about the network, which has just answered.
    let units: Vec<&str> = list.lines().filter(|line| line.starts_with("    - ")).collect();
    let next = format!("Add its number: {}/LUN{query}", without_secret(place));
    Some(anyhow!("it names no LUN. The target has:\n{}\n  {next}", units.join("\n")))
}

/// Asks a portal for its targets. Prompts for the secret that it needs.
pub(crate) fn ask(portal: &IscsiPortal) -> anyhow::Result<Vec<DiscoveredTarget>> {
    let typed = secret::ask(&[assay_spec::Address::Iscsi(Box::new(portal.lun("", 0)))])?;
    Ok(assay_prepare::targets_at(portal, typed.as_ref())?)
}

/// Returns the targets of a portal, and how to choose one.
pub(crate) fn listing(portal: &IscsiPortal, found: &[DiscoveredTarget]) -> String {
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

/// Returns the error for an address that names a server and no export, with the exports of that server; `None` where
/// the server does not list any.
pub(crate) fn without_export(address: &NfsAddress) -> Option<anyhow::Error> {
    let exports = assay_claim::nfs::exports(address).ok()?;
    let first = exports.first()?;
    let list: String = exports.iter().map(|export| format!("\n  {}", export_words(export))).collect();
    let one = address.with_path(format!("{}/t.dat", first.path.trim_end_matches('/')));
    Some(anyhow!(
        "it names no export. The server has:{list}\n  Choose one, and a file in it:\n    {}",
        as_typed(&one.to_string())
    ))
}

pub(crate) fn export_words(export: &Export) -> String {
    match export.groups.as_slice() {
        [] => format!("{} to everyone", export.path),
        groups => format!("{} to {}", export.path, groups.join(", ")),
    }
}
