//! The store of a verb. Verbs that write create it; verbs that read do not.

use anyhow::Context as _;
use assay_store::Store;

use crate::args::StoreArgs;
use crate::output::terminal::note;

/// Opens the store for writing, and creates it if there is none.
pub(crate) fn open_store(args: &StoreArgs) -> anyhow::Result<Store> {
    let store = Store::open(args.address()?)?;
    say_how_it_is(&store);
    Ok(store)
}

/// Opens the store for reading; it must exist.
pub(crate) fn existing_store(args: &StoreArgs) -> anyhow::Result<Store> {
    let address = args.address()?;
    store_if_any(args)?.with_context(|| {
        format!("there is no store {address} yet; `assay run SUITE TARGET --store {address}` creates it")
    })
}

/// Opens the store for reading; `None` if there is none.
pub(crate) fn store_if_any(args: &StoreArgs) -> anyhow::Result<Option<Store>> {
    let store = Store::open_existing(args.address()?)?;
    store.iter().for_each(say_how_it_is);
    Ok(store)
}

/// Says what somebody who uses a store must know about it.
fn say_how_it_is(store: &Store) {
    if let Some(mode) = store.tightened_from() {
        note!(
            "note: other users had access to the store {} (mode {mode:04o}); now only its owner has",
            store.address()
        );
    }
    if let Some(why) = store.read_only() {
        note!("note: the store can only be read: {why}");
    }
}
