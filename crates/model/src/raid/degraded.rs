//! What an I/O asks of an array that has lost members.
//!
//! All failed members are in one group: a RAID5 leg, a vdev, a mirror. In that group, with n members of which f have
//! failed, a stripe of d data and p parity chunks has lost t of the k chunks of an I/O, q of the parity and o others
//! with the probability of a draw without return. It then costs
//! ```text
//!   read,  t > 0            d reads: data of the failed members come from the rest of the stripe and parity
//!   write, t = 0            read k + p - q, write k + p - q; nothing is read when no parity is left
//!   write, t > 0, o = 0     read the d - k others, write k - t + p - q
//!   write, t > 0, o > 0     read all n - f that are left, write k - t + p - q
//! ```
//! A mirror reads from the copies that are left and writes to them.

use super::{Kind, Phase, Shape};
use crate::array::Level;

/// Which members an I/O visits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Any that works.
    All,
    /// Those that are left of the group that lost a member.
    Degraded,
    /// The groups that lost none.
    Sound,
}

/// One of the cases that an I/O may meet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Case {
    /// How often, in (0, 1\].
    pub share: f64,
    /// Where its visits go.
    pub part: Part,
    /// Its visits.
    pub phases: [Phase; 2],
}

impl Shape {
    /// Members that work.
    #[must_use]
    pub fn alive(&self) -> u32 {
        self.members - self.failed
    }

    /// Members that are left of the group that lost one; 0 when none has failed.
    #[must_use]
    pub(crate) fn survivors(&self) -> u32 {
        if self.failed == 0 { 0 } else { self.degraded_group() - self.failed }
    }

    /// Members of the group that the failed ones were in.
    fn degraded_group(&self) -> u32 {
        match self.level {
            Level::Raid10 => self.copies,
            // Stripes of dRAID lie over all members.
            Level::Draid1 | Level::Draid2 | Level::Draid3 => self.members,
            _ => self.group,
        }
    }

    /// First of the members of a part, and how many.
    #[must_use]
    pub fn range(&self, part: Part) -> (u32, u32) {
        match part {
            Part::All => (0, self.alive()),
            Part::Degraded => (0, self.survivors()),
            Part::Sound => (self.survivors(), self.alive() - self.survivors()),
        }
    }

    /// Members that streams lie on, and how many of them an I/O of this size takes: of reads those that are left, of
    /// writes all, as what a lost one would hold is not written and takes the others no longer.
    #[must_use]
    pub(crate) fn streams_over(&self, kind: Kind, bytes: f64) -> (u32, u32) {
        let visits = self.stream_visits(kind, bytes);
        match kind {
            Kind::Read => (self.alive(), visits.min(self.alive())),
            Kind::Write => (self.members, visits),
        }
    }

    /// The cases of a random I/O with their shares, which sum to 1.
    #[must_use]
    pub fn cases(&self, kind: Kind, bytes: f64) -> Vec<Case> {
        let healthy = match kind {
            Kind::Read => self.random_read(bytes),
            Kind::Write => self.random_write(bytes),
        };
        let whole = Case { share: 1.0, part: Part::All, phases: healthy };
        if self.failed == 0 || healthy[0].visits == 0 {
            return vec![whole];
        }
        let hit = f64::from(self.degraded_group()) / f64::from(self.members);
        let mut cases = Vec::new();
        if hit < 1.0 {
            cases.push(Case { share: 1.0 - hit, part: Part::Sound, phases: healthy });
        }
        if self.spreads_records() {
            cases.push(Case { share: hit, part: Part::Degraded, phases: healthy });
        } else if self.parity == 0 {
            let chunks = healthy[0].visits / if kind == Kind::Write { self.copies } else { 1 };
            if chunks > 1 {
                // Chunks of a large I/O lie on several mirrors; all but the lost copies are visited.
                return vec![whole];
            }
            let visits = if kind == Kind::Write { self.copies - self.failed } else { 1 };
            let phases = [Phase { visits, ..healthy[0] }, Phase::NONE];
            cases.push(Case { share: hit, part: Part::Degraded, phases });
        } else {
            cases.extend(self.stripe_cases(kind, bytes, hit));
        }
        cases
    }

    /// The cases of an I/O on the stripes of the group that lost members.
    fn stripe_cases(&self, kind: Kind, bytes: f64, share: f64) -> Vec<Case> {
        let (n, f, p) = (self.group, self.failed, self.parity);
        let data = n - p;
        let chunks = match kind {
            Kind::Read => self.random_read(bytes)[0].visits.min(data),
            Kind::Write => self.data_chunks(bytes, data),
        };
        let each = bytes / f64::from(chunks);
        let all = choose(n, f);
        let mut cases = Vec::new();
        for lost in 0..=f.min(chunks) {
            for parity_lost in 0..=(f - lost).min(p) {
                let others = f - lost - parity_lost;
                let ways = choose(chunks, lost) * choose(p, parity_lost) * choose(data - chunks, others);
                if ways > 0.0 {
                    let counts = Lost { chunks, lost, parity: p - parity_lost, others };
                    let phases = self.stripe_phases(kind, each, counts);
                    cases.push(Case { share: share * ways / all, part: Part::Degraded, phases });
                }
            }
        }
        cases
    }

    fn stripe_phases(&self, kind: Kind, bytes: f64, at: Lost) -> [Phase; 2] {
        let data = self.group - self.parity;
        let phase = |visits, kind| Phase::new(visits, bytes, kind);
        if kind == Kind::Read {
            let visits = if at.lost == 0 { at.chunks } else { data.max(at.chunks - at.lost) };
            return [phase(visits, Kind::Read), Phase::NONE];
        }
        let writes = at.chunks - at.lost + at.parity;
        let reads = match (at.lost, at.others) {
            _ if at.chunks == data || at.parity == 0 => 0,
            (0, _) => at.chunks + at.parity,
            (_, 0) => data - at.chunks,
            _ => self.group - self.failed,
        };
        match reads {
            0 => [phase(writes, Kind::Write), Phase::NONE],
            _ => [phase(reads, Kind::Read), phase(writes, Kind::Write)],
        }
    }
}

/// What of a stripe is lost.
#[derive(Clone, Copy)]
struct Lost {
    /// Chunks of the I/O.
    chunks: u32,
    /// Of them on failed members.
    lost: u32,
    /// Parity chunks that are left.
    parity: u32,
    /// Other data chunks on failed members.
    others: u32,
}

/// Ways to choose k of n.
fn choose(n: u32, k: u32) -> f64 {
    if k > n {
        return 0.0;
    }
    (0..k).map(|i| f64::from(n - i) / f64::from(i + 1)).product()
}
