//! Images of foreign disks: small sparse images of file systems, volume managers, RAIDs, partition tables, disk images
//! and plain data, created by the real programs if Debian has them, otherwise from their documented format.
//!
//! All have the same length and are stored as their non-zero blocks, so that an image can be written to any target in
//! milliseconds ([`Image::put`]) and compared with it afterwards ([`Image::is_on`]).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::Command;

use crate::need;

mod formats;

/// Length of every image, bytes: the smallest that every mkfs accepts (XFS needs 300 MiB).
pub const IMAGE_BYTES: u64 = 320 << 20;
/// Size of a stored block, bytes.
const BLOCK_BYTES: usize = 4096;

/// A disk with content.
#[derive(Debug)]
pub struct Image {
    /// Name of the content.
    pub name: String,
    /// Offset and data of each non-zero block.
    blocks: Vec<(u64, Vec<u8>)>,
}

/// How an image is created.
pub(crate) enum Recipe {
    /// By a program: a shell command with the path of an image of the right length in `$I`.
    Program(&'static str),
    /// From its format: offsets, negative ones from the end, and the bytes there.
    Bytes(Vec<(i64, Vec<u8>)>),
}

/// Returns true if all programs of the recipes are installed; skips the test otherwise.
#[track_caller]
pub fn programs() -> bool {
    need::programs(&formats::PROGRAMS)
}

/// Creates every image.
///
/// # Panics
/// If a program fails.
pub fn all() -> Vec<Image> {
    let mut images = Vec::new();
    for (name, recipe, wipes) in formats::all() {
        let image = make(name, &recipe);
        // The remains after the start was cleared, as by installers and `dd`.
        if wipes > 0 {
            images.push(image.without_first(wipes));
        }
        images.push(image);
    }
    images
}

fn make(name: &str, recipe: &Recipe) -> Image {
    let folder = tempfile::Builder::new().prefix("assay-image-").tempdir_in("/dev/shm").unwrap();
    let path = folder.path().join("image");
    let file = File::options().create_new(true).read(true).write(true).open(&path).unwrap();
    file.set_len(IMAGE_BYTES).unwrap();
    match recipe {
        Recipe::Bytes(places) => {
            for (at, bytes) in places {
                let at = if *at < 0 { IMAGE_BYTES - at.unsigned_abs() } else { at.unsigned_abs() };
                file.write_all_at(bytes, at).unwrap();
            }
        }
        Recipe::Program(line) => {
            let output = Command::new("sh")
                .args(["-ec", line])
                .current_dir(folder.path())
                .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
                .env("I", "image")
                .output()
                .unwrap();
            assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
    // Some programs create their own file and move it there.
    let blocks = blocks(&File::open(&path).unwrap()).unwrap();
    assert!(!blocks.is_empty(), "{name} holds nothing");
    Image { name: name.to_owned(), blocks }
}

/// Returns the non-zero blocks of a file. Holes are not read.
fn blocks(file: &File) -> io::Result<Vec<(u64, Vec<u8>)>> {
    let mut all = Vec::new();
    let mut at = 0;
    let length = file.metadata()?.len();
    while let Some((from, until)) = next_data(file, at, length)? {
        let mut bytes = vec![0; usize::try_from(until - from).unwrap()];
        file.read_exact_at(&mut bytes, from)?;
        for (offset, block) in (from..).step_by(BLOCK_BYTES).zip(bytes.chunks(BLOCK_BYTES)) {
            if block.iter().any(|byte| *byte != 0) {
                all.push((offset, block.to_vec()));
            }
        }
        at = until;
    }
    Ok(all)
}

/// Returns the start and end of the next data at or after `at`, in whole blocks.
fn next_data(file: &File, at: u64, length: u64) -> io::Result<Option<(u64, u64)>> {
    use rustix::fs::{SeekFrom, seek};
    let block = BLOCK_BYTES as u64;
    let from = match seek(file, SeekFrom::Data(at)) {
        Ok(from) => from / block * block,
        Err(rustix::io::Errno::NXIO) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    };
    let until = seek(file, SeekFrom::Hole(from.max(at)))?.next_multiple_of(block).min(length);
    Ok(Some((from.max(at), until)))
}

impl Image {
    fn without_first(&self, bytes: u64) -> Self {
        let clear = |(at, block): &(u64, Vec<u8>)| {
            let mut block = block.clone();
            let cleared = usize::try_from(bytes.saturating_sub(*at)).unwrap().min(block.len());
            block[..cleared].fill(0);
            block.iter().any(|byte| *byte != 0).then_some((*at, block))
        };
        let blocks: Vec<_> = self.blocks.iter().filter_map(clear).collect();
        assert!(!blocks.is_empty(), "{} has something after {bytes} bytes", self.name);
        Self { name: format!("{}, start cleared", self.name), blocks }
    }

    /// Writes the image to a file, which is emptied first and has the image's length afterwards.
    ///
    /// # Errors
    /// If the file cannot be written or read.
    pub fn put(&self, path: &Path) -> io::Result<()> {
        let file = File::options().write(true).create(true).truncate(true).open(path)?;
        file.set_len(IMAGE_BYTES)?;
        self.blocks.iter().try_for_each(|(at, block)| file.write_all_at(block, *at))
    }

    /// Returns true if a file contains exactly this image.
    ///
    /// # Errors
    /// If the file cannot be written or read.
    pub fn is_on(&self, path: &Path) -> io::Result<bool> {
        let file = File::open(path)?;
        Ok(file.metadata()?.len() == IMAGE_BYTES && blocks(&file)? == self.blocks)
    }
}
