//! Ceilings of paths and links, with their arithmetic.

use assay_model::wire::{Frames, nfs_read_header_bytes, pdu_header_bytes};
use assay_record::{InterfaceFacts, NetPathFacts, NfsFacts, PathFacts, RunHeader, StepId};
use assay_spec::Access;

use super::carrier::{Shared, rate, shared_links};
use super::{Ceiling, more_bytes, packet_bytes};

/// I/O size that ceilings are computed for, bytes: that of the forum suites' streams.
pub const CEILING_IO_BYTES: u32 = 32 << 10;
/// Bytes that every NFS server accepts in one call, where it does not announce more.
const NFS_CALL_BYTES: u32 = 8 << 10;

/// The ceiling of a path to a LUN for reads of 32 KiB; `None` while it is down, or where its network is unknown.
pub fn ceiling(path: &PathFacts) -> Option<Ceiling> {
    of_lun(path, 1).map(|path_ceiling| path_ceiling.ceiling)
}

/// A session is one TCP connection, and each worker has its own.
fn of_lun(path: &PathFacts, workers: u32) -> Option<PathCeiling> {
    let agreed = path.agreed.as_ref()?;
    let segment_bytes = f64::from(agreed.max_recv_segment_bytes);
    let headers = pdu_header_bytes(f64::from(CEILING_IO_BYTES), segment_bytes, agreed.data_digest);
    path_ceiling(path, workers, headers, "iSCSI headers")
}

/// The ceiling of the way to an NFS server for reads of 32 KiB. All connections share it: it counts once, however many
/// they are. `None` where its network is unknown.
pub fn nfs_ceiling(nfs: &NfsFacts) -> Option<Ceiling> {
    of_nfs(nfs, 1).map(|path_ceiling| path_ceiling.ceiling)
}

fn of_nfs(nfs: &NfsFacts, workers: u32) -> Option<PathCeiling> {
    let call_bytes = if nfs.read_bytes_max == 0 { NFS_CALL_BYTES } else { nfs.read_bytes_max };
    let headers = nfs_read_header_bytes(f64::from(CEILING_IO_BYTES), f64::from(call_bytes));
    let connections = u32::from(nfs.connections.max(1)) * workers;
    path_ceiling(nfs.paths.first()?, connections, headers, "RPC and NFS headers")
}

/// The ceiling of a path, and that of the links it leaves through for all paths that use them.
struct PathCeiling {
    ceiling: Ceiling,
    /// 10^6 bytes per second.
    links_mb_per_s: Option<f64>,
}

/// `headers_bytes` go with each I/O of [`CEILING_IO_BYTES`]; `headers_of` names them.
fn path_ceiling(
    path: &PathFacts,
    connections: u32,
    headers_bytes: f64,
    headers_of: &str,
) -> Option<PathCeiling> {
    let net = path.net.as_ref()?;
    let interface = net.interface.as_ref()?;
    let rate = rate(interface);
    let (packet, timestamps) = match &path.tcp {
        Some(tcp) => (packet_bytes(net, tcp), tcp.timestamps),
        // Kernels without tcp_diag report nothing about a connection: assume full packets with timestamps.
        None if path.is_up => (full_packet_bytes(net, interface), true),
        None => return None,
    };
    // The model knows the headers of IPv4; what those of IPv6 are longer is no payload either.
    let more = more_bytes(net);
    let frames = Frames {
        mtu_bytes: f64::from(packet - more),
        timestamps,
        around_bytes: rate.around_bytes + f64::from(more),
    };
    let size = f64::from(CEILING_IO_BYTES);
    let of_frames = frames.payload_bytes() / frames.wire_bytes();
    let payload = |bit_s: f64| bit_s / 8e6 * of_frames * size / (size + headers_bytes);
    // Connections may use members of a bond of their own, and have no more than all of them.
    let bit_s = rate.one_bit_s.zip(rate.all_bit_s).map(|(one, all)| all.min(one * f64::from(connections)));
    let mb_per_s = bit_s.map(payload);
    let factors = format!(
        "{}/{} (payload of a full frame: IP packet {}{}, {} around it) x {}/{} (data, {headers_of})",
        frames.payload_bytes(),
        frames.wire_bytes(),
        packet,
        if path.tcp.is_some() { "" } else { ", assumed because the kernel reports no TCP details" },
        rate.around_bytes,
        CEILING_IO_BYTES,
        size + headers_bytes,
    );
    let arithmetic = match (bit_s, mb_per_s) {
        (Some(bit_s), Some(mb_per_s)) => {
            format!("{} Mbit/s / 8 x {factors} = {mb_per_s:.1} MB/s", bit_s / 1e6)
        }
        _ => format!("unknown rate x {factors}"),
    };
    Some(PathCeiling {
        ceiling: Ceiling { mb_per_s, arithmetic, rate_from: rate.says },
        links_mb_per_s: rate.all_bit_s.map(payload),
    })
}

/// The largest packet that arrives, where that was found out.
fn full_packet_bytes(net: &NetPathFacts, interface: &InterfaceFacts) -> u32 {
    let arrives = net.frames.largest_bytes.filter(|_| net.frames.is_lossy());
    arrives.unwrap_or(interface.mtu_bytes)
}

/// Returns the ceiling of all paths together: paths over one physical link share it, whatever their interfaces are
/// called.
pub fn ceiling_together(paths: &[PathFacts]) -> Ceiling {
    together(paths, paths.iter().map(|path| of_lun(path, 1)).collect())
}

/// Returns the ceiling of the links that a step's targets use, for all its workers together; `None` where one of the
/// targets is not on the network, or its network is unknown, or where the step trims: trims count as writes, and carry
/// no data.
pub fn step_ceiling(header: &RunHeader, step: StepId) -> Option<Ceiling> {
    let jobs = &header.plan.tests.get(step.test as usize)?.steps.get(step.step as usize)?.jobs;
    if jobs.iter().flat_map(|job| &job.mix).any(Access::trims) {
        return None;
    }
    let (mut paths, mut carried) = (Vec::new(), Vec::new());
    for (index, target) in (0..).zip(&header.targets) {
        let uses = jobs.iter().filter(|job| job.targets.is_empty() || job.targets.contains(&index));
        let (member, workers) = (&target.member, uses.map(|job| job.workers).sum());
        match (&member.lun, &member.nfs) {
            _ if workers == 0 => {}
            (Some(lun), _) => {
                carried.extend(lun.paths.iter().map(|path| of_lun(path, workers)));
                paths.extend_from_slice(&lun.paths);
            }
            (None, Some(nfs)) => {
                carried.push(of_nfs(nfs, workers));
                paths.push(nfs.paths.first()?.clone());
            }
            (None, None) => return None,
        }
    }
    (!paths.is_empty()).then(|| together(&paths, carried))
}

/// `carried` holds the ceiling of each path, where it is known.
fn together(paths: &[PathFacts], mut carried: Vec<Option<PathCeiling>>) -> Ceiling {
    let mut parts: Vec<(String, Option<f64>)> = Vec::new();
    for group in shared_links(paths) {
        let carried: Vec<PathCeiling> =
            group.paths.iter().filter_map(|index| carried[*index].take()).collect();
        if !carried.is_empty() {
            parts.push((part_name(&group), links_or_paths(&carried)));
        }
    }
    let mb_per_s: Option<f64> = parts.iter().map(|(_, mb_per_s)| *mb_per_s).sum();
    let words: Vec<String> = parts
        .iter()
        .map(|(name, one)| one.map_or(format!("{name} unknown"), |mb| format!("{name} {mb:.1}")))
        .collect();
    let sum = match mb_per_s {
        _ if parts.is_empty() && paths.iter().any(|path| path.is_up) => "unknown".into(),
        _ if parts.is_empty() => "no path is up".into(),
        Some(mb_per_s) => format!("{} = {mb_per_s:.1} MB/s", words.join(" + ")),
        None => words.join(" + "),
    };
    Ceiling {
        mb_per_s: mb_per_s.filter(|_| !parts.is_empty()),
        arithmetic: sum,
        rate_from: "each physical link counts once, however many paths and interfaces use it".into(),
    }
}

/// A sum of links inside of the sum of all is kept together.
fn part_name(group: &Shared<'_>) -> String {
    let name = group.name();
    if name.contains(' ') { format!("({name})") } else { name }
}

/// Paths have no more than their links, and links no more than the paths on them use.
fn links_or_paths(carried: &[PathCeiling]) -> Option<f64> {
    let by_paths: Option<f64> = carried.iter().map(|one| one.ceiling.mb_per_s).sum();
    let by_links = carried.iter().map(|one| one.links_mb_per_s).reduce(|a, b| Some(a?.max(b?)));
    Some(by_paths?.min(by_links??))
}
