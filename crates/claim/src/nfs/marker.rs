//! Creating, marking and removing files over NFS. NFSv3 has no extended attributes, so the marker is always the hidden
//! file beside, in the same form as on a file system without them: a host that mounts the export finds the same marks.

use std::ffi::OsStr;

use assay_nfs::CallError;
use assay_nfs::nfs3::{Attributes, FileKind, Handle, NfsStatus, Stable};

use super::location::{FoundFile, NfsLocation, failed, locate_again};
use crate::lock::Lock;
use crate::mark::{
    FileLook, MARKER_BYTES_MAX, Mark, Marker, beside_name, beside_text, is_marker, marker_beside,
};
pub use crate::removal::Removal;
use assay_target::OpenError;
use assay_target::nfs::NfsMember;

/// Permissions of a file created by Assay.
const MODE: u32 = 0o644;
/// NFS3ERR_BADHANDLE, which some servers return when the file of a handle no longer exists.
const BADHANDLE: u32 = 10_001;

/// Length of a mark, bytes: a mark written over another must leave no remainder of it.
const MARK_BYTES: usize = 1024;
/// Replaces the file number in a mark that belongs to no file.
const NO_FILE: u64 = 0;
/// Marks a file that Assay is about to create. An empty file beside such a mark is left by an interrupted run.
const CREATING: &[u8] = b"creating";
/// A void mark: the file beside it is not ours.
const VOID: &[u8] = b"";

/// The file beside, as it was read.
struct MarkFile {
    attributes: Attributes,
    text: Vec<u8>,
}

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

    /// Checks the mark of the file.
    pub fn mark_of_file(&mut self) -> Result<Mark, OpenError> {
        let Some(FoundFile { attributes, .. }) = self.file else { return Ok(Mark::None) };
        let Some(MarkFile { attributes: mark, text }) = self.mark_file()? else { return Ok(Mark::None) };
        let trusted = [attributes.uid, self.credentials.uid];
        if attributes.size_bytes == 0 && marker_beside(&text, NO_FILE).as_deref() == Some(CREATING) {
            return Ok(Mark::Valid(Marker::new(true)).written_by(mark.uid, trusted));
        }
        let Some(text) = marker_beside(&text, attributes.fileid) else { return Ok(Mark::None) };
        self.mark_id = Marker::id_of_text(&text);
        // The server's clock gives the time of the mark, as it does for the file.
        let judged = Mark::of_text(&text, &look(&attributes), Some(mark.modified_ns));
        Ok(judged.written_by(mark.uid, trusted))
    }

    /// Returns the content of the mark file; `None` if there is none.
    pub fn mark_before(&mut self) -> Result<Option<Vec<u8>>, OpenError> {
        Ok(self.mark_file()?.map(|mark| mark.text))
    }

    /// Returns the file beside; `None` if there is none. A link, or anything else but a file, is not Assay's.
    fn mark_file(&mut self) -> Result<Option<MarkFile>, OpenError> {
        let (directory, beside) = (self.directory, self.beside());
        let found = self.server.lookup(&directory, &beside).map_err(|e| self.failed(&e))?;
        let Some((handle, attributes)) = found.filter(|(_, a)| a.kind == FileKind::Regular) else {
            return Ok(None);
        };
        let most = u32::try_from(MARKER_BYTES_MAX).expect("a few KiB");
        let text = self.server.read(&handle, 0, most).map_err(|e| self.failed(&e))?;
        Ok(Some(MarkFile { attributes, text }))
    }

    /// Checks whether a file that did not exist exists now, and returns the id of its mark.
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

    /// Returns the id of the mark beside the file, after a call of [`NfsLocation::marker`].
    pub fn mark_id(&self) -> Option<&str> {
        self.mark_id.as_deref()
    }

    /// Creates the file, which must not exist yet. The mark is written first: a run interrupted in between leaves an
    /// empty file that is still recognised as ours.
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

    /// Removes what [`NfsLocation::create`] has created: the empty file and its mark, or the mark alone.
    pub fn discard(&mut self) -> Result<(), OpenError> {
        match self.file {
            Some(file) => match self.leads_to(&file.handle, None)? {
                true => self.remove(),
                false => Ok(()),
            },
            None => self.remove_creating(),
        }
    }

    /// Removes the mark of a file that was not created. If another client has created the file meanwhile, the mark
    /// would claim it; if that is another run of Assay, it writes its own mark next.
    fn remove_creating(&mut self) -> Result<(), OpenError> {
        let (directory, beside) = (self.directory, self.beside());
        match self.mark_file()? {
            Some(mark) if marker_beside(&mark.text, NO_FILE).as_deref() == Some(CREATING) => {
                self.server.remove(&directory, &beside).map_err(|e| self.failed(&e))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the name still leads to the file `known`. Another user of the server may have moved another file
    /// there since, which must be neither marked nor removed. `mark_id`: the id of the mark that we gave it.
    pub(super) fn leads_to(&mut self, known: &Handle, mark_id: Option<&str>) -> Result<bool, OpenError> {
        let (directory, name) = (self.directory, self.name.clone());
        let found = self.server.lookup(&directory, &name).map_err(|e| self.failed(&e))?;
        let Some((handle, there)) = found else { return Ok(false) };
        if handle == *known {
            return Ok(true);
        }
        // A server may have two handles for one file. If the known one still works, its file still exists, so no other
        // can have got its number.
        match self.server.attributes(known) {
            Ok(ours) => Ok((ours.fsid, ours.fileid) == (there.fsid, there.fileid)),
            Err(error) if is_gone(error.status()) => {
                self.void_mark(&there, mark_id)?;
                Ok(false)
            }
            Err(error) => Err(self.failed(&error)),
        }
    }

    /// Voids our open mark, because file systems reuse the number of a removed file, and the mark would claim the new
    /// file. A mark with another id than `mark_id` belongs to another run and its file.
    fn void_mark(&mut self, there: &Attributes, mark_id: Option<&str>) -> Result<(), OpenError> {
        let Some(mark_id) = mark_id else { return Ok(()) };
        let Some(mark) = self.mark_file()? else { return Ok(()) };
        match marker_beside(&mark.text, there.fileid) {
            Some(text) if Marker::id_of_text(&text).as_deref() == Some(mark_id) => {
                self.write_mark(NO_FILE, VOID)
            }
            _ => Ok(()),
        }
    }

    /// Reads the attributes of the file again.
    pub(super) fn refresh(&mut self) -> Result<FoundFile, OpenError> {
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

    /// Writes the file beside with one WRITE over its old content: if the connection or server is lost meanwhile, the
    /// old or the new mark remains, never a file without a mark.
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
        // Trailing blanks have no meaning.
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

    /// Fails if the path of the marker is a link or another user's file, which must not be overwritten.
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
        // A marker whose creation was interrupted is empty.
        if is_file && (attributes.size_bytes == 0 || is_marker(&text)) {
            return Ok(());
        }
        let why = format!(
            "{beside} has the name of the mark file that Assay writes, but Assay did not write it; move it \
                away"
        );
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

/// Returns the properties of a file for its mark. NFSv3 reports no birth times.
fn look(attributes: &Attributes) -> FileLook {
    let Attributes { fileid: inode, size_bytes: length_bytes, modified_ns, .. } = *attributes;
    FileLook { inode, born_ns: None, length_bytes, modified_ns, changed_ns: None }
}

/// Returns true for the statuses of a file that no longer exists.
fn is_gone(status: Option<NfsStatus>) -> bool {
    matches!(status, Some(NfsStatus::STALE | NfsStatus::NOENT | NfsStatus(BADHANDLE)))
}

/// Writes the marker of a file over its own connection, because the server may have restarted meanwhile. If the name
/// leads to another file by now, that one is not marked: [`OpenError::NfsElsewhere`].
pub fn mark(member: &NfsMember, marker: &mut Marker, is_open: bool) -> Result<(), OpenError> {
    let mut place = locate_again(member)?;
    let Some(file) = place.file else { return Err(elsewhere(member)) };
    if !place.leads_to(&member.handle, Some(&marker.id))? {
        return Err(elsewhere(member));
    }
    // The mark describes the opened file, whatever happens to its name meanwhile.
    place.file = Some(FoundFile { handle: member.handle, ..file });
    place.mark(marker, is_open)
}

/// Writes the marker of a file after a run, unless its attributes `differ` from what the run has left: the mark is void
/// then, and the difference is returned.
pub fn mark_closed<D>(
    member: &NfsMember,
    marker: &mut Marker,
    differ: impl FnOnce(&FileLook) -> Option<D>,
) -> Result<Option<D>, OpenError> {
    let mut place = locate_again(member)?;
    let Some(file) = place.file else { return Err(elsewhere(member)) };
    if !place.leads_to(&member.handle, Some(&marker.id))? {
        return Err(elsewhere(member));
    }
    place.file = Some(FoundFile { handle: member.handle, ..file });
    let attributes = place.refresh()?.attributes;
    let difference = differ(&look(&attributes));
    match difference {
        None => place.mark(marker, false)?,
        Some(_) => place.void_mark(&attributes, Some(&marker.id))?,
    }
    Ok(difference)
}

/// Voids the mark that this run gave to a file, which had the attributes `looked` then: another client has changed the
/// file since, or another file has its name.
pub fn void(member: &NfsMember, looked: &Attributes) -> Result<(), OpenError> {
    locate_again(member)?.void_mark(looked, member.mark_id.as_deref())
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
    // It may have grown since its inspection, and must not be truncated.
    let is_shorter = place.file.is_none_or(|file| file.attributes.size_bytes < bytes);
    if !is_shorter {
        return Ok(());
    }
    place.server.set_size(&member.handle, bytes).map_err(|e| failed(&member.address, &e))
}

fn elsewhere(member: &NfsMember) -> OpenError {
    OpenError::NfsElsewhere { file: member.address.to_string() }
}

/// Removes the opened file, with its marker, if Assay created it. Other runs on this machine are excluded meanwhile.
/// NFSv3 removes by name: a file that another host moves there between the last check and the removal, one round trip
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
