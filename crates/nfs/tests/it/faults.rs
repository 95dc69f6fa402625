//! Faults that no correct server shows, and their consequences.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use assay_nfs::nfs3::{Handle, NfsStatus, Stable};
use assay_nfs::rpc::Credentials;
use assay_nfs::{EventKind, File, FileConfig, IoError, Kind, Timeouts};

use crate::scripted::{Answer, COMMIT, DISK_BYTES, READ, Scripted, WRITE};
use crate::work::{collect, command, pattern};

pub fn quick() -> Timeouts {
    Timeouts {
        io: Duration::from_millis(1500),
        connect: Duration::from_millis(500),
        call: Duration::from_millis(250),
        commit: Duration::from_secs(2),
        ping_interval: Duration::from_millis(100),
        ping: Duration::from_millis(400),
        no_server: Duration::from_millis(800),
        busy: Duration::from_millis(400),
        retry_min: Duration::from_millis(5),
        retry_max: Duration::from_millis(20),
    }
}

pub fn config(server: &Scripted) -> FileConfig {
    FileConfig {
        address: server.address,
        handle: Handle::new(&[7; 8]).unwrap(),
        credentials: Credentials { machine: "test".into(), uid: 0, gid: 0, groups: vec![] },
        connections: 1,
        depth: 64,
        read_bytes_max: 65_536,
        write_bytes_max: 65_536,
        stable: Stable::Unstable,
        timeouts: quick(),
    }
}

fn open(server: &Scripted) -> File<Vec<u8>> {
    File::open(config(server)).unwrap()
}

/// Executes one I/O and returns its result and buffer.
fn one(file: &mut File<Vec<u8>>, kind: Kind, offset: u64, buf: Vec<u8>) -> (Result<u32, IoError>, Vec<u8>) {
    file.submit(command(0, kind, offset, buf)).unwrap();
    let done = collect(file, 1).pop().unwrap();
    (done.result, done.buf)
}

fn events(file: &mut File<Vec<u8>>) -> Vec<EventKind> {
    file.events().into_iter().map(|event| event.kind).collect()
}

#[test]
fn answers_in_fragments_of_any_size_are_assembled() {
    for size in [1, 3, 4, 100, 5000] {
        let server = Scripted::start(move |_, _| Answer::Fragments(size));
        let mut file = open(&server);
        assert_eq!(one(&mut file, Kind::Write, 4096, pattern(1, 10_001)).0, Ok(10_001), "{size}");
        let (result, buf) = one(&mut file, Kind::Read, 4096, vec![0; 10_001]);
        assert!(result == Ok(10_001) && buf == pattern(1, 10_001), "{size}");
        assert!(events(&mut file) == [EventKind::Up], "{size}");
    }
}

#[test]
fn a_partial_transfer_is_completed_and_counts_once() {
    let server = Scripted::start(|_, _| Answer::Short(1000));
    let mut file = open(&server);
    assert_eq!(one(&mut file, Kind::Write, 0, pattern(0, 4096)).0, Ok(4096));
    let (result, buf) = one(&mut file, Kind::Read, 0, vec![0; 4096]);
    assert!(result == Ok(4096) && buf == pattern(0, 4096));
    assert_eq!((server.seen(WRITE).len(), server.seen(READ).len()), (5, 5));
    let xids: BTreeSet<u32> = server.seen(READ).iter().map(|seen| seen.xid).collect();
    assert_eq!(xids.len(), 5, "another call has another xid");
    let stats = &file.stats()[0].stats;
    assert_eq!((stats.reads, stats.writes, stats.read_bytes, stats.write_bytes), (1, 1, 4096, 4096));

    let server = Scripted::start(|_, _| Answer::Nothing);
    let mut file = open(&server);
    for kind in [Kind::Read, Kind::Write] {
        assert!(matches!(one(&mut file, kind, 0, vec![0; 512]).0, Err(IoError::Broken(_))), "{kind:?}");
    }
    assert_eq!(file.stats()[0].stats.errors, 2);
    let end = DISK_BYTES as u64;
    let server = Scripted::start(|_, _| Answer::Good);
    assert_eq!(one(&mut open(&server), Kind::Read, end - 100, vec![0; 512]).0, Ok(100));
}

#[test]
fn jukebox_is_retried_later_with_a_new_xid() {
    let later = NfsStatus::JUKEBOX.0;
    let server =
        Scripted::start(move |_, count| if count < 3 { Answer::Status(later) } else { Answer::Good });
    let mut file = open(&server);
    assert_eq!(one(&mut file, Kind::Read, 0, vec![0; 512]).0, Ok(512));
    let xids: BTreeSet<u32> = server.seen(READ).iter().map(|seen| seen.xid).collect();
    assert_eq!(xids.len(), 4);
    let reported = events(&mut file);
    assert_eq!(
        reported.iter().filter(|kind| **kind == EventKind::Jukebox).count(),
        1,
        "reported once: {reported:?}"
    );

    let server = Scripted::start(move |_, _| Answer::Status(later));
    let mut file = open(&server);
    assert_eq!(one(&mut file, Kind::Write, 0, vec![0; 512]).0, Err(IoError::Status(NfsStatus::JUKEBOX)));
}

/// A call without an answer is sent again on a new connection, with the same xid and from the same port, so that the
/// server's duplicate request cache recognises it.
#[test]
fn a_call_is_resent_unchanged_after_silence_and_closed_connections() {
    for answer in [Answer::Never, Answer::Hang] {
        let first = answer.clone();
        let server = Scripted::start(move |_, count| if count == 0 { first.clone() } else { Answer::Good });
        let mut file = open(&server);
        assert_eq!(one(&mut file, Kind::Write, 0, pattern(0, 4096)).0, Ok(4096), "{answer:?}");
        let seen = server.seen(WRITE);
        assert_eq!(seen.len(), 2);
        assert_eq!((seen[0].xid, seen[0].offset), (seen[1].xid, seen[1].offset), "{answer:?}");
        if seen[0].port < 1024 {
            assert_eq!(seen[0].port, seen[1].port, "{answer:?}");
        }
        assert!(events(&mut file).iter().any(|kind| matches!(kind, EventKind::Down { calls: 1, .. })));
        assert_eq!((file.stats()[0].stats.retries, file.stats()[0].stats.failures), (1, 1));
    }
    let server = Scripted::start(|_, _| Answer::Hang);
    let ended = one(&mut open(&server), Kind::Read, 0, vec![0; 512]).0;
    assert!(matches!(ended, Err(IoError::GivenUp { .. } | IoError::NoServer { .. })), "{ended:?}");
}

/// An accepting port is no server: the time without an answer counts, not the number of attempts.
#[test]
fn a_server_that_accepts_connections_and_stays_silent_is_given_up_at_the_limit() {
    for is_mute in [true, false] {
        for commits in [false, true] {
            let server = Scripted::start(|_, _| Answer::Good);
            let mut file = open(&server);
            one(&mut file, Kind::Write, 0, vec![1; 512]).0.unwrap();
            let flag = if is_mute { &server.stage.is_mute } else { &server.stage.closes };
            flag.store(true, Ordering::SeqCst);
            let began = Instant::now();
            let error = match commits {
                true => file.commit(&|| false).unwrap_err(),
                false => one(&mut file, Kind::Read, 0, vec![0; 512]).0.unwrap_err(),
            };
            assert!(matches!(error, IoError::NoServer { .. }), "{is_mute} {commits}: {error:?}");
            assert!(began.elapsed() >= quick().no_server - Duration::from_millis(100), "not before its time");
            let lost = file.poll(Some(Duration::ZERO), &mut Vec::new());
            assert!(lost.unwrap_err().to_string().contains("no answer"), "later calls end at once");
            assert!(file.submit(command(1, Kind::Read, 0, vec![0; 512])).is_err());
        }
    }
}

/// A server that closes connections for a while, more than eight times, loses nothing.
#[test]
fn a_server_that_often_closes_connections_within_the_limit_loses_nothing() {
    let server = Scripted::start(|_, count| if count < 12 { Answer::Hang } else { Answer::Good });
    let mut config = config(&server);
    config.timeouts.no_server = Duration::from_secs(30);
    let mut file: File<Vec<u8>> = File::open(config).unwrap();
    assert_eq!(one(&mut file, Kind::Write, 0, pattern(0, 4096)).0, Ok(4096));
    assert_eq!((server.seen(WRITE).len(), file.stats()[0].stats.failures), (13, 12));
}

#[test]
fn unsolicited_and_duplicate_answers_are_dropped() {
    let server = Scripted::start(|_, _| Answer::Twice);
    let mut file = open(&server);
    for tag in 0..40 {
        file.submit(command(
            tag,
            if tag % 2 == 0 { Kind::Write } else { Kind::Read },
            tag * 512,
            vec![1; 512],
        ))
        .unwrap();
    }
    let tags: BTreeSet<u64> = collect(&mut file, 40).iter().map(|done| done.tag).collect();
    assert_eq!((tags.len(), file.outstanding()), (40, 0));
    assert_eq!(events(&mut file), [EventKind::Up]);
}

#[test]
fn oversized_or_invalid_answers_end_the_connection_and_finally_fail_the_io() {
    let huge = vec![0xff; 64];
    for (answer, words) in [
        (Answer::TooMuch, "at most 512 were requested"),
        (Answer::Bytes(huge), "implausibly large"),
        (Answer::Bytes(vec![0x80, 0, 0, 0]), "ends in the middle"),
    ] {
        let server = Scripted::start(move |_, _| answer.clone());
        match one(&mut open(&server), Kind::Read, 0, vec![0; 512]).0 {
            Err(IoError::GivenUp { attempts, last }) => {
                assert!(attempts >= 2 && last.contains(words), "{words}: {last}");
            }
            other => panic!("{words}: {other:?}"),
        }
    }
    let server = Scripted::start(|_, _| Answer::Auth);
    let refused = one(&mut open(&server), Kind::Write, 0, vec![0; 512]).0.unwrap_err();
    assert!(refused.to_string().contains("too weak"), "{refused}");
}

#[test]
fn a_changed_verifier_and_weaker_durability_are_reported() {
    let server = Scripted::start(|_, _| Answer::Good);
    let mut file = open(&server);
    one(&mut file, Kind::Write, 0, vec![1; 512]).0.unwrap();
    one(&mut file, Kind::Write, 512, vec![1; 512]).0.unwrap();
    file.commit(&|| false).unwrap();
    assert_eq!((file.writes().committed_bytes, file.writes().uncertain), (1024, 0));
    file.commit(&|| false).unwrap();
    assert_eq!(server.seen(COMMIT).len(), 1, "nothing new, nothing to commit");
    one(&mut file, Kind::Write, 0, vec![2; 512]).0.unwrap();
    server.stage.verifier.store(2, Ordering::SeqCst);
    one(&mut file, Kind::Write, 512, vec![2; 512]).0.unwrap();
    file.commit(&|| false).unwrap();
    let writes = file.writes();
    assert_eq!((writes.restarts, writes.uncertain, writes.uncertain_bytes), (1, 1, 512));
    assert_eq!((writes.commits, writes.committed_bytes), (2, 1536));
    // The COMMIT itself may be the first to show it.
    one(&mut file, Kind::Write, 0, vec![3; 512]).0.unwrap();
    server.stage.verifier.store(3, Ordering::SeqCst);
    file.commit(&|| false).unwrap();
    assert_eq!(
        (file.writes().restarts, file.writes().uncertain, file.writes().committed_bytes),
        (2, 2, 1536)
    );
    assert!(events(&mut file).contains(&EventKind::Restarted { writes: 1, bytes: 512 }));

    let server = Scripted::start(|_, _| Answer::Stable(1));
    let mut file = File::open(FileConfig { stable: Stable::FileSync, ..config(&server) }).unwrap();
    assert!(matches!(one(&mut file, Kind::Write, 0, vec![0; 512]).0, Err(IoError::Broken(_))));
    let mut file = open(&server);
    assert_eq!(one(&mut file, Kind::Write, 0, vec![0; 512]).0, Ok(512), "more durable than asked is well");
    assert_eq!((file.writes().data_sync, file.writes().unstable), (1, 0));
}

#[test]
fn a_failed_commit_is_reported_and_ends() {
    let server = Scripted::start(|procedure, _| match procedure {
        COMMIT => Answer::Status(5),
        _ => Answer::Good,
    });
    let mut file = open(&server);
    one(&mut file, Kind::Write, 0, vec![1; 512]).0.unwrap();
    assert_eq!(file.commit(&|| false), Err(IoError::Status(NfsStatus(5))));
    let server =
        Scripted::start(|procedure, _| if procedure == COMMIT { Answer::Never } else { Answer::Good });
    let mut file = open(&server);
    one(&mut file, Kind::Write, 0, vec![1; 512]).0.unwrap();
    assert!(matches!(file.commit(&|| false), Err(IoError::GivenUp { .. } | IoError::Expired { .. })));
}

#[test]
fn errors_name_the_invalid_field_of_a_configuration() {
    let server = Scripted::start(|_, _| Answer::Good);
    let refused = |change: fn(&mut FileConfig)| {
        let mut config = config(&server);
        change(&mut config);
        File::<Vec<u8>>::open(config).unwrap_err().to_string()
    };
    assert!(refused(|c| c.connections = 0).starts_with("connections is 0"));
    assert!(refused(|c| c.depth = 5000).starts_with("depth is 5000"));
    assert!(refused(|c| c.read_bytes_max = 0).starts_with("read_bytes_max is 0"));
    assert!(refused(|c| c.write_bytes_max = u32::MAX).starts_with("write_bytes_max"));
    assert!(refused(|c| c.address.set_port(1)).contains("cannot connect to 127.0.0.1:1"));
}

/// A server that answers with random bytes, and with correct answers of which one byte is wrong. Runs for
/// `NFS_FUZZ_SECONDS` (default 3) with seeds from `NFS_FUZZ_SEED` (default 0) on; a failure prints its seed.
#[test]
fn the_client_survives_random_data_on_the_wire() {
    let variable = |name| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let end = Instant::now() + Duration::from_secs(variable("NFS_FUZZ_SECONDS").unwrap_or(3));
    let first = variable("NFS_FUZZ_SEED").unwrap_or(0);
    let next = AtomicU64::new(first);
    // Most conversations wait for time limits; running several at once keeps the CPU busy.
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                while Instant::now() < end {
                    one_conversation(next.fetch_add(1, Ordering::Relaxed) + 1);
                }
            });
        }
    });
    let last = next.into_inner();
    println!("{} conversations of nonsense survived, seeds {} to {last}", last - first, first + 1);
}

fn one_conversation(seed: u64) {
    let server = Scripted::start(move |_, count| {
        let mut noise = Noise::new(seed, count);
        match noise.below(8) {
            0 => Answer::Bytes((0..noise.below(300)).map(|_| noise.below(256).to_le_bytes()[0]).collect()),
            1 => Answer::Fragments(1 + noise.below(600) as usize),
            2 => Answer::Short(1 + noise.below(512)),
            3 => Answer::Twice,
            4 | 5 => Answer::Flipped(noise.below(180) as usize, 1 << noise.below(8)),
            _ => Answer::Good,
        }
    });
    let mut config = config(&server);
    (config.connections, config.read_bytes_max) = (1 + (seed % 3).to_le_bytes()[0], 300);
    let Ok(mut file) = File::open(config) else { return };
    for tag in 0..16u64 {
        let kind = if tag % 2 == 0 { Kind::Read } else { Kind::Write };
        file.submit(command(tag, kind, tag * 1024, vec![1; 1000])).unwrap();
    }
    let (mut done, deadline) = (Vec::new(), Instant::now() + Duration::from_secs(30));
    while done.len() < 16 {
        assert!(Instant::now() < deadline, "seed {seed} hangs: {:?}", file.events());
        if file.poll(Some(Duration::from_millis(200)), &mut done).is_err() {
            break;
        }
    }
    let mut tags: Vec<u64> = done.iter().map(|completion| completion.tag).collect();
    tags.sort_unstable();
    tags.dedup();
    assert_eq!((tags.len(), done.len()), (16, 16), "seed {seed}: every command ended once");
    let _ = file.commit(&|| false);
}

/// A small generator with a fixed seed, so that a failure can be reproduced.
struct Noise(u64);

impl Noise {
    fn new(seed: u64, count: u32) -> Self {
        let mixed =
            (seed << 20 ^ u64::from(count) ^ 0x5851_f42d_4c95_7f2d).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut noise = Self(mixed | 1);
        noise.below(1);
        noise
    }

    fn below(&mut self, end: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) as u32 % end
    }
}
