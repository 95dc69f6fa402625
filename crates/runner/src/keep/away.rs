//! A run is kept in a PostgreSQL server of which the connection breaks: at every message of the client in turn, before
//! the server has it or after, once or for good. A model says what must be kept.
//!
//! The backend is a real server behind a proxy that counts what the client sends.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use assay_record::{Event, ExportCover, RunDigest, RunEvent};
use assay_store::{Namesake, Store, StoreAddress, WholeEvents, WholeRun};
use assay_testkit::postgres::{self, Postgres};

use super::failing::{header, made_up};
use super::{Keeper, StoreNews};
use crate::error::NotStored;

/// Messages that are broken at most, in each of the ways: more than a run of eight events has.
const BREAKS_MAX: i64 = 400;

/// What breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Break {
    /// The connection, before the server has the message.
    Before,
    /// The connection, when the server has it and the client has no answer.
    After,
    /// This one, and every later one.
    ForGood,
}

/// A server behind a proxy.
struct Behind {
    port: u16,
    /// Messages until one breaks; negative: none does any more.
    left: Arc<AtomicI64>,
    what: Arc<AtomicI64>,
}

const WAYS: [Break; 3] = [Break::Before, Break::After, Break::ForGood];

impl Behind {
    fn start(server: &Postgres) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, to) = (listener.local_addr().unwrap().port(), server.port());
        let (left, what) = (Arc::new(AtomicI64::new(-1)), Arc::new(AtomicI64::new(0)));
        let shared = (Arc::clone(&left), Arc::clone(&what));
        // It ends with the process.
        std::thread::spawn(move || {
            for near in listener.incoming() {
                let (Ok(near), Ok(far)) = (near, TcpStream::connect(("127.0.0.1", to))) else { continue };
                let (near_again, far_again) = (near.try_clone().unwrap(), far.try_clone().unwrap());
                let shared = shared.clone();
                std::thread::spawn(move || forward(near, far, Some(&shared)));
                std::thread::spawn(move || forward(far_again, near_again, None));
            }
        });
        Self { port, left, what }
    }

    fn break_at(&self, message: i64, what: Break) {
        self.what.store(WAYS.iter().position(|way| *way == what).unwrap() as i64, Ordering::SeqCst);
        self.left.store(message, Ordering::SeqCst);
    }

    /// Returns whether the message to break came, and mends everything.
    fn mend(&self) -> bool {
        self.left.swap(-1, Ordering::SeqCst) < 0
    }
}

fn forward(mut from: TcpStream, mut to: TcpStream, counted: Option<&(Arc<AtomicI64>, Arc<AtomicI64>)>) {
    let mut bytes = vec![0; 1 << 20];
    while let Ok(got) = from.read(&mut bytes)
        && got > 0
    {
        let way = counted.and_then(|(left, what)| {
            let way = WAYS[usize::try_from(what.load(Ordering::SeqCst)).unwrap()];
            let is_hit = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| match left {
                // A server that is gone stays so until it is mended.
                -2 => Some(-2),
                0 if way == Break::ForGood => Some(-2),
                left => (left >= 0).then(|| left - 1),
            });
            matches!(is_hit, Ok(0 | -2)).then_some(way)
        });
        if way.is_none_or(|way| way == Break::After) && to.write_all(&bytes[..got]).is_err() {
            break;
        }
        if way.is_some() {
            let _ = from.shutdown(Shutdown::Both);
            // The server has it; its answer leads nowhere.
            if way != Some(Break::After) {
                break;
            }
            let _ = to.shutdown(Shutdown::Write);
            return;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

#[test]
fn what_was_kept_stays_kept_wherever_the_connection_to_a_server_breaks() {
    let Some(server) = postgres::start() else { return };
    let behind = Behind::start(&server);
    let direct = Store::open(StoreAddress::parse(server.url()).unwrap()).unwrap();
    let through = format!("postgres://assay@127.0.0.1:{}/runs", behind.port);
    let folder = tempfile::tempdir().unwrap();
    let mut counts = [0_u32; 3];
    // Each message in one way, which changes; without SLOW_TESTS every second message.
    let step = if std::env::var_os("SLOW_TESTS").is_some() { 1 } else { 2 };
    for (turn, message) in (0..BREAKS_MAX).step_by(step).enumerate() {
        let what = WAYS[turn % 3];
        let run = format!("261122-{}", letters(message));
        let story = Story { direct: &direct, through: &through, folder: folder.path(), run };
        match story.play(&behind, message, what) {
            Some(end) => counts[end] += 1,
            None => {
                println!(
                    "{message} messages: stored {}, in a file {}, not begun {}",
                    counts[0], counts[1], counts[2]
                );
                assert!(counts[0] > 10 && counts[1] > 5, "{counts:?}");
                return;
            }
        }
    }
    panic!("a run has more than {BREAKS_MAX} messages");
}

/// Four letters of a run's id.
fn letters(number: i64) -> String {
    const LETTERS: &[u8] = b"23456789abcdefgh";
    (0..4).map(|place| char::from(LETTERS[usize::try_from(number >> (4 * place) & 15).unwrap()])).collect()
}

struct Story<'s> {
    direct: &'s Store,
    through: &'s str,
    folder: &'s Path,
    run: String,
}

impl Story<'_> {
    /// Keeps a run of which that message breaks. Returns where it is: 0 in the store, 1 in a file, 2 the store could
    /// not be opened; `None` if the run has fewer messages.
    fn play(&self, behind: &Behind, message: i64, what: Break) -> Option<usize> {
        let events: Vec<Event> = made_up(&self.run);
        let says = || format!("message {message} breaks: {what:?}");
        behind.break_at(message, what);
        let Ok(store) = Store::open(StoreAddress::parse(self.through).unwrap()) else {
            assert!(behind.mend(), "{}: the store was not opened", says());
            return Some(2);
        };
        let mut keeper = Keeper::begin(&store, header(&events), (Some("l"), None));
        keeper.spool_folder = Some(self.folder.to_owned());
        // A server that comes back is waited for until it does.
        keeper.patience = if what == Break::ForGood { Duration::ZERO } else { Duration::from_secs(60) };
        let mut acknowledged = usize::from(keeper.news().is_none());
        for (at, event) in events.iter().enumerate().skip(1) {
            keeper.append(event);
            match keeper.news() {
                None if acknowledged == at => acknowledged += 1,
                Some(StoreNews::Back(_)) => acknowledged = at + 1,
                _ => {}
            }
            if matches!(event.what, RunEvent::StepEnded(_)) {
                keeper.keep_digest(&RunDigest::default());
            }
        }
        let finished = keeper.finish();
        drop((keeper, store));
        let was_broken = behind.mend();
        let end = self.check(&events, acknowledged, finished.as_ref().err(), &says());
        assert!(
            what == Break::ForGood || end == 0 || acknowledged == 0,
            "{}: it was not brought back",
            says()
        );
        was_broken.then_some(end)
    }

    fn check(&self, events: &[Event], acknowledged: usize, failed: Option<&NotStored>, says: &str) -> usize {
        let stored = self.direct.load(&self.run).unwrap_or_default();
        assert!(stored.len() >= acknowledged, "{says}: {} of {acknowledged} events are stored", stored.len());
        assert!(stored == events[..stored.len()], "{says}: the store has something else");
        let Some(failed) = failed else {
            assert_eq!(stored.len(), events.len(), "{says}: a run that counts as stored is stored");
            assert_eq!(std::fs::read_dir(self.folder).unwrap().count(), 0, "{says}: a file is left over");
            return 0;
        };
        assert!(failed.is_whole, "{says}: {failed}");
        let file = failed.file.clone().unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        let mut lines = text.lines();
        let cover: ExportCover = serde_json::from_str(lines.next().unwrap()).unwrap();
        assert_eq!((cover.run.as_str(), cover.label.as_deref()), (self.run.as_str(), Some("l")));
        let kept: Vec<Event> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(kept == events, "{says}: the file has something else");
        std::fs::remove_file(file).unwrap();
        // The store takes it once it is back, whatever part it has.
        if stored.len() < events.len() {
            let (header, label) = (header(events), Some("l"));
            let events = WholeEvents::Decoded(events);
            let whole = WholeRun { header, label, note: None, lost: None, events };
            self.direct.add_run(whole, Namesake::Replace).unwrap();
        }
        assert!(self.direct.load(&self.run).unwrap() == events, "{says}: it is never stored");
        1
    }
}
