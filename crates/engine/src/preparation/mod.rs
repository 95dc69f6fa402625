//! From addresses to targets that are safe to use and filled with real data.
//!
//! First every target is inspected, and nothing is touched: what it is, whether the plan may write to it, whether it
//! is large enough. Only when all of them pass is anything created, filled or opened for writing; so a refusal leaves
//! everything as it was. What was prepared is closed again by [`PreparedTargets::close`].

mod error;
mod files;
mod fill;
mod inspect;
mod job;
mod lun;
mod make;
mod memory;
mod nfs;
mod nfs_make;
mod place;
mod space;

use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use assay_record::{HostFacts, TargetFacts, Warning};
use assay_spec::{Address, Plan, Semantics};
use assay_target::file::Marker;
use assay_target::lun::{LunMember, Secret};
use assay_target::nfs::NfsMember;
use assay_target::{Caching, Durability, FileMember, IoEngine, PsyncTarget, SimulatedMember};

use crate::control::StopSignal;
use crate::fit::{Fit, fit};
use crate::rng::derive;
use crate::stamp::StampTable;

pub use error::PrepareError;
pub(crate) use job::JobTarget;
pub use lun::{LunInspection, inspect_lun, targets_at};
pub use nfs::{NfsInspection, inspect_nfs};

/// How I/O is to be issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoChoice {
    /// io_uring, or psync with a warning where it is refused; inline where all files lie in memory.
    Auto,
    /// io_uring or nothing.
    Uring,
    /// psync.
    Psync,
}

/// What happens when a device, or a file that Assay may not enlarge, holds less than the plan's size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TooSmall {
    /// It is refused: somebody asked for this size.
    Refuse,
    /// All of it is used: the size is the plan's default.
    UseAll,
}

/// What the command line says about targets.
#[derive(Debug, Clone)]
pub struct PrepareOptions {
    /// How I/O is issued.
    pub io: IoChoice,
    /// Past the page cache or through it.
    pub caching: Caching,
    /// When a write counts as done.
    pub durability: Durability,
    /// What may be overwritten: identities of devices, paths of files.
    pub overwrite: Vec<String>,
    /// Whether devices are written before they are measured.
    pub fill_devices: bool,
    /// What a device or foreign file smaller than the plan's size means.
    pub too_small: TooSmall,
    /// A CHAP secret that somebody typed, for LUNs with a user name and no other secret.
    pub chap_secret: Option<Secret>,
}

/// How far preparation is.
#[derive(Debug, Clone, PartialEq)]
pub struct PrepareProgress {
    /// What is being filled.
    pub path: PathBuf,
    /// Bytes written so far.
    pub done_bytes: u64,
    /// Bytes to write in all.
    pub total_bytes: u64,
    /// Bytes per second so far.
    pub bytes_per_s: f64,
    /// Time taken so far.
    pub elapsed: Duration,
}

/// A target that is ready.
pub struct PreparedTarget {
    /// What is recorded about it.
    pub facts: TargetFacts,

    kind: Prepared,
}

enum Prepared {
    Null { capacity: u64 },
    Simulated(SimulatedMember),
    Path { member: FileMember, hold: Hold },
    Lun(Box<LunMember>),
    Nfs { member: Box<NfsMember>, hold: nfs_make::NfsHold },
}

/// Keeps others away from a path, and remembers what to write down when the run is over.
struct Hold {
    /// Holds the lock.
    file: File,
    /// `None` for devices and foreign files.
    marker: Option<Marker>,
}

/// Every target of a run.
pub struct PreparedTargets {
    /// In the order of the command line.
    pub targets: Vec<PreparedTarget>,
    /// What a reader of the results must know about them.
    pub warnings: Vec<Warning>,

    semantics: Semantics,
    engine: IoEngine,
    /// What I/O buffers may take, bytes.
    memory_bytes: u64,
    /// One for each target in a plan that verifies.
    stamps: Vec<Arc<StampTable>>,
    /// Keep other runs away from LUNs.
    _locks: Vec<File>,
}

/// What there is to say once every target is closed.
#[derive(Debug, Default)]
pub struct Closed {
    /// What is no more as it was left.
    pub warnings: Vec<Warning>,
    /// Files on NFS servers that may go: whoever removes one must know which it was, not only its name.
    pub nfs_members: Vec<NfsMember>,
    /// Files on NFS servers that stay, and why.
    pub nfs_kept: Vec<(String, &'static str)>,
}

impl Closed {
    fn add_nfs(&mut self, member: &NfsMember, closed: nfs_make::NfsClosed) {
        let kept = match closed {
            nfs_make::NfsClosed::Marked => None,
            nfs_make::NfsClosed::Elsewhere(warning) => {
                self.warnings.push(warning);
                None
            }
            nfs_make::NfsClosed::NotOurs => Some("Assay did not create it"),
            nfs_make::NfsClosed::Kept => Some("the server lets it only be read"),
            nfs_make::NfsClosed::Silent(warning) => {
                self.warnings.push(warning);
                Some("the server did not answer after the run")
            }
            nfs_make::NfsClosed::Unmarked(warning) => {
                self.warnings.push(warning);
                Some("its mark could not be closed")
            }
        };
        match kept {
            None => self.nfs_members.push(member.clone()),
            Some(why) => self.nfs_kept.push((member.address.to_string(), why)),
        }
    }
}

/// Inspects, and only then makes, every target of a plan. `host` is where it all happens, `stop` ends a long fill.
pub fn prepare(
    plan: &Plan,
    addresses: &[Address],
    options: &PrepareOptions,
    host: &HostFacts,
    stop: &StopSignal,
    progress: &mut dyn FnMut(&PrepareProgress),
) -> Result<PreparedTargets, PrepareError> {
    let (engine, mut warnings) = choose_engine(options.io)?;
    inspect::check_plan(plan, addresses)?;
    let mut inspected = Vec::new();
    for (index, address) in addresses.iter().enumerate() {
        inspected.push(inspect::inspect(plan, index, address, options, host)?);
    }
    inspect::check_overwrite(&options.overwrite, &inspected)?;
    inspect::check_nfs_different(&inspected)?;
    space::check(&inspected)?;
    let memory_bytes = memory::left_for_buffers(plan, &inspected, host)?;
    let mut making = make::TargetBuilder {
        plan,
        options,
        engine,
        stop,
        progress,
        warnings: Vec::new(),
        locks: Vec::new(),
        nfs_marks: Vec::new(),
    };
    let mut targets = PreparedTargets {
        targets: Vec::new(),
        warnings: Vec::new(),
        semantics: plan.semantics,
        engine,
        memory_bytes,
        stamps: Vec::new(),
        _locks: Vec::new(),
    };
    if let Err(error) = make_all(&mut making, inspected, &mut targets) {
        targets.abandon();
        return Err(error);
    }
    warnings.append(&mut making.warnings);
    targets.warnings = warnings;
    targets._locks = making.locks;
    if plan.verifies() {
        targets.stamps =
            targets.targets.iter().map(|t| Arc::new(StampTable::new(run_number(plan), t.span()))).collect();
    }
    Ok(targets)
}

/// Opens all, checks that the plan fits them, and only then fills any.
fn make_all(
    making: &mut make::TargetBuilder<'_>,
    inspected: Vec<inspect::Inspected>,
    targets: &mut PreparedTargets,
) -> Result<(), PrepareError> {
    for one in inspected {
        targets.targets.push(making.open(one)?.into_prepared(making.engine));
    }
    if making.options.io == IoChoice::Auto && making.engine == IoEngine::Uring && targets.lie_in_memory() {
        making.engine = IoEngine::Inline;
        targets.serve_inline();
    }
    check_fit(making.plan, targets)?;
    targets.targets.iter_mut().try_for_each(|target| making.fill(target))
}

/// Tells this run's stamps from those of any other.
fn run_number(plan: &Plan) -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    derive(plan.seed, &[now.as_secs(), u64::from(now.subsec_nanos()), u64::from(std::process::id())])
}

fn choose_engine(choice: IoChoice) -> Result<(IoEngine, Vec<Warning>), PrepareError> {
    match (choice, assay_target::uring_refused()) {
        (IoChoice::Psync, _) => Ok((IoEngine::Psync, Vec::new())),
        (_, None) => Ok((IoEngine::Uring, Vec::new())),
        (IoChoice::Uring, Some(why)) => Err(PrepareError::UringRefused { why }),
        (IoChoice::Auto, Some(why)) => Ok((
            IoEngine::Psync,
            vec![Warning {
                rule: "psync-fallback".into(),
                says: format!(
                    "This host refuses io_uring ({why}), so I/O is issued by blocking calls on helper threads: more \
                     CPU per I/O and longer latencies than the storage's own."
                ),
                next: "Allow io_uring (sysctl kernel.io_uring_disabled=0, or the container's seccomp profile), or \
                       say --io psync to accept it."
                    .into(),
            }],
        )),
    }
}

/// A test of which no step can run is refused before anything is filled; single steps of a sweep are left out later.
fn check_fit(plan: &Plan, targets: &PreparedTargets) -> Result<(), PrepareError> {
    for test in &plan.tests {
        let misfits: Vec<String> = test
            .steps
            .iter()
            .filter_map(|step| match fit(step, targets.semantics(), &targets.job_targets(step)) {
                Fit::Fits => None,
                Fit::Misfit(why) => Some(why),
            })
            .collect();
        if misfits.len() == test.steps.len() {
            return Err(PrepareError::Misfit { test: test.name.clone(), why: misfits[0].clone() });
        }
    }
    Ok(())
}

impl PreparedTarget {
    /// Bytes that are used, from the start.
    fn span(&self) -> u64 {
        match &self.kind {
            Prepared::Null { capacity } => *capacity,
            Prepared::Simulated(member) => member.span_bytes,
            Prepared::Path { member, .. } => member.span_bytes,
            Prepared::Lun(member) => member.span_bytes,
            Prepared::Nfs { member, .. } => member.span_bytes,
        }
    }

    /// The largest I/O it takes, where it has such a limit, bytes.
    fn transfer_bytes_max(&self) -> Option<u64> {
        match &self.kind {
            Prepared::Lun(member) => Some(member.transfer_bytes_max),
            _ => None,
        }
    }

    /// How many I/Os one worker can have in flight on it.
    fn depth_max(&self, engine: IoEngine) -> u32 {
        match (&self.kind, engine) {
            (Prepared::Path { .. }, IoEngine::Psync) => PsyncTarget::DEPTH_MAX,
            _ => u32::MAX,
        }
    }
}

impl PreparedTargets {
    /// What is recorded about them.
    #[must_use]
    pub fn facts(&self) -> Vec<TargetFacts> {
        self.targets.iter().map(|t| t.facts.clone()).collect()
    }

    /// The other sides of every connection that the targets make.
    #[must_use]
    pub fn remotes(&self) -> Vec<SocketAddr> {
        self.targets.iter().flat_map(|t| crate::paths::remotes(t.facts.member.paths())).collect()
    }

    /// The network interfaces that lead to the targets, and those under them.
    #[must_use]
    pub fn interfaces(&self) -> Vec<String> {
        let paths = self.targets.iter().flat_map(|t| t.facts.member.paths());
        let interfaces = paths.filter_map(|path| path.net.as_ref()?.interface.as_ref());
        let mut names: Vec<String> =
            interfaces.flat_map(|of| of.names().into_iter().map(str::to_owned)).collect();
        names.sort();
        names.dedup();
        names
    }

    /// Kernel names of every block device under the targets, as in /proc/diskstats.
    #[must_use]
    pub fn disk_names(&self) -> Vec<String> {
        let devices = self.targets.iter().filter_map(|t| t.facts.member.device.as_ref());
        let mut names: Vec<String> = devices.flat_map(|d| d.stack.iter().cloned()).collect();
        names.sort();
        names.dedup();
        names
    }

    /// The run is over: marks files as closed, and says what is no more as it was left. The first error is told, all are
    /// tried.
    pub fn close(mut self) -> Result<Closed, PrepareError> {
        let (mut silent, mut closed, mut result) = (Vec::new(), Closed::default(), Ok(()));
        for target in &mut self.targets {
            result = result.and(target.close(&mut silent, &mut closed));
        }
        result.map(|()| closed)
    }

    /// Returns true if every file and device is a file in memory. One engine serves all of them, so that the record of
    /// each target holds for every job that it is in.
    fn lie_in_memory(&self) -> bool {
        let mut paths = self.targets.iter().filter_map(|target| match &target.kind {
            Prepared::Path { member, .. } => Some(&member.path),
            _ => None,
        });
        paths.all(|path| assay_target::is_in_memory(path))
    }

    fn serve_inline(&mut self) {
        self.engine = IoEngine::Inline;
        let paths = self.targets.iter_mut().filter(|target| matches!(target.kind, Prepared::Path { .. }));
        paths.for_each(|target| target.facts.member.engine = IoEngine::Inline.recorded());
    }

    pub(crate) fn semantics(&self) -> Semantics {
        self.semantics
    }

    /// Preparation failed: what was created and holds nothing is removed, the rest is marked as closed.
    fn abandon(self) {
        let mut silent = Vec::new();
        for mut target in self.targets {
            // The failure that led here is what is told; these are only attempts to leave things tidy.
            let _ = target.close(&mut silent, &mut Closed::default());
            match target.kind {
                Prepared::Nfs { member, hold } => hold.abandon(&member),
                Prepared::Path { member, hold: Hold { marker: Some(marker), .. } }
                    if marker.created && marker.filled_bytes == 0 =>
                {
                    let _ = std::fs::remove_file(member.path);
                }
                _ => {}
            }
        }
    }
}
