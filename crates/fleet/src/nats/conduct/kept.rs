//! The sinks of a run over hosts. What came together is stored together: a commit for each event of a thousand hosts
//! would cost the coordinator more than all else that it does.

use assay_record::{Event, RunEvent};
use assay_runner::{Follower, Keeper, NotStored, Sinks};

use crate::nats::wire::Placed;

/// The sinks of a run.
pub(super) struct Kept<'s, 'f> {
    keeper: Option<Keeper>,
    sinks: &'s mut Sinks<'f>,
    /// Events that the follower has heard, and that are not stored yet.
    unstored: Vec<Event>,
}

impl<'s, 'f> Kept<'s, 'f> {
    pub(super) fn new(sinks: &'s mut Sinks<'f>) -> Self {
        Self { keeper: None, sinks, unstored: Vec::new() }
    }

    pub(super) fn follower(&mut self) -> &mut dyn Follower {
        &mut *self.sinks.follower
    }

    /// Passes an event to the follower. Returns whether the present step knows what its plan wants to know.
    pub(super) fn take(&mut self, event: &Event, placed: &Placed) -> bool {
        match &event.what {
            RunEvent::Started(header) => {
                self.sinks.follower.begins(header);
                let words = (placed.label.as_deref(), placed.note.as_deref());
                self.keeper = self.sinks.store.map(|store| Keeper::begin(store, header, words));
            }
            RunEvent::Ended(_) => {
                if let Some(warning) = self.sinks.follower.ends() {
                    self.add(Event { at_ns: event.at_ns, what: RunEvent::Warning(warning) });
                }
            }
            _ => {}
        }
        self.sinks.follower.event(event)
    }

    /// Passes an event to the follower, and keeps it.
    pub(super) fn add(&mut self, event: Event) {
        self.sinks.follower.event(&event);
        self.hold(event);
    }

    /// Keeps an event that was taken. What is kept beside the events is made at the ends of steps, of what is stored.
    pub(super) fn hold(&mut self, event: Event) {
        let is_end = matches!(event.what, RunEvent::StepEnded(_) | RunEvent::Ended(_));
        self.unstored.push(event);
        if is_end {
            self.store();
        }
    }

    /// Stores what was taken since the last time.
    pub(super) fn store(&mut self) {
        let events = std::mem::take(&mut self.unstored);
        let Some(keeper) = self.keeper.as_mut().filter(|_| !events.is_empty()) else { return };
        keeper.append_all(&events);
        if let Some(news) = keeper.news() {
            self.sinks.follower.store_changed(&news);
        }
        events.iter().for_each(|event| self.sinks.follower.kept(event, keeper));
    }

    /// Ends the keeping; `None` where there is no store, or nothing to keep.
    pub(super) fn finish(&mut self) -> Option<Result<(), NotStored>> {
        self.store();
        let keeper = self.keeper.as_mut()?;
        let finished = keeper.finish();
        if let Some(news) = keeper.news() {
            self.sinks.follower.store_changed(&news);
        }
        Some(finished)
    }
}
