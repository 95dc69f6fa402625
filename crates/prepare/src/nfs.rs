//! A file on an NFS server that Assay accesses with its own client: `inspect` finds it over the wire, with the server's
//! errors instead of the kernel's; `target` creates, marks and fills it like a local one.

mod inspect;
mod target;

pub(crate) use inspect::{InspectedNfs, check_different, inspect};
pub use inspect::{NfsInspection, inspect_nfs};
pub(crate) use target::NfsTarget;
