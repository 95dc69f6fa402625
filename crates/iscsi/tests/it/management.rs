//! Aborts and resets that are slow, refused, unanswered or overtaken: they never cost a path that answers, and no
//! command is executed twice because of them.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use assay_iscsi::{Completion, Config, EventKind, FencedBy, Initiator, Kind, Timeouts, UnitWatch};

use crate::scripted::{Answer, Managed, Scripted};
use crate::work::{Buffer, command};

/// Longest wait for what a test expects.
const LATE: Duration = Duration::from_secs(30);

fn timeouts() -> Timeouts {
    Timeouts {
        command: Duration::from_secs(10),
        ping_interval: Duration::from_millis(100),
        retry_max: Duration::from_millis(100),
        ..Timeouts::default()
    }
}

fn connect(targets: &[&Scripted], timeouts: Timeouts) -> Initiator<Buffer> {
    let portals = targets.iter().map(|target| target.portal.clone()).collect();
    // Each target has its own disk.
    let watch = UnitWatch::OnNews;
    let config = Config { timeouts, watch, ..Config::new(portals, "iqn.2026-11.example:scripted", 0) };
    let mut initiator = Initiator::connect(config).unwrap();
    // The first write of a run is sent alone.
    write(&mut initiator, 99);
    drain(&mut initiator);
    initiator
}

fn write(initiator: &mut Initiator<Buffer>, tag: u64) {
    initiator.submit(command(Kind::Write, tag, tag, vec![7; 512])).unwrap();
}

fn drain(initiator: &mut Initiator<Buffer>) -> Vec<Completion<Buffer>> {
    let (mut done, deadline) = (Vec::new(), Instant::now() + LATE);
    while initiator.outstanding() > 0 {
        assert!(Instant::now() < deadline, "stuck: {:?}", initiator.events());
        initiator.poll(Some(Duration::from_millis(20)), &mut done).unwrap();
    }
    done
}

fn all_good(done: &[Completion<Buffer>]) -> bool {
    done.iter().all(|completion| completion.result == Ok(512))
}

/// Writes over both paths, of which the first ends its connection and then refuses logins; returns when it is down.
/// The writes sent over it are fenced.
fn fence(first: &Scripted, initiator: &mut Initiator<Buffer>, refusals: u32) -> Vec<EventKind> {
    first.stage.refusals.store(refusals, Ordering::SeqCst);
    (0..8).for_each(|tag| write(initiator, tag));
    let (mut seen, deadline) = (Vec::new(), Instant::now() + LATE);
    let is_down =
        |kind: &EventKind| matches!(kind, EventKind::PathDown { fenced_writes, .. } if *fenced_writes > 0);
    while !seen.iter().any(is_down) {
        assert!(Instant::now() < deadline, "{seen:?}");
        initiator.poll(Some(Duration::from_millis(5)), &mut Vec::new()).unwrap();
        seen.extend(initiator.events().into_iter().map(|event| event.kind));
    }
    seen
}

fn hang_up(_: u8, count: u32) -> Answer {
    if count == 1 { Answer::Hang } else { Answer::Good }
}

fn kinds(initiator: &mut Initiator<Buffer>) -> Vec<EventKind> {
    initiator.events().into_iter().map(|event| event.kind).collect()
}

fn downs(events: &[EventKind]) -> usize {
    events.iter().filter(|kind| matches!(kind, EventKind::PathDown { .. })).count()
}

/// Commands that a target receives after a reset request are not ended by it (RFC 7143 §11.5: those with a lower CmdSN
/// are). They were taken for aborted and sent again, so that writes were executed twice and in another order, and the
/// answers to the first copies took the healthy path down.
#[test]
fn a_slow_reset_ends_only_commands_that_were_sent_before_it() {
    let first = Scripted::start(1, 1, hang_up);
    let second = Scripted::start(2, 1, |_, _| Answer::Good);
    let mut initiator = connect(&[&first, &second], timeouts());
    let before = second.saw(1, 0x2a);
    *second.stage.managed.lock().unwrap() = Managed::After(Duration::from_millis(400));
    fence(&first, &mut initiator, u32::MAX);
    let mut writes = 4;
    let deadline = Instant::now() + LATE;
    let (mut done, mut events) = (Vec::new(), Vec::new());
    while !events.iter().any(|kind| matches!(kind, EventKind::Fenced { .. })) {
        assert!(Instant::now() < deadline, "{events:?}");
        if initiator.outstanding() < 16 {
            write(&mut initiator, 100 + writes % 64);
            writes += 1;
        }
        initiator.poll(Some(Duration::from_millis(1)), &mut done).unwrap();
        events.extend(kinds(&mut initiator));
    }
    done.extend(drain(&mut initiator));
    events.extend(kinds(&mut initiator));
    assert!(all_good(&done) && downs(&events) == 0, "the healthy path stays up: {events:?}");
    let fenced =
        |kind: &EventKind| matches!(kind, EventKind::Fenced { by: FencedBy::LogicalUnitReset, writes: 1.. });
    assert!(events.iter().any(fenced), "{events:?}");
    // The four fenced writes, the first of which ended the connection, are sent to the other target once each.
    let sent = second.saw(1, 0x2a) - before;
    assert_eq!(sent as u64, writes + 4, "each write was sent once");
}

/// A path that came back in another portal group reinstates no session there; its writes waited until they failed.
#[test]
fn writes_of_a_path_that_returns_in_another_portal_group_are_released() {
    for paths in [1, 2] {
        let first = Scripted::start(1, 1, hang_up);
        let second = Scripted::start(2, 1, |_, _| Answer::Good);
        let targets = if paths == 1 { vec![&first] } else { vec![&first, &second] };
        let mut initiator = connect(&targets, timeouts());
        // The path returns with its first attempt, before a reset through the other one is needed.
        first.stage.group.store(7, Ordering::SeqCst);
        let mut events = fence(&first, &mut initiator, 0);
        let began = Instant::now();
        assert!(all_good(&drain(&mut initiator)));
        events.extend(kinds(&mut initiator));
        assert!(began.elapsed() < LATE / 2, "{:?}: {events:?}", began.elapsed());
        let released =
            |kind: &EventKind| matches!(kind, EventKind::Fenced { by: FencedBy::LogicalUnitReset, .. });
        assert!(events.iter().any(released), "{paths} paths: {events:?}");
    }
}

/// The path through which a reset was requested was ended, again and again.
#[test]
fn a_refused_reset_costs_no_path() {
    let first = Scripted::start(1, 1, hang_up);
    let second = Scripted::start(2, 1, |_, _| Answer::Good);
    let mut initiator = connect(&[&first, &second], timeouts());
    *second.stage.managed.lock().unwrap() = Managed::Refuse(5);
    let mut events = fence(&first, &mut initiator, 40);
    assert!(all_good(&drain(&mut initiator)));
    events.extend(kinds(&mut initiator));
    assert_eq!(downs(&events), 1, "only the path that hung up: {events:?}");
    let refused = |kind: &EventKind| matches!(kind, EventKind::TargetSays(words) if words.contains("reset"));
    assert_eq!(events.iter().filter(|kind| refused(kind)).count(), 1, "reported once: {events:?}");
    assert_eq!(second.saw(2, 5), 1, "a target that does not support resets is asked once");
}

/// A command that completed while its abort was on the way left the deadline of the abort behind.
#[test]
fn a_command_that_completes_before_its_abort_costs_no_path() {
    let target = Scripted::start(1, 1, |_, count| if count == 1 { Answer::Never } else { Answer::Good });
    let limits = Timeouts {
        command: Duration::from_millis(300),
        task_management: Duration::from_millis(300),
        ..timeouts()
    };
    let mut initiator = connect(&[&target], limits);
    *target.stage.managed.lock().unwrap() = Managed::CommandFirst;
    write(&mut initiator, 1);
    let mut done = drain(&mut initiator);
    let deadline = Instant::now() + Duration::from_secs(1);
    while Instant::now() < deadline {
        write(&mut initiator, 2);
        done.extend(drain(&mut initiator));
    }
    let events = kinds(&mut initiator);
    assert!(all_good(&done) && downs(&events) == 0, "{events:?}");
    assert_eq!(target.saw(2, 1), 1, "one abort");
}

/// The limits of a command, of its abort and of an I/O were chosen so that the I/O failed when its abort did.
#[test]
fn a_write_whose_abort_is_never_answered_moves_to_the_other_path_in_time() {
    let first = Scripted::start(1, 1, |_, count| if count == 1 { Answer::Never } else { Answer::Good });
    let second = Scripted::start(1, 1, |_, _| Answer::Good);
    let limit = Duration::from_secs(2);
    let limits = Timeouts { io: limit * 2, command: limit, task_management: limit, ..timeouts() };
    let mut initiator = connect(&[&first, &second], limits);
    *first.stage.managed.lock().unwrap() = Managed::Never;
    (0..8).for_each(|tag| write(&mut initiator, tag));
    let done = drain(&mut initiator);
    let failed = done.iter().filter(|completion| completion.result != Ok(512)).count();
    assert_eq!(failed, 0, "{:?}", kinds(&mut initiator));
}

/// A reset that is not answered for long is no reason to end a path that answers everything else.
#[test]
fn a_reset_without_an_answer_costs_no_path() {
    let first = Scripted::start(1, 1, hang_up);
    let second = Scripted::start(2, 1, |_, _| Answer::Good);
    let limits = Timeouts { task_management: Duration::from_millis(300), ..timeouts() };
    let mut initiator = connect(&[&first, &second], limits);
    *second.stage.managed.lock().unwrap() = Managed::Never;
    let mut events = fence(&first, &mut initiator, 30);
    assert!(all_good(&drain(&mut initiator)));
    events.extend(kinds(&mut initiator));
    assert_eq!(downs(&events), 1, "only the path that hung up: {events:?}");
}
