//! The rank test of two samples.

/// Probability that two samples of one distribution are as far apart in rank as these (Mann and Whitney, exact, two
/// sides), and the smallest that samples of these sizes can have.
pub fn rank_test(a: &[f64], b: &[f64]) -> (f64, f64) {
    let below: f64 =
        a.iter().flat_map(|x| b.iter().map(move |y| (x, y))).map(|(x, y)| half_above(*x, *y)).sum();
    let pairs = (a.len() * b.len()) as f64;
    let extreme = below.min(pairs - below);
    let ways = arrangements(a.len(), b.len());
    let all: f64 = ways.iter().sum();
    let as_far: f64 =
        ways.iter().zip(0_u32..).filter(|(_, u)| f64::from(*u) <= extreme).map(|(w, _)| w).sum();
    ((2.0 * as_far / all).min(1.0), (2.0 / all).min(1.0))
}

fn half_above(x: f64, y: f64) -> f64 {
    match x.total_cmp(&y) {
        std::cmp::Ordering::Greater => 1.0,
        std::cmp::Ordering::Equal => 0.5,
        std::cmp::Ordering::Less => 0.0,
    }
}

/// In how many orders of `m` and `n` values each count of pairs in the wrong order comes up.
fn arrangements(m: usize, n: usize) -> Vec<f64> {
    // One row of the recursion w(i, j) = w(i - 1, j) shifted by j + w(i, j - 1) for each i.
    let mut rows: Vec<Vec<f64>> = vec![vec![1.0]; n + 1];
    for i in 1..=m {
        for j in 0..=n {
            let mut ways = vec![0.0; i * j + 1];
            rows[j].iter().enumerate().for_each(|(u, w)| ways[u + j] += w);
            if j > 0 {
                rows[j - 1].iter().enumerate().for_each(|(u, w)| ways[u] += w);
            }
            rows[j] = ways;
        }
    }
    rows.swap_remove(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The smallest probabilities of the published tables: 2 / (6 over 3), 2 / (8 over 4), 2 / (10 over 5).
    #[test]
    fn ranks_tell_samples_apart_as_the_tables_say() {
        let check = |a: &[f64], b: &[f64], p: f64, least: f64| {
            let (found, floor) = rank_test(a, b);
            assert!((found - p).abs() < 1e-9 && (floor - least).abs() < 1e-9, "{found} {floor}");
        };
        check(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0], 0.1, 0.1);
        check(&[4.0, 5.0, 6.0], &[1.0, 2.0, 3.0], 0.1, 0.1);
        check(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0], 2.0 / 70.0, 2.0 / 70.0);
        check(&[1.0, 2.0, 3.0, 5.0], &[4.0, 6.0, 7.0, 8.0], 4.0 / 70.0, 2.0 / 70.0);
        check(&[1.0, 4.0], &[2.0, 3.0], 1.0, 1.0 / 3.0);
        assert_eq!(rank_test(&[1.0; 5], &[1.0; 5]).0, 1.0);
    }
}
