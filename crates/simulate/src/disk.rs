//! The reference disk: which version each chunk holds, and the bytes that belong to it.

/// Size of a block, bytes.
pub(crate) const BLOCK_BYTES: usize = 512;
/// Blocks of a chunk, which every I/O of the load covers.
pub(crate) const CHUNK_BLOCKS: usize = 3;
/// Bytes of a chunk.
pub(crate) const CHUNK_BYTES: usize = BLOCK_BYTES * CHUNK_BLOCKS;
/// Chunks of a disk.
pub(crate) const CHUNKS: usize = 1000;

/// The versions of all chunks; 0 is never written.
#[derive(Debug, Clone)]
pub(crate) struct Disk([u32; CHUNKS]);

impl Disk {
    pub(crate) fn new() -> Self {
        Self([0; CHUNKS])
    }

    pub(crate) fn set(&mut self, chunk: usize, version: u32) {
        self.0[chunk] = version;
    }

    /// Returns the bytes of some blocks.
    pub(crate) fn blocks(&self, lba: usize, count: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(count * BLOCK_BYTES);
        for block in lba..lba + count {
            let chunk = block / CHUNK_BLOCKS;
            let mut whole = [0; CHUNK_BYTES];
            let version = self.0.get(chunk).copied().unwrap_or(0);
            fill(&mut whole, chunk, version);
            let at = block % CHUNK_BLOCKS * BLOCK_BYTES;
            bytes.extend_from_slice(&whole[at..at + BLOCK_BYTES]);
        }
        bytes
    }
}

/// Fills a buffer with the bytes of a version of a chunk.
pub(crate) fn fill(bytes: &mut [u8], chunk: usize, version: u32) {
    let head = if version == 0 { 0 } else { u64::from(version) << 32 | (chunk as u64) << 16 | 1 << 15 };
    for (at, word) in bytes.chunks_exact_mut(8).enumerate() {
        let word_at = if head == 0 { 0 } else { at as u64 };
        word.copy_from_slice(&(head | word_at).to_le_bytes());
    }
}

/// Returns the version whose bytes these are; `None` if they are not those of one version of this chunk.
pub(crate) fn version_of(bytes: &[u8], chunk: usize) -> Option<u32> {
    let first = u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?);
    let version = u32::try_from(first >> 32).ok()?;
    let mut expected = [0; CHUNK_BYTES];
    fill(&mut expected, chunk, version);
    (expected.get(..bytes.len())? == bytes).then_some(version)
}
