use proptest::prelude::*;

use super::*;
use crate::login::{DigestOffer, Offer};
use crate::pdu::{Bhs, Direction, Residual, Response};

pub(crate) fn agreed() -> Negotiated {
    // Obtains the defaults through the public interface: a login that negotiates nothing.
    let offer = Offer { header_digest: DigestOffer::Never, ..Offer::default() };
    Negotiated {
        max_cmd_sn: 32,
        cmd_sn: 1,
        exp_stat_sn: 100,
        max_send_segment_bytes: 4096,
        ..defaults(&offer)
    }
}

fn defaults(offer: &Offer) -> Negotiated {
    Negotiated {
        header_digest: false,
        data_digest: false,
        initial_r2t: true,
        immediate_data: true,
        max_send_segment_bytes: 8192,
        max_recv_segment_bytes: offer.max_recv_segment_bytes,
        max_burst_bytes: 16_384,
        first_burst_bytes: 8192,
        max_outstanding_r2t: 1,
        data_pdu_in_order: true,
        data_sequence_in_order: true,
        max_connections: 1,
        error_recovery_level: 0,
        default_time2wait_s: 2,
        default_time2retain_s: 0,
        target_portal_group: Some(1),
        target_alias: None,
        authentication: "None".into(),
        tsih: 1,
        cmd_sn: 1,
        exp_stat_sn: 0,
        max_cmd_sn: 1,
        deviations: Vec::new(),
    }
}

fn request(user: u32, direction: Direction, transfer_bytes: u32) -> Request {
    Request { user, cdb: [0x28; 16], direction, transfer_bytes }
}

/// Returns a response header with the window 1..=64 and the given StatSN.
fn header(op: u8, flags: u8, itt: u32, stat_sn: u32) -> Bhs {
    let mut bhs = Bhs::default();
    bhs.0[0] = op;
    bhs.0[1] = flags;
    bhs.set_word(16, itt).set_word(20, 0xffff_ffff).set_word(24, stat_sn).set_word(28, 1).set_word(32, 64);
    bhs
}

fn data_in(itt: u32, offset: u32, bytes: u32) -> Bhs {
    let mut bhs = header(0x25, 0x80, itt, 0);
    bhs.set_data_bytes(bytes).set_word(40, offset);
    bhs
}

fn r2t(itt: u32, ttt: u32, offset: u32, bytes: u32) -> Bhs {
    let mut bhs = header(0x31, 0x80, itt, 100);
    bhs.set_word(20, ttt).set_word(40, offset).set_word(44, bytes);
    bhs
}

fn receive(session: &mut Session, bhs: &Bhs, data: &[u8]) -> Result<Vec<SessionEvent>, SessionError> {
    let mut events = Vec::new();
    let incoming = session.on_header(bhs)?;
    session.on_pdu(&incoming.response, data, &mut events)?;
    Ok(events)
}

/// Returns all PDUs that can be sent now, as (opcode, final, offset, bytes).
fn drain(session: &mut Session) -> Vec<(u8, bool, u32, u32)> {
    std::iter::from_fn(|| session.next_pdu())
        .map(|pdu| {
            let offset = match pdu.payload {
                Payload::Task { offset_bytes, data_bytes, .. } => {
                    assert_eq!(data_bytes, pdu.bhs.data_bytes());
                    offset_bytes
                }
                _ => 0,
            };
            (pdu.bhs.opcode(), pdu.bhs.is_final(), offset, pdu.bhs.data_bytes())
        })
        .collect()
}

fn first_itt(session: &mut Session) -> u32 {
    session.next_pdu().expect("a command is queued").bhs.itt()
}

#[test]
fn write_data_is_sent_as_each_of_the_four_combinations_requires() {
    for (initial_r2t, immediate_data, expected) in [
        (true, true, vec![(1, true, 0, 4096)]),
        (true, false, vec![(1, true, 0, 0)]),
        (false, true, vec![(1, false, 0, 4096), (5, true, 4096, 4096)]),
        (false, false, vec![(1, false, 0, 0), (5, false, 0, 4096), (5, true, 4096, 4096)]),
    ] {
        let mut session = Session::new(Negotiated { initial_r2t, immediate_data, ..agreed() }, 0, 4);
        assert!(session.start(request(7, Direction::Write, 20_000)));
        assert_eq!(drain(&mut session), expected, "InitialR2T={initial_r2t} ImmediateData={immediate_data}");
    }
    let mut session = Session::new(Negotiated { initial_r2t: false, ..agreed() }, 0, 4);
    assert!(session.start(request(7, Direction::Write, 1000)));
    assert_eq!(drain(&mut session), [(1, true, 0, 1000)], "all of it is immediate");
}

#[test]
fn r2t_is_answered_with_numbered_pdus_up_to_the_segment_limit() {
    let mut session = Session::new(agreed(), 0, 4);
    assert!(session.start(request(7, Direction::Write, 14_096)));
    let itt = first_itt(&mut session);
    assert_eq!(receive(&mut session, &r2t(itt, 0xabc, 4096, 10_000), &[]), Ok(vec![]));
    let pdus: Vec<_> = std::iter::from_fn(|| session.next_pdu()).collect();
    let seen = pdus.iter().map(|p| (p.bhs.word(36), p.bhs.word(40), p.bhs.data_bytes(), p.bhs.is_final()));
    assert_eq!(
        seen.collect::<Vec<_>>(),
        [(0, 4096, 4096, false), (1, 8192, 4096, false), (2, 12_288, 1808, true)]
    );
    assert!(pdus.iter().all(|pdu| pdu.bhs.ttt() == 0xabc));
    let events = receive(&mut session, &header(0x21, 0x80, itt, 100), &[]).unwrap();
    let [SessionEvent::Done { user: 7, outcome }] = &events[..] else { panic!("{events:?}") };
    assert_eq!((outcome.status, outcome.transferred_bytes), (0, 14_096));
    assert_eq!(session.task_count(), 0);
}

#[test]
fn bad_r2ts_are_refused() {
    for (offset, bytes, fault) in [
        (0, 20_000, "longer than MaxBurstLength"),
        (30_000, 4096, "beyond the end of the command"),
        (u32::MAX, 2, "beyond the end of the command"),
    ] {
        let mut session = Session::new(agreed(), 0, 4);
        assert!(session.start(request(7, Direction::Write, 32_768)));
        let itt = first_itt(&mut session);
        let error = receive(&mut session, &r2t(itt, 1, offset, bytes), &[]).unwrap_err();
        assert_eq!(error, SessionError::BadR2t { offset_bytes: offset, desired_bytes: bytes, fault });
    }
    let mut session = Session::new(agreed(), 0, 4);
    assert!(session.start(request(7, Direction::Write, 32_768)));
    let itt = first_itt(&mut session);
    assert!(receive(&mut session, &r2t(itt, 1, 4096, 4096), &[]).is_ok());
    assert!(receive(&mut session, &r2t(itt, 2, 8192, 4096), &[]).is_err(), "MaxOutstandingR2T is 1");
}

#[test]
fn read_data_is_placed_and_ends_with_the_collapsed_status() {
    let mut session = Session::new(agreed(), 0, 4);
    assert!(session.start(request(3, Direction::Read, 8192)));
    let itt = first_itt(&mut session);
    let incoming = session.on_header(&data_in(itt, 0, 4096)).unwrap();
    assert_eq!(incoming.placement, Placement::Task { user: 3, offset_bytes: 0 });
    assert_eq!(receive(&mut session, &data_in(itt, 0, 4096), &[]), Ok(vec![]));
    let mut last = data_in(itt, 4096, 4096);
    last.0[1] = 0x81;
    last.set_word(24, 100);
    let events = receive(&mut session, &last, &[]).unwrap();
    let [SessionEvent::Done { user: 3, outcome }] = &events[..] else { panic!("{events:?}") };
    assert_eq!((outcome.transferred_bytes, outcome.residual), (8192, Residual::None));
    assert_eq!(
        receive(&mut session, &data_in(itt, 0, 4096), &[]),
        Err(SessionError::UnknownTask { opcode: 0x25, itt }),
        "a task that ended takes no more data"
    );
}

#[test]
fn a_status_before_all_data_counts_only_received_bytes() {
    let mut session = Session::new(agreed(), 0, 4);
    assert!(session.start(request(3, Direction::Read, 8192)));
    let itt = first_itt(&mut session);
    receive(&mut session, &data_in(itt, 0, 1024), &[]).unwrap();
    let mut response = header(0x21, 0x82, itt, 100);
    response.set_word(44, 7168);
    let events = receive(&mut session, &response, &[]).unwrap();
    let [SessionEvent::Done { outcome, .. }] = &events[..] else { panic!("{events:?}") };
    assert_eq!((outcome.transferred_bytes, outcome.residual), (1024, Residual::Underflow(7168)));
}

#[test]
fn order_of_data_matters_only_when_agreed() {
    let mut session = Session::new(agreed(), 0, 4);
    assert!(session.start(request(3, Direction::Read, 8192)));
    let itt = first_itt(&mut session);
    assert!(session.on_header(&data_in(itt, 4096, 4096)).is_err());
    assert!(session.on_header(&data_in(itt, 0, 8193)).is_err());
    let mut session = Session::new(Negotiated { data_pdu_in_order: false, ..agreed() }, 0, 4);
    assert!(session.start(request(3, Direction::Read, 8192)));
    let itt = first_itt(&mut session);
    assert!(receive(&mut session, &data_in(itt, 4096, 4096), &[]).is_ok());
    assert!(receive(&mut session, &data_in(itt, 6000, 10), &[]).is_err(), "but never twice");
    assert!(receive(&mut session, &data_in(itt, 0, 4096), &[]).is_ok());
    let events = receive(&mut session, &header(0x21, 0x80, itt, 100), &[]).unwrap();
    let [SessionEvent::Done { outcome, .. }] = &events[..] else { panic!("{events:?}") };
    assert_eq!(outcome.transferred_bytes, 8192);
}

#[test]
fn commands_wait_for_the_window_and_control_does_not() {
    let mut session = Session::new(Negotiated { max_cmd_sn: 2, ..agreed() }, 0, 8);
    for user in 0..4 {
        assert!(session.start(request(user, Direction::None, 0)));
    }
    let itts: Vec<u32> = std::iter::from_fn(|| session.next_pdu()).map(|pdu| pdu.bhs.itt()).collect();
    assert_eq!(itts.len(), 2, "MaxCmdSN is 2");
    session.ping();
    assert_eq!(drain(&mut session), [(0, true, 0, 0)]);
    let mut response = header(0x21, 0x80, itts[0], 100);
    response.set_word(28, 3).set_word(32, 3);
    receive(&mut session, &response, &[]).unwrap();
    assert_eq!(drain(&mut session).len(), 1, "one more fits now");
    assert!(!session.wants_to_send() && session.task_count() == 3);
}

#[test]
fn the_outcome_carries_the_sense_data() {
    let mut session = Session::new(agreed(), 0, 4);
    assert!(session.start(request(3, Direction::None, 0)));
    let itt = first_itt(&mut session);
    let mut response = header(0x21, 0x80, itt, 100);
    response.0[3] = 2;
    response.set_data_bytes(6);
    let events = receive(&mut session, &response, &[0, 3, 0x70, 0, 6, 0]).unwrap();
    let [SessionEvent::Done { outcome, .. }] = &events[..] else { panic!("{events:?}") };
    assert_eq!((outcome.status, &outcome.sense[..]), (2, &[0x70, 0, 6][..]));
}

#[test]
fn an_abort_ends_the_task_unless_its_status_arrives_first() {
    let mut session = Session::new(agreed(), 0, 4);
    assert!(
        session.start(request(3, Direction::Read, 512)) && session.start(request(4, Direction::Read, 512))
    );
    assert!(!session.abort(3), "not sent yet");
    let itt = first_itt(&mut session);
    let other = first_itt(&mut session);
    assert!(session.abort(3));
    assert!(!session.abort(4), "one at a time");
    let abort = session.next_pdu().unwrap().bhs;
    assert_eq!((abort.opcode(), abort.word(20), abort.word(32)), (2, itt, 1));
    let events = receive(&mut session, &header(0x22, 0x80, abort.itt(), 100), &[]).unwrap();
    assert_eq!(events, [SessionEvent::Aborted { user: 3 }]);

    assert!(session.abort(4));
    let abort = session.next_pdu().unwrap().bhs;
    let events = receive(&mut session, &header(0x21, 0x80, other, 101), &[]).unwrap();
    assert!(matches!(events[..], [SessionEvent::Done { user: 4, .. }]));
    assert_eq!(receive(&mut session, &header(0x22, 0x80, abort.itt(), 102), &[]), Ok(vec![]));
}

#[test]
fn a_reset_ends_every_task_that_was_sent_before_it() {
    let mut session = Session::new(agreed(), 0, 4);
    assert!(
        session.start(request(3, Direction::Read, 512)) && session.start(request(4, Direction::Read, 512))
    );
    drain(&mut session);
    assert!(session.reset_logical_unit() && !session.reset_logical_unit());
    let reset = session.next_pdu().unwrap().bhs;
    // This one has the CmdSN of the immediate request: the target executes it.
    assert!(session.start(request(5, Direction::Read, 512)));
    let later = session.next_pdu().unwrap().bhs;
    assert_eq!(later.word(24), reset.word(24));
    let events = receive(&mut session, &header(0x22, 0x80, reset.itt(), 100), &[]).unwrap();
    let aborted = |user| SessionEvent::Aborted { user };
    assert_eq!(events, [aborted(3), aborted(4), SessionEvent::ResetDone]);
    assert_eq!(session.task_count(), 1);
    assert!(session.reset_logical_unit());
    let mut refused = header(0x22, 0x80, session.next_pdu().unwrap().bhs.itt(), 101);
    refused.0[2] = 5;
    let events = receive(&mut session, &refused, &[]).unwrap();
    assert_eq!(events, [SessionEvent::ResetRefused { response: 5 }]);
}

#[test]
fn pings_are_answered_with_their_data_and_floods_are_refused() {
    let mut session = Session::new(agreed(), 0, 4);
    let mut ping = header(0x20, 0x80, 0xffff_ffff, 100);
    ping.set_word(20, 77).set_lun(5).set_data_bytes(3);
    assert_eq!(receive(&mut session, &ping, b"abc"), Ok(vec![]));
    let answer = session.next_pdu().unwrap();
    assert_eq!((answer.bhs.ttt(), answer.bhs.lun(), answer.bhs.itt()), (77, 5, 0xffff_ffff));
    assert_eq!(answer.payload, Payload::Owned(b"abc".to_vec()));
    let outcome = (0..100).find_map(|_| receive(&mut session, &ping, b"abc").err());
    assert_eq!(outcome, Some(SessionError::ControlFlood));
}

#[test]
fn messages_and_rejects_are_reported() {
    let mut session = Session::new(agreed(), 0, 4);
    let mut message = header(0x32, 0x80, 0xffff_ffff, 100);
    message.0[36] = 1;
    message.0[43] = 9;
    let events = receive(&mut session, &message, &[]).unwrap();
    assert_eq!(events, [SessionEvent::LogoutRequested { event: 1, seconds: 9 }]);
    let mut reject = header(0x3f, 0x80, 0xffff_ffff, 101);
    reject.0[2] = 4;
    let error = receive(&mut session, &reject, &[0x01; 48]).unwrap_err();
    assert_eq!(error.to_string(), "the target rejected PDU 0x01: protocol error");
    let mut reject = header(0x3f, 0x80, 0xffff_ffff, 102);
    reject.0[2] = 2;
    let events = receive(&mut session, &reject, &[0x05; 48]).unwrap();
    assert_eq!(events, [SessionEvent::Rejected { reason: 2, opcode: 5 }]);
}

/// A target that reported success before it had requested the data was believed: the write counted, but nobody had the
/// data.
#[test]
fn a_write_that_completes_before_an_r2t_transferred_nothing() {
    let mut session = Session::new(agreed(), 0, 8);
    assert!(session.start(request(1, Direction::Write, 16_384)));
    let command = session.next_pdu().unwrap();
    let itt = command.bhs.itt();
    let immediate = command.bhs.data_bytes();
    assert!(immediate < 16_384, "the rest is sent when it is asked for");
    let events = receive(&mut session, &header(0x21, 0x80, itt, 100), &[]).unwrap();
    let [SessionEvent::Done { user: 1, outcome }] = &events[..] else { panic!("{events:?}") };
    assert_eq!(outcome.transferred_bytes, immediate);
}

proptest! {
    /// Whatever a target sends, the session returns an error or continues; it never panics, never places data outside
    /// of a command, and never completes a task twice.
    #[test]
    fn random_responses_never_break_the_session(
        script in proptest::collection::vec((
            prop_oneof![
                Just(0x21u8), Just(0x22), Just(0x25), Just(0x31), Just(0x20), Just(0x32), Just(0x3f), Just(0x26),
                any::<u8>()
            ],
            any::<u8>(), 0usize..6, prop_oneof![0u32..20_000, any::<u32>()], prop_oneof![0u32..20_000, any::<u32>()],
            0u32..3, proptest::collection::vec(any::<u8>(), 0..20),
        ), 1..200),
        in_order in any::<bool>(),
    ) {
        let mut session = Session::new(Negotiated { data_pdu_in_order: in_order, ..agreed() }, 0, 8);
        let mut itts = vec![0xffff_ffff];
        let mut live = std::collections::HashSet::new();
        for user in 0..8 {
            let direction = [Direction::Read, Direction::Write, Direction::None][user as usize % 3];
            prop_assert!(session.start(request(user, direction, 16_384)));
            live.insert(user);
        }
        let mut stat_sn = 100u32;
        for (op, flags, which, a, b, skew, data) in script {
            while let Some(pdu) = session.next_pdu() {
                if pdu.started.is_some() {
                    itts.push(pdu.bhs.itt());
                }
                if let Payload::Task { offset_bytes, data_bytes, .. } = pdu.payload {
                    prop_assert!(offset_bytes + data_bytes <= 16_384);
                }
            }
            let mut bhs = header(op, flags, itts[which % itts.len()], stat_sn.wrapping_add(skew / 2));
            bhs.set_word(20, b).set_word(40, a).set_word(44, b).set_data_bytes(b & 0xffff);
            let Ok(incoming) = session.on_header(&bhs) else { continue };
            if let Placement::Task { offset_bytes, .. } = incoming.placement {
                prop_assert!(offset_bytes + bhs.data_bytes() <= 16_384);
            }
            let mut events = Vec::new();
            let result = session.on_pdu(&incoming.response, &data, &mut events);
            if incoming.response.advances_stat_sn() && !matches!(result, Err(SessionError::StatusGap { .. })) {
                stat_sn = stat_sn.wrapping_add(1);
            }
            for event in events {
                if let SessionEvent::Done { user, .. } | SessionEvent::Aborted { user } = event {
                    prop_assert!(live.remove(&user), "task {user} ended twice");
                }
            }
            if op & 0x3f == 0x25 && which == 0 {
                session.ping();
                session.abort(a % 8);
            }
        }
    }
}

#[test]
fn a_login_response_in_full_feature_phase_is_an_error() {
    let mut session = Session::new(agreed(), 0, 4);
    let error = receive(&mut session, &header(0x23, 0, 0, 100), &[]).unwrap_err();
    assert_eq!(error, SessionError::OutOfPhase(0x23));
    assert!(matches!(Response::decode(&header(0x24, 0x80, 0, 0)), Ok(Response::Text { .. })));
}
