//! Numbers in sentences.

use assay_analysis::whole;

/// Three significant digits.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        v if v >= 1000.0 => whole(value),
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 0.01 => format!("{value:.2}"),
        0.0 => "none".to_owned(),
        _ => format!("{value:.4}"),
    }
}
