//! Every command completes within its limit, whatever else the server sends.

use std::time::{Duration, Instant};

use assay_nfs::nfs3::NfsStatus;
use assay_nfs::{Completion, EventKind, File, FileConfig, IoError, Kind, Timeouts};

use crate::faults::config;
use crate::scripted::{Answer, COMMIT, Scripted};
use crate::work::command;

/// Far longer than the limit of an I/O, and far shorter than all other limits together.
const LATE: Duration = Duration::from_secs(8);

fn open(server: &Scripted, timeouts: Timeouts) -> File<Vec<u8>> {
    File::open(FileConfig { timeouts, ..config(server) }).unwrap()
}

fn all_end(file: &mut File<Vec<u8>>, what: &str) -> Vec<Completion<Vec<u8>>> {
    for tag in 0..8 {
        let kind = if tag % 2 == 0 { Kind::Read } else { Kind::Write };
        file.submit(command(tag, kind, tag * 8192, vec![1; 8192])).unwrap();
    }
    let (mut done, began) = (Vec::new(), Instant::now());
    while done.len() < 8 {
        assert!(began.elapsed() < LATE, "{what}: {} of 8 ended: {:?}", done.len(), file.events());
        file.poll(Some(Duration::from_millis(100)), &mut done).unwrap();
    }
    done.sort_by_key(|completion| completion.tag);
    done
}

/// Returns a reply to a call that was never made.
fn stray() -> Vec<u8> {
    let words = [24_u32 | 1 << 31, 0x0bad_cafe, 1, 0, 0, 0, 0];
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// Pings are answered, bytes trickle in, fragments and replies arrive: none of these answers a call.
#[test]
fn a_command_ends_within_its_limit_whatever_the_server_answers_meanwhile() {
    let answers = [
        ("no answer", Answer::Never),
        ("a byte now and then", Answer::Drip),
        ("foreign replies without end", Answer::Flood(stray())),
        ("empty fragments without end", Answer::Flood(vec![0; 4])),
        ("hanging up", Answer::Hang),
        ("later", Answer::Status(NfsStatus::JUKEBOX.0)),
    ];
    for (what, answer) in answers {
        let server = Scripted::start(move |_, count| if count == 0 { Answer::Good } else { answer.clone() });
        let timeouts = Timeouts {
            io: Duration::from_secs(1),
            call: Duration::from_millis(400),
            ping_interval: Duration::from_millis(100),
            ..Timeouts::default()
        };
        let mut file = open(&server, timeouts);
        let done = all_end(&mut file, what);
        assert_eq!(done[0].result, Ok(8192), "{what}");
        for completion in &done[1..] {
            let result = &completion.result;
            assert!(matches!(result, Err(IoError::Expired { .. })), "{what}: {result:?}");
        }
        assert_eq!(file.outstanding(), 0);
    }
}

#[test]
fn endless_invalid_data_ends_the_connection_at_once() {
    for (answer, words) in
        [(Answer::Flood(stray()), "that belong to no call"), (Answer::Flood(vec![0; 4]), "empty fragments")]
    {
        let server = Scripted::start(move |_, count| if count == 1 { answer.clone() } else { Answer::Good });
        let mut file = open(&server, Timeouts::default());
        let done = all_end(&mut file, words);
        assert!(done.iter().all(|completion| completion.result == Ok(8192)), "the next connection serves");
        let cause = file.events().into_iter().find_map(|event| match event.kind {
            EventKind::Down { cause, .. } => Some(cause),
            _ => None,
        });
        assert!(cause.as_ref().is_some_and(|cause| cause.contains(words)), "{cause:?}");
    }
}

#[test]
fn a_stall_is_reported_at_its_start_and_end() {
    let server = Scripted::start(|_, count| if count < 2 { Answer::Never } else { Answer::Good });
    let mut file = open(&server, Timeouts { call: Duration::from_millis(1200), ..Timeouts::default() });
    file.submit(command(1, Kind::Read, 0, vec![1; 512])).unwrap();
    let (mut done, mut seen, began) = (Vec::new(), Vec::new(), Instant::now());
    while done.is_empty() || !seen.iter().any(|kind| matches!(kind, EventKind::Resumed { .. })) {
        assert!(began.elapsed() < LATE, "{seen:?}");
        file.poll(Some(Duration::from_millis(100)), &mut done).unwrap();
        seen.extend(file.events().into_iter().map(|event| event.kind));
    }
    let stalled =
        seen.iter().filter(|kind| matches!(kind, EventKind::Stalled { commands: 1, limit_s: 60, .. }));
    assert_eq!(stalled.count(), 1, "{seen:?}");
}

#[test]
fn a_commit_ends_at_its_limit_or_when_the_caller_gives_up() {
    let server =
        Scripted::start(|procedure, _| if procedure == COMMIT { Answer::Never } else { Answer::Good });
    for is_given_up in [true, false] {
        let timeouts = Timeouts { commit: Duration::from_millis(600), ..Timeouts::default() };
        let mut file = open(&server, timeouts);
        let mut done = Vec::new();
        file.submit(command(1, Kind::Write, 0, vec![1; 512])).unwrap();
        while done.is_empty() {
            file.poll(Some(Duration::from_millis(100)), &mut done).unwrap();
        }
        let began = Instant::now();
        let error = file.commit(&|| is_given_up && began.elapsed() > Duration::from_millis(50)).unwrap_err();
        let is_expected = matches!(error, IoError::Abandoned { .. }) == is_given_up;
        assert!(is_expected && began.elapsed() < LATE, "{error:?}");
        file.submit(command(2, Kind::Read, 0, vec![1; 512])).unwrap();
        done.clear();
        while done.is_empty() {
            file.poll(Some(Duration::from_millis(100)), &mut done).unwrap();
        }
        assert_eq!(done[0].result, Ok(512), "the file is as usable as before");
    }
}
