//! Lists the logical units of a target: REPORT LUNS, then INQUIRY and READ CAPACITY of the first few.

use std::time::{Duration, Instant};

use crate::config::{Config, Timeouts};
use crate::error::{CommandError, ConnectError};
use crate::initiator::Initiator;
use crate::multipath::SessionUse;
use crate::scsi::{Inquiry, lun_from_wire};

/// Time limit of each query to a unit; a unit that does not answer is listed by its number only.
const PATIENCE: Duration = Duration::from_secs(3);
/// Time after which no further unit is queried: the list accompanies an error message that a user waits for.
const PATIENCE_ALL: Duration = Duration::from_secs(10);

/// A logical unit of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// Logical unit number.
    pub lun: u16,
    /// INQUIRY data; `None` if the unit reports none.
    pub inquiry: Option<Inquiry>,
    /// Size, bytes; `None` if the unit reports none or has none.
    pub capacity_bytes: Option<u64>,
}

/// The logical units of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Units {
    /// The first ones.
    pub units: Vec<Unit>,
    /// Number of units not listed.
    pub more_count: usize,
}

/// Why the units of a target could not be listed.
#[derive(Debug, thiserror::Error)]
pub enum UnitsError {
    /// The session could not be opened.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// REPORT LUNS failed.
    #[error(transparent)]
    Command(#[from] CommandError),
}

/// Lists the units of a target through the first portal, and queries the first `details_max` of them. The unit in
/// `config` is ignored. Each query logs in once: this serves error messages, not speed.
pub fn units(config: &Config, details_max: usize) -> Result<Units, UnitsError> {
    let mut luns: Vec<u16> =
        question(config, 0)?.report_luns()?.into_iter().filter_map(lun_from_wire).collect();
    luns.sort_unstable();
    let more_count = luns.len().saturating_sub(details_max);
    let deadline = Instant::now() + PATIENCE_ALL;
    let asked = |lun| match Instant::now() < deadline {
        true => unit(config, lun),
        false => Unit { lun, inquiry: None, capacity_bytes: None },
    };
    let units = luns.into_iter().take(details_max).map(asked).collect();
    Ok(Units { units, more_count })
}

fn unit(config: &Config, lun: u16) -> Unit {
    let Ok(mut asked) = question(config, lun) else {
        return Unit { lun, inquiry: None, capacity_bytes: None };
    };
    let inquiry = asked.inquiry().ok();
    let is_disk = inquiry.as_ref().is_some_and(|inquiry| inquiry.device_type == 0);
    let mut capacity = || {
        let long = asked.read_capacity_16().ok();
        long.or_else(|| asked.read_capacity_10().ok().flatten()).map(|capacity| capacity.bytes())
    };
    let capacity_bytes = if is_disk { capacity() } else { None };
    Unit { lun, inquiry, capacity_bytes }
}

/// Opens a session for queries to a unit of any type.
fn question(config: &Config, lun: u16) -> Result<Initiator<Vec<u8>>, ConnectError> {
    let timeouts = Timeouts {
        connect: config.timeouts.connect.min(PATIENCE),
        login: config.timeouts.login.min(PATIENCE),
        command: PATIENCE,
        task_management: PATIENCE,
        no_path: PATIENCE,
        busy: PATIENCE,
        ..config.timeouts.clone()
    };
    let portals = config.portals.iter().take(1).cloned().collect();
    let config = Config { lun, portals, sessions_per_portal: 1, timeouts, ..config.clone() };
    Initiator::connect_to(config, SessionUse::Queries)
}
