//! What must hold after every event, and the load whose results show it.

use std::collections::BTreeMap;

use assay_iscsi::scsi::cdb::Fua;
use assay_iscsi::{Command, Completion, Kind};

use crate::disk::{BLOCK_BYTES, CHUNK_BLOCKS, CHUNK_BYTES, CHUNKS, fill, version_of};
use crate::random::Random;
use crate::time::{Nanos, SECOND};

/// A chunk as the load knows it.
#[derive(Debug, Clone, Default)]
struct Chunk {
    is_busy: bool,
    /// Version that was acknowledged last.
    acked: u32,
    /// Version that was written last.
    newest: u32,
    /// Versions whose writes have failed since: each may be there.
    failed: Vec<u32>,
    /// Versions of which the core says that the target may execute another copy at any time.
    moved: Vec<u32>,
    /// True once another unit may have answered, and where writes go together: any version may be there.
    is_uncertain: bool,
}

impl Chunk {
    fn may_hold(&self, version: u32) -> bool {
        let is_known = |versions: &[u32]| versions.contains(&version);
        self.is_uncertain || version == self.acked || is_known(&self.failed) || is_known(&self.moved)
    }
}

/// A command of the load.
#[derive(Debug)]
struct Issued {
    kind: Kind,
    chunk: usize,
    version: u32,
    at: Nanos,
}

/// The load: writes with rising versions and reads, one at a time for each chunk, as a verifying run has.
#[derive(Debug)]
pub(crate) struct Load {
    /// Number of chunks that are used: the fewer, the sooner a chunk is written again.
    used: usize,
    /// Number of chunks that are written several times at once: nobody knows what they hold.
    contested: usize,
    chunks: Vec<Chunk>,
    issued: BTreeMap<u64, Issued>,
    next_tag: u64,
    pub(crate) left: u64,
    pub(crate) failed: u64,
    /// Writes that landed after a newer one was acknowledged, as the core had said they might.
    pub(crate) late: u64,
}

impl Load {
    pub(crate) fn new(commands: u64, used: usize, contested: usize) -> Self {
        let mut chunks = vec![Chunk::default(); CHUNKS];
        chunks[..contested].iter_mut().for_each(|chunk| chunk.is_uncertain = true);
        Self {
            used,
            contested,
            chunks,
            issued: BTreeMap::new(),
            next_tag: 0,
            left: commands,
            failed: 0,
            late: 0,
        }
    }

    /// Returns true once several writes were acknowledged, of which one is not soon written again.
    pub(crate) fn has_written(&self) -> bool {
        self.chunks.iter().filter(|chunk| chunk.acked > 0).count() > 30
    }

    pub(crate) fn outstanding(&self) -> usize {
        self.issued.len()
    }

    /// Returns the next command, unless none is left.
    pub(crate) fn next(&mut self, random: &mut Random, now: Nanos) -> Option<Command<Vec<u8>>> {
        let chunk = usize::try_from(random.below(self.used as u64)).expect("below a small number");
        let known = &mut self.chunks[chunk];
        if self.left == 0 || known.is_busy && chunk >= self.contested {
            return None;
        }
        self.left -= 1;
        known.is_busy = true;
        let kind = if random.chance(65) { Kind::Write } else { Kind::Read };
        let mut buf = vec![0xee; CHUNK_BYTES];
        if kind == Kind::Write {
            known.newest += 1;
            fill(&mut buf, chunk, known.newest);
        }
        let tag = self.next_tag;
        self.next_tag += 1;
        self.issued.insert(tag, Issued { kind, chunk, version: known.newest, at: now });
        Some(Command {
            tag,
            kind,
            offset_bytes: (chunk * CHUNK_BLOCKS * BLOCK_BYTES) as u64,
            data_bytes: u32::try_from(CHUNK_BYTES).expect("a few blocks"),
            fua: Fua::Off,
            buf,
        })
    }

    /// Takes back a command that was not accepted.
    pub(crate) fn refused(&mut self, tag: u64) {
        if let Some(issued) = self.issued.remove(&tag) {
            self.chunks[issued.chunk].is_busy = false;
        }
    }

    /// Checks a completion.
    pub(crate) fn completed(&mut self, done: &Completion<Vec<u8>>) -> Result<(), String> {
        let Some(issued) = self.issued.remove(&done.tag) else {
            return Err(format!("command {} completed twice", done.tag));
        };
        let (index, chunk) = (issued.chunk, &mut self.chunks[issued.chunk]);
        chunk.is_busy = false;
        if done.is_moved {
            chunk.moved.push(issued.version);
        }
        match (&done.result, issued.kind) {
            (Err(_), kind) => {
                self.failed += 1;
                chunk.failed.extend((kind == Kind::Write).then_some(issued.version));
            }
            (Ok(_), Kind::Write) => {
                chunk.acked = issued.version;
                chunk.failed.clear();
            }
            (Ok(_), _) => {
                let found = version_of(&done.buf, index);
                if !found.is_some_and(|found| chunk.may_hold(found)) {
                    let acked = chunk.acked;
                    return Err(format!("chunk {index} reads as {found:?}, acknowledged is {acked}"));
                }
            }
        }
        Ok(())
    }

    /// Checks a write that reached the disk.
    pub(crate) fn landed(&mut self, index: usize, version: u32) -> Result<(), String> {
        let chunk = &self.chunks[index];
        if version >= chunk.acked || chunk.is_uncertain {
            return Ok(());
        }
        self.late += 1;
        if !chunk.may_hold(version) {
            let acked = chunk.acked;
            return Err(format!("version {version} of chunk {index} lands after {acked} was acknowledged"));
        }
        Ok(())
    }

    /// Nothing is known any more: another unit has the number.
    pub(crate) fn doubt_all(&mut self) {
        self.chunks.iter_mut().for_each(|chunk| chunk.is_uncertain = true);
    }

    /// Checks that no command is older than its limit.
    pub(crate) fn in_time(&self, limit: Nanos, now: Nanos) -> Result<(), String> {
        match self.issued.iter().find(|(_, issued)| now - issued.at > limit) {
            Some((tag, issued)) => {
                let age = (now - issued.at) as f64 / SECOND as f64;
                Err(format!("command {tag} ({:?}) has not completed after {age:.1} s", issued.kind))
            }
            None => Ok(()),
        }
    }
}
