//! Data that Assay wrote and others may have changed: events of a store or an exported run, JSON documents, marks,
//! stamps.
//!
//! Events that are read back print the same, and any run that they form is summarised, judged and printed in every
//! format.

use std::fs::File;
use std::path::Path;

use assay_analysis::{Collector, findings};
use assay_claim::Marker;
use assay_record::{Event, RunEvent};
use assay_report::table::Format;
use assay_report::text::{rendered, table};
use assay_report::{Meta, html, json, reading};
use assay_target::stamp::{UNIT_BYTES, has_stamp, read_stamp};
use serde_json::Value;

use crate::input::{Input, text};

/// Number of events of one run that are examined; more give no new information.
const EVENTS_MAX: usize = 64;

pub(crate) fn event(bytes: &[u8]) {
    let Ok(event) = serde_json::from_slice::<Event>(bytes) else { return };
    let json = serde_json::to_string(&event).expect("an event has a JSON form");
    let back: Event = serde_json::from_str(&json).expect("the JSON form of an event reads back");
    let (first, second) =
        (value(&json), value(&serde_json::to_string(&back).expect("so has what was read back")));
    assert!(is_same(&first, &second), "an event reads back as it was: {first} and {second}");
}

fn value(json: &str) -> Value {
    serde_json::from_str(json).expect("it was written as JSON")
}

/// Returns true if two documents say the same. serde_json reads a number with a fraction as the nearest or next to
/// nearest one.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) if one.is_f64() && other.is_f64() => {
            let (one, other) = (one.as_f64().unwrap_or(0.0), other.as_f64().unwrap_or(0.0));
            (one - other).abs() <= one.abs().max(other.abs()) * 1e-14
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let is_same =
                |(key, one): (&String, &Value)| other.get(key).is_some_and(|other| is_same(one, other));
            one.len() == other.len() && one.iter().all(is_same)
        }
        (one, other) => one == other,
    }
}

pub(crate) fn document(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let _ = reading::read(text);
}

/// Parses lines of events in the form of `assay export`.
pub(crate) fn outputs(bytes: &[u8]) {
    let lines = bytes.split(|byte| *byte == b'\n').take(EVENTS_MAX);
    let events: Vec<Event> = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let Some(RunEvent::Started(header)) = events.first().map(|event| &event.what) else { return };
    let mut collector = Collector::new(header);
    events.iter().for_each(|event| collector.add(event));
    let summary = collector.summary();
    let found = findings(header, &summary);
    let meta = Meta::default();
    let _ = table(header, &summary, &found, assay_report::text::TextOptions::default());
    let csv = rendered(header, &summary, &[], None, Format::Csv);
    assert_eq!(
        csv_fields(&csv).len(),
        1,
        "every line of a CSV file has as many fields as its heading:\n{csv}"
    );
    let _ = (
        rendered(header, &summary, &[], None, Format::Markdown),
        rendered(header, &summary, &[], None, Format::BbCode),
    );
    let document = json::document(header, &summary, &found, meta).to_string();
    let _ = reading::read(&document);
    let page = html::report(header, &summary, &found, meta);
    assert!(page.ends_with("</html>\n"), "a page is whole");
}

/// Returns the different numbers of fields that the lines of a CSV text have (RFC 4180).
fn csv_fields(csv: &str) -> std::collections::BTreeSet<usize> {
    let (mut counts, mut fields, mut is_quoted) = (std::collections::BTreeSet::new(), 1, false);
    for c in csv.chars() {
        match c {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => fields += 1,
            '\n' if !is_quoted => {
                counts.insert(fields);
                fields = 1;
            }
            _ => {}
        }
    }
    counts
}

thread_local! {
    static FOLDER: tempfile::TempDir = tempfile::tempdir_in("/dev/shm").expect("/dev/shm is a folder");
}

/// Parses a mark beside its file. Whatever it contains, it is no error and no proof about another file.
pub(crate) fn mark(bytes: &[u8]) {
    let _ = serde_json::from_slice::<Marker>(bytes);
    FOLDER.with(|folder| {
        let path = folder.path().join("t.dat");
        let file =
            File::options().create(true).append(true).read(true).open(&path).expect("a file of its own");
        let mut input = Input::new(bytes);
        file.set_len(u64::from(input.byte()) << 12).expect("an empty file grows");
        write_beside(&path, &file, input.rest());
        if let Ok(Some(marker)) = Marker::read(&path, &file) {
            assert!(!marker.is_open || marker.length_bytes == file.metadata().map_or(0, |m| m.len()));
        }
    });
}

/// Writes the file beside: the text unchanged, or tied to its file as Assay does.
fn write_beside(path: &Path, file: &File, text: &[u8]) {
    use std::os::unix::fs::MetadataExt as _;
    let inode = file.metadata().map_or(0, |metadata| metadata.ino());
    let whole = match text.split_first() {
        Some((b'=', rest)) => rest.to_vec(),
        _ => {
            let marker = String::from_utf8_lossy(text);
            serde_json::json!({ "inode": inode, "marker": marker }).to_string().into_bytes()
        }
    };
    let _ = std::fs::write(path.with_file_name(".t.dat.assay"), whole);
}

pub(crate) fn stamp(bytes: &[u8]) {
    let mut unit = [0; UNIT_BYTES];
    let length = bytes.len().min(UNIT_BYTES);
    unit[..length].copy_from_slice(&bytes[..length]);
    let is_stamped = has_stamp(&unit);
    assert_eq!(read_stamp(&mut unit).is_some(), is_stamped);
}
