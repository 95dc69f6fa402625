//! `assay target`: the array that a target is on.

use anyhow::Context as _;
use assay_record::Price;
use assay_spec::{Address, without_secret};
use assay_store::target_key;
use serde_json::json;

use crate::args::{TargetArgs, TargetVerb};
use crate::exit::Exit;
use crate::output::terminal::{note, say};
use crate::words::array::array_text;
use crate::words::store::{open_store, store_if_any};

pub(crate) fn target(args: &TargetArgs) -> anyhow::Result<Exit> {
    if let TargetVerb::Set { target, .. } = &args.verb {
        // What no run can be on is not kept either, least of all a secret in an address.
        target.parse::<Address>().with_context(|| format!("target `{}`", without_secret(target)))?;
    }
    if let TargetVerb::Set { target, price: Some(price), .. } = &args.verb {
        set_price(args, target, price)?;
    }
    match &args.verb {
        TargetVerb::Set { array: None, .. } => {}
        TargetVerb::Set { target, array: Some(array), .. } if array == "none" => {
            // Without a store there is nothing to remove, and none is created.
            if let Some(store) = store_if_any(&args.store)? {
                store.set_target_array(&target_key(target), None)?;
            }
            note!("{target} no longer has an array");
        }
        TargetVerb::Set { target, array: Some(array), .. } => {
            let (parsed, text) = array_text(array)?;
            open_store(&args.store)?.set_target_array(&target_key(target), Some(&text))?;
            note!("{target} is on {}; every run on it now shows expected and measured values", parsed.title);
        }
        TargetVerb::List { form } => {
            let store = store_if_any(&args.store)?;
            let (known, prices) = match &store {
                Some(store) => (store.target_arrays()?, store.target_prices()?),
                None => (Vec::new(), Vec::new()),
            };
            let title = |text: &str| {
                assay_model::array::parse_stored("store", text).map_or_else(|e| e.to_string(), |a| a.title)
            };
            if form.json {
                let priced =
                    prices.iter().filter(|(target, _)| known.iter().all(|(other, _)| other != target));
                let arrays = known.iter().map(|(target, text)| (target, Some(title(text))));
                let all = arrays.chain(priced.map(|(target, _)| (target, None)));
                let price =
                    |target: &String| prices.iter().find(|(priced, _)| priced == target).map(|(_, p)| p);
                let list = all.map(
                    |(target, array)| json!({ "target": target, "array": array, "price": price(target) }),
                );
                say(&format!("{:#}\n", list.collect::<serde_json::Value>()))?;
            } else if known.is_empty() && prices.is_empty() {
                say("No target has an array yet; assay target set TARGET --array FILE gives it one.\n")?;
            } else {
                say(&known
                    .iter()
                    .map(|(target, text)| format!("{target}  {}\n", title(text)))
                    .chain(prices.iter().map(|(target, price)| format!("{target}  {price}\n")))
                    .collect::<String>())?;
            }
        }
    }
    Ok(Exit::Done)
}

fn set_price(args: &TargetArgs, target: &str, price: &str) -> anyhow::Result<()> {
    if price == "none" {
        if let Some(store) = store_if_any(&args.store)? {
            store.set_target_price(&target_key(target), None)?;
        }
        note!("{target} no longer has a price");
        return Ok(());
    }
    let price: Price = price.parse().map_err(anyhow::Error::msg)?;
    open_store(&args.store)?.set_target_price(&target_key(target), Some(&price.to_string()))?;
    note!("{target} costs {price}; every run on it now shows the cost of its rates");
    Ok(())
}
