//! Filling a file of Assay's own and keeping its mark true meanwhile, whichever way the file is reached.

use assay_record::Content;
use assay_spec::{Plan, Step};
use assay_target::Member;
use assay_target::file::Marker;

use crate::content::{self, Fill, Holes};
use crate::context::FillContext;
use crate::error::PrepareError;
use crate::options::FillChoice;

/// A file that carries a mark and is open for the run.
pub(crate) trait MarkedFile {
    /// What the fill opens.
    fn member(&self) -> Member;
    /// Its length now, bytes.
    fn length_bytes(&self) -> Result<u64, PrepareError>;
    /// Whether parts of its first `filled_bytes` have become holes.
    fn holes(&self, filled_bytes: u64) -> Result<Holes, PrepareError>;
    /// Reserves the space that a fill is about to write, where that can be done.
    fn reserve(&self) -> Result<(), PrepareError>;
    /// Makes it as long as the plan needs it, without writing: what is missing are holes.
    fn lengthen(&self, context: &mut FillContext<'_>) -> Result<(), PrepareError>;
    /// Makes durable what was written.
    fn flush(&self) -> Result<(), PrepareError>;
    /// Longest that one I/O on it may take beyond the time that the plan gives it, s.
    fn timeout_s(&self) -> u32;
    /// Writes its mark, which stays open.
    fn mark(&self, marker: &mut Marker) -> Result<(), PrepareError>;
}

/// Writes what is missing, and notes in the mark what the run is about to write.
pub(crate) fn fill(
    file: &impl MarkedFile,
    marker: &mut Marker,
    context: &mut FillContext<'_>,
) -> Result<Content, PrepareError> {
    let span_bytes = file.member().span_bytes();
    let filled_bytes = marker.filled_bytes.min(file.length_bytes()?).min(span_bytes);
    let fill = content::needed(context.plan, marker, filled_bytes, file.holes(filled_bytes)?);
    let content = match content::recorded(&fill, span_bytes) {
        Content::Prepared if context.options.fill == FillChoice::Never => {
            file.lengthen(context)?;
            if marker.filled_bytes >= span_bytes { Content::Reused } else { Content::None }
        }
        Content::Prepared => write_missing(file, marker, &fill, context)?,
        content => content,
    };
    content::begin_run(marker, context.plan);
    marker.open_for_s = open_for_s(context.plan, 0, file.timeout_s());
    file.mark(marker)?;
    Ok(content)
}

fn write_missing(
    file: &impl MarkedFile,
    marker: &mut Marker,
    fill: &Fill,
    context: &mut FillContext<'_>,
) -> Result<Content, PrepareError> {
    file.reserve()?;
    content::begin_fill(marker, fill);
    file.mark(marker)?;
    let member = file.member();
    let written = context.write(&member, fill);
    marker.filled_bytes =
        written.as_ref().map_or_else(|partial| partial.filled_bytes, |()| member.span_bytes());
    let kept = file.flush().and_then(|()| file.mark(marker));
    written?;
    kept?;
    Ok(Content::Prepared)
}

/// Returns how long a run may write after it marked its file, s: the time that the plan takes and a fill of this many
/// bytes, and a reserve. `timeout_s`: as of [`MarkedFile`].
pub(crate) fn open_for_s(plan: &Plan, fill_bytes: u64, timeout_s: u32) -> u64 {
    /// The slowest fill that is reckoned with.
    const FILL_BYTES_PER_S: u64 = 10_000_000;
    /// For opening, reconnecting and draining in every step.
    const SLACK_S: u64 = 900;
    let steps = plan.tests.iter().flat_map(|test| &test.steps);
    let step_s = |step: &Step| {
        let planned_ns = step.warmup.0.saturating_add(step.stop.time.0);
        planned_ns.div_ceil(1_000_000_000).saturating_add(timeout_s.into())
    };
    steps.map(step_s).fold(SLACK_S + fill_bytes / FILL_BYTES_PER_S, u64::saturating_add)
}
