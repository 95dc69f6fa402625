//! What is shown of all running runs at a moment, and which parts are new.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use assay_report::html::Span;
use axum::body::Bytes;
use serde_json::{Map, Value, json};

use crate::edits::edits;
use crate::packed::segment;

/// With more running runs than this, the page of all of them has a small tile for each.
pub(crate) const LARGE_MAX: usize = 2;
/// What a tile does not show; the page of its run does.
const LARGE_ONLY: [&str; 5] = ["links", CHARTS, WHOLE, "table", "odds"];
/// The part that has the charts of the whole time: a viewer is sent them in place of those of the last minutes.
pub(crate) const WHOLE: &str = "whole";
/// The part that has the charts.
pub(crate) const CHARTS: &str = "charts";

/// What is shown of all runs at a moment.
#[derive(Debug, Default)]
pub(crate) struct Frame {
    /// What is shown of each: those that go on, then those that have ended, the newest first.
    pub(crate) runs: Vec<Shown>,
    /// Of all frames, from 0.
    pub(crate) number: u64,
    /// Every part as HTML, by the id of its element.
    parts: BTreeMap<String, Arc<str>>,
    /// Those that differ from the frame before, each as it is sent to who has that frame: where it is new its HTML,
    /// else [`edits`] of what it was.
    changed: BTreeMap<String, Value>,
    /// Whether other runs were shown before, so that a viewer may lack what parts were.
    is_other_list: bool,
    /// Events that were made of it: all viewers of the same are sent the same bytes.
    events: Mutex<HashMap<Wanted, Bytes>>,
}

/// What is shown of a run.
#[derive(Debug, Clone)]
pub(crate) struct Shown {
    pub(crate) run: String,
    /// Its plan, its targets and its host, as they stand in HTML.
    pub(crate) name: String,
    pub(crate) about: String,
    /// Whether it is going on, so that it can be stopped.
    pub(crate) is_running: bool,
    /// Parts that change, by name, as HTML.
    pub(crate) parts: Vec<(&'static str, String)>,
}

/// What a viewer is sent of a frame.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Wanted {
    /// The run that is looked at; `None`: all.
    pub(crate) run: Option<String>,
    pub(crate) extent: Extent,
    /// How much of the time the charts show.
    pub(crate) span: Span,
    pub(crate) is_packed: bool,
}

/// How much of a frame a viewer needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Extent {
    /// Every part: nothing was sent yet, or frames were missed.
    Whole,
    /// What differs from the frame before.
    Changed,
}

impl Frame {
    /// A frame of these runs that follows another one.
    pub(crate) fn after(before: &Self, runs: Vec<Shown>) -> Self {
        let mut parts = BTreeMap::new();
        let mut changed = BTreeMap::new();
        for shown in &runs {
            for (part, html) in &shown.parts {
                let id = format!("{part}-{}", shown.run);
                let known = before.parts.get(&id);
                let same = known.filter(|known| ***known == **html);
                if same.is_none() {
                    let sent = known.map_or_else(|| html.as_str().into(), |known| edits(known, html));
                    changed.insert(id.clone(), sent);
                }
                parts.insert(id, same.map_or_else(|| Arc::from(html.as_str()), Arc::clone));
            }
        }
        let mut frame = Self { runs, number: before.number + 1, parts, changed, ..Self::default() };
        frame.is_other_list = frame.list() != before.list();
        frame
    }

    /// Returns how much a viewer needs who was sent the frame of that number last: who has a slow connection misses
    /// some.
    pub(crate) fn extent_after(&self, sent: Option<u64>) -> Extent {
        let has_all = sent.is_some_and(|sent| sent + 1 == self.number) && !self.is_other_list;
        if has_all { Extent::Changed } else { Extent::Whole }
    }

    /// Returns each run and whether it is going on: a page whose list differs needs new articles.
    pub(crate) fn list(&self) -> Vec<String> {
        self.runs.iter().map(|shown| format!("{} {}", shown.run, shown.is_running)).collect()
    }

    /// Whether each run is a small tile on the page of all.
    pub(crate) fn is_tiled(&self) -> bool {
        self.runs.iter().filter(|shown| shown.is_running).count() > LARGE_MAX
    }

    /// Returns an event for browsers.
    pub(crate) fn event(&self, wanted: &Wanted) -> Bytes {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = events.get(wanted) {
            return made.clone();
        }
        let text = self.text(wanted);
        let made = if wanted.is_packed { segment(text.as_bytes()) } else { text.into() };
        events.insert(wanted.clone(), made.clone());
        made
    }

    fn text(&self, wanted: &Wanted) -> String {
        let is_wanted = |id: &str| match &wanted.run {
            Some(run) => id.strip_suffix(run.as_str()).is_some_and(|part| part.ends_with('-')),
            None => !self.is_tiled() || is_in_tile(id),
        };
        let ids: Vec<&String> = match wanted.extent {
            Extent::Whole => self.parts.keys().collect(),
            Extent::Changed => self.changed.keys().collect(),
        };
        let is_of_other_span = |id: &str| match wanted.span {
            Span::Last => id.starts_with(WHOLE),
            Span::Whole => id.starts_with(CHARTS),
        };
        let ids = ids.into_iter().filter(|id| is_wanted(id) && !is_of_other_span(id));
        // Both have the same place on the page.
        let place =
            |id: &str| id.strip_prefix(WHOLE).map_or_else(|| id.to_owned(), |run| CHARTS.to_owned() + run);
        let sent = |id: &String| match wanted.extent {
            Extent::Whole => Value::from(self.parts[id].as_ref()),
            Extent::Changed => self.changed[id].clone(),
        };
        let parts: Map<String, Value> = ids.map(|id| (place(id), sent(id))).collect();
        format!("data: {}\n\n", json!({ "runs": self.list(), "parts": parts }))
    }
}

/// Whether a tile shows the part with this id.
fn is_in_tile(id: &str) -> bool {
    LARGE_ONLY.iter().all(|part| !id.starts_with(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(run: &str, figures: &str) -> Shown {
        Shown {
            run: run.to_owned(),
            name: String::new(),
            about: String::new(),
            is_running: true,
            parts: vec![("figures", figures.to_owned()), ("charts", "<svg>".to_owned())],
        }
    }

    fn text_of(frame: &Frame, run: Option<&str>, extent: Extent, span: Span) -> String {
        let wanted = Wanted { run: run.map(str::to_owned), extent, span, is_packed: false };
        String::from_utf8(frame.event(&wanted).to_vec()).expect("text")
    }

    fn text(frame: &Frame, run: Option<&str>, extent: Extent) -> String {
        text_of(frame, run, extent, Span::Last)
    }

    #[test]
    fn charts_of_the_whole_time_take_the_place_of_the_others_for_who_asks() {
        let mut both = shown("a", "1");
        both.parts.push((WHOLE, "<svg id=whole>".to_owned()));
        let frame = Frame::after(&Frame::default(), vec![both, shown("b", "1")]);
        let last = text(&frame, None, Extent::Whole);
        assert!(last.contains("\"charts-a\":\"<svg>\"") && !last.contains("whole"), "{last}");
        let whole = text_of(&frame, None, Extent::Whole, Span::Whole);
        assert!(whole.contains("\"charts-a\":\"<svg id=whole>\""), "{whole}");
        assert!(!whole.contains("charts-b") && whole.contains("figures-b"), "not drawn yet: {whole}");
    }

    #[test]
    fn a_viewer_is_sent_what_is_new_of_what_is_looked_at() {
        let first = Frame::after(&Frame::default(), vec![shown("a", "1"), shown("b", "1")]);
        let second = Frame::after(&first, vec![shown("a", "2"), shown("b", "1")]);
        assert_eq!(
            text(&second, None, Extent::Changed),
            "data: {\"runs\":[\"a true\",\"b true\"],\"parts\":{\"figures-a\":\"2\"}}\n\n"
        );
        assert!(text(&second, Some("b"), Extent::Changed).contains("\"parts\":{}"));
        let whole = text(&second, Some("b"), Extent::Whole);
        assert!(
            whole.contains("figures-b") && whole.contains("charts-b") && !whole.contains("-a\""),
            "{whole}"
        );
    }

    #[test]
    fn many_runs_are_tiles_without_charts() {
        let frame = Frame::after(&Frame::default(), ["a", "b", "c"].map(|run| shown(run, "1")).to_vec());
        let all = text(&frame, None, Extent::Whole);
        assert!(all.contains("figures-c") && !all.contains("charts-"), "{all}");
        assert!(text(&frame, Some("c"), Extent::Whole).contains("charts-c"), "its own page has them");
        // Beside two runs that had ended, one that went on lost its charts for five minutes.
        let ended = |run| Shown { is_running: false, ..shown(run, "1") };
        let one = Frame::after(&frame, vec![shown("a", "1"), ended("b"), ended("c")]);
        assert!(text(&one, None, Extent::Whole).contains("charts-a"));
    }
}
