//! Content of Assay's own files, and whether a plan can be measured on it unchanged.

use std::fmt;
use std::time::Duration;

use assay_claim::blank::Seals;
use assay_claim::{HeadCheck, Marker};
use assay_record::{Content, Warning};
use assay_spec::units::Bytes;
use assay_spec::{Data, Plan};

/// A kind of data in a file, as named in marks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum DataKind {
    /// Random data that never repeats: written by preparation.
    Unique,
    /// Random data with a stamp in each 512 bytes.
    Stamped,
    /// Written by a plan with this kind of data.
    Written(Data),
    /// Written by another version of Assay.
    Unknown,
}

impl DataKind {
    fn of(data: Data) -> Self {
        if data == Data::Unique { Self::Unique } else { Self::Written(data) }
    }

    fn parse(name: &str) -> Self {
        match name {
            "unique" => Self::Unique,
            "stamped" => Self::Stamped,
            "repeating" => Self::Written(Data::IometerRepeating),
            "pseudo-random" => Self::Written(Data::IometerPseudoRandom),
            "full-random" => Self::Written(Data::IometerFullRandom),
            name => Self::parse_reducible(name).unwrap_or(Self::Unknown),
        }
    }

    fn parse_reducible(name: &str) -> Option<Self> {
        let (compress, dedupe) = name.strip_prefix("reducible ")?.split_once(' ')?;
        Some(Self::Written(Data::Reducible {
            compress: compress.parse().ok()?,
            dedupe: dedupe.parse().ok()?,
        }))
    }

    /// Returns the name in marks.
    fn name(self) -> String {
        let name = match self {
            Self::Unique | Self::Written(Data::Unique) => "unique",
            Self::Stamped => "stamped",
            Self::Written(Data::Reducible { compress, dedupe }) => {
                return format!("reducible {compress} {dedupe}");
            }
            Self::Written(Data::IometerRepeating) => "repeating",
            Self::Written(Data::IometerPseudoRandom) => "pseudo-random",
            Self::Written(Data::IometerFullRandom) => "full-random",
            Self::Unknown => "unknown",
        };
        name.to_owned()
    }

    /// Returns the words for a sentence: `it holds …`.
    fn words(self) -> &'static str {
        match self {
            Self::Unique | Self::Written(Data::Unique) => "unique data",
            Self::Stamped => "stamped data",
            Self::Written(Data::Reducible { .. }) => "data that compress or deduplicate",
            Self::Written(Data::IometerRepeating) => "repeating bytes (Iometer)",
            Self::Written(Data::IometerPseudoRandom) => "one repeated block (Iometer's pseudo-random data)",
            Self::Written(Data::IometerFullRandom) => {
                "windows of one random pool (Iometer's full-random data)"
            }
            Self::Unknown => "data of another version of Assay",
        }
    }
}

/// Data that has to be written before a file can be measured.
#[derive(Debug, PartialEq)]
pub(crate) struct Fill {
    /// Start of the fill; at or after the end of the span nothing is missing.
    pub(crate) from_bytes: u64,
    /// Content of the fill.
    pub(crate) content: FillContent,
    /// Reason for overwriting data of an earlier run; `None` if only missing data is written.
    pub(crate) refill: Option<Refill>,
}

/// The kinds of data that preparation writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FillContent {
    Unique,
    Stamped,
}

impl FillContent {
    pub(crate) fn of(plan: &Plan) -> Self {
        if plan.verifies() { Self::Stamped } else { Self::Unique }
    }

    fn kind(self) -> DataKind {
        match self {
            Self::Unique => DataKind::Unique,
            Self::Stamped => DataKind::Stamped,
        }
    }
}

/// Reason for filling a file again.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Refill {
    /// It holds another kind of data than this plan reads and writes.
    OtherData { holds: DataKind, needs: FillContent },
    /// Parts of it were never written, or were deallocated.
    Holes,
}

impl fmt::Display for Refill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherData { holds, needs: FillContent::Stamped } => {
                write!(f, "it holds {} of an earlier run, and verify needs stamped data", holds.words())
            }
            Self::OtherData { holds, needs: FillContent::Unique } => {
                write!(f, "it holds {} of an earlier run, and this plan needs unique data", holds.words())
            }
            Self::Holes => f.write_str("parts of it have become holes since it was filled"),
        }
    }
}

impl Refill {
    /// Returns the warning about a fill that the user did not request, with its duration.
    pub(crate) fn warning(&self, name: &str, span_bytes: u64, took: Duration) -> Warning {
        Warning {
            rule: "refilled".into(),
            says: format!(
                "{name} ({}) was filled again before the run, in {:.1} s: {self}.",
                Bytes(span_bytes),
                took.as_secs_f64()
            ),
            next: "Give plans with different data a file each to save that time; a cache or an SSD may still be busy \
                   with what was written."
                .into(),
        }
    }
}

/// Returns the fill that a file with that mark needs. `whole_bytes` of it are on the storage as far as is known.
pub(crate) fn needed(plan: &Plan, marker: &Marker, filled_bytes: u64, holes: Holes) -> Fill {
    let content = FillContent::of(plan);
    let kinds: Vec<DataKind> = marker.kinds.iter().map(|name| DataKind::parse(name)).collect();
    let wrong = kinds.iter().find(|kind| !is_right(plan, **kind)).copied();
    let refill = match (wrong, holes) {
        _ if filled_bytes == 0 || kinds.is_empty() => None,
        (Some(holds), _) => Some(Refill::OtherData { holds, needs: content }),
        (None, Holes::Some) => Some(Refill::Holes),
        (None, Holes::None) => return Fill { from_bytes: filled_bytes, content, refill: None },
    };
    Fill { from_bytes: 0, content, refill }
}

/// State of the filled region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holes {
    None,
    Some,
}

/// Returns true if this plan's own preparation and writes would produce such data.
fn is_right(plan: &Plan, kind: DataKind) -> bool {
    match kind {
        DataKind::Stamped => true,
        _ if plan.verifies() => false,
        DataKind::Unique => true,
        kind => plan.jobs().any(|job| DataKind::of(job.data) == kind),
    }
}

/// Returns how many sectors of a file with that mark carry a seal or a stamp of Assay.
pub(crate) fn seals(marker: &Marker) -> Seals {
    if marker.kinds.iter().any(|name| carries_no_seals(DataKind::parse(name))) {
        Seals::Some
    } else {
        Seals::All
    }
}

/// Returns how many sectors must carry one for the file to count as Assay's own. `modified_ns`: its present
/// modification time. While a mark is open its time proves nothing, so the data must, whatever kind they are.
pub(crate) fn required_seals(marker: &Marker, modified_ns: i128) -> Seals {
    if marker.is_open && marker.modified_ns != modified_ns { Seals::All } else { seals(marker) }
}

/// Returns the words for `found`, the foreign data in a file with that mark: data without seals may be those of a run
/// that did not end.
pub(crate) fn foreign_words(marker: &Marker, found: String) -> String {
    match (seals(marker), marker.is_open) {
        (Seals::Some, true) => format!(
            "{found}; the last run did not end and wrote data that compress or repeat, in which Assay cannot always \
             recognise its own"
        ),
        _ => found,
    }
}

/// Returns the content at the start of a device or LUN throughout a run with a plan that has filled it.
pub(crate) fn head_check(plan: &Plan) -> HeadCheck {
    let mut written = plan.jobs().filter(|job| job.writes()).map(|job| DataKind::of(job.data));
    if plan.verifies() || !written.any(carries_no_seals) { HeadCheck::OwnData } else { HeadCheck::Nothing }
}

/// Returns true if data of a kind consists of few bytes, or has few random bytes: too short for a seal.
fn carries_no_seals(kind: DataKind) -> bool {
    match kind {
        DataKind::Written(Data::Reducible { .. } | Data::IometerRepeating) | DataKind::Unknown => true,
        DataKind::Unique | DataKind::Stamped | DataKind::Written(_) => false,
    }
}

/// Returns true if a file with that mark holds only stamped data.
pub(crate) fn is_stamped(marker: &Marker) -> bool {
    !marker.kinds.is_empty() && marker.kinds.iter().all(|name| DataKind::parse(name) == DataKind::Stamped)
}

/// Records in a mark that a fill begins.
pub(crate) fn begin_fill(marker: &mut Marker, fill: &Fill) {
    if fill.from_bytes == 0 {
        marker.kinds = vec![fill.content.kind().name()];
    }
    marker.filled_bytes = fill.from_bytes;
}

/// Records in a mark the kinds of data that the run is about to write.
pub(crate) fn begin_run(marker: &mut Marker, plan: &Plan) {
    let written = plan.jobs().filter(|job| job.writes()).map(|job| match FillContent::of(plan) {
        FillContent::Stamped => DataKind::Stamped,
        FillContent::Unique => DataKind::of(job.data),
    });
    marker.kinds.extend(written.map(DataKind::name));
    marker.kinds.sort();
    marker.kinds.dedup();
}

/// Returns the recorded content of a file after its fill.
pub(crate) fn recorded(fill: &Fill, span_bytes: u64) -> Content {
    if fill.from_bytes >= span_bytes { Content::Reused } else { Content::Prepared }
}

#[cfg(test)]
mod tests {
    use assay_spec::{Overrides, PlanFile};

    use super::*;

    fn plan(more: &str) -> Plan {
        let text = format!("[[test]]\nname = \"t\"\naccess = [{{ size = 4096, read = 50 }}]\n{more}\n");
        PlanFile::parse("p", &text).unwrap().resolve(&Overrides::default()).unwrap()
    }

    fn marked(kinds: &[&str]) -> Marker {
        Marker {
            kinds: kinds.iter().map(ToString::to_string).collect(),
            filled_bytes: 8192,
            ..Marker::new(true)
        }
    }

    fn refill(plan: &Plan, kinds: &[&str], holes: Holes) -> (u64, Option<String>) {
        let fill = needed(plan, &marked(kinds), 8192, holes);
        (fill.from_bytes, fill.refill.map(|why| why.to_string()))
    }

    #[test]
    fn a_file_with_the_right_data_is_kept_and_only_extended() {
        assert_eq!(refill(&plan(""), &["unique"], Holes::None), (8192, None));
        assert_eq!(refill(&plan(""), &["stamped", "unique"], Holes::None), (8192, None));
        assert_eq!(refill(&plan("verify = true"), &["stamped"], Holes::None), (8192, None));
        assert_eq!(needed(&plan(""), &Marker::new(true), 0, Holes::None).refill, None, "never filled");
    }

    #[test]
    fn a_refill_has_a_reason() {
        let why = |plan: &str, kinds: &[&str], holes| {
            let (from_bytes, why) = refill(&self::plan(plan), kinds, holes);
            assert_eq!(from_bytes, 0);
            why.unwrap()
        };
        let said = why("", &["pseudo-random", "unique"], Holes::None);
        assert!(said.starts_with("it holds one repeated block (Iometer's pseudo-random data)"), "{said}");
        assert!(why("verify = true", &["unique"], Holes::None).contains("verify needs stamped data"));
        assert!(why("", &["unique"], Holes::Some).contains("holes"));
        assert!(why("", &["reducible 2 1.5"], Holes::None).contains("compress or deduplicate"));
        assert!(why("", &["something new"], Holes::None).contains("another version"));
    }

    #[test]
    fn kinds_are_parsed_from_their_names() {
        let reducible = DataKind::Written(Data::Reducible { compress: 2.0, dedupe: 1.5 });
        for kind in [DataKind::Unique, DataKind::Stamped, DataKind::of(Data::IometerFullRandom), reducible] {
            assert_eq!(DataKind::parse(&kind.name()), kind);
        }
    }
}
