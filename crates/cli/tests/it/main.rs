//! Stories: the program itself on real files and devices, as somebody at a terminal would use it.
//!
//! Times never decide: what is asserted is counts, sums, order, exit codes and words. Stories that need root (loop
//! devices, mounts, swap) say so and pass where there is none. `SLOW_TESTS=1` adds those that take longer.
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a panic in a story is a story that failed; one that is skipped says why"
)]

mod bad_plans;
mod choices;
mod compare;
mod devices;
mod errors;
mod files;
mod forum;
mod interrupted;
mod kinds;
mod load;
mod loop_device;
mod side_by_side;
mod store;
mod story;
mod verify;
