//! What a LUN reset may release: the writes that were fenced before it was sent. Those fenced later may have reached
//! the target after it.

use assay_iscsi::session::OutPdu;
use assay_iscsi::{EventKind, FencedBy};

use crate::storage::{Pdu, is_reset};
use crate::time::{Nanos, US};

/// The resets and the fenced writes of one initiator.
#[derive(Debug)]
pub(crate) struct Resets {
    /// The last reset that each path sent: its tag and time.
    sent: Vec<Option<(u32, Nanos)>>,
    /// Time at which the reset was sent that was answered last.
    answered_sent_at: Option<Nanos>,
    /// Time at which writes of each path were fenced last.
    fenced_at: Vec<Nanos>,
}

impl Resets {
    pub(crate) fn new(paths: u8) -> Self {
        let paths = usize::from(paths);
        Self { sent: vec![None; paths], answered_sent_at: None, fenced_at: vec![0; paths] }
    }

    /// Notes a PDU that a path sends.
    pub(crate) fn sends(&mut self, path: u8, pdu: &OutPdu, now: Nanos) {
        if is_reset(&pdu.bhs) {
            self.sent[usize::from(path)] = Some((pdu.bhs.itt(), now));
        }
    }

    /// Notes a PDU that a path receives.
    pub(crate) fn receives(&mut self, path: u8, pdu: &Pdu) {
        let is_its = |(itt, _): &mut (u32, Nanos)| pdu.is_managed(*itt);
        if let Some((_, sent_at)) = self.sent[usize::from(path)].take_if(is_its) {
            self.answered_sent_at = Some(sent_at);
        }
    }

    /// Checks an event of a path.
    pub(crate) fn check(&mut self, path: u8, event: &EventKind, now: Nanos) -> Result<(), String> {
        let fenced_at = &mut self.fenced_at[usize::from(path)];
        match event {
            EventKind::PathDown { fenced_writes: 1.., .. } => *fenced_at = now,
            EventKind::Fenced { by: FencedBy::LogicalUnitReset, .. }
                if self.answered_sent_at.is_none_or(|sent_at| sent_at < *fenced_at) =>
            {
                let (fenced_us, sent_us) = (*fenced_at / US, self.answered_sent_at.map(|at| at / US));
                return Err(format!(
                    "writes of path {path} that were fenced at {fenced_us} us are released by a reset that was sent at \
                     {sent_us:?} us"
                ));
            }
            _ => {}
        }
        Ok(())
    }
}
