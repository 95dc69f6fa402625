//! ONC RPC (RFC 5531): the head of calls and replies, AUTH_SYS, record marks of TCP.
//!
//! ```text
//! record:  mark = last-fragment bit | length      call:   xid 0 2 program version procedure credentials verifier args
//!                                                 reply:  xid 1 0 verifier 0 results      (accepted and carried out)
//! ```

use thiserror::Error;

use crate::xdr::{Reader, Writer, XdrError};

/// The bit of a record mark that means "last fragment".
pub const LAST_FRAGMENT: u32 = 1 << 31;
/// Largest length of credentials or a verifier, bytes (RFC 5531, section 8.2).
const AUTH_BYTES_MAX: u32 = 400;
/// Number of groups in AUTH_SYS besides the first.
const GROUPS_MAX: usize = 16;
/// Largest length of the host name, bytes.
const MACHINE_BYTES_MAX: usize = 64;
const AUTH_NONE: u32 = 0;
const AUTH_SYS: u32 = 1;
const CALL: u32 = 0;
const REPLY: u32 = 1;
const RPC_VERSION: u32 = 2;

/// A procedure of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Procedure {
    /// Number of the program.
    pub program: u32,
    /// Its version.
    pub version: u32,
    /// Number of the procedure.
    pub number: u32,
}

/// Credentials for AUTH_SYS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    /// Name of this host; cut at 64 bytes.
    pub machine: String,
    /// User.
    pub uid: u32,
    /// First group.
    pub gid: u32,
    /// Further groups; only the first 16 are sent.
    pub groups: Vec<u32>,
}

impl Credentials {
    /// Returns the credentials of this process.
    pub fn of_process() -> Self {
        let groups = rustix::process::getgroups().unwrap_or_default();
        Self {
            machine: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
            groups: groups.into_iter().map(|group| group.as_raw()).take(GROUPS_MAX).collect(),
        }
    }

    fn write(&self, writer: &mut Writer) {
        let mut body = Writer::new();
        let machine = self.machine.as_bytes();
        let groups = &self.groups[..self.groups.len().min(GROUPS_MAX)];
        body.u32(0).opaque(&machine[..machine.len().min(MACHINE_BYTES_MAX)]).u32(self.uid).u32(self.gid);
        body.u32(u32::try_from(groups.len()).expect("at most 16"));
        for group in groups {
            body.u32(*group);
        }
        writer.u32(AUTH_SYS).opaque(body.bytes());
    }
}

/// Writes the head of a call up to its arguments; `None` for no credentials.
pub(crate) fn write_call(
    writer: &mut Writer,
    xid: u32,
    procedure: Procedure,
    credentials: Option<&Credentials>,
) {
    writer.u32(xid).u32(CALL).u32(RPC_VERSION);
    writer.u32(procedure.program).u32(procedure.version).u32(procedure.number);
    match credentials {
        Some(credentials) => credentials.write(writer),
        None => drop(writer.u32(AUTH_NONE).u32(0)),
    }
    writer.u32(AUTH_NONE).u32(0);
}

/// Why a server did not execute a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the message of a variant says what its fields are")]
pub enum Refusal {
    /// It supports other versions of RPC.
    #[error("the server supports RPC versions {low} to {high} only")]
    RpcVersion { low: u32, high: u32 },
    /// It does not accept the credentials.
    #[error("the server rejected the credentials: {}", auth_words(*status))]
    Auth {
        /// `auth_stat`.
        status: u32,
    },
    /// The program is not available.
    #[error("this program is not available on this port of the server")]
    NoProgram,
    /// The program is available in other versions.
    #[error("the server supports versions {low} to {high} of this program only")]
    Version { low: u32, high: u32 },
    /// The procedure is not available.
    #[error("the server does not support this procedure")]
    NoProcedure,
    /// It could not decode the arguments.
    #[error("the server could not decode the call")]
    Garbage,
    /// It had an internal error.
    #[error("the server reports a system error")]
    System,
}

fn auth_words(status: u32) -> &'static str {
    match status {
        1 => "bad credentials",
        2 => "the client must begin a new session",
        3 => "bad verifier",
        4 => "rejected verifier",
        5 => "AUTH_SYS is too weak; allow sec=sys on the export",
        _ => "no reason given",
    }
}

/// The head of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyHead {
    /// Xid of the call that it answers.
    pub xid: u32,
    /// Start of its results, bytes; or why there are none.
    pub results: Result<usize, Refusal>,
}

/// Returns the head of a reply; `Short` if more bytes are needed.
pub fn read_reply(message: &[u8]) -> Result<ReplyHead, XdrError> {
    let mut reader = Reader::new(message);
    let xid = reader.u32("the head of a reply")?;
    match reader.u32("the head of a reply")? {
        REPLY => {}
        value => return Err(XdrError::Value { what: "reply", value }),
    }
    let results = match reader.u32("the head of a reply")? {
        0 => read_accepted(&mut reader)?,
        1 => Err(read_denied(&mut reader)?),
        value => return Err(XdrError::Value { what: "reply status", value }),
    };
    Ok(ReplyHead { xid, results: results.map(|()| message.len() - reader.rest().len()) })
}

fn read_accepted(reader: &mut Reader<'_>) -> Result<Result<(), Refusal>, XdrError> {
    reader.u32("a verifier")?;
    reader.opaque(AUTH_BYTES_MAX, "a verifier")?;
    Ok(Err(match reader.u32("the status of a reply")? {
        0 => return Ok(Ok(())),
        1 => Refusal::NoProgram,
        2 => Refusal::Version { low: reader.u32("versions")?, high: reader.u32("versions")? },
        3 => Refusal::NoProcedure,
        4 => Refusal::Garbage,
        5 => Refusal::System,
        value => return Err(XdrError::Value { what: "status of a reply", value }),
    }))
}

fn read_denied(reader: &mut Reader<'_>) -> Result<Refusal, XdrError> {
    match reader.u32("why a call was denied")? {
        0 => Ok(Refusal::RpcVersion { low: reader.u32("versions")?, high: reader.u32("versions")? }),
        1 => Ok(Refusal::Auth { status: reader.u32("why credentials were refused")? }),
        value => Err(XdrError::Value { what: "reason for a denial", value }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    #[test]
    fn a_call_is_encoded_to_the_byte() {
        let mut writer = Writer::new();
        let credentials = Credentials { machine: "host1".into(), uid: 1000, gid: 100, groups: vec![4, 24] };
        let read = Procedure { program: 100_003, version: 3, number: 6 };
        write_call(&mut writer, 0x1234_5678, read, Some(&credentials));
        let mut expected = words(&[0x1234_5678, 0, 2, 100_003, 3, 6, 1, 36, 0, 5]);
        expected.extend_from_slice(b"host1\0\0\0");
        expected.extend(words(&[1000, 100, 2, 4, 24, 0, 0]));
        assert_eq!(writer.bytes(), expected);
    }

    #[test]
    fn credentials_are_truncated_to_the_limits_of_the_standard() {
        let mut writer = Writer::new();
        let credentials = Credentials { machine: "m".repeat(300), uid: 0, gid: 0, groups: vec![7; 40] };
        credentials.write(&mut writer);
        assert_eq!(writer.bytes().len(), 8 + 4 + 4 + 64 + 8 + 4 + 64);
        let own = Credentials::of_process();
        assert!(!own.machine.is_empty() && own.groups.len() <= GROUPS_MAX);
    }

    #[test]
    fn replies_are_distinguished() {
        let check = |message: &[u32], results| {
            let head = read_reply(&words(message)).unwrap();
            assert_eq!((head.xid, head.results), (7, results), "{message:?}");
        };
        check(&[7, 1, 0, 0, 0, 0, 99], Ok(24));
        check(&[7, 1, 0, 0, 4, 0xffff_ffff, 0, 99], Ok(28));
        check(&[7, 1, 0, 0, 0, 1], Err(Refusal::NoProgram));
        check(&[7, 1, 0, 0, 0, 2, 3, 4], Err(Refusal::Version { low: 3, high: 4 }));
        check(&[7, 1, 0, 0, 0, 3], Err(Refusal::NoProcedure));
        check(&[7, 1, 0, 0, 0, 4], Err(Refusal::Garbage));
        check(&[7, 1, 0, 0, 0, 5], Err(Refusal::System));
        check(&[7, 1, 1, 0, 2, 2], Err(Refusal::RpcVersion { low: 2, high: 2 }));
        check(&[7, 1, 1, 1, 5], Err(Refusal::Auth { status: 5 }));
        assert!(Refusal::Auth { status: 5 }.to_string().contains("sec=sys"));
    }

    #[test]
    fn invalid_replies_are_refused_and_short_ones_need_more_bytes() {
        for wrong in [&[7, 0, 0][..], &[7, 1, 2], &[7, 1, 0, 0, 404, 0], &[7, 1, 0, 0, 0, 9], &[7, 1, 1, 3]] {
            let error = read_reply(&words(wrong)).unwrap_err();
            assert!(!matches!(error, XdrError::Short { .. }), "{wrong:?}");
        }
        let whole = words(&[7, 1, 0, 0, 4, 1, 0]);
        for length in 0..whole.len() {
            assert!(matches!(read_reply(&whole[..length]), Err(XdrError::Short { .. })), "{length}");
        }
    }
}
