//! What a drive says of its own health: asked by the programs that know how, where they are installed and permitted.

use std::process::Command;
use std::time::Duration;

use assay_record::{HostNote, NoteKind};
use serde_json::Value;

use super::Seen;
use crate::program::{answer, found};

/// A drive that does not answer must not hold up what asks it.
const ANSWER_WITHIN: Duration = Duration::from_secs(3);
/// Attributes of ATA that count errors: number, what they count, what to do.
const ERRORS: [(u64, &str, &str); 4] = [
    (5, "reallocated sectors", "Replace it soon."),
    (197, "pending sectors, which it could not read", "Back up, and replace it."),
    (198, "sectors that cannot be corrected", "Back up, and replace it."),
    (199, "CRC errors on its link", "Change the cable; the number stays, and must not rise."),
];
/// Levels of APM up to this let a disk spin down.
const SPIN_DOWN_MAX: u64 = 127;

/// Fields of the health log of NVMe: as `smartctl` names them, and as `nvme` does.
const NVME_FIELDS: [(&str, &str); 7] = [
    ("critical_warning", "critical_warning"),
    ("media_errors", "media_errors"),
    ("available_spare", "avail_spare"),
    ("available_spare_threshold", "spare_thresh"),
    ("percentage_used", "percent_used"),
    ("warning_temp_time", "warning_temp_time"),
    ("critical_comp_time", "critical_comp_time"),
];

/// The health log of NVMe in an answer of `smartctl`.
const NVME_LOG: &str = "nvme_smart_health_information_log";
/// Bits of its critical warning, and what the drive says by them.
const WARNINGS: [(u64, &str); 6] = [
    (1, "its spare blocks are nearly used up"),
    (2, "its temperature is beyond a limit"),
    (4, "it is not reliable any more"),
    (8, "it takes no writes any more"),
    (16, "what protects its cache has failed"),
    (32, "its persistent memory region cannot be relied on"),
];

/// Returns what `smartctl`, or else `nvme`, says of a disk. One that sleeps is left asleep.
pub(super) fn drive(seen: &Seen<'_>) -> Vec<HostNote> {
    let is_disk = seen.folder.join("device").exists() && !seen.folder.join("partition").exists();
    if !is_disk || !seen.machine.is_this() {
        return Vec::new();
    }
    let device = format!("/dev/{}", seen.name);
    let ask = |program, words: &[&str]| -> Option<Value> {
        let mut command = Command::new(program);
        command.args(words).arg(&device);
        // The exit status of smartctl has a bit for each thing that is wrong with the drive.
        serde_json::from_str(&answer(command, ANSWER_WITHIN).ok()?.out).ok()
    };
    let by_smartctl =
        found("smartctl").and_then(|program| ask(program, &["--json", "-a", "-g", "apm", "-n", "standby"]));
    let is_nvme = seen.name.starts_with("nvme");
    // An old smartctl knows no JSON, or no NVMe.
    if let Some(said) = by_smartctl.filter(|said| !is_nvme || said.get(NVME_LOG).is_some()) {
        return of_smart(&seen.name, &said);
    }
    let program = found("nvme").filter(|_| is_nvme);
    let said = program.and_then(|program| ask(program, &["smart-log", "-o", "json"]));
    said.map(|said| of_nvme(&seen.name, &said)).unwrap_or_default()
}

/// The notes on an answer of `nvme smart-log`.
pub(super) fn of_nvme(name: &str, said: &Value) -> Vec<HostNote> {
    let log: serde_json::Map<String, Value> = NVME_FIELDS
        .iter()
        .map(|(of_smartctl, own)| ((*of_smartctl).to_owned(), said[*own].clone()))
        .collect();
    let mut notes = of_smart(name, &serde_json::json!({ NVME_LOG: log }));
    notes.iter_mut().for_each(|note| note.path = format!("nvme smart-log /dev/{name}"));
    notes
}

/// The notes on an answer of `smartctl`.
pub(super) fn of_smart(name: &str, said: &Value) -> Vec<HostNote> {
    let number = |pointer: &str| said.pointer(pointer).and_then(whole);
    let nvme = |field: &str| number(&format!("/{NVME_LOG}/{field}"));
    let mut notes = Vec::new();
    let mut add =
        |kind, value: String, says: String, mend: &str| notes.push(note(name, kind, value, says, mend));
    if said.pointer("/smart_status/passed") == Some(&Value::Bool(false)) {
        add(
            NoteKind::DriveHealth,
            "FAILED".to_owned(),
            format!("{name} says of itself that it fails"),
            "Back up now, and replace it.",
        );
    }
    if let Some(bits) = nvme("critical_warning").filter(|bits| *bits != 0) {
        let says = WARNINGS.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, says)| *says);
        let mut says: Vec<&str> = says.collect();
        if says.is_empty() {
            says.push("a warning of a newer version of NVMe");
        }
        let says = format!("{name} warns (critical warning {bits:#04x}): {}", says.join(", "));
        add(NoteKind::DriveHealth, bits.to_string(), says, "Back up now, then cool it or replace it.");
    }
    for (attribute, what, mend) in ERRORS {
        if let Some(count) = ata(said, attribute).filter(|count| *count > 0) {
            add(NoteKind::DriveHealth, count.to_string(), format!("{name} has counted {count} {what}"), mend);
        }
    }
    if let Some(count) = nvme("media_errors").filter(|count| *count > 0) {
        let says = format!("{name} has counted {count} media errors: reads that it could not correct");
        add(NoteKind::DriveHealth, count.to_string(), says, "Back up, and replace it.");
    }
    if let (Some(spare), Some(least)) = (nvme("available_spare"), nvme("available_spare_threshold"))
        && spare < least
    {
        let says = format!("{name} has {spare} % of its spare blocks left, and {least} % is its own limit");
        add(NoteKind::DriveHealth, format!("{spare} %"), says, "Replace it.");
    }
    if let Some(used) = nvme("percentage_used").filter(|used| *used >= 100) {
        let says = format!("{name} has used {used} % of the writes that its maker promises");
        add(
            NoteKind::DriveHealth,
            format!("{used} %"),
            says,
            "Replace it: worn flash is slower and forgets.",
        );
    }
    let minutes = nvme("warning_temp_time").unwrap_or(0) + nvme("critical_comp_time").unwrap_or(0);
    if minutes > 0 {
        let says = format!("{name} was too hot for {minutes} minutes of its life: it slows itself down then");
        add(
            NoteKind::DriveWasHot,
            minutes.to_string(),
            says,
            "Cool it: air flow, a heat sink, another slot.",
        );
    }
    if let Some(level) = number("/ata_apm/level").filter(|level| (1..=SPIN_DOWN_MAX).contains(level)) {
        let says = format!(
            "{name} may spin down when it is idle (APM level {level}): the next I/O waits for seconds"
        );
        add(
            NoteKind::DriveSleeps,
            level.to_string(),
            says,
            &format!("Keep it turning: hdparm -B 254 /dev/{name}"),
        );
    }
    notes
}

/// A count, in any of the forms in which versions of these programs write one: 4, 4.0, "4", "4.000000", or an object
/// that has it as `value`.
fn whole(of: &Value) -> Option<u64> {
    let fraction = |number: f64| {
        let is_whole = (0.0..1e18).contains(&number) && number.fract() == 0.0;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole, and in range")]
        is_whole.then_some(number as u64)
    };
    match of {
        Value::Number(number) => number.as_u64().or_else(|| number.as_f64().and_then(fraction)),
        Value::String(text) => {
            let text = text.trim().replace(',', "");
            text.parse().ok().or_else(|| text.parse().ok().and_then(fraction))
        }
        Value::Object(fields) => fields.get("value").and_then(whole),
        _ => None,
    }
}

/// The raw value of an attribute; its lowest 32 bits are the count.
fn ata(said: &Value, id: u64) -> Option<u64> {
    let table = said.pointer("/ata_smart_attributes/table")?.as_array()?;
    let row = table.iter().find(|row| row["id"].as_u64() == Some(id))?;
    Some(row.pointer("/raw/value")?.as_u64()? & 0xffff_ffff)
}

fn note(name: &str, kind: NoteKind, value: String, says: String, mend: &str) -> HostNote {
    let path = format!("smartctl -a /dev/{name}");
    HostNote { kind, path, value, says, mend: mend.to_owned(), limit: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(of: &Value) -> Vec<(NoteKind, String)> {
        of_smart("sda", of).into_iter().map(|note| (note.kind, note.says)).collect()
    }

    #[test]
    fn errors_of_a_sata_disk_are_counted_and_a_healthy_one_is_no_note() {
        let attribute = |id: u64, raw: u64| json!({"id": id, "raw": {"value": raw}});
        let of = |pending: u64, passed: bool, apm: u64| {
            json!({
                "smart_status": {"passed": passed},
                "ata_apm": {"level": apm},
                "ata_smart_attributes": {"table": [attribute(9, 5123), attribute(197, pending)]},
            })
        };
        assert_eq!(said(&of(0, true, 254)), []);
        let [fails, pending, sleeps] = said(&of(8, false, 127)).try_into().unwrap();
        assert_eq!(fails.1, "sda says of itself that it fails");
        assert_eq!(pending.1, "sda has counted 8 pending sectors, which it could not read");
        assert_eq!(sleeps.0, NoteKind::DriveSleeps);
    }

    #[test]
    fn media_errors_spare_wear_and_heat_of_an_nvme_drive_are_shown() {
        let of = |errors: u64, spare: u64, used: u64, minutes: u64| {
            json!({"nvme_smart_health_information_log": {
                "media_errors": errors, "available_spare": spare, "available_spare_threshold": 10,
                "percentage_used": used, "warning_temp_time": minutes, "critical_comp_time": 0,
            }})
        };
        assert_eq!(said(&of(0, 100, 3, 0)), []);
        let all: Vec<String> = said(&of(4, 5, 104, 12)).into_iter().map(|(_, says)| says).collect();
        assert_eq!(
            all,
            [
                "sda has counted 4 media errors: reads that it could not correct",
                "sda has 5 % of its spare blocks left, and 10 % is its own limit",
                "sda has used 104 % of the writes that its maker promises",
                "sda was too hot for 12 minutes of its life: it slows itself down then",
            ]
        );
    }

    /// Without smartctl the health of a drive was not shown.
    #[test]
    fn what_nvme_says_of_a_drive_is_what_smartctl_says() {
        let said = json!({
            "critical_warning": 0, "avail_spare": 5, "spare_thresh": 10, "percent_used": 12, "media_errors": 4,
            "warning_temp_time": 0, "critical_comp_time": 0,
        });
        let notes = of_nvme("nvme0n1", &said);
        let says: Vec<&str> = notes.iter().map(|note| note.says.as_str()).collect();
        assert_eq!(
            says,
            [
                "nvme0n1 has counted 4 media errors: reads that it could not correct",
                "nvme0n1 has 5 % of its spare blocks left, and 10 % is its own limit",
            ]
        );
        assert!(notes.iter().all(|note| note.path == "nvme smart-log /dev/nvme0n1"), "{notes:?}");
        assert_eq!(of_nvme("nvme0n1", &json!({})), []);
    }

    /// Only an integer was read: media errors that a version writes as 4.0 or "4" were none.
    #[test]
    fn counts_of_nvme_are_read_in_every_form_and_warnings_are_shown() {
        for count in [json!(4), json!(4.0), json!("4"), json!("4.000000"), json!({"value": 4})] {
            let notes = of_nvme("nvme0n1", &json!({"media_errors": count}));
            assert_eq!(notes.len(), 1, "{count}");
            assert_eq!(notes[0].value, "4");
        }
        for none in [json!(0), json!(0.0), json!("0"), json!("many"), json!(-1), json!(0.5), Value::Null] {
            assert_eq!(of_nvme("nvme0n1", &json!({"media_errors": none})), [], "{none}");
        }
        let notes = of_nvme("nvme0n1", &json!({"critical_warning": 6}));
        assert_eq!(
            notes[0].says,
            "nvme0n1 warns (critical warning 0x06): its temperature is beyond a limit, it is not reliable any more"
        );
        assert_eq!(of_nvme("nvme0n1", &json!({"critical_warning": {"value": 1}})).len(), 1);
        let notes = of_nvme("nvme0n1", &json!({"critical_warning": 128}));
        assert!(notes[0].says.ends_with("(critical warning 0x80): a warning of a newer version of NVMe"));
    }
}
