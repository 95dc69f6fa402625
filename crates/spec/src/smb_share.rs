//! Shares of SMB servers: the system mounts them, and a target is then a path below the mount point.

use std::fmt;

/// A path on a share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmbShare {
    /// `//nas/share`.
    share: String,
    /// The rest: `dir/t.dat`, or empty.
    rest: String,
}

impl SmbShare {
    /// Returns the share that a word means: `//nas/share/t.dat`, `\\nas\share`; `None` without a host or a share.
    pub fn of(word: &str) -> Option<Self> {
        let word = word.replace('\\', "/");
        let mut parts = word.strip_prefix("//")?.splitn(3, '/');
        let (host, share) = (parts.next()?, parts.next()?);
        let rest = parts.next().unwrap_or_default().to_owned();
        let is_whole = !host.is_empty() && !share.is_empty();
        is_whole.then(|| Self { share: format!("//{host}/{share}"), rest })
    }
}

impl fmt::Display for SmbShare {
    /// `/mnt/share/t.dat after mount -t cifs //nas/share /mnt/share`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { share, rest } = self;
        let path = format!("/mnt/share/{rest}");
        // A shell takes words with spaces in quotation marks.
        let quoted = if share.contains(' ') { format!("'{share}'") } else { share.clone() };
        write!(f, "{} after mount -t cifs {quoted} /mnt/share", path.trim_end_matches('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file stood in the command that mounts the share: `mount -t cifs //nas/share/t.dat`.
    #[test]
    fn the_share_is_mounted_and_the_file_is_below_it() {
        let says = |word: &str| SmbShare::of(word).map(|share| share.to_string());
        for word in ["//nas/share/a/t.dat", r"\\nas\share\a\t.dat"] {
            let expected = "/mnt/share/a/t.dat after mount -t cifs //nas/share /mnt/share";
            assert_eq!(says(word).as_deref(), Some(expected));
        }
        assert_eq!(
            says("//nas/my files").as_deref(),
            Some("/mnt/share after mount -t cifs '//nas/my files' /mnt/share")
        );
        for word in ["/nas/share", "//nas", "///share", "//nas/"] {
            assert_eq!(says(word), None, "{word}");
        }
    }
}
