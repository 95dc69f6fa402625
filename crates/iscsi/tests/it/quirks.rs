//! Targets that deviate from the standard where no data is at risk, and one that does so where it is. The guide lists
//! the deviations of real targets.

use std::time::Duration;

use assay_iscsi::{Config, EventKind, Initiator, Kind, Timeouts, discover};

use crate::scripted::{Answer, BLOCKS, Quirks, Scripted};
use crate::work::{Buffer, command, write_and_verify};

fn start(quirks: Quirks) -> Scripted {
    Scripted::start_with(quirks, 1, 1, |_, _| Answer::Good)
}

fn connect(target: &Scripted) -> Initiator<Buffer> {
    let timeouts =
        Timeouts { login: Duration::from_secs(2), no_path: Duration::from_secs(3), ..Timeouts::default() };
    let config = Config::new(vec![target.portal.clone()], "iqn.2026-11.example:scripted", 0);
    Initiator::connect(Config { timeouts, ..config }).unwrap()
}

#[test]
fn repeated_status_numbers_do_not_end_the_session() {
    let target = start(Quirks { echoes_status_numbers: true, ..Quirks::default() });
    let mut initiator = connect(&target);
    write_and_verify(&mut initiator, 512, 4096, 32, 1);
    assert_eq!(initiator.stats()[0].stats.failures, 0);
}

#[test]
fn skipped_status_numbers_end_the_session() {
    let target = start(Quirks { skipped_status_numbers: 1, ..Quirks::default() });
    let mut initiator = connect(&target);
    let mut done = Vec::new();
    // A few numbers may arrive late, as with istgt; these never arrive.
    for id in 1..=20 {
        initiator.submit(command(Kind::Read, id, 0, vec![0; 512])).unwrap();
        done.clear();
        while done.is_empty() && initiator.poll(Some(Duration::from_secs(1)), &mut done).is_ok() {}
    }
    let events: Vec<EventKind> = initiator.events().into_iter().map(|event| event.kind).collect();
    let is_gap = |kind: &EventKind| {
        matches!(kind, EventKind::PathDown { cause, .. }
            if cause.contains("a response is missing"))
    };
    assert!(events.iter().any(is_gap), "{events:?}");
}

#[test]
fn keys_in_the_last_login_response_do_not_prevent_the_session() {
    for key in ["X-com.example.vendor=1", "IFMarker=No", "TargetName=iqn.2026-11.example:scripted"] {
        let target = start(Quirks { last_login_key: Some(key), ..Quirks::default() });
        let mut initiator = connect(&target);
        write_and_verify(&mut initiator, 16, 4096, 4, 1);
        assert_eq!(
            target.saw(assay_iscsi::pdu::opcode::LOGIN, 0x07),
            1,
            "{key}: one operational login request"
        );
    }
}

#[test]
fn discovery_works_if_the_session_type_is_read_only_in_the_operational_stage() {
    let target = start(Quirks { forgets_session_type: true, ..Quirks::default() });
    let found = discover(&target.portal, "iqn.2026-11.example:host", None, &Timeouts::default()).unwrap();
    assert_eq!(found[0].name, "iqn.2026-11.example:scripted");
    assert_eq!(found[0].portals[0].address, target.portal);
}

#[test]
fn a_reported_block_that_does_not_exist_is_excluded_and_reported() {
    let target = start(Quirks { reports_one_block_more: true, ..Quirks::default() });
    let mut initiator = connect(&target);
    assert_eq!(initiator.capacity().blocks, BLOCKS);
    let events: Vec<EventKind> = initiator.events().into_iter().map(|event| event.kind).collect();
    let says = |kind: &EventKind| {
        matches!(kind, EventKind::Deviation(words) if words == "READ CAPACITY reports 4097 blocks, but block 4096 does \
            not exist; Assay uses 4096 blocks")
    };
    assert_eq!(events.iter().filter(|kind| says(kind)).count(), 1, "{events:?}");
    write_and_verify(&mut initiator, BLOCKS / 8, 4096, 32, 1);

    let target = start(Quirks::default());
    let mut initiator = connect(&target);
    assert_eq!(initiator.capacity().blocks, BLOCKS);
    assert!(!initiator.events().iter().any(|event| matches!(event.kind, EventKind::Deviation(_))));
}

#[test]
fn a_serial_of_zeros_is_no_identity() {
    let target = start(Quirks { serial: Some("00000000"), ..Quirks::default() });
    assert_eq!(connect(&target).serial().unwrap(), None);
    let target = start(Quirks { serial: Some("00000017"), ..Quirks::default() });
    assert_eq!(connect(&target).serial().unwrap().as_deref(), Some("00000017"));
}

/// With jSCSI, filling a LUN with queued writes stalled for ever, and the target took a ping in the middle of a write
/// for its end.
#[test]
fn a_target_that_reads_only_data_after_an_r2t_gets_one_command_at_a_time() {
    let target = start(Quirks { reads_only_data_after_r2t: true, ..Quirks::default() });
    let timeouts = Timeouts {
        io: Duration::from_secs(5),
        ping_interval: Duration::from_millis(1),
        ..Timeouts::default()
    };
    let config = Config::new(vec![target.portal.clone()], "iqn.2026-11.example:scripted", 0);
    let mut initiator = Initiator::connect(Config { timeouts, ..config }).unwrap();
    write_and_verify(&mut initiator, 64, 16_384, 8, 1);
    let is_it = |words: &str| words.contains("one command at a time");
    let said = |kind: &EventKind| matches!(kind, EventKind::Deviation(words) if is_it(words));
    assert!(initiator.events().iter().any(|event| said(&event.kind)));
    assert_eq!(initiator.stats()[0].stats.failures, 0);
}
