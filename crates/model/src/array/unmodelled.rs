//! What people look for in an array file and the model does not have: the answer says so, and what to do.

use assay_spec::PlanError;

/// Last part of a key, or the name of a table, and what to say of it.
const KEYS: &[(&[&str], &str)] = &[
    (
        &["shingled", "smr", "recording", "zones"],
        "shingled disks are not modelled: their random writes depend on a cache zone that no sheet states; reads are \
         those of the same disk without this key",
    ),
    (
        &["slog", "log_device", "zil", "journal"],
        "a separate log device is not modelled; for synchronous writes that it answers, describe it as \
         `controller.write_back` with `battery = true`",
    ),
    (
        &["tier", "tiers", "ssd_cache", "l2arc", "flash_cache", "bcache"],
        "a tier of faster devices is not modelled; describe the part that holds the active data as an array of its \
         own, or the cache in memory as `controller.read_cache`",
    ),
    (
        &["ram", "arc", "page_cache", "memory", "server"],
        "the server's memory is described as `controller.read_cache` (and `controller.write_back`)",
    ),
    (
        &["client_ram", "client_cache"],
        "a cache of the client is not modelled: measure past it, as assay run does",
    ),
    (
        &["software", "filesystem", "file_system", "fs"],
        "the cost of software by its name (zfs, md, lvm) is not modelled; assay calibrate measures it and writes \
         `target.read_op_us` and the other costs",
    ),
    (
        &["clients", "initiators", "hosts"],
        "several clients are jobs of a plan, and assay predict simulates them side by side",
    ),
    (
        &["expander", "expanders", "backplane", "device_link"],
        "links of single drives and expanders are not modelled; limit the drive (`device.read_mb_s`, \
         `device.outer_mb_s`) or all of them (`controller.read_mb_s`)",
    ),
    (&["spares", "spare", "hot_spares"], "spares carry no load: leave them out of `disks`"),
];

/// The error with a better answer, where the key is one of those.
pub(super) fn explained(error: PlanError) -> PlanError {
    let key = error.place.rsplit([' ', '.']).next().unwrap_or_default().to_lowercase();
    match KEYS.iter().find(|(keys, _)| keys.contains(&key.as_str())) {
        Some((_, says)) if error.message.starts_with("there is no such field") => {
            PlanError { message: (*says).to_owned(), ..error }
        }
        _ => error,
    }
}

/// What to say of a word that stands for something the model does not have.
pub(super) fn word(text: &str) -> Option<&'static str> {
    match text.trim().to_ascii_lowercase().as_str() {
        "smb" | "cifs" | "samba" => Some(
            "SMB is not modelled; `nfs` gives the bound of the same disks and link, without the cost of the server",
        ),
        "nvmeof" | "nvme-of" | "nvme/tcp" | "nvme-tcp" => {
            Some("NVMe over Fabrics is not modelled; `iscsi` gives a bound for the same link")
        }
        "fcoe" => Some("FCoE is not modelled; `fc` with the link of the same rate comes near"),
        _ => None,
    }
}
