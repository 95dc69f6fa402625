//! Drives a login over a wire; shared by paths and by discovery.

use std::net::TcpStream;

use assay_tcp::Blocking;

use super::{Buffers, Flow, Sink, Wire, WireError};
use crate::login::{Login, LoginConfig, LoginError, LoginPdu, LoginStep, Negotiated};
use crate::pdu::Bhs;
use crate::session::{OutPdu, Payload, Placement};

/// A connection in its login phase.
#[derive(Debug)]
pub(crate) struct LoggingIn {
    wire: Wire,
    login: Login,
    /// True if CHAP credentials are configured.
    has_chap: bool,
}

/// Outcome of a login step.
#[derive(Debug)]
pub(crate) enum LoginOutcome {
    /// In full feature phase.
    Done(Box<Wire>, Box<Negotiated>),
    /// The login continues at another address.
    Redirect(String),
    /// The login is not complete.
    Pending(Box<LoggingIn>),
}

/// Why a login failed.
#[derive(Debug)]
pub(crate) enum LoginFailure {
    Wire(WireError),
    Login(LoginError),
    /// The target closed the connection without an answer.
    HungUp {
        has_chap: bool,
    },
}

impl From<WireError> for LoginFailure {
    fn from(error: WireError) -> Self {
        Self::Wire(error)
    }
}

impl LoggingIn {
    pub(crate) fn begin(stream: TcpStream, config: LoginConfig) -> Self {
        let has_chap = config.chap.is_some();
        let mut login = Login::new(config);
        let first = login.begin();
        let mut wire = Wire::new(stream);
        wire.push(out_pdu(first), &mut NoBuffers);
        Self { wire, login, has_chap }
    }

    pub(crate) fn wire(&self) -> &Wire {
        &self.wire
    }

    /// Sends and receives as much as possible without waiting.
    pub(crate) fn advance(mut self: Box<Self>) -> Result<LoginOutcome, LoginFailure> {
        self.wire.flush(&mut NoBuffers)?;
        let mut sink = OnePdu::default();
        match self.wire.receive(Blocking::Never, &mut sink) {
            Err(WireError::Closed) => return Err(LoginFailure::HungUp { has_chap: self.has_chap }),
            received => received?,
        };
        let Some((bhs, data)) = sink.pdu else { return Ok(LoginOutcome::Pending(self)) };
        match self.login.on_response(&bhs, &data).map_err(LoginFailure::Login)? {
            LoginStep::Send(pdu) => {
                self.wire.push(out_pdu(pdu), &mut NoBuffers);
                self.wire.flush(&mut NoBuffers)?;
                Ok(LoginOutcome::Pending(self))
            }
            LoginStep::Done(agreed) => {
                self.wire.set_digests(agreed.header_digest, agreed.data_digest);
                Ok(LoginOutcome::Done(Box::new(self.wire), agreed))
            }
            LoginStep::Redirect(address) => Ok(LoginOutcome::Redirect(address)),
        }
    }
}

fn out_pdu(pdu: LoginPdu) -> OutPdu {
    OutPdu { bhs: pdu.bhs, payload: Payload::Owned(pdu.data), started: None }
}

/// Control traffic has no task buffers.
pub(crate) struct NoBuffers;

impl Buffers for NoBuffers {
    fn outgoing(&self, _user: u32, _start: u32, _end: u32) -> &[u8] {
        &[]
    }
    fn hold(&mut self, _user: u32) {}
    fn release(&mut self, _user: u32) {}
}

/// Accepts one PDU and stops: the next one may have digests, or belong to another sink.
#[derive(Default)]
pub(crate) struct OnePdu {
    pub(crate) pdu: Option<(Bhs, Vec<u8>)>,
}

impl Sink for OnePdu {
    fn header(&mut self, _bhs: &Bhs) -> Result<Placement, WireError> {
        Ok(Placement::Control)
    }

    fn incoming(&mut self, _user: u32, _start: u32, _end: u32) -> &mut [u8] {
        &mut []
    }

    fn complete(&mut self, bhs: &Bhs, control: &[u8]) -> Result<Flow, WireError> {
        self.pdu = Some((*bhs, control.to_vec()));
        Ok(Flow::Stop)
    }
}
