//! The engine through its border: plan text in, events out, on targets made for the purpose.

mod allocations;
mod bench;
mod conservation;
