//! About memory that answers in place of the disks: stated on the command line, or seen in the times of the I/Os.

use std::collections::BTreeMap;

use assay_record::{FilesystemFacts, MemberFacts, MemberKind};
use assay_spec::Pacing;
use assay_spec::units::{Bytes, GIB, MIB};

use super::host::busy_host;
use super::{Fired, Run, StepCase, is_storage};
use crate::figures::time;
use crate::finding::{Evidence, Severity};
use crate::modes::{HALF_REVOLUTION_US, two_modes};

/// A memory holds a span smaller than this many times its size: half of random I/Os or more may hit it.
const SPAN_TIMES_MEMORY: f64 = 2.0;
/// Fewer reads than this show no modes.
const READS_MIN: u64 = 1000;
/// A mode with a smaller share of the reads may be anything.
const HITS_MIN: f64 = 0.05;

/// The span fits into the memory of the storage, as the command line states it.
pub(super) fn storage_memory(run: Run<'_>) -> Option<Fired> {
    let memory = run.header.stated.storage_bytes?;
    let next = "Use a --size of twice that memory or more, so that at most half of random reads can hit it.";
    in_memory(run, memory, "the memory of the storage", "--storage-ram", next)
}

/// The span fits into the memory of the hypervisor's host, as the command line states it.
pub(super) fn host_memory(run: Run<'_>) -> Option<Fired> {
    let memory = run.header.stated.host_bytes?;
    let next = "Use a --size of twice that memory or more, or switch off the host's page cache for this disk \
                (cache=none in QEMU).";
    in_memory(run, memory, "the memory of the host that this machine is a guest of", "--host-ram", next)
}

/// Memory of a small server, as a NAS at home has it, and of a large one.
const SERVER_SMALL_BYTES: u64 = 8 * GIB;
const SERVER_LARGE_BYTES: u64 = 64 * GIB;

/// The span fits into the memory that servers have, and nobody said how much this one has.
pub(super) fn server_memory(run: Run<'_>) -> Option<Fired> {
    // The description of an array has its caches; a memory that is stated is judged by its size.
    if run.header.array.is_some() || run.header.stated.storage_bytes.is_some() {
        return None;
    }
    let is_served = |m: &MemberFacts| {
        let mounted = m.filesystem.as_ref().is_some_and(|fs| FilesystemFacts::is_of_a_server(&fs.kind));
        mounted || matches!(m.kind, MemberKind::Lun | MemberKind::Nfs)
    };
    let span = span_of(run, |member| is_storage(member) && is_served(member));
    let is_read = run.summary.steps.iter().any(|step| step.read.ops > 0);
    let fits = |memory: u64| (span as f64) < memory as f64 * SPAN_TIMES_MEMORY;
    if span == 0 || !is_read || !fits(SERVER_LARGE_BYTES) {
        return None;
    }
    Some(Fired {
        severity: if fits(SERVER_SMALL_BYTES) { Severity::Warning } else { Severity::Info },
        says: format!(
            "The test covers {} of a server whose memory is not known: servers have 1 to 64 GiB, and it may have \
             answered reads from there, without its disks.",
            Bytes(span).rounded()
        ),
        evidence: vec![Evidence::new("span", span as f64 / MIB as f64, "MiB")],
        next: "State its memory once, for example --storage-ram 16GiB (later runs on this target use it), with a \
               --size of twice that; assay probe-cache measures the size of the cache.",
        weight: 0.0,
    })
}

/// Returns the bytes of the targets that are `asked` for. Hosts that use one LUN, or one file of a server, cover it
/// once.
fn span_of(run: Run<'_>, asked: impl Fn(&MemberFacts) -> bool) -> u64 {
    let (mut shared, mut own) = (BTreeMap::new(), 0);
    for target in run.header.targets.iter().filter(|target| asked(&target.member)) {
        let mut hosts = run.header.setting.hosts.iter();
        let of_all = hosts.find_map(|host| target.address.strip_prefix(&host.name)?.strip_prefix(':'));
        match of_all.filter(|_| matches!(target.member.kind, MemberKind::Lun | MemberKind::Nfs)) {
            Some(address) => {
                let most: &mut u64 = shared.entry(address).or_default();
                *most = (*most).max(target.member.span_bytes);
            }
            None => own += target.member.span_bytes,
        }
    }
    shared.values().sum::<u64>() + own
}

fn in_memory(run: Run<'_>, memory: u64, whose: &str, option: &str, next: &'static str) -> Option<Fired> {
    let span = span_of(run, |member| member.kind != MemberKind::Null);
    if span == 0 || span as f64 >= memory as f64 * SPAN_TIMES_MEMORY {
        return None;
    }
    let gib = |bytes: u64| bytes as f64 / GIB as f64;
    Some(Fired {
        severity: Severity::Warning,
        says: format!(
            "The test covers {:.2} GiB, less than twice {whose} ({:.2} GiB, {option}): memory may have answered half \
             of the I/Os or more.",
            gib(span),
            gib(memory)
        ),
        evidence: vec![
            Evidence::new("span", span as f64 / MIB as f64, "MiB"),
            Evidence::new("memory", memory as f64 / MIB as f64, "MiB"),
        ],
        next,
        weight: 0.0,
    })
}

/// Random reads take one of two times that lie far apart: a cache answered some of them.
pub(super) fn hits(case: StepCase<'_>) -> Option<Fired> {
    let [job] = &case.plan.jobs[..] else { return None };
    let is_random_read = job.mix.iter().all(|a| a.read == 100.0 && a.random == 100.0);
    // Working sets of a probe are judged together.
    if !is_random_read || job.pacing != Pacing::Closed || job.span.is_some() || case.step.gap_s() > 0.0 {
        return None;
    }
    // What waits for a CPU takes a slice of another program's time longer: two times, too.
    if busy_host(case).is_some() {
        return None;
    }
    let reads = &case.step.read;
    let modes = two_modes(&reads.service).filter(|_| reads.ops >= READS_MIN)?;
    let share = modes.fast_share;
    if share < HITS_MIN {
        return None;
    }
    let span: u64 = case.members(job).map(|member| member.span_bytes).sum();
    let held_gib = span as f64 * share / GIB as f64;
    Some(Fired {
        severity: Severity::Info,
        says: format!(
            "{:.0} % of the random reads took about {}, the others about {}: a cache probably answered the fast ones. \
             One that holds the data used last would have {held_gib:.2} GiB.",
            share * 100.0,
            time(modes.fast_us),
            time(modes.slow_us)
        ),
        evidence: vec![
            Evidence::new("fast reads", share * 100.0, "%"),
            Evidence::new("fast", modes.fast_us, "µs"),
            Evidence::new("slow", modes.slow_us, "µs"),
        ],
        next: "assay probe-cache measures the size of the cache.",
        weight: share,
    })
}

/// Durable writes that a rotating disk cannot have completed.
pub(super) fn fast_flush(case: StepCase<'_>) -> Option<Fired> {
    let [job] = &case.plan.jobs[..] else { return None };
    let is_alone = job.workers == 1 && job.outstanding == 1 && job.mix.iter().all(|a| a.read == 0.0);
    let is_rotating = |m: &assay_record::MemberFacts| m.device.as_ref().is_some_and(|d| d.rotational);
    let mut members = case.members(job);
    // The disk of a virtual machine may call itself rotating, whatever it is.
    let is_virtual = case.run.header.host.hypervisor.is_some();
    if is_virtual || !is_alone || !members.all(|m| (m.sync || job.sync) && is_rotating(m)) {
        return None;
    }
    let mean_us = case.step.write.service.mean_ns()? / 1e3;
    (mean_us < HALF_REVOLUTION_US).then(|| Fired {
        severity: Severity::Warning,
        says: format!(
            "Durable writes to a rotating disk took {} on average, less than half a revolution at 7200 rpm (4.17 ms): \
             a cache acknowledged them. Unless a battery or capacitor protects it, a power failure loses them.",
            time(mean_us)
        ),
        evidence: vec![
            Evidence::new("mean", mean_us, "µs"),
            Evidence::new("half a revolution", HALF_REVOLUTION_US, "µs"),
        ],
        next: "Find out whether the cache is protected; if not, switch it off (hdparm -W0, or in the controller).",
        weight: HALF_REVOLUTION_US - mean_us,
    })
}
