//! `assay probe-cache` from the command line: what it writes, what it only reads, what it shows.

use crate::story::{DONE, Story, rules};

const SHORT: [&str; 4] = ["--run", "300ms", "--absorb", "1s"];

#[test]
fn a_file_of_assays_own_is_read_and_written_and_its_caches_are_in_the_record() {
    let story = Story::new();
    let args = ["probe-cache", "t.dat", "--size", "64MiB", "--storage-ram", "1GiB", "--json"];
    let run = story.assay(&[&args[..], &SHORT].concat()).ends(DONE).json();
    let caches = &run["caches"];
    assert_eq!(caches["working_sets"].as_array().unwrap().len(), 4, "{caches}");
    for part in ["touch", "absorption", "flush"] {
        assert!(caches[part].is_object(), "{part}: {caches}");
    }
    assert!(rules(&run).contains(&"storage-memory"));
    assert_eq!(run["stated"]["storage_bytes"], 1 << 30);
    let shown = story.assay(&["show", "last"]).ends(DONE);
    let shown = shown.says(&["Working set", "First read of", "Durable 4 KiB write:"]);
    // They took 32 lines.
    assert!(shown.out.lines().count() <= 23, "{}", shown.out);
    let full = story.assay(&["show", "last", "--explain"]).ends(DONE);
    full.says(&["Random reads over working sets", "when read again"]);
}

#[test]
fn a_file_of_somebody_else_is_only_read() {
    let story = Story::new();
    let content: Vec<u8> =
        (0..32 << 20).map(|n: u32| n.wrapping_mul(2_654_435_761).to_le_bytes()[3]).collect();
    story.write("data.bin", &content);
    let done = story.assay(&[&["probe-cache", "data.bin"][..], &SHORT].concat()).ends(DONE);
    done.says(&["write caches are not looked for", "Working set"]);
    assert!(story.read("data.bin") == content, "the file was changed");
}

/// It filled a file of 4 GiB of that name.
#[test]
fn a_suite_in_the_place_of_a_target_is_refused() {
    let story = Story::new();
    for args in [&["probe-cache", "vmware"][..], &["run", "atto", "t.dat", "vmware"]] {
        story.assay(args).refused(&["vmware"]);
        assert!(!story.path("vmware").exists(), "{args:?}");
    }
}
