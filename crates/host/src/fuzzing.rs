//! Entrances to readers that this room keeps to itself, for the fuzz targets. Nobody else uses them.

pub use crate::path::fuzzing::netlink;

/// Reads a text as each of the files of `/proc` that this room reads itself.
pub fn procfs(text: &str) {
    let _ = crate::mounts::parse_mountinfo(text);
    let _ = crate::cpu::parse_stat(text);
}
