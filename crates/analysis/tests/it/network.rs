//! Ceilings and faults of paths, and the rules that speak of them.

use assay_analysis::{
    RunSummary, Severity, TcpSummary, ceiling, ceiling_together, loses_segments, nfs_ceiling, path_faults,
    step_ceiling, unreachable,
};
use assay_record::{
    Agreed, BondFacts, Event, FrameFacts, FrameHop, FrameOutcome, FrameProbe, FrameRefusal, FrameTry,
    HostSample, InterfaceCounters, InterfaceFacts, LinkSample, LinkState, LunFacts, MemberKind, NetPathFacts,
    NfsFacts, PathFacts, Phase, RouteFacts, RunEvent, RunHeader, ShaperFacts, StepId, TcpPathFacts,
    TcpSample,
};

use crate::{found, run, summarize, synthetic};

/// A path over its own gigabit interface, everything at this MTU.
pub(crate) fn path(number: u32, mtu: u32) -> PathFacts {
    PathFacts {
        portal: format!("10.0.{number}.2"),
        is_up: true,
        agreed: Some(Agreed {
            max_recv_segment_bytes: 256 << 10,
            max_send_segment_bytes: 256 << 10,
            ..Agreed::default()
        }),
        tcp: Some(TcpPathFacts { send_mss_bytes: mtu - 52, timestamps: true, ..TcpPathFacts::default() }),
        net: Some(Box::new(NetPathFacts {
            route: Some(RouteFacts {
                device: format!("eth{number}"),
                subnet: format!("10.0.{number}.0/24"),
                ..RouteFacts::default()
            }),
            interface: Some(InterfaceFacts {
                name: format!("eth{number}"),
                mtu_bytes: mtu,
                speed_mbit_s: Some(1000),
                duplex: Some("full".into()),
                ..InterfaceFacts::default()
            }),
            frames: passing(mtu, &[mtu]),
        })),
        ..PathFacts::default()
    }
}

/// Echoes of `tried` bytes, of which those up to `largest` come back.
fn passing(largest: u32, tried: &[u32]) -> FrameFacts {
    let one = |&bytes: &u32| {
        let outcome = if bytes <= largest { FrameOutcome::Passes } else { FrameOutcome::Lost };
        FrameTry { bytes, outcome }
    };
    FrameFacts {
        how: FrameProbe::Echo,
        tried: tried.iter().map(one).collect(),
        largest_bytes: Some(largest),
        ..FrameFacts::default()
    }
}

fn net(path: &mut PathFacts) -> &mut NetPathFacts {
    path.net.as_mut().unwrap()
}

fn interface(path: &mut PathFacts) -> &mut InterfaceFacts {
    net(path).interface.as_mut().unwrap()
}

fn mb_per_s(path: &PathFacts) -> f64 {
    ceiling(path).unwrap().mb_per_s.unwrap()
}

/// What the faults of these paths say, each with what to do.
fn says(paths: &[PathFacts]) -> Vec<String> {
    path_faults(paths).into_iter().map(|fault| format!("{} {}", fault.says, fault.next)).collect()
}

#[test]
fn ceilings_are_those_of_the_wire_to_the_last_digit() {
    // Payload 1448 of 1538 bytes on a cable, and 48 bytes of header to 32 KiB.
    assert!((mb_per_s(&path(1, 1500)) - 125.0 * 1448.0 / 1538.0 * 32_768.0 / 32_816.0).abs() < 1e-9);
    assert!((mb_per_s(&path(1, 9000)) - 125.0 * 8948.0 / 9038.0 * 32_768.0 / 32_816.0).abs() < 1e-9);
    let mut plain = path(1, 1500);
    plain.tcp.as_mut().unwrap().timestamps = false;
    plain.tcp.as_mut().unwrap().send_mss_bytes = 1460;
    assert!((mb_per_s(&plain) - 125.0 * 1460.0 / 1538.0 * 32_768.0 / 32_816.0).abs() < 1e-9);
    // IPv6: 20 bytes more of headers in a packet of 1500.
    let mut six = path(1, 1500);
    six.tcp.as_mut().unwrap().send_mss_bytes = 1428;
    net(&mut six).route.as_mut().unwrap().source = Some("fd00::1".into());
    assert!((mb_per_s(&six) - 125.0 * 1428.0 / 1538.0 * 32_768.0 / 32_816.0).abs() < 1e-9);
    assert!(ceiling(&six).unwrap().arithmetic.contains("IP packet 1500, 38 around it"));
    net(&mut six).frames.how = FrameProbe::Unanswered;
    assert_eq!(says(&[six]), [""; 0], "TCP agreed on full packets");
    let mut small = path(1, 1500);
    small.agreed.as_mut().unwrap().max_recv_segment_bytes = 8192;
    small.agreed.as_mut().unwrap().data_digest = true;
    assert!((mb_per_s(&small) - 125.0 * 1448.0 / 1538.0 * 32_768.0 / (32_768.0 + 4.0 * 52.0)).abs() < 1e-9);
}

#[test]
fn the_ceiling_of_nfs_counts_a_reply_for_each_call() {
    let nfs = |read_bytes_max| NfsFacts {
        read_bytes_max,
        connections: 4,
        paths: vec![PathFacts { agreed: None, ..path(1, 1500) }],
        ..NfsFacts::default()
    };
    let allowed = |calls: f64| 125.0 * 1448.0 / 1538.0 * 32_768.0 / (32_768.0 + 132.0 * calls);
    for (read_bytes_max, calls) in [(1 << 20, 1.0), (32_768, 1.0), (32_767, 2.0), (8192, 4.0), (0, 4.0)] {
        let reported = nfs_ceiling(&nfs(read_bytes_max)).unwrap();
        assert!((reported.mb_per_s.unwrap() - allowed(calls)).abs() < 1e-9, "{read_bytes_max}: {reported:?}");
    }
    assert_eq!(nfs_ceiling(&NfsFacts::default()), None, "a run of an earlier version, where nobody looked");
}

#[test]
fn a_shaper_counts_its_own_way_and_says_so() {
    let mut shaped = path(1, 1500);
    interface(&mut shaped).kind = "veth".into();
    interface(&mut shaped).shaper =
        Some(ShaperFacts { kind: "htb".into(), bit_s: 1_000_000_000, counted_bytes: 14 });
    assert!((mb_per_s(&shaped) - 125.0 * 1448.0 / 1514.0 * 32_768.0 / 32_816.0).abs() < 1e-9);
    assert!(ceiling(&shaped).unwrap().rate_from.contains("the other direction is assumed to be equal"));
    interface(&mut shaped).shaper = None;
    let unknown = ceiling(&shaped).unwrap();
    assert_eq!(unknown.mb_per_s, None, "a veth's 1000 Mbit/s mean nothing");
    assert!(unknown.arithmetic.starts_with("unknown rate"), "{unknown:?}");
    assert!(unknown.rate_from.contains("veth"), "{unknown:?}");
}

#[test]
fn a_step_has_the_links_of_its_own_targets_each_once() {
    let text = "[[test]]\nname = \"t\"\n[[test.job]]\ntargets = [0]\naccess = [{ size = \"8KiB\" }]\n\
                [[test.job]]\ntargets = [1]\naccess = [{ size = \"8KiB\" }]\n\
                [[test]]\nname = \"one\"\n[[test.job]]\ntargets = [0]\naccess = [{ size = \"8KiB\" }]\n";
    let mut header = crate::synthetic::header(crate::synthetic::plan(text));
    let lun = |paths| Some(Box::new(LunFacts { paths, ..LunFacts::default() }));
    let mut second = header.targets[0].clone();
    header.targets[0].member.lun = lun(vec![path(1, 1500), path(2, 1500)]);
    let step = |test| assay_record::StepId { test, step: 0 };
    let one = mb_per_s(&path(1, 1500));
    assert_eq!(step_ceiling(&header, step(1)).unwrap().mb_per_s, Some(2.0 * one), "one target");
    second.member.lun = None;
    header.targets.push(second.clone());
    assert_eq!(step_ceiling(&header, step(0)), None, "the other is a file here");
    header.targets[1].member.lun = lun(vec![path(2, 1500), path(3, 1500)]);
    assert_eq!(step_ceiling(&header, step(0)).unwrap().mb_per_s, Some(3.0 * one), "eth2 counts once");
    header.targets[1].member.lun = None;
    let nfs = NfsFacts { paths: vec![path(4, 1500)], read_bytes_max: 1 << 20, ..NfsFacts::default() };
    let of_nfs = nfs_ceiling(&nfs).unwrap().mb_per_s.unwrap();
    header.targets[1].member.nfs = Some(Box::new(nfs));
    assert_eq!(step_ceiling(&header, step(0)).unwrap().mb_per_s, Some(2.0 * one + of_nfs));
}

#[test]
fn paths_through_one_interface_carry_one_link_together() {
    let [a, b, mut c] = [path(1, 9000), path(2, 9000), path(2, 9000)];
    let one = mb_per_s(&a);
    let together = |paths: &[PathFacts]| ceiling_together(paths).mb_per_s;
    assert_eq!(together(&[a.clone(), b.clone(), c.clone()]), Some(one * 2.0));
    c.tcp = None;
    assert_eq!(
        together(&[a.clone(), c.clone()]),
        Some(one * 2.0),
        "its connection is not reported, but it is up"
    );
    assert!(
        ceiling(&c)
            .unwrap()
            .arithmetic
            .contains("IP packet 9000, assumed because the kernel reports no TCP details, 38 around")
    );
    c.is_up = false;
    assert_eq!(together(&[a.clone(), c.clone()]), Some(one), "a path that is down carries nothing");
    assert_eq!(together(&[c]), None);
    let shared = says(&[a, b.clone(), b]);
    assert_eq!(shared.len(), 1, "{shared:?}");
    assert!(shared[0].starts_with("paths 1, 2 leave through the same interface, eth2 (subnet 10.0.2.0/24)"));
}

/// A NIC of the machine.
fn nic(name: &str, speed_mbit_s: u32) -> InterfaceFacts {
    InterfaceFacts {
        name: name.into(),
        mtu_bytes: 9000,
        speed_mbit_s: Some(speed_mbit_s),
        ..InterfaceFacts::default()
    }
}

fn bond(mode: &str, hash: &str, active: Option<&str>, lower: Vec<InterfaceFacts>) -> InterfaceFacts {
    let bond = BondFacts { mode: mode.into(), hash: hash.into(), active: active.map(Into::into) };
    InterfaceFacts { kind: "bond".into(), bond: Some(bond), lower, ..nic("bond0", 2000) }
}

/// A path over an interface of this name and kind that stands on `lower`.
fn path_on(number: u32, name: &str, kind: &str, lower: Vec<InterfaceFacts>) -> PathFacts {
    let mut path = path(number, 9000);
    name.clone_into(&mut net(&mut path).route.as_mut().unwrap().device);
    let of = interface(&mut path);
    name.clone_into(&mut of.name);
    kind.clone_into(&mut of.kind);
    of.lower = lower;
    path
}

/// What a cable of 1 Gbit/s carries at MTU 9000, with tags in each frame.
fn cable(tags: f64) -> f64 {
    125.0 * 8948.0 / (9038.0 + 4.0 * tags) * 32_768.0 / 32_816.0
}

#[test]
fn vlans_and_other_virtual_interfaces_of_one_nic_are_one_link() {
    for (kind, tags) in [("vlan", 1.0), ("macvlan", 0.0), ("ipvlan", 0.0), ("bridge", 0.0), ("veth", 0.0)] {
        let on = |number, name: &str| path_on(number, name, kind, vec![nic("eth0", 1000)]);
        let paths = [on(1, "x1"), on(2, "x2"), path(3, 9000)];
        assert!((mb_per_s(&paths[0]) - cable(tags)).abs() < 1e-9, "{kind}");
        let together = ceiling_together(&paths);
        assert!((together.mb_per_s.unwrap() - cable(tags) - cable(0.0)).abs() < 1e-9, "{kind}: {together:?}");
        assert!(together.arithmetic.starts_with("(x1, x2 on eth0) "), "{kind}: {together:?}");
        let reported = says(&paths);
        assert_eq!(reported.len(), 1, "{kind}: {reported:?}");
        assert!(reported[0].starts_with("paths 0, 1 leave through x1 and x2, which share one NIC, eth0:"));
    }
    // The NIC itself, and a VLAN on a bridge on it: one link all the same, and each tag costs.
    let bridge =
        InterfaceFacts { kind: "bridge".into(), lower: vec![nic("eth1", 1000)], ..InterfaceFacts::default() };
    let deep = path_on(2, "br0.7", "vlan", vec![bridge]);
    assert!((mb_per_s(&deep) - cable(1.0)).abs() < 1e-9);
    let together = ceiling_together(&[path(1, 9000), deep]).mb_per_s.unwrap();
    assert!((together - cable(0.0)).abs() < 1e-9, "what the better of them gets out of the link: {together}");
}

#[test]
fn a_nic_in_another_namespace_is_one_link_as_well() {
    let elsewhere = || InterfaceFacts {
        name: "interface 5 of namespace 0".into(),
        kind: InterfaceFacts::ELSEWHERE.into(),
        ..InterfaceFacts::default()
    };
    let [a, b] = [1, 2].map(|n| path_on(n, &format!("m{n}"), "macvlan", vec![elsewhere()]));
    assert!((mb_per_s(&a) - cable(0.0)).abs() < 1e-9, "the driver of a macvlan asks the NIC's");
    let reported = says(&[a.clone(), b.clone()]);
    assert!(reported.len() == 1 && reported[0].contains("interface 5 of namespace 0"), "{reported:?}");
    assert!((ceiling_together(&[a, b]).mb_per_s.unwrap() - cable(0.0)).abs() < 1e-9);
}

#[test]
fn a_bridge_whose_port_is_not_known_has_no_ceiling() {
    let unclear = path_on(1, "br0", "bridge", vec![nic("eth0", 1000), nic("eth1", 10_000)]);
    let reported = ceiling(&unclear).unwrap();
    assert_eq!(reported.mb_per_s, None);
    assert!(reported.rate_from.contains("the port of the bridge br0"), "{reported:?}");
}

#[test]
fn a_bond_carries_the_sum_and_one_connection_one_member() {
    let members = || vec![nic("eth0", 1000), nic("eth1", 1000)];
    let on = |number, bond: &InterfaceFacts| {
        let mut path = path_on(number, "bond0", "bond", Vec::new());
        *interface(&mut path) = bond.clone();
        path
    };
    let hashed = bond("802.3ad", "layer2", None, members());
    let [a, b, c] = [1, 2, 3].map(|number| on(number, &hashed));
    assert!((mb_per_s(&a) - cable(0.0)).abs() < 1e-9);
    let from = ceiling(&a).unwrap().rate_from;
    assert!(
        from.contains("bond of eth0 and eth1 (802.3ad, hash layer2)") && from.contains("uses one of them")
    );
    let together = |paths: &[PathFacts]| ceiling_together(paths).mb_per_s.unwrap();
    assert!((together(std::slice::from_ref(&a)) - cable(0.0)).abs() < 1e-9, "one path has one member");
    assert!((together(&[a.clone(), b.clone()]) - 2.0 * cable(0.0)).abs() < 1e-9);
    assert!((together(&[a.clone(), b.clone(), c]) - 2.0 * cable(0.0)).abs() < 1e-9);
    let reported = says(&[a.clone(), b]);
    assert!(
        reported.len() == 1 && reported[0].contains("through bond0, a bond of eth0 and eth1 (802.3ad)"),
        "{reported:?}"
    );
    assert!(reported[0].contains("may share one link"), "{reported:?}");
    // NFS may have a connection for each member.
    let nfs = |connections| NfsFacts {
        connections,
        paths: vec![a.clone()],
        read_bytes_max: 1 << 20,
        ..NfsFacts::default()
    };
    let (one, four) = (nfs_ceiling(&nfs(1)).unwrap(), nfs_ceiling(&nfs(4)).unwrap());
    assert!((four.mb_per_s.unwrap() / one.mb_per_s.unwrap() - 2.0).abs() < 1e-9);

    let mut lame = members();
    lame[1].state = LinkState::NoCarrier;
    let lame = on(1, &bond("802.3ad", "layer3+4", None, lame));
    assert!(
        (together(&[lame.clone(), on(2, &bond("802.3ad", "", None, members()))]) - 2.0 * cable(0.0)).abs()
            < 1e-9
    );
    let reported = says(std::slice::from_ref(&lame));
    assert!(
        reported.len() == 1 && reported[0].contains("has 2 members, and eth1 has no link"),
        "{reported:?}"
    );
    assert!((together(&[lame.clone(), lame]) - cable(0.0)).abs() < 1e-9);

    let spare = bond("active-backup", "layer2", Some("eth1"), members());
    let reported = says(&[on(1, &spare), on(2, &spare)]);
    assert!(reported.len() == 1 && reported[0].contains("the same interface, bond0"), "{reported:?}");
    assert!((together(&[on(1, &spare), on(2, &spare)]) - cable(0.0)).abs() < 1e-9);

    let striped = on(1, &bond("balance-rr", "layer2", None, members()));
    assert!((mb_per_s(&striped) - 2.0 * cable(0.0)).abs() < 1e-9);
    let mut unsaid = members();
    unsaid[0].speed_mbit_s = None;
    assert_eq!(ceiling(&on(1, &bond("802.3ad", "", None, unsaid))).unwrap().mb_per_s, None);
}

#[test]
fn a_shaper_below_or_above_limits_what_stands_between() {
    let shaper = |bit_s| Some(ShaperFacts { kind: "htb".into(), bit_s, counted_bytes: 14 });
    let lower = InterfaceFacts { shaper: shaper(500_000_000), ..nic("eth0", 1000) };
    let below = path_on(1, "eth0.1", "macvlan", vec![lower]);
    assert!((mb_per_s(&below) - 62.5 * 8948.0 / 9014.0 * 32_768.0 / 32_816.0).abs() < 1e-9);
    let mut above = path_on(1, "eth0.1", "macvlan", vec![nic("eth0", 1000)]);
    interface(&mut above).shaper = shaper(500_000_000);
    assert!((mb_per_s(&above) - mb_per_s(&below)).abs() < 1e-9);
    interface(&mut above).shaper = shaper(5_000_000_000);
    assert!(
        (mb_per_s(&above) - cable(0.0)).abs() < 1e-9,
        "a shaper that lets more out than the link limits nothing"
    );
}

#[test]
fn healthy_paths_have_no_fault() {
    assert_eq!(path_faults(&[path(1, 9000), path(2, 9000)]), []);
    assert_eq!(path_faults(&[path(1, 1500)]), []);
    assert_eq!(path_faults(&[PathFacts { is_up: true, ..PathFacts::default() }]), [], "not looked at");
}

#[test]
fn a_switch_that_is_not_jumbo_is_distinguished_from_an_other_side_that_is_not() {
    let mut switch = path(1, 9000);
    net(&mut switch).frames = passing(1500, &[1500, 9000]);
    let reported = says(&[switch.clone()]);
    assert!(
        reported.len() == 1 && reported[0].contains("usually a switch, does not pass jumbo"),
        "{reported:?}"
    );
    switch.tcp.as_mut().unwrap().send_mss_bytes = 1448;
    net(&mut switch).frames = passing(1504, &[1500, 1504, 1505, 9000]);
    let reported = says(&[switch.clone()]);
    assert!(reported[0].contains("the target uses 1500") && reported[0].ends_with("or eth1 to 1500."));
    net(&mut switch).frames = FrameFacts { how: FrameProbe::Unanswered, ..FrameFacts::default() };
    let reported = says(&[switch]);
    assert!(
        reported[0].contains("TCP negotiated packets of 1500") && reported[0].contains("No echo returns")
    );
    let mut down = PathFacts { is_up: false, tcp: None, ..path(1, 9000) };
    net(&mut down).frames = passing(1500, &[1500, 9000]);
    let reported = says(&[down]);
    assert!(
        reported.len() == 1 && reported[0].contains("large I/O hangs until the path fails"),
        "{reported:?}"
    );
    let mut silent = path(1, 9000);
    net(&mut silent).frames = FrameFacts { how: FrameProbe::NotAllowed, ..FrameFacts::default() };
    assert_eq!(says(&[silent]), Vec::<String>::new(), "TCP agrees with the interface: nothing to say");
}

/// A host with MTU 9000 before a target with 1500 lost frames in the eyes of a diagnosis, and nothing that TCP sent.
#[test]
fn frames_that_tcp_does_not_send_are_none_that_it_loses() {
    let mut agreed = path(1, 9000);
    net(&mut agreed).frames = passing(1500, &[1500, 9000]);
    assert!(loses_segments(&agreed), "TCP uses packets of 9000");
    agreed.tcp.as_mut().unwrap().send_mss_bytes = 1448;
    assert!(!loses_segments(&agreed));
    // Nobody agreed on it: TCP found out by what was lost (RFC 4821).
    agreed.tcp.as_mut().unwrap().retransmits = 6;
    assert!(loses_segments(&agreed));
    assert!(!loses_segments(&path(1, 9000)), "everything arrives");
    let mut down = PathFacts { is_up: false, tcp: None, ..path(1, 9000) };
    net(&mut down).frames = passing(1500, &[1500, 9000]);
    assert!(loses_segments(&down));
}

#[test]
fn over_routers_the_one_that_lets_no_full_frames_on_is_named() {
    let hop =
        |number, address: Option<&str>, full| FrameHop { number, address: address.map(Into::into), full };
    let (passes, lost) = (FrameOutcome::Passes, FrameOutcome::Lost);
    let mut path = path(1, 9000);
    net(&mut path).frames = passing(1500, &[1500, 9000]);
    let mut reported = |refusal: Option<(&str, u32)>, hops: Vec<FrameHop>, mss| {
        let frames = &mut net(&mut path).frames;
        frames.refusal = refusal.map(|(by, mtu_bytes)| FrameRefusal { by: by.into(), mtu_bytes });
        frames.hops = hops;
        path.tcp.as_mut().unwrap().send_mss_bytes = mss;
        let reported = says(std::slice::from_ref(&path));
        assert_eq!(reported.len(), 1, "{reported:?}");
        reported.into_iter().next().unwrap()
    };
    let said = reported(Some(("10.0.1.254", 1500)), Vec::new(), 8948);
    assert!(said.contains("the router 10.0.1.254 reports that its next link has MTU 1500"), "{said}");
    assert!(
        said.ends_with("Set the link behind the router 10.0.1.254 to 9000 too, or eth1 to 1500."),
        "{said}"
    );
    let said = reported(Some(("10.0.1.254", 4000)), Vec::new(), 8948);
    assert!(said.contains("hangs"), "a link behind that router takes less, and does not say so: {said}");
    let said = reported(Some(("", 0)), Vec::new(), 8948);
    assert!(said.contains("a router reports that its next link has MTU 1500"), "{said}");
    let between = vec![hop(1, Some("10.0.1.254"), passes), hop(2, Some("10.0.2.254"), lost)];
    let said = reported(None, between, 8948);
    assert!(
        said.contains("lost between router 1 (10.0.1.254) and router 2 (10.0.2.254). No router"),
        "{said}"
    );
    assert!(said.contains("large I/O hangs"), "{said}");
    let last = vec![hop(1, Some("10.0.1.254"), passes), hop(2, None, lost)];
    let said = reported(None, last, 1448);
    assert!(said.contains("and the target, or on the way back. TCP negotiated packets of 1500"), "{said}");
    let silent = vec![hop(2, None, lost)];
    let said = reported(None, silent, 8948);
    assert!(
        said.contains("between this host and the target, or on the way back. A router between"),
        "{said}"
    );
    let said = reported(None, vec![hop(1, Some("10.0.1.254"), passes)], 8948);
    assert!(said.contains("usually a switch"), "nothing was found out about where: {said}");
}

#[test]
fn one_path_that_is_smaller_than_the_others_is_named() {
    let reported = says(&[path(1, 9000), path(2, 1500), path(3, 9000)]);
    assert!(
        reported.len() == 1 && reported[0].starts_with("path 1 (10.0.2.2) has MTU 1500, while"),
        "{reported:?}"
    );
}

#[test]
fn why_a_path_is_down_is_said_as_far_as_it_is_seen() {
    let mut down = PathFacts { is_up: false, tcp: None, agreed: None, ..path(1, 9000) };
    let first = |path: &PathFacts| says(std::slice::from_ref(path)).remove(0);
    assert!(first(&down).contains("no iSCSI target listens"));
    net(&mut down).frames = FrameFacts { how: FrameProbe::Unanswered, ..FrameFacts::default() };
    assert!(first(&down).contains("the portal does not answer"));
    interface(&mut down).state = LinkState::NoCarrier;
    assert!(first(&down).contains("eth1 has no link"));
    interface(&mut down).state = LinkState::Down;
    assert!(first(&down).ends_with("ip link set eth1 up"));
    assert!(unreachable("x", Some(&NetPathFacts::default())).says.contains("no route"));
    assert!(unreachable("x", None).says.contains("its name does not resolve"));
}

#[test]
fn counters_speak_from_the_first_error_and_from_a_thousandth_dropped() {
    let reported = |errors, dropped, packets| {
        let mut path = path(1, 1500);
        let counters = &mut interface(&mut path).counters;
        (counters.rx_errors, counters.rx_dropped, counters.rx_packets) = (errors, dropped, packets);
        says(&[path]).len()
    };
    assert_eq!((reported(1, 0, 1_000_000), reported(0, 0, 1_000_000)), (1, 0));
    assert_eq!((reported(0, 1001, 1_000_000), reported(0, 1000, 1_000_000)), (1, 0));
    assert_eq!((reported(0, 100, 1000), reported(0, 99, 1000)), (1, 0), "probes of our own are no fault");
    let mut half = path(1, 1500);
    interface(&mut half).duplex = Some("half".into());
    assert!(says(&[half])[0].contains("half duplex"));
}

/// Of a LUN of which one of three links ran at a tenth, it was said that no fault was found.
#[test]
fn a_path_that_is_slower_than_the_others_is_a_fault() {
    let at = |mbit: [u32; 3]| {
        let paths = [1, 2, 3].map(|number| {
            let mut path = path(number, 1500);
            interface(&mut path).speed_mbit_s = Some(mbit[number as usize - 1]);
            path
        });
        says(&paths)
    };
    assert_eq!(
        at([10_000, 1000, 10_000]),
        [
            "path 1 (10.0.2.2) runs at 1000 Mbit/s, while the fastest of the others has 10000 Mbit/s: where I/Os are \
             spread evenly, all paths wait for it, and together they give 3 times its rate, 375 MB/s at most. Repair \
             that link (cable, port, duplex, shaper), leave the path out, or use a policy that counts outstanding I/Os."
        ]
    );
    assert!(at([1000; 3]).is_empty());
}

/// A cable with a broken pair was a speed in a list, and no fault.
#[test]
fn a_link_of_100_mbit_per_second_is_a_fault_of_hardware() {
    let at = |mbit: u32, kind: &str| {
        let mut path = path(1, 1500);
        interface(&mut path).speed_mbit_s = Some(mbit);
        interface(&mut path).kind = kind.to_owned();
        says(&[path])
    };
    assert_eq!(
        at(100, ""),
        [
            "path 0 (10.0.1.2): eth1 has negotiated 100 Mbit/s: at most 12.5 MB/s. Use a cable with all four pairs and \
             a faster port; ethtool shows what each end offers."
        ]
    );
    assert!(at(1000, "").is_empty() && at(0, "").is_empty());
    assert!(at(10, "tun").is_empty(), "virtual ones state some speed or other");
}

fn clean() -> (RunHeader, RunSummary) {
    run("[[test]]\nname = \"t\"\naccess = [{ size = \"8KiB\", read = 65, random = 60 }]\n\
        outstanding = 16\nrun = \"4s\"\n")
}

#[test]
fn retransmits_are_reported_and_warned_of_from_one_a_second() {
    let fired = |retransmits| {
        let (header, mut summary) = clean();
        let mut tcp = TcpSummary { remote: "10.0.1.2:3260".into(), ..TcpSummary::default() };
        tcp.add(1.0, &TcpSample { connections: 1, retransmits, ..TcpSample::default() });
        summary.steps[0].tcp = vec![tcp];
        summary.steps[0].seconds = 4.0;
        found("retransmits", &header, &summary)
    };
    assert!(fired(0).is_none());
    assert_eq!(fired(1).unwrap().severity, Severity::Info);
    assert_eq!(fired(3).unwrap().severity, Severity::Info);
    let four = fired(4).unwrap();
    assert_eq!((four.severity, four.evidence[0].value), (Severity::Warning, 4.0));
    assert!(four.says.contains("4 to 10.0.1.2:3260") && four.says.contains("cannot be seen from here"));
}

#[test]
fn what_interfaces_lost_meanwhile_is_reported_with_its_numbers() {
    let fired = |counters: InterfaceCounters| {
        let (header, mut summary) = clean();
        let quiet = InterfaceCounters { rx_packets: 5000, tx_packets: 100, ..InterfaceCounters::default() };
        summary.steps[0].links = vec![
            LinkSample { interface: "eth0".into(), counters: quiet },
            LinkSample { interface: "eth1".into(), counters: quiet.plus(&counters) },
        ];
        summary.steps[0].seconds = 4.0;
        found("link-errors", &header, &summary)
    };
    assert!(fired(InterfaceCounters::default()).is_none());
    let broken = fired(InterfaceCounters { rx_errors: 3, rx_crc_errors: 2, ..InterfaceCounters::default() });
    let broken = broken.unwrap();
    assert_eq!((broken.severity, broken.evidence[0].value), (Severity::Warning, 3.0));
    let words = "eth1 counted 3 broken packets received (2 with a wrong checksum) among 5100 packets";
    assert!(broken.says.contains(words) && !broken.says.contains("eth0"), "{broken:?}");
    let overrun = fired(InterfaceCounters { rx_overruns: 1, ..InterfaceCounters::default() }).unwrap();
    assert_eq!(overrun.severity, Severity::Warning);
    let dropped =
        |tx_dropped| fired(InterfaceCounters { tx_dropped, ..InterfaceCounters::default() }).unwrap();
    assert_eq!((dropped(3).severity, dropped(4).severity), (Severity::Info, Severity::Warning));
    assert!(dropped(4).says.contains("4 dropped before sending"), "{:?}", dropped(4));
}

#[test]
fn what_a_member_of_a_bond_lost_counts_once() {
    let (mut header, mut summary) = clean();
    let mut path = path(1, 1500);
    let member = InterfaceFacts { name: "eth0".into(), ..InterfaceFacts::default() };
    let bond = interface(&mut path);
    (bond.name, bond.bond, bond.lower) = ("bond0".into(), Some(BondFacts::default()), vec![member]);
    header.targets[0].member.lun = Some(Box::new(LunFacts { paths: vec![path], ..LunFacts::default() }));
    let counters = InterfaceCounters { rx_errors: 1, rx_packets: 10, ..InterfaceCounters::default() };
    let link = |interface: &str| LinkSample { interface: interface.into(), counters };
    summary.steps[0].links = vec![link("bond0"), link("eth0")];
    let reported = found("link-errors", &header, &summary).unwrap();
    assert!(reported.evidence[0].value == 1.0 && !reported.says.contains("bond0"), "{reported:?}");
}

#[test]
fn an_error_in_the_first_or_last_second_of_the_window_is_not_lost() {
    let (header, _) = clean();
    let mut events = synthetic::events(&header, synthetic::Target::default());
    let phase = |phase| RunEvent::PhaseStarted { step: StepId { test: 0, step: 0 }, phase };
    let measure = events.iter().find(|event| event.what == phase(Phase::Measure)).unwrap().at_ns;
    let end = events.iter().rposition(|event| matches!(event.what, RunEvent::StepEnded(_))).unwrap();
    let drain = events[end].at_ns;
    assert!(drain > measure + 2_000_000_000, "{measure} {drain}");
    let sample = |at_ns, rx_errors| {
        let counters = InterfaceCounters { rx_errors, rx_packets: 10, ..InterfaceCounters::default() };
        let links = vec![LinkSample { interface: "eth0".into(), counters }];
        let sample = HostSample { at_ns, length_ns: 1_000_000_000, links, ..HostSample::default() };
        Event { at_ns, what: RunEvent::Host(Box::new(sample)) }
    };
    // Ends before it, reaches into it, lies in it, reaches out of it, begins after it.
    let half = 500_000_000;
    let samples = [
        sample(measure, 1),
        sample(measure + half, 10),
        sample(measure + half + 1_000_000_000, 100),
        sample(drain + half, 1000),
        sample(drain + 1_000_000_000, 10_000),
    ];
    // As they come: after the phases that they touch.
    let late = std::iter::once(Event { at_ns: drain, what: phase(Phase::Drain) }).chain(samples);
    events.splice(end..end, late);
    let summary = summarize(&header, &events);
    assert_eq!(summary.steps[0].links[0].counters.rx_errors, 1110, "{:?}", summary.steps[0].links);
    assert_eq!(summary.steps[0].links[0].counters.rx_packets, 30);
}

#[test]
fn a_run_tells_the_faults_of_its_paths() {
    let (mut header, summary) = clean();
    let member = &mut header.targets[0].member;
    member.kind = MemberKind::Lun;
    let lun = LunFacts { paths: vec![path(1, 9000), path(2, 9000)], ..LunFacts::default() };
    member.lun = Some(Box::new(lun));
    assert!(found("path-fault", &header, &summary).is_none());
    let lun = header.targets[0].member.lun.as_mut().unwrap();
    lun.paths[1] = path(2, 1500);
    let fault = found("path-fault", &header, &summary).unwrap();
    assert!(fault.says.contains("Path 1 (10.0.2.2) has MTU 1500"), "{fault:?}");
}

#[test]
fn samples_of_connections_become_round_trips_without_the_gaps() {
    let mut tcp = TcpSummary::default();
    let sample = |connections, rtt_us, retransmits, window| TcpSample {
        connections,
        rtt_us,
        retransmits,
        congestion_window_segments: window,
        send_mss_bytes: if connections > 0 { 1448 } else { 0 },
        ..TcpSample::default()
    };
    tcp.add(1.0, &sample(1, 300, 0, 10));
    tcp.add(2.0, &sample(0, 0, 0, 0));
    tcp.add(3.0, &sample(2, 100, 5, 7));
    tcp.add(4.0, &sample(2, 200, 1, 9));
    tcp.settle();
    assert_eq!((tcp.rtt_us_min, tcp.rtt_us_median, tcp.rtt_us_max), (Some(100), Some(200), Some(300)));
    assert_eq!((tcp.retransmits, tcp.connections_max, tcp.series.len()), (6, 2, 4));
    assert_eq!((tcp.congestion_window_segments_min, tcp.send_mss_bytes_min), (Some(7), Some(1448)));
}
