//! The login phase as a state machine without I/O (RFC 7143 §6.3, §12, §13).
//!
//! [`Login`] builds the first request and turns every response into a [`LoginStep`]: send another request, finish with
//! these [`Negotiated`] values, or connect to another address. Every count and length is bounded, so that no target can
//! prolong a login indefinitely.

mod keys;
mod params;

pub use params::{DigestOffer, Negotiated, Offer};

use crate::chap::{ChapAlgorithm, ChapConfig, equal_in_constant_time};
use crate::pdu::{Bhs, LoginRequest, LoginResponse, PduError, Response};
use crate::text::{self, Pairs, TextError};
use keys::{KeyAnswer, operational_offer, settle};

/// Number of requests in one login; a usual one takes two to five.
const ROUNDS_MAX: u32 = 32;
/// Size of the text in one answer, over all its PDUs, bytes.
const TEXT_BYTES_MAX: usize = 64 * 1024;
/// Longest CHAP challenge accepted, bytes (RFC 7143 §12.1.3).
const CHALLENGE_BYTES_MAX: usize = 1024;

const SECURITY: u8 = 0;
const OPERATIONAL: u8 = 1;
const FULL_FEATURE: u8 = 3;

/// Why a login failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant says what its fields are")]
pub enum LoginError {
    /// The target refused.
    #[error("the target refused the login: {} (status {class:#04x}{detail:02x})", status_words(*class, *detail))]
    Refused { class: u8, detail: u8 },
    /// A value that the standard or our offer does not allow.
    #[error("the target answered {key}={value}, expected {expected}")]
    BadValue {
        key: String,
        /// The value, shortened.
        value: String,
        expected: String,
    },
    /// A required key is missing.
    #[error("the target did not send {0}, which this step of the login requires")]
    MissingKey(&'static str),
    /// The target requires authentication, but no credentials are configured.
    #[error("the target requires authentication ({0}); give a CHAP name and secret (user@host)")]
    AuthenticationNeeded(String),
    /// The target skipped the authentication that the initiator requires.
    #[error("the target skipped authentication although mutual CHAP is configured")]
    AuthenticationSkipped,
    /// The target's CHAP response does not match the secret.
    #[error("the target's response to the CHAP challenge is wrong: it does not know the mutual secret")]
    TargetNotGenuine,
    /// The target accepted our credentials but did not answer our challenge.
    #[error(
        "the target accepted the CHAP name and secret but did not answer the CHAP challenge: it has no mutual \
         (outgoing) CHAP account. Set one up on the target, or log in without a mutual secret"
    )]
    MutualUnanswered,
    /// The target refused credentials and challenge together.
    #[error(
        "the target refused the login after mutual CHAP was asked for (status 0x0201): either it has no mutual \
         (outgoing) CHAP account, or the CHAP name or secret is wrong. Log in without a mutual secret to find out which"
    )]
    MutualRefused,
    /// The target sent our own challenge back (a reflection attack, or a loop).
    #[error("the target returned the initiator's own CHAP challenge")]
    ChallengeReflected,
    /// The PDU is not a login response.
    #[error("the target answered the login with opcode {0:#04x}")]
    UnexpectedPdu(u8),
    /// The stage of the response does not match.
    #[error("the target is in login stage {got}, expected {expected}")]
    WrongStage {
        /// Stage of the response.
        got: u8,
        /// Our stage.
        expected: u8,
    },
    /// Too many requests were needed.
    #[error("the login did not end after {ROUNDS_MAX} rounds")]
    TooLong,
    /// The text is too long.
    #[error("the target sent more than {TEXT_BYTES_MAX} bytes of login text")]
    TooMuchText,
    /// Malformed header.
    #[error(transparent)]
    Pdu(#[from] PduError),
    /// Malformed text.
    #[error(transparent)]
    Text(#[from] TextError),
}

impl LoginError {
    fn bad_value(key: &str, value: &str, expected: &str) -> Self {
        Self::BadValue { key: text::shorten(key), value: text::shorten(value), expected: expected.to_owned() }
    }

    /// Returns true if a retry cannot succeed until a setting is changed.
    pub(crate) fn is_permanent(&self) -> bool {
        match self {
            Self::Refused { class, .. } => *class == 2,
            Self::AuthenticationNeeded(_)
            | Self::AuthenticationSkipped
            | Self::TargetNotGenuine
            | Self::MutualUnanswered
            | Self::MutualRefused => true,
            _ => false,
        }
    }
}

/// Returns the login status in words (RFC 7143 §11.13.5).
pub fn status_words(class: u8, detail: u8) -> &'static str {
    match (class, detail) {
        (0, _) => "success",
        (1, 1) => "the target has moved temporarily",
        (1, 2) => "the target has moved permanently",
        (2, 0) => "initiator error",
        (2, 1) => "authentication failed: check CHAP name and secret",
        (2, 2) => "this initiator name is not allowed to use the target: check the access list",
        (2, 3) => "no such target: check the target name",
        (2, 4) => "the target was removed and has no new address",
        (2, 5) => "unsupported protocol version",
        (2, 6) => "too many connections in this session",
        (2, 7) => "a required parameter is missing; the target may require CHAP",
        (2, 8) => "this connection cannot join the session",
        (2, 9) => "session type is not supported",
        (2, 10) => "the session does not exist",
        (2, 11) => "invalid request during login",
        (3, 0) => "target hardware or software error",
        (3, 1) => "the service is not available at the moment",
        (3, 2) => "the target is out of resources",
        _ => "unknown login status",
    }
}

/// Configuration of a login.
#[derive(Debug, Clone)]
pub struct LoginConfig {
    /// Name of the initiator (iqn., eui., naa.).
    pub initiator_name: String,
    /// Name of the target; `None` opens a discovery session.
    pub target_name: Option<String>,
    /// Initiator part of the session identifier. A login with the same value reinstates the session: the target first
    /// ends the old one with all its tasks.
    pub isid: [u8; 6],
    /// Connection identifier.
    pub cid: u16,
    /// Credentials.
    pub chap: Option<ChapConfig>,
    /// Our side of the operational keys.
    pub offer: Offer,
    /// Our CHAP challenge for mutual authentication: fresh random bytes for each login.
    pub challenge: [u8; 16],
}

/// A request to send: header and text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginPdu {
    /// Header.
    pub bhs: Bhs,
    /// Text, unpadded.
    pub data: Vec<u8>,
}

/// What to do after a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginStep {
    /// Send this and wait for the next response.
    Send(LoginPdu),
    /// Full feature phase: digests apply from the next byte.
    Done(Box<Negotiated>),
    /// The target is at this address (`host:port`, possibly with `,group`).
    Redirect(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waiting {
    Method,
    Challenge,
    Verdict { algorithm: ChapAlgorithm },
    Operational,
}

/// State of one login.
#[derive(Debug)]
pub struct Login {
    config: LoginConfig,

    waiting: Waiting,
    agreed: Negotiated,
    exp_stat_sn: u32,
    tsih: u16,
    rounds: u32,
    text: Vec<u8>,
    operational_sent: bool,
    chap_done: bool,
}

impl Login {
    /// Returns a login that has not started.
    pub fn new(config: LoginConfig) -> Self {
        let agreed = Negotiated::defaults(&config.offer);
        Self {
            config,
            waiting: Waiting::Method,
            agreed,
            exp_stat_sn: 0,
            tsih: 0,
            rounds: 0,
            text: Vec::new(),
            operational_sent: false,
            chap_done: false,
        }
    }

    /// Returns the first request.
    pub fn begin(&mut self) -> LoginPdu {
        let mut data = Vec::new();
        text::push(&mut data, "InitiatorName", &self.config.initiator_name);
        match &self.config.target_name {
            Some(name) => {
                text::push(&mut data, "SessionType", "Normal");
                text::push(&mut data, "TargetName", name);
            }
            None => text::push(&mut data, "SessionType", "Discovery"),
        }
        if self.config.target_name.is_none() && self.config.chap.is_none() {
            // There is nothing to negotiate in the security stage, and gotgt reads SessionType only in the operational
            // stage. A target that requires authentication refuses the login in either stage.
            self.offer_operational(&mut data);
            return self.request(true, data);
        }
        let method = match &self.config.chap {
            None => "None",
            // With mutual CHAP, a target that skips authentication must not be accepted.
            Some(chap) if chap.target.is_some() => "CHAP",
            Some(_) => "CHAP,None",
        };
        text::push(&mut data, "AuthMethod", method);
        self.request(self.config.chap.is_none(), data)
    }

    /// Handles one response with its complete data segment.
    pub fn on_response(&mut self, bhs: &Bhs, data: &[u8]) -> Result<LoginStep, LoginError> {
        let Response::Login(response) = Response::decode(bhs)? else {
            return Err(LoginError::UnexpectedPdu(bhs.opcode()));
        };
        self.rounds += 1;
        if self.rounds > ROUNDS_MAX {
            return Err(LoginError::TooLong);
        }
        if self.text.len() + data.len() > TEXT_BYTES_MAX {
            return Err(LoginError::TooMuchText);
        }
        self.text.extend_from_slice(data);
        self.exp_stat_sn = response.numbers.stat_sn.wrapping_add(1);
        if (response.status_class, response.status_detail) == (2, 1) {
            self.authentication_failed()?;
        }
        if response.status_class > 1 {
            return Err(LoginError::Refused { class: response.status_class, detail: response.status_detail });
        }
        if response.continues {
            return Ok(LoginStep::Send(self.request(false, Vec::new())));
        }
        let pairs = text::parse(&std::mem::take(&mut self.text))?;
        if response.status_class == 1 {
            return Ok(LoginStep::Redirect(require(&pairs, "TargetAddress")?.to_owned()));
        }
        if response.stage == SECURITY && self.config.chap.is_none() {
            self.no_method_but_none(&pairs)?;
        }
        if response.stage != self.stage() {
            return Err(LoginError::WrongStage { got: response.stage, expected: self.stage() });
        }
        self.tsih = response.tsih;
        match self.waiting {
            Waiting::Operational => self.operational(&response, &pairs),
            _ => self.security(&response, &pairs),
        }
    }

    fn stage(&self) -> u8 {
        if self.waiting == Waiting::Operational { OPERATIONAL } else { SECURITY }
    }

    fn request(&self, transit: bool, data: Vec<u8>) -> LoginPdu {
        let stage = self.stage();
        let request = LoginRequest {
            transit,
            stage,
            next_stage: if stage == SECURITY { OPERATIONAL } else { FULL_FEATURE },
            isid: self.config.isid,
            tsih: self.tsih,
            itt: LOGIN_ITT,
            cid: self.config.cid,
            cmd_sn: INITIAL_CMD_SN,
            exp_stat_sn: self.exp_stat_sn,
            data_bytes: u32::try_from(data.len()).expect("login texts are a few kilobytes"),
        };
        LoginPdu { bhs: request.encode(), data }
    }

    fn security(&mut self, response: &LoginResponse, pairs: &Pairs) -> Result<LoginStep, LoginError> {
        let mut reply = self.settle_all(pairs.iter().filter(|(key, _)| !is_security_key(key)))?;
        match self.waiting {
            Waiting::Method => self.choose_method(pairs, &mut reply)?,
            Waiting::Challenge => self.answer_challenge(pairs, &mut reply)?,
            Waiting::Verdict { algorithm } => self.check_target(algorithm, response.transit, pairs)?,
            Waiting::Operational => unreachable!("operational responses do not come here"),
        }
        let authenticating = matches!(self.waiting, Waiting::Challenge)
            || matches!(self.waiting, Waiting::Verdict { .. }) && !self.chap_done;
        if !response.transit || authenticating {
            if response.transit && !self.may_leave_security() {
                return Err(LoginError::AuthenticationSkipped);
            }
            return Ok(LoginStep::Send(self.request(!matches!(self.waiting, Waiting::Challenge), reply)));
        }
        if response.next_stage != OPERATIONAL {
            return Err(LoginError::WrongStage { got: response.next_stage, expected: OPERATIONAL });
        }
        self.offer_operational(&mut reply);
        Ok(LoginStep::Send(self.request(true, reply)))
    }

    /// Enters the operational stage and offers every key.
    fn offer_operational(&mut self, data: &mut Vec<u8>) {
        self.waiting = Waiting::Operational;
        self.operational_sent = true;
        for (key, value) in operational_offer(&self.config.offer, self.config.target_name.is_some()) {
            text::push(data, key, &value);
        }
    }

    /// Returns an error that explains a failed authentication (status 0201) at this point, if the status alone does
    /// not.
    fn authentication_failed(&self) -> Result<(), LoginError> {
        match (&self.config.chap, self.waiting) {
            (None, _) => Err(LoginError::AuthenticationNeeded("CHAP".into())),
            // Our name and response were sent together with our own challenge: the target may have failed on either.
            (Some(chap), Waiting::Verdict { .. }) if chap.target.is_some() => Err(LoginError::MutualRefused),
            _ => Ok(()),
        }
    }

    /// Returns an error if the target requires authentication, as no credentials are configured.
    fn no_method_but_none(&self, pairs: &Pairs) -> Result<(), LoginError> {
        match find(pairs, "AuthMethod") {
            None | Some("None") => Ok(()),
            Some(other) => Err(LoginError::AuthenticationNeeded(text::shorten(other))),
        }
    }

    fn may_leave_security(&self) -> bool {
        self.config.chap.is_none() || self.agreed.authentication == "None" || self.chap_done
    }

    fn choose_method(&mut self, pairs: &Pairs, reply: &mut Vec<u8>) -> Result<(), LoginError> {
        // A target that requires no authentication may omit the key.
        let method = find(pairs, "AuthMethod").unwrap_or("None");
        match (&self.config.chap, method) {
            (Some(_), "CHAP") => {
                let numbers = ChapAlgorithm::ALL.map(ChapAlgorithm::number).join(",");
                text::push(reply, "CHAP_A", &numbers);
                self.agreed.authentication = "CHAP".into();
                self.waiting = Waiting::Challenge;
                Ok(())
            }
            (Some(chap), "None") if chap.target.is_some() => Err(LoginError::AuthenticationSkipped),
            (_, "None") => Ok(()),
            (None, other) => Err(LoginError::AuthenticationNeeded(text::shorten(other))),
            (Some(_), other) => Err(LoginError::bad_value("AuthMethod", other, "CHAP or None")),
        }
    }

    fn answer_challenge(&mut self, pairs: &Pairs, reply: &mut Vec<u8>) -> Result<(), LoginError> {
        let chap = self.config.chap.as_ref().expect("only a login with credentials waits for a challenge");
        let number = require(pairs, "CHAP_A")?;
        let algorithm = ChapAlgorithm::from_number(number)
            .ok_or_else(|| LoginError::bad_value("CHAP_A", number, "one of 5, 6, 7"))?;
        let identifier = identifier(require(pairs, "CHAP_I")?)?;
        let challenge = text::decode_binary("CHAP_C", require(pairs, "CHAP_C")?)?;
        if challenge.is_empty() || challenge.len() > CHALLENGE_BYTES_MAX {
            return Err(LoginError::bad_value("CHAP_C", "(its length)", "1 to 1024 bytes"));
        }
        if challenge == self.config.challenge {
            return Err(LoginError::ChallengeReflected);
        }
        let response = algorithm.response(identifier, &chap.initiator.secret, &challenge);
        text::push(reply, "CHAP_N", &chap.initiator.name);
        text::push(reply, "CHAP_R", &text::encode_binary(&response));
        if chap.target.is_some() {
            text::push(reply, "CHAP_I", &OUR_IDENTIFIER.to_string());
            text::push(reply, "CHAP_C", &text::encode_binary(&self.config.challenge));
        }
        self.agreed.authentication = format!("CHAP ({algorithm:?})");
        self.waiting = Waiting::Verdict { algorithm };
        Ok(())
    }

    fn check_target(
        &mut self,
        algorithm: ChapAlgorithm,
        transit: bool,
        pairs: &Pairs,
    ) -> Result<(), LoginError> {
        let chap = self.config.chap.as_ref().expect("only a login with credentials waits for a verdict");
        let Some(target) = &chap.target else {
            self.chap_done = true;
            return Ok(());
        };
        if self.chap_done || (find(pairs, "CHAP_R").is_none() && !transit) {
            return Ok(());
        }
        let proof = find(pairs, "CHAP_R").ok_or(LoginError::MutualUnanswered)?;
        let response = text::decode_binary("CHAP_R", proof)?;
        let expected = algorithm.response(OUR_IDENTIFIER, &target.secret, &self.config.challenge);
        let name_fits = require(pairs, "CHAP_N")? == target.name;
        if !name_fits || !equal_in_constant_time(&response, &expected) {
            return Err(LoginError::TargetNotGenuine);
        }
        self.agreed.authentication.push_str(", mutual");
        self.chap_done = true;
        Ok(())
    }

    fn operational(&mut self, response: &LoginResponse, pairs: &Pairs) -> Result<LoginStep, LoginError> {
        let reply = self.settle_all(pairs.iter())?;
        if !response.transit {
            return Ok(LoginStep::Send(self.request(true, reply)));
        }
        // T=1 ends the negotiation, whatever keys come with it (RFC 7143 §6.3): the target does not expect another
        // request. Our offer contains every key that determines data transfer, so the keys left unanswered here are
        // names, markers and vendor keys, for which no answer is needed.
        if response.next_stage != FULL_FEATURE {
            return Err(LoginError::WrongStage { got: response.next_stage, expected: FULL_FEATURE });
        }
        self.agreed.first_burst_bytes = self.agreed.first_burst_bytes.min(self.agreed.max_burst_bytes);
        self.agreed.tsih = self.tsih;
        self.agreed.cmd_sn = INITIAL_CMD_SN;
        self.agreed.exp_stat_sn = self.exp_stat_sn;
        self.agreed.max_cmd_sn = response.numbers.max_cmd_sn;
        Ok(LoginStep::Done(Box::new(self.agreed.clone())))
    }

    fn settle_all<'a>(
        &mut self,
        pairs: impl Iterator<Item = &'a (String, String)>,
    ) -> Result<Vec<u8>, LoginError> {
        let mut reply = Vec::new();
        for (key, value) in pairs {
            let answer = settle(key, value, self.operational_sent, &self.config.offer, &mut self.agreed)?;
            if let KeyAnswer::Reply(value) = answer {
                text::push(&mut reply, key, &value);
            }
        }
        Ok(reply)
    }
}

/// Task tag of all login requests; no other request is in flight then.
const LOGIN_ITT: u32 = 0;
/// The first CmdSN. Login requests are immediate and do not use it up.
const INITIAL_CMD_SN: u32 = 1;
/// Identifier of our own CHAP challenge.
const OUR_IDENTIFIER: u8 = 0x5a;

fn is_security_key(key: &str) -> bool {
    key == "AuthMethod" || key.starts_with("CHAP_")
}

fn find<'a>(pairs: &'a Pairs, key: &str) -> Option<&'a str> {
    pairs.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
}

fn require<'a>(pairs: &'a Pairs, key: &'static str) -> Result<&'a str, LoginError> {
    find(pairs, key).ok_or(LoginError::MissingKey(key))
}

fn identifier(value: &str) -> Result<u8, LoginError> {
    let parsed = match value.strip_prefix("0x").or_else(|| value.strip_prefix("0X")) {
        Some(digits) => u8::from_str_radix(digits, 16).ok(),
        None => value.parse().ok(),
    };
    parsed.ok_or_else(|| LoginError::bad_value("CHAP_I", value, "a number from 0 to 255"))
}

#[cfg(test)]
mod tests;
