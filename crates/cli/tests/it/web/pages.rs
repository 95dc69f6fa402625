//! Targets, Predict and Diagnose as they are used: with a mouse, by keyboard, without script; and signing in over TLS.

use assay_testkit::need;
use assay_testkit::story::{DONE, Story};

use super::browser::{Browser, Scripts};
use super::sizes::filled;
use super::{Served, get, sign_in, stored_run};

/// Codes of keys.
const ENTER: u32 = 13;
const RIGHT: u32 = 39;

#[test]
fn a_trend_leads_to_its_runs_sliders_move_the_answer_and_odds_are_kept() {
    if !need::programs(&["chromium"]) {
        return;
    }
    let (story, runs) = filled();
    let served = Served::start(&story, &[]);
    let mut browser = Browser::start();

    browser.open(&served.page("/targets"));
    browser.until("document.querySelectorAll('section.trend svg a circle').length >= 6");
    browser.until("document.body.innerText.includes('Baseline of')");
    // Buttons move below a chart once the page is idle, and whoever is in the chart by then stays there.
    browser.until("document.querySelector('section.trend figure > .files') !== null");
    let kept = "(() => { const figure = document.querySelector('section.trend figure'); \
                const chart = figure.querySelector('svg'); figure.replaceWith(chart); \
                const point = chart.querySelector('a'); point.focus(); offerFiles(document); \
                return chart.closest('figure') !== null && document.activeElement === point; })()";
    assert_eq!(browser.evaluate(kept), true);
    // By keyboard alone: a point has the focus, Enter opens its run.
    browser.evaluate("document.querySelector('section.trend svg a').focus()");
    browser.press("Enter", ENTER);
    browser.until(&format!("location.pathname === '/runs/{}'", runs[0]));

    browser.open(&served.page("/predict?array=hdd-7200&disks=2&level=0&plan=vmware"));
    let before = browser.evaluate("document.querySelector('#answer svg').textContent");
    browser.evaluate("document.querySelector('input[name=disks]').focus()");
    for _ in 0..4 {
        browser.press("ArrowRight", RIGHT);
    }
    browser.until("document.querySelector('input[name=disks] + output').value === '6'");
    browser.until("document.querySelector('#answer h2').textContent.includes('raid.disks=6')");
    browser.until("location.search.includes('disks=6')");
    assert_ne!(browser.evaluate("document.querySelector('#answer svg').textContent"), before);
    browser.open(&served.page("/predict?of=null:"));
    browser.until("document.querySelector('select[name=of]').value === 'null:'");

    browser.open(&served.page("/diagnose"));
    browser.until("document.body.innerText.includes('Odds after each experiment')");
    browser.until("document.querySelectorAll('.diagnosis tbody tr').length > 1");
    assert_eq!(browser.complaints(), Vec::<String>::new());

    browser.allow(Scripts::Off);
    for (path, words) in [
        ("/targets", "Baseline of"),
        ("/predict?array=hdd-7200&disks=2&level=0", "How busy each resource is"),
        ("/diagnose", "All diagnoses"),
    ] {
        browser.open(&served.page(path));
        assert!(browser.text().contains(words), "{path}: {}", browser.text());
    }
    browser.open(&served.page("/predict?array=hdd-7200&disks=2&level=0"));
    browser.click("form.predict noscript button");
    browser.until("location.search.includes('plan=vmware')");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn the_odds_of_a_diagnosis_move_with_each_experiment() {
    if !need::programs(&["chromium"]) {
        return;
    }
    let story = Story::new();
    let going = story.start(&["diagnose", "null:", "--budget", "2min"]);
    story.wait_for(|run| run["tests"].as_array().is_some_and(|tests| !tests.is_empty()));
    let served = Served::start(&story, &[]);
    let mut browser = Browser::start();
    browser.open(&served.page("/diagnose"));
    browser.until("document.querySelector('.live-status').innerText.length > 5");
    browser.until("document.querySelectorAll('.live-odds tbody tr').length >= 1");
    // The page is not loaded again while they move.
    browser.evaluate("window.isTheSame = true");
    let rows = browser.evaluate("document.querySelectorAll('.live-odds tbody tr').length").as_u64().unwrap();
    browser.until(&format!("document.querySelectorAll('.live-odds tbody tr').length > {rows}"));
    assert_eq!(browser.evaluate("window.isTheSame"), true);
    drop(going);
    browser.until("!window.isTheSame && !document.querySelector('.state.running')");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn another_address_needs_tls_and_the_token_in_a_browser_too() {
    if !need::programs(&["chromium"]) {
        return;
    }
    let story = Story::new();
    let run = stored_run(&story, &[]);
    let served = Served::on(&story, "0.0.0.0:0", &["--self-signed"]);
    assert!(served.url.starts_with("https://"), "{}", served.url);
    let mut browser = Browser::start();
    browser.trust_every_certificate();
    browser.open(&served.page(&format!("/runs/{run}")));
    browser.until("location.pathname === '/login'");
    assert!(!browser.text().contains("RealLife"), "{}", browser.text());
    browser.complaints();
    sign_in(&story, &served, &mut browser);
    browser.open(&served.page(&format!("/runs/{run}")));
    browser.until("document.querySelector('.report svg')");
    assert_eq!(browser.evaluate("document.cookie"), "", "no script reads the session");
    let cookies = browser.cookies();
    let cookie = &cookies[0];
    assert_eq!(
        (&cookie["secure"], &cookie["httpOnly"], &cookie["sameSite"]),
        (&true.into(), &true.into(), &"Strict".into())
    );
    // Live pages come over TLS too.
    let going = story.start(&["run", "vmware", "null:", "--only", "RealLife", "--set", "run=10min"]);
    browser.open(&served.page("/"));
    browser.until("document.querySelectorAll('.live-charts .over-time polyline').length > 2");
    assert_eq!(browser.complaints(), Vec::<String>::new());
    browser.click("form[action=\"/logout\"] button");
    browser.until("location.pathname === '/login'");
    browser.open(&served.page("/runs"));
    browser.until("location.pathname === '/login'");
    drop(going);
}

#[test]
fn a_configuration_names_the_targets_of_new_runs() {
    let story = Story::new();
    story.write(
        "serve.toml",
        "token_file = \"tok\"\nallow_runs = true\n[[target]]\nname = \"Scratch <file>\"\naddress = \"t.dat\"\n",
    );
    let served = Served::start(&story, &["--config", "serve.toml", "--target", "null:"]);
    let page = get(&served, "/new");
    assert!(page.contains("Scratch &lt;file&gt; (") && page.contains(">null:</option>"), "{page}");
    let preview = get(&served, "/new?target=0&plan=vmware&quick=on");
    assert!(preview.contains("t.dat") && preview.contains("Sign in to start it"), "{preview}");
    assert!(story.path("tok").exists());
    story.write("bad.toml", "allow_runs = true\n[[target]]\nadress = \"t.dat\"\n");
    story.assay(&["serve", "--config", "bad.toml"]).refused(&[
        "bad.toml:3",
        "adress",
        "did you mean `address`",
    ]);
    story.assay(&["serve", "--config", "absent.toml"]).refused(&["absent.toml"]);
    story.assay(&["serve", "--allow-runs"]).refused(&["--target", "[[target]]"]);
    story.assay(&["serve", "--target", "null:"]).refused(&["--allow-runs"]);
    assert_eq!(story.assay(&["serve", "--help"]).ends(DONE).code, Some(DONE));
}
