//! Stories on NFS exports: the program itself against a real nfs-ganesha on loopback. Skipped where that does not
//! start.

mod depth;
mod faults;
mod moved;
mod mute;
mod net;
mod own;

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use assay_testkit::ganesha::Ganesha;
use assay_testkit::namespace::Namespaces;
use assay_testkit::{ganesha, story};
use serde_json::{Value, json};

use net::Net;
use story::{BAD_INPUT, DONE, ERRORS, Story, count, rules, tests};

const READ: &str = "[[test]]\nname = \"t\"\naccess = [{ size = \"4KiB\", read = 100 }]\nops = 200\n";
const WRITE: &str =
    "[[test]]\nname = \"t\"\naccess = [{ size = \"8KiB\", read = 50, random = 100 }]\nops = 400\n";

const VERIFY: &str = r#"
size = "4MiB"
[[test]]
name = "t"
verify = true
outstanding = 8
run = "500ms"
access = [{ size = "4KiB", read = 50, random = 100 }]
"#;

/// The address of a path on the server.
fn at(server: &Ganesha, path: &str, more: &str) -> String {
    format!("nfs://127.0.0.1:{}{path}?mountport={}{more}", server.port, server.mount_port)
}

#[test]
fn a_file_on_a_server_is_mapped_by_reading_alone() {
    let Some(server) = ganesha::start() else { return };
    let story = Story::new();
    story.assay(&["map", &at(&server, "/rw/none.dat", ""), "--budget", "500ms"]).refused(&["none.dat"]);
    assert!(!server.file("rw/none.dat").exists());
    let content = vec![7; 8 << 20];
    std::fs::write(server.file("rw/map.dat"), &content).unwrap();
    let map = story.assay(&["map", &at(&server, "/rw/map.dat", ""), "--budget", "500ms", "--json"]);
    let map = map.ends(DONE).json();
    assert_eq!(map["size_bytes"], 8 << 20);
    assert!(map["cells"].as_array().unwrap().iter().all(|cell| cell["failed"] == 0));
    assert!(!map["findings"].to_string().contains("zeros"), "{}", map["findings"]);
    assert!(std::fs::read(server.file("rw/map.dat")).unwrap() == content, "the file was changed");
}

#[test]
fn the_forum_suite_runs_on_an_export_and_leaves_nothing_behind() {
    let Some(server) = ganesha::start() else { return };
    let (story, file) = (Story::new(), at(&server, "/rw/t.dat", "&connections=2"));
    let run = ["run", "vmware", &file, "--set", "ops=1600", "--size", "32MiB", "--json"];
    let document = story.assay(&run).ends(DONE).json();
    let member = &document["targets"][0]["member"];
    assert_eq!((member["engine"].as_str(), member["content"].as_str()), (Some("nfs"), Some("prepared")));
    assert_eq!(
        (member["nfs"]["export"].as_str(), member["nfs"]["sync"].as_str()),
        (Some("/rw"), Some("unstable"))
    );
    assert_eq!(tests(&document).len(), 4);
    for test in tests(&document) {
        let paths = test["paths"].as_array().unwrap();
        let ops: u64 = paths.iter().map(|p| p["ops"].as_u64().unwrap()).sum();
        assert_eq!((paths.len(), ops, test["total"]["ops"].as_u64()), (2, 1600, Some(1600)), "nothing twice");
        assert!(paths.iter().all(|p| (p["ops_share"].as_f64().unwrap() - 0.5).abs() < 0.01), "in turn");
    }
    let shown = story.assay(&["show", "last"]).ends(DONE);
    assert!(shown.out.contains("50.0 %"), "{}", shown.out);

    // The same file serves again, with what is in it; then it goes, and so does its mark.
    let again = story.assay(&[&run[..], &["--remove"]].concat()).ends(DONE).json();
    assert_eq!(again["targets"][0]["member"]["content"], "reused");
    assert_eq!(std::fs::read_dir(server.file("rw")).unwrap().count(), 0, "the file and the mark beside it");
}

/// The answer was that the path is missing, and what to type to see a list of exports.
#[test]
fn an_address_without_export_is_answered_with_the_exports() {
    let Some(server) = ganesha::start() else { return };
    let story = Story::new();
    for end in ["", "/"] {
        let run = story.assay(&["run", "vmware", &at(&server, end, ""), "--quick"]);
        run.refused(&["it names no export. The server has:", "\n  /rw to ", "/t.dat?mountport="]);
    }
    // Nobody is there to list anything.
    let absent = story.assay(&["run", "vmware", "nfs://127.0.0.1:1", "--quick"]);
    absent.refused(&["the path is missing after the host"]);
}

/// What the server says has come over the network, so the network is not the cause.
#[test]
fn the_network_is_described_where_nobody_answers_and_not_beside_a_refusal() {
    let Some(server) = ganesha::start() else { return };
    let story = Story::new();
    let refused = story.assay(&["check", &at(&server, "/nope/t.dat", "")]).refused(&["refused to mount"]);
    assert!(!refused.err.contains("answers echoes"), "{}", refused.err);
    for nobody in ["nfs://127.0.0.1:1/rw/t.dat?mountport=1", "nfs://127.0.0.1:1/?mountport=1"] {
        let refused = story.assay(&["check", nobody]).refused(&["cannot connect", "the host at 127.0.0.1"]);
        assert!(!refused.err.contains("may hide its exports"), "{}", refused.err);
    }
}

#[test]
fn what_is_not_ours_is_read_and_not_written() {
    let Some(server) = ganesha::start() else { return };
    let story = Story::new();
    story.write("read.toml", READ);
    story.write("write.toml", WRITE);
    let content: Vec<u8> = (0..1 << 20).map(|at: u32| at.to_le_bytes()[1]).collect();
    std::fs::write(server.file("rw/theirs.dat"), &content).unwrap();
    let file = at(&server, "/rw/theirs.dat", "");
    let reported = story.assay(&["run", "write.toml", &file]).ends(BAD_INPUT);
    assert!(
        reported.err.contains("was not created by Assay") && reported.err.contains("--overwrite"),
        "{}",
        reported.err
    );
    let document = story.assay(&["run", "read.toml", &file, "--json", "--remove"]).ends(DONE).json();
    assert_eq!(count(&document, "/tests/0/read/ops"), 200);
    assert!(std::fs::read(server.file("rw/theirs.dat")).unwrap() == content, "neither changed nor removed");
    assert_eq!(std::fs::read_dir(server.file("rw")).unwrap().count(), 1, "reading leaves no mark");

    let allowed = ["run", "write.toml", &file, "--overwrite", "/rw/theirs.dat", "--size", "1MiB", "--json"];
    story.assay(&allowed).ends(DONE);
    assert!(std::fs::read(server.file("rw/theirs.dat")).unwrap() != content);
    // Leave was given once, not for ever; and what somebody changed since is not ours either.
    story.assay(&["run", "write.toml", &file, "--size", "1MiB"]).ends(BAD_INPUT);
    let own = at(&server, "/rw/ours.dat", "");
    story.assay(&["run", "write.toml", &own, "--size", "1MiB"]).ends(DONE);
    std::thread::sleep(Duration::from_millis(20));
    std::fs::write(server.file("rw/ours.dat"), "something else").unwrap();
    let reported = story.assay(&["run", "write.toml", &own, "--size", "1MiB"]).ends(BAD_INPUT);
    assert!(reported.err.contains("has been modified since"), "{}", reported.err);
}

#[test]
fn what_the_server_does_not_allow_is_said_before_anything_is_done() {
    let Some(server) = ganesha::start() else { return };
    let story = Story::new();
    story.write("read.toml", READ);
    story.write("write.toml", WRITE);
    let refused = |plan: &str, file: String, words: &[&str]| {
        let reported = story.assay(&["run", plan, &file, "--size", "1MiB"]).ends(BAD_INPUT);
        assert!(words.iter().all(|word| reported.err.contains(word)), "{words:?}: {}", reported.err);
    };
    refused("write.toml", at(&server, "/ro/new.dat", ""), &["does not allow", "create files"]);
    refused("write.toml", at(&server, "/squash/new.dat", ""), &["uid 0", "squashing"]);
    refused("write.toml", at(&server, "/denied/new.dat", ""), &["refused to mount"]);
    refused(
        "write.toml",
        at(&server, "/none/new.dat", ""),
        &["lists no export that holds this path", "/rw (to everyone)"],
    );
    refused("write.toml", at(&server, "/rw/no/such/folder/t.dat", ""), &["no directory `no`"]);
    refused("write.toml", "nfs://127.0.0.1:9/rw/t.dat?mountport=9".into(), &["cannot connect"]);
    let reported = story.assay(&["run", "read.toml", &at(&server, "/ro/there.dat", ""), "--json"]).ends(DONE);
    assert_eq!(count(&reported.json(), "/tests/0/read/ops"), 200, "reading is allowed");
    let reported = story
        .assay(&["run", "write.toml", &at(&server, "/rw/big.dat", ""), "--size", "100TiB"])
        .ends(BAD_INPUT);
    assert!(reported.err.contains("does not fit"), "{}", reported.err);
    assert_eq!(std::fs::read_dir(server.file("rw")).unwrap().count(), 0, "refusals leave nothing");
    story.assay(&["run", "write.toml", &at(&server, "/rw/t.dat", ""), "--size", "1MiB"]).ends(DONE);
    refused("write.toml", at(&server, "/rw/t.dat", "&uid=4711"), &["denies uid 4711 gid 0 write access"]);
}

#[test]
fn check_tells_what_is_there_and_touches_nothing() {
    let Some(server) = ganesha::start() else { return };
    let story = Story::new();
    let check = |path| story.assay(&["check", &at(&server, path, ""), "--json"]).ends(DONE).json();
    let folder = check("/rw");
    assert_eq!(
        (folder["exists"].as_bool(), folder["writable"].as_bool()),
        (Some(false), Some(true)),
        "{folder:#}"
    );
    assert_eq!(folder["nfs"]["path"], "/rw/assay.dat");
    assert!(folder["nfs"]["read_bytes_max"].as_u64() >= Some(65_536), "{folder:#}");
    assert!(folder["exports"].as_array().unwrap().iter().any(|e| e["path"] == "/ro"), "{folder:#}");
    assert!(folder["filesystem"]["free_bytes"].as_u64() > Some(0));
    let foreign = check("/ro/there.dat");
    assert_eq!(
        (foreign["made_by_assay"].as_bool(), foreign["writable"].as_bool()),
        (Some(false), Some(false))
    );
    assert_eq!(
        (foreign["size_bytes"].as_u64(), foreign["holds"].as_array().unwrap().len()),
        (Some(4 << 20), 2)
    );
    story.write("write.toml", WRITE);
    story.assay(&["run", "write.toml", &at(&server, "/rw", ""), "--size", "1MiB"]).ends(DONE);
    let ours = check("/rw/assay.dat");
    assert_eq!(
        (ours["made_by_assay"].as_bool(), ours["writable"].as_bool()),
        (Some(true), Some(true)),
        "{ours:#}"
    );
    let reported = story.assay(&["check", &at(&server, "/rw/assay.dat", "")]).ends(DONE);
    assert!(
        reported.out.contains("created by Assay") && reported.out.contains("UNSTABLE"),
        "{}",
        reported.out
    );
}

/// Runs a test on a loopback of its own, where nobody else has the port of a port mapper. Two tests failed on hosts
/// with an NFS server or rpcbind, which answered in place of theirs.
fn on_own_loopback(name: &str, test: impl FnOnce() + Send) {
    let Some(host) = Namespaces::new(name, &["host"]) else { return };
    // Nothing is resolved, not even 127.0.0.1, where no other address is.
    host.all("host: addr add 192.0.2.1/32 dev lo");
    host.inside("host", test);
}

#[test]
fn a_server_alone_is_answered_with_its_exports() {
    on_own_loopback("exports", exports_are_listed);
}

fn exports_are_listed() {
    let Some(server) = ganesha::start() else { return };
    let story = Story::new();
    for slash in ["", "/"] {
        let address = format!("nfs://127.0.0.1:{}{slash}?mountport={}", server.port, server.mount_port);
        let listed = story.assay(&["check", &address, "--json"]).ends(DONE).json();
        assert_eq!(listed["kind"], "nfs-server");
        let exports = listed["exports"].as_array().unwrap();
        assert!(exports.contains(&json!({ "path": "/rw", "to": [] })), "{listed:#}");
        let reported = story
            .assay(&["check", &address])
            .ends(DONE)
            .says(&["/rw to everyone", "To see what is allowed there"]);
        assert!(reported.out.lines().all(|line| line.chars().count() <= 80), "{}", reported.out);
    }
    let run = ["run", "vmware", &format!("nfs://127.0.0.1:{}/", server.port)];
    story.assay(&run).ends(BAD_INPUT).says(&["assay check nfs://host lists the exports"]);
    // NFS is there, and MOUNT is not.
    let wrong = format!("nfs://127.0.0.1:{0}/?mountport={0}", server.port);
    story
        .assay(&["check", &wrong])
        .ends(BAD_INPUT)
        .says(&["the list of exports", "name one: nfs://host/export"]);
}

#[test]
fn the_way_to_the_server_is_reported_by_a_check_and_kept_with_a_run() {
    let Some(server) = ganesha::start() else { return };
    let story = Story::new();
    let checked = story.assay(&["check", &at(&server, "/rw", ""), "--json"]).ends(DONE).json();
    let remote = format!("127.0.0.1:{}", server.port);
    let is_reported = |paths: &Value| {
        let [path] = paths.as_array().unwrap().as_slice() else { panic!("one way: {paths:#}") };
        let net = &path["net"];
        assert_eq!(path["remote"].as_str(), Some(&*remote), "{path:#}");
        assert!(path["local"].as_str().unwrap().starts_with("127.0.0.1:"), "{path:#}");
        assert!(path["tcp"]["send_mss_bytes"].as_u64() > Some(1000), "{path:#}");
        assert_eq!(
            (net["route"]["device"].as_str(), net["interface"]["name"].as_str()),
            (Some("lo"), Some("lo"))
        );
        assert!(net["interface"]["mtu_bytes"].as_u64() >= Some(1500), "{path:#}");
    };
    is_reported(&checked["nfs"]["paths"]);
    assert_eq!(
        (&checked["path_faults"], checked["ceiling"]["paths"].as_array().unwrap().len()),
        (&json!([]), 1)
    );
    let arithmetic = checked["ceiling"]["together"]["arithmetic"].as_str().unwrap();
    assert!(
        arithmetic.starts_with("unknown rate")
            && arithmetic.contains("32768/32900 (data, RPC and NFS headers)"),
        "{arithmetic}"
    );
    let short = story.assay(&["check", &at(&server, "/rw", "")]).ends(DONE).out;
    assert!(short.contains("round trip") && short.contains("--explain"), "{short}");
    let reported = story.assay(&["check", &at(&server, "/rw", ""), "--explain"]).ends(DONE).out;
    for words in ["The path to the server", "through lo", "MTU", "ceiling", "round trip", "counts once"] {
        assert!(reported.contains(words), "{words}: {reported}");
    }
    let lines = short.lines().skip(1).chain(reported.lines().skip(1));
    let wide: Vec<&str> = lines.filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "lines wider than 80: {wide:#?}");

    let closed = story.assay(&["check", "nfs://127.0.0.1:9/rw?mountport=9"]).ends(BAD_INPUT).err;
    assert!(
        closed.contains("cannot connect") && closed.lines().any(|line| line.starts_with("  - ")),
        "{closed}"
    );

    story.write("timed.toml", VERIFY.replace("500ms", "2500ms"));
    let file = at(&server, "/rw/t.dat", "&connections=2");
    let document = story.assay(&["run", "timed.toml", &file, "--json"]).ends(DONE).json();
    is_reported(&document["targets"][0]["member"]["nfs"]["paths"]);
    let [tcp] = document["tests"][0]["tcp"].as_array().unwrap().as_slice() else { panic!("one server") };
    assert_eq!(
        (tcp["remote"].as_str(), tcp["connections_max"].as_u64()),
        (Some(&*remote), Some(2)),
        "{tcp:#}"
    );
    assert!(!tcp["series"].as_array().unwrap().is_empty(), "{tcp:#}");
    // Each connection has its own at the end.
    for path in document["tests"][0]["paths"].as_array().unwrap() {
        assert!(path["tcp"]["send_mss_bytes"].as_u64() > Some(1000), "{path:#}");
    }
}

#[test]
fn where_writes_were_kept_is_in_the_result() {
    let Some(server) = ganesha::start() else { return };
    let story = Story::new();
    story.write("write.toml", WRITE);
    for (more, flag, sync) in
        [("", None, "unstable"), ("&sync=file", None, "file"), ("", Some("--sync"), "file")]
    {
        let file = at(&server, "/rw/t.dat", more);
        let mut run = vec!["run", "write.toml", &file, "--size", "1MiB", "--json"];
        run.extend(flag);
        let document = story.assay(&run).ends(DONE).json();
        assert_eq!(document["targets"][0]["member"]["nfs"]["sync"], sync);
        let (writes, ops) = (&document["tests"][0]["writes"][0], count(&document, "/tests/0/write/ops"));
        let kept = ["unstable", "data_sync", "file_sync"].map(|kind| writes[kind].as_u64().unwrap());
        assert_eq!(kept.iter().sum::<u64>(), ops, "{writes:#}");
        if sync == "file" {
            assert_eq!((kept[2], writes["commits"].as_u64()), (ops, Some(0)), "{writes:#}");
            assert!(rules(&document).contains(&"sync"), "{:?}", rules(&document));
        } else if kept[0] > 0 {
            assert_eq!(
                (writes["commits"].as_u64(), writes["committed_bytes"].as_u64()),
                (Some(1), Some(kept[0] * 8192))
            );
            assert!(rules(&document).contains(&"unstable-writes"), "{:?}", rules(&document));
        }
    }
}

/// Writes before the measured window are part of none of its figures; the report says that the COMMIT had to write
/// them too.
#[test]
fn writes_of_the_warm_up_are_not_counted() {
    let Some(server) = ganesha::start() else { return };
    let story = Story::new();
    let plan = WRITE.replace("ops = 400", "ops = 400\nwarmup = \"300ms\"").replace("read = 50", "read = 0");
    for semantics in ["assay", "iometer"] {
        story.write("warm.toml", format!("semantics = \"{semantics}\"\n{plan}"));
        let run = ["run", "warm.toml", &at(&server, "/rw/t.dat", ""), "--size", "1MiB", "--json"];
        let document = story.assay(&run).ends(DONE).json();
        let (writes, ops) = (&document["tests"][0]["writes"][0], count(&document, "/tests/0/write/ops"));
        let number = |name: &str| writes[name].as_u64().unwrap();
        let kept: u64 = ["unstable", "data_sync", "file_sync"].map(number).iter().sum();
        // Under Iometer's rules what is in flight between the two is counted on neither side.
        assert!(
            kept >= ops && kept - ops <= if semantics == "assay" { 0 } else { 1 },
            "{kept} {ops} {writes:#}"
        );
        assert_eq!(number("committed_bytes"), number("unstable") * 8192, "{writes:#}");
        if number("unstable") > 0 {
            assert_eq!(number("commits"), 1, "{writes:#}");
            assert!(
                number("committed_before_bytes") > 0,
                "the warm-up lasts longer than any write: {writes:#}"
            );
        }
    }
}

/// A simulated array beside it has the run driven by another kind of target, which must not swallow the COMMIT.
#[test]
fn writes_are_committed_beside_a_simulated_array_too() {
    let Some(server) = ganesha::start() else { return };
    let story = Story::new();
    let job = |target| {
        format!(
            "[[test.job]]\ntargets = [{target}]\naccess = [{{ size = \"8KiB\", read = 0, random = 100 }}]\n"
        )
    };
    story.write("two.toml", format!("[[test]]\nname = \"t\"\nops = 50\n{}{}", job(0), job(1)));
    let (array, file) = ("sim:ix4-200d", at(&server, "/rw/t.dat", ""));
    let run = ["run", "two.toml", array, &file, "--size", "1MiB", "--json"];
    let document = story.assay(&run).ends(DONE).json();
    let writes = &document["tests"][0]["writes"][0];
    let number = |name: &str| writes[name].as_u64().unwrap();
    assert_eq!(number("unstable") + number("data_sync") + number("file_sync"), 50, "{writes:#}");
    assert_eq!(number("commits"), u64::from(number("unstable") > 0), "{writes:#}");
}

#[test]
fn a_byte_that_changed_on_the_server_is_found() {
    let Some(server) = ganesha::start() else { return };
    let (story, file) = (Story::new(), at(&server, "/rw/t.dat", ""));
    story.write("mixed.toml", VERIFY);
    story.write(
        "check.toml",
        VERIFY
            .replace("read = 50, random = 100", "read = 100")
            .replace("run = \"500ms\"", "bytes = \"4MiB\""),
    );
    story.assay(&["run", "mixed.toml", &file, "--json"]).ends(DONE);
    let good = story.assay(&["run", "check.toml", &file, "--json"]).ends(DONE).json();
    assert_eq!(
        (count(&good, "/tests/0/total/ops"), good["targets"][0]["member"]["content"].as_str()),
        (1024, Some("reused"))
    );
    let real = server.file("rw/t.dat");
    let modified = std::fs::metadata(&real).unwrap().modified().unwrap();
    let mut content = std::fs::read(&real).unwrap();
    content[1_234_567] ^= 0x10;
    let opened = std::fs::OpenOptions::new().write(true).open(&real).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&opened, &content, 0).unwrap();
    // As failing storage would leave it.
    opened.set_modified(modified).unwrap();
    let document = story.assay(&["run", "check.toml", &file, "--json"]).ends(ERRORS).json();
    assert_eq!(count(&document, "/tests/0/mismatch_count"), 1);
    assert_eq!(document["tests"][0]["mismatches"][0]["offset_bytes"], 1_234_567 / 512 * 512);
}

#[test]
fn a_server_that_is_killed_and_restarted_loses_nothing_that_matters_and_is_reported() {
    let Some(server) = ganesha::start() else { return };
    let story = Story::new();
    story.write("verify.toml", VERIFY.replace("500ms", "6s").replace("outstanding = 8", "outstanding = 16"));
    let file = at(&server, "/rw/t.dat", "&connections=2&timeout=30");
    let running = story.start(&["run", "verify.toml", &file, "--size", "32MiB", "--json"]);
    // Killed while it measures, not while it is prepared: the store says when.
    story.wait_for(|run| run["tests"][0]["series"].as_array().is_some_and(|series| !series.is_empty()));
    server.kill();
    std::thread::sleep(Duration::from_millis(2200));
    server.restart();
    let reported = running.end();
    let document = reported.ends(DONE);
    let (document, said) = (document.json(), document.err);
    let test = &document["tests"][0];
    assert_eq!((test["complete"].as_bool(), test["errors"].as_u64()), (Some(true), Some(0)), "{test:#}");
    assert_eq!(test["mismatch_count"], 0, "{test:#}");
    let ops = count(&document, "/tests/0/total/ops");
    let by_path: u64 = test["paths"].as_array().unwrap().iter().map(|p| p["ops"].as_u64().unwrap()).sum();
    assert!(ops > 1000 && ops == by_path, "nothing lost, nothing twice: {ops} {by_path}");
    assert!(said.contains("went down") && said.contains("is up"), "{said}");
    let rates: Vec<f64> =
        test["series"].as_array().unwrap().iter().map(|p: &Value| p["iops"].as_f64().unwrap()).collect();
    let best = rates.iter().copied().fold(0.0, f64::max);
    let live = rates.iter().filter(|rate| **rate > best / 100.0).count();
    assert!(live < 6, "the time line shows the gap: {:#}", test["series"]);
    if test["writes"][0]["unstable"].as_u64() > Some(0) {
        assert_eq!(test["writes"][0]["restarts"], 1, "{:#}", test["writes"]);
        assert!(rules(&document).contains(&"uncertain-writes"), "{:?}", rules(&document));
    }
}

#[test]
fn what_stands_where_the_mark_goes_is_left_alone() {
    let Some(server) = ganesha::start() else { return };
    let story = Story::new();
    story.write("write.toml", WRITE);
    std::fs::write(server.file("rw/.t.dat.assay"), "shopping list").unwrap();
    let reported =
        story.assay(&["run", "write.toml", &at(&server, "/rw/t.dat", ""), "--size", "1MiB"]).ends(BAD_INPUT);
    assert!(reported.err.contains("Assay did not write it"), "{}", reported.err);
    assert_eq!(std::fs::read(server.file("rw/.t.dat.assay")).unwrap(), b"shopping list");
    assert!(!server.file("rw/t.dat").exists(), "what was created is taken back");
}

#[test]
fn two_runs_on_one_machine_do_not_write_to_one_file() {
    let Some(server) = ganesha::start() else { return };
    let story = Story::new();
    story.write("write.toml", WRITE);
    story.write("long.toml", WRITE.replace("ops = 400", "run = \"60s\""));
    let file = at(&server, "/rw/t.dat", "");
    let mut running = story.start(&["run", "long.toml", &file, "--size", "1MiB"]);
    story.wait_for(|run| run["tests"][0]["series"].as_array().is_some_and(|series| !series.is_empty()));
    let reported = story.assay(&["run", "write.toml", &file, "--size", "1MiB"]).ends(BAD_INPUT);
    assert!(reported.err.contains("in use by another run"), "{}", reported.err);
    running.signal("INT");
    running.end().ends(story::INTERRUPTED);
    story.assay(&["run", "write.toml", &file, "--size", "1MiB"]).ends(DONE);
}

/// Somebody on the server moves a file of their own to the name that is being measured: over the file, beside which it
/// is moved, and with or without `--remove` the name is not taken for the file.
#[test]
fn a_file_that_takes_the_place_of_the_measured_one_is_neither_marked_nor_removed() {
    let Some(server) = ganesha::start() else { return };
    let story = Story::new();
    story.write("write.toml", WRITE);
    story.write("long.toml", WRITE.replace("ops = 400", "run = \"60s\""));
    let content: Vec<u8> = (0..1 << 20).map(|at: u32| at.to_le_bytes()[1]).collect();
    for (name, is_kept, removes) in
        [("a", false, false), ("b", false, true), ("c", true, false), ("d", true, true)]
    {
        let (real, precious) =
            (server.file(&format!("rw/{name}.dat")), server.file(&format!("rw/{name}.own")));
        std::fs::write(&precious, &content).unwrap();
        let file = at(&server, &format!("/rw/{name}.dat"), "");
        let mut run = vec!["run", "long.toml", &file, "--size", "1MiB", "--json"];
        run.extend(removes.then_some("--remove"));
        let mut running = story.start(&run);
        story.wait_for(|run| {
            run["targets"][0]["member"]["path"]
                .as_str()
                .is_some_and(|path| path.contains(&format!("{name}.dat")))
                && run["tests"][0]["series"].as_array().is_some_and(|series| !series.is_empty())
        });
        if is_kept {
            std::fs::rename(&real, server.file(&format!("rw/{name}.old"))).unwrap();
        }
        std::fs::rename(&precious, &real).unwrap();
        running.signal("INT");
        let reported = running.end();
        assert!(reported.err.contains("now refers to another file"), "{name}: {}", reported.err);
        assert!(!removes || reported.err.contains("kept nfs://"), "{name}: {}", reported.err);
        // Nothing says that it is ours: it is not written to, and not removed.
        for more in [&[][..], &["--remove"]] {
            let again = ["run", "write.toml", &file, "--size", "1MiB"];
            let reported = story.assay(&[&again[..], more].concat()).ends(BAD_INPUT);
            assert!(reported.err.contains("was not created by Assay"), "{name}: {}", reported.err);
        }
        story.write("read.toml", READ);
        story.assay(&["run", "read.toml", &file, "--remove"]).ends(DONE);
        assert!(std::fs::read(&real).unwrap() == content, "{name}: neither changed nor removed");
    }
}

/// A port mapper that answers the second question it is asked, with this port, and no other; it counts them.
fn mapper_of_one_word(address: &str, port: u16) -> Arc<AtomicUsize> {
    let listener = TcpListener::bind((address, 111)).unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    // Ends with the test program.
    std::thread::spawn(move || {
        let mut silent = Vec::new();
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            if counted.fetch_add(1, Ordering::SeqCst) != 1 {
                silent.push(stream);
                continue;
            }
            let mut call = [0; 60];
            if stream.read_exact(&mut call).is_ok() {
                let words = [1 << 31 | 28, 0, 1, 0, 0, 0, 0, u32::from(port)];
                let mut reply: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
                reply[4..8].copy_from_slice(&call[4..8]);
                let _ = stream.write_all(&reply);
            }
        }
    });
    asked
}

#[test]
fn a_silent_port_mapper_is_named_and_asked_once() {
    on_own_loopback("mapper", silence_is_named);
}

fn silence_is_named() {
    let Some(server) = ganesha::start() else { return };
    let story = Story::new();
    story.write("write.toml", WRITE);
    let host = "127.0.0.1";
    let asked = mapper_of_one_word(host, server.mount_port);
    let reported = story.assay(&["check", &format!("nfs://{host}:{}/rw", server.port)]).ends(BAD_INPUT);
    let says = format!("port mapper of {host} does not respond; add port= and mountport=");
    let reported = reported.says(&[says.as_str()]);
    assert_eq!(asked.load(Ordering::SeqCst), 1, "{}", reported.err);

    // What it said once is enough for the mark, which is written several times, and the removal.
    let file = format!("nfs://{host}:{}/rw/t.dat", server.port);
    story.assay(&["run", "write.toml", &file, "--size", "1MiB", "--remove"]).ends(DONE);
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    assert_eq!(std::fs::read_dir(server.file("rw")).unwrap().count(), 0, "removed, and its mark");
}

#[test]
fn without_ports_in_the_address_the_port_mapper_is_asked() {
    let Some(net) = Net::start("map") else { return };
    let checked = net.assay(&Story::new(), "", &["check", &format!("nfs://{}/rw", net::FIRST), "--json"]);
    let checked = checked.ends(DONE).json();
    assert_eq!(checked["nfs"]["server"], format!("{}:2049", net::FIRST), "{checked:#}");
}

/// A name may have an address at which nobody listens, of the other family at that.
#[test]
fn every_address_of_a_name_is_tried_and_each_has_its_word() {
    let Some(net) = Net::start("name") else { return };
    let story = Story::new();
    let hosts = format!(
        "{refused} nas\n{first} nas\n{refused} gone\n{nobody} gone\n",
        refused = net::REFUSED,
        first = net::FIRST,
        nobody = net::NOBODY
    );
    for address in ["nfs://nas/rw", "nfs://nas/rw?port=2049&mountport=20048"] {
        let checked = net.assay(&story, &hosts, &["check", address, "--json"]).ends(DONE).json();
        assert_eq!(checked["nfs"]["server"], format!("{}:2049", net::FIRST), "{checked:#}");
    }
    story.write("write.toml", WRITE);
    let run = ["run", "write.toml", "nfs://nas/rw/t.dat", "--size", "1MiB", "--remove"];
    net.assay(&story, &hosts, &run).ends(DONE);
    assert_eq!(std::fs::read_dir(net.server().file("rw")).unwrap().count(), 0, "removed, and its mark");

    let reported =
        net.assay(&story, &hosts, &["check", "nfs://gone/rw?port=2049&mountport=20048"]).ends(BAD_INPUT);
    let reported = reported
        .says(&["cannot connect to NFS at any address of gone", "[fd79::2]:2049: Connection refused"]);
    assert!(reported.err.contains(&format!("{}:2049: ", net::NOBODY)), "{}", reported.err);
}

/// Two addresses, a name and two ways to write the ports lead to one server: a file there is one file.
#[test]
fn one_file_by_two_addresses_of_its_server_is_one_file() {
    let Some(net) = Net::start("alias") else { return };
    let story = Story::new();
    for (plan, read) in [("read.toml", 100), ("write.toml", 50)] {
        let job = |target| {
            format!("[[test.job]]\ntargets = [{target}]\naccess = [{{ size = \"8KiB\", read = {read} }}]\n")
        };
        story.write(plan, format!("[[test]]\nname = \"t\"\nops = 100\n{}{}", job(0), job(1)));
    }
    story.write("one.toml", WRITE);
    let hosts = format!("{} nas\n", net::FIRST);
    let at = |host: &str, name: &str| format!("nfs://{host}/rw/{name}");
    let ways = |name: &str| {
        [
            at(net::FIRST, name),
            at(net::SECOND, name),
            at("nas", name),
            at(&format!("{}:2049", net::FIRST), name),
        ]
    };
    let is_one = |plan: &str, first: &str, second: &str| {
        let reported =
            net.assay(&story, &hosts, &["run", plan, first, second, "--size", "1MiB"]).ends(BAD_INPUT);
        assert!(reported.err.contains("is given twice (as"), "{first} {second}: {}", reported.err);
    };
    // As yet there is none, and two spellings of one path are none the less refused before anything stays.
    let [first, others @ ..] = ways("new.dat");
    others.iter().for_each(|other| is_one("write.toml", &first, other));
    assert_eq!(std::fs::read_dir(net.server().file("rw")).unwrap().count(), 0, "refusals leave nothing");
    let [first, others @ ..] = ways("ours.dat");
    net.assay(&story, &hosts, &["run", "one.toml", &first, "--size", "1MiB"]).ends(DONE);
    others.iter().for_each(|other| is_one("write.toml", &first, other));
    std::fs::write(net.server().file("rw/theirs.dat"), vec![7; 1 << 20]).unwrap();
    let [first, others @ ..] = ways("theirs.dat");
    others.iter().for_each(|other| is_one("read.toml", &first, other));
    // Others beside it are others.
    let two =
        ["run", "write.toml", &at(net::FIRST, "ours.dat"), &at(net::SECOND, "new.dat"), "--size", "1MiB"];
    net.assay(&story, &hosts, &two).ends(DONE);
}

#[test]
fn a_second_run_by_another_address_of_the_server_is_refused() {
    let Some(net) = Net::start("second") else { return };
    let story = Story::new();
    story.write("write.toml", WRITE);
    story.write("long.toml", WRITE.replace("ops = 400", "run = \"60s\""));
    story.write("long-read.toml", READ.replace("ops = 200", "run = \"60s\""));
    std::fs::write(net.server().file("rw/theirs.dat"), vec![7; 1 << 20]).unwrap();
    for (name, first, overwrite) in [
        ("ours.dat", "long.toml", None),
        // Somebody else's, which has no mark while it is only read.
        ("theirs.dat", "long-read.toml", Some("/rw/theirs.dat")),
    ] {
        let at = |host: &str| format!("nfs://{host}/rw/{name}");
        let mut running = net.start_assay(&story, &["run", first, &at(net::FIRST), "--size", "1MiB"]);
        story.wait_for(|run| {
            run["targets"][0]["member"]["path"].as_str().is_some_and(|path| path.contains(name))
                && run["tests"][0]["series"].as_array().is_some_and(|series| !series.is_empty())
        });
        let second = at(net::SECOND);
        let mut run = vec!["run", "write.toml", &second, "--size", "1MiB"];
        run.extend(overwrite.iter().flat_map(|path| ["--overwrite", path]));
        let reported = net.assay(&story, "", &run).ends(BAD_INPUT);
        assert!(reported.err.contains("in use by another run"), "{name}: {}", reported.err);
        running.signal("INT");
        running.end().ends(story::INTERRUPTED);
        net.assay(&story, "", &run).ends(DONE);
    }
}

#[test]
fn a_sizing_question_is_answered_from_the_curve_of_a_file_on_a_server() {
    let Some(server) = ganesha::start() else { return };
    story::sized_by_its_curve(&Story::new(), &at(&server, "/rw/t.dat", ""));
}
