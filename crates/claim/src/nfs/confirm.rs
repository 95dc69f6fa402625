//! Verifies a file on a server before it is written: a name proves nothing, and anybody may write to the file.

use super::location::{NfsLocation, failed, locate_again};
use assay_nfs::nfs3::Attributes;
use assay_target::OpenError;
use assay_target::nfs::NfsMember;

use crate::mark::Marker;

impl NfsLocation {
    /// Fails if the name leads to another file than the inspected one, or if the file was changed since `looked`.
    pub fn confirm(&mut self, looked: Option<&Attributes>) -> Result<(), OpenError> {
        // If there was none, none is opened: it would have to be created.
        let Some(file) = self.file else { return Ok(()) };
        if !self.leads_to(&file.handle, None)? {
            return Err(OpenError::NfsElsewhere { file: self.address.to_string() });
        }
        let now = self.server.attributes(&file.handle).map_err(|error| failed(&self.address, &error))?;
        let what = looked.and_then(|looked| difference(looked, &now));
        self.changed(what)
    }

    fn changed(&self, what: Option<&str>) -> Result<(), OpenError> {
        match what {
            None => Ok(()),
            Some(what) => Err(OpenError::Changed { target: self.address.to_string(), what: what.to_owned() }),
        }
    }
}

fn difference(looked: &Attributes, now: &Attributes) -> Option<&'static str> {
    if looked.size_bytes != now.size_bytes {
        Some("its size")
    } else if looked.modified_ns != now.modified_ns {
        Some("its modification time")
    } else if looked.changed_ns != now.changed_ns {
        // Whoever sets the time of modification back cannot do so with this one.
        Some("its change time")
    } else {
        None
    }
}

/// Fails if a file differs from the one that this run marked: `looked` were its attributes then, and `run` was the id
/// of this run in the mark.
pub fn confirm(member: &NfsMember, looked: &Attributes, run: &str) -> Result<(), OpenError> {
    let mut place = locate_again(member)?;
    let elsewhere = || OpenError::NfsElsewhere { file: member.address.to_string() };
    // The opened file, whatever the name leads to now.
    place.file.as_mut().ok_or_else(elsewhere)?.handle = member.handle;
    place.confirm(Some(looked))?;
    let marked = place.marker()?;
    place.changed(if marked.is_some_and(|marker| marker.run == run) { None } else { Some("its mark") })
}

/// Fails if a file differs from the one that `marker`, the last mark of this run, describes.
pub fn confirm_marked(member: &NfsMember, marker: &Marker) -> Result<(), OpenError> {
    let mut place = locate_again(member)?;
    let elsewhere = || OpenError::NfsElsewhere { file: member.address.to_string() };
    place.file.as_mut().ok_or_else(elsewhere)?.handle = member.handle;
    place.confirm(None)?;
    let now = place.refresh()?.attributes;
    place.changed(if now.size_bytes != marker.length_bytes {
        Some("its size")
    } else {
        (now.modified_ns != marker.modified_ns).then_some("its modification time")
    })?;
    let marked = place.marker()?;
    place.changed(if marked.is_some_and(|marked| marked.run == marker.run) { None } else { Some("its mark") })
}
