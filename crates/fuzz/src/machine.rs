//! The state machines of login and session, without sockets: the input is a conversation.
//!
//! A login ends after a bounded number of rounds. A session completes no task twice, places no data outside of a task,
//! and sends nothing outside of one.

use std::collections::HashSet;

use assay_iscsi::chap::{Account, ChapConfig, Secret};
use assay_iscsi::login::{Login, LoginConfig, LoginStep, Negotiated, Offer};
use assay_iscsi::pdu::{Bhs, Direction};
use assay_iscsi::session::{Payload, Placement, Request, Session, SessionEvent};

use crate::input::Input;

/// More rounds than a login may take.
const ROUNDS_MAX: u32 = 64;
/// Number of bytes that every task transfers.
const TASK_BYTES: u32 = 16_384;
const TASKS: u16 = 8;

fn account(name: &str) -> Account {
    Account { name: name.into(), secret: Secret::new("secretsecret12") }
}

fn config(choice: u8) -> LoginConfig {
    let chap = match choice % 3 {
        0 => None,
        1 => Some(ChapConfig { initiator: account("alice"), target: None }),
        _ => Some(ChapConfig { initiator: account("alice"), target: Some(account("bob")) }),
    };
    LoginConfig {
        initiator_name: "iqn.2026-11.example:fuzz".into(),
        target_name: (choice & 4 == 0).then(|| "iqn.2026-11.example:target".into()),
        isid: [0x80, 1, 2, 3, 4, 5],
        cid: 1,
        chap,
        offer: Offer::default(),
        challenge: [7; 16],
    }
}

/// Runs a login of rounds that consist of flags, status class, status detail, and text preceded by its length.
pub(crate) fn login(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let mut login = Login::new(config(input.byte()));
    login.begin();
    for _ in 0..ROUNDS_MAX {
        let mut bhs = Bhs::default();
        bhs.0[0] = if input.byte() == 255 { input.byte() } else { 0x23 };
        bhs.0[1] = input.byte();
        (bhs.0[36], bhs.0[37]) = (input.byte() % 5, input.byte());
        let text = input.piece();
        bhs.set_data_bytes(u32::try_from(text.len()).expect("a piece is short"));
        match login.on_response(&bhs, text) {
            Ok(LoginStep::Send(_)) => {}
            Ok(LoginStep::Done(agreed)) => return check(&agreed),
            Ok(LoginStep::Redirect(_)) | Err(_) => return,
        }
    }
    panic!("the login does not end");
}

/// Checks the bounds of the negotiated values (RFC 7143, section 13).
fn check(agreed: &Negotiated) {
    assert!((512..=0x00ff_ffff).contains(&agreed.max_send_segment_bytes), "{agreed:?}");
    assert!((512..=0x00ff_ffff).contains(&agreed.max_burst_bytes), "{agreed:?}");
    assert!(agreed.first_burst_bytes <= agreed.max_burst_bytes, "{agreed:?}");
    assert!(agreed.max_outstanding_r2t >= 1, "{agreed:?}");
}

fn negotiated() -> Negotiated {
    let mut login = Login::new(config(0));
    login.begin();
    let mut text = Vec::new();
    let mut bhs = Bhs::default();
    bhs.0[..2].copy_from_slice(&[0x23, 0x81]);
    assay_iscsi::text::push(&mut text, "AuthMethod", "None");
    let step = login.on_response(&bhs, &text);
    assert!(matches!(step, Ok(LoginStep::Send(_))), "{step:?}");
    bhs.0[1] = 0x87;
    bhs.set_word(24, 1).set_word(28, 1).set_word(32, 64);
    match login.on_response(&bhs, b"MaxRecvDataSegmentLength=4096\0MaxBurstLength=16384\0InitialR2T=Yes\0") {
        Ok(LoginStep::Done(agreed)) => *agreed,
        other => panic!("{other:?}"),
    }
}

/// A session with its tasks, and its invariants.
struct Played {
    session: Session,
    /// Tags on the wire; the first is the reserved one.
    tags: Vec<u32>,
    live: HashSet<u32>,
    stat_sn: u32,
}

impl Played {
    fn start(&mut self, user: u32) {
        let direction = [Direction::Read, Direction::Write, Direction::None][user as usize % 3];
        let transfer_bytes = if direction == Direction::None { 0 } else { TASK_BYTES };
        let request = Request { user, cdb: [0; 16], direction, transfer_bytes };
        if self.session.start(request) {
            assert!(self.live.insert(user), "a number is used once");
        }
    }

    /// Takes every PDU that the session can send.
    fn send(&mut self) {
        while let Some(pdu) = self.session.next_pdu() {
            if pdu.started.is_some() {
                self.tags.push(pdu.bhs.itt());
            }
            if let Payload::Task { offset_bytes, data_bytes, .. } = pdu.payload {
                assert!(offset_bytes + data_bytes <= TASK_BYTES, "sent from within the buffer");
            }
        }
    }

    /// Passes one PDU of the target to the session; returns false if the session has ended.
    fn receive(&mut self, input: &mut Input<'_>) -> bool {
        const OPCODES: [u8; 9] = [0x21, 0x25, 0x31, 0x20, 0x22, 0x32, 0x3f, 0x26, 0x24];
        let kind = input.byte();
        let mut bhs = Bhs::default();
        bhs.0[0] = if kind > 250 { input.byte() } else { OPCODES[usize::from(kind) % OPCODES.len()] };
        bhs.0[1] = input.byte();
        (bhs.0[2], bhs.0[3], bhs.0[36]) = (input.byte() & 3, input.byte(), input.byte());
        let tag = self.tags[input.below(self.tags.len())];
        let skew = u32::from(input.byte() > 250);
        bhs.set_word(16, tag).set_word(20, u32::from(input.byte()));
        bhs.set_word(24, self.stat_sn.wrapping_add(skew)).set_word(28, 1);
        bhs.set_word(32, u32::from(input.byte()));
        bhs.set_word(36, (u32::from(bhs.0[36]) << 24) | u32::from(input.byte()));
        // Offsets and lengths at the limits of the allowed range, unless the input specifies others.
        let mut bytes = || match input.byte() {
            255 => input.word(),
            value => u32::from(value) << 8,
        };
        let (offset, length) = (bytes(), bytes());
        bhs.set_word(40, offset).set_word(44, length);
        if bhs.opcode() == 0x25 {
            bhs.set_data_bytes(length & 0xffff);
        }
        let Ok(incoming) = self.session.on_header(&bhs) else { return false };
        if let Placement::Task { offset_bytes, .. } = incoming.placement {
            assert!(offset_bytes + bhs.data_bytes() <= TASK_BYTES, "placed within the buffer");
        }
        let mut events = Vec::new();
        let data = input.piece();
        let result = self.session.on_pdu(&incoming.response, data, &mut events);
        if incoming.response.advances_stat_sn() {
            self.stat_sn = self.stat_sn.wrapping_add(1);
        }
        for event in events {
            if let SessionEvent::Done { user, .. } | SessionEvent::Aborted { user } = event {
                assert!(self.live.remove(&user), "task {user} ended twice");
            }
        }
        result.is_ok()
    }
}

/// Runs a session with PDUs of a target, and actions of the caller in between.
pub(crate) fn session(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let agreed = Negotiated { data_pdu_in_order: input.byte() & 1 == 0, ..negotiated() };
    let session = Session::new(agreed, 1, TASKS);
    let mut played = Played { session, tags: vec![0xffff_ffff], live: HashSet::new(), stat_sn: 2 };
    (0..u32::from(TASKS)).for_each(|user| played.start(user));
    let mut next = u32::from(TASKS);
    while !input.is_empty() {
        played.send();
        match input.byte() {
            0 => drop(played.session.ping()),
            1 => drop(played.session.abort(u32::from(input.byte()) % next)),
            2 => drop(played.session.reset_logical_unit()),
            3 => played.session.logout(),
            4..=9 => {
                played.start(next);
                next += 1;
            }
            _ => {
                if !played.receive(&mut input) {
                    return;
                }
            }
        }
        assert!(usize::from(played.session.task_count()) == played.live.len(), "no task is lost");
    }
}
