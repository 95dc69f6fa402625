//! Full feature phase of one connection, without I/O (RFC 7143 §4, §11).
//!
//! A **task** is one SCSI command in flight; the caller knows it by a number of its own (`user`), the wire by its
//! tag. [`Session::start`] queues a task, [`Session::next_pdu`] hands out what to send, PDU by PDU, and says where
//! the data segment comes from; [`Session::on_header`] says where a received data segment goes, and
//! [`Session::on_pdu`] reacts when it is complete. Data never passes through the session. What follows for the
//! caller comes out as [`SessionEvent`]s.

mod coverage;
mod incoming;
mod outgoing;
mod task;
mod window;

pub use incoming::{Incoming, Placement};
pub use outgoing::{OutPdu, Payload};
pub use task::{Request, TaskOutcome};

use std::collections::VecDeque;

use crate::login::Negotiated;
use crate::pdu::{PduError, TaskFunction};
use outgoing::{Burst, Control};
use task::Tasks;
use window::Window;

/// Control PDUs that may wait to be sent; a target that causes more without reading them is broken.
const CONTROL_MAX: usize = 64;
/// PDUs that move no task, between two pings of this side, which are seconds apart: a target has few reasons for any.
const IDLE_MAX: u32 = 10_000;

/// A violation of the protocol by the target. With error recovery level 0 it ends the connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// Broken header.
    #[error(transparent)]
    Pdu(#[from] PduError),
    /// A status number was left out: a response is missing.
    #[error("received StatSN {got}, expected {expected}: a response is missing")]
    StatusGap {
        /// StatSN received.
        got: u32,
        /// StatSN expected.
        expected: u32,
    },
    /// A response to something that is not in flight.
    #[error("PDU {opcode:#04x} is for task {itt:#010x}, which is not outstanding")]
    UnknownTask {
        /// Opcode.
        opcode: u8,
        /// Tag.
        itt: u32,
    },
    /// Read data outside of the command, twice, or out of the agreed order.
    #[error("read data at {offset_bytes}+{data_bytes} is {fault}")]
    BadDataIn {
        /// Offset in the command's data, bytes.
        offset_bytes: u32,
        /// Length, bytes.
        data_bytes: u32,
        /// What is wrong.
        fault: &'static str,
    },
    /// An R2T outside of the command or against the agreed limits.
    #[error("R2T for {offset_bytes}+{desired_bytes} is {fault}")]
    BadR2t {
        /// Offset in the command's data, bytes.
        offset_bytes: u32,
        /// Length asked for, bytes.
        desired_bytes: u32,
        /// What is wrong.
        fault: &'static str,
    },
    /// The target refused a PDU that we need.
    #[error("the target rejected PDU {opcode:#04x}: {}", incoming::reject_words(*reason))]
    Rejected {
        /// Reason code.
        reason: u8,
        /// Opcode of the refused PDU.
        opcode: u8,
    },
    /// A PDU that does not belong into the full feature phase.
    #[error("PDU {0:#04x} is not allowed in the full feature phase")]
    OutOfPhase(u8),
    /// The target causes control PDUs faster than it reads them.
    #[error("the target requests more than {CONTROL_MAX} responses without reading them")]
    ControlFlood,
    /// The target sends what moves nothing, and does not stop.
    #[error("the target sent more than {IDLE_MAX} PDUs without a response to a command")]
    IdleFlood,
}

/// Something the caller has to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionEvent {
    /// A task ended with a status.
    Done {
        /// The caller's number.
        user: u32,
        /// How it ended.
        outcome: TaskOutcome,
    },
    /// A task was aborted and will neither touch its data nor end any more.
    Aborted {
        /// The caller's number.
        user: u32,
    },
    /// A task management function was not carried out; the connection should be dropped.
    TaskManagementFailed {
        /// Response code of RFC 7143 §11.6.1.
        response: u8,
    },
    /// A LUN reset was carried out.
    ResetDone,
    /// Our ping was answered.
    Pong {
        /// Tag of the ping.
        itt: u32,
    },
    /// The target asks to log out, or is about to drop the connection or session.
    LogoutRequested {
        /// Event code of RFC 7143 §11.9.1: 1, 2, 3 or 4.
        event: u8,
        /// Seconds before a new login may be tried (Time2Wait), or until which to log out.
        seconds: u16,
    },
    /// Asynchronous SCSI event; the sense data says which.
    AsyncSense {
        /// Sense data.
        sense: Vec<u8>,
    },
    /// The target refused a PDU that we can do without, or will end its command with an error itself.
    Rejected {
        /// Reason code.
        reason: u8,
        /// Opcode of the refused PDU.
        opcode: u8,
    },
    /// Our logout was answered.
    LoggedOut,
}

/// One connection in full feature phase.
#[derive(Debug)]
pub struct Session {
    agreed: Negotiated,
    lun: u64,

    window: Window,
    tasks: Tasks,
    control: VecDeque<Control>,
    bursts: VecDeque<Burst>,
    queued: VecDeque<u16>,
    control_count: u32,
    abort: Option<(u32, u32)>,
    reset_itt: Option<u32>,
    /// Write data are held back.
    is_holding: bool,
    /// PDUs since the last ping of this side that moved no task.
    idle_count: u32,
}

impl Session {
    /// A session that was just logged in, for one logical unit and at most `depth` tasks.
    #[must_use]
    pub fn new(agreed: Negotiated, lun: u64, depth: u16) -> Self {
        Self {
            window: Window::new(agreed.cmd_sn, agreed.max_cmd_sn, agreed.exp_stat_sn),
            tasks: Tasks::new(depth),
            control: VecDeque::with_capacity(CONTROL_MAX),
            // Every task may have one unsolicited burst and the agreed number of solicited ones.
            bursts: VecDeque::with_capacity(usize::from(depth) * 2),
            queued: VecDeque::with_capacity(usize::from(depth)),
            control_count: 0,
            abort: None,
            reset_itt: None,
            is_holding: false,
            idle_count: 0,
            agreed,
            lun,
        }
    }

    /// The agreed parameters.
    #[must_use]
    pub fn agreed(&self) -> &Negotiated {
        &self.agreed
    }

    /// Queues a task; false if `depth` tasks are in flight already.
    #[must_use = "a task that was not accepted must be kept by the caller"]
    pub fn start(&mut self, request: Request) -> bool {
        let Some(index) = self.tasks.insert(request) else { return false };
        self.queued.push_back(index);
        true
    }

    /// The target's command window: tasks in flight and those it would take beyond them. At login many targets open
    /// it only a little.
    #[must_use]
    pub fn command_window(&self) -> u32 {
        self.window.open_count() + u32::from(self.tasks.count())
    }

    /// True if the target has room for a single command, as far as it has said.
    ///
    /// Such a target may read nothing but data between its R2T and their end: jSCSI drops commands that come then, and
    /// takes a ping for the end of the write. It gets one command at a time, and no ping beside a write.
    #[must_use]
    pub fn is_serial(&self) -> bool {
        self.window.largest_count() <= 1
    }

    /// True if a ping can do no harm now.
    #[must_use]
    pub fn may_ping(&self) -> bool {
        !self.is_serial() || !self.tasks.has_sent_write()
    }

    /// True if the next command may leave: the window is open, and the target can read it.
    fn may_start(&self) -> bool {
        let sent_count = usize::from(self.tasks.count()) - self.queued.len();
        self.window.is_open() && (sent_count == 0 || !self.is_serial())
    }

    /// Tasks in flight, in [0, depth].
    #[must_use]
    pub fn task_count(&self) -> u16 {
        self.tasks.count()
    }

    /// True if no more task fits.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.tasks.is_full()
    }

    /// Sends no write data until [`Self::release_data`], whatever the target asks for.
    pub fn hold_data(&mut self) {
        self.is_holding = true;
    }

    /// Sends write data again.
    pub fn release_data(&mut self) {
        self.is_holding = false;
    }

    /// Takes back a task that was started and not sent; false if it was sent, or is none.
    pub fn withdraw(&mut self, user: u32) -> bool {
        let is_it = |index: &u16| self.tasks.user_of(*index) == user;
        let Some(at) = self.queued.iter().position(is_it) else { return false };
        let index = self.queued.remove(at).expect("it was just found there");
        self.tasks.release(index);
        true
    }

    /// Sends a ping; the tag comes back in [`SessionEvent::Pong`].
    pub fn ping(&mut self) -> u32 {
        self.idle_count = 0;
        let itt = self.control_itt();
        self.control.push_back(Control::Ping { itt });
        itt
    }

    /// Asks the target to abort the task. Answered by [`SessionEvent::Aborted`] or
    /// [`SessionEvent::TaskManagementFailed`], unless the task ends by itself first. One abort at a time: false if
    /// another one is still waiting, or if there is no such task.
    pub fn abort(&mut self, user: u32) -> bool {
        if self.abort.is_some() {
            return false;
        }
        let Some((task_itt, cmd_sn)) = self.tasks.sent_task(user) else { return false };
        let itt = self.control_itt();
        self.abort = Some((itt, task_itt));
        self.control
            .push_back(Control::Manage { itt, function: TaskFunction::AbortTask { itt: task_itt, cmd_sn } });
        true
    }

    /// Asks the target to reset the logical unit. Every task that was sent is aborted, of all sessions. False if a
    /// reset is already waiting for its answer.
    pub fn reset_logical_unit(&mut self) -> bool {
        if self.reset_itt.is_some() {
            return false;
        }
        let itt = self.control_itt();
        self.reset_itt = Some(itt);
        self.control.push_back(Control::Manage { itt, function: TaskFunction::LogicalUnitReset });
        true
    }

    /// Ends the session politely.
    pub fn logout(&mut self) {
        let itt = self.control_itt();
        self.control.push_back(Control::Logout { itt });
    }

    fn control_itt(&mut self) -> u32 {
        self.control_count = self.control_count.wrapping_add(1);
        task::CONTROL_TAG | (self.control_count & 0x00ff_ffff)
    }

    fn forget_bursts(&mut self, itt: u32) {
        self.bursts.retain(|burst| burst.itt != itt);
    }
}

#[cfg(test)]
mod tests;
