//! What a target looks like over its addresses.
//!
//! A [`Survey`] says which place is read next; whoever reads answers with a [`Sample`]; [`map_of`] turns the samples
//! into a [`SurfaceMap`]: cells with their latencies, and [`Finding`]s. Three things keep time from looking like place:
//! the cells are visited in a new random order in every pass, each latency is compared with those right before and
//! after it, and a place that was slow once is read again, each time beside a place chosen at random.
//!
//! Every finding has an explicit chance: how often noise alone would give as clear a picture, corrected for everything
//! that was looked for. A finding of which the chance is above 0.001 is not made.
//!
//! Architecture invariant: pure functions on samples; no I/O and no clock.
#![forbid(unsafe_code)]

mod chance;
mod compare;
mod level;
mod load;
mod map;
mod sample;
mod spot;
mod stripe;
mod survey;
mod zones;

pub use compare::{Changed, Comparison, compare};
pub use load::{LoadPlaces, SlowRegion, places_of_load};
pub use map::{Cell, Finding, SCHEMA, SurfaceMap, map_of};
pub use sample::{Look, Order, Outcome, Sample, Why};
pub use stripe::{SlowMember, Stripe};
pub use survey::{Ground, SIZE_MIN, Survey};
