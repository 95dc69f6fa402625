//! Documents in XML as elements with their texts and lines. No document types, so no entities beyond the five of the
//! standard.

use roxmltree::{Document, Node};

use crate::{ImportError, complain};

/// How deep elements may lie in each other; DiskSpd's do so seven times.
const DEPTH_MAX: usize = 32;
/// The most nodes of a file: DiskSpd writes about 20 elements for each thread, and one for each bucket of time.
const NODES_MAX: u32 = 8_000_000;

/// An element.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) name: String,
    attributes: Vec<(String, String)>,
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
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns true if an element of that name says `true` or `1`.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        matches!(self.text_of(name), Some("true" | "1"))
    }
}

/// Reads a document: its outermost element.
pub(crate) fn parse(origin: &str, text: &str) -> Result<Element, ImportError> {
    let options = roxmltree::ParsingOptions { nodes_limit: NODES_MAX, ..Default::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| {
        let line = usize::try_from(error.pos().row).unwrap_or(0);
        complain(origin, line, format!("is not XML: {error}"))
    })?;
    // Lines are counted once, on the way through the document.
    let mut lines = Lines { text, at: 0, line: 1 };
    element(origin, document.root_element(), 1, &mut lines)
}

/// The line of a position; positions come in their order.
struct Lines<'t> {
    text: &'t str,
    at: usize,
    line: usize,
}

impl Lines<'_> {
    fn of(&mut self, position: usize) -> usize {
        self.line += self.text.as_bytes()[self.at..position].iter().filter(|byte| **byte == b'\n').count();
        self.at = position;
        self.line
    }
}

fn element(
    origin: &str,
    node: Node<'_, '_>,
    depth: usize,
    lines: &mut Lines<'_>,
) -> Result<Element, ImportError> {
    let line = lines.of(node.range().start);
    if depth > DEPTH_MAX {
        return Err(complain(origin, line, format!("elements are more than {DEPTH_MAX} deep")));
    }
    let text = node.children().filter(Node::is_text).filter_map(|part| part.text()).map(str::trim);
    Ok(Element {
        name: node.tag_name().name().to_owned(),
        attributes: node.attributes().map(|a| (a.name().to_owned(), a.value().to_owned())).collect(),
        text: text.collect(),
        line,
        children: node
            .children()
            .filter(Node::is_element)
            .map(|child| element(origin, child, depth + 1, lines))
            .collect::<Result<_, _>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_texts_and_lines_are_kept() {
        let text = "<?xml version=\"1.0\"?>\n<!-- <x> -->\n<A ab=\"2\" c=\"a > b\" b=\"1\">\n <B>1 &lt; 2</B><B/>\n\
                    <C>\n\
            <D>x</D></C></A>\n";
        let root = parse("f", text).unwrap();
        assert_eq!((root.name.as_str(), root.line, root.all("B").count()), ("A", 3, 2));
        assert_eq!((root.text_of("B"), root.attribute("b")), (Some("1 < 2"), Some("1")));
        assert_eq!((root.attribute("c"), root.child("C").map(|c| c.line)), (Some("a > b"), Some(5)));
        assert_eq!(root.child("C").and_then(|c| c.text_of("D")), Some("x"));
    }

    #[test]
    fn broken_documents_are_refused_with_their_line() {
        let deep = format!("{}{}", "<a>".repeat(100), "</a>".repeat(100));
        for (text, expected) in [
            ("", "f:1: is not XML: "),
            ("<a>", "f:1: is not XML: "),
            ("<a>\n</b>", "f:2: is not XML: "),
            ("<a", "f:1: is not XML: "),
            (&deep, "f:1: elements are more than 32 deep"),
        ] {
            let error = parse("f", text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
