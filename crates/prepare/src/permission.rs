//! Decides what may be written: anything that Assay did not create is read-only by default.
//!
//! A device or LUN is written only if nothing on it or above it objects, it is blank, and the user typed its identity;
//! one that is not blank only if the user typed `--not-blank` too. A foreign file is written only if the user typed its
//! path. Each such value must name exactly one target.

use std::path::Path;

use assay_claim::blank::ForeignData;
use assay_claim::{Mark, VoidMark};
use assay_record::DeviceFacts;
use assay_spec::units::Bytes;

use crate::context::InspectContext;
use crate::error::{PrepareError, text};
use crate::options::BlankChoice;

/// A device or LUN that a plan would write to.
pub(crate) struct WriteRequest<'w> {
    /// Path or address.
    pub(crate) name: &'w str,
    /// The test that writes.
    pub(crate) test: &'w str,
    /// Reasons not to write, a sentence or clause each.
    pub(crate) objections: Vec<String>,
    /// Data because of which it is not blank.
    pub(crate) foreign: Option<ForeignData>,
    pub(crate) device: &'w DeviceFacts,
    pub(crate) capacity_bytes: u64,
}

impl WriteRequest<'_> {
    /// Fails if anything objects or `--overwrite` does not name it.
    pub(crate) fn check(&self, context: &InspectContext<'_>) -> Result<(), PrepareError> {
        if !self.objections.is_empty() {
            let holds = self.objections.iter().map(|objection| format!("\n  - {objection}")).collect();
            return Err(PrepareError::DeviceHeld { path: self.name.to_owned(), holds });
        }
        let identity = match &self.foreign {
            None => assay_host::identities(self.device).into_iter().next().unwrap_or_default(),
            Some(foreign) => {
                let (path, holds, what) = (self.name.to_owned(), foreign.to_string(), self.description());
                match (assay_host::lasting_identity(self.device), context.options.blank) {
                    (None, _) => return Err(PrepareError::NotBlankUnnamed { path, holds, what }),
                    (Some(identity), BlankChoice::Required) => {
                        return Err(PrepareError::NotBlank { path, holds, what, identity });
                    }
                    (Some(identity), BlankChoice::NotRequired) => identity,
                }
            }
        };
        let given = &context.options.overwrite;
        // What is lost must be what was meant: a name and a size are also those of the disk that is there tomorrow.
        let is_named = given.iter().any(|name| match self.foreign {
            None => assay_host::is_identity_of(self.device, name),
            Some(_) => assay_host::is_lasting_identity_of(self.device, name),
        });
        if is_named {
            return Ok(());
        }
        let typed = match given.as_slice() {
            [] => String::new(),
            given => {
                let are = if given.len() == 1 { "is" } else { "are" };
                format!("`{}` {are} not its name; {identity} is. ", given.join("` and `"))
            }
        };
        let also = if self.foreign.is_some() { " --not-blank" } else { "" };
        Err(PrepareError::DeviceNotNamed {
            path: self.name.to_owned(),
            what: self.description(),
            test: self.test.to_owned(),
            named: format!(
                "{typed}Everything on it will be lost; to allow that: --overwrite {identity}{also}"
            ),
        })
    }

    /// Returns model, serial number, WWID and size, as far as known.
    fn description(&self) -> String {
        let DeviceFacts { model, serial, wwid, .. } = self.device;
        let model = Some(model.clone()).filter(|model| !model.is_empty());
        let serial = serial.as_ref().map(|serial| format!("serial {serial}"));
        let size = Bytes(self.capacity_bytes).rounded();
        [model, serial, wwid.clone(), Some(size)].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// Why a file is foreign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhyForeign {
    /// It carries no mark, or one that says that Assay did not create it.
    NotMade,
    /// Its mark proves nothing.
    Void(VoidMark),
}

impl WhyForeign {
    /// Returns the reason from the mark of a foreign file.
    pub(crate) fn of(mark: &Mark) -> Self {
        match mark {
            Mark::Void(why) => Self::Void(*why),
            Mark::None | Mark::Valid(_) => Self::NotMade,
        }
    }

    /// Returns the words for a sentence: `FILE …`.
    fn words(self) -> &'static str {
        match self {
            Self::NotMade => "was not created by Assay",
            Self::Void(VoidMark::Copied) => "is a copy of a file that Assay created",
            Self::Void(VoidMark::Changed) => "was created by Assay and has been modified since",
            Self::Void(VoidMark::OtherVersion) => "was marked by another version of Assay",
            Self::Void(VoidMark::OtherUser) => "has a mark next to it that belongs to another user",
        }
    }
}

/// Fails for a write to a file that Assay did not create, or a read of an empty one.
pub(crate) fn check_foreign_file(
    path: &Path,
    writer: Option<&str>,
    why: WhyForeign,
    holds_bytes: u64,
) -> Result<(), PrepareError> {
    match writer {
        Some(test) => Err(PrepareError::ForeignFile {
            path: text(path),
            why: why.words(),
            test: test.to_owned(),
            holds: Bytes(holds_bytes),
        }),
        None if holds_bytes == 0 => Err(PrepareError::Empty { path: text(path) }),
        None => Ok(()),
    }
}

/// Fails for a write to a file with Assay's mark that `holds` data that Assay did not write.
pub(crate) fn check_used_since(
    path: String,
    writer: Option<&str>,
    holds: String,
) -> Result<(), PrepareError> {
    match writer {
        Some(test) => Err(PrepareError::UsedSince { path, holds, test: test.to_owned() }),
        None => Ok(()),
    }
}

/// A target that `--overwrite` can name.
pub(crate) struct Nameable<'n> {
    /// Path or address.
    pub(crate) address: String,
    /// Its name in the list of a refusal.
    pub(crate) known_as: String,
    /// Returns true if a name refers to it.
    pub(crate) answers_to: Box<dyn Fn(&str) -> bool + 'n>,
}

impl<'n> Nameable<'n> {
    /// Returns a device or LUN, which is named only by serial number or WWID.
    pub(crate) fn by_identity(device: &'n DeviceFacts, address: &str) -> Self {
        let identity = assay_host::identities(device).into_iter().next();
        Self {
            address: address.to_owned(),
            known_as: identity.map(|identity| format!("{identity} (that is {address})")).unwrap_or_default(),
            answers_to: Box::new(|name| assay_host::is_identity_of(device, name)),
        }
    }
}

/// Fails for an `--overwrite` that does not name exactly one target: a mistyped name shows a misunderstanding, and a
/// serial number or path shared by two targets must not cost the data of both.
pub(crate) fn check_overwrite(given: &[String], targets: &[Nameable<'_>]) -> Result<(), PrepareError> {
    for name in given {
        let named: Vec<&Nameable<'_>> = targets.iter().filter(|target| (target.answers_to)(name)).collect();
        let given = name.clone();
        match named[..] {
            [] => return Err(PrepareError::OverwriteUnknown { given, known: known_names(targets) }),
            [_] => {}
            _ => {
                let targets: Vec<&str> = named.iter().map(|target| target.address.as_str()).collect();
                return Err(PrepareError::OverwriteAmbiguous { given, targets: targets.join(" and ") });
            }
        }
    }
    Ok(())
}

fn known_names(targets: &[Nameable<'_>]) -> String {
    let names = targets.iter().map(|target| target.known_as.as_str()).filter(|name| !name.is_empty());
    let names: Vec<&str> = names.collect();
    if names.is_empty() {
        "none of them can be overwritten".to_owned()
    } else {
        format!("they are called {}", names.join(" and "))
    }
}
