//! Full feature phase of one connection, without I/O (RFC 7143 §4, §11).
//!
//! A **task** is one SCSI command in flight; the caller identifies it by its own number (`user`), the wire by its tag.
//! [`Session::start`] queues a task. [`Session::next_pdu`] returns the next PDU to send and the source of its data
//! segment. [`Session::on_header`] returns the destination of a received data segment, and [`Session::on_pdu`] handles
//! the PDU once it is complete. Data never passes through the session. Results for the caller are [`SessionEvent`]s.

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

/// Number of control PDUs in the send queue; a target that causes more without reading them is broken.
const CONTROL_MAX: usize = 64;
/// Number of PDUs that advance no task, between two of our pings, which are seconds apart: a target has few reasons to
/// send any.
const IDLE_MAX: u32 = 10_000;

/// A violation of the protocol by the target. With error recovery level 0 it ends the connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant says what its fields are")]
pub enum SessionError {
    /// Malformed header.
    #[error(transparent)]
    Pdu(#[from] PduError),
    /// A status number was left out: a response is missing.
    #[error("received StatSN {got}, expected {expected}: a response is missing")]
    StatusGap { got: u32, expected: u32 },
    /// A response to a task that is not in flight.
    #[error("PDU {opcode:#04x} is for task {itt:#010x}, which is not outstanding")]
    UnknownTask { opcode: u8, itt: u32 },
    /// Read data outside of the command, received twice, or out of the agreed order.
    #[error("read data at {offset_bytes}+{data_bytes} is {fault}")]
    BadDataIn {
        /// Offset in the command's data, bytes.
        offset_bytes: u32,
        data_bytes: u32,
        fault: &'static str,
    },
    /// An R2T outside of the command or against the agreed limits.
    #[error("R2T for {offset_bytes}+{desired_bytes} is {fault}")]
    BadR2t {
        /// Offset in the command's data, bytes.
        offset_bytes: u32,
        desired_bytes: u32,
        fault: &'static str,
    },
    /// The target rejected a PDU that Assay needs.
    #[error("the target rejected PDU {opcode:#04x}: {}", incoming::reject_words(*reason))]
    Rejected { reason: u8, opcode: u8 },
    /// The PDU is not allowed in full feature phase.
    #[error("PDU {0:#04x} is not allowed in the full feature phase")]
    OutOfPhase(u8),
    /// The target causes control PDUs faster than it reads them.
    #[error("the target requests more than {CONTROL_MAX} responses without reading them")]
    ControlFlood,
    /// The target keeps sending PDUs that advance no task.
    #[error("the target sent more than {IDLE_MAX} PDUs without a response to a command")]
    IdleFlood,
}

/// An event for the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionEvent {
    /// A task ended with a status.
    Done {
        /// The caller's number.
        user: u32,
        /// Its outcome.
        outcome: TaskOutcome,
    },
    /// A task was aborted: it will neither touch its data nor complete any more.
    Aborted {
        /// The caller's number.
        user: u32,
    },
    /// An abort was refused: only the end of the connection ends the task.
    AbortRefused {
        /// Response code of RFC 7143 §11.6.1.
        response: u8,
    },
    /// A LUN reset was executed. The tasks of this session that were sent before it were aborted.
    ResetDone,
    /// A LUN reset was refused; no task was aborted.
    ResetRefused {
        /// Response code of RFC 7143 §11.6.1.
        response: u8,
    },
    /// Our ping was answered.
    Pong {
        /// Tag of the ping.
        itt: u32,
    },
    /// The target requests a logout, or is about to drop the connection or session.
    LogoutRequested {
        /// Event code of RFC 7143 §11.9.1: 1, 2, 3 or 4.
        event: u8,
        /// Seconds before a new login may be tried (Time2Wait), or until which to log out.
        seconds: u16,
    },
    /// Asynchronous SCSI event, described by the sense data.
    AsyncSense {
        /// Sense data.
        sense: Vec<u8>,
    },
    /// The target rejected a PDU that is dispensable, or whose command it will end with an error itself.
    Rejected {
        /// Reason code.
        reason: u8,
        /// Opcode of the refused PDU.
        opcode: u8,
    },
    /// Our logout was answered.
    LoggedOut,
}

/// A LUN reset in flight.
#[derive(Debug, Clone, Copy)]
struct Reset {
    itt: u32,
    /// CmdSN of the request, once sent: the target aborts only tasks with lower numbers (RFC 7143 §4.2.3.3).
    cmd_sn: Option<u32>,
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
    /// Tags of the abort in flight and of its task.
    abort: Option<(u32, u32)>,
    reset: Option<Reset>,
    /// True while write data is not sent.
    is_holding: bool,
    /// Number of PDUs since our last ping that advanced no task.
    idle_count: u32,
}

impl Session {
    /// Returns a session after login, for one logical unit and at most `depth` tasks.
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
            reset: None,
            is_holding: false,
            idle_count: 0,
            agreed,
            lun,
        }
    }

    /// Returns the agreed parameters.
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

    /// Returns the target's command window: tasks in flight plus those that it would accept beyond them. At login many
    /// targets open it only a little.
    pub fn command_window(&self) -> u32 {
        self.window.open_count() + u32::from(self.tasks.count())
    }

    /// Returns true if the target has reported room for only a single command so far.
    ///
    /// Between its R2T and the end of the write data, such a target may read nothing but data: jSCSI drops commands
    /// that arrive then, and takes a ping for the end of the write. It gets one command at a time, and no ping during a
    /// write.
    pub(crate) fn is_serial(&self) -> bool {
        self.window.largest_count() <= 1
    }

    /// Returns true if a ping is harmless now.
    pub(crate) fn may_ping(&self) -> bool {
        !self.is_serial() || !self.tasks.has_sent_write()
    }

    /// Returns true if the next command can be sent: the window is open, and the target can read it.
    fn may_start(&self) -> bool {
        let sent_count = usize::from(self.tasks.count()) - self.queued.len();
        self.window.is_open() && (sent_count == 0 || !self.is_serial())
    }

    /// Returns the number of further tasks that would be sent at once: what the window has room for.
    pub fn room(&self) -> u32 {
        let queued = u32::try_from(self.queued.len()).expect("bounded by the depth");
        let open = if self.may_start() { self.window.open_count() } else { 0 };
        open.saturating_sub(queued)
    }

    /// Returns true if the target has no task of this session and accepts none: the window is closed.
    pub(crate) fn is_shut(&self) -> bool {
        self.window.open_count() == 0 && usize::from(self.tasks.count()) == self.queued.len()
    }

    /// Returns the number of tasks in flight, in [0, depth].
    pub fn task_count(&self) -> u16 {
        self.tasks.count()
    }

    /// Returns true if `depth` tasks are in flight.
    pub fn is_full(&self) -> bool {
        self.tasks.is_full()
    }

    /// Stops sending write data until [`Self::release_data`], whatever the target requests.
    pub(crate) fn hold_data(&mut self) {
        self.is_holding = true;
    }

    /// Resumes sending write data.
    pub(crate) fn release_data(&mut self) {
        self.is_holding = false;
    }

    /// Removes a task that was started and not sent. Returns false if it was sent, or does not exist.
    pub(crate) fn withdraw(&mut self, user: u32) -> bool {
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

    /// Requests the abort of a task. Answered by [`SessionEvent::Aborted`] or [`SessionEvent::AbortRefused`], unless
    /// the task completes by itself first. Returns false if another abort is pending, or if there is no such task.
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

    /// Requests a reset of the logical unit, which aborts every task that was sent before it, of all sessions. Answered
    /// by [`SessionEvent::ResetDone`] or [`SessionEvent::ResetRefused`]. Returns false if a reset is already pending.
    pub fn reset_logical_unit(&mut self) -> bool {
        if self.reset.is_some() {
            return false;
        }
        let itt = self.control_itt();
        self.reset = Some(Reset { itt, cmd_sn: None });
        self.control.push_back(Control::Manage { itt, function: TaskFunction::LogicalUnitReset });
        true
    }

    /// Sends a logout request.
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
pub(crate) mod tests;
