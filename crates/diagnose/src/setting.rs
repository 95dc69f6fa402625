//! What is known of a load and its target before any experiment.

use std::collections::BTreeSet;

use assay_record::{
    Experiment, FilesystemFacts, HostNote, MemberFacts, MemberKind, NoteKind, PathFacts, RunHeader,
};
use assay_spec::{Data, Engine, Job, Pacing};

use crate::cause::Cause;
use crate::experiments::waits;

/// A page of memory and the smallest physical block of modern disks, bytes.
const BLOCK: u64 = 4096;

/// With less of a host's CPUs in use by others, what wakes up finds a free one.
const MANY_CPUS: f64 = 0.4;

/// How I/O reaches the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Nothing is behind the tester.
    Null,
    /// A file in this host's memory, which workers copy themselves.
    Memory,
    /// A file or device of this host; I/O bypasses the page cache.
    Local,
    /// A file or device of this host, through the page cache.
    Cached,
    /// A target behind a network, or a simulated one.
    Remote,
}

/// A load and its target.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Setting {
    /// Name of the load.
    pub load: String,
    /// How I/O reaches the medium.
    pub reach: Reach,
    /// Mean size of an I/O, bytes.
    pub size_bytes: f64,
    /// I/Os outstanding, all workers together.
    pub outstanding: f64,
    /// Threads that issue I/O.
    pub workers: f64,
    /// Share of reads. In \[0, 1\].
    pub reads: f64,
    /// Share of random I/O. In \[0, 1\].
    pub random: f64,
    /// Whether each write waits until it is durable.
    pub is_sync: bool,
    /// Whether its data can be compressed or deduplicated.
    pub is_reducible: bool,
    /// Whether offsets or sizes are no multiples of 4 KiB, or the target begins at an odd place.
    pub is_misaligned: bool,
    /// Ways to the target.
    pub paths: usize,
    /// Links that those ways take, at the end that has fewer: several sessions may share one.
    pub links: usize,
    /// Whether the load keeps a rate of its own.
    pub is_paced: bool,
    /// Bytes that are used.
    pub span_bytes: f64,
    /// Whether a control group limits the tester's CPU time.
    pub has_cpu_quota: bool,
    /// Whether the target is a file, and not a device or a LUN.
    pub is_file: bool,
    /// Whether a server, or another program of this host, carries the I/O out: also that of a mounted file system.
    pub is_served: bool,
    /// Whether a block device of this host is known below, whatever program is between (`fuseblk`).
    pub is_on_device: bool,
    /// Whether what is below is memory of this host, as behind a loop device over a file in memory: there is no drive.
    pub is_in_memory: bool,
    /// Whether the disks below are those of a hypervisor or a network: what they are made of is not seen from here.
    pub is_virtual_disk: bool,
    /// Whether threads of this host beside the workers carry the I/O out, or may do so: whoever counts sees their CPU
    /// time as that of others.
    pub has_helpers: bool,
    /// The same while other programs use many of its CPUs: the workers' own time does not show what these wait for.
    pub helpers_may_wait: bool,
    /// Causes of which this host or the target shows the state, whether it limits or not.
    pub shown: Vec<Cause>,
}

impl Setting {
    /// Returns the setting of a diagnosis; `None` for another run, or where its first test is not the load itself.
    pub fn of(header: &RunHeader) -> Option<Self> {
        let facts = header.diagnosis.as_ref()?;
        let base = facts.experiments.iter().position(|experiment| *experiment == Experiment::Base)?;
        let jobs = &header.plan.tests.get(base)?.steps.first()?.jobs;
        let members = members(header, jobs);
        let shown = shown(header, &members);
        let mix = || jobs.iter().flat_map(|job| job.mix.iter().map(move |line| (job, line)));
        let weight: f64 = mix().map(|(_, line)| f64::from(line.weight)).sum::<f64>().max(1.0);
        let mean = |of: &dyn Fn(&assay_spec::Access) -> f64| {
            mix().map(|(_, line)| f64::from(line.weight) * of(line)).sum::<f64>() / weight
        };
        let is_odd = |line: &assay_spec::Access| {
            let align = if line.align.0 == 0 { line.size.0 } else { line.align.0 };
            !align.is_multiple_of(BLOCK) || !line.size.0.is_multiple_of(BLOCK)
        };
        let starts_odd = |m: &&MemberFacts| {
            let is_shifted = m.device.as_ref().is_some_and(|device| device.shifted_bytes > 0);
            is_shifted
                || m.placement
                    .is_some_and(|p| m.kind == MemberKind::Device && !p.first_bytes.is_multiple_of(BLOCK))
        };
        let is_sync = jobs.iter().any(waits)
            || members.iter().any(|m| m.sync || m.nfs.as_ref().is_some_and(|nfs| nfs.sync == "file"));
        let has_helpers = members.iter().any(|m| has_helpers(m, is_sync)) || shown.contains(&Cause::Crypt);
        Some(Self {
            load: facts.load.clone(),
            reach: reach(&members),
            size_bytes: mean(&|line| line.size.0 as f64),
            outstanding: jobs.iter().map(|job| f64::from(job.workers * job.outstanding)).sum(),
            workers: jobs.iter().map(|job| f64::from(job.workers)).sum(),
            reads: mean(&|line| line.read / 100.0),
            random: mean(&|line| line.random / 100.0),
            is_sync,
            is_reducible: jobs.iter().any(is_reducible),
            is_misaligned: mix().any(|(_, line)| is_odd(line)) || members.iter().any(starts_odd),
            paths: members.iter().map(|m| up(m).count()).max().unwrap_or(0),
            links: members.iter().map(|m| links(m)).max().unwrap_or(0),
            is_paced: jobs.iter().any(|job| job.pacing != Pacing::Closed),
            span_bytes: span_bytes(&members, jobs),
            has_cpu_quota: header
                .host
                .cgroup_cpus
                .is_some_and(|cpus| cpus < f64::from(header.host.cpus_online)),
            is_file: members.iter().any(|m| matches!(m.kind, MemberKind::File | MemberKind::Nfs)),
            is_served: reach(&members) == Reach::Remote || members.iter().any(|m| is_of_a_program(m)),
            is_on_device: !members.is_empty() && members.iter().all(|m| is_on_device(m)),
            is_virtual_disk: !members.is_empty() && members.iter().all(|m| is_virtual_disk(m)),
            is_in_memory: !members.is_empty()
                && members.iter().all(|m| m.device.as_ref().is_some_and(|device| device.is_in_memory)),
            has_helpers,
            helpers_may_wait: has_helpers && facts.others_busy.is_some_and(|busy| busy >= MANY_CPUS),
            shown,
        })
    }

    /// Whether the load writes.
    pub fn writes(&self) -> bool {
        self.reads < 1.0
    }

    /// Whether the target is a medium of this host.
    pub fn is_local(&self) -> bool {
        matches!(self.reach, Reach::Local | Reach::Cached)
    }

    /// Whether what the device is may limit: its bus, its temperature. Behind a server or another program it is not
    /// known whether there is one, unless this host names it.
    pub(crate) fn has_own_device(&self) -> bool {
        self.is_local() && !self.is_in_memory && (!self.is_served || self.is_on_device)
    }

    /// Whether a network or another program carries the I/O out.
    pub fn is_remote(&self) -> bool {
        self.reach == Reach::Remote
    }

    /// Whether there is a medium at all.
    pub(crate) fn has_medium(&self) -> bool {
        self.is_local() || self.is_remote()
    }

    /// Whether there may be a drive, with heads or flash of its own.
    pub(crate) fn may_have_drive(&self) -> bool {
        self.has_medium() && !self.is_in_memory
    }

    /// Whether this host or the target shows the state that is a cause.
    pub fn shows(&self, cause: Cause) -> bool {
        self.shown.contains(&cause)
    }

    /// Whether offsets are mostly random.
    pub fn is_random(&self) -> bool {
        self.random >= 0.3
    }
}

/// Pieces of a file shorter than this, bytes, are many.
const SHORT_PIECE: f64 = (4 << 20) as f64;

/// Which causes have a state that is shown.
fn shown(header: &RunHeader, members: &[&MemberFacts]) -> Vec<Cause> {
    let of_devices = members.iter().filter_map(|m| m.device.as_ref()).flat_map(|device| &device.notes);
    let of_mounts = members.iter().filter_map(|m| m.filesystem.as_ref()).flat_map(|fs| &fs.notes);
    let notes: Vec<&HostNote> = header.host.notes.iter().chain(of_devices).chain(of_mounts).collect();
    let has = |kinds: &[NoteKind]| notes.iter().any(|note| kinds.contains(&note.kind));
    let is_thin = |m: &&MemberFacts| m.lun.as_ref().is_some_and(|lun| lun.thin);
    let is_in_pieces = |m: &&MemberFacts| {
        m.extents.is_some_and(|extents| extents > 1 && m.span_bytes as f64 / (extents as f64) < SHORT_PIECE)
    };
    [
        (Cause::Rebuild, has(&[NoteKind::RaidBusy, NoteKind::BackgroundWork])),
        (Cause::Crypt, has(&[NoteKind::Encrypted])),
        (Cause::LinkDowngraded, has(&[NoteKind::NarrowLink, NoteKind::SlowedSata])),
        (Cause::Thermal, has(&[NoteKind::HotDrive])),
        (Cause::PowerState, has(&[NoteKind::DriveSleeps, NoteKind::CpuSleeps])),
        (Cause::FirstWrite, has(&[NoteKind::Thin]) || members.iter().any(is_thin)),
        (Cause::Fragmented, members.iter().any(is_in_pieces)),
    ]
    .into_iter()
    .filter_map(|(cause, is_shown)| is_shown.then_some(cause))
    .collect()
}

fn up(member: &MemberFacts) -> impl Iterator<Item = &PathFacts> {
    member.paths().iter().filter(|path| path.is_up)
}

fn links(member: &MemberFacts) -> usize {
    let device =
        |path: &PathFacts| path.net.as_ref().and_then(|net| Some(net.route.as_ref()?.device.clone()));
    // Without the route the local address tells interfaces apart; its port does not.
    let address = |path: &PathFacts| {
        let local = path.local.as_deref().unwrap_or_default();
        local.rsplit_once(':').map_or(local, |(address, _)| address).to_owned()
    };
    let here: BTreeSet<String> =
        up(member).map(|path| device(path).unwrap_or_else(|| address(path))).collect();
    let there: BTreeSet<&str> =
        up(member).map(|path| path.remote.as_deref().unwrap_or(&path.portal)).collect();
    here.len().min(there.len())
}

/// Bytes that the load uses: of its targets, or in its window.
fn span_bytes(members: &[&MemberFacts], jobs: &[Job]) -> f64 {
    let all: f64 = members.iter().map(|m| m.span_bytes as f64).sum();
    let windows: Option<Vec<f64>> = jobs.iter().map(|job| job.span.map(|span| span.0 as f64)).collect();
    let window = windows.map(|windows| windows.into_iter().fold(0.0, f64::max));
    window.filter(|window| *window > 0.0).map_or(all, |window| all.min(window * members.len() as f64))
}

fn is_reducible(job: &Job) -> bool {
    let repeats = !matches!(job.data, Data::Unique | Data::IometerFullRandom);
    repeats && job.writes()
}

/// Whether a file lies in a file system of a server, or of a program of this host.
fn is_of_a_program(member: &MemberFacts) -> bool {
    let kind = member.filesystem.as_ref().map_or("", |fs| fs.kind.as_str());
    FilesystemFacts::is_of_a_server(kind) || kind.starts_with("fuse")
}

/// Whether every disk below is of a hypervisor or of a network.
fn is_virtual_disk(member: &MemberFacts) -> bool {
    let stack = member.device.as_ref().map(|device| device.stack.as_slice()).unwrap_or_default();
    let is_disk = |name: &&String| !["dm-", "loop", "md"].iter().any(|above| name.starts_with(above));
    let is_virtual =
        |name: &String| ["vd", "xvd", "nbd", "rbd"].iter().any(|driver| name.starts_with(driver));
    stack.iter().any(|name| is_disk(&name)) && stack.iter().filter(is_disk).all(is_virtual)
}

/// Whether a device has the name that a driver gives: with a number.
fn is_named(device: &str, driver: &str) -> bool {
    device.strip_prefix(driver).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Drivers of block devices that move or compute in threads of the kernel, by the names of their devices.
const THREADED: [&str; 7] = ["loop", "md", "nbd", "zd", "drbd", "bcache", "ublkb"];
/// File systems that check or place blocks in threads of the kernel.
const THREADED_KINDS: [&str; 3] = ["btrfs", "zfs", "bcachefs"];

/// Whether threads of this host beside the workers carry its I/O out, or may do so: helpers of the engine, the kernel's
/// behind the page cache and for durable writes, those of a file system or a device, a simulated array, a file system
/// in a program, a server that this host connects to itself, or one behind a virtual cable of this host.
fn has_helpers(member: &MemberFacts, is_sync: bool) -> bool {
    let host = |address: &str| address.rsplit_once(':').map(|(host, _)| host.to_owned());
    let is_here = |path: &PathFacts| {
        let ends = path.local.as_deref().zip(path.remote.as_deref());
        let interface = path.net.as_ref().and_then(|net| net.interface.as_ref());
        ends.is_some_and(|(local, remote)| host(local).is_some() && host(local) == host(remote))
            || interface.is_some_and(|interface| interface.kind == "veth")
    };
    let is_threaded = |name: &String| THREADED.iter().any(|driver| is_named(name, driver));
    let is_file = matches!(member.kind, MemberKind::File | MemberKind::Device);
    let is_handed_on = is_file && member.engine != Engine::Inline && (!member.direct || is_sync);
    let kind = member.filesystem.as_ref().map_or("", |fs| fs.kind.as_str());
    member.engine == Engine::Psync
        || member.kind == MemberKind::Simulated
        || is_handed_on
        || THREADED_KINDS.contains(&kind)
        || member.device.as_ref().is_some_and(|device| device.stack.iter().any(is_threaded))
        || is_of_a_program(member)
        || up(member).any(is_here)
}

/// Whether I/O reaches a block device of this host. A file system of a server has none, even where one is named.
fn is_on_device(member: &MemberFacts) -> bool {
    let kind = member.filesystem.as_ref().map_or("", |fs| fs.kind.as_str());
    member.device.is_some() && !FilesystemFacts::is_of_a_server(kind)
}

/// The members that the jobs use.
fn members<'h>(header: &'h RunHeader, jobs: &[Job]) -> Vec<&'h MemberFacts> {
    let is_used = |index: u32| jobs.iter().any(|job| job.targets.is_empty() || job.targets.contains(&index));
    let used = (0..).zip(&header.targets).filter(|(index, _)| is_used(*index));
    used.map(|(_, target)| &target.member).collect()
}

fn reach(members: &[&MemberFacts]) -> Reach {
    let all = |is: &dyn Fn(&MemberFacts) -> bool| !members.is_empty() && members.iter().all(|m| is(m));
    if all(&|m| m.kind == MemberKind::Null) {
        Reach::Null
    } else if all(&|m| matches!(m.kind, MemberKind::Lun | MemberKind::Nfs | MemberKind::Simulated)) {
        Reach::Remote
    } else if all(&|m| m.engine == Engine::Inline) {
        Reach::Memory
    } else if members.iter().any(|m| !m.direct) {
        Reach::Cached
    } else {
        Reach::Local
    }
}
