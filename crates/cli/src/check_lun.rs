//! `assay check iscsi://…`: each path, what was agreed on over it and what of that hurts, who the LUN is, what is on it.

use assay_record::{Agreed, LunFacts, LunPathFacts};
use assay_spec::units::Bytes;
use assay_spec::{Address, IscsiAddress};
use serde_json::{Value, json};

/// Below this every larger read is cut into many PDUs, bytes: 8 KiB is the default of the standard.
const SMALL_SEGMENT_BYTES: u32 = 32 << 10;
/// Below this the target, not the tester, limits how much is in flight over a path.
const SMALL_WINDOW: u32 = 32;

/// Logs in, looks, and tells: as JSON and as text.
pub(crate) fn tell(address: &IscsiAddress) -> anyhow::Result<(Value, String)> {
    let typed = crate::secret::ask(&[Address::Iscsi(Box::new(address.clone()))])?;
    let found = assay_engine::inspect_lun(address, typed.as_ref())?;
    let facts = &found.facts;
    let lun = facts.lun.as_deref().expect("the inspection of a LUN gives its facts");
    let device = facts.device.clone().unwrap_or_default();
    let identities = assay_host::identities(&device);
    let hurts = hurts(lun, found.aligned_lba);
    let json = json!({
        "schema": "assay.check/1",
        "target": address.to_string(),
        "kind": "lun",
        "size_bytes": facts.capacity_bytes,
        "smallest_direct_io_bytes": facts.block_bytes,
        "serial": lun.serial,
        "wwid": lun.wwid,
        "identities": identities,
        "holds": found.holds,
        "writable": found.holds.is_empty(),
        "filesystem": null,
        "device": device,
        "lun": lun,
        "hurts": hurts,
        "path_troubles": found.troubles,
    });
    let mut lines = vec![format!("{address} (LUN)")];
    let mut line = |name: &str, value: String| lines.push(format!("  {name:<20} {value}"));
    line("size", Bytes(facts.capacity_bytes).to_string());
    line("device", format!("{} {} {}", lun.vendor, lun.product, lun.revision));
    line(
        "blocks",
        format!(
            "{}/{} B, largest I/O {}",
            facts.block_bytes,
            device.physical_block_bytes,
            Bytes(lun.transfer_bytes_max)
        ),
    );
    line("provisioning", if lun.thin { "thin" } else { "full, or not said" }.into());
    let cache = if device.write_cache.is_empty() { "not said" } else { &device.write_cache };
    line("write cache", cache.to_owned());
    line("identity", format!("{} (what --overwrite takes)", identities.join(" or ")));
    line("paths", format!("{}, {}", lun.paths.len(), lun.policy));
    for (index, path) in lun.paths.iter().enumerate() {
        line(&format!("path {index}"), path_words(path));
        if let Some(agreed) = &path.agreed {
            line("", agreed_words(agreed));
        }
    }
    for trouble in &found.troubles {
        line("trouble", trouble.clone());
    }
    for hurt in &hurts {
        line("hurts", hurt.clone());
    }
    for hold in &found.holds {
        line("against writing", hold.clone());
    }
    Ok((json, lines.join("\n") + "\n"))
}

fn path_words(path: &LunPathFacts) -> String {
    let (Some(local), Some(remote)) = (&path.local, &path.remote) else {
        return format!("{} is down", path.portal);
    };
    let tcp = path.tcp.map_or_else(String::new, |t| {
        format!(", round trip {} us, MSS {} B, path MTU {} B", t.rtt_us, t.send_mss_bytes, t.path_mtu_bytes)
    });
    format!("{local} -> {remote}, {}{tcp}", path.access)
}

fn agreed_words(agreed: &Agreed) -> String {
    let yes = |is_so| if is_so { "Yes" } else { "No" };
    let digest = |is_on| if is_on { "CRC32C" } else { "None" };
    format!(
        "authentication {}, digests {}/{}, InitialR2T={}, ImmediateData={}, segments {} out {} in, bursts {} first {}, \
         R2Ts {}, window {}",
        agreed.authentication,
        digest(agreed.header_digest),
        digest(agreed.data_digest),
        yes(agreed.initial_r2t),
        yes(agreed.immediate_data),
        Bytes(agreed.max_send_segment_bytes.into()),
        Bytes(agreed.max_recv_segment_bytes.into()),
        Bytes(agreed.max_burst_bytes.into()),
        Bytes(agreed.first_burst_bytes.into()),
        agreed.max_outstanding_r2t,
        agreed.command_window
    )
}

/// What slows I/O down, each a sentence that is said once for all paths alike.
fn hurts(lun: &LunFacts, aligned_lba: u16) -> Vec<String> {
    let mut hurts: Vec<String> = Vec::new();
    let mut say = |says: String| {
        if !hurts.contains(&says) {
            hurts.push(says);
        }
    };
    for agreed in lun.paths.iter().filter_map(|path| path.agreed.as_ref()) {
        if agreed.max_send_segment_bytes < SMALL_SEGMENT_BYTES {
            say(format!(
                "the target takes data segments of {} only (MaxRecvDataSegmentLength): every larger write is cut into \
                 pieces, each with a header and its handling; raise it on the target to 256 KiB",
                Bytes(agreed.max_send_segment_bytes.into())
            ));
        }
        if agreed.initial_r2t && !agreed.immediate_data {
            say("InitialR2T=Yes and ImmediateData=No: every write, however small, waits one round trip before its data \
                 may leave; allow one of them on the target"
                .into());
        } else if agreed.initial_r2t {
            say("InitialR2T=Yes: a write of more than one segment waits a round trip before the rest of its data may \
                 leave; set it to No on the target"
                .into());
        }
        if agreed.header_digest || agreed.data_digest {
            say("CRC32C digests are on: both sides touch every byte once more; TCP and Ethernet have checksums already, \
                 so leave them off on a network of your own"
                .into());
        }
        if agreed.command_window < SMALL_WINDOW {
            say(format!(
                "the target lets us have {} commands in flight per session: with more outstanding the rest waits here; \
                 raise its queue depth, or use several sessions",
                agreed.command_window
            ));
        }
    }
    if aligned_lba > 0 {
        say(format!(
            "physical blocks begin at logical block {aligned_lba}: I/O that is aligned to the LUN's start is not aligned \
             to the medium"
        ));
    }
    hurts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lun(agreed: Agreed) -> LunFacts {
        let path = LunPathFacts { agreed: Some(agreed), ..LunPathFacts::default() };
        LunFacts { paths: vec![path.clone(), path], ..LunFacts::default() }
    }

    #[test]
    fn what_hurts_is_named_once_and_what_does_not_is_not() {
        let good = Agreed {
            immediate_data: true,
            max_send_segment_bytes: 256 << 10,
            command_window: 128,
            ..Agreed::default()
        };
        assert_eq!(hurts(&lun(good.clone()), 0), Vec::<String>::new());
        for (agreed, word) in [
            (Agreed { max_send_segment_bytes: 8192, ..good.clone() }, "8KiB"),
            (Agreed { initial_r2t: true, ..good.clone() }, "InitialR2T=Yes:"),
            (Agreed { initial_r2t: true, immediate_data: false, ..good.clone() }, "ImmediateData=No"),
            (Agreed { data_digest: true, ..good.clone() }, "digests"),
            (Agreed { command_window: 8, ..good.clone() }, "8 commands"),
        ] {
            let said = hurts(&lun(agreed), 0);
            assert!(said.len() == 1 && said[0].contains(word), "{word}: {said:?}");
        }
        assert!(hurts(&lun(good), 7)[0].contains("logical block 7"));
    }
}
