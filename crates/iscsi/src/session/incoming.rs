//! Handling of received PDUs.

use super::coverage::CoverageError;
use super::outgoing::{Burst, Control};
use super::task::{CONTROL_TAG, TaskOutcome};
use super::{CONTROL_MAX, IDLE_MAX, Reset, Session, SessionError, SessionEvent};
use crate::pdu::{Bhs, Direction, NO_TAG, PduError, Residual, Response, opcode};

/// Number of bytes of a target's ping data that are returned; the rest is dropped, which the standard allows
/// (§11.18.7).
const PING_BYTES_MAX: usize = 4096;

/// Destination of the data segment of a received PDU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// The caller's buffer of task `user`, from `offset_bytes` on. The range was checked to be inside.
    Task {
        /// The caller's number.
        user: u32,
        /// Offset in the buffer, bytes.
        offset_bytes: u32,
    },
    /// A buffer that is passed to [`Session::on_pdu`].
    Control,
}

/// A received header, checked.
#[derive(Debug, Clone, Copy)]
pub struct Incoming {
    /// Decoded header.
    pub response: Response,
    /// Destination of its data.
    pub placement: Placement,
}

impl Session {
    /// Checks a header and returns the destination of its data segment.
    pub fn on_header(&mut self, bhs: &Bhs) -> Result<Incoming, SessionError> {
        let response = Response::decode(bhs)?;
        let (got_bytes, max_bytes) = (bhs.data_bytes(), self.agreed.max_recv_segment_bytes);
        if got_bytes > max_bytes {
            return Err(PduError::SegmentTooLong { got_bytes, max_bytes }.into());
        }
        let placement = match response {
            Response::DataIn { itt, offset_bytes, data_bytes, .. } => {
                self.place_data_in(itt, offset_bytes, data_bytes)?
            }
            _ => Placement::Control,
        };
        Ok(Incoming { response, placement })
    }

    /// Handles a complete PDU. `data` is the data segment if its destination was [`Placement::Control`].
    pub fn on_pdu(
        &mut self,
        response: &Response,
        data: &[u8],
        events: &mut Vec<SessionEvent>,
    ) -> Result<(), SessionError> {
        self.window.update(response)?;
        self.count_idle(response)?;
        match *response {
            Response::DataIn { itt, offset_bytes, data_bytes, status, .. } => {
                self.data_in(itt, offset_bytes, data_bytes)?;
                if let Some((status, residual)) = status {
                    self.finish(opcode::DATA_IN, itt, 0, status, residual, Vec::new(), events)?;
                }
            }
            Response::Scsi { itt, response, status, residual, .. } => {
                self.finish(opcode::SCSI_RESPONSE, itt, response, status, residual, sense_of(data), events)?;
            }
            Response::R2t { itt, ttt, offset_bytes, desired_bytes, .. } => {
                self.ready_to_transfer(itt, ttt, offset_bytes, desired_bytes)?;
            }
            Response::TaskManagement { itt, response, .. } => self.managed(itt, response, events),
            Response::NopIn { itt, ttt, lun, .. } => self.nop_in(itt, ttt, lun, data, events)?,
            Response::Async { event, parameters, .. } => asynchronous(event, parameters, data, events),
            Response::Reject { reason, .. } => rejected(reason, data, events)?,
            Response::Logout { .. } => events.push(SessionEvent::LoggedOut),
            Response::Login(_) => return Err(SessionError::OutOfPhase(opcode::LOGIN_RESPONSE)),
            Response::Text { .. } => return Err(SessionError::OutOfPhase(opcode::TEXT_RESPONSE)),
        }
        Ok(())
    }

    /// Counts PDUs that advance no task: a target that sends nothing else must not occupy the initiator for ever.
    fn count_idle(&mut self, response: &Response) -> Result<(), SessionError> {
        let is_idle = match *response {
            Response::DataIn { data_bytes, status, .. } => data_bytes == 0 && status.is_none(),
            Response::Scsi { .. } | Response::R2t { .. } => false,
            _ => true,
        };
        self.idle_count += u32::from(is_idle);
        if self.idle_count > IDLE_MAX { Err(SessionError::IdleFlood) } else { Ok(()) }
    }

    fn place_data_in(&mut self, itt: u32, offset: u32, bytes: u32) -> Result<Placement, SessionError> {
        let in_order = self.agreed.data_pdu_in_order && self.agreed.data_sequence_in_order;
        let task = self.tasks.by_itt(itt);
        let task = task.ok_or(SessionError::UnknownTask { opcode: opcode::DATA_IN, itt })?;
        let bad = |fault| SessionError::BadDataIn { offset_bytes: offset, data_bytes: bytes, fault };
        if task.request.direction != Direction::Read {
            return Err(bad("for a command that reads nothing"));
        }
        if offset.checked_add(bytes).is_none_or(|end| end > task.request.transfer_bytes) {
            return Err(bad("beyond the end of the command"));
        }
        if in_order && offset != task.received.contiguous_bytes() && bytes > 0 {
            return Err(bad("out of order, although DataPDUInOrder=Yes was negotiated"));
        }
        Ok(Placement::Task { user: task.request.user, offset_bytes: offset })
    }

    fn data_in(&mut self, itt: u32, offset: u32, bytes: u32) -> Result<(), SessionError> {
        let task = self.tasks.by_itt(itt);
        let task = task.ok_or(SessionError::UnknownTask { opcode: opcode::DATA_IN, itt })?;
        task.received.add(offset, offset + bytes).map_err(|error| SessionError::BadDataIn {
            offset_bytes: offset,
            data_bytes: bytes,
            fault: match error {
                CoverageError::Overlap => "sent twice",
                CoverageError::TooScattered => "in too many pieces",
            },
        })
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of one PDU, passed once")]
    fn finish(
        &mut self,
        opcode: u8,
        itt: u32,
        response: u8,
        status: u8,
        residual: Residual,
        sense: Vec<u8>,
        events: &mut Vec<SessionEvent>,
    ) -> Result<(), SessionError> {
        let task = self.tasks.by_itt(itt).ok_or(SessionError::UnknownTask { opcode, itt })?;
        let request = task.request;
        let sent_bytes = task.sent.contiguous_bytes();
        let transferred_bytes = match (request.direction, residual) {
            (Direction::None, _) => 0,
            (Direction::Read, _) => task.received.contiguous_bytes(),
            // A target that reports success without having requested all data has not written them.
            (Direction::Write, Residual::Underflow(left)) => {
                request.transfer_bytes.saturating_sub(left).min(sent_bytes)
            }
            (Direction::Write, _) => sent_bytes,
        };
        self.tasks.remove(itt);
        if request.direction == Direction::Write {
            self.forget_bursts(itt);
        }
        if self.abort.is_some_and(|(_, aborted)| aborted == itt) {
            // The task completed by itself; the answer to the abort will be ignored.
            self.abort = None;
        }
        let outcome = TaskOutcome { response, status, residual, transferred_bytes, sent_bytes, sense };
        events.push(SessionEvent::Done { user: request.user, outcome });
        Ok(())
    }

    fn ready_to_transfer(
        &mut self,
        itt: u32,
        ttt: u32,
        offset: u32,
        desired: u32,
    ) -> Result<(), SessionError> {
        let task = self.tasks.by_itt(itt);
        let task = task.ok_or(SessionError::UnknownTask { opcode: opcode::R2T, itt })?;
        let bad = |fault| SessionError::BadR2t { offset_bytes: offset, desired_bytes: desired, fault };
        if task.request.direction != Direction::Write {
            return Err(bad("for a command that writes nothing"));
        }
        let end = offset.checked_add(desired).filter(|&end| end <= task.request.transfer_bytes);
        let end_bytes = end.ok_or_else(|| bad("beyond the end of the command"))?;
        if desired == 0 {
            return Err(bad("for no data"));
        }
        if desired > self.agreed.max_burst_bytes {
            return Err(bad("longer than MaxBurstLength"));
        }
        if task.open_r2t_count >= self.agreed.max_outstanding_r2t {
            return Err(bad("one more than MaxOutstandingR2T"));
        }
        task.open_r2t_count += 1;
        let user = task.request.user;
        self.bursts.push_back(Burst { itt, ttt, user, offset_bytes: offset, end_bytes, data_sn: 0 });
        Ok(())
    }

    fn managed(&mut self, itt: u32, response: u8, events: &mut Vec<SessionEvent>) {
        // A request that was not sent yet cannot have been answered.
        let is_its = |reset: &mut Reset| reset.itt == itt && reset.cmd_sn.is_some();
        if let Some(Reset { cmd_sn: Some(cmd_sn), .. }) = self.reset.take_if(is_its) {
            if response != TASK_FUNCTION_COMPLETE {
                return events.push(SessionEvent::ResetRefused { response });
            }
            for (itt, user) in self.tasks.sent_before(cmd_sn) {
                self.end_aborted(itt, user, events);
            }
            return events.push(SessionEvent::ResetDone);
        }
        let Some((_, task_itt)) = self.abort.take_if(|(abort_itt, _)| *abort_itt == itt) else {
            return; // The task completed by itself before the abort arrived.
        };
        // "Does not exist" follows every response that the target had sent (StatSN order): the task is gone too.
        if matches!(response, TASK_FUNCTION_COMPLETE | TASK_DOES_NOT_EXIST) {
            if let Some(user) = self.tasks.by_itt(task_itt).map(|task| task.request.user) {
                self.end_aborted(task_itt, user, events);
            }
        } else {
            events.push(SessionEvent::AbortRefused { response });
        }
    }

    fn end_aborted(&mut self, itt: u32, user: u32, events: &mut Vec<SessionEvent>) {
        self.tasks.remove(itt);
        self.forget_bursts(itt);
        // A reset may end a task whose abort is still in flight.
        self.abort.take_if(|(_, aborted)| *aborted == itt);
        events.push(SessionEvent::Aborted { user });
    }

    fn nop_in(
        &mut self,
        itt: u32,
        ttt: u32,
        lun: u64,
        data: &[u8],
        events: &mut Vec<SessionEvent>,
    ) -> Result<(), SessionError> {
        if itt != NO_TAG {
            if itt & CONTROL_TAG == 0 {
                return Err(SessionError::UnknownTask { opcode: opcode::NOP_IN, itt });
            }
            events.push(SessionEvent::Pong { itt });
        }
        if ttt != NO_TAG && itt == NO_TAG {
            if self.control.len() >= CONTROL_MAX {
                return Err(SessionError::ControlFlood);
            }
            let limit = PING_BYTES_MAX.min(self.agreed.max_send_segment_bytes as usize);
            let data = data[..data.len().min(limit)].to_vec();
            self.control.push_back(Control::Pong { ttt, lun, data });
        }
        Ok(())
    }
}

const TASK_FUNCTION_COMPLETE: u8 = 0;
const TASK_DOES_NOT_EXIST: u8 = 1;

/// Returns the sense data of a response: two bytes of length, then the sense bytes (RFC 7143 §11.4.7.2).
fn sense_of(data: &[u8]) -> Vec<u8> {
    match data {
        [high, low, rest @ ..] => {
            let bytes = usize::from(u16::from_be_bytes([*high, *low]));
            rest[..rest.len().min(bytes)].to_vec()
        }
        _ => Vec::new(),
    }
}

fn asynchronous(event: u8, parameters: [u16; 3], data: &[u8], events: &mut Vec<SessionEvent>) {
    match event {
        0 => events.push(SessionEvent::AsyncSense { sense: sense_of(data) }),
        1 => events.push(SessionEvent::LogoutRequested { event, seconds: parameters[2] }),
        2 | 3 => events.push(SessionEvent::LogoutRequested { event, seconds: parameters[1] }),
        // The target requests new parameters: a new login serves as well as a text negotiation.
        4 => events.push(SessionEvent::LogoutRequested { event, seconds: parameters[2] }),
        _ => {}
    }
}

fn rejected(reason: u8, data: &[u8], events: &mut Vec<SessionEvent>) -> Result<(), SessionError> {
    let refused = data.first().map_or(0xff, |byte| byte & 0x3f);
    // After a data digest error the target itself ends the command with a CHECK CONDITION (§7.8); a refused ping or
    // abort runs into its own time limit.
    let tolerable = reason == 0x02 || matches!(refused, opcode::NOP_OUT | opcode::TASK_MANAGEMENT);
    if !tolerable {
        return Err(SessionError::Rejected { reason, opcode: refused });
    }
    events.push(SessionEvent::Rejected { reason, opcode: refused });
    Ok(())
}

/// Returns a reject reason in words (RFC 7143 §11.17.1).
pub(super) fn reject_words(reason: u8) -> &'static str {
    match reason {
        0x02 => "data digest error",
        0x03 => "SNACK rejected",
        0x04 => "protocol error",
        0x05 => "command not supported",
        0x06 => "too many immediate commands",
        0x07 => "task in progress",
        0x08 => "invalid data acknowledgement",
        0x09 => "invalid PDU field",
        0x0a => "long operation, cannot generate a transfer tag",
        0x0c => "waiting for logout",
        _ => "unknown reason",
    }
}
