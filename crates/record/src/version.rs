//! The version of an event's JSON form.
//!
//! Stores and exported runs must be readable for ever, so every event states the version of its form. Fields may be
//! added to a form, with a default for events that lack them; anything else is a new version, with a conversion from
//! the previous one.

use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::event::{Event, RunEvent};

/// Version of the form in which events are written. Events without a version, written before versions existed, are
/// version 1 too.
pub const EVENT_VERSION: u32 = 1;

/// A version that this program can read.
struct KnownVersion;

impl<'de> Deserialize<'de> for KnownVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            1..=EVENT_VERSION => Ok(Self),
            version => Err(de::Error::custom(format_args!(
                "it has version {version}, but this version of Assay reads up to {EVENT_VERSION}; use the newer \
                 one that wrote it"
            ))),
        }
    }
}

/// Writes the version first, so that an unknown form is recognised before it is misread.
impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut event = serializer.serialize_struct("Event", 3)?;
        event.serialize_field("version", &EVENT_VERSION)?;
        event.serialize_field("at_ns", &self.at_ns)?;
        event.serialize_field("what", &self.what)?;
        event.end()
    }
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Form {
            #[serde(default = "without_version", rename = "version")]
            _version: KnownVersion,
            at_ns: u64,
            what: RunEvent,
        }
        let form = Form::deserialize(deserializer)?;
        Ok(Self { at_ns: form.at_ns, what: form.what })
    }
}

fn without_version() -> KnownVersion {
    KnownVersion
}
