//! Quantiles of Student's t.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// With more degrees of freedom than this, the expansion around the normal distribution is exact to six digits, and the
/// inverse of the beta function, which quantiles of t are computed from, is no longer found.
const FREEDOM_MAX: f64 = 200.0;

/// Returns the bound that Student's t exceeds, on either side together, with this probability; of less than one degree
/// of freedom, that of one.
///
/// # Panics
/// For a probability outside of (0, 1).
pub(crate) fn student(probability: f64, freedom: f64) -> f64 {
    let share = 1.0 - probability / 2.0;
    if freedom > FREEDOM_MAX {
        let z = Normal::standard().inverse_cdf(share);
        // Abramowitz and Stegun, 26.7.5.
        return z
            + (z.powi(3) + z) / (4.0 * freedom)
            + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * freedom.powi(2));
    }
    let t = StudentsT::new(0.0, 1.0, freedom.max(1.0)).expect("a positive number of degrees of freedom");
    t.inverse_cdf(share)
}

/// Returns the bound of two-sided 95 %.
pub fn student_95(freedom: f64) -> f64 {
    student(0.05, freedom)
}

/// Returns the probability that Student's t lies above a bound, on that side alone; of less than one degree of freedom,
/// that of one.
///
/// # Panics
/// For degrees of freedom that are no number.
pub fn student_above(bound: f64, freedom: f64) -> f64 {
    let t = StudentsT::new(0.0, 1.0, freedom.max(1.0)).expect("a positive number of degrees of freedom");
    t.sf(bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn students_t_is_the_table_and_runs_into_the_normal() {
        for (freedom, expected) in [(1.0, 12.706), (2.0, 4.303), (10.0, 2.228), (30.0, 2.042), (60.0, 2.000)]
        {
            assert!((student_95(freedom) - expected).abs() < 5e-4, "{freedom}: {}", student_95(freedom));
        }
        assert!((student_95(1e9) - 1.96).abs() < 1e-3 && student_95(f64::INFINITY) < 1.97);
        let (below, above) = (student_95(FREEDOM_MAX), student_95(FREEDOM_MAX + 1e-9));
        assert!((below - above).abs() < 1e-6, "{below} {above}");
        assert!(student_95(2.5) < 4.303 && student_95(2.5) > 3.182 && student_95(0.2) < 12.71);
        // Tables of small probabilities.
        assert!((student(0.001, 10.0) - 4.587).abs() < 1e-3 && (student(1e-5, 20.0) - 5.837).abs() < 0.02);
    }

    #[test]
    fn what_lies_above_a_bound_is_what_the_quantile_leaves() {
        for (share, freedom) in [(0.025, 1.0), (0.025, 10.0), (5e-6, 20.0)] {
            let above = student_above(student(2.0 * share, freedom), freedom);
            assert!((above / share - 1.0).abs() < 0.01, "{share} {freedom}: {above}");
        }
        assert!(student_above(20.0, 3.0) > 1e-4 && student_above(20.0, 120.0) < 1e-30);
    }
}
