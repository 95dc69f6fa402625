//! Another disk behind the same number while a run writes: nothing is written to it.

use std::time::{Duration, Instant};

use assay_iscsi::{Completion, Config, EventKind, Initiator, IoError, Kind, Timeouts};

use crate::scripted::{Answer, BLOCKS, Scripted, Unit};
use crate::work::{Buffer, command};

/// What the other disk is full of.
const FOREIGN: u8 = 0x5a;
/// Writes before the change.
const BEFORE: u32 = 40;

fn unit() -> Unit {
    Unit { wwid: 1, serial: None, blocks: BLOCKS, content: FOREIGN }
}

fn connect(targets: &[&Scripted]) -> Initiator<Buffer> {
    let portals = targets.iter().map(|target| target.portal.clone()).collect();
    let timeouts =
        Timeouts { io: Duration::from_secs(2), no_path: Duration::from_secs(2), ..Timeouts::default() };
    Initiator::connect(Config { timeouts, ..Config::new(portals, "iqn.2026-11.example:scripted", 0) })
        .unwrap()
}

/// Writes block after block, one or several at a time, until the first error or `count` have ended.
fn write(initiator: &mut Initiator<Buffer>, count: u64, depth: u32) -> Result<(), IoError> {
    let (mut done, mut next): (Vec<Completion<Buffer>>, u64) = (Vec::new(), 0);
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut ended = 0;
    while ended < count {
        assert!(Instant::now() < deadline, "stuck: {:?}", initiator.events());
        while next < count && initiator.outstanding() < depth {
            let buf = vec![next.to_le_bytes()[0] | 1; 512];
            let Ok(()) = initiator.submit(command(Kind::Write, next, next % 512, buf)) else { break };
            next += 1;
        }
        // Witnesses are taken now and then: writing takes its time.
        std::thread::sleep(Duration::from_millis(3));
        if let Err(lost) = initiator.poll(Some(Duration::from_millis(100)), &mut done) {
            return Err(IoError::Changed { why: lost.to_string() });
        }
        for completion in done.drain(..) {
            completion.result?;
            ended += 1;
        }
    }
    Ok(())
}

fn remaps(other: Unit, how: Answer) -> impl Fn(u8, u32) -> Answer + Send + Sync {
    move |_, count| {
        if count == BEFORE { Answer::Remap(other, Box::new(how.clone())) } else { Answer::Good }
    }
}

/// The change is reported by a unit attention or by "no such unit", or found when the connection is made anew; and the
/// other disk differs in its name, in its serial number, in its size, or only in what it holds.
#[test]
fn a_unit_that_changed_under_a_run_is_not_written() {
    let others = [
        ("WWID", Unit { wwid: 2, ..unit() }),
        ("serial number", Unit { serial: Some("S-2"), ..unit() }),
        ("size differs", Unit { blocks: BLOCKS * 2, ..unit() }),
        ("holds what was written", unit()),
    ];
    let news = [
        Answer::Sense(6, 0x3f, 0x0e),
        Answer::Sense(6, 0x29, 0x00),
        Answer::Sense(6, 0x2a, 0x09),
        Answer::Sense(5, 0x25, 0x00),
        Answer::Hang,
    ];
    for (words, other) in others {
        for how in &news {
            let target = Scripted::start(1, 1, remaps(other, how.clone()));
            let mut initiator = connect(&[&target]);
            let error = write(&mut initiator, u64::from(BEFORE) * 2, 1).unwrap_err();
            assert!(error.to_string().contains(words), "{how:?} {words}: {error}");
            let disk = target.stage.disk.lock().unwrap();
            assert!(disk.iter().all(|byte| *byte == FOREIGN), "{how:?} {words}: the other disk was written");
        }
    }
}

#[test]
fn a_unit_that_is_the_same_after_an_attention_goes_on() {
    for (key, asc, ascq) in [(6, 0x3f, 0x0e), (6, 0x29, 0x00), (6, 0x2a, 0x09), (5, 0x25, 0x00)] {
        let target = Scripted::start(1, 1, move |_, count| match count {
            BEFORE => Answer::Sense(key, asc, ascq),
            _ => Answer::Good,
        });
        let mut initiator = connect(&[&target]);
        let looks = target.saw(0x01, 0x12);
        write(&mut initiator, u64::from(BEFORE) * 2, 8).unwrap();
        assert!(target.saw(0x01, 0x12) > looks, "it was looked at again");
        let kinds: Vec<EventKind> = initiator.events().into_iter().map(|event| event.kind).collect();
        assert!(kinds.contains(&EventKind::SameUnit), "{kinds:?}");
        assert!(!kinds.iter().any(|kind| matches!(kind, EventKind::PathDown { .. })), "{kinds:?}");
        let disk = target.stage.disk.lock().unwrap();
        assert!((0..80).all(|block| disk[block * 512] == block.to_le_bytes()[0] | 1), "every write arrived");
    }
}

/// One path of two leads to another disk: it is fenced, and the other one goes on.
#[test]
fn a_path_that_leads_elsewhere_is_fenced_and_the_other_serves_on() {
    let other = Unit { wwid: 2, ..unit() };
    let first = Scripted::start(1, 1, remaps(other, Answer::Sense(6, 0x3f, 0x0e)));
    let second = Scripted::start(1, 1, |_, _| Answer::Good);
    let mut initiator = connect(&[&first, &second]);
    // What is on its way when the unit changes cannot be called back: one at a time.
    write(&mut initiator, u64::from(BEFORE) * 4, 1).unwrap();
    let up: Vec<bool> = initiator.stats().iter().map(|path| path.is_up).collect();
    assert_eq!(up, [false, true]);
    let cause = initiator.events().into_iter().find_map(|event| match event.kind {
        EventKind::PathDown { cause, .. } => Some(cause),
        _ => None,
    });
    assert!(
        cause.as_ref().is_some_and(|cause| cause.contains("it is a different unit: its WWID is")),
        "{cause:?}"
    );
    assert!(first.stage.disk.lock().unwrap().iter().all(|byte| *byte == FOREIGN));
}

/// Several initiators, as several workers have them, are one run: what the first has found and written, the next one
/// is held to when it logs in.
#[test]
fn an_initiator_that_comes_later_is_held_to_what_the_first_has_written() {
    let target = Scripted::start(1, 1, |_, _| Answer::Good);
    let config = Config::new(vec![target.portal.clone()], "iqn.2026-11.example:scripted", 0);
    let mut first = Initiator::<Buffer>::connect(config.clone()).unwrap();
    write(&mut first, u64::from(BEFORE), 1).unwrap();
    drop(first);
    drop(Initiator::<Buffer>::connect(config.clone()).unwrap());
    target.stage.disk.lock().unwrap().fill(FOREIGN);
    let error = Initiator::<Buffer>::connect(config).unwrap_err().to_string();
    assert!(error.contains("holds what was written"), "{error}");
}
