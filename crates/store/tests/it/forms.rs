//! What an event looks like in a store and in an export, and what is read as one.

use assay_record::{Event, RunEvent, StepId};

/// As `jq -S` writes it: the body stands before what says how to read it.
#[test]
fn an_event_is_read_whatever_order_its_fields_have() {
    let sorted = r#"{"at_ns":7,"version":1,
        "what":{"body":{"step":{"test":1,"step":2},"why":"steady"},"event":"step_skipped"}}"#;
    let event: Event = serde_json::from_str(sorted).unwrap();
    let step = StepId { test: 1, step: 2 };
    let expected = Event { at_ns: 7, what: RunEvent::StepSkipped { step, why: "steady".to_owned() } };
    assert_eq!(event, expected);
    let written = serde_json::to_string(&event).unwrap();
    assert_eq!(serde_json::from_str::<Event>(&written).unwrap(), event);
    let of_value: Event = serde_json::from_value(serde_json::to_value(&event).unwrap()).unwrap();
    assert_eq!(of_value, event);
}

#[test]
fn a_kind_that_is_not_known_and_a_body_that_does_not_fit_are_errors() {
    let error = |text: &str| serde_json::from_str::<Event>(text).unwrap_err().to_string();
    let unknown = error(r#"{"at_ns":7,"what":{"event":"melted","body":{}}}"#);
    assert!(unknown.contains("melted"), "{unknown}");
    let unfit = error(r#"{"at_ns":7,"what":{"event":"step_skipped","body":{"why":"steady"}}}"#);
    assert!(unfit.contains("missing field `step`"), "{unfit}");
    let bodiless = error(r#"{"at_ns":7,"what":{"event":"step_skipped"}}"#);
    assert!(bodiless.contains("missing field `body`"), "{bodiless}");
}
