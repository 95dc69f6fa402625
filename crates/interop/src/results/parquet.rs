//! A run as a Parquet file, for pandas and DuckDB: a row for each interval, job, access line and kind of operation,
//! with its histogram as two lists.
//!
//! The writer is Assay's own: required columns and two repeated ones, PLAIN values, no compression, one page for each
//! column of a row group. That is a page of code; the `parquet` and `arrow` crates are 40 of them, and a minute of
//! building. The format: <https://parquet.apache.org/docs/file-format/>; its metadata are in Thrift's compact protocol.

use assay_record::{Event, OpStats, RunEvent, RunHeader};

/// Rows of a row group: with 1,500 buckets each, a group has 48 MB.
const GROUP_ROWS: usize = 2_000;
/// First and last bytes of a file.
const MAGIC: &[u8; 4] = b"PAR1";

/// The columns in their order.
const COLUMNS: [Column; 16] = [
    Column::new("run", Kind::Text),
    Column::new("test", Kind::Text),
    Column::new("step", Kind::Text),
    Column::new("job", Kind::Text),
    Column::new("access", Kind::Integer),
    Column::new("kind", Kind::Text),
    Column::new("start_s", Kind::Real),
    Column::new("end_s", Kind::Real),
    Column::new("ops", Kind::Integer),
    Column::new("bytes", Kind::Integer),
    Column::new("errors", Kind::Integer),
    Column::new("service_mean_ns", Kind::Real),
    Column::new("service_min_ns", Kind::Real),
    Column::new("service_max_ns", Kind::Real),
    Column::new("bucket_ns", Kind::Integers),
    Column::new("bucket_count", Kind::Integers),
];

#[derive(Clone, Copy)]
struct Column {
    name: &'static str,
    kind: Kind,
}

impl Column {
    const fn new(name: &'static str, kind: Kind) -> Self {
        Self { name, kind }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Integer,
    Real,
    Text,
    /// A list in each row.
    Integers,
}

impl Kind {
    /// The format's number of the physical type.
    fn physical(self) -> i64 {
        match self {
            Self::Integer | Self::Integers => 2,
            Self::Real => 5,
            Self::Text => 6,
        }
    }
}

/// The values of a column in a row group.
#[derive(Default)]
struct Values {
    bytes: Vec<u8>,
    /// Length of each row's list; empty for columns without lists.
    lengths: Vec<usize>,
}

impl Values {
    fn integer(&mut self, value: u64) {
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        self.bytes.extend(value.to_le_bytes());
    }

    fn real(&mut self, value: f64) {
        self.bytes.extend(value.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.bytes.extend(u32::try_from(text.len()).unwrap_or(0).to_le_bytes());
        self.bytes.extend(text.as_bytes());
    }

    fn integers(&mut self, values: impl Iterator<Item = u64>) {
        let before = self.bytes.len();
        values.for_each(|value| self.integer(value));
        self.lengths.push((self.bytes.len() - before) / 8);
    }
}

/// Returns the file.
pub fn export(header: &RunHeader, events: &[Event]) -> Vec<u8> {
    let mut file = File::new();
    for event in events {
        let RunEvent::Interval(interval) = &event.what else { continue };
        let test = header.plan.tests.get(interval.test as usize);
        let step = test.and_then(|test| test.steps.get(interval.step as usize));
        let (Some(test), Some(step)) = (test, step) else { continue };
        let Some(job) = step.jobs.get(interval.job as usize) else { continue };
        for (access, stats) in interval.by_access.iter().enumerate() {
            for (kind, stats) in [("read", &stats.read), ("write", &stats.write)] {
                if stats.ops() == 0 && stats.errors == 0 {
                    continue;
                }
                let names = [&header.run, &test.name, &step.label(), &job.name];
                file.row(names, access, kind, (interval.start_ns, interval.end_ns), stats);
            }
        }
    }
    file.finish()
}

struct File {
    bytes: Vec<u8>,
    group: Vec<Values>,
    group_rows: usize,
    rows: usize,
    /// The finished groups, as the footer has them.
    groups: Vec<Vec<u8>>,
}

impl File {
    fn new() -> Self {
        Self { bytes: MAGIC.to_vec(), group: columns(), group_rows: 0, rows: 0, groups: Vec::new() }
    }

    fn row(
        &mut self,
        names: [&String; 4],
        access: usize,
        kind: &str,
        window_ns: (u64, u64),
        stats: &OpStats,
    ) {
        let times = &stats.service;
        // What another tool does not say is null.
        let known = |ns: Option<f64>| ns.unwrap_or(f64::NAN);
        let listed = |of: fn((u64, u64)) -> u64| {
            let has = times.has_distribution();
            times.buckets().filter(move |_| has).map(of)
        };
        let [run, test, step, job, line, what, start, end, ops, bytes, errors, mean, min, max, ns, count] =
            self.group.as_mut_slice()
        else {
            return;
        };
        for (column, name) in [run, test, step, job].into_iter().zip(names) {
            column.text(name);
        }
        line.integer(access as u64);
        what.text(kind);
        start.real(window_ns.0 as f64 / 1e9);
        end.real(window_ns.1 as f64 / 1e9);
        ops.integer(stats.ops());
        bytes.integer(stats.bytes);
        errors.integer(stats.errors);
        mean.real(known(times.mean_ns()));
        min.real(known(times.min_ns().map(|ns| ns as f64)));
        max.real(known(times.max_ns().map(|ns| ns as f64)));
        ns.integers(listed(|(ns, _)| ns));
        count.integers(listed(|(_, count)| count));
        self.group_rows += 1;
        if self.group_rows == GROUP_ROWS {
            self.end_group();
        }
    }

    fn end_group(&mut self) {
        let group = std::mem::replace(&mut self.group, columns());
        let rows = std::mem::take(&mut self.group_rows);
        let mut chunks = Vec::new();
        let before = self.bytes.len();
        for (column, values) in COLUMNS.iter().zip(group) {
            chunks.push(self.chunk(*column, &values, rows));
        }
        let mut written = Struct::default();
        written.list(1, STRUCT, chunks.len(), &chunks.concat());
        written.integer(2, I64, signed(self.bytes.len() - before));
        written.integer(3, I64, signed(rows));
        self.groups.push(written.end());
        self.rows += rows;
    }

    /// Writes the page of a column and returns its chunk for the footer.
    fn chunk(&mut self, column: Column, values: &Values, rows: usize) -> Vec<u8> {
        let (levels, count) = match column.kind {
            Kind::Integers => levels(&values.lengths),
            _ => (Vec::new(), rows),
        };
        let size = signed(levels.len() + values.bytes.len());
        let mut data = Struct::default();
        data.integer(1, I32, signed(count));
        // Values PLAIN, both levels RLE.
        data.integer(2, I32, 0);
        data.integer(3, I32, 3);
        data.integer(4, I32, 3);
        let mut page = Struct::default();
        page.integer(1, I32, 0);
        page.integer(2, I32, size);
        page.integer(3, I32, size);
        page.nested(5, &data.end());
        let (offset, page) = (self.bytes.len(), page.end());
        let whole = signed(page.len()) + size;
        self.bytes.extend(page);
        self.bytes.extend(levels);
        self.bytes.extend(&values.bytes);
        let mut meta = Struct::default();
        meta.integer(1, I32, column.kind.physical());
        meta.list(2, I32, 2, &[zigzag(0), zigzag(3)].concat());
        meta.list(3, BINARY, 1, &binary(column.name));
        meta.integer(4, I32, 0);
        meta.integer(5, I64, signed(count));
        meta.integer(6, I64, whole);
        meta.integer(7, I64, whole);
        meta.integer(9, I64, signed(offset));
        let mut chunk = Struct::default();
        chunk.integer(2, I64, signed(offset));
        chunk.nested(3, &meta.end());
        chunk.end()
    }

    fn finish(mut self) -> Vec<u8> {
        if self.group_rows > 0 {
            self.end_group();
        }
        let mut schema = vec![root()];
        schema.extend(COLUMNS.iter().map(|column| element(*column)));
        let mut footer = Struct::default();
        footer.integer(1, I32, 1);
        footer.list(2, STRUCT, schema.len(), &schema.concat());
        footer.integer(3, I64, signed(self.rows));
        footer.list(4, STRUCT, self.groups.len(), &self.groups.concat());
        footer.binary(6, "Assay");
        let footer = footer.end();
        self.bytes.extend(&footer);
        self.bytes.extend(u32::try_from(footer.len()).unwrap_or(0).to_le_bytes());
        self.bytes.extend(MAGIC);
        self.bytes
    }
}

fn columns() -> Vec<Values> {
    COLUMNS.iter().map(|_| Values::default()).collect()
}

fn root() -> Vec<u8> {
    let mut root = Struct::default();
    root.binary(4, "intervals");
    root.integer(5, I32, signed(COLUMNS.len()));
    root.end()
}

/// A column of the schema: required, or repeated for a list.
fn element(column: Column) -> Vec<u8> {
    let mut element = Struct::default();
    element.integer(1, I32, column.kind.physical());
    element.integer(3, I32, if column.kind == Kind::Integers { 2 } else { 0 });
    element.binary(4, column.name);
    if column.kind == Kind::Text {
        // UTF-8.
        element.integer(6, I32, 0);
    }
    element.end()
}

/// Repetition and definition levels of lists, each with its length in front, and how many entries they have: an empty
/// list is one entry without a value.
fn levels(lengths: &[usize]) -> (Vec<u8>, usize) {
    let (mut repetition, mut definition, mut count) = (Vec::new(), Vec::new(), 0);
    for length in lengths {
        run(&mut repetition, 1, 0);
        run(&mut repetition, length.saturating_sub(1), 1);
        run(&mut definition, (*length).max(1), u8::from(*length > 0));
        count += (*length).max(1);
    }
    let mut levels = Vec::new();
    for part in [repetition, definition] {
        levels.extend(u32::try_from(part.len()).unwrap_or(0).to_le_bytes());
        levels.extend(part);
    }
    (levels, count)
}

/// A run of equal levels.
fn run(levels: &mut Vec<u8>, length: usize, value: u8) {
    if length > 0 {
        varint(levels, (length as u64) << 1);
        levels.push(value);
    }
}

/// Types of Thrift's compact protocol.
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A struct of Thrift's compact protocol; fields in ascending order.
#[derive(Default)]
struct Struct {
    bytes: Vec<u8>,
    last: u8,
}

impl Struct {
    fn field(&mut self, id: u8, kind: u8) {
        self.bytes.push((id - self.last) << 4 | kind);
        self.last = id;
    }

    fn integer(&mut self, id: u8, kind: u8, value: i64) {
        self.field(id, kind);
        self.bytes.extend(zigzag(value));
    }

    fn binary(&mut self, id: u8, text: &str) {
        self.field(id, BINARY);
        self.bytes.extend(binary(text));
    }

    fn nested(&mut self, id: u8, ended: &[u8]) {
        self.field(id, STRUCT);
        self.bytes.extend(ended);
    }

    /// `elements` are written already, one behind the other.
    fn list(&mut self, id: u8, kind: u8, count: usize, elements: &[u8]) {
        self.field(id, LIST);
        match u8::try_from(count) {
            Ok(count) if count < 15 => self.bytes.push(count << 4 | kind),
            _ => {
                self.bytes.push(0xF0 | kind);
                varint(&mut self.bytes, count as u64);
            }
        }
        self.bytes.extend(elements);
    }

    fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

fn binary(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    varint(&mut bytes, text.len() as u64);
    bytes.extend(text.as_bytes());
    bytes
}

fn zigzag(value: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    varint(&mut bytes, (value << 1 ^ value >> 63).cast_unsigned());
    bytes
}

#[expect(clippy::cast_possible_truncation, reason = "seven bits at a time")]
fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn signed(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_runs() {
        // Lists of 2, 0 and 1 values: repetition 0 1 | 0 | 0, definition 1 1 | 0 | 1.
        let (bytes, count) = levels(&[2, 0, 1]);
        let repetition = [2, 0, 2, 1, 2, 0, 2, 0];
        let definition = [4, 1, 2, 0, 2, 1];
        let expected: Vec<u8> = [&[8, 0, 0, 0][..], &repetition, &[6, 0, 0, 0], &definition].concat();
        assert_eq!((bytes, count), (expected, 4));
    }

    #[test]
    fn integers_are_those_of_the_compact_protocol() {
        for (value, expected) in [(0, vec![0]), (-1, vec![1]), (1, vec![2]), (150, vec![0xAC, 0x02])] {
            assert_eq!(zigzag(value), expected, "{value}");
        }
    }
}
