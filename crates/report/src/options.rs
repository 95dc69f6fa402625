//! What a terminal wants of text.

/// Sentences are readable at no more than this.
const PROSE_MAX: usize = 120;

/// How a terminal wants its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextOptions {
    /// Number of columns. Sentences are wrapped to it; the table leaves out columns that it can do without.
    pub width: usize,
    /// Whether severities and headers carry ANSI colours.
    pub color: Color,
    /// How much is said below the table.
    pub detail: Detail,
}

/// Whether ANSI colours are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Color {
    /// Plain text.
    #[default]
    Never,
    /// Colours and bold.
    Ansi,
}

/// How much is said below a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// One sentence for each warning; the names of the other findings.
    Brief,
    /// Every finding in full, and what the columns mean.
    #[default]
    Full,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self { width: 110, color: Color::Never, detail: Detail::Full }
    }
}

impl TextOptions {
    /// Columns of running text: longer lines are hard to read.
    pub(crate) fn prose(self) -> usize {
        self.width.min(PROSE_MAX)
    }
}
