//! Must show: every page at 1440 px and 390 px, in the dark and on paper, with a name for everything that a screen
//! reader announces.
//!
//! With `ASSAY_PICTURES` naming a folder, pictures of all of them are written there, to be looked at.

use std::path::PathBuf;

use assay_testkit::need;
use assay_testkit::story::{DONE, Story};

use super::browser::{Browser, Look};
use super::{Served, sign_in, stored_run};

/// How a picture of a page is called, its width, and how it is looked at.
const LOOKS: [(&str, u32, Look); 5] = [
    ("1440", 1440, Look::Light),
    ("390", 390, Look::Light),
    ("1440-dark", 1440, Look::Dark),
    ("390-dark", 390, Look::Dark),
    ("paper", 794, Look::Paper),
];
/// Roles of what a visitor can use or must be able to name.
const NAMED: [&str; 9] =
    ["button", "checkbox", "combobox", "image", "img", "link", "searchbox", "slider", "textbox"];

/// A store with something on every page: results of a target with its own array and a baseline, runs with errors, a
/// diagnosis.
pub(crate) fn filled() -> (Story, Vec<String>) {
    let story = Story::new();
    let mut runs: Vec<String> = (0..3).map(|_| stored_run(&story, &["--label", "nightly"])).collect();
    story.assay(&["target", "set", "null:", "--array", "nas-4bay"]).ends(DONE);
    story.assay(&["baseline", "set", &runs[0], "--target", "null:"]).ends(DONE);
    let diagnosis = story.assay(&["diagnose", "null:", "--budget", "10s", "--json"]).ends(DONE).json();
    runs.push(diagnosis["run"].as_str().unwrap().to_owned());
    (story, runs)
}

fn keep_picture(browser: &mut Browser, name: &str) {
    let Some(folder) = std::env::var_os("ASSAY_PICTURES").map(PathBuf::from) else { return };
    std::fs::create_dir_all(&folder).unwrap();
    let picture = browser.picture();
    let file = std::fs::File::create(folder.join(format!("{name}.png"))).unwrap();
    let mut decode = std::process::Command::new("base64");
    let mut decoded = decode.arg("-d").stdin(std::process::Stdio::piped()).stdout(file).spawn().unwrap();
    std::io::Write::write_all(&mut decoded.stdin.take().unwrap(), picture.as_bytes()).unwrap();
    decoded.wait().unwrap();
}

#[test]
fn every_page_fits_in_the_light_in_the_dark_and_on_paper_and_is_named_for_a_screen_reader() {
    if !need::programs(&["chromium"]) {
        return;
    }
    let (story, runs) = filled();
    let going = story.start(&["run", "vmware", "null:", "--only", "RealLife", "--set", "run=10min"]);
    let served = Served::start(&story, &["--allow-runs", "--target", "null:"]);
    let mut browser = Browser::start();
    sign_in(&story, &served, &mut browser);
    let pages = [
        ("now", "/".to_owned(), "document.querySelector('.live-charts .over-time polyline')"),
        ("runs", "/runs".to_owned(), "document.querySelector('table.runs')"),
        ("run", format!("/runs/{}", runs[0]), "document.querySelector('.report dl.methods')"),
        ("delete", format!("/runs/{}/delete", runs[0]), "document.querySelector('button.stop')"),
        (
            "compare",
            format!("/compare?r={}&r={}&r=array-of:null:&r=published:ix4-200d", runs[1], runs[2]),
            "document.querySelector('.compared table')",
        ),
        ("targets", "/targets".to_owned(), "document.querySelector('section.trend svg')"),
        ("target", "/targets?target=null:".to_owned(), "document.querySelector('section.trend svg')"),
        ("predict", "/predict?of=null:".to_owned(), "document.querySelector('#answer svg')"),
        ("diagnose", "/diagnose".to_owned(), "document.querySelector('.diagnosis svg')"),
        ("new", "/new?target=0&plan=vmware&quick=on".to_owned(), "document.querySelector('button.start')"),
        ("methods", "/methods".to_owned(), "document.getElementById('rule-errors')"),
        ("login", "/login".to_owned(), "document.getElementById('token')"),
    ];
    for (look, width, as_) in LOOKS {
        browser.resize(width, 900);
        browser.show(as_);
        for (name, path, is_there) in &pages {
            browser.open(&served.page(path));
            browser.until(is_there);
            assert_eq!(browser.beyond(width), "", "{path} is wider than {width} px");
            assert_eq!(browser.complaints(), Vec::<String>::new(), "{path}, {look}");
            keep_picture(&mut browser, &format!("{name}-{look}"));
            if as_ == Look::Paper {
                assert!(browser.printed_length() > 1000, "{path} can be printed");
                continue;
            }
            let nodes = browser.accessible();
            let is_nameless =
                |(role, name): &&(String, String)| NAMED.contains(&role.as_str()) && name.trim().is_empty();
            let nameless: Vec<_> = nodes.iter().filter(is_nameless).collect();
            assert!(nameless.is_empty(), "{path} has no names for {nameless:?}");
            assert!(
                nodes.iter().any(|(role, _)| role == "main")
                    && nodes.iter().any(|(role, _)| role == "heading")
            );
        }
    }
    drop(going);
}
