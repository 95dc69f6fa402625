//! Paths that fail and recover during I/O: no byte may be wrong, nothing lost or counted twice.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use assay_iscsi::login::{DigestOffer, Offer};
use assay_iscsi::{Command, Config, EventKind, Initiator, IoError, Kind, Policy, Timeouts};
use assay_testkit::pauses::timed;
use assay_testkit::proxy::Proxy;

use crate::tgt;
use crate::work::{Buffer, command, stamp, verify, write_and_verify};

fn quick() -> Timeouts {
    Timeouts {
        connect: Duration::from_secs(1),
        login: Duration::from_secs(3),
        command: Duration::from_secs(4),
        task_management: Duration::from_secs(1),
        ping_interval: Duration::from_millis(300),
        ping: Duration::from_millis(700),
        retry_max: Duration::from_millis(500),
        ..Timeouts::default()
    }
}

/// Writes every block repeatedly until `stop`, each time one generation newer than the block's last completed write;
/// then reads everything and compares it with the last writes. This finds lost, duplicate and late writes.
fn hammer(initiator: &mut Initiator<Buffer>, blocks: u64, stop: impl Fn() -> bool) -> u64 {
    const BLOCK: usize = 8192;
    let mut generations = vec![0u64; blocks as usize];
    let mut idle: Vec<u64> = (0..blocks).collect();
    let mut free: Vec<Buffer> = (0..32).map(|_| vec![0; BLOCK]).collect();
    let (mut done, mut ended) = (Vec::new(), 0);
    let mut busy = std::collections::HashSet::new();
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        if Instant::now() > deadline {
            panic!("stuck with {} outstanding: {:?}", initiator.outstanding(), initiator.events());
        }
        let stopping = stop();
        if stopping && busy.is_empty() {
            break;
        }
        while !stopping && let Some(mut buf) = free.pop() {
            let block = idle.swap_remove((ended * 7 % idle.len() as u64) as usize);
            generations[block as usize] += 1;
            stamp(&mut buf, block, generations[block as usize]);
            assert!(busy.insert(block));
            initiator.submit(command(Kind::Write, block, block, buf)).expect("depth fits");
        }
        initiator.poll(Some(Duration::from_millis(100)), &mut done).unwrap();
        for completion in done.drain(..) {
            assert_eq!(completion.result, Ok(BLOCK as u32));
            assert!(busy.remove(&completion.tag), "block {} completed twice", completion.tag);
            idle.push(completion.tag);
            free.push(completion.buf);
            ended += 1;
        }
    }
    assert_eq!(free.len(), 32, "every buffer came back");
    let mut expected = vec![0; BLOCK];
    crate::work::pass(
        initiator,
        Kind::Read,
        blocks,
        BLOCK,
        16,
        |_, _| {},
        |block, completion| {
            if generations[block as usize] == 0 {
                return;
            }
            stamp(&mut expected, block, generations[block as usize]);
            assert!(completion.buf == expected, "block {block} does not have its last write");
        },
    );
    ended
}

fn after(time: Duration) -> impl Fn() -> bool {
    let end = Instant::now() + time;
    move || Instant::now() > end
}

fn say(initiator: &mut Initiator<Buffer>, start: Instant) -> Vec<EventKind> {
    let events = initiator.events();
    for event in &events {
        println!(
            "{:8.3} s path {:?}: {:?}",
            event.at.saturating_duration_since(start).as_secs_f64(),
            event.path,
            event.kind
        );
    }
    events.into_iter().map(|event| event.kind).collect()
}

#[test]
fn a_target_killed_and_restarted_loses_no_write() {
    let Some(mut tgt) = tgt::start(1) else { return };
    let start = Instant::now();
    let config = Config { timeouts: quick(), ..Config::new(tgt.portals.clone(), tgt.name(), 1) };
    let mut initiator = Initiator::<Buffer>::connect(config).unwrap();
    let stop = AtomicBool::new(false);
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..2 {
                std::thread::sleep(Duration::from_millis(500));
                tgt.kill();
                std::thread::sleep(Duration::from_millis(500));
                tgt.restart();
                std::thread::sleep(Duration::from_secs(3));
            }
            stop.store(true, Ordering::SeqCst);
        });
        hammer(&mut initiator, 512, || stop.load(Ordering::SeqCst))
    });
    let events = say(&mut initiator, start);
    let downs = events.iter().filter(|event| matches!(event, EventKind::PathDown { .. })).count();
    assert!(downs >= 2 && events.contains(&EventKind::AllPathsDown), "{events:?}");
    println!("{ended} writes ended, verified");
}

#[test]
fn commands_of_a_cut_path_move_to_the_other_until_it_recovers() {
    let Some(tgt) = tgt::start(2) else { return };
    let start = Instant::now();
    let proxy = Proxy::start(&tgt.portals[0]);
    let portals = vec![proxy.portal.clone(), tgt.portals[1].clone()];
    let config = Config { timeouts: quick(), ..Config::new(portals, tgt.name(), 1) };
    let mut initiator = Initiator::<Buffer>::connect(config).unwrap();
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(500));
            proxy.cut();
            std::thread::sleep(Duration::from_secs(3));
            proxy.restore();
        });
        hammer(&mut initiator, 512, after(Duration::from_secs(7)))
    });
    let events = say(&mut initiator, start);
    assert!(
        events.iter().any(|event| matches!(event, EventKind::PathDown { commands: 1.., .. })),
        "{events:?}"
    );
    assert!(events.iter().any(|event| matches!(event, EventKind::Fenced { .. })), "{events:?}");
    assert!(!events.contains(&EventKind::AllPathsDown), "the other path went on");
    let stats = initiator.stats();
    assert!(stats.iter().all(|path| path.is_up), "the path came back");
    for path in &stats {
        println!(
            "path {} {}: {} writes, {} reads, {} retries",
            path.path, path.portal, path.stats.writes, path.stats.reads, path.stats.retries
        );
        assert!(path.stats.writes > 0);
    }
    let counted: u64 = stats.iter().map(|path| path.stats.writes).sum();
    assert_eq!(counted, ended, "every write is counted once");
}

#[test]
fn digests_detect_corrupted_data() {
    let Some(mut tgt) = tgt::start(1) else { return };
    tgt.set_key("HeaderDigest", "CRC32C");
    tgt.set_key("DataDigest", "CRC32C");
    let start = Instant::now();
    let proxy = Proxy::start(&tgt.portals[0]);
    let offer =
        Offer { header_digest: DigestOffer::Always, data_digest: DigestOffer::Always, ..Offer::default() };
    let config =
        Config { timeouts: quick(), offer, ..Config::new(vec![proxy.portal.clone()], tgt.name(), 1) };
    let mut initiator = Initiator::<Buffer>::connect(config).unwrap();
    write_and_verify(&mut initiator, 256, 65_536, 16, 1);
    for _ in 0..3 {
        proxy.damage_once();
        verify(&mut initiator, 256, 65_536, 16, 1);
    }
    let noticed = |event: &EventKind| {
        matches!(event, EventKind::PathDown { cause, .. }
            if cause.contains("digest mismatch"))
    };
    assert_eq!(say(&mut initiator, start).iter().filter(|event| noticed(event)).count(), 3);
}

#[test]
fn a_ping_detects_a_silent_path() {
    let Some(tgt) = tgt::start(2) else { return };
    let start = Instant::now();
    let proxy = Proxy::start(&tgt.portals[0]);
    let portals = vec![proxy.portal.clone(), tgt.portals[1].clone()];
    // The path is not ended before the ping's limit although the other path answers.
    let timeouts = Timeouts { silence: Duration::from_secs(60), suspect: Duration::from_secs(60), ..quick() };
    let config = Config { timeouts, ..Config::new(portals, tgt.name(), 1) };
    let mut initiator = Initiator::<Buffer>::connect(config).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(500));
            proxy.silence();
            std::thread::sleep(Duration::from_secs(4));
            proxy.restore();
        });
        hammer(&mut initiator, 512, after(Duration::from_secs(8)))
    });
    let events = say(&mut initiator, start);
    let noticed =
        |event: &EventKind| matches!(event, EventKind::PathDown { cause, .. } if cause.contains("ping"));
    assert!(events.iter().any(noticed), "{events:?}");
    assert!(initiator.stats().iter().all(|path| path.is_up && !path.stats.ping_ns.is_empty()));
}

#[test]
fn an_unanswered_command_fails_when_no_path_recovers() {
    let Some(mut tgt) = tgt::start(1) else { return };
    let timeouts = Timeouts { no_path: Duration::from_secs(2), ..quick() };
    let config = Config { timeouts, ..Config::new(tgt.portals.clone(), tgt.name(), 1) };
    let mut initiator = Initiator::<Buffer>::connect(config).unwrap();
    write_and_verify(&mut initiator, 16, 4096, 4, 1);
    tgt.kill();
    for tag in 0..8 {
        initiator.submit(command(Kind::Write, tag, tag, vec![1; 4096])).unwrap();
    }
    let mut done = Vec::new();
    while done.len() < 8 {
        initiator.poll(Some(Duration::from_secs(1)), &mut done).unwrap();
    }
    assert!(
        done.iter().all(|completion| matches!(completion.result, Err(IoError::NoPath { .. }))),
        "{done:?}"
    );
    let mut tags: Vec<u64> = done.iter().map(|completion| completion.tag).collect();
    tags.sort_unstable();
    assert_eq!(tags, [0, 1, 2, 3, 4, 5, 6, 7]);
    let lost = initiator.poll(Some(Duration::ZERO), &mut done).unwrap_err();
    assert!(lost.to_string().contains("no path for"), "{lost}");
    let Err(Command { tag: 9, .. }) = initiator.submit(command(Kind::Read, 9, 0, vec![0; 512])) else {
        panic!("a lost initiator takes nothing");
    };
}

#[test]
fn paths_share_the_commands_as_the_policy_says() {
    let Some(tgt) = tgt::start(2) else { return };
    for (policy, low, high) in [
        (Policy::ROUND_ROBIN_EACH, 24.9, 25.1),
        (Policy::RoundRobin { rr_ios: 100, rr_bytes: u64::MAX }, 20.0, 30.0),
        (Policy::RoundRobin { rr_ios: u32::MAX, rr_bytes: 1 << 20 }, 20.0, 30.0),
        (Policy::LeastOutstanding, 15.0, 40.0),
    ] {
        let config =
            Config { policy, sessions_per_portal: 2, ..Config::new(tgt.portals.clone(), tgt.name(), 1) };
        let mut initiator = Initiator::<Buffer>::connect(config).unwrap();
        write_and_verify(&mut initiator, 4000, 4096, 32, 1);
        let stats = initiator.stats();
        let total: u64 = stats.iter().map(|path| path.stats.reads + path.stats.writes).sum();
        assert_eq!(total, 8000);
        for path in stats {
            let share = (path.stats.reads + path.stats.writes) as f64 * 100.0 / total as f64;
            assert!((low..=high).contains(&share), "{policy:?}: path {} has {share:.1} %", path.path);
            assert_eq!(path.stats.latency_ns.len(), path.stats.reads + path.stats.writes);
        }
    }
    let config = Config { policy: Policy::Fixed(1), ..Config::new(tgt.portals.clone(), tgt.name(), 1) };
    let mut initiator = Initiator::<Buffer>::connect(config).unwrap();
    verify(&mut initiator, 1000, 4096, 32, 1);
    let reads: Vec<u64> = initiator.stats().iter().map(|path| path.stats.reads).collect();
    assert_eq!(reads, [0, 1000]);
}

#[test]
fn dropping_an_initiator_leaves_no_session() {
    let Some(tgt) = tgt::start(1) else { return };
    let config = Config { sessions_per_portal: 4, ..Config::new(tgt.portals.clone(), tgt.name(), 1) };
    let mut initiator = Initiator::<Buffer>::connect(config.clone()).unwrap();
    for tag in 0..32 {
        initiator.submit(command(Kind::Write, tag, tag, vec![7; 65_536])).unwrap();
    }
    let ((), took) = timed(|| drop(initiator));
    assert!(took < Duration::from_secs(3), "{took:?}");
    let idle = Initiator::<Buffer>::connect(config).unwrap();
    let ((), took) = timed(|| drop(idle));
    assert!(took < Duration::from_secs(3), "a logout is answered at once: {took:?}");
    assert!(tgt.lun_path().exists());
}
