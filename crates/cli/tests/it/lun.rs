//! Stories on iSCSI LUNs: the program itself against a real tgt on loopback. Skipped where tgt does not start.

mod faults;

use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use assay_iscsi::{Initiator, Transfer};
use assay_spec::Address;
use assay_testkit::loop_device::LoopDevice;
use assay_testkit::story::{Story, json, printed, refused, sized_by_its_curve};
use assay_testkit::{istgt, need, tgt};

const SECRET: &str = "hush-hush-hush-42";

#[test]
fn a_lun_is_checked_refused_without_its_identity_and_measured_with_it() {
    let Some(tgt) = tgt::start(2) else { return };
    let (story, lun) = (Story::new(), tgt.address("", ""));
    let checked = json(&story.assay(&["check", &lun, "--json"]), 0);
    let serial = checked["serial"].as_str().unwrap();
    assert!(checked["wwid"].as_str().unwrap().starts_with("naa."), "{checked:#}");
    assert_eq!(checked["size_bytes"], tgt::LUN_BYTES);
    assert_eq!(checked["lun"]["paths"].as_array().unwrap().len(), 2);
    assert!(checked["hurts"].to_string().contains("8KiB"), "tgt's default segment: {checked:#}");

    let before = std::fs::read(tgt.lun_path()).unwrap();
    let run = ["run", "vmware", &lun, "--set", "ops=1600", "--size", "16MiB", "--json"];
    refused(
        &story.assay(&run),
        2,
        &["is only read unless --overwrite names it", &format!("--overwrite {serial}")],
    );
    refused(&story.assay(&[&run[..], &["--overwrite", "other"]].concat()), 2, &["is only read"]);
    assert!(before == std::fs::read(tgt.lun_path()).unwrap(), "a refusal writes nothing");

    let document = json(&story.assay(&[&run[..], &["--overwrite", serial]].concat()), 0);
    let member = &document["targets"][0]["member"];
    assert_eq!((member["engine"].as_str(), member["content"].as_str()), (Some("iscsi"), Some("prepared")));
    assert_eq!(member["lun"]["serial"], serial);
    assert_eq!(document["tests"].as_array().unwrap().len(), 4);
    for test in document["tests"].as_array().unwrap() {
        let paths = test["paths"].as_array().unwrap();
        let ops: u64 = paths.iter().map(|p| p["ops"].as_u64().unwrap()).sum();
        assert_eq!((paths.len(), ops, test["total"]["ops"].as_u64()), (2, 1600, Some(1600)), "nothing twice");
        for path in paths {
            let share = path["ops_share"].as_f64().unwrap();
            assert!((share - 0.5).abs() < 0.01, "every I/O on the next path: {share}");
        }
    }
    let shown = story.assay(&["show", "last"]);
    assert!(shown.out.contains("50.0 %"), "shares in the table");
}

#[test]
fn a_lun_is_mapped_by_reading_alone() {
    let Some(tgt) = tgt::start(1) else { return };
    let (story, lun) = (Story::new(), tgt.address("", ""));
    let content: Vec<u8> = (1..=251).cycle().zip(0..tgt::LUN_BYTES).map(|(byte, _)| byte).collect();
    std::fs::OpenOptions::new().write(true).open(tgt.lun_path()).unwrap().write_all_at(&content, 0).unwrap();
    let map = json(&story.assay(&["map", &lun, "--budget", "500ms", "--json"]), 0);
    assert_eq!(map["size_bytes"], tgt::LUN_BYTES);
    let reads: u64 =
        map["cells"].as_array().unwrap().iter().map(|cell| cell["reads"].as_u64().unwrap()).sum();
    assert!(reads > 0 && map["cells"].as_array().unwrap().iter().all(|cell| cell["failed"] == 0));
    assert!(!map["findings"].to_string().contains("zeros"), "{}", map["findings"]);
    assert!(std::fs::read(tgt.lun_path()).unwrap() == content, "the LUN was changed");
}

#[test]
fn one_serial_that_two_luns_have_allows_neither() {
    let (Some(one), Some(other)) = (tgt::start(1), tgt::start(1)) else { return };
    let (story, luns) = (Story::new(), [one.address("", ""), other.address("", "")]);
    let serials = luns.clone().map(|lun| json(&story.assay(&["check", &lun, "--json"]), 0)["serial"].clone());
    assert_eq!(serials[0], serials[1], "tgt numbers its units alike everywhere");
    let before = [&one, &other].map(|tgt| std::fs::read(tgt.lun_path()).unwrap());
    let job =
        |n: u32| format!("[[test.job]]\nname=\"j{n}\"\ntargets=[{n}]\naccess=[{{size=\"4KiB\",read=0}}]\n");
    let plan =
        format!("name=\"w\"\nsize=\"16MiB\"\n[[test]]\nname=\"t\"\nrun=\"200ms\"\n{}{}", job(0), job(1));
    let plan = story.write("write.toml", &plan);
    let run = ["run", &plan, &luns[0], &luns[1], "--overwrite"];
    let reported = story.assay(&[&run[..], &[serials[0].as_str().unwrap()]].concat());
    refused(&reported, 2, &["names iscsi://", " and iscsi://", "say which", "Nothing was written"]);
    assert!(
        before == [&one, &other].map(|tgt| std::fs::read(tgt.lun_path()).unwrap()),
        "nothing was written"
    );
}

#[test]
fn a_lun_that_holds_a_file_system_is_read_and_never_written() {
    let Some(tgt) = tgt::start(1) else { return };
    if !need::programs(&["mkfs.ext4"]) {
        return;
    }
    let mut make = Command::new("mkfs.ext4");
    make.args(["-q", "-F"]).arg(tgt.lun_path()).env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin");
    assert!(make.status().unwrap().success());
    let (story, lun) = (Story::new(), tgt.address("", ""));
    let checked = json(&story.assay(&["check", &lun, "--json"]), 0);
    assert_eq!(checked["writable"], false);
    let before = std::fs::read(tgt.lun_path()).unwrap();
    let serial = checked["serial"].as_str().unwrap();
    let reported = story.assay(&["run", "vmware", &lun, "--quick", "--overwrite", serial]);
    refused(&reported, 2, &["refusing to write", "ext4", "Nothing was written"]);
    let plan = story
        .write("read.toml", "name=\"r\"\n[[test]]\nname=\"t\"\naccess=[{size=\"4KiB\",read=100}]\nops=200\n");
    let document = json(&story.assay(&["run", &plan, &lun, "--json"]), 0);
    assert_eq!(document["tests"][0]["read"]["ops"], 200);
    assert!(before == std::fs::read(tgt.lun_path()).unwrap(), "reading writes nothing");
}

/// The same rules as for devices, over the wire: a signature refuses always, other data until both words are typed.
#[test]
fn a_lun_that_is_not_blank_is_overwritten_only_with_both_words() {
    let Some(tgt) = tgt::start(1) else { return };
    let (story, lun) = (Story::new(), tgt.address("", ""));
    let serial = json(&story.assay(&["check", &lun, "--json"]), 0)["serial"].as_str().unwrap().to_owned();
    let plan = "size = \"16MiB\"\n[[test]]\nname=\"t\"\naccess=[{size=\"4KiB\",read=0}]\nops=200\n";
    let plan = story.write("write.toml", plan);
    let run = |more: &[&str]| {
        story.assay(&[&["run", &plan, &lun, "--json", "--overwrite", serial.as_str()], more].concat())
    };
    let put = |offset: u64, bytes: &[u8]| {
        let file = std::fs::File::options().write(true).open(tgt.lun_path()).unwrap();
        file.write_all_at(bytes, offset).unwrap();
    };
    put(0, b"dmvdo001");
    let before = std::fs::read(tgt.lun_path()).unwrap();
    for more in [&[][..], &["--not-blank"]] {
        refused(&run(more), 2, &["refusing to write", "`vdo`", "Nothing was written"]);
    }
    assert!(before == std::fs::read(tgt.lun_path()).unwrap(), "a refusal writes nothing");
    // Far behind the 16 MiB that the plan would use: all of the LUN counts.
    put(0, &[0; 8]);
    put(32 << 20, b"a row of somebody's database");
    refused(&run(&[]), 2, &["not blank", "at offset 33554432", "|a row of somebod|", "--not-blank"]);
    json(&run(&["--not-blank"]), 0);
    put(32 << 20, &[0; 28]);
    json(&run(&[]), 0);
}

/// The witness is the file behind the LUN: its blocks are freed by UNMAP and by nothing else.
#[test]
fn trims_free_the_blocks_of_a_thin_lun_and_of_no_other() {
    let Some(mut tgt) = tgt::start(2) else { return };
    let (story, lun) = (Story::new(), tgt.address("", ""));
    let serial = json(&story.assay(&["check", &lun, "--json"]), 0)["serial"].as_str().unwrap().to_owned();
    let test = |stop: &str| {
        format!(
            "size = \"16MiB\"\n[[test]]\nname = \"t\"\noutstanding = 4\n{stop}\n\
             access = [{{ size = \"64KiB\", read = 0, change = \"trim\" }}]\n"
        )
    };
    // All of the 16 MiB once: 256 trims in their order.
    let plan = story.write("trim.toml", test("ops = 256"));
    let run = ["run", &plan, &lun, "--json", "--overwrite", serial.as_str()];
    let before = std::fs::read(tgt.lun_path()).unwrap();
    refused(&story.assay(&run), 2, &["cannot trim", "not thin provisioned", "LBPME"]);
    assert!(before == std::fs::read(tgt.lun_path()).unwrap(), "a refusal writes nothing");
    tgt.set("--op update --mode logicalunit --tid 1 --lun 1 --params thin_provisioning=1").unwrap();
    let unfilled = story.assay(&[&run[..], &["--no-fill"]].concat());
    refused(&unfilled, 2, &["cannot be trimmed without being filled", "--no-fill"]);
    let document = json(&story.assay(&run), 0);
    let test = &document["tests"][0];
    assert_eq!((test["write"]["ops"].as_u64(), test["errors"].as_u64()), (Some(256), Some(0)));
    // The fill allocated 16 MiB; what is left are the blocks around one that identifies the LUN.
    let allocated = std::fs::metadata(tgt.lun_path()).unwrap().blocks() * 512;
    assert!(allocated <= 64 << 10, "{allocated} bytes are still allocated");
    let data = std::fs::read(tgt.lun_path()).unwrap();
    assert_eq!(data.chunks(512).filter(|block| block.iter().any(|byte| *byte != 0)).count(), 1);
    // The next run finds a blank LUN, and a mix of writes and trims leaves no error.
    let mixed = story.write(
        "mixed.toml",
        "size = \"16MiB\"\n[[test]]\nname = \"t\"\noutstanding = 16\nworkers = 3\nops = 6000\naccess = [\n\
         { weight = 50, size = \"4KiB\", random = 100, read = 0 },\n\
         { weight = 50, size = \"256KiB\", random = 100, read = 0, change = \"trim\" }]\n",
    );
    let document = json(&story.assay(&["run", &mixed, &lun, "--json", "--overwrite", serial.as_str()]), 0);
    assert_eq!(document["tests"][0]["errors"], 0);
}

/// PERSISTENT RESERVE OUT with a service action (0 register, 1 reserve) for "write exclusive".
fn reserve_out(action: u8, key: u64, new_key: u64) -> (assay_iscsi::scsi::cdb::Cdb, Transfer) {
    let mut cdb = [0; 16];
    (cdb[0], cdb[1], cdb[2], cdb[8]) = (0x5f, action, 1, 24);
    let mut parameters = vec![0; 24];
    parameters[..8].copy_from_slice(&key.to_be_bytes());
    parameters[8..16].copy_from_slice(&new_key.to_be_bytes());
    (cdb, Transfer::Out(parameters))
}

#[test]
fn a_lun_that_another_host_has_reserved_is_refused() {
    const KEY: u64 = 0xCAFE;
    let Some(tgt) = tgt::start(1) else { return };
    let (story, lun) = (Story::new(), tgt.address("", ""));
    let checked = json(&story.assay(&["check", &lun, "--json"]), 0);
    assert_eq!(checked["writable"], true, "{checked:#}");
    let serial = checked["serial"].as_str().unwrap();
    let Ok(Address::Iscsi(address)) = lun.parse() else { panic!("{lun} is an iSCSI address") };
    let mut config = assay_target::lun::config(&address, None, 1);
    config.initiator_name = "iqn.2026-11.example.assay:other-host".into();
    let mut other = Initiator::<Vec<u8>>::connect(config).unwrap();
    let mut send = |(cdb, transfer)| other.execute("PERSISTENT RESERVE OUT", cdb, transfer).unwrap();
    send(reserve_out(0, 0, KEY));

    let run = ["run", "vmware", &lun, "--set", "ops=16", "--size", "16MiB", "--overwrite", serial];
    let before = std::fs::read(tgt.lun_path()).unwrap();
    refused(&story.assay(&run), 2, &["1 persistent reservation key is registered", "other hosts use it"]);
    send(reserve_out(1, KEY, 0));
    refused(&story.assay(&run), 2, &["a persistent reservation", "key 0xcafe", "is held on it"]);
    let checked = json(&story.assay(&["check", &lun, "--json"]), 0);
    assert_eq!(checked["writable"], false, "{checked:#}");
    assert!(before == std::fs::read(tgt.lun_path()).unwrap(), "a refusal writes nothing");
}

#[test]
fn what_is_not_there_is_said() {
    let story = Story::new();
    refused(
        &story.assay(&["check", "iscsi://127.0.0.1:9/iqn.2026-11.example:none/1"]),
        2,
        &["cannot connect", "the host at 127.0.0.1:9 answers echoes"],
    );
    refused(&story.assay(&["check", "iscsi://nas/iqn.x"]), 2, &["iSCSI address, lun"]);
}

#[test]
fn a_wrong_target_or_lun_is_answered_with_those_there_are() {
    let Some(mut tgt) = tgt::start(1) else { return };
    let (story, lun) = (Story::new(), tgt.address("", ""));
    let name = tgt.name();
    let targets = ["login", "failed", "no such target", &format!("has:\n    - {name}\n")];
    for verb in [&["check"][..], &["run", "vmware"]] {
        refused(&story.assay(&[verb, &[&lun.replace(":disk", ":other")]].concat()), 2, &targets);
    }
    let said = story.assay(&["check", &lun.replace("/1?", "/7?")]);
    refused(&said, 2, &["no such LUN", "- LUN 0, not a disk", "- LUN 1, 64MiB (IET VIRTUAL-DISK)"]);
    // The list has come over the network, whose frames were described below it.
    assert!(!said.err.contains("answers echoes"), "{}", said.err);
    refused(&story.assay(&["check", &lun.replace("/1?", "/0?")]), 2, &["not a disk", "- LUN 1, 64MiB"]);

    for tid in 2..=12 {
        tgt.set(&format!("--op new --mode target --tid {tid} -T {name}{tid:02}")).unwrap();
        tgt.set(&format!("--op bind --mode target --tid {tid} -I ALL")).unwrap();
    }
    let reported = story.assay(&["check", &lun.replace(":disk", ":disk077")]);
    // Those most like it first.
    refused(&reported, 2, &[&format!("has:\n    - {name}07\n"), "\n    - and 4 more\n"]);
    assert_eq!(reported.err.matches("    - iqn.").count(), 8);
    let all = json(&story.assay(&["check", lun.split("/iqn.").next().unwrap(), "--json"]), 0);
    assert_eq!(all["targets"].as_array().unwrap().len(), 12);
    assert!(!all["targets"][0]["portals"].as_array().unwrap().is_empty());
}

#[test]
fn a_portal_that_tells_nothing_without_chap_does_not_hide_the_first_error() {
    let Some(istgt) = istgt::start() else { return };
    let story = Story::new();
    let address = |name: &str| format!("iscsi://{}/{name}/0", istgt.portal);
    json(&story.assay(&["check", &address(istgt::NAME), "--json"]), 0);
    let words = ["no such target", "The portal does not list its targets", "CHAP"];
    refused(&story.assay(&["check", &address("iqn.2026-11.example.assay:other")]), 2, &words);
}

#[test]
fn a_secret_opens_the_target_and_is_kept_nowhere() {
    let Some(mut tgt) = tgt::start(1) else { return };
    tgt.set(&format!("--op new --mode account --user bob --password {SECRET}")).unwrap();
    tgt.set("--op bind --mode account --tid 1 --user bob").unwrap();
    let story = Story::new();
    let plan = story
        .write("read.toml", "name=\"r\"\n[[test]]\nname=\"t\"\naccess=[{size=\"4KiB\",read=100}]\nops=200\n");
    let wrong = story.write("wrong", "not-the-secret-99\n");
    let keep = tempfile::tempdir().unwrap();
    let right = keep.path().join("secret");
    std::fs::write(&right, format!("{SECRET}\n")).unwrap();

    refused(&story.assay(&["check", &tgt.address("bob@", "")]), 2, &["ASSAY_CHAP_SECRET"]);
    refused(&story.assay(&["check", &tgt.address("", "")]), 2, &["login"]);
    let reported = story.assay(&["run", &plan, &tgt.address("bob@", &format!("chap_file={wrong}"))]);
    refused(&reported, 2, &["login"]);
    assert!(!reported.err.contains("not-the-secret-99"));

    let lun = tgt.address("bob@", &format!("chap_file={}", right.display()));
    let by_file = story.assay(&["run", &plan, &lun, "--json", "-o", "report.html"]);
    let document = json(&by_file, 0);
    let agreed = &document["targets"][0]["member"]["lun"]["paths"][0]["agreed"];
    assert!(agreed["authentication"].as_str().unwrap().starts_with("CHAP"), "{agreed:#}");
    let by_environment =
        story.command(&["check", &tgt.address("bob@", "")]).env("ASSAY_CHAP_SECRET", SECRET).output();
    let by_environment = printed(by_environment.unwrap()).ends(0);

    let mut said = [by_file.out, by_file.err, by_environment.out, by_environment.err].concat().into_bytes();
    for file in std::fs::read_dir(story.path("")).unwrap() {
        said.extend(std::fs::read(file.unwrap().path()).unwrap());
    }
    assert!(said.len() > 20_000, "store and report are looked at");
    assert!(!said.windows(SECRET.len()).any(|w| w == SECRET.as_bytes()), "the secret is somewhere");
}

/// Waits until the last run measures and is not prepared any more: the store says when.
fn measures(story: &Story) {
    story.wait_for(|run| run["tests"][0]["series"].as_array().is_some_and(|series| !series.is_empty()));
}

#[test]
fn a_target_that_is_killed_and_restarted_loses_nothing() {
    let Some(mut tgt) = tgt::start(2) else { return };
    let (story, lun) = (Story::new(), tgt.address("", "no_path=30"));
    let plan = "name=\"v\"\n[[test]]\nname=\"t\"\naccess=[{size=\"8KiB\",read=50,random=100}]\noutstanding=16\n\
                run=\"14s\"\nverify=true\n";
    let plan = story.write("verify.toml", plan);
    let serial = json(&story.assay(&["check", &lun, "--json"]), 0)["serial"].as_str().unwrap().to_owned();
    let mut command =
        story.command(&["run", &plan, &lun, "--size", "32MiB", "--overwrite", &serial, "--json"]);
    let running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    measures(&story);
    tgt.kill();
    std::thread::sleep(Duration::from_millis(2500));
    tgt.restart();
    let output = printed(running.wait_with_output().unwrap());
    let document = json(&output, 0);
    let test = &document["tests"][0];
    assert_eq!((test["complete"].as_bool(), test["errors"].as_u64()), (Some(true), Some(0)), "{test:#}");
    assert_eq!(test["mismatch_count"], 0, "{test:#}");
    let ops = test["total"]["ops"].as_u64().unwrap();
    let by_path: u64 = test["paths"].as_array().unwrap().iter().map(|p| p["ops"].as_u64().unwrap()).sum();
    assert!(ops > 1000 && ops == by_path, "nothing lost, nothing twice: {ops} {by_path}");
    // At least one whole second of them had no target: it is absent from the line, or next to nothing.
    let rates: Vec<f64> =
        test["series"].as_array().unwrap().iter().map(|p| p["iops"].as_f64().unwrap()).collect();
    let best = rates.iter().copied().fold(0.0, f64::max);
    let live = rates.iter().filter(|rate| **rate > best / 100.0).count();
    assert!(live < 14, "the time line shows the gap: {:#}", test["series"]);
    assert!(output.err.contains("went down") && output.err.contains("is up"), "{}", output.err);
    // The moments are drawn where they were.
    assert_eq!(story.assay(&["report", "last", "-o", "r.html"]).code, Some(0));
    let page = String::from_utf8(story.read("r.html")).unwrap();
    let drawn: Vec<&str> = page.split("<rect class=\"ep\"").skip(1).collect();
    let is_drawn = |words: &str| drawn.iter().any(|of| of.split("</title>").next().unwrap().contains(words));
    assert!(is_drawn("went down") && is_drawn("is up"), "{drawn:?}");
}

#[test]
fn a_target_that_stays_away_costs_every_io_in_flight_and_each_is_counted() {
    const OUTSTANDING: u64 = 100;
    let Some(mut tgt) = tgt::start(1) else { return };
    let (story, lun) = (Story::new(), tgt.address("", "no_path=1"));
    let plan = story.write(
        "read.toml",
        "name=\"r\"\n[[test]]\nname=\"t\"\nerror_limit=100000\naccess=[{size=\"4KiB\",read=100,random=100}]\n\
         outstanding=100\nrun=\"6s\"\n",
    );
    let mut command = story.command(&["run", &plan, &lun, "--json"]);
    let running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    measures(&story);
    tgt.kill();
    let document = json(&printed(running.wait_with_output().unwrap()), 1);
    let test = &document["tests"][0];
    assert_eq!(test["errors"], OUTSTANDING, "none vanishes: {test:#}");
}

/// The first failure in a result was "Remote I/O error" although the target had said what was wrong.
#[test]
fn a_failed_io_is_reported_in_the_words_of_the_target() {
    let Some(tgt) = tgt::start(1) else { return };
    let (story, lun) = (Story::new(), tgt.address("", ""));
    let plan = "name=\"r\"\n[[test]]\nname=\"t\"\naccess=[{size=\"4KiB\",read=100,random=100}]\nrun=\"3s\"\n";
    let plan = story.write("read.toml", plan);
    let mut command = story.command(&["run", &plan, &lun, "--json"]);
    let running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(2));
    // The target reads behind the end of its backing file.
    std::fs::File::options().write(true).open(tgt.lun_path()).unwrap().set_len(4 << 20).unwrap();
    let document = json(&printed(running.wait_with_output().unwrap()), 1);
    let says = document["tests"][0]["failures"][0]["says"].as_str().unwrap();
    assert!(says.contains("medium error") && says.contains("sense 3/"), "{says}");
    assert!(document["findings"].to_string().contains(says), "{:#}", document["findings"]);
}

/// What the target has in flight is read where tgt keeps the LUN: from the kernel's count of requests to a loop device.
#[test]
fn a_lun_reaches_its_queue_depth_at_the_target() {
    let Some(mut tgt) = tgt::start(1) else { return };
    let story = Story::new();
    let Some(device) = LoopDevice::over_empty(64 << 20) else { return };
    let disk = device.text();
    tgt.set(&format!("--op new --mode logicalunit --tid 1 --lun 3 --bsoflags direct -b {disk}")).unwrap();
    let plan = story.write(
        "plan.toml",
        "size = \"16MiB\"\n[[test]]\nname = \"t\"\noutstanding = 16\nrun = \"2s\"\n\
         access = [{ size = \"4KiB\", read = 100, random = 100 }]\n",
    );
    let lun = tgt.address("", "").replace("/1?", "/3?");
    let mut running = story.start(&["run", &plan, &lun, "--json"]);
    let inflight = format!("/sys/block/{}/inflight", device.name());
    let mut most = 0;
    while running.child().try_wait().unwrap().is_none() {
        let counted = std::fs::read_to_string(&inflight).unwrap();
        most = most.max(counted.split_whitespace().next().unwrap().parse::<u64>().unwrap());
        std::thread::sleep(Duration::from_micros(200));
    }
    let document = json(&running.end(), 0);
    assert_eq!(document["targets"][0]["member"]["engine"], "iscsi");
    assert!((4..=16).contains(&most), "tgt had at most {most} reads in flight on its disk");
    let said = document["tests"][0]["outstanding_effective"].as_f64().unwrap();
    assert!(said > 4.0 && said <= 16.01, "{said}");
}

#[test]
fn a_sizing_question_is_answered_from_the_curve_of_a_lun() {
    let Some(tgt) = tgt::start(1) else { return };
    sized_by_its_curve(&Story::new(), &tgt.address("", ""));
}
