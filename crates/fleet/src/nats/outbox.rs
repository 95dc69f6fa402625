//! What an agent has to say of a run, until the bus has taken it. Bounded: what does not fit is merged into longer
//! intervals.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use assay_record::{Event, Interval, RunEvent};
use tokio::sync::Notify;

use crate::nats::wire::{What, json, parsed};

/// Memory for messages that wait, bytes of JSON: an hour without the bus for ten jobs.
const WAITING_BYTES_MAX: usize = if cfg!(test) { 20_000 } else { 64 << 20 };

/// Pairs of intervals that become one for each push to a full box. To read all of it would hold up the run that pushes.
const PAIRS_EACH: usize = if cfg!(test) { 5 } else { 200 };

/// What a message holds at most, bytes of JSON; the server takes 1 MB.
const MESSAGE_BYTES_MAX: usize = if cfg!(test) { 2_000 } else { 256 << 10 };

/// What is to be said of a run, in order.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    inner: Mutex<Inner>,
    /// Notified when something comes to an empty box.
    pub(crate) filled: Notify,
    /// Notified when something comes that the coordinator waits for.
    pub(crate) pressing: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    waiting: VecDeque<Waiting>,
    bytes: usize,
    /// The first message as it was sent, and how much of what waits is in it. It stays as it is until it is taken, so
    /// that it counts once.
    sent: Option<(Vec<u8>, usize)>,
    number: u64,
    epoch_unix_ns: i64,
    /// How many of what waits have had their turn to be merged: all do before one has the next.
    merged: usize,
    /// Samples of the host that had no place.
    samples_left_out: u64,
}

/// What waits, as it will be sent: a distribution takes 36 KiB in memory, and some hundred bytes as JSON.
#[derive(Debug)]
struct Waiting {
    kind: Kind,
    json: Vec<u8>,
    /// The epoch that its times count from. A message has one: it is known better at a gate than before.
    epoch_unix_ns: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// An interval of a job: test, step and job.
    Interval(u32, u32, u32),
    /// A sample of the host.
    Sample,
    /// Writes of a fill have completed.
    Filling,
    /// What the coordinator waits for.
    Pressing,
}

impl Outbox {
    /// Adds what happened.
    pub(crate) fn push(&self, what: &What) {
        let (kind, json) = (kind(what), json(what));
        let mut inner = self.lock();
        inner.bytes += json.len();
        let epoch_unix_ns = inner.epoch_unix_ns;
        inner.waiting.push_back(Waiting { kind, json, epoch_unix_ns });
        if inner.bytes > WAITING_BYTES_MAX {
            inner.shorten();
        }
        drop(inner);
        self.filled.notify_one();
        if kind == Kind::Pressing {
            self.pressing.notify_one();
        }
    }

    /// Notes when the clock of the events showed 0, by the clock of the agent. It holds for what is pushed from now on.
    pub(crate) fn epoch(&self, unix_ns: i64) {
        self.lock().epoch_unix_ns = unix_ns;
    }

    /// Returns the first message with its number; the same until it is [`taken`](Self::taken).
    pub(crate) fn first(&self) -> Option<(u64, Vec<u8>)> {
        let mut inner = self.lock();
        if inner.sent.is_none() {
            let epoch_unix_ns = inner.waiting.front()?.epoch_unix_ns;
            let mut bytes = 0;
            let fits = |waiting: &&Waiting| {
                bytes += waiting.json.len();
                // The first one always goes: it is never shorter.
                bytes == waiting.json.len()
                    || (bytes <= MESSAGE_BYTES_MAX && waiting.epoch_unix_ns == epoch_unix_ns)
            };
            let what: Vec<&[u8]> =
                inner.waiting.iter().take_while(fits).map(|waiting| waiting.json.as_slice()).collect();
            let count = what.len();
            inner.sent = Some((said(inner.number + 1, epoch_unix_ns, &what), count));
        }
        inner.sent.as_ref().map(|(sent, _)| (inner.number + 1, sent.clone()))
    }

    /// Removes the first message, which is kept elsewhere now.
    pub(crate) fn taken(&self) {
        let mut inner = self.lock();
        if let Some((_, count)) = inner.sent.take() {
            let gone: usize = inner.waiting.drain(..count).map(|waiting| waiting.json.len()).sum();
            inner.bytes -= gone;
            inner.merged = inner.merged.saturating_sub(count);
            inner.number += 1;
        }
    }

    /// Whether the coordinator waits for something of it.
    pub(crate) fn is_pressing(&self) -> bool {
        self.lock().waiting.iter().any(|waiting| waiting.kind == Kind::Pressing)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().waiting.is_empty()
    }

    /// Returns how many samples of the host were left out, as there was no room.
    pub(crate) fn samples_left_out(&self) -> u64 {
        self.lock().samples_left_out
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Nothing panics while it is locked.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Makes room: some neighbouring intervals of a job become one, behind those of the last time, and samples of the
    /// host go.
    fn shorten(&mut self) {
        let as_sent = self.sent.as_ref().map_or(1, |(_, count)| *count);
        let (had_turn, mut left) = (as_sent.max(self.merged), PAIRS_EACH);
        let mut open: BTreeMap<(u32, u32, u32), usize> = BTreeMap::new();
        let mut kept: VecDeque<Waiting> = VecDeque::with_capacity(self.waiting.len());
        // Unless some are left at the end, the next turn begins at the front again.
        self.merged = 0;
        for (index, message) in std::mem::take(&mut self.waiting).into_iter().enumerate() {
            match message.kind {
                Kind::Sample if index >= as_sent => {
                    self.samples_left_out += 1;
                    continue;
                }
                Kind::Interval(test, step, job) if index >= had_turn && left > 0 => {
                    let before = open.remove(&(test, step, job)).and_then(|index| kept.get_mut(index));
                    if before.is_some_and(|before| before.merge(&message)) {
                        left -= 1;
                        self.merged = if left == 0 { kept.len() } else { 0 };
                        continue;
                    }
                    open.insert((test, step, job), kept.len());
                }
                _ => {}
            }
            kept.push_back(message);
        }
        self.waiting = kept;
        self.bytes = self.waiting.iter().map(|waiting| waiting.json.len()).sum();
    }
}

impl Waiting {
    /// Adds a later interval of the same job. Returns whether it did.
    fn merge(&mut self, later: &Self) -> bool {
        let (Some(mut own), Some(later)) = (parsed::<What>(&self.json), parsed::<What>(&later.json)) else {
            return false;
        };
        if let What::Event(event) = &mut own
            && let RunEvent::Interval(own) = &mut event.what
            && let Some(later) = interval_of(&later)
        {
            own.merge(later);
        }
        self.json = json(&own);
        true
    }
}

/// Returns the message [`Said`](crate::nats::wire::Said) of what was written before.
fn said(number: u64, epoch_unix_ns: i64, what: &[&[u8]]) -> Vec<u8> {
    let head = format!("{{\"number\":{number},\"epoch_unix_ns\":{epoch_unix_ns},\"what\":[");
    [head.as_bytes(), &what.join(&b','), b"]}"].concat()
}

fn event_of(what: &What) -> Option<&RunEvent> {
    match what {
        What::Event(event) => Some(&event.what),
        _ => None,
    }
}

fn interval_of(what: &What) -> Option<&Interval> {
    match event_of(what)? {
        RunEvent::Interval(interval) => Some(interval),
        _ => None,
    }
}

/// What comes every second may wait.
fn kind(what: &What) -> Kind {
    match (what, event_of(what)) {
        (What::Filling, _) => Kind::Filling,
        (_, Some(RunEvent::Interval(of))) => Kind::Interval(of.test, of.step, of.job),
        (_, Some(RunEvent::Host(_))) => Kind::Sample,
        _ => Kind::Pressing,
    }
}

/// Returns what is said of an event.
pub(crate) fn event(event: &Event) -> What {
    What::Event(Box::new(event.clone()))
}

#[cfg(test)]
mod tests {
    use assay_record::{AccessStats, TurnStats};

    use super::*;
    use crate::nats::wire::Said;

    fn interval(job: u32, second: u64) -> What {
        let mut access = AccessStats::default();
        (1..=second + 1).for_each(|n| access.read.completed(4096, n * 1000, n * 1000));
        let interval = Interval {
            test: 0,
            step: 0,
            job,
            start_ns: second,
            end_ns: second + 1,
            by_access: vec![access],
            reconnects: 0,
            turns: TurnStats::default(),
        };
        event(&Event { at_ns: second, what: RunEvent::Interval(Box::new(interval)) })
    }

    fn drain(outbox: &Outbox) -> Vec<Said> {
        std::iter::from_fn(|| {
            let (_, bytes) = outbox.first()?;
            outbox.taken();
            parsed(&bytes)
        })
        .collect()
    }

    #[test]
    fn a_message_is_the_same_until_it_is_taken_and_the_numbers_have_no_gap() {
        let outbox = Outbox::default();
        outbox.push(&What::Inspected);
        let first = outbox.first();
        outbox.push(&interval(0, 1));
        outbox.epoch(7);
        assert_eq!(outbox.first(), first, "sent again as it was");
        let numbers: Vec<u64> = drain(&outbox).iter().map(|said| said.number).collect();
        assert_eq!(numbers, [1, 2]);
        assert!(outbox.is_empty());
    }

    #[test]
    fn what_waits_together_is_one_message_and_what_is_waited_for_does_not_wait() {
        let outbox = Outbox::default();
        outbox.push(&interval(0, 1));
        outbox.push(&interval(1, 1));
        assert!(!outbox.is_pressing());
        outbox.push(&What::Over { failures: vec![] });
        assert!(outbox.is_pressing());
        let said = drain(&outbox);
        assert_eq!(said.iter().map(|said| said.what.len()).collect::<Vec<_>>(), [3]);
        assert!(outbox.is_empty() && !outbox.is_pressing());
    }

    /// What waits from before a gate counts from the epoch that was stated before.
    #[test]
    fn a_message_has_the_epoch_of_what_is_in_it() {
        let outbox = Outbox::default();
        outbox.epoch(1);
        outbox.push(&interval(0, 1));
        outbox.epoch(2);
        outbox.push(&interval(0, 2));
        outbox.push(&interval(1, 3));
        let said: Vec<_> = drain(&outbox).iter().map(|said| (said.epoch_unix_ns, said.what.len())).collect();
        assert_eq!(said, [(1, 1), (2, 2)]);
    }

    /// The message is put together of parts that were written before.
    #[test]
    fn a_message_is_what_serde_would_write() {
        let outbox = Outbox::default();
        outbox.epoch(-7);
        outbox.push(&What::Inspected);
        outbox.push(&interval(0, 1));
        let what = vec![What::Inspected, interval(0, 1)];
        let (number, bytes) = outbox.first().unwrap();
        assert_eq!(bytes, json(&Said { number, epoch_unix_ns: -7, what }));
    }

    /// A bus that is away for long must cost neither the agent's memory nor an I/O.
    #[test]
    fn what_does_not_fit_is_merged_and_no_operation_is_lost() {
        let outbox = Outbox::default();
        let mut ops = 0;
        for second in 0..200 {
            for job in 0..2 {
                outbox.push(&interval(job, second % 7));
                ops += second % 7 + 1;
            }
            outbox.push(&event(&Event { at_ns: 0, what: RunEvent::Host(Box::default()) }));
            assert!(outbox.lock().bytes <= 2 * WAITING_BYTES_MAX);
        }
        assert!(outbox.samples_left_out() > 0);
        let said = drain(&outbox);
        assert!(said.iter().all(|said| json(said).len() < 2 * MESSAGE_BYTES_MAX));
        let what: Vec<&What> = said.iter().flat_map(|said| &said.what).collect();
        assert!(said.len() < what.len() && what.len() < 400, "{} in {}", what.len(), said.len());
        let kept: u64 = what.iter().filter_map(|what| interval_of(what)).map(|of| of.sum().read.ops()).sum();
        assert_eq!(kept, ops);
    }

    /// All that waited, up to 64 MiB, was read at one push, and the run waited for it.
    #[test]
    fn a_push_to_a_full_box_merges_a_few_and_all_have_their_turn() {
        let outbox = Outbox::default();
        outbox.push(&What::Inspected);
        let waits = || outbox.lock().waiting.len();
        for _ in 0..300 {
            let before = waits();
            outbox.push(&interval(0, 0));
            assert!(before + 1 - waits() <= PAIRS_EACH, "{before}, now {}", waits());
            assert!(outbox.lock().bytes <= WAITING_BYTES_MAX);
        }
        let said = drain(&outbox);
        let of: Vec<u64> =
            said.iter().flat_map(|said| &said.what).filter_map(interval_of).map(ops_of).collect();
        // The first ones grow with each turn. Without turns they were 258 of the 300.
        assert!(of.iter().sum::<u64>() == 300 && of.iter().all(|ops| *ops <= 150), "{of:?}");
    }

    fn ops_of(interval: &Interval) -> u64 {
        interval.sum().read.ops()
    }
}
