//! What `assay check` sees where routers and virtual interfaces are on the way.

use serde_json::Value;

use crate::story::{json, refused};
use assay_testkit::lab;

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
    let reported = only_fault(&checked);
    assert!(
        reported.contains("the router 10.87.1.254 reports that its next link has MTU 1500"),
        "{reported}"
    );

    lab.does("router 2 1500 silent");
    let checked = json(&story.assay(&["check", &over(2), "--json"]), 0);
    let net = &checked["lun"]["paths"][0]["net"];
    assert!(net["frames"]["refusal"].is_null(), "{net:#}");
    let reported = only_fault(&checked);
    assert!(reported.contains("between this host and the target"), "{reported}");
    assert!(reported.contains("A router between them does not answer."), "{reported}");
    let text = story.assay(&["check", &over(2), "--explain"]);
    let text = text.out;
    assert!(text.contains("via 10.87.2.254, through c2"), "{text}");
    let wide: Vec<&str> = text.lines().skip(1).filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "lines wider than 80: {wide:#?}");
}

#[test]
fn paths_of_ipv6_have_frames_and_ceilings_of_their_own_headers() {
    let Some(lab) = lab::up() else { return };
    let story = lab.story();
    let to = |portal: &str| lab.one_path(1).replace("10.77.1.2", portal);
    // 40 bytes of IPv6, 20 of TCP, 12 of time stamps.
    let ceiling = |mtu: f64| 125.0 * (mtu - 72.0) / (mtu + 14.0) * 32_768.0 / 32_816.0;
    lab.does("mtu 2 1500 server");
    for (portal, link, arrives) in [
        ("[fd77:1::2]", "c1", 9000.0),
        ("[fe80::77:2%c1]", "c1", 9000.0),
        ("[fe80::77:2%c2]:3260", "c2", 1500.0),
    ] {
        let checked = json(&story.assay(&["check", &to(portal), "--json"]), 0);
        let path = &checked["lun"]["paths"][0];
        assert_eq!(path["net"]["route"]["device"], link, "{path:#}");
        let passes = path["net"]["frames"]["largest_bytes"].as_f64().unwrap();
        assert!(passes >= arrives && passes < arrives + 10.0, "{path:#}");
        let reported = checked["ceiling"]["paths"][0]["mb_per_s"].as_f64().unwrap();
        assert!(
            (reported / ceiling(arrives) - 1.0).abs() < 1e-6,
            "{portal}: {reported} of {}",
            ceiling(arrives)
        );
        assert_eq!(checked["path_faults"].as_array().unwrap().len(), usize::from(arrives < 9000.0));
    }
    refused(&story.assay(&["check", &to("[fe80::77:2]")]), 2, &["name the interface", "[fe80::77:2%eth0]"]);
    refused(&story.assay(&["check", &to("[fe80::77:2%c9]")]), 2, &["no interface `c9`"]);
    let plan = story.write(
        "six.toml",
        "name=\"six\"\n[[test]]\nname=\"t\"\naccess=[{size=\"32KiB\",read=100,random=0}]\nrun=\"4s\"\n",
    );
    let run = json(&story.assay(&["run", &plan, &to("[fe80::77:2%c1]"), "--json"]), 0);
    let test = &run["tests"][0];
    assert_eq!(test["errors"], 0, "{test:#}");
    assert_eq!(test["tcp"][0]["connections_max"], 1, "its connection is followed: {:#}", test["tcp"]);
}

#[test]
fn the_interface_of_each_path_is_that_which_rules_choose_for_its_connection() {
    let Some(lab) = lab::up() else { return };
    let story = lab.story();
    lab.does("router 1 9000");
    lab.does("router 2 9000");
    // The portal of link 1 by the router of link 2, for connections to the iSCSI port only.
    lab.client("ip route add 10.77.1.0/24 via 10.87.2.254 table 77");
    lab.client("ip rule add ipproto tcp dport 3260 to 10.77.1.0/24 lookup 77");
    let checked = json(&story.assay(&["check", &lab.one_path(1), "--json"]), 0);
    let net = &checked["lun"]["paths"][0]["net"];
    assert_eq!(
        (net["route"]["device"].as_str(), net["route"]["table"].as_u64()),
        (Some("c2"), Some(77)),
        "{net:#}"
    );
    assert_eq!(net["interface"]["name"], "c2");
    let local = checked["lun"]["paths"][0]["local"].as_str().unwrap();
    assert!(local.starts_with("10.87.2.1:"), "{local}");
    assert_eq!(net["frames"]["how"], "other_way", "echoes go by link 1: {net:#}");
    let text = story.assay(&["check", &lab.one_path(1), "--explain"]);
    let text = text.out;
    assert!(text.contains("table 77") && text.contains("another route than I/O"), "{text}");
}
