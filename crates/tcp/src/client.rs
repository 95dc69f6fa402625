//! The loop of a client that is driven by its caller's thread alone: send, wait, receive, and once in a while look at
//! timers. The protocol is behind [`Client`]; what the caller sees of it is in [`Completions`].

use std::collections::VecDeque;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::{Blocking, READ_LIMIT};

/// How often timers are looked at. All limits are far longer.
pub const TICK: Duration = Duration::from_millis(50);

/// Completions that wait for the caller, and the number of commands that it has handed in.
#[derive(Debug)]
pub struct Completions<T> {
    ready: VecDeque<T>,
    /// Commands handed in and not given back.
    outstanding: u32,
    next_tick_at: Instant,
}

impl<T> Completions<T> {
    /// Room for the completions of up to `depth` commands.
    #[must_use]
    pub fn new(depth: usize, now: Instant) -> Self {
        Self { ready: VecDeque::with_capacity(depth), outstanding: 0, next_tick_at: now }
    }

    /// Returns the number of commands handed in and not given back.
    #[must_use]
    pub fn outstanding(&self) -> u32 {
        self.outstanding
    }

    /// Returns true if a completion waits for the caller.
    #[must_use]
    pub fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Counts a command that was taken.
    #[inline]
    pub fn taken(&mut self) {
        self.outstanding += 1;
    }

    /// Keeps a completion for the caller.
    #[inline]
    pub fn ended(&mut self, completion: T) {
        self.ready.push_back(completion);
    }

    fn hand_out(&mut self, done: &mut Vec<T>) {
        self.outstanding -= u32::try_from(self.ready.len()).expect("bounded by the depth of the client");
        done.extend(self.ready.drain(..));
    }
}

/// A client of a storage protocol over one or several connections.
pub trait Client {
    /// How a command ends.
    type Completion;
    /// Why no command can be carried out any more.
    type Lost: Clone;

    /// Returns what the caller sees.
    fn completions(&mut self) -> &mut Completions<Self::Completion>;
    /// Returns the reason once the storage is lost.
    fn lost(&self) -> Option<&Self::Lost>;
    /// Returns true if what is awaited has come: nothing more is waited for in this turn.
    fn has_ended(&self) -> bool;
    /// Acts on time that has passed. Called every [`TICK`].
    fn tick(&mut self, now: Instant);
    /// Hands everything to the sockets that they take. Called with every turn.
    fn send(&mut self, now: Instant);
    /// Returns the number of connections, open or not.
    fn connections(&self) -> usize;
    /// Returns the stream to wait for, and whether it is to be waited for writing.
    fn interest(&self, connection: usize) -> Option<(&TcpStream, bool)>;
    /// Returns true if a connection only has to receive: it is established, and no other state waits on its socket.
    fn is_established(&self, connection: usize) -> bool;
    /// Takes what a connection has, and reacts.
    fn receive(&mut self, connection: usize, blocking: Blocking, now: Instant);
    /// Reacts to what `receive` has left for later. Called after a round over all connections.
    fn received(&mut self, _now: Instant) {}
}

/// Sends what can be sent, waits up to `limit` for something to come, takes it, and reacts.
#[inline]
pub fn turn<C: Client>(client: &mut C, limit: Duration) {
    let now = Instant::now();
    let next_tick_at = client.completions().next_tick_at;
    if now >= next_tick_at {
        // A caller that did not poll for long finds everything overdue; first take what has come meanwhile.
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

/// True if nothing can happen but that the only connection receives: then it may sleep in the read itself, which saves
/// the call that would wait for readiness.
fn is_alone_and_quiet<C: Client>(client: &C) -> bool {
    client.connections() == 1
        && client.is_established(0)
        && client.interest(0).is_some_and(|(_, writes)| !writes)
}

/// Takes what the connections of a mask have: bit n stands for connection n.
pub fn receive_all<C: Client>(client: &mut C, mask: u64, now: Instant) {
    for at in 0..client.connections() {
        if mask & 1 << at != 0 {
            client.receive(at, Blocking::Never, now);
        }
    }
    client.received(now);
}

/// Drives a client until a command ends, or for `timeout` (`None`: as long as commands are outstanding). An error once
/// the storage is lost and every command was given back.
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
