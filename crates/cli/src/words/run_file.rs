//! The file of `assay export`. It has a line of JSON for what the store knows beside the events, and a line for each
//! event, so that an imported run is the run.

use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;

use anyhow::{Context as _, bail};
use assay_analysis::Collector;
use assay_record::{Event, ExportCover, Outcome, RunEvent, RunHeader};
use assay_target::input::{self, Input};

/// Bytes of a file that tell whether it is one.
const HEAD_BYTES: u64 = 64;

/// A job that runs for a day has about 250 MiB.
const EXPORT: Input = Input { name: "a file of assay export", bytes_max: 2 << 30 };

/// A run from a file.
pub(crate) struct Exported {
    pub(crate) label: Option<String>,
    pub(crate) note: Option<String>,
    /// Why events are missing from some moment on.
    pub(crate) lost: Option<String>,
    pub(crate) header: RunHeader,
    /// Events.
    pub(crate) count: usize,
    /// How it ended, where its last event is its end.
    pub(crate) outcome: Option<Outcome>,
    /// Of all lines: [`lines`] knows the file by it.
    pub(crate) checksum: u32,
}

/// Whether a file is one of these.
pub(crate) fn is_export(path: &Path) -> bool {
    let mut head = Vec::new();
    let Ok(file) = input::open(path, EXPORT) else { return false };
    let read = file.take(HEAD_BYTES).read_to_end(&mut head);
    read.is_ok() && head.starts_with(format!("{{\"schema\":\"{}\"", ExportCover::SCHEMA).as_bytes())
}

/// Reads a file of `assay export`, checks that it is whole, and gives each of its events to `take`, with the header:
/// those of a day together take gigabytes of memory.
pub(crate) fn each_event(path: &Path, mut take: impl FnMut(&RunHeader, Event)) -> anyhow::Result<Exported> {
    let name = path.display();
    let mut lines = all_lines(path)?;
    if !is_export(path) {
        bail!("{name} is not a file of assay export");
    }
    let first = lines.next().transpose().with_context(|| format!("cannot read {name}"))?.unwrap_or_default();
    let mut checksum = crc32c::crc32c(first.as_bytes());
    let cover: ExportCover =
        serde_json::from_str(&first).with_context(|| format!("{name}:1 does not read back"))?;
    let (mut header, mut outcome, mut count) = (None, None, 0);
    for line in lines {
        let line = line.with_context(|| format!("cannot read {name}"))?;
        checksum = crc32c::crc32c_append(checksum, line.as_bytes());
        let event: Event = serde_json::from_str(&line)
            .with_context(|| format!("{name}:{} does not read back", count + 2))?;
        if let (RunEvent::Started(begun), 0) = (&event.what, count) {
            header = Some(RunHeader::clone(begun));
        }
        let Some(header) = &header else {
            bail!("{name} does not begin with the start of a run; export it again");
        };
        outcome = if let RunEvent::Ended(outcome) = event.what { Some(outcome) } else { None };
        take(header, event);
        count += 1;
    }
    if let Some(said) = cover.events.filter(|said| *said != count) {
        bail!("{name} is cut off: it has {count} of {said} events; export it again");
    }
    let header = header.with_context(|| format!("{name} has no events; export it again"))?;
    if !assay_store::is_run_id(&header.run) {
        bail!("{name} holds a run whose id is none of Assay's; export it again");
    }
    if header.run != cover.run {
        bail!("{name} is named run {} and holds run {}; export it again", cover.run, header.run);
    }
    let ExportCover { label, note, lost, .. } = cover;
    Ok(Exported { label, note, lost, header, count, outcome, checksum })
}

/// Reads a file of `assay export`, and collects what was measured.
pub(crate) fn collected(path: &Path) -> anyhow::Result<(Exported, Collector)> {
    let mut collector = None;
    let exported = each_event(path, |header, event| {
        collector.get_or_insert_with(|| Collector::new(header)).add(&event);
    })?;
    let collector = collector.unwrap_or_else(|| Collector::new(&exported.header));
    Ok((exported, collector))
}

/// Reads the lines of the events of a file that has that checksum: it is the one that was read before. That it is
/// another one is an error in the place of an end.
pub(crate) fn lines(path: &Path, checksum: u32) -> anyhow::Result<impl Iterator<Item = io::Result<String>>> {
    let (mut lines, mut sum) = (all_lines(path)?.enumerate(), 0);
    let changed = || io::Error::other("the file was changed while it was imported; import it again");
    let mut is_over = false;
    Ok(std::iter::from_fn(move || {
        loop {
            let Some((number, line)) = lines.next() else {
                let is_other = !std::mem::replace(&mut is_over, true) && sum != checksum;
                return is_other.then(|| Err(changed()));
            };
            if let Ok(line) = &line {
                sum = crc32c::crc32c_append(sum, line.as_bytes());
            }
            if number > 0 {
                return Some(line);
            }
        }
    }))
}

fn all_lines(path: &Path) -> anyhow::Result<impl Iterator<Item = io::Result<String>>> {
    Ok(BufReader::new(input::open(path, EXPORT)?.take(EXPORT.bytes_max)).lines())
}
