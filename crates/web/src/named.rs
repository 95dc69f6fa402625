//! Files that the administrator names: token, certificate, key, plan.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use nix::libc;

/// Opens a file that must be a regular one: opening a pipe would wait for a writer, a device has no end.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    // Looked at before it is opened, as that alone has an effect on some devices, and after it, as another file may
    // have taken the name.
    regular(&std::fs::metadata(path)?)?;
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    regular(&file.metadata()?)?;
    Ok(file)
}

/// Reads such a file.
pub(crate) fn read(path: &Path, bytes_max: u64) -> io::Result<String> {
    let mut text = String::new();
    open(path)?.take(bytes_max + 1).read_to_string(&mut text)?;
    match text.len() as u64 > bytes_max {
        true => Err(io::Error::other(format!("it is longer than {bytes_max} bytes"))),
        false => Ok(text),
    }
}

fn regular(metadata: &std::fs::Metadata) -> io::Result<()> {
    match metadata.is_file() {
        true => Ok(()),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_is_refused_at_once_and_a_long_file_by_its_length() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("coreutils");
        assert!(made.success());
        for path in [&pipe, Path::new("/dev/zero"), folder.path()] {
            let error = read(path, 100).expect_err("no regular file");
            assert_eq!(error.to_string(), "it is not a regular file", "{}", path.display());
        }
        let long = folder.path().join("long");
        std::fs::write(&long, "x".repeat(101)).expect("space");
        assert_eq!(read(&long, 100).expect_err("too long").to_string(), "it is longer than 100 bytes");
        assert_eq!(read(&long, 101).expect("it fits").len(), 101);
    }
}
