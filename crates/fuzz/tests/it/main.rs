//! Replays every kept input of every fuzz target, including those that once failed.

use std::path::{Path, PathBuf};

use assay_fuzz::{TARGETS, Target};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Collects every file below a directory; none if the directory does not exist.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.map(|entry| entry.expect("the folder is readable").path()) {
        match path.is_dir() {
            true => files(&path, found),
            false => found.push(path),
        }
    }
}

fn inputs(target: &Target) -> Vec<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(target.name);
    let mut found = Vec::new();
    files(&own, &mut found);
    assert!(!found.is_empty(), "{} has no seeds", target.name);
    target.seeds.iter().for_each(|folder| files(&root().join(folder), &mut found));
    found
}

#[test]
fn every_kept_input_passes() {
    for target in TARGETS {
        for path in inputs(target) {
            println!("{}: {}", target.name, path.display());
            (target.run)(&std::fs::read(&path).expect("seeds are readable"));
            (target.run)(&[]);
        }
    }
}

/// Seeds of removed targets would be unused.
#[test]
fn every_seed_directory_has_a_target() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds");
    for entry in std::fs::read_dir(folder).expect("there are seeds") {
        let name = entry.expect("the folder is readable").file_name();
        let name = name.to_string_lossy();
        assert!(assay_fuzz::find(&name).is_some(), "{name} is no fuzz target");
    }
}
