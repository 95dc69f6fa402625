//! Must show: each route without a token, with a wrong one, from another site, with script in every string, and with
//! paths that lead elsewhere.

use crate::served::{HOSTILE, RUN, Reach, Served};

/// Every route that is asked with GET, but those that anybody may ask.
const READS: [&str; 21] = [
    "/",
    "/own",
    "/now/list",
    "/live",
    "/runs",
    "/runs/261121-k7f2",
    "/runs/261121-k7f2/over-time?test=0",
    "/runs/261121-k7f2/values?test=0",
    "/runs/261121-k7f2/delete",
    "/compare",
    "/new",
    "/new/diagnosis",
    "/started/1",
    "/methods",
    "/metrics",
    "/targets",
    "/predict",
    "/predict/part",
    "/diagnose",
    "/map?target=/srv/t.dat",
    "/nowhere",
];

/// Every route that changes something.
const CHANGES: [&str; 8] = [
    "/runs/261121-k7f2/label",
    "/runs/261121-k7f2/note",
    "/runs/261121-k7f2/baseline",
    "/runs/261121-k7f2/stop",
    "/runs/261121-k7f2/delete",
    "/new",
    "/new/diagnosis",
    "/logout",
];

#[test]
fn on_another_address_nothing_is_answered_without_the_token() {
    let served = Served::start(Reach::Network);
    for path in READS {
        let answer = served.get(path, &[]);
        assert_eq!(answer.status, 401, "{path}: {}", answer.body);
        let browser = served.get(path, &["Accept: text/html"]);
        assert_eq!((browser.status, browser.header("location")), (303, Some("/login")), "{path}");
        assert!(!answer.body.contains("RealLife") && !browser.body.contains("RealLife"), "{path}");
        let wrong = served.get(path, &["Cookie: assay-1=00; assay-8080=00"]);
        assert_eq!(wrong.status, 401, "{path} with a cookie that was never given");
    }
    for path in CHANGES {
        assert_eq!(served.send("POST", path, &[], "text=x").status, 401, "{path}");
    }
    assert!(served.store().row(RUN).unwrap().label.unwrap().starts_with("label"), "nothing was changed");
    let page = served.get("/login", &[]);
    assert_eq!(page.status, 200);
    let right = format!("Authorization: Bearer {}", served.token());
    assert_eq!(served.get("/runs", &[&right]).status, 200);
}

#[test]
fn on_loopback_reading_is_free_and_every_change_needs_the_token() {
    let served = Served::start(Reach::Loopback);
    assert_eq!(served.get("/runs", &[]).status, 200);
    for path in CHANGES {
        assert_eq!(served.send("POST", path, &[], "text=x").status, 401, "{path}");
        let (cookie, csrf) = (served.sign_in().0, "0".repeat(64));
        let without = served.send("POST", path, &[&cookie], "text=x");
        assert_eq!(without.status, 403, "{path} without the value of the form");
        let wrong = served.send("POST", path, &[&cookie], &format!("csrf={csrf}&text=x"));
        assert_eq!(wrong.status, 403, "{path} with a wrong one");
    }
    let (first, _) = served.sign_in();
    let (_, of_another) = served.sign_in();
    let body = format!("csrf={of_another}&text=x");
    assert_eq!(served.send("POST", CHANGES[0], &[&first], &body).status, 403, "that of another session");
    assert!(served.store().row(RUN).unwrap().label.unwrap().starts_with("label"), "nothing was changed");
}

#[test]
fn wrong_tokens_are_refused_and_guessing_is_stopped() {
    // A server takes five guesses.
    for paths in READS.chunks(5) {
        let served = Served::start(Reach::Network);
        for path in paths {
            assert_eq!(served.get(path, &["Authorization: Bearer wrong"]).status, 401, "{path}");
        }
    }
    let served = Served::start(Reach::Loopback);
    let statuses: Vec<u16> =
        (0..7).map(|n| served.send("POST", "/login", &[], &format!("token=guess{n}")).status).collect();
    assert_eq!(statuses, [401, 401, 401, 401, 401, 429, 429]);
    let right = served.send("POST", "/login", &[], &format!("token={}", served.token()));
    assert_eq!(right.status, 303, "guesses of others from this address lock nobody out");
}

#[test]
fn a_page_of_another_site_changes_nothing_and_reads_nothing() {
    let served = Served::start(Reach::Loopback);
    let (cookie, csrf) = served.sign_in();
    let body = format!("csrf={csrf}&text=taken");
    for header in [
        "Origin: http://evil.example",
        "Origin: null",
        "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Site: same-site",
    ] {
        for path in CHANGES {
            assert_eq!(served.send("POST", path, &[&cookie, header], &body).status, 403, "{path}, {header}");
        }
        let login = served.send("POST", "/login", &[header], &format!("token={}", served.token()));
        assert_eq!(login.status, 403, "signing somebody in, {header}");
    }
    // A name of somebody else that leads to this machine.
    let request = format!(
        "GET /runs HTTP/1.1\r\nHost: evil.example:{}\r\nConnection: close\r\n\r\n",
        served.address().port()
    );
    let answer = crate::client::exchange(&mut *served.connect(), request.as_bytes()).unwrap();
    assert_eq!(answer.status, 421);
    let own = format!("Origin: http://{}", served.host());
    assert_eq!(served.send("POST", CHANGES[0], &[&cookie, &own], &body).status, 303);
    assert_eq!(served.store().row(RUN).unwrap().label.as_deref(), Some("taken"));
}

#[test]
fn cookies_and_headers_are_strict() {
    for reach in [Reach::Loopback, Reach::Network] {
        let served = Served::start(reach);
        let answer = served.send("POST", "/login", &[], &format!("token={}", served.token()));
        let cookie = answer.header("set-cookie").unwrap();
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
        assert_eq!(cookie.contains("Secure"), reach == Reach::Network, "{cookie}");
        for path in ["/login", "/runs", "/nowhere", "/assets/0/page.js"] {
            let answer = served.get(path, &[]);
            let policy = answer.header("content-security-policy").unwrap();
            assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
            assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
            assert_eq!(answer.header("cache-control"), Some("no-store"), "{path}");
        }
    }
}

#[test]
fn strings_from_elsewhere_are_text_on_every_page() {
    let served = Served::start(Reach::Loopback);
    let (cookie, csrf) = served.sign_in();
    let pages = [
        "/".to_owned(),
        "/runs".to_owned(),
        format!("/runs?q={}", "%3Cscript%3Ealert(1)%3C/script%3E"),
        "/runs?target=%22%3E%3Cscript%3Ealert(1)%3C/script%3E&since=%3Cscript%3Ealert(1)%3C/script%3E"
            .to_owned(),
        "/runs?plan=%22%3E%3Cimg%20src=x%20onerror=alert(2)%3E".to_owned(),
        format!("/runs/{RUN}"),
        format!("/runs/{RUN}/delete"),
        format!("/runs/{RUN}/over-time?test=0"),
        format!("/compare?r={RUN}&r=261121-aaaa"),
        "/compare?r=%3Cscript%3Ealert(1)%3C/script%3E&r=x".to_owned(),
        "/new?target=0&plan=vmware&only=%3Cscript%3Ealert(1)%3C/script%3E&label=%22%3E%3Cimg%20src=x%3E"
            .to_owned(),
        "/%3Cscript%3Ealert(1)%3C/script%3E".to_owned(),
    ];
    for path in pages {
        for headers in [vec![], vec![cookie.as_str()]] {
            let body = served.get(&path, &headers).body;
            assert!(!body.contains("<script>") && !body.contains("<img"), "{path}");
            let scripts = body.matches("<script").count();
            assert!(scripts <= 1 && !body.contains("style=\""), "{path}: no inline code");
        }
    }
    // What was typed in is shown as it was typed.
    let text: String = HOSTILE.bytes().map(|byte| format!("%{byte:02X}")).collect();
    for what in ["label", "note"] {
        let body = format!("csrf={csrf}&text={text}");
        assert_eq!(served.send("POST", &format!("/runs/{RUN}/{what}"), &[&cookie], &body).status, 303);
    }
    assert_eq!(served.store().row(RUN).unwrap().note.as_deref(), Some(HOSTILE));
    let shown = served.get(&format!("/runs/{RUN}"), &[&cookie]).body;
    assert!(shown.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && !shown.contains("<img"));
}

#[test]
fn no_path_of_a_request_reaches_the_file_system() {
    let served = Served::start(Reach::Loopback);
    let secret = served.token();
    for path in [
        "/assets/../../../../etc/passwd",
        "/assets/x/..%2f..%2f..%2fetc%2fpasswd",
        "/assets/%2e%2e/%2e%2e/token",
        "/../token",
        "/..%2ftoken",
        "/runs/..%2f..%2ftoken",
        "/runs/%2fetc%2fpasswd",
        "/runs/..%2ftoken/over-time?test=0",
        "/runs/last",
        "/runs/261121-k7f2%00",
        "/compare?r=../token&r=/etc/passwd",
        "/compare?r=published:../../etc/passwd&r=array:/etc/passwd",
        "/compare?r=261121-k7f2&r=array-of:/etc/passwd",
        "/new?target=/etc/passwd&plan=vmware",
        "/new?target=0&plan=/etc/passwd",
        "/new?target=0&plan=file-0",
        "/started/..%2f1",
    ] {
        let answer = served.get(path, &[]);
        assert!(!answer.body.contains("root:") && !answer.body.contains(&secret), "{path}");
        assert!(answer.status >= 400 || answer.body.contains("Refused"), "{path}: {}", answer.status);
    }
}

#[test]
fn no_page_has_the_token_in_it() {
    let served = Served::start(Reach::Network);
    let (cookie, _) = served.sign_in();
    let token = served.token();
    for path in READS.iter().filter(|path| **path != "/live") {
        let answer = served.get(path, &[&cookie]);
        assert!(!answer.body.contains(&token), "{path}");
        assert!(answer.headers.iter().all(|(_, value)| !value.contains(&token)), "{path}");
    }
    let ended = served.send("POST", "/logout", &[&cookie], &format!("csrf={}", served.sign_in().1));
    assert_eq!(ended.status, 403, "with the form of another session");
}
