use proptest::prelude::*;

use super::*;
use crate::chap::{Account, Secret};

fn config(chap: Option<ChapConfig>) -> LoginConfig {
    LoginConfig {
        initiator_name: "iqn.2026-11.example:host".into(),
        target_name: Some("iqn.2026-11.example:disk".into()),
        isid: [0x80, 0, 0, 1, 0, 0],
        cid: 1,
        chap,
        offer: Offer::default(),
        challenge: [7; 16],
    }
}

fn account(name: &str, secret: &str) -> Account {
    Account { name: name.into(), secret: Secret::new(secret) }
}

fn one_way() -> ChapConfig {
    ChapConfig { initiator: account("me", "initiator-secret"), target: None }
}

fn mutual() -> ChapConfig {
    ChapConfig { target: Some(account("you", "target-secret")), ..one_way() }
}

/// Returns a login response: flags (T, C, stages), status, text with spaces for NUL.
fn response(flags: u8, status: [u8; 2], text: &str) -> (Bhs, Vec<u8>) {
    let mut bhs = Bhs::default();
    bhs.0[0] = 0x23;
    bhs.0[1] = flags;
    bhs.0[15] = 9;
    bhs.0[36..38].copy_from_slice(&status);
    bhs.set_word(24, 100).set_word(28, 1).set_word(32, 32);
    let data = text.split_whitespace().flat_map(|pair| [pair.as_bytes(), b"\0"].concat()).collect();
    (bhs, data)
}

fn answer(login: &mut Login, flags: u8, text: &str) -> Result<LoginStep, LoginError> {
    let (bhs, data) = response(flags, [0, 0], text);
    login.on_response(&bhs, &data)
}

fn sent(step: Result<LoginStep, LoginError>) -> (u8, String) {
    match step {
        Ok(LoginStep::Send(pdu)) => {
            (pdu.bhs.flags(), String::from_utf8(pdu.data).unwrap().replace('\0', " ").trim().to_owned())
        }
        other => panic!("expected a request, got {other:?}"),
    }
}

const OPERATIONAL_ANSWER: &str = "HeaderDigest=None DataDigest=None MaxRecvDataSegmentLength=8192 InitialR2T=Yes \
    ImmediateData=Yes MaxBurstLength=262144 FirstBurstLength=65536 MaxOutstandingR2T=1 MaxConnections=1 \
    ErrorRecoveryLevel=0 DataPDUInOrder=Yes DataSequenceInOrder=Yes DefaultTime2Wait=2 DefaultTime2Retain=0";

#[test]
fn a_login_without_authentication_takes_two_requests() {
    let mut login = Login::new(config(None));
    let first = login.begin();
    assert_eq!(first.bhs.flags(), 0x81);
    assert_eq!(
        first.data,
        b"InitiatorName=iqn.2026-11.example:host\0SessionType=Normal\0TargetName=iqn.2026-11.example:disk\0\
          AuthMethod=None\0"
    );
    let (flags, text) = sent(answer(&mut login, 0x81, "AuthMethod=None TargetPortalGroupTag=1"));
    assert_eq!(flags, 0x87);
    assert!(text.contains("MaxBurstLength=16777215") && text.contains("InitialR2T=No"), "{text}");
    let Ok(LoginStep::Done(agreed)) = answer(&mut login, 0x87, OPERATIONAL_ANSWER) else { panic!("done") };
    assert!(agreed.initial_r2t && agreed.immediate_data && !agreed.header_digest);
    assert_eq!((agreed.max_send_segment_bytes, agreed.max_burst_bytes), (8192, 262_144));
    assert_eq!((agreed.tsih, agreed.exp_stat_sn, agreed.max_cmd_sn), (9, 101, 32));
    assert_eq!(agreed.target_portal_group, Some(1));
}

#[test]
fn chap_one_way_sends_the_digest() {
    let mut login = Login::new(config(Some(one_way())));
    assert_eq!(login.begin().bhs.flags(), 0x00, "security stage is not left before CHAP");
    assert_eq!(sent(answer(&mut login, 0x00, "AuthMethod=CHAP")), (0x00, "CHAP_A=6,5,7".into()));
    let (flags, text) = sent(answer(&mut login, 0x00, "CHAP_A=5 CHAP_I=65 CHAP_C=0x00010203"));
    let digest = ChapAlgorithm::Md5.response(65, &Secret::new("initiator-secret"), &[0, 1, 2, 3]);
    assert_eq!((flags, text), (0x81, format!("CHAP_N=me CHAP_R={}", text::encode_binary(&digest))));
    assert_eq!(sent(answer(&mut login, 0x81, "")).0, 0x87);
    let Ok(LoginStep::Done(agreed)) = answer(&mut login, 0x87, OPERATIONAL_ANSWER) else { panic!("done") };
    assert_eq!(agreed.authentication, "CHAP (Md5)");
}

#[test]
fn a_last_response_with_keys_still_ends_the_login() {
    for extra in
        ["IFMarker=No", "X-com.example.key=1", "TargetName=iqn.2026-11.example:disk", "OFMarkInt=2048"]
    {
        let mut login = Login::new(config(None));
        login.begin();
        sent(answer(&mut login, 0x81, "AuthMethod=None"));
        let last = answer(&mut login, 0x87, &format!("{OPERATIONAL_ANSWER} {extra}"));
        assert!(matches!(last, Ok(LoginStep::Done(_))), "{extra}: {last:?}");
    }
    // Without T=1 the target waits for an answer and gets one.
    let mut login = Login::new(config(None));
    login.begin();
    sent(answer(&mut login, 0x81, "AuthMethod=None"));
    let more = answer(&mut login, 0x04, &format!("{OPERATIONAL_ANSWER} X-com.example.key=1"));
    assert_eq!(sent(more).1, "X-com.example.key=NotUnderstood");
    // Keys that determine data transfer are checked here as well.
    let mut login = Login::new(config(None));
    login.begin();
    sent(answer(&mut login, 0x81, "AuthMethod=None"));
    assert!(answer(&mut login, 0x87, "MaxBurstLength=12").is_err());
}

#[test]
fn discovery_without_credentials_starts_in_the_operational_stage() {
    let mut login = Login::new(LoginConfig { target_name: None, ..config(None) });
    let first = login.begin();
    assert_eq!(first.bhs.flags(), 0x87, "operational, and then full feature phase");
    let text = String::from_utf8(first.data).unwrap();
    assert!(text.contains("SessionType=Discovery\0") && text.contains("HeaderDigest="), "{text:?}");
    assert!(!text.contains("AuthMethod") && !text.contains("MaxBurstLength"), "{text:?}");
    let answered = answer(&mut login, 0x87, "HeaderDigest=None DataDigest=None");
    assert!(matches!(answered, Ok(LoginStep::Done(_))), "{answered:?}");

    let mut login = Login::new(LoginConfig { target_name: None, ..config(Some(one_way())) });
    let text = String::from_utf8(login.begin().data).unwrap();
    assert!(text.contains("AuthMethod=CHAP,None\0"), "with credentials it starts with them: {text:?}");

    // A target that requires authentication reports that in one of two ways.
    let mut login = Login::new(LoginConfig { target_name: None, ..config(None) });
    login.begin();
    let refused = answer(&mut login, 0x00, "AuthMethod=CHAP");
    assert_eq!(refused, Err(LoginError::AuthenticationNeeded("CHAP".into())));
    let mut login = Login::new(LoginConfig { target_name: None, ..config(None) });
    login.begin();
    let (bhs, data) = response(0, [2, 1], "");
    assert!(matches!(login.on_response(&bhs, &data), Err(LoginError::AuthenticationNeeded(_))));
}

#[test]
fn a_target_without_a_mutual_account_is_reported() {
    let mut login = Login::new(config(Some(mutual())));
    to_mutual_verdict(&mut login);
    let (bhs, data) = response(0, [2, 1], "");
    let error = login.on_response(&bhs, &data).unwrap_err();
    assert!(
        error.is_permanent() && error.to_string().contains("no mutual (outgoing) CHAP account"),
        "{error}"
    );
    let mut login = Login::new(config(Some(mutual())));
    to_mutual_verdict(&mut login);
    let error = answer(&mut login, 0x81, "").unwrap_err();
    assert!(error.to_string().contains("accepted the CHAP name and secret"), "{error}");
    // Without mutual CHAP the status keeps its meaning.
    let mut login = Login::new(config(Some(one_way())));
    login.begin();
    sent(answer(&mut login, 0x00, "AuthMethod=CHAP"));
    sent(answer(&mut login, 0x00, "CHAP_A=5 CHAP_I=1 CHAP_C=0xff"));
    let (bhs, data) = response(0, [2, 1], "");
    let error = login.on_response(&bhs, &data).unwrap_err().to_string();
    assert!(error.contains("check CHAP name and secret"), "{error}");
}

fn to_mutual_verdict(login: &mut Login) {
    login.begin();
    sent(answer(login, 0x00, "AuthMethod=CHAP"));
    let (_, text) = sent(answer(login, 0x00, "CHAP_A=7 CHAP_I=1 CHAP_C=0xff"));
    assert!(text.contains("CHAP_I=90 CHAP_C=0x07070707070707070707070707070707"), "{text}");
}

#[test]
fn chap_mutual_checks_the_target() {
    let right = ChapAlgorithm::Sha256.response(0x5a, &Secret::new("target-secret"), &[7; 16]);
    let right = text::encode_binary(&right);
    let mut login = Login::new(config(Some(mutual())));
    to_mutual_verdict(&mut login);
    assert_eq!(sent(answer(&mut login, 0x81, &format!("CHAP_N=you CHAP_R={right}"))).0, 0x87);

    for wrong in ["CHAP_N=you CHAP_R=0x00", &format!("CHAP_N=someone CHAP_R={right}")] {
        let mut login = Login::new(config(Some(mutual())));
        to_mutual_verdict(&mut login);
        assert_eq!(answer(&mut login, 0x81, wrong), Err(LoginError::TargetNotGenuine));
    }
    let mut login = Login::new(config(Some(mutual())));
    to_mutual_verdict(&mut login);
    assert_eq!(answer(&mut login, 0x81, ""), Err(LoginError::MutualUnanswered));
}

#[test]
fn authentication_cannot_be_skipped_or_reflected() {
    let mut login = Login::new(config(Some(mutual())));
    login.begin();
    assert_eq!(answer(&mut login, 0x81, "AuthMethod=None"), Err(LoginError::AuthenticationSkipped));
    let mut login = Login::new(config(Some(one_way())));
    login.begin();
    assert_eq!(answer(&mut login, 0x81, "AuthMethod=CHAP"), Err(LoginError::AuthenticationSkipped));
    let mut login = Login::new(config(Some(mutual())));
    login.begin();
    sent(answer(&mut login, 0x00, "AuthMethod=CHAP"));
    let reflected = format!("CHAP_A=5 CHAP_I=1 CHAP_C={}", text::encode_binary(&[7; 16]));
    assert_eq!(answer(&mut login, 0x00, &reflected), Err(LoginError::ChallengeReflected));
    let mut login = Login::new(config(None));
    login.begin();
    assert_eq!(
        answer(&mut login, 0x00, "AuthMethod=CHAP"),
        Err(LoginError::AuthenticationNeeded("CHAP".into()))
    );
}

#[test]
fn refusals_have_a_reason_and_redirections_an_address() {
    let mut login = Login::new(config(None));
    login.begin();
    let (bhs, data) = response(0, [2, 1], "");
    let error = login.on_response(&bhs, &data).unwrap_err();
    assert!(error.is_permanent() && error.to_string().contains("give a CHAP name and secret"), "{error}");
    let mut login = Login::new(config(None));
    login.begin();
    let (bhs, data) = response(0, [1, 1], "TargetAddress=10.0.0.9:3260,2");
    assert_eq!(login.on_response(&bhs, &data), Ok(LoginStep::Redirect("10.0.0.9:3260,2".into())));
}

#[test]
fn continued_text_is_joined() {
    let mut login = Login::new(config(None));
    login.begin();
    sent(answer(&mut login, 0x81, ""));
    let (bhs, _) = response(0x44, [0, 0], "");
    assert_eq!(sent(login.on_response(&bhs, b"MaxRecvDataSeg")).0, 0x04);
    let (bhs, _) = response(0x87, [0, 0], "");
    let Ok(LoginStep::Done(agreed)) = login.on_response(&bhs, b"mentLength=4096\0") else { panic!("done") };
    assert_eq!(agreed.max_send_segment_bytes, 4096);
    assert!(agreed.initial_r2t, "a key nobody answered has its default");
}

#[test]
fn a_target_cannot_prolong_a_login() {
    let mut login = Login::new(config(None));
    login.begin();
    let outcome = (0..100).find_map(|_| answer(&mut login, 0x00, "").err());
    assert_eq!(outcome, Some(LoginError::TooLong));
    let mut login = Login::new(config(None));
    login.begin();
    let (bhs, _) = response(0x40, [0, 0], "");
    let outcome = (0..100).find_map(|_| login.on_response(&bhs, &[b'x'; 8192]).err());
    assert_eq!(outcome, Some(LoginError::TooMuchText));
}

proptest! {
    #[test]
    fn any_conversation_ends_without_a_panic(
        flags in proptest::collection::vec(any::<u8>(), 1..40),
        texts in proptest::collection::vec(
            "(AuthMethod=(CHAP|None|X)\0|CHAP_[ACINR]=[0-9]{0,3}(x[0-9a-f]{0,9})?\0|[A-Z][A-Za-z]{0,9}=.{0,9}\0|\
             MaxBurstLength=[0-9]{0,12}\0|HeaderDigest=(None|CRC32C|,)\0|TargetPortalGroupTag=[0-9]{0,9}\0){0,5}",
            40),
        use_chap in 0u8..3,
    ) {
        let chap = [None, Some(one_way()), Some(mutual())][usize::from(use_chap)].clone();
        let mut login = Login::new(config(chap));
        login.begin();
        for (flags, text) in flags.into_iter().zip(texts) {
            let (bhs, _) = response(flags, [0, 0], "");
            match login.on_response(&bhs, text.as_bytes()) {
                Ok(LoginStep::Send(_)) => {}
                _ => break,
            }
        }
    }
}
