//! Agents on a real nats-server, as their users see them.

use std::io::{BufRead as _, BufReader};
use std::process::ChildStderr;

use assay_testkit::nats;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::baseline::UNDECIDED;
use crate::story::{BAD_INPUT, DONE, Running, Story};

#[test]
fn an_agent_is_listed_until_a_signal_ends_it() {
    let Some(nats) = nats::start("") else { return };
    let (story, url) = (Story::new(), nats.url());
    let nobody = story.assay(&["hosts", "--nats", &url]);
    assert!(nobody.code == Some(DONE) && nobody.out.contains("No agent is on"), "{nobody:?}");

    // A thread that resolved the name of the server took the signal, and the agent did not leave.
    let by_name = url.replace("127.0.0.1", "localhost");
    let mut agent = story.start(&["agent", "--nats", &by_name, "--name", "esx1-vm3"]);
    let mut said = String::new();
    BufReader::new(agent.child().stderr.take().unwrap()).read_line(&mut said).unwrap();
    assert!(said.starts_with("agent esx1-vm3 is on"), "{said}");
    let listed = story.assay(&["hosts", "--nats", &url]);
    assert!(listed.out.contains("esx1-vm3  ready"), "{listed:?}");
    let listed = story.assay(&["hosts", "--nats", &url, "--json"]).json();
    let host = &listed["hosts"][0];
    assert_eq!((&listed["schema"], &host["state"]), (&"assay.hosts/1".into(), &"ready".into()));
    assert!(host["clock_error_ns"].is_u64() && host["facts"]["kernel"].is_string(), "{host}");

    let taken = story.assay(&["agent", "--nats", &url, "--name", "esx1-vm3"]);
    assert!(taken.code == Some(BAD_INPUT) && taken.err.contains("--name"), "{taken:?}");

    let pid = Pid::from_raw(i32::try_from(agent.child().id()).unwrap());
    kill(pid, Signal::SIGTERM).unwrap();
    assert_eq!(agent.child().wait().unwrap().code(), Some(DONE));
    let nobody = story.assay(&["hosts", "--nats", &url]);
    assert!(nobody.out.contains("No agent is on"), "{nobody:?}");
}

/// An agent that said that it is on the bus.
fn agent(story: &Story, url: &str, name: &str) -> Running {
    let mut agent = story.start(&["agent", "--nats", url, "--name", name]);
    let mut said = String::new();
    BufReader::new(agent.child().stderr.take().unwrap()).read_line(&mut said).unwrap();
    assert!(said.starts_with(&format!("agent {name} is on")), "{said}");
    agent
}

/// What a run says, from its first step on.
fn begun(run: &mut Running) -> BufReader<ChildStderr> {
    let mut said = BufReader::new(run.child().stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("step") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "the run has ended");
    }
    said
}

const READS: &str = "[[test]]\nname = \"reads\"\naccess = [{ size = \"4KiB\" }]\nrun = \"1s\"\n";

#[test]
fn a_plan_runs_over_two_agents_and_is_shown_like_any_run() {
    let Some(nats) = nats::start("") else { return };
    let (story, url) = (Story::new(), nats.url());
    let agents = ["a", "b"].map(|name| agent(&story, &url, name));
    story.write("p.toml", READS);
    let run = story.assay(&["run", "p.toml", "null:", "--hosts", "a,b", "--nats", &url, "--json"]);
    assert_eq!(run.code, Some(DONE), "{run:?}");
    let test = &run.json()["tests"][0];
    let rows: Vec<&str> =
        test["jobs"].as_array().unwrap().iter().map(|job| job["name"].as_str().unwrap()).collect();
    assert_eq!(rows, ["a", "b"]);
    assert!(test["hosts"]["start_skew_us"].is_number() && test["hosts"]["slowest"].is_string(), "{test}");
    let shown = story.assay(&["show", "last"]);
    assert!(shown.out.contains("Hosts in reads: 2 with"), "{shown:?}");
    let csv = story.assay(&["show", "last", "--format", "csv"]);
    assert!(csv.out.contains("\na,") && csv.out.contains("\nb,"), "{csv:?}");

    let nobody = story.assay(&["run", "p.toml", "null:", "--hosts", "a,z", "--nats", &url]);
    assert!(nobody.code == Some(BAD_INPUT) && nobody.err.contains("no agent named z"), "{nobody:?}");
    let writes = story.assay(&["run", "p.toml", "/etc/assay-{host}", "--hosts", "all", "--nats", &url]);
    assert!(
        writes.code == Some(BAD_INPUT) && writes.err.contains("does not name /etc/assay-b"),
        "{writes:?}"
    );
    drop(agents);
}

/// The gate asked for a baseline of `null:`, and those of such a run are of `a:null:`.
#[test]
fn a_run_over_hosts_is_compared_with_the_baseline_of_such_a_run() {
    let Some(nats) = nats::start("") else { return };
    let (story, url) = (Story::new(), nats.url());
    let _agents = ["a", "b"].map(|name| agent(&story, &url, name));
    story.write("p.toml", READS);
    let run = ["run", "p.toml", "null:", "--hosts", "all", "--nats", &url, "--json"];
    let gated = |gate: &str| story.assay(&[&run[..], &["--fail-if", gate]].concat());
    let without = gated("iops -99%");
    assert!(without.code == Some(BAD_INPUT) && without.err.contains("none is set"), "{without:?}");
    assert_eq!(story.assay(&run).code, Some(DONE));
    let set = story.assay(&["baseline", "set", "last"]);
    assert!(set.code == Some(DONE) && set.err.contains("on a:null: are compared with run"), "{set:?}");
    assert_eq!(gated("iops -99%").code, Some(DONE));
    let alone = story.assay(&["run", "p.toml", "null:", "--fail-if", "iops -99%"]);
    assert!(alone.code == Some(BAD_INPUT) && alone.err.contains("none is set"), "{alone:?}");
}

/// "all" were then hosts without a baseline: repetitions passed, and a single run blamed a baseline that cannot be
/// read.
#[test]
fn a_gate_over_hosts_of_which_none_has_a_baseline_is_undecided() {
    let Some(nats) = nats::start("") else { return };
    let (story, url) = (Story::new(), nats.url());
    let mut a = agent(&story, &url, "a");
    story.write("p.toml", READS.replace("1s", "100ms"));
    let run = ["run", "p.toml", "null:", "--hosts", "all", "--nats", &url];
    assert_eq!(story.assay(&run).code, Some(DONE));
    assert_eq!(story.assay(&["baseline", "set", "last"]).code, Some(DONE));
    kill(Pid::from_raw(i32::try_from(a.child().id()).unwrap()), Signal::SIGTERM).unwrap();
    a.child().wait().unwrap();
    let _others = ["b", "c"].map(|name| agent(&story, &url, name));
    for repetitions in ["2", "1"] {
        let gated = story.assay(&[&run[..], &["--repeat", repetitions, "--fail-if", "iops -99%"]].concat());
        let says = "UNDECIDED IOPS -99%: nothing was compared: none of the 2 hosts has a baseline";
        gated.ends(UNDECIDED).says(&[says]);
    }
}

/// The commands of the next steps were those of a run on one host.
#[test]
fn a_journal_over_hosts_prints_commands_over_hosts() {
    let Some(nats) = nats::start("") else { return };
    let (story, url) = (Story::new(), nats.url());
    let _agents = ["a", "b"].map(|name| agent(&story, &url, name));
    story.write("p.toml", READS.replace("1s", "100ms"));
    let on = ["--hosts", "a,b", "--nats", &url];
    let new = |words: &[&str]| story.assay(&[&["journal", "new"], words].concat()).ends(DONE).out;
    let begun = new(&[
        "own", "/mnt/{host}/t.dat", "p.toml", "--storage-ram", "16GiB", "--hosts", "a,b", "--nats", &url,
    ]);
    let command = format!("p.toml '/mnt/{{host}}/t.dat' --hosts a,b --nats {url} --size 2GiB");
    assert!(begun.contains(&command), "a quarter of the memory, in two parts: {begun}");
    let all = ["--storage-ram", "16GiB", "--hosts", "all", "--nats", &url];
    let begun = new(&[&["all", "/mnt/{host}/all.dat", "p.toml"], &all[..]].concat());
    assert!(
        begun.contains("--size SIZE"),
        "each host has a part of it, and their number is not known: {begun}"
    );
    let mut secret = story.command(&["journal", "new", "kept", "null:", "p.toml", "--hosts", "a,b"]);
    let secret = secret.env("ASSAY_NATS", "nats://me:hush@127.0.0.1:4222").output().unwrap();
    crate::story::printed(secret).ends(BAD_INPUT).says(&["must not contain a user or a password"]);
    assert!(!story.assay(&["journal", "list"]).ends(DONE).out.contains("kept"));
    // An earlier version kept it.
    let old = r#"{"targets":["null:"],"plan":"p.toml","storage_ram_bytes":null,
        "on":{"hosts":["a"],"nats":"nats://me:hush@bus:4222"}}"#;
    let kept = assay_store::Store::open(story.path("store.sqlite")).unwrap();
    assert!(kept.add_journal("old", old).unwrap());
    drop(kept);
    for words in [&["journal", "show", "old"][..], &["journal", "list"], &["journal", "list", "--json"]] {
        let said = story.assay(words).ends(DONE);
        assert!(!said.out.contains("hush") && !said.err.contains("hush"), "{said:?}");
    }
    assert!(story.assay(&["journal", "show", "old"]).out.contains("--nats nats://bus:4222"));
    let other = ["run", "p.toml", "/mnt/{host}/t.dat", "--step", "x", "--journal", "own", "--hosts", "a"];
    let other = story.assay(&[&other[..], &["--nats", &url]].concat());
    other.ends(BAD_INPUT).says(&["over the hosts a,b; steps with another plan"]);
    new(&["later", "null:", "p.toml"]);
    story.assay(&[&["run", "p.toml", "null:", "--step", "as found"], &on[..]].concat()).ends(DONE);
    let shown = story.assay(&["journal", "show", "later"]).ends(DONE).out;
    assert!(shown.contains("null: --hosts a,b --nats nats://HOST:4222 --size"), "{shown}");
}

/// The price of a file of this machine, and the memory that was stated of it, were those of a run of other machines on
/// a path of the same name.
#[test]
fn what_is_known_of_a_path_of_this_machine_is_not_known_of_that_of_another() {
    let Some(nats) = nats::start("") else { return };
    let (story, url) = (Story::new(), nats.url());
    let path = story.write("t.dat", vec![7; 1 << 20]);
    let config = story.write("agent.toml", format!("[[target]]\npattern = \"{path}\"\n"));
    let mut a = story.start(&["agent", "--nats", &url, "--name", "a", "--config", &config]);
    let mut said = String::new();
    BufReader::new(a.child().stderr.take().unwrap()).read_line(&mut said).unwrap();
    story.write("p.toml", READS.replace("1s", "100ms"));
    story.assay(&["target", "set", &path, "--price", "900EUR"]).ends(DONE);
    let run = |words: &[&str]| {
        story.assay(&[&["run", "p.toml", &path, "--json"][..], words].concat()).ends(DONE).json()
    };
    let here = run(&["--storage-ram", "16GiB"]);
    assert!(
        here["price"].is_object() && here["stated"]["storage_bytes"] == 16_u64 << 30,
        "{}",
        here["stated"]
    );
    let on = ["--hosts", "a", "--nats", &url];
    let there = run(&on);
    assert!(there["price"].is_null() && there["stated"]["storage_bytes"].is_null(), "{}", there["stated"]);
    let stated = run(&[&on[..], &["--storage-ram", "8GiB"]].concat());
    assert_eq!(stated["stated"]["storage_bytes"], 8_u64 << 30);
    let again = run(&on);
    assert_eq!(again["stated"]["storage_bytes"], 8_u64 << 30, "it is asked for once");
}

/// Each host simulates an array of its own: two of them together were judged as one, at twice what it can do, and an
/// array for each host by its name was looked for under the name {host}.
#[test]
fn simulated_arrays_of_hosts_are_not_one_array() {
    let Some(nats) = nats::start("") else { return };
    let (story, url) = (Story::new(), nats.url());
    let _agents = ["nvme", "ssd-sata"].map(|name| agent(&story, &url, name));
    story.write("p.toml", READS.replace("1s", "300ms"));
    for target in ["sim:nvme", "sim:{host}"] {
        let run = ["run", "p.toml", target, "--hosts", "nvme,ssd-sata", "--nats", &url, "--json"];
        let held = story.assay(&[&run[..], &["--size", "1GiB"]].concat()).ends(DONE).json();
        assert!(held["array"].is_null() && held["verdict"].is_null(), "{target}: {}", held["verdict"]);
        let one = ["run", "p.toml", target, "--hosts", "nvme", "--nats", &url, "--size", "1GiB", "--json"];
        let held = story.assay(&one).ends(DONE).json();
        assert!(!held["array"].is_null(), "{target} of one host");
    }
}

/// An agent is killed in the middle and started anew: it knows nothing of the run, which ends with the other one.
#[test]
fn a_host_whose_agent_was_killed_is_named_and_the_others_go_on() {
    let Some(nats) = nats::start("") else { return };
    let (story, url) = (Story::new(), nats.url());
    let _a = agent(&story, &url, "a");
    let mut b = agent(&story, &url, "b");
    story.write("p.toml", READS.replace("1s", "3s"));
    let mut run = story.start(&["run", "p.toml", "null:", "--hosts", "all", "--nats", &url]);
    let _said = begun(&mut run);
    b.child().kill().unwrap();
    b.child().wait().unwrap();
    let _again = agent(&story, &url, "b");
    assert_eq!(run.child().wait().unwrap().code(), Some(1));
    let shown = story.assay(&["show", "last", "--json"]).json();
    let hosts = shown["tests"][0]["hosts"]["hosts"].as_array().unwrap().clone();
    assert!(hosts[0]["lost"].is_null() && hosts[1]["lost"].is_string(), "{hosts:?}");
    assert!(shown["findings"].to_string().contains("Host b was lost"), "{}", shown["findings"]);
}

/// The command was printed, and it said that `a:null:` looks like an address.
#[test]
fn a_run_over_hosts_that_was_stopped_is_not_said_to_be_resumed() {
    let Some(nats) = nats::start("") else { return };
    let (story, url) = (Story::new(), nats.url());
    let _a = agent(&story, &url, "a");
    story.write("p.toml", READS.replace("1s", "1h"));
    let mut run = story.start(&["run", "p.toml", "null:", "--hosts", "all", "--nats", &url]);
    let mut said = begun(&mut run);
    while story.assay(&["runs", "--json"]).out.trim() == "[]" {}
    kill(Pid::from_raw(i32::try_from(run.child().id()).unwrap()), Signal::SIGINT).unwrap();
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut said, &mut rest).unwrap();
    assert!(run.child().wait().unwrap().code() == Some(130) && !rest.contains("--resume"), "{rest}");
    let resumed = story.assay(&["run", "--resume", "last"]);
    assert!(resumed.code == Some(BAD_INPUT) && resumed.err.contains("is of several hosts"), "{resumed:?}");
}

/// The search for the highest rate is that of both hosts together, and the curve offers shares of it.
#[test]
fn a_curve_and_a_scale_check_are_of_all_hosts_together() {
    let Some(nats) = nats::start("") else { return };
    let (story, url) = (Story::new(), nats.url());
    let agents = ["a", "b"].map(|name| agent(&story, &url, name));
    story.write("p.toml", READS.replace("1s", "100ms"));
    let on_both = ["--hosts", "a,b", "--nats", &url, "--json"];
    let scale =
        [&["scale", "p.toml", "null:", "--workers", "2", "--set", "rate=1000/s"][..], &on_both].concat();
    let scale = story.assay(&scale);
    assert_eq!(scale.code, Some(DONE), "{scale:?}");
    let test = &scale.json()["tests"][0];
    let loads: Vec<(u64, u64)> = test["points"]
        .as_array()
        .unwrap()
        .iter()
        .map(|point| (point["hosts"].as_u64().unwrap(), point["workers"].as_u64().unwrap()))
        .collect();
    assert_eq!(loads, [(1, 1), (1, 2), (2, 2)]);
    assert!(test["says"].as_str().unwrap().contains("2 times the same load on one host"), "{test}");
    let curve = [&["curve", "null:", "p.toml", "--run", "100ms"][..], &on_both].concat();
    let curve = story.assay(&curve);
    assert_eq!(curve.code, Some(DONE), "{curve:?}");
    let jobs = curve.json()["tests"][0]["jobs"].to_string();
    assert!(jobs.contains("\"a\"") && jobs.contains("\"b\""), "{jobs}");
    drop(agents);
}
