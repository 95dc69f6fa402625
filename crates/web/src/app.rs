//! What all requests share: options, sessions, connections to the store, and the live runs.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use assay_report::held::Held;
use assay_store::Store;

use crate::answer::Refusal;
use crate::launch::Launches;
use crate::live::Live;
use crate::options::{Options, Tls};
use crate::session::Sessions;
use crate::token::Token;

/// Connections to the store that are kept for the next request.
const STORES_KEPT: usize = 4;

/// Comparisons with baselines that are kept: one for each plan and target.
const HELDS_KEPT: usize = 256;

/// What all requests share.
pub(crate) struct App {
    pub(crate) options: Options,
    /// Where it listens, with the port that it got.
    pub(crate) address: SocketAddr,
    pub(crate) token: Token,
    pub(crate) live: Live,

    sessions: Mutex<Sessions>,
    launches: Mutex<Launches>,
    /// Runs that were compared with their baselines, by run and baseline.
    helds: Mutex<BTreeMap<String, Option<Arc<Held>>>>,
    stores: Mutex<Vec<Store>>,
}

impl App {
    pub(crate) fn new(options: Options, address: SocketAddr, token: Token) -> Self {
        Self {
            options,
            address,
            token,
            live: Live::default(),
            sessions: Mutex::default(),
            launches: Mutex::default(),
            helds: Mutex::default(),
            stores: Mutex::default(),
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

    pub(crate) fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// Calls `work` with a connection to the store, on a thread that may wait for a disk.
    pub(crate) async fn with_store<T, W>(self: &Arc<Self>, work: W) -> Result<T, Refusal>
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
