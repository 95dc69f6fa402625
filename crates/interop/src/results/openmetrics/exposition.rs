//! The text of OpenMetrics 1.0: families of metrics, each with its samples behind it, and `# EOF`.

use std::fmt::Write as _;

/// What is said of a family before its samples.
#[derive(Debug, Clone, Copy)]
pub(super) struct About {
    /// With its unit at the end, where it has one.
    pub(super) name: &'static str,
    /// Empty where it is none of the units that the format names.
    pub(super) unit: &'static str,
    /// A sentence.
    pub(super) help: &'static str,
}

/// The kinds of family that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Gauge,
    Summary,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Gauge => "gauge",
            Self::Summary => "summary",
        }
    }
}

/// Text that grows by families.
#[derive(Debug, Default)]
pub(super) struct Exposition {
    text: String,
}

impl Exposition {
    /// Begins a family. A family is never begun twice: its samples must stand together.
    pub(super) fn family(&mut self, kind: Kind, about: About) {
        let About { name, unit, help } = about;
        let _ = writeln!(self.text, "# TYPE {name} {}", kind.word());
        if !unit.is_empty() {
            let _ = writeln!(self.text, "# UNIT {name} {unit}");
        }
        let _ = writeln!(self.text, "# HELP {name} {help}");
    }

    /// Adds a sample; one that is not finite has no line, like everything that is not known.
    pub(super) fn sample(&mut self, name: &str, labels: &Labels, value: f64) {
        if value.is_finite() {
            let _ = writeln!(self.text, "{name}{} {value}", labels.braced());
        }
    }

    /// Returns the whole text.
    pub(super) fn end(mut self) -> String {
        self.text.push_str("# EOF\n");
        self.text
    }
}

/// The labels of a sample, escaped.
#[derive(Debug, Clone, Default)]
pub(super) struct Labels(String);

impl Labels {
    /// Returns labels in their order.
    pub(super) fn of(pairs: &[(&str, &str)]) -> Self {
        pairs.iter().fold(Self::default(), |labels, (name, value)| labels.and(name, value))
    }

    /// Returns these labels and one more.
    pub(super) fn and(&self, name: &str, value: &str) -> Self {
        let comma = if self.0.is_empty() { "" } else { "," };
        Self(format!("{}{comma}{name}=\"{}\"", self.0, escaped(value)))
    }

    fn braced(&self) -> String {
        if self.0.is_empty() { String::new() } else { format!("{{{}}}", self.0) }
    }
}

/// Returns a value of a label as the format wants it. Other control characters than the end of a line have no escape,
/// and readers disagree about them.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '\\' => escaped.push_str("\\\\"),
            '"' => escaped.push_str("\\\""),
            '\n' => escaped.push_str("\\n"),
            c if c.is_control() => escaped.push(char::REPLACEMENT_CHARACTER),
            c => escaped.push(c),
        }
    }
    escaped
}
