//! Paths that are silent while others answer get no new commands, and their connections are ended early.

use std::time::Instant;

use assay_tcp::PATHS_MAX;

use super::core::Core;
use crate::error::PathError;
use crate::events::EventKind;
use crate::multipath::{Path, Silence, SilenceAction, State};
use crate::slots::{CommandState, Owner};

impl<B: AsRef<[u8]> + AsMut<[u8]>> Core<B> {
    /// Checks every path for silence. Called with every tick, never per command.
    pub(super) fn watch_silence(&mut self, now: Instant) {
        self.paths.iter_mut().for_each(|path| path.pace.turn(now));
        if self.paths.iter().filter(|path| path.is_serving()).count() > 1 {
            let owed = self.owed();
            for (at, oldest) in owed.into_iter().take(self.paths.len()).enumerate() {
                let Some((sent_at, commands)) = oldest else { continue };
                let Some(quiet) = self.quiet(at, sent_at) else { continue };
                match self.paths[at].pace.action(quiet, &self.config.timeouts, now) {
                    SilenceAction::None => {}
                    // All paths: an idle one is silent too, and shows that it is alive only if it is pinged.
                    SilenceAction::Ping => {
                        self.paths.iter_mut().filter_map(Path::serving).for_each(|c| c.ask(now))
                    }
                    SilenceAction::Suspect => self.suspect(at, quiet.since, commands, now),
                    SilenceAction::GiveUp => self.give_silent_path_up(at, quiet.since, now),
                }
            }
        }
        self.use_what_is_left(now);
    }

    /// Returns for each path the time of its oldest unanswered command, and their number.
    fn owed(&self) -> [Option<(Instant, u32)>; PATHS_MAX] {
        let mut owed: [Option<(Instant, u32)>; PATHS_MAX] = [None; PATHS_MAX];
        for (_, slot) in self.slots.live() {
            let CommandState::Sent { path } = slot.place else { continue };
            let of = &mut owed[usize::from(path)];
            let (oldest, count) = of.unwrap_or((slot.sent_at, 0));
            *of = Some((oldest.min(slot.sent_at), count + 1));
        }
        owed
    }

    /// Returns the silence of a path that is up.
    fn quiet(&self, at: usize, sent_at: Instant) -> Option<Silence> {
        let State::Online(connection) = &self.paths[at].state else { return None };
        let is_witness =
            |path: &&Path| usize::from(path.index) != at && path.is_trusted() && path.access.serves_io();
        let heard_at = |path: &Path| match &path.state {
            State::Online(other) => Some(other.received_at),
            _ => None,
        };
        self.paths[at].is_serving().then(|| Silence {
            since: connection.received_at.max(sent_at),
            asked_at: connection.ping.map(|(_, asked_at)| asked_at),
            others_heard_at: self.paths.iter().filter(is_witness).filter_map(heard_at).max(),
        })
    }

    /// Gives the path no new commands, and moves those that were not sent yet to other paths.
    fn suspect(&mut self, at: usize, since: Instant, commands: u32, now: Instant) {
        let path = &mut self.paths[at];
        let Some(connection) = path.serving() else { return };
        if connection.suspect_since.is_some() {
            return;
        }
        connection.suspect_since = Some(since);
        for _ in 0..path.pending.len() {
            let Some(user) = path.pending.pop_back() else { break };
            let slot = self.slots.get_mut(user);
            if let Owner::Probe { .. } = slot.owner {
                path.pending.push_front(user);
            } else {
                slot.place = CommandState::Waiting;
                self.waiting.push_front(user);
            }
        }
        let silent_ms = now.saturating_duration_since(since).as_millis();
        self.log.push(now, Some(path.index), EventKind::PathSilent { silent_ms, commands });
    }

    fn give_silent_path_up(&mut self, at: usize, since: Instant, now: Instant) {
        self.paths[at].pace.given_up();
        let portal = self.paths[at].portal.clone();
        let silent_ms = now.saturating_duration_since(since).as_millis();
        self.fail_path(at, &PathError::Silent { portal, silent_ms }, now);
    }

    /// Trusts a path again because data arrived.
    #[cold]
    pub(super) fn trust_again(&mut self, at: usize, now: Instant) {
        let path = &mut self.paths[at];
        let Some(since) = path.serving().and_then(|connection| connection.suspect_since.take()) else {
            return;
        };
        let silent_ms = now.saturating_duration_since(since).as_millis();
        self.log.push(now, Some(path.index), EventKind::PathAnswers { silent_ms });
    }

    /// Uses a silent path if no other path is up.
    fn use_what_is_left(&mut self, now: Instant) {
        if self.paths.iter().any(|path| path.is_trusted() && path.access.serves_io()) {
            return;
        }
        for path in &mut self.paths {
            let index = path.index;
            if let Some(connection) = path.serving()
                && connection.suspect_since.take().is_some()
            {
                self.log.push(now, Some(index), EventKind::PathNeeded);
            }
        }
    }
}
