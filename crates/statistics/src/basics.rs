//! Mean, median, deviation, and how much neighbours depend on each other.

/// Mean of the values; 0 without any.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / (values.len() as f64).max(1.0)
}

/// The value in the middle of the sorted ones; 0 without any.
pub fn median(values: &[f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let mut parted = values.to_vec();
    let middle = parted.len() / 2;
    // Sorting all of them takes several times as long, and searches for changes ask for thousands of medians.
    let (below, upper, _) = parted.select_nth_unstable_by(middle, f64::total_cmp);
    match below.iter().copied().max_by(f64::total_cmp) {
        Some(lower) if values.len().is_multiple_of(2) => f64::midpoint(lower, *upper),
        _ => *upper,
    }
}

/// Standard deviation (n - 1); 0 for fewer than two.
pub fn deviation(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let mean = mean(values);
    (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64).sqrt()
}

/// 1 + 2 x the sum of autocorrelations until the first that is not positive (Geyer's rule, by single lags).
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
pub fn geometric_mean(values: &[f64]) -> f64 {
    if let [one] = values {
        return *one;
    }
    if values.iter().any(|v| *v <= 0.0) {
        return mean(values);
    }
    mean(&values.iter().map(|v| v.ln()).collect::<Vec<_>>()).exp()
}
