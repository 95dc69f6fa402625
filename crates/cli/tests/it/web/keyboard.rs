//! What a person does first, without a mouse.

use std::time::{Duration, Instant};

use assay_testkit::need;
use assay_testkit::story::{DONE, Story};

use super::browser::Browser;
use super::{ENTER, Served};

/// Codes of keys.
const TAB: u32 = 9;
const SPACE: u32 = 32;
/// A page has fewer places for the focus than this.
const PLACES: usize = 400;
/// As long as a chart over time needs.
const PLAN: &str = "name = \"keys\"\n[[test]]\nname = \"t\"\nwarmup = \"0s\"\nrun = \"11s\"\n\
                    access = [{ size = 4096, read = 100 }]\npace = { rate = \"200/s\", arrivals = \"constant\" }\n";

/// Moves the focus with Tab until it is where a selector says.
fn go_to(browser: &mut Browser, selector: &str) {
    let is_there = format!("document.activeElement?.matches({selector:?}) ?? false");
    for _ in 0..PLACES {
        browser.press("Tab", TAB);
        if browser.evaluate(&is_there) == true {
            return;
        }
    }
    panic!("Tab does not lead to {selector}: {}", browser.text());
}

/// The same, and then Enter.
fn open(browser: &mut Browser, selector: &str, until: &str) {
    go_to(browser, selector);
    browser.press("Enter", ENTER);
    browser.until(until);
}

/// A run that was stopped for a second in its window, so that a finding leads to a moment; and another one.
fn two_runs(story: &Story) -> (String, String) {
    story.write("keys.toml", PLAN);
    let mut run = story.start(&["run", "keys.toml", "null:", "--json"]);
    story.wait_for(|document| !document.is_null());
    std::thread::sleep(Duration::from_secs(4));
    run.signal("STOP");
    std::thread::sleep(Duration::from_secs(1));
    run.signal("CONT");
    let id = |document: serde_json::Value| document["run"].as_str().unwrap().to_owned();
    let first = id(run.end().ends(DONE).json());
    let second = story.assay(&["run", "keys.toml", "null:", "--set", "run=1s", "--json"]).ends(DONE).json();
    (first, id(second))
}

#[test]
fn a_run_is_found_compared_downloaded_zoomed_into_and_started_by_keyboard_alone() {
    if !need::programs(&["chromium"]) {
        return;
    }
    let story = Story::new();
    let (first, second) = two_runs(&story);
    let served = Served::start(&story, &["--allow-runs", "--target", "null:"]);
    let mut browser = Browser::start();
    browser.open(&served.page("/login"));
    go_to(&mut browser, "#token");
    browser.type_in(String::from_utf8(story.read("serve-token")).unwrap().trim());
    browser.press("Enter", ENTER);
    browser.until("document.querySelector('form[action=\"/logout\"]')");

    open(&mut browser, "nav a[href='/runs']", "location.pathname === '/runs'");
    go_to(&mut browser, "input[name=q]");
    browser.type_in("keys");
    browser.press("Enter", ENTER);
    browser.until("location.search.includes('q=keys') && document.body.innerText.includes('2 runs')");
    for run in [&second, &first] {
        go_to(&mut browser, &format!("input[type=checkbox][value='{run}']"));
        browser.press(" ", SPACE);
        browser.until(&format!("document.querySelector(\"input[type=checkbox][value='{run}']\").checked"));
    }
    open(&mut browser, "form.compare button", "document.body.innerText.includes('side by side')");

    let folder = story.path("downloads");
    std::fs::create_dir(&folder).unwrap();
    browser.keep_downloads(&folder);
    go_to(&mut browser, "p.tools a[href*='as=csv']");
    browser.press("Enter", ENTER);
    let is_there = || {
        let kept = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
        kept.into_iter().any(|path| path.extension().is_some_and(|ending| ending == "csv"))
    };
    let began = Instant::now();
    while !is_there() {
        assert!(began.elapsed() < Duration::from_secs(60), "the table was not downloaded");
        std::thread::sleep(Duration::from_millis(100));
    }

    let of_run = format!("location.pathname === '/runs/{first}'");
    open(&mut browser, &format!("main a[href='/runs/{first}']"), &of_run);
    // The part of the time is in the address, and its chart is all that the page shows of it first.
    let is_zoomed =
        "location.search.includes('from=') && /From [0-9.]+ to [0-9.]+ s/.test(document.body.innerText)";
    open(&mut browser, "a.moment", is_zoomed);

    open(&mut browser, "nav a[href='/new']", "location.pathname === '/new'");
    go_to(&mut browser, "input[name=quick]");
    browser.press(" ", SPACE);
    open(&mut browser, "main form.stack button", "document.querySelector('button.start')");
    open(&mut browser, "button.start", "document.querySelector('article.live button.stop')");
    let says = "document.body.innerText.includes('Stopped: the results so far are kept') || \
                document.body.innerText.includes('This run was stopped')";
    open(&mut browser, "button.stop", says);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}
