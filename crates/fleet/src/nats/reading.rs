//! The messages of a run as its stream has them: in order, each once, none left out.
//!
//! Many are asked for at a time, and handed out together. A request ends by itself; what an ordered consumer of the
//! client does beyond that was seen to hand out nothing more with a thousand hosts.

use std::time::{Duration, Instant};

use async_nats::jetstream::Message;
use async_nats::jetstream::consumer::PullConsumer;
use async_nats::jetstream::consumer::pull::Batch;
use futures_util::{FutureExt as _, StreamExt as _};
use tokio::sync::watch;

use crate::nats::bus::{Bus, Unsaid};
use crate::nats::probe::ASK_LIMIT;

/// Messages of a request: two seconds of a thousand hosts.
const OF_A_REQUEST: usize = 4096;
/// After so long the server ends a request that is not filled.
const REQUEST_LIMIT: Duration = Duration::from_secs(2);
/// Messages that are handed out together at most, so that a stop is seen between them.
const TOGETHER: usize = 512;

/// Of many hosts a message comes every millisecond, and to be woken for each costs more than to read it: so long is
/// waited for those that follow the first one, for each host, and at most.
const GATHER_OF_EACH: Duration = Duration::from_micros(100);
const GATHER_MOST: Duration = Duration::from_millis(100);

/// A stream that the server does not know for so long is gone.
const GONE_AFTER: Duration = Duration::from_secs(1);

/// The longest of these times is so many times the first one.
const TRIES_MAX: u32 = 8;

/// Reads the stream of a run.
pub(crate) struct Reading {
    bus: Bus,
    run: String,
    gather: Duration,
    connected: watch::Receiver<u64>,

    /// Sequence number of the last message that was handed out.
    taken: u64,
    consumer: Option<PullConsumer>,
    /// The request whose messages come.
    batch: Option<Batch>,
    /// How many times longer than at first the server may take, as it did not answer.
    tries: u32,
    /// Since when the server does not know the stream.
    unknown: Option<Instant>,
    /// Whether nothing has come through the consumer yet.
    is_new: bool,
    /// Whether nothing has come for the request yet.
    is_empty: bool,
    /// Whether the stream may have messages that were not handed out although there was time.
    is_behind: bool,
}

impl Reading {
    /// Returns a reading that begins with the first message, of a run over so many hosts.
    pub(crate) fn new(bus: Bus, run: &str, hosts: usize) -> Self {
        let connected = bus.connected.clone();
        let gather = GATHER_OF_EACH * u32::try_from(hosts).unwrap_or(u32::MAX);
        Self {
            bus,
            run: run.to_owned(),
            gather: gather.min(GATHER_MOST),
            connected,
            taken: 0,
            consumer: None,
            batch: None,
            tries: 1,
            unknown: None,
            is_new: true,
            is_empty: true,
            is_behind: true,
        }
    }

    /// Whether messages may wait that were not handed out: what they say is not late.
    pub(crate) fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// Whether the server has removed the stream.
    pub(crate) fn is_gone(&self) -> bool {
        self.unknown.is_some_and(|since| since.elapsed() >= GONE_AFTER)
    }

    /// Returns the messages that are there; waits so long for the first one.
    pub(crate) async fn next(&mut self, limit: Duration) -> Vec<Message> {
        // A server that was away knows nothing of who was listening.
        if self.connected.has_changed().unwrap_or(false) {
            self.connected.mark_unchanged();
            self.forget();
        }
        let was_behind = std::mem::replace(&mut self.is_behind, true);
        if self.batch.is_none() && !self.ask().await {
            tokio::time::sleep(limit).await;
            return Vec::new();
        }
        let mut came: Vec<Message> =
            tokio::time::timeout(limit, self.one()).await.ok().flatten().into_iter().collect();
        self.add_those_here(&mut came);
        // Messages that wait need not be gathered: a stream that is read long after its run would take minutes.
        if !was_behind && (1..TOGETHER).contains(&came.len()) {
            tokio::time::sleep(self.gather).await;
            self.add_those_here(&mut came);
        }
        // A request that has ended says nothing of what comes behind it.
        self.is_behind = came.len() >= TOGETHER || self.batch.is_none();
        came
    }

    /// Takes what has come behind a first message, and waits for nothing.
    fn add_those_here(&mut self, came: &mut Vec<Message>) {
        while (1..TOGETHER).contains(&came.len())
            && let Some(Some(message)) = self.one().now_or_never()
        {
            came.push(message);
        }
    }

    /// Asks for more messages. Returns whether the server has heard it.
    async fn ask(&mut self) -> bool {
        let asked = async {
            let consumer = match self.consumer.take() {
                Some(consumer) => consumer,
                None => {
                    self.is_new = true;
                    self.bus.consumer(&self.run, self.taken).await?
                }
            };
            let batch = consumer.batch().max_messages(OF_A_REQUEST).expires(REQUEST_LIMIT).messages().await;
            batch.map(|batch| (consumer, batch)).map_err(|_| Unsaid::NotNow)
        };
        // A server that is busy with a thousand hosts may need longer than one that is away deserves at once.
        let limit = ASK_LIMIT * self.tries;
        let asked = tokio::time::timeout(limit, asked).await.unwrap_or(Err(Unsaid::NotNow));
        let is_unknown = matches!(asked, Err(Unsaid::NoStream));
        self.unknown = self.unknown.or_else(|| Some(Instant::now())).filter(|_| is_unknown);
        let asked = asked.ok();
        self.tries = if asked.is_some() { 1 } else { (self.tries * 2).min(TRIES_MAX) };
        (self.consumer, self.batch) = asked.unzip();
        self.is_empty = true;
        self.batch.is_some()
    }

    /// Begins anew behind what was taken.
    fn forget(&mut self) {
        (self.consumer, self.batch) = (None, None);
    }

    /// Waits for the next message; `None` where the request has ended, or messages were lost on the way.
    async fn one(&mut self) -> Option<Message> {
        loop {
            match self.batch.as_mut()?.next().await {
                Some(Ok(message)) => {
                    self.is_empty = false;
                    let sequence = message.info().ok()?.stream_sequence;
                    // The first one of a consumer is the next that the stream has.
                    let follows = std::mem::take(&mut self.is_new) || sequence <= self.taken + 1;
                    if !follows {
                        self.forget();
                        return None;
                    }
                    if sequence > self.taken {
                        self.taken = sequence;
                        return Some(message);
                    }
                }
                // One that brought nothing may have been forgotten by the server.
                None if !self.is_empty => {
                    self.batch = None;
                    return None;
                }
                _ => {
                    self.forget();
                    return None;
                }
            }
        }
    }
}
