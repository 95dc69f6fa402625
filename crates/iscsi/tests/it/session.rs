//! One path: discovery, login in all its forms, identity, reads and writes.

use std::time::Duration;

use assay_iscsi::chap::{Account, ChapConfig, Secret};
use assay_iscsi::login::{DigestOffer, Offer};
use assay_iscsi::{Config, Initiator, IoError, Kind, Timeouts, discover, units};

use crate::tgt::{self, LUN_BYTES, Tgt};
use crate::work::{Buffer, command, write_and_verify};

fn config(tgt: &Tgt) -> Config {
    Config::new(tgt.portals.clone(), tgt.name(), 1)
}

fn account(name: &str, secret: &str) -> Account {
    Account { name: name.into(), secret: Secret::new(secret) }
}

#[test]
fn discovery_finds_the_target_and_its_portals() {
    let Some(tgt) = tgt::start(2) else { return };
    let found = discover(&tgt.portals[0], "iqn.2026-11.example:host", None, &Timeouts::default()).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].name, tgt.name());
    // tgt reports one portal per address; here both have the same address.
    assert!(!found[0].portals.is_empty());
    for portal in &found[0].portals {
        assert!(tgt.portals.contains(&portal.address), "{portal:?}");
        assert_eq!(portal.group, Some(1));
    }
    let error = discover("127.0.0.1:1", "iqn.2026-11.example:host", None, &Timeouts::default()).unwrap_err();
    assert!(error.to_string().contains("cannot connect to 127.0.0.1:1"), "{error}");
}

#[test]
fn identity_capacity_and_facts_are_read() {
    let Some(tgt) = tgt::start(1) else { return };
    let mut initiator = Initiator::<Buffer>::connect(config(&tgt)).unwrap();
    assert_eq!((initiator.capacity().bytes(), initiator.capacity().block_bytes), (LUN_BYTES, 512));
    let inquiry = initiator.inquiry().unwrap();
    assert_eq!((inquiry.vendor.as_str(), inquiry.product.as_str()), ("IET", "VIRTUAL-DISK"));
    assert_eq!(initiator.serial().unwrap().as_deref(), Some("beaf11"));
    assert!(initiator.wwid().unwrap().starts_with("naa."), "{:?}", initiator.wwid());
    assert!(initiator.supported_pages().unwrap().contains(&0x83));
    assert!(initiator.report_luns().unwrap().contains(&(1 << 48)));
    assert_eq!(initiator.read_capacity_10().unwrap().unwrap().bytes(), LUN_BYTES);
    let mode = initiator.mode_facts().unwrap();
    assert!(!mode.write_protected && mode.write_cache == Some(true), "{mode:?}");
    assert_eq!(initiator.reservation_keys().unwrap(), [0_u64; 0]);
    assert_eq!(initiator.reservation().unwrap(), None);
    initiator.test_unit_ready().unwrap();
    initiator.synchronize_cache().unwrap();
    initiator.synchronize_cache_16(0, 0).unwrap();
    let error = initiator.port_groups().unwrap_err().to_string();
    assert!(error.contains("illegal request"), "tgt has no ALUA: {error}");
    let report = &initiator.stats()[0];
    assert!(report.is_up && report.tcp.unwrap().send_mss_bytes > 500, "{:?}", report.tcp);
}

#[test]
fn unmapped_blocks_are_reported() {
    let Some(mut tgt) = tgt::start(1) else { return };
    tgt.set("--op update --mode logicalunit --tid 1 --lun 1 --params thin_provisioning=1").unwrap();
    let mut initiator = Initiator::<Buffer>::connect(config(&tgt)).unwrap();
    let capacity = initiator.read_capacity_16().unwrap();
    assert!(capacity.thin, "{capacity:?}");
    write_and_verify(&mut initiator, 16, 64 * 1024, 4, 1);
    let status = initiator.lba_status(0).unwrap();
    println!("GET LBA STATUS of tgt: {status:?}");
    initiator.unmap(0, 1024).unwrap();
    let mut done = Vec::new();
    initiator.submit(command(Kind::Read, 1, 0, vec![0xee; 65_536])).unwrap();
    initiator.poll(Some(Duration::from_secs(5)), &mut done).unwrap();
    assert!(
        done[0].result.is_ok() && done[0].buf.iter().all(|&byte| byte == 0),
        "unmapped blocks read as zeroes"
    );
}

#[test]
fn units_of_one_target_have_different_identities() {
    let Some(tgt) = tgt::start(1) else { return };
    let mut initiator = Initiator::<Buffer>::connect(Config { lun: 2, ..config(&tgt) }).unwrap();
    assert_eq!(initiator.capacity().bytes(), LUN_BYTES / 4);
    assert_eq!(initiator.serial().unwrap().as_deref(), Some("beaf12"));
    let error = Initiator::<Buffer>::connect(Config { lun: 9, ..config(&tgt) }).unwrap_err();
    assert!(error.to_string().contains("no such LUN"), "{error}");
}

#[test]
fn the_units_of_a_target_are_listed_whatever_they_are() {
    let Some(tgt) = tgt::start(1) else { return };
    // A unit that does not exist does not prevent queries to the others.
    let found = units(&Config { lun: 99, ..config(&tgt) }, 2).unwrap();
    let reported: Vec<(u16, Option<u64>)> =
        found.units.iter().map(|unit| (unit.lun, unit.capacity_bytes)).collect();
    // LUN 0 is tgt's controller; LUN 2 is beyond the two that were queried.
    assert_eq!((reported, found.more_count), (vec![(0, None), (1, Some(LUN_BYTES))], 1));
    let types: Vec<u8> = found.units.iter().map(|unit| unit.inquiry.as_ref().unwrap().device_type).collect();
    assert_eq!(types, [0x0c, 0]);
}

#[test]
fn wrong_addresses_names_and_secrets_are_reported() {
    let Some(mut tgt) = tgt::start(1) else { return };
    let refused = |config: Config| Initiator::<Buffer>::connect(config).unwrap_err().to_string();
    let error = refused(Config { target_name: "iqn.2026-11.example:nothing".into(), ..config(&tgt) });
    assert!(error.contains("no such target"), "{error}");
    let error = refused(Config { portals: vec!["127.0.0.1:1".into()], ..config(&tgt) });
    assert!(error.contains("cannot connect to 127.0.0.1:1"), "{error}");

    tgt.set("--op new --mode account --user alice --password alice-secret-1").unwrap();
    tgt.set("--op bind --mode account --tid 1 --user alice").unwrap();
    let error = refused(config(&tgt));
    assert!(error.contains("authentication") || error.contains("CHAP"), "{error}");
    let chap = ChapConfig { initiator: account("alice", "wrong-secret-1"), target: None };
    let error = refused(Config { chap: Some(chap), ..config(&tgt) });
    assert!(error.contains("authentication failed"), "{error}");
}

#[test]
fn one_way_and_mutual_chap_logins_succeed() {
    let Some(mut tgt) = tgt::start(1) else { return };
    tgt.set("--op new --mode account --user alice --password alice-secret-1").unwrap();
    tgt.set("--op bind --mode account --tid 1 --user alice").unwrap();
    let one_way = ChapConfig { initiator: account("alice", "alice-secret-1"), target: None };
    let mut initiator =
        Initiator::<Buffer>::connect(Config { chap: Some(one_way.clone()), ..config(&tgt) }).unwrap();
    write_and_verify(&mut initiator, 64, 4096, 8, 1);
    let agreed = initiator.stats()[0].agreed.clone().unwrap();
    println!("authentication with tgt: {}", agreed.authentication);
    assert!(agreed.authentication.starts_with("CHAP"));
    drop(initiator);

    tgt.set("--op new --mode account --user tgt --password target-secret-1").unwrap();
    tgt.set("--op bind --mode account --tid 1 --user tgt --outgoing").unwrap();
    let mutual = ChapConfig { target: Some(account("tgt", "target-secret-1")), ..one_way.clone() };
    let mut initiator = Initiator::<Buffer>::connect(Config { chap: Some(mutual), ..config(&tgt) }).unwrap();
    write_and_verify(&mut initiator, 64, 4096, 8, 2);
    assert!(initiator.stats()[0].agreed.clone().unwrap().authentication.ends_with("mutual"));

    let impostor = ChapConfig { target: Some(account("tgt", "not-its-secret")), ..one_way };
    let error = Initiator::<Buffer>::connect(Config { chap: Some(impostor), ..config(&tgt) }).unwrap_err();
    assert!(error.to_string().contains("does not know the mutual secret"), "{error}");
}

/// Covers every combination of the keys that affect data transfer, with sizes on both sides of the bursts.
#[test]
fn all_sixteen_transfer_modes_are_verified() {
    let Some(mut tgt) = tgt::start(1) else { return };
    tgt.set_key("FirstBurstLength", "32768");
    tgt.set_key("MaxBurstLength", "65536");
    tgt.set_key("MaxRecvDataSegmentLength", "16384");
    let mut generation = 0;
    for bits in 0..16u8 {
        let [initial_r2t, immediate_data, header, data] = [1, 2, 4, 8].map(|bit| bits & bit != 0);
        let yes_no = |yes| if yes { "Yes" } else { "No" };
        let digest = |yes| if yes { "CRC32C" } else { "None" };
        tgt.set_key("InitialR2T", yes_no(initial_r2t));
        tgt.set_key("ImmediateData", yes_no(immediate_data));
        tgt.set_key("HeaderDigest", digest(header));
        tgt.set_key("DataDigest", digest(data));
        let offer = |yes| if yes { DigestOffer::Always } else { DigestOffer::Never };
        let offer = Offer {
            initial_r2t,
            immediate_data,
            header_digest: offer(header),
            data_digest: offer(data),
            max_recv_segment_bytes: 32 * 1024,
            ..Offer::default()
        };
        let mut initiator = Initiator::<Buffer>::connect(Config { offer, ..config(&tgt) }).unwrap();
        let agreed = initiator.stats()[0].agreed.clone().unwrap();
        let got = (agreed.initial_r2t, agreed.immediate_data, agreed.header_digest, agreed.data_digest);
        assert_eq!(got, (initial_r2t, immediate_data, header, data));
        for block_bytes in [512, 4096, 16_384, 65_536, 262_144, 1 << 20] {
            generation += 1;
            let blocks = ((4 << 20) / block_bytes as u64).min(256);
            write_and_verify(&mut initiator, blocks, block_bytes, 16, generation);
        }
        println!(
            "verified: InitialR2T={} ImmediateData={} HeaderDigest={} DataDigest={} (burst {}/{}, segments {}/{})",
            yes_no(initial_r2t),
            yes_no(immediate_data),
            digest(header),
            digest(data),
            agreed.first_burst_bytes,
            agreed.max_burst_bytes,
            agreed.max_send_segment_bytes,
            agreed.max_recv_segment_bytes
        );
    }
}

#[test]
fn an_invalid_command_is_returned_with_its_buffer() {
    let Some(tgt) = tgt::start(1) else { return };
    let mut initiator = Initiator::<Buffer>::connect(Config { depth: 2, ..config(&tgt) }).unwrap();
    let mut done = Vec::new();
    initiator.submit(command(Kind::Read, 1, LUN_BYTES / 4096, vec![0; 4096])).unwrap();
    initiator.poll(Some(Duration::from_secs(1)), &mut done).unwrap();
    assert_eq!(done[0].result, Err(IoError::Invalid("the I/O extends beyond the end of the LUN")));
    assert_eq!(done[0].buf.len(), 4096);
    initiator.submit(command(Kind::Read, 2, 0, vec![0; 100])).unwrap();
    initiator.submit(command(Kind::Read, 3, 0, vec![0; 4096])).unwrap();
    let back = initiator.submit(command(Kind::Read, 4, 0, vec![0; 4096])).unwrap_err();
    assert_eq!((back.tag, back.buf.len()), (4, 4096), "a full initiator gives the command back");
    done.clear();
    while done.len() < 2 {
        initiator.poll(None, &mut done).unwrap();
    }
    assert!(matches!(done[0].result, Err(IoError::Invalid(_))) && done[1].result == Ok(4096));
    let Ok(()) = initiator.submit(command(Kind::Flush, 5, 0, Vec::new())) else { panic!("fits") };
    done.clear();
    initiator.poll(None, &mut done).unwrap();
    assert_eq!(done[0].result, Ok(0));
}
