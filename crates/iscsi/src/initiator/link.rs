//! The connections of an initiator: sockets that are opened, log in, and carry the PDUs of the core.

use std::net::TcpStream;
use std::time::Instant;

use assay_tcp::{Blocking, Connecting};

use super::Initiator;
use crate::config::Config;
use crate::error::PathError;
use crate::login::LoginConfig;
use crate::multipath::{Action, Core, Input};
use crate::pdu::{Bhs, Response};
use crate::session::{Placement, Session, SessionError, SessionEvent};
use crate::slots::Slots;
use crate::transport::{Flow, LoggingIn, LoginFailure, LoginOutcome, Sink, Wire, WireError, resolve};

/// The connection of a path.
#[derive(Debug)]
pub(super) enum Link {
    Down,
    Connecting { portal: String, isid: [u8; 6], connecting: Connecting },
    LoggingIn { portal: String, login: Box<LoggingIn> },
    Up(Box<Wire>),
}

impl Link {
    /// Returns the established connection.
    pub(super) fn wire(&self) -> Option<&Wire> {
        match self {
            Self::Up(wire) => Some(wire),
            _ => None,
        }
    }

    /// Returns the stream to poll, and whether to poll it for writing as well.
    pub(super) fn interest(&self) -> Option<(&TcpStream, bool)> {
        match self {
            Self::Down => None,
            Self::Connecting { connecting, .. } => Some((connecting.stream(), true)),
            Self::LoggingIn { login, .. } => Some((login.wire().stream(), login.wire().wants_to_send())),
            Self::Up(wire) => Some((wire.stream(), wire.wants_to_send())),
        }
    }

    /// Closes the connection, so that none of its data can arrive later.
    pub(super) fn abandon(self) {
        if let Self::Up(wire) = self {
            wire.abandon();
        }
    }
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Initiator<B> {
    /// Does what the core wants done with the connections.
    #[inline]
    pub(super) fn act(&mut self, now: Instant) {
        while let Some(action) = self.core.next_action() {
            match action {
                Action::Close { path } => {
                    std::mem::replace(&mut self.links[usize::from(path)], Link::Down).abandon();
                }
                Action::Connect { path, portal, isid } => self.open(path, portal, isid, now),
            }
        }
    }

    fn open(&mut self, path: u8, portal: String, isid: [u8; 6], now: Instant) {
        match begin(&portal) {
            Ok(connecting) => {
                self.links[usize::from(path)] = Link::Connecting { portal, isid, connecting };
            }
            Err(error) => self.core.on(Input::Lost { path, error }, now),
        }
    }

    /// Advances a connection that is being opened: its socket is ready.
    pub(super) fn advance(&mut self, path: u8, now: Instant) {
        let at = usize::from(path);
        match std::mem::replace(&mut self.links[at], Link::Down) {
            Link::Connecting { portal, isid, connecting } => {
                match connected(&self.core.config, &portal, isid, connecting) {
                    Ok(login) => {
                        self.core.on(Input::Connected { path }, now);
                        self.log_in(path, portal, Box::new(login), now);
                    }
                    Err(error) => self.core.on(Input::Lost { path, error }, now),
                }
            }
            Link::LoggingIn { portal, login } => self.log_in(path, portal, login, now),
            link => self.links[at] = link,
        }
        self.act(now);
    }

    fn log_in(&mut self, path: u8, portal: String, login: Box<LoggingIn>, now: Instant) {
        let at = usize::from(path);
        match login.advance() {
            Ok(LoginOutcome::Pending(login)) => self.links[at] = Link::LoggingIn { portal, login },
            Ok(LoginOutcome::Redirect(portal)) => self.core.on(Input::Redirected { path, portal }, now),
            Ok(LoginOutcome::Done(wire, agreed)) => {
                self.links[at] = Link::Up(wire);
                self.core.on(Input::Up { path, agreed }, now);
                self.act(now);
                // Some targets send the first response together with the last login response.
                assay_tcp::receive_all(self, 1 << at, now);
            }
            Err(failure) => {
                self.core.on(Input::Lost { path, error: login_error(portal, failure) }, now);
            }
        }
    }

    /// Writes as much to the sockets as they accept.
    pub(super) fn pump_all(&mut self, now: Instant) {
        for path in 0..assay_tcp::u32_of(self.links.len()) {
            let path = u8::try_from(path).expect("at most 64 paths");
            let Link::Up(wire) = &mut self.links[usize::from(path)] else { continue };
            if !wire.wants_to_send() && !self.core.wants_to_send(path) {
                continue;
            }
            if let Err(error) = pump(&mut self.core, wire, path, now) {
                self.failed(path, &error, now);
            }
        }
        self.core.released(now);
        self.act(now);
    }

    pub(super) fn receive_up(&mut self, path: u8, blocking: Blocking, now: Instant) {
        let mut events = std::mem::take(&mut self.session_events);
        let Link::Up(wire) = &mut self.links[usize::from(path)] else { return };
        let Some((session, slots)) = self.core.session(path) else { return };
        let mut sink = SessionSink { session, slots, events: &mut events, pdus: 0 };
        let result = wire.receive(blocking, &mut sink);
        // After a blocking read the clock must be read again.
        let now = if blocking == Blocking::Sleep { Instant::now() } else { now };
        let pdus = sink.pdus;
        if let Ok(bytes @ 1..) = result {
            self.core.on(Input::Heard { path, bytes: assay_tcp::u32_of(bytes), pdus }, now);
        }
        // Events received before an error still count.
        for event in events.drain(..) {
            self.core.on(Input::Session { path, event }, now);
        }
        self.session_events = events;
        self.act(now);
        if let Err(error) = result {
            self.failed(path, &error, now);
            self.act(now);
        }
    }

    fn failed(&mut self, path: u8, error: &WireError, now: Instant) {
        // An event may have ended the connection already.
        if self.links[usize::from(path)].wire().is_some() {
            let portal = self.core.portal(path).to_owned();
            let error = PathError::Connection { portal, why: error.to_string() };
            self.core.on(Input::Lost { path, error }, now);
        }
    }
}

fn begin(portal: &str) -> Result<Connecting, PathError> {
    let address =
        resolve(portal).map_err(|source| PathError::Resolve { portal: portal.to_owned(), source })?;
    Connecting::begin(address).map_err(|source| PathError::Connect { portal: portal.to_owned(), source })
}

/// Starts the login if the TCP connection was established.
fn connected(
    config: &Config,
    portal: &str,
    isid: [u8; 6],
    connecting: Connecting,
) -> Result<LoggingIn, PathError> {
    let failed = |source| PathError::Connect { portal: portal.to_owned(), source };
    let config = login_config(config, isid).map_err(failed)?;
    Ok(LoggingIn::begin(connecting.finish().map_err(failed)?, config))
}

/// Writes as much to the socket as it accepts.
fn pump<B: AsRef<[u8]> + AsMut<[u8]>>(
    core: &mut Core<B>,
    wire: &mut Wire,
    path: u8,
    now: Instant,
) -> Result<(), WireError> {
    loop {
        while wire.has_room()
            && let Some(pdu) = core.next_pdu(path, now)
        {
            wire.push(pdu, &mut core.slots);
        }
        if !wire.flush(&mut core.slots)? || !core.wants_to_send(path) {
            return Ok(());
        }
    }
}

struct SessionSink<'a, B> {
    session: &'a mut Session,
    slots: &'a mut Slots<B>,
    events: &'a mut Vec<SessionEvent>,
    /// Number of complete PDUs.
    pdus: u32,
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Sink for SessionSink<'_, B> {
    fn header(&mut self, bhs: &Bhs) -> Result<Placement, WireError> {
        Ok(self.session.on_header(bhs)?.placement)
    }

    fn incoming(&mut self, user: u32, start: u32, end: u32) -> &mut [u8] {
        self.slots.incoming(user, start, end)
    }

    fn complete(&mut self, bhs: &Bhs, control: &[u8]) -> Result<Flow, WireError> {
        let response = Response::decode(bhs).map_err(SessionError::from)?;
        self.session.on_pdu(&response, control, self.events)?;
        self.pdus += 1;
        Ok(Flow::Continue)
    }
}

fn login_config(config: &Config, isid: [u8; 6]) -> std::io::Result<LoginConfig> {
    let mut challenge = [0; 16];
    assay_tcp::random_bytes(&mut challenge)?;
    Ok(LoginConfig {
        initiator_name: config.initiator_name.clone(),
        target_name: Some(config.target_name.clone()),
        isid,
        cid: 1,
        chap: config.chap.clone(),
        offer: config.offer.clone(),
        challenge,
    })
}

pub(crate) fn login_error(portal: String, failure: LoginFailure) -> PathError {
    match failure {
        LoginFailure::Wire(error) => PathError::Connection { portal, why: error.to_string() },
        LoginFailure::Login(source) => PathError::Login { portal, source },
        LoginFailure::HungUp { has_chap: false } => PathError::HungUp {
            portal,
            hint: "some targets (Linux LIO) do this when they require CHAP; give a user name (user@host) and its \
                   secret",
        },
        LoginFailure::HungUp { has_chap: true } => {
            PathError::HungUp { portal, hint: "see the target's log for the reason" }
        }
    }
}
