//! The files in which the kernel shows its state: `/proc`, `/sys`, `/run`, `/etc`, below a root that tests replace by a
//! captured tree.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The pseudo file systems of one machine.
pub(crate) struct Machine {
    root: PathBuf,
}

/// A block device number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct DevNo {
    pub(crate) major: u32,
    pub(crate) minor: u32,
}

impl Machine {
    /// Returns the machine this program runs on.
    pub(crate) fn this() -> Self {
        Self { root: PathBuf::from("/") }
    }

    #[cfg(test)]
    pub(crate) fn captured(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Whether it is the machine this program runs on, whose programs can be asked.
    pub(crate) fn is_this(&self) -> bool {
        self.root == Path::new("/")
    }

    /// Returns the path of an absolute path on this machine.
    pub(crate) fn path(&self, absolute: impl AsRef<Path>) -> PathBuf {
        let absolute = absolute.as_ref();
        self.root.join(absolute.strip_prefix("/").unwrap_or(absolute))
    }

    /// Returns the path on this machine of a path that [`Self::path`] returned.
    pub(crate) fn shown(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.root).map_or_else(|_| path.to_owned(), |rest| Path::new("/").join(rest))
    }

    /// Returns the text of a file; invalid UTF-8 is replaced, because one odd mount point must not hide the rest.
    pub(crate) fn text(&self, absolute: impl AsRef<Path>) -> io::Result<String> {
        Ok(String::from_utf8_lossy(&fs::read(self.path(absolute))?).into_owned())
    }

    /// Returns one attribute, trimmed; `None` if it is absent or blank.
    pub(crate) fn attribute(&self, absolute: impl AsRef<Path>) -> Option<String> {
        attribute(&self.path(absolute))
    }

    /// Returns the sysfs directory of a block device, with all links resolved.
    pub(crate) fn block_folder(&self, number: DevNo) -> io::Result<PathBuf> {
        self.path(format!("/sys/dev/block/{number}")).canonicalize()
    }

    /// Returns the sysfs directory of a block device by kernel name.
    pub(crate) fn block_folder_by_name(&self, name: &str) -> io::Result<PathBuf> {
        self.path("/sys/class/block").join(name).canonicalize()
    }
}

/// Returns one attribute file, trimmed; `None` if it is absent, unreadable or blank.
pub(crate) fn attribute(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    // Fixed-length SCSI and NVMe fields are padded with spaces; some devices pad with NUL.
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| text.to_owned())
}

/// Returns the path in an attribute file, byte for byte: a name may end in a blank, and need not be text.
pub(crate) fn path_attribute(path: &Path) -> Option<PathBuf> {
    let mut bytes = fs::read(path).ok()?;
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    (!bytes.is_empty()).then(|| OsString::from_vec(bytes).into())
}

/// Returns one attribute as a number.
pub(crate) fn number<T: FromStr>(path: &Path) -> Option<T> {
    attribute(path)?.parse().ok()
}

/// Returns the names in a directory, sorted; none if it does not exist.
pub(crate) fn names_in(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<_> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Returns the last part of a path, as text.
pub(crate) fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or(OsStr::new("")).to_string_lossy().into_owned()
}

/// Decodes octal escapes of `/proc` files such as `\040`.
pub(crate) fn unescape(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let octal = bytes.get(at + 1..at + 4).filter(|digits| bytes[at] == b'\\' && is_octal(digits));
        if let Some(digits) = octal {
            out.push(
                digits.iter().fold(0u8, |value, digit| value.wrapping_mul(8).wrapping_add(digit - b'0')),
            );
            at += 4;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn is_octal(digits: &[u8]) -> bool {
    digits.iter().all(|digit| (b'0'..=b'7').contains(digit))
}

impl From<u64> for DevNo {
    fn from(dev: u64) -> Self {
        Self { major: rustix::fs::major(dev), minor: rustix::fs::minor(dev) }
    }
}

impl FromStr for DevNo {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (major, minor) = text.split_once(':').ok_or(())?;
        Ok(Self { major: major.parse().map_err(drop)?, minor: minor.parse().map_err(drop)? })
    }
}

impl std::fmt::Display for DevNo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octal_escapes_become_bytes_and_other_backslashes_stay() {
        for (text, expected) in [
            ("/mnt/a\\040b", "/mnt/a b"),
            ("\\134040", "\\040"),
            ("/x\\", "/x\\"),
            ("/x\\09z", "/x\\09z"),
            ("/gr\\303\\274n", "/grün"),
        ] {
            assert_eq!(unescape(text), expected);
        }
    }

    #[test]
    fn device_numbers_read_back_from_their_own_text() {
        assert_eq!("259:1048575".parse::<DevNo>().map(|n| n.to_string()), Ok("259:1048575".to_owned()));
        assert!("8".parse::<DevNo>().is_err());
        assert!("8:x".parse::<DevNo>().is_err());
    }
}
