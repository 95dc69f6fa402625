//! Command lines in, plans out.

use assay_spec::units::{Bytes, Nanos, SizeSpec};
use assay_spec::{Data, Overrides, Pacing, Plan, PlanFile, Span};

use super::{import, is_command};
use crate::fio::Surroundings;
use crate::{ImportError, ImportOptions, ImportedPlan, Strictness};

fn imported(text: &str, given: usize, strictness: Strictness) -> Result<ImportedPlan, ImportError> {
    let include = |path: &str| match path {
        "param.txt" => Ok("# two files\nc:\\testfile.dat 2 0x0 100\nd:\\other.dat 4 0x0 200\n".to_owned()),
        "bad.txt" => Ok("c:\\a.dat many 0x0 100\n".to_owned()),
        _ => Err("there is no such file".to_owned()),
    };
    let surroundings = Surroundings { include: &include, variable: &|_| None };
    import(text, &surroundings, &ImportOptions { strictness, targets_given: Some(given) })
}

fn read(text: &str, given: usize) -> Plan {
    let imported = imported(text, given, Strictness::Strict).unwrap_or_else(|error| panic!("{error}"));
    PlanFile::parse("t", &imported.plan)
        .and_then(|file| file.resolve(&Overrides::default()))
        .unwrap_or_else(|error| panic!("{error}\n{}", imported.plan))
}

#[test]
fn a_diskspd_line_is_a_plan() {
    let plan = read("diskspd -b8K -o32 -t4 -r -w30 -d60 -Sh", 1);
    let step = &plan.tests[0].steps[0];
    let job = &step.jobs[0];
    assert_eq!(
        (plan.tests[0].name.as_str(), step.stop.time, step.warmup),
        ("8KiB random mix", Nanos::from_secs(60), Nanos::from_secs(5))
    );
    assert_eq!((job.workers, job.outstanding, job.targets.len()), (4, 32, 0));
    assert_eq!((job.mix[0].size, job.mix[0].read, job.mix[0].random), (Bytes(8192), 70.0, 100.0));
}

#[test]
fn diskspd_defaults_and_options_are_its_own() {
    let plain = read(r"C:\tools\DiskSpd.exe testfile.dat", 1);
    let job = &plain.tests[0].steps[0].jobs[0];
    assert_eq!((job.mix[0].size, job.outstanding, job.mix[0].read), (Bytes(65_536), 2, 100.0));
    let plan = read("diskspd -c2G -b4K -rs60 -w -W0 -g500i -t2 -Zr -z7 -i8 -j5 -L -ag -D /mnt/x/t.dat", 1);
    let job = &plan.tests[0].steps[0].jobs[0];
    assert_eq!(plan.span, Span::Size(SizeSpec::Bytes(Bytes(2 << 30))));
    assert_eq!((job.mix[0].random, job.mix[0].read, job.mix[0].burst), (60.0, 50.0, 8));
    assert_eq!((job.data, plan.seed, job.mix[0].delay), (Data::Unique, 7, Nanos::from_millis(5)));
    assert!(matches!(job.pacing, Pacing::Throttled { rate } if rate.0 == 1000.0), "{:?}", job.pacing);
    // Threads belong to a file.
    let three = read("diskspd -b8K -t2", 3);
    assert_eq!(three.tests[0].steps[0].jobs.iter().map(|job| job.targets[0]).collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn a_sqlio_line_is_a_plan() {
    let plan = read("sqlio -kW -s10 -frandom -b8 -o8 -t4 -LS -BN c:\\testfile.dat", 1);
    let job = &plan.tests[0].steps[0].jobs[0];
    assert_eq!((job.workers, job.outstanding, job.mix[0].size, job.mix[0].read), (4, 8, Bytes(8192), 0.0));
    let by_file = read("sqlio -kR -Fparam.txt", 2);
    let jobs = &by_file.tests[0].steps[0].jobs;
    assert_eq!(
        (jobs.len(), jobs[1].workers, by_file.span),
        (2, 4, Span::Size(SizeSpec::Bytes(Bytes(200 << 20))))
    );
}

#[test]
fn what_cannot_be_read_is_refused_with_the_option() {
    for (text, expected) in [
        ("diskspd -bmany", "diskspd: -b: `many` is not a size; write it like 8K"),
        ("diskspd -b99999999999999999999G", "diskspd: -b: `99999999999999999999G` is not a size"),
        ("diskspd -b8K -o0", "diskspd: -o is 0; it must be from 1 to 4096"),
        ("diskspd -t9999", "diskspd: -t is 9999; it must be from 1 to 256"),
        ("diskspd -w130", "diskspd: -w: `130` must be from 0 to 100"),
        ("diskspd -Q", "diskspd: -Q is not an option of DiskSpd that Assay knows"),
        ("diskspd -d99999999999", "diskspd: -d: 99999999999 s are longer than a year"),
        ("diskspd \"a b", "diskspd: a quotation mark is not closed"),
        (
            "diskspd -Xp.xml -B1G",
            "diskspd: not supported; --lenient runs without: -X: XML profiles are not read",
        ),
        ("sqlio -kX", "sqlio: -k: `X` must be R or W"),
        ("sqlio -f64", "sqlio: not supported; --lenient runs without: -f: a stride is not supported"),
        ("sqlio -Fnone.txt", "sqlio: -F: cannot read none.txt: there is no such file"),
        ("sqlio -Fbad.txt", "bad.txt:1: the number of threads `many` is not a whole number"),
    ] {
        let error = imported(text, 1, Strictness::Strict).expect_err(text).to_string();
        assert!(error.starts_with(expected), "{text}: {error}");
    }
    let long = format!("diskspd {}", "-b8K ".repeat(10_000));
    assert!(imported(&long, 1, Strictness::Strict).unwrap_err().message.contains("longer than"));
    assert!(
        imported("diskspd -B1G", 1, Strictness::Lenient)
            .unwrap()
            .notes
            .iter()
            .any(|n| n.says.contains("left out"))
    );
    assert!(!is_command("vmware") && !is_command("") && is_command("SQLIO.EXE -kR"));
}
