//! Job files and command lines of fio.
//!
//! [`import`] reads a job file in three steps: [`lines`] puts includes, environment and `[global]` together, so that
//! each job is a list of options with their lines ([`typed`] does it for command lines); [`options`] reads those of
//! one job; [`plan`] puts jobs that run side by side into one test. An option that Assay cannot do refuses the file
//! with its line and the reason, or becomes a note with `--lenient`.

mod blocks;
mod exits;
mod extent;
mod known;
mod lines;
mod options;
mod plan;
mod rate;
pub(crate) mod shell;
mod spread;
mod taken;
#[cfg(test)]
mod tests;
pub(crate) mod typed;
#[cfg(test)]
mod typed_tests;
mod value;
pub(crate) mod words;

pub use crate::surroundings::Surroundings;
pub use plan::import;
pub(crate) use plan::{TYPED, import_commands};

/// Whether a text looks like a fio job file: sections with options that only fio has.
pub fn is_job_file(text: &str) -> bool {
    const OPTIONS: [&str; 10] = [
        "rw", "readwrite", "ioengine", "bs", "blocksize", "iodepth", "numjobs", "bssplit", "time_based",
        "filename",
    ];
    let head = text.get(..text.floor_char_boundary(64 << 10)).unwrap_or(text);
    let lines = || head.lines().map(str::trim);
    let is_option = |line: &str| OPTIONS.contains(&line.split('=').next().unwrap_or_default().trim());
    let has_section =
        lines().any(|line| line.starts_with('[') && !line.starts_with("[[") && line.ends_with(']'));
    has_section && lines().any(is_option) && !lines().any(|line| line.starts_with("[[test"))
}
