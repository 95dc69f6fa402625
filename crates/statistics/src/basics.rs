//! Mean, median, deviation, and how much neighbours depend on each other.

/// Mean of the values; 0 without any.
#[must_use]
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / (values.len() as f64).max(1.0)
}

/// The value in the middle of the sorted ones; 0 without any.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        even if even % 2 == 0 => f64::midpoint(sorted[middle - 1], sorted[middle]),
        _ => sorted[middle],
    }
}

/// Standard deviation (n - 1); 0 for fewer than two.
#[must_use]
pub fn deviation(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let mean = mean(values);
    (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64).sqrt()
}

/// 1 + 2 x the sum of autocorrelations until the first that is not positive (Geyer's rule, by single lags).
#[must_use]
pub fn correlation_time(values: &[f64]) -> f64 {
    let mean = mean(values);
    let product =
        |lag: usize| -> f64 { values.iter().zip(&values[lag..]).map(|(x, y)| (x - mean) * (y - mean)).sum() };
    let own = product(0);
    if own <= 0.0 {
        return 1.0;
    }
    let lags = (1..values.len() / 2).map(|lag| product(lag) / own).take_while(|rho| *rho > 0.0);
    (1.0 + 2.0 * lags.sum::<f64>()).max(1.0)
}

/// Geometric mean of the values. Zeroes would take everything with them; a mean of them is what is left to say.
#[must_use]
pub fn geometric_mean(values: &[f64]) -> f64 {
    if let [one] = values {
        return *one;
    }
    if values.iter().any(|v| *v <= 0.0) {
        return mean(values);
    }
    mean(&values.iter().map(|v| v.ln()).collect::<Vec<_>>()).exp()
}
