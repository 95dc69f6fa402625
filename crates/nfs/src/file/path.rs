//! One connection to the server: its socket, timers and counters.

use std::net::TcpStream;
use std::time::Instant;

use assay_tcp::{Backoff, Blocking, Connecting, PathStats};

use super::table::{CallState, Owner, Tables};
use crate::error::IoError;
use crate::nfs3::{self, Written};
use crate::rpc::{Refusal, read_reply};
use crate::transport::{Head, Rx, Sink, Tx, WireError};
use crate::xdr::XdrError;

/// Number of consecutive records that answer no call: more than a path can have calls in flight.
const STRAYS_MAX: u32 = 8192;

/// Bytes of a reply after which a connection counts as alive although the reply is not complete: three packets.
const PROGRESS_BYTES: usize = 4096;

/// An established connection.
#[derive(Debug)]
pub(crate) struct Wire {
    pub stream: TcpStream,
    pub tx: Tx,
    pub rx: Rx,
    /// Time of the last answer, or of as many bytes of one as show that the rest follows.
    pub received_at: Instant,
    /// Number of bytes since then.
    pub trickled_bytes: usize,
    /// Number of consecutive records that answered no call.
    pub stray_count: u32,
    /// The ping in flight.
    pub ping: Option<u32>,
    pub next_ping_at: Instant,
}

/// State of a connection.
#[derive(Debug)]
pub(crate) enum State {
    Down { retry_at: Instant },
    Connecting { connecting: Connecting, deadline: Instant },
    Up(Box<Wire>),
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Path {
    pub index: u8,
    pub state: State,
    /// Local port of the last connection, to be used again.
    pub port: Option<u16>,
    /// True if it was up before.
    pub was_up: bool,
    pub attempts: u32,
    pub backoff: Backoff,
    pub last_error: Option<String>,
    pub stats: PathStats,
}

impl Path {
    pub(crate) fn new(index: u8, now: Instant) -> Self {
        Self {
            index,
            state: State::Down { retry_at: now },
            port: None,
            was_up: false,
            attempts: 0,
            backoff: Backoff::default(),
            last_error: None,
            stats: PathStats::default(),
        }
    }

    pub(crate) fn is_up(&self) -> bool {
        matches!(self.state, State::Up(_))
    }

    /// Returns the stream to poll, and whether to poll it for writing as well.
    pub(crate) fn interest(&self) -> Option<(&TcpStream, bool)> {
        match &self.state {
            State::Down { .. } => None,
            State::Connecting { connecting, .. } => Some((connecting.stream(), true)),
            State::Up(wire) => Some((&wire.stream, !wire.tx.is_empty())),
        }
    }
}

impl Wire {
    /// Receives what has arrived. Returns the number of bytes.
    pub(crate) fn receive<B: AsRef<[u8]> + AsMut<[u8]>>(
        &mut self,
        path: u8,
        blocking: Blocking,
        tables: &mut Tables<B>,
        answers: &mut Vec<(u32, Answer)>,
    ) -> Result<usize, WireError> {
        let mut replies = Replies { tables, path, answers, stray_count: &mut self.stray_count };
        self.rx.receive(&self.stream, blocking, &mut replies)
    }

    /// Records that data arrived, with so many answers complete. Answers that trickle do not show that the connection is
    /// alive: it would keep its calls for their limit, while another one is idle.
    pub(crate) fn heard(&mut self, bytes: usize, answers: usize, now: Instant) {
        self.trickled_bytes = self.trickled_bytes.saturating_add(bytes);
        if answers > 0 || self.trickled_bytes >= PROGRESS_BYTES {
            (self.received_at, self.trickled_bytes) = (now, 0);
        }
    }

    /// Resets the connection, so that none of its data can arrive later.
    pub(crate) fn abandon(self) {
        assay_tcp::abandon(self.stream);
    }
}

/// Answer of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Read { bytes: u32, is_end: bool },
    Written(Written),
    Committed(nfs3::Verifier),
    Pong,
    Status(nfs3::NfsStatus),
    Refused(Refusal),
}

impl Answer {
    /// Returns the error, if the answer is one.
    pub(crate) fn error(&self) -> Option<IoError> {
        match self {
            Self::Status(status) => Some(IoError::Status(*status)),
            Self::Refused(refusal) => Some(IoError::Refused(*refusal)),
            _ => None,
        }
    }
}

/// Parses records: each call is answered at most once, whatever the server sends.
struct Replies<'r, B> {
    tables: &'r mut Tables<B>,
    path: u8,
    answers: &'r mut Vec<(u32, Answer)>,
    stray_count: &'r mut u32,
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Replies<'_, B> {
    /// Returns the call that a record answers; `None` if the call was given up meanwhile.
    fn call_of(&mut self, record: &[u8]) -> Result<Option<u32>, WireError> {
        let xid = crate::xdr::Reader::new(record).u32("the head of a reply")?;
        let Some(call) = self.tables.find(xid, self.path) else { return Ok(None) };
        match self.tables.call(call).place {
            CallState::Queued { .. } => Err(WireError::TooEarly),
            _ => Ok(Some(call)),
        }
    }

    /// Counts a record that answers no call. A few are late answers; an endless series is a protocol violation.
    fn stray(&mut self) -> Result<(), WireError> {
        *self.stray_count += 1;
        if *self.stray_count > STRAYS_MAX {
            Err(WireError::Strays { count: *self.stray_count })
        } else {
            Ok(())
        }
    }

    fn answer(&mut self, call: u32, answer: Answer) {
        *self.stray_count = 0;
        self.tables.call(call).place = CallState::Answered;
        self.answers.push((call, answer));
    }

    /// Returns the head of an answer to a READ.
    fn read_head(&mut self, call: u32, beginning: &[u8]) -> Result<Head, WireError> {
        let Ok(at) = read_reply(beginning)?.results else { return Ok(Head::Whole) };
        let Ok(head) = nfs3::read_head(&beginning[at..])? else { return Ok(Head::Whole) };
        let most = self.tables.call(call).bytes;
        if head.bytes > most {
            return Err(WireError::TooMuchData { bytes: head.bytes, most });
        }
        self.tables.call(call).announced = (head.bytes, head.is_end);
        Ok(Head::Data { call, at: assay_tcp::u32_of(at + head.data_at), bytes: head.bytes })
    }

    /// Returns the answer to a READ that arrived in several fragments.
    fn gathered_read(&mut self, call: u32, record: &[u8]) -> Result<Option<Answer>, WireError> {
        let Head::Data { at, bytes, .. } = self.read_head(call, record)? else { return Ok(None) };
        let mut reader = crate::xdr::Reader::new(&record[at as usize..]);
        let data = reader.fixed(bytes as usize, "the data of a read")?;
        reader.fixed(crate::xdr::padding(bytes) as usize, "the data of a read")?;
        reader.end()?;
        self.tables.place_of(call, 0, bytes).copy_from_slice(data);
        let (bytes, is_end) = self.tables.call(call).announced;
        Ok(Some(Answer::Read { bytes, is_end }))
    }

    fn short_answer(&mut self, call: u32, results: &[u8]) -> Result<Answer, WireError> {
        let kind = self.tables.call(call).kind;
        let answer = match (self.tables.call(call).owner, kind) {
            (Owner::Ping, _) => Ok(Answer::Pong),
            (Owner::Commit, _) => nfs3::committed(results)?.map(Answer::Committed),
            (_, super::Kind::Write) => nfs3::written(results)?.map(Answer::Written),
            (_, super::Kind::Read) => match nfs3::read_head(results)? {
                Err(status) => Err(status),
                Ok(_) => unreachable!("answers with data are gathered"),
            },
        };
        Ok(answer.unwrap_or_else(Answer::Status))
    }
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Sink for Replies<'_, B> {
    fn head(&mut self, beginning: &[u8], is_all: bool) -> Result<Head, WireError> {
        if beginning.len() < 4 && !is_all {
            return Ok(Head::More);
        }
        let Some(call) = self.call_of(beginning)? else { return Ok(Head::Whole) };
        let is_read = matches!(self.tables.call(call).owner, Owner::Io { .. })
            && self.tables.call(call).kind == super::Kind::Read;
        if !is_read {
            return Ok(Head::Whole);
        }
        match self.read_head(call, beginning) {
            Err(WireError::Protocol(XdrError::Short { .. })) if !is_all => Ok(Head::More),
            result => result,
        }
    }

    fn place(&mut self, call: u32, start: u32, end: u32) -> &mut [u8] {
        self.tables.place_of(call, start, end)
    }

    fn filled(&mut self, call: u32) {
        let (bytes, is_end) = self.tables.call(call).announced;
        self.answer(call, Answer::Read { bytes, is_end });
    }

    fn whole(&mut self, record: &[u8]) -> Result<(), WireError> {
        let Some(call) = self.call_of(record)? else { return self.stray() };
        let answer = match read_reply(record)?.results {
            Err(refusal) => Answer::Refused(refusal),
            Ok(at) => {
                let is_read = matches!(self.tables.call(call).owner, Owner::Io { .. })
                    && self.tables.call(call).kind == super::Kind::Read;
                let gathered = if is_read { self.gathered_read(call, record)? } else { None };
                match gathered {
                    Some(answer) => answer,
                    None => self.short_answer(call, &record[at..])?,
                }
            }
        };
        self.answer(call, answer);
        Ok(())
    }
}
