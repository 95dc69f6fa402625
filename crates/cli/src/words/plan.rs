//! The plan that a command line means.

use assay_interop::{ImportedPlan, outline};
use assay_spec::units::{Nanos, PerSecond, SizeSpec};
use assay_spec::{Overrides, Plan, PlanFile, Tolerance};

use crate::args::RunArgs;
use crate::words::plan_file::plan_file;

/// Returns the plan of that name with everything that the command line changes in it.
pub(crate) fn plan(args: &RunArgs, name: &str, imported: Option<&ImportedPlan>) -> anyhow::Result<Plan> {
    resolve(name, &choice(args, imported))
}

/// Returns what will run: what the file says, or what the command line makes of it. A plan that it makes invalid is
/// refused after this.
pub(crate) fn understood(args: &RunArgs, imported: &ImportedPlan) -> Vec<String> {
    let chosen = choice(args, Some(imported));
    match resolve(&args.plan, &chosen) {
        Ok(plan) if chosen.changes_load() => outline(&plan),
        _ => imported.understood.clone(),
    }
}

pub(crate) fn choice<'c>(args: &'c RunArgs, imported: Option<&'c ImportedPlan>) -> Choice<'c> {
    let pace = if args.quick { StepLength::Quick } else { StepLength::AsWritten };
    Choice {
        set: &args.choice.set,
        rate: args.rate,
        only: &args.choice.only,
        size: args.size,
        seed: args.seed,
        pace,
        imported,
        until: args.until,
        at_most: args.at_most,
        precondition: args.precondition.as_deref(),
    }
}

/// What the command line changes in a plan.
#[derive(Default)]
pub(crate) struct Choice<'c> {
    pub(crate) set: &'c [String],
    pub(crate) rate: Option<PerSecond>,
    pub(crate) only: &'c [String],
    pub(crate) size: Option<SizeSpec>,
    pub(crate) seed: Option<u64>,
    pub(crate) pace: StepLength,
    /// The plan, where it is another tool's.
    pub(crate) imported: Option<&'c ImportedPlan>,
    pub(crate) until: Option<Tolerance>,
    pub(crate) at_most: Option<Nanos>,
    pub(crate) precondition: Option<&'c str>,
}

impl Choice<'_> {
    /// Returns true if tests do not run as the plan says.
    pub(crate) fn changes_load(&self) -> bool {
        let has_words = !self.set.is_empty() || !self.only.is_empty() || self.precondition.is_some();
        let has_values = self.rate.is_some() || self.size.is_some() || self.until.is_some();
        has_words || has_values || self.at_most.is_some() || self.pace == StepLength::Quick
    }
}

/// Whether steps are shortened.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepLength {
    #[default]
    AsWritten,
    Quick,
}

/// Returns the plan or suite of that name, with the changes of the command line.
pub(crate) fn resolve(name: &str, choice: &Choice<'_>) -> anyhow::Result<Plan> {
    Ok(file(name, choice)?.resolve(&overrides(choice)?)?)
}

pub(crate) fn file(name: &str, choice: &Choice<'_>) -> anyhow::Result<PlanFile> {
    match choice.imported {
        Some(imported) => Ok(PlanFile::parse(name, &imported.plan)?),
        None => plan_file(name),
    }
}

/// Returns the changes of the command line as a plan takes them.
pub(crate) fn overrides(choice: &Choice<'_>) -> anyhow::Result<Overrides> {
    let mut overrides = Overrides::default();
    for assignment in choice.set {
        overrides.set(assignment)?;
    }
    if let Some(rate) = choice.rate {
        overrides.open_loop(rate)?;
    }
    overrides.until(choice.until, choice.at_most)?;
    if let Some(times) = choice.precondition {
        overrides.precondition(times)?;
    }
    (overrides.size, overrides.seed) = (choice.size, choice.seed);
    (overrides.quick, overrides.only) = (choice.pace == StepLength::Quick, choice.only.to_vec());
    Ok(overrides)
}
