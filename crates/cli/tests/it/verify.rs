//! Verify mode: what is read must be what was written.

use crate::story::{DONE, ERRORS, ProgramOutput, Story, count, rules, run};

const MIXED: &str = r#"
size = "4MiB"
[[test]]
name = "writes and checks"
verify = true
workers = 2
outstanding = 8
run = "500ms"
access = [{ size = "4KiB", read = 50, random = 100, weight = 2 }, { size = "16KiB", read = 50, random = 0, weight = 1 }]
"#;
const CHECK: &str = r#"
size = "4MiB"
[[test]]
name = "checks all"
verify = true
outstanding = 4
bytes = "4MiB"
access = [{ size = "16KiB", read = 100, random = 0 }]
"#;

fn prepared() -> Story {
    let story = Story::new();
    story.write("mixed.toml", MIXED);
    story.write("check.toml", CHECK);
    let document = story.assay(&["run", "mixed.toml", "t.dat", "--json"]).ends(DONE).json();
    assert!(count(&document, "/tests/0/write/ops") > 0 && count(&document, "/tests/0/read/ops") > 0);
    assert_eq!(count(&document, "/tests/0/mismatch_count"), 0);
    story
}

fn check(story: &Story) -> ProgramOutput {
    story.assay(&["run", "check.toml", "t.dat", "--json"])
}

#[test]
fn good_storage_passes_whatever_the_load() {
    const ALL: &str = r#"
size = "2MiB"
[defaults]
verify = true
workers = 3
outstanding = 8
ops = 6000
[[test]]
name = "replies and bursts"
access = [{ size = "4KiB", read = 50, random = 100, reply = "8KiB", burst = 3 }]
[[test]]
name = "sizes that overlap"
access = [{ size = "12KiB", align = "512", read = 40, random = 70 }]
[[test]]
name = "open"
pace = { rate = "20000/s", arrivals = "poisson" }
access = [{ size = "4KiB", read = 30, random = 100 }]
[[test]]
name = "reopened"
reconnect_every = 50
access = [{ size = "4KiB", read = 50, random = 50 }]
[[test]]
name = "not checked"
verify = false
access = [{ size = "8KiB", read = 0, random = 100 }]
[[test]]
name = "checked again"
access = [{ size = "4KiB", read = 90, random = 100 }]
"#;
    let story = Story::new();
    story.write("all.toml", ALL);
    for how in [&["--io", "uring"][..], &["--io", "psync"], &["--cached"]] {
        let args = [&["run", "all.toml", "t.dat", "--json"], how].concat();
        let document = story.assay(&args).ends(DONE).json();
        assert_eq!(crate::story::tests(&document).len(), 6);
    }
}

/// Changes bytes behind Assay's back: the time of the last change is put back, as failing storage would leave it.
fn corrupt(story: &Story, change: impl Fn(&mut Vec<u8>)) {
    let (file, times) = (story.path("t.dat"), story.path("times"));
    let (file, times) = (file.to_str().unwrap(), times.to_str().unwrap());
    run(&["touch", "-r", file, times]);
    let mut content = story.read("t.dat");
    change(&mut content);
    // In place, so that it stays the same file with the same marker.
    std::fs::write(file, content).unwrap();
    run(&["touch", "-r", times, file]);
}

#[test]
fn a_good_file_passes_whoever_wrote_it_last() {
    let story = prepared();
    for _ in 0..2 {
        let document = check(&story).ends(DONE).json();
        assert_eq!(count(&document, "/tests/0/total/ops"), 256, "the whole file was read");
        assert_eq!(document["targets"][0]["member"]["content"], "reused");
        assert!(!rules(&document).contains(&"mismatch"));
    }
}

#[test]
fn one_flipped_byte_is_found_with_its_offset_and_both_stamps() {
    for (offset, is_stamp_there) in [(1_234_567_usize, true), (8 * 512 + 3, false)] {
        let story = prepared();
        corrupt(&story, |content| content[offset] ^= 0x10);
        let reported = check(&story).ends(ERRORS);
        let document = reported.json();
        assert_eq!(count(&document, "/tests/0/mismatch_count"), 1);
        let wrong = &document["tests"][0]["mismatches"][0];
        assert_eq!(count(wrong, "/offset_bytes"), (offset / 512 * 512) as u64, "{wrong:#}");
        assert_eq!(
            (&wrong["member"], count(wrong, "/expected/offset_bytes")),
            (&"t.dat".into(), count(wrong, "/offset_bytes"))
        );
        assert_eq!(wrong["found"].is_object(), is_stamp_there, "{wrong:#}");
        for stamp in ["expected", "found"].iter().take(1 + usize::from(is_stamp_there)) {
            for key in ["offset_bytes", "run", "sequence", "checksum"] {
                assert!(wrong[stamp][key].is_u64(), "{stamp} {key} in {wrong:#}");
            }
        }
        assert!(rules(&document).contains(&"mismatch"));
        let place = format!("t.dat at offset {}", offset / 512 * 512);
        story.assay(&["show"]).ends(DONE).says(&[
            "CRITICAL",
            "1 block of 512 bytes did not contain what Assay wrote there",
            &place,
        ]);
    }
}

#[test]
fn a_flipped_byte_makes_the_stamps_differ() {
    let story = prepared();
    corrupt(&story, |content| content[100 * 512 + 300] ^= 1);
    let document = check(&story).ends(ERRORS).json();
    let wrong = &document["tests"][0]["mismatches"][0];
    assert_ne!(wrong["expected"]["checksum"], wrong["found"]["checksum"], "{wrong:#}");
}

#[test]
fn blocks_that_were_swapped_are_found() {
    let story = prepared();
    corrupt(&story, |content| {
        let block = content[0..512].to_vec();
        content.copy_within(512..1024, 0);
        content[512..1024].copy_from_slice(&block);
    });
    let document = check(&story).ends(ERRORS).json();
    assert_eq!(count(&document, "/tests/0/mismatch_count"), 2);
    let wrong = &document["tests"][0]["mismatches"][0];
    assert_eq!(
        (count(wrong, "/expected/offset_bytes"), count(wrong, "/found/offset_bytes")),
        (0, 512),
        "{wrong:#}"
    );
}

#[test]
fn a_file_without_stamps_is_written_anew() {
    let story = Story::new();
    story.write("check.toml", CHECK);
    story.assay(&["run", "vmware", "t.dat", "--size", "4MiB", "--set", "run=100ms"]).ends(DONE);
    let document = check(&story).ends(DONE).json();
    assert_eq!(document["targets"][0]["member"]["content"], "prepared");
    assert_eq!(count(&document, "/tests/0/mismatch_count"), 0);
}

#[test]
fn a_file_of_somebody_else_s_cannot_be_verified() {
    let story = Story::new();
    story.write("check.toml", CHECK);
    story.write("t.dat", vec![7; 4 << 20]);
    check(&story).refused(&["nothing proves that t.dat has them", "--overwrite t.dat"]);
    assert!(story.read("t.dat") == vec![7; 4 << 20], "it was only looked at");
    story.assay(&["run", "check.toml", "t.dat", "--overwrite", "t.dat"]).ends(DONE);
}

#[test]
fn a_stamped_file_that_somebody_changed_or_copied_is_still_checked() {
    let story = prepared();
    let mut content = story.read("t.dat");
    content[3_000_000] ^= 1;
    story.write("t.dat", &content);
    assert_eq!(count(&check(&story).ends(ERRORS).json(), "/tests/0/mismatch_count"), 1);
    std::fs::remove_file(story.path("t.dat")).unwrap();
    content[3_000_000] ^= 1;
    story.write("t.dat", &content);
    check(&story).ends(DONE);
}

#[test]
fn null_cannot_be_verified() {
    let story = Story::new();
    story.write("check.toml", CHECK);
    story
        .assay(&["run", "check.toml", "null:"])
        .refused(&["checks all", "verify needs a target that keeps data"]);
}
