//! Documents against their published schema, and their numbers against each other.

use assay_analysis::TcpSummary;
use assay_record::{
    Agreed, Failure, FrameFacts, FrameOutcome, FrameProbe, FrameTry, InterfaceCounters, InterfaceFacts,
    Latency, LinkSample, LunFacts, MemberEnd, Mismatch, NetPathFacts, PathEnd, PathFacts, PingFacts,
    RouteFacts, Stamp, StepReason, TcpPathFacts, TcpSample,
};
use assay_report::table::Format;
use assay_report::{Meta, json::document};
use serde_json::Value;

use crate::{OPEN, Reported, TWO_JOBS, reported, run, synthetic};

fn json(reported: &Reported) -> Value {
    document(
        &reported.header,
        &reported.summary,
        &reported.findings,
        Meta { label: Some("before"), note: None, ..Meta::default() },
    )
}

fn schema() -> Value {
    serde_json::from_str(include_str!("../../../../docs/assay.run-1.schema.json")).unwrap()
}

fn check(document: &Value) {
    let validator = jsonschema::options().build(&schema()).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(document).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert_eq!(errors, Vec::<String>::new());
    // What is printed must read back as the same: no NaN hides behind a null.
    assert_eq!(serde_json::from_str::<Value>(&document.to_string()).unwrap(), *document);
}

#[test]
fn every_kind_of_run_fits_the_schema() {
    for suite in ["vmware", "vmware-modern", "super-atto", "anandtech"] {
        check(&json(&run(synthetic::suite(suite, 1))));
    }
    check(&json(&run(synthetic::plan(TWO_JOBS))));
    check(&json(&run(synthetic::plan(OPEN))));
}

#[test]
fn a_run_with_an_array_fits_the_schema_and_says_what_to_expect() {
    for array in ["ssd-sata", "nas-4bay"] {
        let mut reported = run(synthetic::suite("vmware", 1));
        let (_, text) = assay_model::array::shipped::FILES.iter().find(|(name, _)| *name == array).unwrap();
        reported.header.array = Some((*text).to_owned());
        let judged = assay_analysis::judge(&reported.header, &reported.summary).unwrap().unwrap();
        let meta = Meta { judgement: Some(&judged), ..Meta::default() };
        let document = document(&reported.header, &reported.summary, &judged.findings, meta);
        check(&document);
        let test = &document["tests"][0];
        assert_eq!(test["expected"]["is_bound"], array == "nas-4bay");
        assert!(test["verdict"]["says"].as_str().unwrap().contains("second suspect"), "{}", test["verdict"]);
        assert_eq!(document["verdict"]["judged"], 4);
        let html = assay_report::html::report(&reported.header, &reported.summary, &judged.findings, meta);
        let limit = &judged.verdict.as_ref().unwrap().limit;
        assert!(html.contains("<dt>Limit</dt>") && html.contains(limit.as_str()), "{limit}");
    }
}

/// A path as it is recorded, down to the frames that passed.
fn lun_path() -> PathFacts {
    let tried = vec![FrameTry { bytes: 1500, outcome: FrameOutcome::Passes }];
    let frames = FrameFacts {
        how: FrameProbe::Echo,
        tried,
        largest_bytes: Some(1500),
        echo_us: Some(90),
        ..FrameFacts::default()
    };
    let interface = InterfaceFacts {
        name: "eth1".into(),
        mtu_bytes: 1500,
        speed_mbit_s: Some(1000),
        ..InterfaceFacts::default()
    };
    let route = RouteFacts { device: "eth1".into(), subnet: "10.0.1.0/24".into(), ..RouteFacts::default() };
    let tcp = TcpPathFacts { send_mss_bytes: 1448, timestamps: true, ..TcpPathFacts::default() };
    PathFacts {
        portal: "10.0.1.2:3260".into(),
        is_up: true,
        agreed: Some(Agreed { max_recv_segment_bytes: 262_144, ..Agreed::default() }),
        tcp: Some(tcp),
        ping: Some(PingFacts { count: 6, min_us: 80, median_us: 100, max_us: 300 }),
        net: Some(Box::new(NetPathFacts { route: Some(route), interface: Some(interface), frames })),
        ..PathFacts::default()
    }
}

#[test]
fn the_network_of_a_lun_fits_the_schema_and_is_in_the_report() {
    let mut reported = run(synthetic::suite("vmware", 1));
    let lun = LunFacts { paths: vec![lun_path()], ..LunFacts::default() };
    reported.header.targets[0].member.lun = Some(Box::new(lun));
    let mut tcp = TcpSummary { remote: "10.0.1.2:3260".into(), ..TcpSummary::default() };
    tcp.add(1.0, &TcpSample { connections: 1, rtt_us: 250, retransmits: 3, ..TcpSample::default() });
    tcp.settle();
    reported.summary.steps[0].tcp = vec![tcp];
    let counters = InterfaceCounters { rx_packets: 9, rx_errors: 2, ..InterfaceCounters::default() };
    reported.summary.steps[0].links = vec![LinkSample { interface: "eth1".into(), counters }];
    reported.summary.steps[0].paths = vec![PathEnd {
        job: 0,
        member: "iscsi://10.0.1.2/iqn.x/1".into(),
        path: 0,
        portal: "10.0.1.2:3260".into(),
        is_up: true,
        reads: 10,
        writes: 0,
        read_bytes: 327_680,
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
    }];
    let document = json(&reported);
    check(&document);
    assert_eq!(document["tests"][0]["tcp"][0]["retransmits"], 3);
    assert_eq!(document["tests"][0]["interfaces"][0]["counters"]["rx_errors"], 2);
    assert_eq!(document["targets"][0]["member"]["lun"]["paths"][0]["net"]["frames"]["largest_bytes"], 1500);
    let mut broken = document.clone();
    broken["targets"][0]["member"]["lun"]["paths"][0]["net"]["frames"]["how"] = Value::from("guessed");
    assert!(!jsonschema::options().build(&schema()).unwrap().is_valid(&broken));

    let html =
        assay_report::html::report(&reported.header, &reported.summary, &reported.findings, Meta::default());
    for words in ["Path 0, 10.0.1.2:3260", "1448/1538", "= 117.5 MB/s", "the largest that passes is 1500"] {
        assert!(html.contains(words), "{words}");
    }
    let text = assay_report::text::table(
        &reported.header,
        &reported.summary,
        &reported.findings,
        Default::default(),
    );
    assert!(text.contains("round trip min 250 µs, median 250 µs; 3 retransmits"), "{text}");
}

#[test]
fn a_run_cut_anywhere_fits_the_schema() {
    let header = synthetic::header(synthetic::plan(TWO_JOBS));
    let events = synthetic::events(&header, synthetic::Target::default());
    for seen in 0..=events.len() {
        check(&json(&reported(header.clone(), &events[..seen])));
    }
}

#[test]
fn failures_and_wrong_blocks_fit_the_schema() {
    let mut reported = run(synthetic::plan(TWO_JOBS));
    let step = &mut reported.summary.steps[0];
    step.reason = Some(StepReason::TargetLost("unplugged".into()));
    step.errors = 1;
    step.failures = vec![Failure {
        job: 0,
        member: "m".into(),
        is_write: false,
        offset_bytes: 0,
        size_bytes: 512,
        errno: 5,
        says: "input/output error".into(),
    }];
    let expected = Stamp { offset_bytes: 0, run: 1, sequence: 0, checksum: 1 };
    step.mismatch_count = 1;
    step.mismatches = vec![Mismatch {
        job: 0,
        member: "m".into(),
        offset_bytes: 0,
        expected,
        found: Some(expected),
        says: "x".into(),
    }];
    reported.findings = assay_analysis::findings(&reported.header, &reported.summary);
    let document = json(&reported);
    check(&document);
    assert_eq!(document["findings"][0]["severity"], "critical");
}

#[test]
fn the_schema_refuses_what_is_not_a_run() {
    let validator = jsonschema::options().build(&schema()).unwrap();
    let good = json(&run(synthetic::plan(TWO_JOBS)));
    for (pointer, wrong) in [
        ("/schema", Value::from("assay.run/2")),
        ("/tests/0/total/iops", Value::Null),
        ("/tests/0/total/service_us", serde_json::json!({})),
        ("/tests/0/errors", Value::from("none")),
        ("/tests/0/cpu", Value::Null),
        ("/findings", Value::Null),
    ] {
        let mut document = good.clone();
        *document.pointer_mut(pointer).unwrap() = wrong;
        assert!(!validator.is_valid(&document), "{pointer}");
    }
}

#[test]
fn the_document_has_what_the_issue_names_and_adds_up() {
    let document = json(&run(synthetic::suite("vmware", 2)));
    assert_eq!(
        (document["schema"].as_str(), document["label"].as_str()),
        (Some("assay.run/1"), Some("before"))
    );
    let tests = document["tests"].as_array().unwrap();
    let names: Vec<&str> = tests.iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert_eq!(names[1], "RealLife-60%Rand-65%Read");
    for test in tests {
        let number = |pointer: &str| test.pointer(pointer).unwrap().as_f64().unwrap();
        assert!(test["step"].is_null());
        assert!((number("/read/iops") + number("/write/iops") - number("/total/iops")).abs() < 0.01);
        assert!((number("/total/mib_per_s") * 1.048576 - number("/total/mb_per_s")).abs() < 0.01);
        let little = number("/total/iops") * number("/total/service_us/mean") / 1e6;
        assert!((little - number("/outstanding_effective")).abs() < 0.02, "{little}");
        assert!((55.0..62.5).contains(&number("/outstanding_effective")));
        assert_eq!(test["total"]["service_us"], test["total"]["response_us"]);
        assert!(number("/total/service_us/p99") <= number("/total/service_us/max"));
        assert!(number("/cpu/host_busy_ratio") > 0.0 && number("/cpu/tester_us_per_io") > 0.0);
    }
    assert!(tests[0]["write"]["service_us"]["mean"].is_null(), "nothing was written in the read test");
    let steps = json(&run(synthetic::suite("super-atto", 1)));
    assert_eq!(steps["tests"][3]["step"], "size=4KiB");
}

#[test]
fn an_open_loop_says_so_and_keeps_both_times() {
    let document = json(&run(synthetic::plan(OPEN)));
    assert_eq!(document["tests"][0]["load"], "open");
    assert_eq!(document["tests"][0]["jobs"][0]["due"], 3000);
}

#[test]
fn the_share_of_each_target_is_in_every_form_of_a_result() {
    let mut reported = run(synthetic::suite("vmware", 1));
    let share = |member: &str, ops| MemberEnd {
        ops,
        bytes: ops * 8192,
        service_ns: ops * 2_000_000,
        ..MemberEnd::new(0, member)
    };
    reported.summary.steps[0].members = vec![share("/dev/loop1", 300), share("/dev/loop2", 100)];
    let document = json(&reported);
    check(&document);
    let target = &document["tests"][0]["targets"][1];
    assert_eq!((target["target"].as_str(), target["ops"].as_u64()), (Some("/dev/loop2"), Some(100)));
    assert_eq!(
        (target["ops_share"].as_f64(), target["service_us_mean"].as_f64()),
        (Some(0.25), Some(2000.0))
    );
    let (part, whole) = (&target["iops"], &document["tests"][0]["total"]["iops"]);
    assert!((part.as_f64().unwrap() / whole.as_f64().unwrap() - 0.25).abs() < 0.001, "{part} of {whole}");

    let in_form =
        |format| assay_report::text::rendered(&reported.header, &reported.summary, &[], None, format);
    for format in [Format::Text(100), Format::Csv, Format::Markdown, Format::BbCode] {
        let text = in_form(format);
        assert!(text.contains("/dev/loop1 75.0 %") && text.contains("/dev/loop2 25.0 %"), "{text}");
    }
    // Of many targets a person sees those that got least and most, a program all.
    reported.summary.steps[0].members = (1..=9).map(|n| share(&format!("/dev/loop{n}"), n)).collect();
    let in_form =
        |format| assay_report::text::rendered(&reported.header, &reported.summary, &[], None, format);
    let count = |text: String| text.matches("/dev/loop").count();
    assert_eq!((count(in_form(Format::Markdown)), count(in_form(Format::Csv))), (2, 9));
}
