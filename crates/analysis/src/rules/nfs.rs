//! About writes over NFS: whether the server had them on stable storage when it answered.

use assay_record::{MemberKind, NfsFacts, WriteEnd};

use super::{Fired, StepCase};
use crate::finding::{Evidence, Severity};

/// A COMMIT that takes more than this share of the measured window changes what the figures say.
const COMMIT_SHARE: f64 = 0.1;
const MIB: f64 = (1 << 20) as f64;

fn total(case: StepCase<'_>) -> Option<WriteEnd> {
    let mut writes = case.step.writes.iter();
    let mut total = writes.next()?.clone();
    writes.for_each(|other| total.merge(other));
    Some(total)
}

/// The server restarted between a write and its COMMIT, or the COMMIT failed.
pub(super) fn uncertain_writes(case: StepCase<'_>) -> Option<Fired> {
    let writes = total(case)?;
    if writes.uncertain == 0 && writes.failure.is_none() {
        return None;
    }
    let mib = writes.uncertain_bytes as f64 / MIB;
    let says = match &writes.failure {
        Some(why) => format!("The COMMIT failed, so the written data may not be durable: {why}."),
        None => format!(
            "The NFS server restarted before {} UNSTABLE writes ({mib:.1} MiB) were committed: they may be lost.",
            writes.uncertain
        ),
    };
    let mut evidence = vec![Evidence::new("restarts of the server", writes.restarts as f64, "")];
    evidence.push(Evidence::new("uncommitted writes", writes.uncertain as f64, ""));
    Some(Fired {
        severity: Severity::Critical,
        says,
        evidence,
        next: match case.plan.verify {
            true => {
                "sync=file in the address makes each write durable; what verify found wrong stands apart."
            }
            false => {
                "Run again with verify = true in the plan to find lost data; sync=file in the address makes each write \
                 durable."
            }
        },
        weight: mib,
    })
}

/// Writes of which two copies were sent: the older one may replace newer data, and nothing can recall it.
pub(super) fn moved_writes(case: StepCase<'_>) -> Option<Fired> {
    let (over_nfs, late) = (total(case).map_or(0, |writes| writes.moved), case.step.late_blocks);
    // Records of earlier versions count those over NFS alone.
    let moved = over_nfs.max(case.step.moved_writes);
    if moved == 0 && late == 0 {
        return None;
    }
    let has_lun = case.run.header.targets.iter().any(|target| target.member.kind == MemberKind::Lun);
    let why = match has_lun && over_nfs == 0 {
        false => "NFSv3 cannot recall the first copies, so a stalled server",
        true => {
            "The target was not seen to end their session: a LUN reset ended its tasks, or their time was over before. \
             So a thread of it that stalls"
        }
    };
    let seen = match late {
        0 => String::new(),
        late => format!(
            " {late} blocks of 512 bytes that were read held such an older write: not counted as wrong."
        ),
    };
    Some(Fired {
        severity: if late > 0 { Severity::Warning } else { Severity::Info },
        says: match moved {
            0 => format!(
                "Writes of the fill or of an earlier step were sent again, or given up, because their connection was \
                 lost before the answer. {why} may write older data over newer.{seen}"
            ),
            _ => format!(
                "{moved} writes were sent again, or given up, because their connection was lost before the answer. \
                 {why} may write older data over newer.{seen}"
            ),
        },
        evidence: vec![
            Evidence::new("writes sent again or given up", moved as f64, ""),
            Evidence::new("blocks with an older write", late as f64, ""),
        ],
        next: "Find out why the connections were lost (assay journal); over NFS, programs that need the order of their \
               writes need NFSv4.1 sessions on such a network.",
        weight: late as f64,
    })
}

/// Writes that the server held in memory, and the rate with the time that made them durable.
pub(super) fn unstable_writes(case: StepCase<'_>) -> Option<Fired> {
    let writes = total(case).filter(|w| w.unstable > 0 && w.commits > 0)?;
    let (seconds, commit_s) = (case.step.seconds, writes.commit_ns as f64 / 1e9);
    if seconds <= 0.0 {
        return None;
    }
    let rate = case.step.write.mib_per_s;
    let durable_rate = rate * seconds / (seconds + commit_s);
    let is_long = commit_s > seconds * COMMIT_SHARE;
    let all = writes.unstable + writes.data_sync + writes.file_sync;
    let share = writes.unstable as f64 / all as f64;
    let carried_mib = writes.committed_before_bytes as f64 / MIB;
    let durable = if (rate - durable_rate).abs() < 0.05 {
        "the rate including it is the same".to_owned()
    } else if carried_mib < 0.05 {
        format!("including it, writes reach {durable_rate:.1} instead of {rate:.1} MiB/s")
    } else {
        format!(
            "including it, writes reach at least {durable_rate:.1} instead of {rate:.1} MiB/s, as it also committed \
             {carried_mib:.1} MiB of the warm-up"
        )
    };
    Some(Fired {
        severity: if is_long { Severity::Warning } else { Severity::Info },
        says: format!(
            "The NFS server answered {:.0} % of the writes UNSTABLE, from its memory. The COMMIT after the test took \
             {commit_s:.3} s and is in no rate or latency; {durable}.",
            share * 100.0
        ),
        evidence: vec![
            Evidence::new("COMMIT", commit_s, "s"),
            Evidence::new("committed", writes.committed_bytes as f64 / MIB, "MiB"),
        ],
        next: "sync=file in the address waits for each write to be durable.",
        weight: commit_s / seconds,
    })
}

/// A server that makes every write durable although the client asked for unstable writes.
pub(super) fn stable_anyway(case: StepCase<'_>) -> Option<Fired> {
    let asked: Vec<&NfsFacts> =
        case.jobs().flat_map(|(job, _)| case.members(job)).filter_map(|m| m.nfs.as_deref()).collect();
    let writes = total(case).filter(|w| w.unstable == 0 && w.data_sync + w.file_sync > 0)?;
    if asked.is_empty() || asked.iter().any(|nfs| nfs.sync != "unstable") {
        return None;
    }
    Some(Fired {
        severity: Severity::Info,
        says: "The NFS server made every write durable before it answered, which the client did not request."
            .into(),
        evidence: vec![Evidence::new("writes", (writes.data_sync + writes.file_sync) as f64, "")],
        next: "",
        weight: 0.0,
    })
}
