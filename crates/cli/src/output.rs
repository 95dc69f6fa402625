//! What the program says: results and notes on the terminal, the line that moves, and files that `-o` names.

mod file;
mod kind;
pub(crate) mod patience;
pub(crate) mod progress;
pub(crate) mod render;
mod tables;
pub(crate) mod terminal;

pub(crate) use file::{Kept, Output, new_beside};
pub(crate) use kind::OutputKind;
