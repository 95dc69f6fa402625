//! About the targets: caches and holes between the test and the storage, and how durable writes were.

use assay_record::{MemberFacts, MemberKind};
use assay_spec::Engine;
use assay_spec::units::{GIB, MIB};

use super::{Fired, Run, list};
use crate::finding::{Evidence, Severity};

/// A cache holds a span smaller than this many times its size: half of the I/Os or more may hit.
const SPAN_TIMES_MEMORY: f64 = 2.0;

/// Parts of the span were unmapped when the run began: reading them moves no data.
pub(super) fn unwritten(run: Run<'_>) -> Option<Fired> {
    let holed: Vec<&MemberFacts> =
        run.storage().filter(|m| m.unwritten_bytes.is_some_and(|b| b > 0)).collect();
    let bytes: u64 = holed.iter().filter_map(|m| m.unwritten_bytes).sum();
    let span: u64 = holed.iter().map(|m| m.span_bytes).sum();
    if holed.is_empty() {
        return None;
    }
    Some(Fired {
        severity: Severity::Warning,
        says: format!(
            "{:.1} of {:.1} MiB in {} are unmapped: they were never written, and reading them does not touch the \
             disks.",
            mib(bytes),
            mib(span),
            paths(&holed)
        ),
        evidence: vec![
            Evidence::new("never written", mib(bytes), "MiB"),
            Evidence::new("span", mib(span), "MiB"),
        ],
        next: match holed.iter().all(|m| m.kind == MemberKind::File) {
            true => "Let Assay create the file (give a new name), or write it once from start to end.",
            false => {
                "Write it once from start to end: --overwrite with its serial number lets Assay fill it."
            }
        },
        weight: 0.0,
    })
}

/// I/O went through the page cache.
pub(super) fn cached(run: Run<'_>) -> Option<Fired> {
    let cached: Vec<&MemberFacts> = run.storage().filter(|m| !m.direct).collect();
    if cached.is_empty() {
        return None;
    }
    let memory = run.header.host.memory_bytes as f64 / GIB as f64;
    Some(Fired {
        severity: Severity::Warning,
        says: format!(
            "I/O to {} went through this host's page cache: the numbers are of memory and storage together.",
            paths(&cached)
        ),
        evidence: vec![Evidence::new("host memory", memory, "GiB")],
        next: "Run without --cached to measure the storage alone.",
        weight: 0.0,
    })
}

/// The span that went through the page cache fits into it.
pub(super) fn small_span(run: Run<'_>) -> Option<Fired> {
    let host = &run.header.host;
    if host.memory_bytes == 0 {
        return None;
    }
    let memory = host.cgroup_memory_bytes.map_or(host.memory_bytes, |limit| limit.min(host.memory_bytes));
    let cached: Vec<&MemberFacts> = run.storage().filter(|m| !m.direct).collect();
    let span: u64 = cached.iter().map(|m| m.span_bytes).sum();
    if cached.is_empty() || span as f64 >= memory as f64 * SPAN_TIMES_MEMORY {
        return None;
    }
    Some(Fired {
        severity: Severity::Warning,
        says: format!(
            "The test covers {:.1} MiB, less than twice this host's memory ({:.1} MiB): most reads will come from \
             memory.",
            mib(span),
            mib(memory)
        ),
        evidence: vec![Evidence::new("span", mib(span), "MiB"), Evidence::new("memory", mib(memory), "MiB")],
        next: "Use --size \"2x ram\", or run without --cached.",
        weight: 0.0,
    })
}

/// A partition or loop device begins within a block of the disk.
pub(super) fn misaligned_partition(run: Run<'_>) -> Option<Fired> {
    let shifted = |m: &&MemberFacts| m.device.as_ref().is_some_and(|device| device.shifted_bytes > 0);
    let members: Vec<&MemberFacts> = run.storage().filter(shifted).collect();
    let bytes = members.first()?.device.as_ref()?.shifted_bytes;
    Some(Fired {
        severity: Severity::Warning,
        says: format!(
            "A partition or loop device under {} begins {bytes} bytes after a multiple of 4 KiB: each I/O of 4 KiB \
             covers parts of two blocks of the disk, and each such write makes the disk read first.",
            paths(&members)
        ),
        evidence: vec![Evidence::new("shift", f64::from(bytes), "B")],
        next: "Create the partition anew at a multiple of 1 MiB, which partitioning tools do by default.",
        weight: 0.0,
    })
}

/// Each write waited until it was durable.
pub(super) fn sync(run: Run<'_>) -> Option<Fired> {
    let synced: Vec<&MemberFacts> = run.storage().filter(|m| m.sync).collect();
    if synced.is_empty() || !run.header.plan.writes() {
        return None;
    }
    let over_nfs = synced.iter().all(|m| m.kind == MemberKind::Nfs);
    let asked_by = if over_nfs { "--sync, or sync=file in the address" } else { "--sync" };
    Some(Fired {
        severity: Severity::Info,
        says: format!(
            "Each write to {} waited until it was durable ({asked_by}): compare only with durable writes.",
            paths(&synced)
        ),
        evidence: vec![],
        next: "",
        weight: 0.0,
    })
}

/// A file in more pieces than this, of less than [`SMALL_PIECE_BYTES`] on average, is fragmented.
const PIECES_MIN: u64 = 64;
/// A disk passes more than this between two seeks in the time of a seek, bytes.
const SMALL_PIECE_BYTES: u64 = MIB;

/// Returns whether so many bytes in so many pieces are fragmented.
pub fn is_fragmented(bytes: u64, pieces: u64) -> bool {
    pieces >= PIECES_MIN && bytes / pieces < SMALL_PIECE_BYTES
}

/// A file in many small pieces: sequential I/O jumps.
pub(super) fn fragmented(run: Run<'_>) -> Option<Fired> {
    let written = |m: &MemberFacts| m.span_bytes.saturating_sub(m.unwritten_bytes.unwrap_or(0));
    let is_fragmented = |m: &&MemberFacts| m.extents.is_some_and(|n| is_fragmented(written(m), n));
    let members: Vec<&MemberFacts> = run.storage().filter(is_fragmented).collect();
    let worst = members.iter().max_by_key(|m| m.extents)?;
    let pieces = worst.extents?;
    let each = written(worst) / pieces;
    Some(Fired {
        severity: Severity::Info,
        says: format!(
            "{} lies in {pieces} pieces of {} on average: sequential I/O jumps from piece to piece.",
            paths(&members),
            assay_spec::units::Bytes(each).rounded()
        ),
        evidence: vec![Evidence::new("pieces", pieces as f64, "")],
        next: "filefrag -v FILE lists them; delete the file, make room, and let Assay write a new one.",
        weight: pieces as f64,
    })
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / MIB as f64
}

fn paths(members: &[&MemberFacts]) -> String {
    list(&members.iter().map(|m| m.path.clone()).collect::<Vec<_>>())
}

/// A file in memory: no storage is involved.
pub(super) fn in_memory(run: Run<'_>) -> Option<Fired> {
    let mut members = run.header.targets.iter().filter(|t| t.member.engine == Engine::Inline);
    let first = members.next()?;
    let kind = first.member.filesystem.as_ref().map_or("a file system in memory", |fs| fs.kind.as_str());
    Some(Fired {
        severity: Severity::Warning,
        says: format!(
            "{} is in this host's memory ({kind}): the test measures memory and CPU, not storage.",
            first.address
        ),
        evidence: vec![Evidence::new("targets in memory", 1.0 + members.count() as f64, "")],
        next: "Choose a target on a disk.",
        weight: 0.0,
    })
}
