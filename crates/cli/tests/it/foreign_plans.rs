//! Plans of other tools, typed as the first thing by somebody who has read nothing.

use crate::story::{BAD_INPUT, DONE, Story};

const SAMPLES: [(&str, &str); 3] = [
    ("one.icf", include_str!("../../../interop/tests/samples/tp-qemu-iometer.icf")),
    ("three.icf", include_str!("../../../interop/tests/samples/tp-qemu-iometer_multi_3disks.icf")),
    ("several.icf", include_str!("../../../interop/tests/samples/eilerjc-multispec_worker.icf")),
];

#[test]
fn an_iometer_configuration_runs_and_says_what_was_understood() {
    let story = Story::new();
    for (name, text) in SAMPLES {
        story.write(name, text);
        let run =
            story.assay(&["run", name, "null:", "--set", "run=1ms", "--set", "outstanding=1,2"]).ends(DONE);
        assert!(run.err.starts_with(&format!("{name}: Iometer ")), "{}", run.err);
    }
    let run = story.assay(&[
        "run",
        "one.icf",
        "null:",
        "--set",
        "run=1ms",
        "--only",
        "2K; 100% Read outstanding=8",
    ]);
    let run = run.ends(DONE);
    // It said "16 tests, 128 load points, each 2s", which is not what ran.
    assert!(run.err.contains("  1 test, 1ms"), "{}", run.err);
    assert!(run.err.contains("2 workers x 8 outstanding"), "{}", run.err);
    assert!(run.err.contains("note: The file names no data pattern"), "{}", run.err);
    assert!(run.out.contains("2K; 100% Read"), "{}", run.out);
}

#[test]
fn what_the_command_line_changes_is_in_what_is_said_of_a_plan() {
    let story = Story::new();
    let job = "[global]\nbs=4k\nsize=16m\ntime_based\n[a]\nrw=randread\nruntime=60\n[b]\nstonewall\nrw=read\n\
               runtime=30\n";
    story.write("job.fio", job);
    let said = |more: &[&str]| story.assay(&[&["run", "job.fio", "null:"], more].concat()).ends(DONE).err;
    let quick = said(&["--quick", "--only", "b"]);
    assert!(quick.contains("1 test, ") && !quick.contains("30s") && !quick.contains("1min"), "{quick}");
    let set = said(&["--set", "run=10ms", "--set", "outstanding=2", "--size", "8MiB"]);
    assert!(set.contains("2 tests, each 10ms, on 8 MiB of the target"), "{set}");
    assert!(set.contains("a: 4KiB, 100 % read, 100 % random, 1 worker x 2 outstanding\n"), "{set}");
}

#[test]
fn a_converted_configuration_is_a_plan_and_is_exported_again() {
    let story = Story::new();
    let (name, text) = SAMPLES[1];
    story.write(name, text);
    let printed = story.assay(&["convert", name]).ends(DONE).out;
    story.assay(&["convert", name, "-o", "plan.toml"]).ends(DONE);
    assert_eq!(story.read("plan.toml"), printed.as_bytes());
    let refused = story.assay(&["convert", name, "-o", "plan.toml"]).ends(BAD_INPUT);
    assert!(refused.err.contains("plan.toml exists"), "{}", refused.err);
    story.assay(&["export", "plan.toml", "--format", "icf", "-o", "again.icf"]).ends(DONE);
    let again = story.assay(&["convert", "again.icf"]).ends(DONE).out;
    let body = |text: &str| text.split_once("[defaults]").unwrap().1.to_owned();
    assert_eq!(body(&again), body(&printed));
}

#[test]
fn targets_of_a_configuration_are_mapped_by_name() {
    let story = Story::new();
    let (name, text) = SAMPLES[1];
    story.write(name, text);
    let only = ["--set", "run=1ms", "--only", "2K; 100% Read targets=3 outstanding=8"];
    let mapped = ["run", name, "null:", "null:", "--map", "j:local=null:"];
    story.assay(&[&mapped[..], &only].concat()).ends(DONE);
    // A drive is meant without its label too.
    let drive = ["run", name, "null:", "null:", "--map", "J:=null:"];
    story.assay(&[&drive[..], &only].concat()).ends(DONE);
    let two = story.assay(&[&["run", name, "null:", "null:"][..], &only].concat()).ends(BAD_INPUT);
    assert!(two.err.contains("names 3 targets (I:local, J:local, K:local), but 2 are given"), "{}", two.err);
    let unknown =
        story.assay(&[&["run", name, "null:", "--map", "X:=null:"][..], &only].concat()).ends(BAD_INPUT);
    assert!(unknown.err.contains("--map X:=…: the plan names no such target"), "{}", unknown.err);
}

#[test]
fn a_plan_of_another_tool_that_cannot_be_read_is_refused_with_its_line() {
    let story = Story::new();
    story.write(
        "bad.icf",
        "Version 1.1.0\n'ACCESS SPECIFICATIONS ==\n'Access specification name,default \
         assignment\n\t4K,ALL\n'size\n\t4096,90,0,0,0,1,0,0\n",
    );
    let run = story.assay(&["run", "bad.icf", "null:"]).ends(BAD_INPUT);
    assert!(run.err.contains("bad.icf:4: the percentages of \"4K\" sum to 90"), "{}", run.err);
    story.write("bad.icf", "\u{0}\u{1}\u{2}");
    let run = story.assay(&["run", "bad.icf", "null:"]).ends(BAD_INPUT);
    assert!(run.err.contains("bad.icf: is not a text file"), "{}", run.err);
    let map = story.assay(&["run", "vmware", "null:", "--map", "C:=null:"]).ends(BAD_INPUT);
    assert!(map.err.contains("vmware names no targets"), "{}", map.err);
}

#[test]
fn a_job_file_and_a_command_line_run_as_they_are() {
    let story = Story::new();
    story.write("common.fio", "[global]\nioengine=libaio\ndirect=1\nsize=16m\nruntime=1\ntime_based\n");
    story.write(
        "job.fio",
        "include common.fio\n[oltp]\nrw=randrw\nrwmixread=70\nbs=8k\niodepth=4\n[log]\nstonewall\nrw=write\nbs=64k\n",
    );
    let run = story.assay(&["run", "job.fio", "./t.dat", "--set", "run=100ms"]).ends(DONE);
    assert!(run.err.starts_with("job.fio: fio job file\n  2 tests, each 100ms"), "{}", run.err);
    assert!(run.err.contains("oltp: 8KiB, 70 % read, 100 % random, 1 worker x 4 outstanding"), "{}", run.err);
    assert!(run.out.contains("oltp") && run.out.contains("log"), "{}", run.out);
    let line = "diskspd -b8K -o32 -t4 -r -w30 -d60 -Sh";
    let run = story.assay(&["run", line, "./u.dat", "--set", "run=100ms", "--size", "16MiB"]).ends(DONE);
    assert!(run.err.contains("8KiB, 70 % read, 100 % random, 4 workers x 32 outstanding"), "{}", run.err);
    story.write("odd.fio", "[a]\nsize=1m\nwrite_mode=verify\nbs=4k\n");
    let refused = story.assay(&["run", "odd.fio", "null:"]).ends(BAD_INPUT);
    assert!(
        refused.err.contains(
            "odd.fio: 1 option is not supported; --lenient runs without:\n  line 3: write_mode: Assay has no such"
        ),
        "{}",
        refused.err
    );
    story.assay(&["run", "odd.fio", "null:", "--lenient", "--set", "run=1ms"]).ends(DONE);
}

#[test]
fn a_command_line_of_fio_runs_as_it_is_and_one_without_quotation_marks_is_answered() {
    let story = Story::new();
    let line = "sudo fio --name=t --rw=randrw --rwmixread=70 --bs=8k --size=16m --iodepth 4 --ioengine=libaio \
                --direct=1 --runtime=60 --filename=/mnt/x --output-format=json";
    let run = story.assay(&["run", line, "./t.dat", "--set", "run=100ms"]).ends(DONE);
    assert!(
        run.err.contains("command line of fio") && run.err.contains("1 test, 100ms, on 16 MiB"),
        "{}",
        run.err
    );
    assert!(run.err.contains("t: 8KiB, 70 % read, 100 % random, 1 worker x 4 outstanding"), "{}", run.err);
    story.assay(&["run", line]).refused(&["no TARGET is given", "the plan itself names /mnt/x"]);
    story.write(
        "bench.sh",
        "#!/bin/sh\nR=1\nfio --name=a --rw=read --size=1m --runtime=$R\nfio --name=b --rw=write --size=1m\n",
    );
    let run = story.assay(&["run", "bench.sh", "./u.dat", "--set", "run=100ms", "--json"]).ends(DONE).json();
    assert_eq!((&run["tests"][0]["name"], &run["tests"][1]["name"]), (&"a".into(), &"b".into()));
    for (typed, expected) in [
        (
            &["run", "fio", "--name=x", "--rw=read", "./t.dat"][..],
            "assay run 'fio --name=x --rw=read' ./t.dat",
        ),
        (&["run", "diskspd", "-b8K", "-Sh"], "assay run 'diskspd -b8K -Sh' TARGET"),
        (&["convert", "fio", "--name=x"], "assay convert 'fio --name=x'"),
        (&["run", "fio", "bench.sh", "./t.dat"], "assay run bench.sh ./t.dat"),
    ] {
        let says = &story.assay(typed).ends(BAD_INPUT).err;
        assert!(says.contains(expected), "{says}");
    }
}

#[test]
fn flushes_and_trims_of_a_job_file_reach_a_file() {
    let story = Story::new();
    story.write(
        "log.fio",
        "[log]\nrw=write\nbs=4k\nsize=1m\nfsync=4\ndirect=1\nioengine=libaio\nnumber_ios=64\n\
         [gone]\nstonewall\nrw=randtrim\nbs=64k\nsize=1m\ndirect=1\nioengine=libaio\nnumber_ios=8\n",
    );
    let run = story.assay(&["run", "log.fio", "./t.dat", "--json"]).ends(DONE);
    assert!(run.err.contains("a flush after every 4 writes"), "{}", run.err);
    let document = run.json();
    let number = |path: &str| crate::story::number(&document, path);
    // A flush follows every fourth write; nothing follows the last.
    assert_eq!(number("/tests/0/jobs/0/write/ops"), 64.0);
    let flushes = number("/tests/0/jobs/0/flush/ops");
    assert!((15.0..=16.0).contains(&flushes), "{flushes}");
    assert_eq!((number("/tests/1/jobs/0/write/ops"), number("/tests/1/errors")), (8.0, 0.0));
    let refused = story.assay(&["run", "log.fio", "sim:ix4-200d"]).ends(BAD_INPUT);
    assert!(refused.err.contains("cannot trim between reads and writes"), "{}", refused.err);
}

#[test]
fn profiles_of_diskspd_and_parameter_files_of_vdbench_run() {
    let story = Story::new();
    story.write(
        "p.xml",
        "<Profile><TimeSpans><TimeSpan><Duration>1</Duration><Warmup>0</Warmup><Targets><Target>\
         <BlockSize>8192</BlockSize><Random>8192</Random><RequestCount>4</RequestCount></Target></Targets>\
         </TimeSpan></TimeSpans></Profile>",
    );
    story.write(
        "p.vdb",
        "sd=s,lun=x,size=1g\nwd=w,sd=s,xfersize=4k,rdpct=50\nrd=r,wd=w,iorate=max,elapsed=1\n",
    );
    for (file, words) in [("p.xml", "DiskSpd profile"), ("p.vdb", "vdbench parameter file")] {
        let run = story.assay(&["run", file, "null:", "--set", "run=1ms"]).ends(DONE);
        assert!(run.err.starts_with(&format!("{file}: {words}")), "{}", run.err);
    }
}

#[test]
fn crystaldiskmark_prints_its_block_with_the_median() {
    let story = Story::new();
    let run =
        story.assay(&["run", "crystaldiskmark", "null:", "--set", "run=1ms", "--set", "warmup=0"]).ends(DONE);
    assert!(run.out.contains("[Read]") && run.out.contains("best of 3"), "{}", run.out);
    assert_eq!(
        run.out.lines().filter(|line| line.contains("MiB (Q=") || line.contains("KiB (Q=")).count(),
        8
    );
    let once =
        ["run", "crystaldiskmark", "null:", "--set", "run=1ms", "--set", "warmup=0", "--set", "repeat=1"];
    let once = story.assay(&once).ends(DONE);
    assert!(!once.out.contains("best of") && once.out.contains("SEQ    1MiB (Q=  8, T= 1):"), "{}", once.out);
}

#[test]
fn a_curve_of_vdbench_searches_first_and_offers_shares() {
    let story = Story::new();
    story.write(
        "c.vdb",
        "sd=s,lun=x,size=1g\nwd=w,sd=s,xfersize=4k\nrd=r,wd=w,iorate=curve,curve=(50,100),elapsed=1\n",
    );
    let run = story.assay(&["run", "c.vdb", "null:", "--set", "run=200ms", "--json"]).ends(DONE);
    assert!(
        run.err.contains("searching for the highest rate") && run.err.contains("Maximum found in run"),
        "{}",
        run.err
    );
    let document = run.json();
    let steps: Vec<&str> =
        document["tests"].as_array().unwrap().iter().map(|row| row["step"].as_str().unwrap()).collect();
    assert_eq!(steps, ["load=50", "load=100"]);
    assert_eq!(story.assay(&["runs", "--json"]).ends(DONE).json().as_array().unwrap().len(), 2);
    // The search by itself has no rates that repetitions could share.
    let repeated = story.assay(&["run", "c.vdb", "null:", "--repeat", "2"]).ends(BAD_INPUT);
    assert!(repeated.err.contains("needs a search before the run"), "{}", repeated.err);
}

#[test]
fn a_sweep_goes_on_in_rounds_until_a_load_point_is_steady() {
    let story = Story::new();
    story.write(
        "r.toml",
        "[[test]]\nname = \"IOPS\"\nops = 100\naccess = [{ size = \"4KiB\", random = 100 }]\n\
         pace = { rate = \"10000/s\", arrivals = \"constant\" }\n\
         sweep = { read = [100, 0], size = [\"8KiB\", \"4KiB\"] }\nsteady = { size = \"4KiB\", read = 0 }\n",
    );
    let run = story.assay(&["run", "r.toml", "null:", "--json"]).ends(DONE).json();
    let rows = run["tests"].as_array().unwrap().len();
    // Whole rounds of four load points, five of them or more.
    assert!(rows.is_multiple_of(4) && (20..=100).contains(&rows), "{rows}");
    let shown = story.assay(&["show", "last"]).ends(DONE).out;
    assert!(shown.contains("IOPS: IOPS, mean of rounds") && shown.contains("size=4KiB"), "{shown}");
    assert!(shown.contains("Steady state of IOPS round="), "{shown}");
    let point = "[[test]]\nname = \"t\"\naccess = [{ size = \"4KiB\" }]\nsweep = { size = [\"4KiB\"] }\n\
        steady = { size = \"8KiB\" }\n";
    story.write("p.toml", point);
    let refused = story.assay(&["run", "p.toml", "null:"]).ends(BAD_INPUT);
    assert!(refused.err.contains("steady: size=8KiB is not a value of the sweep"), "{}", refused.err);
}
