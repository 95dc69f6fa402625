//! Which LUN it is: found, locked against other runs, recognised again at every login.

mod alternatives;
mod hold;
mod identity;
mod look;
mod portals;

pub use hold::hold;
pub(crate) use hold::hold_name;
pub use identity::{LunClaim, LunIdentity};
pub use look::{LunLook, LunReader, Provision, access_words, look, unmapped_bytes};
pub use portals::{targets_at, with_all_portals};
