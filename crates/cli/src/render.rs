//! A run in every form: on standard output, and in files.

use assay_analysis::{Finding, RunSummary};
use assay_record::RunHeader;
use assay_report::table::Format;
use assay_report::text::TextOptions;
use assay_report::{Meta, html, json, text};

use crate::args::Form;
use crate::output::{Output, OutputKind};
use crate::terminal::{note, say};

/// A run with everything that is said of it.
#[derive(Clone, Copy)]
pub(crate) struct Page<'p> {
    pub(crate) header: &'p RunHeader,
    pub(crate) summary: &'p RunSummary,
    pub(crate) findings: &'p [Finding],
    pub(crate) meta: Meta<'p>,
}

impl Page<'_> {
    /// The run as standard output gets it.
    pub(crate) fn print(&self, form: Form, options: TextOptions) -> String {
        let of = |format| text::rendered(self.header, self.summary, format);
        match form {
            Form::Text => self.text(options),
            Form::Csv => of(Format::Csv),
            Form::Md => of(Format::Markdown),
            Form::Bbcode => of(Format::BbCode),
            Form::Json => format!("{:#}\n", self.document()),
        }
    }

    pub(crate) fn document(&self) -> serde_json::Value {
        json::document(self.header, self.summary, self.findings, self.meta)
    }

    fn text(&self, options: TextOptions) -> String {
        text::table_with(self.header, self.summary, self.findings, self.meta.judgement, options)
    }

    /// Writes the run to a file of the kind that its name says; `-` is HTML on standard output.
    pub(crate) fn write(&self, output: &Output) -> anyhow::Result<()> {
        let of = |format| text::rendered(self.header, self.summary, format);
        let page = match output.kind() {
            OutputKind::Csv => of(Format::Csv),
            OutputKind::Markdown => of(Format::Markdown),
            OutputKind::BbCode => of(Format::BbCode),
            OutputKind::Json => format!("{:#}\n", self.document()),
            OutputKind::Text => self.text(TextOptions::default()),
            _ => html::report(self.header, self.summary, self.findings, self.meta),
        };
        if output.is_stdout() {
            return say(&page);
        }
        output.write(&page, Some(&self.header.run))?;
        note!("report written to {output}");
        Ok(())
    }
}
