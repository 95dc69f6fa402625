//! Command lines in, plans out.

use assay_spec::units::{Bytes, Nanos, SizeSpec};
use assay_spec::{Data, Overrides, Pacing, Plan, PlanFile, Span};

use super::{import, import_profile, import_script, is_command, is_profile, is_script};
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
    for both in ["-Sw -Su", "-Su -Sw", "-Suw"] {
        assert!(read(&format!("diskspd -b8K -w30 {both}"), 1).tests[0].steps[0].jobs[0].sync, "{both}");
    }
}

#[test]
fn diskspd_defaults_and_options_are_its_own() {
    let plain = read(r"C:\tools\DiskSpd.exe testfile.dat", 1);
    let job = &plain.tests[0].steps[0].jobs[0];
    assert_eq!((job.mix[0].size, job.outstanding, job.mix[0].read), (Bytes(65_536), 2, 100.0));
    let plan = read("diskspd -c2G -b4K -rs60 -w -W0 -g500i -t2 -Zr -z7 -i8 -j5 -L -ag -D /mnt/x/t.dat", 1);
    let job = &plan.tests[0].steps[0].jobs[0];
    assert_eq!(plan.span, Span::Size(SizeSpec::Bytes(Bytes(2 << 30))));
    assert_eq!((job.mix[0].random, job.mix[0].read, job.mix[0].burst), (60.0, 100.0, 8));
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

/// `-r -s` was sequential, and `-s -r` random.
#[test]
fn random_goes_before_sequential_in_any_order_and_a_share_of_both_stays() {
    for (options, share) in [
        ("-r -s", 100.0),
        ("-s -r", 100.0),
        ("-r8K -s64K", 100.0),
        ("-s", 0.0),
        ("-rs60 -s", 60.0),
        ("-s -rs60 -r8K", 60.0),
    ] {
        let job = &read(&format!("diskspd -b8K {options}"), 1).tests[0].steps[0].jobs[0];
        assert_eq!(job.mix[0].random, share, "{options}");
    }
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
    // Each target ends by itself, and a throughput may be in I/Os (`-g100i`).
    let target = |path: &str, more: &str| {
        format!("<Target><Path>{path}</Path><DisableOSCache>true</DisableOSCache>{more}</Target>")
    };
    let two = format!(
        "<Profile><TimeSpans><TimeSpan><Targets>{}{}</Targets></TimeSpan></TimeSpans></Profile>",
        target("a", "<MaxFileSize>1048576</MaxFileSize><Throughput unit=\"IOPS\">100</Throughput>"),
        target("b", "<MaxFileSize>8388608</MaxFileSize>")
    );
    let imported = import_profile("p.xml", &two, &ImportOptions::default()).unwrap();
    let plan = assay_spec::PlanFile::parse("p.xml", &imported.plan)
        .and_then(|file| file.resolve(&assay_spec::Overrides::default()))
        .unwrap();
    let jobs = &plan.tests[0].steps[0].jobs;
    assert_eq!(jobs[0].span.map(|span| span.0).or(Some(jobs[0].window.of(8 << 20).end)), Some(1 << 20));
    assert_eq!((jobs[1].span, jobs[1].window.is_whole()), (None, true));
    assert_eq!(jobs[0].pacing.rate().unwrap().0, 100.0);
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

fn script(text: &str, given: Option<usize>) -> Result<ImportedPlan, ImportError> {
    let include = |_: &str| Err("there is no such file".to_owned());
    let variable = |name: &str| (name == "DISK").then(|| "E:".to_owned());
    let surroundings = Surroundings { include: &include, variable: &variable };
    let options = ImportOptions { targets_given: given, ..ImportOptions::default() };
    assert!(is_script(text), "{text}");
    import_script("C/bench.cmd", text, &surroundings, &options)
}

/// Each test: block size, read share, workers and outstanding I/Os, window, targets.
fn said(imported: &ImportedPlan) -> Vec<String> {
    let plan = PlanFile::parse("t", &imported.plan).and_then(|file| file.resolve(&Overrides::default()));
    let plan = plan.unwrap_or_else(|error| panic!("{error}\n{}", imported.plan));
    let job = |job: &assay_spec::Job| {
        let (mix, window) = (&job.mix[0], job.window);
        let size = window.size.or(job.span.map(assay_spec::Extent::Bytes));
        let to = size.map_or("end".to_owned(), |size| size.to_string());
        format!(
            "{} {} {}x{} {}..+{to} {:?}",
            mix.size, mix.read, job.workers, job.outstanding, window.offset, job.targets
        )
    };
    let jobs = |test: &assay_spec::Test| test.steps[0].jobs.iter().map(job).collect::<Vec<_>>().join(" | ");
    plan.tests.iter().map(|test| format!("{}: {}", test.name, jobs(test))).collect()
}

#[test]
fn a_batch_file_is_a_plan_with_a_test_for_each_command() {
    let text = "@echo off\r\nREM diskspd -b1M old.dat\r\nset SIZE=2G\r\nset \"FILE=%DISK%\\t.dat\"\r\n\
                copy nul %FILE%\r\n@diskspd.exe -c%SIZE% -b8K -o4 ^\r\n   -w30 -r %FILE% > a.txt\r\n\
                set B=4K\r\ndiskspd -c1G -b%B% -t2 !FILE!\r\n\
                echo %B%\r\ndiskspd -b%B% -t3 -z7 %FILE%\r\npause\r\n";
    let imported = script(text, Some(1)).unwrap();
    assert_eq!(
        said(&imported),
        [
            "8KiB random mix: 8KiB 70 1x4 0B..+end []",
            "4KiB sequential read 2x2: 4KiB 100 2x2 0B..+1GiB []",
            "4KiB sequential read 3x2: 4KiB 100 3x2 0B..+end []",
        ]
    );
    assert_eq!(
        (imported.tool.as_str(), &imported.targets[..]),
        ("script of DiskSpd", &["E:\\t.dat".to_owned()][..])
    );
    assert!(imported.plan.contains("size = \"2GiB\""), "{}", imported.plan);
    let notes: Vec<String> = imported.notes.iter().map(ToString::to_string).collect();
    let of = |part: &str| notes.iter().filter(|note| note.contains(part)).count();
    assert_eq!(
        (of("line 5: `copy` is not DiskSpd or SQLIO; it is not run."), of("is not run")),
        (1, 1),
        "{notes:?}"
    );
    assert_eq!(of("uses the page cache"), 1, "{notes:?}");
}

#[test]
fn a_script_of_powershell_is_a_plan() {
    let text = "# depths\n$b = \"4K\"\n$file = \"E:\\t.dat\"\n$o = 1\nWrite-Host \"$b $o\"\n\
                $out = & .\\diskspd.exe \"-b$b\" -o$($o) -d5 -Su `\n      -w0 $file\n$b = \"8K\"\n\
                & .\\diskspd.exe \"-b$b\" -o2 -d5 -Su $file\n";
    assert_eq!(
        said(&script(text, Some(1)).unwrap()),
        ["4KiB sequential read: 4KiB 100 1x1 0B..+end []", "8KiB sequential read: 8KiB 100 1x2 0B..+end []",]
    );
}

#[test]
fn commands_of_a_script_keep_their_files() {
    let text = "diskspd -b4K -o1 a.dat b.dat\nsqlio -kW -b64 -o8 b.dat\n";
    assert_eq!(
        said(&script(text, Some(2)).unwrap()),
        [
            "4KiB sequential read: 4KiB 100 1x1 0B..+end [0] | 4KiB 100 1x1 0B..+end [1]",
            "64KiB sequential write: 64KiB 0 1x8 0B..+end [1]",
        ]
    );
    assert_eq!(said(&script(text, Some(1)).unwrap())[0], "4KiB sequential read: 4KiB 100 1x1 0B..+end []");
    assert_eq!(script(text, None).unwrap().targets, ["a.dat", "b.dat"]);
    assert!(
        script(text, Some(3))
            .unwrap_err()
            .to_string()
            .contains("names 2 targets (a.dat, b.dat), but 3 are given")
    );
}

#[test]
fn what_a_script_leaves_to_a_shell_is_refused_with_its_line() {
    for (text, expected) in [
        ("set N=1\nif exist x diskspd -b4K x\ndiskspd -b8K x", "bench.cmd:2: `if`: loops and conditions"),
        ("diskspd -b4K x\nwhile ($true) {\ndiskspd -b4K x\n}", "bench.cmd:2: `while`: loops and conditions"),
        ("diskspd -b4K x\n\ndiskspd -b%SIZE% x", "bench.cmd:3: the variable SIZE is not set"),
        ("diskspd -b4K x\n$b=$c\ndiskspd -b$b x", "bench.cmd:2: the variable c is not set"),
        ("diskspd -b4K x\ndiskspd -bmany x", "bench.cmd:2: diskspd: -b: `many` is not a size"),
        (
            "diskspd -b4K x\nfor %%b in (1 2) do (\ndiskspd -b%%bK x\n)",
            "bench.cmd:2: `for`: loops and conditions of a shell are not carried out; give the commands one by one",
        ),
        ("cd x & for /L %%b in (1,1,2) do diskspd -b%%bK x", "bench.cmd:1: `for`: loops"),
        ("foreach ($b in 1..2) {\ndiskspd -b4K x\n}", "bench.cmd:1: `foreach`: loops"),
        ("set /a N=1\ndiskspd -b4K x", "bench.cmd:1: only `set NAME=VALUE` is supported"),
        ("diskspd -b4K x\nfio --name=x --rw=read", "bench.cmd:2: a command of fio among those"),
        (
            "$ä=1\n$a=\"é\n%é% %%é !é ${é} $(é)\ndiskspd -b$a x",
            "bench.cmd:4: diskspd: a quotation mark is not closed",
        ),
    ] {
        let says = script(text, Some(1)).unwrap_err().to_string();
        assert!(says.contains(expected), "{text}: {says}");
    }
    let doubled = format!("set A=xxxxxxxx\n{}diskspd -b4K %A%\n", "set A=%A%%A%\n".repeat(20));
    assert!(script(&doubled, Some(1)).unwrap_err().to_string().contains("the line is too long"));
}

/// The second command was dropped without a word.
#[test]
fn all_commands_of_a_line_are_carried_out() {
    let (a, b) = ("diskspd -b4K t.dat", "diskspd -b8K -w100 t.dat");
    let said_a = "4KiB sequential read: 4KiB 100 1x2 0B..+end []";
    let said_b = "8KiB sequential write: 8KiB 0 1x2 0B..+end []";
    for text in [
        format!("{a} & {b}"),
        format!("{a} && {b}"),
        format!("{a} > o.txt 2>&1; {b}"),
        format!("{a} | tee o.txt & {b}"),
        format!("{a} | findstr x && {b} || exit /b 1"),
        format!("$o = & .\\{a}; {b}"),
        format!("set B=8K & {a} & diskspd -b%B% -w100 t.dat"),
    ] {
        assert_eq!(said(&script(&text, Some(1)).unwrap()), [said_a, said_b], "{text}");
    }
    let typed = imported(&format!("{a} & {b}"), 1, Strictness::Strict).unwrap();
    assert_eq!(said(&typed), [said_a, said_b]);
    for (text, expected) in [
        (format!("{a} || {b}"), "bench.cmd:1: `||`: whether it runs depends on the command before"),
        (format!("x\necho y | {a}\n{b}"), "bench.cmd:2: `|`: a command of the tools behind a pipe"),
        (format!("{a}\n({b})"), "bench.cmd:2: `"),
        (format!("start {a}\n{b}"), "bench.cmd:1: `start`: commands that run side by side"),
    ] {
        let text = text.replace(" t.dat", " -o2 t.dat").replace("start diskspd", "start \"\" diskspd");
        let says = script(&text, Some(1)).unwrap_err().to_string();
        assert!(says.contains(expected), "{text}: {says}");
    }
}

/// They were run.
#[test]
fn commands_that_a_shell_would_not_run_are_not_run() {
    let (a, b) = ("diskspd -b4K t.dat", "diskspd -b8K -w100 t.dat");
    for text in [
        format!("{a}\nexit /b 0\n{b}"),
        format!("{a}\nexit\n{b}"),
        format!("{a} & exit & {b}"),
        format!("{a}\ngoto :eof\n{b}"),
        format!("{a}\nreturn\n{b}"),
        format!("{a}\n<#\n{b}\n#>\n"),
        format!("<# {b} #>\n{a}\n"),
        format!("$x = @\"\n{b}\n\"@\n{a}\n"),
        format!("{a}\nif errorlevel 1 exit /b 1\ngoto :eof\n:x\n{b}"),
    ] {
        assert_eq!(
            said(&script(&text, Some(1)).unwrap()),
            ["4KiB sequential read: 4KiB 100 1x2 0B..+end []"],
            "{text}"
        );
    }
    let notes = script(&format!("{a}\nexit /b 0\n{b}"), Some(1)).unwrap().notes;
    assert!(
        notes
            .iter()
            .any(|note| note.to_string() == "line 2: `exit /b 0` ends the script; nothing behind it is run.")
    );
    for (text, expected) in [
        (format!("goto end\n{a}\n:end"), "bench.cmd:1: `goto`: which commands run"),
        (format!("call :run\nexit /b\n:run\n{a}"), "bench.cmd:1: `call`: which commands run"),
        (format!("if exist x goto end\n{a}\n:end"), "bench.cmd:1: `if`: loops and conditions"),
        (format!("foreach ($x in 1, 2) {{\n{a}\nbreak\n}}"), "bench.cmd:1: `foreach`: loops"),
    ] {
        let says = script(&text, Some(1)).unwrap_err().to_string();
        assert!(says.contains(expected), "{text}: {says}");
    }
    assert!(script(&format!("{a}\ngoto end\n:end\npause"), Some(1)).is_ok());
}
