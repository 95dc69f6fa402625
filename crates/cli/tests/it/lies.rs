//! The program against servers that lie (`testkit::lying`): it ends by itself, with a message, an exit code that means
//! something, and no panic. What the clients make of every lie is tested in `iscsi` and `nfs`.

use std::time::{Duration, Instant};

use assay_testkit::lying::nfs::LyingNfs;
use assay_testkit::lying::target::{LyingTarget, NAME, serial};
use assay_testkit::lying::{nfs_lies, target_lies};

use crate::story::{DONE, ProgramOutput, Story};

/// The longest of the default limits of time, and some more for a busy machine.
const LIMIT: Duration = Duration::from_secs(60);
const PLAN: &str = "[[test]]\nname=\"t\"\nrun=\"200ms\"\naccess=[{size=\"8KiB\",read=50,random=50}]\n";

const TARGET_LIES: [&str; 10] = [
    "hangs up at the login",
    "never leaves the login stage",
    "agrees on bursts of 0 bytes",
    "has blocks of 0 bytes",
    "has 2^64 blocks",
    "sends data beyond the end of a READ",
    "sends noise",
    "is write-protected",
    "ends a WRITE before it has its data",
    "is honest",
];
const NFS_LIES: [&str; 9] = [
    "announces 2 GiB",
    "speaks another RPC",
    "refuses the mount",
    "mounts with a handle of 65 bytes",
    "exports for ever",
    "reads more than was asked for",
    "has no space for a WRITE",
    "becomes read-only",
    "is honest",
];

/// Runs the program and checks what every run must keep.
fn check(lie: &str, story: &Story, words: &[&str]) {
    let began = Instant::now();
    let ProgramOutput { code, out, err } = story.assay(words);
    let took = began.elapsed();
    assert!(took < LIMIT, "{lie}: {words:?} took {took:?}\n{err}");
    assert!(matches!(code, Some(0..=2)) && !err.contains("panicked"), "{lie}: {code:?}\n{err}");
    assert!(
        code == Some(DONE) || !err.trim().is_empty() || !out.trim().is_empty(),
        "{lie}: {code:?} says nothing"
    );
    assert!(lie != "is honest" || code == Some(DONE), "{words:?}: {code:?}\n{out}\n{err}");
}

#[test]
fn a_target_that_lies_gets_a_message_and_an_exit_code() {
    std::thread::scope(|scope| {
        for name in TARGET_LIES {
            let lie = target_lies::LIES.iter().flat_map(|group| group.iter()).find(|lie| lie.name == name);
            let lie = lie.unwrap_or_else(|| panic!("{name} is no lie"));
            scope.spawn(move || {
                let target = LyingTarget::start(lie.digests, move |asked, honest| lie.tell(asked, honest));
                let story = Story::new();
                story.write("plan.toml", PLAN);
                let port = target.portal.rsplit(':').next().unwrap().parse().unwrap();
                let serial = serial(port);
                // Runs on targets of one name take turns.
                let address = format!("iscsi://{}/{NAME}-{port}/0", target.portal);
                check(lie.name, &story, &["check", &address]);
                check(lie.name, &story, &["run", "plan.toml", &address, "--overwrite", &serial]);
                check(lie.name, &story, &["runs"]);
            });
        }
    });
}

#[test]
fn an_nfs_server_that_lies_gets_a_message_and_an_exit_code() {
    std::thread::scope(|scope| {
        for name in NFS_LIES {
            let lie = nfs_lies::LIES.iter().flat_map(|group| group.iter()).find(|lie| lie.name == name);
            let lie = lie.unwrap_or_else(|| panic!("{name} is no lie"));
            scope.spawn(move || {
                let server = LyingNfs::start(move |asked, honest| lie.tell(asked, honest));
                let story = Story::new();
                story.write("plan.toml", PLAN);
                let ports = format!("?port={0}&mountport={0}&timeout=5", server.port);
                let address = format!("nfs://127.0.0.1/export/t.dat{ports}");
                check(lie.name, &story, &["check", &address]);
                check(lie.name, &story, &["run", "plan.toml", &address, "--size", "1MiB"]);
                check(lie.name, &story, &["runs"]);
            });
        }
    });
}
