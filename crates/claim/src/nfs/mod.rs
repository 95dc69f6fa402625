//! Which file of an NFS server it is: found, marked, locked against other runs, recognised again before it is written.

mod confirm;
mod identity;
mod location;
mod marker;

pub use assay_nfs::mount::Export;
pub use assay_nfs::nfs3::{Attributes, FsInfo, FsStat, Rights};
pub use confirm::{confirm, confirm_marked};
pub use identity::Identity;
pub use location::{FoundFile, NfsLocation, credentials, exports, locate};
pub use marker::{lengthen, mark, mark_closed, put_back, remove, void};
