//! Interfaces on top of others: the interfaces that carry them are found, whatever the kernel supports here.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use assay_host::{Sampler, Watched};
use assay_record::{InterfaceFacts, LinkSample, LinkState};

use assay_testkit::namespace::Namespaces;
use assay_testkit::need;

use crate::look;

fn looked(spaces: &Namespaces, to: &str) -> InterfaceFacts {
    let facts = spaces.inside("here", || look(&[to]).remove(0));
    facts.interface.unwrap()
}

fn names(of: &[InterfaceFacts]) -> Vec<&str> {
    let mut names: Vec<&str> = of.iter().map(|one| one.name.as_str()).collect();
    names.sort_unstable();
    names
}

fn carriers(of: &InterfaceFacts) -> Vec<&str> {
    of.carriers().into_iter().map(|one| one.name.as_str()).collect()
}

/// Two links from `here` to `there`.
fn linked(of: &str) -> Option<Namespaces> {
    let spaces = Namespaces::new(of, &["here", "there"])?;
    spaces.all(
        "here: link add e1 mtu 9000 type veth peer name f1 mtu 9000 netns @there
         here: link add e2 mtu 9000 type veth peer name f2 mtu 9000 netns @there
         here: link set e1 up
         here: link set e2 up
         there: link set f1 up
         there: link set f2 up",
    );
    Some(spaces)
}

#[test]
fn a_bridge_is_carried_by_the_port_that_leads_to_the_address() {
    let Some(spaces) = linked("bridge") else { return };
    spaces.all(
        "here: link add br0 mtu 9000 type bridge
         here: link set e1 master br0
         here: link set e2 master br0
         here: link set br0 up
         here: addr add 10.9.0.1/24 dev br0
         there: addr add 10.9.0.2/24 dev f2",
    );
    let bridge = looked(&spaces, "10.9.0.2");
    assert_eq!((bridge.name.as_str(), bridge.kind.as_str()), ("br0", "bridge"));
    assert_eq!((names(&bridge.lower), carriers(&bridge)), (vec!["e2"], vec!["e2"]), "{bridge:#?}");
    let silent = looked(&spaces, "10.9.0.99");
    assert_eq!(names(&silent.lower), ["e1", "e2"], "nobody knows where a silent host is: {silent:#?}");
    // A container next to the bridge: its veth ends there, and its traffic continues through the same port.
    spaces.all(
        "here: link add c0 mtu 9000 type veth peer name c1 mtu 9000
         here: link set c1 master br0
         here: link set c0 up
         here: link set c1 up
         here: addr flush dev br0
         here: addr add 10.9.0.3/24 dev c0",
    );
    let veth = looked(&spaces, "10.9.0.2");
    assert_eq!((veth.name.as_str(), names(&veth.lower)), ("c0", vec!["br0"]), "{veth:#?}");
    assert_eq!(carriers(&veth), ["e2"], "{veth:#?}");
}

#[test]
fn derived_interfaces_are_carried_by_their_parent() {
    let Some(spaces) = linked("made-on") else { return };
    for (number, kind, more) in [
        (1, "vlan", "id 7"),
        (2, "macvlan", "mode bridge"),
        (3, "ipvlan", "mode l2"),
        (4, "macvtap", "mode vepa"),
    ] {
        // Macvlan and ipvlan use different devices: the kernel refuses both on one.
        let on = if kind == "ipvlan" { "e2" } else { "e1" };
        if let Err(why) = spaces.ip(&format!("here: link add link {on} name x{number} type {kind} {more}")) {
            need::skip_for_kernel(kind, why);
            continue;
        }
        spaces.all(&format!(
            "here: link set x{number} up
             here: addr add 10.9.{number}.1/24 dev x{number}"
        ));
        let found = looked(&spaces, &format!("10.9.{number}.2"));
        assert_eq!((found.kind.as_str(), names(&found.lower)), (kind, vec![on]), "{found:#?}");
        assert_eq!((found.lower[0].kind.as_str(), found.lower[0].mtu_bytes), ("veth", 9000));
        assert!(found.lower[0].lower.is_empty(), "the veth's other end is elsewhere: {found:#?}");
    }
    // Moved into a container, which does not see the interface below.
    if spaces.ip("here: link add link e1 name m1 type macvlan").is_ok() {
        spaces.all(
            "here: link set m1 netns @there
             there: link set m1 up
             there: addr add 10.9.9.1/24 dev m1",
        );
        let to = "10.9.9.2";
        let found = spaces.inside("there", || look(&[to]).remove(0).interface.unwrap());
        assert_eq!(found.lower.len(), 1, "{found:#?}");
        assert_eq!(found.lower[0].kind, InterfaceFacts::ELSEWHERE);
        assert!(found.lower[0].name.starts_with("interface "), "{found:#?}");
    }
}

#[test]
fn samples_contain_the_drops_of_an_interface() {
    const SENT: u64 = 7;
    let Some(spaces) = linked("counters") else { return };
    spaces.all(
        "here: link set e1 mtu 1500
         here: addr add 10.9.0.1/24 dev e1
         there: addr add 10.9.0.2/24 dev f1",
    );
    let watched = Watched { interfaces: vec!["e1".into(), "no-such-interface".into()], ..Watched::default() };
    let started = Instant::now();
    let sampler = spaces.inside("here", || Sampler::start(watched, started, Duration::from_millis(100)));
    let mut links = Vec::new();
    // What is dropped before the first look at the counters is in no sample.
    while links.is_empty() && started.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(20));
        links.extend(sampler.take().into_iter().flat_map(|sample| sample.links));
    }
    spaces.inside("there", || {
        let socket = UdpSocket::bind("10.9.0.2:0").unwrap();
        // Each sends one frame, larger than the other end accepts.
        for _ in 0..SENT {
            socket.send_to(&[0; 3000], "10.9.0.1:9").unwrap();
        }
    });
    let sum = |links: &[LinkSample]| links.iter().map(|link| link.counters.rx_dropped).sum::<u64>();
    // The first waits for ARP.
    while sum(&links) < SENT && started.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(20));
        links.extend(sampler.take().into_iter().flat_map(|sample| sample.links));
    }
    assert_eq!(sum(&links), SENT, "{links:#?}");
    assert!(links.iter().all(|link| link.interface == "e1"), "{links:#?}");
}

#[test]
fn a_bond_is_carried_by_its_members() {
    let Some(spaces) = linked("bond") else { return };
    if let Err(why) =
        spaces.ip("here: link add bond0 type bond mode balance-xor xmit_hash_policy layer3+4 miimon 100")
    {
        need::skip_for_kernel("bond", why);
        return;
    }
    spaces.all(
        "here: link set e1 down
         here: link set e2 down
         here: link set e1 master bond0
         here: link set e2 master bond0
         here: link set bond0 up
         here: addr add 10.9.0.1/24 dev bond0
         there: link set f2 down",
    );
    let bond = looked(&spaces, "10.9.0.2");
    let how = bond.bond.as_ref().unwrap();
    assert_eq!((how.mode.as_str(), how.hash.as_str()), ("balance-xor", "layer3+4"));
    assert_eq!(bond.lower.len(), 2, "{bond:#?}");
    assert_eq!(bond.lower.iter().find(|one| one.name == "e2").unwrap().state, LinkState::NoCarrier);
    assert_eq!(carriers(&bond), ["e1"], "{bond:#?}");
}
