//! What the words of a command line mean: each is converted once, here, from what was typed to what the rooms take.

pub(crate) mod order;
pub(crate) mod plan;
pub(crate) mod targets;
