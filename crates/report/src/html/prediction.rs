//! The prediction of a plan: bars, the table, and how busy each resource is.

use assay_model::concurrent::ConcurrentJob;
use assay_model::from_plan::StepPrediction;
use assay_model::quantity::Bounds;
use assay_model::resolved::Software;

use crate::number::long;
use crate::prediction::{Expectation, interval};
use crate::svg::{BarRow, Doubt, Rows, escape};
use crate::table::{Align, Cell, Column, Table};

/// Resources that are listed for a test, the busiest first.
const RESOURCES_MAX: usize = 5;

/// A load of a plan: a step, or one of its jobs that run side by side.
struct Load<'e> {
    name: &'e str,
    /// Whether the numbers are bounds of the hardware.
    is_bound: bool,
    iops: Bounds,
    /// `None` for a job beside others.
    mib_s: Option<Bounds>,
    mean_ms: Bounds,
    /// `None` unless it was simulated.
    p99_ms: Option<Bounds>,
}

/// Returns what a plan is expected to give on an array. The bars and the table have the same numbers: a best guess with
/// its range, or the bound of the hardware where the software of the array is not known.
pub fn prediction(rows: &[Expectation]) -> String {
    let loads: Vec<Load<'_>> = rows.iter().flat_map(loads).collect();
    let bounds = loads.iter().filter(|load| load.is_bound).count();
    let title = match bounds {
        0 => "Expected IOPS, with the ranges of the array",
        _ if bounds == loads.len() => "Highest possible IOPS",
        _ => "Expected IOPS, or at most (≤)",
    };
    let bars = Rows { title, rows: loads.iter().map(bar).collect() }.svg();
    format!(
        "<div class=\"prediction\">\n<figure>{bars}</figure>\n<div class=\"scroll\" \
         tabindex=\"0\">{}</div>\n</div>\n<h3>How busy \
         each resource is</h3>\n<div class=\"scroll\" tabindex=\"0\">\
         <table class=\"busy\">\n<thead><tr><th>Test</th><th>Limited \
         by</th><th>Busy at that rate</th></tr></thead>\n<tbody>\n{}</tbody></table></div>\n",
        table(&loads),
        rows.iter().map(busy).collect::<String>()
    )
}

fn loads(row: &Expectation) -> Vec<Load<'_>> {
    match &row.answer {
        StepPrediction::Single(prediction) => vec![Load {
            name: &row.name,
            is_bound: prediction.software == Software::Unknown,
            iops: prediction.iops,
            mib_s: Some(prediction.mib_s),
            mean_ms: prediction.mean_ms,
            p99_ms: prediction.p99_ms,
        }],
        StepPrediction::Concurrent(together) => {
            together.jobs.iter().map(|job| beside(job, together.software)).collect()
        }
    }
}

fn beside(job: &ConcurrentJob, software: Software) -> Load<'_> {
    Load {
        name: &job.name,
        is_bound: software == Software::Unknown,
        iops: job.simulated.iops,
        mib_s: None,
        mean_ms: job.simulated.mean_ms,
        p99_ms: Some(job.simulated.p99_ms),
    }
}

fn bar(load: &Load<'_>) -> BarRow {
    let iops = load.iops;
    let (value, ends, text) = match load.is_bound {
        true => (iops.hi, None, format!("≤ {}", long(iops.hi))),
        false => (iops.value, Some((iops.lo, iops.hi)), long(iops.value)),
    };
    BarRow { name: load.name.to_owned(), value, ends, text, doubt: Doubt::None }
}

fn table(loads: &[Load<'_>]) -> String {
    let mut columns = vec![Column::text("Test")];
    let titles = ["IOPS", "MiB/s", "mean, ms", "p99, ms"];
    columns.extend(titles.map(|title| Column::text(title).align(Align::Right)));
    let mut table = Table::new(columns);
    for load in loads {
        let most = |of: Bounds| if load.is_bound { format!("≤ {}", long(of.hi)) } else { interval(of) };
        let least = |of: Bounds| if load.is_bound { format!("≥ {}", long(of.lo)) } else { interval(of) };
        let unknown = || "–".to_owned();
        table.push([
            load.name.to_owned().into(),
            most(load.iops).into(),
            load.mib_s.map_or_else(unknown, most).into(),
            least(load.mean_ms).into(),
            Cell::from(load.p99_ms.map_or_else(unknown, least)),
        ]);
    }
    let says = match loads.iter().any(|load| load.is_bound) {
        true => {
            "≤ and ≥ are bounds of the hardware: the CPU time that the array's software takes for an I/O is not \
             known, so no expectation can be given. Calibrate the array with a run to get one (assay calibrate)."
        }
        false => {
            "Each number is the best guess, in brackets the lowest and the highest value that the ranges in the array \
             allow."
        }
    };
    table.html(&escape(says))
}

fn busy(row: &Expectation) -> String {
    let (limit, mut resources) = match &row.answer {
        StepPrediction::Single(prediction) => {
            let resources = prediction.table.resources.iter();
            (prediction.limit_name(), resources.map(|of| (of.name.as_str(), of.utilisation)).collect())
        }
        StepPrediction::Concurrent(together) => {
            let shared: Vec<_> =
                together.shared.iter().map(|of| (of.name.as_str(), of.utilisation)).collect();
            (shared.first().map_or_else(String::new, |(name, _)| (*name).to_owned()), shared)
        }
    };
    resources.sort_by(|a, b| b.1.total_cmp(&a.1));
    let meter = |(name, share): &(&str, f64)| {
        format!(
            "<span class=\"meter\"><meter min=\"0\" max=\"100\" value=\"{0:.0}\" aria-label=\"{1}\"></meter> {1} \
             {0:.0} %</span> ",
            (share * 100.0).min(100.0),
            super::with_micros(&escape(name))
        )
    };
    let meters: String = resources.iter().take(RESOURCES_MAX).map(meter).collect();
    format!(
        "<tr><td class=\"w\">{}</td><td class=\"w\"><strong>{}</strong></td><td class=\"w\">{meters}</td></tr>\n",
        escape(&row.name),
        escape(&limit)
    )
}
