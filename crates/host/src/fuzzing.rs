//! Access to private parsers of this room for the fuzz targets. Nothing else uses them.

pub use crate::path::fuzzing::netlink;

/// Parses a text as each of the files of `/proc` that this room parses itself.
pub fn procfs(text: &str) {
    let _ = crate::mounts::parse_mountinfo(text);
    let _ = crate::cpu::parse_stat(text);
}
