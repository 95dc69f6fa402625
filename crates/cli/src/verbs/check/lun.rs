//! `assay check iscsi://…`: each path with its negotiated parameters, slow settings, identity and content of the LUN.

use anyhow::anyhow;
use assay_analysis::{CEILING_IO_BYTES, ceiling, ceiling_together, lossy_frames, path_faults, unreachable};
use assay_prepare::{LunInspection, PrepareError};
use assay_record::{FrameProbe, LunFacts, NetPathFacts, PathFacts};
use assay_report::table::{Align, Cell, Column, Format, Narrow, Table};
use assay_report::text::Detail;
use assay_spec::units::{Bytes, MIB};
use assay_spec::{Address, IscsiAddress};
use serde_json::{Value, json};

use super::text::{line, wrapped};

/// More facts of one path are easier to find in a list than in sentences.
const FACTS_IN_PROSE: usize = 3;

/// Logs in and returns the facts, as JSON and as text.
pub(crate) fn tell(address: &IscsiAddress, detail: Detail) -> anyhow::Result<(Value, String)> {
    let typed = crate::words::secret::ask(&[Address::Iscsi(Box::new(address.clone()))])?;
    let mut found = assay_prepare::inspect_lun(address, typed.as_ref())
        .map_err(|error| with_network(error, &address.portals))?;
    if address.all_portals && found.facts.paths().len() == 1 {
        let says = "portals=all: the target offers one portal, so there is one path, and no other takes over";
        found.troubles.push(says.to_owned());
    }
    let lun = found.facts.lun.as_deref().expect("the inspection of a LUN gives its facts");
    let checked =
        Checked { address, found: &found, lun, slow_settings: slow_settings(lun, found.aligned_lba) };
    Ok((as_json(&checked), as_text(&checked, detail)))
}

/// What was found out, and what is to be said of it.
struct Checked<'t> {
    address: &'t IscsiAddress,
    found: &'t LunInspection,
    lun: &'t LunFacts,
    slow_settings: Vec<String>,
}

/// Returns an error with a sentence for each portal about the network on the way, where nobody answered. A refusal
/// has come over the network, which then is not the cause.
pub(crate) fn with_network(error: PrepareError, portals: &[String]) -> anyhow::Error {
    match &error {
        PrepareError::Open(open) if open.is_unreached() => anyhow!("{error}{}", between(portals)),
        _ => error.into(),
    }
}

/// Returns a sentence for each portal about the network on the way.
pub(crate) fn between(portals: &[String]) -> String {
    let networks = assay_prepare::portal_networks(portals);
    let line = |(portal, net): &(String, Option<NetPathFacts>)| {
        let says = match net.as_ref().and_then(|net| net.interface.as_ref().map(|of| (net, of))) {
            Some((net, of)) if net.frames.how == FrameProbe::Echo => format!(
                "the host at {portal} answers echoes, through {} (MTU {}): {}",
                of.name,
                of.mtu_bytes,
                assay_report::network::frames(&net.frames)
            ),
            _ => unreachable(portal, net.as_ref()).says,
        };
        let lossy = net.as_ref().and_then(|net| lossy_frames(portal, net, None));
        let lossy = lossy.map(|fault| format!("\n  - {} {}", fault.says, fault.next)).unwrap_or_default();
        format!("\n  - {says}{lossy}")
    };
    networks.iter().map(line).collect()
}

fn as_json(checked: &Checked<'_>) -> Value {
    let Checked { address, found, lun, slow_settings } = checked;
    let facts = &found.facts;
    let device = facts.device.clone().unwrap_or_default();
    let ceilings: Vec<Value> = lun.paths.iter().map(|path| json!(ceiling(path))).collect();
    json!({
        "schema": "assay.check/1",
        "target": address.to_string(),
        "kind": "lun",
        "size_bytes": facts.capacity_bytes,
        "smallest_direct_io_bytes": facts.block_bytes,
        "serial": lun.serial,
        "wwid": lun.wwid,
        "identities": assay_host::identities(&device),
        "holds": found.holds,
        "writable": found.holds.is_empty(),
        "filesystem": null,
        "device": device,
        "lun": lun,
        "hurts": slow_settings,
        "path_troubles": found.troubles,
        "path_faults": path_faults(&lun.paths),
        "ceiling": {
            "io_bytes": CEILING_IO_BYTES,
            "paths": ceilings,
            "together": ceiling_together(&lun.paths),
        },
    })
}

fn as_text(checked: &Checked<'_>, detail: Detail) -> String {
    let Checked { address, found, lun, slow_settings } = checked;
    let mut text = format!("{address} (LUN)\n");
    text.push_str(&line("verdict", &verdict(checked)));
    let is_shown =
        |name: &str| detail == Detail::Full || !DETAILS.contains(&name) || (name == THIN && lun.thin);
    let lines = unit_lines(found, lun).into_iter().filter(|(name, _)| is_shown(name));
    lines.for_each(|(name, says)| text.push_str(&line(name, &says)));
    text.push_str(&format!("\n{}", path_table(&lun.paths)));
    let together = ceiling_together(&lun.paths);
    if lun.paths.len() > 1 {
        let mib = together.mb_per_s.map(|mb| format!(" ({:.1} MiB/s)", mb * 1e6 / MIB as f64));
        let words = format!("All paths together: {}{}", together.arithmetic, mib.unwrap_or_default());
        text.push_str(&wrapped(&words, "  "));
    }
    if detail == Detail::Full {
        for from in rates_from(&lun.paths) {
            text.push_str(&wrapped(&format!("MB/s max is for reads of 32 KiB; {from}."), "  "));
        }
        text.push_str(&paths_text(&lun.paths));
        text.push_str(&agreed_text(&lun.paths));
    }
    let mut last = String::new();
    let mut say = |name: &str, says: &str, next: &str| {
        last.push_str(&wrapped(&format!("{name}: {says}"), "  "));
        if !next.is_empty() {
            last.push_str(&wrapped(&format!("  -> {next}"), "     "));
        }
    };
    path_faults(&lun.paths).iter().for_each(|fault| say("Fault", &fault.says, &fault.next));
    found.troubles.iter().for_each(|trouble| say("Event", trouble, ""));
    if detail == Detail::Full {
        slow_settings.iter().for_each(|setting| say("Slow setting", setting, ""));
        found.holds.iter().for_each(|hold| say("Cannot write", hold, ""));
    } else {
        let settings = assay_analysis::slow_lun_settings(lun);
        for setting in &settings {
            let short = if setting.next.is_empty() { setting.says.as_str() } else { setting.next };
            say("Slow setting", short, "");
        }
        found.holds.iter().for_each(|hold| say("Cannot write", &with_one_place(hold), ""));
    }
    if !last.is_empty() {
        text.push_str(&format!("\n{last}"));
    }
    text
}

/// Of what a LUN holds the first place is enough, without its bytes, so that a screen has room for the rest.
fn with_one_place(hold: &str) -> String {
    let without_bytes = |part: &str| match part.split_once(": at offset ") {
        Some((lead, sample)) => format!("{lead}: at offset {}", sample.split(':').next().unwrap_or_default()),
        None => part.to_owned(),
    };
    let parts = hold.split("; ").filter(|part| !part.starts_with("at offset ")).map(without_bytes);
    parts.collect::<Vec<_>>().join("; ")
}

/// The first thing a reader wants to know.
fn verdict(checked: &Checked<'_>) -> String {
    let Checked { found, lun, slow_settings, .. } = checked;
    let count = |count: usize, one: &str, many: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        n => Some(format!("{n} {many}")),
    };
    let faults = count(path_faults(&lun.paths).len(), "fault", "faults");
    let counts = [
        faults,
        count(found.troubles.len(), "event", "events"),
        count(slow_settings.len(), "slow setting", "slow settings"),
        count(found.holds.len(), "reason not to write", "reasons not to write"),
    ];
    let counts: Vec<String> = counts.into_iter().flatten().collect();
    let lead = if path_faults(&lun.paths).is_empty() { "no fault found; " } else { "" };
    let up = lun.paths.iter().filter(|path| path.is_up).count();
    let paths = match (up, lun.paths.len()) {
        (1, 1) => "the path is up".to_owned(),
        (2, 2) => "both paths are up".to_owned(),
        (up, all) if up == all => format!("all {all} paths are up"),
        (up, all) => format!("{up} of {all} paths are up"),
    };
    let lead = match (counts.is_empty(), lead) {
        (true, lead) => lead.to_owned(),
        (false, lead) => format!("{lead}{}; ", counts.join(", ")),
    };
    lead + &paths
}

/// Lists the facts that paths share once, and those of a single path in lines of their own.
fn paths_text(paths: &[PathFacts]) -> String {
    let (mut text, mut is_listing) = (String::new(), false);
    for group in assay_report::network::path_groups(paths) {
        let title = match &group.paths[..] {
            [one] => format!("Path {one}, {}", paths[*one].portal),
            all if all.len() == paths.len() => "All paths".to_owned(),
            some => format!("Paths {}", some.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
        };
        if paths.len() > 1 && group.paths.len() == 1 && group.facts.len() <= FACTS_IN_PROSE {
            // Addresses and routes speak for themselves.
            let words = |(name, says): &(&str, String)| match *name {
                "addresses" | "route" => says.clone(),
                name => format!("{name} {says}"),
            };
            let words: Vec<String> = group.facts.iter().map(words).collect();
            let title = format!("Path {}", group.paths[0]);
            let gap = if std::mem::replace(&mut is_listing, true) { "" } else { "\n" };
            text.push_str(&format!("{gap}{}", wrapped(&format!("{title}: {}", words.join("; ")), "  ")));
            continue;
        }
        text.push_str(&format!("\n{title}\n"));
        group.facts.iter().for_each(|(name, says)| text.push_str(&line(name, says)));
    }
    text
}

fn rates_from(paths: &[PathFacts]) -> Vec<String> {
    let mut all: Vec<String> = paths.iter().filter_map(ceiling).map(|ceiling| ceiling.rate_from).collect();
    all.dedup();
    all
}

/// Name of the line about thin provisioning, and names of lines that the short form leaves out.
const THIN: &str = "provisioning";
const DETAILS: [&str; 4] = ["largest I/O", THIN, "blocks", "paths"];

fn unit_lines(found: &LunInspection, lun: &LunFacts) -> Vec<(&'static str, String)> {
    let facts = &found.facts;
    let device = facts.device.clone().unwrap_or_default();
    let cache = if device.write_cache.is_empty() { "not said" } else { &device.write_cache };
    let aligned = if found.aligned_lba == 0 { "aligned" } else { "not aligned" };
    vec![
        ("size", Bytes(facts.capacity_bytes).rounded()),
        ("device", format!("{} {} {}", lun.vendor, lun.product, lun.revision)),
        (
            "blocks",
            format!("{} B logical, {} B physical, {aligned}", facts.block_bytes, device.physical_block_bytes),
        ),
        ("largest I/O", Bytes(lun.transfer_bytes_max).rounded()),
        (THIN, if lun.thin { "thin" } else { "full, or not reported" }.into()),
        ("write cache", cache.to_owned()),
        ("identity", format!("{} (what --overwrite takes)", assay_host::identities(&device).join(" or "))),
        ("paths", format!("{}, {}", lun.paths.len(), lun.policy)),
    ]
}

/// Columns of the table of paths.
const CHECK_COLUMNS: usize = 80;

/// A row for each path, narrow enough for 80 columns.
fn path_table(paths: &[PathFacts]) -> String {
    let dash = || "-".to_owned();
    let row = |index: usize, path: &PathFacts| {
        let net = path.net.as_ref();
        let interface = net.and_then(|net| net.interface.as_ref());
        let mb_per_s = ceiling(path).and_then(|ceiling| ceiling.mb_per_s);
        [
            index.to_string(),
            path.portal.clone(),
            interface.map_or_else(dash, |of| of.name.clone()),
            interface.map_or_else(dash, |of| of.mtu_bytes.to_string()),
            net.and_then(|net| net.frames.largest_bytes).map_or_else(dash, |bytes| bytes.to_string()),
            path.ping.map_or_else(dash, |ping| ping.median_us.to_string()),
            mb_per_s.map_or_else(dash, |mb| format!("{mb:.1}")),
            if path.is_up { path.access.clone() } else { "down".into() },
        ]
    };
    let number = |title: &str| Column::text(title).align(Align::Right).narrow(Narrow::Keep);
    let text = |title: &str| Column::text(title).narrow(Narrow::Keep);
    let mut table = Table::new(vec![
        number("Path"),
        text("Portal"),
        text("Through"),
        number("MTU"),
        number("Passes"),
        number("NOP us"),
        number("MB/s max"),
        text("State"),
    ]);
    paths.iter().enumerate().for_each(|(index, path)| table.push(row(index, path).map(Cell::from)));
    table.render(Format::Text(CHECK_COLUMNS))
}

/// Lists the negotiated parameters, once for all paths with the same.
fn agreed_text(paths: &[PathFacts]) -> String {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for (index, path) in paths.iter().enumerate() {
        let Some(agreed) = &path.agreed else { continue };
        let words = assay_report::network::agreed(agreed);
        match groups.iter_mut().find(|(known, _)| *known == words) {
            Some((_, of)) => of.push(index.to_string()),
            None => groups.push((words, vec![index.to_string()])),
        }
    }
    let text = |(words, of): &(String, Vec<String>)| {
        let s = if of.len() == 1 { "" } else { "s" };
        format!("\n{}", wrapped(&format!("Negotiated on path{s} {}: {words}", of.join(", ")), "  "))
    };
    groups.iter().map(text).collect()
}

/// Settings that slow I/O down, each a sentence that is said once for all paths alike.
fn slow_settings(lun: &LunFacts, aligned_lba: u16) -> Vec<String> {
    let settings = assay_analysis::slow_lun_settings(lun);
    let mut slow_settings: Vec<String> =
        settings.iter().map(|setting| format!("{}. {}", setting.says, setting.next)).collect();
    if aligned_lba > 0 {
        slow_settings.push(format!(
            "physical blocks begin at logical block {aligned_lba}, so I/O that is aligned to the start of the LUN is \
             not aligned to the medium"
        ));
    }
    slow_settings
}

#[cfg(test)]
mod tests {
    use assay_record::Agreed;

    use super::*;

    fn lun(agreed: Agreed) -> LunFacts {
        let path = PathFacts { agreed: Some(agreed), ..PathFacts::default() };
        LunFacts { paths: vec![path.clone(), path], ..LunFacts::default() }
    }

    /// Three samples of 16 bytes filled the screen of a LUN with six lines.
    #[test]
    fn what_a_lun_holds_is_shown_by_its_first_place() {
        let hold = "it is not blank, in 3 of 9 sectors: at offset 0: 17 c3 |..|; at offset 512: 8b e0 |..|; at \
                    offset 1024: 4e fa |..|; to write to it, --overwrite needs --not-blank as well";
        assert_eq!(
            with_one_place(hold),
            "it is not blank, in 3 of 9 sectors: at offset 0; to write to it, --overwrite needs --not-blank as well"
        );
    }

    #[test]
    fn slow_settings_are_named_once_and_good_ones_are_not() {
        let good = Agreed {
            immediate_data: true,
            max_send_segment_bytes: 256 << 10,
            command_window: 128,
            ..Agreed::default()
        };
        assert_eq!(slow_settings(&lun(good.clone()), 0), Vec::<String>::new());
        for (agreed, word) in [
            (Agreed { max_send_segment_bytes: 8192, ..good.clone() }, "8KiB"),
            (Agreed { initial_r2t: true, ..good.clone() }, "InitialR2T=Yes:"),
            (Agreed { initial_r2t: true, immediate_data: false, ..good.clone() }, "ImmediateData=No"),
            (Agreed { data_digest: true, ..good.clone() }, "digests"),
            (Agreed { command_window: 8, ..good.clone() }, "8 commands"),
        ] {
            let said = slow_settings(&lun(agreed), 0);
            assert!(said.len() == 1 && said[0].contains(word), "{word}: {said:?}");
        }
        assert!(slow_settings(&lun(good), 7)[0].contains("logical block 7"));
    }
}
