//! `assay predict`: the predicted table of a plan, its bottlenecks, and the effect of changes.

use std::path::Path;

use anyhow::bail;
use assay_model::array::{Array, set};
use assay_model::concurrent::what_if_concurrent;
use assay_model::facts::usable_bytes;
use assay_model::from_plan::{CONCURRENT_IOS, Extent, StepPrediction, predict_step, workloads};
use assay_model::predict::Engines;
use assay_model::resolved::Tables;
use assay_model::whatif::{sweep, what_if};
use assay_model::workload::Workload;
use assay_report::prediction::{Expectation, Page};
use assay_spec::units::{Bytes, GIB};
use assay_spec::{Plan, Span};

use crate::args::PredictArgs;
use crate::exit::Exit;
use crate::output::render::Rendered as _;
use crate::output::terminal::say;
use crate::output::{Kept, Output, OutputKind};
use crate::words::array::{array, check_described};
use crate::words::plan::{Choice, resolve};

/// The span unless the plan or the command line gives one: that of published forum tables.
const SPAN_DEFAULT: Bytes = Bytes(4 * GIB);

pub(crate) fn predict(args: &PredictArgs) -> anyhow::Result<Exit> {
    let output = args.output.as_deref().map(place).transpose()?;
    let mut array = array(&args.array)?;
    for change in &args.with {
        set(&mut array, change)?;
    }
    check_described(&array)?;
    if let Some(ram) = args.client_ram {
        set(&mut array, &format!("initiator.ram={}B", ram.0))?;
    }
    let plan = resolve(
        &args.plan,
        &Choice { set: &args.choice.set, only: &args.choice.only, size: args.size, ..Choice::default() },
    )?;
    let span = span_of(&plan);
    let reach = args.reach.unwrap_or(span);
    anyhow::ensure!(
        reach >= span,
        "--reach {reach}: {span} of data do not lie within {reach}; use a larger --reach or a smaller --size"
    );
    check_fits(&array, args.at, reach)?;
    let rows = rows(args, &array, &plan, span)?;
    let page = Page { array: &array, plan: &plan.name, span_bytes: span.0, rows: &rows };
    if let Some(output) = &output {
        page.write(output, "prediction")?;
    }
    say(&page.printed(args.view.form(), args.view.options()))?;
    Ok(Exit::Done)
}

/// Returns where the prediction goes.
fn place(path: &Path) -> anyhow::Result<Output> {
    match OutputKind::of(path)? {
        OutputKind::Html => {
            bail!(
                "a prediction has no HTML page; end {} in .csv, .md, .bbcode, .json or .txt",
                path.display()
            )
        }
        kind => Output::check(path, kind, Kept::of_environment(), None),
    }
}

fn span_of(plan: &Plan) -> Bytes {
    match plan.span {
        Span::Whole => SPAN_DEFAULT,
        Span::Size(size) => size.resolve(Bytes(assay_host::host_facts().memory_bytes)),
    }
}

/// Refuses a region that ends behind the array's data.
fn check_fits(array: &Array, at: Bytes, span: Bytes) -> anyhow::Result<()> {
    let (end, usable) = (at.0.saturating_add(span.0), usable_bytes(array));
    anyhow::ensure!(
        end as f64 <= usable * 1.001,
        "a load on {span} from {at} on ends beyond the array's data: {} holds {:.1} GB; use a smaller --size or --at",
        array.name,
        usable / 1e9
    );
    Ok(())
}

fn rows(args: &PredictArgs, array: &Array, plan: &Plan, span: Bytes) -> anyhow::Result<Vec<Expectation>> {
    let mut tables = Tables::default();
    let reach = args.reach.unwrap_or(span);
    let extent = Extent { start: args.at, reach, pieces: args.pieces, ..Extent::outer(span) };
    let mut rows = Vec::new();
    for test in &plan.tests {
        for step in &test.steps {
            let loads = workloads(&test.name, plan.semantics, step, extent);
            let Some(answer) = predict_step(array, &loads, Engines::FULL, &mut tables) else { continue };
            let name = format!("{} {}", test.name, step.label()).trim_end().to_owned();
            let mut row = Expectation {
                name,
                answer,
                what_ifs: Vec::new(),
                what_ifs_together: Vec::new(),
                sweeps: Vec::new(),
                left_out: Vec::new(),
            };
            match (&row.answer, &loads[..]) {
                (StepPrediction::Single(_), [load]) => changes(args, array, load, &mut row, &mut tables)?,
                _ => together(args, array, &loads, &mut row, &mut tables)?,
            }
            rows.push(row);
        }
    }
    anyhow::ensure!(
        !rows.is_empty(),
        "nothing of this plan can be predicted: the model has no trims, and no jobs \
         that wait for each other"
    );
    Ok(rows)
}

fn changes(
    args: &PredictArgs,
    array: &Array,
    load: &Workload,
    row: &mut Expectation,
    tables: &mut Tables,
) -> anyhow::Result<()> {
    if !args.what_if.is_empty() {
        let changes: Vec<&str> = args.what_if.iter().map(String::as_str).collect();
        row.what_ifs = what_if(array, load, &changes, Engines::FULL, tables)?;
    }
    for text in &args.sweep {
        row.sweeps.push(sweep(array, load, text, tables)?);
    }
    Ok(())
}

/// Predicts changes for jobs that run side by side. A sweep would need a simulation for each of its values.
fn together(
    args: &PredictArgs,
    array: &Array,
    loads: &[Workload],
    row: &mut Expectation,
    tables: &mut Tables,
) -> anyhow::Result<()> {
    row.left_out.extend(args.sweep.iter().map(|sweep| {
        format!(
            "--sweep {sweep}: {} jobs run side by side, which needs a simulation for each value; use --what-if \
             FIELD=VALUE",
            loads.len()
        )
    }));
    if !args.what_if.is_empty() {
        let changes: Vec<&str> = args.what_if.iter().map(String::as_str).collect();
        row.what_ifs_together = what_if_concurrent(array, loads, &changes, CONCURRENT_IOS, tables)?;
    }
    Ok(())
}
