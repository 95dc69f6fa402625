//! What the steps of all targets have in common: the plan, the options, and what was found to be said.

use assay_record::{HostFacts, Warning};
use assay_spec::Plan;
use assay_target::{IoEngine, Member};

use crate::content::Fill;
use crate::fill::{PartialFill, PrepareProgress, Writing, write};
use crate::options::{FillChoice, PrepareOptions};

/// What inspections need.
#[derive(Clone, Copy)]
pub(crate) struct InspectContext<'c> {
    pub(crate) plan: &'c Plan,
    pub(crate) options: &'c PrepareOptions,
    pub(crate) host: &'c HostFacts,
}

/// What opening needs, and what it finds to be said.
pub(crate) struct OpenContext<'c> {
    pub(crate) plan: &'c Plan,
    pub(crate) options: &'c PrepareOptions,
    pub(crate) io: IoEngine,

    pub(crate) warnings: Vec<Warning>,
    /// Numbers of the marks of files on NFS servers that are open, and the addresses of these.
    pub(crate) nfs_marks: Vec<(String, String)>,
}

impl<'c> OpenContext<'c> {
    pub(crate) fn new(plan: &'c Plan, options: &'c PrepareOptions, io: IoEngine) -> Self {
        Self { plan, options, io, warnings: Vec::new(), nfs_marks: Vec::new() }
    }

    /// Without a place for locks no run can be kept away from another.
    pub(crate) fn warn_unlocked(&mut self, target: &str, error: &std::io::Error) {
        self.warnings.push(Warning {
            rule: "unlocked".into(),
            says: format!(
                "{target}: cannot lock it ({error}), so another run of Assay on it would not be detected."
            ),
            next: String::new(),
        });
    }
}

/// What filling needs, and what it finds to be said.
pub(crate) struct FillContext<'c> {
    pub(crate) plan: &'c Plan,
    pub(crate) options: &'c PrepareOptions,
    pub(crate) io: IoEngine,
    pub(crate) must_stop: &'c dyn Fn() -> bool,
    pub(crate) progress: &'c mut dyn FnMut(&PrepareProgress),

    pub(crate) warnings: Vec<Warning>,
}

impl FillContext<'_> {
    /// Writes real data from `fill.from_bytes` to the end of the span; on failure also says how far it came.
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
        write(&writing, self.must_stop, self.progress)?;
        if let Some(refill) = &fill.refill {
            self.warnings.push(refill.warning(&writing.name(), member.span_bytes(), began.elapsed()));
        }
        Ok(())
    }

    /// Of a device or LUN that is not filled.
    pub(crate) fn warn_unknown_content(&mut self, path: &str, span_bytes: u64) {
        self.warnings.push(Warning {
            rule: "unknown-content".into(),
            says: format!(
                "{path} ({}) was not filled by Assay: the storage may answer reads of blocks that were never written \
                 without touching its disks.",
                assay_spec::units::Bytes(span_bytes)
            ),
            next: match self.options.fill {
                FillChoice::Never => "Leave out --no-fill, with --overwrite where that is needed.",
                FillChoice::WhereNeeded => "Measure on a file, or on a device that may be overwritten.",
            }
            .into(),
        });
    }
}
