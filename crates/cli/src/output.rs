//! Writing without harm: the report's file, standard error, and what the terminal takes.

use std::fs::File;
use std::io::{IsTerminal as _, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context as _, bail};
use assay_analysis::{Finding, RunSummary};
use assay_record::RunHeader;
use assay_report::Meta;
use assay_report::text::{Color, TextOptions};

use crate::args::ColorChoice;
use crate::say;

/// Says something on standard error; a reader that is gone, or a full disk behind it, must not end a run.
macro_rules! note {
    ($($arg:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($arg)*);
    }};
}
pub(crate) use note;

/// Stands in the first bytes of every report, so that a report is only ever written over a report.
const REPORT_MARK: &[u8] = b"content=\"assay\"";
/// Where the mark is looked for.
const HEAD_BYTES: u64 = 1024;

/// Whether a report may be written to `path`; `-` is standard output. `kept` are files that must not be lost: the
/// store, the targets.
pub(crate) fn check_report_path(path: &Path, kept: &[PathBuf]) -> anyhow::Result<()> {
    if path == Path::new("-") {
        return Ok(());
    }
    let name = path.display();
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !directory.is_dir() {
        bail!("cannot write the report to {name}: there is no directory {}", directory.display());
    }
    if kept.iter().any(|kept| is_same(kept, path)) {
        bail!("cannot write the report to {name}: it is a target or the store; choose another name");
    }
    let Ok(metadata) = std::fs::metadata(path) else {
        if assay_host::filesystem_of(directory).is_ok_and(|fs| fs.kind == "devtmpfs") {
            bail!("cannot write the report to {name}: that is no place for files; choose another directory");
        }
        return Ok(());
    };
    if metadata.is_dir() {
        bail!("cannot write the report to {name}: it is a directory; name a file in it");
    }
    if !metadata.is_file() {
        bail!("cannot write the report to {name}: it is not a file; reports are only written to files");
    }
    if metadata.len() > 0 && !is_report(path)? {
        bail!("{name} exists and is no report of Assay's; choose another name, or remove it first");
    }
    Ok(())
}

/// Writes a report beside its place and moves it there: a reader never sees half of one.
pub(crate) fn write_report_file(path: &Path, html: &str) -> anyhow::Result<()> {
    let name = path.display();
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.part", std::process::id()));
    let beside = PathBuf::from(beside);
    let written = File::create_new(&beside).and_then(|mut file| file.write_all(html.as_bytes()));
    let moved = written.and_then(|()| std::fs::rename(&beside, path));
    if moved.is_err() {
        // What is left of it is of no use to anybody.
        let _ = std::fs::remove_file(&beside);
    }
    moved.with_context(|| format!("cannot write the report to {name}"))
}

fn is_report(path: &Path) -> anyhow::Result<bool> {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
    read.with_context(|| format!("cannot read {}", path.display()))?;
    Ok(head.windows(REPORT_MARK.len()).any(|window| window == REPORT_MARK))
}

/// Whether two paths name one file, links followed; also where it does not exist yet.
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

/// Writes the HTML report; `-` is standard output.
pub(crate) fn write_report(
    path: &Path,
    header: &RunHeader,
    summary: &RunSummary,
    findings: &[Finding],
    meta: Meta<'_>,
) -> anyhow::Result<()> {
    let html = assay_report::html::report(header, summary, findings, meta);
    if path == Path::new("-") {
        return say(&html);
    }
    write_report_file(path, &html)?;
    note!("report written to {}", path.display());
    Ok(())
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
        Some((terminal_size::Width(width), _)) => TextOptions { color, width: width.into() },
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
