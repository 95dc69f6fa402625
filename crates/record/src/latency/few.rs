//! A distribution that was read and has few distinct times, as a second of a host mostly has: only its buckets that
//! hold something. A coordinator reads thousands a second, and a whole histogram of each would be filled with zeros,
//! walked through and forgotten.

use std::cell::RefCell;

use flate2::{Decompress, FlushDecompress, Status};
use hdrhistogram::Histogram;

use super::{DIGITS, HIGHEST_NS, blank};

/// More buckets than this take as much memory as a whole histogram, and longer to walk through.
const OCCUPIED_MAX: usize = 1024;

/// Buckets of a whole histogram.
const BUCKETS: usize = 4736;
/// Of them, two halves of 2^7 have a width of one; the width of each further half is twice that of the one before.
const HALF_BITS: u32 = 7;

/// First bytes of the stored form, and of what is compressed in it: HdrHistogram's V2.
const COMPRESSED: u32 = 0x1c84_9314;
const PLAIN: u32 = 0x1c84_9313;
/// What stands before the counts.
const HEAD_BYTES: usize = 40;
/// The longest number takes this many bytes.
const NUMBER_BYTES: usize = 9;

/// Buckets that hold something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Few {
    /// The shortest time of each in ascending order, ns, with its count.
    occupied: Vec<(u64, u64)>,
    count: u64,
}

impl Few {
    /// Reads the stored form of a histogram with our bounds; `None` for every other one, and where it holds much.
    pub(super) fn read(stored: &[u8]) -> Option<Self> {
        thread_local! {
            /// What takes longer to make than to use.
            static UNPACKING: RefCell<(Decompress, Vec<u8>)> = RefCell::new((
                Decompress::new(true),
                Vec::with_capacity(HEAD_BYTES + NUMBER_BYTES * BUCKETS),
            ));
        }
        let (compressed, length) = (number(stored, 0)?, number(stored, 4)? as usize);
        let packed = stored.get(8..8 + length).filter(|_| compressed == COMPRESSED)?;
        UNPACKING.with_borrow_mut(|(unpack, plain)| {
            unpack.reset(true);
            plain.clear();
            let status = unpack.decompress_vec(packed, plain, FlushDecompress::Finish).ok()?;
            Self::of(plain).filter(|_| status == Status::StreamEnd)
        })
    }

    fn of(plain: &[u8]) -> Option<Self> {
        let wide = |at| Some(u64::from(number(plain, at)?) << 32 | u64::from(number(plain, at + 4)?));
        let head = [PLAIN, number(plain, 4)?, 0, u32::from(DIGITS)];
        let is_head = (0..4).all(|word| number(plain, word * 4) == Some(head[word]));
        let is_ours = is_head && [wide(16)?, wide(24)?, wide(32)?] == [1, HIGHEST_NS, 1_f64.to_bits()];
        let mut counts = plain.get(HEAD_BYTES..HEAD_BYTES + head[1] as usize).filter(|_| is_ours)?;
        let (mut occupied, mut sum, mut bucket) = (Vec::new(), 0_u64, 0_usize);
        while !counts.is_empty() {
            match signed(&mut counts)? {
                zeros @ ..0 => bucket = bucket.checked_add(usize::try_from(zeros.unsigned_abs()).ok()?)?,
                0 => bucket += 1,
                count => {
                    if bucket == BUCKETS || occupied.len() == OCCUPIED_MAX {
                        return None;
                    }
                    occupied.push((shortest_ns(bucket), count.unsigned_abs()));
                    sum = sum.checked_add(count.unsigned_abs())?;
                    bucket += 1;
                }
            }
            if bucket > BUCKETS {
                return None;
            }
        }
        Some(Self { occupied, count: sum })
    }

    /// Number of times.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Adds them to a histogram with our bounds.
    pub(super) fn add_to(&self, histogram: &mut Histogram<u64>) {
        for (ns, count) in &self.occupied {
            histogram.saturating_record_n(*ns, *count);
        }
    }

    /// The whole histogram.
    pub(super) fn whole(&self) -> Histogram<u64> {
        let mut whole = blank();
        self.add_to(&mut whole);
        whole
    }
}

/// The shortest time of a bucket, ns.
fn shortest_ns(bucket: usize) -> u64 {
    let (half, place) = (bucket >> HALF_BITS, bucket as u64 & ((1 << HALF_BITS) - 1));
    match half {
        0 => place,
        _ => (place + (1 << HALF_BITS)) << (half - 1),
    }
}

/// Reads four bytes.
fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4).and_then(|four| Some(u32::from_be_bytes(four.try_into().ok()?)))
}

/// Takes a number of 1 to 9 bytes: seven bits in each but the ninth, the lowest first, its sign in the very lowest one.
fn signed(bytes: &mut &[u8]) -> Option<i64> {
    let mut value = 0_u64;
    for place in 0..NUMBER_BYTES {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let is_last = place == NUMBER_BYTES - 1;
        value |= u64::from(if is_last { *byte } else { byte & 0x7f }) << (7 * place);
        if is_last || byte & 0x80 == 0 {
            break;
        }
    }
    Some((value >> 1).cast_signed() ^ -((value & 1).cast_signed()))
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use proptest::prelude::*;

    use super::super::{BASE64, encoded};
    use super::*;

    fn read(histogram: &Histogram<u64>) -> Option<Few> {
        Few::read(&BASE64.decode(encoded(histogram)).unwrap())
    }

    #[test]
    fn the_buckets_are_those_of_the_whole_histogram() {
        let mut whole = blank();
        assert_eq!(whole.distinct_values(), BUCKETS);
        for bucket in 0..BUCKETS {
            let ns = shortest_ns(bucket);
            assert_eq!(whole.lowest_equivalent(ns), ns, "{bucket}");
            assert!(bucket == 0 || whole.highest_equivalent(shortest_ns(bucket - 1)) == ns - 1, "{bucket}");
        }
        whole.record_n(HIGHEST_NS, 3).unwrap();
        assert_eq!(read(&whole).unwrap().whole(), whole);
    }

    #[test]
    fn much_and_what_is_not_ours_is_left_to_others() {
        let mut much = blank();
        (0..=OCCUPIED_MAX).for_each(|bucket| much.record(shortest_ns(bucket)).unwrap());
        assert_eq!(read(&much), None);
        let mut finer = Histogram::<u64>::new_with_bounds(1, HIGHEST_NS, 3).unwrap();
        finer.record(7).unwrap();
        assert_eq!(read(&finer), None);
        let mut few = blank();
        few.record(7).unwrap();
        let stored = BASE64.decode(encoded(&few)).unwrap();
        assert_eq!((0..stored.len()).find_map(|end| Few::read(&stored[..end])), None, "cut");
        assert!(Few::read(&stored).is_some());
    }

    /// What stands before so many bytes of counts.
    fn head(counts: usize) -> Vec<u8> {
        let words = [PLAIN, u32::try_from(counts).unwrap(), 0, u32::from(DIGITS)];
        let wide = [1, HIGHEST_NS, 1_f64.to_bits()];
        let words = words.iter().flat_map(|word| word.to_be_bytes());
        words.chain(wide.iter().flat_map(|word| word.to_be_bytes())).collect()
    }

    /// The counts as they are stored: seven bits in a byte, of a ninth all eight.
    fn stored(counts: &[i64]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for count in counts {
            let mut rest = ((count << 1) ^ (count >> 63)).cast_unsigned();
            for place in 1..=NUMBER_BYTES {
                let is_last = place == NUMBER_BYTES || rest < 0x80;
                bytes.push(
                    rest.to_le_bytes()[0] & if place == NUMBER_BYTES { 0xff } else { 0x7f }
                        | u8::from(!is_last) << 7,
                );
                rest >>= 7;
                if is_last {
                    break;
                }
            }
        }
        bytes
    }

    /// Zeros without end made a place that one more could not be added to.
    #[test]
    fn more_zeros_than_there_are_buckets_are_none_of_ours() {
        let of = |counts: &[i64]| {
            let counts = stored(counts);
            Few::of(&[head(counts.len()), counts].concat())
        };
        assert_eq!(of(&[7, -4734, 3]).map(|few| few.count()), Some(10));
        assert_eq!(of(&[7, -4735]).map(|few| few.count()), Some(7));
        assert_eq!([of(&[7, -4736]), of(&[-4736, 7]), of(&[i64::MIN, i64::MIN + 1, 0])], [None, None, None]);
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_was_stored(
            times in proptest::collection::vec((0_u64..=HIGHEST_NS, 1_u64..1 << 50), 0..300)
        ) {
            let mut whole = blank();
            times.iter().for_each(|(ns, count)| whole.record_n(*ns, *count).unwrap());
            let few = read(&whole).unwrap();
            prop_assert_eq!(few.count(), whole.len());
            prop_assert_eq!(few.whole(), whole);
        }

        #[test]
        fn nothing_that_is_read_breaks_it(mut bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Few::read(&bytes);
            let _ = Few::of(&bytes);
            let _ = Few::of(&[head(bytes.len()), bytes.clone()].concat());
            let mut few = blank();
            few.record(9_000_000).unwrap();
            let mut stored = BASE64.decode(encoded(&few)).unwrap();
            for (place, byte) in bytes.drain(..).enumerate() {
                let at = place % stored.len();
                stored[at] ^= byte;
                let _ = Few::read(&stored);
            }
        }
    }
}
