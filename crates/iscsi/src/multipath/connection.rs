//! A path's connection in full feature phase: wire and session together, with its timers.

use std::time::{Duration, Instant};

use assay_tcp::Blocking;

use crate::initiator::Check;
use crate::login::Negotiated;
use crate::pdu::{Bhs, Response};
use crate::proof::{UnitIdentity, Witness};
use crate::session::{Placement, Session, SessionEvent};
use crate::slots::{CommandState, Slots};
use crate::transport::{Flow, Sink, Wire, WireError};

/// What a connection is for at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The LUN behind it is being looked at.
    Probing { step: ProbeStep, deadline: Instant },
    /// It serves I/O.
    Serving,
    /// It was made to end an old session, and is being closed.
    Leaving { deadline: Instant },
}

/// Steps of looking at a LUN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProbeStep {
    /// TEST UNIT READY, as often as unit attentions come.
    Ready { tries: u8 },
    /// Standard INQUIRY.
    Inquiry,
    /// Page 80.
    Serial,
    /// Page 83.
    Ids,
    /// READ CAPACITY (16).
    Capacity16,
    /// READ CAPACITY (10), for units that do not know the other form.
    Capacity10,
    /// Reading the last block that the reported size allows.
    LastBlock,
    /// Reading the block before it, where the last one does not exist.
    BlockBefore,
    /// Reading blocks that were written, until one holds what was written there.
    Witness { at: usize, mismatches: usize },
    /// REPORT TARGET PORT GROUPS.
    Groups,
}

/// An established connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub wire: Wire,
    pub session: Session,
    pub phase: Phase,
    /// The command of the current step.
    pub probe: Option<u32>,
    /// What that command is, where it is none of a step.
    pub check: Option<Check>,
    /// What the unit said of itself so far.
    pub identity: UnitIdentity,
    /// Blocks by which it proves itself.
    pub witnesses: Vec<Witness>,
    /// Unit attentions while the unit was looked at.
    pub attentions: u8,
    /// Something changed since the look began: it begins again.
    pub must_look_again: bool,
    /// It served I/O before.
    pub has_served: bool,
    /// When the last byte came.
    pub received_at: Instant,
    /// Since when nothing came, of a path that gets no new commands for that.
    pub suspect_since: Option<Instant>,
    /// The ping in flight.
    pub ping: Option<(u32, Instant)>,
    pub next_ping_at: Instant,
    /// When the abort or reset in flight must be answered.
    pub manage_deadline: Option<Instant>,
    /// The target asked us to go; no more commands are started.
    pub is_leaving: bool,
}

impl Connection {
    pub(crate) fn new(
        wire: Wire,
        agreed: Negotiated,
        lun: u64,
        depth: u16,
        phase: Phase,
        now: Instant,
    ) -> Self {
        Self {
            wire,
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
            suspect_since: None,
            ping: None,
            next_ping_at: now,
            manage_deadline: None,
            is_leaving: false,
        }
    }

    /// Hands everything to the socket that it takes.
    pub(crate) fn pump<B: AsRef<[u8]> + AsMut<[u8]>>(
        &mut self,
        path: u8,
        slots: &mut Slots<B>,
        now: Instant,
    ) -> Result<(), WireError> {
        loop {
            while self.wire.has_room()
                && let Some(pdu) = self.session.next_pdu()
            {
                if let Some(user) = pdu.started {
                    let slot = slots.get_mut(user);
                    slot.place = CommandState::Sent { path };
                    slot.sent_at = now;
                    slot.last_path = Some(path);
                    slot.attempts += 1;
                }
                self.wire.push(pdu, slots);
            }
            if !self.wire.flush(slots)? || !self.session.wants_to_send() {
                return Ok(());
            }
        }
    }

    /// Takes what the socket has; true if that was anything.
    pub(crate) fn receive<B: AsRef<[u8]> + AsMut<[u8]>>(
        &mut self,
        blocking: Blocking,
        slots: &mut Slots<B>,
        events: &mut Vec<SessionEvent>,
    ) -> Result<bool, WireError> {
        let mut sink = SessionSink { session: &mut self.session, slots, events };
        Ok(self.wire.receive(blocking, &mut sink)? > 0)
    }

    /// Sends a ping when it is time; an error when one was not answered and nothing else came either.
    pub(crate) fn keep_alive(&mut self, now: Instant, interval: Duration, limit: Duration) -> Result<(), ()> {
        if let Some((_, sent_at)) = self.ping {
            // A target that sends anything is alive, even if its answer waits behind much data.
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

    /// Takes the answer to a ping; the round trip if it was ours.
    pub(crate) fn on_pong(&mut self, itt: u32, now: Instant) -> Option<Duration> {
        let (_, sent_at) = self.ping.take_if(|(ping, _)| *ping == itt)?;
        Some(now.duration_since(sent_at))
    }
}

struct SessionSink<'a, B> {
    session: &'a mut Session,
    slots: &'a mut Slots<B>,
    events: &'a mut Vec<SessionEvent>,
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Sink for SessionSink<'_, B> {
    fn header(&mut self, bhs: &Bhs) -> Result<Placement, WireError> {
        Ok(self.session.on_header(bhs)?.placement)
    }

    fn incoming(&mut self, user: u32, start: u32, end: u32) -> &mut [u8] {
        self.slots.incoming(user, start, end)
    }

    fn complete(&mut self, bhs: &Bhs, control: &[u8]) -> Result<Flow, WireError> {
        let response = Response::decode(bhs).map_err(crate::session::SessionError::from)?;
        self.session.on_pdu(&response, control, self.events)?;
        Ok(Flow::Continue)
    }
}
