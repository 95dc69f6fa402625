//! Every rule with its name and its condition, in the order of the findings. docs/method.md lists the same.

use assay_record::NoteKind;

use super::places::PlacesOf;
use super::{Fired, Run, StepCase};
use super::{
    cache, cost, fleet, flush, gaps, goal, host, identity, link, load, memory, neighbour, network, nfs,
    pairs, paths, places, queue, run, serial, settings, shape, share, target,
};
use crate::case::Case;
use crate::finding::Severity;

/// A rule: what it is called, when it fires, and the function that decides.
pub(crate) struct Rule {
    /// Stable name, kebab-case.
    pub(crate) id: &'static str,
    /// Name in documents written before rules had one system of names.
    pub(crate) alias: Option<&'static str>,
    /// The meaning of its findings for the numbers.
    pub(crate) effect: Effect,
    pub(crate) check: Check,
}

/// The meaning of a finding for the numbers of its steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// They mean what they say; the finding explains them.
    Explains,
    /// Something other than the storage changed them: what, as a part of "disturbed by …".
    Disturbs(&'static str),
    /// It names what limits them.
    NamesLimit,
    /// It names a limit, and that I/Os pass it one at a time.
    Serialises,
    /// A cache answered.
    ShowsCache,
    /// It names what does not limit, of two runs too.
    Compares,
}

/// The observation of a rule about all loads, with the indices of those it is about.
pub(crate) type FiredOf = (Fired, Vec<usize>);

/// The function of a rule, by what it judges.
pub(crate) enum Check {
    /// What the kernel shows.
    Note(NoteKind, Severity),
    /// A whole run.
    Run(fn(Run<'_>) -> Option<Fired>),
    /// What the places of a run's I/Os say, target by target: finding that out takes longer than all other rules.
    Places(fn(&[PlacesOf<'_>]) -> Option<Fired>),
    /// A step that measured something.
    Step(fn(StepCase<'_>) -> Option<Fired>),
    /// A load beside its expectation.
    Load(fn(&Case) -> Option<Fired>),
    /// Two of them.
    Pair(fn(&Case, &Case) -> Option<Fired>),
    /// All of them; the indices are those it is about.
    Loads(fn(&[Case]) -> Option<FiredOf>),
}

impl Rule {
    const fn new(id: &'static str, check: Check) -> Self {
        Self { id, alias: None, effect: Effect::Explains, check }
    }

    const fn formerly(self, alias: &'static str) -> Self {
        Self { alias: Some(alias), ..self }
    }

    const fn with(self, effect: Effect) -> Self {
        Self { effect, ..self }
    }
}

use Check::{Load, Loads, Note, Pair, Step};
use Effect::{Compares, Disturbs, NamesLimit, Serialises, ShowsCache};
use Severity::{Info, Warning};

/// Every rule.
pub(crate) const RULES: [Rule; 103] = [
    Rule::new("partial", Check::Run(run::partial)),
    Rule::new("quick", Check::Run(run::quick)),
    Rule::new("changed", Check::Run(run::changed)),
    Rule::new("skipped-step", Check::Run(run::skipped_step)),
    Rule::new("unwritten", Check::Run(target::unwritten)),
    Rule::new("cached", Check::Run(target::cached)),
    Rule::new("misaligned-partition", Check::Run(target::misaligned_partition)),
    Rule::new("io-limit", Note(NoteKind::IoLimit, Warning)),
    Rule::new("io-share", Note(NoteKind::IoShare, Warning)),
    Rule::new("cpu-quota", Note(NoteKind::CpuQuota, Warning))
        .with(Disturbs("a limit on the CPU time of Assay")),
    Rule::new("memory-pressure", Note(NoteKind::MemoryPressure, Warning)).with(Disturbs("lack of memory")),
    Rule::new("raid-degraded", Note(NoteKind::RaidDegraded, Warning)),
    Rule::new("raid-busy", Note(NoteKind::RaidBusy, Warning)),
    Rule::new("background-work", Note(NoteKind::BackgroundWork, Warning))
        .with(Disturbs("background work of the storage")),
    Rule::new("one-command", Note(NoteKind::OneCommand, Warning)),
    Rule::new("small-queue", Note(NoteKind::SmallQueue, Info)),
    Rule::new("scheduler", Note(NoteKind::Scheduler, Info)),
    Rule::new("write-throttle", Note(NoteKind::WriteThrottle, Info)),
    Rule::new("write-cache-off", Note(NoteKind::WriteCacheOff, Warning)),
    Rule::new("narrow-link", Note(NoteKind::NarrowLink, Warning)),
    Rule::new("slowed-sata", Note(NoteKind::SlowedSata, Warning)),
    Rule::new("drive-health", Note(NoteKind::DriveHealth, Warning)),
    Rule::new("drive-was-hot", Note(NoteKind::DriveWasHot, Info)),
    Rule::new("no-fua", Note(NoteKind::NoFua, Info)),
    Rule::new("hot-drive", Note(NoteKind::HotDrive, Warning)),
    Rule::new("drive-sleeps", Note(NoteKind::DriveSleeps, Info)),
    Rule::new("slow-cpu", Note(NoteKind::SlowCpu, Warning)),
    Rule::new("cpu-sleeps", Note(NoteKind::CpuSleeps, Info)),
    Rule::new("encrypted", Note(NoteKind::Encrypted, Info)),
    Rule::new("thin-pool", Note(NoteKind::Thin, Info)),
    Rule::new("fuse", Note(NoteKind::Fuse, Info)),
    Rule::new("mount-options", Note(NoteKind::MountOptions, Info)),
    Rule::new("fragmented", Check::Run(target::fragmented)),
    Rule::new("slow-member", Check::Places(places::slow_member)),
    Rule::new("slow-region", Check::Places(places::slow_region)),
    Rule::new("in-memory", Check::Run(target::in_memory)),
    Rule::new("small-span", Check::Run(target::small_span)),
    Rule::new("storage-memory", Check::Run(memory::storage_memory)),
    Rule::new("server-memory", Check::Run(memory::server_memory)),
    Rule::new("host-memory", Check::Run(memory::host_memory)),
    Rule::new("sync", Check::Run(target::sync)),
    Rule::new("path-fault", Check::Run(network::path_fault)),
    Rule::new("single-path", Check::Run(network::single_path)),
    Rule::new("small-segments", Check::Run(settings::small_segments)),
    Rule::new("initial-r2t", Check::Run(settings::initial_r2t)),
    Rule::new("digests", Check::Run(settings::digests)),
    Rule::new("small-window", Check::Run(settings::small_window)),
    Rule::new("small-calls", Check::Run(settings::small_calls)),
    Rule::new("unlike-hosts", Check::Run(fleet::unlike_hosts)),
    Rule::new("mismatch", Step(load::mismatch)).with(Disturbs("wrong data")),
    Rule::new("uncertain-writes", Step(nfs::uncertain_writes)).with(Disturbs("writes that may be lost")),
    Rule::new("moved-writes", Step(nfs::moved_writes)),
    Rule::new("refusing-path", Step(paths::refusing_path)),
    Rule::new("errors", Step(load::errors)).with(Disturbs("failed I/Os")),
    Rule::new("stalled", Step(load::stalled)).with(Disturbs("I/Os that waited for seconds")),
    Rule::new("gap-in-window", Step(gaps::in_window)).with(Disturbs("pauses of Assay itself")),
    Rule::new("gap-beside-window", Step(gaps::beside_window)),
    Rule::new("clock-set", Step(gaps::clock_set)),
    Rule::new("ramp-up", Step(shape::ramp_up)),
    Rule::new("drift", Step(shape::drift)),
    Rule::new("level-change", Step(shape::level_change)),
    Rule::new("saw-tooth", Step(shape::saw_tooth)),
    Rule::new("cache-hits", Step(memory::hits)),
    Rule::new("fast-flush", Step(memory::fast_flush)),
    Rule::new("two-modes", Step(shape::two_modes)),
    Rule::new("goal-missed", Step(goal::goal_missed)),
    Rule::new("unsteady", Step(goal::unsteady)),
    Rule::new("short-window", Step(load::short_window)),
    Rule::new("missed-rate", Step(load::missed_rate)),
    Rule::new("full-depth", Step(load::full_depth)),
    Rule::new("rereads-start", Step(queue::rereads_start)),
    Rule::new("drained-queue", Step(queue::drained_queue)),
    Rule::new("uneven-targets", Step(share::uneven_targets)),
    Rule::new("slow-host", Step(fleet::slow_host)),
    Rule::new("victim-host", Step(fleet::victim_host)),
    Rule::new("host-without-cpu", Step(fleet::host_without_cpu))
        .with(Disturbs("one host without a free CPU")),
    Rule::new("no-common-start", Step(fleet::no_common_start))
        .with(Disturbs("hosts that did not begin together")),
    Rule::new("tester-bound", Step(host::tester_bound))
        .with(Disturbs("the tester itself, which was the limit")),
    Rule::new("near-null-ceiling", Step(host::near_null_ceiling))
        .with(Disturbs("the tester itself, near its own limit")),
    Rule::new("busy-host", Step(host::busy_host)).with(Disturbs("busy CPUs")),
    Rule::new("steal", Step(host::steal)).with(Disturbs("CPU time that the hypervisor took")),
    Rule::new("swapping", Step(host::swapping)).with(Disturbs("swapping")),
    Rule::new("late-timers", Step(host::late_timers)).with(Disturbs("timers that fired late")),
    Rule::new("foreign-io", Step(neighbour::foreign_io))
        .with(Disturbs("I/O of other programs on the same disks")),
    Rule::new("retransmits", Step(network::retransmits)).with(Disturbs("segments that TCP sent again")),
    Rule::new("link-errors", Step(network::link_errors)).with(Disturbs("errors of a link")),
    Rule::new("flush-latency", Step(flush::flush_latency)),
    Rule::new("unstable-writes", Step(nfs::unstable_writes)),
    Rule::new("stable-anyway", Step(nfs::stable_anyway)),
    Rule::new("unit-mismatch", Load(identity::unit)).formerly("UNIT"),
    Rule::new("inconsistent-queue", Load(identity::little)).formerly("LITTLE"),
    Rule::new("impossible-transfer", Load(identity::transfer)).formerly("PHYS"),
    Rule::new("beyond-hardware", Load(identity::beyond_hardware)).formerly("PHYS"),
    Rule::new("read-cache", Load(cache::reads)).formerly("CACHE-R").with(ShowsCache),
    Rule::new("write-cache", Load(cache::writes)).formerly("CACHE-W").with(ShowsCache),
    Rule::new("volatile-cache", Load(cache::volatile)).formerly("SYNC"),
    Rule::new("link-limit", Load(link::link)).formerly("LINK").with(NamesLimit),
    Rule::new("serialised-io", Load(serial::serial)).formerly("SERIAL").with(Serialises),
    Rule::new("short-stroke", Load(serial::span)).formerly("SPAN"),
    Rule::new("serialised-writes", Pair(pairs::serial_writes)).formerly("WSERIAL").with(Serialises),
    Rule::new("raid-penalty", Pair(pairs::raid_penalty)).formerly("RAIDPEN").with(NamesLimit),
    Rule::new("not-the-bottleneck", Pair(pairs::invariant)).formerly("INVAR").with(Compares),
    Rule::new("software-cost", Loads(cost::cpu)).formerly("CPU").with(NamesLimit),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kebab_case_and_of_one_rule_each() {
        for (index, rule) in RULES.iter().enumerate() {
            assert!(
                rule.id.bytes().all(|b| b == b'-' || b.is_ascii_lowercase() || b.is_ascii_digit()),
                "{}",
                rule.id
            );
            assert!(RULES[..index].iter().all(|other| other.id != rule.id), "{}", rule.id);
        }
    }

    #[test]
    fn what_the_kernel_shows_stands_on_the_page_of_facts() {
        let page = include_str!("../../../../docs/reference/host-facts.md");
        let (_, planted) = page.split_once("<!-- planted -->").unwrap();
        for rule in RULES.iter().filter(|rule| matches!(rule.check, Note(..))) {
            assert!(planted.contains(&format!("\n| {} |", rule.id)), "{}", rule.id);
        }
    }
}
