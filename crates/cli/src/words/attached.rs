//! What a run takes from what the store keeps of its targets: the array that they are on, and their price.

use anyhow::Context as _;
use assay_record::Price;
use assay_spec::Address;
use assay_store::{Store, target_key};

use super::array::array_text;

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

/// Returns the text of the array of a run: the given one, else that of its first target, else the simulated one.
pub(crate) fn array_of_run(
    given: Option<&str>,
    targets: &[String],
    store: &Store,
) -> anyhow::Result<Option<String>> {
    if let Some(name) = given {
        return Ok(Some(array_text(name)?.1));
    }
    for target in targets {
        if let Some(text) = store.target_array(&target_key(target))? {
            // Before the run: its result could not be judged.
            let attached = format!("the array attached to {target}");
            assay_model::array::parse_stored(&attached, &text).map_err(anyhow::Error::new).with_context(
                || format!("attach it anew: assay target set {target} --array FILE, or --array none"),
            )?;
            return Ok(Some(text));
        }
        if let Ok(Address::Sim { array }) = target.parse() {
            return Ok(Some(array_text(&array)?.1));
        }
    }
    Ok(None)
}
