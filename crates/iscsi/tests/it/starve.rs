//! A path that takes nothing, or refuses everything, leaves the I/O to the others.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use assay_iscsi::{Config, EventKind, Initiator, Kind, Policy, UnitWatch};

use crate::scripted::{Answer, Scripted};
use crate::work::{Buffer, command};

/// Number of reads of a test, and how many of them are in flight at a time.
const READS: u64 = 400;
const DEPTH: u32 = 16;

fn connect(targets: &[&Scripted], policy: Policy) -> Initiator<Buffer> {
    let portals = targets.iter().map(|target| target.portal.clone()).collect();
    // Each target has its own disk.
    let watch = UnitWatch::OnNews;
    Initiator::connect(Config { watch, policy, ..Config::new(portals, "iqn.2026-11.example:scripted", 0) })
        .unwrap()
}

/// Reads over both paths, and returns the events.
fn read_all(initiator: &mut Initiator<Buffer>) -> Vec<EventKind> {
    let (mut done, mut next, mut ended) = (Vec::new(), 0, 0);
    let deadline = Instant::now() + Duration::from_secs(20);
    while ended < READS {
        assert!(Instant::now() < deadline, "{ended} of {READS} completed: {:?}", initiator.events());
        while next < READS && initiator.outstanding() < DEPTH {
            initiator.submit(command(Kind::Read, next, next, vec![0; 512])).unwrap();
            next += 1;
        }
        initiator.poll(Some(Duration::from_millis(20)), &mut done).unwrap();
        ended += done.drain(..).map(|completion| assert_eq!(completion.result, Ok(512))).count() as u64;
    }
    initiator.events().into_iter().map(|event| event.kind).collect()
}

/// Every second command went to the path whose window was closed, until all of the depth hung there.
#[test]
fn a_closed_window_on_one_path_leaves_all_io_to_the_other() {
    for policy in [Policy::ROUND_ROBIN_EACH, Policy::LeastOutstanding] {
        let first = Scripted::start(1, 1, |_, _| Answer::Good);
        let second = Scripted::start(1, 1, |_, _| Answer::Good);
        let mut initiator = connect(&[&first, &second], policy);
        second.stage.window.store(0, Ordering::SeqCst);
        read_all(&mut initiator);
        // What the window still had room for.
        assert!(second.saw(1, 0x28) <= 33, "{policy:?}: {}", second.saw(1, 0x28));
        let paths = initiator.stats();
        assert!(paths.iter().all(|path| path.is_up), "{policy:?}");
        assert_eq!((paths[1].stats.refused, paths[0].stats.unable_ns), (0, 0), "{policy:?}");
        let (began, mut done) = (Instant::now(), Vec::new());
        while began.elapsed() < Duration::from_millis(250) {
            initiator.poll(Some(Duration::from_millis(20)), &mut done).unwrap();
        }
        let unable_ms = initiator.stats()[1].stats.unable_ns / 1_000_000;
        assert!(unable_ms >= 50, "{policy:?}: {unable_ms} ms");
    }
}

/// Half of all commands were refused, and waited.
#[test]
fn a_path_that_answers_busy_or_not_ready_is_asked_now_and_then_only() {
    for answer in [Answer::Status(8), Answer::Sense(2, 4, 1)] {
        for policy in [Policy::ROUND_ROBIN_EACH, Policy::LeastOutstanding] {
            let first = Scripted::start(1, 1, |_, _| Answer::Good);
            let refusal = answer.clone();
            let second = Scripted::start(
                1,
                1,
                move |_, count| if count < 200 { refusal.clone() } else { Answer::Good },
            );
            let mut initiator = connect(&[&first, &second], policy);
            let events = read_all(&mut initiator);
            let (refused, paths) = (second.saw(1, 0x28), initiator.stats());
            assert!(refused < 60, "{policy:?} {answer:?}: {refused} of {READS} reads were refused");
            let counted = |path: usize| (paths[path].stats.refused, paths[path].stats.moved);
            let (count, moved) = counted(1);
            assert!(count > 0 && count <= refused as u64 && moved == count, "{policy:?}: {count} {moved}");
            assert_eq!(counted(0), (0, 0), "{policy:?}");
            let busy = |kind: &EventKind| matches!(kind, EventKind::PathBusy { .. });
            assert_eq!(events.iter().filter(|kind| busy(kind)).count(), 1, "said once: {events:?}");
        }
    }
}
