//! File systems that are mounted read-only: what is said of them, and that it is said first.

use assay_testkit::need;

use crate::story::{DONE, Story};

/// A directory on which a read-only file system is mounted; unmounted with the story.
struct Mounted(std::path::PathBuf);

impl Mounted {
    fn new(story: &Story) -> Self {
        let place = story.path("ro");
        std::fs::create_dir(&place).unwrap();
        let run = |args: &[&str]| {
            let mount = std::process::Command::new("mount").args(args).status();
            assert!(mount.unwrap().success(), "mount {args:?}");
        };
        let name = place.to_str().unwrap();
        run(&["-t", "tmpfs", "-o", "size=16m", "none", name]);
        let mounted = Self(place.clone());
        std::fs::write(place.join("there.dat"), vec![7; 1 << 20]).unwrap();
        let own = ["run", "vmware", "ro/own.dat", "--size", "1MiB", "--set", "ops=100", "--cached"];
        story.assay(&own).ends(DONE);
        run(&["-o", "remount,ro", name]);
        mounted
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(&self.0).status();
    }
}

/// The answers were to run as root (as root), to overwrite a file that cannot be overwritten, and that a run creates
/// what it cannot create; a report that could not be written was found out after the run.
#[test]
fn a_read_only_mount_is_the_first_thing_that_is_said() {
    if !need::root() {
        return;
    }
    let story = Story::new();
    let mounted = Mounted::new(&story);
    let remount = format!("mount -o remount,rw {}", mounted.0.display());
    let new = story.assay(&["run", "vmware", "ro/new.dat", "--quick", "--size", "1MiB"]);
    new.refused(&["ro/new.dat does not exist and cannot be created: ", "is mounted read-only", &remount]);
    let there = ["run", "vmware", "ro/there.dat", "--quick", "--size", "1MiB"];
    let words = ["\"RealLife", "is mounted read-only", "only read it (--set read=100)", &remount];
    story.assay(&there).refused(&words);
    story.assay(&[&there[..], &["--overwrite", "ro/there.dat"]].concat()).refused(&words);
    story.assay(&[&there[..], &["--set", "read=100", "--set", "ops=100", "--cached"]].concat()).ends(DONE);
    // Assay's own file was to be opened for writing, also where the answer above was to read it only.
    let own = ["run", "vmware", "ro/own.dat", "--set", "read=100", "--set", "ops=100", "--cached"];
    story.assay(&own).ends(DONE);
    story.assay(&["ro/new.dat"]).refused(&["cannot be created", &remount]);
    let look = story.assay(&["ro"]).ends(DONE).says(&["mounted read-only", &remount]);
    assert!(!look.out.contains("Next:") && !look.out.contains("run as root"), "{}", look.out);
    let report = ["run", "vmware", "null:", "--set", "ops=100", "-o", "ro/out.html"];
    story.assay(&report).refused(&["cannot write to ro/out.html", "is mounted read-only"]);
}
