//! What belongs to others and has a name of a lab: `assay lab` neither uses nor removes it.

use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use assay_testkit::story::{BAD_INPUT, DONE};

use super::array::SimulatedLab;

/// The user and group `nobody`.
const NOBODY: u32 = 65_534;

fn state_folder(lab: &SimulatedLab) -> PathBuf {
    PathBuf::from(format!("/dev/shm/assay-{}-array", lab.name))
}

/// A state of a lab as an earlier version wrote it.
fn state(lab: &SimulatedLab, data: &Path) -> String {
    let (name, data) = (&lab.name, data.display());
    format!(
        r#"{{"name": "{name}", "array": "a", "title": "t", "protocol": "iscsi", "links": 1, "mbit": 1000,
            "mtu": 1500, "capacity_bytes": 1048576, "data": "{data}", "broken": []}}"#
    )
}

fn precious(lab: &SimulatedLab, folder: &str) -> PathBuf {
    std::fs::create_dir_all(lab.story.path(folder)).unwrap();
    lab.story.write(&format!("{folder}/lun1"), "precious");
    lab.story.path(folder)
}

fn is_whole(folder: &Path) -> bool {
    std::fs::read(folder.join("lun1")).is_ok_and(|text| text == b"precious")
}

/// The state is in a world-writable directory under a name that everybody knows, and it named the folder that `down`
/// removed.
#[test]
fn a_state_of_another_user_is_refused_and_removes_nothing() {
    let Some(lab) = SimulatedLab::new() else { return };
    let (victim, folder) = (precious(&lab, "victim"), state_folder(&lab));
    std::fs::create_dir(&folder).unwrap();
    let way_out = folder.join("../../..").join(victim.strip_prefix("/").unwrap());
    std::fs::write(folder.join("lab.json"), state(&lab, &way_out)).unwrap();
    chown(folder.join("lab.json"), Some(NOBODY), Some(NOBODY)).unwrap();
    chown(&folder, Some(NOBODY), Some(NOBODY)).unwrap();
    let verbs = ["down", "status", "mend", "break server", "up hdd-7200 --size 16MiB --links 1x1GbE"];
    let said: Vec<_> = verbs.iter().map(|verb| (verb, lab.does(verb))).collect();
    let is_left = folder.join("lab.json").exists();
    let _ = std::fs::remove_dir_all(&folder);
    assert!(is_whole(&victim), "{said:?}");
    assert!(is_left, "{said:?}");
    for (verb, output) in said {
        assert_eq!(output.code, Some(BAD_INPUT), "{verb}: {}", output.out);
        assert!(output.err.contains("belongs to user nobody (65534)"), "{verb}: {}", output.err);
    }
}

#[test]
fn a_link_in_the_place_of_a_state_is_refused() {
    let Some(lab) = SimulatedLab::new() else { return };
    let (victim, folder) = (precious(&lab, "victim"), state_folder(&lab));
    lab.story.write("victim/lab.json", state(&lab, &victim));
    symlink(&victim, &folder).unwrap();
    let down = lab.does("down");
    std::fs::remove_file(&folder).unwrap();
    std::fs::create_dir(&folder).unwrap();
    symlink(victim.join("lab.json"), folder.join("lab.json")).unwrap();
    let status = lab.does("status");
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(down.code, Some(BAD_INPUT), "{}", down.err);
    assert_eq!(status.code, Some(BAD_INPUT), "{}", status.out);
    assert!(is_whole(&victim));
}

/// Every directory of the right name was taken for the lab's.
#[test]
fn data_without_the_mark_of_the_lab_are_left() {
    let Some(lab) = SimulatedLab::new() else { return };
    let own_name = format!("assay-{}-array", lab.name);
    let (named, inside) = (precious(&lab, &own_name), precious(&lab, &format!("other/{own_name}/data")));
    lab.story.write(&format!("other/{own_name}/.assay-lab"), format!("lab {} \n", lab.name));
    for data in [&named, &inside] {
        std::fs::create_dir(state_folder(&lab)).unwrap();
        std::fs::write(state_folder(&lab).join("lab.json"), state(&lab, data)).unwrap();
        let down = lab.does("down");
        assert!(is_whole(data), "{}", down.err);
        assert_eq!(down.code, Some(DONE), "{}", down.err);
        assert!(down.err.contains("are left: it does not hold the mark of this lab"), "{}", down.err);
    }
}

/// `up --data` emptied the files of a directory that was there, and `down` removed the directory.
#[test]
fn a_folder_of_data_is_new_and_goes_with_the_lab() {
    let Some(lab) = SimulatedLab::new() else { return };
    let own_name = format!("assay-{}-array", lab.name);
    let taken = precious(&lab, &format!("taken/{own_name}"));
    let linked = precious(&lab, "linked");
    std::fs::create_dir(lab.story.path("links")).unwrap();
    symlink(&linked, lab.story.path("links").join(&own_name)).unwrap();
    for (data, folder) in [("taken", &taken), ("links", &linked)] {
        let up = lab.does(&format!("up hdd-7200 --size 16MiB --links 1x1GbE --data {data}"));
        let down = lab.does("down");
        assert!(is_whole(folder), "{data}: {}{}{}", up.out, up.err, down.out);
        assert_eq!(up.code, Some(BAD_INPUT), "{data}: {}", up.out);
        assert!(up.err.contains(&format!("{own_name} exists already")), "{}", up.err);
    }

    let beside = precious(&lab, "free");
    let up = lab.does("up hdd-7200 --size 16MiB --links 1x1GbE --data free");
    assert_eq!(up.code, Some(DONE), "{}", up.err);
    assert!(beside.join(&own_name).join("data/lun1").is_file());
    let down = lab.does("down");
    assert_eq!((down.code, down.err.as_str()), (Some(DONE), ""));
    assert!(is_whole(&beside) && !beside.join(own_name).exists());
}

#[test]
fn an_interface_of_somebody_else_is_no_link_of_the_lab() {
    let Some(lab) = SimulatedLab::new() else { return };
    let ip = |words: &str| Command::new("ip").args(words.split(' ')).output().unwrap().status.success();
    let (interface, peer) = (format!("{}-l2", lab.name), format!("{}-p", lab.name));
    assert!(ip(&format!("link add {interface} type veth peer name {peer}")));
    let up = lab.does("up hdd-7200 --size 16MiB --links 2x1GbE");
    let down = lab.does("down");
    let is_there = ip(&format!("link show dev {interface}"));
    ip(&format!("link del {interface}"));
    assert!(is_there, "{}{}", up.err, down.err);
    assert_eq!(up.code, Some(BAD_INPUT), "{}", up.err);
    assert!(up.err.contains(&format!("an interface {interface}")), "{}", up.err);
}

/// The one that came too late removed the lab of the first, with its processes.
#[test]
fn of_two_that_build_one_lab_the_second_leaves_that_of_the_first() {
    let Some(lab) = SimulatedLab::new() else { return };
    // The second looks before the first begins, and goes on when the first is done.
    let slow_ip = "#!/bin/sh\nPATH=${PATH#*:}\n[ \"$1\" = -o ] || exec ip \"$@\"\n\
                   said=$(ip \"$@\")\n: > looked\nuntil [ -e go ]; do sleep 0.05; done\necho \"$said\"\n";
    std::fs::create_dir(lab.story.path("bin")).unwrap();
    let ip = lab.story.write("bin/ip", slow_ip);
    std::fs::set_permissions(ip, std::fs::Permissions::from_mode(0o755)).unwrap();
    let up = "up hdd-7200 --size 16MiB --links 1x1GbE";
    let words: Vec<&str> = ["lab"].into_iter().chain(up.split(' ')).chain(["--name", &lab.name]).collect();
    let path = format!("{}:{}", lab.story.path("bin").display(), std::env::var("PATH").unwrap());
    let second = lab.story.command(&words).env("PATH", path).stderr(Stdio::piped()).spawn().unwrap();
    while !lab.story.path("looked").exists() {
        std::thread::sleep(Duration::from_millis(20));
    }
    let first = lab.does(up);
    lab.story.write("go", "");
    let second = second.wait_with_output().unwrap();
    assert_eq!(first.code, Some(DONE), "{}", first.err);
    assert_eq!(second.status.code(), Some(BAD_INPUT), "{}", String::from_utf8_lossy(&second.stderr));
    assert_eq!(lab.status()["served"]["serving"], true);
}
