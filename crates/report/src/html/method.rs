//! The document of all methods, docs/method.md, as a page, and what it says of a rule beside a finding.
//!
//! The document is the one place where conditions and formulas are written down; pages show its text.

use std::sync::LazyLock;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd, html::push_html};

const METHOD: &str = include_str!("../../../../docs/method.md");

/// Returns the document as a part of a page, with an anchor for each heading and, `rule-NAME`, for each rule.
pub fn document() -> &'static str {
    static DOCUMENT: LazyLock<String> = LazyLock::new(|| with_rule_anchors(&rendered(METHOD)));
    &DOCUMENT
}

/// Returns when a rule fires, as HTML without links; `None` for a name that the document does not list.
pub(super) fn condition(rule: &str) -> Option<String> {
    let mut title = "";
    for line in METHOD.lines() {
        let mut cells = line.strip_prefix('|').unwrap_or_default().split('|').map(str::trim);
        let (Some(name), Some(says)) = (cells.next(), cells.next()) else { continue };
        match name {
            "rule" | "warning" => title = says,
            // The line under the titles.
            line if line.starts_with("---") => {}
            name if name == rule && !title.is_empty() => {
                let mut letters = title.chars();
                let first = letters.next().map_or(' ', |letter| letter.to_ascii_uppercase());
                return Some(format!("{first}{}: {}.", letters.as_str(), inline(says)));
            }
            _ => {}
        }
    }
    None
}

/// Returns a sentence without the paragraph around it. Its links lead to other places of the document, which a report
/// does not contain.
fn inline(markdown: &str) -> String {
    let is_kept = |event: &Event<'_>| {
        !matches!(
            event,
            Event::Start(Tag::Link { .. } | Tag::Paragraph) | Event::End(TagEnd::Link | TagEnd::Paragraph)
        )
    };
    let mut html = String::new();
    push_html(&mut html, Parser::new(markdown).filter(is_kept));
    html.trim().to_owned()
}

fn rendered(markdown: &str) -> String {
    let mut events: Vec<Event<'_>> = Parser::new_ext(markdown, Options::ENABLE_TABLES).collect();
    let names: Vec<String> = (0..events.len()).map(|index| heading_at(&events[index..])).collect();
    // Links of a link to a file that no page has end where they began: their text stays.
    let mut is_left_out = false;
    for (event, name) in events.iter_mut().zip(names) {
        match event {
            Event::Start(Tag::Heading { level, id, .. }) => {
                *id = Some(slug(&name).into());
                *level = lower(*level);
            }
            Event::End(TagEnd::Heading(level)) => *level = lower(*level),
            Event::Start(Tag::Link { dest_url, .. }) if is_elsewhere(dest_url) => {
                is_left_out = true;
                *event = Event::Text("".into());
            }
            Event::End(TagEnd::Link) if is_left_out => {
                is_left_out = false;
                *event = Event::Text("".into());
            }
            _ => {}
        }
    }
    let mut html = String::new();
    push_html(&mut html, events.into_iter());
    html.replace("<table>", "<div class=\"scroll\" tabindex=\"0\"><table>")
        .replace("</table>", "</table></div>")
        .replace("<pre>", "<pre tabindex=\"0\">")
}

fn is_elsewhere(address: &str) -> bool {
    !address.starts_with('#')
}

/// Returns the text of a heading that begins here; empty where none does.
fn heading_at(events: &[Event<'_>]) -> String {
    if !matches!(events.first(), Some(Event::Start(Tag::Heading { .. }))) {
        return String::new();
    }
    let inside = events.iter().skip(1).take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))));
    let words = inside.filter_map(|event| match event {
        Event::Text(text) | Event::Code(text) => Some(text.as_ref()),
        _ => None,
    });
    words.collect()
}

/// Returns the anchor that links of the document use for a heading.
fn slug(name: &str) -> String {
    let letter = |c: char| match c {
        ' ' => Some('-'),
        c if c.is_alphanumeric() || c == '-' => Some(c.to_ascii_lowercase()),
        _ => None,
    };
    name.chars().filter_map(letter).collect()
}

/// The page has a title of its own, so that each heading is one level lower.
fn lower(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 => HeadingLevel::H2,
        HeadingLevel::H2 => HeadingLevel::H3,
        _ => HeadingLevel::H4,
    }
}

/// Gives each row of a table that begins with the name of a rule an anchor.
fn with_rule_anchors(html: &str) -> String {
    const ROW: &str = "<tr><td>";
    let mut parts = html.split(ROW);
    let mut text = parts.next().unwrap_or_default().to_owned();
    let mut known: Vec<&str> = Vec::new();
    for part in parts {
        let name = part.split("</td>").next().unwrap_or_default();
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        if is_name && !known.contains(&name) {
            known.push(name);
            text.push_str(&format!("<tr id=\"rule-{name}\"><td>{part}"));
        } else {
            text.push_str(&format!("{ROW}{part}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_has_an_anchor_for_each_link_and_each_rule() {
        let document = document();
        for link in document.split("href=\"#").skip(1) {
            let anchor = link.split('"').next().unwrap();
            assert!(document.contains(&format!("id=\"{anchor}\"")), "{anchor}");
        }
        for rule in ["errors", "drained-queue", "unknown-content"] {
            assert_eq!(document.matches(&format!("id=\"rule-{rule}\"")).count(), 1, "{rule}");
        }
        assert!(!document.contains("<h1") && document.contains("<h3 id=\"latency\">"));
        assert!(!document.contains(".md\""), "no link to a file that is not served");
    }

    #[test]
    fn a_rule_has_its_condition_and_an_unknown_name_has_none() {
        let says = condition("errors").unwrap();
        assert!(says.starts_with("Fires when: an I/O or a flush failed"), "{says}");
        assert!(condition("goal-missed").is_some_and(|says| !says.contains("<a") && says.ends_with(").")));
        assert!(condition("psync-fallback").unwrap().starts_with("Given when: io_uring"));
        assert_eq!((condition("no-such-rule"), condition("---"), condition("rule")), (None, None, None));
    }
}
