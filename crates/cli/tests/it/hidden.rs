//! Characters that command a terminal, from labels, plans, names of files and foreign documents: they leave as codes.

use crate::story::{DONE, ProgramOutput, Story};

/// Clears a screen, sets a title, hides, turns the direction around, and its relatives of one byte.
const EVIL: &str = "x\u{1b}[2J\u{1b}]0;t\u{7}\u{9b}31m\u{202e}y\u{7f}";

fn is_clean(printed: &ProgramOutput) {
    let is_evil =
        |c: &char| c.is_control() && !matches!(c, '\n' | '\t') || ('\u{202a}'..='\u{202e}').contains(c);
    for text in [&printed.out, &printed.err] {
        assert_eq!(text.chars().find(is_evil), None, "{text}");
    }
}

fn evil_run(story: &Story) {
    let plan = "name = \"x\\u001b[2J\\u009b31m\\u202ey\"\nabout = \"a\\u001b[2J\"\n\
        notes = [\"n\\u001b[2J\"]\n[[test]]\n\
                name = \"t\\u001b[2J\\u202e\"\nops = 20\naccess = [{ size = \"4KiB\" }]\n";
    story.write("plan.toml", plan);
    let args = ["run", "plan.toml", &format!("./{EVIL}"), "--size", "1MiB", "--label", EVIL, "--note", EVIL];
    let printed = story.assay(&args).ends(DONE);
    is_clean(&printed);
    assert!(printed.out.contains("\\u001b[2J"), "as a code: {}", printed.out);
}

#[test]
fn nothing_that_is_printed_commands_the_terminal() {
    let story = Story::new();
    evil_run(&story);
    story.assay(&["export", "-o", "r.assay"]).ends(DONE);
    for format in ["text", "csv", "md", "bbcode", "json"] {
        for verb in
            [&["show"][..], &["show", "--color", "always"], &["runs"], &["compare", "last", "r.assay"]]
        {
            if format != "text" && verb.contains(&"--color") {
                continue;
            }
            let printed = story.assay(&[verb, &["--format", format]].concat());
            // Colours of Assay's own are sequences that the terminal is to take.
            let out = printed.out.replace("\u{1b}[1m", "").replace("\u{1b}[0m", "").replace("\u{1b}[33m", "");
            let out = out.replace("\u{1b}[36m", "").replace("\u{1b}[1;31m", "");
            is_clean(&ProgramOutput { out, err: printed.err, code: printed.code });
            if format == "json" && printed.code == Some(DONE) {
                let _: serde_json::Value = serde_json::from_str(&printed.out).unwrap();
            }
        }
    }
    let shown = story.assay(&["show", "--json"]).ends(DONE).json();
    assert_eq!(shown["label"], EVIL, "a document means the same");
}

#[test]
fn no_error_commands_the_terminal() {
    let story = Story::new();
    story.write("plan.toml", format!("name = \"{}\"\n[[test]]\nnme = 1\n", "a\u{202e}b"));
    story.write("bad.json", format!("{{\"schema\":\"assay.run/1\",\"run\":\"{}\"}}", "a\u{9b}2Jb"));
    for args in [
        &["run", "plan.toml", "null:"][..],
        &["run", EVIL, "null:"],
        &["run", "vmware", EVIL, "--size", "1MiB", "--set", "ops=5"],
        &["run", "vmware", &format!("nowhere/{EVIL}")],
        &["check", EVIL],
        &[EVIL],
        &[EVIL, "--help"],
        &["show", EVIL],
        &["compare", "bad.json", EVIL],
        &["predict", EVIL],
        &["runs", "--since", EVIL],
        &["runs", EVIL],
        &["run", "vmware", "null:", "--set", EVIL],
        &["run", "vmware", "null:", "-o", EVIL],
        &["import", EVIL],
    ] {
        is_clean(&story.assay(args));
    }
}

/// A spreadsheet takes what begins so for a formula, and may run a program for it.
#[test]
fn no_cell_of_csv_is_a_formula() {
    let story = Story::new();
    story.write(
        "plan.toml",
        "name = \"=cmd|'/c calc'!A1\"\n[[test]]\nname = \"@SUM(1)\"\nops = 20\naccess = [{ size = \"4KiB\" }]\n",
    );
    let args = ["run", "plan.toml", "null:", "--label=-1+1", "--note", "+1+cmd", "-o", "r.csv"];
    story.assay(&args).ends(DONE);
    let file = String::from_utf8(story.read("r.csv")).unwrap();
    for csv in [
        file,
        story.assay(&["show", "--format", "csv"]).ends(DONE).out,
        story.assay(&["runs", "--format", "csv"]).ends(DONE).out,
    ] {
        for cell in csv.lines().flat_map(|line| line.split(',')) {
            let is_formula = cell.trim_matches('"').starts_with(['=', '+', '-', '@']);
            assert!(!is_formula || cell.parse::<f64>().is_ok(), "{cell} in {csv}");
        }
    }
    let csv = story.assay(&["runs", "--format", "csv"]).ends(DONE).out;
    assert!(csv.contains("'=cmd|'/c calc'!A1") && csv.contains("'-1+1") && csv.contains("'+1+cmd"), "{csv}");
}
