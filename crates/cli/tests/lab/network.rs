//! What `assay check` sees where routers and virtual interfaces are on the way.

use serde_json::Value;

use crate::lab;
use crate::story::json;

fn only_fault(checked: &Value) -> String {
    let faults = checked["path_faults"].as_array().unwrap();
    assert_eq!(faults.len(), 1, "{faults:#?}");
    format!("{} {}", faults[0]["says"], faults[0]["next"])
}

#[test]
fn a_router_whose_next_link_is_smaller_is_named_whether_it_speaks_or_not() {
    let Some(lab) = lab::up() else { return };
    let story = lab.story();
    let over = |link: u32| lab.one_path(1).replace("10.77.1.2", &format!("10.77.{link}.2"));
    lab.does("router 1 1500");
    let checked = json(&story.assay(&["check", &over(1), "--json"]), 0);
    let net = &checked["lun"]["paths"][0]["net"];
    assert_eq!(net["route"]["gateway"], "10.87.1.254", "{net:#}");
    assert_eq!(net["frames"]["refusal"]["by"], "10.87.1.254", "{net:#}");
    assert_eq!(net["frames"]["refusal"]["mtu_bytes"], 1500);
    assert_eq!(net["frames"]["largest_bytes"], 1500);
    let told = only_fault(&checked);
    assert!(told.contains("the router 10.87.1.254 says that its next link takes 1500 bytes"), "{told}");

    lab.does("router 2 1500 silent");
    let checked = json(&story.assay(&["check", &over(2), "--json"]), 0);
    let net = &checked["lun"]["paths"][0]["net"];
    assert!(net["frames"]["refusal"].is_null(), "{net:#}");
    let told = only_fault(&checked);
    assert!(told.contains("between this host and the target"), "{told}");
    assert!(told.contains("A router between them answers nothing."), "{told}");
    let text = story.assay(&["check", &over(2)]);
    let text = String::from_utf8_lossy(&text.stdout);
    assert!(text.contains("by the gateway 10.87.2.254, through c2"), "{text}");
    let wide: Vec<&str> = text.lines().skip(1).filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "lines wider than 80: {wide:#?}");
}
