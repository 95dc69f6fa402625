//! Paths that are silent while others answer, and targets that recover. The tests wait for states only; time never
//! decides.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use assay_iscsi::{Completion, Config, EventKind, FencedBy, Initiator, Kind, Timeouts, UnitWatch};

use crate::scripted::{Answer, Scripted};
use crate::work::{Buffer, command};

const FOR_EVER: Duration = Duration::from_secs(3600);

/// Time limits so long that only what a test shortens ends a connection.
fn patient() -> Timeouts {
    Timeouts { command: FOR_EVER, ping: FOR_EVER, silence: FOR_EVER, ..Timeouts::default() }
}

fn connect(targets: &[&Scripted], timeouts: Timeouts) -> Initiator<Buffer> {
    let portals = targets.iter().map(|target| target.portal.clone()).collect();
    // Each target has its own disk.
    let watch = UnitWatch::OnNews;
    let config = Config { timeouts, watch, ..Config::new(portals, "iqn.2026-11.example:scripted", 0) };
    Initiator::connect(config).unwrap()
}

type Seen = (Option<u8>, EventKind);

/// Issues a read every few milliseconds until `enough` returns true.
fn read_until(initiator: &mut Initiator<Buffer>, enough: impl Fn(&Seen) -> bool) {
    let (mut done, mut seen): (Vec<Completion<Buffer>>, Vec<Seen>) = (Vec::new(), Vec::new());
    let deadline = Instant::now() + Duration::from_secs(60);
    while !seen.iter().any(&enough) {
        assert!(Instant::now() < deadline, "it does not come to that: {seen:?}");
        // Hanging commands must not use up the depth, or none would be left to show where further commands go.
        if initiator.outstanding() < 64 {
            initiator.submit(command(Kind::Read, 1, 1, vec![1; 512])).unwrap();
        }
        initiator.poll(Some(Duration::from_millis(5)), &mut done).unwrap();
        seen.extend(initiator.events().into_iter().map(|event| (event.path, event.kind)));
    }
    assert!(done.iter().all(|completion| completion.result == Ok(512)));
}

fn drain(initiator: &mut Initiator<Buffer>) -> Vec<Completion<Buffer>> {
    let mut done = Vec::new();
    let deadline = Instant::now() + Duration::from_secs(60);
    while initiator.outstanding() > 0 {
        assert!(Instant::now() < deadline, "stuck: {:?}", initiator.events());
        initiator.poll(Some(Duration::from_millis(100)), &mut done).unwrap();
    }
    done
}

/// Round robin used to assign commands to a cut path until every outstanding command hung there.
#[test]
fn a_silent_path_gets_no_commands_until_data_arrives() {
    let first = Scripted::start(1, 1, |_, _| Answer::Good);
    let second = Scripted::start(1, 1, |_, _| Answer::Good);
    let mut initiator = connect(&[&first, &second], patient());
    first.stage.silent.store(true, Ordering::SeqCst);
    read_until(&mut initiator, |(path, kind)| {
        *path == Some(0) && matches!(kind, EventKind::PathSilent { .. })
    });
    let held = initiator.stats()[0].outstanding;
    assert!(held > 0, "what was in flight there stays there");
    for tag in 0..100 {
        initiator.submit(command(Kind::Read, tag, tag, vec![1; 512])).unwrap();
    }
    let (mut done, deadline) = (Vec::new(), Instant::now() + Duration::from_secs(60));
    while initiator.outstanding() > held {
        assert!(Instant::now() < deadline, "{:?}", initiator.events());
        initiator.poll(Some(Duration::from_millis(20)), &mut done).unwrap();
    }
    let first_path = &initiator.stats()[0];
    assert_eq!(first_path.outstanding, held, "all went the other way");
    assert!(first_path.is_up, "and it was not ended");

    first.stage.silent.store(false, Ordering::SeqCst);
    done.extend(drain(&mut initiator));
    let events: Vec<EventKind> = initiator.events().into_iter().map(|event| event.kind).collect();
    assert!(events.iter().any(|kind| matches!(kind, EventKind::PathAnswers { .. })), "{events:?}");
    assert!(done.iter().all(|completion| completion.result == Ok(512)));
    let before = initiator.stats()[0].stats.reads;
    for tag in 0..10 {
        initiator.submit(command(Kind::Read, tag, tag, vec![1; 512])).unwrap();
    }
    drain(&mut initiator);
    assert_eq!(initiator.stats()[0].stats.reads - before, 5, "it has its share again");
}

#[test]
fn a_path_that_stays_silent_is_ended_early_and_its_writes_are_fenced_at_once() {
    let first = Scripted::start(1, 1, |_, _| Answer::Good);
    let second = Scripted::start(1, 1, |_, _| Answer::Good);
    let timeouts = Timeouts { silence: Timeouts::default().silence, ..patient() };
    let mut initiator = connect(&[&first, &second], timeouts);
    // The first write of a run is sent alone.
    initiator.submit(command(Kind::Write, 99, 99, vec![7; 512])).unwrap();
    drain(&mut initiator);
    first.stage.silent.store(true, Ordering::SeqCst);
    for tag in 0..8 {
        initiator.submit(command(Kind::Write, tag, tag, vec![7; 512])).unwrap();
    }
    let done = drain(&mut initiator);
    let events: Vec<EventKind> = initiator.events().into_iter().map(|event| event.kind).collect();
    assert!(done.len() == 8 && done.iter().all(|completion| completion.result == Ok(512)), "{events:?}");
    let ended = |kind: &EventKind| {
        matches!(kind, EventKind::PathDown { cause, commands: 4, fenced_writes: 4 }
            if cause.contains("answered nothing"))
    };
    assert!(events.iter().any(ended), "{events:?}");
    let fence = EventKind::Fenced { by: FencedBy::ReinstatementElsewhere, writes: 4 };
    assert!(events.contains(&fence), "{events:?}");
    assert!(!events.contains(&EventKind::AllPathsDown), "{events:?}");
}

/// A path whose answers came byte by byte was never silent: it kept all outstanding commands for 37 s while the other one
/// was idle, and the run's verdict was about a write cache of the storage.
#[test]
fn a_path_whose_answers_trickle_is_ended_like_a_silent_one() {
    let first = Scripted::start(1, 1, |_, _| Answer::Drip(Duration::from_millis(500)));
    let second = Scripted::start(1, 1, |_, _| Answer::Good);
    let mut initiator =
        connect(&[&first, &second], Timeouts { silence: Timeouts::default().silence, ..patient() });
    for tag in 0..8 {
        initiator.submit(command(Kind::Read, tag, tag, vec![1; 512])).unwrap();
    }
    let done = drain(&mut initiator);
    assert!(done.iter().all(|completion| completion.result == Ok(512)));
    let events: Vec<EventKind> = initiator.events().into_iter().map(|event| event.kind).collect();
    let ended = |kind: &EventKind| matches!(kind, EventKind::PathDown { cause, commands: 4, .. } if cause.contains("answered nothing"));
    assert!(events.iter().any(ended), "{events:?}");
}

#[test]
fn a_path_that_falls_silent_again_after_a_login_gets_more_time() {
    let first = Scripted::start(1, 1, |_, _| Answer::Good);
    let second = Scripted::start(1, 1, |_, _| Answer::Good);
    let silence = Timeouts::default().silence;
    let mut initiator = connect(&[&first, &second], Timeouts { silence, ..patient() });
    let mut given_up_after = || {
        first.stage.silent.store(true, Ordering::SeqCst);
        let asked_at = Instant::now();
        for tag in 0..8 {
            initiator.submit(command(Kind::Read, tag, tag, vec![1; 512])).unwrap();
        }
        drain(&mut initiator);
        let down = |event: &assay_iscsi::Event| matches!(event.kind, EventKind::PathDown { .. });
        let events = initiator.events();
        let took = events.iter().find(|event| down(event)).map(|event| event.at - asked_at);
        // It logs in and answers every command of the examination; then it is silent as before.
        first.stage.silent.store(false, Ordering::SeqCst);
        let deadline = Instant::now() + Duration::from_secs(60);
        while !initiator.stats()[0].is_up {
            assert!(Instant::now() < deadline, "it does not come back: {:?}", initiator.events());
            initiator.poll(Some(Duration::from_millis(20)), &mut Vec::new()).unwrap();
        }
        took.expect("it was given up")
    };
    given_up_after();
    let again = given_up_after();
    assert!(again >= silence * 2 - Duration::from_millis(100), "given up after {again:?} once more");
}

#[test]
fn a_silent_path_is_used_when_the_other_is_gone() {
    let first = Scripted::start(1, 1, |_, _| Answer::Good);
    let second = Scripted::start(2, 1, |_, _| Answer::Good);
    let mut initiator = connect(&[&first, &second], patient());
    first.stage.silent.store(true, Ordering::SeqCst);
    read_until(&mut initiator, |(path, kind)| {
        *path == Some(0) && matches!(kind, EventKind::PathSilent { .. })
    });
    drop(second);
    read_until(&mut initiator, |seen| *seen == (Some(0), EventKind::PathNeeded));
    first.stage.silent.store(false, Ordering::SeqCst);
    drain(&mut initiator);
}

/// A target that was killed answers "no such target" for a while after it restarts: its daemon listens before it is
/// configured. That kept every path down for the longest pause.
#[test]
fn a_recovered_target_is_detected_although_pauses_have_grown() {
    let target = Scripted::start(1, 1, |_, count| if count == 0 { Answer::Hang } else { Answer::Good });
    let timeouts = Timeouts { retry_min: FOR_EVER, retry_max: FOR_EVER, ..patient() };
    let mut initiator = connect(&[&target], timeouts);
    target.stage.refusals.store(4, Ordering::SeqCst);
    initiator.submit(command(Kind::Read, 1, 1, vec![1; 512])).unwrap();
    let done = drain(&mut initiator);
    assert_eq!(done[0].result, Ok(512));
    let reported = |kind: &EventKind| {
        matches!(kind, EventKind::RetryFailed { cause }
            if cause.contains("no such target"))
    };
    let events = initiator.events();
    assert_eq!(events.iter().filter(|event| reported(&event.kind)).count(), 1, "reported once: {events:?}");
}
