//! Iometer's configuration files, `.icf`, of every version since 1998.
//!
//! [`import`] reads one in three steps: [`lex`] finds keys and values, [`read`] makes an [`Icf`](read::Icf) of them,
//! [`plan`] asks [`cycle`] which workers and targets run in which step and makes tests of that. [`export`] writes a
//! plan as Iometer 1.1.0 does. A file that was imported, exported and imported again gives the same plan.

mod cycle;
mod export;
mod lex;
mod plan;
mod read;
#[cfg(test)]
mod tests;

pub use export::{IcfExport, export};
pub use plan::import;

/// Size of a sector in `.icf` files, bytes: Iometer on Windows.
const SECTOR_BYTES: u64 = 512;

/// A line of an access specification, as in a results file; `None` for what is none.
pub(crate) fn spec_line(text: &str) -> Option<assay_spec::Access> {
    read::access("", 0, text).ok().flatten()
}

/// Whether a text looks like an `.icf` file.
pub fn is_icf(text: &str) -> bool {
    let head = text.get(..text.floor_char_boundary(64 << 10)).unwrap_or(text).to_lowercase();
    let first = head.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    first.trim_start_matches('\'').starts_with("version ")
        // Results have a line of the same words without the padding.
        || head.lines().any(|line| {
            line.contains('=') && lex::SECTIONS.iter().any(|name| lex::is_section(line, name))
        })
}
