//! Dependencies between rooms: a boundary is a dependency firewall (ARCHITECTURE.md, docs/design/001-rooms.md).

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

use crate::{none, root};

/// Room that only tests and `xtask` use, whose benchmarks are tests with a clock: no shipped program contains it.
const FOR_TESTS: &str = "testkit";

/// Each room and the rooms that it may use; `cli` may use all.
const ARROWS: &[(&str, &[&str])] = &[
    ("spec", &[]),
    ("tcp", &[]),
    ("iscsi", &["tcp"]),
    ("nfs", &["tcp"]),
    (FOR_TESTS, &["spec", "record"]),
    ("xtask", &["host", "planted", "simulate", FOR_TESTS]),
    ("simulate", &["iscsi", "spec"]),
    ("planted", &["model", "spec", "record", "analysis", "diagnose", "report"]),
    (
        "fuzz",
        &[
            "spec", "iscsi", "nfs", "record", "host", "target", "claim", "model", "analysis", "report",
            "interop", FOR_TESTS,
        ],
    ),
    ("record", &["spec"]),
    ("interop", &["spec", "record"]),
    ("host", &["record", "spec", "tcp"]),
    ("target", &["spec", "iscsi", "nfs"]),
    ("claim", &["spec", "iscsi", "nfs", "record", "host", "target"]),
    ("prepare", &["spec", "target", "record", "host", "claim"]),
    ("engine", &["spec", "target", "record", "host"]),
    ("runner", &["spec", "record", "host", "target", "prepare", "engine", "store"]),
    ("model", &["spec"]),
    ("sim", &["spec", "target", "model"]),
    ("statistics", &[]),
    ("analysis", &["spec", "record", "model", "statistics", "surface"]),
    ("diagnose", &["spec", "record", "model", "statistics", "analysis"]),
    ("surface", &["spec", "statistics"]),
    ("sizing", &["spec", "record", "model", "statistics", "analysis"]),
    ("store", &["spec", "record"]),
    ("report", &["spec", "record", "analysis", "diagnose", "sizing", "surface", "model"]),
    ("results", &["record", "analysis", "diagnose", "model", "store", "report"]),
    ("fleet", &["spec", "record", "host", "target", "prepare", "engine", "store", "runner"]),
    ("web", &["spec", "record", "interop", "analysis", "model", "store", "report", "results"]),
    (
        "cli",
        &[
            "spec", "tcp", "iscsi", "nfs", "record", "host", "target", "claim", "prepare", "engine",
            "runner", "model", "sim", "analysis", "diagnose", "sizing", "surface", "store", "report",
            "interop", "results", "web", "fleet",
        ],
    ),
];

fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version=1", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs this test");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
    document["packages"].as_array().expect("a list of packages").clone()
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

/// Returns the room of a package: `assay-spec` is `spec`; xtask keeps the name that cargo expects.
fn room(package: &str) -> &str {
    package.strip_prefix("assay-").unwrap_or(package)
}

/// Returns the rooms that a package uses outside of its tests.
fn uses(package: &Value) -> BTreeSet<String> {
    let dependencies = package["dependencies"].as_array().expect("a list of dependencies");
    let is_room = |d: &&Value| d["path"].is_string() && d["kind"].is_null();
    dependencies.iter().filter(is_room).map(|d| room(text(d, "name")).to_owned()).collect()
}

#[test]
fn rooms_use_only_the_rooms_they_may() {
    let mut offenders = Vec::new();
    for package in packages() {
        let name = room(text(&package, "name"));
        let Some((_, allowed)) = ARROWS.iter().find(|(room, _)| *room == name) else {
            offenders.push(format!("{name}: is not in the list of rooms"));
            continue;
        };
        let wrong = uses(&package).into_iter().filter(|used| !allowed.contains(&used.as_str()));
        offenders.extend(wrong.map(|used| format!("crates/{name}/Cargo.toml: {name} -> {used}")));
    }
    none(
        &offenders,
        "move what is needed to a room both may use, or write a decision in docs/design and the arrow here",
    );
}

/// A list with missing or removed rooms would check less than it claims.
#[test]
fn every_arrow_connects_existing_rooms() {
    let packages = packages();
    let rooms: BTreeSet<&str> = packages.iter().map(|package| room(text(package, "name"))).collect();
    let named = ARROWS.iter().flat_map(|(room, allowed)| [&[*room][..], allowed].concat());
    let stale: BTreeSet<String> =
        named.filter(|name| !rooms.contains(name)).map(|name| format!("{name}: no such room")).collect();
    none(&stale.into_iter().collect::<Vec<_>>(), "remove it from the list of arrows");
}

#[test]
fn folder_name_is_crate_name() {
    let wrong = packages().into_iter().filter_map(|package| {
        let name = text(&package, "name");
        let expected = format!("crates/{}/Cargo.toml", room(name));
        let is_named_so = name == "xtask" || name.starts_with("assay-");
        let is_right = is_named_so && text(&package, "manifest_path").ends_with(&expected);
        (!is_right).then(|| format!("{name} is at {}", text(&package, "manifest_path")))
    });
    none(&wrong.collect::<Vec<_>>(), "call the crate in crates/ROOM `assay-ROOM`");
}

#[test]
fn every_room_has_a_description_and_only_target_has_unsafe_code() {
    let mut offenders = Vec::new();
    for package in packages() {
        let name = room(text(&package, "name"));
        let folder = root().join("crates").join(name).join("src");
        let entries: Vec<_> =
            ["lib.rs", "main.rs"].iter().map(|f| folder.join(f)).filter(|f| f.is_file()).collect();
        assert!(!entries.is_empty(), "crates/{name} has neither lib.rs nor main.rs");
        for entry in entries {
            let place = format!("crates/{name}/src/{}:1", entry.file_name().expect("a file").display());
            let code = std::fs::read_to_string(&entry).expect("it is a text file");
            if !code.starts_with("//! ") {
                offenders.push(format!("{place}: begin with a module doc: the nouns and how they meet"));
            }
            if name != "target" && !code.contains("#![forbid(unsafe_code)]") {
                offenders.push(format!("{place}: add #![forbid(unsafe_code)]"));
            }
        }
    }
    none(&offenders, "rooms that break the house rules");
}
