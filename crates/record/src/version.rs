//! The version of an event's JSON form.
//!
//! Stores and exported runs must be readable for ever, so every event states the version of its form. Fields may be
//! added to a form, with a default for events that lack them; anything else is a new version, with a conversion from
//! the previous one.

use serde::de::DeserializeOwned;
use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::value::RawValue;

use crate::event::{Event, Phase, RunEvent};
use crate::step_id::StepId;

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

/// The body is read when its kind is known, whatever stands first: what `derive` writes for that keeps it as values of
/// any type meanwhile, with a second reader for each type of a record. That reader was a third of the time to build the
/// store.
impl<'de> Deserialize<'de> for RunEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Form {
            event: Kind,
            body: Box<RawValue>,
        }
        let Form { event, body } = Form::deserialize(deserializer)?;
        of_kind(&event, body.get())
    }
}

/// The kinds of events, as [`RunEvent`] names them.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Started,
    StepStarted,
    StepSkipped,
    PhaseStarted,
    Interval,
    Host,
    Warning,
    StepEnded,
    Ended,
}

fn of_kind<E: de::Error>(kind: &Kind, body: &str) -> Result<RunEvent, E> {
    #[derive(Deserialize)]
    struct Skipped {
        step: StepId,
        why: String,
    }
    #[derive(Deserialize)]
    struct Started {
        step: StepId,
        phase: Phase,
    }
    Ok(match kind {
        Kind::Started => RunEvent::Started(read(body)?),
        Kind::StepStarted => RunEvent::StepStarted(read(body)?),
        Kind::StepSkipped => {
            let Skipped { step, why } = read(body)?;
            RunEvent::StepSkipped { step, why }
        }
        Kind::PhaseStarted => {
            let Started { step, phase } = read(body)?;
            RunEvent::PhaseStarted { step, phase }
        }
        Kind::Interval => RunEvent::Interval(read(body)?),
        Kind::Host => RunEvent::Host(read(body)?),
        Kind::Warning => RunEvent::Warning(read(body)?),
        Kind::StepEnded => RunEvent::StepEnded(read(body)?),
        Kind::Ended => RunEvent::Ended(read(body)?),
    })
}

fn read<T: DeserializeOwned, E: de::Error>(body: &str) -> Result<T, E> {
    serde_json::from_str(body).map_err(E::custom)
}
