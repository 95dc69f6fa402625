//! The document `assay run --json` prints: `docs/assay.run-1.schema.json`.

use assay_analysis::Estimate;
use assay_analysis::{
    Cost, DiskUse, Finding, JobSummary, Judgement, OpSummary, Point, Precision, RunSummary, StepSummary,
    limits, precision, price, tester_use, verdict_on,
};
use assay_diagnose::diagnose;
use assay_record::{Gap, Latency, MemberEnd, PathEnd, RunHeader};
use serde_json::{Map, Value, json};

use crate::Meta;
use crate::expected::step_json;
use crate::member::MemberUse;
use crate::network::{LinkUse, PathUse};
use crate::number::{iso, rounded};

/// Name and version of the document's form. Fields may be added to it; none changes its meaning or goes away.
pub const SCHEMA: &str = "assay.run/1";

const QUANTILES: [(&str, f64); 6] =
    [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p99_9", 0.999), ("p99_99", 0.9999)];

/// A run as one JSON document. Times are µs and rates per second, rounded to three decimals; what was not measured is
/// null, and no number is ever NaN or infinite.
pub fn document(header: &RunHeader, summary: &RunSummary, findings: &[Finding], meta: Meta<'_>) -> Value {
    json!({
        "schema": SCHEMA,
        "run": header.run,
        "status": summary.status.name(),
        "label": meta.label,
        "note": meta.note,
        "lost": meta.lost,
        "version": header.version,
        "started": iso(header.started_unix_ms),
        "plan": header.plan,
        "host": header.host,
        "targets": header.targets,
        "array": header.array,
        "stated": header.stated,
        "price": header.setting.price,
        "repetition": header.setting.repetition,
        "journal": header.setting.journal,
        "tests": summary.steps.iter().map(|s| step(header, summary, s, meta.judgement)).collect::<Vec<_>>(),
        "caches": crate::cache_probe::document(header, summary),
        "curves": crate::curve::document(header, summary),
        "findings": findings,
        "verdict": verdict_on(header, summary, meta.judgement),
        "limits": limits(header, summary),
        "diagnosis": diagnose(header, summary),
        "baseline": meta.baseline.map(crate::held::json),
    })
}

fn step(
    header: &RunHeader,
    summary: &RunSummary,
    step: &StepSummary,
    judgement: Option<&Judgement>,
) -> Value {
    let used = step.cpu.used;
    let (expected, verdict) = judgement
        .and_then(|j| j.step(step.id))
        .map_or((Value::Null, Value::Null), |(case, verdict)| step_json(case, verdict));
    json!({
        "name": step.test,
        "step": (!step.step.is_empty()).then_some(&step.step),
        "load": step.load,
        "complete": step.complete,
        "reason": step.reason,
        "skipped": step.skipped,
        "unmeasured": step.unmeasured,
        "seconds": rounded(step.seconds),
        "total": ops(&step.total),
        "read": ops(&step.read),
        "write": ops(&step.write),
        "tester": tester_use(header, summary, step),
        "steady_state": step.steady,
        "cost": price(header).and_then(|price| Cost::of(price, step.total.iops, step.total.mib_per_s)),
        "estimates": precision(step).map(|of| estimates(&of)),
        "outstanding_effective": rounded(step.outstanding_effective),
        "outstanding_asked": step.outstanding_asked,
        "cpu": {
            "host_busy_ratio": used.and_then(|c| rounded(c.host_busy)),
            "host_busy_ratio_busiest": used.and_then(|c| rounded(c.host_busy_max)),
            "steal_ratio": used.and_then(|c| rounded(c.steal)),
            "tester_us_per_io": step.cpu.tester_us_per_io.and_then(rounded),
        },
        "errors": step.errors,
        "failures": step.failures,
        "mismatch_count": step.mismatch_count,
        "mismatches": step.mismatches,
        "moved_writes": step.moved_writes,
        "late_blocks": step.late_blocks,
        "jobs": jobs(step, judgement),
        "hosts": crate::fleet::json(header, step),
        "expected": expected,
        "verdict": verdict,
        "targets": step.members.iter().map(|m| member(m, step)).collect::<Vec<_>>(),
        "paths": step.paths.iter().map(|p| path(p, step)).collect::<Vec<_>>(),
        "tcp": step.tcp,
        "links": LinkUse::of_step(header, step).map(|of| links(&of)),
        "interfaces": step.links,
        "writes": step.writes,
        "workers": step.workers,
        "gaps": step.gaps.iter().map(|of| gap(of, step)).collect::<Vec<_>>(),
        "device_queues": step.host.disks.iter().filter_map(queue).collect::<Vec<_>>(),
        "series": step.series.iter().map(point).collect::<Vec<_>>(),
    })
}

/// Figures of the measured window with their 95 % intervals.
fn estimates(of: &Precision) -> Value {
    let estimate = |estimate: &Estimate| {
        json!({
            "value": rounded(estimate.value),
            "lo": estimate.lo.and_then(rounded),
            "hi": estimate.hi.and_then(rounded),
            "n_effective": rounded(estimate.n_effective),
            "no_interval": estimate.why.map(|why| why.to_string()),
        })
    };
    json!({
        "basis": "seconds of this run",
        "iops": estimate(&of.iops),
        "mib_per_s": estimate(&of.mib_per_s),
        "mean_us": of.mean_us.as_ref().map(estimate),
        "p50_us": of.p50_us.as_ref().map(estimate),
        "p90_us": of.p90_us.as_ref().map(estimate),
        "p95_us": of.p95_us.as_ref().map(estimate),
        "p99_us": of.p99_us.as_ref().map(estimate),
        "p99_9_us": of.p999_us.as_ref().map(estimate),
        "p99_99_us": of.p9999_us.as_ref().map(estimate),
    })
}

fn gap(gap: &Gap, step: &StepSummary) -> Value {
    let host = gap.host.and_then(|host| step.hosts.get(host as usize));
    json!({
        "kind": gap.kind,
        "place": gap.place,
        "seconds": rounded(gap.length_ns as f64 / 1e9),
        "since_window_s": gap.since_window_ns.and_then(|ns| rounded(ns as f64 / 1e9)),
        "host": host.map(|end| &end.host),
    })
}

fn queue(disk: &DiskUse) -> Option<Value> {
    Some(json!({ "device": disk.device, "mean": rounded(disk.queue_mean?) }))
}

/// The fuller direction, and what the links carry in it.
fn links(of: &LinkUse) -> Value {
    json!({
        "direction": of.direction,
        "mb_per_s": rounded(of.mb_per_s),
        "ceiling_mb_per_s": of.ceiling.mb_per_s.and_then(rounded),
        "ratio": rounded(of.ratio()),
        "arithmetic": of.ceiling.arithmetic,
    })
}

/// Shares are of the I/Os of the target's own job.
fn member(member: &MemberEnd, step: &StepSummary) -> Value {
    let MemberUse { ops_share, iops, mib_per_s } = MemberUse::of(member, step);
    let if_measured = |value: f64| if step.unmeasured.is_none() { rounded(value) } else { None };
    json!({
        "job": member.job,
        "target": member.member,
        "ops": member.ops,
        "ops_share": ops_share.and_then(rounded),
        "bytes": member.bytes,
        "iops": if_measured(iops),
        "mib_per_s": if_measured(mib_per_s),
        "errors": member.errors,
        "service_us_mean": member.mean_service_ns().and_then(|ns| rounded(ns / 1e3)),
    })
}

/// Shares are of the I/Os and bytes of the path's own job.
fn path(path: &PathEnd, step: &StepSummary) -> Value {
    let PathUse { ops_share, bytes_share, mib_per_s, .. } = PathUse::of(path, step);
    json!({
        "job": path.job,
        "path": path.path,
        "portal": path.portal,
        "is_up": path.is_up,
        "ops": path.ops(),
        "ops_share": ops_share.and_then(rounded),
        "bytes": path.bytes(),
        "bytes_share": bytes_share.and_then(rounded),
        "mib_per_s": if step.unmeasured.is_none() { rounded(mib_per_s) } else { None },
        "reads": path.reads,
        "writes": path.writes,
        "retries": path.retries,
        "errors": path.errors,
        "failures": path.failures,
        "refused": path.refused,
        "moved": path.moved,
        "unable_s": rounded(path.unable_ns as f64 / 1e9),
        "latency_us": latency(&path.latency),
        "ping_us": latency(&path.ping),
        "tcp": path.tcp,
    })
}

/// Jobs with what to expect of each beside the others.
fn jobs(step: &StepSummary, judgement: Option<&Judgement>) -> Vec<Value> {
    let mut judged = judgement.map(|j| j.jobs(step.id).collect::<Vec<_>>()).unwrap_or_default().into_iter();
    let with = |summary: &JobSummary| {
        let (expected, verdict) =
            judged.next().map_or((Value::Null, Value::Null), |(case, verdict)| step_json(case, verdict));
        job(summary, &expected, &verdict)
    };
    step.jobs.iter().map(with).collect()
}

fn job(job: &JobSummary, expected: &Value, verdict: &Value) -> Value {
    let mut document = json!({
        "name": job.name,
        "load": job.load,
        "seconds": rounded(job.seconds),
        "total": ops(&job.total),
        "read": ops(&job.read),
        "write": ops(&job.write),
        "outstanding_effective": rounded(job.outstanding_effective),
        "outstanding_asked": job.outstanding_asked,
        "due": job.due,
        "depth_full_ratio": job.full.and_then(rounded),
        "reconnects": job.reconnects,
        "expected": expected,
        "verdict": verdict,
    });
    // Only of jobs that flush: most never do.
    if let Some(flush) = &job.flush {
        document["flush"] = ops(flush);
    }
    document
}

fn ops(ops: &OpSummary) -> Value {
    json!({
        "ops": ops.ops,
        "iops": rounded(ops.iops),
        "mib_per_s": rounded(ops.mib_per_s),
        "mb_per_s": rounded(ops.mb_per_s),
        "service_us": latency(&ops.service),
        // A closed loop issues when an I/O is due: both times are the same there.
        "response_us": latency(ops.waited()),
    })
}

fn latency(latency: &Latency) -> Value {
    let us = |ns: Option<f64>| json!(ns.and_then(|ns| rounded(ns / 1e3)));
    let mut object = Map::new();
    object.insert("mean".into(), us(latency.mean_ns()));
    object.insert("min".into(), us(latency.min_ns().map(|ns| ns as f64)));
    for (name, q) in QUANTILES {
        object.insert(name.into(), us(latency.quantile_ns(q)));
    }
    object.insert("max".into(), us(latency.max_ns().map(|ns| ns as f64)));
    Value::Object(object)
}

fn point(point: &Point) -> Value {
    json!({
        "t_s": rounded(point.t_s),
        "iops": rounded(point.iops),
        "mib_per_s": rounded(point.mib_per_s),
        "mean_us": point.mean_us.and_then(rounded),
        "p50_us": point.p50_us.and_then(rounded),
        "p99_us": point.p99_us.and_then(rounded),
        "errors": point.errors,
    })
}
