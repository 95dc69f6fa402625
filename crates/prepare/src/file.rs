//! Looks at targets without touching them: what they are, whether the plan may write, whether they are large enough.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use assay_record::{DeviceFacts, HostFacts};
use assay_spec::units::{Bytes, GIB};
use assay_spec::{Address, Plan, Span, Test};
use assay_target::file::{self, Marker, PathKind};
use assay_target::{AccessMode, SimulatedMember};

use super::error::PrepareError;
use super::files::{
    DevicePlan, FilePlan, FileState, SPAN_GRAIN, check_foreign, directory_of, file_span, io_error, text,
};
use super::nfs::NfsPlan;
use super::{PrepareOptions, TooSmall};
use assay_target::stamp::{UNIT_BYTES, has_stamp};

/// The test file in a directory that is given as a target.
const FILE_IN_DIRECTORY: &str = "assay.dat";
/// A simulated array is used up to here where nobody says how far.
const SIMULATED_SPAN: u64 = 4 * GIB;
/// In so many places of a file stamps are looked for.
const STAMP_SAMPLES: u64 = 64;

/// A target that passed, and what is to be done with it.
pub(super) enum Inspected {
    Null { address: String, capacity: u64 },
    Simulated { address: String, member: SimulatedMember },
    File(FilePlan),
    Device(DevicePlan),
    Lun(Box<super::lun::LunPlan>),
    Nfs(Box<NfsPlan>),
}

impl Inspected {
    /// Bytes that will be used.
    pub(super) fn span_bytes(&self) -> u64 {
        match self {
            Self::Null { capacity, .. } => *capacity,
            Self::Simulated { member, .. } => member.span_bytes,
            Self::File(plan) => plan.span_bytes,
            Self::Device(plan) => plan.span_bytes,
            Self::Lun(plan) => plan.member.span_bytes,
            Self::Nfs(plan) => plan.span_bytes,
        }
    }
}

/// Whether the plan and the targets go together at all.
pub(super) fn check_plan(plan: &Plan, addresses: &[Address]) -> Result<(), PrepareError> {
    if addresses.is_empty() {
        return Err(PrepareError::NoTarget);
    }
    check_different(addresses)?;
    for test in &plan.tests {
        for step in &test.steps {
            let mut used: Vec<usize> = Vec::new();
            for job in &step.jobs {
                let indices = indices(test, &job.name, &job.targets, addresses)?;
                if plan.verifies()
                    && let Some(shared) = indices.iter().find(|i| used.contains(i))
                {
                    let target = addresses[*shared].to_string();
                    return Err(PrepareError::VerifyShares { test: test.name.clone(), target });
                }
                if let Some(lun) =
                    indices.iter().find(|i| matches!(addresses[**i], Address::Iscsi(_) | Address::Nfs(_)))
                    && indices.len() > 1
                {
                    let (test, job) = (test.name.clone(), job.name.clone());
                    return Err(PrepareError::LunShares { test, job, lun: addresses[*lun].to_string() });
                }
                let kinds: Vec<Kind> = indices.iter().map(|i| Kind::of(&addresses[*i])).collect();
                if step.verify && kinds.iter().any(|kind| !kind.keeps_data()) {
                    return Err(PrepareError::VerifyNull { test: test.name.clone() });
                }
                if kinds.windows(2).any(|two| two[0] != two[1]) {
                    return Err(PrepareError::MixedKinds { test: test.name.clone(), job: job.name.clone() });
                }
                used.extend(indices);
            }
        }
    }
    Ok(())
}

/// Targets of one job must be of one kind: a thread drives them together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Path,
    Null,
    Simulated,
    Lun,
    Nfs,
}

impl Kind {
    fn of(address: &Address) -> Self {
        match address {
            Address::Path(_) => Self::Path,
            Address::Null { .. } => Self::Null,
            Address::Sim { .. } => Self::Simulated,
            Address::Iscsi(_) => Self::Lun,
            Address::Nfs(_) => Self::Nfs,
        }
    }

    /// Whether what is written can be read again.
    fn keeps_data(self) -> bool {
        matches!(self, Self::Path | Self::Lun | Self::Nfs)
    }
}

fn indices(test: &Test, job: &str, named: &[u32], addresses: &[Address]) -> Result<Vec<usize>, PrepareError> {
    if named.is_empty() {
        return Ok((0..addresses.len()).collect());
    }
    let given = addresses.len();
    let missing = |index| PrepareError::NoSuchTarget {
        test: test.name.clone(),
        job: job.to_owned(),
        index,
        given: if given == 1 { "1 was".into() } else { format!("{given} were") },
    };
    named.iter().map(|i| if (*i as usize) < given { Ok(*i as usize) } else { Err(missing(*i)) }).collect()
}

fn check_different(addresses: &[Address]) -> Result<(), PrepareError> {
    let mut seen: Vec<(PathBuf, String)> = Vec::new();
    for address in addresses {
        let real = match address {
            Address::Path(path) => real_path(path),
            // Whatever portals lead to it: a target's name is its own.
            Address::Iscsi(lun) => PathBuf::from(format!("{}/{}", lun.target, lun.lun)),
            Address::Nfs(file) => PathBuf::from(format!("nfs://{}{}", file.host, file.path)),
            Address::Null { .. } | Address::Sim { .. } => continue,
        };
        if let Some((_, earlier)) = seen.iter().find(|(other, _)| *other == real) {
            return Err(PrepareError::SameTwice(earlier.clone(), address.to_string()));
        }
        seen.push((real, address.to_string()));
    }
    Ok(())
}

/// The path with links followed; a file that does not exist yet keeps its name in its real directory.
fn real_path(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return if real.is_dir() { real.join(FILE_IN_DIRECTORY) } else { real };
    }
    let directory = directory_of(path).canonicalize().unwrap_or_else(|_| directory_of(path));
    directory.join(path.file_name().unwrap_or_default())
}

/// Looks at one target.
pub(super) fn inspect(
    plan: &Plan,
    index: usize,
    address: &Address,
    options: &PrepareOptions,
    host: &HostFacts,
) -> Result<Inspected, PrepareError> {
    let path = match address {
        Address::Null { capacity } => {
            return Ok(Inspected::Null { address: address.to_string(), capacity: *capacity });
        }
        Address::Sim { array } => {
            let lun = u32::try_from(index).expect("targets on a command line are few");
            let span_bytes = simulated_span(plan.span, host);
            let member = SimulatedMember { array: array.clone(), lun, span_bytes };
            return Ok(Inspected::Simulated { address: address.to_string(), member });
        }
        Address::Iscsi(lun) => {
            let lun = super::lun::inspect(plan, lun, writer(plan, index), options, host)?;
            return Ok(Inspected::Lun(Box::new(lun)));
        }
        Address::Nfs(file) => {
            let file = super::nfs::inspect(plan, file, writer(plan, index), options, host)?;
            return Ok(Inspected::Nfs(Box::new(file)));
        }
        Address::Path(path) => path,
    };
    let writer = writer(plan, index);
    match kind_of(path)? {
        PathKind::Directory => {
            inspect_file(plan, address, path.join(FILE_IN_DIRECTORY), writer, options, host)
        }
        PathKind::Missing | PathKind::File => {
            inspect_file(plan, address, path.clone(), writer, options, host)
        }
        PathKind::BlockDevice => inspect_device(plan, address, path, writer, options, host),
        PathKind::Other(what) => Err(PrepareError::WrongKind { path: text(path), what }),
    }
}

/// What the plan asks for; else what published forum tables used.
fn simulated_span(asked: Span, host: &HostFacts) -> u64 {
    match asked {
        Span::Whole => SIMULATED_SPAN,
        Span::Size(size) => size.resolve(Bytes(host.memory_bytes)).0.next_multiple_of(SPAN_GRAIN),
    }
}

/// The first test that writes to a target.
fn writer(plan: &Plan, index: usize) -> Option<&str> {
    let uses = |targets: &[u32]| targets.is_empty() || targets.iter().any(|t| *t as usize == index);
    let writes =
        |test: &&Test| test.steps.iter().flat_map(|s| &s.jobs).any(|job| uses(&job.targets) && job.writes());
    plan.tests.iter().find(writes).map(|test| test.name.as_str())
}

fn inspect_file(
    plan: &Plan,
    address: &Address,
    path: PathBuf,
    writer: Option<&str>,
    options: &PrepareOptions,
    host: &HostFacts,
) -> Result<Inspected, PrepareError> {
    let directory = directory_of(&path);
    if !directory.is_dir() {
        return Err(PrepareError::NoDirectory { path: text(&path), directory: text(&directory) });
    }
    // A directory may hold an `assay.dat` that is no file at all.
    match kind_of(&path)? {
        PathKind::Missing | PathKind::File => {}
        PathKind::Other(what) => return Err(PrepareError::WrongKind { path: text(&path), what }),
        _ => return Err(PrepareError::WrongKind { path: text(&path), what: "not a file" }),
    }
    let existing = existing(&path)?;
    let is_allowed = options.overwrite.iter().any(|given| real_path(Path::new(given)) == real_path(&path));
    let (state, holds) = match existing {
        None => (FileState::New, 0),
        // Leave to overwrite a foreign file was given once, not for ever.
        Some((Some(marker), length)) if marker.created => (FileState::Ours(marker), length),
        Some((_, length)) if is_allowed => (FileState::Allowed, length),
        Some((_, length)) => {
            let test = writer.map(str::to_owned);
            check_foreign(&path, test, length)?;
            if plan.verifies() && !carries_stamps(&path, length)? {
                let next =
                    "choose another name, which is then filled, or allow this one to be lost: --overwrite ";
                return Err(PrepareError::VerifyUnfilled {
                    next: format!("{next}{}", text(&path)),
                    path: text(&path),
                });
            }
            (FileState::Foreign, length)
        }
    };
    check_users(&path, &state)?;
    let span_bytes = file_span(plan.span, &state, holds, &path, options.too_small, host)?;
    let filesystem =
        assay_host::filesystem_of(&directory).map_err(io_error("look at the file system of", &path))?;
    if state == FileState::New && filesystem.kind == "devtmpfs" {
        return Err(PrepareError::NoSuchDevice { path: text(&path) });
    }
    let access = match state {
        FileState::Foreign => AccessMode::ReadOnly,
        _ => AccessMode::ReadWrite,
    };
    let device = assay_host::device_of(&directory).unwrap_or_default();
    let address = address.to_string();
    Ok(Inspected::File(FilePlan { address, path, state, span_bytes, access, filesystem, device }))
}

/// The marker (if the file is ours) and length of a file; `None` where there is no file.
fn existing(path: &Path) -> Result<Option<(Option<Marker>, u64)>, PrepareError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(PrepareError::Io { what: "open", path: text(path), source }),
    };
    let length = file.metadata().map_err(io_error("look at", path))?.len();
    let marker = Marker::read(path, &file).map_err(io_error("read the marker of", path))?;
    Ok(Some((marker, length)))
}

/// A file that is some device's disk, or swap, must not change under its user; not even one that Assay made.
fn check_users(path: &Path, state: &FileState) -> Result<(), PrepareError> {
    if matches!(state, FileState::New | FileState::Foreign) {
        return Ok(());
    }
    match assay_host::file_users(path).into_iter().next() {
        Some(user) => Err(PrepareError::FileUsed { path: text(path), user }),
        None => Ok(()),
    }
}

/// Whether a file that is not ours was stamped once: one that was changed since, or a copy of one that was, is worth
/// checking; of any other file each single block would be wrong.
fn carries_stamps(path: &Path, length: u64) -> Result<bool, PrepareError> {
    let file = File::open(path).map_err(io_error("open", path))?;
    let units = length / UNIT_BYTES as u64;
    let mut unit = [0; UNIT_BYTES];
    for sample in 0..STAMP_SAMPLES.min(units) {
        let offset_bytes = units * sample / STAMP_SAMPLES.min(units) * UNIT_BYTES as u64;
        file.read_exact_at(&mut unit, offset_bytes).map_err(io_error("read", path))?;
        if has_stamp(&unit) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn inspect_device(
    plan: &Plan,
    address: &Address,
    path: &Path,
    writer: Option<&str>,
    options: &PrepareOptions,
    host: &HostFacts,
) -> Result<Inspected, PrepareError> {
    let capacity = file::capacity_bytes(path).map_err(io_error("open", path))?;
    let device = assay_host::device_of(path).map_err(io_error("look at", path))?.unwrap_or_default();
    if let Some(test) = writer {
        check_may_write(path, test, capacity, &device, options)?;
    }
    if plan.verifies() && (writer.is_none() || !options.fill_devices) {
        return Err(PrepareError::unfilled_device(text(path)));
    }
    if capacity == 0 {
        return Err(PrepareError::Empty { path: text(path) });
    }
    let span_bytes = match plan.span {
        Span::Whole => capacity,
        Span::Size(size) => {
            let asked = size.resolve(Bytes(host.memory_bytes)).0.next_multiple_of(SPAN_GRAIN);
            if asked > capacity && options.too_small == TooSmall::Refuse {
                let (holds, asked) = (Bytes(capacity), Bytes(asked));
                return Err(PrepareError::DeviceTooSmall { path: text(path), holds, asked });
            }
            asked.min(capacity)
        }
    };
    let access = if writer.is_some() { AccessMode::ReadWrite } else { AccessMode::ReadOnly };
    let (address, path) = (address.to_string(), path.to_owned());
    Ok(Inspected::Device(DevicePlan { address, path, span_bytes, capacity_bytes: capacity, access, device }))
}

/// Design invariant 6: everything that speaks against writing is looked for, and the device must be named.
fn check_may_write(
    path: &Path,
    test: &str,
    capacity: u64,
    device: &DeviceFacts,
    options: &PrepareOptions,
) -> Result<(), PrepareError> {
    let holds =
        assay_host::probe(path).map_err(|e| PrepareError::Probe { path: text(path), why: e.to_string() })?;
    if !holds.is_empty() {
        let lines: String = holds.iter().map(|hold| format!("\n  - {}", hold.says)).collect();
        return Err(PrepareError::DeviceHeld { path: text(path), holds: lines });
    }
    if options.overwrite.iter().any(|given| assay_host::is_identity_of(device, given)) {
        return Ok(());
    }
    let identity = assay_host::identities(device).into_iter().next().unwrap_or_default();
    let serial = device.serial.as_deref().map(|s| format!("serial {s}, ")).unwrap_or_default();
    let model = if device.model.is_empty() { String::new() } else { format!("{}, ", device.model) };
    let what = format!("{model}{serial}{}", Bytes(capacity).rounded());
    Err(PrepareError::not_named(text(path), what, test, &options.overwrite, &identity))
}

/// Every `--overwrite` must name a target: a name mistyped is a decision not understood.
pub(super) fn check_overwrite(given: &[String], inspected: &[Inspected]) -> Result<(), PrepareError> {
    for name in given {
        let named: Vec<&Inspected> = inspected.iter().filter(|one| is_named(one, name)).collect();
        let given = name.clone();
        match named[..] {
            [] => return Err(PrepareError::OverwriteUnknown { given, known: known_names(inspected) }),
            [_] => {}
            // A serial or a path may be in use on several machines: one word must not cost two of them their data.
            _ => {
                let targets: Vec<String> = named.into_iter().map(address).collect();
                return Err(PrepareError::OverwriteAmbiguous { given, targets: targets.join(" and ") });
            }
        }
    }
    Ok(())
}

fn is_named(one: &Inspected, name: &str) -> bool {
    match one {
        Inspected::Null { .. } | Inspected::Simulated { .. } => false,
        Inspected::File(file) => real_path(Path::new(name)) == real_path(&file.path),
        Inspected::Device(device) => assay_host::is_identity_of(&device.device, name),
        Inspected::Nfs(file) => file.is_named(name),
        Inspected::Lun(lun) => {
            lun.facts.device.as_ref().is_some_and(|device| assay_host::is_identity_of(device, name))
        }
    }
}

/// What to call a target that can be named.
fn address(one: &Inspected) -> String {
    match one {
        Inspected::Null { .. } | Inspected::Simulated { .. } => String::new(),
        Inspected::File(file) => text(&file.path),
        Inspected::Device(device) => device.address.clone(),
        Inspected::Nfs(file) => file.address.clone(),
        Inspected::Lun(lun) => lun.address.clone(),
    }
}

fn known_names(inspected: &[Inspected]) -> String {
    let names: Vec<String> = inspected
        .iter()
        .filter_map(|one| match one {
            Inspected::Null { .. } | Inspected::Simulated { .. } => None,
            Inspected::File(file) => Some(text(&file.path)),
            Inspected::Nfs(file) => Some(file.address.clone()),
            Inspected::Device(device) => {
                let identity = assay_host::identities(&device.device).into_iter().next()?;
                Some(format!("{identity} (that is {})", device.address))
            }
            Inspected::Lun(lun) => {
                let identity = assay_host::identities(lun.facts.device.as_ref()?).into_iter().next()?;
                Some(format!("{identity} (that is {})", lun.address))
            }
        })
        .collect();
    if names.is_empty() {
        "there is nothing to name".to_owned()
    } else {
        format!("it could be {}", names.join(" or "))
    }
}

fn kind_of(path: &Path) -> Result<PathKind, PrepareError> {
    file::kind_of(path).map_err(io_error("look at", path))
}

/// Whether targets on NFS servers are different files.
pub(super) fn check_nfs_different(inspected: &[Inspected]) -> Result<(), PrepareError> {
    let plans = inspected.iter().filter_map(|one| match one {
        Inspected::Nfs(plan) => Some(&**plan),
        _ => None,
    });
    super::nfs::check_different(&plans.collect::<Vec<&NfsPlan>>())
}
