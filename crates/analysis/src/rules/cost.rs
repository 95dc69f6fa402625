//! What software costs, from a sweep of sizes.

use assay_model::calibrate::fit_line;
use assay_model::workload::LoadModel;

use super::Fired;
use crate::case::{Case, Modelled};
use crate::finding::{Evidence, Severity};

/// A sweep needs this many sizes.
const SIZES_MIN: usize = 4;
/// The line must fit within this, root mean square.
const RMS_MAX: f64 = 0.10;
/// A KiB that costs this many times its time on the wire is not the wire.
const ABOVE_WIRE: f64 = 1.3;

/// Times per I/O lie on `a + b x size`, with b far above the wire's.
pub(super) fn cpu(cases: &[Case]) -> Option<(Fired, Vec<usize>)> {
    [100.0, 0.0].into_iter().find_map(|read_pct| {
        let used: Vec<(usize, &Modelled)> = cases
            .iter()
            .enumerate()
            .filter_map(|(i, c)| Some((i, c.load.as_ref()?)))
            .filter(|(_, l)| {
                l.read_pct() == read_pct && l.random_pct() == 0.0 && l.workload.pace == LoadModel::Closed
            })
            .collect();
        let mut depths: Vec<f64> = used.iter().map(|(_, l)| l.workload.total_outstanding()).collect();
        depths.sort_by(f64::total_cmp);
        depths.dedup();
        depths.into_iter().find_map(|depth| {
            let of_depth = |(_, l): &&(usize, &Modelled)| l.workload.total_outstanding() == depth;
            let used: Vec<_> = used.iter().filter(of_depth).copied().collect();
            let fired = judge(cases, &used)?;
            Some((fired, used.iter().map(|(i, _)| *i).collect()))
        })
    })
}

fn judge(cases: &[Case], used: &[(usize, &Modelled)]) -> Option<Fired> {
    let mut sizes: Vec<u64> = used.iter().map(|(_, l)| l.workload.mix[0].size.0).collect();
    sizes.sort_unstable();
    sizes.dedup();
    if sizes.len() < SIZES_MIN {
        return None;
    }
    let samples: Vec<(f64, f64, f64)> = used
        .iter()
        .map(|(i, l)| {
            let us = 1e6 / cases[*i].measured.iops;
            (l.workload.mean_size() / 1024.0, us, us)
        })
        .collect();
    let (a, b) = fit_line(&samples);
    let squares: f64 = samples.iter().map(|(x, y, _)| ((a + b * x) / y - 1.0).powi(2)).sum();
    let rms = (squares / samples.len() as f64).sqrt();
    let wire = used[0].1.facts.wire_us_per_kib / used[0].1.facts.paths_spread.max(1.0);
    if rms >= RMS_MAX || wire <= 0.0 || b <= ABOVE_WIRE * wire {
        return None;
    }
    Some(Fired {
        severity: Severity::Warning,
        says: format!(
            "an I/O takes {a:.0} us + {b:.1} us/KiB, of which the link accounts for {wire:.1} us/KiB: the target's \
             CPU or software limits throughput to {:.0} MiB/s.",
            1e6 / b / 1024.0
        ),
        evidence: vec![
            Evidence::new("per I/O", a, "us"),
            Evidence::new("per KiB", b, "us"),
            Evidence::new("wire per KiB", wire, "us"),
            Evidence::new("misfit", rms * 100.0, "%"),
        ],
        next: "Watch the target's CPU during the test; a second client shows whether one core is busy or all of them.",
        weight: 0.0,
    })
}
