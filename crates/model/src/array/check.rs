//! What no array can be, with the reason. Runs after every field was read or overridden.

use crate::catalogue::cloud;

use super::types::{
    Array, Device, Hdd, Level, LinkRate, PathPolicy, ProtocolKind, Raid, SoftwareName, Tier, VirtualDisk,
};

/// A contradiction between fields.
pub(super) struct Contradiction {
    /// `table.key` of the field to look at.
    pub field: &'static str,
    /// The reason.
    pub says: String,
}

impl Contradiction {
    /// The table of the field.
    pub fn table(&self) -> &str {
        self.field.split('.').next().unwrap_or(self.field)
    }
}

fn refuse(field: &'static str, says: String) -> Result<(), Contradiction> {
    Err(Contradiction { field, says })
}

/// Returns why an array cannot exist: the first reason of each table, none if it can.
pub(super) fn check(array: &Array) -> Vec<Contradiction> {
    let device = match &array.device {
        Device::Hdd(hdd) => check_hdd(hdd),
        Device::Ssd(_) => check_flash(array),
    };
    let tables = [
        device,
        check_ports(array),
        check_raid(&array.raid),
        check_caches(array),
        check_tier(&array.tier),
        check_log(array),
        check_transport(array),
        check_guest(array),
        check_fullness(array),
    ];
    tables.into_iter().filter_map(Result::err).collect()
}

fn check_hdd(hdd: &Hdd) -> Result<(), Contradiction> {
    if hdd.seek_track_ms.value > hdd.seek_avg_ms.value {
        return refuse(
            "device.seek_track_ms",
            format!(
                "a track-to-track seek of {} ms is longer than the average seek of {} ms",
                hdd.seek_track_ms.value, hdd.seek_avg_ms.value
            ),
        );
    }
    if hdd.seek_avg_ms.value > hdd.seek_full_ms.value {
        return refuse(
            "device.seek_avg_ms",
            format!(
                "an average seek of {} ms is longer than the full-stroke seek of {} ms",
                hdd.seek_avg_ms.value, hdd.seek_full_ms.value
            ),
        );
    }
    if hdd.inner_mb_s.value > hdd.outer_mb_s.value {
        return refuse(
            "device.inner_mb_s",
            format!(
                "the inner zone ({} MB/s) is faster than the outer one ({} MB/s); outer tracks are longer",
                hdd.inner_mb_s.value, hdd.outer_mb_s.value
            ),
        );
    }
    Ok(())
}

/// Refuses networks as the links of drives, and bands that their cache cannot hold.
fn check_ports(array: &Array) -> Result<(), Contradiction> {
    let (link, shingled) = match &array.device {
        Device::Hdd(hdd) => (hdd.link, hdd.shingled.then_some(hdd)),
        Device::Ssd(ssd) => (ssd.link, None),
    };
    for (field, rate) in [("device.link", link), ("controller.expander", array.controller.expander)] {
        let is_loop = field == "device.link" && matches!(rate, LinkRate::FibreChannel(_));
        if rate.is_network() && !is_loop {
            let says = format!("`{}` is a network; a port of drives is SATA, SAS, PCIe or USB", rate.name());
            return refuse(field, says);
        }
    }
    if shingled.is_some_and(|hdd| hdd.band.value > hdd.media_cache.value) {
        return refuse(
            "device.band",
            "a band is larger than the media cache that it is cleaned from".to_owned(),
        );
    }
    Ok(())
}

/// Refuses how full something is of which that is not known to matter.
fn check_fullness(array: &Array) -> Result<(), Contradiction> {
    let counts = array.software() == SoftwareName::Zfs && matches!(array.device, Device::Hdd(_));
    match array.raid.full_pct {
        Some(_) if !counts => {
            let says = "how full it is counts for ZFS on disks only; leave it out";
            refuse("raid.full_pct", says.to_owned())
        }
        _ => Ok(()),
    }
}

fn check_guest(array: &Array) -> Result<(), Contradiction> {
    let guest = &array.guest;
    let is_timed = guest.latency_us.is_some() || guest.thread_us.is_some();
    match guest.disk {
        VirtualDisk::None if is_timed => {
            let says =
                "there is no virtual disk whose times these are; set `disk` to paravirtual or emulated";
            refuse("guest.disk", says.to_owned())
        }
        VirtualDisk::Paravirtual | VirtualDisk::Emulated if cloud::name_of(&array.device).is_some() => {
            let says = "the limits and latencies of a cloud's volume are those that its guests see; \
                        leave `disk` out";
            refuse("guest.disk", says.to_owned())
        }
        _ => Ok(()),
    }
}

fn check_tier(tier: &Tier) -> Result<(), Contradiction> {
    if tier.hit_pct.as_ref().is_some_and(|hit| hit.value > 0.0 && hit.value < 1.0) {
        let hit = tier.hit_pct.as_ref().map_or(0.0, |hit| hit.value);
        return refuse("tier.hit_pct", format!("{hit} % would be no tier; write {} for {hit}", hit * 100.0));
    }
    match &tier.capacity {
        Some(_) if tier.iops_max.is_none() || tier.mb_s.is_none() => {
            refuse("tier.capacity", "a tier needs `iops_max` and `mb_s` too: what its devices do".to_owned())
        }
        None if tier.iops_max.is_some() || tier.mb_s.is_some() || tier.hit_pct.is_some() => {
            refuse("tier.capacity", "a tier holds data: give its `capacity`".to_owned())
        }
        _ => Ok(()),
    }
}

fn check_log(array: &Array) -> Result<(), Contradiction> {
    let log = &array.log;
    if log.iops_max.is_some() != log.mb_s.is_some() {
        return refuse("log.iops_max", "`iops_max` and `mb_s` must be given together".to_owned());
    }
    if log.iops_max.is_some() && array.controller.battery {
        let says =
            "a write-back cache with a battery answers durable writes itself; leave out one of the two";
        return refuse("log.iops_max", says.to_owned());
    }
    Ok(())
}

fn check_flash(array: &Array) -> Result<(), Contradiction> {
    let Device::Ssd(ssd) = &array.device else { return Ok(()) };
    if ssd.qd1_read_iops.value > ssd.read_iops_max.value {
        return refuse(
            "device.qd1_read_iops",
            format!(
                "{} reads/s at one outstanding are more than the drive's maximum of {}",
                ssd.qd1_read_iops.value, ssd.read_iops_max.value
            ),
        );
    }
    if ssd.slc.as_ref().is_some_and(|slc| slc.value > ssd.capacity.value) {
        return refuse("device.slc", "the SLC cache is larger than the drive".to_owned());
    }
    if ssd.slc.is_some() != ssd.slc_full_mb_s.is_some() {
        return refuse("device.slc", "`slc` and `slc_full_mb_s` must be given together".to_owned());
    }
    Ok(())
}

fn check_raid(raid: &Raid) -> Result<(), Contradiction> {
    let (disks, groups) = (raid.disks.value, raid.groups.value);
    if disks % groups != 0.0 {
        return refuse(
            "raid.groups",
            format!("{disks} disks do not divide into {groups} equal groups; change one of the two"),
        );
    }
    if matches!(raid.level, Level::Raid50 | Level::Raid60) && groups < 2.0 {
        let level = raid.level.name();
        return refuse(
            "raid.groups",
            format!("{level} stripes over 2 legs or more; set `groups` to their number"),
        );
    }
    let per_group = disks / groups;
    let (needed, why) = minimum_disks(raid.level);
    if per_group < needed {
        let level = super::words::word_of(raid.level);
        let says =
            format!("level {level} with {per_group} disk(s) per group: {why}, so it needs {needed} or more");
        return refuse("raid.disks", says);
    }
    if raid.level == Level::Single && disks > 1.0 {
        return refuse(
            "raid.level",
            format!("`single` has 1 disk, not {disks}; use level 0 for plain striping"),
        );
    }
    let mirrored = matches!(raid.level, Level::Raid10);
    if mirrored && per_group % 2.0 != 0.0 {
        return refuse("raid.disks", format!("RAID10 pairs its disks, and {per_group} is odd"));
    }
    check_width(raid)?;
    check_failed(raid)?;
    if raid.chunk.value % 512.0 != 0.0 {
        return refuse(
            "raid.chunk",
            format!("a chunk of {} bytes is not a whole number of sectors", raid.chunk.value),
        );
    }
    Ok(())
}

/// Refuses more failed members than the level survives.
fn check_failed(raid: &Raid) -> Result<(), Contradiction> {
    let Some(failed) = raid.failed.as_ref().map(|f| f.value) else {
        return match raid.rebuild_pct {
            Some(_) => {
                refuse("raid.rebuild_pct", "there is no failed member to rebuild; set `failed`".to_owned())
            }
            None => Ok(()),
        };
    };
    let survives = raid.level.survives(raid.disks.value);
    if failed > survives {
        let level = raid.level.name();
        let says = format!(
            "{level} survives {survives} failed member(s) of a group, not {failed}: its data are lost"
        );
        return refuse("raid.failed", says);
    }
    Ok(())
}

fn check_width(raid: &Raid) -> Result<(), Contradiction> {
    let parity = match raid.level {
        Level::Draid1 => 1.0,
        Level::Draid2 => 2.0,
        Level::Draid3 => 3.0,
        _ if raid.width.is_some() => {
            return refuse(
                "raid.width",
                "only dRAID has a stripe width of its own; use `groups` here".to_owned(),
            );
        }
        _ => return Ok(()),
    };
    let Some(width) = &raid.width else {
        return refuse("raid.level", "dRAID needs `width` (data plus parity of one stripe)".to_owned());
    };
    if width.value <= parity {
        return refuse(
            "raid.width",
            format!("a width of {} leaves no data in addition to {parity} parity", width.value),
        );
    }
    if width.value > raid.disks.value {
        let says = format!("a stripe of {} does not fit on {} disks", width.value, raid.disks.value);
        return refuse("raid.width", says);
    }
    Ok(())
}

/// Fewest disks per group, and why.
fn minimum_disks(level: Level) -> (f64, &'static str) {
    match level {
        Level::Single | Level::Raid0 => (1.0, "a stripe needs a disk"),
        Level::Raid1 | Level::Raid10 => (2.0, "a mirror has two halves"),
        Level::Raid5 | Level::Raid50 => (3.0, "one disk's worth is parity, and two disks would be a mirror"),
        Level::Raid6 | Level::Raid60 => (4.0, "two disks' worth are parity"),
        Level::Raidz1 | Level::Draid1 => (2.0, "one disk of a vdev is parity"),
        Level::Raidz2 | Level::Draid2 => (3.0, "two disks of a vdev are parity"),
        Level::Raidz3 | Level::Draid3 => (4.0, "three disks of a vdev are parity"),
    }
}

fn check_caches(array: &Array) -> Result<(), Contradiction> {
    let member = match &array.device {
        Device::Hdd(hdd) => hdd.capacity.value,
        Device::Ssd(ssd) => ssd.capacity.value,
    };
    let total = member * array.raid.disks.value;
    for (field, cache) in [
        ("controller.read_cache", &array.controller.read_cache),
        ("controller.write_back", &array.controller.write_back),
    ] {
        if cache.as_ref().is_some_and(|c| c.value > total) {
            let says = format!("a cache larger than the {:.0} GB of disks behind it", total / 1e9);
            return refuse(field, says);
        }
    }
    let c = &array.controller;
    match (&c.burst_iops, &c.burst_credits, &c.iops_max) {
        (None, None, _) => {}
        (Some(burst), Some(_), Some(most)) if burst.value >= most.value => {}
        (Some(burst), Some(_), Some(most)) => {
            let says = format!("a burst of {} is below the {} that last", burst.value, most.value);
            return refuse("controller.burst_iops", says);
        }
        _ => {
            let says = "a burst needs `iops_max`, `burst_iops` and `burst_credits`: \
                        what lasts, what is above it, how long";
            return refuse("controller.burst_iops", says.to_owned());
        }
    }
    if array.controller.battery && array.controller.write_back.is_none() {
        return refuse(
            "controller.battery",
            "there is no write-back cache for the battery to protect".to_owned(),
        );
    }
    if array.controller.starts_full && array.controller.write_back.is_none() {
        return refuse(
            "controller.starts_full",
            "there is no write-back cache that could be full".to_owned(),
        );
    }
    Ok(())
}

fn check_transport(array: &Array) -> Result<(), Contradiction> {
    check_carrier(array)?;
    if array.paths.policy == PathPolicy::RoundRobin && array.paths.count.value < 2.0 {
        return refuse("paths.policy", "round robin over one path; set `count`, or use `fixed`".to_owned());
    }
    if array.protocol.first_burst.value > array.protocol.max_burst.value {
        return refuse(
            "protocol.first_burst",
            "FirstBurstLength must not exceed MaxBurstLength (RFC 7143, 13.14)".to_owned(),
        );
    }
    Ok(())
}

/// Refuses a protocol over a link that does not carry it.
fn check_carrier(array: &Array) -> Result<(), Contradiction> {
    let (kind, rate) = (array.protocol.kind, array.link.rate);
    let fc = matches!(rate, LinkRate::FibreChannel(_));
    let (name, word) = (rate.name(), kind.word());
    match kind {
        ProtocolKind::FibreChannel if !fc => {
            refuse("link.rate", format!("Fibre Channel needs a link like 4GFC, not `{name}`"))
        }
        ProtocolKind::Fcoe if !rate.is_ethernet() => {
            refuse("link.rate", format!("FCoE needs a link like 10GbE, not `{name}`"))
        }
        ProtocolKind::Iscsi
        | ProtocolKind::Nfs
        | ProtocolKind::Smb
        | ProtocolKind::NvmeTcp
        | ProtocolKind::NvmeRdma
            if !rate.is_network() || fc =>
        {
            refuse("link.rate", format!("{word} runs over Ethernet or InfiniBand, not over `{name}`"))
        }
        ProtocolKind::Local | ProtocolKind::Sas if rate.is_network() => refuse(
            "protocol.kind",
            format!("a link of `{name}` needs protocol iscsi, nfs, smb, nvme-tcp, nvme-rdma, fc or fcoe"),
        ),
        _ => Ok(()),
    }
}
