//! Paths in words, and how full they were.

use assay_record::{
    Agreed, InterfaceFacts, Latency, LunFacts, NetPathFacts, PathEnd, PathFacts, RouteFacts, TcpPathFacts,
};
use assay_report::network::{LinkUse, path_groups};
use assay_report::text::{TextOptions, table};

use crate::{Reported, run, synthetic};

/// A path over its own gigabit cable.
fn path(number: u32) -> PathFacts {
    PathFacts {
        portal: format!("192.168.{number}.200:3260"),
        is_up: true,
        local: Some(format!("192.168.{number}.1:4000{number}")),
        remote: Some(format!("192.168.{number}.200:3260")),
        access: "optimized".into(),
        agreed: Some(Agreed { max_recv_segment_bytes: 256 << 10, ..Agreed::default() }),
        tcp: Some(TcpPathFacts { send_mss_bytes: 1448, timestamps: true, ..TcpPathFacts::default() }),
        net: Some(Box::new(NetPathFacts {
            route: Some(RouteFacts {
                device: format!("eth{number}"),
                source: Some(format!("192.168.{number}.1")),
                ..RouteFacts::default()
            }),
            interface: Some(InterfaceFacts {
                name: format!("eth{number}"),
                mtu_bytes: 1500,
                speed_mbit_s: Some(1000),
                ..InterfaceFacts::default()
            }),
            ..NetPathFacts::default()
        })),
        ..PathFacts::default()
    }
}

/// The forum's suite on a LUN with these paths, its first test over them in equal shares.
fn on_lun(paths: Vec<PathFacts>) -> Reported {
    let mut reported = run(synthetic::suite("vmware", 3));
    let ends = (0..).zip(&paths).map(|(index, facts)| PathEnd {
        job: 0,
        member: "lun".into(),
        path: index,
        portal: facts.portal.clone(),
        is_up: true,
        reads: 1000,
        writes: 0,
        read_bytes: 32_768_000,
        write_bytes: 0,
        retries: 0,
        errors: 0,
        failures: 0,
        refused: 0,
        moved: 0,
        unable_ns: 0,
        latency: Latency::default(),
        ping: Latency::default(),
        tcp: None,
    });
    reported.summary.steps[0].paths = ends.collect();
    reported.header.targets[0].member.lun = Some(Box::new(LunFacts { paths, ..LunFacts::default() }));
    reported
}

#[test]
fn what_paths_have_in_common_is_reported_once() {
    let mut paths: Vec<PathFacts> = (1..=4).map(path).collect();
    let groups = path_groups(&paths);
    assert_eq!(groups[0].paths, [0, 1, 2, 3]);
    let names = |index: usize| groups[index].facts.iter().map(|(name, _)| *name).collect::<Vec<_>>();
    assert!(["interface", "counters", "TCP", "ceiling"].iter().all(|n| names(0).contains(n)), "{groups:#?}");
    assert_eq!((groups.len(), names(1)), (5, vec!["addresses", "route"]));
    assert_eq!(groups[2].facts[1].1, "on-link, through eth2", "the source is in the addresses");

    paths[2].net.as_mut().unwrap().interface.as_mut().unwrap().mtu_bytes = 9000;
    let groups = path_groups(&paths);
    let mtu = |paths: &[usize]| {
        let group = groups.iter().find(|g| g.paths == paths).unwrap();
        group.facts.iter().find(|(name, _)| *name == "interface").unwrap().1.clone()
    };
    assert!(mtu(&[0, 1, 3]).contains("MTU 1500") && mtu(&[2]).contains("MTU 9000"), "{groups:#?}");
}

#[test]
fn a_row_of_a_path_keeps_its_number_and_portal_at_80_columns() {
    let Reported { header, summary, findings } = on_lun(vec![path(1), path(2)]);
    let shown = table(&header, &summary, &findings, TextOptions { width: 80, ..TextOptions::default() });
    for (number, portal) in [(0, "192.168.1.200"), (1, "192.168.2.200")] {
        let row = format!("  path {number} {portal} 50.0 %\n");
        assert!(shown.contains(&row), "{shown}");
    }
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
}

#[test]
fn a_run_over_the_network_is_compared_with_its_ceiling() {
    let Reported { header, mut summary, findings } = on_lun(vec![path(1), path(2)]);
    let ceiling = 2.0 * 125.0 * 1448.0 / 1538.0 * 32_768.0 / 32_816.0;
    summary.steps[0].read.mb_per_s = ceiling * 0.9;
    summary.steps[0].write.mb_per_s = ceiling * 0.5;
    let of = LinkUse::of_step(&header, &summary.steps[0]).unwrap();
    assert!(of.direction == "reads" && (of.ratio() - 0.9).abs() < 1e-9, "{of:?}");
    let shown = table(&header, &summary, &findings, TextOptions::default());
    assert!(shown.contains("reads 211.5 MB/s (201.7 MiB/s) of at most 235.0 MB/s, 90 %"), "{shown}");
    assert!(shown.contains("* MB/s is 10^6 bytes per second, as links are sold."), "{shown}");
    summary.steps[0].write.mb_per_s = ceiling * 0.97;
    let of = LinkUse::of_step(&header, &summary.steps[0]).unwrap();
    assert!(of.says().starts_with("writes") && of.says().ends_with("97 %: the links are full"), "{of:?}");

    let file = run(synthetic::suite("vmware", 3));
    assert_eq!(LinkUse::of_step(&file.header, &file.summary.steps[0]), None, "a file is not on the network");
    let mut unknown = path(1);
    unknown.net.as_mut().unwrap().interface.as_mut().unwrap().speed_mbit_s = None;
    let Reported { header, summary, .. } = on_lun(vec![unknown]);
    assert_eq!(LinkUse::of_step(&header, &summary.steps[0]), None);
}
