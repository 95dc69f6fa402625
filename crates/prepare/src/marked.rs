//! Fills a file of Assay's own and keeps its mark correct meanwhile, for local files and NFS.

use assay_claim::Marker;
use assay_record::Content;
use assay_spec::{Plan, Step};
use assay_target::Member;

use crate::content::{self, Fill, Holes};
use crate::context::FillContext;
use crate::error::PrepareError;
use crate::options::FillChoice;

/// A file that carries a mark and is open for the run.
pub(crate) trait MarkedFile {
    /// Returns the member that the fill opens.
    fn member(&self) -> Member;
    /// Returns its present length, bytes.
    fn length_bytes(&self) -> Result<u64, PrepareError>;
    /// Returns the state of its first `filled_bytes`.
    fn holes(&self, filled_bytes: u64) -> Result<Holes, PrepareError>;
    /// Reserves the space for a fill, if that is supported.
    fn reserve(&self) -> Result<(), PrepareError>;
    /// Extends it to the length that the plan needs, without writing: the added part is a hole.
    fn lengthen(&self, context: &mut FillContext<'_>) -> Result<(), PrepareError>;
    /// Makes the written data durable.
    fn flush(&self) -> Result<(), PrepareError>;
    /// Returns the longest duration of one I/O beyond the time in the plan, s.
    fn timeout_s(&self) -> u32;
    /// Writes its mark, which stays open.
    fn mark(&self, marker: &mut Marker) -> Result<(), PrepareError>;
}

/// Writes the missing data, and records in the mark what the run is about to write.
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
    // The fill is over, and so is the time allowed for it.
    marker.open_for_s = open_for_s(context.plan, 0, file.timeout_s());
    let kept = file.flush().and_then(|()| file.mark(marker));
    written?;
    kept?;
    Ok(Content::Prepared)
}

/// Returns the time for which a run may write after it marked its file, s: the time of the plan and of a fill of this
/// many bytes, and a reserve. `timeout_s`: as of [`MarkedFile`].
pub(crate) fn open_for_s(plan: &Plan, fill_bytes: u64, timeout_s: u32) -> u64 {
    /// Slowest fill rate that is expected.
    const FILL_BYTES_PER_S: u64 = 10_000_000;
    /// Reserve for opening, reconnecting and draining in every step, s.
    const SLACK_S: u64 = 900;
    let steps = plan.tests.iter().flat_map(|test| &test.steps);
    let step_s = |step: &Step| {
        let planned_ns = step.warmup.0.saturating_add(step.stop.time.0);
        planned_ns.div_ceil(1_000_000_000).saturating_add(timeout_s.into())
    };
    steps.map(step_s).fold(SLACK_S + fill_bytes / FILL_BYTES_PER_S, u64::saturating_add)
}
