//! How a text becomes another one that differs in few places: a chart that goes on by a second, the figures of another
//! second. Viewers are sent that in place of the text.

use serde_json::Value;

/// A part of a text in place of another one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Edit<'t> {
    /// What stays before it, behind the edit before.
    kept: &'t str,
    dropped: &'t str,
    new: &'t str,
}

/// Returns what makes `after` of `before`: the length of `before`, then for each edit how much stays, how much goes and
/// what comes in its place, in the units in which JavaScript counts. Where it is no shorter: `after`.
pub(crate) fn edits(before: &str, after: &str) -> Value {
    let mut sent = vec![Value::from(units(before))];
    for Edit { kept, dropped, new } in edits_of(before, after) {
        sent.extend([units(kept).into(), units(dropped).into(), new.into()]);
    }
    let sent = Value::from(sent);
    if sent.to_string().len() < after.len() { sent } else { after.into() }
}

fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// The edits, line by line where both have as many lines: else all lines between the first and the last that differ are
/// one edit.
fn edits_of<'t>(before: &'t str, after: &'t str) -> Vec<Edit<'t>> {
    let lines = |text: &'t str| text.split_inclusive('\n').collect::<Vec<_>>();
    let (old, new) = (lines(before), lines(after));
    if old.len() != new.len() {
        return vec![edit(before, after)];
    }
    let (mut edits, mut at, mut kept_from) = (Vec::new(), 0, 0);
    for (old, new) in old.into_iter().zip(new) {
        if old != new {
            let of_line = edit(old, new);
            let from = at + of_line.kept.len();
            edits.push(Edit { kept: &before[kept_from..from], ..of_line });
            kept_from = from + of_line.dropped.len();
        }
        at += old.len();
    }
    edits
}

/// The edit of what lies between a common start and a common end.
fn edit<'t>(before: &'t str, after: &'t str) -> Edit<'t> {
    let same = |pairs: &mut dyn Iterator<Item = (char, char)>| -> usize {
        pairs.take_while(|(old, new)| old == new).map(|(old, _)| old.len_utf8()).sum()
    };
    let (kept, old) = before.split_at(same(&mut before.chars().zip(after.chars())));
    let new = &after[kept.len()..];
    let end = same(&mut old.chars().rev().zip(new.chars().rev()));
    Edit { kept, dropped: &old[..old.len() - end], new: &new[..new.len() - end] }
}

#[cfg(test)]
mod tests {
    use assay_analysis::Collector;
    use assay_record::{RunEvent, StepId};
    use assay_report::html::{Live, Span};
    use assay_testkit::synthetic;

    use super::*;

    /// What the page does with it.
    fn edited(before: &str, sent: &Value) -> String {
        let Some([length, edits @ ..]) = sent.as_array().map(Vec::as_slice) else {
            return sent.as_str().expect("a text").to_owned();
        };
        let before: Vec<u16> = before.encode_utf16().collect();
        assert_eq!(length, before.len());
        let (mut text, mut at) = (Vec::new(), 0);
        let count = |value: &Value| usize::try_from(value.as_u64().expect("a count")).expect("it is small");
        for edit in edits.chunks(3) {
            text.extend_from_slice(&before[at..at + count(&edit[0])]);
            text.extend(edit[2].as_str().expect("a text").encode_utf16());
            at += count(&edit[0]) + count(&edit[1]);
        }
        text.extend_from_slice(&before[at..]);
        String::from_utf16(&text).expect("text")
    }

    #[test]
    fn a_chart_that_goes_on_is_sent_as_what_is_new() {
        let chart = |points: &str, to: u32| {
            let body = "<text>service time, µs 𝄞</text>\n".repeat(9);
            format!("<svg data-to=\"{to}\">\n{body}<polyline points=\"{points}\"/>\n<b/>\n</svg>\n")
        };
        let (before, after) = (chart("1,1 2,2", 9), chart("1,1 2,2 3,3", 10));
        let sent = edits(&before, &after);
        assert_eq!(sent.to_string(), format!("[{},14,1,\"10\",325,0,\" 3,3\"]", units(&before)));
        assert_eq!(edited(&before, &sent), after);
    }

    /// Each second of a run was sent with all of its charts: 30 KB a second, packed, for each viewer.
    #[test]
    fn a_second_of_a_run_is_a_small_part_of_its_charts() {
        let plan = "name = \"mixed\"\n[[test]]\nname = \"t\"\nrun = \"420s\"\noutstanding = 4\n\
                    access = [{ size = \"8KiB\", read = 65, random = 60 }]\n";
        let header = synthetic::header(synthetic::plan(plan));
        let mut collector = Collector::new(&header);
        let id = StepId { test: 0, step: 0 };
        let mut drawn: [Vec<String>; 2] = Default::default();
        for event in synthetic::events(&header, synthetic::Target::default()) {
            collector.add(&event);
            let is_second = matches!(event.what, RunEvent::Interval(_));
            let step = collector.step_so_far(id).filter(|step| is_second && step.seconds > 340.0);
            let Some(step) = step.filter(|step| step.seconds < 400.0) else { continue };
            let summary = collector.summary();
            let live = Live { summary: &summary, step: Some(&step), references: &[] };
            for (drawn, span) in drawn.iter_mut().zip([Span::Last, Span::Whole]) {
                drawn.push(live.charts(&header, span));
            }
        }
        for drawn in drawn {
            let sent = drawn.windows(2).map(|pair| (edits(&pair[0], &pair[1]), &pair[1]));
            let (sizes, whole): (Vec<usize>, Vec<usize>) =
                sent.map(|(sent, after)| (sent.to_string().len(), after.len())).unzip();
            assert!(sizes.len() > 50 && whole[0] > 10_000, "{} charts of {}", sizes.len(), whole[0]);
            // The axis moves on every 30 s.
            let moves = sizes.iter().zip(&whole).filter(|(size, whole)| *size * 10 > **whole).count();
            assert!(moves <= 3, "{sizes:?} of {}", whole[0]);
        }
    }

    #[test]
    fn what_edits_make_is_the_text_and_they_are_never_longer() {
        let texts =
            ["", "a", "aa\n", "µa\nb\n", "µ𝄞a\nb\n", "a\nb\nc\n".repeat(20).as_str(), "aba", "ab\nba\nab"]
                .map(str::to_owned);
        for before in &texts {
            for after in &texts {
                let sent = edits(before, after);
                assert_eq!(&edited(before, &sent), after, "{before:?}: {sent}");
                assert!(sent.to_string().len() <= Value::from(after.as_str()).to_string().len(), "{sent}");
            }
        }
    }
}
