//! `/api/v1` and its description.

use serde_json::Value;

use crate::served::{RUN, Reach, Served};

/// Every address of the description is asked for, and its document compared with its schema: an address that is not
/// served, a schema that is not there and a field of another form fail.
#[test]
fn every_address_of_the_description_answers_a_document_of_its_schema() {
    let served = Served::start(Reach::Loopback);
    let json = |path: &str| -> Value {
        let answer = served.get(path, &[]);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        assert_eq!(answer.header("content-type"), Some("application/json"), "{path}");
        serde_json::from_str(&answer.body).unwrap()
    };
    let known = json("/api/v1/targets");
    let body = serde_json::json!({ "schema": "assay.check/1", "target": "x", "kind": "file" }).to_string();
    let address = known["targets"][0]["target"].as_str().unwrap().to_owned();
    served.store().set_checked(&assay_store::Checked { address, checked_unix_ms: 1, body }).unwrap();
    let target = known["targets"][0]["target"].as_str().unwrap();
    let target: String = target.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let description = json("/api/v1/openapi.json");
    let mut checked = 0;
    for (path, item) in description["paths"].as_object().unwrap() {
        let query = match path.as_str() {
            "/api/v1/compare" => format!("?r={RUN}&r=261121-aaaa"),
            "/api/v1/trends" | "/api/v1/check" => format!("?target={target}"),
            "/api/v1/predict" => "?array=raid6-12bay&plan=vmware".to_owned(),
            _ => String::new(),
        };
        let address =
            path.replace("{run}", RUN).replace("{name}", "assay.run-1").replace("{table}", "ix4-200d");
        if path.ends_with("/diagnosis") {
            // The stored runs are none; the program's own tests check a diagnosis by its schema.
            assert_eq!(served.get(&address, &[]).status, 404);
            continue;
        }
        let document = json(&format!("{address}{query}"));
        let schema = &item["get"]["responses"]["200"]["content"]["application/json"]["schema"];
        let schema = schema["$ref"].as_str().map_or_else(|| schema.clone(), json);
        let validator = jsonschema::validator_for(&schema).unwrap();
        let wrong: Vec<String> = validator
            .iter_errors(&document)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(wrong.is_empty(), "{path}: {wrong:#?}");
        checked += 1;
    }
    assert_eq!(checked, 10);
}

/// Each schema is valid and says the version that its documents have.
#[test]
fn every_schema_is_one_and_names_its_document() {
    let served = Served::start(Reach::Loopback);
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
    let mut checked = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().file_name().into_string().unwrap();
        let Some(name) = file.strip_suffix(".schema.json") else { continue };
        let answer = served.get(&format!("/api/v1/schemas/{name}"), &[]);
        assert_eq!(answer.status, 200, "{name} is in docs and not served");
        let schema: Value = serde_json::from_str(&answer.body).unwrap();
        assert!(schema["$id"].as_str().unwrap().starts_with(name), "{name}");
        jsonschema::validator_for(&schema).unwrap();
        // A list has no field that says its version.
        let version = &schema["properties"]["schema"]["const"];
        let expected = name.replace("-1", "/1");
        assert!(schema["type"] == "array" || *version == expected, "{name}: {version}");
        checked += 1;
    }
    assert_eq!(checked, 17);
}

#[test]
fn lists_are_filtered_and_cut_and_what_is_not_there_is_refused() {
    let served = Served::start(Reach::Loopback);
    let count = |query: &str| {
        let answer = served.get(&format!("/api/v1/runs{query}"), &[]);
        serde_json::from_str::<Value>(&answer.body).unwrap().as_array().unwrap().len()
    };
    let all = count("");
    assert!(all > 1 && count("?limit=1") == 1 && count(&format!("?skip={all}")) == 0, "{all}");
    assert_eq!(count("?q=no-such-word"), 0);
    for (path, status) in [
        ("/api/v1/runs?limit=x", 400),
        // Runs of every kind were the answer.
        ("/api/v1/runs?state=nonsense", 400),
        ("/api/v1/runs?severity=grave", 400),
        ("/api/v1/runs/261121-zzzz", 404),
        ("/api/v1/compare?r=261121-aaaa", 400),
        ("/api/v1/trends?target=/etc/passwd", 404),
        ("/api/v1/schemas/passwd", 404),
        ("/api/v1/published/passwd", 404),
        ("/api/v1/predict?array=passwd&plan=vmware", 404),
        ("/api/v1/predict?array=raid6-12bay&plan=passwd", 400),
        ("/api/v1/check?target=/etc/passwd", 404),
        ("/api/v1/passwd", 404),
    ] {
        let answer = served.get(path, &[]);
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (status, Some("application/json")),
            "{path}"
        );
        let document: Value = serde_json::from_str(&answer.body).unwrap();
        assert!(document["error"].as_str().is_some_and(|says| !says.is_empty()), "{path}: {document}");
    }
}

/// Whoever refuses, a route, the guard before it or the library that takes the address apart: a program gets a document
/// with a sentence.
#[test]
fn whatever_is_refused_below_api_is_a_document() {
    let served = Served::start(Reach::Loopback);
    let token = format!("Authorization: Bearer {}", served.token());
    let elsewhere = format!(
        "GET /api/v1/runs HTTP/1.1\r\nHost: evil.example:{}\r\nConnection: close\r\n\r\n",
        served.address().port()
    );
    let refused = [
        (404, served.get("/api", &[])),
        (404, served.get("/api/", &[])),
        (404, served.get("/api/v1", &[])),
        (404, served.get("/api/v1/", &[])),
        (404, served.get("/api/v1/", &["Accept: text/html", "Accept-Encoding: gzip"])),
        (404, served.get("/api/v2/runs", &[])),
        (404, served.get("/api/v1/runs/", &[])),
        (400, served.get("/api/v1/runs/%ff", &[])),
        (400, served.get("/api/v1/schemas/%c3%28", &[])),
        (401, served.get("/api/v1/runs", &["Authorization: Bearer wrong"])),
        (405, served.send("POST", "/api/v1/runs", &[], "text=x")),
        (405, served.send("POST", "/api/v1/runs", &[&token], "text=x")),
        (405, served.send("POST", "/api/v1/", &[&token], "text=x")),
        (405, served.send("PUT", "/api/v1/runs", &[], "")),
        (405, served.send("DELETE", "/api/v1/runs/261121-k7f2", &[&token], "")),
        (421, crate::client::exchange(&mut *served.connect(), elsewhere.as_bytes()).unwrap()),
    ];
    for (place, (status, answer)) in refused.into_iter().enumerate() {
        let form = (answer.status, answer.header("content-type"));
        assert_eq!(form, (status, Some("application/json")), "{place}: {}", answer.body);
        let document: Value = serde_json::from_str(&answer.body).unwrap();
        assert!(document["error"].as_str().is_some_and(|says| says.ends_with('.')), "{place}: {document}");
        assert_eq!(answer.header("allow").is_some(), status == 405, "{place}");
    }
    let elsewhere = Served::start(Reach::Network).get("/api/v1/runs", &["Accept: text/html"]);
    assert_eq!((elsewhere.status, elsewhere.header("www-authenticate")), (401, Some("Bearer")));
    assert!(serde_json::from_str::<Value>(&elsewhere.body).unwrap()["error"].is_string());
    // What is no document of a program stays a page.
    let page = served.get("/apiary", &[]);
    assert_eq!((page.status, page.header("content-type")), (404, Some("text/html; charset=utf-8")));
}

#[test]
fn runs_comparisons_and_trends_are_downloaded_in_every_form() {
    let served = Served::start(Reach::Loopback);
    let target = served.get("/api/v1/targets", &[]).body;
    let target: Value = serde_json::from_str(&target).unwrap();
    let target: String =
        target["targets"][0]["target"].as_str().unwrap().bytes().map(|byte| format!("%{byte:02X}")).collect();
    for address in [
        format!("/runs/{RUN}/file?"),
        format!("/compare/file?r={RUN}&r=261121-aaaa&"),
        format!("/targets/file?target={target}&"),
    ] {
        for (form, kind) in [
            ("html", "text/html; charset=utf-8"),
            ("csv", "text/csv; charset=utf-8"),
            ("json", "application/json"),
            ("md", "text/markdown; charset=utf-8"),
            ("bbcode", "text/plain; charset=utf-8"),
        ] {
            let answer = served.get(&format!("{address}as={form}"), &[]);
            assert_eq!((answer.status, answer.header("content-type")), (200, Some(kind)), "{address}{form}");
            let named = answer.header("content-disposition").unwrap();
            assert!(named.starts_with("attachment; filename=\"assay-"), "{named}");
        }
        assert_eq!(served.get(&format!("{address}as=exe"), &[]).status, 400);
    }
}

/// A table for a forum had to be downloaded, opened and copied.
#[test]
fn what_is_posted_is_copied_from_an_address_that_answers_it() {
    let served = Served::start(Reach::Loopback);
    let target = "%2Fsrv%2Ft.dat";
    for page in [
        format!("/runs/{RUN}"),
        format!("/compare?r={RUN}&r=261121-aaaa"),
        format!("/targets?target={target}"),
    ] {
        let html = served.get(&page, &[]).body;
        let addresses = html.split("data-copy=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
        let addresses: Vec<String> = addresses.map(|address| address.replace("&amp;", "&")).collect();
        let kinds: Vec<String> = addresses
            .iter()
            .map(|address| {
                let answer = served.get(address, &[]);
                assert_eq!(answer.status, 200, "{address}");
                assert!(!answer.body.trim().is_empty(), "{address}");
                answer.header("content-type").unwrap().to_owned()
            })
            .collect();
        assert_eq!(kinds, ["text/markdown; charset=utf-8", "text/plain; charset=utf-8"], "{page}");
    }
}
