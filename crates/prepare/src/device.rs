//! A block device of this host: disk, partition, multipath or logical volume.

use std::fs::File;
use std::io::{Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use assay_claim::blank::{self, Breadth, Examination, ForeignData};
use assay_claim::{FileClaim, Lock};
use assay_record::{Content, DeviceFacts, MemberFacts, MemberKind, TargetFacts, Warning};
use assay_spec::Address;
use assay_target::file::{self, PathKind};
use assay_target::{AccessMode, Binding, Caching, Durability, FileMember, Member, OpenError};
use rustix::fs::{Mode, OFlags};
use std::sync::Arc;

use crate::content::{self, Fill, FillContent};
use crate::context::{FillContext, InspectContext, OpenContext};
use crate::error::{PrepareError, io_error, text};
use crate::held::{Held, fingerprint};
use crate::options::FillChoice;
use crate::permission::{Nameable, WriteRequest};
use crate::placement::placement;
use crate::span;
use crate::zeros::{Zeros, zeros};

/// A device that can be used.
pub(crate) struct InspectedDevice {
    pub(crate) span_bytes: u64,
    address: String,
    device: DeviceFacts,
    path: PathBuf,
    capacity_bytes: u64,
    access: AccessMode,
    /// The inspected device, open for reading.
    held: Held,
    /// Number of processes that may have the device open for writing without Assay seeing it.
    unseen: usize,
}

/// A device that is open and locked.
pub(crate) struct DeviceTarget {
    pub(crate) facts: TargetFacts,
    pub(crate) member: FileMember,
    /// Opened exclusively for writers: no other process can mount or use the device meanwhile.
    held: Held,
}

/// Returns true for a path that leads to a block device.
pub(crate) fn is_device(path: &Path) -> Result<bool, PrepareError> {
    Ok(file::kind_of(path).map_err(io_error("look at", path))? == PathKind::BlockDevice)
}

/// Inspects a device. `writer`: the first test that writes to it.
pub(crate) fn inspect(
    context: &InspectContext<'_>,
    address: &Address,
    path: &Path,
    writer: Option<&str>,
) -> Result<InspectedDevice, PrepareError> {
    // Resolved once, so that a later change of a link such as /dev/disk/by-id/… has no effect on this run. A device
    // that is held open from now on cannot be detached, nor its number be given to another device.
    let real = path.canonicalize().map_err(io_error("look at", path))?;
    let file = file::open(&real, AccessMode::ReadOnly).map_err(io_error("open", path))?;
    let capacity_bytes = (&file).seek(SeekFrom::End(0)).map_err(io_error("look at", path))?;
    let looked = writer.map(|_| fingerprint(path, &file)).transpose()?;
    let held = Held::of(path, &real, file, looked)?;
    let device = assay_host::device_of(&real).map_err(io_error("look at", path))?.unwrap_or_default();
    if let Some(test) = writer {
        let probed = assay_host::probe(&real)
            .map_err(|e| PrepareError::Probe { path: text(path), why: e.to_string() })?;
        let objections: Vec<String> = probed.into_iter().map(|hold| hold.says).collect();
        let foreign =
            if objections.is_empty() { foreign_data(path, &held.file, capacity_bytes)? } else { None };
        WriteRequest { name: &text(path), test, objections, foreign, device: &device, capacity_bytes }
            .check(context)?;
    }
    if context.plan.verifies() && (writer.is_none() || context.options.fill == FillChoice::Never) {
        return Err(PrepareError::unfilled_device(text(path)));
    }
    let span_bytes = span::of_device(context, &text(path), capacity_bytes)?;
    let access = if writer.is_some() { AccessMode::ReadWrite } else { AccessMode::ReadOnly };
    let (address, path) = (address.to_string(), path.to_owned());
    let unseen = writer.map_or(0, |_| assay_host::unseen_processes());
    Ok(InspectedDevice { address, path, span_bytes, capacity_bytes, access, device, held, unseen })
}

/// Returns the data because of which a device is not blank; signatures are the probe's task.
pub(crate) fn foreign_data(
    path: &Path,
    device: &File,
    capacity_bytes: u64,
) -> Result<Option<ForeignData>, PrepareError> {
    let failed = |why: String| PrepareError::Probe { path: text(path), why };
    let mut examination = Examination::local(capacity_bytes);
    let mut read = blank::reader(device);
    examination.read_ends(&mut *read).map_err(failed)?;
    examination.read_samples(Breadth::Device, &mut *read).map_err(failed)?;
    Ok(examination.foreign())
}

impl InspectedDevice {
    /// Returns how `--overwrite` names it.
    pub(crate) fn nameable(&self) -> Nameable<'_> {
        Nameable::by_identity(&self.device, &self.address)
    }

    /// Fails if a device has changed since its inspection.
    pub(crate) fn confirm(&self) -> Result<(), PrepareError> {
        let device = assay_host::device_of(&self.held.real).map_err(io_error("look at", &self.path))?;
        let identities = |device: &DeviceFacts| (assay_host::identities(device), device.size_bytes);
        if identities(&device.unwrap_or_default()) != identities(&self.device) {
            let what = "its serial, WWID or size".to_owned();
            return Err(OpenError::Changed { target: text(&self.path), what }.into());
        }
        self.held.confirm()
    }

    /// Opens and locks it.
    pub(crate) fn open(self, context: &mut OpenContext<'_>) -> Result<DeviceTarget, PrepareError> {
        let path = self.path.as_path();
        let real = &self.held.real;
        let (opened, lock) = match self.access {
            AccessMode::ReadWrite => (assay_host::open_exclusively(real, OFlags::NOFOLLOW), Lock::Exclusive),
            AccessMode::ReadOnly => {
                let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let opened = rustix::fs::open(real, flags, Mode::empty());
                (opened.map(File::from).map_err(std::io::Error::from), Lock::Shared)
            }
        };
        let file = opened.map_err(io_error("open", path))?;
        let held = self.held.reopened(file)?;
        let file = &held.file;
        if !assay_claim::lock(file, lock).map_err(io_error("lock", path))? {
            return Err(PrepareError::InUse { path: text(path) });
        }
        let block_bytes = block_bytes(context, path)?;
        warn_cached_loops(context, &self.address, Some(&self.device));
        warn_unseen(context, &self.address, self.unseen);
        let block = u64::from(block_bytes);
        let member = FileMember {
            path: self.path.clone(),
            binding: Some(Binding { real: held.real.clone(), identity: held.identity, guard: None }),
            access: self.access,
            caching: context.options.caching,
            durability: context.options.durability,
            span_bytes: self.span_bytes / block * block,
            block_bytes,
        };
        let mut facts = MemberFacts {
            path: text(path),
            kind: MemberKind::Device,
            capacity_bytes: self.capacity_bytes,
            engine: context.io.recorded(),
            device: Some(self.device),
            ..member_facts(context, self.span_bytes, block_bytes)
        };
        facts.placement = placement(&facts, None);
        Ok(DeviceTarget { facts: TargetFacts { address: self.address, member: facts }, member, held })
    }
}

impl DeviceTarget {
    pub(crate) fn member(&self) -> Member {
        Member::File(self.member.clone())
    }

    /// Writes all of it, if it may be written.
    pub(crate) fn fill(&mut self, context: &mut FillContext<'_>) -> Result<(), PrepareError> {
        self.held.confirm()?;
        if self.member.access == AccessMode::ReadOnly || context.options.fill == FillChoice::Never {
            let zeros = zeros(&self.held.file, self.member.span_bytes, context.plan.seed);
            self.facts.member.zeros = zeros.map(Zeros::share);
            context.warn_unknown_content(&text(&self.member.path), self.member.span_bytes, zeros);
            return Ok(());
        }
        context.write(&self.member(), &whole(context))?;
        if let (Some(binding), Caching::Direct) = (&mut self.member.binding, self.member.caching) {
            // Through the page cache a write may be shorter than the recognisable unit.
            let head = content::head_check(context.plan);
            binding.guard = Some(Arc::new(FileClaim { run: None, head }));
        }
        self.facts.member.content = Content::Prepared;
        self.held.note()
    }

    /// Fails if another program has changed it since this run filled it.
    pub(crate) fn confirm(&self) -> Result<(), PrepareError> {
        self.held.confirm()
    }
}

/// Returns the fill of a device or LUN, which has no record of earlier fills.
pub(crate) fn whole(context: &FillContext<'_>) -> Fill {
    Fill { from_bytes: 0, content: FillContent::of(context.plan), refill: None }
}

/// Returns the facts that files and devices share.
pub(crate) fn member_facts(context: &OpenContext<'_>, span_bytes: u64, block_bytes: u32) -> MemberFacts {
    MemberFacts {
        span_bytes,
        block_bytes,
        direct: context.options.caching == Caching::Direct,
        sync: context.options.durability == Durability::Sync,
        ..MemberFacts::default()
    }
}

/// Returns the unit of I/O sizes, bytes: any size through the page cache, but not for direct I/O.
pub(crate) fn block_bytes(context: &OpenContext<'_>, path: &Path) -> Result<u32, PrepareError> {
    if context.options.caching == Caching::Cached {
        return Ok(1);
    }
    match file::smallest_direct_io(path).map_err(io_error("read", path))? {
        Some(block_bytes) => Ok(block_bytes),
        None => Err(OpenError::NoDirectIo(text(path)).into()),
    }
}

/// Warns if this user may not see the open files of other users' programs.
fn warn_unseen(context: &mut OpenContext<'_>, address: &str, unseen: usize) {
    if unseen == 0 {
        return;
    }
    context.warnings.push(Warning {
        rule: "unseen-writers".into(),
        says: format!(
            "Cannot inspect the open files of {unseen} processes of other users; a program that writes to {address} \
             would not be detected."
        ),
        next: "Inspecting them takes root with CAP_SYS_PTRACE, which containers lack by default (--cap-add SYS_PTRACE)."
            .into(),
    });
}

/// Warns if direct I/O to a loop device is cached: it reaches the backing file directly only if the device was attached
/// with direct I/O.
pub(crate) fn warn_cached_loops(context: &mut OpenContext<'_>, address: &str, device: Option<&DeviceFacts>) {
    for name in device.map(|d| assay_host::cached_loops(&d.stack)).unwrap_or_default() {
        context.warnings.push(Warning {
            rule: "cached-loop".into(),
            says: format!(
                "{name} under {address} goes through the page cache of the file behind it, so the results are those of \
                 memory for as long as that lasts."
            ),
            next: format!("Attach it with losetup --direct-io=on (or losetup --direct-io=on /dev/{name} now)."),
        });
    }
}
