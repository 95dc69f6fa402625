//! What the command line says over a plan: keys set in place of what the file says.

use crate::file::{PacingFile, Settings, SweepKey, read_override, sweep_override};
use crate::goal::{Times, Tolerance};
use crate::plan::Arrivals;
use crate::plan_error::PlanError;
use crate::units::{Nanos, PerSecond, SizeSpec};

/// What the command line says over a plan.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    pub(crate) settings: Settings,
    pub(crate) changes: Vec<String>,
    /// `--set KEY=VALUE,VALUE`: what is swept in place of what the plan sweeps.
    pub(crate) sweep: Vec<(SweepKey, Vec<String>)>,
    /// Keys that were set, each once.
    pub(crate) keys: Vec<String>,
    /// Whether `--rate` makes every job an open loop.
    pub(crate) is_open: bool,
    /// `--size`: how much of each target is used.
    pub size: Option<SizeSpec>,
    /// `--seed`.
    pub seed: Option<u64>,
    pub(crate) precondition: Option<Times>,
    /// `--quick`: shorten every step.
    pub quick: bool,
    /// What is known of the highest rates that `rate = "max"` means.
    pub maxima: Maxima,
    /// `--only`: names of the tests or steps to keep, or parts of them; empty keeps all.
    pub only: Vec<String>,
}

/// What is known of the highest rates that `rate = "max"` means.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Maxima {
    /// Nothing: a plan that needs them is refused.
    #[default]
    Unknown,
    /// They are to be found: such load points become closed loops.
    Sought,
    /// The rate of each load point that was sought, by the name of its test and its label.
    Found(Vec<(String, String, PerSecond)>),
}

/// What is known of one of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Maximum {
    Unknown,
    Sought,
    Found(PerSecond),
}

impl Maxima {
    pub(crate) fn of(&self, test: &str, label: &str) -> Maximum {
        match self {
            Self::Unknown => Maximum::Unknown,
            Self::Sought => Maximum::Sought,
            Self::Found(all) => all
                .iter()
                .find(|(of, at, _)| of == test && at == label)
                .map_or(Maximum::Unknown, |(_, _, rate)| Maximum::Found(*rate)),
        }
    }
}

impl Overrides {
    /// Adds one `--set KEY=VALUE`; `KEY=VALUE,VALUE` makes a sweep of a key that may be swept.
    ///
    /// # Errors
    /// When the key is unknown, its value does not fit, or the key was set before.
    pub fn set(&mut self, assignment: &str) -> Result<(), PlanError> {
        self.claim(assignment.split('=').next().unwrap_or_default(), &format!("--set {assignment}"))?;
        match sweep_override(assignment)? {
            Some(sweep) => self.sweep.push(sweep),
            None => read_override(assignment, &mut self.settings)?,
        }
        self.changes.push(assignment.to_owned());
        Ok(())
    }

    /// Makes every job an open loop of `rate` with random (Poisson) arrivals.
    ///
    /// # Errors
    /// When the rate or the pace was set before.
    pub fn open_loop(&mut self, rate: PerSecond) -> Result<(), PlanError> {
        let place = format!("--rate {rate}");
        self.claim("rate", &place)?;
        self.claim("pace", &place)?;
        self.settings.pace = Some(PacingFile::Open(rate, Arrivals::Poisson));
        self.is_open = true;
        self.changes.push(format!("rate={rate}, open loop"));
        Ok(())
    }

    /// Lets every test go on until a figure is known within a share of it, at most for `at_most`.
    ///
    /// # Errors
    /// When one of the two was set before.
    pub fn until(&mut self, tolerance: Option<Tolerance>, at_most: Option<Nanos>) -> Result<(), PlanError> {
        if let Some(tolerance) = tolerance {
            self.claim("until", &format!("--until {tolerance}"))?;
            self.settings.until = Some(tolerance);
            self.changes.push(format!("until {tolerance}"));
        }
        if let Some(at_most) = at_most {
            self.claim("at_most", &format!("--at-most {at_most}"))?;
            self.settings.at_most = Some(at_most);
            self.changes.push(format!("at_most={at_most}"));
        }
        Ok(())
    }

    /// Writes every span so many times before the first test: `1x`, `2x`.
    ///
    /// # Errors
    /// When the text says something else.
    pub fn precondition(&mut self, times: &str) -> Result<(), PlanError> {
        let place = format!("--precondition {times}");
        self.precondition = Some(times.parse().map_err(|message: String| PlanError::new(place, message))?);
        self.changes.push(format!("precondition={times}"));
        Ok(())
    }

    /// A key may be set once: of two values one would be lost without a word.
    fn claim(&mut self, key: &str, place: &str) -> Result<(), PlanError> {
        let key = key.trim().to_owned();
        if self.keys.contains(&key) {
            let says =
                format!("`{key}` is set twice; give it once, or several values as {key}=A,B to sweep it");
            return Err(PlanError::new(place, says));
        }
        self.keys.push(key);
        Ok(())
    }
}
