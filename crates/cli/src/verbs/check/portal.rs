//! `assay check iscsi://host`: the targets of a portal.

use assay_spec::IscsiPortal;
use assay_target::lun::DiscoveredTarget;
use serde_json::{Value, json};

use crate::words::offered::{ask, listing};

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

fn as_json(target: &DiscoveredTarget) -> Value {
    let portal = |p: &assay_target::lun::DiscoveredPortal| json!({ "address": p.address, "group": p.group });
    json!({ "name": target.name, "portals": target.portals.iter().map(portal).collect::<Vec<_>>() })
}
