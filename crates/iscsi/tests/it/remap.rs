//! Another disk takes over the LUN number while a run writes: nothing may be written to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use assay_iscsi::{
    Completion, Config, EventKind, Initiator, IoError, Kind, Lost, Timeouts, UnitProof, UnitWatch,
};

use crate::scripted::{Answer, BLOCKS, Scripted, Unit};
use crate::work::{Buffer, command};

/// Content of the other disk.
const FOREIGN: u8 = 0x5a;
/// Number of writes before the change.
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

/// Writes block after block, one or several at a time, until the first error or `count` completed writes.
fn write(initiator: &mut Initiator<Buffer>, count: u64, depth: u32) -> Result<(), IoError> {
    write_data(initiator, count, depth, |number| number.to_le_bytes()[0] | 1)
}

fn write_data(
    initiator: &mut Initiator<Buffer>,
    count: u64,
    depth: u32,
    data: impl Fn(u64) -> u8,
) -> Result<(), IoError> {
    let (mut done, mut next): (Vec<Completion<Buffer>>, u64) = (Vec::new(), 0);
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut ended = 0;
    while ended < count {
        assert!(Instant::now() < deadline, "stuck: {:?}", initiator.events());
        while next < count && initiator.outstanding() < depth {
            let buf = vec![data(next); 512];
            let Ok(()) = initiator.submit(command(Kind::Write, next, next % 512, buf)) else { break };
            next += 1;
        }
        // Witnesses are taken at intervals, so the writes must take some time.
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

/// The change is reported by a unit attention or by "no such unit", or found after a new login. The other disk differs
/// in name, serial number, size, or only in content.
#[test]
fn a_unit_that_changed_during_a_run_is_not_written() {
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
fn io_continues_on_a_unit_that_is_the_same_after_an_attention() {
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

/// One of two paths leads to another disk: it is fenced, and the other continues.
#[test]
fn a_path_to_another_unit_is_fenced_and_the_other_continues() {
    let other = Unit { wwid: 2, ..unit() };
    let first = Scripted::start(1, 1, remaps(other, Answer::Sense(6, 0x3f, 0x0e)));
    let second = Scripted::start(1, 1, |_, _| Answer::Good);
    let mut initiator = connect(&[&first, &second]);
    // Writes in flight when the unit changes cannot be recalled, so they are sent one at a time.
    write_data(&mut initiator, u64::from(BEFORE) * 4, 1, |_| 0).unwrap();
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

/// Several initiators, like those of several workers, belong to one run: each new login is compared with what the first
/// one found and wrote.
#[test]
fn a_later_initiator_must_find_what_the_first_has_written() {
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

/// A target reported nothing when another disk took over a number, and the run kept writing to its end.
#[test]
fn an_unreported_change_of_the_unit_is_detected() {
    let target = Scripted::start(1, 1, |_, _| Answer::Good);
    let mut initiator = connect(&[&target]);
    write(&mut initiator, 150, 1).unwrap();
    target.stage.disk.lock().unwrap().fill(FOREIGN);
    // The next check follows within a second. The earlier blocks are not written again.
    let lost = write_on(&mut initiator, 200..4000);
    let lost = lost.unwrap().to_string();
    assert!(lost.contains("what was written"), "{lost}");
}

/// Outside of measurements, the target is constantly asked whether the unit exists: between two disks there is none for
/// a moment.
#[test]
fn a_unit_that_disappears_briefly_during_a_fill_is_detected() {
    let target = Scripted::start(1, 1, |_, _| Answer::Good);
    let config = Config::new(vec![target.portal.clone()], "iqn.2026-11.example:scripted", 0);
    let mut initiator = Initiator::<Buffer>::connect(Config { watch: UnitWatch::Closely, ..config }).unwrap();
    write(&mut initiator, 300, 4).unwrap();
    let asked = target.saw(0x01, 0x00);
    assert!(asked >= 5, "{asked}");
    assert!(target.saw(0x01, 0x28) > 1, "and what was written is read");
}

/// The first write went to the right disk, and all others to another one: one block differs, seven hold what was
/// written.
#[test]
fn a_unit_that_changes_after_the_first_write_of_a_fill_is_detected() {
    let target = Scripted::start(1, 1, |_, _| Answer::Good);
    let config = Config::new(vec![target.portal.clone()], "iqn.2026-11.example:scripted", 0);
    let mut initiator = Initiator::<Buffer>::connect(Config { watch: UnitWatch::Closely, ..config }).unwrap();
    write(&mut initiator, 1, 1).unwrap();
    target.stage.disk.lock().unwrap().fill(FOREIGN);
    let error = write_on(&mut initiator, 1..400).unwrap().to_string();
    assert!(error.contains("what was written"), "{error}");
}

/// Writes each of these blocks once; returns why the unit was lost.
fn write_on(initiator: &mut Initiator<Buffer>, mut blocks: std::ops::Range<u64>) -> Option<Lost> {
    let mut done = Vec::new();
    blocks.find_map(|block| {
        let _ = initiator.submit(command(Kind::Write, block, block, vec![3; 512]));
        std::thread::sleep(Duration::from_millis(3));
        initiator.poll(Some(Duration::from_millis(100)), &mut done).err()
    })
}

/// Connects with a proof that the caller prepared.
fn connect_with(target: &Scripted, proof: &Arc<UnitProof>) -> Initiator<Buffer> {
    let timeouts =
        Timeouts { io: Duration::from_secs(2), no_path: Duration::from_secs(2), ..Timeouts::default() };
    let config = Config::new(vec![target.portal.clone()], "iqn.2026-11.example:scripted", 0);
    Initiator::connect(Config { timeouts, proof: Arc::clone(proof), ..config }).unwrap()
}

/// A fill that had not written anything yet had no block to verify a disk with: if all disks of a target have one
/// serial number and one name, it continued on another disk.
#[test]
fn before_the_first_write_a_unit_is_compared_with_its_inspection() {
    for news in [Answer::Sense(6, 0x3f, 0x0e), Answer::Sense(5, 0x25, 0x00), Answer::Hang] {
        let first = AtomicBool::new(true);
        let target = Scripted::start(1, 1, move |op, _| match op {
            0x2a if first.swap(false, Ordering::SeqCst) => Answer::Remap(unit(), Box::new(news.clone())),
            _ => Answer::Good,
        });
        let proof = Arc::new(UnitProof::default());
        proof.inspected(512, &[(0, vec![0; 4096]), (BLOCKS - 8, vec![0; 4096])]);
        let mut initiator = connect_with(&target, &proof);
        let error = write(&mut initiator, 32, 16).unwrap_err().to_string();
        assert!(error.contains("do not hold what they held"), "{error}");
        let disk = target.stage.disk.lock().unwrap();
        assert!(disk.iter().all(|byte| *byte == FOREIGN), "the other disk was written");
    }
}

/// Writes are sent one by one until the first has completed: from then on its data distinguishes the disk from every
/// other.
#[test]
fn after_the_first_write_a_unit_is_compared_with_its_data() {
    let writes = AtomicU32::new(0);
    let target = Scripted::start(1, 1, move |op, _| match op {
        0x2a => match writes.fetch_add(1, Ordering::SeqCst) {
            0 => Answer::Good,
            1 => Answer::Remap(unit(), Box::new(Answer::Sense(5, 0x25, 0x00))),
            // Those that were in flight do not find a unit either.
            2..=16 => Answer::Sense(5, 0x25, 0x00),
            _ => Answer::Good,
        },
        _ => Answer::Good,
    });
    let mut initiator = connect(&[&target]);
    let error = write(&mut initiator, 64, 16).unwrap_err().to_string();
    assert!(error.contains("holds what was written"), "{error}");
    let disk = target.stage.disk.lock().unwrap();
    assert!(disk.iter().all(|byte| *byte == FOREIGN), "the other disk was written");
}

/// A target may report a change to one session only: all sessions verify the unit before they write again.
#[test]
fn a_report_to_one_initiator_makes_all_verify_the_unit() {
    let first = Scripted::start(1, 1, |_, count| match count {
        BEFORE => Answer::Sense(6, 0x3f, 0x0e),
        _ => Answer::Good,
    });
    let second = Scripted::start(1, 1, |_, _| Answer::Good);
    let proof = Arc::new(UnitProof::default());
    let (mut one, mut other) = (connect_with(&first, &proof), connect_with(&second, &proof));
    let looks = second.saw(0x01, 0x12);
    second.stage.disk.lock().unwrap().fill(FOREIGN);
    write(&mut one, u64::from(BEFORE) + 8, 1).unwrap();
    assert_eq!(second.saw(0x01, 0x12), looks);
    let error = write(&mut other, 8, 1).unwrap_err().to_string();
    assert!(error.contains("holds what was written"), "{error}");
    assert!(second.stage.disk.lock().unwrap().iter().all(|byte| *byte == FOREIGN));
}
