//! Journals as the store keeps them.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use assay_fleet::{BusOptions, FleetError};
use assay_store::Store;
use serde::{Deserialize, Serialize};

use super::typed::quoted;
use crate::args::FleetArgs;

/// What the store keeps of a journal.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct About {
    /// As typed.
    pub(crate) targets: Vec<String>,
    /// As typed: a suite, or the path of a plan file.
    pub(crate) plan: String,
    /// Memory of the storage, bytes; `None` where nobody gave it.
    pub(crate) storage_ram_bytes: Option<u64>,
    /// Over which hosts its steps run, as typed; `None` where nobody said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) on: Option<OnHosts>,
}

/// Hosts of a run, and how they are reached.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct OnHosts {
    pub(crate) hosts: Vec<String>,
    /// Address of the NATS server.
    pub(crate) nats: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) nkey: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ca: Option<PathBuf>,
}

impl OnHosts {
    /// Returns the hosts that were typed, if any were. The address is kept and printed, so it must have no password.
    pub(crate) fn typed(of: &FleetArgs) -> Result<Option<Self>, FleetError> {
        let (hosts, nkey, ca) = (of.hosts.clone(), of.nkey.clone(), of.ca.clone());
        let Some(nats) = of.nats.clone().filter(|_| !hosts.is_empty()) else { return Ok(None) };
        BusOptions::check_url(&nats)?;
        Ok(Some(Self { hosts, nats, nkey, ca }))
    }

    /// Whether they are all that are connected, however many these are.
    pub(crate) fn are_all(&self) -> bool {
        self.hosts == ["all"]
    }

    /// The options of a command line, each behind a space.
    pub(crate) fn words(&self) -> String {
        let file = |name: &str, path: &Option<PathBuf>| match path {
            Some(path) => format!(" --{name} {}", quoted(&path.display().to_string())),
            None => String::new(),
        };
        format!(
            " --hosts {} --nats {}{}{}",
            quoted(&self.hosts.join(",")),
            quoted(&self.nats),
            file("nkey", &self.nkey),
            file("ca", &self.ca)
        )
    }
}

/// Returns an address without the user and the password that journals of earlier versions kept. What remains can be
/// pasted, as such an address is refused.
fn without_user(nats: &str) -> String {
    match (nats.split_once("://"), nats.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
        (None, Some((_, host))) => host.to_owned(),
        (_, None) => nats.to_owned(),
    }
}

/// Returns every journal, the oldest first.
pub(crate) fn all(store: &Store) -> anyhow::Result<Vec<(String, About)>> {
    let read = |(name, body): (String, String)| {
        let mut about: About =
            serde_json::from_str(&body).with_context(|| format!("cannot read the journal `{name}`"))?;
        if let Some(on) = &mut about.on {
            on.nats = without_user(&on.nats);
        }
        Ok((name, about))
    };
    store.journals()?.into_iter().map(read).collect()
}

/// Returns the journal of a name, or the newest.
pub(crate) fn named(store: &Store, name: Option<&str>) -> anyhow::Result<(String, About)> {
    let known = all(store)?;
    match name {
        Some(name) => known
            .into_iter()
            .find(|(known, _)| known == name)
            .with_context(|| format!("there is no journal `{name}`; assay journal list names them")),
        None => known
            .into_iter()
            .next_back()
            .context("there is no journal yet; create one: assay journal new NAME TARGET PLAN"),
    }
}

/// Returns the journal of a run: the named one, else the newest of its plan and targets. One that says over which hosts
/// its steps run is not that of a run over others, which have another load together.
pub(crate) fn of_run(
    store: &Store,
    name: Option<&str>,
    plan: &str,
    (targets, hosts): (&[String], &[String]),
) -> anyhow::Result<String> {
    let is_on = |on: &OnHosts| on.hosts == hosts;
    let fits =
        |about: &About| about.plan == plan && about.targets == targets && about.on.as_ref().is_none_or(is_on);
    if let Some(name) = name {
        let (name, about) = named(store, Some(name))?;
        if !fits(&about) {
            let over = about.on.as_ref().map(|on| format!(", over the hosts {}", on.hosts.join(",")));
            bail!(
                "the journal `{name}` measures {} on {}{}; steps with another plan, target or other hosts are not \
                 comparable",
                about.plan,
                about.targets.join(", "),
                over.unwrap_or_default()
            );
        }
        return Ok(name);
    }
    let found = all(store)?.into_iter().rfind(|(_, about)| fits(about));
    found.map(|(name, _)| name).with_context(|| {
        format!(
            "no journal has this plan and target{}; create one: assay journal new NAME {} {plan}",
            if hosts.is_empty() { "" } else { " over these hosts" },
            targets.join(" ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_that_an_earlier_version_kept_is_not_printed() {
        for (kept, printed) in [
            ("nats://me:hush@bus:4222", "nats://bus:4222"),
            ("tls://tok@en@bus:4222", "tls://bus:4222"),
            ("me:hush@bus", "bus"),
            ("nats://bus:4222", "nats://bus:4222"),
        ] {
            assert_eq!(without_user(kept), printed);
        }
    }
}
