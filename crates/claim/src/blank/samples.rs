//! Positions of samples on a target: evenly spread, so that nothing large is missed, and in rounds, each over the whole
//! target and finer than the one before, so that a slow target is still sampled from end to end.

use assay_target::rng::derive;

/// Size of a sample, bytes: as cheap as a smaller one on a disk that has to seek to it.
const SAMPLE_BYTES: u64 = 32 << 10;
/// Number of samples of a device or LUN, and of a file with a valid mark.
const DEVICE_SAMPLES: u64 = 1024;
const FILE_SAMPLES: u64 = 128;
/// Alignment of samples, bytes: a block of any device.
const GRAIN_BYTES: u64 = 4096;

/// Number of samples read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breadth {
    /// For a device or LUN, where only the content shows its owner.
    Device,
    /// For a file with Assay's mark.
    MarkedFile,
}

/// Returns the samples of a target of `size_bytes` in three rounds of a quarter, a quarter and a half of them. Each is
/// an offset and a length, bytes, ascending in its round.
///
/// Every second sample is at a fixed fraction of the target, because file systems divide a disk into equal parts and
/// start each with a superblock. The others are at random positions in their part, so that periodic structures are
/// found as well.
pub(crate) fn samples(size_bytes: u64, breadth: Breadth) -> [Vec<(u64, u64)>; 3] {
    let most = match breadth {
        Breadth::Device => DEVICE_SAMPLES,
        Breadth::MarkedFile => FILE_SAMPLES,
    };
    let count = most.min(size_bytes.div_ceil(SAMPLE_BYTES));
    let mut rounds = [Vec::new(), Vec::new(), Vec::new()];
    for index in 0..count {
        let at = start(size_bytes, count, index);
        let bytes = SAMPLE_BYTES.min(size_bytes - at);
        let round = match index % 4 {
            0 => 0,
            2 => 1,
            _ => 2,
        };
        rounds[round].push((at, bytes));
    }
    rounds
}

fn start(size_bytes: u64, count: u64, index: u64) -> u64 {
    let share = |index: u64| {
        let at = u128::from(size_bytes) * u128::from(index) / u128::from(count);
        u64::try_from(at).expect("at most the size") / GRAIN_BYTES * GRAIN_BYTES
    };
    let (from, until) = (share(index), share(index + 1));
    let room = until.saturating_sub(from + SAMPLE_BYTES) / GRAIN_BYTES;
    let shift = if index % 2 == 1 && room > 0 { derive(size_bytes, &[index]) % (room + 1) } else { 0 };
    from + shift * GRAIN_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_lie_on_the_target_in_order_and_leave_no_large_gap() {
        for size_bytes in [512, 4096, 40_000, 1 << 20, (20 << 20) + 512, 64 << 20, 1 << 40, 1 << 60] {
            let rounds = samples(size_bytes, Breadth::Device);
            for round in &rounds {
                assert!(
                    round.is_sorted()
                        && round.iter().all(|(at, bytes)| {
                            at % GRAIN_BYTES == 0 && *bytes > 0 && at + bytes <= size_bytes
                        })
                );
            }
            let mut all = rounds.concat();
            all.sort_unstable();
            let gaps = all.windows(2).map(|pair| pair[1].0.saturating_sub(pair[0].0 + pair[0].1));
            assert!(gaps.max().unwrap_or(0) <= size_bytes / 512, "{size_bytes}");
            assert!(all.len() <= 1024 && all[0].0 == 0);
        }
    }

    #[test]
    fn a_small_target_is_read_completely() {
        let size_bytes = 24 << 20;
        let bytes: u64 = samples(size_bytes, Breadth::Device).concat().iter().map(|(_, bytes)| bytes).sum();
        assert_eq!(bytes, size_bytes);
    }

    #[test]
    fn quarters_of_the_disk_are_sampled_where_they_begin() {
        let size_bytes: u64 = 1 << 40;
        let first = &samples(size_bytes, Breadth::Device)[0];
        assert!((0..4).all(|part| first.contains(&(size_bytes / 4 * part, SAMPLE_BYTES))));
    }
}
