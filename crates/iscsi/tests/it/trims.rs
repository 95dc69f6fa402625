//! Trims: what they free, what they leave, and that another disk behind the number is still found.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use assay_iscsi::{Completion, Config, Initiator, IoError, Kind, Timeouts};

use crate::scripted::{Answer, BLOCKS, Scripted, UNMAP, Unit};
use crate::work::{Buffer, command};

const FOREIGN: u8 = 0x5a;
/// Blocks that are written before the trims.
const WRITTEN: u64 = 64;

fn connect(target: &Scripted, unmap_ranges_max: u32) -> Initiator<Buffer> {
    let timeouts =
        Timeouts { io: Duration::from_secs(2), no_path: Duration::from_secs(2), ..Timeouts::default() };
    let config = Config::new(vec![target.portal.clone()], "iqn.2026-11.example:scripted", 0);
    Initiator::connect(Config { timeouts, unmap_ranges_max, ..config }).unwrap()
}

/// One command after another; the first error ends it.
fn each(
    initiator: &mut Initiator<Buffer>,
    commands: impl Iterator<Item = (Kind, u64, usize)>,
) -> Result<(), IoError> {
    let mut done: Vec<Completion<Buffer>> = Vec::new();
    for (kind, block, blocks) in commands {
        let mut command = command(kind, block, block, vec![block.to_le_bytes()[0] | 1; blocks * 512]);
        command.offset_bytes = block * 512;
        let data_bytes = command.data_bytes;
        if initiator.submit(command).is_err() {
            return Err(IoError::Changed { why: "it accepts no command".into() });
        }
        while done.is_empty() {
            if let Err(lost) = initiator.poll(Some(Duration::from_millis(100)), &mut done) {
                return Err(IoError::Changed { why: lost.to_string() });
            }
        }
        let ended = done.pop().unwrap();
        assert_eq!((ended.tag, ended.buf.len()), (block, blocks * 512), "the buffer comes back");
        assert_eq!(ended.result?, data_bytes);
    }
    Ok(())
}

fn write_all(initiator: &mut Initiator<Buffer>) {
    each(initiator, (0..WRITTEN).map(|block| (Kind::Write, block, 1))).unwrap();
}

/// Blocks of the target's disk that hold data.
fn kept(target: &Scripted) -> Vec<usize> {
    let disk = target.stage.disk.lock().unwrap();
    disk.chunks(512).enumerate().filter(|(_, data)| data.iter().any(|b| *b != 0)).map(|(at, _)| at).collect()
}

#[test]
fn a_trim_frees_all_but_one_block_that_identifies_the_unit() {
    for (ranges_max, freed_at_least) in [(2, WRITTEN - 1), (1, WRITTEN / 2)] {
        let target = Scripted::start(1, 1, |_, _| Answer::Good);
        let mut initiator = connect(&target, ranges_max);
        write_all(&mut initiator);
        let whole = usize::try_from(WRITTEN).unwrap();
        each(&mut initiator, [(Kind::Trim, 0, whole)].into_iter()).unwrap();
        let kept = kept(&target);
        assert!(!kept.is_empty() && kept.len() as u64 <= WRITTEN - freed_at_least, "{ranges_max}: {kept:?}");
        // With small trims nothing but that block is left, whatever their order.
        each(&mut initiator, (0..WRITTEN).rev().map(|block| (Kind::Trim, block, 1))).unwrap();
        assert_eq!(self::kept(&target).len(), 1);
        let stats = &initiator.stats()[0].stats;
        assert_eq!((stats.writes, stats.errors), (WRITTEN * 2 + 1, 0), "trims count as writes");
    }
}

/// The other disk is reported by a unit attention, by "no such unit", or found after a new login.
#[test]
fn a_unit_that_changed_is_not_trimmed() {
    let other = Unit { wwid: 1, serial: None, blocks: BLOCKS, content: FOREIGN };
    for how in [Answer::Sense(6, 0x3f, 0x0e), Answer::Sense(5, 0x25, 0x00), Answer::Hang] {
        let (news, is_changed) = (how.clone(), AtomicBool::new(false));
        let target = Scripted::start(1, 1, move |op, count| {
            if op == UNMAP && count >= 100 && !is_changed.swap(true, Ordering::SeqCst) {
                return Answer::Remap(other, Box::new(news.clone()));
            }
            Answer::Good
        });
        let mut initiator = connect(&target, 2);
        write_all(&mut initiator);
        // One that would be the last to free a block of Assay, and many on the other disk.
        let trims = (0..WRITTEN).chain(100..2000).map(|block| (Kind::Trim, block, 1));
        let error = each(&mut initiator, trims).unwrap_err().to_string();
        assert!(error.contains("what was written"), "{how:?}: {error}");
        assert_eq!(kept(&target).len() as u64, BLOCKS, "{how:?}: the other disk was trimmed");
    }
}

/// A target that does not report the change: the block that trims leave is read once a second.
#[test]
fn an_unreported_change_of_the_unit_is_detected_between_trims() {
    let target = Scripted::start(1, 1, |_, _| Answer::Good);
    let mut initiator = connect(&target, 2);
    write_all(&mut initiator);
    each(&mut initiator, (0..WRITTEN).map(|block| (Kind::Trim, block, 1))).unwrap();
    target.stage.disk.lock().unwrap().fill(FOREIGN);
    let trims = (200..4000).map(|block| {
        std::thread::sleep(Duration::from_millis(3));
        (Kind::Trim, block, 1)
    });
    let error = each(&mut initiator, trims).unwrap_err().to_string();
    assert!(error.contains("what was written"), "{error}");
}

/// Trimmed blocks prove nothing: until a write has completed, trims are sent one by one too.
#[test]
fn before_the_first_write_a_trim_is_sent_alone() {
    let target = Scripted::start(1, 1, |_, _| Answer::Good);
    let mut initiator = connect(&target, 2);
    for block in 0..4 {
        initiator.submit(command(Kind::Trim, block, block, vec![0; 512])).unwrap();
    }
    let mut done = Vec::new();
    while done.len() < 4 {
        let before = done.len();
        initiator.poll(Some(Duration::from_millis(100)), &mut done).unwrap();
        assert!(done.len() - before <= 1, "one at a time");
    }
    assert_eq!(target.saw(0x01, UNMAP), 4);
}
