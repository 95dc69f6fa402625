//! Every interval, quantile, test, trend and change-point of the product, once.
//!
//! An [`Estimate`] is a number with its 95 % interval, or without one where none can be stated. A [`Spread`] is the
//! error of a mean: of the seconds of a run, or of repetitions. [`window`] gives the
//! figures of one window their intervals, [`shape`] finds what a window looks like over time,
//! [`changes`] where a series of runs changes. A stop rule, a table and a comparison that speak of the same thing call
//! the same function here.
//!
//! Architecture invariant: pure functions on numbers. This room knows neither runs nor latencies.
#![forbid(unsafe_code)]

mod basics;
pub mod changes;
mod estimate;
mod rank;
pub mod shape;
mod student;
pub mod window;

pub use basics::{correlation_time, deviation, geometric_mean, mean, median};
pub use estimate::{Estimate, NoInterval, SECONDS_MIN, Spread, level, quantile, ratio};
pub use rank::rank_test;
pub use student::{student_95, student_above};
