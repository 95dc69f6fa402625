//! The order of sending: control PDUs first, then write data, then commands as far as the window is open.

use super::Session;
use super::task::Task;
use crate::pdu::{
    Bhs, DataOut, Direction, LogoutRequest, NO_TAG, NopOut, ScsiCommand, TaskFunction, TaskManagement,
};

/// Source of the data segment of a PDU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payload {
    /// No data segment.
    None,
    /// The caller's buffer of task `user`.
    Task {
        /// The caller's number.
        user: u32,
        /// Offset in the buffer, bytes.
        offset_bytes: u32,
        /// Length, bytes.
        data_bytes: u32,
    },
    /// These bytes.
    Owned(Vec<u8>),
}

/// One PDU to send; the transport adds digests and padding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutPdu {
    /// Header.
    pub bhs: Bhs,
    /// Data segment.
    pub payload: Payload,
    /// Task whose command this PDU carries for the first time.
    pub started: Option<u32>,
}

/// A request that is not a SCSI command.
#[derive(Debug)]
pub(super) enum Control {
    Ping { itt: u32 },
    Pong { ttt: u32, lun: u64, data: Vec<u8> },
    Manage { itt: u32, function: TaskFunction },
    Logout { itt: u32 },
}

/// A sequence of Data-Out PDUs that is not completely sent.
#[derive(Debug)]
pub(super) struct Burst {
    pub itt: u32,
    pub ttt: u32,
    pub user: u32,
    pub offset_bytes: u32,
    pub end_bytes: u32,
    pub data_sn: u32,
}

/// Connection identifier; there is one connection per session.
const CID: u16 = 1;

impl Session {
    /// Returns the next PDU to send, or `None` if there is none or the command window is closed.
    pub fn next_pdu(&mut self) -> Option<OutPdu> {
        if let Some(control) = self.control.pop_front() {
            return Some(self.control_pdu(control));
        }
        if let Some(burst) = self.bursts.front_mut().filter(|_| !self.is_holding) {
            let pdu =
                data_pdu(burst, self.lun, self.window.exp_stat_sn(), self.agreed.max_send_segment_bytes);
            if let Payload::Task { offset_bytes, data_bytes, .. } = pdu.payload
                && let Some(task) = self.tasks.by_itt(burst.itt)
            {
                task.sent.add_sent(offset_bytes, offset_bytes + data_bytes);
            }
            if pdu.bhs.is_final() {
                self.end_burst();
            }
            return Some(pdu);
        }
        if !self.may_start() {
            return None;
        }
        let index = self.queued.pop_front()?;
        Some(self.command_pdu(index))
    }

    /// Returns true if a PDU can be sent now.
    pub(crate) fn wants_to_send(&self) -> bool {
        !self.control.is_empty()
            || (!self.is_holding && !self.bursts.is_empty())
            || (!self.queued.is_empty() && self.may_start())
    }

    fn end_burst(&mut self) {
        let burst = self.bursts.pop_front().expect("called for the burst at the front");
        if burst.ttt != NO_TAG
            && let Some(task) = self.tasks.by_itt(burst.itt)
        {
            task.open_r2t_count -= 1;
        }
    }

    fn command_pdu(&mut self, index: u16) -> OutPdu {
        let cmd_sn = self.window.take_cmd_sn();
        let exp_stat_sn = self.window.exp_stat_sn();
        let task = self.tasks.get(index);
        task.cmd_sn = cmd_sn;
        task.is_sent = true;
        let (immediate_bytes, unsolicited_end) = match task.request.direction {
            Direction::Write => unsolicited(&self.agreed, task),
            _ => (0, 0),
        };
        task.sent.add_sent(0, immediate_bytes);
        let request = task.request;
        let command = ScsiCommand {
            lun: self.lun,
            itt: task.itt,
            direction: request.direction,
            is_final: unsolicited_end <= immediate_bytes,
            transfer_bytes: request.transfer_bytes,
            immediate_bytes,
            cmd_sn,
            exp_stat_sn,
            cdb: request.cdb,
        };
        if unsolicited_end > immediate_bytes {
            let (itt, user) = (task.itt, request.user);
            let (offset_bytes, end_bytes) = (immediate_bytes, unsolicited_end);
            self.bursts.push_back(Burst { itt, ttt: NO_TAG, user, offset_bytes, end_bytes, data_sn: 0 });
        }
        let payload = match immediate_bytes {
            0 => Payload::None,
            data_bytes => Payload::Task { user: request.user, offset_bytes: 0, data_bytes },
        };
        OutPdu { bhs: command.encode(), payload, started: Some(request.user) }
    }

    fn control_pdu(&mut self, control: Control) -> OutPdu {
        let (cmd_sn, exp_stat_sn) = (self.window.cmd_sn(), self.window.exp_stat_sn());
        let mut payload = Payload::None;
        let bhs = match control {
            Control::Ping { itt } => {
                NopOut { lun: 0, itt, ttt: NO_TAG, cmd_sn, exp_stat_sn, data_bytes: 0 }.encode()
            }
            Control::Pong { ttt, lun, data } => {
                let data_bytes = u32::try_from(data.len()).expect("ping data is bounded on receipt");
                if data_bytes > 0 {
                    payload = Payload::Owned(data);
                }
                NopOut { lun, itt: NO_TAG, ttt, cmd_sn, exp_stat_sn, data_bytes }.encode()
            }
            Control::Manage { itt, function } => {
                if let Some(reset) = self.reset.as_mut().filter(|reset| reset.itt == itt) {
                    reset.cmd_sn = Some(cmd_sn);
                }
                TaskManagement { function, lun: self.lun, itt, cmd_sn, exp_stat_sn }.encode()
            }
            Control::Logout { itt } => LogoutRequest { itt, cid: CID, cmd_sn, exp_stat_sn }.encode(),
        };
        OutPdu { bhs, payload, started: None }
    }
}

/// Returns how much of a write is sent unsolicited: the immediate bytes, and the end of all unsolicited bytes.
///
/// ```text
/// 0        immediate              FirstBurstLength            transfer length
/// |--in the command PDU--|--unsolicited Data-Out (InitialR2T=No)--|--on R2T--|
/// ```
fn unsolicited(agreed: &crate::login::Negotiated, task: &Task) -> (u32, u32) {
    let first_burst = task.request.transfer_bytes.min(agreed.first_burst_bytes);
    let immediate = if agreed.immediate_data { first_burst.min(agreed.max_send_segment_bytes) } else { 0 };
    (immediate, if agreed.initial_r2t { immediate } else { first_burst })
}

fn data_pdu(burst: &mut Burst, lun: u64, exp_stat_sn: u32, segment_bytes_max: u32) -> OutPdu {
    let data_bytes = (burst.end_bytes - burst.offset_bytes).min(segment_bytes_max);
    let data = DataOut {
        // A solicited PDU carries the LUN of its R2T; with one LUN per session it is always the same.
        lun,
        itt: burst.itt,
        ttt: burst.ttt,
        is_final: burst.offset_bytes + data_bytes == burst.end_bytes,
        exp_stat_sn,
        data_sn: burst.data_sn,
        offset_bytes: burst.offset_bytes,
        data_bytes,
    };
    let payload = Payload::Task { user: burst.user, offset_bytes: burst.offset_bytes, data_bytes };
    burst.offset_bytes += data_bytes;
    burst.data_sn += 1;
    OutPdu { bhs: data.encode(), payload, started: None }
}
