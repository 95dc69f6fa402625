//! The event loop of a client that its caller's thread drives: send, wait, receive, and check timers now and then. The
//! protocol is behind [`Client`]; [`Completions`] is the part of it that the caller sees.

use std::collections::VecDeque;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::{Blocking, READ_LIMIT};

/// Interval between two checks of the timers. Every time limit is far longer.
pub const TICK: Duration = Duration::from_millis(50);

/// Completions that the caller has not taken yet, and the number of its outstanding commands.
#[derive(Debug)]
pub struct Completions<T> {
    ready: VecDeque<T>,
    /// Number of commands submitted and not yet returned to the caller.
    outstanding: u32,
    next_tick_at: Instant,
}

impl<T> Completions<T> {
    /// Returns a queue for the completions of up to `depth` commands.
    pub fn new(depth: usize, now: Instant) -> Self {
        Self { ready: VecDeque::with_capacity(depth), outstanding: 0, next_tick_at: now }
    }

    /// Returns the number of commands submitted and not yet returned to the caller.
    pub fn outstanding(&self) -> u32 {
        self.outstanding
    }

    /// Returns true if a completion is ready for the caller.
    pub fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Returns the number of completions that are ready for the caller.
    pub fn ready_count(&self) -> usize {
        self.ready.len()
    }

    /// Counts a submitted command.
    #[inline]
    pub fn taken(&mut self) {
        self.outstanding += 1;
    }

    /// Queues a completion for the caller.
    #[inline]
    pub fn ended(&mut self, completion: T) {
        self.ready.push_back(completion);
    }

    /// Passes all completions to the caller.
    pub fn hand_out(&mut self, done: &mut Vec<T>) {
        self.outstanding -= u32::try_from(self.ready.len()).expect("bounded by the depth of the client");
        done.extend(self.ready.drain(..));
    }
}

/// A client of a storage protocol over one or several connections.
pub trait Client {
    /// The result of a command, with its buffer.
    type Completion;
    /// The reason why no further command can be executed.
    type Lost: Clone;

    /// Returns the completions of this client.
    fn completions(&mut self) -> &mut Completions<Self::Completion>;
    /// Returns the reason once the storage is lost.
    fn lost(&self) -> Option<&Self::Lost>;
    /// Returns true if this turn need not wait any longer.
    fn has_ended(&self) -> bool;
    /// Handles timers. Called every [`TICK`].
    fn tick(&mut self, now: Instant);
    /// Writes as much pending data to the sockets as they accept. Called in every turn.
    fn send(&mut self, now: Instant);
    /// Returns the number of connections, open or not.
    fn connections(&self) -> usize;
    /// Returns the stream to poll for reading, and whether to poll it for writing as well.
    fn interest(&self, connection: usize) -> Option<(&TcpStream, bool)>;
    /// Returns true if the connection is established, so that its socket is only read.
    fn is_established(&self, connection: usize) -> bool;
    /// Reads and handles the data that has arrived on a connection.
    fn receive(&mut self, connection: usize, blocking: Blocking, now: Instant);
    /// Handles the work that `receive` postponed. Called after all connections were read.
    fn received(&mut self, _now: Instant) {}
}

/// Sends pending data, waits up to `limit` for incoming data, and handles it.
#[inline]
pub fn turn<C: Client>(client: &mut C, limit: Duration) {
    let now = Instant::now();
    let next_tick_at = client.completions().next_tick_at;
    if now >= next_tick_at {
        // After a long time without a poll, every timer is overdue: read what has arrived before judging by time.
        if now.duration_since(next_tick_at) > TICK * 4 {
            let established = (0..client.connections()).filter(|at| client.is_established(*at));
            let mask = established.fold(0, |mask, at| mask | 1 << at);
            receive_all(client, mask, now);
        }
        client.completions().next_tick_at = now + TICK;
        client.tick(now);
    }
    client.send(now);
    if client.has_ended() {
        return;
    }
    if limit >= READ_LIMIT && is_alone_and_quiet(client) {
        return client.receive(0, Blocking::Sleep, now);
    }
    let until_tick = client.completions().next_tick_at.saturating_duration_since(now);
    let ready = crate::wait(client.connections(), |at| client.interest(at), limit.min(until_tick));
    if ready != 0 {
        receive_all(client, ready, Instant::now());
    }
}

/// Returns true if the only possible event is data on the only connection. The read itself may then block, which saves
/// the system call that polls for readiness.
fn is_alone_and_quiet<C: Client>(client: &C) -> bool {
    client.connections() == 1
        && client.is_established(0)
        && client.interest(0).is_some_and(|(_, writes)| !writes)
}

/// Receives from the connections in `mask`: bit n is connection n.
pub fn receive_all<C: Client>(client: &mut C, mask: u64, now: Instant) {
    for at in 0..client.connections() {
        if mask & 1 << at != 0 {
            client.receive(at, Blocking::Never, now);
        }
    }
    client.received(now);
}

/// Drives a client until a command completes or `timeout` passes (`None`: while commands are outstanding). Returns an
/// error once the storage is lost and every command has been returned.
#[inline]
pub fn poll<C: Client>(
    client: &mut C,
    timeout: Option<Duration>,
    done: &mut Vec<C::Completion>,
) -> Result<(), C::Lost> {
    let deadline = timeout.map(|timeout| Instant::now() + timeout);
    loop {
        if client.completions().has_ready() {
            client.completions().hand_out(done);
            return Ok(());
        }
        let is_idle = client.completions().outstanding == 0;
        if let Some(lost) = client.lost()
            && is_idle
        {
            return Err(lost.clone());
        }
        let wait = match deadline {
            Some(deadline) => deadline.saturating_duration_since(Instant::now()),
            None if is_idle => return Ok(()),
            None => TICK,
        };
        turn(client, wait);
        if wait.is_zero() && !client.completions().has_ready() {
            return Ok(());
        }
    }
}
