//! Other tools' files, both ways.
//!
//! An importer reads a text and returns an [`ImportedPlan`]: the plan as the text of a plan file, so that what
//! runs and
//! what `assay convert` prints are the same thing; what was understood, in sentences for the user; and a [`Note`] for
//! each thing in the file that Assay does differently or not at all. Nothing is dropped in silence.
//!
//! Architecture invariant: text and values only, no I/O and no clock. Every input is bounded: its bytes by
//! [`TEXT_BYTES_MAX`], the plan by [`STEPS_MAX`] and the limits of the plan itself.
#![forbid(unsafe_code)]

pub mod command;
mod dates;
mod draft;
pub mod fio;
pub mod icf;
mod names;
pub mod results;
mod secrets;
mod surroundings;
mod targets;
mod text;
mod tool;
mod unsupported;
pub mod vdbench;
mod xml;

use assay_spec::PlanError;

pub use draft::outline::outline;
pub use secrets::without_secrets;
pub use text::{TEXT_BYTES_MAX, decode};

/// Why a file could not be imported: its place (`old.icf:12`), and what to do.
pub type ImportError = PlanError;

pub use assay_spec::limits::STEPS_MAX;

/// A plan from another tool's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedPlan {
    /// The tool, with the version that the file names: `Iometer 1.1.0`.
    pub tool: String,
    /// The plan as the text of a plan file.
    pub plan: String,
    /// What was understood of the file, one sentence each; [`outline`] says the same of a plan that was changed.
    pub understood: Vec<String>,
    /// What is done differently or not at all.
    pub notes: Vec<Note>,
    /// The targets that the file names, in the order in which the plan counts them; none if it names none, or if all
    /// I/O goes to all targets that are given.
    pub targets: Vec<String>,
}

/// Something in a file that Assay does differently or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Line of the file, from 1; 0 where it concerns no line in particular.
    pub line: usize,
    /// A full sentence.
    pub says: String,
}

impl Note {
    fn new(line: usize, says: impl Into<String>) -> Self {
        Self { line, says: without_secrets(&says.into()) }
    }
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            0 => f.write_str(&self.says),
            line => write!(f, "line {line}: {}", self.says),
        }
    }
}

/// What the command line says about an import.
#[derive(Debug, Clone, Default)]
pub struct ImportOptions {
    /// Number of targets on the command line; `None` where there is no command to run.
    pub targets_given: Option<usize>,
    /// Whether what is not supported becomes a note instead of an error.
    pub strictness: Strictness,
}

/// What to do with what is not supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strictness {
    /// Refuse the file, with every such line and the reason.
    #[default]
    Strict,
    /// Run without it; each becomes a note.
    Lenient,
}

fn complain(origin: &str, line: usize, message: impl Into<String>) -> ImportError {
    let place = if line == 0 { origin.to_owned() } else { format!("{origin}:{line}") };
    // A name of the file that has line breaks must not look like lines of Assay's own.
    let message = without_secrets(&message.into()).replace(['\n', '\r'], " ");
    ImportError::new(place, message)
}

/// `1 worker`, `3 workers`.
fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
