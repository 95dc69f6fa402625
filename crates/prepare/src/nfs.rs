//! A file on an NFS server that Assay reaches by its own client: `inspect` finds it over the wire, with the server's
//! words where a local file has the kernel's; `target` makes, marks and fills it like a local one.

mod inspect;
mod target;

pub(crate) use inspect::{InspectedNfs, check_different, inspect};
pub use inspect::{NfsInspection, inspect_nfs};
pub(crate) use target::NfsTarget;
