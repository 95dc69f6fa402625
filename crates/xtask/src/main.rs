//! The project's own tools, as `cargo xtask VERB`: `bench` compares with fio, `day` reads a day of intervals,
//! `diagnose-real` diagnoses causes planted on real targets, `faults` runs the fault matrix, `fuzz` runs the fuzz
//! targets, `histogram` compares histograms, `simulate` tortures the multipath core in virtual time, `site` builds the
//! documentation, `soak-day` runs for long over paths that fail, `validate-diagnosis` diagnoses planted set-ups.
//!
//! The tidy rules are a test of this package (`tests/tidy`). Assay is measured as the program that a user runs; only
//! the test servers (`testkit`) and the spinners that keep CPUs awake (`host`) are linked.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program that talks to people")]

mod bench;
mod bugs;
mod day;
mod faults;
mod fuzz;
mod histogram;
mod real;
mod site;
mod soak;

use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask bench [--case TEXT]... [--rounds N] [--seconds N] [--size-mib N] [--disk FOLDER]
                  [--fio-iscsi PATH] [--fio-nfs PATH]
    compares Assay with fio, in turns; --case takes a part of a case's name: null, tmpfs, disk, iscsi, lean, nfs,
    memory. The cases iscsi, lean and nfs need an fio that has the engine libiscsi or nfs; FIO=PATH names one for all
cargo xtask day [SECONDS]
    makes a day (86400 s) of intervals from 20 s of a real run: size of the store, time and memory of show, report, page
cargo xtask diagnose-real [--budgets 30s,2min,10min] [--program ASSAY] [--script PATH]... [CASE]...
    diagnoses causes planted on this machine and under QEMU, unattended: scripts/diagnosis-planted.sh and
    scripts/diagnosis-vm.sh, or the scripts named; what was right, and what was said of which cause (needs root)
cargo xtask faults [--minutes N] [--kills N] [CELL]...
    runs the fault matrix (cells such as kill/fill/lun) at least once, for N minutes, after N kills; see docs/safety.md
    (needs root)
cargo xtask fuzz [--seconds N] [TARGET]...
    runs every fuzz target, or those with TARGET in their names, for N seconds each (2); see crates/fuzz
cargo xtask histogram
    measures the cost of recording one latency: hdrhistogram and a plain array
cargo xtask simulate [--seed N [--trace]] [--from N] [--seeds N | --hours H] [--first]
    tortures the multipath core of the iSCSI client in virtual time, 2000 seeds by default; see crates/simulate
cargo xtask simulate --bugs [NAME]...
    plants each bug of crates/simulate/bugs in a copy of the core, and counts the seeds until it is found
cargo xtask site [ASSAY]
    builds the documentation as a site in target/docs/site, with mdbook and the program ASSAY (target/debug/assay), and
    follows every link of it
cargo xtask soak-day [--minutes N]
    runs for N (120) minutes in verify mode over two paths, one of which is cut every minute; memory, descriptors and
    threads must stay flat
cargo xtask validate-diagnosis [SET_UPS [FIRST_SEED] | stripes]
    prints docs/diagnosis-validation.md: diagnoses of so many (2000) planted set-ups of each half, in virtual time;
    stripes: only which slow members of stripes are named";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let result = match args.first().map(String::as_str) {
        Some("bench") => bench::bench(&args[1..]),
        // A subject of `bench`, not for people.
        Some("bare") => bench::bare(&args[1..]),
        Some("day") => day::day(&args[1..]),
        Some("diagnose-real") => real::diagnose_real(&args[1..]),
        Some("faults") => faults::faults(&args[1..]),
        Some("fuzz") => fuzz::fuzz(&args[1..]),
        Some("histogram") => {
            histogram::histogram();
            Ok(())
        }
        Some("site") => site::site(args.get(1).map_or("target/debug/assay", String::as_str)),
        Some("simulate") if args.get(1).is_some_and(|arg| arg == "--bugs") => bugs::bugs(&args[2..]),
        Some("simulate") => simulate(&args[1..]),
        Some("soak-day") => soak::soak(&args[1..]),
        Some("validate-diagnosis") => validate_diagnosis(&args[1..]),
        _ => Err(anyhow::anyhow!("give a verb\n{USAGE}")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn simulate(args: &[String]) -> anyhow::Result<()> {
    anyhow::ensure!(
        assay_simulate::program(args),
        "a seed violates an oracle; it replays with --seed N --trace"
    );
    Ok(())
}

/// Arguments: the number of set-ups, and the first seed of the only section that is wanted.
fn validate_diagnosis(args: &[String]) -> anyhow::Result<()> {
    if args.first().is_some_and(|word| word == "stripes") {
        print!("{}", assay_planted::stripes());
        return Ok(());
    }
    let set_ups = args.first().map_or(Ok(2000), |set_ups| set_ups.parse())?;
    let from = args.get(1).map(|from| from.parse::<u64>()).transpose()?;
    let text = match from {
        None => assay_planted::document(set_ups),
        Some(from) => assay_planted::sections("Planted set-ups", from, set_ups),
    };
    print!("{text}");
    Ok(())
}
