//! State shared by the steps of all targets: the plan, the options, and the warnings raised.

use std::ops::Range;

use assay_record::{HostFacts, Warning};
use assay_spec::Plan;
use assay_target::{IoEngine, Member};

use crate::content::Fill;
use crate::fill::{PartialFill, PrepareProgress, Writing, write};
use crate::options::{FillChoice, PrepareOptions};
use crate::zeros::Zeros;

/// Context of an inspection.
#[derive(Clone, Copy)]
pub(crate) struct InspectContext<'c> {
    pub(crate) plan: &'c Plan,
    pub(crate) options: &'c PrepareOptions,
    pub(crate) host: &'c HostFacts,
}

/// Context of opening, which collects warnings.
pub(crate) struct OpenContext<'c> {
    pub(crate) plan: &'c Plan,
    pub(crate) options: &'c PrepareOptions,
    pub(crate) io: IoEngine,

    pub(crate) warnings: Vec<Warning>,
    /// Ids of the marks of open files on NFS servers, and the addresses of the files.
    pub(crate) nfs_marks: Vec<(String, String)>,
}

impl<'c> OpenContext<'c> {
    pub(crate) fn new(plan: &'c Plan, options: &'c PrepareOptions, io: IoEngine) -> Self {
        Self { plan, options, io, warnings: Vec::new(), nfs_marks: Vec::new() }
    }

    /// Warns that there is no place for locks, so that another run cannot be excluded.
    pub(crate) fn warn_unlocked(&mut self, target: &str, error: &std::io::Error) {
        self.warnings.push(Warning {
            rule: "unlocked".into(),
            says: format!("Cannot lock {target} ({error}): another run of Assay on it would not be noticed."),
            next: "Start no second run on it until this one has ended.".into(),
        });
    }
}

/// Context of filling, which collects warnings.
pub(crate) struct FillContext<'c> {
    pub(crate) plan: &'c Plan,
    pub(crate) options: &'c PrepareOptions,
    pub(crate) io: IoEngine,
    pub(crate) must_stop: &'c dyn Fn() -> bool,
    pub(crate) progress: &'c mut dyn FnMut(&PrepareProgress),

    pub(crate) warnings: Vec<Warning>,
    /// Parts of the target at hand of which the server may execute another copy of a write at any time, bytes.
    pub(crate) moved: Vec<Range<u64>>,
}

impl FillContext<'_> {
    /// Writes real data from `fill.from_bytes` to the end of the span; an error contains the completed part.
    pub(crate) fn write(&mut self, member: &Member, fill: &Fill) -> Result<(), PartialFill> {
        let why = fill.refill.as_ref().map(ToString::to_string);
        let writing = Writing {
            member,
            from_bytes: fill.from_bytes,
            content: fill.content,
            why,
            io: self.io,
            seed: self.plan.seed,
        };
        let began = std::time::Instant::now();
        self.moved = write(&writing, self.must_stop, self.progress)?;
        if !self.moved.is_empty() {
            self.warnings.push(moved(&writing.name(), self.moved.len()));
        }
        if let Some(refill) = &fill.refill {
            self.warnings.push(refill.warning(&writing.name(), member.span_bytes(), began.elapsed()));
        }
        Ok(())
    }

    /// Warns about a device or LUN that is not filled, with what is known of its blocks.
    pub(crate) fn warn_unknown_content(&mut self, path: &str, span_bytes: u64, zeros: Option<Zeros>) {
        let seen = zeros.filter(|zeros| zeros.zeros > 0).map_or_else(String::new, |Zeros { read, zeros }| {
            format!(" {zeros} of {read} blocks that were read at random places hold only zeros.")
        });
        self.warnings.push(Warning {
            rule: "unknown-content".into(),
            says: format!(
                "{path} ({}) was not filled by Assay: the storage may answer reads of blocks that were never written \
                 without touching its disks.{seen}",
                assay_spec::units::Bytes(span_bytes)
            ),
            next: match self.options.fill {
                FillChoice::Never => "Leave out --no-fill, and add --overwrite if it is needed.",
                FillChoice::WhereNeeded => "Measure on a file, or on a device that may be overwritten.",
            }
            .into(),
        });
    }
}

fn moved(target: &str, count: usize) -> Warning {
    Warning {
        rule: "moved-writes".into(),
        says: format!(
            "{count} writes of the fill of {target} were sent again because their connection was lost before the \
             answer: the target may still execute the first copies, over newer data."
        ),
        next: "Find out why the connections were lost (assay journal), then run again; blocks with such an older write \
               are not counted as wrong."
            .into(),
    }
}
