//! What happens in a run, and its order in virtual time.

use assay_iscsi::login::Negotiated;

use crate::storage::{Pdu, Wake};
use crate::time::Nanos;

/// Something that happens at a time. Paths are counted over all initiators.
#[derive(Debug)]
pub(crate) enum Event {
    Tick,
    Fault,
    Think,
    /// A request to connect reaches a portal.
    Syn {
        path: u8,
        epoch: u32,
        port: usize,
        isid: [u8; 6],
        /// Time after which it is sent again if it is lost.
        again: Nanos,
    },
    Refused {
        path: u8,
        epoch: u32,
    },
    /// The TCP connection is there, as the client sees it.
    Connected {
        path: u8,
        epoch: u32,
        port: usize,
        isid: [u8; 6],
    },
    /// The login request reaches the target.
    LogIn {
        path: u8,
        epoch: u32,
        port: usize,
        isid: [u8; 6],
    },
    LoggedIn {
        path: u8,
        epoch: u32,
        port: usize,
        conn: u32,
        agreed: Box<Negotiated>,
    },
    LoginRefused {
        path: u8,
        epoch: u32,
    },
    Redirected {
        path: u8,
        epoch: u32,
        port: usize,
    },
    ToTarget {
        path: u8,
        epoch: u32,
        conn: u32,
        port: usize,
        pdu: Pdu,
        /// Lost in a cut: the client sends it again, if it still has the connection.
        is_lost: bool,
    },
    ToClient {
        conn: u32,
        port: usize,
        pdu: Pdu,
    },
    HungUpByClient {
        conn: u32,
    },
    HungUpByTarget {
        conn: u32,
        port: usize,
    },
    Storage(Wake),
    WindowOpens {
        port: usize,
    },
}

/// An event with its time; those of one time keep their order.
#[derive(Debug)]
pub(crate) struct Timed {
    pub(crate) at: Nanos,
    pub(crate) number: u64,
    pub(crate) event: Event,
}

impl PartialEq for Timed {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.number) == (other.at, other.number)
    }
}

impl Eq for Timed {}

impl PartialOrd for Timed {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timed {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}
