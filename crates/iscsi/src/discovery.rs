//! Discovery: a session that sends only `SendTargets=All` (RFC 7143 §4.3, appendix C).

use std::time::{Duration, Instant};

use assay_tcp::{Blocking, Connecting};

use crate::chap::ChapConfig;
use crate::config::Timeouts;
use crate::error::{DiscoveryError, PathError};
use crate::initiator_login_error;
use crate::login::{DigestOffer, LoginConfig, Negotiated, Offer};
use crate::pdu::{FLAG_CONTINUE, NO_TAG, Response, TextRequest};
use crate::session::{OutPdu, Payload};
use crate::text;
use crate::transport::{LoggingIn, LoginOutcome, NoBuffers, OnePdu, Wire, resolve};

/// Size limit of a discovery response, bytes: about 5000 targets with two portals each.
const TEXT_BYTES_MAX: usize = 1 << 20;
/// Number of PDUs in one response.
const PDUS_MAX: u32 = 1024;
/// Number of redirections followed.
const REDIRECTS_MAX: u32 = 3;

/// A target and its portals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscoveredTarget {
    /// Its name.
    pub name: String,
    /// Its portals.
    pub portals: Vec<DiscoveredPortal>,
}

/// A portal of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscoveredPortal {
    /// `host:port`, as [`crate::Config::portals`] takes it.
    pub address: String,
    /// Portal group.
    pub group: Option<u16>,
}

/// Asks a portal for all targets that it offers to this initiator.
pub fn discover(
    portal: &str,
    initiator_name: &str,
    chap: Option<&ChapConfig>,
    timeouts: &Timeouts,
) -> Result<Vec<DiscoveredTarget>, DiscoveryError> {
    let mut address = portal.to_owned();
    for _ in 0..=REDIRECTS_MAX {
        match log_in(&address, initiator_name, chap.cloned(), timeouts)? {
            Ok((wire, agreed)) => return send_targets(wire, &agreed, &address, timeouts),
            Err(elsewhere) => address = elsewhere,
        }
    }
    Err(PathError::RedirectLoop { portal: portal.to_owned() }.into())
}

type LoggedIn = Result<(Wire, Box<Negotiated>), String>;

fn log_in(
    portal: &str,
    initiator_name: &str,
    chap: Option<ChapConfig>,
    timeouts: &Timeouts,
) -> Result<LoggedIn, PathError> {
    let portal = portal.to_owned();
    let broken = |source| PathError::Connect { portal: portal.clone(), source };
    let address = resolve(&portal).map_err(|source| PathError::Resolve { portal: portal.clone(), source })?;
    let connecting = Connecting::begin(address).map_err(broken)?;
    let deadline = Instant::now() + timeouts.connect;
    wait(connecting.stream(), true, deadline, "connecting", timeouts.connect, &portal)?;
    let stream = connecting.finish().map_err(broken)?;
    let mut random = [0; 19];
    assay_tcp::random_bytes(&mut random).map_err(broken)?;
    let [a, b, c, challenge @ ..] = random;
    let offer = Offer {
        header_digest: DigestOffer::Never,
        data_digest: DigestOffer::Never,
        max_recv_segment_bytes: 65_536,
        ..Offer::default()
    };
    let config = LoginConfig {
        initiator_name: initiator_name.to_owned(),
        target_name: None,
        isid: [0x80, a, b, c, 0xff, 0],
        cid: 1,
        chap,
        offer,
        challenge,
    };
    let mut login = Box::new(LoggingIn::begin(stream, config));
    let deadline = Instant::now() + timeouts.login;
    loop {
        match login.advance().map_err(|failure| initiator_login_error(portal.clone(), failure))? {
            LoginOutcome::Done(wire, agreed) => return Ok(Ok((*wire, agreed))),
            LoginOutcome::Redirect(address) => return Ok(Err(address)),
            LoginOutcome::Pending(pending) => login = pending,
        }
        let wire = login.wire();
        wait(wire.stream(), wire.wants_to_send(), deadline, "the login", timeouts.login, &portal)?;
    }
}

fn send_targets(
    mut wire: Wire,
    agreed: &Negotiated,
    portal: &str,
    timeouts: &Timeouts,
) -> Result<Vec<DiscoveredTarget>, DiscoveryError> {
    let fault = |fault| DiscoveryError::Answer { portal: portal.to_owned(), fault };
    let (mut cmd_sn, mut exp_stat_sn, mut ttt) = (agreed.cmd_sn, agreed.exp_stat_sn, NO_TAG);
    let mut answer = Vec::new();
    let deadline = Instant::now() + timeouts.login;
    for _ in 0..PDUS_MAX {
        let mut data = Vec::new();
        if ttt == NO_TAG {
            text::push(&mut data, "SendTargets", "All");
        }
        let data_bytes = u32::try_from(data.len()).expect("a few bytes");
        let request = TextRequest { itt: 1, ttt, continues: false, cmd_sn, exp_stat_sn, data_bytes };
        let payload = if data.is_empty() { Payload::None } else { Payload::Owned(data) };
        wire.push(OutPdu { bhs: request.encode(), payload, started: None }, &mut NoBuffers);
        cmd_sn = cmd_sn.wrapping_add(1);
        let (bhs, piece) = exchange(&mut wire, portal, deadline, timeouts)?;
        let Ok(Response::Text { ttt: next, numbers, is_final, .. }) = Response::decode(&bhs) else {
            return Err(fault("is not a text response"));
        };
        answer.extend_from_slice(&piece);
        if answer.len() > TEXT_BYTES_MAX {
            return Err(fault("does not end"));
        }
        exp_stat_sn = numbers.stat_sn.wrapping_add(1);
        ttt = next;
        if is_final && bhs.flags() & FLAG_CONTINUE == 0 {
            return targets(&answer)
                .map_err(|source| DiscoveryError::Text { portal: portal.to_owned(), source });
        }
        if ttt == NO_TAG {
            return Err(fault("is incomplete, and gives no Target Transfer Tag to request the rest with"));
        }
    }
    Err(fault("does not end"))
}

/// Sends what is queued and waits for one PDU.
fn exchange(
    wire: &mut Wire,
    portal: &str,
    deadline: Instant,
    timeouts: &Timeouts,
) -> Result<(crate::pdu::Bhs, Vec<u8>), PathError> {
    let broken = |why: crate::transport::WireError| PathError::Connection {
        portal: portal.to_owned(),
        why: why.to_string(),
    };
    loop {
        wire.flush(&mut NoBuffers).map_err(broken)?;
        let mut sink = OnePdu::default();
        wire.receive(Blocking::Never, &mut sink).map_err(broken)?;
        if let Some(pdu) = sink.pdu {
            return Ok(pdu);
        }
        wait(wire.stream(), wire.wants_to_send(), deadline, "SendTargets", timeouts.login, portal)?;
    }
}

fn wait(
    stream: &std::net::TcpStream,
    writes: bool,
    deadline: Instant,
    what: &'static str,
    limit: Duration,
    portal: &str,
) -> Result<(), PathError> {
    while let left = deadline.saturating_duration_since(Instant::now())
        && !left.is_zero()
    {
        if assay_tcp::wait(1, |_| Some((stream, writes)), left) != 0 {
            return Ok(());
        }
    }
    Err(PathError::TimedOut { what, portal: portal.to_owned(), limit_ms: limit.as_millis() })
}

/// Parses the response: each `TargetName` is followed by its `TargetAddress`es.
fn targets(answer: &[u8]) -> Result<Vec<DiscoveredTarget>, text::TextError> {
    let mut targets: Vec<DiscoveredTarget> = Vec::new();
    for (key, value) in text::parse(answer)? {
        match key.as_str() {
            "TargetName" => targets.push(DiscoveredTarget { name: value, portals: Vec::new() }),
            "TargetAddress" => {
                let Some(target) = targets.last_mut() else { continue };
                let (address, group) = match value.rsplit_once(',') {
                    Some((address, group)) => (address, group.parse().ok()),
                    None => (value.as_str(), None),
                };
                target.portals.push(DiscoveredPortal { address: address.to_owned(), group });
            }
            _ => {}
        }
    }
    Ok(targets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_and_portals_are_paired() {
        let answer = b"TargetName=iqn.a\0TargetAddress=10.0.0.1:3260,1\0TargetAddress=[fe80::1]:3260,2\0\
                       TargetName=iqn.b\0";
        let found = targets(answer).unwrap();
        assert_eq!(found.len(), 2);
        let portals: Vec<_> = found[0].portals.iter().map(|p| (p.address.as_str(), p.group)).collect();
        assert_eq!(portals, [("10.0.0.1:3260", Some(1)), ("[fe80::1]:3260", Some(2))]);
        assert!(found[1].portals.is_empty());
        assert!(targets(b"TargetAddress=lost:1,1\0").unwrap().is_empty());
    }
}
