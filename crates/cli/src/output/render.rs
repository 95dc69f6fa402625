//! A run in every form: on standard output, and in files.

use anyhow::bail;
use assay_analysis::compare::Comparison;
use assay_analysis::{Finding, RunSummary};
use assay_record::RunHeader;
use assay_report::journal::Journal;
use assay_report::repeats::Repeats;
use assay_report::scale::ScaleCheck;
use assay_report::table::Format;
use assay_report::text::TextOptions;
use assay_report::{
    Meta, RunListing, compare, html, journal, json, prediction, repeats, scale, sizing, text,
};
use assay_sizing::{Answer, Measured};

use crate::args::Form;
use crate::exit::{Exit, Failed};
use crate::output::terminal::{note, say};
use crate::output::{Output, OutputKind};
use assay_results::Stored;

/// A run with everything that is said of it.
#[derive(Clone, Copy)]
pub(crate) struct Page<'p> {
    pub(crate) header: &'p RunHeader,
    pub(crate) summary: &'p RunSummary,
    pub(crate) findings: &'p [Finding],
    pub(crate) meta: Meta<'p>,
}

impl<'p> Page<'p> {
    /// Everything of a stored run.
    pub(crate) fn of(stored: &'p Stored) -> Self {
        Self {
            header: &stored.header,
            summary: &stored.summary,
            findings: &stored.findings,
            meta: stored.meta(),
        }
    }
}

/// A result that is printed and written in every form.
pub(crate) trait Rendered {
    /// The page that a terminal gets.
    fn text(&self, options: TextOptions) -> String;

    /// The table, with what a document needs around it.
    fn table(&self, format: Format) -> String;

    /// The JSON document.
    fn document(&self) -> serde_json::Value;

    /// The HTML page; `None` where there is none.
    fn page(&self) -> Option<String> {
        None
    }

    /// The result as standard output gets it.
    fn printed(&self, form: Form, options: TextOptions) -> String {
        match form {
            Form::Text => self.text(options),
            Form::Csv => self.table(Format::Csv),
            Form::Md => self.table(Format::Markdown),
            Form::Bbcode => self.table(Format::BbCode),
            Form::Json => format!("{:#}\n", self.document()),
        }
    }

    /// The result as a file of that kind has it; `None` where it cannot be one.
    fn filed(&self, kind: OutputKind) -> Option<String> {
        match kind {
            OutputKind::Csv => Some(self.printed(Form::Csv, TextOptions::default())),
            OutputKind::Markdown => Some(self.printed(Form::Md, TextOptions::default())),
            OutputKind::BbCode => Some(self.printed(Form::Bbcode, TextOptions::default())),
            OutputKind::Json => Some(self.printed(Form::Json, TextOptions::default())),
            OutputKind::Text => Some(self.text(TextOptions::default())),
            _ => self.page(),
        }
    }

    /// The run that it is of; `None` if it is of several, or of none.
    fn run(&self) -> Option<&str> {
        None
    }

    /// Writes the result where `-o` says, and reports that as `what`.
    fn write(&self, output: &Output, what: &str) -> anyhow::Result<()> {
        let Some(text) = self.filed(output.kind()) else {
            bail!("a {what} has no HTML page; end {output} in .csv, .md, .bbcode, .json or .txt");
        };
        if output.is_stdout() {
            return say(&text);
        }
        output.write(&text, self.run()).map_err(|error| Failed::new(Exit::Errors, error))?;
        note!("{what} written to {output}");
        Ok(())
    }
}

impl Rendered for Page<'_> {
    fn run(&self) -> Option<&str> {
        Some(&self.header.run)
    }

    fn text(&self, options: TextOptions) -> String {
        text::table_with(self.header, self.summary, self.findings, self.meta, options)
    }

    fn table(&self, format: Format) -> String {
        text::rendered(self.header, self.summary, self.findings, self.meta.judgement, format)
    }

    fn document(&self) -> serde_json::Value {
        json::document(self.header, self.summary, self.findings, self.meta)
    }

    fn page(&self) -> Option<String> {
        Some(html::report(self.header, self.summary, self.findings, self.meta))
    }
}

/// The list of stored runs.
pub(crate) struct RunList<'l>(pub(crate) &'l [RunListing<'l>]);

impl Rendered for RunList<'_> {
    fn text(&self, options: TextOptions) -> String {
        assay_report::runs_table(self.0, options.width)
    }

    fn table(&self, format: Format) -> String {
        assay_report::runs_rendered(self.0, format)
    }

    fn document(&self) -> serde_json::Value {
        assay_report::runs_json(self.0)
    }
}

/// Results whose forms are the functions of one module of `report`, and whose page, where they have one, is of `html`.
macro_rules! rendered {
    ($($result:ty: $module:ident $(with html::$page:ident)?;)*) => {$(
        impl Rendered for $result {
            fn text(&self, options: TextOptions) -> String {
                $module::table(self, options)
            }

            fn table(&self, format: Format) -> String {
                $module::rendered(self, format)
            }

            fn document(&self) -> serde_json::Value {
                $module::document(self)
            }

            $(fn page(&self) -> Option<String> {
                Some(html::$page(self))
            })?
        }
    )*};
}

rendered! {
    Comparison: compare with html::comparison;
    Repeats: repeats with html::repeats;
    Journal: journal with html::journal;
    ScaleCheck: scale;
}

impl Rendered for prediction::Page<'_> {
    fn text(&self, options: TextOptions) -> String {
        prediction::table(*self, options)
    }

    fn table(&self, format: Format) -> String {
        prediction::rendered(*self, format)
    }

    fn document(&self) -> serde_json::Value {
        prediction::document(*self)
    }
}

impl Rendered for Answer {
    fn text(&self, options: TextOptions) -> String {
        sizing::page(self, options)
    }

    fn table(&self, format: Format) -> String {
        sizing::rendered(self, format)
    }

    fn document(&self) -> serde_json::Value {
        sizing::document(self)
    }
}

impl Rendered for Measured {
    fn text(&self, options: TextOptions) -> String {
        sizing::measured::page(self, options)
    }

    fn table(&self, format: Format) -> String {
        sizing::measured::table(self).render(format)
    }

    fn document(&self) -> serde_json::Value {
        sizing::measured::document(self)
    }

    fn run(&self) -> Option<&str> {
        Some(&self.run)
    }
}
