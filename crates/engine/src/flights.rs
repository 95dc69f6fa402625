//! The slots of a worker: which are free, which I/Os are in flight in the others, and when a member has to be reopened.
//!
//! A slot has a tag and a buffer. Under Iometer semantics a slot always belongs to one member (the depth is per member)
//! and freed slots queue up; under Assay semantics members take turns. With `reconnect_every` N a member accepts no new
//! I/Os once N were started on it, and is reopened when the last of them has completed.

use std::collections::VecDeque;

use assay_spec::{Job, Semantics};
use assay_target::{IoBuf, OpKind};

/// Whether an I/O belongs to the mix, or is the reply to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Request,
    Reply,
    /// A flush between writes; not part of the mix.
    Flush,
}

/// Whether the measured window has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counting {
    Off,
    On,
}

/// An I/O in flight.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flight {
    pub(crate) issued_ns: u64,
    /// Time at which it was due, ns; equal to `issued_ns` in a closed loop.
    pub(crate) intended_ns: u64,
    pub(crate) offset_bytes: u64,
    pub(crate) size_bytes: u32,
    /// Index of the access line in the mix.
    pub(crate) access: u32,
    pub(crate) member: u32,
    pub(crate) kind: OpKind,
    /// Whether it was started in the measured window.
    pub(crate) counting: Counting,
    pub(crate) role: Role,
    is_active: bool,
    /// Under Iometer semantics: the slot waits for its turn and then sends the reply to its last I/O.
    owes_reply: bool,
}

const GROUNDED: Flight = Flight {
    issued_ns: 0,
    intended_ns: 0,
    offset_bytes: 0,
    size_bytes: 0,
    access: 0,
    member: 0,
    kind: OpKind::Read,
    counting: Counting::Off,
    role: Role::Request,
    is_active: false,
    owes_reply: false,
};

/// The I/Os since a member was last opened.
#[derive(Debug, Clone, Copy, Default)]
struct Connection {
    started: u32,
    in_flight: u32,
    /// Number of replies still to be issued: an I/O ends with its reply.
    owed: u32,
    is_closing: bool,
}

/// Whether slots belong to members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Binding {
    /// Slot i belongs to member i modulo the number of members.
    PerMember,
    /// Any slot serves any member; members take turns.
    Shared,
}

pub(crate) struct Flights {
    binding: Binding,
    /// `u32::MAX` for never.
    reconnect_every: u32,

    flights: Vec<Flight>,
    buffers: Vec<Option<IoBuf>>,
    free: VecDeque<u32>,
    /// Free slots whose member is closing.
    parked: VecDeque<u32>,
    connections: Vec<Connection>,
    next_member: u32,
    in_flight: u32,
    counting_off_in_flight: u32,
    /// Slots that wait for their turn to send a reply.
    replies_queued: u32,
}

impl Flights {
    pub(crate) fn new(
        buffers: Vec<IoBuf>,
        members: usize,
        binding: Binding,
        reconnect_every: Option<u32>,
    ) -> Self {
        let depth = buffers.len();
        Self {
            binding,
            reconnect_every: reconnect_every.unwrap_or(u32::MAX),
            flights: vec![GROUNDED; depth],
            buffers: buffers.into_iter().map(Some).collect(),
            free: (0..u32::try_from(depth).expect("the plan bounds the depth")).collect(),
            parked: VecDeque::with_capacity(depth),
            connections: vec![Connection::default(); members],
            next_member: 0,
            in_flight: 0,
            counting_off_in_flight: 0,
            replies_queued: 0,
        }
    }

    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Returns the number of I/Os in flight that were started before counting began.
    pub(crate) fn uncounted_in_flight(&self) -> u32 {
        self.counting_off_in_flight
    }

    /// Returns the time at which the oldest I/O in flight was issued, ns; `None` if nothing is in flight.
    pub(crate) fn oldest_ns(&self) -> Option<u64> {
        self.flights.iter().filter(|flight| flight.is_active).map(|flight| flight.issued_ns).min()
    }

    pub(crate) fn has_free(&self) -> bool {
        !self.free.is_empty()
    }

    /// Takes a free slot of an open member; returns its tag and the member.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<(u32, u32)> {
        let members = u32::try_from(self.connections.len()).expect("members are few");
        match self.binding {
            Binding::PerMember => loop {
                let tag = self.free.pop_front()?;
                let member = tag % members;
                if !self.connections[member as usize].is_closing {
                    return Some((tag, member));
                }
                self.parked.push_back(tag);
            },
            Binding::Shared => {
                let mut member = self.next_member;
                for _ in 0..members {
                    let following = if member + 1 == members { 0 } else { member + 1 };
                    if !self.connections[member as usize].is_closing {
                        let tag = self.free.pop_front()?;
                        self.next_member = following;
                        return Some((tag, member));
                    }
                    member = following;
                }
                None
            }
        }
    }

    /// Frees a slot that was taken and not used.
    pub(crate) fn put_back(&mut self, tag: u32, buf: IoBuf) {
        self.buffers[tag as usize] = Some(buf);
        self.free.push_front(tag);
    }

    #[inline]
    pub(crate) fn buffer(&mut self, tag: u32) -> IoBuf {
        self.buffers[tag as usize].take().expect("a free slot holds its buffer")
    }

    /// Starts an I/O in a taken slot; [`Flights::issued`] adds its issue time.
    #[inline]
    pub(crate) fn begin(&mut self, tag: u32, flight: Flight) {
        let connection = &mut self.connections[flight.member as usize];
        connection.in_flight += 1;
        match flight.role {
            Role::Request => {
                connection.started += 1;
                connection.is_closing = connection.started >= self.reconnect_every;
            }
            Role::Reply => connection.owed -= 1,
            Role::Flush => {}
        }
        self.in_flight += 1;
        self.counting_off_in_flight += u32::from(flight.counting == Counting::Off);
        self.flights[tag as usize] = Flight { is_active: true, ..flight };
    }

    /// Records when an I/O was issued, which is also its due time unless it has its own.
    #[inline]
    pub(crate) fn issued(&mut self, tag: u32, now_ns: u64) {
        let flight = &mut self.flights[tag as usize];
        flight.issued_ns = now_ns;
        if flight.intended_ns == 0 {
            flight.intended_ns = now_ns;
        }
    }

    /// Ends an I/O and returns it. The slot stays occupied until [`Flights::release`].
    // Two loops end I/Os, so the compiler would call it: 3 % of what the null target can do.
    #[inline(always)]
    pub(crate) fn end(&mut self, tag: u32, buf: IoBuf) -> Flight {
        let flight = &mut self.flights[tag as usize];
        flight.is_active = false;
        self.connections[flight.member as usize].in_flight -= 1;
        self.in_flight -= 1;
        self.counting_off_in_flight -= u32::from(flight.counting == Counting::Off);
        self.buffers[tag as usize] = Some(buf);
        *flight
    }

    #[inline]
    pub(crate) fn release(&mut self, tag: u32) {
        self.free.push_back(tag);
    }

    /// Records that the completed I/O in a slot is to be followed by a reply, which keeps the slot.
    pub(crate) fn owe(&mut self, tag: u32) {
        self.connections[self.flights[tag as usize].member as usize].owed += 1;
    }

    /// Frees a slot whose pending reply will not be issued any more.
    pub(crate) fn forgive(&mut self, tag: u32) {
        self.connections[self.flights[tag as usize].member as usize].owed -= 1;
        self.release(tag);
    }

    /// Records that the completed I/O in a slot is to be followed by a reply when the turn of the slot comes, as in
    /// Iometer. A closing member sends it after it was reopened.
    pub(crate) fn queue_reply(&mut self, tag: u32) {
        self.flights[tag as usize].owes_reply = true;
        self.replies_queued += 1;
        self.release(tag);
    }

    /// Returns true if a slot waits for its turn to send a reply.
    pub(crate) fn has_replies_queued(&self) -> bool {
        self.replies_queued > 0
    }

    /// Takes the slot whose turn it is, if it has to send a reply and its member is open.
    pub(crate) fn take_reply(&mut self) -> Option<u32> {
        while let Some(tag) = self.free.front().copied() {
            let member = tag as usize % self.connections.len();
            if self.connections[member].is_closing {
                self.free.pop_front();
                self.parked.push_back(tag);
                continue;
            }
            return self.flights[tag as usize].owes_reply.then(|| self.take_reply_at(0));
        }
        None
    }

    /// Takes the first slot that has to send a reply and whose member is open, for times in which no requests may be
    /// issued.
    pub(crate) fn take_any_reply(&mut self) -> Option<u32> {
        let members = self.connections.len();
        let is_ready = |tag: &u32| {
            self.flights[*tag as usize].owes_reply && !self.connections[*tag as usize % members].is_closing
        };
        let index = self.free.iter().position(is_ready)?;
        Some(self.take_reply_at(index))
    }

    fn take_reply_at(&mut self, index: usize) -> u32 {
        let tag = self.free.remove(index).expect("the caller has found it there");
        let flight = &mut self.flights[tag as usize];
        flight.owes_reply = false;
        self.connections[flight.member as usize].owed += 1;
        self.replies_queued -= 1;
        tag
    }

    /// Drops the queued replies, which will not be issued any more.
    pub(crate) fn forgive_queued(&mut self) {
        self.flights.iter_mut().for_each(|flight| flight.owes_reply = false);
        self.replies_queued = 0;
    }

    /// Stores the buffer of a slot that stays occupied.
    pub(crate) fn keep(&mut self, tag: u32, buf: IoBuf) {
        self.buffers[tag as usize] = Some(buf);
    }

    pub(crate) fn buffer_mut(&mut self, tag: u32) -> &mut IoBuf {
        self.buffers[tag as usize].as_mut().expect("a landed slot holds its buffer")
    }

    /// Returns true if `member` has to be reopened now: it is closing, and nothing is in flight or pending on it.
    #[inline]
    pub(crate) fn wants_reopen(&self, member: u32) -> bool {
        let connection = self.connections[member as usize];
        connection.is_closing && connection.in_flight == 0 && connection.owed == 0
    }

    /// Frees the parked slots of `member`, in their order, after it was reopened.
    pub(crate) fn reopened(&mut self, member: u32) {
        self.connections[member as usize] = Connection::default();
        for _ in 0..self.parked.len() {
            let Some(tag) = self.parked.pop_front() else { return };
            let is_of_member = tag as usize % self.connections.len() == member as usize;
            if is_of_member { self.free.push_back(tag) } else { self.parked.push_back(tag) }
        }
    }

    /// Returns the last completed I/O of a slot that is still occupied.
    pub(crate) fn landed(&self, tag: u32) -> Flight {
        self.flights[tag as usize]
    }

    /// Returns true if an I/O would share bytes with one in flight, and one of the two writes.
    pub(crate) fn conflicts(&self, member: u32, kind: OpKind, offset_bytes: u64, size_bytes: u32) -> bool {
        let end = offset_bytes + u64::from(size_bytes);
        self.flights.iter().any(|f| {
            f.is_active
                && f.member == member
                && (kind.changes() || f.kind.changes())
                && f.offset_bytes < end
                && offset_bytes < f.offset_bytes + u64::from(f.size_bytes)
        })
    }
}

impl Flight {
    /// Returns an I/O before it is issued. `intended_ns` is 0 if it is due whenever it is issued.
    pub(crate) fn new(
        draw: &crate::planner::Draw,
        member: u32,
        intended_ns: u64,
        counting: Counting,
        role: Role,
    ) -> Self {
        Self {
            intended_ns,
            offset_bytes: draw.offset_bytes,
            size_bytes: draw.size_bytes,
            access: draw.access,
            member,
            kind: draw.kind,
            counting,
            role,
            ..GROUNDED
        }
    }
}

/// Returns the number of slots of one worker: its outstanding I/Os, per member under Iometer semantics.
pub(crate) fn depth(semantics: Semantics, job: &Job, members: usize) -> u32 {
    let members = u32::try_from(members).expect("members are few");
    match semantics {
        Semantics::Assay => job.outstanding,
        Semantics::Iometer => job.outstanding * members,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planner::Draw;

    fn flights(depth: u32, members: usize, binding: Binding, reconnect_every: Option<u32>) -> Flights {
        let buffers = (0..depth).map(|slot| IoBuf::new(slot, 512)).collect();
        Flights::new(buffers, members, binding, reconnect_every)
    }

    fn fly(flights: &mut Flights) -> Option<(u32, u32)> {
        let (tag, member) = flights.take()?;
        let draw =
            Draw { access: 0, kind: OpKind::Write, size_bytes: 512, offset_bytes: u64::from(tag) * 512 };
        flights.begin(tag, Flight::new(&draw, member, 0, Counting::On, Role::Request));
        Some((tag, member))
    }

    fn land(flights: &mut Flights, tag: u32) {
        let buf = flights.buffers[tag as usize].take().unwrap_or_else(|| IoBuf::new(tag, 512));
        flights.end(tag, buf);
        flights.release(tag);
    }

    #[test]
    fn members_take_turns_when_slots_are_shared() {
        let mut shared = flights(4, 2, Binding::Shared, None);
        let members: Vec<u32> = std::iter::from_fn(|| fly(&mut shared).map(|(_, member)| member)).collect();
        assert_eq!(members, [0, 1, 0, 1]);
        assert_eq!(shared.in_flight(), 4);
    }

    #[test]
    fn a_member_is_drained_and_reopened_after_its_number_of_ios() {
        let mut one = flights(2, 1, Binding::PerMember, Some(3));
        assert_eq!((fly(&mut one), fly(&mut one), fly(&mut one)), (Some((0, 0)), Some((1, 0)), None));
        land(&mut one, 0);
        assert_eq!(fly(&mut one), Some((0, 0)));
        land(&mut one, 1);
        assert_eq!(fly(&mut one), None, "three were started: closed");
        assert!(!one.wants_reopen(0), "one is still in flight");
        land(&mut one, 0);
        assert!(one.wants_reopen(0));
        one.reopened(0);
        assert_eq!((fly(&mut one), fly(&mut one)), (Some((0, 0)), Some((1, 0))));
    }

    #[test]
    fn a_member_is_not_reopened_while_a_reply_is_owed() {
        let mut one = flights(2, 1, Binding::PerMember, Some(2));
        let (first, second) = (fly(&mut one).unwrap().0, fly(&mut one).unwrap().0);
        let end = |flights: &mut Flights, tag| {
            let buf = IoBuf::new(tag, 512);
            flights.end(tag, buf);
        };
        for tag in [first, second] {
            end(&mut one, tag);
            one.owe(tag);
        }
        assert!(!one.wants_reopen(0), "both replies are owed");
        let draw = Draw { access: 0, kind: OpKind::Read, size_bytes: 512, offset_bytes: 0 };
        one.begin(first, Flight::new(&draw, 0, 0, Counting::On, Role::Reply));
        end(&mut one, first);
        one.release(first);
        assert!(!one.wants_reopen(0), "one is still owed, though nothing is in flight");
        one.forgive(second);
        assert!(one.wants_reopen(0));
    }

    #[test]
    fn a_closing_member_does_not_delay_the_other() {
        for binding in [Binding::PerMember, Binding::Shared] {
            let mut two = flights(4, 2, binding, Some(2));
            let first: Vec<_> = (0..4).map(|_| fly(&mut two).unwrap()).collect();
            first.iter().filter(|(_, member)| *member == 1).for_each(|(tag, _)| land(&mut two, *tag));
            assert!(two.wants_reopen(1) && !two.wants_reopen(0));
            two.reopened(1);
            assert_eq!(fly(&mut two).map(|(_, member)| member), Some(1), "{binding:?}");
        }
    }

    #[test]
    fn overlap_counts_only_where_one_writes() {
        let mut shared = flights(2, 1, Binding::Shared, None);
        fly(&mut shared);
        assert!(shared.conflicts(0, OpKind::Read, 0, 1024) && shared.conflicts(0, OpKind::Write, 0, 512));
        assert!(!shared.conflicts(0, OpKind::Write, 512, 512));
        shared.flights[0].kind = OpKind::Read;
        assert!(!shared.conflicts(0, OpKind::Read, 0, 512) && shared.conflicts(0, OpKind::Write, 0, 512));
    }
}
