//! `assay check`: what a target is, and whether it can be written to, without any load.

mod lun;
mod nfs;
mod portal;
mod text;

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail};
use assay_analysis::is_fragmented;
use assay_prepare::{PathInspection, PathInspectionKind as Kind};
use assay_record::{DeviceFacts, FilesystemFacts, HostNote};
use assay_report::text::Detail;
use assay_spec::units::Bytes;
use assay_spec::{Address, NfsAddress, without_secret};
use assay_store::{Checked, target_key};
use serde_json::{Value, json};

use crate::args::{CheckArgs, StoreArgs};
use crate::exit::Exit;
use crate::output::patience::Patience;
use crate::output::terminal::{paragraph, say};
use crate::words::store::store_if_any;
use crate::words::typed::as_typed;

pub(crate) fn check(args: &CheckArgs) -> anyhow::Result<Exit> {
    let detail = if args.explain { Detail::Full } else { Detail::Brief };
    let mut found = args.targets.iter().map(|t| inspect(t, detail)).collect::<anyhow::Result<Vec<_>>>()?;
    if detail == Detail::Brief {
        found.iter_mut().for_each(|(of, text)| text.push_str(&more(of)));
    }
    keep(&args.store, &args.targets, &found);
    match (args.form.json, found.as_slice()) {
        (true, [(one, _)]) => say(&format!("{one:#}\n"))?,
        (true, all) => say(&format!("{:#}\n", all.iter().map(|(json, _)| json.clone()).collect::<Value>()))?,
        (false, all) => say(&all.iter().map(|(_, text)| text.clone()).collect::<Vec<_>>().join("\n"))?,
    }
    Ok(if found.iter().any(|(document, _)| has_dead_path(document)) { Exit::Errors } else { Exit::Done })
}

/// Returns what the full form adds; nothing where it adds nothing.
fn more(of: &Value) -> String {
    let has_notes = ["/host_notes", "/filesystem/notes", "/device/notes"]
        .iter()
        .any(|at| of.pointer(at).and_then(Value::as_array).is_some_and(|notes| !notes.is_empty()));
    let what = match of["kind"].as_str() {
        Some("lun") => "routes, frames and negotiated parameters of each path",
        Some("nfs") => "route, frames and TCP to the server",
        _ if has_notes => "where each note stands, and what changes it",
        _ => return String::new(),
    };
    paragraph(&format!("--explain adds {what}."), "  ")
}

/// Whether a path of a target did not come up: for a script, that is no success.
fn has_dead_path(document: &Value) -> bool {
    let paths = ["/lun/paths", "/nfs/paths"].into_iter().filter_map(|at| document.pointer(at)?.as_array());
    paths.flatten().any(|path| path["is_up"] == false)
}

/// Prints what one target is, and returns it as JSON.
pub(crate) fn look(target: &str, store: &StoreArgs) -> anyhow::Result<Value> {
    let found = [inspect(target, Detail::Brief)?];
    keep(store, &[target.to_owned()], &found);
    let [(document, text)] = found;
    say(&text)?;
    Ok(document)
}

/// Keeps what was found in the store, for the page of targets. Where there is no store, none is created, and one that
/// cannot be written to is no reason to fail: nothing was asked of it.
fn keep(store: &StoreArgs, targets: &[String], found: &[(Value, String)]) {
    let Ok(Some(store)) = store_if_any(store) else { return };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let checked_unix_ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
    for (target, (document, _)) in targets.iter().zip(found) {
        // A portal or a server is no target.
        if target.parse::<Address>().is_ok() {
            let address = target_key(target);
            let _ = store.set_checked(&Checked { address, checked_unix_ms, body: document.to_string() });
        }
    }
}

/// Returns what a target is, as JSON and as text.
fn inspect(target: &str, detail: Detail) -> anyhow::Result<(Value, String)> {
    if let Some(portal) = crate::words::offered::portal_in(target)? {
        return portal::tell(&portal);
    }
    if let Some(server) = target.strip_prefix("nfs://").and_then(NfsAddress::parse_server) {
        return nfs::tell_server(&server.with_context(|| format!("target `{}`", without_secret(target)))?);
    }
    let _patience = Patience::with(without_secret(target));
    let path = match target
        .parse::<Address>()
        .map_err(|error| crate::words::offered::explain(target, error))
        .with_context(|| format!("target `{}`", without_secret(target)))?
    {
        Address::Path(path) => path,
        Address::Null { .. } => bail!("null: has nothing to check"),
        Address::Sim { array } => {
            crate::words::array::array(&array)?;
            bail!("sim: has nothing to check; assay arrays show {array} prints the array")
        }
        Address::Iscsi(lun) => return lun::tell(&lun, detail),
        Address::Nfs(file) => return nfs::tell(&file, detail),
    };
    let found = assay_prepare::inspect_path(&path)?;
    let host = assay_host::host_facts().notes;
    Ok((as_json(target, &found, &host), as_text(target, &found, &host, detail)))
}

fn kind_words(kind: Kind) -> &'static str {
    match kind {
        Kind::Device => "device",
        Kind::File => "file",
        Kind::Directory => "directory",
    }
}

fn as_json(target: &str, checked: &PathInspection, host: &[HostNote]) -> Value {
    let device = checked.device.as_ref();
    // A device that has neither is named by what Assay accepts for it.
    let serial = device.and_then(|d| d.serial.clone()).or_else(|| checked.identities.first().cloned());
    json!({
        "schema": "assay.check/1",
        "target": target,
        "kind": kind_words(checked.kind),
        "size_bytes": checked.size_bytes,
        "smallest_direct_io_bytes": checked.smallest_direct_io,
        "serial": serial,
        "wwid": device.and_then(|d| d.wwid.clone()),
        "identities": checked.identities,
        "holds": checked.holds,
        "made_by_assay": checked.is_ours,
        "writable": checked.may_write && (checked.kind != Kind::Device || checked.holds.is_empty()),
        "extents": checked.extents,
        "filesystem": checked.filesystem,
        "device": checked.device,
        "host_notes": host,
    })
}

/// What the kernel shows of this host, a file system or a device; in full quoted, with what mends it.
fn notes(of: &[HostNote], detail: Detail) -> Vec<String> {
    let words = |note: &HostNote| match detail {
        Detail::Brief => note.says.clone(),
        Detail::Full => format!("{} ({}: \"{}\"). {}", note.says, note.path, note.value, note.mend),
    };
    of.iter().map(words).collect()
}

/// The lines about a device.
fn of_device(device: &DeviceFacts, detail: Detail, line: &mut impl FnMut(&str, String)) {
    let blocks = format!("{}/{} B blocks", device.logical_block_bytes, device.physical_block_bytes);
    let kind = if device.rotational { "rotating" } else { "not rotating" };
    let name = format!("{} {}", device.name, device.model);
    line("device", format!("{}, {blocks}, {kind}", name.trim_end()));
    line("write cache", format!("{}, scheduler {}", device.write_cache, device.scheduler));
    if let Some(bus) = &device.bus {
        line("interface", format!("{}, at most about {} MB/s", bus.says, bus.mb_per_s));
    }
    notes(&device.notes, detail).into_iter().for_each(|note| line("note", note));
    if device.shifted_bytes > 0 {
        let shift = device.shifted_bytes;
        line(
            "alignment",
            format!("misaligned: begins {shift} B after a multiple of 4 KiB; see misaligned-partition"),
        );
    }
}

/// A mounted file system: which server holds it, too, as that is what is measured.
fn mounted(fs: &FilesystemFacts, detail: Detail) -> String {
    let source =
        if FilesystemFacts::is_of_a_server(&fs.kind) { format!(" of {}", fs.source) } else { String::new() };
    let options = if detail == Detail::Full { format!(", {}", fs.options) } else { String::new() };
    format!("{}{source} on {}{options}", fs.kind, fs.mount_point)
}

/// A file that lies in many small pieces.
fn pieces(checked: &PathInspection) -> Option<String> {
    let (bytes, pieces) = (checked.written_bytes, checked.extents?);
    is_fragmented(bytes, pieces).then(|| {
        format!(
            "{pieces} of {} on average: sequential I/O jumps from one to the next; a new copy mostly has fewer \
             (filefrag -v lists them)",
            Bytes(bytes / pieces).rounded()
        )
    })
}

fn as_text(target: &str, checked: &PathInspection, host: &[HostNote], detail: Detail) -> String {
    let mut text = format!("{target} ({})\n", kind_words(checked.kind));
    let mut line = |name: &str, value: String| text.push_str(&text::line(name, &value));
    if checked.size_bytes > 0 {
        line("size", Bytes(checked.size_bytes).rounded());
    }
    if let Some(fs) = &checked.filesystem {
        line("file system", mounted(fs, detail));
        if let Some(free) = fs.free() {
            line("free", format!("{} of {}", Bytes(free).rounded(), Bytes(fs.size_bytes).rounded()));
        }
        notes(&fs.notes, detail).into_iter().for_each(|note| line("note", note));
    }
    match checked.smallest_direct_io {
        Some(bytes) => line("smallest direct I/O", Bytes(u64::from(bytes)).rounded()),
        None if checked.kind == Kind::File => line("direct I/O", "not supported; use --cached".into()),
        None => {}
    }
    if let Some(device) = &checked.device {
        of_device(device, detail, &mut line);
    }
    pieces(checked).into_iter().for_each(|says| line("pieces", says));
    notes(host, detail).into_iter().for_each(|note| line("note", note));
    match checked.identities.as_slice() {
        [] => {}
        identities => line("identity", format!("{} (what --overwrite takes)", identities.join(" or "))),
    }
    match checked.is_ours {
        Some(true) => line("created by", "Assay, which may write to it".into()),
        Some(false) => line(
            "created by",
            format!("not Assay, or changed since: read only, unless --overwrite {target} is given"),
        ),
        None => {}
    }
    if checked.kind == Kind::Device {
        // The last one is no other device's, so that later runs take it too (--not-blank).
        let identity = checked.identities.last().map_or_else(|| "IDENTITY".to_owned(), |one| as_typed(one));
        line("writing", format!("only with --overwrite {identity}; the content is then lost"));
    }
    for name in checked.device.as_ref().map(|d| assay_host::cached_loops(&d.stack)).unwrap_or_default() {
        line("page cache", format!("{name} uses it; losetup --direct-io=on /dev/{name} bypasses it"));
    }
    if !checked.may_write {
        let what = if checked.kind == Kind::Directory { "create files in it" } else { "write to it" };
        match assay_host::read_only_mount(Path::new(target)) {
            Some(mount) => line(
                "permission",
                format!(
                    "denied to {what}: {mount} is mounted read-only; choose another place, or mount it for writing: \
                     mount -o remount,rw {mount}"
                ),
            ),
            None => line("permission", format!("denied to {what}; choose another place, or run as root")),
        }
    }
    for hold in &checked.holds {
        line("cannot write", hold.clone());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file on an NFS mount said "nfs4 on /mnt/nas", and not which server was going to be measured.
    #[test]
    fn the_server_of_a_mount_is_named() {
        let says = |kind: &str, source: &str| {
            let [kind, source, mount_point] = [kind, source, "/mnt"].map(str::to_owned);
            mounted(
                &FilesystemFacts { kind, source, mount_point, ..FilesystemFacts::default() },
                Detail::Brief,
            )
        };
        assert_eq!(says("nfs4", "nas:/vol1"), "nfs4 of nas:/vol1 on /mnt");
        assert_eq!(says("ext4", "/dev/sda1"), "ext4 on /mnt");
    }
}
