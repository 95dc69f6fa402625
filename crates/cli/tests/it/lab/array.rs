//! `assay lab`: a simulated array behind a real target and real links, from `up` to `down`. The kernel's FUSE and
//! network namespaces, tgt and nftables are real; where one is missing the story is skipped.

use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use assay_testkit::need;
use assay_testkit::story::{BAD_INPUT, DONE, ERRORS, Story};

/// Stories take turns: names decide about networks, and two could fall on the same.
static TURN: Mutex<()> = Mutex::new(());

/// A lab of this test alone; removed whatever happens.
pub(super) struct SimulatedLab {
    pub(super) story: Story,
    pub(super) name: String,
    _turn: MutexGuard<'static, ()>,
}

impl SimulatedLab {
    pub(super) fn new() -> Option<Self> {
        let is_possible = need::root()
            && need::programs(&["ip", "tc", "tgtd", "tgtadm", "nft", "setpriv"])
            && need::or_skip("no FUSE", Path::new("/dev/fuse").metadata()).is_some();
        let name = format!("t{}", std::process::id());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        is_possible.then(|| Self { story: Story::new(), name, _turn: turn })
    }

    pub(super) fn does(&self, words: &str) -> assay_testkit::story::ProgramOutput {
        let line: Vec<&str> =
            ["lab"].into_iter().chain(words.split(' ')).chain(["--name", &self.name]).collect();
        self.story.assay(&line)
    }

    pub(super) fn status(&self) -> serde_json::Value {
        let output = self.does("status --json");
        serde_json::from_str(&output.out).unwrap_or_else(|_| panic!("{}{}", output.out, output.err))
    }

    /// Processes, interfaces, namespaces, mounts and files that have the name of the lab.
    fn left(&self) -> Vec<String> {
        let said = |program: &str, args: &[&str]| {
            let output = Command::new(program).args(args).output().unwrap();
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let whole = [
            said("ip", &["-br", "link"]),
            said("ip", &["netns", "list"]),
            std::fs::read_to_string("/proc/mounts").unwrap(),
            said("ls", &["/dev/shm", "/var/run/tgtd"]),
            said("ps", &["-eo", "args"]),
        ];
        let of_lab = |line: &&str| {
            line.contains(&format!("{}-", self.name)) || line.contains(&format!("-{}", self.name))
        };
        whole.iter().flat_map(|text| text.lines()).filter(of_lab).map(str::to_owned).collect()
    }
}

impl Drop for SimulatedLab {
    fn drop(&mut self) {
        let _ = self.does("down");
    }
}

#[test]
fn a_lab_is_built_serves_breaks_is_mended_and_leaves_nothing() {
    let Some(lab) = SimulatedLab::new() else { return };
    assert_eq!(lab.left(), Vec::<String>::new(), "nothing of that name before");
    let up = lab.does("up ix4-200d --links 2x1GbE --size 64MiB");
    assert_eq!(up.code, Some(DONE), "{}{}", up.out, up.err);
    assert!(up.out.contains("over 2 links of 1 Gbit/s, MTU 1500"), "{}", up.out);
    assert_eq!(lab.does("up hdd-7200").code, Some(BAD_INPUT), "a second one of the same name");

    let before = lab.status();
    let address = before["address"].as_str().unwrap().to_owned();
    let plan = lab.story.write(
        "plan.toml",
        "name = \"p\"\n[defaults]\noutstanding = 8\nrun = \"1s\"\n[[test]]\nname = \"mixed\"\n\
         access = [{ size = \"8KiB\", read = 70, random = 50 }]\nverify = true\n",
    );
    let serial = before["serial"].as_str().unwrap();
    let run = lab.story.assay(&["run", &plan, &address, "--overwrite", serial, "--size", "16MiB", "--json"]);
    assert_eq!(run.code, Some(DONE), "what was written is read back: {}{}", run.out, run.err);
    let after = lab.status();
    let count = |status: &serde_json::Value, what: &str| status["served"][what].as_u64().unwrap();
    // The LUN was filled in pieces of at most 1 MiB.
    assert!(count(&after, "reads") > count(&before, "reads") && count(&after, "writes") >= 16, "{after:#}");
    assert!(after["served"]["late_us"]["answers"].as_u64().unwrap() > 100, "{after:#}");
    assert!(after["data_bytes_used"].as_u64().unwrap() >= 16 << 20, "the data is kept: {after:#}");

    for (fault, says) in [
        ("cut 2", "Link 2 is cut"),
        ("slow 1 50", "Link 1 is shaped to 50 Mbit/s"),
        ("mtu 1 1400", "The server's end of link 1 has MTU 1400"),
        ("loss 1 2.5", "Link 1 loses 2.5 % of the packets"),
        ("disk", "1 member of the array has failed"),
        ("server", "The server has crashed"),
    ] {
        let output = lab.does(&format!("break {fault}"));
        assert_eq!(output.code, Some(DONE), "{fault}: {}", output.err);
        assert!(output.out.starts_with(says), "{}", output.out);
    }
    assert_eq!(lab.does("break cut 3").code, Some(BAD_INPUT), "there is no link 3");
    assert_eq!(lab.does("break disk 3").code, Some(BAD_INPUT), "RAID 5 survives one");
    let broken = lab.status();
    assert_eq!(broken["broken"].as_array().unwrap().len(), 6, "{broken:#}");
    assert_eq!((&broken["served"]["serving"], &broken["links"][1]["is_down"]), (&false.into(), &true.into()));
    let mended = lab.does("mend");
    assert_eq!(mended.out.lines().count(), 6, "{}{}", mended.out, mended.err);
    let check = lab.story.assay(&["check", &address]);
    assert_eq!(check.code, Some(DONE), "{}{}", check.out, check.err);

    let down = lab.does("down");
    assert_eq!((down.code, down.out.as_str()), (Some(DONE), "The lab is removed.\n"), "{}", down.err);
    assert_eq!(lab.left(), Vec::<String>::new());
}

#[test]
fn a_lab_whose_processes_were_killed_is_removed_by_down() {
    let Some(lab) = SimulatedLab::new() else { return };
    assert_eq!(lab.does("up hdd-7200 --size 16MiB --links 1x1GbE").code, Some(DONE));
    let namespace = format!("assay-{}-array", lab.name);
    let pids = Command::new("ip").args(["netns", "pids", &namespace]).output().unwrap().stdout;
    for pid in String::from_utf8(pids).unwrap().split_whitespace() {
        assert!(Command::new("kill").args(["-9", pid]).status().unwrap().success());
    }
    // Half of its files is gone as well.
    std::fs::remove_file(format!("/dev/shm/{namespace}/lab.json")).unwrap();
    let status = lab.does("status");
    assert_eq!(status.code, Some(BAD_INPUT), "{}", status.out);
    assert_ne!(status.code, Some(ERRORS));
    assert_eq!(lab.does("down").code, Some(DONE));
    assert_eq!(lab.left(), Vec::<String>::new());
}
