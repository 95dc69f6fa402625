//! What should happen: arrays, bounds, a closed form for queueing, a simulation, calibration.
//!
//! An [`Array`](array::Array) describes a storage system, every number with its range and provenance. Put
//! under a [`Workload`](workload::Workload) it becomes a [`ResolvedArray`](resolved::ResolvedArray) and a list of
//! I/O classes, and
//! three engines answer what to expect: the demand table ([`demand`]), the closed form ([`closed`]) and the
//! discrete-event simulation ([`des`]). [`predict`] runs them side by side, [`concurrent`] simulates several loads
//! at once; [`whatif`] changes one thing;
//! [`calibrate`] fits what no sheet says; [`published`] and [`validate`] compare predictions with measured rows.
//!
//! Architecture invariant: no I/O and no clock in this room; everything here is a function of its arguments.
#![forbid(unsafe_code)]

pub mod array;
pub mod bracket;
pub mod calibrate;
pub mod catalogue;
pub mod closed;
pub mod concurrent;
pub mod demand;
pub mod des;
pub mod disk;
pub mod facts;
pub mod family;
pub mod from_plan;
pub mod learned;
mod model_error;
mod num;
pub mod open;
pub mod paced;
pub mod peers;
pub mod predict;
pub mod published;
pub mod quantity;
pub mod raid;
pub mod resolved;
pub mod rng;
pub mod shingled;
pub mod unseen;
pub mod validate;
pub mod whatif;
pub mod wire;
pub mod workload;
