//! Arrays and loads at random, for what must hold of all of them.

use assay_model::array::{Array, Level, set};
use assay_model::facts::usable_bytes;
use assay_model::workload::Workload;
use assay_spec::random::split_mix;
use assay_spec::units::{Bytes, GIB, Nanos};

/// So long that what a write cache absorbs before it is full is no part of the closed form's rate.
pub const LONG: Nanos = Nanos::from_secs(1_000_000_000);

/// Draws choices.
pub struct Choices(pub u64);

impl Choices {
    fn next(&mut self) -> u64 {
        split_mix(&mut self.0)
    }

    pub fn of<T: Copy>(&mut self, all: &[T]) -> T {
        let pick = self.next() % all.len() as u64;
        all[usize::try_from(pick).expect("below a length")]
    }
}

/// A shipped array with another level, another number of members, other caches and another link.
pub fn random_array(choices: &mut Choices) -> (Array, String) {
    let base = choices.of(&["hdd-7200", "ssd-sata", "nvme", "raid6-12bay", "allflash-25gbe", "nas-4bay"]);
    let (level, disks) = choices.of(&[
        ("single", 1),
        ("0", 4),
        ("1", 2),
        ("10", 8),
        ("5", 3),
        ("5", 8),
        ("6", 6),
        ("6", 12),
        ("raidz1", 5),
        ("raidz2", 8),
    ]);
    let cache = choices.of(&["none", "none", "256MiB", "2GiB"]);
    let link = choices.of(&["1GbE", "10GbE", "25GbE"]);
    let battery = if cache == "none" { " controller.battery=no" } else { "" };
    let local = matches!(base, "hdd-7200" | "ssd-sata" | "nvme");
    let link = if local { String::new() } else { format!(" link={link}") };
    let changes = format!(
        "raid={level} disks={disks} controller.read_cache=none controller.write_back={cache}{battery}{link}"
    );
    let mut array = crate::array(base);
    set(&mut array, &changes).unwrap_or_else(|e| panic!("{base} {changes}: {e}"));
    (array, format!("{base} {changes}"))
}

/// Whole GiB in this many bytes.
fn whole_gib(bytes: f64) -> u64 {
    (0_u64..).find(|gib| (gib + 1) as f64 * GIB as f64 > bytes).unwrap_or(0)
}

pub fn random_load(choices: &mut Choices, array: &Array) -> Workload {
    let share = choices.of(&[0.01, 0.1, 1.0]);
    let size = choices.of(&[4096, 8192, 65_536]);
    let (read, random) = choices.of(&[(100.0, 100.0), (0.0, 100.0), (70.0, 100.0), (100.0, 0.0), (0.0, 0.0)]);
    Workload {
        span: Bytes(GIB.max(whole_gib(usable_bytes(array) * share) * GIB)),
        duration: LONG,
        ..Workload::simple("random", size, read, random, choices.of(&[1, 2, 8, 32, 128]))
    }
}

/// What else an array file can say, each now and then.
pub fn more(choices: &mut Choices, array: &mut Array) -> String {
    let rotates = matches!(array.device, assay_model::array::Device::Hdd(_));
    let buffers = array.controller.write_back.is_some();
    let is_remote = array.link.rate.is_ethernet();
    let mut said = Vec::new();
    let mut say = |applies: bool, words: &[&str]| {
        let word = choices.of(words);
        if applies && !word.is_empty() {
            said.push(word.to_owned());
        }
    };
    say(true, &["", "", "target.software=md", "target.software=zfs", "target.software=lvm"]);
    say(true, &["", "", "target.compression=2", "target.compression=4"]);
    say(true, &["", "raid.member_queue=4"]);
    say(true, &["", "controller.expander=SAS6x4", "controller.expander=SATA3"]);
    say(true, &["", "device.link=SATA2", "device.link=SATA3"]);
    say(rotates, &["", "", "device.shingled=yes", "device.shingled=yes device.band=256MiB"]);
    say(rotates, &["", "device.write_cache=64MiB"]);
    say(!rotates, &["", "device.flush_ms=0", "device.flush_ms=3"]);
    say(
        true,
        &[
            "",
            "",
            "tier.capacity=200GB tier.iops_max=80000 tier.mb_s=500",
            "tier.capacity=2TB tier.iops_max=80000 tier.mb_s=500 tier.holds=all tier.skew=0.9",
            "tier.capacity=50GB tier.iops_max=200000 tier.mb_s=2000 tier.hit_pct=60 tier.warm=no",
        ],
    );
    say(
        !array.controller.battery,
        &["", "", "log.iops_max=30000 log.mb_s=400", "log.iops_max=200000 log.mb_s=2000"],
    );
    say(buffers, &["", "controller.battery=yes log.iops_max=none log.mb_s=none"]);
    say(is_remote, &["", "link.rate=0.9..1.0Gbit/s", "link.timestamps=no", "initiator.link=1GbE"]);
    say(is_remote, &["", "protocol.kind=smb", "protocol.kind=nfs protocol.nfs_sync=yes"]);
    say(true, &["", "initiator.clients=4", "initiator.submission=synchronous"]);
    let said = said.join(" ");
    set(array, &said).unwrap_or_else(|e| panic!("{said}: {e}"));
    said
}

/// Half of the arrays with redundancy have lost a member, and half of these rebuild it.
pub fn degraded(choices: &mut Choices, array: &mut Array) -> &'static str {
    let state = choices.of(&["", "", "raid.failed=1", "raid.failed=1 raid.rebuild_pct=30"]);
    if matches!(array.raid.level, Level::Single | Level::Raid0) {
        return "";
    }
    set(array, state).unwrap_or_else(|e| panic!("{state}: {e}"));
    state
}

/// An array of any kind that ships, at any level, with any caches and links.
pub fn any_array(choices: &mut Choices) -> (Array, String) {
    let base = choices.of(&[
        "hdd-5400", "hdd-7200", "hdd-10k", "hdd-15k", "ssd-sata", "nvme", "raid6-12bay", "allflash-10gbe",
        "allflash-25gbe", "nas-4bay",
    ]);
    let level = choices.of(&[
        "raid=single disks=1",
        "raid=0 disks=2",
        "raid=0 disks=16",
        "raid=1 disks=2",
        "raid=1 disks=3",
        "raid=10 disks=4",
        "raid=10 disks=24",
        "raid=5 disks=3",
        "raid=5 disks=12",
        "raid=6 disks=4",
        "raid=6 disks=22",
        "raid=50 disks=12 raid.groups=3",
        "raid=60 disks=16 raid.groups=2",
        "raid=raidz1 disks=5",
        "raid=raidz2 disks=24 raid.groups=3",
        "raid=raidz3 disks=9",
        "raid=draid2 raid.width=8 disks=20",
    ]);
    let chunk = choices.of(&["", "raid.chunk=4KiB", "raid.chunk=256KiB", "raid.chunk=1MiB"]);
    let cache = choices.of(&["none", "none", "64MiB", "512MiB", "8GiB"]);
    let link = choices.of(&["1GbE", "2.5GbE", "10GbE", "40GbE", "100GbE"]);
    let battery = if cache == "none" { "controller.battery=no" } else { "" };
    let is_local = !crate::array(base).link.rate.is_ethernet();
    let link = if is_local { String::new() } else { format!("link={link}") };
    let changes =
        format!("{level} {chunk} controller.read_cache=none controller.write_back={cache} {battery} {link}");
    let mut array = crate::array(base);
    set(&mut array, &changes).unwrap_or_else(|e| panic!("{base} {changes}: {e}"));
    (array, format!("{base} {changes}"))
}

/// A load of any size, mix and depth on any part of an array.
pub fn any_load(choices: &mut Choices, array: &Array) -> Workload {
    let share = choices.of(&[0.001, 0.01, 0.1, 0.5, 1.0]);
    let size = choices.of(&[512, 4096, 8192, 16_384, 65_536, 131_072, 1_048_576, 4_194_304]);
    let read = choices.of(&[100.0, 0.0, 100.0, 0.0, 50.0, 70.0, 95.0]);
    let random = choices.of(&[100.0, 100.0, 0.0, 0.0, 60.0]);
    Workload {
        span: Bytes(GIB.max(whole_gib(usable_bytes(array) * share) * GIB)),
        duration: LONG,
        workers: choices.of(&[1, 1, 4]),
        ..Workload::simple("any", size, read, random, choices.of(&[1, 2, 4, 16, 32, 64, 200]))
    }
}
