//! Requirements of a test: root, a program, a feature of the kernel, time.
//!
//! A test cannot run without its requirements. It reports that here and returns: outside CI that is a skip, which is
//! printed, written to the file named by `ASSAY_SKIPPED` (`make test` sets it, and prints its content at the end) and
//! otherwise passes. With `CI=true` it is a failure that names the missing requirement, so that no green build hides
//! it.

use std::fmt::Display;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Variable set to `true` or `1` if a skip is a failure.
const CI: &str = "CI";
/// Variable with the file that gets a line for each skip.
const SKIPPED: &str = "ASSAY_SKIPPED";
/// Variable that lists features, such as kinds of network devices, that the kernel of a CI machine is known to lack and
/// that cannot be installed. Only these may be missing there.
const KERNEL_LACKS: &str = "ASSAY_KERNEL_LACKS";
/// Variable set if the slow tests are wanted as well.
const SLOW_TESTS: &str = "SLOW_TESTS";

/// Directories of system programs that are not in an ordinary user's search path.
const SYSTEM_FOLDERS: [&str; 2] = ["/usr/sbin", "/sbin"];

/// Reports that the calling test cannot run here because of `missing`. The test returns afterwards.
///
/// # Panics
/// With `CI=true`.
#[track_caller]
pub fn skip(missing: impl Display) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let is_ci = std::env::var(CI).is_ok_and(|value| is_yes(&value));
    assert!(!is_ci, "{test} cannot run: {missing}. With {CI}=true that is a failure");
    note(test, &missing);
}

/// Reports that a part of the calling test cannot run here because the kernel has no `feature`; `why` is the kernel's
/// error.
///
/// # Panics
/// With `CI=true`, unless `ASSAY_KERNEL_LACKS` lists the feature.
#[track_caller]
pub fn skip_for_kernel(feature: &str, why: impl Display) {
    let lacks = std::env::var(KERNEL_LACKS).unwrap_or_default();
    if lacks.split_whitespace().any(|lacking| lacking == feature) {
        let thread = std::thread::current();
        note(
            thread.name().unwrap_or("a test"),
            &format!("this kernel has no {feature}, as {KERNEL_LACKS} says"),
        );
    } else {
        skip(format!("this kernel has no {feature}: {why}"));
    }
}

fn is_yes(value: &str) -> bool {
    ["true", "1"].contains(&value)
}

#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn note(test: &str, missing: &impl Display) {
    eprintln!("skipped: {missing}");
    let Some(path) = std::env::var_os(SKIPPED) else { return };
    let program = std::env::current_exe().ok();
    let program =
        program.as_deref().and_then(Path::file_stem).map(|stem| stem.to_string_lossy().into_owned());
    // `it-0123456789abcdef`: the hash means nothing to a reader.
    let program = program.as_deref().and_then(|stem| stem.rsplit_once('-')).map_or("", |(name, _)| name);
    // One write, so that lines of parallel tests do not mix.
    let line = format!("{program}::{test}\t{missing}\n").replace("\n\n", "\n");
    let file = std::fs::File::options().create(true).append(true).open(&path);
    file.and_then(|mut file| file.write_all(line.as_bytes()))
        .unwrap_or_else(|error| panic!("cannot note a skip in {}: {error}", path.display()));
}

/// Returns the value, or skips the test because `what` is missing.
#[track_caller]
pub fn or_skip<T, E: Display>(what: &str, result: Result<T, E>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(why) => {
            // Messages of programs end with a line break, and some have several lines.
            let why = why.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
            skip(format!("{what}: {why}"));
            None
        }
    }
}

/// Returns true if the test runs as root; skips it otherwise.
#[track_caller]
pub fn root() -> bool {
    let is_root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    if !is_root {
        skip("root is needed");
    }
    is_root
}

/// Returns true if slow tests are wanted; skips the test otherwise.
#[track_caller]
pub fn slow() -> bool {
    let is_wanted = std::env::var_os(SLOW_TESTS).is_some();
    if !is_wanted {
        skip(format!("it is slow: {SLOW_TESTS}=1 runs it"));
    }
    is_wanted
}

/// Returns true if these programs are installed; skips the test otherwise.
#[track_caller]
pub fn programs(names: &[&str]) -> bool {
    let missing: Vec<&str> = names.iter().copied().filter(|name| !is_installed(name)).collect();
    if !missing.is_empty() {
        skip(format!("{} not installed: scripts/need.sh {}", missing.join(", "), missing.join(" ")));
    }
    missing.is_empty()
}

fn is_installed(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(SYSTEM_FOLDERS.map(Into::into));
    folders.into_iter().any(|folder| folder.join(name).is_file())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    /// Executed by the test below in the processes that it starts.
    #[test]
    #[ignore = "run by a_skip_is_recorded_outside_ci_and_fails_in_it"]
    fn one_that_needs_what_nobody_has() {
        let _ = super::programs(&["no-such-program", "sh"]);
    }

    #[test]
    fn a_skip_is_recorded_outside_ci_and_fails_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let noted = folder.path().join("skipped");
        let run = |ci: &str| {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(["--exact", "need::tests::one_that_needs_what_nobody_has", "--ignored"]);
            command.env("CI", ci).env("ASSAY_SKIPPED", &noted).output().unwrap()
        };
        assert!(run("false").status.success() && run("").status.success());
        let lines = std::fs::read_to_string(&noted).unwrap();
        let line = "assay_testkit::need::tests::one_that_needs_what_nobody_has\t\
                    no-such-program not installed: scripts/need.sh no-such-program\n";
        assert_eq!(lines, line.repeat(2), "a line for each");
        for ci in ["true", "1"] {
            let failed = run(ci);
            assert!(!failed.status.success());
            let said = String::from_utf8(failed.stdout).unwrap();
            assert!(said.contains("no-such-program not installed") && said.contains("CI=true"), "{said}");
        }
        assert_eq!(std::fs::read_to_string(&noted).unwrap(), lines, "a failure is no skip");
    }
}
