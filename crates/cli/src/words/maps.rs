//! Maps of targets as documents, and in the store.

use assay_store::{KeptMap, Store, StoreError, target_key};
use assay_surface::{SCHEMA, SurfaceMap};

/// Returns the map that a text is; `None` where it is something else.
pub(crate) fn parsed(text: &str) -> Option<SurfaceMap> {
    // Other results have megabytes.
    let is_one = text.contains(SCHEMA);
    is_one.then(|| serde_json::from_str(text).ok()).flatten()
}

/// Keeps a map in a store; `false` where it has one of that target and time.
pub(crate) fn keep(store: &Store, map: &SurfaceMap) -> Result<bool, StoreError> {
    let body = serde_json::to_string(map).unwrap_or_default();
    let made_unix_ms = map.made_unix_ms.unwrap_or_default();
    store.add_map(&KeptMap { address: target_key(&map.target), made_unix_ms, body })
}
