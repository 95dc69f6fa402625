//! Files in, plans out, and back.

use assay_spec::units::{Bytes, Nanos};
use assay_spec::{Data, Overrides, Plan, PlanFile, Span};

use super::{export, import};
use crate::{ImportOptions, ImportedPlan};

const SAMPLES: [(&str, &str); 3] = [
    ("tp-qemu-iometer.icf", include_str!("../../tests/samples/tp-qemu-iometer.icf")),
    (
        "tp-qemu-iometer_multi_3disks.icf",
        include_str!("../../tests/samples/tp-qemu-iometer_multi_3disks.icf"),
    ),
    ("eilerjc-multispec_worker.icf", include_str!("../../tests/samples/eilerjc-multispec_worker.icf")),
];

fn imported(origin: &str, text: &str) -> ImportedPlan {
    import(origin, text, &ImportOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn plan(origin: &str, imported: &ImportedPlan) -> Plan {
    PlanFile::parse(origin, &imported.plan)
        .and_then(|file| file.resolve(&Overrides::default()))
        .unwrap_or_else(|error| panic!("{error}\n{}", imported.plan))
}

fn read(text: &str) -> Plan {
    plan("t.icf", &imported("t.icf", text))
}

fn refused(text: &str) -> String {
    import("t.icf", text, &ImportOptions::default()).expect_err(text).to_string()
}

/// What a plan does; where it comes from differs.
fn content(plan: &Plan) -> Plan {
    Plan { source: String::new(), notes: Vec::new(), ..plan.clone() }
}

/// `icf -> plan -> icf -> plan`.
fn check_round_trip(origin: &str, text: &str) {
    let first = plan(origin, &imported(origin, text));
    let written = export(&first, &[]);
    assert_eq!(written.notes, [""; 0], "{origin}");
    let second = plan("again.icf", &imported("again.icf", &written.text));
    assert_eq!(content(&second), content(&first), "{origin}\n{}", written.text);
    // Written once more, the file is the same to the byte.
    assert_eq!(export(&second, &[]).text, written.text, "{origin}");
}

const SPEC: &str = "'ACCESS SPECIFICATIONS ===\n'Access specification name,default assignment\n\t4K,ALL\n\
                    'size,% of size,% reads,% random,delay,burst,align,reply\n\t4096,100,70,100,0,1,0,0\n\
                    'END access specifications\n";

/// A file with a setup, some workers, each with two targets of the same two, and two specifications.
fn cycled(test_type: &str, workers: &[&[&str]]) -> String {
    let mut text = format!(
        "Version 1.1.0 \n'TEST SETUP ===\n'Run Time\n'\thours minutes seconds\n\t0 1 0\n'Worker \
             Cycling\n\t1 1 LINEAR\n\
         'Disk Cycling\n\t1 1 LINEAR\n'Queue Depth Cycling\n\t1 8 2 EXPONENTIAL\n'Test Type\n\t{test_type}\n\
         'END test setup\n{SPEC}'MANAGER LIST ===\n'Manager ID, manager name\n\t1,HOST\n'Manager network address\n\t\n"
    );
    for (index, targets) in workers.iter().enumerate() {
        text.push_str(&format!(
            "'Worker\n\tWorker {index}\n'Worker type\n\tDISK\n'Assigned access specs\n\t4K\n'End assigned \
                 access specs\n\
             'Target assignments\n"
        ));
        for target in *targets {
            text.push_str(&format!("'Target\n\t{target}\n'Target type\n\tDISK\n'End target\n"));
        }
        text.push_str("'End target assignments\n'End worker\n");
    }
    text + "'End manager\n'END manager list\nVersion 1.1.0 \n"
}

/// `targets|workers|outstanding` of the jobs of each step of each test.
fn steps(plan: &Plan) -> Vec<String> {
    plan.tests
        .iter()
        .flat_map(|test| &test.steps)
        .map(|step| {
            let of = |j: &assay_spec::Job| {
                let targets: Vec<String> = j.targets.iter().map(u32::to_string).collect();
                format!("{}|{}|{}", targets.join(""), j.workers, j.outstanding)
            };
            step.jobs.iter().map(of).collect::<Vec<_>>().join(" ")
        })
        .collect()
}

#[test]
fn the_samples_survive_the_way_there_and_back() {
    for (origin, text) in SAMPLES {
        check_round_trip(origin, text);
    }
}

#[test]
fn the_samples_mean_what_iometer_runs() {
    let [one, three, several] = SAMPLES.map(|(origin, text)| plan(origin, &imported(origin, text)));
    assert_eq!((one.tests.len(), one.step_count()), (16, 16 * 8));
    assert_eq!(one.tests[0].steps[7].jobs[0].outstanding, 128);
    assert_eq!(one.tests[0].steps[0].stop.time, Nanos::from_secs(2));
    assert_eq!(one.tests[0].steps[0].jobs[0].data, Data::IometerPseudoRandom);
    // Three targets, one after another, each at eight depths.
    assert_eq!(three.step_count(), 16 * 3 * 8);
    assert_eq!(three.tests[0].steps[8].label(), "targets=2 outstanding=1");
    assert_eq!(three.tests[0].steps[8].jobs[0].targets, [0, 1]);
    let names: Vec<&str> = several.tests.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(
        names,
        ["512 B; 100% Read; 0% random", "4 KiB; 50% Read; 100% random", "64 KiB; 0% Read; 0% random"]
    );
    assert_eq!(several.name, "One worker assigned three access specs");
}

#[test]
fn all_eight_test_types_run_the_steps_that_iometer_runs() {
    let two: &[&[&str]] = &[&["C:", "D:"], &["C:", "D:"]];
    for (test_type, expected) in [
        ("NORMAL", &["01|2|1"][..]),
        ("CYCLE_TARGETS", &["0|2|1", "01|2|1"]),
        ("CYCLE_WORKERS", &["01|1|1", "01|2|1"]),
        ("INCREMENT_TARGETS_PARALLEL", &["0|1|1", "01|1|1", "01|1|1 0|1|1", "01|2|1"]),
        ("INCREMENT_TARGETS_SERIAL", &["0|1|1", "01|1|1", "01|1|1 0|1|1", "01|2|1"]),
        ("CYCLE_WORKERS_AND_TARGETS", &["0|1|1", "01|1|1", "0|2|1", "01|2|1"]),
        ("CYCLE_OUTSTANDING_IOS", &["01|2|1", "01|2|2", "01|2|4", "01|2|8"]),
        (
            "CYCLE_OUTSTANDING_IOS_AND_TARGETS",
            &["0|2|1", "0|2|2", "0|2|4", "0|2|8", "01|2|1", "01|2|2", "01|2|4", "01|2|8"],
        ),
    ] {
        let text = cycled(test_type, two);
        assert_eq!(steps(&read(&text)), expected, "{test_type}");
        check_round_trip("t.icf", &text);
    }
    // Old files have the number of the type.
    assert_eq!(steps(&read(&cycled("6", two))).len(), 4);
}

#[test]
fn steps_grow_linearly_or_exponentially() {
    let text = cycled("CYCLE_WORKERS", &[&["C:"], &["C:"], &["C:"], &["C:"], &["C:"]]);
    let exponential = text.replace("'Worker Cycling\n\t1 1 LINEAR", "'Worker Cycling\n\t1 2 EXPONENTIAL");
    assert_eq!(steps(&read(&exponential)), ["|1|1", "|2|1", "|4|1", "|5|1"]);
    check_round_trip("t.icf", &exponential);
    let linear = cycled("CYCLE_OUTSTANDING_IOS", &[&["C:"]]).replace("1 8 2 EXPONENTIAL", "2 8 3 LINEAR");
    assert_eq!(steps(&read(&linear)), ["|1|2", "|1|5", "|1|8"]);
    check_round_trip("t.icf", &linear);
}

/// The edge cases of real files, each with what must come of it.
#[test]
fn ten_edge_cases_of_real_files_are_read() {
    let normal = cycled("NORMAL", &[&["C:"]]);
    // 1: a line of weight zero before the real one.
    let zero = normal.replace("\t4096,100", "\t0,0,0,0,0,0,0,0\n\t4096,100");
    // 2: twenty lines that sum to 100.
    let lines: String = (0..20).map(|n| format!("\t{},5,100,0,0,1,0,0\n", 512 << (n % 8))).collect();
    let many = normal.replace("\t4096,100,70,100,0,1,0,0\n", &lines);
    // 3: a target's name with quotes in it.
    let quoted = normal.replace("\tC:", "\t1: \"( SMARTM - PCIE GEN4 SSD FWALPHA\"");
    // 4: two workers with different specifications side by side, one of them several.
    let spec = "'Access specification name,default assignment\n\tLog,NONE\n'size,% of size,% reads,% \
         random,delay,burst,\
                align,reply\n\t65536,100,0,0,2,4,4096,512\n'END access specifications";
    let beside = cycled("NORMAL", &[&["C:"], &["D:"]]).replace("'END access specifications", spec).replacen(
        "\t4K\n'End assigned",
        "\t4K\n\tLog\n'End assigned",
        1,
    );
    // 5: specifications alone.
    let alone = format!("Version 2008.06.18\n{SPEC}");
    // 6: minutes over 59. 7: eight workers of 32. 8: blanks for tabs, CRLF, keys in capitals.
    let long = normal.replace("\t0 1 0", "\t0 1988 0");
    let deep = cycled("NORMAL", &[&["C:"][..]; 8]).replace(
        "'Assigned access specs",
        "'Number of outstanding IOs,test connection rate,transactions per \
             connection\n\t32,ENABLED,500\n'Assigned access specs",
    );
    // Iometer compares the beginning of a header only.
    let bare = normal.replace(" ===", "");
    let blanks = normal.to_uppercase().replace('\t', "    ").replace('\n', "\r\n");
    // 9: names with brackets, semicolons and percent signs.
    let named = normal.replace("\t4K", "\t(4K; 70% Read");
    // 10: the old form, before May 1998, without names.
    let old = "Version 1998.01.05\n'ACCESS SPECIFICATIONS ====\n'size, % of size, % reads, % random, delay, burst\n\
               \t2048  60  67 100 0 1\n\t4096 40 0 0 0 1\n\t512 100 100 0 0 1\n'END access specifications\n";
    let all = [&zero, &many, &quoted, &beside, &alone, &long, &deep, &blanks, &named, &old.to_owned()];
    all.iter().for_each(|text| check_round_trip("t.icf", text));

    assert_eq!(read(&zero).tests, read(&normal).tests);
    assert_eq!(read(&many).tests[0].steps[0].jobs[0].mix.len(), 20);
    assert_eq!(imported("t.icf", &quoted).targets, ["1: \"( SMARTM - PCIE GEN4 SSD FWALPHA\""]);
    assert_eq!(steps(&read(&beside)), ["0|1|1 1|1|1", "0|1|1"]);
    assert_eq!(read(&beside).tests[1].steps[0].jobs[0].mix[0].reply, Bytes(512));
    assert_eq!(steps(&read(&alone)), ["|1|1"]);
    assert_eq!(read(&long).tests[0].steps[0].stop.time, Nanos::from_secs(1988 * 60));
    assert_eq!(steps(&read(&deep)), ["|8|32"]);
    assert_eq!(read(&deep).tests[0].steps[0].jobs[0].reconnect_every, Some(500));
    assert_eq!(steps(&read(&blanks)), steps(&read(&normal)));
    assert_eq!(read(&bare).tests, read(&normal).tests);
    assert_eq!(read(&named).tests[0].name, "(4K; 70% Read");
    assert_eq!(read(old).tests.len(), 2);
}

#[test]
fn both_update_frequency_keys_are_accepted_and_unknown_keys_become_notes() {
    let text = format!(
        "Version 1.1.0\n'RESULTS DISPLAY ==\n'Update Frequency,Update Type\n\t0,WHOLE_TEST\n'Record Last Update \
         Results,Update Frequency,Update Type\n\tDISABLED,1,LAST_UPDATE\n'Colour of the chart\n\tred\n\
         'END results display\n{SPEC}"
    );
    let notes = imported("t.icf", &text).notes;
    assert_eq!(notes[0].to_string(), "line 7: `colour of the chart` is not known and was left out.");
}

#[test]
fn what_assay_does_differently_is_noted_with_its_line() {
    let text = cycled("NORMAL", &[&["C:"]])
        .replace("\t0 1 0", "\t0 0 0")
        .replace("'Assigned access specs", "'Disk maximum size,starting sector\n\t8000000,64\n'Assigned access specs")
        .replace(
            "'End manager\n",
            "'Worker\n\tNet 1\n'Worker type\n\tNETWORK,TCP\n'Target assignments\n'Target\n\t10.0.0.1\n'Target type\n\
             \tNETWORK,TCP\n\
             'Target manager ID, manager name\n\t2,B\n'End target\n'End target assignments\n'End worker\n\
             'End manager\n",
        );
    let file = imported("old.icf", &text);
    let notes: Vec<String> = file.notes.iter().map(ToString::to_string).collect();
    for (at, part) in [(0, "`Net 1` is a network worker"), (1, "run time is 0"), (2, "4096")] {
        assert!(notes[at].contains(part), "{notes:?}");
    }
    assert!(notes[2].contains("3.8 GiB"), "{notes:?}");
    let plan = plan("old.icf", &file);
    assert_eq!(plan.span, Span::Size(assay_spec::units::SizeSpec::Bytes(Bytes(4_096_032_768))));
    assert_eq!(plan.tests[0].steps[0].jobs[0].window.of(4_096_032_768), 32_768..4_096_032_768);
    assert_eq!(plan.notes, notes);
}

#[test]
fn targets_are_matched_by_position() {
    let text = cycled("NORMAL", &[&["C:", "D:"], &["E:"]]);
    let given = |count| {
        import("t.icf", &text, &ImportOptions { targets_given: Some(count), ..ImportOptions::default() })
    };
    assert_eq!(steps(&plan("t.icf", &given(3).unwrap())), ["01|1|1 2|1|1"]);
    let one = given(1).unwrap();
    assert_eq!(steps(&plan("t.icf", &one)), ["|2|1"]);
    assert!(one.notes[0].says.contains("all I/O goes to the one given"));
    let error = given(2).unwrap_err().to_string();
    assert!(error.starts_with("t.icf: names 3 targets (C:, D:, E:), but 2 are given"), "{error}");
}

#[test]
fn malformed_files_are_refused_with_the_line_and_the_reason() {
    let normal = cycled("NORMAL", &[&["C:"]]);
    for (text, expected) in [
        (String::new(), "t.icf: is not an Iometer configuration"),
        ("Version 1.1.0\n".to_owned(), "t.icf: is not an Iometer configuration"),
        (normal.replace(SPEC, ""), "t.icf: has no access specification, so there is nothing to run"),
        (
            normal.replace("4096,100,70", "4096,90,70"),
            "t.icf:17: the percentages of \"4K\" sum to 90; they must sum to 100",
        ),
        (normal.replace("4096,100,70", "4096,100,170"), "t.icf:19: % reads is 170; it must be from 0 to 100"),
        (normal.replace("4096,100", "99999999999,100"), "t.icf:19: the size of an I/O is 99999999999 B"),
        (normal.replace("4096,100", "-5,100"), "t.icf:19: -5 must not be negative"),
        (
            normal.replace("4096,100", "123456789012345678901234567890,100"),
            "t.icf:19: `123456789012345678901234567890,100,70,100,0,1,0,0` has a number",
        ),
        (normal.replace("\t0 1 0", "\t99999999 0 0"), "t.icf:5: is longer than a year"),
        (
            normal.replace("NORMAL", "SIDEWAYS"),
            "t.icf:13: `SIDEWAYS` is not a test type; Iometer has NORMAL,",
        ),
        (
            cycled("CYCLE_OUTSTANDING_IOS", &[&["C:"]]).replace("1 8 2", "1 9999999 2"),
            "t.icf: cycles the queue depth to 8192",
        ),
        (cycled("NORMAL", &[&[][..]; 2]).replace("\t4K\n'End", "\tIdle\n'End"), "t.icf: has no test to run"),
    ] {
        let error = refused(&text);
        assert!(error.starts_with(expected), "{error}");
    }
}

/// Whatever is cut off or damaged, there is an answer.
#[test]
fn a_damaged_file_never_panics() {
    for (origin, text) in SAMPLES {
        for cut in (0..text.len()).step_by(307) {
            let damaged = format!("{}{}", &text[..cut], &text[(cut + 17).min(text.len())..]);
            for text in [&text[..cut], damaged.as_str()] {
                if let Ok(imported) = import(origin, text, &ImportOptions::default()) {
                    PlanFile::parse(origin, &imported.plan)
                        .unwrap_or_else(|e| panic!("{e}\n{}", imported.plan));
                }
            }
        }
    }
}

#[test]
fn a_file_of_network_workers_alone_is_refused() {
    let text = cycled("NORMAL", &[&["C:"]]).replace("\tDISK\n", "\tNETWORK,TCP\n");
    let error = import("net.icf", &text, &ImportOptions::default()).unwrap_err().to_string();
    assert!(error.contains("has network workers only"), "{error}");
}
