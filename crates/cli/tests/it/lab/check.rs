//! What `assay check` sees of the network before any load.

use assay_testkit::need;
use serde_json::Value;

use crate::story::{ProgramOutput, json, printed, refused};
use assay_testkit::lab;

/// Ceiling of a link of the lab for reads of 32 KiB, MB/s: 1 Gbit/s, `mtu - 52` of `mtu + 14` bytes are payload, and
/// 48 bytes of header go with each I/O.
fn ceiling(mtu: f64) -> f64 {
    125.0 * (mtu - 52.0) / (mtu + 14.0) * 32_768.0 / 32_816.0
}

fn is_near(value: &Value, expected: f64) -> bool {
    value.as_f64().is_some_and(|value| (value / expected - 1.0).abs() < 1e-6)
}

fn faults(checked: &Value) -> Vec<String> {
    let faults = checked["path_faults"].as_array().unwrap();
    faults.iter().map(|fault| format!("{} {}", fault["says"], fault["next"])).collect()
}

#[test]
fn four_healthy_paths_are_reported_with_route_frames_and_ceiling() {
    let Some(lab) = lab::up() else { return };
    let (story, lun) = (lab.story(), lab.four_paths(""));
    let checked = json(&story.assay(&["check", &lun, "--json"]), 0);
    assert_eq!(faults(&checked), Vec::<String>::new());
    let paths = checked["lun"]["paths"].as_array().unwrap();
    assert_eq!(paths.len(), 4);
    for (number, path) in (1..).zip(paths) {
        let net = &path["net"];
        assert_eq!(net["route"]["device"], format!("c{number}"), "{path:#}");
        assert_eq!(net["route"]["source"], format!("10.77.{number}.1"));
        assert_eq!(net["route"]["subnet"], format!("10.77.{number}.0/24"));
        assert_eq!(
            (net["interface"]["kind"].as_str(), net["interface"]["mtu_bytes"].as_u64()),
            (Some("veth"), Some(9000))
        );
        assert_eq!(net["interface"]["shaper"]["bit_s"], 1_000_000_000, "{path:#}");
        assert_eq!(
            (net["frames"]["how"].as_str(), net["frames"]["largest_bytes"].as_u64()),
            (Some("echo"), Some(9000))
        );
        assert!(path["ping"]["count"].as_u64().unwrap() >= 1, "{path:#}");
        assert_eq!(path["tcp"]["send_mss_bytes"], 8948);
        assert!(
            is_near(&checked["ceiling"]["paths"][number - 1]["mb_per_s"], ceiling(9000.0)),
            "{checked:#}"
        );
    }
    assert!(is_near(&checked["ceiling"]["together"]["mb_per_s"], 4.0 * ceiling(9000.0)));
    let reported = story.assay(&["check", &lun, "--explain"]);
    let reported = reported.out;
    for words in [
        "c4       9000    9000",
        "8948/9014",
        "= 495.6 MB/s",
        "(472.7 MiB/s)",
        "InitialR2T=No",
        "no fault found; all 4 paths are up",
        "\nAll paths\n",
    ] {
        assert!(reported.contains(words), "{words}: {reported}");
    }
    let wide: Vec<&str> = reported.lines().skip(1).filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "lines wider than 80: {wide:#?}");
}

#[test]
fn a_link_that_is_not_jumbo_is_named_whichever_end_it_is() {
    let Some(lab) = lab::up() else { return };
    let (story, lun) = (lab.story(), lab.four_paths(""));
    let check = || json(&story.assay(&["check", &lun, "--json"]), 0);

    lab.does("mtu 2 1500");
    let both = check();
    let reported = faults(&both);
    assert!(
        reported.len() == 1 && reported[0].contains("path 1 (10.77.2.2) has MTU 1500, while the largest"),
        "{reported:?}"
    );
    assert!(is_near(&both["ceiling"]["paths"][1]["mb_per_s"], ceiling(1500.0)));

    lab.does("mtu 2 9000 client");
    let server = check();
    let reported = faults(&server);
    assert!(reported.len() == 1 && reported[0].contains("the target uses 1500"), "{reported:?}");
    let frames = &server["lun"]["paths"][1]["net"]["frames"];
    let largest = frames["largest_bytes"].as_u64().unwrap();
    assert!((1500..1510).contains(&largest), "a VLAN tag may pass beside it: {frames:#}");
    let lost = frames["tried"].as_array().unwrap().iter().find(|one| one["bytes"] == 9000).unwrap();
    assert_eq!(lost["outcome"], "lost");
}

/// The classic fault: both ends speak jumbo frames, the switch between them does not. Logins work, reading hangs.
#[test]
fn a_switch_that_is_not_jumbo_is_named_before_anything_hangs_for_long() {
    let Some(lab) = lab::up() else { return };
    let story = lab.story();
    lab.does("switch 2 1500");
    let alone = lab.one_path(1).replace("10.77.1.2", "10.77.2.2");
    let words = [
        "nothing larger than 1500 bytes arrives",
        "If it is a switch, logins work",
        "1500 passes, 9000 gets lost",
    ];
    refused(&story.assay(&["check", &alone]), 2, &words);
    let checked = json(&story.assay(&["check", &lab.four_paths(""), "--json"]), 1);
    let reported = faults(&checked);
    assert!(
        reported.iter().any(|fault| fault.contains("path 1 (10.77.2.2)") && fault.contains("1500")),
        "{reported:?}"
    );
    let passes: Vec<u64> = checked["lun"]["paths"]
        .as_array()
        .unwrap()
        .iter()
        .map(|path| path["net"]["frames"]["largest_bytes"].as_u64().unwrap())
        .collect();
    assert_eq!(passes, [9000, 1500, 9000, 9000]);
}

#[test]
fn a_cable_that_is_pulled_is_seen_and_the_other_paths_serve() {
    let Some(lab) = lab::up() else { return };
    let story = lab.story();
    lab.does("cut 3");
    // A script that checks its paths must see it: this was 0.
    let checked = json(&story.assay(&["check", &lab.four_paths(""), "--json"]), 1);
    let paths = checked["lun"]["paths"].as_array().unwrap();
    let up: Vec<bool> = paths.iter().map(|path| path["is_up"].as_bool().unwrap()).collect();
    assert_eq!(up, [true, true, false, true]);
    assert_eq!(paths[2]["net"]["interface"]["state"], "no_carrier");
    let reported = faults(&checked);
    assert!(
        reported.len() == 1 && reported[0].contains("path 2 (10.77.3.2) is down: c3 has no link"),
        "{reported:?}"
    );
    assert!(is_near(&checked["ceiling"]["together"]["mb_per_s"], 3.0 * ceiling(9000.0)));
    let alone = lab.one_path(1).replace("10.77.1.2", "10.77.3.2");
    refused(&story.assay(&["check", &alone]), 2, &["cannot connect to 10.77.3.2", "c3 has no link"]);
}

#[test]
fn what_stands_in_the_way_of_a_login_is_said() {
    let Some(lab) = lab::up() else { return };
    let story = lab.story();
    let chap = format!("iscsi://lab@10.77.1.2/{}/1", lab.target("chap"));
    let with = |secret: &str| {
        printed(story.command(&["check", &chap]).env("ASSAY_CHAP_SECRET", secret).output().unwrap())
    };
    let answered = |output: &ProgramOutput, word: &str| {
        refused(output, 2, &[word]);
        // The answer has come over the network, which was named all the same.
        assert!(!output.err.contains("answers echoes"), "{}", output.err);
    };
    answered(&with("not-the-secret-1"), "authentication failed: check CHAP name and secret");
    assert_eq!(with("lab-secret-1234").code, Some(0));
    let open = lab.one_path(1);
    answered(&story.assay(&["check", &open.replace(":open", ":none")]), "no such target");
    for (address, words) in [
        (
            open.replace("10.77.1.2", "10.77.1.99"),
            ["cannot connect", "c1 has a link, but the portal does not answer"],
        ),
        (
            open.replace("10.77.1.2", "10.77.1.2:3999"),
            ["Connection refused", "answers echoes, through c1 (MTU 9000)"],
        ),
        (open.replace("10.77.1.2", "192.0.2.1"), ["192.0.2.1", "no route"]),
    ] {
        refused(&story.assay(&["check", &address]), 2, &words);
    }
}

#[test]
fn a_unit_with_a_file_system_is_reported_and_not_written() {
    let Some(lab) = lab::up() else { return };
    let (story, lun) = (lab.story(), lab.one_path(2));
    let checked = json(&story.assay(&["check", &lun, "--json"]), 0);
    assert_eq!(checked["writable"], false);
    assert!(checked["holds"].to_string().contains("ext4"), "{checked:#}");
    let serial = checked["serial"].as_str().unwrap();
    let run = story.assay(&["run", "vmware", &lun, "--quick", "--overwrite", serial]);
    refused(&run, 2, &["refusing to write", "ext4"]);
}

#[test]
fn targets_and_all_their_portals_are_found_by_asking() {
    let Some(lab) = lab::up() else { return };
    let story = lab.story();
    let found = json(&story.assay(&["check", "iscsi://10.77.1.2", "--json"]), 0);
    let names: Vec<&str> =
        found["targets"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert_eq!(names, [lab.target("open"), lab.target("chap")]);
    refused(&story.assay(&["run", "vmware", "iscsi://10.77.1.2"]), 2, &["names no LUN", &lab.target("open")]);
    // A target without the number of a LUN is answered with its LUNs.
    let target = format!("iscsi://10.77.1.2/{}", lab.target("open"));
    for verb in [vec!["check", &target], vec!["run", "vmware", &target]] {
        refused(&story.assay(&verb), 2, &["names no LUN", "- LUN 1, ", "Add its number"]);
    }
    refused(
        &story.assay(&["check", &format!("{}?portals=all", lab.one_path(1).replace(":open", ":x"))]),
        2,
        &["has no target with this name", &lab.target("open")],
    );

    // tgt tells of no portal but the one that is asked; istgt tells of all in the group.
    if !need::programs(&["istgt"]) {
        return;
    }
    let listed = story.assay(&["check", "iscsi://10.77.1.2:3261", "--json"]);
    assert_eq!(json(&listed, 0)["targets"][0]["portals"].as_array().unwrap().len(), 4);
    let all = format!("iscsi://10.77.1.2:3261/{}/0?portals=all", lab.target("portals"));
    let checked = json(&story.assay(&["check", &all, "--json"]), 0);
    let paths = checked["lun"]["paths"].as_array().unwrap();
    let remotes: Vec<&str> = paths.iter().map(|path| path["remote"].as_str().unwrap()).collect();
    assert_eq!(remotes, ["10.77.1.2:3261", "10.77.2.2:3261", "10.77.3.2:3261", "10.77.4.2:3261"]);
}

#[test]
fn an_nfs_server_is_reported_with_route_frames_and_the_ceiling_of_its_own_headers() {
    let Some(lab) = lab::up() else { return };
    if !need::programs(&["ganesha.nfsd", "rpcbind"]) {
        return;
    }
    let story = lab.story();
    // 132 bytes of record mark, RPC and NFS go before the data of each READ.
    let allowed = |mtu: f64| 125.0 * (mtu - 52.0) / (mtu + 14.0) * 32_768.0 / 32_900.0;
    let check = ["check", "nfs://10.77.1.2/rw?connections=4", "--json"];
    let checked = json(&story.assay(&check), 0);
    let path = &checked["nfs"]["paths"][0];
    assert_eq!((path["portal"].as_str(), faults(&checked)), (Some("10.77.1.2:2049"), Vec::new()), "{path:#}");
    assert_eq!(
        (path["net"]["route"]["device"].as_str(), path["net"]["frames"]["largest_bytes"].as_u64()),
        (Some("c1"), Some(9000))
    );
    assert!(
        is_near(&checked["ceiling"]["together"]["mb_per_s"], allowed(9000.0)),
        "{:#}",
        checked["ceiling"]
    );

    lab.does("mtu 1 1500 server");
    let checked = json(&story.assay(&check), 0);
    let reported = faults(&checked);
    assert!(reported.len() == 1 && reported[0].contains("the target uses 1500"), "{reported:?}");
    assert!(
        is_near(&checked["ceiling"]["together"]["mb_per_s"], allowed(1500.0)),
        "{:#}",
        checked["ceiling"]
    );
}
