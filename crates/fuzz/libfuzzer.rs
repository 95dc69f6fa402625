//! Runs libFuzzer on one target, named by ASSAY_FUZZ. Built and run by `make fuzz` (`cargo xtask fuzz`).
#![no_main]
#![expect(clippy::print_stdout, reason = "a list is asked for")]

use std::sync::LazyLock;

use assay_fuzz::Target;

static TARGET: LazyLock<&'static Target> = LazyLock::new(|| {
    let name = std::env::var("ASSAY_FUZZ").unwrap_or_default();
    assay_fuzz::find(&name).unwrap_or_else(|| panic!("ASSAY_FUZZ={name} is no fuzz target"))
});

/// Prints name, longest input and seed directories of every target, for the program that runs them.
fn list() {
    if std::env::var("ASSAY_FUZZ").is_ok_and(|name| name == "list") {
        for target in assay_fuzz::TARGETS {
            println!("{} {} {}", target.name, target.bytes_max, target.seeds.join(" "));
        }
        std::process::exit(0);
    }
}

libfuzzer_sys::fuzz_target!(init: list(), |data: &[u8]| (TARGET.run)(data));
