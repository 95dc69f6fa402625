//! What is kept beside a run so that lists and pages need not read its events. A run writes it at its end; those of
//! earlier versions of Assay and those that were killed lack it.

use assay_analysis::{Collector, RunExtract, RunSummary, digest};
use assay_record::{RunDigest, RunHeader};
use assay_store::{Completed, PackedExtract, Reader, Store, StoreError};

use crate::stored::{ReadError, collector_stored, judged, summary_of_extract};

/// Returns the runs that lack a digest or an extract and are not going on, the newest first.
///
/// # Errors
/// Where the store cannot be read.
pub fn incomplete(store: &Reader) -> Result<Vec<String>, StoreError> {
    let mut runs = store.without_digest()?;
    let others = store.without_extract(RunExtract::VERSION)?;
    runs.extend(others.into_iter().filter(|run| !runs.contains(run)).collect::<Vec<_>>());
    Ok(runs)
}

/// Makes the digest of a run from its extract, and the extract from its events where it lacks one, and keeps them: the
/// one function of this room that writes.
///
/// # Errors
/// Where the run cannot be read, or the store cannot be written to.
pub fn complete(store: &Store, run: &str) -> Result<(), ReadError> {
    let header = store.header(run)?;
    let summary = match summary_of_extract(store, run, &header)? {
        Some(summary) => summary,
        None => {
            let (collector, events) = collector_stored(store, run, &header)?;
            store.set_extract(run, RunExtract::VERSION, (events, &collector.extract()))?;
            collector.summary()
        }
    };
    Ok(store.set_digest(run, &digest_of(&header, &summary)?)?)
}

/// Makes the digest and the extract of a run of which this was collected, and keeps nothing. `None` where the array of
/// the run cannot be read.
pub fn completed(header: &RunHeader, collector: &Collector) -> Option<Completed> {
    let extract = PackedExtract::of(RunExtract::VERSION, &collector.extract()).ok()?;
    Some(Completed { digest: digest_of(header, &collector.summary()).ok()?, extract })
}

fn digest_of(header: &RunHeader, summary: &RunSummary) -> Result<RunDigest, ReadError> {
    let (findings, judgement) = judged(header, summary)?;
    let diagnosed = assay_diagnose::headline(header, summary);
    Ok(digest(header, summary, &findings, judgement.as_ref(), diagnosed))
}
