//! The path policies as a pure function of the state of the paths.

use crate::config::Policy;
use crate::scsi::AccessState;

/// A path as a policy sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate {
    pub path: u8,
    pub access: AccessState,
    pub outstanding: u32,
    /// True if a command would be sent at once, and not be refused as the last ones were.
    pub has_room: bool,
}

/// Distributes commands over paths.
#[derive(Debug)]
pub(crate) struct PathSelector {
    policy: Policy,

    current: u8,
    turn_ios: u32,
    turn_bytes: u64,
}

impl PathSelector {
    pub(crate) fn new(policy: Policy) -> Self {
        let current = if let Policy::Fixed(path) = policy { path } else { 0 };
        Self { policy, current, turn_ios: 0, turn_bytes: 0 }
    }

    /// Returns the path for a command of `bytes`, among `candidates` in ascending order of path number. Optimized paths
    /// are preferred; other paths are used only if there is none.
    pub(crate) fn choose<I>(&mut self, candidates: I, bytes: u32) -> Option<u8>
    where
        I: Iterator<Item = Candidate> + Clone,
    {
        let best = if candidates.clone().any(|path| path.access == AccessState::Optimized) {
            AccessState::Optimized
        } else {
            AccessState::NonOptimized
        };
        let best = candidates.filter(|path| path.access == best);
        if let Policy::Fixed(path) = self.policy {
            let mut usable = best.peekable();
            let first = usable.peek().map(|path| path.path);
            return usable.find(|candidate| candidate.path == path).map(|found| found.path).or(first);
        }
        // A path that is busy or has no window gets what the others cannot take: one command, which shows when it takes
        // more.
        let has_room = best.clone().any(|path| path.has_room);
        let usable = best.filter(|path| path.has_room || (!has_room && path.outstanding == 0));
        match self.policy {
            Policy::LeastOutstanding => self.least_outstanding(usable),
            Policy::Fixed(_) => unreachable!("chosen above"),
            Policy::RoundRobin { rr_ios, rr_bytes } => self.round_robin(usable, rr_ios, rr_bytes, bytes),
        }
    }

    /// Paths with equal counts take turns; otherwise the first path would get every command at low depth.
    fn least_outstanding(&mut self, usable: impl Iterator<Item = Candidate>) -> Option<u8> {
        let current = self.current;
        let chosen =
            usable.min_by_key(|path| (path.outstanding, path.path.wrapping_sub(current).wrapping_sub(1)))?;
        self.current = chosen.path;
        Some(chosen.path)
    }

    fn round_robin<I>(&mut self, usable: I, rr_ios: u32, rr_bytes: u64, bytes: u32) -> Option<u8>
    where
        I: Iterator<Item = Candidate> + Clone,
    {
        let turn_is_over = self.turn_ios >= rr_ios || self.turn_bytes >= rr_bytes;
        let stays = !turn_is_over && usable.clone().any(|path| path.path == self.current);
        if !stays {
            let first = usable.clone().next()?.path;
            // At the very start the first path takes its turn before the second.
            let begun = self.turn_ios > 0;
            let next = usable
                .map(|path| path.path)
                .find(|&path| path > self.current || (!begun && path == self.current));
            self.current = next.unwrap_or(first);
            self.turn_ios = 0;
            self.turn_bytes = 0;
        }
        self.turn_ios = self.turn_ios.saturating_add(1);
        self.turn_bytes = self.turn_bytes.saturating_add(bytes.into());
        Some(self.current)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(states: &[(AccessState, u32)]) -> Vec<Candidate> {
        (0..)
            .zip(states)
            .map(|(path, &(access, outstanding))| Candidate { path, access, outstanding, has_room: true })
            .collect()
    }

    fn check(policy: Policy, states: &[(AccessState, u32)], bytes: u32, expected: &[u8]) {
        let paths = paths(states);
        let mut spread = PathSelector::new(policy);
        let chosen: Vec<u8> =
            expected.iter().map(|_| spread.choose(paths.iter().copied(), bytes).unwrap()).collect();
        assert_eq!(chosen, expected, "{policy:?}");
    }

    use AccessState::{NonOptimized as Slow, Optimized as Fast, Standby};

    #[test]
    fn round_robin_changes_paths_after_a_number_of_ios_or_bytes() {
        let three = [(Fast, 0), (Fast, 0), (Fast, 0)];
        check(Policy::ROUND_ROBIN_EACH, &three, 4096, &[0, 1, 2, 0, 1]);
        check(Policy::RoundRobin { rr_ios: 3, rr_bytes: u64::MAX }, &three, 4096, &[0, 0, 0, 1, 1, 1, 2]);
        check(Policy::RoundRobin { rr_ios: 100, rr_bytes: 8192 }, &three, 4096, &[0, 0, 1, 1, 2, 2, 0]);
    }

    #[test]
    fn a_path_without_room_gets_only_what_no_other_can_take() {
        let candidate = |path, outstanding, has_room| Candidate { path, access: Fast, outstanding, has_room };
        for policy in [Policy::ROUND_ROBIN_EACH, Policy::LeastOutstanding] {
            let mut spread = PathSelector::new(policy);
            let mut choose = |paths: &[Candidate]| spread.choose(paths.iter().copied(), 1);
            let one = [candidate(0, 0, false), candidate(1, 9, true)];
            assert_eq!([choose(&one), choose(&one)], [Some(1), Some(1)], "{policy:?}");
            assert_eq!(choose(&[candidate(0, 0, false), candidate(1, 9, false)]), Some(0), "{policy:?}");
            assert_eq!(choose(&[candidate(0, 1, false), candidate(1, 9, false)]), None, "{policy:?}");
        }
    }

    #[test]
    fn other_paths_are_used_only_without_optimized_ones() {
        check(Policy::ROUND_ROBIN_EACH, &[(Slow, 0), (Fast, 0), (Standby, 0), (Fast, 0)], 1, &[1, 3, 1, 3]);
        check(Policy::ROUND_ROBIN_EACH, &[(Slow, 0), (Standby, 0), (Slow, 0)], 1, &[0, 2, 0]);
        let mut spread = PathSelector::new(Policy::ROUND_ROBIN_EACH);
        assert_eq!(spread.choose(paths(&[(Standby, 0)]).into_iter(), 1), None);
    }

    #[test]
    fn least_outstanding_takes_turns_and_fixed_stays() {
        check(Policy::LeastOutstanding, &[(Fast, 3), (Fast, 1), (Fast, 2)], 1, &[1, 1]);
        check(Policy::LeastOutstanding, &[(Fast, 1), (Fast, 1), (Fast, 1)], 1, &[1, 2, 0, 1]);
        check(Policy::Fixed(1), &[(Fast, 9), (Fast, 9)], 1, &[1, 1]);
        check(Policy::Fixed(2), &[(Fast, 0), (Fast, 0)], 1, &[0, 0]);
    }
}
