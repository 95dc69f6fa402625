//! What the pages say, to visitors who mean well.

use assay_testkit::synthetic;

use crate::served::{RUN, Reach, Served};

#[test]
fn a_label_and_a_note_are_edited_and_a_run_is_deleted_after_two_questions() {
    let served = Served::start(Reach::Loopback);
    let (cookie, csrf) = served.sign_in();
    let post = |path: &str, body: &str| {
        served.send("POST", &format!("/runs/{RUN}/{path}"), &[&cookie], &format!("csrf={csrf}&{body}"))
    };
    assert_eq!(post("label", "text=before&from=list").header("location"), Some("/runs"));
    assert_eq!(post("note", "text=two+words").status, 303);
    let row = served.store().row(RUN).unwrap();
    assert_eq!((row.label.as_deref(), row.note.as_deref()), (Some("before"), Some("two words")));
    assert_eq!(post("label", "text=last~1").status, 400, "it means a run by its age");
    assert!(served.get("/runs?q=before", &[]).body.contains(RUN), "it is found by its new label");

    let first = served.get(&format!("/runs/{RUN}/delete"), &[&cookie]).body;
    assert!(first.contains(">Delete</button>") && first.contains("value=\"yes\""), "{first}");
    let second = post("delete", "sure=yes").body;
    assert!(second.contains("Delete permanently"), "{second}");
    assert!(served.store().row(RUN).is_ok(), "it is still there");
    assert_eq!(post("delete", "sure=for+good").header("location"), Some("/runs"));
    assert!(served.store().row(RUN).is_err());
    assert_eq!(served.get(&format!("/runs/{RUN}"), &[]).status, 404);
}

#[test]
fn the_page_of_a_run_is_its_report() {
    let served = Served::start(Reach::Loopback);
    let page = served.get(&format!("/runs/{RUN}"), &[]).body;
    let stored = assay_results::Stored::read(&served.store(), RUN).unwrap();
    let report = assay_report::html::body(&stored.header, &stored.summary, &stored.findings, stored.meta());
    assert!(
        page.contains(&assay_report::html::folded(&assay_report::html::with_moments(&report))),
        "to the byte"
    );
    for part in ["/over-time?test=0&from=3&to=8", "/values?test=0&from=3&to=8"] {
        let answer = served.get(&format!("/runs/{RUN}{part}"), &[]);
        assert_eq!(answer.status, 200, "{part}: {}", answer.body);
    }
    assert_eq!(served.get(&format!("/runs/{RUN}/over-time?test=0&from=8&to=3"), &[]).status, 400);
    assert_eq!(served.get(&format!("/runs/{RUN}/over-time?test=99"), &[]).status, 404);
}

#[test]
fn runs_tables_and_arrays_are_compared() {
    let served = Served::start(Reach::Loopback);
    for others in ["r=261121-aaaa", "r=published:ix4-200d", "r=array:ix4-200d", "r=261121-aaaa&r=array:x4500"]
    {
        let answer = served.get(&format!("/compare?r={RUN}&{others}"), &[]);
        assert_eq!(answer.status, 200, "{others}: {}", answer.body);
        assert!(answer.body.contains("side by side") && answer.body.contains("Test by test"), "{others}");
    }
    assert_eq!(served.get("/compare?r=array:ix4-200d&r=published:x4500", &[]).status, 400, "no plan");
    // The array of a target is offered too.
    let (_, text) = assay_model::array::shipped::FILES.iter().find(|(name, _)| *name == "x4500").unwrap();
    served.store().set_target_array("iscsi://nas/iqn.2004-01.example:a/1", Some(text)).unwrap();
    let name = "array-of:iscsi://nas/iqn.2004-01.example:a/1";
    let offered = served.get("/compare", &[]).body;
    assert!(offered.contains(&format!("value=\"{name}\"")), "{offered}");
    let answer = served.get(&format!("/compare?r={RUN}&r={name}"), &[]);
    assert!(answer.status == 200 && answer.body.contains("Test by test"), "{}", answer.body);
    assert_eq!(served.get(&format!("/compare?r={RUN}&r=array-of:/etc/passwd"), &[]).status, 404);
}

#[test]
fn every_number_and_finding_leads_to_its_method() {
    let served = Served::start(Reach::Loopback);
    let page = served.get(&format!("/runs/{RUN}"), &[]).body;
    let anchors = |page: &str, before: &str| -> Vec<String> {
        page.split(before).skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
    };
    let links = anchors(&page, "href=\"#");
    assert!(links.len() > 20, "{links:?}");
    for link in &links {
        assert!(page.contains(&format!("id=\"{link}\"")), "#{link} is on the page");
    }
    let findings = page.split("id=\"findings\"").nth(1).unwrap().split("</ul>").next().unwrap();
    let (items, rules) = (findings.matches("<li").count(), findings.matches("href=\"#m-rule-").count());
    assert!(items > 0 && items == rules, "{findings}");
    let methods = served.get("/methods", &[]).body;
    for link in anchors(&page, "href=\"#m-rule-") {
        assert!(methods.contains(&format!("id=\"rule-{link}\"")), "{link} is in the document");
    }
    // Pages without definitions of their own lead to that page.
    let predicted = served.get("/predict", &[]).body;
    let others = anchors(&predicted, "href=\"/methods#");
    assert!(!others.is_empty() && !predicted.contains("href=\"#m-"), "{predicted}");
    for link in others {
        assert!(methods.contains(&format!("id=\"{link}\"")), "{link}");
    }
}

#[test]
fn a_new_run_shows_its_plan_first_and_starts_only_what_is_listed() {
    let served = Served::start(Reach::Loopback);
    let page = served.get("/new?target=0&plan=vmware&quick=on", &[]).body;
    assert!(page.contains("4 steps") && page.contains("about 20 s"), "{page}");
    assert!(page.contains("Sign in to start it"));
    let (cookie, csrf) = served.sign_in();
    let start = |body: &str| served.send("POST", "/new", &[&cookie], &format!("csrf={csrf}&{body}"));
    assert_eq!(start("target=1&plan=vmware").status, 400);
    assert_eq!(start("target=0&plan=/etc/passwd").status, 400);
    let started = start("target=0&plan=vmware&quick=on&label=--remove");
    assert_eq!((started.status, started.header("location")), (303, Some("/started/1")));
    let page = served.get("/started/1", &[&cookie]).body;
    assert!(page.contains("--label=--remove"), "a value stays one: {page}");
}

/// A wrong token led to a page without a form.
#[test]
fn after_a_wrong_token_the_form_is_there_again() {
    let served = Served::start(Reach::Loopback);
    let answer = served.send("POST", "/login", &[], "token=wrong");
    assert_eq!(answer.status, 401);
    assert!(
        answer.body.contains("The token is wrong.") && answer.body.contains("name=\"token\""),
        "{}",
        answer.body
    );
}

/// It said that no run matches.
#[test]
fn a_page_beyond_the_last_is_the_last() {
    let served = Served::start(Reach::Loopback);
    let unknown = served.get("/runs?state=nonsense", &[]);
    assert_eq!(unknown.status, 400);
    assert!(unknown.body.contains("is no status; use one of: running, done"), "{}", unknown.body);
    let page = served.get("/runs?page=9999", &[]).body;
    assert!(page.contains(RUN) && !page.contains("No run matches"), "{page}");
}

#[test]
fn the_list_is_sorted_has_a_line_for_each_run_and_keeps_ticks_of_other_pages() {
    let served = Served::start(Reach::Loopback);
    let first = |query: &str| {
        let page = served.get(&format!("/runs{query}"), &[]).body;
        let (_, row) = page.split_once("name=\"r\" value=\"").unwrap();
        row.split_once('"').unwrap().0.to_owned()
    };
    assert_ne!(first(""), first("?sort=oldest"), "the other end of the list");
    for sort in ["target", "plan", "p99", "baseline", "limit"] {
        let page = served.get(&format!("/runs?sort={sort}"), &[]).body;
        assert_eq!(page.matches(" aria-sort=").count(), 1, "{sort}: {page}");
    }
    let page = served.get("/runs?r=261121-zzzz&r=%3Cb%3E", &[]).body;
    assert!(
        page.contains("type=\"hidden\" name=\"r\" value=\"261121-zzzz\"") && !page.contains("<b>"),
        "{page}"
    );
    assert!(page.contains("1 chosen on other pages"), "{page}");
    let page = served.get("/runs?r=261121-zzzz&q=no-such-word", &[]).body;
    let (_, search) = page.split_once("role=\"search\"").unwrap();
    let (search, _) = search.split_once("</form>").unwrap();
    assert!(search.contains("name=\"r\" value=\"261121-zzzz\""), "the next search keeps it: {search}");
}

#[test]
fn a_page_is_packed_for_whoever_accepts_that() {
    let served = Served::start(Reach::Loopback);
    let page = format!("/runs/{RUN}");
    let plain = served.get(&page, &[]);
    assert_eq!(plain.header("content-encoding"), None);
    let packed = served.get(&page, &["Accept-Encoding: gzip"]);
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    let length = |name: &str| name.parse::<usize>().unwrap();
    let (packed, plain) = (packed.header("content-length").unwrap(), plain.header("content-length").unwrap());
    assert!(length(packed) * 3 < length(plain), "{packed} of {plain} bytes");
}

#[test]
fn a_run_is_made_the_baseline_and_no_more_by_who_is_signed_in() {
    let served = Served::start(Reach::Loopback);
    let (cookie, csrf) = served.sign_in();
    let post = |run: &str, fields: &str| {
        served.send("POST", &format!("/runs/{run}/baseline"), &[&cookie], &format!("csrf={csrf}&{fields}"))
    };
    let path = format!("/runs/{RUN}/baseline");
    assert_eq!(served.send("POST", &path, &[], "target=0&is=yes").status, 401, "not by everybody");
    let page = |run: &str| served.get(&format!("/runs/{run}"), &[&cookie]).body;
    assert!(page(RUN).contains("There is no baseline of"), "{}", page(RUN));
    let answer = post(RUN, "target=0&is=yes");
    assert_eq!(answer.header("location"), Some(format!("/runs/{RUN}").as_str()), "{}", answer.body);
    assert!(page(RUN).contains("This run is the baseline of"));
    // Another run of another tab is not removed by a form of the first.
    let known = served.store().baselines().unwrap();
    assert_eq!(known.len(), 1, "{known:?}");
    assert_eq!(post("261121-aaaa", "target=0&is=no").status, 303);
    assert_eq!(served.store().baselines().unwrap(), known);
    for wrong in ["target=7&is=yes", "target=0&is=perhaps", ""] {
        assert_eq!(post(RUN, wrong).status, 400, "{wrong}");
    }
    assert_eq!(served.store().baselines().unwrap(), known);
    assert_eq!(post(RUN, "target=0&is=no").status, 303);
    assert!(served.store().baselines().unwrap().is_empty());
}

#[test]
fn runs_are_searched_for_a_comparison_and_what_was_chosen_stays() {
    let served = Served::start(Reach::Loopback);
    let offered = served.get("/compare?find=261121-aaaa", &[]).body;
    assert!(offered.contains("value=\"261121-aaaa\""), "{offered}");
    assert!(!offered.contains(&format!("value=\"{RUN}\"")), "{offered}");
    let kept = served.get(&format!("/compare?find=no-such-word&r={RUN}"), &[]).body;
    assert!(kept.contains(&format!("value=\"{RUN}\" checked")), "{kept}");
    assert!(kept.contains("No run matches"), "{kept}");
}

/// A run has the title of its suite, the form its name: the buttons were on no page.
#[test]
fn a_run_of_a_suite_is_run_again_from_its_page() {
    let served = Served::start(Reach::Loopback);
    let form = served.get("/new", &[]).body;
    let (_, target) = form.split_once("<option value=\"0\">").unwrap();
    let (_, target) = target.split_once("</option>").unwrap().0.rsplit_once('(').unwrap();
    let mut header = synthetic::header(synthetic::suite("vmware", 2));
    header.run = "261121-dddd".to_owned();
    header.targets[0].address = target.trim_end_matches(')').to_owned();
    let store = served.store();
    let mut writer = store.begin_run(&header, None, None).unwrap();
    let events = synthetic::events(&header, synthetic::Target::default());
    events.iter().for_each(|event| writer.append(event).unwrap());
    writer.finish().unwrap();
    assay_results::complete(&store, &header.run).unwrap();
    let page = served.get("/runs/261121-dddd", &[]).body;
    assert!(page.contains("href=\"/new?target=0&amp;plan=vmware"), "{page}");
    assert!(page.contains("repeat=3\">Repeat ×3"), "{page}");
    let (_, next) = page.split_once("<dt>Next</dt>").unwrap();
    let (next, _) = next.split_once("</section>").unwrap();
    assert!(next.contains("href=\"/new/diagnosis?target=0&amp;plan=vmware\">Diagnose"), "{next}");
    assert!(!served.get(&format!("/runs/{RUN}"), &[]).body.contains("Run again"), "of another target");
}

#[test]
fn a_diagnosis_says_what_it_writes_and_is_started_by_who_is_signed_in() {
    let served = Served::start(Reach::Loopback);
    let page = |query: &str| served.get(&format!("/new/diagnosis?target=0{query}"), &[]).body;
    let built_in = page("");
    for words in
        ["4 KiB random reads", "2 minutes at most", "The file is made", "only read", "Sign in to start it"]
    {
        assert!(built_in.contains(words), "{words}: {built_in}");
    }
    // One load of four has to be chosen; each has its link.
    let several = page("&plan=vmware&budget=30s&set=outstanding%3D8");
    let link = "budget=30s&amp;test=Max%20Throughput-50%25Read\"";
    assert!(several.contains(link) && several.contains("set=outstanding%3D8&amp;"), "{several}");
    assert!(!several.contains("Sign in to start it"), "{several}");
    let one = "&plan=vmware&test=Max+Throughput-50%25Read&set=outstanding%3D8";
    assert!(page(one).contains("write as the load does"), "{}", page(one));
    assert!(page(&format!("{one}&read_only=on")).contains("The load writes"));
    for (wrong, says) in
        [("&plan=nothing", "listed suites"), ("&budget=1h", "listed times"), ("&set=x", "Refused")]
    {
        assert!(page(wrong).contains(says), "{wrong}: {}", page(wrong));
    }

    let (cookie, csrf) = served.sign_in();
    let start =
        |body: &str| served.send("POST", "/new/diagnosis", &[&cookie], &format!("csrf={csrf}&{body}"));
    assert_eq!(start("target=1").status, 400);
    assert_eq!(start("target=0&plan=vmware").status, 400, "which load?");
    assert_eq!(served.send("POST", "/new/diagnosis", &[&cookie], "target=0").status, 403, "no page sent it");
    let started = start("target=0&plan=vmware&test=--remove&budget=30s");
    assert_eq!(started.status, 400, "no test has that name: {}", started.body);
    let started = start("target=0&plan=vmware&test=RealLife&budget=30s&read_only=on&size=-1");
    assert_eq!(started.status, 400, "{}", started.body);
    let started =
        start("target=0&plan=vmware&test=Max+Throughput-100%25Read&budget=30s&size=1GiB&read_only=on");
    assert_eq!((started.status, started.header("location")), (303, Some("/started/1")), "{}", started.body);
    let page = served.get("/started/1", &[&cookie]).body;
    let words = "--budget=30s &#39;--test=Max Throughput-100%Read&#39; --size=1GiB --read-only";
    let words = words.replace("&#39;", "'");
    assert!(page.contains("assay diagnose ") && page.replace("&#39;", "'").contains(&words), "{page}");
}
