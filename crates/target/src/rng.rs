//! Seeds and random bytes, the same on every machine, so that a run can be reproduced.

use assay_spec::random::split_mix;

/// Multipliers of SplitMix64, which mix all bits upwards.
const MIX: [u64; 3] = [0xBF58_476D_1CE4_E5B9, 0x94D0_49BB_1331_11EB, 0x9E37_79B9_7F4A_7C15];

/// Returns the required last word of a line of random data, by which Assay recognises what it has written.
#[inline]
pub fn seal(line: &[u64; 8]) -> u64 {
    let [a, b, c] = [line[1] ^ line[2], line[3] ^ line[4], line[5] ^ line[6]];
    let mixed = (a.wrapping_mul(MIX[0]) ^ b.rotate_left(29)).wrapping_add(c ^ MIX[2]);
    let mixed = (mixed ^ (mixed >> 31)).wrapping_mul(MIX[1]);
    line[0] ^ mixed ^ (mixed >> 32)
}

/// Returns a separate seed for each part of a run, from the run's seed and the part's indices.
pub fn derive(seed: u64, parts: &[u64]) -> u64 {
    let mut at = seed;
    for part in parts {
        at = split_mix(&mut at) ^ part;
    }
    split_mix(&mut at)
}

/// Random bytes in bulk: eight parallel xoroshiro128+ streams, which compilers turn into vector code. The last of eight
/// numbers is a checksum of the others, by which Assay recognises its own data.
#[derive(Debug, Clone)]
pub struct BulkRng {
    a: [u64; 8],
    b: [u64; 8],
}

impl BulkRng {
    /// Returns the streams of this seed.
    pub fn new(seed: u64) -> Self {
        let mut at = seed;
        Self {
            a: std::array::from_fn(|_| split_mix(&mut at)),
            b: std::array::from_fn(|_| split_mix(&mut at)),
        }
    }

    #[inline]
    fn next(&mut self) -> [u64; 8] {
        let mut out = [0; 8];
        for (i, out) in out.iter_mut().enumerate() {
            let (a, mut b) = (self.a[i], self.b[i]);
            *out = a.wrapping_add(b);
            b ^= a;
            self.a[i] = a.rotate_left(24) ^ b ^ (b << 16);
            self.b[i] = b.rotate_left(37);
        }
        out[7] = seal(&out);
        out
    }

    /// Fills `bytes` with numbers that never repeat in practice.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        let mut chunks = bytes.chunks_exact_mut(64);
        for chunk in &mut chunks {
            let numbers = self.next();
            for (eight, number) in chunk.chunks_exact_mut(8).zip(numbers) {
                eight.copy_from_slice(&number.to_le_bytes());
            }
        }
        let rest = chunks.into_remainder();
        if !rest.is_empty() {
            let numbers = self.next();
            for (byte, from) in rest.iter_mut().zip(numbers.iter().flat_map(|n| n.to_le_bytes())) {
                *byte = from;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bulk_bytes_are_even_and_do_not_compress() {
        let mut bytes = vec![0; (1 << 20) + 13];
        BulkRng::new(3).fill(&mut bytes);
        let mut counts = [0_u32; 256];
        bytes.iter().for_each(|b| counts[usize::from(*b)] += 1);
        let expected = bytes.len() as f64 / 256.0;
        let chi: f64 = counts.iter().map(|c| (f64::from(*c) - expected).powi(2) / expected).sum();
        assert!(chi < 330.5, "{chi}");
        assert_ne!(bytes[..4096], bytes[4096..8192]);
    }

    #[test]
    fn seeds_of_parts_differ() {
        let seeds: std::collections::HashSet<u64> =
            (0..100).flat_map(|a| (0..100).map(move |b| derive(1, &[a, b]))).collect();
        assert_eq!(seeds.len(), 10_000);
    }
}
