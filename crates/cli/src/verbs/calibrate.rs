//! `assay calibrate`: fits the numbers that no data sheet has to seven small tests on the real target.

mod from_rows;
mod iocost;

use std::path::Path;
use std::time::Duration;

use anyhow::bail;
use assay_analysis::{StepSummary, array_region};
use assay_model::array::Array;
use assay_model::calibrate::{Calibration, MicroTests, Point, Steadiness, calibrate_rounds};
use assay_model::from_plan::workloads;
use assay_model::predict::{Engines, predict};
use assay_model::quantity::Bounds;
use assay_model::resolved::Tables;
use assay_model::validate::median;
use assay_model::workload::Workload;
use assay_record::RunHeader;
use assay_report::prediction::interval;
use assay_runner::Order;
use assay_spec::units::Nanos;
use assay_spec::{Address, Overrides, Plan, PlanFile};

use crate::args::CalibrateArgs;
use crate::exit::{Exit, Failed};
use crate::output::terminal::{note, say};
use crate::output::{Kept, Output, OutputKind};
use crate::running::{Done, execute};
use crate::signals::stop_on_signals;
use crate::words::array::array;
use crate::words::store::open_store;
use crate::words::targets::refuse_store;
use assay_report::standing::about;

/// The micro-tests. Their names select the part of [`MicroTests`] that they fill.
const MICRO: &str = include_str!("calibrate/micro.toml");
/// Tolerance around the predicted interval, as a share of its ends.
const WITHIN: f64 = 0.10;
/// Ten check loads, which nothing is fitted to.
const OTHERS: &str = include_str!("calibrate/others.toml");

pub(crate) fn calibrate(args: &CalibrateArgs) -> anyhow::Result<Exit> {
    if let (true, Some(target)) = (args.iocost, &args.target) {
        return iocost::iocost(args, target);
    }
    let (Some(array_name), Some(path)) = (&args.array, &args.output) else {
        bail!("calibrating needs --array and -o; assay calibrate --help has examples");
    };
    let output = place(args, path)?;
    let Some(target) = args.target.as_ref().filter(|_| args.from.is_empty()) else {
        return from_rows::from_rows(args, array_name, &output);
    };
    let base = array(array_name)?;
    let store = open_store(&args.store)?;
    let stop = stop_on_signals()?;
    let run = |text: &str, label: &str| {
        let targets = std::slice::from_ref(target);
        let order = Order {
            label: Some(label.to_owned()),
            ..args.io.order(plan(args, text)?, targets, args.size, &stop)?
        };
        let mut done = execute(order, &store)?;
        done.failures.pop().map_or(Ok(done), Err)
    };
    // Check loads are measured in the same minutes as the micro-tests: a target that drifts does so in both, and the
    // drift is not taken for an error of the model.
    let (mut micro, mut others) = (Vec::new(), Vec::new());
    for round in 1..=args.rounds {
        note!("{}", round_words(args, round)?);
        let done = run(MICRO, "calibration")?;
        if stop.is_set() {
            return Ok(Exit::Interrupted);
        }
        micro.push(micro_tests(&done, &base, args.raw_link));
        if !args.no_check {
            others.push(other_loads(&run(OTHERS, "calibration check")?, &base));
        }
        if stop.is_set() {
            return Ok(Exit::Interrupted);
        }
    }
    let mut tables = Tables::default();
    let (calibration, steadiness) = calibrate_rounds(&base, &micro, &mut tables)?;
    output.write(&calibration.to_toml(), None).map_err(|error| Failed::new(Exit::Errors, error))?;
    say(&text_of(&calibration, path))?;
    if !others.is_empty() {
        let rows = beside(&others, &base, &calibration.array, &mut tables);
        say(&beside_text(&rows, steadiness))?;
    }
    Ok(Exit::Done)
}

/// Returns where the array file goes: under a new name, or with `--replace` over an array file of an earlier
/// calibration.
fn place(args: &CalibrateArgs, path: &Path) -> anyhow::Result<Output> {
    if path == Path::new("-") {
        bail!("-o -: the array file needs a name, as assay predict reads it from there");
    }
    let targets: Vec<Address> = args.target.iter().filter_map(|target| target.parse().ok()).collect();
    refuse_store(&targets, &args.store)?;
    let output = Output::check(path, OutputKind::Array, Kept::of(&args.store, &targets), None)?;
    if path.exists() && !args.replace {
        bail!("{output} exists; choose another file, or replace it with --replace");
    }
    Ok(output)
}

/// Returns the line that announces a round: its content, and the time left without filling.
fn round_words(args: &CalibrateArgs, round: u32) -> anyhow::Result<String> {
    let micro = plan(args, MICRO)?;
    let (loads, others) = match args.no_check {
        true => (String::new(), Nanos(0)),
        false => {
            let others = plan(args, OTHERS)?;
            (format!(" and {} check loads", others.step_count()), others.time())
        }
    };
    let left = f64::from(args.rounds - round + 1) * (micro.time().as_secs_f64() + others.as_secs_f64());
    Ok(format!(
        "calibration, round {round} of {}: {} steps{loads}; {} left",
        args.rounds,
        micro.step_count(),
        about(Duration::from_secs_f64(left))
    ))
}

fn plan(args: &CalibrateArgs, text: &str) -> anyhow::Result<Plan> {
    let mut overrides = Overrides::default();
    overrides.size = args.size;
    overrides.set(&format!("run={}", args.run))?;
    Ok(PlanFile::parse("calibrate", text)?.resolve(&overrides)?)
}

/// Returns the loads of a step as the model describes them, with the measured rate of each job.
fn points(header: &RunHeader, step: &StepSummary, array: &Array) -> Vec<Point> {
    let Some(test) = header.plan.tests.get(step.id.test as usize) else { return Vec::new() };
    let Some(plan) = test.steps.get(step.id.step as usize) else { return Vec::new() };
    let members: Vec<_> = header.targets.iter().map(|t| &t.member).collect();
    let extent = array_region(&members, array).extent;
    let loads: Vec<Workload> = workloads(&test.name, header.plan.semantics, plan, extent);
    loads
        .into_iter()
        .zip(&step.jobs)
        .map(|(workload, job)| Point { workload, iops: job.total.iops })
        .collect()
}

fn micro_tests(done: &Done, base: &Array, raw_link_mb_s: Option<f64>) -> MicroTests {
    let summary = done.collector.summary();
    let mut tests = MicroTests { run: done.header.run.clone(), raw_link_mb_s, ..MicroTests::default() };
    for step in summary.steps.iter().filter(|s| s.total.ops > 0) {
        let points = points(&done.header, step, base);
        match step.test.as_str() {
            "block sweep, read, 1" | "block sweep, write, 1" => tests.block_sweep.extend(points),
            "block sweep, read, 32" | "block sweep, write, 32" => tests.block_sweep_deep.extend(points),
            "random read" => tests.random_read.extend(points),
            "random write, 1" => tests.random_write_alone = points.into_iter().next(),
            "random write, 32" => tests.random_write_deep = points.into_iter().next(),
            "cached read" => tests.cached_read = points.into_iter().next(),
            "two clients" => tests.two_clients = points,
            other => unreachable!("the plan of the micro-tests has no test `{other}`"),
        }
    }
    tests
}

/// Returns the fitted numbers, the goodness of fit, remarks, and the limits of the file as text.
fn text_of(calibration: &Calibration, path: &Path) -> String {
    let mut text = format!("Fitted ({} numbers, at most seven):\n", calibration.fitted.len());
    for f in &calibration.fitted {
        let q = &f.quantity;
        text.push_str(&format!("  {:<26} {:>10.4}  ({:.4} to {:.4})\n", f.field, q.value, q.lo, q.hi));
    }
    text.push_str("Goodness of fit:\n");
    for f in &calibration.fits {
        let left_out =
            f.leave_one_out.map(|l| format!(", each from the others {:.1} %", l * 100.0)).unwrap_or_default();
        text.push_str(&format!(
            "  {:<34} {:>2} points, rms {:.1} %, largest {:.1} %{left_out}\n",
            f.what,
            f.points,
            f.rms_error * 100.0,
            f.max_error * 100.0
        ));
    }
    calibration.remarks.iter().for_each(|r| text.push_str(&format!("Note: {r}\n")));
    text.push_str("Do not use it for:\n");
    calibration.not_for.iter().for_each(|n| text.push_str(&format!("  {n}\n")));
    text.push_str(&format!("Written to {0}: assay predict {0}\n", path.display()));
    text
}

/// Returns the check loads with the rates of one round.
fn other_loads(done: &Done, base: &Array) -> Vec<Point> {
    let summary = done.collector.summary();
    let measured = summary.steps.iter().filter(|s| s.total.ops > 0);
    measured.filter_map(|step| points(&done.header, step, base).into_iter().next()).collect()
}

/// A check load: measured, and predicted before and after calibration.
struct Other {
    name: String,
    /// Lowest, median and highest rate of the rounds, IOPS.
    measured: Bounds,
    calibrated: Bounds,
    /// Predicted from data sheets alone, IOPS.
    before: f64,
}

impl Other {
    /// Whether the median lies in the predicted interval, with the tolerance that verdicts have.
    fn is_within(&self) -> bool {
        let (lo, hi) = (self.calibrated.lo * (1.0 - WITHIN), self.calibrated.hi * (1.0 + WITHIN));
        (lo..=hi).contains(&self.measured.value)
    }

    fn ratio(&self) -> f64 {
        self.calibrated.value / self.measured.value
    }
}

fn beside(rounds: &[Vec<Point>], base: &Array, fitted: &Array, tables: &mut Tables) -> Vec<Other> {
    let first = rounds.first().map(Vec::as_slice).unwrap_or_default();
    first
        .iter()
        .map(|point| {
            let same =
                |round: &Vec<Point>| round.iter().find(|p| p.workload == point.workload).map(|p| p.iops);
            let rates: Vec<f64> = rounds.iter().filter_map(same).collect();
            let ends = [
                rates.iter().copied().fold(f64::INFINITY, f64::min),
                rates.iter().copied().fold(0.0, f64::max),
            ];
            let mut expected = |array| predict(array, &point.workload, Engines::Closed, tables).iops;
            Other {
                name: point.workload.name.clone(),
                measured: Bounds::spanning(median(rates.clone()), ends),
                calibrated: expected(fitted),
                before: expected(base).value,
            }
        })
        .collect()
}

fn beside_text(rows: &[Other], steadiness: Option<Steadiness>) -> String {
    let mut text = format!(
        "\nTen check loads, predicted and measured (IOPS):\n{:<33}{:>21}{:>21}{:>6}\n{}\n",
        "",
        "measured",
        "predicted",
        "ratio",
        "-".repeat(81)
    );
    for row in rows {
        let mark = if row.is_within() { "" } else { "  outside" };
        text.push_str(&format!(
            "{:<33}{:>21}{:>21}{:>6.2}{mark}\n",
            row.name,
            interval(row.measured),
            interval(row.calibrated),
            row.ratio()
        ));
    }
    let error =
        |of: &dyn Fn(&Other) -> f64| median(rows.iter().map(|r| (of(r) - 1.0).abs()).collect()) * 100.0;
    let (after, before) = (error(&Other::ratio), error(&|r: &Other| r.before / r.measured.value));
    let within = rows.iter().filter(|r| r.is_within()).count();
    text.push_str(&format!("{within} of {} lie within 10 % of their interval.\n", rows.len()));
    match steadiness {
        Some(s) if !s.is_steady() => text.push_str(&format!(
            "No accuracy is claimed: {}.\nThe median difference of {after:.0} % (data sheets alone {before:.0} %) \
             contains the target's own variation.\nCalibrate when the target is steady, or with more rounds.\n",
            s.says()
        )),
        Some(s) => text.push_str(&format!(
            "Median error {after:.1} % (data sheets alone {before:.1} %); {}.\n",
            s.says()
        )),
        None => text.push_str(&format!(
            "Median error {after:.1} % (data sheets alone {before:.1} %); one round does not show how steady the \
             target is.\n"
        )),
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{Cli, Verb};

    #[test]
    fn every_round_says_what_is_in_it_and_how_long_the_rest_takes() {
        let check = |more: &[&str], round: u32, expected: &str| {
            let typed = ["assay", "calibrate", "t.dat", "--array", "nvme", "-o", "c.toml"];
            let Verb::Calibrate(args) = Cli::parse_from([&typed[..], more].concat()).verb else {
                panic!("it is calibrate that was typed");
            };
            assert_eq!(round_words(&args, round).expect("both plans are valid"), expected);
        };
        check(&[], 1, "calibration, round 1 of 3: 39 steps and 10 check loads; about 6 min left");
        check(&[], 3, "calibration, round 3 of 3: 39 steps and 10 check loads; about 2 min left");
        check(&["--no-check", "--rounds", "1"], 1, "calibration, round 1 of 1: 39 steps; about 86 s left");
    }
}
