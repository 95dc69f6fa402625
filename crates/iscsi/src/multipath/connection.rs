//! The connection of a path in full feature phase: session and timers.

use std::time::{Duration, Instant};

use crate::login::Negotiated;
use crate::proof::{Check, UnitIdentity, Witness};
use crate::session::Session;

/// Current use of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The LUN behind it is being examined.
    Probing { step: ProbeStep, deadline: Instant },
    /// It carries I/O.
    Serving,
    /// It was opened to end an old session, and is being closed.
    Leaving { deadline: Instant },
}

/// Steps in the examination of a LUN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProbeStep {
    /// TEST UNIT READY, repeated after each unit attention.
    Ready { tries: u8 },
    /// Standard INQUIRY.
    Inquiry,
    /// Page 80.
    Serial,
    /// Page 83.
    Ids,
    /// READ CAPACITY (16).
    Capacity16,
    /// READ CAPACITY (10), for units that do not support the long form.
    Capacity10,
    /// Reading the last block that the reported size allows.
    LastBlock,
    /// Reading the block before it, if the last one does not exist.
    BlockBefore,
    /// Reading written blocks until one holds the data written there.
    Witness { at: usize, mismatches: usize },
    /// REPORT TARGET PORT GROUPS.
    Groups,
}

/// A LUN reset in flight.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reset {
    /// Paths whose fenced writes it covers: bit n is path n.
    pub covered: u64,
    /// Time from which another path may be tried; the answer counts whenever it arrives.
    pub deadline: Instant,
    pub is_reported: bool,
}

/// Bytes of a PDU after which a connection counts as alive although the PDU is not complete: three packets.
const PROGRESS_BYTES: u32 = 4096;

/// An established connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub session: Session,
    pub phase: Phase,
    /// The command of the current step.
    pub probe: Option<u32>,
    /// The check that this command belongs to, if it is not a step.
    pub check: Option<Check>,
    /// Identity of the unit as read so far.
    pub identity: UnitIdentity,
    /// Blocks that prove the unit's identity.
    pub witnesses: Vec<Witness>,
    /// Number of unit attentions during the examination.
    pub attentions: u8,
    /// True if the examination must start again because something may have changed.
    pub must_look_again: bool,
    /// True if it carried I/O before.
    pub has_served: bool,
    /// Time of the last PDU, or of as many bytes of one as show that the rest follows.
    pub received_at: Instant,
    /// Number of bytes since then.
    pub trickled_bytes: u32,
    /// Start of the silence, for a path that gets no new commands because of it.
    pub suspect_since: Option<Instant>,
    /// The ping in flight.
    pub ping: Option<(u32, Instant)>,
    pub next_ping_at: Instant,
    /// The command whose abort is in flight, and the deadline for the answer.
    pub abort: Option<(u32, Instant)>,
    /// The LUN reset in flight.
    pub reset: Option<Reset>,
    /// Commands sent before this time may have been ended by a LUN reset through another path.
    pub swept_at: Option<Instant>,
    /// Time since which the target has no command of this session and accepts none.
    pub shut_since: Option<Instant>,
    /// The target requested a logout; no more commands are started.
    pub is_leaving: bool,
}

impl Connection {
    pub(crate) fn new(agreed: Negotiated, lun: u64, depth: u16, phase: Phase, now: Instant) -> Self {
        Self {
            session: Session::new(agreed, lun, depth),
            phase,
            probe: None,
            check: None,
            identity: UnitIdentity::default(),
            witnesses: Vec::new(),
            attentions: 0,
            must_look_again: false,
            has_served: false,
            received_at: now,
            trickled_bytes: 0,
            suspect_since: None,
            ping: None,
            next_ping_at: now,
            abort: None,
            reset: None,
            swept_at: None,
            shut_since: None,
            is_leaving: false,
        }
    }

    /// Records that data arrived. Returns true if that shows that the connection is alive: a path whose answers
    /// trickled would keep all outstanding commands for the limit of a command, while another one is idle.
    pub(crate) fn has_heard(&mut self, bytes: u32, pdus: u32, now: Instant) -> bool {
        self.trickled_bytes = self.trickled_bytes.saturating_add(bytes);
        let is_alive = pdus > 0 || self.trickled_bytes >= PROGRESS_BYTES;
        if is_alive {
            (self.received_at, self.trickled_bytes) = (now, 0);
        }
        is_alive
    }

    /// Returns true while the examination has not read anything of the unit yet.
    pub(crate) fn is_before_look(&self) -> bool {
        matches!(self.phase, Phase::Probing { step: ProbeStep::Ready { .. }, .. })
    }

    /// Begins the time limit of an examination anew.
    pub(crate) fn look_until(&mut self, end: Instant) {
        if let Phase::Probing { deadline, .. } = &mut self.phase {
            *deadline = end;
        }
    }

    /// Sends a ping when it is due. Fails if a ping was not answered and no other data arrived either.
    pub(crate) fn keep_alive(&mut self, now: Instant, interval: Duration, limit: Duration) -> Result<(), ()> {
        if let Some((_, sent_at)) = self.ping {
            // A target that sends any data is alive, even if its answer waits behind that data.
            let silent_since = sent_at.max(self.received_at);
            return if now.duration_since(silent_since) > limit { Err(()) } else { Ok(()) };
        }
        if now >= self.next_ping_at {
            self.ask(now);
            self.next_ping_at = now + interval;
        }
        Ok(())
    }

    /// Sends a ping, unless one is in flight.
    pub(crate) fn ask(&mut self, now: Instant) {
        if self.ping.is_none() && self.session.may_ping() {
            self.ping = Some((self.session.ping(), now));
        }
    }

    /// Handles the answer to a ping. Returns the round-trip time if the ping was ours.
    pub(crate) fn on_pong(&mut self, itt: u32, now: Instant) -> Option<Duration> {
        let (_, sent_at) = self.ping.take_if(|(ping, _)| *ping == itt)?;
        Some(now.duration_since(sent_at))
    }
}
