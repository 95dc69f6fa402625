//! One file for each verb, or for a few that belong together: from what was typed to an answer.

mod arrays;
mod baseline;
mod calibrate;
mod check;
mod compare;
mod convert;
mod curve;
mod diagnose;
mod export;
mod hosts;
mod import;
mod journal;
#[cfg(feature = "full")]
mod lab;
#[cfg(not(feature = "full"))]
#[path = "verbs/no_lab.rs"]
mod lab;
pub(crate) mod look;
mod map;
mod overhead;
mod predict;
mod probe_cache;
mod program;
mod published;
mod run;
mod runs;
mod scale;
mod serve;
mod size;
mod store;
mod suites;
mod target;

use crate::args::Verb;
use crate::exit::Exit;

/// Does what a verb says.
pub(crate) fn answer(verb: &Verb) -> anyhow::Result<Exit> {
    match verb {
        Verb::Run(args) => run::start(args),
        Verb::Curve(args) => curve::curve(args),
        Verb::ProbeCache(args) => probe_cache::probe_cache(args),
        Verb::Map(args) => map::map(args),
        Verb::Suites(args) => suites::suites(args),
        Verb::Diagnose(args) => diagnose::diagnose(args),
        Verb::Check(args) => check::check(args),
        Verb::Lab(args) => lab::lab(args),
        Verb::Journal(args) => journal::journal(args),
        Verb::Scale(args) => scale::scale(args),
        Verb::Overhead(args) => overhead::overhead(args),
        Verb::Runs(args) => runs::runs(args),
        Verb::Show(args) => runs::show(args),
        Verb::Report(args) => runs::report(args),
        Verb::Compare(args) => compare::compare(args),
        Verb::Baseline(args) => baseline::baseline(args),
        Verb::Serve(args) => serve::serve(args),
        Verb::Label(args) => runs::label(args),
        Verb::Rm(args) => runs::rm(args),
        Verb::Export(args) => export::export(args),
        Verb::Import(args) => import::import(args),
        Verb::Convert(args) => convert::convert(args),
        Verb::Predict(args) => predict::predict(args),
        Verb::Size(args) => size::size(args),
        Verb::Arrays(args) => arrays::arrays(args),
        Verb::Published(args) => published::published(args),
        Verb::Calibrate(args) => calibrate::calibrate(args),
        Verb::Validate(args) => published::validation(args),
        Verb::Agent(args) => hosts::agent(args),
        Verb::Hosts(args) => hosts::hosts(args),
        Verb::Attach(args) => hosts::attach(args),
        Verb::Store(args) => store::store(args),
        Verb::Target(args) => target::target(args),
        Verb::Completions(args) => program::completions(args),
        Verb::Man(args) => program::man(args),
        Verb::Version(args) => program::version(args),
    }
}
