//! Opens, creates, locks and marks what passed inspection; the first writes happen here.

use std::fs::File;
use std::net::SocketAddr;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use assay_record::{Content, DeviceFacts, MemberFacts, MemberKind, TargetFacts, Warning};
use assay_spec::units::Bytes;
use assay_spec::{Data, Plan};
use assay_target::file::{self, Lock, Marker};
use assay_target::lun::{self, LunMember};
use assay_target::{
    AccessMode, Caching, Durability, FileIdentity, FileMember, IoEngine, Member, OpenError, is_in_memory,
};
use rustix::fs::{Mode, OFlags};

use super::error::PrepareError;
use super::files::{DevicePlan, FilePlan, FileState, io_error, text};
use super::fill::{Content as Fill, FILL_STAMPED, FILL_UNIQUE, fill};
use super::inspect::Inspected;
use super::lun::LunPlan;
use super::place::placement;
use super::{Closed, Hold, PrepareOptions, PrepareProgress, Prepared, PreparedTarget};

/// A file must be at least so long for its smallest direct I/O to be found by reading.
const PROBE_BYTES: usize = 16 << 10;

/// Opens what passed inspection.
pub(super) struct TargetBuilder<'m> {
    pub(super) plan: &'m Plan,
    pub(super) options: &'m PrepareOptions,

    pub(super) warnings: Vec<Warning>,
    /// Keep other runs away from LUNs for as long as they are open.
    pub(super) locks: Vec<File>,
    /// Numbers of the marks of files on NFS servers that are open, and the addresses of these.
    pub(super) nfs_marks: Vec<(String, String)>,
}

/// A target that is open and locked, and not filled yet.
pub(super) struct OpenTarget {
    address: String,
    facts: MemberFacts,
    kind: Prepared,
}

impl OpenTarget {
    pub(super) fn new(address: String, facts: MemberFacts, kind: Prepared) -> Self {
        Self { address, facts, kind }
    }

    pub(super) fn into_prepared(self, engine: IoEngine) -> PreparedTarget {
        let mut member = self.facts;
        member.engine = match (&self.kind, engine) {
            (Prepared::Plain(Member::Null { .. }), _) => "null".into(),
            (Prepared::Path { member, .. }, IoEngine::Uring) if is_in_memory(&member.path) => "inline".into(),
            (Prepared::Plain(Member::Simulated(_)), _) => "sim".into(),
            (Prepared::Plain(Member::Lun(_)), _) => "iscsi".into(),
            (Prepared::Nfs { .. }, _) => "nfs".into(),
            (_, IoEngine::Uring) => "io_uring".into(),
            (_, IoEngine::Psync) => "psync".into(),
        };
        // Where a file lies is known once it is filled.
        member.placement = placement(&member, None);
        PreparedTarget { facts: TargetFacts { address: self.address, member }, kind: self.kind }
    }
}

/// Fills what is open.
pub(super) struct TargetFiller<'m> {
    pub(super) plan: &'m Plan,
    pub(super) options: &'m PrepareOptions,
    pub(super) engine: IoEngine,
    pub(super) must_stop: &'m dyn Fn() -> bool,
    pub(super) progress: &'m mut dyn FnMut(&PrepareProgress),

    pub(super) warnings: Vec<Warning>,
}

impl<'m> TargetBuilder<'m> {
    pub(super) fn new(plan: &'m Plan, options: &'m PrepareOptions) -> Self {
        Self { plan, options, warnings: Vec::new(), locks: Vec::new(), nfs_marks: Vec::new() }
    }

    pub(super) fn open(&mut self, inspected: Inspected) -> Result<OpenTarget, PrepareError> {
        match inspected {
            Inspected::Null { address, capacity } => {
                let facts = MemberFacts {
                    kind: MemberKind::Null,
                    capacity_bytes: capacity,
                    span_bytes: capacity,
                    block_bytes: 512,
                    content: Content::None,
                    ..MemberFacts::default()
                };
                Ok(OpenTarget {
                    address,
                    facts,
                    kind: Prepared::Plain(Member::Null { capacity_bytes: capacity }),
                })
            }
            Inspected::Simulated { address, member } => {
                let facts = MemberFacts {
                    kind: MemberKind::Simulated,
                    capacity_bytes: member.span_bytes,
                    span_bytes: member.span_bytes,
                    block_bytes: 512,
                    content: Content::None,
                    ..MemberFacts::default()
                };
                Ok(OpenTarget { address, facts, kind: Prepared::Plain(Member::Simulated(member)) })
            }
            Inspected::File(plan) => self.open_file(plan),
            Inspected::Device(plan) => self.open_device(plan),
            Inspected::Lun(plan) => self.open_lun(*plan),
            Inspected::Nfs(plan) => self.open_nfs(*plan),
        }
    }

    /// Direct I/O to a loop device is none to the file behind it unless it was attached so.
    fn warn_cached_loops(&mut self, address: &str, device: Option<&DeviceFacts>) {
        for name in device.map(|d| assay_host::cached_loops(&d.stack)).unwrap_or_default() {
            self.warnings.push(Warning {
                rule: "cached-loop".into(),
                says: format!(
                    "{name} under {address} goes through the page cache of the file behind it: what is measured is \
                     memory, as long as it lasts."
                ),
                next: format!("Attach it with losetup --direct-io=on (or losetup --direct-io=on /dev/{name} now)."),
            });
        }
    }

    /// A worker logs in by itself; here there is only to tell which paths are missing.
    fn open_lun(&mut self, plan: LunPlan) -> Result<OpenTarget, PrepareError> {
        let lock = if plan.member.access == AccessMode::ReadWrite { Lock::Exclusive } else { Lock::Shared };
        match lun::hold(&plan.member.address, lock) {
            Ok(Some(file)) => self.locks.push(file),
            Ok(None) => return Err(PrepareError::LunInUse { lun: plan.address }),
            Err(error) => self.warnings.push(unlocked(&plan.address, &error)),
        }
        for trouble in plan.troubles {
            self.warnings.push(Warning {
                rule: "path".into(),
                says: format!("{}: before the run, {trouble}.", plan.address),
                next: "See `assay check` for every path.".into(),
            });
        }
        let mut facts = plan.facts;
        facts.sync = self.options.durability == Durability::Sync;
        Ok(OpenTarget {
            address: plan.address,
            facts,
            kind: Prepared::Plain(Member::Lun(Box::new(plan.member))),
        })
    }

    fn open_file(&mut self, plan: FilePlan) -> Result<OpenTarget, PrepareError> {
        let path = plan.path.as_path();
        let is_new = plan.state == FileState::New;
        let file = match plan.state {
            FileState::New => file::create(path).map_err(io_error("create", path))?,
            FileState::Foreign => File::open(path).map_err(io_error("open", path))?,
            _ => File::options().read(true).write(true).open(path).map_err(io_error("open", path))?,
        };
        let lock = if plan.state == FileState::Foreign { Lock::Shared } else { Lock::Exclusive };
        if !file::lock(&file, lock).map_err(io_error("lock", path))? {
            return Err(PrepareError::InUse { path: text(path) });
        }
        let is_foreign = plan.state == FileState::Foreign;
        let mut marker = match plan.state {
            FileState::New => Some(Marker::new(true)),
            FileState::Ours(marker) => Some(marker),
            FileState::Allowed => Some(Marker::new(false)),
            FileState::Foreign => None,
        };
        let is_small = file.metadata().map_err(io_error("look at", path))?.len() < PROBE_BYTES as u64;
        if is_small && !is_foreign {
            // Reads of holes, and behind the end of a file, succeed at any size: the probe needs something to read.
            let written = file.write_all_at(&[0x5A; PROBE_BYTES], 0).and_then(|()| file.sync_data());
            written.map_err(io_error("write to", path))?;
        }
        let block_bytes = match self.block_bytes(path) {
            Ok(block_bytes) => block_bytes,
            Err(error) => {
                if is_new {
                    // OpenTarget a moment ago only to find out; nothing is in it.
                    let _ = std::fs::remove_file(path);
                }
                return Err(error);
            }
        };
        if let Some(marker) = &mut marker {
            marker.write(path, &file, true).map_err(io_error("mark", path))?;
        }
        self.warn_cached_loops(&plan.address, plan.device.as_ref());
        let capacity_bytes = file.metadata().map_err(io_error("look at", path))?.len().max(plan.span_bytes);
        let facts = MemberFacts {
            path: text(path),
            kind: MemberKind::File,
            capacity_bytes,
            filesystem: Some(plan.filesystem),
            device: plan.device,
            ..self.facts(plan.span_bytes, block_bytes)
        };
        let member = self.member((path, &file), plan.access, plan.span_bytes, block_bytes);
        Ok(OpenTarget {
            address: plan.address,
            facts,
            kind: Prepared::Path { member, hold: Hold { file, marker } },
        })
    }

    fn open_device(&mut self, plan: DevicePlan) -> Result<OpenTarget, PrepareError> {
        let path = plan.path.as_path();
        // Opened exclusively for as long as the run lasts: nobody can mount it or use it meanwhile.
        let flags = if plan.access == AccessMode::ReadWrite { OFlags::EXCL } else { OFlags::empty() };
        let opened = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC | flags, Mode::empty());
        let file = File::from(opened.map_err(|errno| io_error("open", path)(errno.into()))?);
        let lock = if plan.access == AccessMode::ReadWrite { Lock::Exclusive } else { Lock::Shared };
        if !file::lock(&file, lock).map_err(io_error("lock", path))? {
            return Err(PrepareError::InUse { path: text(path) });
        }
        let block_bytes = self.block_bytes(path)?;
        self.warn_cached_loops(&plan.address, Some(&plan.device));
        let facts = MemberFacts {
            path: text(path),
            kind: MemberKind::Device,
            capacity_bytes: plan.capacity_bytes,
            device: Some(plan.device),
            ..self.facts(plan.span_bytes, block_bytes)
        };
        let span_bytes = plan.span_bytes / u64::from(block_bytes) * u64::from(block_bytes);
        let member = self.member((path, &file), plan.access, span_bytes, block_bytes);
        Ok(OpenTarget {
            address: plan.address,
            facts,
            kind: Prepared::Path { member, hold: Hold { file, marker: None } },
        })
    }

    fn facts(&self, span_bytes: u64, block_bytes: u32) -> MemberFacts {
        MemberFacts {
            span_bytes,
            block_bytes,
            direct: self.options.caching == Caching::Direct,
            sync: self.options.durability == Durability::Sync,
            ..MemberFacts::default()
        }
    }

    fn member(
        &self,
        held: (&Path, &File),
        access: AccessMode,
        span_bytes: u64,
        block_bytes: u32,
    ) -> FileMember {
        let (caching, durability) = (self.options.caching, self.options.durability);
        let (path, identity) = (held.0.to_owned(), FileIdentity::of(held.1).ok());
        FileMember { path, identity, access, caching, durability, span_bytes, block_bytes }
    }

    /// The page cache takes any size; direct I/O does not.
    fn block_bytes(&self, path: &Path) -> Result<u32, PrepareError> {
        if self.options.caching == Caching::Cached {
            return Ok(1);
        }
        match file::smallest_direct_io(path).map_err(io_error("read", path))? {
            Some(block_bytes) => Ok(block_bytes),
            None => Err(OpenError::NoDirectIo(text(path)).into()),
        }
    }
}

impl<'m> TargetFiller<'m> {
    pub(super) fn new(
        plan: &'m Plan,
        options: &'m PrepareOptions,
        engine: IoEngine,
        must_stop: &'m dyn Fn() -> bool,
        progress: &'m mut dyn FnMut(&PrepareProgress),
    ) -> Self {
        Self { plan, options, engine, must_stop, progress, warnings: Vec::new() }
    }

    /// Fills what has to be filled, and looks for what was never written.
    pub(super) fn fill(&mut self, target: &mut PreparedTarget) -> Result<(), PrepareError> {
        let facts = &mut target.facts.member;
        let (member, hold) = match &mut target.kind {
            Prepared::Plain(Member::Lun(member)) => return self.fill_lun(member, facts),
            Prepared::Plain(_) => return Ok(()),
            Prepared::Nfs { member, hold } => return self.fill_nfs(member, hold, facts),
            Prepared::Path { member, hold } => (member, hold),
        };
        match facts.kind {
            MemberKind::File if hold.marker.is_some() => facts.content = self.fill_file(member, hold)?,
            MemberKind::Device if member.access == AccessMode::ReadWrite && self.options.fill_devices => {
                self.write(&Member::File(member.clone()), 0)?;
                facts.content = Content::Prepared;
            }
            MemberKind::Device => self.warn_device(&text(&member.path), member.span_bytes),
            _ => {}
        }
        if facts.kind == MemberKind::File {
            let path = member.path.as_path();
            let found = file::extents(&hold.file, member.span_bytes).map_err(io_error("map", path))?;
            facts.unwritten_bytes = found.map(|e| e.unwritten_bytes);
            facts.extents = found.map(|e| e.count);
            facts.placement = placement(facts, found.and_then(|e| e.placed));
            if member.caching == Caching::Cached {
                file::drop_cached_pages(&hold.file).map_err(io_error("write back", path))?;
            }
        }
        Ok(())
    }

    fn fill_file(&mut self, member: &FileMember, hold: &mut Hold) -> Result<Content, PrepareError> {
        let marker = hold.marker.as_mut().expect("only files with a marker are filled");
        let path = member.path.as_path();
        let is_right = self.is_right_content(&marker.kinds);
        let held = hold.file.metadata().map_err(io_error("look at", path))?.len();
        let filled = marker.filled_bytes.min(held).min(member.span_bytes);
        let holes = file::extents(&hold.file, filled).map_err(io_error("map", path))?;
        // Somebody may have cut it, or punched holes into it, since.
        let is_whole = holes.is_none_or(|e| e.unwritten_bytes == 0);
        let from = if is_right && is_whole { filled } else { 0 };
        let content = if from >= member.span_bytes { Content::Reused } else { Content::Prepared };
        if content == Content::Prepared {
            if !is_right {
                marker.kinds = vec![self.fill_kind().to_owned()];
            }
            marker.filled_bytes = from;
            file::allocate(&hold.file, member.span_bytes).map_err(io_error("allocate space for", path))?;
            marker.write(path, &hold.file, true).map_err(io_error("mark", path))?;
            let filled = self.write(&Member::File(member.clone()), from);
            marker.filled_bytes = match &filled {
                Ok(()) => member.span_bytes,
                Err(done) => done.0,
            };
            hold.file.sync_data().map_err(io_error("flush", path))?;
            marker.write(path, &hold.file, filled.is_ok()).map_err(io_error("mark", path))?;
            filled.map_err(|done| done.1)?;
        }
        // From now on the run writes its own kinds of data.
        marker.kinds.extend(self.written_kinds());
        marker.kinds.sort();
        marker.kinds.dedup();
        marker.write(path, &hold.file, true).map_err(io_error("mark", path))?;
        Ok(content)
    }

    /// Whether a file holds what this plan's own preparation and writes would have put there.
    pub(super) fn is_right_content(&self, kinds: &[String]) -> bool {
        let is_stamped = |kind: &String| kind == FILL_STAMPED;
        if kinds.is_empty() {
            return false;
        }
        if self.plan.verifies() {
            return kinds.iter().all(is_stamped);
        }
        let own: Vec<String> = self.plan.jobs().map(|job| kind_name(job.data)).collect();
        kinds.iter().all(|kind| kind == FILL_UNIQUE || is_stamped(kind) || own.contains(kind))
    }

    pub(super) fn fill_kind(&self) -> &'static str {
        if self.plan.verifies() { FILL_STAMPED } else { FILL_UNIQUE }
    }

    pub(super) fn written_kinds(&self) -> Vec<String> {
        if self.plan.verifies() {
            return vec![FILL_STAMPED.to_owned()];
        }
        self.plan.jobs().filter(|job| job.writes()).map(|job| kind_name(job.data)).collect()
    }

    /// Writes real data from `from` to the end of the span; on failure also says how far it came.
    pub(super) fn write(&mut self, member: &Member, from: u64) -> Result<(), Partial> {
        let content = if self.plan.verifies() { Fill::Stamped } else { Fill::Unique };
        let result = fill(member, from, content, self.engine, self.plan.seed, self.must_stop, self.progress);
        result.map_err(|(done, error)| Partial(done, error))
    }

    fn fill_lun(&mut self, member: &LunMember, facts: &mut MemberFacts) -> Result<(), PrepareError> {
        let is_filled = member.access == AccessMode::ReadWrite && self.options.fill_devices;
        if is_filled {
            self.write(&Member::Lun(Box::new(member.clone())), 0)?;
            facts.content = Content::Prepared;
        }
        facts.unwritten_bytes =
            lun::unmapped_bytes(&member.address, member.credentials.as_ref(), member.span_bytes)?;
        // A target that tells which blocks are mapped has answered what would be unknown otherwise.
        if !is_filled && facts.unwritten_bytes.is_none() {
            self.warn_device(&facts.path, member.span_bytes);
        }
        Ok(())
    }

    fn warn_device(&mut self, path: &str, span_bytes: u64) {
        self.warnings.push(Warning {
            rule: "unknown-content".into(),
            says: format!(
                "{path} ({}) is only read and was not written by Assay: blocks that were never written may be \
                 answered without touching the storage.",
                Bytes(span_bytes)
            ),
            next: "Measure on a file, or on a device that may be overwritten.".into(),
        });
    }
}

/// How far a fill came, and why not further.
pub(super) struct Partial(pub(super) u64, PrepareError);

impl From<Partial> for PrepareError {
    fn from(partial: Partial) -> Self {
        partial.1
    }
}

fn kind_name(data: Data) -> String {
    let name = match data {
        Data::Unique => FILL_UNIQUE,
        Data::Reducible { compress, dedupe } => return format!("reducible {compress} {dedupe}"),
        Data::IometerRepeating => "repeating",
        Data::IometerPseudoRandom => "pseudo-random",
        Data::IometerFullRandom => "full-random",
    };
    name.to_owned()
}

impl PreparedTarget {
    /// `silent`: servers that did not answer while other targets were closed.
    pub(super) fn close(
        &mut self,
        silent: &mut Vec<SocketAddr>,
        closed: &mut Closed,
    ) -> Result<(), PrepareError> {
        match &mut self.kind {
            Prepared::Path { member, hold: Hold { file, marker: Some(marker) } } => {
                marker.write(&member.path, file, false).map_err(io_error("mark", &member.path))?;
            }
            Prepared::Nfs { member, hold } => closed.add_nfs(member, hold.close(member, silent)),
            _ => {}
        }
        Ok(())
    }
}

/// Without a place for locks nobody can be protected.
pub(super) fn unlocked(target: &str, error: &std::io::Error) -> Warning {
    Warning {
        rule: "unlocked".into(),
        says: format!("{target}: another run of Assay on it would not be noticed ({error})."),
        next: String::new(),
    }
}
