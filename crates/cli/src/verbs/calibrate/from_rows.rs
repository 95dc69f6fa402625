//! `assay calibrate --from`: fits an array to a few measured rows, of an article or of stored runs, and predicts the
//! others.

use anyhow::bail;
use assay_analysis::Finding;
use assay_model::array::{Array, set, to_toml};
use assay_model::calibrate::{Factors, RowPoint, Unfitted, fit_rows};
use assay_model::predict::{Engines, predict};
use assay_model::published::{self, RowLimit};
use assay_model::resolved::{Software, Tables, software_of};
use assay_model::validate::median;
use assay_report::prediction::interval;
use assay_spec::suggest;

use super::points;
use crate::args::CalibrateArgs;
use crate::exit::{Exit, Failed};
use crate::output::Output;
use crate::output::terminal::say;
use crate::words::array::array;

/// A row with its name.
struct Row {
    name: String,
    point: RowPoint,
}

/// Rows, and remarks on those that are left out.
#[derive(Default)]
struct Rows {
    rows: Vec<Row>,
    remarks: Vec<String>,
}

pub(super) fn from_rows(args: &CalibrateArgs, array_name: &str, output: &Output) -> anyhow::Result<Exit> {
    let base = array(array_name)?;
    let mut found = Rows::default();
    for source in &args.from {
        match source.strip_prefix("published:") {
            Some(name) => found.add_published(name, &base)?,
            None => found.add_run(&crate::words::stored::named(&args.store, source)?, &base),
        }
    }
    let wanted = |row: &Row| {
        let name = row.name.to_lowercase();
        args.only.is_empty() || args.only.iter().any(|part| name.contains(&part.to_lowercase()))
    };
    let fitted_on: Vec<RowPoint> =
        found.rows.iter().filter(|row| wanted(row)).map(|row| row.point.clone()).collect();
    if fitted_on.is_empty() {
        let names: Vec<&str> = found.rows.iter().map(|row| row.name.as_str()).collect();
        let from = args.from.join(" and ");
        match (names.is_empty(), found.remarks.first()) {
            (true, Some(remark)) => bail!("no row of {from} to calibrate on; {remark}"),
            (true, None) => bail!("no row of {from} to calibrate on"),
            (false, _) => bail!("no row to calibrate on; {from} has: {}", names.join("; ")),
        }
    }
    let mut tables = Tables::default();
    let factors = fit_rows(&fitted_on, &mut tables);
    let from = args.from.join(", ");
    let mut changed = factors.apply(&base, &from);
    changed.source = format!("{}; calibrated on {} rows of {from}", base.source, fitted_on.len());
    let text = format!(
        "# Calibrated array. Goodness of fit: see assay calibrate --from {from}\n{}",
        to_toml(&changed)
    );
    output.write(&text, None).map_err(|error| Failed::new(Exit::Errors, error))?;
    say(&page(&found, &wanted, &factors, &base, &from, &mut tables))?;
    say(&format!("Written to {output}\n"))?;
    Ok(Exit::Done)
}

impl Rows {
    /// The rows of an article that are of this array and that hardware limits.
    fn add_published(&mut self, name: &str, base: &Array) -> anyhow::Result<()> {
        let tables = published::all()?;
        let Some(table) = tables.iter().find(|table| table.name == name) else {
            let names: Vec<&str> = tables.iter().map(|t| t.name.as_str()).collect();
            bail!("no published table is called `{name}`{}", suggest(name, &names));
        };
        for row in &table.rows {
            let (Some(model), Some(workload), Some(iops)) = (&row.model, row.workload(), row.measured_iops())
            else {
                continue;
            };
            let mut own = base.clone();
            if model.array != base.name {
                continue;
            } else if model.limit != RowLimit::Hardware {
                self.remarks.push(format!("{}: left out, as the target's software limits it", row.test));
            } else if let Err(error) = set(&mut own, &model.set) {
                self.remarks.push(format!("{}: left out: {error}", row.test));
            } else {
                let point = RowPoint { array: own, workload, iops };
                self.rows.push(Row { name: row.test.clone(), point });
            }
        }
        if self.rows.is_empty() {
            let mut arrays: Vec<&str> =
                table.rows.iter().filter_map(|row| Some(row.model.as_ref()?.array.as_str())).collect();
            arrays.dedup();
            bail!(
                "published:{name} has no row of {} that hardware limits; its rows are of {}",
                base.name,
                arrays.join(", ")
            );
        }
        Ok(())
    }

    /// The steps of a stored run that had one job, on an array whose software has a known cost: any other may be
    /// limited by it, and its devices would be fitted to what they had no part in.
    fn add_run(&mut self, stored: &assay_results::Stored, base: &Array) {
        if software_of(base) == Software::Unknown {
            self.remarks.push(format!(
                "run {}: left out, as the cost of the software of {} is unknown and may limit it; assay calibrate \
                 TARGET measures that cost",
                stored.header.run, base.name
            ));
            return;
        }
        for step in stored.summary.steps.iter().filter(|step| step.total.ops > 0) {
            let gap =
                |finding: &&Finding| finding.rule == "gap-in-window" && finding.steps.contains(&step.id);
            if stored.findings.iter().any(|finding| gap(&finding)) {
                self.remarks
                    .push(format!("{}: Assay did not run for a part of it; measure it again", step.test));
            }
            match points(&stored.header, step, base).as_slice() {
                [point] => {
                    let point =
                        RowPoint { array: base.clone(), workload: point.workload.clone(), iops: point.iops };
                    self.rows.push(Row { name: step.test.clone(), point });
                }
                _ => self.remarks.push(format!("{}: left out, as several jobs ran side by side", step.test)),
            }
        }
    }
}

/// The fitted numbers, then every row with its prediction before and after.
fn page(
    found: &Rows,
    wanted: &dyn Fn(&Row) -> bool,
    factors: &Factors,
    base: &Array,
    from: &str,
    tables: &mut Tables,
) -> String {
    let fitted = factors.fitted(base, from);
    let mut text = String::from("Fitted:\n");
    if fitted.is_empty() && factors.unfitted().next().is_none() {
        text.push_str("  nothing: the data sheet fits\n");
    }
    for (load, why) in factors.unfitted() {
        let why = match why {
            Unfitted::Elsewhere => "something other than the devices limits the rows",
            Unfitted::TooFar => "more than a factor of 4 off the data sheet, or out of its reach",
        };
        text.push_str(&format!("  nothing for {load}: {why}\n"));
    }
    for f in &fitted {
        text.push_str(&format!("  {:<26} {:>10.3}\n", f.field, f.quantity.value));
    }
    text.push_str(&format!("\n{:<44}{:>9}{:>21}{:>6}\n", "Row (IOPS)", "measured", "predicted", "ratio"));
    let mut errors: [Vec<f64>; 2] = Default::default();
    for row in &found.rows {
        let array = factors.apply(&row.point.array, from);
        let predicted = predict(&array, &row.point.workload, Engines::Closed, tables).iops;
        let ratio = predicted.value / row.point.iops;
        let fit = wanted(row);
        errors[usize::from(!fit)].push((ratio - 1.0).abs());
        let name: String = row.name.chars().take(43).collect();
        let mark = if fit { "  fitted" } else { "" };
        let (measured, predicted) = (row.point.iops, interval(predicted));
        text.push_str(&format!("{name:<44}{measured:>9.0}{predicted:>21}{ratio:>6.2}{mark}\n"));
    }
    let [own, others] = errors;
    text.push_str(&format!("Median error of {} fitted rows: {:.0} %", own.len(), median(own) * 100.0));
    match others.len() {
        0 => text.push_str(".\n"),
        n => text.push_str(&format!("; of {n} others, predicted: {:.0} %.\n", median(others) * 100.0)),
    }
    found.remarks.iter().for_each(|remark| text.push_str(&format!("Note: {remark}.\n")));
    text
}
