//! What all requests share: options, sessions, connections to the store, and the live runs.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use assay_analysis::RunSummary;
use assay_report::held::Held;
use assay_results::{KnownTargets, Readings};
use assay_store::{FileId, Reader, Store, StoreError};
use tokio::sync::Semaphore;

use crate::answer::Refusal;
use crate::launch::Launches;
use crate::live::Live;
use crate::options::{Options, Tls};
use crate::rate::Rates;
use crate::session::Sessions;
use crate::texts::Texts;
use crate::token::Token;

/// Connections to the store that are kept for the next request.
const STORES_KEPT: usize = 4;

/// Reports of ended runs that are kept: those of hours take seconds to read, and are looked at again and again.
const REPORTS_KEPT: usize = 8;
/// Simulated predictions that are kept, each some ten KiB.
const PREDICTIONS_KEPT: usize = 64;
/// Summaries of ended runs that are kept, for parts of their time: those of hours have some ten MiB.
const SUMMARIES_KEPT: usize = 2;

/// Texts that are kept until somebody writes to the store.
const TEXTS_KEPT: usize = 32;

/// Comparisons with baselines that are kept: one for each plan and target.
const HELDS_KEPT: usize = 256;

/// What all requests share.
pub(crate) struct App {
    pub(crate) options: Options,
    /// Where it listens, with the port that it got.
    pub(crate) address: SocketAddr,
    pub(crate) token: Token,
    pub(crate) live: Live,
    /// Answers to visitors who are not signed in.
    pub(crate) texts: Arc<Texts>,
    /// What the pages of all targets and the metrics know of each.
    pub(crate) known: KnownTargets,
    /// What comparisons know of runs.
    pub(crate) readings: Readings,
    /// Simulations of arrays that may be made at once: each keeps a CPU busy for up to a second.
    pub(crate) simulations: Semaphore,

    /// Runs whose digests and extracts are being made.
    lacking: AtomicUsize,
    sessions: Mutex<Sessions>,
    rates: Mutex<Rates>,
    launches: Mutex<Launches>,
    /// Runs that were compared with their baselines, by run and baseline.
    helds: Mutex<BTreeMap<String, Option<Arc<Held>>>>,
    stores: Mutex<Vec<Store>>,
    reports: Mutex<Kept<String>>,
    /// Apart from the reports: whoever moves sliders pushes none of them out.
    predictions: Mutex<Kept<String>>,
    summaries: Mutex<Kept<RunSummary>>,
    unwritten: Mutex<Unwritten>,
    seen: Mutex<Seen>,
    /// Held by whoever reads the store, each once; alone by whoever closes it because another one has its name.
    reading: RwLock<()>,
}

/// The file that had the name of the store when somebody looked last.
#[derive(Default)]
struct Seen {
    file: Option<FileId>,
    /// Its log, where that was not empty.
    log: Option<FileId>,
    /// Number of files that were seen before.
    before: u64,
}

/// A number that changes when somebody writes to the store, or puts another one in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Writes {
    /// Stores that were there before this one.
    pub(crate) before: u64,
    number: i64,
}

/// Texts that stay the same until somebody writes to the store.
#[derive(Default)]
struct Unwritten {
    /// Notices what other connections write.
    watcher: Option<Store>,
    writes: i64,
    texts: BTreeMap<String, Arc<String>>,
}

/// The last of some things that take long to make, by name, the oldest first.
type Kept<T> = Vec<(String, Arc<T>)>;

impl Unwritten {
    fn watcher(&mut self, options: &Options) -> Result<Option<&Store>, StoreError> {
        if self.watcher.is_none() {
            self.watcher = Store::open_existing(&options.store)?;
        }
        Ok(self.watcher.as_ref())
    }
}

impl App {
    pub(crate) fn new(options: Options, address: SocketAddr, token: Token) -> Self {
        Self {
            options,
            address,
            token,
            live: Live::default(),
            texts: Arc::default(),
            known: KnownTargets::default(),
            readings: Readings::default(),
            simulations: Semaphore::new(1),
            lacking: AtomicUsize::new(0),
            sessions: Mutex::default(),
            rates: Mutex::default(),
            launches: Mutex::default(),
            helds: Mutex::default(),
            stores: Mutex::default(),
            reports: Mutex::default(),
            predictions: Mutex::default(),
            summaries: Mutex::default(),
            unwritten: Mutex::default(),
            seen: Mutex::default(),
            reading: RwLock::default(),
        }
    }

    /// Returns true if only this machine reaches the server. Whoever can read the store can then see it here too.
    pub(crate) fn is_local(&self) -> bool {
        self.address.ip().is_loopback()
    }

    /// Returns true if what is sent is encrypted.
    pub(crate) fn has_tls(&self) -> bool {
        self.options.tls != Tls::Off
    }

    /// Returns the number of runs that lists and trends do not have yet.
    pub(crate) fn lacking(&self) -> usize {
        self.lacking.load(Ordering::Relaxed)
    }

    pub(crate) fn set_lacking(&self, runs: usize) {
        self.lacking.store(runs, Ordering::Relaxed);
    }

    pub(crate) fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn rates(&self) -> MutexGuard<'_, Rates> {
        self.rates.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn launches(&self) -> MutexGuard<'_, Launches> {
        self.launches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a run against its baseline, made by `make` where it is not known yet: that reads the events of both.
    pub(crate) fn held(
        &self,
        key: &str,
        make: impl FnOnce() -> Result<Option<Held>, Refusal>,
    ) -> Result<Option<Arc<Held>>, Refusal> {
        let helds = || self.helds.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = helds().get(key) {
            return Ok(known.clone());
        }
        let held = make()?.map(Arc::new);
        let mut helds = helds();
        if helds.len() >= HELDS_KEPT {
            helds.clear();
        }
        helds.insert(key.to_owned(), held.clone());
        Ok(held)
    }

    /// Returns the report of an ended run, made by `make` where it is not known.
    pub(crate) fn report(
        &self,
        key: &str,
        make: impl FnOnce() -> Result<String, Refusal>,
    ) -> Result<Arc<String>, Refusal> {
        kept(&self.reports, REPORTS_KEPT, key, make)
    }

    /// Returns a simulated prediction that is known.
    pub(crate) fn prediction(&self, key: &str) -> Option<Arc<String>> {
        known(&self.predictions, key)
    }

    pub(crate) fn keep_prediction(&self, key: String, made: String) -> Arc<String> {
        keep(&self.predictions, PREDICTIONS_KEPT, key, made)
    }

    /// Returns a number that changes when somebody writes to the store; `None` where it cannot be read.
    pub(crate) fn writes(&self) -> Option<Writes> {
        let before = self.seen().before;
        let mut known = self.unwritten.lock().unwrap_or_else(PoisonError::into_inner);
        let number = known.watcher(&self.options).ok()??.writes().ok()?;
        Some(Writes { before, number })
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether the store is the one that was seen last, also where that cannot be found out: who opens it
    /// hears why.
    fn is_seen(&self) -> bool {
        let store = &self.options.store;
        let mut seen = self.seen();
        let is_seen = FileId::now(store).map_or(true, |now| now == seen.file);
        if is_seen {
            seen.log = FileId::log(store).or(seen.log);
        }
        is_seen
    }

    /// Notices that another file has the name of the store, or none: once nobody reads it any more, all connections
    /// to the one before are closed, what was read of it is forgotten, and whoever started the server hears of it.
    fn notice(&self) -> Result<(), Refusal> {
        if self.is_seen() {
            return Ok(());
        }
        let nobody_reads = self.reading.write().unwrap_or_else(PoisonError::into_inner);
        let store = &self.options.store;
        let (mut seen, Ok(now)) = (self.seen(), FileId::now(store)) else { return Ok(()) };
        let says = match (seen.file, now) {
            (before, now) if before == now => return Ok(()),
            (Some(_), None) => {
                format!("the store {store} was deleted or moved; pages show its runs no longer")
            }
            (Some(_), Some(_)) => {
                format!("the store {store} was replaced by another file; pages show the runs of that one")
            }
            (None, _) if seen.before > 0 => format!("there is a store {store} again; pages show its runs"),
            (None, _) => {
                seen.file = now;
                return Ok(());
            }
        };
        let is_replaced = seen.file.is_some() && now.is_some();
        if seen.file.is_some() && !self.is_log_apart(seen.log) && is_replaced {
            return Err(Refusal::internal(format!(
                "The store {store} was replaced, and {store}-wal belongs to the file before, which another program \
                 may have open: SQLite would take it for a part of the new one. End that program, then move \
                 {store}-wal away."
            )));
        }
        self.forget();
        *seen = Seen { file: now, log: None, before: seen.before + 1 };
        drop((seen, nobody_reads));
        (self.options.tell)(&says);
        Ok(())
    }

    /// Returns whether the log beside the store is none of the file before, after it was moved into that where nobody
    /// else uses it.
    fn is_log_apart(&self, log: Option<FileId>) -> bool {
        let store = &self.options.store;
        let is_its_own = || FileId::log(store).is_none_or(|now| log.is_some_and(|before| before != now));
        if !is_its_own() {
            let unwritten = self.unwritten.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(store) = self.stores().first().or(unwritten.watcher.as_ref()) {
                store.empty_log();
            }
        }
        is_its_own()
    }

    /// Forgets all that was read of the store. What is known of targets, and of runs that were compared, goes by
    /// checksums, which another store has only of the same.
    fn forget(&self) {
        self.stores().clear();
        *self.unwritten.lock().unwrap_or_else(PoisonError::into_inner) = Unwritten::default();
        self.helds.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.reports.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.summaries.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.texts.forget();
        self.live.forget();
    }

    /// Returns a text that depends on the store alone, made by `make` where it is not known or something was written
    /// since.
    pub(crate) fn unwritten(
        &self,
        key: &str,
        make: impl FnOnce() -> Result<String, Refusal>,
    ) -> Result<Arc<String>, Refusal> {
        let lock = || self.unwritten.lock().unwrap_or_else(PoisonError::into_inner);
        let writes = {
            let mut known = lock();
            let writes = known.watcher(&self.options)?.map_or(Ok(0), |watcher| watcher.writes());
            let Ok(writes) = writes else {
                // The file may be another one.
                *known = Unwritten::default();
                return make().map(Arc::new);
            };
            if writes != known.writes || known.texts.len() >= TEXTS_KEPT {
                known.texts.clear();
                known.writes = writes;
            }
            if let Some(text) = known.texts.get(key) {
                return Ok(Arc::clone(text));
            }
            writes
        };
        let made = Arc::new(make()?);
        let mut known = lock();
        // What was written while it was made is not in it.
        if known.writes == writes {
            known.texts.insert(key.to_owned(), Arc::clone(&made));
        }
        Ok(made)
    }

    /// Returns what an ended run measured, made by `make` where it is not known.
    pub(crate) fn summary(
        &self,
        run: &str,
        make: impl FnOnce() -> Result<RunSummary, Refusal>,
    ) -> Result<Arc<RunSummary>, Refusal> {
        kept(&self.summaries, SUMMARIES_KEPT, run, make)
    }

    /// Calls `work` with the store, to be read, on a thread that may wait for a disk.
    pub(crate) async fn with_store<T, W>(self: &Arc<Self>, work: W) -> Result<T, Refusal>
    where
        T: Send + 'static,
        W: FnOnce(&Reader) -> Result<T, Refusal> + Send + 'static,
    {
        self.change_store(|store| work(store)).await
    }

    /// The same with the store to be changed: for what a visitor may change, and for what the server itself keeps.
    pub(crate) async fn change_store<T, W>(self: &Arc<Self>, work: W) -> Result<T, Refusal>
    where
        T: Send + 'static,
        W: FnOnce(&Store) -> Result<T, Refusal> + Send + 'static,
    {
        let app = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || app.on_store(work)).await;
        done.map_err(|_| Refusal::internal("the request failed; the terminal of assay serve may say why"))?
    }

    /// The same on the calling thread.
    pub(crate) fn on_store<T>(&self, work: impl FnOnce(&Store) -> Result<T, Refusal>) -> Result<T, Refusal> {
        let _reading = loop {
            self.notice()?;
            let reading = self.reading.read().unwrap_or_else(PoisonError::into_inner);
            // It may have been replaced in between.
            if self.is_seen() {
                break reading;
            }
        };
        let kept = self.stores().pop();
        let store = match kept {
            Some(store) => store,
            None => Store::open_existing(&self.options.store)?.ok_or_else(Refusal::no_store)?,
        };
        let result = work(&store);
        let mut stores = self.stores();
        // After an error of the store the file may be another one.
        if result.is_ok() && stores.len() < STORES_KEPT {
            stores.push(store);
        }
        result
    }

    fn stores(&self) -> MutexGuard<'_, Vec<Store>> {
        self.stores.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn kept<T>(
    all: &Mutex<Kept<T>>,
    most: usize,
    key: &str,
    make: impl FnOnce() -> Result<T, Refusal>,
) -> Result<Arc<T>, Refusal> {
    match known(all, key) {
        Some(known) => Ok(known),
        None => Ok(keep(all, most, key.to_owned(), make()?)),
    }
}

fn known<T>(all: &Mutex<Kept<T>>, key: &str) -> Option<Arc<T>> {
    let all = all.lock().unwrap_or_else(PoisonError::into_inner);
    all.iter().find(|(known, _)| known == key).map(|(_, known)| Arc::clone(known))
}

fn keep<T>(all: &Mutex<Kept<T>>, most: usize, key: String, made: T) -> Arc<T> {
    let made = Arc::new(made);
    let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
    if all.len() >= most {
        all.remove(0);
    }
    all.push((key, Arc::clone(&made)));
    made
}
