//! How many I/Os of a second took about how long, packed: a run of hours keeps thousands of them.

use serde::{Deserialize, Serialize};

/// Pairs of a rung and its I/Os, in ascending order of the rung. A pair takes two or three bytes: the step from the
/// rung before and the number, each in groups of seven bits, the lowest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Vec<(i32, u64)>", into = "Vec<(i32, u64)>")]
pub(crate) struct Rungs(Box<[u8]>);

impl From<Vec<(i32, u64)>> for Rungs {
    fn from(pairs: Vec<(i32, u64)>) -> Self {
        let (mut packed, mut last) = (Vec::new(), 0);
        for (rung, count) in pairs {
            // A damaged record may have any order, so that a step goes both ways and around.
            let step = rung.wrapping_sub(last);
            put(&mut packed, u64::from((step << 1 ^ step >> 31).cast_unsigned()));
            put(&mut packed, count);
            last = rung;
        }
        Self(packed.into_boxed_slice())
    }
}

impl From<Rungs> for Vec<(i32, u64)> {
    fn from(rungs: Rungs) -> Self {
        rungs.pairs()
    }
}

impl Rungs {
    /// Returns the pairs.
    pub(crate) fn pairs(&self) -> Vec<(i32, u64)> {
        let (mut pairs, mut rest, mut last) = (Vec::new(), &*self.0, 0_i32);
        while let Some((step, count)) = take(&mut rest).zip(take(&mut rest)) {
            let step = u32::try_from(step).unwrap_or(0);
            last = last.wrapping_add((step >> 1).cast_signed() ^ -(step & 1).cast_signed());
            pairs.push((last, count));
        }
        pairs
    }
}

fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(0x80 | low_bits(value));
        value >>= 7;
    }
    bytes.push(low_bits(value));
}

fn low_bits(value: u64) -> u8 {
    (value & 0x7f) as u8
}

fn take(bytes: &mut &[u8]) -> Option<u64> {
    let (mut value, mut shift) = (0, 0);
    loop {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(value);
        }
        shift += 7;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_come_back_as_they_were_in_few_bytes() {
        let usual: Vec<(i32, u64)> = (60..90).map(|rung| (rung, 100)).collect();
        let odd = vec![(i32::MIN, u64::MAX), (i32::MAX, 0), (-5, 127), (-5, 128), (7, 1 << 63)];
        for pairs in [vec![], usual, odd] {
            let rungs = Rungs::from(pairs.clone());
            assert!(rungs.0.len() <= 3 + pairs.len() * 2 || pairs.len() == 5, "{} bytes", rungs.0.len());
            assert_eq!(rungs.pairs(), pairs);
            let json = serde_json::to_string(&rungs).unwrap();
            assert_eq!(json, serde_json::to_string(&pairs).unwrap());
            assert_eq!(serde_json::from_str::<Rungs>(&json).unwrap(), rungs);
        }
    }
}
