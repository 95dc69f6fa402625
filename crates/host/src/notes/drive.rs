//! The drive itself: states in which it saves power, and its temperature.

use std::path::PathBuf;

use assay_record::{HostNote, NoteKind};

use super::Seen;
use crate::machine::{attribute, name_of, names_in, number};

/// A power state of an NVMe drive that takes less time to leave, µs, is lost in the latency of its flash.
const SHORT_EXIT_US: i64 = 100;
/// Thousandths of a degree in one.
const MILLI: f64 = 1000.0;

/// An NVMe drive may choose states that take long to leave (APST).
pub(super) fn nvme_sleeps(seen: &Seen<'_>) -> Option<HostNote> {
    let is_controller = |folder: &&std::path::Path| {
        name_of(folder).strip_prefix("nvme").is_some_and(|number| number.parse::<u32>().is_ok())
    };
    let controller = seen.folder.ancestors().skip(1).find(is_controller)?;
    let file = controller.join("power/pm_qos_latency_tolerance_us");
    let tolerated = number::<i64>(&file).filter(|us| *us > SHORT_EXIT_US)?;
    let says = format!(
        "{} may enter power states that take up to {tolerated} µs to leave (APST): the first I/O after a pause waits",
        seen.name
    );
    let mend = |path: &str| format!("Keep it awake for the test: echo 0 > {path}");
    Some(seen.note(NoteKind::DriveSleeps, &file, tolerated.to_string(), says, mend))
}

/// The kernel turns the device off when it is idle.
pub(super) fn suspends(seen: &Seen<'_>) -> Option<HostNote> {
    let power = seen.folder.join("device/power");
    let delay = number::<i64>(&power.join("autosuspend_delay_ms")).filter(|ms| *ms >= 0)?;
    let file = power.join("control");
    let value = attribute(&file).filter(|value| value == "auto")?;
    let says = format!(
        "the kernel suspends {} after {delay} ms without I/O: the next I/O waits until it runs again",
        seen.name
    );
    let mend = |path: &str| format!("Keep it awake for the test: echo on > {path}");
    Some(seen.note(NoteKind::DriveSleeps, &file, value, says, mend))
}

/// A drive at its limit slows itself down.
pub(super) fn hot(seen: &Seen<'_>) -> Option<HostNote> {
    let sensor = sensors(seen).into_iter().find(|sensor| sensor.join("temp1_input").exists())?;
    let file = sensor.join("temp1_input");
    let degrees = |file: &str| Some(number::<f64>(&sensor.join(file))? / MILLI);
    let (now, most) = (degrees("temp1_input")?, degrees("temp1_max").or_else(|| degrees("temp1_crit"))?);
    let is_alarm = number::<u32>(&sensor.join("temp1_alarm")) == Some(1);
    if now < most && !is_alarm {
        return None;
    }
    let says = format!(
        "{} is {now:.0} °C hot, and {most:.0} °C is its limit: drives slow themselves down there",
        seen.name
    );
    let mend = |_: &str| {
        format!("Cool it, and let it rest before the test; smartctl -a /dev/{} has its history.", seen.name)
    };
    Some(seen.note(NoteKind::HotDrive, &file, attribute(&file)?, says, mend))
}

/// Directories of hwmon: below the SCSI device (`drivetemp`), or below the NVMe controller.
fn sensors(seen: &Seen<'_>) -> Vec<PathBuf> {
    let device = seen.folder.join("device");
    let below = |folder: PathBuf| -> Vec<PathBuf> {
        let names = names_in(&folder).into_iter().filter(|name| name.starts_with("hwmon") && name != "hwmon");
        names.map(|name| folder.join(name)).collect()
    };
    [below(device.clone()), below(device.join("hwmon"))].concat()
}
