//! What a run takes from what the store keeps of its targets: the array that they are on, and their price.

use anyhow::Context as _;
use assay_fleet::HostChoice;
use assay_record::{Price, StatedMemory};
use assay_spec::Address;
use assay_store::{RunFilter, RunSlice, Store, target_key};

use super::array::array_text;
use super::fleet::Fleet;
use crate::args::StatedArgs;

/// Returns the price of the targets of a run: the given one, else the sum of theirs, if all have one in one currency.
pub(crate) fn price_of_run(
    given: Option<&Price>,
    targets: &[String],
    store: &Store,
) -> anyhow::Result<Option<Price>> {
    if given.is_some() {
        return Ok(given.cloned());
    }
    let mut sum: Option<Price> = None;
    for target in targets {
        let Some(price) =
            store.target_price(&target_key(target))?.and_then(|text| text.parse::<Price>().ok())
        else {
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
    targets: &[String],
    store: &Store,
) -> anyhow::Result<StatedMemory> {
    let stated = given.memory();
    if given.storage_ram.is_some() || given.host_ram.is_some() {
        return Ok(stated);
    }
    let Some(target) = targets.first() else { return Ok(stated) };
    let filter = RunFilter { on_target: Some(target_key(target)), ..RunFilter::default() };
    let newest = store.rows(&filter, RunSlice { limit: 1, ..RunSlice::ALL })?.into_iter().next();
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
    // Other machines have other disks behind a path of this one.
    let is_elsewhere = |target: &str| {
        on.is_some() && !target.contains("{host}") && matches!(target.parse(), Ok(Address::Path(_)))
    };
    if let Some(name) = given {
        return Ok(Some(array_text(name)?.1));
    }
    for target in targets {
        if !is_elsewhere(target)
            && let Some(text) = store.target_array(&target_key(target))?
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
