//! Over which hosts a plan runs.

use std::path::Path;

use anyhow::{Context as _, bail};
use assay_fleet::{Allowed, BusOptions, HostChoice};
use assay_target::input::{Input, read_text};

use crate::args::{BusArgs, FleetArgs, IoArgs};

const CONFIG: Input = Input { name: "a configuration of assay agent", bytes_max: 1 << 20 };

/// The hosts of a run.
pub(crate) struct Fleet {
    pub(crate) bus: BusOptions,
    pub(crate) hosts: HostChoice,
}

/// Returns the hosts of a run; `None` runs it here.
pub(crate) fn fleet(of: &FleetArgs, io: &IoArgs) -> anyhow::Result<Option<Fleet>> {
    if of.hosts.is_empty() {
        return Ok(None);
    }
    if io.cpus.is_some() {
        bail!(
            "--cpus names CPUs of one host; leave it out with --hosts, and each host places its workers itself"
        );
    }
    let hosts = match of.hosts.as_slice() {
        [all] if all == "all" => HostChoice::All,
        names => HostChoice::Named(once_each(names)?),
    };
    let url =
        of.nats.clone().context("--hosts needs the address of the NATS server: --nats nats://HOST:4222")?;
    Ok(Some(Fleet { bus: BusOptions { url, nkey: of.nkey.clone(), ca: of.ca.clone() }, hosts }))
}

fn once_each(names: &[String]) -> anyhow::Result<Vec<String>> {
    let mut known: Vec<String> = Vec::new();
    for name in names {
        if name.is_empty() || known.contains(name) {
            bail!("--hosts {}: each host needs a name, once", names.join(","));
        }
        known.push(name.clone());
    }
    Ok(known)
}

/// Returns how the bus of a verb is reached.
pub(crate) fn bus(args: &BusArgs) -> BusOptions {
    BusOptions { url: args.nats.clone(), nkey: args.nkey.clone(), ca: args.ca.clone() }
}

/// Reads what an agent may do.
pub(crate) fn allowed(path: Option<&Path>) -> anyhow::Result<Allowed> {
    let Some(path) = path else { return Ok(Allowed::default()) };
    let text = read_text(path, CONFIG)?;
    Ok(Allowed::parse(&path.display().to_string(), &text)?)
}
