//! Reasons why a target cannot be used: what was found, where, and what to do.

use std::io;
use std::path::Path;

use assay_spec::units::Bytes;
use assay_target::OpenError;
use thiserror::Error;

/// Why a target cannot be used. Nothing was written, except by errors of filling and those that say what was left.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the message of a variant says what its fields are")]
pub enum PrepareError {
    /// No target was given.
    #[error("no target given; name a file, directory, device, LUN, NFS file or null:")]
    NoTarget,
    /// The plan names a target that was not given.
    #[error(
        "test \"{test}\", {job}: `targets` names target {index}, but only {given} given (they count from 0)"
    )]
    NoSuchTarget {
        test: String,
        job: String,
        index: u32,
        /// "1 was" or "2 were".
        given: String,
    },
    /// A job mixes targets that cannot be driven together.
    #[error(
        "test \"{test}\", {job}: null:, sim: and real targets cannot share a job; give each a job of its own"
    )]
    MixedKinds { test: String, job: String },
    /// A job mixes a LUN with other targets.
    #[error(
        "test \"{test}\", {job}: {lun} and other targets cannot share a job; give each LUN a job of its own \
         (`targets = [0]`, `targets = [1]`, …)"
    )]
    LunShares { test: String, job: String, lun: String },
    /// The credentials are missing.
    #[error(transparent)]
    Secret(#[from] assay_target::lun::SecretError),
    /// Two jobs of a verifying plan would write to one target.
    #[error(
        "test \"{test}\": two of its jobs use {target} at the same time; verify needs a target for each job, or they \
         would overwrite each other's blocks"
    )]
    VerifyShares { test: String, target: String },
    /// A null or simulated target cannot return the data written to it.
    #[error("test \"{test}\": verify needs a target that keeps data; null: and sim: do not")]
    VerifyNull { test: String },
    /// Blocks without stamps cannot be checked.
    #[error("verify needs blocks that carry Assay's stamps, and nothing proves that {path} has them: {next}")]
    VerifyUnfilled { path: String, next: String },
    /// The stamps would need more memory than is available.
    #[error(
        "verify keeps 4 bytes of memory for each 512 bytes of target: {stamps} for {span}; it may use at most {most} \
         (half of the memory): use --size {size} or less"
    )]
    StampMemory {
        /// Total span of all targets.
        span: Bytes,
        stamps: Bytes,
        most: Bytes,
        /// Size per target that would fit.
        size: Bytes,
    },
    /// The same file or device was given twice.
    #[error("{0} is given twice (as {1}); each target must be a different file or device")]
    SameTwice(String, String),
    /// Two targets share storage.
    #[error("{one} and {other} cannot be targets of one run: {why}; name only one of them")]
    Overlap {
        /// Address as given.
        one: String,
        /// Address as given.
        other: String,
        /// What they share, as a clause.
        why: String,
    },
    /// The path is not a file, directory or block device.
    #[error("{path} is {what}; a target must be a file, a directory or a block device")]
    WrongKind {
        path: String,
        /// Kind of the path.
        what: &'static str,
    },
    /// This user cannot create the file.
    #[error(
        "cannot create {path}: Permission denied, as this user may not write to {directory}; choose another place, or \
         run as root"
    )]
    NoPermission { path: String, directory: String },
    /// Somebody else has created the file since the inspection, in which it did not exist.
    #[error(
        "cannot create {path}: something else has created it a moment ago, such as another run on this host or on one \
         that shares the file system; give each host a file of its own ({{host}} in its path)"
    )]
    CreatedMeanwhile { path: String },
    /// A link to a file that does not exist.
    #[error("{path} is a symbolic link to {to}, which does not exist; give {to} itself, or remove the link")]
    DanglingLink { path: String, to: String },
    /// The directory of a new file does not exist.
    #[error("cannot create {path}: the directory {directory} does not exist; {next}")]
    NoDirectory { path: String, directory: String, next: String },
    /// The file system is mounted read-only, and the file would be written to or created.
    #[error(
        "{path} {why}: {mount} is mounted read-only; {instead}choose another place, or mount it for writing: mount -o \
         remount,rw {mount}"
    )]
    ReadOnlyMount {
        path: String,
        /// "cannot be created" and the like.
        why: String,
        mount: String,
        /// What else can be done, with its comma; may be empty.
        instead: &'static str,
    },
    /// A plan writes to a file that Assay did not create.
    #[error(
        "test \"{test}\" writes, but {path} {why}, so Assay only reads it. Choose another name, or allow its {holds} \
         to be overwritten: --overwrite {path}"
    )]
    ForeignFile {
        path: String,
        /// "was not created by Assay" and the like.
        why: &'static str,
        test: String,
        holds: Bytes,
    },
    /// A foreign file is smaller than the requested size.
    #[error(
        "{path} holds only {holds}, and Assay does not enlarge files that it did not create; --size asks for {asked}: \
         use --size {holds} or less"
    )]
    ForeignTooSmall { path: String, holds: Bytes, asked: Bytes },
    /// A foreign file that may be overwritten has less than a block, and no size is asked for.
    #[error(
        "{path} holds only {holds}; a target needs at least {least}. Say how large it shall become, for example \
         --size 1GiB, or choose another name"
    )]
    Tiny {
        path: String,
        holds: Bytes,
        /// Smallest size of a target.
        least: Bytes,
    },
    /// A foreign file is empty.
    #[error(
        "{path} is empty, and Assay does not fill files that it did not create; choose another name, or allow it: \
         --overwrite {path}"
    )]
    Empty { path: String },
    /// A device or LUN has no blocks.
    #[error(
        "{path} has a capacity of 0 bytes: no medium is inserted, or the target has not assigned it one yet"
    )]
    NoCapacity { path: String },
    /// The file system has too little free space.
    #[error("{path}: {asked} does not fit: {mount} has {free} free{reserve}; {next}")]
    NoSpace {
        path: String,
        asked: Bytes,
        mount: String,
        free: Bytes,
        /// Space that must stay free, in words; empty where that is none.
        reserve: String,
        next: String,
    },
    /// The device is smaller than the requested size.
    #[error("{path} has {holds}; --size asks for {asked}: use --size {holds} or less")]
    DeviceTooSmall { path: String, holds: Bytes, asked: Bytes },
    /// The device is in use, or contains data.
    #[error("refusing to write to {path}:{holds}\nNothing was written.")]
    DeviceHeld {
        path: String,
        /// One line for each finding, each preceded by a line break.
        holds: String,
    },
    /// The device or LUN holds data without a known signature.
    #[error(
        "refusing to write to {path} ({what}): it is not blank. It holds {holds}. If its content is no longer needed: \
         --overwrite {identity} --not-blank (both are needed, and everything on it will be lost). Nothing was written"
    )]
    NotBlank {
        path: String,
        /// Offsets and first bytes.
        holds: String,
        /// Model, serial, size.
        what: String,
        /// Identity that `--overwrite` accepts.
        identity: String,
    },
    /// The same of one that nothing but its name and size identifies.
    #[error(
        "refusing to write to {path} ({what}): it is not blank. It holds {holds}. It has no serial number and no WWID \
         that identifies it uniquely: if its content is no longer needed, erase it first (blkdiscard, or dd \
         if=/dev/zero). Nothing was written"
    )]
    NotBlankUnnamed {
        path: String,
        /// Offsets and first bytes.
        holds: String,
        /// Model and size.
        what: String,
    },
    /// A file with Assay's mark contains data that Assay did not write.
    #[error(
        "test \"{test}\" writes, but {path} is only read: Assay created it, but it has been used since, or an earlier \
         version of Assay filled it: it holds {holds}. Choose another name, or allow it to be overwritten: \
         --overwrite {path}"
    )]
    UsedSince {
        path: String,
        /// Description of the data.
        holds: String,
        test: String,
    },
    /// The device was not named for overwriting.
    #[error(
        "test \"{test}\" writes to {path} ({what}), and a device is only read unless --overwrite names it. {named}"
    )]
    DeviceNotNamed {
        path: String,
        /// Model, serial, size.
        what: String,
        test: String,
        /// Value given to `--overwrite`, and the correct one.
        named: String,
    },
    /// An `--overwrite` value names several targets.
    #[error(
        "--overwrite {given} names {targets}; say which by a name that only one of them has (a serial, a WWID, a whole \
         address), or run them one by one. Nothing was written"
    )]
    OverwriteAmbiguous { given: String, targets: String },
    /// An `--overwrite` value names none of the targets.
    #[error("--overwrite {given} names none of the targets; {known}")]
    OverwriteUnknown {
        given: String,
        /// Accepted values.
        known: String,
    },
    /// The check whether the device may be written failed.
    #[error("refusing to write to {path}: cannot determine what is on it: {why}")]
    Probe { path: String, why: String },
    /// Another user of the file exists.
    #[error("refusing to write to {path}: {user}")]
    FileUsed {
        path: String,
        /// Kind of use.
        user: String,
    },
    /// A file would have to be created, and nothing may change.
    #[error(
        "{file} does not exist, and this only reads: nothing is created; name an existing file or device"
    )]
    Absent { file: String },
    /// A device does not exist, or its name is mistyped.
    #[error("{path}: there is no such device, and Assay creates no files in /dev; lsblk lists the devices")]
    NoSuchDevice { path: String },
    /// Another run of Assay uses the target.
    #[error("{path} is in use by another run of Assay; wait for it, or choose another target")]
    InUse { path: String },
    /// Another run of Assay on this machine uses a LUN, and one of the two writes to it.
    #[error(
        "{lun} is in use by another run of Assay on this machine, and one of the two writes to it; wait for it, or \
         choose another LUN"
    )]
    LunInUse { lun: String },
    /// The path does not exist.
    #[error("{path} does not exist; assay run would create a file of that name")]
    Missing { path: String },
    /// io_uring was requested but is refused.
    #[error("this host refuses io_uring: {why}; use --io auto or --io psync")]
    UringRefused { why: io::Error },
    /// Opening failed.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A system call failed.
    #[error("cannot {what} {path}: {source}{}", hint(what, source))]
    Io {
        /// The failed operation.
        what: &'static str,
        path: String,
        source: io::Error,
    },
    /// Opening failed, and a change that it had made could not be undone.
    #[error("{source}; earlier changes could not be undone: {left}")]
    NotUndone {
        /// Remaining changes, a clause each.
        left: String,
        source: Box<PrepareError>,
    },
    /// Filling failed.
    #[error("filling {path} failed at {at}: {why}")]
    Fill { path: String, at: Bytes, why: String },
    /// The plan trims a LUN that may not be filled.
    #[error(
        "{path} cannot be trimmed without being filled: Assay recognises the LUN by data that it wrote, as another \
         disk may take over its number; leave out --no-fill"
    )]
    TrimUnfilled { path: String },
    /// Every target has passed inspection, and whoever asked does not want them opened.
    #[error("the targets of this host passed inspection, but the run was called off; nothing was changed")]
    NotOpened,
    /// The user requested a stop.
    #[error("stopped while {path} was being filled; the part that was filled is kept for the next run")]
    Interrupted { path: String },
}

impl PrepareError {
    /// The directory that is to hold a file does not exist, of a target that was given as `given`.
    pub(crate) fn no_directory(given: &Path, path: &Path, directory: &Path) -> Self {
        let next = match assay_spec::SmbShare::of(&text(given)) {
            Some(share) => format!("if it is a share of an SMB server, give {share}"),
            None => format!("create it first (mkdir -p {})", text(directory)),
        };
        Self::NoDirectory { path: text(path), directory: text(directory), next }
    }

    /// Returns the error for a device or LUN whose blocks carry no stamps.
    pub(crate) fn unfilled_device(path: String) -> Self {
        let next = "use a plan that also writes, with --overwrite and without --no-fill".to_owned();
        Self::VerifyUnfilled { path, next }
    }

    /// Returns the error for a file whose blocks carry no stamps; `name` is the name of it that `--overwrite` accepts.
    pub(crate) fn unfilled_file(path: String, name: &str) -> Self {
        let next = format!("choose another name, or allow this file to be overwritten: --overwrite {name}");
        Self::VerifyUnfilled { path, next }
    }

    /// Returns the error for a file in a directory that is mounted read-only: `writer` is the test that writes to a
    /// file that exists.
    pub(crate) fn read_only_mount(path: &Path, directory: &Path, writer: Option<&str>) -> Self {
        let (why, instead) = match writer {
            Some(test) => {
                (format!("cannot be written to, as test \"{test}\" does"), "only read it (--set read=100), ")
            }
            None => ("does not exist and cannot be created".to_owned(), ""),
        };
        let mount = assay_host::read_only_mount(directory).unwrap_or_else(|| text(directory));
        Self::ReadOnlyMount { path: text(path), why, mount, instead }
    }

    /// Returns the error for a file that may not be filled although the plan verifies.
    pub(crate) fn unfilled_by_choice(path: String) -> Self {
        Self::VerifyUnfilled { path, next: "leave out --no-fill".to_owned() }
    }
}

/// Returns what to do about an error of the system, as the rest of a sentence; empty if nothing is known.
fn hint(what: &str, source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::Unsupported if what == "mark" => {
            "; its file system keeps no attributes and no other files: attach the file as a loop device \
             (losetup --find --show --direct-io=on FILE) and name that"
        }
        io::ErrorKind::FileTooLarge => {
            "; a limit of this shell (ulimit -f) or of the file system is smaller: raise it, or use a smaller --size"
        }
        _ => "",
    }
}

/// Returns an error with the failed call and the path.
pub(crate) fn io_error<'p>(
    what: &'static str,
    path: &'p Path,
) -> impl FnOnce(io::Error) -> PrepareError + 'p {
    move |source| PrepareError::Io { what, path: text(path), source }
}

/// Returns a path in the form for messages.
pub(crate) fn text(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "cannot mark /mnt/disk: Function not implemented (os error 38)", of a file of a program (FUSE).
    #[test]
    fn where_no_mark_can_be_kept_the_error_says_what_to_do() {
        let says = |what, code| {
            io_error(what, Path::new("/mnt/disk"))(io::Error::from_raw_os_error(code)).to_string()
        };
        for code in [38, 95] {
            let error = says("mark", code);
            assert!(error.starts_with("cannot mark /mnt/disk") && error.contains("losetup"), "{error}");
        }
        assert!(!says("mark", 28).contains("losetup") && !says("read", 38).contains("losetup"));
    }
}
