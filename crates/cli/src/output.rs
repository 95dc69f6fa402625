//! Writing without harm: files of results, standard error, and what the terminal takes.

use std::fs::File;
use std::io::{IsTerminal as _, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context as _, bail};
use assay_report::text::{Color, Detail, TextOptions};

use crate::args::{ColorChoice, ExplainArgs};

/// Prints a line to standard error. A closed pipe or a full disk there must not end a run.
macro_rules! note {
    ($($arg:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($arg)*);
    }};
}
pub(crate) use note;

/// Stands in the first bytes of every HTML report, so that a report is only ever written over a report.
const REPORT_MARK: &str = "content=\"assay\"";
/// A table of Assay's own begins within so many lines.
const TABLE_LINES: usize = 4;
/// Where marks are looked for.
const HEAD_BYTES: u64 = 1024;

/// What is written to a file, by the ending of its name.
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
            _ => bail!(
                "cannot tell from the name {} what to write; end it in .html, .csv, .md, .bbcode, .json or .txt",
                path.display()
            ),
        })
    }

    /// Returns words of which one stands in the first bytes of every file of this kind that Assay writes; none if
    /// there are no such words.
    fn marks(self) -> &'static [&'static str] {
        match self {
            Self::Html => &[REPORT_MARK],
            Self::Csv => &["Test,MiB/s,", "Test,Side,", "Test,Limited by,"],
            Self::Markdown => &["| Test | MiB/s |", "| Side | IOPS |", "| IOPS | MiB/s |"],
            Self::BbCode => &["[th]MiB/s[/th]"],
            Self::Json => &["\"schema\": \"assay."],
            Self::Text => &[],
            Self::Export => &["{\"schema\":\"assay.export/"],
        }
    }
}

/// Refuses a path that a report must not be written to; `-` is standard output. `kept` are files that must not be lost:
/// the store, the targets.
pub(crate) fn check_report_path(path: &Path, kept: &[PathBuf]) -> anyhow::Result<()> {
    check_place(path, kept)?;
    check_content(path, OutputKind::of(path)?)
}

/// The same for a kind that does not follow from the name.
pub(crate) fn check_output_path(path: &Path, kind: OutputKind, kept: &[PathBuf]) -> anyhow::Result<()> {
    check_place(path, kept)?;
    check_content(path, kind)
}

/// Refuses places that are no files, or files that must not be lost.
fn check_place(path: &Path, kept: &[PathBuf]) -> anyhow::Result<()> {
    if path == Path::new("-") {
        return Ok(());
    }
    let name = path.display();
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !directory.is_dir() {
        bail!("cannot write to {name}: there is no directory {}", directory.display());
    }
    if kept.iter().any(|kept| is_same(kept, path)) {
        bail!("cannot write to {name}: it is a target or the store; choose another name");
    }
    let Ok(metadata) = std::fs::metadata(path) else {
        if assay_host::filesystem_of(directory).is_ok_and(|fs| fs.kind == "devtmpfs") {
            bail!(
                "cannot write to {name}: {} is for device nodes; choose another directory",
                directory.display()
            );
        }
        return Ok(());
    };
    if metadata.is_dir() {
        bail!("cannot write to {name}: it is a directory; name a file in it");
    }
    if !metadata.is_file() {
        bail!("cannot write to {name}: it is not a file; choose another name");
    }
    Ok(())
}

/// Refuses a file with content that is not Assay's.
fn check_content(path: &Path, kind: OutputKind) -> anyhow::Result<()> {
    let has_content =
        path != Path::new("-") && std::fs::metadata(path).is_ok_and(|metadata| metadata.len() > 0);
    if has_content && !is_of_assay(path, kind)? {
        bail!(
            "{} exists, and Assay did not write it; choose another name, or remove it first",
            path.display()
        );
    }
    Ok(())
}

/// Writes a file under a temporary name and renames it, so that a reader never sees half of it.
pub(crate) fn write_file(path: &Path, text: &str) -> anyhow::Result<()> {
    if path.is_file() {
        check_same_run(path, run_of(text).as_deref())?;
    }
    let name = path.display();
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.part", std::process::id()));
    let beside = PathBuf::from(beside);
    let written = File::create_new(&beside).and_then(|mut file| file.write_all(text.as_bytes()));
    let moved = written.and_then(|()| std::fs::rename(&beside, path));
    if moved.is_err() {
        // The temporary file is incomplete.
        let _ = std::fs::remove_file(&beside);
    }
    moved.with_context(|| format!("cannot write {name}"))
}

fn is_of_assay(path: &Path, kind: OutputKind) -> anyhow::Result<bool> {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
    read.with_context(|| format!("cannot read {}", path.display()))?;
    let head = String::from_utf8_lossy(&head);
    // A table that somebody pasted into notes of their own stands further down.
    let begin: String = match kind {
        OutputKind::Csv | OutputKind::Markdown | OutputKind::BbCode => {
            head.lines().take(TABLE_LINES).collect::<Vec<_>>().join("\n")
        }
        _ => head.into_owned(),
    };
    Ok(kind.marks().iter().any(|mark| begin.contains(mark)))
}

/// Refuses to replace the stored form of a run (a JSON document, an export) by anything but the same run: it may be the
/// only copy. `run` is the one to be written; `None` if it does not exist yet.
pub(crate) fn check_same_run(path: &Path, run: Option<&str>) -> anyhow::Result<()> {
    let held = std::fs::read_to_string(path).ok().and_then(|text| run_of(&text));
    match held {
        Some(held) if run != Some(held.as_str()) => {
            bail!("{} holds run {held}; choose another name, or remove it first", path.display())
        }
        _ => Ok(()),
    }
}

/// Returns the run that a JSON document or an export holds.
fn run_of(text: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Held {
        schema: String,
        run: String,
    }
    let first = text.lines().next().unwrap_or_default();
    let held: Held = serde_json::from_str(text).or_else(|_| serde_json::from_str(first)).ok()?;
    held.schema.starts_with("assay.").then_some(held.run)
}

/// Whether two paths name one file, links followed. The file need not exist.
pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    match (real_path(one), real_path(other)) {
        (Some(one), Some(other)) => one == other,
        _ => false,
    }
}

fn real_path(path: &Path) -> Option<PathBuf> {
    if let Ok(real) = path.canonicalize() {
        return Some(real);
    }
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some(directory.canonicalize().ok()?.join(path.file_name()?))
}

impl ExplainArgs {
    /// How a result is printed on standard output.
    pub(crate) fn options(&self) -> TextOptions {
        let detail = if self.explain { Detail::Full } else { Detail::Brief };
        TextOptions { detail, ..text_options() }
    }
}

/// Width and colours of standard output: those of the terminal; plain text into files and pipes.
pub(crate) fn text_options() -> TextOptions {
    let stdout = std::io::stdout();
    options_of(stdout.is_terminal(), terminal_size::terminal_size_of(stdout))
}

/// The same of standard error, where the display of a run is.
pub(crate) fn error_options() -> TextOptions {
    let stderr = std::io::stderr();
    options_of(stderr.is_terminal(), terminal_size::terminal_size_of(stderr))
}

fn options_of(is_terminal: bool, size: Option<(terminal_size::Width, terminal_size::Height)>) -> TextOptions {
    let is_wanted = match COLOR.get().copied().unwrap_or_default() {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => is_terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
    };
    let color = if is_wanted { Color::Ansi } else { Color::Never };
    match size.filter(|_| is_terminal) {
        Some((terminal_size::Width(width), _)) => {
            TextOptions { color, width: width.into(), ..TextOptions::default() }
        }
        None => TextOptions { color, ..TextOptions::default() },
    }
}

/// What `--color` says, once it is read.
static COLOR: OnceLock<ColorChoice> = OnceLock::new();

/// Keeps what `--color` says for everything that is printed.
pub(crate) fn set_color(choice: ColorChoice) {
    // It is read once; a second call would say the same.
    let _ = COLOR.set(choice);
}
