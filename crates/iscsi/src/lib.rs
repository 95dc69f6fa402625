//! A user-space iSCSI initiator (RFC 7143) with multipath, for test benches.
#![forbid(unsafe_code)]

pub mod chap;
pub mod login;
pub mod pdu;
pub mod scsi;
pub mod serial;
pub mod session;
pub mod text;
