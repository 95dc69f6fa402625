//! The generator behind every seed. Own code on purpose: the same seed must give the same run, data and simulation on
//! every machine and after updates of any library.

/// Returns the next number of SplitMix64 by Steele, Lea and Flood (2014), which turns any counter into well-mixed
/// numbers.
#[inline]
pub fn split_mix(at: &mut u64) -> u64 {
    *at = at.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *at;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_numbers_are_those_of_the_published_generator() {
        let mut at = 1_234_567;
        let numbers = [split_mix(&mut at), split_mix(&mut at), split_mix(&mut at)];
        assert_eq!(
            numbers,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }
}
