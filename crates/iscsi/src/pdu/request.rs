//! Headers an initiator sends.

use super::{Bhs, FLAG_CONTINUE, FLAG_FINAL, NO_TAG, opcode};

const IMMEDIATE: u8 = 0x40;

/// Data direction of a SCSI command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// No data.
    None,
    /// From target to initiator.
    Read,
    /// From initiator to target.
    Write,
}

/// SCSI Command (RFC 7143 §11.3). Task attribute is always simple.
#[derive(Debug, Clone, Copy)]
pub struct ScsiCommand {
    /// Logical unit number, wire form.
    pub lun: u64,
    /// Initiator task tag.
    pub itt: u32,
    /// Data direction.
    pub direction: Direction,
    /// Set when no unsolicited Data-Out follows.
    pub is_final: bool,
    /// Number of bytes that the command transfers.
    pub transfer_bytes: u32,
    /// Immediate data in this PDU, bytes.
    pub immediate_bytes: u32,
    /// Command sequence number.
    pub cmd_sn: u32,
    /// Next status number expected.
    pub exp_stat_sn: u32,
    /// Command descriptor block, zero padded.
    pub cdb: [u8; 16],
}

impl ScsiCommand {
    /// Returns the header in wire format.
    pub fn encode(&self) -> Bhs {
        let mut bhs = Bhs::default();
        bhs.0[0] = opcode::SCSI_COMMAND;
        let direction = match self.direction {
            Direction::None => 0,
            Direction::Read => 0x40,
            Direction::Write => 0x20,
        };
        bhs.0[1] = if self.is_final { FLAG_FINAL } else { 0 } | direction | TASK_ATTRIBUTE_SIMPLE;
        bhs.set_data_bytes(self.immediate_bytes).set_lun(self.lun).set_word(16, self.itt);
        bhs.set_word(20, self.transfer_bytes).set_word(24, self.cmd_sn).set_word(28, self.exp_stat_sn);
        bhs.0[32..48].copy_from_slice(&self.cdb);
        bhs
    }
}

const TASK_ATTRIBUTE_SIMPLE: u8 = 1;

/// SCSI Data-Out (RFC 7143 §11.7).
#[derive(Debug, Clone, Copy)]
pub struct DataOut {
    /// Logical unit number, wire form.
    pub lun: u64,
    /// Initiator task tag of the command.
    pub itt: u32,
    /// Target transfer tag of the R2T, or [`NO_TAG`] for unsolicited data.
    pub ttt: u32,
    /// Last PDU of this sequence.
    pub is_final: bool,
    /// Next status number expected.
    pub exp_stat_sn: u32,
    /// Number of this PDU within its sequence, from 0.
    pub data_sn: u32,
    /// Offset of the segment within the command's data, bytes.
    pub offset_bytes: u32,
    /// Length of the segment, bytes.
    pub data_bytes: u32,
}

impl DataOut {
    /// Returns the header in wire format.
    pub fn encode(&self) -> Bhs {
        let mut bhs = Bhs::default();
        bhs.0[0] = opcode::DATA_OUT;
        bhs.0[1] = if self.is_final { FLAG_FINAL } else { 0 };
        bhs.set_data_bytes(self.data_bytes).set_lun(self.lun).set_word(16, self.itt).set_word(20, self.ttt);
        bhs.set_word(28, self.exp_stat_sn).set_word(36, self.data_sn).set_word(40, self.offset_bytes);
        bhs
    }
}

/// NOP-Out (RFC 7143 §11.18); always sent as immediate, so that a closed command window cannot delay it.
#[derive(Debug, Clone, Copy)]
pub struct NopOut {
    /// Logical unit number: copied from the NOP-In when this answers one.
    pub lun: u64,
    /// Our tag if this is a ping, [`NO_TAG`] if it answers one.
    pub itt: u32,
    /// Tag of the NOP-In that this answers, [`NO_TAG`] if it is a ping.
    pub ttt: u32,
    /// Command sequence number (not consumed by an immediate PDU).
    pub cmd_sn: u32,
    /// Next status number expected.
    pub exp_stat_sn: u32,
    /// Ping data that follows, bytes.
    pub data_bytes: u32,
}

impl NopOut {
    /// Returns the header in wire format.
    pub fn encode(&self) -> Bhs {
        let mut bhs = Bhs::default();
        bhs.0[0] = opcode::NOP_OUT | IMMEDIATE;
        bhs.0[1] = FLAG_FINAL;
        bhs.set_data_bytes(self.data_bytes).set_lun(self.lun).set_word(16, self.itt).set_word(20, self.ttt);
        bhs.set_word(24, self.cmd_sn).set_word(28, self.exp_stat_sn);
        bhs
    }
}

/// Functions of task management (RFC 7143 §11.5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskFunction {
    /// Abort one task of this session.
    AbortTask {
        /// Tag of the task to abort.
        itt: u32,
        /// CmdSN the task was sent with.
        cmd_sn: u32,
    },
    /// Abort every task of the logical unit, of all sessions.
    LogicalUnitReset,
}

/// Task Management Function Request (RFC 7143 §11.5); always sent as immediate.
#[derive(Debug, Clone, Copy)]
pub struct TaskManagement {
    /// Function.
    pub function: TaskFunction,
    /// Logical unit number, wire form.
    pub lun: u64,
    /// Own tag.
    pub itt: u32,
    /// Command sequence number (not consumed by an immediate PDU).
    pub cmd_sn: u32,
    /// Next status number expected.
    pub exp_stat_sn: u32,
}

impl TaskManagement {
    /// Returns the header in wire format.
    pub fn encode(&self) -> Bhs {
        let mut bhs = Bhs::default();
        bhs.0[0] = opcode::TASK_MANAGEMENT | IMMEDIATE;
        let (function, referenced, ref_cmd_sn) = match self.function {
            TaskFunction::AbortTask { itt, cmd_sn } => (1, itt, cmd_sn),
            TaskFunction::LogicalUnitReset => (5, NO_TAG, 0),
        };
        bhs.0[1] = FLAG_FINAL | function;
        bhs.set_lun(self.lun).set_word(16, self.itt).set_word(20, referenced);
        bhs.set_word(24, self.cmd_sn).set_word(28, self.exp_stat_sn).set_word(32, ref_cmd_sn);
        bhs
    }
}

/// Login Request (RFC 7143 §11.12).
#[derive(Debug, Clone, Copy)]
pub struct LoginRequest {
    /// Request the transition to `next_stage`.
    pub transit: bool,
    /// Current stage: 0 security, 1 operational.
    pub stage: u8,
    /// Stage to move to: 1 operational, 3 full feature.
    pub next_stage: u8,
    /// Initiator part of the session identifier.
    pub isid: [u8; 6],
    /// Session identifying handle: 0 for a new or reinstated session.
    pub tsih: u16,
    /// Own tag, the same through the whole login.
    pub itt: u32,
    /// Connection identifier within the session.
    pub cid: u16,
    /// Initial command sequence number.
    pub cmd_sn: u32,
    /// Next status number expected (any value in the first request).
    pub exp_stat_sn: u32,
    /// Text that follows, bytes.
    pub data_bytes: u32,
}

impl LoginRequest {
    /// Returns the header in wire format.
    pub fn encode(&self) -> Bhs {
        let mut bhs = Bhs::default();
        bhs.0[0] = opcode::LOGIN | IMMEDIATE;
        bhs.0[1] = (self.stage & 3) << 2;
        if self.transit {
            bhs.0[1] |= FLAG_FINAL | (self.next_stage & 3);
        }
        bhs.set_data_bytes(self.data_bytes).set_word(16, self.itt);
        bhs.0[8..14].copy_from_slice(&self.isid);
        bhs.0[14..16].copy_from_slice(&self.tsih.to_be_bytes());
        bhs.0[20..22].copy_from_slice(&self.cid.to_be_bytes());
        bhs.set_word(24, self.cmd_sn).set_word(28, self.exp_stat_sn);
        bhs
    }
}

/// Text Request (RFC 7143 §11.10).
#[derive(Debug, Clone, Copy)]
pub struct TextRequest {
    /// Own tag, the same through one exchange.
    pub itt: u32,
    /// Tag from the target for the next part of its answer, or [`NO_TAG`].
    pub ttt: u32,
    /// More text of this request follows in the next PDU.
    pub continues: bool,
    /// Command sequence number.
    pub cmd_sn: u32,
    /// Next status number expected.
    pub exp_stat_sn: u32,
    /// Text that follows, bytes.
    pub data_bytes: u32,
}

impl TextRequest {
    /// Returns the header in wire format.
    pub fn encode(&self) -> Bhs {
        let mut bhs = Bhs::default();
        bhs.0[0] = opcode::TEXT;
        bhs.0[1] = if self.continues { FLAG_CONTINUE } else { FLAG_FINAL };
        bhs.set_data_bytes(self.data_bytes).set_word(16, self.itt).set_word(20, self.ttt);
        bhs.set_word(24, self.cmd_sn).set_word(28, self.exp_stat_sn);
        bhs
    }
}

/// Logout Request that closes the session (RFC 7143 §11.14); sent as immediate.
#[derive(Debug, Clone, Copy)]
pub struct LogoutRequest {
    /// Own tag.
    pub itt: u32,
    /// Connection identifier.
    pub cid: u16,
    /// Command sequence number (not consumed by an immediate PDU).
    pub cmd_sn: u32,
    /// Next status number expected.
    pub exp_stat_sn: u32,
}

impl LogoutRequest {
    /// Returns the header in wire format.
    pub fn encode(&self) -> Bhs {
        let mut bhs = Bhs::default();
        bhs.0[0] = opcode::LOGOUT | IMMEDIATE;
        bhs.0[1] = FLAG_FINAL;
        bhs.set_word(16, self.itt);
        bhs.0[20..22].copy_from_slice(&self.cid.to_be_bytes());
        bhs.set_word(24, self.cmd_sn).set_word(28, self.exp_stat_sn);
        bhs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bhs: Bhs, expected: &str) {
        let hex: String = bhs.0.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, expected.replace([' ', '\n'], ""));
    }

    #[test]
    fn a_write_command_with_immediate_data_is_laid_out_as_specified() {
        let mut cdb = [0; 16];
        cdb[..10].copy_from_slice(&[0x2a, 0, 0, 0, 0, 9, 0, 0, 16, 0]);
        let command = ScsiCommand {
            lun: 0x0001_0000_0000_0000,
            itt: 0x0102_0304,
            direction: Direction::Write,
            is_final: true,
            transfer_bytes: 8192,
            immediate_bytes: 4096,
            cmd_sn: 0x11,
            exp_stat_sn: 0x22,
            cdb,
        };
        check(
            command.encode(),
            "01a10000 00001000 0001000000000000 01020304 00002000 00000011 00000022
             2a000000 00090000 10000000 00000000",
        );
        let read = ScsiCommand { direction: Direction::Read, immediate_bytes: 0, ..command };
        assert_eq!(read.encode().0[1], 0xc1);
        let unsolicited = ScsiCommand { is_final: false, ..command };
        assert_eq!(unsolicited.encode().0[1], 0x21);
        assert_eq!(ScsiCommand { direction: Direction::None, ..command }.encode().0[1], 0x81);
    }

    #[test]
    fn data_out_carries_tags_number_and_offset() {
        let data = DataOut {
            lun: 0,
            itt: 7,
            ttt: 0xabcd,
            is_final: true,
            exp_stat_sn: 3,
            data_sn: 2,
            offset_bytes: 0x4000,
            data_bytes: 0x2000,
        };
        check(
            data.encode(),
            "05800000 00002000 0000000000000000 00000007 0000abcd 00000000 00000003
             00000000 00000002 00004000 00000000",
        );
    }

    #[test]
    fn control_requests_are_laid_out_as_specified() {
        let nop = NopOut { lun: 0, itt: 5, ttt: NO_TAG, cmd_sn: 8, exp_stat_sn: 9, data_bytes: 0 };
        check(
            nop.encode(),
            &format!("40800000 00000000 {:016} 00000005 ffffffff 00000008 00000009 {:032}", 0, 0),
        );
        let function = TaskFunction::AbortTask { itt: 6, cmd_sn: 7 };
        let abort = TaskManagement { function, lun: 1, itt: 5, cmd_sn: 8, exp_stat_sn: 9 };
        check(
            abort.encode(),
            "42810000 00000000 0000000000000001 00000005 00000006 00000008 00000009
             00000007 00000000 00000000 00000000",
        );
        let reset = TaskManagement { function: TaskFunction::LogicalUnitReset, ..abort };
        assert_eq!((reset.encode().0[1], reset.encode().word(20)), (0x85, NO_TAG));
        let logout = LogoutRequest { itt: 5, cid: 1, cmd_sn: 8, exp_stat_sn: 9 };
        check(logout.encode(), &format!("46800000 {:024} 00000005 00010000 00000008 00000009 {:032}", 0, 0));
        let text =
            TextRequest { itt: 5, ttt: NO_TAG, continues: false, cmd_sn: 8, exp_stat_sn: 9, data_bytes: 16 };
        check(
            text.encode(),
            &format!("04800000 00000010 {:016} 00000005 ffffffff 00000008 00000009 {:032}", 0, 0),
        );
    }

    #[test]
    fn a_login_request_carries_stage_and_session_identifier() {
        let login = LoginRequest {
            transit: true,
            stage: 1,
            next_stage: 3,
            isid: [0x80, 1, 2, 3, 4, 5],
            tsih: 0x0607,
            itt: 9,
            cid: 1,
            cmd_sn: 2,
            exp_stat_sn: 3,
            data_bytes: 10,
        };
        check(
            login.encode(),
            &format!("43870000 0000000a 800102030405 0607 00000009 00010000 00000002 00000003 {:032}", 0),
        );
        assert_eq!(LoginRequest { transit: false, ..login }.encode().0[1], 0x04);
    }
}
