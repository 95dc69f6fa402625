//! The environment of a matrix cell: a target of each kind, what is next to it, and the faults that can happen to both.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::{Cell, Fault, Kind, Phase};
use crate::ganesha::{self, Ganesha};
use crate::loop_device::LoopDevice;
use crate::proxy::Proxy;
use crate::story::{DONE, ProgramOutput, Running, Story};
use crate::tgt::Tgt;

/// Duration of the plan's warm-up; the measured window follows.
pub(super) const WARM_UP: Duration = Duration::from_secs(1);
pub(super) const MEASURED: Duration = Duration::from_secs(2);
/// Part of a target that the plan uses, MiB; larger if the fill must last.
const SPAN_MIB: u64 = 16;
const SPAN_FILL_MIB: u64 = 160;
/// Capacity of devices and LUNs, MiB. The part beyond the span is a guard.
const CAPACITY_MIB: u64 = 192;
/// The file system for faults that fill it or make it read-only, MiB.
const FILE_SYSTEM_MIB: u64 = 320;
/// The disk that a remapped number leads to.
pub(super) const OTHER_DISK: &str = "the other disk";
/// Duration of a stop and of a network cut.
const PAUSE: Duration = Duration::from_millis(1500);

const PLAN: &str = r#"
name = "faults"
[[test]]
name = "t"
warmup = "1s"
run = "2s"
outstanding = 8
reconnect_every = 500
access = [{ size = "8KiB", read = 30, random = 100 }]
"#;

/// The content of the store about the last run.
#[derive(Debug, Clone, Default)]
pub(super) struct Played {
    pub(super) intervals: usize,
    pub(super) status: Option<String>,
}

/// Returns the content of the store about the last run, if there is one.
pub(super) fn played(story: &Story) -> Played {
    let shown = story.assay(&["show", "last", "--json"]);
    if shown.code != Some(DONE) {
        return Played::default();
    }
    let document = shown.json();
    let intervals = document["tests"][0]["series"].as_array().map_or(0, Vec::len);
    Played { intervals, status: document["status"].as_str().map(str::to_owned) }
}

/// Checksums of each MiB of a file; `None` if it does not exist.
type Digest = Option<Vec<u32>>;

/// Checksums of the target and of data that must not change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Digests {
    pub(super) target: Digest,
    pub(super) guards: Vec<(String, Digest)>,
}

impl Digests {
    /// Returns the guards that differ from before in more than the tolerated number of MiB, each with that number.
    pub(super) fn changed_guards(&self, before: &Self, tolerated_mib: impl Fn(&str) -> usize) -> Vec<String> {
        let pairs = before.guards.iter().zip(&self.guards);
        pairs
            .filter_map(|((name, before), (_, after))| match (before, after) {
                (None, None) => None,
                (Some(before), Some(after)) => {
                    let changed = before.iter().zip(after).filter(|(before, after)| before != after).count();
                    let is_kept = before.len() == after.len() && changed <= tolerated_mib(name);
                    (!is_kept).then(|| format!("{name} changed in {changed} of {} MiB", before.len()))
                }
                _ => Some(format!("{name} appeared or disappeared")),
            })
            .collect()
    }
}

/// A file, or a part of it from an offset.
#[derive(Debug)]
struct Part {
    name: String,
    path: PathBuf,
    from: u64,
}

#[derive(Debug)]
enum Server {
    None,
    Tgt(Box<Tgt>),
    Ganesha(Ganesha),
}

/// A target and its surroundings.
#[derive(Debug)]
pub struct Place {
    pub(super) story: Story,
    kind: Kind,
    address: String,
    span_mib: u64,
    overwrite: Option<String>,
    /// The target's data on this host.
    bytes: PathBuf,
    guards: Vec<Part>,
    server: Server,
    proxy: Option<Proxy>,
    devices: Vec<LoopDevice>,
    /// The file that replaced the target, and its checksum.
    newcomer: Option<(PathBuf, Digest)>,
    /// The file system of the story, if it has its own; unmounted on drop.
    file_system: Option<LoopDevice>,
}

/// Returns random bytes, which resemble no other data.
fn noise(mib: u64) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(mib << 20).unwrap()];
    File::open("/dev/urandom").unwrap().read_exact(&mut bytes).unwrap();
    bytes
}

/// Returns checksums of a file from an offset.
fn digest(path: &Path, from: u64) -> Digest {
    let mut file = File::open(path).ok()?;
    file.seek(SeekFrom::Start(from)).ok()?;
    let mut digests = Vec::new();
    loop {
        let mut piece = Vec::with_capacity(1 << 20);
        match (&mut file).take(1 << 20).read_to_end(&mut piece).ok()? {
            0 => return Some(digests),
            _ => digests.push(crc32c::crc32c(&piece)),
        }
    }
}

fn words(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let Some(first) = words.next() else { return false };
    Command::new(first).args(words).output().is_ok_and(|output| output.status.success())
}

impl Place {
    pub(super) fn new(cell: Cell, program: &str) -> Option<Self> {
        let own_file_system = match (cell.fault, cell.kind) {
            (Fault::Full, _) | (_, Kind::File) => Some(file_system()?),
            _ => None,
        };
        let folder = match &own_file_system {
            Some(device) => tempfile::tempdir_in(device.folder.path().join("mounted")),
            None => tempfile::tempdir_in("/dev/shm"),
        };
        let story = Story::of(program.to_owned(), folder.unwrap());
        story.write("plan.toml", PLAN);
        let span_mib = if cell.phase == Phase::Fill { SPAN_FILL_MIB } else { SPAN_MIB };
        let mut place = Self {
            story,
            kind: cell.kind,
            address: String::new(),
            span_mib,
            overwrite: None,
            bytes: PathBuf::new(),
            guards: Vec::new(),
            server: Server::None,
            proxy: None,
            devices: Vec::new(),
            newcomer: None,
            file_system: own_file_system,
        };
        match cell.kind {
            Kind::File => place.file(),
            Kind::Device => place.device()?,
            Kind::Lun => place.lun()?,
            Kind::Nfs => place.nfs()?,
        }
        if matches!(cell.kind, Kind::Device | Kind::Lun) {
            place.overwrite = Some(place.identity());
        }
        if cell.fault == Fault::ReadOnly && cell.kind == Kind::Device {
            place.fault_read_only();
        }
        Some(place)
    }

    fn guard(&mut self, name: &str, path: PathBuf, from: u64) {
        self.guards.push(Part { name: name.to_owned(), path, from });
    }

    fn file(&mut self) {
        self.address = "t.dat".into();
        self.bytes = self.story.path("t.dat");
        self.story.write("neighbour.dat", noise(1));
        self.guard("the file beside", self.story.path("neighbour.dat"), 0);
    }

    fn device(&mut self) -> Option<()> {
        let (device, other) = (device(CAPACITY_MIB)?, device(CAPACITY_MIB)?);
        other.write(0, &noise(4));
        let link = self.story.path("disk");
        std::os::unix::fs::symlink(&device.path, &link).unwrap();
        self.address = link.display().to_string();
        self.bytes = device.folder.path().join("backing");
        self.guard("the device beyond the span", self.bytes.clone(), self.span_mib << 20);
        self.guard("the other device", other.folder.path().join("backing"), 0);
        self.devices = vec![device, other];
        Some(())
    }

    fn lun(&mut self) -> Option<()> {
        let tgt = crate::need::or_skip("tgt does not start", Tgt::start(1, CAPACITY_MIB << 20, &[]))?;
        let proxy = Proxy::start(&tgt.portals[0]);
        self.address = format!("iscsi://{}/{}/1", proxy.portal, tgt.name());
        self.bytes = tgt.lun_path();
        let other = self.bytes.with_file_name("other");
        File::create(&other).unwrap().write_all(&noise(CAPACITY_MIB)).unwrap();
        self.guard("the LUN beyond the span", self.bytes.clone(), self.span_mib << 20);
        self.guard(OTHER_DISK, other, 0);
        self.guard("LUN 2", self.bytes.with_file_name("lun2"), 0);
        self.proxy = Some(proxy);
        self.server = Server::Tgt(Box::new(tgt));
        Some(())
    }

    fn nfs(&mut self) -> Option<()> {
        let ganesha = ganesha::start()?;
        let proxy = Proxy::start(&format!("127.0.0.1:{}", ganesha.port));
        let port = proxy.portal.rsplit(':').next().unwrap();
        self.address =
            format!("nfs://127.0.0.1/rw/t.dat?port={port}&mountport={}&timeout=10", ganesha.mount_port);
        self.bytes = ganesha.file("rw/t.dat");
        std::fs::write(ganesha.file("rw/neighbour.dat"), noise(1)).unwrap();
        self.guard("the file beside", ganesha.file("rw/neighbour.dat"), 0);
        self.proxy = Some(proxy);
        self.server = Server::Ganesha(ganesha);
        Some(())
    }

    /// Returns the identity that must be typed before the program writes.
    fn identity(&self) -> String {
        let checked = self.story.assay(&["check", &self.address, "--json"]).ends(DONE).json();
        let found = checked["serial"].as_str().or_else(|| checked["identities"][0].as_str());
        found.unwrap_or_else(|| panic!("no identity: {checked:#}")).to_owned()
    }

    pub(super) fn digests(&self) -> Digests {
        let guards = self.guards.iter().map(|part| (part.name.clone(), digest(&part.path, part.from)));
        Digests { target: digest(&self.bytes, 0), guards: guards.collect() }
    }

    fn arguments(&self, more: &[&str]) -> Vec<String> {
        let span = format!("{}MiB", self.span_mib);
        let mut words = vec!["run", "plan.toml", &self.address, "--size", &span];
        if let Some(identity) = &self.overwrite {
            words.extend(["--overwrite", identity]);
        }
        words.extend(more);
        words.into_iter().map(str::to_owned).collect()
    }

    pub(super) fn start(&self) -> Running {
        let arguments = self.arguments(&[]);
        self.story.start(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Executes a short run after the fault.
    pub(super) fn again(&self) -> ProgramOutput {
        let arguments = self.arguments(&["--set", "run=300ms", "--set", "warmup=0s"]);
        self.story.assay(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Returns true if the target contains a non-zero byte: its fill has begun.
    pub(super) fn is_written_to(&self) -> bool {
        let Ok(mut file) = File::open(&self.bytes) else { return false };
        let mut first = [0; 4096];
        let got = file.read(&mut first).unwrap_or(0);
        first[..got].iter().any(|byte| *byte != 0)
    }

    pub(super) fn fault(&mut self, fault: Fault, running: &mut Running) {
        match fault {
            Fault::Kill => running.signal("KILL"),
            Fault::Stop => {
                running.signal("STOP");
                std::thread::sleep(PAUSE);
                running.signal("CONT");
            }
            Fault::Cut => {
                let proxy = self.proxy.as_ref().unwrap();
                proxy.silence();
                std::thread::sleep(PAUSE);
                proxy.restore();
            }
            Fault::Restart => match &mut self.server {
                Server::Tgt(tgt) => {
                    tgt.kill();
                    std::thread::sleep(PAUSE / 3);
                    tgt.restart();
                }
                Server::Ganesha(ganesha) => {
                    ganesha.kill();
                    std::thread::sleep(PAUSE / 3);
                    ganesha.restart();
                }
                Server::None => {}
            },
            Fault::Full => {
                // Written until the file system is full; the failure is intended.
                let mut filler = File::create(self.filler()).unwrap();
                for piece in [1 << 20, 4096, 1] {
                    while filler.write_all(&vec![7; piece]).is_ok() {}
                }
            }
            Fault::ReadOnly => self.fault_read_only(),
            Fault::Remap => self.remap(),
            Fault::Replace => self.replace(),
        }
    }

    fn filler(&self) -> PathBuf {
        self.file_system.as_ref().unwrap().folder.path().join("mounted/filler")
    }

    fn fault_read_only(&mut self) {
        match &mut self.server {
            Server::Tgt(tgt) => {
                tgt.set("--op update --mode logicalunit --tid 1 --lun 1 --params readonly=1").unwrap();
            }
            _ if self.kind == Kind::Device => {
                words(&format!("blockdev --setro {}", self.devices[0].path.display()));
            }
            _ => {
                // Mounted with errors=remount-ro: the reaction of ext4 to a failure of its device.
                let device = self.file_system.as_ref().unwrap().name();
                let _ = std::fs::write(format!("/sys/fs/ext4/{device}/trigger_fs_error"), "fault matrix");
            }
        }
    }

    fn remap(&mut self) {
        let other = self.bytes.with_file_name("other").display().to_string();
        if let Server::Tgt(tgt) = &mut self.server {
            // tgt refuses this while a command is in flight.
            let delete = "--op delete --mode logicalunit --tid 1 --lun 1";
            let is_deleted = (0..2000).any(|_| tgt.set(delete).is_ok());
            assert!(is_deleted, "the LUN is never idle");
            tgt.set(&format!("--op new --mode logicalunit --tid 1 --lun 1 -b {other}")).unwrap();
        }
    }

    /// Replaces the target by another file, by rename, or another device behind the link.
    fn replace(&mut self) {
        if self.kind == Kind::Device {
            let link = self.story.path("disk");
            std::fs::remove_file(&link).unwrap();
            std::os::unix::fs::symlink(&self.devices[1].path, &link).unwrap();
            return;
        }
        let other = self.bytes.with_file_name("other.dat");
        std::fs::write(&other, noise(4)).unwrap();
        let digest = digest(&other, 0);
        std::fs::rename(&other, &self.bytes).unwrap();
        self.newcomer = Some((self.bytes.clone(), digest));
    }

    /// Returns true if the file that replaced the target is unchanged.
    pub(super) fn newcomer_is_kept(&self) -> bool {
        self.newcomer.as_ref().is_none_or(|(path, before)| digest(path, 0) == *before)
    }

    /// Undoes the fault as far as possible.
    pub(super) fn undo(&mut self) {
        if self.file_system.is_some() {
            let _ = std::fs::remove_file(self.filler());
        }
        if let Server::Tgt(tgt) = &mut self.server {
            let _ = tgt.set("--op update --mode logicalunit --tid 1 --lun 1 --params readonly=0");
        }
        for device in &self.devices {
            words(&format!("blockdev --setrw {}", device.path.display()));
        }
    }
}

/// Returns a loop device over memory, because an hour of the matrix writes a hundred gigabytes.
fn device(mib: u64) -> Option<LoopDevice> {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let file = folder.path().join("backing");
    File::create(&file).unwrap().set_len(mib << 20).unwrap();
    LoopDevice::over(folder, &file, &[])
}

/// Returns a small ext4 in a directory `mounted`, which becomes read-only at its first error.
fn file_system() -> Option<LoopDevice> {
    let mut device = device(FILE_SYSTEM_MIB)?;
    let folder = device.folder.path().join("mounted");
    std::fs::create_dir(&folder).unwrap();
    let (path, folder) = (device.text(), folder.display().to_string());
    let is_mounted = device.run(&["mkfs.ext4", "-q", "-m", "0", &path], &[])
        && device.run(&["mount", "-o", "errors=remount-ro", &path, &folder], &["umount", &folder]);
    is_mounted.then_some(device)
}
