//! Devices that share bytes with the device in question.

use std::fs;
use std::path::{Path, PathBuf};

use crate::block::whole_disk;
use crate::device::wwid;
use crate::machine::{DevNo, Machine, attribute, name_of, names_in, number};

/// A device that shares bytes with the one in question.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) number: Option<DevNo>,
    pub(crate) folder: PathBuf,
    pub(crate) relation: Relation,
    /// The name of the device in question.
    of: String,
}

/// How it shares bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Relation {
    Itself,
    /// It is a partition of the device in question.
    Part,
    /// It is the disk that the partition in question is on.
    Parent,
    /// It is a partition that overlaps with the partition in question (logical in extended).
    Overlap,
    /// It is the same disk over another path, or a partition of that.
    Twin,
}

impl Node {
    fn new(folder: &Path, relation: Relation, of: &str) -> Self {
        let number = attribute(&folder.join("dev")).and_then(|text| text.parse().ok());
        Self { name: name_of(folder), number, folder: folder.to_owned(), relation, of: of.to_owned() }
    }

    /// Returns its usual device node. The kernel writes `!` for the `/` in names such as `cciss/c0d0`.
    pub(crate) fn path(&self) -> PathBuf {
        Path::new("/dev").join(self.name.replace('!', "/"))
    }

    /// Returns the subject of a sentence: `/dev/sdb1 (a partition of /dev/sdb)`.
    pub(crate) fn subject(&self) -> String {
        let own = self.path().display().to_string();
        let of = Path::new("/dev").join(self.of.replace('!', "/"));
        let of = of.display();
        match self.relation {
            Relation::Itself => own,
            Relation::Part => format!("{own} (a partition of {of})"),
            Relation::Parent => format!("{own} (the disk that {of} is a part of)"),
            Relation::Overlap => format!("{own} (a partition that overlaps with {of})"),
            Relation::Twin => format!("{own} (another path to the disk of {of})"),
        }
    }
}

/// Returns the device itself first, then all that share bytes with it.
pub(crate) fn related(machine: &Machine, folder: &Path) -> Vec<Node> {
    let name = name_of(folder);
    let disk = whole_disk(folder);
    let mut nodes = vec![Node::new(folder, Relation::Itself, &name)];
    if disk == folder {
        nodes.extend(partitions_of(&disk).iter().map(|part| Node::new(part, Relation::Part, &name)));
    } else {
        nodes.push(Node::new(&disk, Relation::Parent, &name));
        let siblings =
            partitions_of(&disk).into_iter().filter(|part| part != folder && overlaps(part, folder));
        nodes.extend(siblings.map(|part| Node::new(&part, Relation::Overlap, &name)));
    }
    for twin in twins_of(machine, &disk) {
        nodes.push(Node::new(&twin, Relation::Twin, &name));
        nodes.extend(partitions_of(&twin).iter().map(|part| Node::new(part, Relation::Twin, &name)));
    }
    nodes
}

fn partitions_of(disk: &Path) -> Vec<PathBuf> {
    let mut parts: Vec<_> = names_in(disk)
        .iter()
        .map(|name| disk.join(name))
        .filter(|part| part.join("partition").exists())
        .collect();
    parts.sort_by_key(|part| number::<u32>(&part.join("partition")));
    parts
}

fn overlaps(one: &Path, other: &Path) -> bool {
    let range = |part: &Path| {
        let start: u64 = number(&part.join("start"))?;
        Some((start, start.saturating_add(number::<u64>(&part.join("size"))?)))
    };
    // A range that cannot be read may overlap: fail closed.
    let (Some(one), Some(other)) = (range(one), range(other)) else { return true };
    one.0 < other.1 && other.0 < one.1
}

/// Returns other disks with the same WWID: paths to one LUN that no multipath driver has joined. Writing through one
/// path destroys what is mounted through the other, and an exclusive open does not detect it.
fn twins_of(machine: &Machine, disk: &Path) -> Vec<PathBuf> {
    let Some(own) = wwid(disk) else { return Vec::new() };
    let Ok(entries) = fs::read_dir(machine.path("/sys/class/block")) else { return Vec::new() };
    let mut twins: Vec<PathBuf> = entries
        .flatten()
        .filter_map(|entry| entry.path().canonicalize().ok())
        .filter(|other| other != disk && whole_disk(other) == *other && wwid(other).as_ref() == Some(&own))
        .collect();
    twins.sort();
    twins
}
