//! Determines whether a target is blank, before anything is written to it.
//!
//! Two checks, the same for every kind of target: does it hold a known *signature*? And are all blocks that were read
//! empty (one repeated byte) or Assay's [own data](crate::own_data)? The blocks are both ends, the places where
//! copies of superblocks survive, and *samples* spread over the rest. Devices and local files are examined for
//! signatures directly; the blocks read from a LUN or a file on an NFS server are copied into a sparse file of the same
//! length, which is then examined like a device.

mod samples;

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use assay_host::ProbeError;
use rustix::fs::{Advice, MemfdFlags, fadvise, memfd_create};

use crate::own_data::{Author, SECTOR_BYTES, author};

pub use samples::Breadth;
use samples::samples;

/// Time limit for the ends, and again for the first samples: a target that needs longer is not written.
const MUST_END_WITHIN: Duration = Duration::from_secs(60);
/// Time after which no further samples are read, once the first ones have been: disks with slow seeks get fewer
/// samples.
const ENOUGH_AFTER: Duration = Duration::from_secs(5);
/// Number of foreign sectors shown in a message.
const SHOWN_SECTORS: usize = 3;
const SHOWN_BYTES: usize = 16;

/// Reads places (offset and length, bytes) until a time, passes on the data, and returns the number of bytes read.
pub type ReadPlaces<'r> =
    dyn FnMut(&[(u64, u64)], Instant, &mut dyn FnMut(u64, &[u8])) -> Result<u64, String> + 'r;

/// Share of Assay's sectors that carry a seal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seals {
    /// Every sector.
    All,
    /// Some: the data compress or repeat.
    Some,
}

/// Results about a target's content so far.
pub struct Examination {
    size_bytes: u64,
    /// A sparse copy of the data read; `None` if the target itself can be examined.
    copy: Option<File>,
    foreign: ForeignData,
}

/// Data that Assay did not write.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ForeignData {
    /// Offset and first bytes of the first such sectors.
    first: Vec<(u64, Vec<u8>)>,
    sectors: u64,
    /// Number of sectors read.
    of_sectors: u64,
}

impl Examination {
    /// Returns the examination of a device or file that this host can read.
    pub fn local(size_bytes: u64) -> Self {
        Self { size_bytes, copy: None, foreign: ForeignData::default() }
    }

    /// Returns the examination of a LUN, or of a file on an NFS server.
    pub fn remote(size_bytes: u64) -> io::Result<Self> {
        // In memory, where a sparse file can be as long as any LUN.
        let copy = File::from(memfd_create("assay-look", MemfdFlags::CLOEXEC)?);
        copy.set_len(size_bytes)?;
        Ok(Self { size_bytes, copy: Some(copy), foreign: ForeignData::default() })
    }

    /// Reads the places of signatures.
    pub fn read_ends(&mut self, read: &mut ReadPlaces<'_>) -> Result<(), String> {
        let places = assay_host::signature_places(self.size_bytes);
        let began = Instant::now();
        let done = self.read(&places, began + MUST_END_WITHIN, read)?;
        enough(done, &places)
    }

    /// Reads the samples, unless foreign data was already found.
    pub fn read_samples(&mut self, breadth: Breadth, read: &mut ReadPlaces<'_>) -> Result<(), String> {
        // Samples are not searched for signatures.
        self.copy = None;
        let began = Instant::now();
        for (round, places) in samples(self.size_bytes, breadth).into_iter().enumerate() {
            if self.foreign.sectors > 0 {
                break;
            }
            let limit = if round == 0 { MUST_END_WITHIN } else { ENOUGH_AFTER };
            let done = self.read(&places, began + limit, read)?;
            if round == 0 {
                enough(done, &places)?;
            }
        }
        Ok(())
    }

    fn read(
        &mut self,
        places: &[(u64, u64)],
        until: Instant,
        read: &mut ReadPlaces<'_>,
    ) -> Result<u64, String> {
        let mut copied = Ok(());
        let done = read(places, until, &mut |offset_bytes, bytes| {
            if self.foreign.take(offset_bytes, bytes) == Holds::Something
                && let (Some(copy), Ok(())) = (&self.copy, &copied)
            {
                copied = copy.write_all_at(bytes, offset_bytes);
            }
        })?;
        copied.map_err(|error| format!("cannot store the samples for examination: {error}"))?;
        Ok(done)
    }

    /// Returns the formats with a known signature in words, such as `an LVM physical volume (`LVM2_member`)`. `of`: the
    /// device or file itself, if this host can read it.
    pub fn contents(&self, of: Option<&File>, name: &Path) -> Result<Vec<String>, String> {
        assay_host::contents(self.examined(of)?, self.size_bytes, name).map_err(|error| error.to_string())
    }

    /// Returns the same for a file with a valid mark: if no `wipefs` is installed, Assay's own table and the blocks
    /// that were read suffice.
    fn contents_of_marked(&self, of: Option<&File>, name: &Path) -> Result<Vec<String>, String> {
        let file = self.examined(of)?;
        match assay_host::contents(file, self.size_bytes, name) {
            Err(ProbeError::ToolMissing { .. }) => {
                assay_host::contents_by_table(file, self.size_bytes).map_err(|error| error.to_string())
            }
            contents => contents.map_err(|error| error.to_string()),
        }
    }

    fn examined<'f>(&'f self, of: Option<&'f File>) -> Result<&'f File, String> {
        of.or(self.copy.as_ref()).ok_or_else(|| "no copy of it was kept".to_owned())
    }

    /// Returns the content of a file with Assay's mark that Assay did not write, in words. `of`: as for `contents`.
    pub fn of_marked_file(
        mut self,
        seals: Seals,
        of: Option<&File>,
        name: &Path,
        read: &mut ReadPlaces<'_>,
    ) -> Result<Option<String>, String> {
        self.read_ends(read)?;
        if let Some(first) = self.contents_of_marked(of, name)?.into_iter().next() {
            return Ok(Some(first));
        }
        if seals == Seals::Some {
            return Ok(None);
        }
        self.read_samples(Breadth::MarkedFile, read)?;
        Ok(self.foreign().map(|foreign| foreign.to_string()))
    }

    /// Returns the data that Assay did not write, if any.
    pub fn foreign(self) -> Option<ForeignData> {
        (self.foreign.sectors > 0).then_some(self.foreign)
    }
}

fn enough(done_bytes: u64, places: &[(u64, u64)]) -> Result<(), String> {
    let all_bytes: u64 = places.iter().map(|(_, bytes)| bytes).sum();
    if done_bytes >= all_bytes {
        return Ok(());
    }
    Err(format!(
        "only {} of the {} KiB that show whether it is blank were read within {} s",
        done_bytes >> 10,
        all_bytes >> 10,
        MUST_END_WITHIN.as_secs()
    ))
}

/// Returns a reader of a file or device. It leaves nothing in the page cache.
pub fn reader(file: &File) -> Box<ReadPlaces<'_>> {
    Box::new(move |places, until, take| {
        // Cached pages may be older than data written directly, and read-ahead would only fill the cache. Both calls
        // are advice: a file system that ignores them is read all the same.
        let _ =
            fadvise(file, 0, None, Advice::DontNeed).and_then(|()| fadvise(file, 0, None, Advice::Random));
        let read = read_file(file, places, until, take).map_err(|error| error.to_string());
        let _ = fadvise(file, 0, None, Advice::DontNeed);
        read
    })
}

fn read_file(
    file: &File,
    places: &[(u64, u64)],
    until: Instant,
    take: &mut dyn FnMut(u64, &[u8]),
) -> io::Result<u64> {
    let mut done = 0;
    let mut buf = Vec::new();
    for (offset_bytes, bytes) in places {
        if Instant::now() >= until {
            break;
        }
        buf.resize(usize::try_from(*bytes).expect("a few MiB"), 0);
        file.read_exact_at(&mut buf, *offset_bytes)?;
        take(*offset_bytes, &buf);
        done += bytes;
    }
    Ok(done)
}

/// Content of a place.
#[derive(Debug, PartialEq, Eq)]
enum Holds {
    Zeros,
    Something,
}

impl ForeignData {
    fn take(&mut self, offset_bytes: u64, bytes: &[u8]) -> Holds {
        let mut holds = Holds::Zeros;
        for (offset, sector) in (offset_bytes..).step_by(SECTOR_BYTES).zip(bytes.chunks(SECTOR_BYTES)) {
            self.of_sectors += 1;
            match author(sector) {
                Author::Nobody if sector[0] == 0 => continue,
                Author::Foreign => self.add(offset, sector),
                Author::Nobody | Author::Assay => {}
            }
            holds = Holds::Something;
        }
        holds
    }

    /// Returns the reason not to write, a sentence about `subject`.
    pub fn hold(&self, subject: impl fmt::Display) -> String {
        format!(
            "{subject} is not blank: it holds {self}; to write to it, --overwrite needs --not-blank as well"
        )
    }

    fn add(&mut self, offset_bytes: u64, sector: &[u8]) {
        self.sectors += 1;
        self.first.push((offset_bytes, sector[..SHOWN_BYTES.min(sector.len())].to_vec()));
        // The places arrive in any order.
        self.first.sort();
        self.first.truncate(SHOWN_SECTORS);
    }
}

/// `data that Assay did not write, in 3 of 12288 sectors read: at offset 4096: 52 49 …`.
impl fmt::Display for ForeignData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sectors, of_sectors, .. } = self;
        write!(f, "data that Assay did not write, in {sectors} of {of_sectors} sectors read")?;
        for (at, (offset_bytes, bytes)) in self.first.iter().enumerate() {
            let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            // Arbitrary bytes must not reach a terminal unchanged.
            let text: String = bytes.iter().map(|byte| printable(*byte)).collect();
            let separator = if at == 0 { ": " } else { "; " };
            write!(f, "{separator}at offset {offset_bytes}: {} |{text}|", hex.join(" "))?;
        }
        Ok(())
    }
}

fn printable(byte: u8) -> char {
    if byte.is_ascii_graphic() || byte == b' ' { char::from(byte) } else { '.' }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u64 = 1 << 30;

    /// A target of zeros except for one byte at `data_at`; the `slow_call`-th call stops after a quarter of its reads.
    struct Fake {
        data_at: Option<u64>,
        slow_call: Option<usize>,
        calls: usize,
    }

    impl Fake {
        fn read(&mut self, places: &[(u64, u64)], take: &mut dyn FnMut(u64, &[u8])) -> u64 {
            self.calls += 1;
            let share = if self.slow_call == Some(self.calls) { places.len() / 4 } else { places.len() };
            let mut done = 0;
            for &(at, bytes) in &places[..share] {
                let mut data = vec![0; usize::try_from(bytes).unwrap()];
                if let Some(byte) =
                    self.data_at.and_then(|data_at| data_at.checked_sub(at)).filter(|b| *b < bytes)
                {
                    data[usize::try_from(byte).unwrap()] = b'!';
                }
                take(at, &data);
                done += bytes;
            }
            done
        }
    }

    /// Returns the finding or an error, and the number of read calls.
    fn examined(data_at: Option<u64>, slow_call: Option<usize>) -> (Result<Option<String>, String>, usize) {
        let mut fake = Fake { data_at, slow_call, calls: 0 };
        let mut read =
            |places: &[(u64, u64)], _: Instant, take: &mut dyn FnMut(u64, &[u8])| Ok(fake.read(places, take));
        let mut examination = Examination::remote(SIZE).unwrap();
        let result = examination
            .read_ends(&mut read)
            .and_then(|()| examination.read_samples(Breadth::Device, &mut read))
            .map(|()| examination.foreign().map(|foreign| foreign.to_string()));
        (result, fake.calls)
    }

    #[test]
    fn data_is_found_at_the_ends_at_copies_and_at_samples_and_is_shown() {
        let found = |at| examined(Some(at), None).0.unwrap().unwrap();
        let sector = "data that Assay did not write, in 1 of ";
        for at in [0, SIZE - 1, 128 << 20, SIZE / 4, SIZE / 1024 * 514] {
            let says = found(at);
            assert!(
                says.starts_with(sector) && says.contains(&format!("at offset {}:", at / 512 * 512)),
                "{says}"
            );
        }
        assert!(
            found(512).ends_with(
                "at offset 512: 21 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 |!...............|"
            )
        );
    }

    #[test]
    fn nothing_is_found_on_zeros_and_samples_are_read_in_three_rounds() {
        assert_eq!(examined(None, None), (Ok(None), 4));
        assert_eq!(examined(Some(0), None).1, 1, "what is known is not looked for again");
    }

    #[test]
    fn a_target_too_slow_for_the_ends_or_the_first_samples_does_not_count_as_blank() {
        for slow_call in [1, 2] {
            let (result, calls) = examined(None, Some(slow_call));
            let why = result.unwrap_err();
            assert!(why.contains("KiB that show whether it is blank were read within 60 s"), "{why}");
            assert_eq!(calls, slow_call);
        }
        assert_eq!(examined(None, Some(3)), (Ok(None), 4), "further samples are read as far as time allows");
    }
}
