//! The store a verb works on: made where something is to be kept, never where something is only looked for.

use std::path::PathBuf;

use anyhow::Context as _;
use assay_store::Store;

use crate::args::StoreArgs;

/// The store, created where there is none: for what writes to it.
pub(crate) fn open_store(args: &StoreArgs) -> anyhow::Result<Store> {
    Ok(Store::open(store_path(args)?)?)
}

/// The store, for what only reads: looking for runs must not leave a file behind.
pub(crate) fn existing_store(args: &StoreArgs) -> anyhow::Result<Store> {
    let path = store_path(args)?;
    Store::open_existing(&path)?.with_context(|| {
        format!(
            "no run is stored yet in {0}, which does not exist; `assay run SUITE TARGET --store {0}` makes it",
            path.display()
        )
    })
}

/// The store, where there is one.
pub(crate) fn store_if_any(args: &StoreArgs) -> anyhow::Result<Option<Store>> {
    Ok(Store::open_existing(store_path(args)?)?)
}

pub(crate) fn store_path(args: &StoreArgs) -> anyhow::Result<PathBuf> {
    Ok(args.store.clone().map_or_else(assay_store::default_path, Ok)?)
}
