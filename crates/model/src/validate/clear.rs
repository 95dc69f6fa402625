//! Which limit a row has: what its source says, or what arithmetic leaves alone.
//!
//! The rules are chosen by those who made the model:
//! * *source*: it names a single one.
//! * *link*: 0.90 to 1.02 of what the link carries of this load was measured, and the sheets of the members allow
//!   [`APART`] times as much.
//! * *sheet*: at least 32 random I/Os in flight reached 0.90 to 1.10 of the IOPS on the sheet of one drive, or of what
//!   its host measured, and the links carry [`APART`] times as many.
//! * *alone*: a drive with one small random I/O in flight did less than half of what its sheet and the links allow:
//!   nothing is full, and only the time of one is left.
//!
//! None of them asks what the model takes for the limit. A disk with one I/O in flight is as busy as that I/O takes:
//! two words for one thing, and no test.

use serde::Serialize;

use crate::array::{Array, Device};
use crate::demand::{DemandTable, ResourceKind};
use crate::published::LimitWord;
use crate::quantity::{Provenance, Quantity};
use crate::wire;
use crate::workload::Workload;

/// How far everything else is that could limit.
const APART: f64 = 1.25;
/// I/Os in flight from which on a sheet's IOPS are those of a drive.
const DEEP: f64 = 32.0;
/// Largest I/O that counts as small, bytes.
const SMALL: f64 = 16_384.0;

/// What leaves a single limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum ClearBy {
    /// The source of the row names one.
    Source,
    /// The rate is that of the link.
    Link,
    /// The rate is that of the drive's sheet.
    Sheet,
    /// One I/O is in flight, and nothing is full.
    Alone,
}

impl ClearBy {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Source, Self::Link, Self::Sheet, Self::Alone];
}

/// The limit of a row, and what leaves no other; `None` where several are possible.
pub(super) fn known(
    names: &[LimitWord],
    array: &Array,
    workload: &Workload,
    measured: f64,
    table: &DemandTable,
) -> Option<(LimitWord, ClearBy)> {
    if let [name] = names {
        return Some((*name, ClearBy::Source));
    }
    let found = by_arithmetic(array, workload, measured, table)?;
    names.contains(&found.0).then_some(found)
}

fn by_arithmetic(
    array: &Array,
    workload: &Workload,
    measured: f64,
    table: &DemandTable,
) -> Option<(LimitWord, ClearBy)> {
    let ceiling = |is: fn(ResourceKind) -> bool| {
        let of = table.resources.iter().filter(|r| is(r.kind)).map(|r| r.ceiling_iops);
        of.fold(f64::INFINITY, f64::min)
    };
    let link = ceiling(|kind| matches!(kind, ResourceKind::LinkRead | ResourceKind::LinkWrite));
    let members = ceiling(|kind| kind == ResourceKind::Members);
    if (0.90..=1.02).contains(&(measured / link)) && members >= APART * link {
        return Some((LimitWord::Link, ClearBy::Link));
    }
    let [access] = &workload.mix[..] else { return None };
    let Device::Ssd(ssd) = &array.device else { return None };
    let most = match (access.random_pct, access.read_pct) {
        (100.0, 100.0) => &ssd.read_iops_max,
        (100.0, 0.0) => &ssd.write_iops_max,
        _ => return None,
    };
    let bytes = access.size.0 as f64;
    let ports = wire::port_mb_s(ssd.link, bytes) * 1e6 / bytes * array.raid.disks.value;
    let links = link.min(ports);
    let outstanding = workload.total_outstanding();
    let of_sheet = measured / most.value;
    let is_one = array.raid.disks.value <= 1.0;
    if is_one && outstanding >= DEEP && is_known(most) && (0.90..=1.10).contains(&of_sheet) {
        return (links >= APART * measured).then_some((LimitWord::Members, ClearBy::Sheet));
    }
    let is_small = bytes <= SMALL;
    let is_idle = measured < 0.5 * links && of_sheet < 0.5;
    (outstanding <= 1.0 && is_small && is_idle).then_some((LimitWord::Latency, ClearBy::Alone))
}

/// Whether a figure is one of a sheet or of a measurement, and no class.
fn is_known(figure: &Quantity) -> bool {
    matches!(figure.from, Provenance::Sheet(_) | Provenance::Measured(_)) && figure.lo >= figure.hi
}
