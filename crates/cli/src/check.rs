//! `assay check`: what a target is and what speaks against writing to it, without any load.

use std::path::Path;

use anyhow::{Context as _, bail};
use assay_record::{DeviceFacts, FilesystemFacts};
use assay_spec::units::Bytes;
use assay_spec::{Address, NfsAddress, without_secret};
use assay_target::file::{self, Marker, PathKind};
use serde_json::{Value, json};

use crate::args::CheckArgs;
use crate::{Exit, say};

/// What was found out about a target.
struct Checked {
    target: String,
    kind: &'static str,
    size_bytes: u64,
    smallest_direct_io: Option<u32>,
    filesystem: Option<FilesystemFacts>,
    device: Option<DeviceFacts>,
    /// What speaks against writing; empty also where writing was not looked at.
    holds: Vec<String>,
    /// What to type after --overwrite; only for devices.
    identities: Vec<String>,
    /// Whether Assay made it, and nobody changed it since; `None` for what is not a file.
    is_ours: Option<bool>,
    /// Whether the rights of this user let it write at all.
    may_write: bool,
}

pub(crate) fn check(args: &CheckArgs) -> anyhow::Result<Exit> {
    let told = args.targets.iter().map(|t| tell(t)).collect::<anyhow::Result<Vec<_>>>()?;
    match (args.json, told.as_slice()) {
        (true, [(one, _)]) => say(&format!("{one:#}\n"))?,
        (true, all) => say(&format!("{:#}\n", all.iter().map(|(json, _)| json.clone()).collect::<Value>()))?,
        (false, all) => say(&all.iter().map(|(_, text)| text.clone()).collect::<Vec<_>>().join("\n"))?,
    }
    Ok(Exit::Done)
}

/// What was found out, as JSON and as text.
fn tell(target: &str) -> anyhow::Result<(Value, String)> {
    if let Some(portal) = crate::discovery::portal_in(target)? {
        return crate::discovery::tell(&portal);
    }
    if let Some(server) = target.strip_prefix("nfs://").and_then(NfsAddress::parse_server) {
        return crate::check_nfs::tell_server(
            &server.with_context(|| format!("target `{}`", without_secret(target)))?,
        );
    }
    let path =
        match target.parse::<Address>().with_context(|| format!("target `{}`", without_secret(target)))? {
            Address::Path(path) => path,
            Address::Null { .. } => bail!("null: has nothing to check"),
            Address::Sim { array } => {
                bail!("sim: has nothing to check; assay arrays show {array} prints the array")
            }
            Address::Iscsi(lun) => return crate::check_lun::tell(&lun),
            Address::Nfs(file) => return crate::check_nfs::tell(&file),
        };
    look(target, &path).map(|checked| (as_json(&checked), as_text(&checked)))
}

fn look(target: &str, path: &Path) -> anyhow::Result<Checked> {
    match file::kind_of(path).with_context(|| format!("cannot look at {target}"))? {
        PathKind::Missing => bail!("{target} does not exist; assay run would create a file of that name"),
        PathKind::Other(what) => {
            bail!("{target} is {what}; a target must be a file, a directory or a block device")
        }
        PathKind::BlockDevice => look_at_device(target, path),
        PathKind::File => look_at_file(target, path, "file"),
        PathKind::Directory => look_at_file(target, path, "directory"),
    }
}

fn look_at_device(target: &str, path: &Path) -> anyhow::Result<Checked> {
    let device = assay_host::device_of(path).with_context(|| format!("cannot look at {target}"))?;
    let holds = assay_host::probe(path)?.into_iter().map(|hold| hold.says).collect();
    Ok(Checked {
        target: target.to_owned(),
        kind: "device",
        size_bytes: file::capacity_bytes(path).with_context(|| format!("cannot open {target}"))?,
        smallest_direct_io: file::smallest_direct_io(path)
            .with_context(|| format!("cannot read {target}"))?,
        filesystem: None,
        identities: device.as_ref().map(assay_host::identities).unwrap_or_default(),
        device,
        holds,
        is_ours: None,
        may_write: assay_host::may_write(path),
    })
}

fn look_at_file(target: &str, path: &Path, kind: &'static str) -> anyhow::Result<Checked> {
    let is_file = kind == "file";
    let size = || file::capacity_bytes(path).with_context(|| format!("cannot open {target}"));
    let smallest = || file::smallest_direct_io(path).with_context(|| format!("cannot read {target}"));
    Ok(Checked {
        target: target.to_owned(),
        kind,
        size_bytes: if is_file { size()? } else { 0 },
        smallest_direct_io: if is_file { smallest()? } else { None },
        filesystem: Some(
            assay_host::filesystem_of(path).with_context(|| format!("cannot look at {target}"))?,
        ),
        device: assay_host::device_of(path).unwrap_or_default(),
        holds: if is_file { assay_host::file_users(path) } else { Vec::new() },
        identities: Vec::new(),
        is_ours: is_file
            .then(|| is_ours(path))
            .transpose()
            .with_context(|| format!("cannot read {target}"))?,
        may_write: assay_host::may_write(path),
    })
}

fn is_ours(path: &Path) -> std::io::Result<bool> {
    let marker = Marker::read(path, &std::fs::File::open(path)?)?;
    Ok(marker.is_some_and(|marker| marker.created))
}

fn as_json(checked: &Checked) -> Value {
    let device = checked.device.as_ref();
    // A device that has neither is named by what Assay accepts for it.
    let serial = device.and_then(|d| d.serial.clone()).or_else(|| checked.identities.first().cloned());
    json!({
        "schema": "assay.check/1",
        "target": checked.target,
        "kind": checked.kind,
        "size_bytes": checked.size_bytes,
        "smallest_direct_io_bytes": checked.smallest_direct_io,
        "serial": serial,
        "wwid": device.and_then(|d| d.wwid.clone()),
        "identities": checked.identities,
        "holds": checked.holds,
        "made_by_assay": checked.is_ours,
        "writable": checked.may_write && (checked.kind != "device" || checked.holds.is_empty()),
        "filesystem": checked.filesystem,
        "device": checked.device,
    })
}

fn as_text(checked: &Checked) -> String {
    let mut lines = vec![format!("{} ({})", checked.target, checked.kind)];
    let mut line = |name: &str, value: String| lines.push(format!("  {name:<20} {value}"));
    if checked.size_bytes > 0 {
        line("size", Bytes(checked.size_bytes).rounded());
    }
    if let Some(fs) = &checked.filesystem {
        line("file system", format!("{} on {}, {}", fs.kind, fs.mount_point, fs.options));
        line("free", format!("{:.1} of {:.1} GiB", gib(fs.free_bytes), gib(fs.size_bytes)));
    }
    match checked.smallest_direct_io {
        Some(bytes) => line("smallest direct I/O", Bytes(u64::from(bytes)).rounded()),
        None if checked.kind == "file" => line("direct I/O", "not supported; use --cached".into()),
        None => {}
    }
    if let Some(device) = &checked.device {
        let blocks = format!("{}/{} B blocks", device.logical_block_bytes, device.physical_block_bytes);
        let kind = if device.rotational { "rotating" } else { "not rotating" };
        line("device", format!("{} {}, {blocks}, {kind}", device.name, device.model));
        line("write cache", format!("{}, scheduler {}", device.write_cache, device.scheduler));
    }
    match checked.identities.as_slice() {
        [] => {}
        identities => line("identity", format!("{} (what --overwrite takes)", identities.join(" or "))),
    }
    match checked.is_ours {
        Some(true) => line("made by", "Assay, which may write to it".into()),
        Some(false) => line(
            "made by",
            format!(
                "not Assay, or changed since: read-only unless --overwrite {} says otherwise",
                checked.target
            ),
        ),
        None => {}
    }
    if checked.kind == "device" {
        line("writing", "read-only unless --overwrite names it, and then its content is lost".into());
    }
    for name in checked.device.as_ref().map(|d| assay_host::cached_loops(&d.stack)).unwrap_or_default() {
        line("page cache", format!("{name} goes through it; losetup --direct-io=on /dev/{name} ends that"));
    }
    if !checked.may_write {
        let what = if checked.kind == "directory" { "create files in it" } else { "write to it" };
        line("rights", format!("this user may not {what}: choose another place, or run as one who may"));
    }
    for hold in &checked.holds {
        line("against writing", hold.clone());
    }
    lines.join("\n") + "\n"
}

fn gib(bytes: u64) -> f64 {
    bytes as f64 / (1_u64 << 30) as f64
}
