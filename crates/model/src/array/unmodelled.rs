//! What people look for in an array file and the model does not have: the answer says so, and what to do.

use assay_spec::PlanError;

/// Last part of a key, or the name of a table, and what to say of it.
const KEYS: &[(&[&str], &str)] = &[
    (&["smr", "recording", "zones"], "a shingled disk is written `shingled = true` in `[device]`"),
    (
        &["slog", "log_device", "zil", "journal"],
        "a separate log device is the table `[log]`, with `iops_max`, `mb_s` and `latency_us`",
    ),
    (
        &["tiers", "ssd_cache", "l2arc", "flash_cache", "bcache"],
        "faster devices in front of the members are the table `[tier]`, with `capacity`, `iops_max` and `mb_s`",
    ),
    (
        &["arc", "page_cache", "memory"],
        "the server's memory is `ram` in `[server]`, which widens bounds; memory that is known to serve reads is \
         `controller.read_cache`",
    ),
    (&["client_ram", "client_cache"], "the memory of a client is `initiator.ram`, or --client-ram"),
    (
        &["filesystem", "file_system", "fs"],
        "software in front of the members is `software` in `[target]`: zfs, md, lvm or none",
    ),
    (&["initiators", "hosts"], "several hosts that issue the load are `clients` in `[initiator]`"),
    (
        &["expanders", "backplane", "device_link"],
        "the link of each drive is `device.link`, the port that drives share `controller.expander`",
    ),
    (&["disk", "drive", "hdd", "ssd", "disk_drive"], "what the members are is the table `[device]`"),
    (
        &["speed", "bandwidth", "gbps"],
        "the link is `rate` in `[link]`, a device's throughput `outer_mb_s` or `read_mb_s`",
    ),
    (
        &["stripe", "stripe_size", "stripe_unit", "strip", "strip_size", "recordsize", "chunk_size"],
        "the stripe unit is `chunk`",
    ),
    (&["type", "raid_level"], "the RAID level is `level`; hdd or ssd is `kind`"),
    (&["bbu", "bbwc", "fbwc", "nvram"], "a write-back cache that survives a power cut is `battery = true`"),
    (&["size", "disk_size"], "the size of one member is `capacity`"),
    (&["drives", "members", "num_disks", "disk_count", "width_disks"], "the number of members is `disks`"),
    (
        &["cache", "write_cache_size"],
        "caches are `read_cache` and `write_back` in `[controller]`, `write_cache` in `[device]`",
    ),
    (
        &["compress", "compressratio", "compression_ratio", "lz4", "zstd"],
        "compression is `compression` in `[target]`: bytes of data over the bytes that reach the members",
    ),
    (
        &["dedup", "deduplication", "dedup_ratio"],
        "deduplication is not modelled: what its table costs depends on how much of it is in memory; describe the \
         system without it, and take the answer for data that are not duplicates",
    ),
    (
        &["fullness", "fullness_pct", "used_pct", "capacity_used", "fragmentation", "pool_full_pct"],
        "how full a pool of ZFS is is `full_pct` in `[raid]`; of other systems it is not modelled",
    ),
    (
        &["special", "special_vdev", "metadata_vdev"],
        "a special vdev holds metadata and small blocks: for a load of such blocks its drives are the members, and \
         for others leave it out",
    ),
    (
        &["hypervisor", "virtio", "vm", "virtual_machine", "virtual_disk", "virtualized"],
        "the virtual disk of a guest is the table `[guest]`, with `disk = \"paravirtual\"` (virtio, pvscsi) or \
         `\"emulated\"` (IDE, AHCI, LSI)",
    ),
    (&["spares", "spare", "hot_spares"], "spares take no load: leave them out of `disks`"),
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
        "nvmeof" | "nvme-of" => Some("say over what: `nvme-tcp`, `nvme-rdma` or `fc`"),
        _ => None,
    }
}
