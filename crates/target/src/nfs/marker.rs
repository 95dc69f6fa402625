//! Creating, marking and removing files over NFS. NFSv3 has no extended attributes, so the marker is always the hidden
//! file beside, in the form that a file system without them gets: whoever mounts the export finds the same marks.

use std::ffi::OsStr;

use assay_nfs::CallError;
use assay_nfs::nfs3::{Attributes, FileKind, Handle, NfsStatus, Stable};

use super::NfsMember;
use super::location::{FoundFile, NfsLocation, failed, locate_again};
use crate::OpenError;
pub use crate::file::Removal;
use crate::file::{FileLook, Lock, Mark, Marker};
use crate::mark::{MARKER_BYTES_MAX, beside_name, beside_text, is_marker, marker_beside};

/// Permissions of a file that Assay makes.
const MODE: u32 = 0o644;
/// NFS3ERR_BADHANDLE, which some servers answer when the file of a handle is gone.
const BADHANDLE: u32 = 10_001;

/// Marks have this length, bytes: one that is written over another must not leave a rest of it.
const MARK_BYTES: usize = 1024;
/// In place of the file's number: a mark that belongs to no file.
const NO_FILE: u64 = 0;
/// Says that Assay is about to create the file. An empty file beside such a mark was made by a run that was cut off.
const CREATING: &[u8] = b"creating";
/// Says nothing: what stands beside such a mark is not ours.
const VOID: &[u8] = b"";

impl NfsLocation {
    fn failed(&self, error: &CallError) -> OpenError {
        failed(&self.address, error)
    }

    fn beside(&self) -> String {
        beside_name(OsStr::new(&self.name)).to_string_lossy().into_owned()
    }

    /// Returns the marker of the file, if there is one that still describes it.
    pub fn marker(&mut self) -> Result<Option<Marker>, OpenError> {
        self.mark_of_file().map(Mark::valid)
    }

    /// Returns what the mark of the file proves.
    pub fn mark_of_file(&mut self) -> Result<Mark, OpenError> {
        let Some(FoundFile { attributes, .. }) = self.file else { return Ok(Mark::None) };
        let (directory, beside) = (self.directory, self.beside());
        let found = self.server.lookup(&directory, &beside).map_err(|e| self.failed(&e))?;
        // A link, or anything else there, is not Assay's.
        let Some((handle, mark)) = found.filter(|(_, a)| a.kind == FileKind::Regular) else {
            return Ok(Mark::None);
        };
        let most = u32::try_from(MARKER_BYTES_MAX).expect("a few KiB");
        let text = self.server.read(&handle, 0, most).map_err(|e| self.failed(&e))?;
        let trusted = [attributes.uid, self.credentials.uid];
        if attributes.size_bytes == 0 && marker_beside(&text, NO_FILE).as_deref() == Some(CREATING) {
            return Ok(Mark::Valid(Marker::new(true)).written_by(mark.uid, trusted));
        }
        let Some(text) = marker_beside(&text, attributes.fileid) else { return Ok(Mark::None) };
        self.mark_id = Marker::id_of_text(&text);
        // The server's own clock says when the mark was written, as it does for the file.
        let judged = Mark::of_text(&text, &look(&attributes), Some(mark.modified_ns));
        Ok(judged.written_by(mark.uid, trusted))
    }

    /// Returns all that the file with the mark holds; `None` where there is none.
    pub fn mark_before(&mut self) -> Result<Option<Vec<u8>>, OpenError> {
        let (directory, beside) = (self.directory, self.beside());
        let found = self.server.lookup(&directory, &beside).map_err(|e| self.failed(&e))?;
        let Some((handle, _)) = found.filter(|(_, a)| a.kind == FileKind::Regular) else { return Ok(None) };
        let most = u32::try_from(MARKER_BYTES_MAX).expect("a few KiB");
        self.server.read(&handle, 0, most).map(Some).map_err(|e| self.failed(&e))
    }

    /// Looks whether a file that did not exist exists now, and returns the number of its mark.
    pub fn appeared(&mut self) -> Result<Option<Option<String>>, OpenError> {
        let (directory, name) = (self.directory, self.name.clone());
        let found = self.server.lookup(&directory, &name).map_err(|e| self.failed(&e))?;
        let Some((handle, attributes)) = found else { return Ok(None) };
        let rights = self.server.access(&handle).map_err(|e| self.failed(&e))?;
        self.file = Some(FoundFile { handle, attributes, rights });
        self.marker()?;
        self.file = None;
        Ok(Some(self.mark_id.take()))
    }

    /// The number of the mark beside the file, once [`NfsLocation::marker`] has looked.
    #[must_use]
    pub fn mark_id(&self) -> Option<&str> {
        self.mark_id.as_deref()
    }

    /// Creates the file, which must not be there yet. The mark comes first: of a run that is cut off in between, an
    /// empty file is left that is still known to be ours.
    pub fn create(&mut self) -> Result<(), OpenError> {
        let (directory, name) = (self.directory, self.name.clone());
        if self.server.lookup(&directory, &name).map_err(|e| self.failed(&e))?.is_none() {
            self.write_mark(NO_FILE, CREATING)?;
        }
        let handle = self.server.create(&directory, &name, MODE).map_err(|e| self.failed(&e))?;
        let attributes = self.server.attributes(&handle).map_err(|e| self.failed(&e))?;
        let rights = self.server.access(&handle).map_err(|e| self.failed(&e))?;
        self.file = Some(FoundFile { handle, attributes, rights });
        Ok(())
    }

    /// Takes back a file that was created a moment ago and holds nothing, and its mark.
    pub fn discard(&mut self) {
        let Some(file) = self.file else { return };
        // What led here is what is reported; this is only an attempt to leave things tidy.
        if matches!(self.leads_to(&file.handle, None), Ok(true)) {
            let _ = self.remove();
        }
    }

    /// Looks the name up again: does it still lead to the file `known`? Somebody on the server may have moved another
    /// one there since, which is neither ours to mark nor to remove.
    /// `mark_id`: the number of the mark that we gave it.
    pub(super) fn leads_to(&mut self, known: &Handle, mark_id: Option<&str>) -> Result<bool, OpenError> {
        let (directory, name) = (self.directory, self.name.clone());
        let found = self.server.lookup(&directory, &name).map_err(|e| self.failed(&e))?;
        let Some((handle, there)) = found else { return Ok(false) };
        if handle == *known {
            return Ok(true);
        }
        // A server may have two handles for one file. Where the known one still works its file is still there, so that
        // no other can have got its number.
        match self.server.attributes(known) {
            Ok(ours) => Ok((ours.fsid, ours.fileid) == (there.fsid, there.fileid)),
            Err(error) if is_gone(error.status()) => {
                self.void_mark(&there, mark_id)?;
                Ok(false)
            }
            Err(error) => Err(self.failed(&error)),
        }
    }

    /// File systems give the number of a removed file to the next one. Our open mark would take that one for ours: it
    /// is voided. A mark with another number than `mark_id` is another run's, of a file that it made.
    fn void_mark(&mut self, there: &Attributes, mark_id: Option<&str>) -> Result<(), OpenError> {
        let Some(mark_id) = mark_id else { return Ok(()) };
        let (directory, beside) = (self.directory, self.beside());
        let found = self.server.lookup(&directory, &beside).map_err(|e| self.failed(&e))?;
        let Some((mark, _)) = found.filter(|(_, a)| a.kind == FileKind::Regular) else { return Ok(()) };
        let most = u32::try_from(MARKER_BYTES_MAX).expect("a few KiB");
        let text = self.server.read(&mark, 0, most).map_err(|e| self.failed(&e))?;
        match marker_beside(&text, there.fileid) {
            Some(text) if Marker::id_of_text(&text).as_deref() == Some(mark_id) => {
                self.write_mark(NO_FILE, VOID)
            }
            _ => Ok(()),
        }
    }

    /// Looks at the file again.
    fn refresh(&mut self) -> Result<FoundFile, OpenError> {
        let file = self.file.expect("only a file that is there is looked at again");
        let attributes = self.server.attributes(&file.handle).map_err(|e| self.failed(&e))?;
        let file = FoundFile { attributes, ..file };
        self.file = Some(file);
        Ok(file)
    }

    /// Writes the marker: before a run that writes (`is_open`), and after it.
    pub fn mark(&mut self, marker: &mut Marker, is_open: bool) -> Result<(), OpenError> {
        let attributes = self.refresh()?.attributes;
        let sealed = marker.seal(&look(&attributes), is_open);
        let text = sealed.map_err(|why| self.unmarkable(why))?;
        self.write_mark(attributes.fileid, &text)
    }

    /// Writes the file beside with one WRITE over all of what it held: a connection or a server that is lost meanwhile
    /// leaves the old mark or the new one, and never a file without a mark.
    fn write_mark(&mut self, fileid: u64, marker: &[u8]) -> Result<(), OpenError> {
        let text = beside_text(fileid, marker).map_err(|why| self.unmarkable(why))?;
        self.write_beside(text)
    }

    fn write_beside(&mut self, mut text: Vec<u8>) -> Result<(), OpenError> {
        let (directory, beside) = (self.directory, self.beside());
        let (handle, old_bytes) =
            match self.server.lookup(&directory, &beside).map_err(|e| self.failed(&e))? {
                Some((handle, attributes)) => {
                    self.check_is_marker(&beside, &handle, attributes)?;
                    (handle, attributes.size_bytes)
                }
                None => (self.server.create(&directory, &beside, MODE).map_err(|e| self.failed(&e))?, 0),
            };
        // Blanks behind the text mean nothing to whoever reads it.
        let old_bytes = usize::try_from(old_bytes).unwrap_or(MARKER_BYTES_MAX).min(MARKER_BYTES_MAX);
        text.resize(text.len().max(old_bytes).max(MARK_BYTES), b' ');
        let written = self.server.write(&handle, 0, &text, Stable::FileSync).map_err(|e| self.failed(&e))?;
        match written.bytes as usize == text.len() {
            true => Ok(()),
            false => {
                Err(self.unmarkable(format!("the server took only {} bytes of {beside}", written.bytes)))
            }
        }
    }

    fn unmarkable(&self, why: impl std::fmt::Display) -> OpenError {
        OpenError::Nfs { file: self.address.to_string(), why: format!("cannot write its mark: {why}") }
    }

    /// A link, or a file of somebody else's, may stand where the marker goes: it is not overwritten.
    fn check_is_marker(
        &mut self,
        beside: &str,
        handle: &Handle,
        attributes: Attributes,
    ) -> Result<(), OpenError> {
        let most = u32::try_from(MARKER_BYTES_MAX).expect("a few KiB");
        let is_file = attributes.kind == FileKind::Regular;
        let text = if is_file {
            self.server.read(handle, 0, most).map_err(|e| self.failed(&e))?
        } else {
            Vec::new()
        };
        // One whose creation was cut off is empty.
        if is_file && (attributes.size_bytes == 0 || is_marker(&text)) {
            return Ok(());
        }
        let why = format!("{beside} is in the place of its mark and was not written by Assay; move it away");
        Err(OpenError::Nfs { file: self.address.to_string(), why })
    }

    /// Removes the file and its marker.
    fn remove(&mut self) -> Result<(), OpenError> {
        let (directory, name, beside) = (self.directory, self.name.clone(), self.beside());
        self.server.remove(&directory, &name).map_err(|e| self.failed(&e))?;
        self.file = None;
        match self.server.remove(&directory, &beside) {
            Err(error) if error.status() != Some(NfsStatus::NOENT) => Err(self.failed(&error)),
            _ => Ok(()),
        }
    }
}

/// How a file looks to its mark. NFSv3 reports no birth times.
fn look(attributes: &Attributes) -> FileLook {
    let Attributes { fileid: inode, size_bytes: length_bytes, modified_ns, .. } = *attributes;
    FileLook { inode, born_ns: None, length_bytes, modified_ns }
}

/// Returns true for the statuses of a file that is gone.
fn is_gone(status: Option<NfsStatus>) -> bool {
    matches!(status, Some(NfsStatus::STALE | NfsStatus::NOENT | NfsStatus(BADHANDLE)))
}

/// Writes the marker of a file on a connection of its own: the server may have restarted since the last. Where the name
/// leads to another file by now that one is not marked: [`OpenError::NfsElsewhere`].
pub fn mark(member: &NfsMember, marker: &mut Marker, is_open: bool) -> Result<(), OpenError> {
    let mut place = locate_again(member)?;
    let Some(file) = place.file else { return Err(elsewhere(member)) };
    if !place.leads_to(&member.handle, Some(&marker.id))? {
        return Err(elsewhere(member));
    }
    // The mark says how the file looks that was opened, whatever happens to its name meanwhile.
    place.file = Some(FoundFile { handle: member.handle, ..file });
    place.mark(marker, is_open)
}

/// Puts the mark of a file back as it was `before`, or takes it away where there was none. Nothing is changed where the
/// mark that stands there by now is not the one that was given to `member`.
pub fn put_back(member: &NfsMember, before: Option<Vec<u8>>) -> Result<(), OpenError> {
    let mut place = locate_again(member)?;
    place.mark_of_file()?;
    if place.mark_id.is_none() || place.mark_id != member.mark_id {
        return Ok(());
    }
    match before {
        Some(text) => place.write_beside(text),
        None => {
            let (directory, beside) = (place.directory, place.beside());
            place.server.remove(&directory, &beside).map_err(|e| place.failed(&e))
        }
    }
}

/// Makes a file longer without writing to it: what is added reads as zeros.
pub fn lengthen(member: &NfsMember, bytes: u64) -> Result<(), OpenError> {
    let mut place = locate_again(member)?;
    // It may have grown since it was looked at, and must not be cut.
    let is_shorter = place.file.is_none_or(|file| file.attributes.size_bytes < bytes);
    if !is_shorter {
        return Ok(());
    }
    place.server.set_size(&member.handle, bytes).map_err(|e| failed(&member.address, &e))
}

fn elsewhere(member: &NfsMember) -> OpenError {
    OpenError::NfsElsewhere { file: member.address.to_string() }
}

/// Removes the file that was opened, with its marker, where Assay created it. Other runs on this machine are kept away
/// meanwhile. NFSv3 removes by name: what somebody moves there between the last look and the removal, one round trip
/// later, is not protected.
pub fn remove(member: &NfsMember) -> Result<Removal, OpenError> {
    let mut place = locate_again(member)?;
    let Some(file) = place.file else { return Ok(Removal::Elsewhere) };
    let broken =
        |why: std::io::Error| OpenError::Nfs { file: member.address.to_string(), why: why.to_string() };
    place.marker()?;
    let mark_id = place.mark_id.clone();
    let held = place.hold(Lock::Exclusive, mark_id.as_deref()).map_err(broken)?;
    let Some(_locks) = held else { return Ok(Removal::InUse) };
    let ours = member.mark_id.as_deref();
    if !place.leads_to(&member.handle, ours)? {
        return Ok(Removal::Elsewhere);
    }
    place.file = Some(FoundFile { handle: member.handle, ..file });
    place.refresh()?;
    match place.marker()? {
        Some(marker) if marker.created && place.leads_to(&member.handle, ours)? => {
            place.remove().map(|()| Removal::Removed)
        }
        Some(marker) if marker.created => Ok(Removal::Elsewhere),
        _ => Ok(Removal::NotOurs),
    }
}
