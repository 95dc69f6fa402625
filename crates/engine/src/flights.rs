//! The slots of a worker: which are free, which I/Os are in flight in the others, and when a member has to be reopened.
//!
//! A slot has a tag and a buffer. Under Iometer semantics a slot always belongs to one member (the depth is per member)
//! and freed slots queue up; under Assay semantics members take turns. With `reconnect_every` N a member accepts no new
//! I/Os once N were started on it, and is reopened when the last of them has completed.

use std::collections::VecDeque;

use assay_spec::{Job, Semantics};
use assay_target::{IoBuf, OpKind};

use crate::planner::Draw;

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
    /// Time at which it was due, ns; 0 if it is due whenever it is issued.
    intended_ns: u64,
    pub(crate) offset_bytes: u64,
    pub(crate) size_bytes: u32,
    /// Index of the access line in the mix.
    pub(crate) access: u32,
    pub(crate) member: u32,
    pub(crate) kind: OpKind,
    /// Whether it was started in the measured window.
    pub(crate) counting: Counting,
    pub(crate) role: Role,
    stage: Stage,
}

impl Flight {
    /// Returns what was issued.
    pub(crate) fn draw(&self) -> Draw {
        let Self { access, kind, size_bytes, offset_bytes, .. } = *self;
        Draw { access, kind, size_bytes, offset_bytes }
    }
}

/// State of the slot of an I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Nothing: the I/O has completed, or there was none.
    Idle,
    /// The I/O is in flight.
    Active,
    /// Under Iometer semantics: the slot waits for its turn and then sends the reply to its last I/O.
    OwesReply,
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
    stage: Stage::Idle,
};

/// A slot: its last I/O, and its buffer unless that is in flight. One cache line.
#[repr(align(64))]
struct Slot {
    flight: Flight,
    buffer: Option<IoBuf>,
}

const _: () = assert!(size_of::<Slot>() == 64);

/// The I/Os since a member was last opened.
#[derive(Debug, Clone, Copy, Default)]
struct Connection {
    started: u32,
    in_flight: u32,
    /// Number of replies still to be issued: an I/O ends with its reply.
    owed: u32,
    is_closing: bool,
}

/// Counts of a job that reopens its members.
struct Connections {
    /// Number of I/Os after which a member is reopened.
    every: u32,

    /// By member.
    members: Vec<Connection>,
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
    /// Number of members.
    members: u32,

    slots: Vec<Slot>,
    free: VecDeque<u32>,
    /// `None` if members are never reopened: then nothing is counted for it.
    connections: Option<Connections>,
    /// Free slots whose member is closing, or has had its bytes.
    parked: VecDeque<u32>,
    next_member: u32,
    /// Bytes that each member still gets; empty where a load ends by other limits alone.
    left_bytes: Vec<u64>,
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
        let connections = |every| Connections { every, members: vec![Connection::default(); members] };
        let slot = |buffer| Slot { flight: GROUNDED, buffer: Some(buffer) };
        Self {
            binding,
            members: u32::try_from(members).expect("members are few"),
            slots: buffers.into_iter().map(slot).collect(),
            free: (0..u32::try_from(depth).expect("the plan bounds the depth")).collect(),
            connections: reconnect_every.map(connections),
            parked: VecDeque::with_capacity(depth),
            next_member: 0,
            left_bytes: Vec::new(),
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
        self.active().map(|flight| flight.issued_ns).min()
    }

    /// Returns the I/Os in flight.
    fn active(&self) -> impl Iterator<Item = &Flight> {
        self.slots.iter().map(|slot| &slot.flight).filter(|flight| flight.stage == Stage::Active)
    }

    pub(crate) fn has_free(&self) -> bool {
        !self.free.is_empty()
    }

    /// Takes a free slot of an open member that still gets bytes; returns its tag and the member whose turn it is. The
    /// turn is over once a request has begun: whoever returns the slot instead returns the turn, too.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<(u32, u32)> {
        if self.connections.is_some() || !self.left_bytes.is_empty() {
            return self.take_of_open_member();
        }
        let tag = self.free.pop_front()?;
        if self.binding == Binding::PerMember {
            return Some((tag, tag % self.members));
        }
        Some((tag, self.next_member))
    }

    #[cold]
    fn take_of_open_member(&mut self) -> Option<(u32, u32)> {
        match self.binding {
            Binding::PerMember => loop {
                let tag = self.free.pop_front()?;
                let member = tag % self.members;
                if !self.is_closing(member) && self.is_served(member) {
                    return Some((tag, member));
                }
                self.parked.push_back(tag);
            },
            Binding::Shared => {
                let mut member = self.next_member;
                for _ in 0..self.members {
                    if !self.is_closing(member) && self.is_served(member) {
                        return Some((self.free.pop_front()?, member));
                    }
                    member = self.following(member);
                }
                None
            }
        }
    }

    /// Returns the member whose turn is after that of `member`.
    #[inline]
    fn following(&self, member: u32) -> u32 {
        if member + 1 == self.members { 0 } else { member + 1 }
    }

    /// Gives each member so many bytes from now on: one that had them loses its turns to the others.
    pub(crate) fn limit(&mut self, bytes: &[u64]) {
        self.left_bytes = bytes.to_vec();
    }

    fn is_served(&self, member: u32) -> bool {
        self.left_bytes.get(member as usize).is_none_or(|left| *left > 0)
    }

    fn is_closing(&self, member: u32) -> bool {
        self.connections.as_ref().is_some_and(|of| of.members[member as usize].is_closing)
    }

    /// Frees a slot that was taken and not used.
    pub(crate) fn put_back(&mut self, tag: u32) {
        self.free.push_front(tag);
    }

    #[inline]
    pub(crate) fn buffer(&mut self, tag: u32) -> IoBuf {
        self.slots[tag as usize].buffer.take().expect("a slot without an I/O in flight holds its buffer")
    }

    /// Starts an I/O in a taken slot; [`Flights::issued`] adds its issue time.
    #[inline]
    pub(crate) fn begin(&mut self, tag: u32, flight: Flight) {
        if let Some(connections) = &mut self.connections {
            connections.begin(flight.member, flight.role);
        }
        if flight.role == Role::Request {
            self.next_member = self.following(flight.member);
        }
        if !self.left_bytes.is_empty() && flight.role != Role::Flush {
            let left = &mut self.left_bytes[flight.member as usize];
            *left = left.saturating_sub(u64::from(flight.size_bytes));
        }
        self.in_flight += 1;
        self.counting_off_in_flight += u32::from(flight.counting == Counting::Off);
        self.slots[tag as usize].flight = Flight { stage: Stage::Active, ..flight };
    }

    /// Records when an I/O was issued.
    #[inline]
    pub(crate) fn issued(&mut self, tag: u32, now_ns: u64) {
        self.slots[tag as usize].flight.issued_ns = now_ns;
    }

    /// Ends an I/O and returns it. The slot stays occupied until [`Flights::release`].
    // Two loops end I/Os, so the compiler would call it: 3 % of what the null target can do.
    #[inline(always)]
    pub(crate) fn end(&mut self, tag: u32, buf: IoBuf) -> Flight {
        let slot = &mut self.slots[tag as usize];
        slot.flight.stage = Stage::Idle;
        slot.buffer = Some(buf);
        let flight = slot.flight;
        self.in_flight -= 1;
        self.counting_off_in_flight -= u32::from(flight.counting == Counting::Off);
        if let Some(connections) = &mut self.connections {
            connections.members[flight.member as usize].in_flight -= 1;
        }
        flight
    }

    #[inline]
    pub(crate) fn release(&mut self, tag: u32) {
        self.free.push_back(tag);
    }

    /// Records that the completed I/O in a slot is to be followed by a reply, which keeps the slot.
    pub(crate) fn owe(&mut self, tag: u32) {
        if let Some(connection) = self.connection_of(tag) {
            connection.owed += 1;
        }
    }

    /// Frees a slot whose pending reply will not be issued any more.
    pub(crate) fn forgive(&mut self, tag: u32) {
        if let Some(connection) = self.connection_of(tag) {
            connection.owed -= 1;
        }
        self.release(tag);
    }

    /// Returns the counts of the member of a slot's last I/O, if members are reopened.
    fn connection_of(&mut self, tag: u32) -> Option<&mut Connection> {
        let member = self.slots[tag as usize].flight.member;
        self.connections.as_mut().map(|of| &mut of.members[member as usize])
    }

    /// Records that the completed I/O in a slot is to be followed by a reply when the turn of the slot comes, as in
    /// Iometer. A closing member sends it after it was reopened.
    pub(crate) fn queue_reply(&mut self, tag: u32) {
        self.slots[tag as usize].flight.stage = Stage::OwesReply;
        self.replies_queued += 1;
        self.release(tag);
    }

    /// Returns true if a slot waits for its turn to send a reply.
    #[inline]
    pub(crate) fn has_replies_queued(&self) -> bool {
        self.replies_queued > 0
    }

    /// Takes the slot whose turn it is, if it has to send a reply and its member is open.
    pub(crate) fn take_reply(&mut self) -> Option<u32> {
        while let Some(tag) = self.free.front().copied() {
            if self.is_closing(tag % self.members) {
                self.free.pop_front();
                self.parked.push_back(tag);
                continue;
            }
            return self.owes_reply(tag).then(|| self.take_reply_at(0));
        }
        None
    }

    /// Takes the first slot that has to send a reply and whose member is open, for times in which no requests may be
    /// issued.
    pub(crate) fn take_any_reply(&mut self) -> Option<u32> {
        let is_ready = |tag: &u32| self.owes_reply(*tag) && !self.is_closing(*tag % self.members);
        let index = self.free.iter().position(is_ready)?;
        Some(self.take_reply_at(index))
    }

    fn owes_reply(&self, tag: u32) -> bool {
        self.slots[tag as usize].flight.stage == Stage::OwesReply
    }

    fn take_reply_at(&mut self, index: usize) -> u32 {
        let tag = self.free.remove(index).expect("the caller has found it there");
        self.slots[tag as usize].flight.stage = Stage::Idle;
        if let Some(connection) = self.connection_of(tag) {
            connection.owed += 1;
        }
        self.replies_queued -= 1;
        tag
    }

    /// Drops the queued replies, which will not be issued any more.
    pub(crate) fn forgive_queued(&mut self) {
        for slot in &mut self.slots {
            if slot.flight.stage == Stage::OwesReply {
                slot.flight.stage = Stage::Idle;
            }
        }
        self.replies_queued = 0;
    }

    /// Stores the buffer of a slot whose I/O the target did not accept.
    pub(crate) fn keep(&mut self, tag: u32, buf: IoBuf) {
        self.slots[tag as usize].buffer = Some(buf);
    }

    pub(crate) fn buffer_mut(&mut self, tag: u32) -> &mut IoBuf {
        self.slots[tag as usize].buffer.as_mut().expect("a landed slot holds its buffer")
    }

    /// Returns true if `member` has to be reopened now: it is closing, and nothing is in flight or pending on it.
    #[inline]
    pub(crate) fn wants_reopen(&self, member: u32) -> bool {
        self.connections.as_ref().is_some_and(|of| of.wants_reopen(member))
    }

    /// Frees the parked slots of `member`, in their order, after it was reopened.
    pub(crate) fn reopened(&mut self, member: u32) {
        if let Some(connections) = &mut self.connections {
            connections.members[member as usize] = Connection::default();
        }
        self.unpark(member);
    }

    /// Gives the bytes of an I/O that does not count back to its member.
    pub(crate) fn give_back(&mut self, flight: &Flight) {
        let Some(left) = self.left_bytes.get_mut(flight.member as usize) else { return };
        *left += u64::from(flight.size_bytes);
        self.unpark(flight.member);
    }

    /// Frees the parked slots of `member`, in their order.
    fn unpark(&mut self, member: u32) {
        for _ in 0..self.parked.len() {
            let Some(tag) = self.parked.pop_front() else { return };
            let is_of_member = tag % self.members == member;
            if is_of_member { self.free.push_back(tag) } else { self.parked.push_back(tag) }
        }
    }

    /// Returns the last completed I/O of a slot that is still occupied.
    pub(crate) fn landed(&self, tag: u32) -> Flight {
        self.slots[tag as usize].flight
    }

    /// Returns true if an I/O would share bytes with one in flight, and one of the two writes.
    pub(crate) fn conflicts(&self, member: u32, kind: OpKind, offset_bytes: u64, size_bytes: u32) -> bool {
        let end = offset_bytes + u64::from(size_bytes);
        self.active().any(|f| {
            f.member == member
                && (kind.changes() || f.kind.changes())
                && f.offset_bytes < end
                && offset_bytes < f.offset_bytes + u64::from(f.size_bytes)
        })
    }
}

impl Connections {
    #[cold]
    fn begin(&mut self, member: u32, role: Role) {
        let connection = &mut self.members[member as usize];
        connection.in_flight += 1;
        match role {
            Role::Request => {
                connection.started += 1;
                connection.is_closing = connection.started >= self.every;
            }
            Role::Reply => connection.owed -= 1,
            Role::Flush => {}
        }
    }

    #[cold]
    fn wants_reopen(&self, member: u32) -> bool {
        let connection = self.members[member as usize];
        connection.is_closing && connection.in_flight == 0 && connection.owed == 0
    }
}

impl Flight {
    /// Returns the time at which it was due, ns.
    #[inline]
    pub(crate) fn due_ns(&self) -> u64 {
        if self.intended_ns == 0 { self.issued_ns } else { self.intended_ns }
    }

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
        Semantics::Assay | Semantics::Fio => job.outstanding,
        Semantics::Iometer => job.outstanding * members,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let buf = flights.slots[tag as usize].buffer.take().unwrap_or_else(|| IoBuf::new(tag, 512));
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
        shared.slots[0].flight.kind = OpKind::Read;
        assert!(!shared.conflicts(0, OpKind::Read, 0, 512) && shared.conflicts(0, OpKind::Write, 0, 512));
    }
}
