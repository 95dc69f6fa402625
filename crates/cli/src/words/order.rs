//! From the words of a command line to what the runner is to run.

use assay_engine::StopSignal;
use assay_prepare::{BlankChoice, Changes, FillChoice, IoChoice, PrepareOptions, TooSmall};
use assay_record::{JournalStep, RunSetting, StatedMemory};
use assay_runner::{Order, Steps};
use assay_spec::Plan;
use assay_spec::units::SizeSpec;
use assay_store::Store;
use assay_target::{Caching, Durability};

use super::targets::addresses;
use crate::args::{Io, IoArgs, RunArgs};

impl IoArgs {
    /// Returns the order that runs a plan on these targets. Prompts for a secret that a target needs.
    pub(crate) fn order(
        &self,
        plan: Plan,
        targets: &[String],
        size: Option<SizeSpec>,
        stop: &StopSignal,
    ) -> anyhow::Result<Order> {
        let targets = addresses(targets)?;
        Ok(Order {
            plan,
            options: PrepareOptions {
                chap_secret: crate::words::secret::ask(&targets)?,
                ..self.options(size)
            },
            targets,
            steps: Steps::Planned,
            kept: Vec::new(),
            remove: self.remove,
            keep_awake: self.keep_awake,
            cpus: self.cpus.as_ref().map(|cpus| cpus.0.clone()).unwrap_or_default(),
            stop: stop.clone(),
            label: None,
            note: None,
            array: None,
            stated: StatedMemory::default(),
            setting: RunSetting::default(),
            turn: None,
            run: None,
            start: assay_engine::CommonStart::default(),
        })
    }

    fn options(&self, size: Option<SizeSpec>) -> PrepareOptions {
        PrepareOptions {
            io: match self.io {
                Io::Auto => IoChoice::Auto,
                Io::Uring => IoChoice::Uring,
                Io::Psync => IoChoice::Psync,
            },
            caching: if self.cached { Caching::Cached } else { Caching::Direct },
            durability: if self.sync { Durability::Sync } else { Durability::Device },
            overwrite: self.overwrite.clone(),
            blank: if self.not_blank { BlankChoice::NotRequired } else { BlankChoice::Required },
            changes: Changes::AsNeeded,
            fill: if self.no_fill { FillChoice::Never } else { FillChoice::WhereNeeded },
            chap_secret: None,
            // A size on the command line is binding; the default of a suite gives way to a smaller target.
            too_small: if size.is_some() { TooSmall::Refuse } else { TooSmall::UseAll },
        }
    }
}

/// Returns the step of a journal that the run measures, where one was asked for.
pub(crate) fn journal_of(
    args: &RunArgs,
    targets: &[String],
    store: &Store,
) -> anyhow::Result<Option<JournalStep>> {
    let Some(change) = &args.step else { return Ok(None) };
    let on = (targets, args.fleet.hosts.as_slice());
    let journal = crate::words::journals::of_run(store, args.journal.as_deref(), &args.plan, on)?;
    Ok(Some(JournalStep { journal, change: change.trim().to_owned() }))
}
