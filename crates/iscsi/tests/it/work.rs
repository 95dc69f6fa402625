//! Workload for an initiator: stamped blocks, written and read back with many commands in flight.

use std::time::{Duration, Instant};

use assay_iscsi::scsi::cdb::Fua;
use assay_iscsi::{Command, Completion, Initiator, Kind};

pub type Buffer = Vec<u8>;

/// The content of a block: its number and generation in every eight bytes.
pub fn stamp(buffer: &mut [u8], block: u64, generation: u64) {
    for (at, word) in buffer.chunks_exact_mut(8).enumerate() {
        word.copy_from_slice(&(block << 32 ^ generation << 16 ^ at as u64).to_le_bytes());
    }
}

pub fn command(kind: Kind, tag: u64, block: u64, buf: Buffer) -> Command<Buffer> {
    let data_bytes = u32::try_from(buf.len()).unwrap();
    Command { tag, kind, offset_bytes: block * buf.len() as u64, data_bytes, fua: Fua::Off, buf }
}

/// Runs one pass over blocks `0..blocks` with `depth` commands in flight; `before` prepares each buffer, `after` checks
/// it.
pub fn pass(
    initiator: &mut Initiator<Buffer>,
    kind: Kind,
    blocks: u64,
    block_bytes: usize,
    depth: usize,
    before: impl Fn(u64, &mut Buffer),
    mut after: impl FnMut(u64, &Completion<Buffer>),
) {
    let mut free: Vec<Buffer> = (0..depth).map(|_| vec![0xee; block_bytes]).collect();
    let mut done = Vec::new();
    let (mut next, mut ended) = (0, 0);
    let deadline = Instant::now() + Duration::from_secs(90);
    while ended < blocks {
        assert!(
            Instant::now() < deadline,
            "{ended} of {blocks} ended, {} outstanding",
            initiator.outstanding()
        );
        while next < blocks
            && let Some(mut buf) = free.pop()
        {
            before(next, &mut buf);
            initiator.submit(command(kind, next, next, buf)).expect("depth was set to fit");
            next += 1;
        }
        initiator.poll(Some(Duration::from_secs(1)), &mut done).unwrap();
        for completion in done.drain(..) {
            after(completion.tag, &completion);
            free.push(completion.buf);
            ended += 1;
        }
    }
    assert_eq!(free.len(), depth, "every buffer came back");
    assert_eq!(initiator.outstanding(), 0);
}

/// Writes `blocks` stamped blocks and reads them back; panics at the first wrong byte.
pub fn write_and_verify(
    initiator: &mut Initiator<Buffer>,
    blocks: u64,
    block_bytes: usize,
    depth: usize,
    generation: u64,
) {
    let write = |block, buf: &mut Buffer| stamp(buf, block, generation);
    pass(initiator, Kind::Write, blocks, block_bytes, depth, write, |block, completion| {
        assert_eq!(completion.result, Ok(block_bytes as u32), "write of block {block}");
    });
    verify(initiator, blocks, block_bytes, depth, generation);
}

pub fn verify(
    initiator: &mut Initiator<Buffer>,
    blocks: u64,
    block_bytes: usize,
    depth: usize,
    generation: u64,
) {
    let mut expected = vec![0; block_bytes];
    pass(
        initiator,
        Kind::Read,
        blocks,
        block_bytes,
        depth,
        |_, buf| buf.fill(0xee),
        |block, completion| {
            assert_eq!(completion.result, Ok(block_bytes as u32), "read of block {block}");
            stamp(&mut expected, block, generation);
            assert!(completion.buf == expected, "block {block} has wrong bytes");
        },
    );
}
