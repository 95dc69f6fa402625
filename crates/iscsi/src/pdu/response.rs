//! Headers an initiator receives.

use super::{Bhs, FLAG_CONTINUE, NO_TAG, PduError, opcode};

/// Command window and status number, common to nearly all responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbers {
    /// Status sequence number.
    pub stat_sn: u32,
    /// Next CmdSN the target expects.
    pub exp_cmd_sn: u32,
    /// Last CmdSN the target accepts.
    pub max_cmd_sn: u32,
}

impl Numbers {
    fn read(bhs: &Bhs) -> Self {
        Self { stat_sn: bhs.word(24), exp_cmd_sn: bhs.word(28), max_cmd_sn: bhs.word(32) }
    }
}

/// Difference between the requested and the transferred bytes of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Residual {
    /// No difference.
    None,
    /// This many bytes were not transferred.
    Underflow(u32),
    /// This many more bytes were available.
    Overflow(u32),
}

impl Residual {
    fn read(flags: u8, count: u32) -> Self {
        match flags & 0x06 {
            0x04 => Self::Overflow(count),
            0x02 => Self::Underflow(count),
            _ => Self::None,
        }
    }
}

/// A PDU from the target, header only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Response {
    /// Status of a command; sense data may follow in the data segment.
    Scsi {
        /// Tag of the command.
        itt: u32,
        /// Sequence numbers.
        numbers: Numbers,
        /// iSCSI response: 0 completed at target, anything else target failure.
        response: u8,
        /// SCSI status byte.
        status: u8,
        /// Residual count.
        residual: Residual,
    },
    /// Outcome of a task management function (0 complete, 1 no such task, 2 no such LUN, …).
    TaskManagement {
        /// Tag of the request.
        itt: u32,
        /// Sequence numbers.
        numbers: Numbers,
        /// Response code of RFC 7143 §11.6.1.
        response: u8,
    },
    /// Read data; with `status` it also ends the command.
    DataIn {
        /// Tag of the command.
        itt: u32,
        /// Sequence numbers; `stat_sn` is valid only with `status`.
        numbers: Numbers,
        /// Number of this PDU within the command.
        data_sn: u32,
        /// Offset within the command's data, bytes.
        offset_bytes: u32,
        /// Length of the segment, bytes.
        data_bytes: u32,
        /// SCSI status and residual when the status comes with the data (phase collapse).
        status: Option<(u8, Residual)>,
    },
    /// The target requests write data.
    R2t {
        /// Tag of the command.
        itt: u32,
        /// Target transfer tag for the data.
        ttt: u32,
        /// Sequence numbers; `stat_sn` is not advanced.
        numbers: Numbers,
        /// Offset of the first requested byte, bytes.
        offset_bytes: u32,
        /// Number of bytes requested.
        desired_bytes: u32,
    },
    /// Ping from the target, or answer to ours.
    NopIn {
        /// Our tag if it answers our ping, else [`NO_TAG`].
        itt: u32,
        /// Target's tag if it requests an answer, else [`NO_TAG`].
        ttt: u32,
        /// LUN field, copied into the answer.
        lun: u64,
        /// Sequence numbers.
        numbers: Numbers,
    },
    /// Asynchronous message.
    Async {
        /// Sequence numbers.
        numbers: Numbers,
        /// Event code of RFC 7143 §11.9.1.
        event: u8,
        /// Vendor code.
        vendor_code: u8,
        /// Parameters 1 to 3.
        parameters: [u16; 3],
    },
    /// The target rejected a PDU; the data segment holds the header of that PDU.
    Reject {
        /// Sequence numbers.
        numbers: Numbers,
        /// Reason code of RFC 7143 §11.17.1.
        reason: u8,
    },
    /// Login negotiation.
    Login(LoginResponse),
    /// Text negotiation.
    Text {
        /// Own tag.
        itt: u32,
        /// Tag for requesting the rest, or [`NO_TAG`].
        ttt: u32,
        /// Sequence numbers.
        numbers: Numbers,
        /// True at the end of the answer.
        is_final: bool,
        /// The text continues in the next PDU.
        continues: bool,
    },
    /// Answer to a logout.
    Logout {
        /// Own tag.
        itt: u32,
        /// Sequence numbers.
        numbers: Numbers,
        /// Response code: 0 closed, 1 no such connection, 2 no recovery, 3 clean-up failed.
        response: u8,
    },
}

/// Login Response (RFC 7143 §11.13).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoginResponse {
    /// Tag of the login.
    pub itt: u32,
    /// Sequence numbers.
    pub numbers: Numbers,
    /// The target agrees to move to `next_stage`.
    pub transit: bool,
    /// More text follows in the next PDU.
    pub continues: bool,
    /// Current stage.
    pub stage: u8,
    /// Stage to move to.
    pub next_stage: u8,
    /// Session identifying handle.
    pub tsih: u16,
    /// Status class: 0 success, 1 redirection, 2 initiator error, 3 target error.
    pub status_class: u8,
    /// Detail within the class.
    pub status_detail: u8,
}

impl Response {
    /// Decodes a header. Fails on opcodes and fields that RFC 7143 does not allow.
    pub fn decode(bhs: &Bhs) -> Result<Self, PduError> {
        let numbers = Numbers::read(bhs);
        let itt = bhs.itt();
        Ok(match bhs.opcode() {
            opcode::SCSI_RESPONSE => Self::Scsi {
                itt,
                numbers,
                response: bhs.0[2],
                status: bhs.0[3],
                residual: Residual::read(bhs.flags(), bhs.word(44)),
            },
            opcode::TASK_MANAGEMENT_RESPONSE => Self::TaskManagement { itt, numbers, response: bhs.0[2] },
            opcode::DATA_IN => decode_data_in(bhs, numbers)?,
            opcode::R2T => decode_r2t(bhs, numbers)?,
            opcode::NOP_IN => Self::NopIn { itt, ttt: bhs.ttt(), lun: bhs.lun(), numbers },
            opcode::ASYNC_MESSAGE => decode_async(bhs, numbers),
            opcode::REJECT => Self::Reject { numbers, reason: bhs.0[2] },
            opcode::LOGIN_RESPONSE => Self::Login(decode_login(bhs, numbers)?),
            opcode::TEXT_RESPONSE => Self::Text {
                itt,
                ttt: bhs.ttt(),
                numbers,
                is_final: bhs.is_final(),
                continues: bhs.flags() & FLAG_CONTINUE != 0,
            },
            opcode::LOGOUT_RESPONSE => Self::Logout { itt, numbers, response: bhs.0[2] },
            other => return Err(PduError::UnknownOpcode(other)),
        })
    }

    /// Sequence numbers of the PDU.
    pub fn numbers(&self) -> Numbers {
        match self {
            Self::Scsi { numbers, .. }
            | Self::TaskManagement { numbers, .. }
            | Self::DataIn { numbers, .. }
            | Self::R2t { numbers, .. }
            | Self::NopIn { numbers, .. }
            | Self::Async { numbers, .. }
            | Self::Reject { numbers, .. }
            | Self::Text { numbers, .. }
            | Self::Logout { numbers, .. } => *numbers,
            Self::Login(login) => login.numbers,
        }
    }

    /// Returns true if the PDU consumes a status number, so that ExpStatSN moves on.
    pub fn advances_stat_sn(&self) -> bool {
        match self {
            Self::DataIn { status, .. } => status.is_some(),
            Self::R2t { .. } => false,
            // A ping from the target carries the next StatSN without consuming it (RFC 7143 §11.19.2).
            Self::NopIn { itt, .. } => *itt != NO_TAG,
            _ => true,
        }
    }
}

fn decode_data_in(bhs: &Bhs, numbers: Numbers) -> Result<Response, PduError> {
    let flags = bhs.flags();
    let has_status = flags & 0x01 != 0;
    if has_status && !bhs.is_final() {
        return Err(PduError::BadField { field: "F with S", opcode: opcode::DATA_IN, value: flags.into() });
    }
    Ok(Response::DataIn {
        itt: bhs.itt(),
        numbers,
        data_sn: bhs.word(36),
        offset_bytes: bhs.word(40),
        data_bytes: bhs.data_bytes(),
        status: has_status.then(|| (bhs.0[3], Residual::read(flags, bhs.word(44)))),
    })
}

fn decode_r2t(bhs: &Bhs, numbers: Numbers) -> Result<Response, PduError> {
    let desired_bytes = bhs.word(44);
    if desired_bytes == 0 {
        return Err(PduError::BadField { field: "DesiredDataTransferLength", opcode: opcode::R2T, value: 0 });
    }
    if bhs.ttt() == NO_TAG {
        return Err(PduError::BadField { field: "TargetTransferTag", opcode: opcode::R2T, value: NO_TAG });
    }
    Ok(Response::R2t { itt: bhs.itt(), ttt: bhs.ttt(), numbers, offset_bytes: bhs.word(40), desired_bytes })
}

fn decode_async(bhs: &Bhs, numbers: Numbers) -> Response {
    let half = |at: usize| u16::from_be_bytes([bhs.0[at], bhs.0[at + 1]]);
    Response::Async {
        numbers,
        event: bhs.0[36],
        vendor_code: bhs.0[37],
        parameters: [half(38), half(40), half(42)],
    }
}

fn decode_login(bhs: &Bhs, numbers: Numbers) -> Result<LoginResponse, PduError> {
    let flags = bhs.flags();
    let login = LoginResponse {
        itt: bhs.itt(),
        numbers,
        transit: bhs.is_final(),
        continues: flags & FLAG_CONTINUE != 0,
        stage: flags >> 2 & 3,
        next_stage: flags & 3,
        tsih: u16::from_be_bytes([bhs.0[14], bhs.0[15]]),
        status_class: bhs.0[36],
        status_detail: bhs.0[37],
    };
    if login.transit && login.continues {
        return Err(PduError::BadField {
            field: "T with C",
            opcode: opcode::LOGIN_RESPONSE,
            value: flags.into(),
        });
    }
    Ok(login)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bhs(bytes: &[(usize, u8)]) -> Bhs {
        let mut bhs = Bhs::default();
        for &(at, value) in bytes {
            bhs.0[at] = value;
        }
        bhs.set_word(24, 10).set_word(28, 11).set_word(32, 12);
        bhs
    }

    const NUMBERS: Numbers = Numbers { stat_sn: 10, exp_cmd_sn: 11, max_cmd_sn: 12 };

    #[expect(clippy::needless_pass_by_value, reason = "the expected value is written in place")]
    fn check(header: Bhs, expected: Result<Response, PduError>) {
        assert_eq!(Response::decode(&header), expected);
    }

    #[test]
    fn scsi_response_with_underflow() {
        let header = bhs(&[(0, 0x21), (1, 0x82), (3, 2), (19, 5), (47, 9)]);
        let residual = Residual::Underflow(9);
        check(header, Ok(Response::Scsi { itt: 5, numbers: NUMBERS, response: 0, status: 2, residual }));
    }

    #[test]
    fn data_in_with_and_without_status() {
        let header = bhs(&[(0, 0x25), (1, 0x80), (6, 0x10), (19, 5), (39, 3), (42, 0x20)]);
        let plain = Response::DataIn {
            itt: 5,
            numbers: NUMBERS,
            data_sn: 3,
            offset_bytes: 0x2000,
            data_bytes: 0x1000,
            status: None,
        };
        check(header, Ok(plain));
        assert!(!plain.advances_stat_sn());
        let mut collapsed = header;
        collapsed.0[1] = 0x85;
        collapsed.0[47] = 4;
        let Ok(Response::DataIn { status, .. }) = Response::decode(&collapsed) else { panic!("decodes") };
        assert_eq!(status, Some((0, Residual::Overflow(4))));
        collapsed.0[1] = 0x01;
        check(collapsed, Err(PduError::BadField { field: "F with S", opcode: 0x25, value: 1 }));
    }

    #[test]
    fn an_r2t_must_request_at_least_one_byte() {
        let mut header = bhs(&[(0, 0x31), (1, 0x80), (19, 5), (23, 6), (42, 1), (46, 2)]);
        let expected =
            Response::R2t { itt: 5, ttt: 6, numbers: NUMBERS, offset_bytes: 0x100, desired_bytes: 0x200 };
        check(header, Ok(expected));
        header.set_word(44, 0);
        let field = "DesiredDataTransferLength";
        check(header, Err(PduError::BadField { field, opcode: 0x31, value: 0 }));
    }

    #[test]
    fn pings_from_the_target_consume_no_status_number() {
        let mut header = bhs(&[(0, 0x20), (1, 0x80), (23, 6)]);
        header.set_word(16, NO_TAG);
        let ping = Response::NopIn { itt: NO_TAG, ttt: 6, lun: 0, numbers: NUMBERS };
        check(header, Ok(ping));
        assert!(!ping.advances_stat_sn());
    }

    #[test]
    fn other_responses() {
        let header = bhs(&[(0, 0x32), (1, 0x80), (36, 1), (37, 2), (39, 3), (41, 4), (43, 5)]);
        let parameters = [3, 4, 5];
        check(header, Ok(Response::Async { numbers: NUMBERS, event: 1, vendor_code: 2, parameters }));
        check(bhs(&[(0, 0x3f), (2, 9)]), Ok(Response::Reject { numbers: NUMBERS, reason: 9 }));
        let done = Response::TaskManagement { itt: 7, numbers: NUMBERS, response: 1 };
        check(bhs(&[(0, 0x22), (2, 1), (19, 7)]), Ok(done));
        check(bhs(&[(0, 0x26), (19, 7)]), Ok(Response::Logout { itt: 7, numbers: NUMBERS, response: 0 }));
        check(bhs(&[(0, 0x01)]), Err(PduError::UnknownOpcode(1)));
    }

    #[test]
    fn login_response_fields() {
        let header = bhs(&[(0, 0x23), (1, 0x87), (14, 1), (15, 2), (19, 3), (36, 2), (37, 1)]);
        let Ok(Response::Login(login)) = Response::decode(&header) else { panic!("decodes") };
        assert!(login.transit && !login.continues);
        assert_eq!((login.stage, login.next_stage, login.tsih), (1, 3, 0x0102));
        assert_eq!((login.status_class, login.status_detail), (2, 1));
        assert!(Response::decode(&bhs(&[(0, 0x23), (1, 0xc7)])).is_err(), "T and C exclude each other");
    }
}
