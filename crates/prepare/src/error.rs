//! Why a target cannot be used: what was found, where, and what to do.

use std::io;
use std::path::Path;

use assay_spec::units::Bytes;
use assay_target::OpenError;
use thiserror::Error;

/// Why a target cannot be used. Nothing was written, unless it is one of those of filling, or says what is left.
#[derive(Debug, Error)]
pub enum PrepareError {
    /// No target was given.
    #[error("no target given; name a file, directory, device, LUN, NFS file or null:")]
    NoTarget,
    /// The plan names a target that was not given.
    #[error(
        "test \"{test}\", {job}: `targets` names target {index}, but only {given} given (they count from 0)"
    )]
    NoSuchTarget {
        /// Of the plan.
        test: String,
        /// Of the test.
        job: String,
        /// As named.
        index: u32,
        /// "1 was" or "2 were".
        given: String,
    },
    /// A job mixes targets that cannot be driven together.
    #[error(
        "test \"{test}\", {job}: null:, sim: and real targets cannot share a job; give each a job of its own"
    )]
    MixedKinds {
        /// Of the plan.
        test: String,
        /// Of the test.
        job: String,
    },
    /// A LUN and something else in one job.
    #[error(
        "test \"{test}\", {job}: {lun} and other targets cannot share a job; give each LUN a job of its own \
         (`targets = [0]`, `targets = [1]`, …)"
    )]
    LunShares {
        /// Of the plan.
        test: String,
        /// Of the test.
        job: String,
        /// Its address.
        lun: String,
    },
    /// There are no credentials.
    #[error(transparent)]
    Secret(#[from] assay_target::lun::SecretError),
    /// Two jobs of a verifying plan would write to one target.
    #[error(
        "test \"{test}\": two of its jobs use {target} at the same time; verify needs a target for each job, or they \
         would overwrite each other's blocks"
    )]
    VerifyShares {
        /// Of the plan.
        test: String,
        /// The target.
        target: String,
    },
    /// A null or simulated target cannot give back what was written.
    #[error("test \"{test}\": verify needs a target that keeps data; null: and sim: do not")]
    VerifyNull {
        /// Of the plan.
        test: String,
    },
    /// Blocks that carry no stamps cannot be checked.
    #[error("verify needs blocks that carry Assay's stamps, and {path} has none: {next}")]
    VerifyUnfilled {
        /// The path.
        path: String,
        /// What to do.
        next: String,
    },
    /// The stamps would take more memory than there is.
    #[error(
        "verify keeps 4 bytes of memory for each 512 bytes of target: {stamps} for {span}; it may use at most {most} \
         (half of the memory): use --size {size} or less"
    )]
    StampMemory {
        /// Of all targets.
        span: Bytes,
        /// Memory they would take.
        stamps: Bytes,
        /// Memory that may be used.
        most: Bytes,
        /// Of each target, what would fit.
        size: Bytes,
    },
    /// The same file or device was given twice.
    #[error("{0} is given twice (as {1}); each target must be a different file or device")]
    SameTwice(String, String),
    /// Two targets share storage.
    #[error("{one} and {other} cannot be targets of one run: {why}; name only one of them")]
    Overlap {
        /// As given.
        one: String,
        /// As given.
        other: String,
        /// What they share, a clause.
        why: String,
    },
    /// The path is no file, directory or block device.
    #[error("{path} is {what}; a target must be a file, a directory or a block device")]
    WrongKind {
        /// The path.
        path: String,
        /// What it is.
        what: &'static str,
    },
    /// The directory of a new file does not exist.
    #[error("cannot create {path}: its directory does not exist; create it first (mkdir -p {directory})")]
    NoDirectory {
        /// The path.
        path: String,
        /// Its directory.
        directory: String,
    },
    /// A plan writes to a file that Assay did not make.
    #[error(
        "test \"{test}\" writes, but {path} {why}, so Assay only reads it. Choose another name, or allow its {holds} \
         to be overwritten: --overwrite {path}"
    )]
    ForeignFile {
        /// The path.
        path: String,
        /// "was not created by Assay" and the like.
        why: &'static str,
        /// The test that writes.
        test: String,
        /// How much it holds.
        holds: Bytes,
    },
    /// A foreign file is too small to be read as asked.
    #[error(
        "{path} holds only {holds}, and Assay does not enlarge files that it did not make; --size asks for {asked}: \
         use --size {holds} or less"
    )]
    ForeignTooSmall {
        /// The path.
        path: String,
        /// How much it holds.
        holds: Bytes,
        /// How much was asked for.
        asked: Bytes,
    },
    /// A foreign file is empty.
    #[error(
        "{path} is empty, and Assay does not fill files that it did not make; choose another name, or allow it: \
         --overwrite {path}"
    )]
    Empty {
        /// The path.
        path: String,
    },
    /// A device or LUN has no blocks.
    #[error(
        "{path} has a capacity of 0 bytes: no medium is inserted, or the target has not assigned it one yet"
    )]
    NoCapacity {
        /// The path.
        path: String,
    },
    /// It does not fit.
    #[error("{path}: {asked} does not fit: {mount} has {free} free, of which {reserve} stay free; {next}")]
    NoSpace {
        /// The path.
        path: String,
        /// How much was asked for.
        asked: Bytes,
        /// Where the file system is mounted.
        mount: String,
        /// Free bytes.
        free: Bytes,
        /// Bytes that stay free.
        reserve: Bytes,
        /// What to do.
        next: String,
    },
    /// The device is smaller than asked.
    #[error("{path} has {holds}; --size asks for {asked}: use --size {holds} or less")]
    DeviceTooSmall {
        /// The path.
        path: String,
        /// How much it holds.
        holds: Bytes,
        /// How much was asked for.
        asked: Bytes,
    },
    /// The device is in use, or holds something.
    #[error("refusing to write to {path}:{holds}\nNothing was written.")]
    DeviceHeld {
        /// The path.
        path: String,
        /// One line for each thing that was found, each with a line break before it.
        holds: String,
    },
    /// The device or LUN holds data without a known signature.
    #[error(
        "refusing to write to {path} ({what}): it is not blank. It holds {holds}. If nobody needs them: --overwrite \
         {identity} --not-blank (both are needed, and everything on it will be lost). Nothing was written"
    )]
    NotBlank {
        /// The path.
        path: String,
        /// Offsets and first bytes.
        holds: String,
        /// Model, serial, size.
        what: String,
        /// What `--overwrite` takes.
        identity: String,
    },
    /// A file that carries Assay's mark holds something that Assay did not write.
    #[error(
        "test \"{test}\" writes, but {path} is only read: Assay made it, and since then somebody else has used it, or \
         an earlier version of Assay filled it: it holds {holds}. Choose another name, or allow it to be overwritten: \
         --overwrite {path}"
    )]
    UsedSince {
        /// The path.
        path: String,
        /// What was found.
        holds: String,
        /// The test that writes.
        test: String,
    },
    /// The device was not named for overwriting.
    #[error("test \"{test}\" writes, and {path} ({what}) is only read unless you name it{named}")]
    DeviceNotNamed {
        /// The path.
        path: String,
        /// Model, serial, size.
        what: String,
        /// The test that writes.
        test: String,
        /// What was typed, and what to type.
        named: String,
    },
    /// What may be overwritten is not one target but several.
    #[error(
        "--overwrite {given} names {targets}; say which by a name that only one of them has (a serial, a WWID, a whole \
         address), or run them one by one. Nothing was written"
    )]
    OverwriteAmbiguous {
        /// As typed.
        given: String,
        /// All that it names.
        targets: String,
    },
    /// What may be overwritten is none of the targets.
    #[error("--overwrite {given} names none of the targets; {known}")]
    OverwriteUnknown {
        /// As typed.
        given: String,
        /// What would do.
        known: String,
    },
    /// Whether the device may be written could not be determined.
    #[error("refusing to write to {path}: cannot tell what is on it: {why}")]
    Probe {
        /// The path.
        path: String,
        /// Why not.
        why: String,
    },
    /// Something else uses the file.
    #[error("refusing to write to {path}: {user}")]
    FileUsed {
        /// The path.
        path: String,
        /// As what.
        user: String,
    },
    /// A device that does not exist, or its name mistyped.
    #[error("{path}: there is no such device, and Assay creates no files in /dev; lsblk lists the devices")]
    NoSuchDevice {
        /// The path.
        path: String,
    },
    /// Another Assay uses it.
    #[error("{path} is in use by another run of Assay; wait for it, or choose another target")]
    InUse {
        /// The path.
        path: String,
    },
    /// Another Assay on this machine uses a LUN, and one of the two writes.
    #[error(
        "{lun} is in use by another run of Assay on this machine, and one of the two writes to it; wait for it, or \
         choose another LUN"
    )]
    LunInUse {
        /// Its address.
        lun: String,
    },
    /// There is nothing to look at.
    #[error("{path} does not exist; assay run would create a file of that name")]
    Missing {
        /// The path.
        path: String,
    },
    /// io_uring was asked for and is refused.
    #[error("this host refuses io_uring: {why}; use --io auto or --io psync")]
    UringRefused {
        /// The system's words.
        why: io::Error,
    },
    /// Opening failed.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A system call failed.
    #[error("cannot {what} {path}: {source}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// The path.
        path: String,
        /// The system's words.
        source: io::Error,
    },
    /// Opening failed, and what it had changed could not be taken back.
    #[error("{source}; what was done before could not be taken back: {left}")]
    NotUndone {
        /// What is left, a clause each.
        left: String,
        /// Why opening failed.
        source: Box<PrepareError>,
    },
    /// Filling failed.
    #[error("filling {path} failed at {at}: {why}")]
    Fill {
        /// The path.
        path: String,
        /// Where.
        at: Bytes,
        /// The system's words.
        why: String,
    },
    /// Somebody asked to stop.
    #[error("stopped while {path} was being filled; what was filled is kept and used by the next run")]
    Interrupted {
        /// The path.
        path: String,
    },
}

impl PrepareError {
    /// Of a device or LUN whose blocks carry no stamps.
    pub(crate) fn unfilled_device(path: String) -> Self {
        let next = "use a plan that also writes, with --overwrite and without --no-fill".to_owned();
        Self::VerifyUnfilled { path, next }
    }

    /// Of a file whose blocks carry no stamps; `name` is what `--overwrite` takes for it.
    pub(crate) fn unfilled_file(path: String, name: &str) -> Self {
        let next = format!("choose another name, or allow this file to be overwritten: --overwrite {name}");
        Self::VerifyUnfilled { path, next }
    }

    /// Of a file that may not be filled although the plan verifies.
    pub(crate) fn unfilled_by_choice(path: String) -> Self {
        Self::VerifyUnfilled { path, next: "leave out --no-fill".to_owned() }
    }
}

/// Names the call that failed, and the path.
pub(crate) fn io_error<'p>(
    what: &'static str,
    path: &'p Path,
) -> impl FnOnce(io::Error) -> PrepareError + 'p {
    move |source| PrepareError::Io { what, path: text(path), source }
}

/// Returns a path as messages show it.
pub(crate) fn text(path: &Path) -> String {
    path.display().to_string()
}
