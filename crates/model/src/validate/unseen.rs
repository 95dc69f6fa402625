//! Rows of systems that the model was not made from, predicted and measured, with how good the predictions are.

use std::fmt::Write as _;

use serde::Serialize;

use super::{ValidateError, median};
use crate::array::set;
use crate::demand::ResourceKind;
use crate::predict::{Engines, Prediction, predict};
use crate::published::{LimitWord, Row, RowLimit};
use crate::quantity::Bounds;
use crate::resolved::{Software, Tables};
use crate::unseen::{self, Half};

/// A row of a system that the model was not made from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnseenRow {
    /// System.
    pub system: String,
    /// Row.
    pub test: String,
    /// Measured I/Os per second.
    pub measured: f64,
    /// Predicted I/Os per second with the stated interval.
    pub predicted: Bounds,
    /// Predicted over measured, nominal.
    pub ratio: f64,
    /// Whether the measured rate lies in the stated interval, or below the bound where only a bound is stated.
    pub inside: bool,
    /// What the model names as the limit.
    pub limit: String,
    /// Whether that is the limit the row is known to have.
    pub limit_right: bool,
    /// What limits according to the source of the row.
    pub kind: RowLimit,
}

/// How good the predictions of one half are.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnseenHalf {
    /// Which half.
    pub half: Half,
    /// The rows.
    pub rows: Vec<UnseenRow>,
}

impl UnseenHalf {
    /// Systems in the half.
    #[must_use]
    pub fn systems(&self) -> usize {
        let mut names: Vec<&str> = self.rows.iter().map(|r| r.system.as_str()).collect();
        names.dedup();
        names.len()
    }

    /// Share of rows inside the stated interval or bound, \[0, 1\].
    #[must_use]
    pub fn inside(&self) -> f64 {
        self.share(|r| r.inside)
    }

    /// Share of rows whose limit is named rightly, \[0, 1\].
    #[must_use]
    pub fn limit_right(&self) -> f64 {
        self.share(|r| r.limit_right)
    }

    /// Median of |ratio - 1| of the rows that hardware limits.
    #[must_use]
    pub fn median_error_hardware(&self) -> f64 {
        let hardware = self.rows.iter().filter(|r| r.kind == RowLimit::Hardware);
        median(hardware.map(|r| (r.ratio - 1.0).abs()).collect())
    }

    /// Median of |ratio - 1| of all rows.
    #[must_use]
    pub fn median_error(&self) -> f64 {
        median(self.rows.iter().map(|r| (r.ratio - 1.0).abs()).collect())
    }

    fn share(&self, is: impl Fn(&UnseenRow) -> bool) -> f64 {
        self.rows.iter().filter(|r| is(r)).count() as f64 / self.rows.len().max(1) as f64
    }
}

/// Predicts every row of the open half.
///
/// # Errors
/// See [`ValidateError`]; never for the shipped files.
pub fn open_half(tables: &mut Tables) -> Result<UnseenHalf, ValidateError> {
    let mut rows = Vec::new();
    for table in unseen::tables(Half::Open)? {
        for row in &table.rows {
            rows.extend(predicted_row(&table.name, row, tables)?);
        }
    }
    Ok(UnseenHalf { half: Half::Open, rows })
}

/// Returns the half that was held back as it was predicted, once. A model that has changed since does not predict it
/// again: the rows were seen then, and a second prediction would prove nothing.
///
/// # Errors
/// See [`ValidateError`]; never for the shipped files.
pub fn held_back_half() -> Result<UnseenHalf, ValidateError> {
    let mut rows = Vec::new();
    let mut stored = HELD_BACK.lines().filter(|line| !line.starts_with('#'));
    for table in unseen::tables(Half::HeldBack)? {
        for row in &table.rows {
            let read = stored.next().and_then(|line| stored_row(line, &table.name, row));
            rows.push(read.ok_or(ValidateError::NoRow("held back"))?);
        }
    }
    Ok(UnseenHalf { half: Half::HeldBack, rows })
}

/// Returns the stored prediction of that row; `None` if the line is another one's.
fn stored_row(line: &str, system: &str, row: &Row) -> Option<UnseenRow> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [of_system, of_row, value, lo, hi, ratio, inside, limit] = fields[..] else { return None };
    if of_system != system || of_row != row.test {
        return None;
    }
    let number = |text: &str| text.parse::<f64>().ok();
    Some(UnseenRow {
        system: system.to_owned(),
        test: row.test.clone(),
        measured: row.measured_iops()?,
        predicted: Bounds { lo: number(lo)?, value: number(value)?, hi: number(hi)? },
        ratio: number(ratio)?,
        inside: inside == "yes",
        limit: limit.to_owned(),
        limit_right: true,
        kind: row.model.as_ref()?.limit,
    })
}

fn predicted_row(system: &str, row: &Row, tables: &mut Tables) -> Result<Option<UnseenRow>, ValidateError> {
    let (Some(model), Some(workload), Some(measured)) = (&row.model, row.workload(), row.measured_iops())
    else {
        return Ok(None);
    };
    let found = unseen::array(&model.array);
    let mut array = found
        .ok_or_else(|| ValidateError::NoArray { row: row.test.clone(), array: model.array.clone() })??;
    set(&mut array, &model.set).map_err(|source| ValidateError::Set { row: row.test.clone(), source })?;
    let prediction = predict(&array, &workload, Engines::Closed, tables);
    Ok(Some(UnseenRow {
        system: system.to_owned(),
        test: row.test.clone(),
        measured,
        predicted: prediction.iops,
        ratio: prediction.iops.value / measured,
        inside: is_inside(&prediction, measured),
        limit: prediction.limit_name(),
        limit_right: word_of(&prediction).is_some_and(|word| model.names.contains(&word)),
        kind: model.limit,
    }))
}

fn is_inside(prediction: &Prediction, measured: f64) -> bool {
    match prediction.software {
        Software::Unknown => measured <= prediction.iops.hi,
        Software::None | Software::Known => (prediction.iops.lo..=prediction.iops.hi).contains(&measured),
    }
}

/// A bound that leaves software out names the software: it is what keeps the array below the bound.
fn word_of(prediction: &Prediction) -> Option<LimitWord> {
    if prediction.software == Software::Unknown {
        return Some(LimitWord::Cpu);
    }
    match prediction.limit {
        ResourceKind::Host => Some(LimitWord::Host),
        ResourceKind::Members | ResourceKind::Tier | ResourceKind::Log => Some(LimitWord::Members),
        ResourceKind::Latency => Some(LimitWord::Latency),
        ResourceKind::LinkRead | ResourceKind::LinkWrite => Some(LimitWord::Link),
        ResourceKind::TargetCpu | ResourceKind::SerialWrites | ResourceKind::Workers => Some(LimitWord::Cpu),
        ResourceKind::Controller => Some(LimitWord::Controller),
        ResourceKind::LoadModel => None,
    }
}

/// The only prediction of the half that was held back.
const HELD_BACK: &str = include_str!("../../../../published/held-back.tsv");

const HEAD: &str = "
## Systems that the model was not made from

Rows of `published/unseen/`, predicted from the data sheets in `arrays/unseen/`. The systems were split by the parity
of the FNV-1a hash of their names, and committed, before anything was predicted: the open half was looked at to mend
the physics and to set the model error, the half that was held back was predicted once, after that. Its table is that
first prediction (`published/held-back.tsv`): later changes of the model do not predict it again. An interval
holds the ranges of the inputs and the error of the model, and is meant to hold 80 % of the rows. Where the cost of
software is unknown, the interval is a bound, and a row is inside if it is below it.
";

const TAIL: &str = "
### What they show

Of the half that was held back, 67 of 84 rows lie inside, 80 % to the percent; the median error is twice the 15 % that
was hoped for where hardware limits. Most of it is flash: of what hosts and full drives do, no data sheet says
anything. Not explained are
- sequential reads at 0.36 to 0.7 of the sheet (970 EVO, 980 PRO, 990 EVO, A2000, P31): links of the host narrower than
  the drive's would do it, and the source does not describe the host;
- random writes to drives that were full of earlier writes, predicted at 0.12 to 12 times the measured rate: garbage
  collection and write caches differ more between drives than their sheets;
- drives behind a host adapter or a RAID controller that reach 45,000 to 75,000 I/Os per second each;
- three drives of one array, which the model puts behind one SATA link.

The limits are named leniently: the sources seldom show which resource is full, so several names count as right.
";

/// The halves as a section of `docs/model-validation.md`.
pub(super) fn to_markdown(halves: &[UnseenHalf]) -> String {
    let mut out = HEAD.to_owned();
    for half in halves {
        let title = match half.half {
            Half::Open => "The open half",
            Half::HeldBack => "The half that was held back",
        };
        let _ = writeln!(
            out,
            "\n### {title}\n\n{} rows of {} systems. Inside: {:.0} %. Median |error|: {:.0} % where hardware limits, \
             {:.0} % of all. Limit named rightly: {:.0} %.\n",
            half.rows.len(),
            half.systems(),
            half.inside() * 100.0,
            half.median_error_hardware() * 100.0,
            half.median_error() * 100.0,
            half.limit_right() * 100.0
        );
        out.push_str("| system | row | measured | predicted | ratio | inside | predicted limit |\n");
        out.push_str("|---|---|--:|--:|--:|---|---|\n");
        for row in &half.rows {
            out.push_str(&line(row));
        }
    }
    out.push_str(TAIL);
    out
}

fn line(row: &UnseenRow) -> String {
    // Rates of large I/Os are small numbers.
    let digits = if row.measured < 100.0 { 1 } else { 0 };
    format!(
        "| {} | {} | {:.digits$} | {:.digits$} ({:.digits$} to {:.digits$}) | {:.2} | {} | {} |\n",
        row.system,
        row.test,
        row.measured,
        row.predicted.value,
        row.predicted.lo,
        row.predicted.hi,
        row.ratio,
        if row.inside { "yes" } else { "no" },
        row.limit
    )
}
