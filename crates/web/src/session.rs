//! Who is signed in: sessions by random cookies, each with the value that its forms carry, and a limit for guesses.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use crate::error::ServeError;
use crate::token::Token;

/// Sessions at once; the oldest gives way.
const SESSIONS_MAX: usize = 256;
/// A session ends this long after it was last used.
const IDLE_MAX: Duration = Duration::from_secs(12 * 3600);
/// Wrong tokens from one address, and from all, within [`GUESS_WINDOW`].
const GUESSES_MAX: usize = 5;
const GUESSES_OF_ALL_MAX: usize = 50;
const GUESS_WINDOW: Duration = Duration::from_secs(60);

/// What a session's pages need.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    /// Carried by every form of the session.
    pub(crate) csrf: Token,
    used: Instant,
}

/// Everybody who is signed in, and everybody who tried in vain lately.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    by_cookie: HashMap<String, Session>,
    /// The oldest first.
    guesses: VecDeque<(Instant, IpAddr)>,
}

impl Sessions {
    /// Begins a session. Returns the value of its cookie.
    pub(crate) fn begin(&mut self, now: Instant) -> Result<String, ServeError> {
        self.by_cookie.retain(|_, session| now.duration_since(session.used) < IDLE_MAX);
        if self.by_cookie.len() >= SESSIONS_MAX {
            let oldest = self.by_cookie.iter().min_by_key(|(_, session)| session.used);
            if let Some(cookie) = oldest.map(|(cookie, _)| cookie.clone()) {
                self.by_cookie.remove(&cookie);
            }
        }
        let cookie = Token::random()?.text().to_owned();
        self.by_cookie.insert(cookie.clone(), Session { csrf: Token::random()?, used: now });
        Ok(cookie)
    }

    /// Returns the session of a cookie. A cookie is random and 256 bits long, so that looking it up tells nothing.
    pub(crate) fn of(&mut self, cookie: &str, now: Instant) -> Option<Session> {
        let session = self.by_cookie.get_mut(cookie)?;
        if now.duration_since(session.used) >= IDLE_MAX {
            self.by_cookie.remove(cookie);
            return None;
        }
        session.used = now;
        Some(session.clone())
    }

    /// Ends a session.
    pub(crate) fn end(&mut self, cookie: &str) {
        self.by_cookie.remove(cookie);
    }

    /// Returns true if this address, or all together, guessed too often lately.
    pub(crate) fn is_locked(&mut self, from: IpAddr, now: Instant) -> bool {
        while self.guesses.front().is_some_and(|(at, _)| now.duration_since(*at) >= GUESS_WINDOW) {
            self.guesses.pop_front();
        }
        let of_one = self.guesses.iter().filter(|(_, other)| *other == from).count();
        of_one >= GUESSES_MAX || self.guesses.len() >= GUESSES_OF_ALL_MAX
    }

    /// Notes a wrong token.
    pub(crate) fn guessed(&mut self, from: IpAddr, now: Instant) {
        if self.guesses.len() < GUESSES_OF_ALL_MAX {
            self.guesses.push_back((now, from));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_ends_when_it_is_idle_or_ended() {
        let (mut sessions, now) = (Sessions::default(), Instant::now());
        let cookie = sessions.begin(now).expect("random bytes");
        assert!(sessions.of(&cookie, now).is_some() && sessions.of("other", now).is_none());
        assert!(sessions.of(&cookie, now + IDLE_MAX).is_none());
        let cookie = sessions.begin(now).expect("random bytes");
        sessions.end(&cookie);
        assert!(sessions.of(&cookie, now).is_none());
        let all: Vec<String> =
            (0..=SESSIONS_MAX).map(|_| sessions.begin(now).expect("random bytes")).collect();
        assert_eq!(all.iter().filter(|cookie| sessions.of(cookie, now).is_some()).count(), SESSIONS_MAX);
    }

    #[test]
    fn guesses_are_limited_for_one_address_and_for_all() {
        let (mut sessions, now) = (Sessions::default(), Instant::now());
        let address = |last| IpAddr::from([10, 0, 0, last]);
        for _ in 0..GUESSES_MAX {
            assert!(!sessions.is_locked(address(1), now));
            sessions.guessed(address(1), now);
        }
        assert!(sessions.is_locked(address(1), now) && !sessions.is_locked(address(2), now));
        assert!(!sessions.is_locked(address(1), now + GUESS_WINDOW), "it is over after a minute");
        for last in 0..60 {
            sessions.guessed(address(last), now + GUESS_WINDOW);
        }
        assert!(sessions.is_locked(address(200), now + GUESS_WINDOW));
    }
}
