//! Iometer's file of instantaneous results: a row for each update, which sums up either the time since the last update
//! or the whole test so far.

use assay_record::{AccessStats, Latency, OpStats};

use super::{ResultRow, RowJob};

/// Makes the last row a slice of the row before it, if that is of the same test.
pub(super) fn fold(rows: &mut Vec<ResultRow>) {
    let Some(mut last) = rows.pop() else { return };
    let Some(job) = last.jobs.pop() else { return };
    let known = rows.last_mut().filter(|row| row.test == last.test).and_then(|row| row.jobs.first_mut());
    let Some(whole) = known else {
        let slice = (job.measured_ns, job.stats.clone());
        last.jobs.push(RowJob { series: vec![slice], ..job });
        return rows.push(last);
    };
    let (length_ns, stats) = match is_of_whole_test(whole, &job) {
        true => (job.measured_ns - whole.measured_ns, since(&job.stats, &whole.stats)),
        false => (job.measured_ns, job.stats),
    };
    whole.stats.merge(&stats);
    whole.measured_ns = whole.measured_ns.saturating_add(length_ns);
    whole.series.push((length_ns, stats));
}

/// Whether a row includes those before it: it covers more time than an update, and counts no less than they do.
fn is_of_whole_test(whole: &RowJob, row: &RowJob) -> bool {
    let first_ns = whole.series.first().map_or(0, |(length_ns, _)| *length_ns);
    row.measured_ns > whole.measured_ns
        && row.measured_ns > first_ns + first_ns / 2
        && row.stats.total().ops() >= whole.stats.total().ops()
}

/// What was counted between two sums over the test; the longest time of a part is not known.
fn since(now: &AccessStats, before: &AccessStats) -> AccessStats {
    let side = |now: &OpStats, before: &OpStats| {
        let count = now.ops().saturating_sub(before.ops());
        let sum_ns = now.service.sum_ns().saturating_sub(before.service.sum_ns());
        let mean_ns = if count > 0 { sum_ns as f64 / count as f64 } else { 0.0 };
        OpStats {
            bytes: now.bytes.saturating_sub(before.bytes),
            errors: now.errors.saturating_sub(before.errors),
            service: Latency::from_summary(count, mean_ns, None, now.service.max_ns()),
            response: None,
        }
    };
    AccessStats { read: side(&now.read, &before.read), write: side(&now.write, &before.write) }
}
