//! Simulated arrays in real time, against what they are known to do. A program of its own, whose tests run one after
//! the other, because whatever else needs a CPU makes the I/Os of an array late. The time that the machine itself takes
//! is measured and allowed for.

#[path = "../fio/equal.rs"]
#[expect(clippy::unwrap_used, reason = "what fails here fails a test")]
mod equal;

use std::sync::{Mutex, MutexGuard, PoisonError};

use assay_testkit::need;
use assay_testkit::pauses::{Pauses, Watch};
use assay_testkit::story::{DONE, Story, is_slow_wanted};
use serde_json::Value;

/// Largest part of a value by which the machine may make it wrong: beyond, nothing was measured.
const ALLOWED_MAX: f64 = 0.9;
/// Times that a measurement is made again on a machine that is busy with something else.
const TRIES: usize = 3;

/// Waits for the other test to end.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a measurement until it is right, up to [`TRIES`] times where the machine was busy and once where it was not.
///
/// `measured` gets the number of the try; `fault` returns what is wrong with a result.
fn measure<T>(mut measured: impl FnMut(usize) -> T, fault: impl Fn(&T, Pauses) -> Option<String>) -> T {
    let mut faults = Vec::new();
    for count in 0..TRIES {
        let watch = Watch::begin();
        let result = measured(count);
        let pauses = watch.end();
        let Some(wrong) = fault(&result, pauses) else { return result };
        faults.push(format!("{wrong}\n{pauses:?}"));
        if !pauses.is_busy() {
            break;
        }
    }
    panic!("{}", faults.join("\n"));
}

/// Jobs of fio whose counts depend on time: rates, delays, ramps. A wake-up that is late is of the machine, so one that
/// differs is run again.
#[test]
fn fio_and_assay_do_the_same_in_the_same_time() {
    let _turn = alone();
    if !need::programs(&["fio"]) || !is_slow_wanted() {
        return;
    }
    let mut failed = Vec::new();
    for (name, text) in equal::cases(equal::Counts::OfTime) {
        let mut tries = (0..TRIES).map(|_| equal::compared(&name, &text));
        let mut differing = Vec::new();
        let is_equal = tries.any(|(row, is_equal)| {
            println!("{row}");
            differing.push(row);
            is_equal
        });
        if !is_equal {
            failed.extend(differing);
        }
    }
    assert!(failed.is_empty(), "differ:\n{}", failed.join("\n"));
}

/// The measuring side against a known truth: the same I/Os, seen by the simulated array and by the tool.
///
/// The array completes in hundredths of a second, so that a scheduler's pause of a millisecond does not count.
#[test]
fn a_simulated_array_is_measured_as_it_really_was() {
    let _turn = alone();
    let story = Story::new();
    let plan = story.write(
        "reads.toml",
        "[[test]]\nname = \"reads\"\nrun = \"4s\"\noutstanding = 16\n\
         access = [{ size = \"8KiB\", read = 100, random = 100 }]\n",
    );
    measure(
        |_| {
            let run =
                story.assay(&["run", &plan, "sim:hdd-7200", "--keep-awake", "--json"]).ends(DONE).json();
            let (total, truth) = (&run["tests"][0]["total"], &run["simulated_truth"][0]);
            assert_eq!(total["ops"], truth["ops"], "every I/O of the array was measured");
            let number = |value: &Value| value.as_f64().unwrap();
            let iops = number(&total["iops"]) / number(&truth["iops"]);
            (iops, number(&total["service_us"]["p99"]), number(&truth["p99_us"]))
        },
        |(iops, p99_us, true_us), pauses| {
            // An I/O is seen when its waiter gets a CPU.
            let late_us = (0.03 * true_us + pauses.p99.as_secs_f64() * 1e6).min(ALLOWED_MAX * true_us);
            let is_right = (iops - 1.0).abs() < 0.01 && (p99_us - true_us).abs() < late_us;
            (!is_right).then(|| format!("{iops} of the IOPS, p99 {p99_us} of {true_us} µs"))
        },
    );
}

/// About a minute: 39 steps in real time. How exact the fit itself is, a test of the model shows in virtual time
/// (`hidden_costs_of_a_software_target_are_recovered_within_ten_percent`).
#[test]
fn calibration_recovers_hidden_costs_through_the_whole_tool() {
    if !is_slow_wanted() {
        return;
    }
    let _turn = alone();
    let story = Story::new();
    // So large that a machine busy with something else, whose timers are a tenth of a millisecond late, changes
    // nothing.
    let secret = [
        ("read_op_us", 4000.0),
        ("read_kib_us", 20.0),
        ("write_op_us", 6000.0),
        ("write_kib_us", 40.0),
        ("serial_write_ms", 30.0),
    ];
    let shipped = story.assay(&["arrays", "show", "ix4-200d"]).ends(DONE).out;
    let without: String = shipped
        .lines()
        .filter(|line| {
            !["read_op_us", "read_kib_us", "write_op_us", "write_kib_us", "serial_", "workers"]
                .iter()
                .any(|key| line.starts_with(key))
        })
        .map(|line| format!("{line}\n"))
        .collect();
    let costs: String = secret
        .iter()
        .map(|(key, v)| format!("{key} = {{ value = {v}, from = \"assumed: hidden\" }}\n"))
        .collect();
    let sheet = story.write("sheet.toml", &without);
    let hidden = story.write("hidden.toml", without.replace("[target]\n", &format!("[target]\n{costs}")));
    let target = format!("sim:{hidden}");
    let calibrated = |count: usize| {
        let fitted = format!("fitted-{count}.toml");
        let args = ["calibrate", &target, "--array", &sheet, "-o", &fitted];
        let how = ["--run", "1s", "--rounds", "1", "--no-check", "--keep-awake"];
        (story.assay(&[&args[..], &how].concat()).ends(DONE).out, fitted)
    };
    let (_, fitted) = measure(calibrated, |(text, _), pauses| {
        // Each I/O is late by what its waiter waits for a CPU, and the shortest takes 4 ms; where the simulated array
        // waits, nothing is served at all, and costs that hide behind others are no longer seen.
        let share = (0.10 + pauses.mean.as_secs_f64() / 0.004 + 2.0 * pauses.share).min(ALLOWED_MAX);
        secret.iter().find_map(|(key, value)| {
            let line = text.lines().find(|line| line.contains(&format!("target.{key}")));
            let found: Option<f64> = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
            let is_right = found.map_or(pauses.is_busy(), |found| (found / value - 1.0).abs() < share);
            (!is_right).then(|| format!("{key}: {found:?} of {value}\n{text}"))
        })
    });
    let file = String::from_utf8(story.read(&fitted)).unwrap();
    assert!(file.contains("# Not to be used for:") && file.contains("calibrated: run"), "{file}");
    assert!(story.assay(&["predict", &fitted]).ends(DONE).out.contains("Limited by"));
}
