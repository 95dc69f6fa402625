//! What a run takes from what the store keeps of its targets: the array that they are on, and their price.

use anyhow::Context as _;
use assay_fleet::HostChoice;
use assay_record::{Price, StatedMemory};
use assay_spec::Address;
use assay_store::{RunFilter, RunSlice, Store, target_key};

use super::array::array_text;
use super::fleet::Fleet;
use crate::args::StatedArgs;

/// Returns the name by which the store knows a target of a run, whichever host uses it; `None` for a path of other
/// hosts, which have other disks behind it than this one.
fn known_as(target: &str, on: Option<&Fleet>) -> Option<String> {
    let is_elsewhere =
        on.is_some() && !target.contains("{host}") && matches!(target.parse(), Ok(Address::Path(_)));
    (!is_elsewhere).then(|| target_key(target))
}

/// Returns the price of the targets of a run: the given one, else the sum of theirs, if all have one in one currency.
pub(crate) fn price_of_run(
    given: Option<&Price>,
    (targets, on): (&[String], Option<&Fleet>),
    store: &Store,
) -> anyhow::Result<Option<Price>> {
    if given.is_some() {
        return Ok(given.cloned());
    }
    let mut sum: Option<Price> = None;
    for target in targets {
        let Some(key) = known_as(target, on) else { return Ok(None) };
        let Some(price) = store.target_price(&key)?.and_then(|text| text.parse::<Price>().ok()) else {
            return Ok(None);
        };
        sum = match sum {
            None => Some(price),
            Some(sum) if sum.currency == price.currency => {
                Some(Price { amount: sum.amount + price.amount, ..sum })
            }
            Some(_) => return Ok(None),
        };
    }
    Ok(sum)
}

/// Returns the memory that may answer in place of the disks: what the command line states, else what it stated of the
/// newest run on the first target, so that it is asked for once.
pub(crate) fn memory_of_run(
    given: &StatedArgs,
    (targets, on): (&[String], Option<&Fleet>),
    store: &Store,
) -> anyhow::Result<StatedMemory> {
    let stated = given.memory();
    if given.storage_ram.is_some() || given.host_ram.is_some() {
        return Ok(stated);
    }
    let Some(target) = targets.first() else { return Ok(stated) };
    let newest_on = |key: String| {
        let filter = RunFilter { on_target: Some(key), ..RunFilter::default() };
        store.rows(&filter, RunSlice { limit: 1, ..RunSlice::ALL })
    };
    // Runs over hosts have it once for each of them.
    let names = match on.map(|fleet| &fleet.hosts) {
        Some(HostChoice::Named(names)) => names.as_slice(),
        Some(HostChoice::All) | None => &[],
    };
    let of_hosts = names.iter().map(|host| format!("{host}:{}", target.replace("{host}", host)));
    let mut runs = Vec::new();
    for key in known_as(target, on).into_iter().chain(of_hosts) {
        runs.extend(newest_on(key)?);
    }
    let newest = runs.into_iter().max_by_key(|row| row.started_unix_ms);
    // A run that cannot be read says nothing, and is no reason not to measure.
    let header = newest.and_then(|row| store.header(&row.run).ok());
    Ok(header.map_or(stated, |header| header.stated))
}

/// Returns the text of the array of a run: the given one, else that of its first target, else the simulated one, if one
/// host opens it: each of several simulates one of its own, and none of them is that of all.
pub(crate) fn array_of_run(
    given: Option<&str>,
    (targets, on): (&[String], Option<&Fleet>),
    store: &Store,
) -> anyhow::Result<Option<String>> {
    if let Some(name) = given {
        return Ok(Some(array_text(name)?.1));
    }
    for target in targets {
        if let Some(key) = known_as(target, on)
            && let Some(text) = store.target_array(&key)?
        {
            // Before the run: its result could not be judged.
            let attached = format!("the array attached to {target}");
            assay_model::array::parse_stored(&attached, &text).map_err(anyhow::Error::new).with_context(
                || format!("attach it anew: assay target set {target} --array FILE, or --array none"),
            )?;
            return Ok(Some(text));
        }
        if let Some(Address::Sim { array }) = of_one_host(target, on) {
            return Ok(Some(array_text(&array)?.1));
        }
    }
    Ok(None)
}

/// A target as the only host of a run has it; `None` where there are several, or as many as there happen to be.
fn of_one_host(target: &str, on: Option<&Fleet>) -> Option<Address> {
    match on.map(|fleet| &fleet.hosts) {
        None => target.parse().ok(),
        Some(HostChoice::Named(names)) if names.len() == 1 => {
            target.replace("{host}", &names[0]).parse().ok()
        }
        Some(_) => None,
    }
}
