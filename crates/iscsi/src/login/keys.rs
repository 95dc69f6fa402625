//! One result function per key: AND, OR, minimum, maximum, list, declaration (RFC 7143 §6.2 and §13).

use super::LoginError;
use super::params::{DATA_BYTES_MAX, DATA_BYTES_MIN, Negotiated, Offer};
use crate::text;

/// Action after the target sent a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum KeyAnswer {
    /// None: it was an answer, or a declaration.
    Settled,
    /// Send this value: the target made the offer.
    Reply(String),
}

/// Returns every key that is negotiated in the operational stage, with our offer.
pub(super) fn operational_offer(offer: &Offer, normal_session: bool) -> Vec<(&'static str, String)> {
    let yes_no = |yes: bool| if yes { "Yes" } else { "No" }.to_owned();
    let mut pairs = vec![
        ("HeaderDigest", offer.header_digest.value().to_owned()),
        ("DataDigest", offer.data_digest.value().to_owned()),
        ("MaxRecvDataSegmentLength", offer.max_recv_segment_bytes.to_string()),
        ("DefaultTime2Wait", "0".to_owned()),
        ("DefaultTime2Retain", "0".to_owned()),
        ("ErrorRecoveryLevel", "0".to_owned()),
    ];
    // These keys have no meaning in a discovery session, and some targets refuse them there.
    if normal_session {
        pairs.extend([
            ("MaxConnections", "1".to_owned()),
            ("InitialR2T", yes_no(offer.initial_r2t)),
            ("ImmediateData", yes_no(offer.immediate_data)),
            ("MaxBurstLength", offer.max_burst_bytes.to_string()),
            ("FirstBurstLength", offer.first_burst_bytes.min(offer.max_burst_bytes).to_string()),
            ("MaxOutstandingR2T", offer.max_outstanding_r2t.to_string()),
            ("DataPDUInOrder", yes_no(offer.data_pdu_in_order)),
            ("DataSequenceInOrder", yes_no(offer.data_sequence_in_order)),
        ]);
    }
    pairs
}

/// Applies a key that the target sent to `agreed`. `offered` states whether the initiator had offered this key before.
pub(super) fn settle(
    key: &str,
    value: &str,
    offered: bool,
    offer: &Offer,
    agreed: &mut Negotiated,
) -> Result<KeyAnswer, LoginError> {
    // A key that is refused with one of these values keeps its default; a target that cannot accept that fails the
    // login.
    if offered && matches!(value, "Reject" | "Irrelevant" | "NotUnderstood") {
        return Ok(KeyAnswer::Settled);
    }
    let number = |low, high| number(key, value, low, high);
    let result = match key {
        "HeaderDigest" => {
            set_digest(&mut agreed.header_digest, key, value, offered, offer.header_digest.value())?
        }
        "DataDigest" => set_digest(&mut agreed.data_digest, key, value, offered, offer.data_digest.value())?,
        "InitialR2T" => set_bool(&mut agreed.initial_r2t, offer.initial_r2t | yes_no(key, value)?),
        "ImmediateData" => set_bool(&mut agreed.immediate_data, offer.immediate_data & yes_no(key, value)?),
        "DataPDUInOrder" => {
            set_bool(&mut agreed.data_pdu_in_order, offer.data_pdu_in_order | yes_no(key, value)?)
        }
        "DataSequenceInOrder" => {
            set_bool(&mut agreed.data_sequence_in_order, offer.data_sequence_in_order | yes_no(key, value)?)
        }
        "MaxBurstLength" => {
            let theirs = length(key, value, agreed)?;
            set_number(&mut agreed.max_burst_bytes, theirs.min(offer.max_burst_bytes))
        }
        "FirstBurstLength" => {
            let theirs = length(key, value, agreed)?;
            set_number(&mut agreed.first_burst_bytes, theirs.min(offer.first_burst_bytes))
        }
        "MaxOutstandingR2T" => {
            set_number(&mut agreed.max_outstanding_r2t, number(1, 65_535)?.min(offer.max_outstanding_r2t))
        }
        "MaxConnections" => set_number(&mut agreed.max_connections, number(1, 65_535)?.min(1)),
        "ErrorRecoveryLevel" => minimum_with_zero(&mut agreed.error_recovery_level, number(0, 2)?),
        "DefaultTime2Wait" => set_number(&mut agreed.default_time2wait_s, number(0, 3600)?),
        "DefaultTime2Retain" => minimum_with_zero(&mut agreed.default_time2retain_s, number(0, 3600)?),
        _ => return declaration(key, value, agreed),
    };
    Ok(if offered { KeyAnswer::Settled } else { KeyAnswer::Reply(result) })
}

fn declaration(key: &str, value: &str, agreed: &mut Negotiated) -> Result<KeyAnswer, LoginError> {
    match key {
        "MaxRecvDataSegmentLength" => {
            agreed.max_send_segment_bytes = length(key, value, agreed)?;
        }
        "TargetPortalGroupTag" => {
            let tag = number(key, value, 0, u32::from(u16::MAX))?;
            agreed.target_portal_group = Some(u16::try_from(tag).expect("bounded by the line above"));
        }
        "TargetAlias" => agreed.target_alias = Some(text::shorten(value)),
        // Declarations, and echoes of the keys that the initiator declared.
        "TargetAddress" | "TargetName" | "InitiatorName" | "InitiatorAlias" | "AuthMethod"
        | "SessionType" => {}
        // RFC 7143 removed markers; No is the only answer that leaves the byte stream unchanged.
        "IFMarker" | "OFMarker" => return Ok(KeyAnswer::Reply("No".into())),
        "IFMarkInt" | "OFMarkInt" => return Ok(KeyAnswer::Reply("Irrelevant".into())),
        "TaskReporting" => return Ok(KeyAnswer::Reply("RFC3720".into())),
        // NotUnderstood must not be answered.
        _ if value == "NotUnderstood" => {}
        _ => return Ok(KeyAnswer::Reply("NotUnderstood".into())),
    }
    Ok(KeyAnswer::Settled)
}

fn set_bool(field: &mut bool, result: bool) -> String {
    *field = result;
    if result { "Yes" } else { "No" }.to_owned()
}

fn set_number(field: &mut u32, result: u32) -> String {
    *field = result;
    result.to_string()
}

/// The initiator offers zero, so the minimum is zero whatever the target sends; its value only has to be valid.
fn minimum_with_zero(field: &mut u32, _theirs: u32) -> String {
    set_number(field, 0)
}

fn set_digest(
    field: &mut bool,
    key: &str,
    value: &str,
    offered: bool,
    ours: &'static str,
) -> Result<String, LoginError> {
    // An answer is one value of our list; an offer is a list, of which the first value that we also support is chosen.
    let allowed = |choice: &&str| ours.split(',').any(|mine| mine == *choice);
    let choice = if offered { Some(value).filter(allowed) } else { value.split(',').find(allowed) };
    let choice = choice.ok_or_else(|| LoginError::bad_value(key, value, ours))?;
    *field = choice == "CRC32C";
    Ok(choice.to_owned())
}

fn yes_no(key: &str, value: &str) -> Result<bool, LoginError> {
    // Some targets write yes or YES; what they mean is in no doubt.
    match value.to_ascii_lowercase().as_str() {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err(LoginError::bad_value(key, value, "Yes or No")),
    }
}

/// Returns a length that the target sent, bytes. One above the range of the standard is cut to its end: no more is ever
/// sent than that.
fn length(key: &str, value: &str, agreed: &mut Negotiated) -> Result<u32, LoginError> {
    let theirs = number(key, value, DATA_BYTES_MIN, u32::MAX)?;
    if theirs > DATA_BYTES_MAX {
        let says = format!("{key}={theirs} is above the range of the standard; {DATA_BYTES_MAX} is used");
        agreed.deviations.push(says);
    }
    Ok(theirs.min(DATA_BYTES_MAX))
}

fn number(key: &str, value: &str, low: u32, high: u32) -> Result<u32, LoginError> {
    let parsed = match value.strip_prefix("0x").or_else(|| value.strip_prefix("0X")) {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => value.parse().ok(),
    };
    parsed
        .filter(|number| (low..=high).contains(number))
        .ok_or_else(|| LoginError::bad_value(key, value, &format!("a number from {low} to {high}")))
}

#[cfg(test)]
mod tests {
    use super::super::params::DigestOffer;
    use super::*;

    /// Checks the value agreed for `key` when the initiator offers `ours` and the target sends `value`.
    #[expect(clippy::needless_pass_by_value, reason = "one line per key reads better so")]
    fn check<T: PartialEq + std::fmt::Debug>(
        key: &str,
        ours: Offer,
        value: &str,
        field: fn(&Negotiated) -> T,
        expected: T,
    ) {
        for offered in [true, false] {
            let mut agreed = Negotiated::defaults(&ours);
            let answer = settle(key, value, offered, &ours, &mut agreed).unwrap();
            assert_eq!(field(&agreed), expected, "{key}={value}");
            assert_eq!(
                matches!(answer, KeyAnswer::Reply(_)),
                !offered,
                "{key}={value}: answers go one way only"
            );
        }
    }

    #[test]
    fn every_key_has_its_result_function() {
        let offer = Offer::default;
        for (ours, theirs, result) in [(true, "No", true), (false, "Yes", true), (false, "No", false)] {
            check("InitialR2T", Offer { initial_r2t: ours, ..offer() }, theirs, |n| n.initial_r2t, result);
            check(
                "DataPDUInOrder",
                Offer { data_pdu_in_order: ours, ..offer() },
                theirs,
                |n| n.data_pdu_in_order,
                result,
            );
            let sequence = Offer { data_sequence_in_order: ours, ..offer() };
            check("DataSequenceInOrder", sequence, theirs, |n| n.data_sequence_in_order, result);
        }
        for (ours, theirs, result) in [(true, "Yes", true), (true, "No", false), (false, "Yes", false)] {
            check(
                "ImmediateData",
                Offer { immediate_data: ours, ..offer() },
                theirs,
                |n| n.immediate_data,
                result,
            );
        }
        let bursts = Offer { max_burst_bytes: 1 << 20, first_burst_bytes: 1 << 16, ..offer() };
        check("MaxBurstLength", bursts.clone(), "16776192", |n| n.max_burst_bytes, 1 << 20);
        check("MaxBurstLength", bursts.clone(), "8192", |n| n.max_burst_bytes, 8192);
        check("FirstBurstLength", bursts, "0x800", |n| n.first_burst_bytes, 2048);
        check("MaxOutstandingR2T", offer(), "1", |n| n.max_outstanding_r2t, 1);
        check("MaxConnections", offer(), "8", |n| n.max_connections, 1);
        check("ErrorRecoveryLevel", offer(), "2", |n| n.error_recovery_level, 0);
        check("DefaultTime2Wait", offer(), "5", |n| n.default_time2wait_s, 5);
        check("DefaultTime2Retain", offer(), "5", |n| n.default_time2retain_s, 0);
        let digests = Offer { header_digest: DigestOffer::PreferCrc32c, ..offer() };
        check("HeaderDigest", digests.clone(), "CRC32C", |n| n.header_digest, true);
        check("HeaderDigest", digests, "None", |n| n.header_digest, false);
        check(
            "DataDigest",
            Offer { data_digest: DigestOffer::Always, ..offer() },
            "CRC32C",
            |n| n.data_digest,
            true,
        );
    }

    #[test]
    fn an_answer_to_our_offer_is_not_answered() {
        let agreed = |immediate_data, initial_r2t| {
            Negotiated::defaults(&Offer { immediate_data, initial_r2t, ..Offer::default() })
        };
        assert!(!agreed(false, false).immediate_data && agreed(true, false).immediate_data);
        assert!(agreed(false, true).initial_r2t);
        // A refusal keeps what was offered, too: not sending such data is always allowed.
        let ours = Offer { immediate_data: false, ..Offer::default() };
        let mut without = Negotiated::defaults(&ours);
        assert_eq!(settle("ImmediateData", "Reject", true, &ours, &mut without), Ok(KeyAnswer::Settled));
        assert!(!without.immediate_data);
    }

    #[test]
    fn declarations_are_accepted_and_unknown_keys_are_answered() {
        let offer = Offer::default();
        let mut agreed = Negotiated::defaults(&offer);
        let mut say = |key, value| settle(key, value, false, &offer, &mut agreed).unwrap();
        assert_eq!(say("MaxRecvDataSegmentLength", "65536"), KeyAnswer::Settled);
        assert_eq!(say("TargetPortalGroupTag", "3"), KeyAnswer::Settled);
        assert_eq!(say("TargetAlias", "box"), KeyAnswer::Settled);
        assert_eq!(say("IFMarker", "Yes"), KeyAnswer::Reply("No".into()));
        assert_eq!(say("X-com.example.key", "1"), KeyAnswer::Reply("NotUnderstood".into()));
        assert_eq!(say("X-com.example.key", "NotUnderstood"), KeyAnswer::Settled);
        assert_eq!((agreed.max_send_segment_bytes, agreed.target_portal_group), (65_536, Some(3)));
    }

    /// Issue 28, D.
    #[test]
    fn what_is_harmless_and_not_as_the_standard_says_is_used_with_a_note() {
        let offer = Offer { initial_r2t: false, max_burst_bytes: 1 << 20, ..Offer::default() };
        let mut agreed = Negotiated::defaults(&offer);
        for (key, value) in [
            ("MaxBurstLength", "16777216"),
            ("MaxRecvDataSegmentLength", "0xffffffff"),
            ("InitialR2T", "YES"),
        ] {
            assert_eq!(
                settle(key, value, true, &offer, &mut agreed),
                Ok(KeyAnswer::Settled),
                "{key}={value}"
            );
        }
        assert_eq!((agreed.max_burst_bytes, agreed.max_send_segment_bytes), (1 << 20, DATA_BYTES_MAX));
        assert!(agreed.initial_r2t);
        assert_eq!(agreed.deviations.len(), 2, "{:?}", agreed.deviations);
    }

    #[test]
    fn values_outside_the_standard_fail_the_login() {
        let offer = Offer { data_digest: DigestOffer::Always, ..Offer::default() };
        let mut agreed = Negotiated::defaults(&offer);
        for (key, value) in [
            ("MaxBurstLength", "511"),
            ("FirstBurstLength", "many"),
            ("MaxRecvDataSegmentLength", "0"),
            ("InitialR2T", "maybe"),
            ("DataDigest", "None"),
            ("HeaderDigest", "CRC64"),
            ("MaxOutstandingR2T", "0"),
            ("TargetPortalGroupTag", "65536"),
        ] {
            assert!(settle(key, value, true, &offer, &mut agreed).is_err(), "{key}={value}");
        }
        assert_eq!(
            settle("MaxBurstLength", "Irrelevant", true, &offer, &mut agreed).unwrap(),
            KeyAnswer::Settled
        );
    }
}
