//! Whose it is: what makes it safe to write to a target.
//!
//! # The argument
//!
//! Assay may write to what it created, and to what the user named. Everything else is only read. Between the user's
//! words and the first written byte stand five questions; each is answered by what the storage shows, never by a name,
//! and an answer that cannot be had is a refusal.
//!
//! 1. **Whose is it?** A file that Assay created carries a [`Marker`]: its inode, birth time, length and time of
//!    modification, so that the mark of a copy or of a changed file proves nothing ([`Mark`]). A device has no place
//!    for a mark; there every sector that Assay wrote carries a seal or a stamp ([`own_data`]).
//! 2. **Does it hold anything?** [`blank`] reads the places of all known signatures and samples of the rest: each
//!    sector must be empty or carry a seal. Whether a device is in use, `host::probe` tells; nothing overrides that.
//! 3. **Does anybody else use it?** [`lock()`] and [`lun::hold`] exclude other runs on this machine; reservations
//!    ([`lun::look`]) tell of other hosts.
//! 4. **Is it still the same?** Between the inspection and the first write everything can change. A [`Fingerprint`] of
//!    a file or device, the [`lun::LunIdentity`] of a LUN and the attributes of a file on a server
//!    ([`nfs::NfsLocation::confirm`]) are compared before anything is written, and again after the fill.
//! 5. **Is it what a worker opened?** Every worker opens its targets itself, perhaps hours later. What it has opened is
//!    checked by a guard ([`FileClaim`], [`lun::LunClaim`]) before its first I/O.
//!
//! After a run the mark must claim only what the run wrote: [`expected`] knows the state that the run has left, and a
//! file in another one is given up. [`remove`] takes away only a file that Assay created, if it is still the known one.
//!
//! The room `prepare` asks these questions in this order and decides (`permission` there); the room `target` only
//! moves bytes.
//!
//! # Invariants, and where each is tested
//!
//! | invariant | tested by |
//! |---|---|
//! | A mark describes one file in one state. | `mark.rs`; `prepare/tests/it/marks.rs` |
//! | A connection that fails while a mark is written does not cost the file its mark. | `tests/cut.rs` |
//! | Nobody else's data have a seal, and Assay's have one under every mask and shift. | `own_data.rs` |
//! | A target counts as blank only if enough of it was read. | `blank.rs`; `prepare/tests/it/signatures.rs` |
//! | Two runs never use a target at the same time if one of them writes. | `lock.rs`, `lun/hold.rs` |
//! | A change between inspection and writing is noticed. | `fingerprint.rs`; `prepare/tests/it/window.rs` |
//! | A worker opens only what was inspected. | `file_claim.rs`; `prepare/tests/it/window.rs` |
//! | Only the known file is removed, and only if Assay created it. | `removal.rs`; `cli/tests/it/nfs.rs` |
//!
//! The promises to users are in `docs/safety.md`.
//!
//! Architecture invariant: nothing here writes to a device or a LUN. The only things written are marks, locks, and
//! files on a server that are created empty.
#![forbid(unsafe_code)]

pub mod blank;
pub mod expected;
mod file_claim;
mod fingerprint;
mod lock;
pub mod lun;
mod mark;
pub mod nfs;
pub mod own_data;
mod removal;

pub use file_claim::FileClaim;
pub use fingerprint::{END_BYTES, Fingerprint, HeadCheck, WriteTimes};
pub use lock::{Lock, lock};
pub use mark::{FileLook, Mark, MarkBefore, Marker, VoidMark, mark_beside};
pub use removal::{Removal, discard, remove};
