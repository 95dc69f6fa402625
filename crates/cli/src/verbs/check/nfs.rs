//! `assay check nfs://…`: what is exported, what may be done there, how much the server takes at once, how much space
//! there is, and whether the file is Assay's.

use anyhow::{Context as _, anyhow};
use assay_analysis::{CEILING_IO_BYTES, Ceiling, nfs_ceiling, path_faults, time};
use assay_claim::nfs::Export;
use assay_prepare::NfsInspection;
use assay_record::NfsFacts;
use assay_report::text::Detail;
use assay_spec::NfsAddress;
use assay_spec::units::Bytes;
use serde_json::{Value, json};

use super::lun::{between, with_network};
use super::text::{line, wrapped};
use crate::words::offered::export_words;
use crate::words::typed::quoted;

/// Why several connections have the ceiling of one.
const SHARED: &str = "all connections share one route, which counts once";

/// Mounts the export and returns the facts, as JSON and as text.
pub(crate) fn tell(address: &NfsAddress, detail: Detail) -> anyhow::Result<(Value, String)> {
    let found = assay_prepare::inspect_nfs(address)
        .map_err(|error| with_network(error, std::slice::from_ref(&address.host)))?;
    // A server may keep its list to itself; everything else is reported.
    let exports = assay_claim::nfs::exports(address);
    let nfs = found.facts.nfs.as_deref().context("the inspection of an NFS file gives its facts")?;
    let slow_settings = slow_settings(nfs);
    let listed = exports.as_ref().map(Vec::as_slice).unwrap_or_default();
    Ok((
        as_json(address, &found, nfs, listed, &slow_settings),
        as_text(address, &found, nfs, exports.as_deref(), detail),
    ))
}

/// What a server exports, where no export is named.
pub(crate) fn tell_server(address: &NfsAddress) -> anyhow::Result<(Value, String)> {
    let exports = assay_claim::nfs::exports(address).map_err(|error| match error.is_unreached() {
        true => anyhow!("{error}{}", between(std::slice::from_ref(&address.host))),
        false => anyhow!("{error}; a server may hide its exports; name one: nfs://host/export"),
    })?;
    let json = json!({
        "schema": "assay.check/1",
        "target": address.to_string(),
        "kind": "nfs-server",
        "exports": exports_json(&exports),
    });
    let mut text = format!("{address} (NFS server)\n");
    for (index, export) in exports.iter().enumerate() {
        text.push_str(&line(if index == 0 { "exports" } else { "" }, &export_words(export)));
    }
    text.push('\n');
    text.push_str(&match exports.first() {
        None => wrapped("It lists no exports. A hidden export can still be named: nfs://host/export.", ""),
        // The command is left to the terminal, so that it can be copied.
        Some(export) => {
            let one = address.with_path(export.path.clone()).to_string();
            format!("To see what is allowed there:\n  assay check {}\n", quoted(&one))
        }
    });
    Ok((json, text))
}

fn exports_json(exports: &[Export]) -> Vec<Value> {
    exports.iter().map(|e| json!({ "path": e.path, "to": e.groups })).collect()
}

fn as_json(
    address: &NfsAddress,
    found: &NfsInspection,
    nfs: &NfsFacts,
    exports: &[Export],
    slow_settings: &[String],
) -> Value {
    let attributes = found.attributes.map(|a| {
        json!({
            "size_bytes": a.size_bytes,
            "used_bytes": a.used_bytes,
            "mode": format!("{:04o}", a.mode & 0o7777),
            "uid": a.uid,
            "gid": a.gid,
            "modified_unix_ns": a.modified_ns.to_string(),
        })
    });
    json!({
        "schema": "assay.check/1",
        "target": address.to_string(),
        "kind": "nfs",
        "size_bytes": found.attributes.map_or(0, |a| a.size_bytes),
        "smallest_direct_io_bytes": found.facts.block_bytes,
        "serial": null,
        "wwid": null,
        "identities": [nfs.path],
        "holds": found.holds,
        "writable": found.holds.is_empty(),
        "filesystem": found.facts.filesystem,
        "device": null,
        "nfs": nfs,
        "exists": found.exists,
        "made_by_assay": found.is_ours,
        "attributes": attributes,
        "exports": exports_json(exports),
        "hurts": slow_settings,
        "path_faults": path_faults(&nfs.paths),
        "ceiling": ceiling_json(nfs),
    })
}

/// As of a LUN, where each path has its own. All connections share one way, so together they have no more.
fn ceiling_json(nfs: &NfsFacts) -> Value {
    let ceiling = nfs_ceiling(nfs);
    let together = ceiling.clone().map(|ceiling| Ceiling { rate_from: SHARED.into(), ..ceiling });
    json!({ "io_bytes": CEILING_IO_BYTES, "paths": [ceiling], "together": together })
}

fn as_text<E: std::fmt::Display>(
    address: &NfsAddress,
    found: &NfsInspection,
    nfs: &NfsFacts,
    exports: Result<&[Export], E>,
    detail: Detail,
) -> String {
    let mut text = format!("{address} (NFS)\n");
    let mut say = |name: &str, value: String| text.push_str(&line(name, &value));
    say("server", format!("{}, NFSv3 over TCP, round trip {}", nfs.server, time(nfs.round_trip_us as f64)));
    match exports {
        Ok(exports) => exports.iter().enumerate().for_each(|(index, export)| {
            say(if index == 0 { "exports" } else { "" }, export_words(export));
        }),
        Err(why) => say("exports", format!("not listed: {why}")),
    }
    say("mounted", format!("{} as uid {} gid {}", nfs.export, nfs.uid, nfs.gid));
    say("file", file_words(found, nfs));
    if let Some(fs) = &found.facts.filesystem {
        say("free", format!("{} of {}", Bytes(fs.free_bytes).rounded(), Bytes(fs.size_bytes).rounded()));
    }
    let limits = |max: u32, preferred: u32| {
        format!("at most {} a call, {} preferred", Bytes(max.into()), Bytes(preferred.into()))
    };
    say("reads", limits(nfs.read_bytes_max, nfs.read_bytes_preferred));
    say("writes", limits(nfs.write_bytes_max, nfs.write_bytes_preferred));
    say("durability", sync_words(nfs).into());
    for setting in slow_settings(nfs) {
        say("slow setting", setting);
    }
    for hold in &found.holds {
        say("cannot write", hold.clone());
    }
    let faults = faults_text(nfs);
    match detail {
        Detail::Brief => text + &faults,
        Detail::Full => text + &way_text(nfs) + &faults,
    }
}

/// Returns the facts of the network on the way to the server.
fn way_text(nfs: &NfsFacts) -> String {
    let Some(path) = nfs.paths.first() else { return String::new() };
    let mut text = "\nThe path to the server\n".to_owned();
    let ceiling = nfs_ceiling(nfs);
    for (name, says) in assay_report::network::path_facts(path, ceiling.clone()) {
        text.push_str(&line(name, &says));
    }
    if let Some(ceiling) = ceiling {
        text.push_str(&line("", &format!("for reads of 32 KiB; {}", ceiling.rate_from)));
        text.push_str(&line("", SHARED));
    }
    text
}

/// Returns its faults.
fn faults_text(nfs: &NfsFacts) -> String {
    let mut text = String::new();
    for fault in path_faults(&nfs.paths) {
        text.push_str(&format!("\n{}", wrapped(&format!("Fault: {}", fault.says), "  ")));
        text.push_str(&wrapped(&format!("  -> {}", fault.next), "     "));
    }
    text
}

fn file_words(found: &NfsInspection, nfs: &NfsFacts) -> String {
    let Some(attributes) = found.attributes else {
        return format!("{} does not exist; assay run creates it", nfs.path);
    };
    let whose = if found.is_ours { "created by Assay" } else { "not created by Assay" };
    format!(
        "{}, {} long, {} used, mode {:04o}, uid {} gid {}, {whose}",
        nfs.path,
        Bytes(attributes.size_bytes),
        Bytes(attributes.used_bytes),
        attributes.mode & 0o7777,
        attributes.uid,
        attributes.gid
    )
}

fn sync_words(nfs: &NfsFacts) -> &'static str {
    match nfs.sync.as_str() {
        "file" => "each write is requested to be durable (FILE_SYNC)",
        _ => "writes may stay in the server's memory until one COMMIT at the end (UNSTABLE)",
    }
}

/// What slows I/O down, each a sentence.
fn slow_settings(nfs: &NfsFacts) -> Vec<String> {
    let settings = assay_analysis::slow_nfs_settings(nfs);
    settings.iter().map(|setting| format!("{}. {}", setting.says, setting.next)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_calls_are_named_and_large_ones_are_not() {
        let good = NfsFacts { read_bytes_max: 1 << 20, write_bytes_max: 1 << 20, ..NfsFacts::default() };
        assert_eq!(slow_settings(&good), Vec::<String>::new());
        let small = NfsFacts { write_bytes_max: 8192, ..good };
        assert!(
            matches!(slow_settings(&small).as_slice(), [one] if one.contains("writes of at most 8KiB")),
            "{:?}",
            slow_settings(&small)
        );
    }
}
