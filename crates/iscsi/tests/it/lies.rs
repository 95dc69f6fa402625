//! Runs the initiator against a target that sends false answers, one kind at a time (`testkit::lying`). It must finish
//! in bounded time with an error that names the fault or with correct data, complete every command once, and never
//! accept wrong data.

use std::sync::Arc;
use std::time::{Duration, Instant};

use assay_iscsi::login::{DigestOffer, Offer};
use assay_iscsi::{Config, Initiator, Kind, Timeouts, discover};
use assay_testkit::lying::Kept;
use assay_testkit::lying::story::{Ending, LIMIT, Story, all};
use assay_testkit::lying::target::{Digests, LyingTarget, NAME, When};
use assay_testkit::lying::target_lies::{LIES, Lie};
use assay_testkit::pauses::timed;

use crate::work::{Buffer, command, stamp};

/// Number of commands in one story. Each is longer than one segment, so that data and R2Ts arrive in parts.
const BLOCKS: u64 = 4;
const BLOCK: usize = 16_384;
/// Lies that are not handled correctly yet: they run only by name (`ASSAY_LIE`).
const OPEN: [&str; 0] = [];
/// Lies that fail an I/O although another portal is honest.
const REFUSED: [&str; 13] = [
    "ends a READ with half of its data, as complete",
    "ends a READ without data, as complete",
    "sends sense data that are noise",
    "sends sense data shorter than they say",
    "reports a CHECK CONDITION without sense data",
    "is reserved for somebody else",
    "has a status that nobody knows",
    "ends a WRITE before it has its data",
    "says that half of a WRITE was left over",
    "says that more than all of a WRITE was left over",
    "is write-protected",
    "has no space left",
    "has a broken medium",
];
/// Lies about the LUN behind both portals, which end the target if the honest portal has not yet taken the I/O.
const OF_THE_LUN: [&str; 4] = [
    "is smaller after a change of its capacity",
    "is smaller after a hang-up",
    "has larger blocks after a hang-up",
    "has no LUN any more",
];

fn quick() -> Timeouts {
    Timeouts {
        io: Duration::from_secs(3),
        connect: Duration::from_secs(2),
        login: Duration::from_millis(1500),
        command: Duration::from_millis(800),
        task_management: Duration::from_millis(400),
        ping_interval: Duration::from_millis(300),
        ping: Duration::from_secs(1),
        no_path: Duration::from_millis(1500),
        busy: Duration::from_millis(500),
        retry_min: Duration::from_millis(10),
        retry_max: Duration::from_millis(50),
        retry_alone: Duration::from_millis(50),
        ..Timeouts::default()
    }
}

fn config(targets: &[&LyingTarget], digests: Digests) -> Config {
    let digest = if digests == Digests::None { DigestOffer::Never } else { DigestOffer::Always };
    let offer = Offer { header_digest: digest, data_digest: digest, ..Offer::default() };
    let portals = targets.iter().map(|target| target.portal.clone()).collect();
    Config { timeouts: quick(), offer, depth: 8, ..Config::new(portals, NAME, 0) }
}

/// Lists what discovery finds, or writes a few blocks and reads them back.
fn story(lie: &'static Lie) -> Ending {
    let target = LyingTarget::start(lie.digests, move |asked, honest| lie.tell(asked, honest));
    if lie.when == When::Text {
        let mut ending = Ending::default();
        let found = discover(&target.portal, "iqn.2026-11.example:story", None, &quick());
        match found {
            Ok(found) => assert_eq!(found[0].name, NAME, "{}", lie.name),
            Err(error) => ending.errors.push(error.to_string()),
        }
        return ending;
    }
    over(lie, &[&target])
}

/// The same over two portals to one LUN, the second of which is honest.
fn story_of_two(lie: &'static Lie) -> Ending {
    let first = LyingTarget::start(lie.digests, move |asked, honest| lie.tell(asked, honest));
    let second = first.beside();
    over(lie, &[&first, &second])
}

/// Writes a few blocks and reads them back.
fn over(lie: &'static Lie, targets: &[&LyingTarget]) -> Ending {
    let mut ending = Ending::default();
    let mut initiator = match Initiator::<Buffer>::connect(config(targets, lie.digests)) {
        Ok(initiator) => initiator,
        Err(error) => {
            ending.errors.push(error.to_string());
            return ending;
        }
    };
    let mut is_written = [false; BLOCKS as usize];
    for kind in [Kind::Write, Kind::Read] {
        for block in 0..BLOCKS {
            let mut buf = vec![0xee; BLOCK];
            if kind == Kind::Write {
                stamp(&mut buf, block, 1);
            }
            if let Err(refused) = initiator.submit(command(kind, block, block, buf)) {
                ending.errors.push(format!("command {} was not taken", refused.tag));
            }
        }
        collect(lie, &mut initiator, kind, &mut is_written, &mut ending);
    }
    ending.events.extend(initiator.events().into_iter().map(|event| format!("{:?}", event.kind)));
    // A write that was reported as successful is on the disk.
    let disk = targets[0].disk();
    for block in (0..BLOCKS as usize).filter(|block| is_written[*block]) {
        let mut expected = vec![0; BLOCK];
        stamp(&mut expected, block as u64, 1);
        assert!(disk[block * BLOCK..][..BLOCK] == expected, "{}: block {block} is not on the disk", lie.name);
    }
    let ((), took) = timed(|| drop(initiator));
    assert!(took < Duration::from_secs(5), "{}: logging out takes long", lie.name);
    ending
}

/// Waits until every command has completed, and checks its result.
fn collect(
    lie: &Lie,
    initiator: &mut Initiator<Buffer>,
    kind: Kind,
    is_written: &mut [bool],
    ending: &mut Ending,
) {
    let (mut done, began) = (Vec::new(), Instant::now());
    let mut ended = [false; BLOCKS as usize];
    while initiator.outstanding() > 0 {
        assert!(began.elapsed() < LIMIT, "{}: {kind:?} hangs: {:?}", lie.name, initiator.events());
        if let Err(lost) = initiator.poll(Some(Duration::from_millis(200)), &mut done) {
            ending.errors.push(lost.to_string());
        }
        for completion in done.drain(..) {
            let block = completion.tag as usize;
            assert!(!std::mem::replace(&mut ended[block], true), "{}: {kind:?} ended twice", lie.name);
            match (completion.result, kind) {
                (Ok(_), Kind::Write) => is_written[block] = true,
                (Ok(bytes), _) if is_written[block] => {
                    let mut expected = vec![0; BLOCK];
                    stamp(&mut expected, completion.tag, 1);
                    let is_right = bytes as usize == BLOCK && completion.buf == expected;
                    assert!(is_right, "{}: wrong data are taken for right", lie.name);
                }
                (Ok(_), _) => {}
                (Err(error), _) => ending.errors.push(error.to_string()),
            }
        }
    }
    if let Err(lost) = initiator.poll(Some(Duration::ZERO), &mut done) {
        ending.errors.push(lost.to_string());
    }
}

/// With an honest portal beside the one that lies, every I/O is right: the lie is tolerated, or its path ended. Refused
/// is what a target may answer; what concerns the LUN rather than the path may end either way.
fn kept_by_two(lie: &Lie) -> Kept {
    match lie.name {
        name if REFUSED.contains(&name) => Kept::Fails(&[""]),
        name if OF_THE_LUN.contains(&name) => Kept::Either,
        _ => Kept::Right,
    }
}

#[test]
fn no_false_answer_hangs_the_initiator_or_passes_as_correct() {
    let lies = || LIES.iter().flat_map(|group| group.iter());
    let stories =
        lies().map(|lie| Story { name: lie.name, kept: lie.kept, run: Arc::new(move || story(lie)) });
    all(&stories.collect::<Vec<_>>(), &OPEN);
    let is_named = |name: &&str| lies().any(|lie| lie.name == *name);
    assert!(REFUSED.iter().chain(&OF_THE_LUN).all(is_named), "a lie has another name");
    let stories = lies().filter(|lie| lie.when != When::Text).map(|lie| Story {
        name: lie.name,
        kept: kept_by_two(lie),
        run: Arc::new(move || story_of_two(lie)),
    });
    all(&stories.collect::<Vec<_>>(), &OPEN);
}
