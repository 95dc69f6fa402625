//! The link of a SATA disk: its speed, what the kernel allows, and whether it sleeps.

use std::path::{Path, PathBuf};

use assay_record::{HostNote, NoteKind};

use super::Seen;
use crate::machine::{attribute, name_of};

/// SATA has no faster generation, Gbit/s.
const FASTEST: f64 = 6.0;
/// Data of one Gbit/s of line rate, MB/s: 8b/10b encoding, and what frames take.
const MB_PER_GBIT: f64 = 93.0;

/// A port and the directory of its link.
struct Link<'s> {
    port: &'s Path,
    folder: PathBuf,
}

impl<'s> Link<'s> {
    fn of(seen: &'s Seen<'_>) -> Option<Self> {
        let port = seen.folder.ancestors().find(|folder| is_numbered(folder, "ata"))?;
        let link = format!("link{}", name_of(port).strip_prefix("ata")?);
        Some(Self { port, folder: port.join(&link).join("ata_link").join(&link) })
    }

    /// A speed, Gbit/s; `None` for `<unknown>`, which as a limit means that there is none.
    fn rate(&self, file: &str) -> Option<f64> {
        attribute(&self.folder.join(file))?.split_whitespace().next()?.parse().ok()
    }
}

fn is_numbered(folder: &Path, word: &str) -> bool {
    name_of(folder).strip_prefix(word).is_some_and(|number| number.parse::<u32>().is_ok())
}

/// The kernel has ordered a port to be slower than it can be. Most ports have no limit of their own, and then the file
/// says `<unknown>`.
pub(super) fn slowed(seen: &Seen<'_>) -> Option<HostNote> {
    let link = Link::of(seen)?;
    let can = link.rate("hw_sata_spd_limit");
    let now = link.rate("sata_spd_limit").filter(|now| *now < can.unwrap_or(FASTEST))?;
    let from = can.map_or_else(String::new, |can| format!(" from {can}"));
    let says = format!(
        "the kernel has slowed the SATA port of {}{from} to {now} Gbit/s, as it does after errors",
        seen.name
    );
    let port = name_of(link.port);
    let mend = |_: &str| format!("Change the cable; the kernel's log has the errors: dmesg | grep {port}");
    let file = link.folder.join("sata_spd_limit");
    Some(seen.note(NoteKind::SlowedSata, &file, format!("{now} Gbps"), says, mend))
}

/// A link at 1.5 or 3 Gbit/s, without an order of the kernel.
pub(super) fn slow(seen: &Seen<'_>) -> Option<HostNote> {
    let link = Link::of(seen)?;
    let can = link.rate("hw_sata_spd_limit");
    let now = link.rate("sata_spd").filter(|now| *now < can.unwrap_or(FASTEST))?;
    // What the kernel has ordered is a note of its own.
    if link.rate("sata_spd_limit").is_some_and(|ordered| ordered < can.unwrap_or(FASTEST)) {
        return None;
    }
    let port = can.map_or_else(String::new, |can| format!(", and its port can {can}"));
    let says = format!(
        "the SATA link of {} runs at {now} Gbit/s{port}: at most {:.0} MB/s",
        seen.name,
        now * MB_PER_GBIT
    );
    let mend = |_: &str| {
        "Another cable, or a port and backplane for that speed; an older disk can no more.".to_owned()
    };
    let file = link.folder.join("sata_spd");
    Some(seen.note(NoteKind::NarrowLink, &file, format!("{now} Gbps"), says, mend))
}

/// The link sleeps between commands.
pub(super) fn sleeps(seen: &Seen<'_>) -> Option<HostNote> {
    let host = seen.folder.ancestors().find(|folder| is_numbered(folder, "host"))?;
    let file = host.join("scsi_host").join(name_of(host)).join("link_power_management_policy");
    let policy = attribute(&file)
        .filter(|policy| policy.starts_with("min_power") || policy.starts_with("med_power"))?;
    let says = format!(
        "the SATA link of {} sleeps between commands: an I/O after a pause first waits for the link, up to 10 ms",
        seen.name
    );
    let mend = |path: &str| format!("Keep it awake for the test: echo max_performance > {path}");
    Some(seen.note(NoteKind::DriveSleeps, &file, policy, says, mend))
}
