//! What is written to files, and how a file is recognised as one that Assay wrote.
//!
//! The whole head decides, exactly as it is written: a word in it could be anybody's.

use std::path::Path;

use anyhow::bail;

use super::tables;

/// Number of bytes of a file that are its head.
pub(crate) const HEAD_BYTES: usize = 16 << 10;
/// The beginning of every HTML report.
const HTML: &str = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
                    <meta name=\"generator\" content=\"assay\">\n";
/// The schemas of what `-o` writes as JSON.
const SCHEMAS: [&str; 8] = [
    "assay.run/1",
    "assay.map/1",
    "assay.repeats/1",
    "assay.compare/1",
    "assay.journal/1",
    "assay.predict/1",
    "assay.size/1",
    "assay.size-measured/1",
];
/// The beginning of the document of `assay validate`.
const VALIDATION: &str =
    "# What the model predicts, and what was measured\n\nMade by `assay validate`; do not edit.";
/// The beginning of every man page.
const MAN_PAGE: &str = ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n.TH assay";

/// What is written to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputKind {
    Html,
    Csv,
    Markdown,
    BbCode,
    Json,
    Text,
    /// A file of `assay export`, under any name.
    Export,
    /// An array file of `assay calibrate`, under any name.
    Array,
    /// The document of `assay validate`, under any name.
    Validation,
    /// A page of `assay man`.
    ManPage,
}

impl OutputKind {
    /// By the ending of a path; `-` is HTML on standard output.
    pub(crate) fn of(path: &Path) -> anyhow::Result<Self> {
        if path == Path::new("-") {
            return Ok(Self::Html);
        }
        let ending =
            path.extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default();
        Ok(match ending.as_str() {
            "html" | "htm" => Self::Html,
            "csv" => Self::Csv,
            "md" | "markdown" => Self::Markdown,
            "bbcode" => Self::BbCode,
            "json" => Self::Json,
            "txt" => Self::Text,
            // DiskSpd's -o32.
            _ if path.to_string_lossy().parse::<u32>().is_ok() => bail!(
                "-o names the file of the result, and {0} says not which kind; for {0} I/Os in flight: --set \
                 outstanding={0}",
                path.display()
            ),
            _ => bail!(
                "cannot tell from the name {} what to write; end it in .html, .csv, .md, .bbcode, .json or .txt",
                path.display()
            ),
        })
    }

    /// Returns the name of what Assay writes with that beginning, the first [`HEAD_BYTES`] of a file; `None` for what
    /// Assay does not write, or what has no sure mark.
    pub(crate) fn written(self, head: &str) -> Option<&'static str> {
        let begins = |with: &str, name| head.starts_with(with).then_some(name);
        match self {
            Self::Html => begins(HTML, "an HTML report"),
            Self::Csv => tables::of_csv(head),
            Self::Markdown => tables::of_markdown(head),
            Self::BbCode => tables::of_bbcode(head),
            Self::Json => SCHEMAS.iter().copied().find(|schema| {
                head.strip_prefix("{\n  \"schema\": \"").is_some_and(|rest| {
                    rest.strip_prefix(schema).is_some_and(|rest| rest.starts_with("\",\n"))
                })
            }),
            Self::Text => None,
            Self::Export => begins("{\"schema\":\"assay.export/1\",", "an export"),
            Self::Array => begins("# Calibrated array. Goodness of fit:", "a calibrated array"),
            Self::Validation => begins(VALIDATION, "a validation of the model"),
            Self::ManPage => begins(MAN_PAGE, "a man page"),
        }
    }
}
