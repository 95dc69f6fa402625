//! The first line of a file of `assay export`.

use serde::{Deserialize, Serialize};

/// What such a file has of a run beside its events, one of which follows in each line.
#[derive(Debug, Serialize, Deserialize)]
pub struct ExportCover {
    /// [`ExportCover::SCHEMA`].
    pub schema: String,
    /// Id of the run.
    pub run: String,
    /// Its label.
    pub label: Option<String>,
    /// Its note.
    pub note: Option<String>,
    /// Number of lines that follow; `None` in the file of a run whose store was lost, which grows while the run goes
    /// on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<usize>,
    /// Why events are missing from some moment on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
}

impl ExportCover {
    /// Name and version of the file's form, its first words.
    pub const SCHEMA: &str = "assay.export/1";

    /// Returns the cover of a run that is not over.
    pub fn of(run: &str, label: Option<&str>, note: Option<&str>) -> Self {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let (schema, run) = (Self::SCHEMA.to_owned(), run.to_owned());
        Self { schema, run, label: owned(label), note: owned(note), events: None, lost: None }
    }
}
