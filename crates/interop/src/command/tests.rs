//! Command lines in, plans out.

use assay_spec::units::{Bytes, Nanos, SizeSpec};
use assay_spec::{Data, Overrides, Pacing, Plan, PlanFile, Span};

use super::{import, import_profile, is_command, is_profile};
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
fn threads_that_share_a_position_are_one_stream_and_redirections_no_targets() {
    let include = |_: &str| Err("there is no file".to_owned());
    let surroundings = Surroundings { include: &include, variable: &|_| None };
    let options = ImportOptions { targets_given: Some(1), ..ImportOptions::default() };
    let line = "PS C:\\> .\\diskspd.exe -b64K -d120 -h -o8 -t4 -si -g2i E:\\test.dat > out.txt 2>&1";
    let imported = import(line, &surroundings, &options).unwrap();
    assert_eq!(imported.targets, ["E:\\test.dat"]);
    let plan = PlanFile::parse("t", &imported.plan).unwrap().resolve(&Overrides::default()).unwrap();
    let job = &plan.tests[0].steps[0].jobs[0];
    assert_eq!((job.workers, job.outstanding, job.pacing.rate().map(|rate| rate.0)), (1, 32, Some(8.0)));
    assert!(imported.notes.iter().any(|note| note.says.starts_with("-si: the 4 threads share one position")));
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
    assert!(job.sync && !read("diskspd -b8K -w30 -Su", 1).tests[0].steps[0].jobs[0].sync);
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
    // The rate is in bytes of the block size, which may come later; `-B` has a length.
    let plan = read("diskspd -g400 -B1M:2M -Sw -ft -b4K -w100 -z42", 1);
    let job = &plan.tests[0].steps[0].jobs[0];
    assert!(
        matches!(job.pacing, Pacing::Throttled { rate } if rate.0 == 400_000.0 / 4096.0),
        "{:?}",
        job.pacing
    );
    assert_eq!((job.window.of(3 << 20), job.sync, plan.seed), ((1 << 20)..(3 << 20), true, 42));
    assert_eq!(plan.span, Span::Size(SizeSpec::Bytes(Bytes(3 << 20))));
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
            "diskspd: not supported; --lenient runs without: -X: give the profile itself",
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
        imported("diskspd -p", 1, Strictness::Lenient)
            .unwrap()
            .notes
            .iter()
            .any(|n| n.says.contains("left out"))
    );
    assert!(!is_command("vmware") && !is_command("") && is_command("SQLIO.EXE -kR"));
}

#[test]
fn bands_and_base_offsets_of_diskspd_are_zones_and_windows() {
    let surroundings = Surroundings { include: &|_| Err(String::new()), variable: &|_| None };
    let line = |text: &str| import(text, &surroundings, &ImportOptions::default());
    let plan = |text: &str| {
        let imported = line(text).unwrap_or_else(|error| panic!("{error}"));
        let file = assay_spec::PlanFile::parse("l", &imported.plan).unwrap();
        file.resolve(&assay_spec::Overrides::default()).unwrap().tests[0].steps[0].jobs[0].clone()
    };
    let job = plan("diskspd -b8K -rdpct10/20:60/5 -B1G -c4G x.dat");
    assert_eq!(job.mix[0].distribution.to_string(), "10 % in 20%, 60 % in 5%, 30 % in 75%");
    assert_eq!((job.mix[0].random, job.window.to_string()), (100.0, "all from 1GiB".to_owned()));
    assert_eq!(plan("diskspd -rs50 -rdabs90/1G:10/3G x").mix[0].random, 50.0);
    for (text, expected) in [
        ("diskspd -rdpct10 x", "diskspd: -rd: `pct10` must look like"),
        ("diskspd -rdfoo10/20 x", "diskspd: -rd: `foo10/20` must begin with pct or abs"),
        ("diskspd -rdpct80/20:80/20 x", "diskspd: -rd: its shares"),
    ] {
        let error = line(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}

#[test]
fn profiles_of_diskspd_are_plans() {
    let text = "<Profile>\n<TimeSpans><TimeSpan><Duration>30</Duration><Warmup>2</Warmup>\n\
        <RandSeed>7</RandSeed><Targets>\n\
        <Target><Path>C:\\a.dat</Path><BlockSize>8192</BlockSize><Random>8192</Random><WriteRatio>30</WriteRatio>\
        <DisableOSCache>true</DisableOSCache><RequestCount>16</RequestCount><ThreadsPerFile>4</ThreadsPerFile>\
        <BaseFileOffset>1048576</BaseFileOffset><FileSize>1073741824</FileSize><Throughput>1000</Throughput>\
        <Distribution><Percent><Range IO=\"90\">10</Range></Percent></Distribution></Target>\n\
        <Target><Path>D:\\b.dat</Path><BurstSize>8</BurstSize><ThinkTime>5</ThinkTime></Target>\
        </Targets></TimeSpan></TimeSpans></Profile>";
    assert!(is_profile(text) && !is_profile("<Results><Profile>"));
    let imported = import_profile("p.xml", text, &ImportOptions::default()).unwrap();
    let file = assay_spec::PlanFile::parse("p.xml", &imported.plan).unwrap();
    let plan =
        file.resolve(&assay_spec::Overrides::default()).unwrap_or_else(|e| panic!("{e}\n{}", imported.plan));
    let jobs = &plan.tests[0].steps[0].jobs;
    assert_eq!((jobs[0].workers, jobs[0].outstanding, jobs[0].mix[0].read), (4, 16, 70.0));
    assert_eq!(jobs[0].mix[0].distribution.to_string(), "90 % in 10%, 10 % in 90%");
    assert_eq!(jobs[0].pacing.rate().unwrap().0.round(), 488.0);
    assert_eq!((jobs[1].mix[0].burst, jobs[1].mix[0].delay.0, jobs[1].outstanding), (8, 5_000_000, 2));
    assert_eq!((imported.targets.len(), plan.seed), (2, 7));
    for (text, expected) in [
        ("<Profile></Profile>", "p.xml:1: is not a DiskSpd profile"),
        ("<Profile><TimeSpans><TimeSpan/></TimeSpans></Profile>", "p.xml:1: the time span must have from 1"),
        (
            "<Profile><TimeSpans><TimeSpan><Targets><Target><BlockSize>big</BlockSize></Target></Targets></TimeSpan>\
             </TimeSpans></Profile>",
            "p.xml:1: <BlockSize>: `big` must be a whole number",
        ),
    ] {
        let error = import_profile("p.xml", text, &ImportOptions::default()).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}
