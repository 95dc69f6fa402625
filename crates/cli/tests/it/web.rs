//! `assay serve` as a person uses it: a browser, a terminal beside it, runs that are started, followed and stopped.

mod browser;
mod figures;
mod keyboard;
mod pages;
mod sizes;

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use assay_testkit::need;
use assay_testkit::story::{DONE, INTERRUPTED, Story};
use browser::{Browser, Scripts};

/// Code of a key.
const ENTER: u32 = 13;

/// A server of a story's store.
struct Served {
    child: Child,
    url: String,
}

impl Served {
    fn start(story: &Story, args: &[&str]) -> Self {
        Self::on(story, "127.0.0.1:0", args)
    }

    fn on(story: &Story, listen: &str, args: &[&str]) -> Self {
        let mut command = story.command(&["serve", "--listen", listen]);
        let mut child = command.args(args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        assert!(url.starts_with("http"), "{url:?}");
        // An address of all interfaces is one of this machine too.
        Self { child, url: url.trim().replace("0.0.0.0", "127.0.0.1") }
    }

    fn page(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a plan of one short test, and returns its id.
fn stored_run(story: &Story, args: &[&str]) -> String {
    let mut words = vec!["run", "vmware", "null:", "--only", "RealLife", "--set", "run=1s", "--json"];
    words.extend(args);
    story.assay(&words).ends(DONE).json()["run"].as_str().unwrap().to_owned()
}

fn sign_in(story: &Story, served: &Served, browser: &mut Browser) {
    browser.open(&served.page("/login"));
    browser.click("#token");
    browser.type_in(String::from_utf8(story.read("serve-token")).unwrap().trim());
    browser.click("form.stack button");
    browser.until("document.querySelector('form[action=\"/logout\"]')");
}

#[test]
fn every_page_loads_without_complaints_and_stored_ones_need_no_script() {
    if !need::programs(&["chromium"]) {
        return;
    }
    let story = Story::new();
    let (first, second) =
        (stored_run(&story, &["--label", "before"]), stored_run(&story, &["--label", "after"]));
    let served = Served::start(&story, &["--allow-runs", "--target", "null:"]);
    let mut browser = Browser::start();
    sign_in(&story, &served, &mut browser);
    let pages = [
        ("/".to_owned(), "No run is in progress"),
        ("/runs".to_owned(), "2 runs"),
        ("/runs?q=before".to_owned(), "1 run"),
        (format!("/runs/{first}"), "Changed"),
        (format!("/runs/{first}/delete"), "Delete run"),
        ("/compare".to_owned(), "Published tables"),
        (format!("/compare?r={first}&r={second}"), "side by side"),
        ("/new?target=0&plan=vmware&quick=on".to_owned(), "Start this run"),
        ("/methods".to_owned(), "How the numbers are obtained"),
        ("/login".to_owned(), "Sign in"),
    ];
    browser.complaints();
    for scripts in [Scripts::Run, Scripts::Off] {
        browser.allow(scripts);
        for width in [1440, 390] {
            browser.resize(width, 900);
            for (path, words) in &pages {
                browser.open(&served.page(path));
                assert!(browser.text().contains(words), "{path}, {scripts:?}: {}", browser.text());
                assert_eq!(browser.beyond(width), "", "{path} is wider than {width} px");
                assert_eq!(browser.complaints(), Vec::<String>::new(), "{path}, {scripts:?}");
            }
        }
    }
    // The runs are ticked on the list and compared.
    browser.allow(Scripts::Run);
    browser.resize(1440, 900);
    browser.open(&served.page("/runs"));
    browser.click(&format!("input[value=\"{first}\"]"));
    browser.click(&format!("input[value=\"{second}\"]"));
    browser.click("form.compare button");
    browser.until("document.body.innerText.includes('side by side')");
    // A run is a line of the list, with all that it says, on a small screen too.
    browser.resize(1200, 900);
    browser.open(&served.page("/runs"));
    // The last cell has the form for its label, closed.
    let beyond_lines = "(() => { const list = document.querySelector('table.runs'); const around = list.parentElement; \
                        const height = cell => { const all = document.createRange(); all.selectNodeContents(cell); \
                        return all.getBoundingClientRect().height; }; \
                        const cells = [...list.querySelectorAll('tbody td:not(:last-child)')]; \
                        return [Math.max(0, around.scrollWidth - around.clientWidth), \
                        ...cells.filter(cell => height(cell) > 24).map(cell => cell.innerText)].join(' '); })()";
    assert_eq!(browser.evaluate(beyond_lines), "0");
    browser.resize(1440, 900);
    // A label is edited in the list.
    browser.open(&served.page("/runs?q=after"));
    browser.click("details.inplace summary");
    browser.click("details.inplace input[name=text]");
    browser.evaluate("document.activeElement.select()");
    browser.type_in("much later");
    browser.click("details.inplace button");
    browser.until("document.body.innerText.includes('much later')");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn a_run_of_a_terminal_appears_is_followed_zoomed_stopped_and_opened() {
    if !need::programs(&["chromium"]) {
        return;
    }
    let story = Story::new();
    let served = Served::start(&story, &[]);
    let mut browser = Browser::start();
    sign_in(&story, &served, &mut browser);
    browser.open(&served.page("/"));
    browser.until("document.body.innerText.includes('No run is in progress')");
    let run = story.start(&["run", "vmware", "null:", "--only", "RealLife", "--set", "run=10min"]);
    browser.until("document.querySelector('article.live')");
    // A page that came before the run, and heard of it first.
    browser.evaluate(
        "document.body.insertAdjacentHTML('beforeend', '<div id=stale data-live=/live data-list=/now/list \
         data-shown></div>'); follow(document.getElementById('stale'))",
    );
    browser.until("document.querySelector('#stale article.live')");
    browser.evaluate("document.getElementById('stale').remove()");
    browser.until("/measuring 0:0[3-9]/.test(document.body.innerText)");
    browser.until("document.querySelector('.live-figures dd')");
    browser.until("document.querySelectorAll('.live-charts .over-time polyline').length > 2");
    // The cross-hair says the values of a moment.
    let place = browser.evaluate(
        "(() => { const e = document.querySelector('.over-time svg'); e.scrollIntoView(); const b = \
         e.getBoundingClientRect(); return { x: b.x + b.width / 2, y: b.y + 80 }; })()",
    );
    browser.mouse("mouseMoved", place["x"].as_f64().unwrap(), place["y"].as_f64().unwrap());
    browser.until(
        "/IOPS[0-9,]+/.test(document.querySelector('.over-time .values:not([hidden])')?.textContent ?? '')",
    );
    browser.mouse("mouseMoved", 1.0, 1.0);

    browser.click("button.stop");
    browser.until("document.body.innerText.includes('Stopped: the results so far are kept')");
    assert_eq!(run.end().code, Some(INTERRUPTED), "as after Ctrl-C");
    browser.click("article.live h2 a");
    browser.until("document.body.innerText.includes('This run was stopped')");
    browser.until("document.querySelector('.report')");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// The button that shows the whole time goes when it is used, and took the focus to the start of the page with it.
#[test]
fn the_whole_time_is_shown_again_by_keyboard_and_the_chart_keeps_the_focus() {
    if !need::programs(&["chromium"]) {
        return;
    }
    let story = Story::new();
    // Fewer than ten seconds have no chart over time.
    let words =
        ["run", "vmware", "null:", "--only", "RealLife", "--set", "run=11s", "--rate", "100/s", "--json"];
    let run = story.assay(&words).ends(DONE).json()["run"].as_str().unwrap().to_owned();
    let served = Served::start(&story, &[]);
    let mut browser = Browser::start();
    browser.open(&served.page(&format!("/runs/{run}")));
    browser.until("document.querySelector('.report .over-time svg')");
    // A part of a page that is folded has nothing that can be focused.
    browser.evaluate("document.querySelectorAll('.report details').forEach(part => { part.open = true; })");
    browser.evaluate("document.querySelector('.report .over-time').focus()");
    browser.press("+", 187);
    browser.until("document.querySelector('.report .over-time.held + .zoom button')");
    browser.evaluate("document.querySelector('.zoom button').focus()");
    assert_eq!(
        browser.evaluate("document.activeElement.closest('.zoom') !== null"),
        true,
        "it has the focus"
    );
    browser.press("Enter", ENTER);
    browser.until("!document.querySelector('.zoom') && !document.querySelector('.over-time.held')");
    assert_eq!(browser.evaluate("document.activeElement.matches('.report .over-time')"), true);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn a_run_outlives_the_server_that_started_it_and_a_killed_one_is_called_so() {
    if !need::programs(&["chromium"]) {
        return;
    }
    let story = Story::new();
    let served = Served::start(&story, &["--allow-runs", "--target", "null:"]);
    let mut browser = Browser::start();
    sign_in(&story, &served, &mut browser);
    browser.open(&served.page("/new?target=0&plan=latency-qd1&run=12s"));
    browser.click("button.start");
    browser.until("document.querySelector('article.live')");
    let address = browser.evaluate("location.pathname").as_str().unwrap().to_owned();
    let id =
        address.strip_prefix("/runs/").unwrap_or_else(|| panic!("{address}: {}", browser.text())).to_owned();
    drop(served);
    let done = story.wait_for(|document| document["status"] == "done");
    assert_eq!(done["run"], *id, "the run went on without its server");

    let served = Served::start(&story, &[]);
    browser.open(&served.page("/"));
    let mut run = story.start(&["run", "vmware", "null:", "--only", "RealLife", "--set", "run=10min"]);
    browser.until("/measuring 0:0[1-9]/.test(document.body.innerText)");
    run.signal("KILL");
    browser.until("document.body.innerText.includes('Killed: the process ended before the run did')");
    browser.click("article.live h2 a");
    browser.until("document.body.innerText.includes('This run was killed')");
    browser.open(&served.page("/runs"));
    browser.until("document.querySelector('.state.partial')");
}

#[test]
fn refusals_are_those_of_the_terminal() {
    if !need::programs(&["chromium"]) {
        return;
    }
    let story = Story::new();
    let folder = story.path("absent/t.dat");
    let target = folder.to_str().unwrap();
    let said = story.assay(&["run", "vmware", target, "--quick"]).err;
    let served = Served::start(&story, &["--allow-runs", "--target", target]);
    let mut browser = Browser::start();
    sign_in(&story, &served, &mut browser);
    browser.open(&served.page("/new?target=0&plan=vmware&quick=on"));
    browser.click("button.start");
    browser.until("document.body.innerText.includes('nothing was written to the target')");
    let page = browser.text().split_whitespace().collect::<Vec<_>>().join(" ");
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.contains(&said), "{page}\n{said}");
}

#[test]
fn the_page_of_a_run_is_the_report_of_the_terminal() {
    let story = Story::new();
    let run = stored_run(&story, &[]);
    let served = Served::start(&story, &[]);
    let page = get(&served, &format!("/runs/{run}"));
    story.assay(&["report", &run, "-o", "report.html"]).ends(DONE);
    let report = String::from_utf8(story.read("report.html")).unwrap();
    let body = report.split("<main>\n").nth(1).unwrap().split("</main>").next().unwrap();
    let part = page.split("<div class=\"report\"").nth(1).unwrap().split_once(">\n").unwrap().1;
    let unfolded = part.replace("<details open>\n<summary>", "").replace("</h2></summary>", "</h2>");
    let unfolded = unfolded.replace("</details>\n", "");
    assert!(unfolded.starts_with(body), "every figure of the report is on the page, to the last digit");
}

/// The body of a page.
fn get(served: &Served, path: &str) -> String {
    answer(served, path).split_once("\r\n\r\n").unwrap().1.to_owned()
}

/// A whole answer.
fn answer(served: &Served, path: &str) -> String {
    use std::io::{Read as _, Write as _};
    let host = served.url.strip_prefix("http://").unwrap();
    let mut stream = std::net::TcpStream::connect(host).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_run_serves_itself_while_it_goes_on() {
    let story = Story::new();
    let mut run =
        story.start(&["run", "vmware", "null:", "--only", "RealLife", "--set", "run=10min", "--serve"]);
    let mut said = String::new();
    let mut errors = BufReader::new(run.child().stderr.take().unwrap());
    errors.read_line(&mut said).unwrap();
    let url = said.trim().strip_prefix("watch this run: ").unwrap_or_else(|| panic!("{said}")).to_owned();
    story.wait_for(|document| document["status"] == "running");
    let base = url.strip_suffix("/own").unwrap().to_owned();
    let served = Served { child: std::process::Command::new("true").spawn().unwrap(), url: base };
    let id = story.assay(&["show", "last", "--json"]).json()["run"].as_str().unwrap().to_owned();
    let answer = answer(&served, "/own");
    assert!(answer.contains(&format!("location: /runs/{id}")), "{answer}");
    let page = get(&served, &format!("/runs/{id}"));
    assert!(page.contains("article class=\"live\"") && page.contains("RealLife"), "{page}");
    run.signal("INT");
    std::io::copy(&mut errors, &mut std::io::sink()).unwrap();
    assert_eq!(run.end().code, Some(INTERRUPTED));
}
