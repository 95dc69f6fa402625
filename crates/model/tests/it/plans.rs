//! Every suite that ships goes through the model.

use std::time::Instant;

use assay_model::array::shipped;
use assay_model::from_plan::{Extent, workloads};
use assay_model::predict::{Engines, predict};
use assay_model::resolved::Tables;
use assay_model::workload::{LoadModel, Workload};
use assay_spec::units::{Bytes, GIB};
use assay_spec::{Overrides, Plan, PlanFile, suites};

const EXTENT: Extent =
    Extent { start: Bytes(0), span: Bytes(4 * GIB), reach: Bytes(0), pieces: 1, members: 1 };

fn plan(name: &str, text: &str) -> Plan {
    let file = PlanFile::parse(name, text).unwrap_or_else(|e| panic!("{e}"));
    file.resolve(&Overrides::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn all(plan: &Plan) -> Vec<Workload> {
    plan.tests
        .iter()
        .flat_map(|t| t.steps.iter().flat_map(|s| workloads(&t.name, plan.semantics, s, EXTENT)))
        .collect()
}

#[test]
fn the_vmware_suite_is_the_forum_tests() {
    let suite = suites::suite("vmware").unwrap();
    let got = all(&plan(suite.name, suite.text));
    let expected = Workload::forum_tests(EXTENT.span);
    assert_eq!(got.len(), 4);
    for (mut got, expected) in got.into_iter().zip(expected) {
        // Only ratios of weights matter, and there is one line.
        got.mix[0].weight = 1.0;
        assert_eq!(got, Workload { name: got.name.clone(), ..expected });
    }
}

#[test]
fn every_suite_is_predicted_on_every_array() {
    let start = Instant::now();
    let (mut tables, mut predicted) = (Tables::default(), 0);
    for suite in suites::SUITES {
        for w in all(&plan(suite.name, suite.text)) {
            for a in shipped::all().unwrap() {
                let p = predict(&a, &w, Engines::Closed, &mut tables);
                assert!(
                    p.iops.value.is_finite() && p.iops.value > 0.0,
                    "{} {} {}",
                    suite.name,
                    w.name,
                    a.name
                );
                predicted += 1;
            }
        }
    }
    println!("{predicted} predictions in {:?}", start.elapsed());
}

#[test]
fn delays_bursts_replies_and_members_are_understood() {
    let text = r#"
name = "t"
semantics = "iometer"
[[test]]
name = "odd"
outstanding = 4
workers = 2
run = "10s"
access = [{ size = "4KiB", read = 100, random = 100, burst = 5, delay = "10ms", reply = "512" }]
"#;
    let p = plan("t", text);
    let w = workloads("odd", p.semantics, &p.tests[0].steps[0], Extent { members: 3, ..EXTENT }).remove(0);
    assert_eq!((w.outstanding, w.workers), (12, 2), "four on each of three members");
    assert_eq!(w.mix.len(), 2);
    assert_eq!((w.mix[1].size, w.mix[1].read_pct), (Bytes(512), 0.0));
    assert!(matches!(w.pace, LoadModel::Rate { per_s, .. } if (per_s - 1000.0).abs() < 1e-6), "{:?}", w.pace);
}
