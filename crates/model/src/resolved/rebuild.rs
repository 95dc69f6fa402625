//! Rebuilds: how fast the data of a failed member can come onto its replacement.
//! ```text
//!   rate = share of the members' time * min(rate of a member that streams, port / (sources + 1))
//! ```
//! The sources are one copy of a mirror, or as many members as a stripe has data. Nothing that rebuilds is faster;
//! software and firmware are often slower, and say nothing of it in a data sheet.

use serde::Serialize;

use super::devices::{resolve_disk, resolve_flash};
use crate::array::{Array, Device, Level};
use crate::facts::member_capacity;
use crate::quantity::{Bounds, Corner};
use crate::raid::Shape;
use crate::wire;

/// Size of the commands of a rebuild, bytes.
const PIECE: f64 = 1_048_576.0;

/// A rebuild of one failed member.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rebuild {
    /// Highest rate onto the replacement, bytes/s.
    pub bytes_s: Bounds,
    /// Shortest time for a whole member, s.
    pub time_s: Bounds,
}

/// Returns the rebuild of a failed member; `None` if none has failed, nothing is left to rebuild it from, or
/// its data go to spare space on all members (dRAID). Without `raid.rebuild_pct` it has the members to itself.
#[must_use]
pub fn rebuild(array: &Array) -> Option<Rebuild> {
    let bytes = member_capacity(array);
    let bytes_s = rate_onto_replacement(array, bytes)?;
    let time_s = Bounds { lo: bytes / bytes_s.hi, value: bytes / bytes_s.value, hi: bytes / bytes_s.lo };
    Some(Rebuild { bytes_s, time_s })
}

/// Returns the highest rate, bytes/s, at which the first `bytes` of a failed member are rebuilt.
#[must_use]
pub(crate) fn rate_onto_replacement(array: &Array, bytes: f64) -> Option<Bounds> {
    let shape = Shape::of(&array.raid);
    if shape.failed == 0 || matches!(shape.level, Level::Draid1 | Level::Draid2 | Level::Draid3) {
        return None;
    }
    let sources = match shape.parity {
        0 => 1,
        parity => shape.group - parity,
    };
    let at = |corner| rate_at(array, bytes / member_capacity(array), f64::from(sources), corner);
    Some(Bounds::spanning(at(Corner::Nominal), [at(Corner::Slow), at(Corner::Fast)]))
}

fn rate_at(array: &Array, part: f64, sources: f64, corner: Corner) -> f64 {
    let member = match &array.device {
        Device::Hdd(hdd) => resolve_disk(hdd, corner, f64::INFINITY).mean_rate(0.0, part),
        Device::Ssd(ssd) => {
            let flash = resolve_flash(array, ssd, corner, f64::INFINITY);
            flash.bytes_s[0].min(flash.bytes_s[1]).min(flash.slc_full_bytes_s)
        }
    };
    let port = wire::port_mb_s(array.controller.expander, PIECE) * 1e6 / (sources + 1.0);
    let share = array.raid.rebuild_pct.as_ref().map_or(100.0, |q| q.rate_at(corner)) / 100.0;
    member.min(port) * share
}
