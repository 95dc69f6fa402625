//! What an agent has to say of a run, until the bus has taken it. Bounded: what does not fit is merged into longer
//! intervals.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use assay_record::{Event, Interval, RunEvent};
use tokio::sync::Notify;

use crate::wire::{Said, What, json};

/// Memory for messages that wait, bytes of JSON: an hour without the bus for ten jobs.
const WAITING_BYTES_MAX: usize = if cfg!(test) { 20_000 } else { 64 << 20 };

/// Messages of a run, in order.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    inner: Mutex<Inner>,
    /// Notified when a message comes to an empty box.
    pub(crate) filled: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    waiting: VecDeque<Message>,
    bytes: usize,
    /// The first one as it was sent. It stays as it is until it is taken, so that it counts once.
    sent: Option<Vec<u8>>,
    number: u64,
    epoch_unix_ns: i64,
    /// Samples of the host that had no place.
    samples_left_out: u64,
}

#[derive(Debug)]
struct Message {
    what: What,
    bytes: usize,
}

impl Outbox {
    /// Adds a message.
    pub(crate) fn push(&self, what: What) {
        let bytes = json(&what).len();
        let mut inner = self.lock();
        inner.bytes += bytes;
        inner.waiting.push_back(Message { what, bytes });
        if inner.bytes > WAITING_BYTES_MAX {
            inner.shorten();
        }
        drop(inner);
        self.filled.notify_one();
    }

    /// Notes when the clock of the events showed 0. The earliest is right: an event is looked at after it was made.
    pub(crate) fn epoch(&self, unix_ns: i64) {
        let mut inner = self.lock();
        inner.epoch_unix_ns = match inner.epoch_unix_ns {
            0 => unix_ns,
            known => known.min(unix_ns),
        };
    }

    /// Returns the first message with its number; the same until it is [`taken`](Self::taken).
    pub(crate) fn first(&self) -> Option<(u64, Vec<u8>)> {
        let mut inner = self.lock();
        if inner.sent.is_none() {
            let what = inner.waiting.front()?.what.clone();
            let said = Said { number: inner.number + 1, epoch_unix_ns: inner.epoch_unix_ns, what };
            inner.sent = Some(json(&said));
        }
        inner.sent.clone().map(|sent| (inner.number + 1, sent))
    }

    /// Removes the first message, which is kept elsewhere now.
    pub(crate) fn taken(&self) {
        let mut inner = self.lock();
        if inner.sent.take().is_some()
            && let Some(message) = inner.waiting.pop_front()
        {
            inner.bytes -= message.bytes;
            inner.number += 1;
        }
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
    /// Makes room: every two neighbouring intervals of a job become one, and samples of the host go.
    fn shorten(&mut self) {
        let first = self.waiting.pop_front();
        let mut open: BTreeMap<(u32, u32, u32), usize> = BTreeMap::new();
        let mut kept: VecDeque<Message> = VecDeque::new();
        for message in std::mem::take(&mut self.waiting) {
            if matches!(event_of(&message.what), Some(RunEvent::Host(_))) {
                self.samples_left_out += 1;
                continue;
            }
            let Some(interval) = interval_of(&message.what) else {
                kept.push_back(message);
                continue;
            };
            let key = (interval.test, interval.step, interval.job);
            match open.remove(&key).and_then(|index| kept.get_mut(index)) {
                Some(before) => before.merge(interval),
                None => {
                    open.insert(key, kept.len());
                    kept.push_back(message);
                }
            }
        }
        self.waiting = first.into_iter().chain(kept).collect();
        self.bytes = self.waiting.iter().map(|message| message.bytes).sum();
    }
}

impl Message {
    fn merge(&mut self, interval: &Interval) {
        if let What::Event(event) = &mut self.what
            && let RunEvent::Interval(own) = &mut event.what
        {
            own.merge(interval);
        }
        self.bytes = json(&self.what).len();
    }
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

/// Returns the message of an event.
pub(crate) fn event(event: &Event) -> What {
    What::Event(Box::new(event.clone()))
}

#[cfg(test)]
mod tests {
    use assay_record::{AccessStats, TurnStats};

    use super::*;
    use crate::wire::parsed;

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
        outbox.push(What::Inspected);
        let first = outbox.first();
        outbox.push(interval(0, 1));
        outbox.epoch(7);
        assert_eq!(outbox.first(), first, "sent again as it was");
        let numbers: Vec<u64> = drain(&outbox).iter().map(|said| said.number).collect();
        assert_eq!(numbers, [1, 2]);
        assert!(outbox.is_empty());
    }

    /// A bus that is away for long must cost neither the agent's memory nor an I/O.
    #[test]
    fn what_does_not_fit_is_merged_and_no_operation_is_lost() {
        let outbox = Outbox::default();
        let mut ops = 0;
        for second in 0..200 {
            for job in 0..2 {
                outbox.push(interval(job, second % 7));
                ops += second % 7 + 1;
            }
            outbox.push(event(&Event { at_ns: 0, what: RunEvent::Host(Box::default()) }));
            assert!(outbox.lock().bytes <= 2 * WAITING_BYTES_MAX);
        }
        assert!(outbox.samples_left_out() > 0);
        let said = drain(&outbox);
        assert!(said.len() < 400, "{}", said.len());
        let kept: u64 =
            said.iter().filter_map(|said| interval_of(&said.what)).map(|of| of.sum().read.ops()).sum();
        assert_eq!(kept, ops);
    }
}
