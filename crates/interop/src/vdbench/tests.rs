//! Parameter files in, plans out.

use assay_spec::units::PerSecond;
use assay_spec::{Maxima, Overrides, Pacing, Plan, PlanFile};

use super::{import, is_parameter_file};
use crate::fio::Surroundings;
use crate::{ImportError, ImportOptions, ImportedPlan, Strictness};

fn imported(text: &str, strictness: Strictness) -> Result<ImportedPlan, ImportError> {
    let include = |path: &str| match path {
        "sds" => Ok("sd=sd1,lun=/dev/sdb,size=10g\nsd=sd2,lun=/dev/sdc,threads=4\n".to_owned()),
        "loop" => Ok("include=loop\n".to_owned()),
        _ => Err("there is no such file".to_owned()),
    };
    let surroundings = Surroundings { include: &include, variable: &|_| None };
    import("p.vdb", text, &surroundings, &ImportOptions { strictness, targets_given: None })
}

fn read(text: &str) -> Plan {
    let imported = imported(text, Strictness::Strict).unwrap_or_else(|error| panic!("{error}"));
    PlanFile::parse("p.vdb", &imported.plan)
        .and_then(|file| file.resolve(&Overrides::default()))
        .unwrap_or_else(|error| panic!("{error}\n{}", imported.plan))
}

#[test]
fn runs_become_tests_and_loops_become_sweeps() {
    let plan = read(
        "* comment\ninclude=sds\nwd=default,rdpct=70\nwd=oltp,sd=sd1,xfersize=8k,seekpct=100   more comment\n\
         wd=log,sd=sd2,xfersize=(4k,70,64k,30),\n  rdpct=0,seekpct=seq\n\
         rd=one,wd=oltp,iorate=max,elapsed=60,interval=1,warmup=5,forxfersize=(4k,8k),forthreads=(1,16)\n\
         rd=two,wd=(oltp,log),iorate=1000,elapsed=2m\n",
    );
    assert_eq!(plan.tests.len(), 2);
    let labels: Vec<String> = plan.tests[0].steps.iter().map(assay_spec::Step::label).collect();
    assert_eq!(
        labels,
        [
            "size=4096 outstanding=1",
            "size=4096 outstanding=16",
            "size=8192 outstanding=1",
            "size=8192 outstanding=16"
        ]
    );
    let jobs = &plan.tests[1].steps[0].jobs;
    assert_eq!((jobs[0].mix[0].read, jobs[0].mix[0].random, jobs[0].targets[0]), (70.0, 100.0, 0));
    assert_eq!(
        (jobs[1].mix.len(), jobs[1].mix[1].weight, jobs[1].targets[0], jobs[1].outstanding),
        (2, 3000, 1, 4)
    );
    assert!(matches!(jobs[0].pacing, Pacing::Open { rate, .. } if rate.0 == 500.0));
    assert_eq!(plan.tests[1].steps[0].stop.time.0, 120_000_000_000);
}

#[test]
fn rates_ranges_and_ratios_are_kept() {
    let plan = read(
        "sd=s,lun=x,size=1g,range=(25,50)\nwd=w,sd=s,xfersize=4k,rdpct=0,compratio=2\n\
         rd=r,wd=w,iorate=(100,200,400),elapsed=10\n",
    );
    let labels: Vec<String> = plan.tests[0].steps.iter().map(assay_spec::Step::label).collect();
    assert_eq!(labels, ["rate=100", "rate=200", "rate=400"]);
    let job = &plan.tests[0].steps[0].jobs[0];
    assert_eq!((job.window.of(1000), job.outstanding), (250..500, 8));
    assert_eq!(job.data, assay_spec::Data::Reducible { compress: 2.0, dedupe: 1.0 });
}

#[test]
fn a_curve_is_a_search_and_shares_of_what_it_finds() {
    let text = "sd=s,lun=x,size=1g\nwd=w,sd=s,xfersize=4k\n\
        rd=c,wd=w,iorate=curve,curve=(10-90,40),elapsed=10,forthreads=(1-4,d)\nrd=plain,wd=w,iorate=max,elapsed=10\n";
    let imported = imported(text, Strictness::Strict).unwrap();
    assert!(imported.plan.contains("pace = { rate = \"max\", arrivals = \"poisson\" }"), "{}", imported.plan);
    let line = &imported.understood[1];
    assert!(line.contains("; the highest rate first; outstanding 1, 2, 4; load 10 %, 50 %, 90 %"), "{line}");
    let file = PlanFile::parse("p.vdb", &imported.plan).unwrap();
    let labels = |plan: &Plan| plan.tests[0].steps.iter().map(assay_spec::Step::label).collect::<Vec<_>>();
    let search = file.search(&Overrides::default()).unwrap().unwrap();
    assert_eq!(
        (search.tests.len(), labels(&search)),
        (1, ["outstanding=1", "outstanding=2", "outstanding=4"].map(String::from).to_vec())
    );
    assert!(search.jobs().all(|job| job.pacing == Pacing::Closed));
    let refused = file.resolve(&Overrides::default()).unwrap_err().to_string();
    assert!(refused.contains("needs a search before the run"), "{refused}");
    let rate =
        |depth: u32| ("c".to_owned(), format!("outstanding={depth}"), PerSecond(f64::from(depth) * 1000.0));
    let maxima = Maxima::Found([1, 2, 4].map(rate).to_vec());
    let mut over = Overrides::default();
    over.maxima = maxima;
    let plan = file.resolve(&over).unwrap();
    assert_eq!(plan.tests[0].steps.len(), 9);
    let last = &plan.tests[0].steps[8];
    assert_eq!(last.label(), "outstanding=4 load=90");
    assert!(matches!(last.jobs[0].pacing, Pacing::Open { rate, .. } if rate == PerSecond(3600.0)));
    assert_eq!(plan.tests[1].steps[0].jobs[0].pacing, Pacing::Closed);
}

#[test]
fn every_loop_may_be_a_range_and_general_parameters_hold_for_all_workloads() {
    let plan = read(
        "compratio=3\nsd=s,lun=x,size=1g\nwd=w,sd=s,rhpct=0\n\
         rd=a,wd=w,iorate=max,forxfersize=(4k-64k,d),forrdpct=(0-100,50),elapsed=5\n\
         rd=b,wd=w,iorate=(100-500,200),elapsed=5\n",
    );
    let labels = |at: usize| plan.tests[at].steps.iter().map(assay_spec::Step::label).collect::<Vec<_>>();
    assert_eq!(plan.tests[0].steps.len(), 15);
    assert_eq!((labels(0)[0].as_str(), labels(0)[14].as_str()), ("size=4096 read=0", "size=65536 read=100"));
    assert_eq!(labels(1), ["rate=100", "rate=300", "rate=500"]);
    assert_eq!(
        plan.tests[0].steps[0].jobs[0].data,
        assay_spec::Data::Reducible { compress: 3.0, dedupe: 1.0 }
    );
}

#[test]
fn workloads_side_by_side_share_the_rate_of_a_curve_by_their_skew() {
    let text = "sd=s,lun=x,size=1g\nwd=a,sd=s,xfersize=4k,skew=30\nwd=b,sd=s,xfersize=8k\nwd=c,sd=s,xfersize=64k\n\
        rd=c,wd=*,iorate=curve,curve=(50,100),elapsed=10\n";
    let imported = imported(text, Strictness::Strict).unwrap();
    assert!(imported.notes.iter().any(|note| note.says.contains("their skew holds")), "{:?}", imported.notes);
    let file = PlanFile::parse("p.vdb", &imported.plan).unwrap();
    let search = file.search(&Overrides::default()).unwrap().unwrap();
    assert_eq!((search.tests[0].steps.len(), search.jobs().count()), (1, 3));
    assert!(search.jobs().all(|job| job.pacing == Pacing::Closed));
    let mut over = Overrides::default();
    over.maxima = Maxima::Found(vec![("c".to_owned(), String::new(), PerSecond(1000.0))]);
    let plan = file.resolve(&over).unwrap();
    let rates = |step: &assay_spec::Step| {
        step.jobs.iter().map(|job| job.pacing.rate().unwrap().0.round()).collect::<Vec<f64>>()
    };
    assert_eq!(
        plan.tests[0].steps.iter().map(rates).collect::<Vec<_>>(),
        [[150.0, 175.0, 175.0], [300.0, 350.0, 350.0]]
    );
}

#[test]
fn what_is_not_supported_is_refused_by_line() {
    let text = "sd=s,lun=x,size=1g\nwd=w,sd=s,rhpct=20\nwd=v,sd=s\n\
        rd=r,wd=(w,v),iorate=curve,elapsed=10,forseekpct=(0,100)\n";
    let error = imported(text, Strictness::Strict).unwrap_err().to_string();
    assert!(
        error.starts_with("p.vdb: 2 parameters are not supported; --lenient runs without:\n  line 2: rhpct"),
        "{error}"
    );
    assert!(error.contains("line 4: forseekpct"), "{error}");
    let lenient = imported(text, Strictness::Lenient).unwrap();
    assert_eq!(lenient.notes.iter().filter(|note| note.says.ends_with("left out.")).count(), 2);
}

#[test]
fn malformed_files_are_refused_with_the_line_and_the_reason() {
    for (text, expected) in [
        ("", "p.vdb: defines no storage (sd=)"),
        ("sd=s,lun=x\n", "p.vdb: defines no run (rd=)"),
        ("sd=s,lun=(x\n", "p.vdb:1: a parenthesis or a quotation mark is not closed"),
        ("sd=s,elephant\n", "p.vdb:1: `elephant` is not a parameter"),
        ("sd=s,size=big\nrd=r\n", "p.vdb:1: sd=s: size: `big` is not a size"),
        ("sd=s\nwd=w,sd=z\nrd=r\n", "p.vdb:2: wd=w: sd: there is no sd `z`"),
        ("sd=s\nwd=w\nrd=r,wd=x\n", "p.vdb:3: rd=r: wd: there is no wd `x`"),
        ("sd=s\nwd=w,rdpct=400\nrd=r\n", "p.vdb:2: wd=w: rdpct: `400` must be from 0 to 100"),
        ("sd=s\nwd=w,xfersize=(4k,50,8k,20)\nrd=r\n", "p.vdb:2: wd=w: xfersize: the shares must sum to 100"),
        ("sd=s\nwd=w,xfersize=1t\nrd=r\n", "p.vdb:2: wd=w: xfersize: 1TiB is too large"),
        ("sd=s\nwd=w\nrd=r,iorate=fast\n", "p.vdb:3: rd=r: iorate: `fast` must be max"),
        ("sd=s\nwd=w\nrd=r,elapsed=0\n", "p.vdb:3: rd=r: elapsed: `0` is not a time"),
        ("sd=s,range=(50,20)\nrd=r\n", "p.vdb:1: sd=s: range: must be (FROM,TO)"),
        ("include=loop\n", "loop:1: includes loop within itself"),
        ("include=nothing\n", "p.vdb:1: cannot include nothing: there is no such file"),
        ("fsd=f\n", "p.vdb:1: fsd=: workloads of many files"),
    ] {
        let error = imported(text, Strictness::Strict).expect_err(text).to_string();
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}

#[test]
fn parameter_files_are_known_by_their_definitions() {
    assert!(is_parameter_file("* x\nsd=a,lun=/dev/sdb\nwd=w\n"));
    for text in ["", "[global]\nsd=1\n", "name = \"a\"\n[[test]]\n"] {
        assert!(!is_parameter_file(text), "{text}");
    }
}

#[test]
fn parameters_may_be_abbreviated_and_unknown_ones_are_refused() {
    let plan = read("sd=s,lun=x,size=1g\nwd=w,sd=s,xf=8k,see=0\nrd=r,wd=w,el=3,in=1,io=10\n");
    let step = &plan.tests[0].steps[0];
    assert_eq!((step.stop.time.0, step.jobs[0].mix[0].size.0), (3_000_000_000, 8192));
    assert!(matches!(step.jobs[0].pacing, Pacing::Open { rate, .. } if rate.0 == 10.0));
    for (text, expected) in [
        ("foobar=7\nsd=s,lun=x\nwd=w,sd=s\nrd=r,wd=w\n", "p.vdb:1: `foobar` is no parameter of vdbench"),
        ("sd=s,lun=x\nwd=w,sd=s,frob=1\nrd=r,wd=w\n", "p.vdb:2: `frob` is no parameter of vdbench"),
        ("sd=s,lun=x\nwd=w,sd=s\nrd=r,wd=w,forr=(1,2)\n", "p.vdb:3: `forr` begins 2 parameters"),
        ("sd=s,lun=x,replay=(123,/dev/y)\nwd=w,sd=s\nrd=r,wd=w\n", "the replay of a trace is not supported"),
    ] {
        let error = imported(text, Strictness::Strict).expect_err(text).to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

/// 16 of 112 public files were refused for these, and `seekpct=eof` ran on to the end of `elapsed`.
#[test]
fn a_run_ends_with_its_data_and_at_the_end_of_its_storage() {
    let plan = read(
        "sd=default,align=512,size=1g\nsd=a,lun=a\nsd=b,lun=b\n\
         wd=w,sd=*,xfersize=4k\nwd=e,sd=a,xfersize=1m,seekpct=eof,rdpct=0\n\
         rd=bytes,wd=w,elapsed=100h,maxdata=10g\nrd=twice,wd=w,elapsed=100h,maxdata=2\n\
         rd=far,wd=(w,e),elapsed=10,maxdata=999t\nrd=once,wd=e,elapsed=1h\n",
    );
    let stop = |test: usize| plan.tests[test].steps[0].jobs.iter().map(|job| job.stop).collect::<Vec<_>>();
    let of = |test: usize| {
        let stop = plan.tests[test].steps[0].stop;
        (stop.time.0 / 1_000_000_000, stop.bytes.map(|bytes| bytes.0), stop.spans)
    };
    assert_eq!(of(0), (360_000, Some(10 << 30), None));
    assert_eq!((of(1), of(3)), ((360_000, None, Some(2)), (3600, None, Some(1))));
    assert_eq!((of(2), stop(2)[1].and_then(|stop| stop.spans)), ((10, None, None), Some(1)));
    assert_eq!(plan.tests[0].steps[0].jobs[0].mix[0].align.0, 512);
    for (text, why) in [
        ("rd=r,wd=(w,x),elapsed=9,maxdata=10g", "the sum of several workloads"),
        ("rd=r,wd=(w,x),elapsed=9,maxdata=2", "a multiple is supported for one workload"),
        ("sd=c,lun=c,align=8k\nrd=r,wd=x,sd=c,elapsed=9", "align: it is supported where"),
    ] {
        let head = "sd=s,lun=x,size=1g\nwd=w,sd=s\nwd=x,sd=*,xfersize=4k,seekpct=0\n";
        let error = imported(&format!("{head}{text}\n"), Strictness::Strict).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    // What lies in files that are included is looked for there.
    assert!(is_parameter_file("include=sds\nwd=w,sd=sd*\nrd=r,wd=w\n"));
    assert!(is_parameter_file("#sd=sd1,lun=/dev/sdb\ninclude=/opt/conf/disks\nrd=fill,sd=sd*,elapsed=10\n"));
}

/// The storage of a run was read and left out: both runs went to both disks.
#[test]
fn the_storage_of_a_run_goes_before_that_of_its_workloads() {
    let targets = |runs: &str| -> Vec<Vec<u32>> {
        let text = format!(
            "sd=sd1,lun=/dev/sdx,threads=4\nsd=sd2,lun=/dev/sdy,threads=4\nsd=sd3,lun=/dev/sdz,threads=4\n\
             wd=wd1,xfersize=4k,rdpct=0\nwd=wd2,sd=sd3,xfersize=4k\n{runs}"
        );
        read(&text).tests.iter().map(|test| test.steps[0].jobs[0].targets.clone()).collect()
    };
    let end = "iorate=max,elapsed=10,interval=1\n";
    let two =
        targets(&format!("rd=rd1,wd=wd1,sd=sd1,{end}rd=rd2,wd=wd1,sd=sd2,{end}rd=rd3,wd=wd1,sd=sd3,{end}"));
    assert_eq!(two, [[0], [1], [2]]);
    let others = targets(&format!("rd=a,wd=wd2,sd=(sd1-sd2),{end}rd=b,wd=wd2,sd=sd*,{end}rd=c,wd=wd2,{end}"));
    assert_eq!(others, [vec![0, 1], vec![0, 1, 2], vec![2]]);
    let error =
        imported("sd=a,lun=x\nwd=w,sd=a\nrd=r,wd=w,sd=b\n", Strictness::Strict).unwrap_err().to_string();
    assert!(error.starts_with("p.vdb:3: rd=r: sd: there is no sd `b`"), "{error}");
}

/// Without a rate each workload runs as fast as it can, and nothing said that its share is not kept.
#[test]
fn shares_of_no_rate_are_said() {
    let says = |skew: &str, rate: &str| {
        let text =
            format!("sd=s,lun=x,size=1g\nwd=a,sd=s{skew}\nwd=b,sd=s\nrd=r,wd=*,iorate={rate},elapsed=9\n");
        let notes = imported(&text, Strictness::Strict).unwrap().notes;
        notes.iter().any(|note| note.says.starts_with("skew: with iorate=max"))
    };
    assert!(says(",skew=30", "max") && !says(",skew=30", "1000") && !says(",skew=30", "curve"));
    assert!(!says("", "max"));
}

/// `skew=0` is vdbench's own value for what is not given; the plan had a rate of 0.
#[test]
fn a_share_of_0_is_one_that_is_not_given() {
    let rates = |skew: u32| {
        let plan = read(&format!(
            "sd=s,lun=x,size=1g\nwd=a,sd=s,skew={skew}\nwd=b,sd=s\nrd=r,wd=*,iorate=1000,elapsed=10\n"
        ));
        plan.tests[0].steps[0].jobs.iter().map(|job| job.pacing.rate().unwrap().0).collect::<Vec<f64>>()
    };
    assert_eq!((rates(0), rates(30)), (vec![500.0; 2], vec![300.0, 700.0]));
}
