//! The store of a verb. Verbs that write create it; verbs that read do not.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use assay_store::Store;

use crate::args::StoreArgs;
use crate::terminal::note;

/// Opens the store for writing, and creates it if there is none.
pub(crate) fn open_store(args: &StoreArgs) -> anyhow::Result<Store> {
    let store = Store::open(store_path(args)?)?;
    say_how_it_is(&store);
    Ok(store)
}

/// Opens the store for reading; it must exist.
pub(crate) fn existing_store(args: &StoreArgs) -> anyhow::Result<Store> {
    let path = store_path(args)?;
    store_if_any(args)?.with_context(|| {
        format!("there is no store {0} yet; `assay run SUITE TARGET --store {0}` creates it", path.display())
    })
}

/// Opens the store for reading; `None` if there is none.
pub(crate) fn store_if_any(args: &StoreArgs) -> anyhow::Result<Option<Store>> {
    let store = Store::open_existing(store_path(args)?)?;
    store.iter().for_each(say_how_it_is);
    Ok(store)
}

/// Says what somebody who uses a store must know about it.
fn say_how_it_is(store: &Store) {
    if let Some(mode) = store.tightened_from() {
        note!(
            "note: other users had access to the store {} (mode {mode:04o}); now only its owner has",
            store.path().display()
        );
    }
    if let Some(why) = store.read_only() {
        note!("note: the store can only be read: {why}");
    }
}

pub(crate) fn store_path(args: &StoreArgs) -> anyhow::Result<PathBuf> {
    let path = args.named().map_or_else(assay_store::default_path, Ok)?;
    // As with targets, a word that looks like an address is never a path.
    let text = path.to_string_lossy();
    let is_scheme = |first: std::path::Component<'_>| first.as_os_str().to_string_lossy().contains(':');
    // In the environment it may have a secret; the command line was searched for them.
    if path.components().next().is_some_and(is_scheme) || assay_spec::has_secret(&text) {
        let name = assay_spec::without_secret(&text);
        bail!("{name} cannot be the store: it looks like an address, and a store is a file; write ./{name}");
    }
    Ok(path)
}
