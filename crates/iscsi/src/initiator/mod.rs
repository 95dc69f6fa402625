//! The initiator: commands in, completions out, over all paths, driven by the caller's thread alone.
//!
//! It is the driver of a [`multipath::Core`](crate::multipath::Core), which decides everything: it has the sockets, the
//! clock and the randomness that the core has not.

mod control;
mod drive;
mod link;

use std::time::{Duration, Instant};

use assay_tcp::{TICK, TcpFactsReader};

use crate::config::Config;
use crate::error::{ConnectError, Lost, PathErrors};
use crate::events::Event;
use crate::multipath::{Command, Completion, Core, FailedAt, Path, SessionUse, State};
use crate::scsi::Capacity;
use crate::session::SessionEvent;
use crate::stats::PathStatus;
use link::Link;

pub use control::Transfer;
pub(crate) use link::login_error;

/// A user-space iSCSI initiator for one logical unit over one or several paths.
///
/// It has no threads: all work happens in `submit`, `poll` and the control calls. Dropping it logs out and closes the
/// connections.
#[derive(Debug)]
pub struct Initiator<B: AsRef<[u8]> + AsMut<[u8]>> {
    core: Core<B>,
    /// The connection of each path.
    links: Vec<Link>,
    /// True while a control command is awaited, but not I/O.
    is_controlling: bool,
    session_events: Vec<SessionEvent>,
    tcp_facts: Option<TcpFactsReader>,
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Initiator<B> {
    /// Brings up all paths. At least one must come up; the others are retried during the initiator's lifetime.
    pub fn connect(config: Config) -> Result<Self, ConnectError> {
        Self::connect_to(config, SessionUse::Io)
    }

    pub(crate) fn connect_to(config: Config, session_use: SessionUse) -> Result<Self, ConnectError> {
        let mut random = [0; 3];
        assay_tcp::random_bytes(&mut random)
            .map_err(|source| ConnectError::System { what: "random bytes", source })?;
        let core = Core::with_use(config, session_use, random, Instant::now())?;
        let mut initiator = Self {
            links: core.paths.iter().map(|_| Link::Down).collect(),
            core,
            is_controlling: false,
            session_events: Vec::with_capacity(256),
            tcp_facts: TcpFactsReader::open().ok(),
        };
        initiator.bring_up()?;
        Ok(initiator)
    }

    /// Waits until every path is up or has failed once. Fails if none is up.
    fn bring_up(&mut self) -> Result<(), ConnectError> {
        let limit = self.core.config.timeouts.connect + self.core.config.timeouts.login * 2;
        let deadline = Instant::now() + limit;
        while Instant::now() < deadline {
            assay_tcp::turn(self, TICK);
            let settled = |path: &Path| path.is_serving() || path.attempts > 0;
            if self.core.paths.iter().all(settled) {
                break;
            }
        }
        let paths = &self.core.paths;
        if paths.iter().any(Path::is_serving) {
            return Ok(());
        }
        let error = |path: &Path| {
            path.last_error.clone().unwrap_or_else(|| format!("{} did not answer in time", path.portal))
        };
        let mut errors: Vec<String> = paths.iter().map(error).collect();
        errors.dedup();
        let missing = paths.iter().find_map(|path| path.missing);
        let is_answered = paths.iter().any(|path| path.failed_at == Some(FailedAt::Target));
        Err(ConnectError::NoPath { errors: PathErrors(errors), missing, is_answered })
    }

    /// Returns the size and block size of the unit.
    pub fn capacity(&self) -> Capacity {
        self.core.capacity()
    }

    /// Returns the world-wide name of the unit, if it has one.
    pub fn wwid(&self) -> Option<&str> {
        self.core.wwid()
    }

    /// Returns the number of commands submitted and not yet returned to the caller.
    pub fn outstanding(&self) -> u32 {
        self.core.outstanding()
    }

    /// Accepts a command, or returns it if `depth` commands are outstanding or the target is lost. Nothing is sent
    /// before the next `poll`, so that commands submitted together are sent together.
    pub fn submit(&mut self, command: Command<B>) -> Result<(), Command<B>> {
        self.core.submit(command)
    }

    /// Sends submitted commands and collects completions. Returns when at least one command has completed, or after
    /// `timeout` (`None`: while commands are outstanding). Must be called at least every few seconds, because it
    /// answers the target's pings.
    pub fn poll(&mut self, timeout: Option<Duration>, done: &mut Vec<Completion<B>>) -> Result<(), Lost> {
        assay_tcp::poll(self, timeout, done)
    }

    /// Returns the events of the paths since the last call.
    pub fn events(&mut self) -> Vec<Event> {
        self.core.events()
    }

    /// Returns the present state of every path, with its TCP facts. Call it about once a second.
    pub fn stats(&mut self) -> Vec<PathStatus> {
        let mut reports = Vec::with_capacity(self.links.len());
        for (path, link) in self.core.paths.iter().zip(&self.links) {
            let session = match &path.state {
                State::Online(connection) => Some(&connection.session),
                _ => None,
            };
            let stream = link.wire().map(|wire| wire.stream());
            let tcp = stream.and_then(|stream| self.tcp_facts.as_mut()?.read(stream).ok());
            reports.push(PathStatus {
                path: path.index,
                portal: path.portal.clone(),
                is_up: path.is_serving(),
                access: path.access,
                outstanding: path.outstanding(),
                agreed: session.map(|session| session.agreed().clone()),
                command_window: session.map(|session| session.command_window()),
                addresses: stream.and_then(|s| Some((s.local_addr().ok()?, s.peer_addr().ok()?))),
                tcp,
                stats: path.stats.clone(),
            });
        }
        reports
    }

    fn keep_down(&mut self) {
        let now = Instant::now();
        self.core.paths.iter_mut().for_each(|path| path.stay_down(now));
    }
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Drop for Initiator<B> {
    /// Logs out of every session, with a short time limit.
    fn drop(&mut self) {
        let now = Instant::now();
        // Commands still in flight must not be executed later: reset such a connection instead of closing it.
        if self.core.slots.live().count() > 0 {
            return self.links.drain(..).for_each(Link::abandon);
        }
        let deadline = now + Duration::from_millis(200);
        for path in &mut self.core.paths {
            if let State::Online(connection) = &mut path.state {
                connection.session.logout();
            }
        }
        self.keep_down();
        self.pump_all(now);
        while Instant::now() < deadline && self.links.iter().any(|link| link.wire().is_some()) {
            assay_tcp::turn(self, Duration::from_millis(20));
            self.keep_down();
        }
    }
}
