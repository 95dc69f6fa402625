//! Plans that do not make sense: each complaint names the line, the field and what would do; nothing is created.

use crate::story::Story;

const ACCESS: &str = r#"access = [{ size = "4KiB" }]"#;

/// Runs a plan on a new file; it must be refused with these words.
#[track_caller]
fn check(plan: &str, words: &[&str]) {
    let story = Story::new();
    story.write("plan.toml", plan);
    story.assay(&["run", "plan.toml", "t.dat", "--size", "1MiB"]).refused(words);
    assert_eq!(story.files(), ["plan.toml"], "nothing is created");
}

/// The same for a plan of one test with these lines, the first of which is line 3.
#[track_caller]
fn check_test(lines: &str, words: &[&str]) {
    check(&format!("[[test]]\nname = \"t\"\n{lines}\n"), words);
}

#[test]
fn text_that_is_no_toml() {
    check_test(&format!("{ACCESS}\nworkers = = 2"), &["plan.toml:4"]);
}

#[test]
fn a_field_that_does_not_exist() {
    check_test(
        &format!("{ACCESS}\noutstandign = 4"),
        &["plan.toml:4", "outstandign", "did you mean `outstanding`?"],
    );
    check_test(
        r#"access = [{ size = "4KiB", raed = 100 }]"#,
        &["plan.toml:3", "raed", "did you mean `read`?"],
    );
    check("[[tset]]\n", &["plan.toml:1", "did you mean `test`?"]);
    check(&format!("[[test]]\nnmae = \"t\"\n{ACCESS}"), &["plan.toml:2", "nmae", "did you mean `name`?"]);
    check(&format!("semantic = \"assay\"\n[[test]]\nname = \"t\"\n{ACCESS}"), &["did you mean `semantics`?"]);
}

#[test]
fn a_unit_that_does_not_exist() {
    check_test(r#"access = [{ size = "4KIBI" }]"#, &["plan.toml:3", "size", "`KIBI`", "KiB"]);
    check_test(&format!("{ACCESS}\nrun = \"2 fortnights\""), &["plan.toml:4", "run", "fortnights", "min"]);
    check_test(&format!("{ACCESS}\npace = {{ rate = \"500/day\" }}"), &["plan.toml:4", "rate", "/s"]);
}

#[test]
fn a_value_out_of_its_range() {
    check_test(r#"access = [{ size = "4KiB", read = 101 }]"#, &["plan.toml:3", "read", "0 to 100"]);
    check_test(&format!("{ACCESS}\nworkers = 0"), &["plan.toml:4", "workers", "from 1 to 256"]);
    check_test(&format!("{ACCESS}\noutstanding = 5000"), &["plan.toml:4", "outstanding", "from 1 to 4096"]);
    check_test(r#"access = [{ size = "1GiB" }]"#, &["plan.toml:3", "size", "512MiB"]);
    check_test(&format!("{ACCESS}\nrun = \"0s\""), &["plan.toml:4", "run", "more than zero"]);
}

#[test]
fn a_value_of_the_wrong_kind() {
    check_test(&format!("{ACCESS}\nverify = \"yes\""), &["plan.toml:4", "verify", "true or false"]);
    check_test("access = 5", &["plan.toml:3", "access", "array"]);
    check_test(&format!("{ACCESS}\nsweep = [1, 2]"), &["plan.toml:4", "sweep", "must be a table"]);
}

#[test]
fn a_word_that_is_not_known() {
    check(
        &format!("semantics = \"iometre\"\n[[test]]\nname = \"t\"\n{ACCESS}"),
        &["plan.toml:1", "semantics", "did you mean `iometer`?"],
    );
    check_test(&format!("{ACCESS}\ndata = \"uniqe\""), &["plan.toml:4", "data", "did you mean `unique`?"]);
    check_test(
        &format!("{ACCESS}\npace = {{ rate = \"5/s\", arrivals = \"poison\" }}"),
        &["plan.toml:4", "arrivals", "did you mean `poisson`?"],
    );
}

#[test]
fn something_that_is_missing() {
    check("name = \"nothing\"\n", &["plan.toml", "at least one [[test]]"]);
    check(&format!("[[test]]\n{ACCESS}"), &["plan.toml:1", "a test needs a `name`"]);
    check_test("workers = 2", &["plan.toml:1", "test \"t\"", "needs `access`"]);
    check_test("access = [{ read = 100 }]", &["plan.toml:3", "needs a `size`"]);
    check_test(&format!("{ACCESS}\npace = {{ arrivals = \"poisson\" }}"), &["plan.toml:4", "needs a `rate`"]);
    check_test(
        r#"access = [{ size = "4KiB", weight = 3 }, { size = "8KiB" }]"#,
        &["plan.toml:3", "access[1]", "needs a `weight`"],
    );
}

#[test]
fn a_name_given_twice() {
    let test = format!("[[test]]\nname = \"same\"\n{ACCESS}\n");
    check(&format!("{test}{test}"), &["plan.toml:4", "same", "has this name already"]);
    check_test(&format!("{ACCESS}\ntargets = [0, 0]"), &["plan.toml:4", "targets[1]", "named twice"]);
}

#[test]
fn everything_that_is_wrong_is_said_at_once_in_the_order_of_the_file() {
    let plan = r#"semantic = "assay"
[[test]]
name = "one"
runtime = "10s"
access = [{ size = "4KIBI", raed = 100 }]
outstanding = 5000

[[test]]
name = "two"
access = { size = "8KiB" }
pace = { rate = "500/day" }
"#;
    let story = Story::new();
    story.write("plan.toml", plan);
    let said = story.assay(&["run", "plan.toml", "t.dat", "--size", "1MiB"]).refused(&[]).err;
    let lines: Vec<&str> = said.lines().filter(|line| line.contains("plan.toml:")).collect();
    let wanted = [
        ("plan.toml:1: semantic:", "did you mean `semantics`?"),
        ("plan.toml:4: test \"one\": runtime:", "run=60s"),
        ("plan.toml:5: test \"one\": access[0].size:", "KiB"),
        ("plan.toml:5: test \"one\": access[0].raed:", "did you mean `read`?"),
        ("plan.toml:6: test \"one\": outstanding:", "from 1 to 4096"),
        ("plan.toml:11: test \"two\": pace.rate:", "/s"),
    ];
    assert_eq!(lines.len(), wanted.len(), "{said}");
    for ((place, fix), line) in wanted.iter().zip(lines) {
        assert!(line.contains(place) && line.contains(fix), "{place} {fix}: {said}");
    }
}

#[test]
fn tests_that_make_no_sense_are_all_named() {
    let plan = "[[test]]\nname = \"one\"\nworkers = 2\n[[test]]\nname = \"two\"\nworkers = 2\n";
    check(plan, &["plan.toml:1: test \"one\"", "plan.toml:4: test \"two\"", "needs `access`"]);
}

#[test]
fn a_sweep_that_cannot_be() {
    check_test(
        &format!("{ACCESS}\nsweep = {{ outstandin = [1] }}"),
        &["plan.toml:4", "did you mean `outstanding`?"],
    );
    check_test(
        &format!("{ACCESS}\nsweep = {{ size = [\"4KiB\", \"x\"] }}"),
        &["plan.toml:4", "size[1]", "`x`"],
    );
    check_test(
        &format!("{ACCESS}\nsweep = {{ workers = [] }}"),
        &["plan.toml:4", "workers", "must not be empty"],
    );
    let many = (1..=200).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    let sweep = format!("{ACCESS}\nsweep = {{ workers = [{many}], outstanding = [{many}] }}");
    check_test(&sweep, &["plan.toml:1", "40000 steps", "at most 5000"]);
}

#[test]
fn words_that_contradict_each_other() {
    let iometer = |lines: &str| format!("semantics = \"iometer\"\n[[test]]\nname = \"t\"\n{lines}");
    check(
        &iometer(&format!("{ACCESS}\npace = {{ rate = \"5/s\" }}")),
        &["plan.toml:2", "Iometer has no rates"],
    );
    check(&iometer(&format!("{ACCESS}\nverify = true")), &["plan.toml:2", "verify", "semantics = \"assay\""]);
    check(
        &iometer(r#"access = [{ size = "4KiB", weight = 60 }, { size = "8KiB", weight = 30 }]"#),
        &["plan.toml:2", "sum to 100, not 90"],
    );
    check(&iometer(r#"access = [{ size = "4KiB", read = 66.6 }]"#), &["plan.toml:4", "whole percents"]);
    check_test(
        &format!("{ACCESS}\nverify = true\ndata = \"repeating\""),
        &["plan.toml:1", "data = \"unique\""],
    );
    check_test(
        r#"access = [{ size = "4KiB", weight = 0 }, { size = "8KiB", weight = 0 }]"#,
        &["plan.toml:1", "weights must not all be zero"],
    );
}

#[test]
fn a_plan_that_does_not_fit_its_target() {
    check_test(
        r#"access = [{ size = "1000" }]"#,
        &["test \"t\"", "size 1KB is not a multiple", "write 1KiB"],
    );
    check_test(r#"access = [{ size = "700" }]"#, &["test \"t\"", "size 700B is not a multiple", "--cached"]);
    check_test("access = [{ size = \"512KiB\" }]\nworkers = 4", &["test \"t\"", "larger --size"]);
    check_test(&format!("{ACCESS}\ntargets = [3]"), &["target 3", "1 was given"]);
}

#[test]
fn a_file_that_cannot_be_read_as_text() {
    let story = Story::new();
    story.write("plan.toml", [0xff, 0xfe, 0x00]);
    story.assay(&["run", "plan.toml", "t.dat"]).refused(&["plan.toml", "UTF-8"]);
    std::fs::create_dir(story.path("folder.toml")).unwrap();
    story.assay(&["run", "folder.toml", "t.dat"]).refused(&["folder.toml"]);
    assert_eq!(story.files(), ["folder.toml", "plan.toml"]);
}
