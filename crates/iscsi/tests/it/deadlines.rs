//! Every command completes within its limit, whatever else the target sends.

use std::time::{Duration, Instant};

use assay_iscsi::pdu::{Bhs, opcode};
use assay_iscsi::{Completion, Config, EventKind, Initiator, IoError, Kind, Timeouts};

use crate::scripted::{Answer, Scripted};
use crate::work::{Buffer, command};

/// Far longer than the limit of an I/O, and far shorter than all other limits together.
const LATE: Duration = Duration::from_secs(8);

fn connect(target: &Scripted, timeouts: Timeouts) -> Initiator<Buffer> {
    let portals = vec![target.portal.clone()];
    Initiator::connect(Config { timeouts, ..Config::new(portals, "iqn.2026-11.example:scripted", 0) })
        .unwrap()
}

/// Issues reads and writes, the first of which completes.
fn all_end(initiator: &mut Initiator<Buffer>, what: &str) -> Vec<Completion<Buffer>> {
    for tag in 0..8 {
        let kind = if tag % 2 == 0 { Kind::Read } else { Kind::Write };
        initiator.submit(command(kind, tag, tag, vec![1; 8192])).unwrap();
    }
    let (mut done, began) = (Vec::new(), Instant::now());
    while done.len() < 8 {
        assert!(began.elapsed() < LATE, "{what}: {} of 8 ended: {:?}", done.len(), initiator.events());
        initiator.poll(Some(Duration::from_millis(100)), &mut done).unwrap();
    }
    done.sort_by_key(|completion| completion.tag);
    done
}

fn nop_in() -> Box<Bhs> {
    let mut bhs = Bhs::default();
    (bhs.0[0], bhs.0[1]) = (opcode::NOP_IN, 0x80);
    bhs.set_word(16, u32::MAX).set_word(20, u32::MAX);
    Box::new(bhs)
}

/// Pings are answered, aborts are confirmed, bytes trickle in: none of these answers a command.
#[test]
fn a_command_ends_within_its_limit_whatever_the_target_answers_meanwhile() {
    let answers = [
        ("no answer", Answer::Never),
        ("a byte now and then", Answer::Drip(Duration::from_millis(40))),
        ("pings without end", Answer::Flood(nop_in())),
        ("hanging up", Answer::Hang),
        ("busy", Answer::Status(8)),
    ];
    for (what, answer) in answers {
        let target =
            Scripted::start(1, 1, move |_, count| if count == 0 { Answer::Good } else { answer.clone() });
        let timeouts = Timeouts {
            io: Duration::from_secs(1),
            command: Duration::from_millis(400),
            ping_interval: Duration::from_millis(100),
            ..Timeouts::default()
        };
        let mut initiator = connect(&target, timeouts);
        let done = all_end(&mut initiator, what);
        assert_eq!(done[0].result, Ok(8192), "{what}");
        for completion in &done[1..] {
            let Err(error) = &completion.result else { panic!("{what}: {:?}", completion.result) };
            assert!(matches!(error, IoError::Expired { .. } | IoError::GivenUp { .. }), "{what}: {error:?}");
        }
    }
}

#[test]
fn a_target_that_sends_pings_without_end_loses_its_connection() {
    let target = Scripted::start(1, 1, |_, count| match count {
        1 => Answer::Flood(nop_in()),
        _ => Answer::Good,
    });
    let mut initiator = connect(&target, Timeouts::default());
    let done = all_end(&mut initiator, "pings without end");
    assert!(
        done.iter().all(|completion| completion.result == Ok(8192)),
        "the next connection serves: {done:?}"
    );
    let cause = initiator.events().into_iter().find_map(|event| match event.kind {
        EventKind::PathDown { cause, .. } => Some(cause),
        _ => None,
    });
    assert!(
        cause.as_ref().is_some_and(|cause| cause.contains("without a response to a command")),
        "{cause:?}"
    );
}

#[test]
fn a_stall_is_reported_at_its_start_and_end() {
    let target = Scripted::start(1, 1, |_, count| if count < 2 { Answer::Never } else { Answer::Good });
    let timeouts = Timeouts { command: Duration::from_millis(1200), ..Timeouts::default() };
    let mut initiator = connect(&target, timeouts);
    initiator.submit(command(Kind::Read, 1, 1, vec![1; 512])).unwrap();
    let (mut done, mut seen, began) = (Vec::new(), Vec::new(), Instant::now());
    while done.is_empty() || !seen.iter().any(|kind| matches!(kind, EventKind::Resumed { .. })) {
        assert!(began.elapsed() < LATE, "{seen:?}");
        initiator.poll(Some(Duration::from_millis(100)), &mut done).unwrap();
        seen.extend(initiator.events().into_iter().map(|event| event.kind));
    }
    let stalled =
        seen.iter().filter(|kind| matches!(kind, EventKind::Stalled { commands: 1, limit_s: 60, .. }));
    assert_eq!(stalled.count(), 1, "{seen:?}");
}

/// A control command was sent again and again if an I/O had completed meanwhile: nothing was received any more.
#[test]
fn a_control_command_is_answered_while_io_completes() {
    let target = Scripted::start(1, 1, |_, _| Answer::Good);
    let mut initiator = connect(&target, Timeouts::default());
    for tag in 0..64 {
        initiator.submit(command(Kind::Read, tag, tag, vec![1; 8192])).unwrap();
    }
    let mut done = Vec::new();
    initiator.poll(Some(Duration::from_secs(5)), &mut done).unwrap();
    // Whichever read completes first, the control command is sent after them.
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let answer = initiator.inquiry();
        while initiator.outstanding() > 0 {
            initiator.poll(Some(Duration::from_secs(1)), &mut done).unwrap();
        }
        sender.send((answer, done.len())).unwrap();
    });
    let (answer, ended) = receiver.recv_timeout(LATE).expect("the question is answered");
    answer.unwrap();
    assert_eq!(ended, 64, "and no I/O is lost over it");
}
