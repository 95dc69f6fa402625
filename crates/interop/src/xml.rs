//! As much XML as DiskSpd writes: elements, attributes, text, comments. No entities beyond the five of
//! the standard, no name spaces, no document types.

use crate::{ImportError, complain};

/// How deep elements may lie in each other; DiskSpd's do so seven times.
const DEPTH_MAX: usize = 32;
/// The most elements of a file: DiskSpd writes about 20 for each thread, and one for each bucket of time.
const ELEMENTS_MAX: usize = 2_000_000;

/// An element.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) name: String,
    /// What stands behind the name in its tag.
    attributes: String,
    /// Text directly inside, trimmed.
    pub(crate) text: String,
    pub(crate) children: Vec<Element>,
    /// Line of the file, from 1.
    pub(crate) line: usize,
}

impl Element {
    /// Returns the first element of that name directly inside.
    pub(crate) fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    /// Returns all elements of that name directly inside.
    pub(crate) fn all<'e>(&'e self, name: &'e str) -> impl Iterator<Item = &'e Self> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// Returns the text of the first element of that name directly inside.
    pub(crate) fn text_of(&self, name: &str) -> Option<&str> {
        self.child(name).map(|child| child.text.as_str()).filter(|text| !text.is_empty())
    }

    /// Returns the value of an attribute.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        let behind = self.attributes.split(&format!("{name}=\"")).nth(1)?;
        behind.split('"').next()
    }

    /// Returns true if an element of that name says `true` or `1`.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        matches!(self.text_of(name), Some("true" | "1"))
    }
}

/// Reads a document: its outermost element.
pub(crate) fn parse(origin: &str, text: &str) -> Result<Element, ImportError> {
    let mut open: Vec<Element> = vec![Element::default()];
    let (mut at, mut count) = (0, 0);
    let (mut line, mut counted_to) = (1, 0);
    while let Some(start) = text[at..].find('<').map(|found| at + found) {
        line += text[counted_to..start].bytes().filter(|byte| *byte == b'\n').count();
        counted_to = start;
        put_text(&mut open, &text[at..start]);
        let rest = &text[start..];
        let (skipped, ending) = match () {
            () if rest.starts_with("<!--") => (4, "-->"),
            () if rest.starts_with("<?") => (2, "?>"),
            () => (1, ">"),
        };
        let Some(length) = rest[skipped..].find(ending) else {
            return Err(complain(origin, line, "the XML ends within a tag"));
        };
        let tag = &rest[skipped..skipped + length];
        at = start + skipped + length + ending.len();
        if ending != ">" || tag.starts_with('!') {
            continue;
        }
        count += 1;
        if count > ELEMENTS_MAX {
            return Err(complain(origin, line, format!("has more than {ELEMENTS_MAX} elements")));
        }
        match tag.strip_prefix('/') {
            Some(name) => close(origin, line, name.trim(), &mut open)?,
            None => {
                // A blank in front of the name is not XML, and no reason to cut a character in two.
                let body = tag.trim_end_matches('/').trim_start();
                let name = body.split_whitespace().next().unwrap_or_default();
                if open.len() > DEPTH_MAX {
                    return Err(complain(origin, line, format!("elements are more than {DEPTH_MAX} deep")));
                }
                let attributes = body[name.len()..].to_owned();
                open.push(Element { name: name.to_owned(), attributes, line, ..Element::default() });
                if tag.ends_with('/') {
                    close(origin, line, name, &mut open)?;
                }
            }
        }
    }
    match (open.len(), open.pop()) {
        (1, Some(mut document)) if !document.children.is_empty() => Ok(document.children.swap_remove(0)),
        (1, _) => Err(complain(origin, 0, "contains no XML element")),
        (_, last) => {
            let name = last.map(|element| element.name).unwrap_or_default();
            Err(complain(origin, line, format!("the XML ends before </{}>", short(&name))))
        }
    }
}

fn close(origin: &str, line: usize, name: &str, open: &mut Vec<Element>) -> Result<(), ImportError> {
    match (open.pop(), open.last_mut()) {
        (Some(element), Some(parent)) if element.name == name => {
            parent.children.push(element);
            Ok(())
        }
        _ => Err(complain(origin, line, format!("</{}> closes what is not open", short(name)))),
    }
}

fn put_text(open: &mut [Element], text: &str) {
    let text = text.trim();
    if let (false, Some(element)) = (text.is_empty(), open.last_mut()) {
        element.text.push_str(&unescaped(text));
    }
}

fn unescaped(text: &str) -> String {
    let named = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    named.into_iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

fn short(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_texts_and_lines_are_kept() {
        let text = "<?xml version=\"1.0\"?>\n<!-- <x> -->\n<A b=\"1\">\n <B>1 &lt; 2</B><B/>\n<C>\n<D>x</D></C></A>\n";
        let root = parse("f", text).unwrap();
        assert_eq!((root.name.as_str(), root.line, root.all("B").count()), ("A", 3, 2));
        assert_eq!((root.text_of("B"), root.attribute("b")), (Some("1 < 2"), Some("1")));
        assert_eq!(root.child("C").and_then(|c| c.text_of("D")), Some("x"));
    }

    #[test]
    fn broken_documents_are_refused_with_their_line() {
        let deep = "<a>".repeat(100);
        for (text, expected) in [
            ("", "f: contains no XML element"),
            ("<a>", "f:1: the XML ends before </a>"),
            ("<a>\n</b>", "f:2: </b> closes what is not open"),
            ("</a>", "f:1: </a> closes"),
            ("<a", "f:1: the XML ends within a tag"),
            ("<!-- x", "f:1: the XML ends within a tag"),
            ("<\u{a0}\n ahéé\u{a0}éééé>", "f:1: the XML ends before </ahéé>"),
            (&deep, "f:1: elements are more than 32 deep"),
        ] {
            let error = parse("f", text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
