//! What a run means.
//!
//! A [`Collector`] goes through a run's events, live or from the store, and gives a [`RunSummary`] at any time:
//! steps, their jobs, rates and distributions. [`findings`] judges a summary: each [`Finding`] is an observation with
//! its evidence and the next step. [`ceiling`] and [`path_faults`] judge the network of a path; [`compare`] compares
//! several results.
//!
//! Architecture invariant: pure functions of their arguments, no I/O and no clock. What cannot be judged is not judged:
//! a rule that lacks a fact stays silent.
#![forbid(unsafe_code)]

mod array_region;
mod beside;
mod by_sheet;
mod cache_probe;
mod case;
mod collector;
pub mod compare;
mod cost;
mod curve;
mod detected;
mod digest;
mod episodes;
mod expected;
mod figures;
mod finding;
mod fleet;
mod goal;
mod limit;
mod modes;
mod network;
mod places;
mod precision;
mod remembered;
pub mod repeats;
mod rules;
mod rungs;
pub mod scale;
mod series;
mod shell;
mod standing;
mod steadiness;
mod stop;
mod summary;
mod tester;
mod threshold;
mod timeline;
pub mod trend;
mod verdict;

pub use assay_statistics::Estimate;
pub use assay_surface::LoadPlaces;

pub use array_region::{ArrayRegion, array_region};
pub use beside::{PublishedSetup, published_beside};
pub use by_sheet::by_sheet;
pub use cache_probe::{
    Absorption, CacheProbe, FlushCost, FlushMeaning, FoundCache, Touch, WorkingSet, cache_probe,
};
pub use case::{Case, JobCase, Measured, Medium, Modelled};
pub use collector::{Collector, RunExtract};
pub use cost::{Cost, price};
pub use curve::{CurveMaximum, DepthCurve, DepthPoint, LoadCurve, LoadPoint, depth_curves, load_curves};
pub use detected::{Detected, detected};
pub use digest::digest;
pub use episodes::{Episode, episodes};
pub use expected::{Judgement, judge, judge_published};
pub use figures::{capitalised, time, whole};
pub use finding::{Evidence, Finding, Severity, first_sentence};
pub use fleet::{HostExperiments, HostLimit, HostRate, HostSpread};
pub use goal::{Round, SteadyState, Tracks};
pub use limit::{Certainty, LimitKind, RunLimits, StepLimit, limits, verdict_on};
pub use network::{
    CEILING_IO_BYTES, Ceiling, PathFault, ceiling, ceiling_together, loses_segments, lossy_frames,
    nfs_ceiling, path_faults, step_ceiling, unreachable,
};
pub use places::{chunks_say, member_says, places, region_says};
pub use precision::{Precision, precision};
pub use rules::gaps::gap_in_fill;
pub use rules::settings::{SlowSetting, slow_lun_settings, slow_nfs_settings};
pub use rules::{
    disturbance, disturbed_steps, findings, is_disturbance, is_fragmented, rule_name, step_name,
};
pub use series::{Point, Times};
pub use shell::{options, quoted};
pub use standing::{Left, Moment, PlannedStep, Standing};
pub use steadiness::{FiveParts, five_parts};
pub use summary::{
    Cpu, DiskUse, HostView, JobSummary, Load, OpSummary, RunStatus, RunSummary, StepSummary, TcpPoint,
    TcpSummary,
};
pub use tester::{TesterLimits, TesterUse, tester_limits, tester_use};
pub use threshold::{Answer, Judged, judge_thresholds};
pub use timeline::{HeatMap, Named, Timeline, TimelineSample};
pub use verdict::{Agreement, RunVerdict, Verdict};
