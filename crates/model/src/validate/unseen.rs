//! Rows of systems that the model was not made from, predicted and measured, with how good the predictions are.

use serde::Serialize;

use super::{ValidateError, median};
use crate::array::{self, Array};
use crate::demand::ResourceKind;
use crate::predict::{Engines, Prediction, predict};
use crate::published::{LimitWord, Row, RowLimit, RowModel};
use crate::quantity::Bounds;
use crate::resolved::{Software, Tables};
use crate::unseen::{self, Half, Set};
use crate::workload::Workload;

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
    /// Whether that is the limit the row is known to have; `None` where its source leaves several open.
    pub limit_right: Option<bool>,
    /// What limits according to the source of the row.
    pub kind: RowLimit,
}

/// How good the predictions of one half are.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnseenHalf {
    /// Of which set.
    pub set: Set,
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

    /// Number of rows whose limit is named rightly, and of those whose source shows a single one.
    #[must_use]
    pub fn limit_right(&self) -> (usize, usize) {
        let tested = || self.rows.iter().filter_map(|r| r.limit_right);
        (tested().filter(|right| *right).count(), tested().count())
    }

    /// Number of rows that were measured above the highest rate of their prediction: what it names was not the limit.
    #[must_use]
    pub fn limit_wrong(&self) -> usize {
        self.rows.iter().filter(|r| r.measured > r.predicted.hi).count()
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

/// Predicts every row of the open half of a set.
///
/// # Errors
/// See [`ValidateError`]; never for the shipped files.
pub fn open_half(set: Set, tables: &mut Tables) -> Result<UnseenHalf, ValidateError> {
    let mut rows = Vec::new();
    for table in unseen::tables(set, Half::Open)? {
        for row in &table.rows {
            rows.extend(predicted_row(&table.name, row, tables)?);
        }
    }
    Ok(UnseenHalf { set, half: Half::Open, rows })
}

/// Returns the half of a set that was held back as it was predicted, once. A model that has changed since does not
/// predict it again: the rows were seen then, and a second prediction would prove nothing.
///
/// # Errors
/// See [`ValidateError`]; never for the shipped files.
pub(crate) fn held_back_half(set: Set) -> Result<UnseenHalf, ValidateError> {
    let mut rows = Vec::new();
    let mut stored = held_back(set).lines().filter(|line| !line.starts_with('#'));
    for table in unseen::tables(set, Half::HeldBack)? {
        for row in &table.rows {
            let read = stored.next().and_then(|line| stored_row(line, &table.name, row));
            rows.push(read.ok_or(ValidateError::NoRow("held back"))?);
        }
    }
    Ok(UnseenHalf { set, half: Half::HeldBack, rows })
}

/// Returns the stored prediction of that row; `None` if the line is another one's.
fn stored_row(line: &str, system: &str, row: &Row) -> Option<UnseenRow> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [of_system, of_row, value, lo, hi, ratio, inside, limit, ref named @ ..] = fields[..] else {
        return None;
    };
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
        limit_right: match named {
            ["right"] => Some(true),
            ["wrong"] => Some(false),
            _ => None,
        },
        kind: row.model.as_ref()?.limit,
    })
}

/// A row that can be predicted.
pub(super) struct Described<'r> {
    pub(super) model: &'r RowModel,
    /// With what the row says of it.
    pub(super) array: Array,
    pub(super) workload: Workload,
    /// I/Os per second.
    pub(super) measured: f64,
}

/// Returns a row with its array; `None` for one that says too little to be predicted.
pub(super) fn described(row: &Row) -> Result<Option<Described<'_>>, ValidateError> {
    let (Some(model), Some(workload), Some(measured)) = (&row.model, row.workload(), row.measured_iops())
    else {
        return Ok(None);
    };
    let found = unseen::array(&model.array);
    let mut array = found
        .ok_or_else(|| ValidateError::NoArray { row: row.test.clone(), array: model.array.clone() })??;
    array::set(&mut array, &model.set)
        .map_err(|source| ValidateError::Set { row: row.test.clone(), source })?;
    Ok(Some(Described { model, array, workload, measured }))
}

fn predicted_row(system: &str, row: &Row, tables: &mut Tables) -> Result<Option<UnseenRow>, ValidateError> {
    let Some(Described { model, array, workload, measured }) = described(row)? else { return Ok(None) };
    let prediction = predict(&array, &workload, Engines::Closed, tables);
    Ok(Some(UnseenRow {
        system: system.to_owned(),
        test: row.test.clone(),
        measured,
        predicted: prediction.iops,
        ratio: prediction.iops.value / measured,
        inside: is_inside(&prediction, measured),
        limit: prediction.limit_name(),
        limit_right: match model.names[..] {
            [name] => Some(word_of(&prediction) == Some(name)),
            _ => None,
        },
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
pub(super) fn word_of(prediction: &Prediction) -> Option<LimitWord> {
    if prediction.software == Software::Unknown {
        return Some(LimitWord::Cpu);
    }
    word_of_limit(prediction.limit)
}

/// The word of a limit of the hardware.
pub(super) fn word_of_limit(limit: ResourceKind) -> Option<LimitWord> {
    match limit {
        ResourceKind::Host => Some(LimitWord::Host),
        ResourceKind::Members | ResourceKind::Tier | ResourceKind::Log => Some(LimitWord::Members),
        ResourceKind::Latency => Some(LimitWord::Latency),
        ResourceKind::LinkRead | ResourceKind::LinkWrite => Some(LimitWord::Link),
        ResourceKind::TargetCpu | ResourceKind::SerialWrites | ResourceKind::Workers => Some(LimitWord::Cpu),
        ResourceKind::Controller => Some(LimitWord::Controller),
        ResourceKind::LoadModel => None,
    }
}

/// The only prediction of the half of a set that was held back.
const fn held_back(set: Set) -> &'static str {
    match set {
        Set::First => include_str!("../../../../published/held-back.tsv"),
        Set::Second => include_str!("../../../../published/held-back-2.tsv"),
        Set::Third => include_str!("../../../../published/held-back-3.tsv"),
        Set::Fourth => include_str!("../../../../published/held-back-4.tsv"),
        Set::Fifth => include_str!("../../../../published/held-back-5.tsv"),
        Set::Sixth => include_str!("../../../../published/held-back-6.tsv"),
    }
}
