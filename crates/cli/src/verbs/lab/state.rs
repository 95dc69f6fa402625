//! What a lab is: its names, and the file that says how it was built and what is broken in it.
//!
//! Everything follows from the name, so that `down` finds it without the file as well.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use assay_model::array::{Array, parse, set};
use serde::{Deserialize, Serialize};

use super::owned;
use crate::args::{LabFault, LabProtocol};

/// Links at most.
pub(super) const LINKS_MAX: u32 = 8;
/// Blocks of eight networks of 198.18.0.0/16; the first is that of the lab `lab`.
const BLOCKS: u32 = 31;

/// A lab as it was built, and as it shall be.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Lab {
    pub(super) name: String,
    /// Name and title of the array.
    pub(super) array: String,
    pub(super) title: String,
    pub(super) protocol: LabProtocol,
    pub(super) links: u32,
    pub(super) mbit: u32,
    pub(super) mtu: u32,
    pub(super) capacity_bytes: u64,
    /// The directory that is served.
    pub(super) data: PathBuf,
    /// A random id, which is also in the mark of a folder of `--data`. Empty in states of earlier versions.
    #[serde(default)]
    pub(super) id: String,
    /// What is broken, oldest first.
    pub(super) broken: Vec<Broken>,
}

/// A fault as the file keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Broken {
    Cut { link: u32 },
    Slow { link: u32, mbit: u32 },
    Loss { link: u32, percent: f64 },
    Mtu { link: u32, bytes: u32 },
    Disk { count: u32 },
    Server,
}

impl From<LabFault> for Broken {
    fn from(fault: LabFault) -> Self {
        match fault {
            LabFault::Cut { link } => Self::Cut { link },
            LabFault::Slow { link, mbit } => Self::Slow { link, mbit },
            LabFault::Loss { link, percent } => Self::Loss { link, percent },
            LabFault::Mtu { link, bytes } => Self::Mtu { link, bytes },
            LabFault::Disk { count } => Self::Disk { count },
            LabFault::Server => Self::Server,
        }
    }
}

impl Broken {
    /// Returns the link that it is about.
    pub(super) fn link(self) -> Option<u32> {
        match self {
            Self::Cut { link }
            | Self::Slow { link, .. }
            | Self::Loss { link, .. }
            | Self::Mtu { link, .. } => Some(link),
            Self::Disk { .. } | Self::Server => None,
        }
    }

    /// Returns it in words.
    pub(super) fn says(self) -> String {
        match self {
            Self::Cut { link } => format!("link {link} is cut"),
            Self::Slow { link, mbit } => format!("link {link} is shaped to {mbit} Mbit/s"),
            Self::Loss { link, percent } => format!("link {link} loses {percent} % of the packets"),
            Self::Mtu { link, bytes } => format!("the server's end of link {link} has MTU {bytes}"),
            Self::Disk { count: 1 } => "1 member of the array has failed".to_owned(),
            Self::Disk { count } => format!("{count} members of the array have failed"),
            Self::Server => "the server has crashed".to_owned(),
        }
    }

    /// What is so again once it is mended.
    pub(super) fn mended(self) -> String {
        match self {
            Self::Cut { link } => format!("link {link} is connected again"),
            Self::Slow { link, .. } => format!("link {link} runs at full speed again"),
            Self::Loss { link, .. } => format!("link {link} loses no packets any more"),
            Self::Mtu { link, .. } => format!("both ends of link {link} have the same MTU again"),
            Self::Disk { .. } => "all members of the array work again".to_owned(),
            Self::Server => "the server runs again".to_owned(),
        }
    }
}

/// Name of a lab that is given none.
pub(super) const DEFAULT_NAME: &str = "lab";

/// Names that follow from the name of a lab.
#[derive(Debug, Clone)]
pub(super) struct Names {
    pub(super) lab: String,
    /// The network namespace of the server.
    pub(super) namespace: String,
    /// State, mount point and, unless another directory is given, data.
    pub(super) folder: PathBuf,
    /// Separates the tgtds of one machine, at most 32767; no TCP port.
    pub(super) control_port: u32,
    block: u32,
}

/// Returns the command of a verb for a lab: `assay lab down --name NAME`.
pub(super) fn command(verb: &str, name: &str) -> String {
    let of = if name == DEFAULT_NAME { String::new() } else { format!(" --name {name}") };
    format!("assay lab {verb}{of}")
}

impl Names {
    pub(super) fn of(lab: &str) -> Self {
        // FNV-1a: the same in every build.
        let hash = lab
            .bytes()
            .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        let block = if lab == DEFAULT_NAME { 0 } else { 1 + hash % (BLOCKS - 1) };
        Self {
            lab: lab.to_owned(),
            namespace: format!("assay-{lab}-array"),
            folder: PathBuf::from(format!("/dev/shm/assay-{lab}-array")),
            control_port: 22_000 + hash % 10_000,
            block,
        }
    }

    /// The end of a link in this host.
    pub(super) fn interface(&self, link: u32) -> String {
        format!("{}-l{link}", self.lab)
    }

    pub(super) fn network(&self, link: u32) -> String {
        format!("198.18.{}", self.block * LINKS_MAX + link)
    }

    pub(super) fn host_address(&self, link: u32) -> String {
        format!("{}.1", self.network(link))
    }

    pub(super) fn server_address(&self, link: u32) -> String {
        format!("{}.2", self.network(link))
    }

    pub(super) fn mount_point(&self) -> PathBuf {
        self.folder.join("mount")
    }

    pub(super) fn array_file(&self) -> PathBuf {
        self.folder.join("array.toml")
    }

    pub(super) fn log_file(&self) -> PathBuf {
        self.folder.join("server.log")
    }

    pub(super) fn served_file(&self) -> PathBuf {
        self.folder.join("served.json")
    }

    fn state_file(&self) -> PathBuf {
        self.folder.join("lab.json")
    }

    /// The name of the iSCSI target.
    pub(super) fn target(&self) -> String {
        format!("iqn.2026-11.example.assay:{}", self.lab)
    }

    /// The serial number of the LUN.
    pub(super) fn serial(&self) -> String {
        format!("assay-{}", self.lab)
    }
}

impl Lab {
    pub(super) fn names(&self) -> Names {
        Names::of(&self.name)
    }

    /// Reads the lab of a name.
    pub(super) fn read(name: &str) -> anyhow::Result<Self> {
        let names = Names::of(name);
        let path = names.state_file();
        if !owned::exists(&names.folder)? || path.symlink_metadata().is_err() {
            bail!("the lab `{name}` is not up; {} builds it", command("up ARRAY", name));
        }
        let text = owned::read(&path).with_context(|| path.display().to_string())?;
        serde_json::from_str(&text).with_context(|| {
            format!("{}: not the state of a lab; {} removes it", path.display(), command("down", name))
        })
    }

    pub(super) fn write(&self) -> anyhow::Result<()> {
        write_whole(&self.names().state_file(), &serde_json::to_string_pretty(self)?)
    }

    /// Returns the array as it is now: with the members that have failed.
    pub(super) fn array_now(&self) -> anyhow::Result<Array> {
        let path = self.names().array_file();
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let mut array = parse(&path.display().to_string(), &text)?;
        let failed = self.broken.iter().rev().find_map(|broken| match broken {
            Broken::Disk { count } => Some(*count),
            _ => None,
        });
        if let Some(count) = failed {
            set(&mut array, &format!("raid.failed={count}"))?;
        }
        Ok(array)
    }

    /// Whether the server shall run.
    pub(super) fn is_serving(&self) -> bool {
        !self.broken.contains(&Broken::Server)
    }

    /// Returns the address that Assay takes: all links over iSCSI, the first over NFS.
    pub(super) fn address(&self) -> String {
        let names = self.names();
        match self.protocol {
            LabProtocol::Nfs => format!("nfs://{}/array", names.server_address(1)),
            LabProtocol::Iscsi => {
                let others: Vec<String> =
                    (2..=self.links).map(|link| format!("portal={}", names.server_address(link))).collect();
                let query = if others.is_empty() { String::new() } else { format!("?{}", others.join("&")) };
                format!("iscsi://{}/{}/1{query}", names.server_address(1), names.target())
            }
        }
    }
}

/// Writes a file so that a reader sees all of it or none.
pub(super) fn write_whole(path: &Path, text: &str) -> anyhow::Result<()> {
    let new = path.with_extension("new");
    let written = std::fs::File::create(&new).and_then(|mut file| file.write_all(text.as_bytes()));
    written.and_then(|()| std::fs::rename(&new, path)).with_context(|| path.display().to_string())
}
