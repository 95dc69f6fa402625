//! The report as a file: whole, safe, self-contained. Each is also written to the test folder, to be looked at.

use std::path::Path;

use assay_analysis::trend::TrendEvent;
use assay_analysis::{Round, SteadyState, Tracks};
use assay_report::html::{Links, trend_events};
use assay_report::text::{Detail, TextOptions, table};
use assay_report::{Meta, html::report};

use crate::{OPEN, Reported, TWO_JOBS, reported, run, synthetic};

fn html(reported: &Reported, name: &str) -> String {
    let meta = Meta { label: Some("before"), note: Some("firmware 2.1"), ..Meta::default() };
    let page = report(&reported.header, &reported.summary, &reported.findings, meta);
    std::fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.html")), &page).unwrap();
    page
}

/// Every tag that is opened is closed, in order; good enough for text that we write ourselves.
fn check_nesting(page: &str) {
    const VOID: [&str; 5] = ["!DOCTYPE", "meta", "br", "?xml", "input"];
    let mut open: Vec<&str> = Vec::new();
    for tag in page.split('<').skip(1) {
        let (inside, _) = tag.split_once('>').expect("a tag ends");
        let name = inside.split([' ', '\n']).next().unwrap().trim_end_matches('/');
        if let Some(closed) = name.strip_prefix('/') {
            assert_eq!(open.pop(), Some(closed), "near {}", &tag[..tag.len().min(60)]);
        } else if !VOID.contains(&name) && !inside.ends_with('/') {
            open.push(name);
        }
    }
    assert_eq!(open, Vec::<&str>::new());
}

pub fn check(page: &str) {
    check_nesting(page);
    for forbidden in
        ["<script", "http://", "https://", "<link", "@import", "url(", "<img", "NaN", "inf\"", "inf,"]
    {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
}

#[test]
fn the_forum_suite_has_its_table_findings_and_four_tests_with_charts() {
    let page = html(&run(synthetic::suite("vmware", 20)), "vmware");
    check(&page);
    // Three charts of all tests; lanes twice, distribution, heat map and five parts of each.
    assert_eq!(page.matches("<svg").count(), 3 + 4 * 5);
    for words in [
        "Results",
        "<dt>Good?</dt>",
        "<dt>Limit</dt>",
        "<dt>Changed</dt>",
        "<dt>Next</dt>",
        "<main>",
        "CPU of this host",
        "Five parts of the window",
    ] {
        assert!(page.contains(words), "{words}");
    }
    for words in [
        "RealLife-60%Rand-65%Read",
        "only the first 15.6 of 4096.0 MiB",
        "Seed",
        "ext4 /dev/sdb1",
        "“before”",
        "p99.99",
    ] {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn a_sweep_over_size_marks_the_best_size_of_each_direction() {
    let page = html(&run(synthetic::suite("super-atto", 3)), "super-atto");
    check(&page);
    assert!(page.contains("Throughput by block size"));
    assert_eq!(page.matches(">★</text>").count(), 2);
    assert!(page.contains("★ Sequential read is best at 8MiB ("), "{page}");
}

/// Rounds repeat one load: the best of them is drawn, as the block in the terminal has it, whatever disturbed it.
#[test]
fn of_crystaldiskmark_the_best_round_is_drawn_even_where_all_are_disturbed() {
    let mut reported = run(synthetic::suite("crystaldiskmark", 3));
    for step in &mut reported.summary.steps {
        step.cpu.used.as_mut().unwrap().steal = 0.2;
        if step.step == "round=2" {
            step.total.mib_per_s *= 2.0;
        }
    }
    reported.findings = assay_analysis::findings(&reported.header, &reported.summary);
    let page = html(&reported, "crystaldiskmark");
    check(&page);
    assert!(page.contains("SEQ1M Q1T1 read, best at round=2"), "{page}");
    assert!(!page.contains("best at round=1") && !page.contains("best at round=3"), "{page}");
}

/// The fastest step had been measured while another guest took the CPU, and had the star.
#[test]
fn a_disturbed_step_is_marked_and_never_the_best() {
    let mut disturbed = run(synthetic::suite("super-atto", 3));
    let best = disturbed.summary.steps.iter().position(|s| s.step == "size=8MiB").unwrap();
    disturbed.summary.steps[best].cpu.used.as_mut().unwrap().steal = 0.2;
    disturbed.summary.steps[best - 1].complete = false;
    disturbed.findings = assay_analysis::findings(&disturbed.header, &disturbed.summary);
    let page = html(&disturbed, "disturbed");
    check(&page);
    assert_eq!(page.matches(">!</text>").count(), 2, "one was disturbed, one cut short");
    assert_eq!(page.matches("class=\"doubt\"").count(), 2);
    assert!(!page.contains("Sequential read is best at 8MiB"), "{page}");
    for words in ["disturbed, see the findings", "cut short"] {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn every_other_kind_of_run_has_a_whole_page() {
    check(&html(&run(synthetic::plan(TWO_JOBS)), "two-jobs"));
    check(&html(&run(synthetic::plan(OPEN)), "open"));
    check(&html(&run(synthetic::suite("anandtech", 2)), "anandtech"));
    let sweep = "[[test]]\nname = \"depth\"\nrun = \"1s\"\naccess = [{ size = \"4KiB\", random = 100 }]\n\
        sweep = { outstanding = [\"1\", \"2\", \"4\", \"8\"] }\n";
    let page = html(&run(synthetic::plan(sweep)), "depth");
    check(&page);
    assert!(page.contains("Rate over queue depth") && page.contains("★ knee"));
}

/// A second has no line over time: five points joined by lines suggest a course that nobody saw.
#[test]
fn a_short_run_has_no_lines_over_time() {
    let page = html(&run(synthetic::suite("vmware", 3)), "short");
    check(&page);
    for drawing in ["class=\"lanes", "Latency over time: share", "Five parts of the window"] {
        assert!(!page.contains(drawing), "{drawing}");
    }
    assert!(page.contains("Latency distribution"));
}

#[test]
fn every_title_of_a_table_leads_to_a_definition_on_the_page() {
    let page = html(&run(synthetic::suite("vmware", 3)), "links");
    let links: Vec<&str> =
        page.split("href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert!(links.len() > 20, "{links:?}");
    for link in links {
        assert!(page.contains(&format!("id=\"{link}\"")), "{link}");
    }
    for head in page.split("<thead>").skip(1) {
        let head = head.split("</thead>").next().unwrap();
        let is_bare = ["<td", "<th></th>", "\"></th>"].iter().any(|bare| head.contains(bare));
        assert!(!is_bare, "a column without a title: {head}");
    }
}

#[test]
fn words_of_a_plan_are_code_and_a_lone_mark_is_a_letter() {
    assert!(html_of_next("Raise `outstanding`.").contains("Raise <code>outstanding</code>."));
    assert!(html_of_next("A lone ` <b> stays.").contains("A lone ` &lt;b&gt; stays."));
}

/// A page with a finding that has this to do next.
fn html_of_next(next: &str) -> String {
    let mut run = run(synthetic::suite("vmware", 3));
    run.findings.first_mut().unwrap().next = next.to_owned();
    report(&run.header, &run.summary, &run.findings, Meta::default())
}

/// A report travels by mail. What is drawn does not grow with the seconds, but with the tests and the steps.
#[test]
fn the_report_of_an_hour_is_below_2_mb() {
    let slow = synthetic::Target { servers: 2, service_ns: 8e6, bytes_per_s: 1e9 };
    for (name, text) in [
        ("hour", "[defaults]\noutstanding = 4\nwarmup = \"2s\"\nrun = \"5min\"\n".to_owned() + &hour_of_tests(12)),
        ("hour-of-steps", "[[test]]\nname = \"t\"\nrun = \"10s\"\naccess = [{ size = \"8KiB\", read = 70, random = \
         100 }]\n\
            sweep = { outstanding = [1, 2, 3, 4, 5, 6], size = [\"1KiB\", \"2KiB\", \"4KiB\", \"8KiB\", \"16KiB\", \
            \"32KiB\", \"64KiB\", \"128KiB\", \"256KiB\", \"512KiB\"] }\n".to_owned()),
    ] {
        let header = synthetic::header(synthetic::plan(&text));
        let events = synthetic::events(&header, slow);
        let page = html(&reported(header, &events), name);
        check(&page);
        println!("{name}: {} bytes", page.len());
        assert!(page.len() < 2_000_000, "{name}: {} bytes", page.len());
    }
}

fn hour_of_tests(count: usize) -> String {
    let test = |n| {
        format!("[[test]]\nname = \"test {n}\"\naccess = [{{ size = \"8KiB\", read = 70, random = 100 }}]\n")
    };
    (0..count).map(test).collect()
}

#[test]
fn a_run_cut_anywhere_has_a_whole_page() {
    let header = synthetic::header(synthetic::plan(TWO_JOBS));
    let events = synthetic::events(&header, synthetic::Target::default());
    for seen in 0..=events.len() {
        check(&html(&reported(header.clone(), &events[..seen]), "cut"));
    }
}

#[test]
fn names_that_look_like_markup_stay_text() {
    let mut header = synthetic::header(synthetic::plan(TWO_JOBS));
    let evil = "<script>alert('x')</script>\"><b>&";
    header.plan.name = evil.into();
    header.plan.about = evil.into();
    header.plan.notes = vec![evil.into()];
    header.plan.tests[0].name = evil.into();
    header.plan.tests[0].steps[0].jobs[0].name = evil.into();
    header.host.name = evil.into();
    header.targets[0].address = evil.into();
    header.targets[0].member.path = evil.into();
    let events = synthetic::events(&header, synthetic::Target::default());
    let reported = reported(header, &events);
    let page = report(
        &reported.header,
        &reported.summary,
        &reported.findings,
        Meta { label: Some(evil), note: Some(evil), ..Meta::default() },
    );
    check_nesting(&page);
    assert!(!page.contains("<script") && !page.contains("<b>"));
}

#[test]
fn a_page_has_what_the_rates_cost_where_the_price_is_known() {
    let mut priced = run(synthetic::suite("vmware", 3));
    assert!(!html(&priced, "unpriced").contains("per 1000 IOPS"));
    priced.header.setting.price = Some("5500EUR".parse().unwrap());
    let page = html(&priced, "priced");
    check(&page);
    assert!(page.contains("<a href=\"#m-cost\">EUR per 1000 IOPS</a>"), "{page}");
    assert!(page.contains("The targets cost 5,500 EUR."), "{page}");
    // 5500 EUR over the 9.4 thousand IOPS of the first test.
    let first = &priced.summary.steps[0].total;
    let cost = format!("{:.0}", 5500.0 / (first.iops / 1000.0));
    assert!(page.contains(&format!("<td>{cost}</td>")), "{cost}");
}

#[test]
fn a_page_draws_every_round_and_names_the_tester() {
    let mut steady = run(synthetic::suite("vmware", 20));
    let rounds = [40.0, 25.0, 20.4, 20.0, 19.8, 20.1, 20.0];
    let rounds = rounds.map(|iops| Round { iops: iops * 1000.0, mean_us: 800.0 });
    steady.summary.steps[0].steady = SteadyState::of(rounds.to_vec(), 60.0, Tracks::Iops);
    let page = html(&steady, "rounds");
    check(&page);
    assert!(page.contains("7 rounds of 60 s: range 3.0 %, slope 1.4 %, steady"), "{page}");
    assert_eq!(page.matches("<svg").count(), 3 + 4 * 5, "the rounds take the place of the five parts");
    assert!(page.contains("<p class=\"soft\">Tester: workers up to "), "{page}");
}

/// The sweep of a page, over three sizes and these depths.
fn swept(name: &str, outstanding: &str) -> String {
    let plan = format!(
        "name = \"grid\"\n[[test]]\nname = \"read\"\nrun = \"2s\"\n\
         access = [{{ size = \"4KiB\", read = 100, random = 100 }}]\n\
         sweep = {{ size = [\"4KiB\", \"64KiB\", \"256KiB\"], outstanding = [{outstanding}] }}\n"
    );
    let page = html(&run(synthetic::plan(&plan)), name);
    check(&page);
    assert!(!page.contains("<h2>Results</h2>"), "no bars of what the sweep draws");
    let (_, sweep) = page.split_once("<h2>Sweep of size and outstanding</h2>").unwrap();
    sweep.split("<h2").next().unwrap().to_owned()
}

/// Fifteen bars of mixed sizes and depths, and a star beside bars of seven times its height.
#[test]
fn a_sweep_of_two_settings_has_a_line_for_each_depth_in_three_figures() {
    let sweep = swept("grid", "1, 4, 16");
    assert_eq!(sweep.matches("type=\"radio\"").count(), 3, "{sweep}");
    assert_eq!(sweep.matches("<svg").count(), 3);
    for line in ["MiB/s by outstanding", ">16</text>", "<g class=\"s2\">", ">4KiB<", ">256KiB<"] {
        assert!(sweep.contains(line), "{line}: {sweep}");
    }
    assert_eq!(sweep.matches("★").count(), 2, "on the chart and in its sentence: {sweep}");
}

/// Lines of more than six depths had the colours of others.
#[test]
fn a_sweep_of_more_depths_than_colours_is_a_map_with_a_field_for_each_pair() {
    let sweep = swept("grid-map", "1, 2, 4, 8, 16, 32, 64");
    let charts: Vec<&str> = sweep.split("<svg").skip(1).collect();
    assert_eq!(charts.len(), 3, "{sweep}");
    for chart in charts {
        let count = |what: &str| chart.matches(what).count();
        assert_eq!((count("<rect class=\"f0\""), count("<polyline")), (21, 0), "{chart}");
        // The lines of the axis struck through the numbers.
        assert!(chart.rfind("<line class=\"g\"") < chart.find("<rect class=\"bg\""), "{chart}");
    }
    let field = "<title>size 64KiB, outstanding 32: ";
    assert_eq!(sweep.matches(field).count(), 3, "{sweep}");
    assert_eq!(sweep.matches("★").count(), 2, "on the map and in its sentence: {sweep}");
}

#[test]
fn a_rebuild_is_drawn_where_it_happened_and_named_there() {
    let mut reported = run(synthetic::suite("vmware", 40));
    for sample in &mut reported.summary.steps[1].timeline.samples {
        if (8.0..21.0).contains(&sample.t_s) {
            sample.rebuilds = vec![("md0".to_owned(), "recover".to_owned())];
        }
    }
    let page = html(&reported, "rebuild");
    check(&page);
    let drawn: Vec<&str> = page.split("<rect class=\"ep\"").skip(1).collect();
    assert_eq!(drawn.len(), 2, "in the wide drawing and in the narrow one");
    for band in drawn {
        assert!(band.contains("<title>md0 was rebuilt</title>"), "{band}");
        assert!(band.contains(">md0 was rebuilt</text>"), "a name that needs no pointer: {band}");
    }
}

/// Names of three settings were cut before they differed.
#[test]
fn the_steps_of_three_settings_have_names_that_differ() {
    let plan = "name = \"three\"\n[[test]]\nname = \"mixed\"\nrun = \"2s\"\n\
                access = [{ size = \"4KiB\", read = 100, random = 100 }]\n\
                sweep = { size = [\"4KiB\", \"64KiB\"], outstanding = [1, 16], read = [0, 100] }\n";
    let page = html(&run(synthetic::plan(plan)), "three");
    check(&page);
    let (_, sweep) = page.split_once("<h2>Sweep of size, outstanding, read</h2>").unwrap();
    let sweep = sweep.split("<h2").next().unwrap();
    for name in [">4KiB, 1, 0</text>", ">64KiB, 16, 100</text>", "MiB/s by size, outstanding, read"] {
        assert!(sweep.contains(name), "{name}: {sweep}");
    }
}

/// "How" listed charts that a short step does not have.
#[test]
fn what_is_not_drawn_is_not_explained() {
    let page = html(&run(synthetic::suite("vmware", 3)), "short");
    assert!(!page.contains("Five parts of the window") && !page.contains("href=\"#m-parts\""), "{page}");
    assert!(!page.contains("href=\"#m-heat\"") && !page.contains("href=\"#m-time\""), "{page}");
}

/// One run was blue, yellow and orange in the charts of one comparison.
#[test]
fn a_side_has_one_colour_and_one_marker_in_every_chart() {
    let sides: Vec<assay_analysis::compare::Side> = ["before", "after", "later"]
        .map(|name| {
            let Reported { header, summary, findings, .. } = run(synthetic::suite("vmware", 12));
            let set = assay_analysis::compare::ResultSet::of_run(&header, &summary, &findings, None);
            assay_analysis::compare::Side { name: name.to_owned(), readings: vec![set] }
        })
        .to_vec();
    let page = assay_report::html::comparison(&assay_analysis::compare::compare(&sides));
    check(&page);
    for (style, name) in ["A before", "B after", "C later"].iter().enumerate() {
        let legends: Vec<&str> = page.split(&format!(">{name}</text>")).collect();
        for before in &legends[..legends.len() - 1] {
            let class = before.rsplit("class=\"").next().unwrap().split('"').next().unwrap();
            assert!(
                [format!("s{style}"), format!("f{style}")].contains(&class.to_owned()),
                "{name}: {class}"
            );
        }
    }
}

/// A run over several hosts had no host on its page.
#[test]
fn each_host_of_a_run_has_its_row_and_its_rate_over_time() {
    let plan = "name = \"fleet\"\n[[test]]\nname = \"t\"\naccess = [{ size = \"8KiB\" }]\noutstanding = 16\n\
                run = \"6s\"\n";
    let fleet = |count: usize| {
        let mut header = synthetic::header(synthetic::plan(plan));
        let names: Vec<String> = (0..count).map(|number| format!("esx<{number}>")).collect();
        header.plan = header.plan.placed(&names, 1).unwrap().plan;
        let facts = header.host.clone();
        header.setting.hosts =
            names.into_iter().map(|name| assay_record::FleetHost { name, facts: facts.clone() }).collect();
        let events = synthetic::events(&header, synthetic::Target::default());
        html(&reported(header, &events), &format!("fleet-{count}"))
    };
    let table = |page: &str| {
        let (_, table) = page.split_once("<table class=\"hosts\">").unwrap();
        table.split_once("</table>").unwrap().0.to_owned()
    };
    let four = fleet(4);
    check(&four);
    let rows = table(&four);
    assert_eq!(rows.matches("<tr>").count(), 5, "{rows}");
    assert!(rows.contains("esx&lt;3&gt;</td>") && rows.contains("IOPS of esx&lt;3&gt; over time"), "{rows}");
    // A point for each second, at the top of the scale that all have for the highest of them.
    let points = |line: &str| line.split_once('"').unwrap().0.split(' ').count();
    assert!(rows.split("points=\"").skip(1).all(|line| points(line) == 6), "{rows}");
    assert!(rows.contains(",2.0 ") || rows.contains(",2.0\""), "{rows}");
    let many = table(&fleet(60));
    assert_eq!(many.matches("<tr>").count(), 41, "the slowest and the fastest");
    assert!(many.contains("The other 20 lie between"), "{many}");
    assert!(!html(&run(synthetic::plan(plan)), "one-host").contains("class=\"hosts\""));
}

/// The bars of ATTO were drawn for the name of its suite, which no run has: a run has the suite's title.
#[test]
fn runs_of_atto_have_its_bars() {
    for suite in ["atto", "super-atto"] {
        let page = html(&run(synthetic::suite(suite, 1)), suite);
        check(&page);
        assert!(page.contains("<h2>Write and read</h2>"), "{suite}");
    }
    assert!(!html(&run(synthetic::suite("vmware", 1)), "vmware").contains("Write and read"));
}

/// The first screen of a sweep had bars of the IOPS and the latency at the size with the highest throughput, and its
/// chart came behind the table of all steps.
#[test]
fn a_sweep_of_many_steps_is_the_first_thing_that_is_drawn() {
    let page = html(&run(synthetic::suite("super-atto", 3)), "super-atto");
    assert!(!page.contains(", best at size="), "{page}");
    let at = |words: &str| page.find(words).unwrap();
    assert!(at("<h2>Sweep of size</h2>") < at("<h2>All tests</h2>"));
    // Rounds are repetitions, and no sweep.
    let page = html(&run(synthetic::suite("crystaldiskmark", 3)), "crystaldiskmark");
    assert!(!page.contains("Sweep of round") && page.contains("SEQ1M Q8T1 read, best at round="), "{page}");
}

/// Over time and by step the steps of two settings were called 1, 4, 16, 1, 4, 16, …
#[test]
fn steps_of_two_settings_have_the_values_of_both_wherever_they_are_drawn() {
    let two = "[[test]]\nname = \"two\"\nrun = \"12s\"\naccess = [{ size = \"4KiB\", read = 70, random = 100 }]\n\
               sweep = { size = [\"4KiB\", \"64KiB\"], outstanding = [1, 4] }\n";
    let page = html(&run(synthetic::plan(two)), "two-settings");
    check(&page);
    // The wide lanes, the narrow ones, and latency by step.
    assert_eq!(page.matches(">64KiB, 4</text>").count(), 3, "{page}");
}

/// Of what another tool measured the page drew empty distributions, a host of 0 CPUs, and how Assay had issued the
/// I/Os.
#[test]
fn what_an_import_does_not_say_is_not_shown() {
    let mut imported = run(synthetic::suite("vmware", 3));
    let (tool, file) = ("yabs.sh <b>".to_owned(), "post.txt".to_owned());
    imported.header.imported =
        Some(assay_record::Imported { tool, file, missing: vec!["latencies".to_owned()], has_series: false });
    imported.header.host = assay_record::HostFacts::default();
    imported.header.targets[0].member = assay_record::MemberFacts {
        capacity_bytes: 0,
        span_bytes: 0,
        path: String::new(),
        ..imported.header.targets[0].member.clone()
    };
    for step in &mut imported.summary.steps {
        for ops in [&mut step.total, &mut step.read, &mut step.write] {
            ops.service = assay_record::Latency::default();
        }
        step.outstanding_effective = 0.0;
        step.series.clear();
        step.timeline.samples.clear();
    }
    let page = html(&imported, "imported");
    check(&page);
    assert!(page.contains(", imported from post.txt (yabs.sh &lt;b&gt;), "), "{page}");
    for absent in
        ["Latency distribution", "<h3>Host</h3>", " from ,", "Issued by", "Semantics", "0 B", "--array"]
    {
        assert!(!page.contains(absent), "{absent}");
    }
    let all = page.split("<h2>All tests</h2>").nth(1).unwrap();
    let row = all.split("<tr><td>Random-8k-70%Read</td>").nth(1).unwrap().split("</tr>").next().unwrap();
    assert_eq!(row.matches("<td>-</td>").count(), 6, "five latencies, and what is computed of one: {row}");
    // Where it does not say what the load was, the page has no guess.
    let says_load = |page: &str| page.contains("4 outstanding, reopened every 500 I/Os");
    assert!(says_load(&page), "{page}");
    imported.header.imported.as_mut().unwrap().missing.push(assay_record::Imported::LOAD.to_owned());
    assert!(!says_load(&html(&imported, "imported")));
}

/// A run with disturbed tests, on storage that nothing is known of, had "nothing to compare it with", in grey.
#[test]
fn doubts_are_said_where_there_is_nothing_to_compare_with() {
    let mut reported = run(synthetic::suite("super-atto", 3));
    let before = html(&reported, "undisturbed");
    assert!(before.contains("<div class=\"tone-plain\"><dt>Good?</dt><dd>Nothing to compare it with: "));
    for step in reported.summary.steps.iter_mut().take(2) {
        step.cpu.used.as_mut().unwrap().steal = 0.2;
    }
    reported.findings = assay_analysis::findings(&reported.header, &reported.summary);
    reported.summary.status = assay_analysis::RunStatus::Partial;
    let page = html(&reported, "disturbed-alone");
    let expected = "<div class=\"tone-doubt\"><dt>Good?</dt><dd>There is nothing to compare it with, and the run was \
                    killed, and 2 of 30 tests were disturbed.</dd>";
    assert!(page.contains(expected), "{page}");
}

/// The terminal said to stop other programs, the page first to compare with other tables.
#[test]
fn the_next_step_of_a_page_is_that_of_the_terminal() {
    let mut reported = run(synthetic::suite("vmware", 3));
    let finding = |rule: &str, next: &str, tests: u32| assay_analysis::Finding {
        rule: rule.to_owned(),
        aliases: vec![],
        severity: assay_analysis::Severity::Warning,
        says: format!("{rule} says something."),
        evidence: vec![],
        next: next.to_owned(),
        steps: (0..tests).map(|test| assay_record::StepId { test, step: 0 }).collect(),
    };
    reported.findings = vec![
        finding("rereads-start", "Use the other suite.", 2),
        finding("busy-host", "Stop the other programs.", 4),
    ];
    let page = html(&reported, "next");
    let next = page.split("<dt>Next</dt>").nth(1).unwrap();
    assert!(next.starts_with("<dd><ol><li>Stop the other programs.</li>"), "{next}");
    let options = TextOptions { detail: Detail::Brief, ..TextOptions::default() };
    let text = table(&reported.header, &reported.summary, &reported.findings, options);
    assert!(text.contains("NEXT     Stop the other programs."), "{text}");
}

/// A run of which every I/O had failed answered GOOD? with "Nothing was measured".
#[test]
fn a_run_whose_ios_all_failed_says_so_first() {
    let mut reported = run(synthetic::suite("vmware", 3));
    for step in &mut reported.summary.steps {
        for ops in [&mut step.total, &mut step.read, &mut step.write] {
            *ops = assay_analysis::OpSummary { ops: 0, errors: 7, iops: 0.0, ..ops.clone() };
        }
        (step.errors, step.outstanding_effective) = (14, 0.0);
    }
    reported.findings = assay_analysis::findings(&reported.header, &reported.summary);
    let page = html(&reported, "all-failed");
    check(&page);
    assert!(page.contains("<dt>Good?</dt><dd>Not usable: "), "{page}");
    assert!(!page.contains("I/Os were in flight"), "that is computed of a rate and a latency: {page}");
    reported.findings.clear();
    assert!(html(&reported, "nothing").contains("<dt>Good?</dt><dd>Nothing was measured.</dd>"));
}

/// Seventy events of a year stood before the drawings that they are numbered in.
#[test]
fn many_events_of_a_trend_are_folded() {
    let event =
        |at_unix_ms| TrendEvent { at_unix_ms, run: "261130-aaaa".into(), says: "nas: jumbo frames".into() };
    let html = |count| trend_events(&(0..count).map(event).collect::<Vec<_>>(), Links::Runs);
    assert_eq!(html(0), "");
    assert!(html(8).starts_with("<ol class=\"events\">"));
    assert!(html(9).starts_with("<details><summary>9 steps of journals"), "{}", html(9));
}
