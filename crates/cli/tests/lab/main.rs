//! Stories on a network of four links (scripts/lab.sh): what `assay check` sees of it, how paths share the load, and what
//! becomes of a run when links and targets fail. They need root, iproute2 and tgt, and say so where one is missing.
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a panic in a story is a story that failed; one that is skipped says why"
)]

mod check;
mod lab;
mod network;
mod runs;
#[path = "../lun/story.rs"]
mod story;
