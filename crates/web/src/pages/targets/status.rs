//! The state of every target in a table: what changed, when it was measured last, its faults, and how full it is.

use assay_analysis::trend::{ChangePoint, Trend};
use assay_report::html::escape;
use assay_report::minute;

use super::{Card, link};

/// Returns the table, a row for each target.
pub(super) fn table(cards: &[Card]) -> String {
    let rows: String = cards.iter().map(row).collect();
    format!(
        "<div class=\"scroll\" tabindex=\"0\"><table class=\"states\"><caption>State is the worst \
         of: faults of the last check, the \
         last run against its baseline, the last change of a trend.</caption>\n<thead><tr><th>Target</th><th \
         class=\"w\">State</th><th class=\"w\">Last change</th><th>Last run</th><th>Runs</th><th>Faults</th>\
         <th>Used</th></tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n"
    )
}

fn row(card: &Card) -> String {
    let target = card.target();
    let last = target.runs.first().map_or_else(|| "-".to_owned(), |run| minute(run.row.started_unix_ms));
    let (faults, used) = match &card.checked {
        Some((_, found)) => (
            found.faults.len().to_string(),
            found.used().map_or_else(|| "-".to_owned(), |(share, _)| format!("{:.0} %", share * 100.0)),
        ),
        None => ("not checked".to_owned(), "-".to_owned()),
    };
    let change = last_change(card.trends());
    format!(
        "<tr><td class=\"w\"><a href=\"{}\">{}</a></td><td class=\"w\">{}</td><td class=\"w\">{}</td><td>{last}</td>\
         <td>{}</td><td>{faults}</td><td>{used}</td></tr>\n",
        link(&target.address),
        escape(&target.address),
        state(card, change.as_ref()),
        change.as_ref().map_or_else(|| unchanged(card.trends()).to_owned(), Changed::html),
        target.count
    )
}

/// Says why there is no change: that none was found, or that none could be.
fn unchanged(trends: &[Trend]) -> &'static str {
    match trends.iter().any(Trend::can_show_changes) {
        true => "none found",
        false => "needs ten runs of one load",
    }
}

/// The worst that is known of a target, as a mark with a word.
fn state(card: &Card, change: Option<&Changed<'_>>) -> String {
    let faults = card.checked.as_ref().map_or(0, |(_, found)| found.faults.len());
    let is_worse = card.helds.iter().any(|(_, held)| held.as_ref().is_some_and(|held| held.is_worse()));
    let (class, says) = match change {
        _ if faults > 0 => ("critical", "✖ faults found"),
        _ if is_worse => ("worse", "▼ below its baseline"),
        Some(change) if change.is_worse() => ("worse", "▼ worse than before"),
        Some(_) => ("better", "▲ better than before"),
        None if card.trends().iter().any(Trend::can_show_changes) => ("better", "✔ as before"),
        None => ("", "too few runs to tell"),
    };
    format!("<span class=\"sev {class}\">{says}</span>")
}

/// A change of a figure of a test.
pub(super) struct Changed<'t> {
    trend: &'t Trend,
    figure: &'static str,
    change: &'t ChangePoint,
}

/// Returns the newest change of all trends.
pub(super) fn last_change(trends: &[Trend]) -> Option<Changed<'_>> {
    let of = |trend| {
        let of: &Trend = trend;
        let iops = of.iops_changes.iter().map(move |change| Changed { trend: of, figure: "IOPS", change });
        let p99 = of.p99_changes.iter().map(move |change| Changed { trend: of, figure: "p99", change });
        iops.chain(p99)
    };
    trends.iter().flat_map(of).max_by_key(|changed| changed.change.at_unix_ms)
}

impl Changed<'_> {
    /// Fewer IOPS, or a longer latency.
    pub(super) fn is_worse(&self) -> bool {
        (self.change.ratio < 1.0) == (self.figure == "IOPS")
    }

    fn html(&self) -> String {
        let (class, mark) = if self.is_worse() { ("worse", "▼") } else { ("better", "▲") };
        let name = format!("{} {}", self.trend.test, self.trend.step);
        format!(
            "<span class=\"sev {class}\">{mark} {} {:+.0} %</span> in {} from {} on",
            self.figure,
            (self.change.ratio - 1.0) * 100.0,
            escape(name.trim_end()),
            minute(self.change.at_unix_ms)
        )
    }
}
