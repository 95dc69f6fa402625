//! `assay map` from the command line: what it says of a real file, and that it only reads.

use crate::story::{DONE, Story};

const MIB: usize = 1 << 20;

/// 32 MiB without a zero byte, but for 8 MiB of zeros.
fn content() -> Vec<u8> {
    let byte = |n: u32| n.wrapping_mul(2_654_435_761).to_le_bytes()[3] | 1;
    let mut content: Vec<u8> = (0..32 << 20).map(byte).collect();
    content[8 * MIB..16 * MIB].fill(0);
    content
}

#[test]
fn a_file_is_mapped_by_reading_and_compared_with_an_earlier_map() {
    let story = Story::new();
    story.write("t.dat", content());
    let first =
        story.assay(&["map", "t.dat", "--budget", "4s", "--json", "-o", "before.json"]).ends(DONE).json();
    assert_eq!(first["schema"], "assay.map/1");
    let is_zeros = |finding: &serde_json::Value| {
        let ends = (finding["from_bytes"].as_u64(), finding["to_bytes"].as_u64());
        finding["kind"] == "zeros" && ends == (Some(8 << 20), Some(16 << 20))
    };
    assert!(first["findings"].as_array().unwrap().iter().any(is_zeros), "{}", first["findings"]);
    assert!(first["cells"].as_array().unwrap().iter().all(|cell| cell["failed"] == 0));
    story
        .assay(&["map", "t.dat", "--budget", "4s", "--sequential", "--baseline", "before.json"])
        .ends(DONE)
        .says(&["ZEROS: 8 MiB to 16 MiB", "Since the map of 20", "MiB/s", "32 MiB"]);
    assert!(story.read("t.dat") == content(), "the file was changed");
    assert_eq!(story.files(), ["before.json", "t.dat"], "a map leaves nothing behind");
}

#[test]
fn a_map_creates_nothing_and_says_what_it_needs() {
    let story = Story::new();
    story.assay(&["map", "t.dat"]).refused(&["t.dat"]);
    assert_eq!(story.files(), Vec::<String>::new());
    story.write("small.dat", vec![1; MIB]);
    story.assay(&["map", "small.dat"]).refused(&["small.dat holds 1 MiB", "4 MiB"]);
    story.assay(&["map", "small.dat", "-o", "map.txt"]).refused(&[".json"]);
    // It was said of these that Assay fills no file that it did not create, and to use a larger --size.
    for (bytes, says) in [(0, "holds 0 B"), (3000, "holds 2.9 KiB")] {
        story.write("tiny.dat", vec![1; bytes]);
        story.assay(&["map", "tiny.dat"]).refused(&[says, "a map needs 4 MiB"]);
    }
    story.assay(&["map", "small.dat", "tiny.dat"]).refused(&["a map is of one target", "tiny.dat"]);
    story.write("not.json", "{}");
    story
        .assay(&["map", "small.dat", "--baseline", "not.json"])
        .refused(&["not.json is not a map", "assay map TARGET -o FILE"]);
    let null =
        story.assay(&["map", "null:", "--budget", "100ms", "--json", "-o", "null.json"]).ends(DONE).json();
    let findings = null["findings"].as_array().unwrap();
    assert_eq!(findings[0]["kind"], "stores-nothing");
    assert!(findings[1..].iter().all(|finding| finding["kind"] == "disturbed"), "{findings:?}");
    story.write("t.dat", vec![1; 8 * MIB]);
    story
        .assay(&["map", "t.dat", "--budget", "100ms", "--baseline", "null.json"])
        .refused(&["1 TiB", "8 MiB", "not the same"]);
}

/// Maps were files alone, which the server did not show.
#[test]
fn a_map_is_kept_where_there_is_a_store_and_can_be_imported() {
    let story = Story::new();
    story.write("t.dat", content());
    let map = ["map", "t.dat", "--budget", "300ms", "-o", "map.json"];
    story.assay(&map).ends(DONE);
    story.assay(&["import", "map.json"]).ends(DONE).says(&["the map of t.dat is stored"]);
    story.assay(&["import", "map.json"]).ends(DONE).says(&["the map of t.dat was stored already"]);
    story.assay(&["map", "t.dat", "--budget", "300ms", "-o", "kept.json"]).ends(DONE);
    story.assay(&["import", "kept.json"]).ends(DONE).says(&["the map of t.dat was stored already"]);
    story.assay(&["runs"]).ends(DONE);
    // One of an earlier version does not say when it was made; its file does.
    let text = String::from_utf8(story.read("map.json")).unwrap();
    let without: String = text.lines().filter(|line| !line.contains("made_unix_ms")).collect();
    assert!(without.len() < text.len());
    story.write("old.json", without);
    story.assay(&["import", "old.json"]).ends(DONE).says(&["the map of t.dat is stored"]);
}

/// A simulated disk was mapped over its first 4 GiB, which lie in one zone.
#[test]
fn a_simulated_disk_is_mapped_whole_and_has_zones() {
    let story = Story::new();
    let map = story.assay(&["map", "sim:hdd-7200", "--budget", "8s", "--json"]).ends(DONE).json();
    assert_eq!(map["size_bytes"].as_u64().unwrap() / 1_000_000_000, 5_999);
    let findings = map["findings"].as_array().unwrap();
    let zoned = findings.iter().find(|finding| finding["kind"] == "zoned");
    let zoned = zoned.unwrap_or_else(|| panic!("{findings:?}"));
    assert!(zoned["first_mib_per_s"].as_f64() > zoned["last_mib_per_s"].as_f64(), "{zoned}");
}
