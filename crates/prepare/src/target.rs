//! The kinds of targets: each has its own module, and this one dispatches between them.

use std::path::Path;

use assay_record::TargetFacts;
use assay_spec::Address;
use assay_target::{Member, OpenError};

use crate::closed::Closed;
use crate::context::{FillContext, InspectContext, OpenContext};
use crate::device::{DeviceTarget, InspectedDevice};
use crate::error::PrepareError;
use crate::file::{FileTarget, InspectedFile, Touched};
use crate::lun::{InspectedLun, LunTarget};
use crate::nfs::{InspectedNfs, NfsTarget};
use crate::null::NullTarget;
use crate::permission::Nameable;
use crate::sim::SimTarget;
use crate::space::Need;
use crate::{device, file, lun, nfs, null, plan, sim};

/// A target that passed inspection.
pub(crate) enum Inspected {
    Null(NullTarget),
    Sim(SimTarget),
    File(InspectedFile),
    Device(InspectedDevice),
    Lun(Box<InspectedLun>),
    Nfs(Box<InspectedNfs>),
}

impl Inspected {
    /// Inspects one target, the `index`-th of the command line.
    pub(crate) fn look(
        context: &InspectContext<'_>,
        index: u32,
        address: &Address,
    ) -> Result<Self, PrepareError> {
        let writer = plan::writer(context.plan, index);
        Ok(match address {
            Address::Null { capacity } => Self::Null(null::inspect(context, address, *capacity)?),
            Address::Sim { array } => Self::Sim(sim::inspect(context, index, address, array)),
            Address::Iscsi(at) => Self::Lun(Box::new(lun::inspect(context, at, writer)?)),
            Address::Nfs(at) => Self::Nfs(Box::new(nfs::inspect(context, at, writer)?)),
            Address::Path(path) if device::is_device(path)? => {
                Self::Device(device::inspect(context, address, path, writer)?)
            }
            Address::Path(path) => Self::File(file::inspect(context, address, path, writer)?),
        })
    }

    /// Returns how `--overwrite` names it; `None` for a target without data.
    pub(crate) fn nameable(&self) -> Option<Nameable<'_>> {
        match self {
            Self::Null(_) | Self::Sim(_) => None,
            Self::File(target) => Some(target.nameable()),
            Self::Device(target) => Some(target.nameable()),
            Self::Lun(target) => target.nameable(),
            Self::Nfs(target) => Some(target.nameable()),
        }
    }

    /// Returns the file if it is on a file system of this host.
    pub(crate) fn file(&self) -> Option<&InspectedFile> {
        match self {
            Self::File(target) => Some(target),
            _ => None,
        }
    }

    /// Returns the file if it is on an NFS server.
    pub(crate) fn nfs(&self) -> Option<&InspectedNfs> {
        match self {
            Self::Nfs(target) => Some(target),
            _ => None,
        }
    }

    /// Returns the number of bytes that will be used.
    pub(crate) fn span_bytes(&self) -> u64 {
        match self {
            Self::Null(target) => target.facts.member.span_bytes,
            Self::Sim(target) => target.facts.member.span_bytes,
            Self::File(target) => target.span_bytes,
            Self::Device(target) => target.span_bytes,
            Self::Lun(target) => target.member.span_bytes,
            Self::Nfs(target) => target.span_bytes,
        }
    }

    /// Returns the space that it needs in its file system; `None` if it needs none there.
    pub(crate) fn need(&self) -> Result<Option<Need>, PrepareError> {
        match self {
            Self::File(target) => target.need(),
            Self::Nfs(target) => Ok(target.need()),
            Self::Null(_) | Self::Sim(_) | Self::Device(_) | Self::Lun(_) => Ok(None),
        }
    }

    /// Returns the change that opening makes on this host; `None` if there is none. What is left on a server is
    /// reported where it is undone.
    pub(crate) fn touched(&self) -> Option<Touched> {
        match self {
            Self::File(target) => target.touched(),
            Self::Null(_) | Self::Sim(_) | Self::Device(_) | Self::Lun(_) | Self::Nfs(_) => None,
        }
    }

    /// Fails if a target has changed since its inspection. Changes nothing.
    pub(crate) fn confirm(&mut self) -> Result<(), PrepareError> {
        match self {
            Self::Null(_) | Self::Sim(_) => Ok(()),
            Self::File(target) => target.confirm(),
            Self::Device(target) => target.confirm(),
            Self::Lun(target) => target.confirm(),
            Self::Nfs(target) => target.confirm(),
        }
    }

    pub(crate) fn open(self, context: &mut OpenContext<'_>) -> Result<Prepared, PrepareError> {
        Ok(match self {
            Self::Null(target) => Prepared::Null(target),
            Self::Sim(target) => Prepared::Sim(target),
            Self::File(target) => Prepared::File(Box::new(target.open(context)?)),
            Self::Device(target) => Prepared::Device(Box::new(target.open(context)?)),
            Self::Lun(target) => Prepared::Lun(Box::new(target.open(context)?)),
            Self::Nfs(target) => Prepared::Nfs(Box::new(target.open(context)?)),
        })
    }
}

/// A target that is open.
pub(crate) enum Prepared {
    Null(NullTarget),
    Sim(SimTarget),
    File(Box<FileTarget>),
    Device(Box<DeviceTarget>),
    Lun(Box<LunTarget>),
    Nfs(Box<NfsTarget>),
}

impl Prepared {
    pub(crate) fn facts(&self) -> &TargetFacts {
        match self {
            Self::Null(target) => &target.facts,
            Self::Sim(target) => &target.facts,
            Self::File(target) => &target.facts,
            Self::Device(target) => &target.facts,
            Self::Lun(target) => &target.facts,
            Self::Nfs(target) => &target.facts,
        }
    }

    pub(crate) fn facts_mut(&mut self) -> &mut TargetFacts {
        match self {
            Self::Null(target) => &mut target.facts,
            Self::Sim(target) => &mut target.facts,
            Self::File(target) => &mut target.facts,
            Self::Device(target) => &mut target.facts,
            Self::Lun(target) => &mut target.facts,
            Self::Nfs(target) => &mut target.facts,
        }
    }

    /// Returns the path of a file or device; `None` for targets that have none on this host.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::File(target) => Some(&target.member.path),
            Self::Device(target) => Some(&target.member.path),
            Self::Null(_) | Self::Sim(_) | Self::Lun(_) | Self::Nfs(_) => None,
        }
    }

    pub(crate) fn member(&self) -> Member {
        match self {
            Self::Null(target) => target.member(),
            Self::Sim(target) => target.member(),
            Self::File(target) => target.member(),
            Self::Device(target) => target.member(),
            Self::Lun(target) => target.member(),
            Self::Nfs(target) => target.member(),
        }
    }

    pub(crate) fn fill(&mut self, context: &mut FillContext<'_>) -> Result<(), PrepareError> {
        match self {
            Self::Null(_) | Self::Sim(_) => Ok(()),
            Self::File(target) => target.fill(context),
            Self::Device(target) => target.fill(context),
            Self::Lun(target) => target.fill(context),
            Self::Nfs(target) => target.fill(context),
        }
    }

    /// Fails if another program has changed a file or device since this run filled it. A LUN is verified whenever it is
    /// opened, by the data written to it.
    pub(crate) fn confirm(&mut self) -> Result<(), PrepareError> {
        match self {
            Self::File(target) => target.confirm(),
            Self::Device(target) => target.confirm(),
            Self::Nfs(target) => target.confirm(),
            Self::Null(_) | Self::Sim(_) | Self::Lun(_) => Ok(()),
        }
    }

    /// Notes that a step begins to write to it. Fails if another program has changed it. A server is not asked: it may
    /// be silent, and others wait.
    pub(crate) fn writing_begins(&mut self) -> Result<(), OpenError> {
        match self {
            Self::File(target) => target.writing_begins(),
            Self::Nfs(target) => {
                target.writing_begins();
                Ok(())
            }
            Self::Null(_) | Self::Sim(_) | Self::Device(_) | Self::Lun(_) => Ok(()),
        }
    }

    /// Notes that a step has written to it. A server is not asked, as above.
    pub(crate) fn writing_ended(&mut self) {
        if let Self::File(target) = self {
            target.writing_ended();
        }
    }

    /// Closes the target. Devices and LUNs carry no marks: their locks end with them.
    pub(crate) fn close(&mut self, closed: &mut Closed) -> Result<(), PrepareError> {
        match self {
            Self::File(target) => target.close(closed),
            Self::Nfs(target) => {
                target.close(closed);
                Ok(())
            }
            Self::Null(_) | Self::Sim(_) | Self::Device(_) | Self::Lun(_) => Ok(()),
        }
    }

    /// Removes a file that was created and is empty. Returns what is left of the changes of opening it, as a clause.
    pub(crate) fn discard(self) -> Option<String> {
        match self {
            Self::File(target) => target.discard(),
            Self::Nfs(target) => target.discard(),
            Self::Null(_) | Self::Sim(_) | Self::Device(_) | Self::Lun(_) => None,
        }
    }
}
