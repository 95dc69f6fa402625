//! The version of an event's JSON form.
//!
//! Stores and exported runs are read for ever, so every event says which form it has. Fields may be added to a form,
//! with a default for events that lack them; anything else is a new version, and a conversion from the one before it.

use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::event::{Event, RunEvent};

/// The version of the form in which events are written. Version 1 is also that of events without a version, which
/// were written before there was one.
pub const EVENT_VERSION: u32 = 1;

/// The version that an event carries, known to be one that this program reads.
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

/// The version comes first, so that a form that nobody here knows is named before it is misread.
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
