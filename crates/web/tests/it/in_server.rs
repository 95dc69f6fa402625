//! The pages of a store in a PostgreSQL server: no page may wait for it where a task of the runtime runs, which panics.

use std::time::{Duration, Instant};

use assay_testkit::{postgres, synthetic};

use crate::served::{RUN, Reach, Served};

/// Nothing here takes that long.
const PATIENCE: Duration = Duration::from_secs(60);

/// Every page, with what a visitor may ask of it.
fn pages() -> Vec<String> {
    let of_all = [
        "/",
        "/own",
        "/now/list",
        "/runs",
        "/runs?q=vmware",
        "/runs?sort=p99",
        "/runs?sort=target",
        "/compare",
        "/targets",
        "/new",
        "/new/diagnosis",
        "/predict",
        "/diagnose",
        "/metrics",
        "/methods",
        "/login",
        "/api/v1/runs",
        "/api/v1/targets",
        "/api/v1/openapi.json",
        "/targets/file?as=csv",
    ];
    let of_run = ["", "/over-time?test=0&from=3&to=8", "/values?test=0&from=3&to=8", "/file?as=json"];
    let mut pages: Vec<String> = of_all.map(str::to_owned).into();
    pages.extend(of_run.map(|part| format!("/runs/{RUN}{part}")));
    pages.push(format!("/compare?r={RUN}&r=261121-aaaa"));
    pages.push(format!("/compare/file?as=csv&r={RUN}&r=261121-aaaa"));
    pages.push(format!("/api/v1/runs/{RUN}"));
    pages.push(format!("/api/v1/compare?r={RUN}&r=261121-aaaa"));
    pages
}

#[test]
fn every_page_of_a_store_in_a_server_is_that_of_one_in_a_file() {
    let Some(server) = postgres::database() else { return };
    let (there, file) = (Served::in_server(&server.url()), Served::start(Reach::Loopback));
    for path in pages() {
        let [answer, expected] = [&there, &file].map(|served| served.get(&path, &[]));
        assert_eq!(answer.status, expected.status, "{path}: {}", answer.body);
        assert!(answer.status < 500, "{path}: {}", answer.body);
    }
    let (cookie, csrf) = there.sign_in();
    for path in ["/new", "/new/diagnosis", &format!("/runs/{RUN}/delete"), &format!("/runs/{RUN}")] {
        let answer = there.get(path, &[&cookie]);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    }
    for (part, body) in [("label", "text=before"), ("note", "text=x"), ("baseline", "as=run")] {
        let answer =
            there.send("POST", &format!("/runs/{RUN}/{part}"), &[&cookie], &format!("csrf={csrf}&{body}"));
        assert!(answer.status < 500, "{part}: {}", answer.body);
    }
    let stop = there.send("POST", &format!("/runs/{RUN}/stop"), &[&cookie], &format!("csrf={csrf}"));
    assert_eq!(stop.status, 409, "a run that has ended cannot be stopped: {}", stop.body);
}

/// A run that was killed has no digest; the server makes it, beside the requests.
#[test]
fn what_lists_lack_is_made_by_the_server_in_the_background() {
    let Some(server) = postgres::database() else { return };
    let store = assay_store::Store::open(assay_store::StoreAddress::parse(server.url()).unwrap()).unwrap();
    let mut header = synthetic::header(synthetic::suite("vmware", 12));
    header.run = "261121-bbbb".into();
    let events = synthetic::events(&header, synthetic::Target::default());
    let mut writer = store.begin_run(&header, None, None).unwrap();
    events[1..events.len() / 2].iter().for_each(|event| writer.append(event).unwrap());
    drop(writer);
    let _served = Served::in_server(&server.url());
    let began = Instant::now();
    while store.digest("261121-bbbb").unwrap().is_none() {
        assert!(began.elapsed() < PATIENCE, "nobody makes the digest");
        std::thread::sleep(Duration::from_millis(50));
    }
}
