//! Curves of runs: against queueing theory where it is exact.

use std::sync::LazyLock;

use assay_analysis::{LoadCurve, depth_curves, load_curves};
use assay_spec::Pacing;

use crate::virtual_time::{CURVE, FIXED, virtual_events};
use crate::{run, summarize, synthetic};

/// The curve of that server, simulated once.
static FIXED_CURVE: LazyLock<LoadCurve> = LazyLock::new(|| {
    let header = synthetic::header(synthetic::plan(CURVE));
    let summary = summarize(&header, &virtual_events(&header, FIXED));
    load_curves(&header, &summary).remove(0)
});

/// M/D/1: one server, a fixed service time S, random arrivals: R = S (1 + u / (2 (1 - u))) at utilisation u.
#[test]
fn response_of_one_server_follows_m_d_1_up_to_90_percent() {
    let curve = &*FIXED_CURVE;
    let maximum = curve.maximum.unwrap();
    let service_us = 1e6 / maximum.iops;
    assert!((service_us - 500.0).abs() < 5.0, "{service_us}");
    for point in curve.points.iter().filter(|point| point.offered <= 1800.0) {
        let load = point.achieved / maximum.iops;
        let expected = service_us * (1.0 + load / (2.0 * (1.0 - load)));
        let ratio = point.response_us / expected;
        println!("{}: {:.1} us, M/D/1 {expected:.1} us, ratio {ratio:.3}", point.label, point.response_us);
        assert!((ratio - 1.0).abs() < 0.05, "{}: {} for {expected}", point.label, point.response_us);
        assert!(!point.is_saturated && point.response_us >= point.service_us, "{point:?}");
    }
}

#[test]
fn an_overloaded_step_is_saturated_and_the_knee_lies_before_it() {
    let curve = &*FIXED_CURVE;
    let last = curve.points.last().unwrap();
    assert!(last.is_saturated && last.kept < 0.9 && last.achieved < 2010.0, "{last:?}");
    // Power of M/D/1 is highest at u = 2 - sqrt 2 = 0.586.
    let knee = &curve.points[curve.knee.unwrap()];
    assert!(["load=50%", "load=70%"].contains(&knee.label.as_str()), "{knee:?}");
    let load = curve.points[2].load.unwrap();
    assert!((load - 0.5).abs() < 0.01, "{load}");
}

#[test]
fn a_depth_curve_bends_where_all_servers_are_busy_and_obeys_littles_law() {
    let (header, summary) = run("[[test]]\nname = \"depth\"\nrun = \"4s\"\n\
        access = [{ size = \"4KiB\", random = 100 }]\nsweep = { outstanding = [1, 2, 4, 8, 16, 32] }\n");
    let curve = depth_curves(&header, &summary).remove(0);
    assert_eq!(curve.points.iter().map(|p| p.asked).collect::<Vec<_>>(), [1, 2, 4, 8, 16, 32]);
    // The target has four servers.
    assert!([4, 8].contains(&curve.points[curve.knee].asked), "{:?}", curve.points[curve.knee]);
    for point in &curve.points {
        assert!((point.in_flight / point.asked as f64 - 1.0).abs() < 0.02, "{point:?}");
    }
    assert!(load_curves(&header, &summary).is_empty());
}

#[test]
fn a_sweep_of_a_closed_loop_or_of_jobs_side_by_side_is_no_load_curve() {
    let text = "[[test]]\nname = \"t\"\nrun = \"1s\"\naccess = [{ size = \"4KiB\", random = 100 }]\n\
        pace = { rate = \"500/s\" }\nsweep = { rate = [\"100/s\", \"200/s\", \"300/s\"] }\n";
    let (header, summary) = run(text);
    assert!(matches!(header.plan.tests[0].steps[0].jobs[0].pacing, Pacing::Throttled { .. }));
    assert!(load_curves(&header, &summary).is_empty());
}
