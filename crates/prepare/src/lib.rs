//! From addresses to targets that are safe to use and filled with real data.
//!
//! First every target is inspected, and nothing is touched: what it is, whether the plan may write to it, whether it
//! is large enough. Only when all of them pass is anything created, filled or opened for writing; so a refusal leaves
//! everything as it was. What was prepared is closed again by [`PreparedTargets::close`].

#![forbid(unsafe_code)]

mod error;
mod files;
mod fill;
mod inspect;
mod lun;
mod make;
mod memory;
mod network;
mod nfs;
mod nfs_make;
mod place;
mod space;

use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

use assay_record::{HostFacts, TargetFacts, Warning};
use assay_spec::{Address, Plan};
use assay_target::file::Marker;
use assay_target::lun::Secret;
use assay_target::nfs::NfsMember;
use assay_target::{Caching, Durability, FileMember, IoEngine, Member};

pub use error::PrepareError;
pub use lun::{LunInspection, inspect_lun, targets_at};
pub use network::portal_networks;
pub use nfs::{NfsInspection, inspect_nfs};

/// How I/O is to be issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoChoice {
    /// io_uring, or psync with a warning where it is refused.
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
    /// Null and simulated targets, and LUNs: there is nothing to write down when the run is over.
    Plain(Member),
    Path {
        member: FileMember,
        hold: Hold,
    },
    Nfs {
        member: Box<NfsMember>,
        hold: nfs_make::NfsHold,
    },
}

impl Prepared {
    fn member(&self) -> Member {
        match self {
            Self::Plain(member) => member.clone(),
            Self::Path { member, .. } => Member::File(member.clone()),
            Self::Nfs { member, .. } => Member::Nfs(member.clone()),
        }
    }
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

    /// How I/O is issued to files and devices.
    pub io: IoEngine,
    /// Memory that I/O buffers may take, bytes.
    pub memory_bytes: u64,

    /// Keep other runs away from LUNs.
    _locks: Vec<File>,
}

/// Targets that are open and locked, and not filled yet. Consumed by [`OpenTargets::fill`]; whatever else happens to
/// them, [`OpenTargets::abandon`] leaves things as they were.
pub struct OpenTargets<'p> {
    plan: &'p Plan,
    options: &'p PrepareOptions,
    targets: PreparedTargets,
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

/// Inspects every target of a plan, and only when all pass opens them. `host` is where it all happens.
pub fn open<'p>(
    plan: &'p Plan,
    addresses: &[Address],
    options: &'p PrepareOptions,
    host: &HostFacts,
) -> Result<OpenTargets<'p>, PrepareError> {
    let (io, warnings) = choose_engine(options.io)?;
    inspect::check_plan(plan, addresses)?;
    let mut inspected = Vec::new();
    for (index, address) in addresses.iter().enumerate() {
        inspected.push(inspect::inspect(plan, index, address, options, host)?);
    }
    inspect::check_overwrite(&options.overwrite, &inspected)?;
    inspect::check_nfs_different(&inspected)?;
    space::check(&inspected)?;
    let memory_bytes = memory::left_for_buffers(plan, &inspected, host)?;
    let targets = PreparedTargets { targets: Vec::new(), warnings, io, memory_bytes, _locks: Vec::new() };
    let mut open = OpenTargets { plan, options, targets };
    match open.open_all(inspected) {
        Ok(()) => Ok(open),
        Err(error) => {
            open.abandon();
            Err(error)
        }
    }
}

impl OpenTargets<'_> {
    /// What has been opened, for whoever must know before anything is filled.
    #[must_use]
    pub fn targets(&self) -> &PreparedTargets {
        &self.targets
    }

    fn open_all(&mut self, inspected: Vec<inspect::Inspected>) -> Result<(), PrepareError> {
        let mut builder = make::TargetBuilder::new(self.plan, self.options);
        let opened = inspected.into_iter().try_for_each(|one| {
            self.targets.targets.push(builder.open(one)?.into_prepared(self.targets.io));
            Ok(())
        });
        self.targets.warnings.append(&mut builder.warnings);
        self.targets._locks = builder.locks;
        opened
    }

    /// Fills what has to be filled. `must_stop` ends a long fill.
    pub fn fill(
        mut self,
        must_stop: &dyn Fn() -> bool,
        progress: &mut dyn FnMut(&PrepareProgress),
    ) -> Result<PreparedTargets, PrepareError> {
        let io = self.targets.io;
        let mut filler = make::TargetFiller::new(self.plan, self.options, io, must_stop, progress);
        let filled = self.targets.targets.iter_mut().try_for_each(|target| filler.fill(target));
        self.targets.warnings.append(&mut filler.warnings);
        match filled {
            Ok(()) => Ok(self.targets),
            Err(error) => {
                self.targets.abandon();
                Err(error)
            }
        }
    }

    /// Leaves everything as it was: what was created and holds nothing is removed, the rest is marked as closed.
    pub fn abandon(self) {
        self.targets.abandon();
    }
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

impl PreparedTargets {
    /// What is recorded about them.
    #[must_use]
    pub fn facts(&self) -> Vec<TargetFacts> {
        self.targets.iter().map(|t| t.facts.clone()).collect()
    }

    /// What workers open, in the same order.
    #[must_use]
    pub fn members(&self) -> Vec<Member> {
        self.targets.iter().map(|t| t.kind.member()).collect()
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
