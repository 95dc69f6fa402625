//! The initiator as a client of the event loop of `assay-tcp`.

use std::net::TcpStream;
use std::time::Instant;

use assay_tcp::{Blocking, Client, Completions};

use super::Initiator;
use super::link::Link;
use crate::error::Lost;
use crate::multipath::{Completion, Input};

impl<B: AsRef<[u8]> + AsMut<[u8]>> Client for Initiator<B> {
    type Completion = Completion<B>;
    type Lost = Lost;

    fn completions(&mut self) -> &mut Completions<Completion<B>> {
        &mut self.core.completions
    }

    fn lost(&self) -> Option<&Lost> {
        self.core.lost()
    }

    fn has_ended(&self) -> bool {
        if self.is_controlling {
            self.core.control_result.is_some()
        } else {
            self.core.completions.has_ready()
        }
    }

    fn tick(&mut self, now: Instant) {
        self.core.on(Input::Tick, now);
        self.act(now);
    }

    fn send(&mut self, now: Instant) {
        self.core.assign(now);
        self.act(now);
        self.pump_all(now);
    }

    fn connections(&self) -> usize {
        self.links.len()
    }

    fn interest(&self, connection: usize) -> Option<(&TcpStream, bool)> {
        self.links[connection].interest()
    }

    fn is_established(&self, connection: usize) -> bool {
        self.links[connection].wire().is_some()
    }

    fn receive(&mut self, connection: usize, blocking: Blocking, now: Instant) {
        let path = u8::try_from(connection).expect("at most 64 paths");
        match self.links[connection] {
            Link::Up(_) => self.receive_up(path, blocking, now),
            _ => self.advance(path, now),
        }
    }

    fn received(&mut self, now: Instant) {
        self.core.released(now);
        self.act(now);
    }
}
