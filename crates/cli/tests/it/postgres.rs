//! A store in a real PostgreSQL server, as its users see it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use assay_record::{RunDigest, RunHeader};
use assay_store::Store;
use assay_testkit::postgres::{self, Postgres};
use assay_testkit::synthetic;

use crate::story::{BAD_INPUT, DONE, ERRORS, INTERRUPTED, Running, Story};

/// Runs of the comparison of both kinds; `ASSAY_STORE_RUNS` takes another number.
const RUNS: u64 = 40;
const PLAN: &str = "[[test]]\nname = \"t\"\nrun = \"10min\"\naccess = [{ size = \"4KiB\", random = 100 }]\n";

/// Fills the store of a story, by way of its file.
fn fill(story: &Story, runs: u64) -> Vec<String> {
    let store = Store::open(story.path("store.sqlite")).unwrap();
    let plan = "name = \"mixed\"\n[[test]]\nname = \"t\"\nrun = \"3s\"\naccess = [{ size = \"8KiB\" }]\n";
    let pattern = synthetic::header(synthetic::plan(plan));
    let names = (0..runs).map(|number| {
        let run = store.new_run_id(pattern.started_unix_ms, number).unwrap();
        let started_unix_ms = pattern.started_unix_ms + number * 3_600_000;
        let mut header = RunHeader { run: run.clone(), started_unix_ms, ..pattern.clone() };
        header.targets[0].address = format!("/srv/lun{}", number % 3);
        let events = synthetic::events(&header, synthetic::Target::default());
        let label = format!("week {}", number / 20);
        let mut writer = store.begin_run(&header, Some(&label), None).unwrap();
        let kept = if number % 50 == 7 { &events[1..4] } else { &events[1..] };
        kept.iter().for_each(|event| writer.append(event).unwrap());
        writer.keep_digest(&RunDigest::default()).unwrap();
        drop(writer);
        assay_results::complete(&store, &run).unwrap();
        run
    });
    names.collect()
}

/// Pages of a server on that store, without what is the server's own.
fn pages(story: &Story, store: &str, paths: &[String]) -> Vec<String> {
    let args = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--store",
        store,
        "--token-file",
        &story.write("token", "x".repeat(32)),
    ];
    std::fs::set_permissions(story.path("token"), std::fs::Permissions::from_mode(0o600)).unwrap();
    let mut server = story.start(&args);
    let mut url = String::new();
    BufReader::new(server.child().stdout.take().unwrap()).read_line(&mut url).unwrap();
    let host = url.trim().strip_prefix("http://").unwrap().to_owned();
    let page = |path: &String| {
        let mut stream = TcpStream::connect(&host).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{path}: {head}");
        body.replace(&host, "HOST")
    };
    paths.iter().map(page).collect()
}

#[test]
fn the_same_runs_in_a_file_and_in_a_server_print_the_same() {
    let Some(server) = postgres::database() else { return };
    let story = Story::new();
    let wanted = std::env::var("ASSAY_STORE_RUNS").ok().and_then(|runs| runs.parse().ok());
    let runs = fill(&story, wanted.unwrap_or(RUNS));
    let (file, url) = (story.path("store.sqlite").to_str().unwrap().to_owned(), server.url());
    let says = format!("{} runs copied, 0 were there already", runs.len());
    story.assay(&["store", "copy", &file, &url]).ends(DONE).says(&[&says]);
    let says = format!("0 runs copied, {} were there already", runs.len());
    story.assay(&["store", "copy", &url, &file]).ends(DONE).says(&[&says]);

    let (a, b) = (&runs[3], &runs[23]);
    let mut lines: Vec<Vec<&str>> = vec![
        vec!["runs"],
        vec!["runs", "--json"],
        vec!["runs", "--find", "lun2 week"],
        vec!["runs", "--target", "LUN1", "--limit", "5"],
        vec!["compare", a, b],
        vec!["compare", "week 0", "week 1", "--json"],
        vec!["compare", a, b, "--format", "md"],
        vec!["export", a, "-o", "-"],
        vec!["show", "nothing-like-it"],
    ];
    let shown = if wanted.is_some() { &runs[..] } else { &runs[5..9] };
    for run in shown {
        lines.extend([vec!["show", run], vec!["show", run, "--json"]]);
    }
    for line in lines {
        let [mut of_file, mut of_server] = [&file, &url].map(|store| {
            let printed = story.assay(&[&line[..], &["--store", store]].concat());
            format!("{:?} {} {}", printed.code, printed.out, printed.err)
        });
        (of_file, of_server) = (of_file.replace(&file, "STORE"), of_server.replace(&url, "STORE"));
        assert_eq!(of_server, of_file, "{line:?}");
    }
    let mut paths: Vec<String> =
        ["/runs", "/runs?q=lun2", "/targets", "/metrics"].map(str::to_owned).to_vec();
    paths.extend(shown.iter().map(|run| format!("/runs/{run}")));
    paths.push(format!("/compare?run={a}&run={b}"));
    for (path, (of_file, of_server)) in
        paths.iter().zip(pages(&story, &file, &paths).into_iter().zip(pages(&story, &url, &paths)))
    {
        assert!(of_server == of_file, "{path}\n{of_file}\n{of_server}");
    }
}

/// Starts a run in the server that goes on until a signal, and waits for its first interval.
fn begun(story: &Story, server: &Postgres, label: &str) -> Running {
    story.write("plan.toml", PLAN);
    let running = story.start(&["run", "plan.toml", "null:", "--label", label, "--store", &server.url()]);
    let look = || story.assay(&["show", label, "--json", "--store", &server.url()]);
    while !look().out.contains("\"iops\"") {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    running
}

/// Returns the numbers of intervals of a stored run, which have no gap, and the number of its operations.
fn intervals(story: &Story, store: &str, run: &str) -> (usize, u64) {
    let shown = story.assay(&["show", run, "--json", "--store", store]).ends(DONE).json();
    let series = shown["tests"][0]["series"].as_array().unwrap().clone();
    let seconds: Vec<f64> = series.iter().map(|at| at["t_s"].as_f64().unwrap()).collect();
    assert!(seconds.windows(2).all(|two| two[1] - two[0] < 1.5), "{seconds:?}");
    (series.len(), shown["tests"][0]["total"]["ops"].as_u64().unwrap())
}

#[test]
fn a_server_that_is_killed_during_two_runs_loses_no_interval_of_either() {
    let Some(mut server) = postgres::start() else { return };
    let story = Story::new();
    let labels = ["one", "two"];
    let mut running = labels.map(|label| begun(&story, &server, label));
    server.kill();
    running.iter_mut().for_each(|running| drop(running.hear("until the server is back")));
    server.start_again();
    running.iter_mut().for_each(|running| drop(running.hear("is back, and has all events of this run")));
    for (mut running, label) in running.into_iter().zip(labels) {
        running.signal("INT");
        running.end().ends(INTERRUPTED).says(&["stored as run"]);
        let (count, ops) = intervals(&story, &server.url(), label);
        assert!(count >= 2 && ops > 0, "{count} intervals");
    }
    assert_eq!(story.files(), ["plan.toml"], "no file is left over");
    let listed = story.assay(&["runs", "--json", "--store", &server.url()]).ends(DONE).json();
    assert_eq!(listed.as_array().map(Vec::len), Some(2), "{listed}");
}

#[test]
fn a_run_whose_server_stays_away_is_in_a_file_that_the_server_takes_later() {
    let Some(mut server) = postgres::start() else { return };
    let story = Story::new();
    story.write("plan.toml", PLAN);
    let mut command = story.command(&["run", "plan.toml", "null:", "--label", "kept"]);
    command.env("ASSAY_STORE", server.url()).env("XDG_DATA_HOME", story.path("data"));
    let mut running = Running::of(command);
    let look = || story.assay(&["show", "kept", "--json", "--store", &server.url()]);
    while !look().out.contains("\"iops\"") {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    server.kill();
    let said = running.hear("until the server is back");
    running.signal("INT");
    let printed = running.end().ends(ERRORS);
    let file =
        printed.err.split("all of it is in ").nth(1).unwrap_or_else(|| panic!("{said}{}", printed.err));
    let file = file.split(": assay import").next().unwrap().split_whitespace().collect::<String>();
    let of_file = story.assay(&["show", &file, "--json"]).ends(DONE).json();
    server.start_again();
    story.assay(&["import", &file, "--store", &server.url()]).ends(DONE);
    let stored = story.assay(&["show", "kept", "--json", "--store", &server.url()]).ends(DONE).json();
    assert_eq!(stored, of_file);
}

#[test]
fn a_password_is_in_a_file_and_nowhere_else() {
    let Some(server) = postgres::with("", "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n")
    else {
        return;
    };
    server.sql("ALTER ROLE assay PASSWORD 'S3CR3T'");
    let story = Story::new();
    let passwords = story.write("pgpass", "127.0.0.1:*:runs:assay:S3CR3T\n");
    let ask = |args: &[&str]| {
        let mut command = story.command(args);
        command.env("ASSAY_STORE", server.url()).env("PGPASSFILE", &passwords);
        assay_testkit::story::printed(command.stdin(Stdio::null()).output().unwrap())
    };
    let open = ask(&["runs"]).ends(BAD_INPUT).says(&["other users can read the passwords", "chmod 600"]);
    std::fs::set_permissions(&passwords, std::fs::Permissions::from_mode(0o600)).unwrap();
    let run = ["run", "vmware", "null:", "--only", "RealLife", "--set", "run=1s"];
    let run = ask(&run).ends(DONE).says(&["stored as run"]);
    let shown = ask(&["show", "last", "--json"]).ends(DONE);
    let raw = ask(&["export", "last", "--format", "raw"]).ends(DONE);
    std::fs::write(&passwords, "127.0.0.1:*:runs:assay:wrong S3CR3T\n").unwrap();
    let wrong = ask(&["runs"]).ends(BAD_INPUT).says(&["password authentication failed"]);
    let typed = server.url().replace("assay@", "assay:S3CR3T@");
    let typed = story.assay(&["runs", "--store", &typed]).ends(BAD_INPUT).says(&["has a secret in it"]);
    for printed in [open, run, shown, raw, wrong, typed] {
        assert!(!printed.out.contains("S3CR3T") && !printed.err.contains("S3CR3T"), "{printed:?}");
    }
    let kept = server.sql("SELECT count(*) FROM assay.event WHERE body LIKE '%S3CR3T%'");
    assert_eq!(kept, "0\n");
}

/// Who shares results begins with these lines.
#[test]
fn the_sql_of_init_makes_a_store_for_two_roles() {
    let Some(server) = postgres::database() else { return };
    let story = Story::new();
    let sql = story.assay(&["store", "init-sql"]).ends(DONE).out;
    server.sql(&sql);
    server.sql("CREATE ROLE alice LOGIN IN ROLE assay_writer; CREATE ROLE bob LOGIN IN ROLE assay_reader");
    let (alice, bob) = (server.url_of("alice"), server.url_of("bob"));
    let run = ["run", "vmware", "null:", "--only", "RealLife", "--set", "run=1s", "--store", &alice];
    story.assay(&run).ends(DONE).says(&["stored as run"]);
    story.assay(&["show", "last", "--store", &bob]).ends(DONE).says(&["this user may only read"]);
    story.assay(&["label", "last", "x", "--store", &bob]).ends(BAD_INPUT).says(&["can only be read"]);
    story.assay(&["store", "init-sql", "--schema", "A;b"]).ends(BAD_INPUT).says(&["small letters"]);
}
