//! A store in a PostgreSQL server: the same as one in a file, for several who use it at once.

use std::cell::RefCell;

use assay_record::{Event, Severity, TargetFacts};
use assay_store::{
    Baseline, BaselineOf, Checked, KeptMap, ListedRun, Overview, RunFilter, RunOrder, RunSlice, RunState,
    Store, StoreAddress, StoreError, copy,
};
use assay_testkit::postgres;
use assay_testkit::synthetic;

use crate::lists::{digest, versions_of};
use crate::{RUN, header, message, write};

fn address(text: &str) -> StoreAddress {
    StoreAddress::parse(text).unwrap()
}

fn opened(url: &str) -> Store {
    Store::open(address(url)).unwrap()
}

/// Runs of several plans, targets, hosts and states, and something of all that a store keeps.
fn fill(store: &Store) {
    for (index, number) in (0..12_usize).zip(0_u64..) {
        let mut header =
            header(&format!("26112{}-aa{}a", number % 3, "23456789abcd".chars().nth(index).unwrap()));
        header.started_unix_ms += number % 5 * 3_600_000;
        header.plan.name = ["mixed", "Forum äöü", "100%_x"][index % 3].into();
        header.targets[0].address = format!("/srv/lun{}", number % 4);
        header.host.name = format!("Bench{}", number % 2);
        let label = (number % 3 != 0).then(|| format!("week {}", number / 4));
        let note = (number % 4 == 1).then_some("disks of \"1\"; it's 5 % slower\nthan before");
        let mut writer = store.begin_run(&header, label.as_deref(), note).unwrap();
        let events = synthetic::events(&header, synthetic::Target::default());
        let kept = if number == 7 { &events[1..4] } else { &events[1..] };
        kept.iter().for_each(|event| writer.append(event).unwrap());
        let findings = [("outlier", Severity::Warning), ("errors", Severity::Critical)];
        writer.keep_digest(&digest("RealLife", number as f64, &findings[..index % 3])).unwrap();
        if number % 2 == 0 {
            writer.keep_extract(3, &vec![number; 9]).unwrap();
        }
    }
    let run = "261120-aa2a".to_owned();
    store.set_lost("261121-aa9a", Some("no space left")).unwrap();
    store.set_target_array("/srv/lun1", Some("name = \"x\"")).unwrap();
    store.set_target_price("/srv/lun1", Some("5500 EUR")).unwrap();
    store.set_null_ceiling("4 KiB", 0.1 + 0.2).unwrap();
    assert!(store.add_journal("z first", "{}").unwrap() && store.add_journal("a second", "{}").unwrap());
    let (address, plan) = ("/srv/lun1".to_owned(), "mixed".to_owned());
    let of = BaselineOf::Run(run);
    store.set_baseline(&Baseline { address: address.clone(), plan, of, set_unix_ms: 5 }).unwrap();
    let plan = "Forum äöü".to_owned();
    let of = BaselineOf::Label("week 1".into());
    store.set_baseline(&Baseline { address: address.clone(), plan, of, set_unix_ms: 6 }).unwrap();
    store.set_checked(&Checked { address, checked_unix_ms: 7, body: "{\"a\":1}".into() }).unwrap();
    let map = |made_unix_ms| KeptMap { address: "/dev/sdx".into(), made_unix_ms, body: "{}".into() };
    assert!(
        store.add_map(&map(8)).unwrap()
            && store.add_map(&map(9)).unwrap()
            && !store.add_map(&map(9)).unwrap()
    );
}

fn filters() -> Vec<RunFilter> {
    let all = RunFilter::default;
    let text = |text: &str| RunFilter { text: text.to_owned(), ..all() };
    let some = |text: &str| Some(text.to_owned());
    let mut filters = vec![all()];
    filters.extend(
        ["mixed", "MIXED real", "aa", "forum", "100%_", "reallife outlier", "5 %", "no such", "\"1\";"]
            .map(text),
    );
    for part in ["LUN1", "/srv/", "[", "\"", "\",\"", "%", "n2\""] {
        filters.push(RunFilter { target: some(part), ..all() });
    }
    filters.push(RunFilter { target: some("lun1"), on_target: some("/srv/lun1"), ..all() });
    filters.push(RunFilter { on_target: some("/srv/lun2"), rule: some("errors"), ..all() });
    filters.push(RunFilter { on_target: some("/srv/lun2"), severity: Some(Severity::Warning), ..all() });
    filters.push(RunFilter { on_target: some("/srv/lun2"), ..all() });
    filters.push(RunFilter { plan: some("0%_"), ..all() });
    filters.push(RunFilter { label: some("K 1"), host: some("bench1"), ..all() });
    filters.push(RunFilter { since_unix_ms: Some(1_795_231_800_000 + 3_600_000), ..all() });
    filters.push(RunFilter { until_unix_ms: Some(1_795_231_800_000 + 3_600_000), ..all() });
    filters.extend(
        [Severity::Info, Severity::Warning, Severity::Critical]
            .map(|severity| RunFilter { severity: Some(severity), ..all() }),
    );
    filters.push(RunFilter { rule: some("errors"), ..all() });
    filters.extend(
        [RunState::Partial, RunState::Running, RunState::Ended(assay_record::Outcome::Done)]
            .map(|state| RunFilter { state: Some(state), ..all() }),
    );
    filters
}

/// Everything that a reader can ask for.
fn answers(store: &Store) -> Vec<String> {
    let look = store.look(&mut Overview::default()).unwrap();
    let mut answers = vec![format!("{look:?}")];
    for filter in filters() {
        let page = store.list(&filter, RunSlice::ALL).unwrap();
        let part = store.list(&filter, RunSlice { skip: 1, limit: 3 }).unwrap();
        assert_eq!(store.matching(&filter).unwrap(), page.runs.len(), "{filter:?}");
        answers.push(format!("{filter:?}: {page:?} {part:?}"));
        let mut parts = Vec::new();
        store
            .visit_rows(&filter, RunSlice { skip: 1, limit: 7 }, 2, &mut |rows| {
                parts.extend(rows);
                true
            })
            .unwrap();
        let expected: Vec<_> =
            page.runs.iter().skip(1).take(7).map(|ListedRun { row, .. }| row.clone()).collect();
        assert_eq!(parts, expected, "{filter:?}");
        let first: Vec<String> = page.runs.iter().rev().step_by(2).map(|run| run.row.run.clone()).collect();
        for order in [RunOrder::P99, RunOrder::Limit, RunOrder::Target, RunOrder::First(&first)] {
            let sorted = store.list_by(&filter, RunSlice { skip: 1, limit: 5 }, order).unwrap();
            answers.push(format!("{filter:?} {order:?}: {sorted:?}"));
        }
        let mut firsts = store.first_tests(&filter, "mixed").unwrap();
        firsts.sort_by(|a, b| a.run.cmp(&b.run));
        answers.push(format!("{filter:?}: {firsts:?}"));
    }
    for run in store.runs().unwrap().iter().map(|row| &row.run) {
        let extract: Option<Vec<u64>> = store.extract(run, 3).unwrap();
        let loaded = store.load(run).unwrap();
        store.check_events(run).unwrap();
        answers.push(format!("{loaded:?} {extract:?} {:?} {:?}", store.digest(run), store.process(run)));
        let mut raw = Vec::new();
        let is_own = |name: &str| name != "run.id";
        store
            .each_raw(run, |name, bytes| {
                if is_own(name) {
                    raw.push((name.to_owned(), bytes.to_vec()))
                }
            })
            .unwrap();
        answers.push(format!("{raw:?}"));
    }
    for name in ["last", "last~3", "aa3a", "week 1", "261122", "nothing", "261121-aa3a"] {
        answers.push(
            store
                .find(name)
                .unwrap_or_else(|error| error.to_string().replace(&store.address().to_string(), "it")),
        );
    }
    answers.push(format!("{:?} {:?}", store.baselines().unwrap(), store.checks().unwrap()));
    answers.push(format!("{:?} {:?}", store.target_arrays().unwrap(), store.target_prices().unwrap()));
    answers.push(format!("{:?} {:?}", store.null_ceiling("4 KiB").unwrap(), store.journals().unwrap()));
    answers.push(format!("{:?} {:?}", store.maps("/dev/sdx").unwrap(), store.map("/dev/sdx", 9).unwrap()));
    answers.push(format!("{:?} {:?}", store.target_addresses().unwrap(), store.target_array("/srv/lun1")));
    answers.push(format!("{:?} {:?}", store.without_digest().unwrap(), store.without_extract(3).unwrap()));
    answers
}

#[test]
fn a_store_that_is_copied_to_a_server_and_back_answers_the_same() {
    let Some(server) = postgres::database() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = Store::open(folder.path().join("a.sqlite")).unwrap();
    fill(&file);
    let there = opened(&server.url());
    let copied = copy(&file, &there, &mut |_, _| {}).unwrap();
    assert_eq!(
        (copied.copied, copied.same, copied.beside, copied.different.len()),
        (12, 0, 10, 0),
        "{copied:?}"
    );
    assert_eq!(answers(&there), answers(&file));
    let back = Store::open(folder.path().join("b.sqlite")).unwrap();
    assert_eq!(copy(&there, &back, &mut |_, _| {}).unwrap(), copied);
    assert_eq!(answers(&back), answers(&file));
    let again = copy(&back, &there, &mut |_, _| {}).unwrap();
    assert_eq!((again.copied, again.same, again.beside, again.different.len()), (0, 12, 10, 0), "{again:?}");

    // What differs is named, and left as it is.
    there.set_note("261120-aa2a", Some("another")).unwrap();
    server.sql("UPDATE assay.event SET body = body || ' ' WHERE run_id = 2 AND sequence = 3");
    back.set_target_price("/srv/lun1", Some("1 EUR")).unwrap();
    let differs = copy(&back, &there, &mut |_, _| {}).unwrap();
    assert_eq!((differs.same, differs.beside, differs.different.len()), (10, 9, 3), "{differs:?}");
    assert!(differs.different[1].contains("its rows of the table event differ"), "{differs:?}");
    assert_eq!(there.target_price("/srv/lun1").unwrap().as_deref(), Some("5500 EUR"));
    assert!(matches!(there.load("261121-aa3a"), Err(StoreError::Damaged { .. })), "its checksum shows it");
}

/// The index of a server is asked for words that few of the newest runs have, and for no others.
#[test]
fn usual_and_rare_words_are_found_in_a_server_as_in_a_file() {
    let Some(server) = postgres::database() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (file, there) = (Store::open(folder.path().join("a.sqlite")).unwrap(), opened(&server.url()));
    for number in 0..260_u64 {
        let mut header = header(&format!("261120-{number:04}"));
        header.started_unix_ms += number * 1000;
        let label = format!("week {}{}", number / 50, if number % 90 == 7 { " äq" } else { "" });
        for store in [&file, &there] {
            drop(store.begin_run(&header, Some(&label), None).unwrap());
        }
    }
    for text in ["week", "WEEK 4", "äq", "week äq", "k 3", "zq", "week zq"] {
        let filter = RunFilter { text: text.into(), ..RunFilter::default() };
        let found = |store: &Store| {
            let page = store.list(&filter, RunSlice { skip: 1, limit: 100 }).unwrap();
            assert_eq!(page.matching > 0, !text.ends_with("zq"), "{text}");
            (page.matching, page.runs.into_iter().map(|run| run.row.run).collect::<Vec<_>>())
        };
        assert_eq!(found(&there), found(&file), "{text}");
    }
}

#[test]
fn a_store_that_is_filled_in_a_server_is_the_one_that_is_filled_in_a_file() {
    let Some(server) = postgres::database() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = Store::open(folder.path().join("a.sqlite")).unwrap();
    let there = opened(&server.url());
    [&file, &there].into_iter().for_each(fill);
    assert_eq!(answers(&there), answers(&file));
    for store in [&file, &there] {
        store.remove("261120-aa2a").unwrap();
        store.set_label("261121-aa3a", None).unwrap();
        store.set_target_array("/srv/lun1", None).unwrap();
        assert!(store.remove_journal("a second").unwrap() && !store.remove_journal("a second").unwrap());
        assert!(matches!(store.remove("261120-aa2a"), Err(StoreError::Find { .. })));
    }
    assert_eq!(answers(&there), answers(&file), "the baseline went with its run too");
    [&file, &there].into_iter().for_each(has_another_version_after_each_change);
    // What makes searches fast may be missing.
    server.sql("DROP INDEX assay.run_pairs; DROP FUNCTION assay.run_pairs; DROP INDEX assay.run_text");
    server.sql("DROP INDEX assay.run_lists");
    assert_eq!(answers(&opened(&server.url())), answers(&file));
}

/// What a page asks whether it has to draw a target again.
fn has_another_version_after_each_change(store: &Store) {
    let (changed, other) = ("/srv/lun2", "/srv/lun3");
    let filter = RunFilter { on_target: Some(changed.into()), ..RunFilter::default() };
    let run = &store.list(&filter, RunSlice::ALL).unwrap().runs[0].row.run;
    let changes: [&dyn Fn(); 3] = [
        &|| store.set_label(run, Some("another")).unwrap(),
        &|| store.set_digest(run, &digest("another", 2.0, &[])).unwrap(),
        &|| store.remove(run).unwrap(),
    ];
    let overview = RefCell::default();
    let versions = || versions_of(store, [changed, other], &overview);
    let [mut before, of_other] = versions();
    let mut seen = Vec::new();
    for change in changes {
        change();
        let [after, still] = versions();
        assert_eq!(still, of_other, "no run of it has changed");
        seen.push(std::mem::replace(&mut before, after));
        assert!(!seen.contains(&before), "{before:?}");
    }
}

/// A line of an index of PostgreSQL has 2,704 bytes at most.
#[test]
fn a_run_over_many_hosts_is_stored_in_a_server_and_found() {
    let Some(server) = postgres::database() else { return };
    let store = opened(&server.url());
    let mut header = header(RUN);
    let first = header.targets[0].clone();
    // Names that do not shrink when they are packed.
    let name = |n: u64| format!("{:016x}", n.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let target = |n| TargetFacts { address: format!("{}:/srv/{}", name(n), name(n + 1000)), ..first.clone() };
    header.targets = (1..=1000).map(target).collect();
    drop(store.begin_run(&header, None, None).unwrap());
    let filter = RunFilter { target: Some(name(700)), ..RunFilter::default() };
    assert_eq!(store.list(&filter, RunSlice::ALL).unwrap().runs.len(), 1);
}

#[test]
fn several_write_at_once_and_each_sees_what_goes_on() {
    let Some(mut server) = postgres::start() else { return };
    let at = address(&server.url());
    assert!(Store::open_existing(&at).unwrap().is_none(), "nothing is made by looking");
    // Four make it at once, and write to it at once.
    let write_some = |writer: u64| {
        let store = Store::open(&at).unwrap();
        let runs = (0..5_u64).map(|turn| {
            let header = header(&store.new_run_id(1_795_231_800_000, writer << 32 | turn).unwrap());
            (header.run.clone(), write(&store, &header, None))
        });
        runs.collect::<Vec<(String, Vec<Event>)>>()
    };
    let written: Vec<(String, Vec<Event>)> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4).map(|writer| scope.spawn(move || write_some(writer))).collect();
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    let store = opened(&server.url());
    assert_eq!(store.count().unwrap(), 20);
    written.iter().for_each(|(run, events)| assert_eq!(store.load(run).unwrap(), *events));

    let events = synthetic::events(&header(RUN), synthetic::Target::default());
    let mut writer = store.begin_run(&header(RUN), None, None).unwrap();
    writer.append(&events[1]).unwrap();
    let other = Store::open_existing(&at).unwrap().unwrap();
    let before = other.writes().unwrap();
    assert_eq!((other.running().unwrap(), other.writes().unwrap()), (vec![RUN.to_owned()], before));
    writer.append(&events[2]).unwrap();
    assert_ne!(other.writes().unwrap(), before);
    assert_eq!(other.events_from(RUN, 1, 9).unwrap(), events[1..3]);
    assert!(matches!(other.remove(RUN), Err(StoreError::Running { .. })));
    assert!(matches!(store.begin_run(&header(RUN), None, None), Err(StoreError::RunExists { .. })));

    // The server dies. The event that it did not take is tried again.
    server.kill();
    let error = writer.append(&events[3]).unwrap_err();
    assert!(error.is_away(), "{}", message(&error));
    assert!(matches!(writer.append(&events[3]), Err(StoreError::AlreadyLost { .. })));
    assert!(writer.resume().unwrap_err().is_away());
    server.start_again();
    // Without its session the run looks killed, and somebody makes its digest for good.
    let store = opened(&server.url());
    assert_eq!(store.without_digest().unwrap()[0], RUN);
    store.set_digest(RUN, &digest("part", 1.0, &[])).unwrap();
    assert_eq!(writer.resume().unwrap(), 3);
    events[3..].iter().for_each(|event| writer.append(event).unwrap());
    writer.finish().unwrap();
    assert_eq!(store.load(RUN).unwrap(), events);
    drop(writer);
    // The server drops the lock of a session a moment after its end. The digest of a part is made again.
    while store.without_digest().unwrap().first().map(String::as_str) != Some(RUN) {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn a_writer_writes_a_reader_reads_and_the_server_sees_to_it() {
    let Some(server) = postgres::database() else { return };
    let StoreAddress::Postgres(of) = address("postgres://?schema=lab") else { panic!("it is a server") };
    for _ in 0..2 {
        server.sql(&assay_store::init_sql(&of));
    }
    for (user, of) in [("alice", "IN ROLE lab_writer"), ("bob", "IN ROLE lab_reader"), ("eve", "")] {
        server.sql(&format!("CREATE ROLE {user} LOGIN {of}"));
    }
    let at = |user| address(&format!("{}?schema=lab", server.url_of(user)));
    let alice = Store::open(at("alice")).unwrap();
    fill(&alice);
    alice.remove("261120-aa2a").unwrap();
    let bob = Store::open_existing(at("bob")).unwrap().unwrap();
    assert!(bob.read_only().unwrap().contains("this user may only read"));
    assert_eq!(answers(&bob), answers(&alice));
    let refused = [
        message(&Store::open(at("bob")).unwrap_err()),
        message(&bob.set_note("261121-aa3a", Some("x")).unwrap_err()),
        message(&Store::open_existing(at("eve")).unwrap_err()),
        message(&Store::open(address(&server.url_of("eve"))).unwrap_err()),
    ];
    for (refused, says) in
        refused.iter().zip(["only read", "can only be read", "denied for schema lab", "init-sql"])
    {
        assert!(refused.contains(says), "{refused}");
    }
    // Events are never changed, not even by those who write them.
    let is_allowed = |role: &str, right: &str| {
        server.sql(&format!("SELECT has_table_privilege('{role}', 'lab.event', '{right}')")) == "t\n"
    };
    assert!(
        is_allowed("alice", "INSERT") && !is_allowed("alice", "UPDATE") && !is_allowed("alice", "DELETE")
    );
    assert!(!is_allowed("bob", "INSERT") && is_allowed("bob", "SELECT") && !is_allowed("eve", "SELECT"));

    server.sql("UPDATE lab.store_format SET format = 99");
    let newer = Store::open_existing(at("alice")).unwrap_err();
    assert!(matches!(newer, StoreError::Newer { found: 99, .. }), "{newer}");
}

/// A word is found as it is stored, whichever letters the locale of a server knows.
#[test]
fn other_locales_find_what_is_typed() {
    let Some(server) = postgres::start() else { return };
    for (name, encoding) in [("plain", "UTF8"), ("bytes", "SQL_ASCII")] {
        server.sql(&format!(
            "CREATE DATABASE {name} TEMPLATE template0 ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C'"
        ));
    }
    let at = |name: &str| address(&server.url().replace("/runs", &format!("/{name}")));
    for name in ["runs", "plain", "bytes"] {
        let store = Store::open(at(name)).unwrap();
        let mut header = header(RUN);
        header.plan.name = "FÜRTH ΟΔΟΣ 100%_x".into();
        write(&store, &header, None);
        for word in ["FÜRTH", "ΟΔΟΣ", "Ü", "100%_X", "fÜrth ΟΔ"] {
            let filter = RunFilter { text: word.into(), ..RunFilter::default() };
            assert_eq!(store.matching(&filter).unwrap(), 1, "{name}: {word}");
        }
    }
}

/// It took runs, until one had to say a letter that it lacks: at its end.
#[test]
fn a_database_without_all_letters_is_refused_before_anything_is_measured() {
    let Some(server) = postgres::start() else { return };
    server.sql("CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'");
    let at = address(&server.url().replace("/runs", "/latin"));
    let refused = message(&Store::open(&at).unwrap_err());
    assert!(refused.contains("LATIN1") && refused.contains("ENCODING 'UTF8'"), "{refused}");
    assert!(Store::open_existing(&at).unwrap().is_none(), "no table was made");
    // One from before is still read.
    let StoreAddress::Postgres(of) = &at else { panic!("it is a server") };
    server.sql_in("latin", &assay_store::init_sql(of));
    let refused = message(&Store::open(&at).unwrap_err());
    assert!(refused.contains("LATIN1"), "{refused}");
    let store = Store::open_existing(&at).unwrap().unwrap();
    assert!(store.read_only().unwrap().contains("LATIN1") && store.runs().unwrap().is_empty());
}

/// The certificate of the server is that of its name, or nothing is said to it.
#[test]
fn a_connection_is_encrypted_and_the_server_proves_who_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let (cert, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    std::fs::write(&cert, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let Some(server) = postgres::with("", "local all all trust\nhostssl all all 127.0.0.1/32 trust\n") else {
        return;
    };
    server.use_certificate(&cert, &key);
    let at =
        |host: &str, rest: &str| address(&format!("postgres://assay@{host}:{}/runs?{rest}", server.port()));
    let trusted = format!("sslmode=verify-full&sslrootcert={}", cert.display());
    let store = Store::open(at("localhost", &trusted)).unwrap();
    write(&store, &header(RUN), None);
    assert_eq!(server.sql("SELECT count(*) FROM pg_stat_ssl WHERE ssl"), "1\n");
    for (host, rest, says) in [
        ("127.0.0.1", trusted.as_str(), "certificate"),
        ("localhost", "sslmode=verify-full", "certificate"),
        ("localhost", "sslmode=disable", "pg_hba.conf"),
        ("localhost", "sslmode=verify-full&sslrootcert=/no/such.pem", "/no/such.pem"),
    ] {
        let refused = message(&Store::open(at(host, rest)).unwrap_err());
        assert!(refused.contains(says), "{host} {rest}: {refused}");
    }
}

/// A store that was made before lists had anything to be sorted by.
#[test]
fn tables_of_an_earlier_format_are_sorted_as_soon_as_they_are_opened() {
    let Some(server) = postgres::database() else { return };
    fill(&opened(&server.url()));
    for damage in ["", "UPDATE assay.digest SET body = '{' WHERE run_id = 2;"] {
        server.sql(&format!(
            "{damage} ALTER TABLE assay.run DROP COLUMN p99_us, DROP COLUMN verdict, DROP COLUMN first_load, \
             DROP COLUMN first_iops; UPDATE assay.store_format SET format = 7; UPDATE assay.digest SET version = 4"
        ));
        let store = opened(&server.url());
        // Where one is no JSON, all wait for their digests to be made again.
        let expected = if damage.is_empty() { "12" } else { "0" };
        assert_eq!(server.sql("SELECT count(verdict) FROM assay.run").trim(), expected);
        assert_eq!(store.list(&RunFilter::default(), RunSlice::ALL).unwrap().matching, 12);
        assert_eq!(store.without_digest().unwrap().len(), 12);
    }
}

/// A text that is no JSON any more fails no list.
#[test]
fn what_cannot_be_read_of_one_run_fails_no_list_and_no_copy() {
    let Some(server) = postgres::database() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sqlite");
    let file = Store::open(&path).unwrap();
    let there = opened(&server.url());
    [&file, &there].into_iter().for_each(fill);
    let raw = rusqlite::Connection::open(&path).unwrap();
    for damage in [
        "UPDATE {}digest SET body = '{\"tests\": [' WHERE run_id = 2",
        "UPDATE {}digest SET body = '' WHERE run_id = 9",
        "UPDATE {}run SET targets = '[\"/srv/lun1' WHERE id = 6",
        "UPDATE {}run SET targets = '' WHERE id = 3",
    ] {
        raw.execute(&damage.replace("{}", ""), []).unwrap();
        server.sql(&damage.replace("{}", "assay."));
    }
    let on_target = RunFilter { target: Some("LUN1".into()), ..RunFilter::default() };
    for filter in [RunFilter::default(), on_target.clone()] {
        for order in [RunOrder::Newest, RunOrder::P99, RunOrder::Limit, RunOrder::Target] {
            let lists = [&file, &there].map(|store| store.list_by(&filter, RunSlice::ALL, order).unwrap());
            assert_eq!(lists[0], lists[1], "{filter:?} {order:?}");
        }
        let rows = [&file, &there].map(|store| store.rows(&filter, RunSlice::ALL).unwrap());
        assert_eq!(rows[0], rows[1], "{filter:?}");
    }
    // Of runs 2, 6 and 10 of /srv/lun1 the sixth lost its targets.
    assert_eq!((there.count().unwrap(), there.matching(&on_target).unwrap()), (12, 2));

    raw.execute("UPDATE price SET price = CAST(x'ff' AS TEXT)", []).unwrap();
    raw.execute("UPDATE digest SET is_whole = 0 WHERE run_id IN (4, 5)", []).unwrap();
    raw.execute("UPDATE run SET run = CAST(x'ff' AS TEXT) WHERE id = 4", []).unwrap();
    assert_eq!(file.without_digest().unwrap().len(), there.without_digest().unwrap().len() + 1);
    let Some(empty) = postgres::database() else { return };
    let copied = copy(&file, &opened(&empty.url()), &mut |_, _| {}).unwrap();
    assert_eq!((copied.copied, copied.beside, copied.different.len()), (11, 9, 2), "{copied:?}");
}
