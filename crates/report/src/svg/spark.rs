//! A line the size of a word, for rows of lists.

use super::escape;

const WIDTH: f64 = 120.0;
const HEIGHT: f64 = 28.0;
/// Room for the width of the line.
const EDGE: f64 = 2.0;

/// Draws shares of the highest value over time, each in [0, 1]; nothing for fewer than two.
pub fn spark(name: &str, shares: &[f32]) -> String {
    if shares.len() < 2 {
        return String::new();
    }
    let step = (WIDTH - 2.0 * EDGE) / (shares.len() - 1) as f64;
    let at = |(index, share): (usize, &f32)| {
        let y = HEIGHT - EDGE - f64::from(*share).clamp(0.0, 1.0) * (HEIGHT - 2.0 * EDGE);
        format!("{:.1},{y:.1}", EDGE + index as f64 * step)
    };
    let points: Vec<String> = shares.iter().enumerate().map(at).collect();
    format!(
        "<svg class=\"spark\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\"><line class=\"g\" \
         x1=\"0\" y1=\"{1}\" x2=\"{WIDTH}\" y2=\"{1}\"/><g class=\"s0\"><polyline points=\"{2}\"/></g></svg>",
        escape(name),
        HEIGHT - EDGE / 2.0,
        points.join(" ")
    )
}
