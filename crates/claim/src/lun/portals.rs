//! Discovery: asks a portal for its targets and their portals (SendTargets).

use assay_iscsi::{DiscoveredTarget, DiscoveryError, discover, resolve};
use assay_spec::IscsiAddress;

use assay_target::OpenError;
use assay_target::lun::{Credentials, config};

/// Returns all targets that the first portal of `address` offers to this initiator; the target in the address does not
/// matter.
pub fn targets_at(
    address: &IscsiAddress,
    credentials: Option<&Credentials>,
) -> Result<Vec<DiscoveredTarget>, OpenError> {
    let config = config(address, credentials, 1);
    let portal = &address.portals[0];
    discover(portal, &config.initiator_name, config.chap.as_ref(), &config.timeouts).map_err(|error| {
        let (lun, why) = (format!("iscsi://{portal}"), error.to_string());
        match error {
            DiscoveryError::Path(path) if !path.is_answer() => OpenError::LunUnreached { lun, why },
            _ => OpenError::Lun { lun, why },
        }
    })
}

/// Returns the address with every portal that the target has in the group of the first one, if it asks for all of them.
pub fn with_all_portals(
    address: &IscsiAddress,
    credentials: Option<&Credentials>,
) -> Result<IscsiAddress, OpenError> {
    if !address.all_portals {
        return Ok(address.clone());
    }
    let found = targets_at(address, credentials)?;
    let Some(target) = found.iter().find(|target| target.name == address.target) else {
        let list = super::alternatives::targets(&address.portals[0], &found, &address.target);
        let why = format!("the portal has no target with this name{list}");
        return Err(OpenError::Lun { lun: address.to_string(), why });
    };
    let portals = of_one_group(&address.portals, target);
    Ok(IscsiAddress { portals, all_portals: false, ..address.clone() })
}

/// Returns the given portals, then the others of the same group.
fn of_one_group(given: &[String], target: &DiscoveredTarget) -> Vec<String> {
    let mut places: Vec<_> = given.iter().filter_map(|portal| resolve(portal).ok()).collect();
    let first = places.first().copied();
    let is_first = |address: &str| first.is_some() && resolve(address).ok() == first;
    let own = target.portals.iter().find(|portal| is_first(&portal.address));
    let mut portals = given.to_vec();
    for portal in &target.portals {
        // A portal reached by another address (NAT, a name) is in no list; then all listed portals qualify.
        let is_of_group = own.is_none_or(|own| own.group == portal.group);
        let Ok(place) = resolve(&portal.address) else { continue };
        if is_of_group && !places.contains(&place) {
            places.push(place);
            portals.push(portal.address.clone());
        }
    }
    portals
}

#[cfg(test)]
mod tests {
    use assay_iscsi::DiscoveredPortal;

    use super::*;

    #[test]
    fn portals_of_the_same_group_are_added_once_each() {
        let portal = |address: &str, group| DiscoveredPortal { address: address.into(), group: Some(group) };
        let target = DiscoveredTarget {
            name: "iqn.x".into(),
            portals: vec![
                portal("10.0.2.1:3260", 1),
                portal("10.0.1.1:3260", 1),
                portal("10.0.3.1:3260", 2),
                portal("[fe80::1]:3260", 1),
            ],
        };
        let all =
            |given: &[&str]| of_one_group(&given.iter().map(|&p| p.into()).collect::<Vec<_>>(), &target);
        assert_eq!(all(&["10.0.1.1"]), ["10.0.1.1", "10.0.2.1:3260", "[fe80::1]:3260"]);
        assert_eq!(all(&["10.0.3.1:3260"]), ["10.0.3.1:3260"]);
        assert_eq!(all(&["192.0.2.7"]).len(), 5, "an address that is not listed: all of them");
    }
}
