//! Inspects a logical unit without changing it: identity, size, content, reservations.

use std::sync::Arc;
use std::time::{Duration, Instant};

use assay_iscsi::scsi::cdb::Fua;
use assay_iscsi::scsi::{AccessState, Mapping, Provisioning, key};
use assay_iscsi::{Command, CommandError, ConnectError, Initiator, IoError, Kind, UnitProof};
use assay_spec::IscsiAddress;

use super::alternatives::explained;
use super::identity::LunIdentity;
use crate::fingerprint::ends_of;
use assay_target::OpenError;
use assay_target::lun::{Credentials, UnmapLimits, config, event, unmap_limits};
use assay_target::remote::{PathChange, PathReport};

/// Size of one read, bytes; within the limit of modest targets.
const CHUNK_BYTES: u32 = 64 << 10;
/// Number of reads in flight: 512 KiB. Disks serve scattered reads faster if they can choose the order.
const READS: u32 = 8;
/// Largest I/O if the target reports no limit: the maximum of a 10-byte command at 512-byte blocks, bytes.
const TRANSFER_BYTES_MAX: u64 = 65_535 * 512;
/// Largest number of GET LBA STATUS calls; a unit with more pieces is not counted to its end.
const LBA_STATUS_MAX: u32 = 4096;

/// Until its first write a writer must find these pieces unchanged: this many bytes at both ends …
const PIECE_BYTES: usize = 32 << 10;
/// … and at this many non-empty places in between.
const PIECES_BETWEEN: usize = 4;

/// Interval of pings that measure the round-trip time without load: about six on every path in parallel.
const PING_EVERY: Duration = Duration::from_millis(50);
const PING_FOR: Duration = Duration::from_millis(350);

/// A logical unit as found by the inspection.
#[derive(Debug, Clone)]
pub struct LunLook {
    /// From INQUIRY.
    pub vendor: String,
    /// From INQUIRY.
    pub product: String,
    /// From INQUIRY.
    pub revision: String,
    /// Serial number, WWID, size, and the data at its ends.
    pub identity: LunIdentity,
    /// The same as a proof for the initiators of a run that writes, which verify the unit whenever it could have
    /// changed.
    pub proof: Arc<UnitProof>,
    /// Logical block, bytes.
    pub block_bytes: u32,
    /// Physical block, bytes.
    pub physical_block_bytes: u32,
    /// First logical block that is aligned to a physical one.
    pub aligned_lba: u16,
    /// Largest I/O, bytes.
    pub transfer_bytes_max: u64,
    /// Provisioning of the blocks.
    pub provision: Provision,
    /// Limits of trims, or the reason why there are none.
    pub unmap: Result<UnmapLimits, &'static str>,
    /// True if the medium is write protected.
    pub write_protected: bool,
    /// True if the write cache is enabled; `None` if the target does not report it.
    pub write_cache: Option<bool>,
    /// True for a rotating medium; `None` if the target does not report it.
    pub rotational: Option<bool>,
    /// Reservations of other hosts, each a clause.
    pub reservations: Vec<String>,
    /// Reports of all paths.
    pub paths: Vec<PathReport>,
    /// Events of paths other than "up", each a clause.
    pub path_events: Vec<String>,
    /// Name of this initiator, as sent to the target.
    pub initiator: String,
}

/// Provisioning of the blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provision {
    /// Every block is allocated.
    Full,
    /// A block is allocated when it is written.
    Thin,
}

/// Reads the content of a unit while it is inspected.
pub struct LunReader<'i> {
    initiator: &'i mut Initiator<Vec<u8>>,
    /// Longest wait for any answer.
    patience: Duration,
    /// Offset and data of non-empty places, spread over everything that was read.
    pieces: Vec<(u64, Vec<u8>)>,
    /// Number of non-empty places.
    seen: u64,
}

/// Logs in, inspects the unit and logs out. Fails if anything that a writer must know cannot be determined. `content`
/// is called once with the capacity in bytes and reads what it needs. `patience`: longest wait for each of its reads.
pub fn look(
    address: &IscsiAddress,
    credentials: Option<&Credentials>,
    patience: Duration,
    content: &mut dyn FnMut(u64, &mut LunReader<'_>) -> Result<(), String>,
) -> Result<LunLook, OpenError> {
    let failed = |why: String| OpenError::Lun { lun: address.to_string(), why };
    let mut config = config(address, credentials, 64);
    config.timeouts.ping_interval = PING_EVERY;
    let (initiator_name, proof) = (config.initiator_name.clone(), Arc::clone(&config.proof));
    let mut initiator = Initiator::<Vec<u8>>::connect(config).map_err(|error| match error {
        ConnectError::NoPath { is_answered: false, .. } => {
            OpenError::LunUnreached { lun: address.to_string(), why: error.to_string() }
        }
        _ => failed(explained(address, credentials, &error)),
    })?;
    look_with(&mut initiator, (initiator_name, proof), patience, content).map_err(failed)
}

fn look_with(
    initiator: &mut Initiator<Vec<u8>>,
    (initiator_name, proof): (String, Arc<UnitProof>),
    patience: Duration,
    content: &mut dyn FnMut(u64, &mut LunReader<'_>) -> Result<(), String>,
) -> Result<LunLook, String> {
    let words = |error: CommandError| error.to_string();
    let inquiry = initiator.inquiry().map_err(words)?;
    let pages = initiator.supported_pages().unwrap_or_default();
    let capacity = initiator.capacity();
    let block = u64::from(capacity.block_bytes);
    let limits = if pages.contains(&0xb0) { initiator.block_limits().ok() } else { None };
    let transfer_bytes_max = limits.map_or(0, |l| u64::from(l.transfer_blocks_max) * block);
    let thin_page = if pages.contains(&0xb2) { initiator.provisioning().ok() } else { None };
    let rotation = if pages.contains(&0xb1) { initiator.rotation().ok() } else { None };
    let is_thin = capacity.thin || thin_page.is_some_and(|p| p.provisioning == Provisioning::Thin);
    let mode = initiator.mode_facts().ok();
    let reservations = reservations(initiator)?;
    let bytes = capacity.bytes();
    let mut reader = LunReader { initiator, patience, pieces: Vec::new(), seen: 0 };
    // Taken first, so that any change during the examination of the content is detected.
    let mut pieces = Vec::new();
    let ends = ends_of(bytes, |offset_bytes, bytes| {
        let data = reader.read_all(offset_bytes, bytes)?;
        let cut = (offset_bytes..).step_by(PIECE_BYTES).zip(data.chunks(PIECE_BYTES));
        pieces.extend(cut.map(|(at, piece)| (at, piece.to_vec())));
        Ok::<_, String>(data)
    })?;
    content(bytes, &mut reader)?;
    pieces.append(&mut reader.pieces);
    pieces.iter_mut().for_each(|(at, _)| *at /= block);
    proof.inspected(capacity.block_bytes, &pieces);
    let identity = LunIdentity::of(initiator, ends);
    ping(initiator)?;
    let path_events = initiator
        .events()
        .into_iter()
        .filter_map(event)
        .filter(|event| event.change != PathChange::Up)
        .map(|event| event.says)
        .collect();
    Ok(LunLook {
        vendor: inquiry.vendor,
        product: inquiry.product,
        revision: inquiry.revision,
        identity,
        proof,
        block_bytes: capacity.block_bytes,
        physical_block_bytes: capacity.physical_block_bytes,
        aligned_lba: capacity.aligned_lba,
        transfer_bytes_max: if transfer_bytes_max == 0 { TRANSFER_BYTES_MAX } else { transfer_bytes_max },
        unmap: unmap_limits(&capacity, limits, thin_page),
        provision: if is_thin { Provision::Thin } else { Provision::Full },
        write_protected: mode.is_some_and(|m| m.write_protected),
        write_cache: mode.and_then(|m| m.write_cache),
        rotational: rotation.and_then(|r| match r {
            assay_iscsi::scsi::Rotation::Unknown => None,
            assay_iscsi::scsi::Rotation::None => Some(false),
            assay_iscsi::scsi::Rotation::Rpm(_) => Some(true),
        }),
        reservations,
        paths: initiator.stats().into_iter().map(PathReport::from).collect(),
        path_events,
        initiator: initiator_name,
    })
}

/// Sends the pings; nothing else is in flight.
fn ping(initiator: &mut Initiator<Vec<u8>>) -> Result<(), String> {
    let until = Instant::now() + PING_FOR;
    let mut done = Vec::new();
    while let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
        initiator.poll(Some(left), &mut done).map_err(|lost| lost.to_string())?;
    }
    Ok(())
}

/// Returns the registrations of other hosts. A target that does not support the command has no reservations; with any
/// other failure the reservation is unknown, which is an error.
fn reservations(initiator: &mut Initiator<Vec<u8>>) -> Result<Vec<String>, String> {
    let mut claims = Vec::new();
    match initiator.reservation() {
        Ok(Some(held)) => claims.push(format!(
            "a persistent reservation ({}, key {:#x}) is held on it",
            held.kind_words(),
            held.key
        )),
        Ok(None) => {}
        Err(error) if is_unknown_command(&error) => return Ok(claims),
        Err(error) => return Err(error.to_string()),
    }
    match initiator.reservation_keys() {
        Ok(keys) if keys.is_empty() => {}
        Ok(keys) => claims.push(format!(
            "{} persistent reservation key{} registered with it: other hosts use it",
            keys.len(),
            if keys.len() == 1 { " is" } else { "s are" }
        )),
        Err(error) if is_unknown_command(&error) => {}
        Err(error) => return Err(error.to_string()),
    }
    Ok(claims)
}

fn is_unknown_command(error: &CommandError) -> bool {
    match error {
        CommandError::Failed { source: IoError::Scsi { sense: Some(sense), .. }, .. } => {
            sense.key == key::ILLEGAL_REQUEST
        }
        // What some targets answer to a command that they do not have.
        CommandError::Failed { source: IoError::TargetFailure { .. }, .. } => true,
        _ => false,
    }
}

impl LunReader<'_> {
    fn read_all(&mut self, offset_bytes: u64, bytes: usize) -> Result<Vec<u8>, String> {
        let mut data = vec![0; bytes];
        let until = Instant::now() + self.patience;
        let done = self.read(&[(offset_bytes, bytes as u64)], until, &mut |at, piece| {
            let at = usize::try_from(at - offset_bytes).expect("within what was asked for");
            data[at..at + piece.len()].copy_from_slice(piece);
        })?;
        let s = self.patience.as_secs();
        if done == bytes as u64 { Ok(data) } else { Err(format!("no answer for {s} s to the first reads")) }
    }

    /// Keeps a piece of a non-empty place: the first ones, and later ones in turn with decreasing frequency.
    fn note(&mut self, offset_bytes: u64, data: &[u8]) {
        let piece = &data[..data.len().min(PIECE_BYTES)];
        if piece.iter().all(|byte| *byte == 0) {
            return;
        }
        self.seen += 1;
        if self.pieces.len() < PIECES_BETWEEN {
            self.pieces.push((offset_bytes, piece.to_vec()));
        } else if self.seen.is_power_of_two() {
            let at = usize::try_from(self.seen.ilog2()).expect("below 64") % PIECES_BETWEEN;
            self.pieces[at] = (offset_bytes, piece.to_vec());
        }
    }

    /// Reads places of the unit, each given as its offset and length in bytes and passed to `take` in pieces as they
    /// arrive, in any order. After `until` no further read is started. Returns the number of bytes read.
    pub fn read(
        &mut self,
        places: &[(u64, u64)],
        until: Instant,
        take: &mut dyn FnMut(u64, &[u8]),
    ) -> Result<u64, String> {
        let mut pieces = places.iter().flat_map(|(offset, bytes)| pieces(*offset, *bytes));
        let mut reads = [None; READS as usize];
        let (mut done, mut read_bytes) = (Vec::new(), 0);
        let mut heard = Instant::now();
        loop {
            for (tag, read) in (0..).zip(&mut reads).filter(|(_, read)| read.is_none()) {
                if Instant::now() >= until {
                    break;
                }
                let Some((offset_bytes, data_bytes)) = pieces.next() else { break };
                let buf = vec![0; data_bytes as usize];
                let command = Command { tag, kind: Kind::Read, offset_bytes, data_bytes, fua: Fua::Off, buf };
                self.initiator.submit(command).map_err(|_| "the initiator accepts no command".to_owned())?;
                *read = Some((offset_bytes, data_bytes));
            }
            let Some((offset_bytes, data_bytes)) = reads.iter().flatten().min() else {
                return Ok(read_bytes);
            };
            let left = (heard + self.patience).saturating_duration_since(Instant::now());
            if left.is_zero() {
                let (kib, s) = (data_bytes >> 10, self.patience.as_secs());
                return Err(format!("no answer for {s} s to a read of {kib} KiB at offset {offset_bytes}"));
            }
            self.initiator.poll(Some(left), &mut done).map_err(|lost| lost.to_string())?;
            for ended in done.drain(..) {
                let read =
                    usize::try_from(ended.tag).ok().and_then(|tag| reads.get_mut(tag)).and_then(Option::take);
                let Some((offset_bytes, data_bytes)) = read else { continue };
                ended.result.map_err(|error| format!("the read at offset {offset_bytes} failed: {error}"))?;
                heard = Instant::now();
                read_bytes += u64::from(data_bytes);
                self.note(offset_bytes, &ended.buf);
                take(offset_bytes, &ended.buf);
            }
        }
    }
}

/// Splits a place into reads.
fn pieces(offset: u64, bytes: u64) -> impl Iterator<Item = (u64, u32)> {
    (0..bytes).step_by(CHUNK_BYTES as usize).map(move |at| {
        let length = (bytes - at).min(u64::from(CHUNK_BYTES));
        (offset + at, u32::try_from(length).expect("at most a chunk"))
    })
}

/// Returns the number of unmapped bytes among the first `span_bytes`; `None` if the target does not report that.
pub fn unmapped_bytes(
    address: &IscsiAddress,
    credentials: Option<&Credentials>,
    span_bytes: u64,
) -> Result<Option<u64>, OpenError> {
    let mut initiator = Initiator::<Vec<u8>>::connect(config(address, credentials, 4))
        .map_err(|error| OpenError::Lun { lun: address.to_string(), why: error.to_string() })?;
    let block = u64::from(initiator.capacity().block_bytes);
    let end = span_bytes / block;
    let (mut at, mut unmapped) = (0, 0);
    for _ in 0..LBA_STATUS_MAX {
        // Whatever the reason: without an answer the mapping is unknown.
        let Ok(ranges) = initiator.lba_status(at) else { return Ok(None) };
        for range in &ranges {
            let until = range.lba.saturating_add(range.blocks.into()).min(end);
            if until > at {
                unmapped += if range.mapping == Mapping::Mapped { 0 } else { until - at };
                at = until;
            }
        }
        if at >= end {
            return Ok(Some(unmapped * block));
        }
        if ranges.is_empty() {
            break;
        }
    }
    Ok(None)
}

/// Returns the name of an access state.
pub fn access_words(state: AccessState) -> &'static str {
    match state {
        AccessState::Optimized => "optimized",
        AccessState::NonOptimized => "non-optimized",
        AccessState::Standby => "standby",
        AccessState::Unavailable => "unavailable",
        AccessState::Offline => "offline",
        AccessState::Transitioning => "transitioning",
    }
}
