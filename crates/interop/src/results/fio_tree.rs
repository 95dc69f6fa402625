//! The parts of a document of fio that are read. All else is skipped and never in memory: a document is large, and one
//! from elsewhere may be built so that its tree is much larger.

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::ROWS_MAX;

/// The most buckets of one histogram; fio's has 1,856.
pub(super) const BINS_MAX: usize = 10_000;

/// A place in the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Document,
    Jobs,
    Job,
    Options,
    /// Reads, writes, trims or flushes.
    Part,
    Times,
    /// Buckets or percentiles: a text with a line `key value` for each, as short as the document has it.
    Pairs,
    /// A number or a text.
    Leaf,
}

impl Place {
    /// Returns the place of the value of a key; `None` if it is not read.
    fn of(self, key: &str) -> Option<Self> {
        Some(match (self, key) {
            (Self::Document, "jobs" | "client_stats") => Self::Jobs,
            (Self::Document, "global options") | (Self::Job, "job options") => Self::Options,
            (Self::Document, "fio version" | "timestamp" | "timestamp_ms")
            | (Self::Job, "jobname" | "groupid" | "total_err" | "hostname" | "elapsed" | "job_start")
            | (Self::Options, "filename" | "rw" | "readwrite" | "numjobs" | "iodepth")
            | (Self::Part, "total_ios" | "io_kbytes" | "io_bytes" | "runtime" | "iops")
            | (Self::Times, "mean" | "min" | "max") => Self::Leaf,
            (Self::Job, "read" | "write" | "trim" | "mixed" | "sync") => Self::Part,
            (Self::Part, "clat_ns" | "clat" | "lat_ns") => Self::Times,
            (Self::Times, "bins" | "percentile") => Self::Pairs,
            _ => return None,
        })
    }
}

impl<'de> DeserializeSeed<'de> for Place {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Place {
    type Value = Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a document of fio")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Value, A::Error> {
        let mut jobs = Vec::new();
        // One more than are allowed, so that they are found to be too many.
        while self == Self::Jobs && jobs.len() <= ROWS_MAX {
            match all.next_element_seed(Self::Job)? {
                Some(job) => jobs.push(job),
                None => return Ok(Value::Array(jobs)),
            }
        }
        while all.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::Array(jobs))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut all: A) -> Result<Value, A::Error> {
        if self == Self::Pairs {
            return pairs(all);
        }
        let mut map = Map::new();
        while let Some(key) = all.next_key::<String>()? {
            match self.of(&key) {
                Some(place) => drop(map.insert(key, all.next_value_seed(place)?)),
                None => drop(all.next_value::<IgnoredAny>()?),
            }
        }
        // Where a number is to be, this is none.
        Ok(if self == Self::Leaf { Value::Array(Vec::new()) } else { Value::Object(map) })
    }
}

/// Returns one line for each pair, up to one more than are allowed.
fn pairs<'de, A: MapAccess<'de>>(mut all: A) -> Result<Value, A::Error> {
    let (mut text, mut count) = (String::new(), 0);
    while let Some(key) = all.next_key::<String>()? {
        count += 1;
        if count > BINS_MAX + 1 {
            all.next_value::<IgnoredAny>()?;
            continue;
        }
        let value = all.next_value_seed(Place::Leaf)?;
        let value = value.as_f64().map_or_else(|| "-".to_owned(), |_| value.to_string());
        text.push_str(&format!("{} {value}\n", key.replace(char::is_whitespace, "-")));
    }
    Ok(text.into())
}
