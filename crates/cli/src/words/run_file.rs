//! The file of `assay export`. It has a line of JSON for what the store knows beside the events, and a line for each
//! event, so that an imported run is the run.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use anyhow::{Context as _, bail};
use assay_record::{Event, ExportCover, RunEvent, RunHeader};
use assay_target::input::{self, Input};

/// Bytes of a file that tell whether it is one.
const HEAD_BYTES: u64 = 64;

/// All events of one are in memory at once. A job that runs for a day has about 250 MiB.
const EXPORT: Input = Input { name: "a file of assay export", bytes_max: 2 << 30 };

/// A run from a file.
pub(crate) struct Exported {
    pub(crate) label: Option<String>,
    pub(crate) note: Option<String>,
    /// Why events are missing from some moment on.
    pub(crate) lost: Option<String>,
    pub(crate) header: RunHeader,
    pub(crate) events: Vec<Event>,
}

/// Whether a file is one of these.
pub(crate) fn is_export(path: &Path) -> bool {
    let mut head = Vec::new();
    let Ok(file) = input::open(path, EXPORT) else { return false };
    let read = file.take(HEAD_BYTES).read_to_end(&mut head);
    read.is_ok() && head.starts_with(format!("{{\"schema\":\"{}\"", ExportCover::SCHEMA).as_bytes())
}

/// Reads a file of `assay export`, and checks that it is whole.
pub(crate) fn read(path: &Path) -> anyhow::Result<Exported> {
    read_with_checksum(path).map(|(exported, _)| exported)
}

/// Reads the lines of a file behind its first, which has that checksum: it is the one that was read before.
pub(crate) fn lines(path: &Path, checksum: u32) -> anyhow::Result<Vec<String>> {
    let file = input::open(path, EXPORT)?;
    let mut text = String::new();
    let read = file.take(EXPORT.bytes_max).read_to_string(&mut text);
    read.with_context(|| format!("cannot read {}", path.display()))?;
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if checksum_of(&lines) != checksum {
        bail!("{} was changed while it was imported; import it again", path.display());
    }
    Ok(lines.into_iter().skip(1).collect())
}

fn checksum_of(lines: &[String]) -> u32 {
    lines.iter().fold(0, |sum, line| crc32c::crc32c_append(sum, line.as_bytes()))
}

/// The same as [`read`], with what [`lines`] knows it by.
pub(crate) fn read_with_checksum(path: &Path) -> anyhow::Result<(Exported, u32)> {
    let name = path.display();
    let file = input::open(path, EXPORT)?;
    if !is_export(path) {
        bail!("{name} is not a file of assay export");
    }
    let mut lines = BufReader::new(file.take(EXPORT.bytes_max)).lines();
    let first = lines.next().transpose().with_context(|| format!("cannot read {name}"))?.unwrap_or_default();
    let mut checksum = crc32c::crc32c(first.as_bytes());
    let cover: ExportCover =
        serde_json::from_str(&first).with_context(|| format!("{name}:1 does not read back"))?;
    let mut events: Vec<Event> = Vec::new();
    for (index, line) in lines.enumerate() {
        let line = line.with_context(|| format!("cannot read {name}"))?;
        checksum = crc32c::crc32c_append(checksum, line.as_bytes());
        let event = serde_json::from_str(&line);
        events.push(event.with_context(|| format!("{name}:{} does not read back", index + 2))?);
    }
    if let Some(count) = cover.events.filter(|count| *count != events.len()) {
        bail!("{name} is cut off: it has {} of {count} events; export it again", events.len());
    }
    let Some(RunEvent::Started(header)) = events.first().map(|event| &event.what) else {
        bail!("{name} does not begin with the start of a run; export it again");
    };
    let header = (**header).clone();
    if !assay_store::is_run_id(&header.run) {
        bail!("{name} holds a run whose id is none of Assay's; export it again");
    }
    if header.run != cover.run {
        bail!("{name} is named run {} and holds run {}; export it again", cover.run, header.run);
    }
    let exported = Exported { label: cover.label, note: cover.note, lost: cover.lost, header, events };
    Ok((exported, checksum))
}
