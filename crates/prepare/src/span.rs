//! Determines the used part of a target.

use std::path::Path;

use assay_claim::Marker;
use assay_record::HostFacts;
use assay_spec::Span;
use assay_spec::units::{Bytes, SizeSpec};

use crate::context::InspectContext;
use crate::error::{PrepareError, text};
use crate::options::{Changes, TooSmall};

/// Granularity of file sizes, bytes: the last I/O of the span must fit the strictest block size.
const SPAN_GRAIN: u64 = 4096;

/// Owner state of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileState {
    /// It does not exist yet.
    New,
    /// Assay created it, and it was not changed since.
    Ours(Marker),
    /// A foreign file that is only read.
    Foreign,
    /// A foreign file that may be overwritten.
    Allowed,
}

impl FileState {
    /// Returns the state as a run treats it that may change nothing.
    pub(crate) fn treated(self, changes: Changes, file: &str) -> Result<Self, PrepareError> {
        match (changes, self) {
            (Changes::AsNeeded, state) => Ok(state),
            (Changes::Refused, Self::New) => Err(PrepareError::Absent { file: file.to_owned() }),
            (Changes::Refused, _) => Ok(Self::Foreign),
        }
    }
}

/// Whether this run created the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Making {
    New,
    WasThere,
}

/// Returns the size that a plan requests, whole pages, bytes.
pub(crate) fn asked_bytes(size: SizeSpec, host: &HostFacts) -> u64 {
    size.resolve(Bytes(host.memory_bytes)).0.next_multiple_of(SPAN_GRAIN)
}

/// Returns the number of bytes used of a file that holds `holds_bytes`.
pub(crate) fn of_file(
    context: &InspectContext<'_>,
    path: &Path,
    state: &FileState,
    holds_bytes: u64,
) -> Result<u64, PrepareError> {
    let (holds, too_small) = (holds_bytes, context.options.too_small);
    let asked = match context.plan.span {
        Span::Size(size) => Some(asked_bytes(size, context.host)),
        Span::Whole => None,
    };
    match (state, asked) {
        (FileState::Foreign, None) => Ok(holds),
        (FileState::Foreign, Some(asked))
            if asked > holds.next_multiple_of(SPAN_GRAIN) && too_small == TooSmall::Refuse =>
        {
            Err(PrepareError::ForeignTooSmall { path: text(path), holds: Bytes(holds), asked: Bytes(asked) })
        }
        (FileState::Foreign, Some(asked)) => Ok(asked.min(holds)),
        // The default size of a suite must not enlarge an existing file.
        (FileState::Ours(_) | FileState::Allowed, Some(asked))
            if too_small == TooSmall::UseAll && holds >= SPAN_GRAIN =>
        {
            Ok(asked.min(holds / SPAN_GRAIN * SPAN_GRAIN))
        }
        // `--overwrite` allows what a file holds to be destroyed, and not that it takes GiB of the disk.
        (FileState::Allowed, _) if too_small == TooSmall::UseAll && (1..SPAN_GRAIN).contains(&holds) => {
            Err(PrepareError::Tiny { path: text(path), holds: Bytes(holds), least: Bytes(SPAN_GRAIN) })
        }
        (_, Some(asked)) => Ok(asked),
        (FileState::New, None) => Ok(Span::NEW_FILE.0),
        (_, None) if holds < SPAN_GRAIN => Ok(Span::NEW_FILE.0),
        (_, None) => Ok(holds / SPAN_GRAIN * SPAN_GRAIN),
    }
}

/// Returns the number of bytes used of a device or LUN.
pub(crate) fn of_device(
    context: &InspectContext<'_>,
    name: &str,
    capacity_bytes: u64,
) -> Result<u64, PrepareError> {
    if capacity_bytes == 0 {
        return Err(PrepareError::NoCapacity { path: name.to_owned() });
    }
    let Span::Size(size) = context.plan.span else { return Ok(capacity_bytes) };
    let asked = asked_bytes(size, context.host);
    if asked > capacity_bytes && context.options.too_small == TooSmall::Refuse {
        let (holds, asked) = (Bytes(capacity_bytes), Bytes(asked));
        return Err(PrepareError::DeviceTooSmall { path: name.to_owned(), holds, asked });
    }
    Ok(asked.min(capacity_bytes))
}
