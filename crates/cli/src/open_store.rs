//! The store of a verb. Verbs that write create it; verbs that read do not.

use std::path::PathBuf;

use anyhow::Context as _;
use assay_store::Store;

use crate::args::StoreArgs;

/// Opens the store for writing, and creates it if there is none.
pub(crate) fn open_store(args: &StoreArgs) -> anyhow::Result<Store> {
    Ok(Store::open(store_path(args)?)?)
}

/// Opens the store for reading; it must exist.
pub(crate) fn existing_store(args: &StoreArgs) -> anyhow::Result<Store> {
    let path = store_path(args)?;
    Store::open_existing(&path)?.with_context(|| {
        format!("there is no store {0} yet; `assay run SUITE TARGET --store {0}` creates it", path.display())
    })
}

/// Opens the store for reading; `None` if there is none.
pub(crate) fn store_if_any(args: &StoreArgs) -> anyhow::Result<Option<Store>> {
    Ok(Store::open_existing(store_path(args)?)?)
}

pub(crate) fn store_path(args: &StoreArgs) -> anyhow::Result<PathBuf> {
    Ok(args.store.clone().map_or_else(assay_store::default_path, Ok)?)
}
