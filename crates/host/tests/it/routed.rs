//! NetProbe over routers: how far full frames get, with routers that report the reason and with silent ones.

use std::time::{Duration, Instant};

use assay_record::{FrameFacts, FrameOutcome, FrameProbe};

use assay_testkit::namespace::Namespaces;

use crate::look;

/// `here` - router `near` - router `far` - `there`, all links at MTU 9000.
fn routed(of: &str) -> Option<Namespaces> {
    let spaces = Namespaces::new(of, &["here", "near", "far", "there"])?;
    for (number, left, right) in [(1, "here", "near"), (2, "near", "far"), (3, "far", "there")] {
        spaces.all(&format!(
            "{left}: link add r{number} mtu 9000 type veth peer name l{number} mtu 9000 netns @{right}
             {left}: addr add 10.8.{number}.1/24 dev r{number}
             {left}: addr add fd08:{number}::1/64 dev r{number} nodad
             {left}: link set r{number} up
             {right}: addr add 10.8.{number}.2/24 dev l{number}
             {right}: addr add fd08:{number}::2/64 dev l{number} nodad
             {right}: link set l{number} up"
        ));
    }
    spaces.all(
        "here: route add default via 10.8.1.2
         here: route add default via fd08:1::2
         near: route add 10.8.3.0/24 via 10.8.2.2
         near: route add fd08:3::/64 via fd08:2::2
         far: route add 10.8.1.0/24 via 10.8.2.1
         far: route add fd08:1::/64 via fd08:2::1
         there: route add default via 10.8.3.1
         there: route add default via fd08:3::1",
    );
    for router in ["near", "far"] {
        spaces.set(router, "ipv4/ip_forward", "1");
        spaces.set(router, "ipv6/conf/all/forwarding", "1");
        // A test sends more echoes than a router answers for one host.
        spaces.set(router, "ipv4/icmp_ratelimit", "0");
        spaces.set(router, "ipv6/icmp/ratelimit", "0");
    }
    // The kernel checks new IPv6 addresses for duplicates first.
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(20) {
        let to = ["10.8.3.2", "fd08:3::2"];
        let looks = spaces.inside("here", || look(&to));
        if looks.iter().all(|look| look.frames.how == FrameProbe::Echo) {
            break;
        }
    }
    Some(spaces)
}

fn looked(spaces: &Namespaces, to: &str) -> FrameFacts {
    let facts = spaces.inside("here", || look(&[to]).remove(0));
    assert_eq!(facts.frames.how, FrameProbe::Echo, "{facts:#?}");
    facts.frames
}

fn hops(facts: &FrameFacts) -> Vec<(u8, Option<&str>, FrameOutcome)> {
    facts.hops.iter().map(|hop| (hop.number, hop.address.as_deref(), hop.full)).collect()
}

#[test]
fn a_router_that_reports_the_mtu_of_its_next_link_is_named() {
    use FrameOutcome::{Passes, RefusedOnTheWay};
    let Some(spaces) = routed("says") else { return };
    for to in ["10.8.3.2", "fd08:3::2"] {
        let healthy = looked(&spaces, to);
        assert_eq!((healthy.largest_bytes, healthy.hops.len()), (Some(9000), 0), "{healthy:#?}");
    }
    spaces.all(
        "near: link set r2 mtu 1500
         far: link set l2 mtu 1500",
    );
    let ways = [("10.8.3.2", "10.8.1.2", "10.8.2.2"), ("fd08:3::2", "fd08:1::2", "fd08:2::2")];
    for (how, (to, near, far)) in ways.into_iter().chain(ways).enumerate() {
        // First with raw sockets, then with unprivileged ones.
        spaces.set("here", "ipv4/ping_group_range", if how < 2 { "1 0" } else { "0 2147483647" });
        let facts = looked(&spaces, to);
        let refusal = facts.refusal.as_ref().unwrap();
        assert_eq!((refusal.by.as_str(), refusal.mtu_bytes), (near, 1500), "{facts:#?}");
        assert_eq!(facts.largest_bytes, Some(1500), "{facts:#?}");
        assert_eq!(hops(&facts), [(1, Some(near), Passes), (2, Some(far), RefusedOnTheWay)], "{facts:#?}");
    }
}

#[test]
fn a_link_that_drops_full_frames_is_located_between_two_routers() {
    use FrameOutcome::{Lost, Passes};
    let Some(spaces) = routed("swallows") else { return };
    // With unprivileged sockets; without this setting they are refused and raw ones are used.
    spaces.set("here", "ipv4/ping_group_range", "0 2147483647");
    // Like a switch without jumbo frames: the far end of the link drops larger frames without notice.
    spaces.all("far: link set l2 mtu 1500");
    for (to, near, far) in [("10.8.3.2", "10.8.1.2", "10.8.2.2"), ("fd08:3::2", "fd08:1::2", "fd08:2::2")] {
        let facts = looked(&spaces, to);
        assert_eq!(
            (hops(&facts), facts.refusal.as_ref()),
            (vec![(1, Some(near), Passes), (2, Some(far), Lost)], None)
        );
        assert!((1500..1510).contains(&facts.largest_bytes.unwrap()), "{facts:#?}");
    }
    spaces.all(
        "far: link set l2 mtu 9000
         there: link set l3 mtu 1500",
    );
    let facts = looked(&spaces, "10.8.3.2");
    let all = [(1, Some("10.8.1.2"), Passes), (2, Some("10.8.2.2"), Passes), (3, None, Lost)];
    assert_eq!(hops(&facts), all, "{facts:#?}");
}

#[test]
fn routers_with_filtered_icmp_leave_only_silence() {
    use FrameOutcome::Lost;
    let Some(spaces) = routed("filtered") else { return };
    // Messages that a router originates are dropped, as with a filter for ICMP on it.
    spaces.all(
        "near: link set r2 mtu 1500
         far: link set l2 mtu 1500
         near: rule add iif lo pref 1 blackhole
         near: -6 rule add iif lo pref 1 blackhole",
    );
    for (to, far) in [("10.8.3.2", "10.8.2.2"), ("fd08:3::2", "fd08:2::2")] {
        let facts = looked(&spaces, to);
        assert_eq!((facts.largest_bytes, facts.refusal.as_ref()), (Some(1500), None), "{facts:#?}");
        assert_eq!(hops(&facts), [(2, Some(far), Lost)], "{facts:#?}");
    }
}
