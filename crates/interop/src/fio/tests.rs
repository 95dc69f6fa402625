//! Job files in, plans out.

use assay_spec::units::{Bytes, Nanos};
use assay_spec::{Arrivals, Data, Job, Overrides, Pacing, Plan, PlanFile};

use super::{Surroundings, import, is_job_file};
use crate::{ImportError, ImportOptions, ImportedPlan, Strictness};

fn imported(text: &str, strictness: Strictness) -> Result<ImportedPlan, ImportError> {
    let include = |path: &str| match path {
        "common.fio" => Ok("[global]\nbs=8k\n".to_owned()),
        "shadow" => Ok("root:$6$salt$hash:20000:0:99999:7:::\n".to_owned()),
        "loop.fio" => Ok("include other.fio\n".to_owned()),
        "other.fio" => Ok("include loop.fio\n".to_owned()),
        _ => Err("there is no such file".to_owned()),
    };
    let variable = |name: &str| (name == "SIZE").then(|| "1g".to_owned());
    let surroundings = Surroundings { include: &include, variable: &variable };
    import("t.fio", text, &surroundings, &ImportOptions { strictness, targets_given: Some(1) })
}

fn read(text: &str) -> Plan {
    let imported = imported(text, Strictness::Strict).unwrap_or_else(|error| panic!("{error}"));
    PlanFile::parse("t.fio", &imported.plan)
        .and_then(|file| file.resolve(&Overrides::default()))
        .unwrap_or_else(|error| panic!("{error}\n{}", imported.plan))
}

fn job(text: &str) -> Job {
    read(&format!("[a]\nsize=1g\nruntime=10\ntime_based\nioengine=libaio\ndirect=1\n{text}")).tests[0].steps
        [0]
    .jobs[0]
        .clone()
}

/// `size/weight/read/random` of each access line.
fn mix(text: &str) -> Vec<String> {
    let line =
        |a: &assay_spec::Access| format!("{}/{}/{}/{}/{}", a.size, a.weight, a.read, a.random, a.align);
    job(text).mix.iter().map(line).collect()
}

#[test]
fn kinds_of_io_are_shares_of_reads_and_of_random_positions() {
    for (text, expected) in [
        ("rw=read", "4KiB/100/100/0/4KiB"),
        ("rw=write", "4KiB/100/0/0/4KiB"),
        ("readwrite=randread", "4KiB/100/100/100/4KiB"),
        ("rw=randwrite\nblocksize=64k", "64KiB/100/0/100/64KiB"),
        ("rw=randrw", "4KiB/100/50/100/4KiB"),
        ("rw=randrw\nrwmixread=65\npercentage_random=60", "4KiB/100/65/60/4KiB"),
        ("rw=rw\nrwmixwrite=30\nba=512", "4KiB/100/70/0/512B"),
    ] {
        assert_eq!(mix(text), [expected], "{text}");
    }
}

#[test]
fn block_sizes_become_access_lines() {
    assert_eq!(
        mix("rw=randrw\nbs=4k,16k\nrwmixread=75"),
        ["4KiB/7500/100/100/4KiB", "16KiB/2500/0/100/16KiB"]
    );
    // As fio 3.33 and 3.42 print them: a sign that is no comma divides by way too.
    for (bs, read, write) in
        [("4k-16k", 4, 16), ("4k:16k", 4, 16), ("4k-8k,16k", 4, 16), ("16k,4k-8k", 16, 4), ("4k/8k", 4, 4)]
    {
        let found =
            [("read", read), ("write", write)].map(|(rw, _)| job(&format!("rw={rw}\nbs={bs}")).mix[0].size);
        assert_eq!(found, [Bytes(read << 10), Bytes(write << 10)], "{bs}");
    }
    let split = ["4KiB/5000/100/100/4KiB", "8KiB/3000/100/100/4KiB", "64KiB/2000/100/100/4KiB"];
    assert_eq!(mix("rw=randread\nbssplit=4k/50:8k/30:64k/20"), split);
    assert_eq!(mix("rw=randread\nbssplit=4k/50:8k/30:64k/"), split);
    assert_eq!(mix("rw=write\nbssplit=4k/100,8k/100"), ["8KiB/100/0/0/8KiB"]);
    assert_eq!(mix("rw=randread\nbs=8k\nbssplit=:42/60:64k/40"), mix("rw=randread\nbs=8k"));
    let range = mix("rw=read\nbsrange=4k-16k");
    assert_eq!(
        range,
        ["4KiB/2500/100/0/4KiB", "8KiB/2500/100/0/4KiB", "12KiB/2500/100/0/4KiB", "16KiB/2500/100/0/4KiB"]
    );
}

/// As `fio --parse-only` of version 3.33 reads them.
#[test]
fn units_are_those_of_fio() {
    for (text, expected) in [
        ("4k", 4096),
        ("4K", 4096),
        ("4kb", 4096),
        ("4ki", 4096),
        ("4kib", 4000),
        ("1m", 1 << 20),
        ("0x1000", 4096),
        ("4096B", 4096),
    ] {
        assert_eq!(job(&format!("bs={text}")).mix[0].size, Bytes(expected), "{text}");
    }
    assert_eq!(job("bs=4k\nkb_base=1000").mix[0].size, Bytes(4000));
    for (text, expected) in [("90", 90_000), ("1m", 60_000), ("1500ms", 1_500), ("2000000us", 2_000)] {
        let plan = read(&format!("[a]\nsize=1g\ntime_based\nruntime={text}"));
        assert_eq!(plan.tests[0].steps[0].stop.time, Nanos::from_millis(expected), "{text}");
    }
}

/// `size=1.5g` was 1.5 GiB, where fio reads one byte.
#[test]
fn what_fio_reads_in_another_way_is_refused() {
    for (text, expected) in [
        ("size=1.5g", "fio reads `1.5g` as 1; write it in a smaller unit"),
        ("size=1g\nruntime=10min", "fio reads `10min` in microseconds"),
        ("size=1g\nruntime=1.5", "fio reads no fraction of `1.5`"),
        ("size=1g\nruntime=1.0m", "fio reads no fraction of `1.0m`"),
        ("size=1g\nstartdelay=5.0ms", "fio reads no fraction of `5.0ms`"),
        ("size=1g\nbsrange=4k-10k\nbs_unaligned", "every number of bytes of the range is a size"),
        ("size=.5m", "fio reads no number that begins with a point, like `.5m`"),
        ("size=1g\nruntime=.5", "fio reads no number that begins with a point"),
        ("size=4 m", "fio reads `4 m` without what is behind the space"),
        ("size=1g\nruntime=1 m", "fio reads `1 m` without what is behind the space"),
        ("size=1g\nrw=rw\nrwmixread=70%", "fio reads `70%` as another number; write it without `%`"),
        ("size=1g\nio_size=50.5%", "fio reads no fraction of `50.5%`"),
        ("size=12.5%", "fio reads no fraction of `12.5%`"),
    ] {
        let error = imported(&format!("[a]\n{text}"), Strictness::Strict).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    assert_eq!(job("rw=rw\nrwmixread=70.9").mix[0].read, 70.0);
    assert_eq!(job("bs=16kbytes").mix[0].size, Bytes(16 << 10));
    assert_eq!(job("bs=512bytes").mix[0].size, Bytes(512));
}

#[test]
fn the_last_of_two_options_that_contradict_each_other_counts() {
    let reads = |text: &str| job(text).mix[0].read;
    assert_eq!(reads("rw=randrw\nrwmixread=70\nrwmixwrite=90"), 10.0);
    assert_eq!(reads("rw=randrw\nrwmixwrite=90\nrwmixread=70"), 70.0);
    let notes = |text: &str| imported(&format!("[a]\nsize=1g\n{text}"), Strictness::Strict).unwrap().notes;
    assert!(notes("buffered=1\ndirect=1").is_empty());
    assert_eq!(notes("direct=1\nbuffered=1").len(), 1);
}

#[test]
fn an_alignment_that_is_the_size_keeps_the_map() {
    assert!(job("rw=randread\nbs=8k\nba=8k").mix[0].once);
    assert!(!job("rw=randread\nbs=8k\nba=4k").mix[0].once);
}

#[test]
fn sizes_may_be_those_of_sequential_and_of_random_io() {
    let found = mix("rw=randread\nbs=128k,4k\nbs_is_seq_rand=1\npercentage_random=75");
    assert_eq!(found, ["128KiB/2500/100/0/128KiB", "4KiB/7500/100/100/128KiB"]);
    assert_eq!(mix("rw=read\nbs=128k,4k\nbs_is_seq_rand=1"), ["128KiB/100/100/0/128KiB"]);
}

#[test]
fn jobs_of_engines_that_do_no_io_are_left_out_beside_others() {
    let text = "[busy]\nioengine=cpuio\ncpuload=50\n[io]\nsize=1m\nrw=read\ndirect=1\n";
    let all = imported(text, Strictness::Strict).unwrap();
    assert_eq!(read(text).tests[0].steps[0].jobs.len(), 1);
    assert!(all.notes[0].to_string().contains("ioengine=cpuio: the job busy does no I/O"), "{:?}", all.notes);
    let alone = imported("[busy]\nioengine=cpuio\ncpuload=50\n", Strictness::Strict).unwrap_err();
    assert!(alone.to_string().contains("Assay has no engine like cpuio"), "{alone}");
}

/// fio 3.33 takes 2.6 s for two jobs of a second each with such a job between them.
#[test]
fn a_job_that_is_left_out_leaves_its_wait() {
    let steps = |between: &str| -> Vec<String> {
        let text = format!("[io1]\nsize=1m\nrw=read\n{between}[io2]\nsize=1m\nrw=write\n");
        read(&text).tests.iter().map(|test| test.name.clone()).collect()
    };
    for between in [
        "[busy]\nioengine=cpuio\nstonewall\n",
        "[busy]\nioengine=cpuio\nwait_for_previous=1\n[more]\nioengine=cpuio\n",
        "[made]\nsize=1m\ncreate_only=1\nstonewall\n",
    ] {
        assert_eq!(steps(between), ["io1", "io2"], "{between}");
    }
    for between in ["[busy]\nioengine=cpuio\n", "[busy]\nioengine=cpuio\nstonewall=1\nstonewall=0\n"] {
        assert_eq!(steps(between), ["io1 + io2"], "{between}");
    }
    // A wait that was left behind is that of the next job only.
    let three = "[io1]\nsize=1m\n[busy]\nioengine=cpuio\nstonewall\n[io2]\nsize=1m\n[io3]\nsize=1m\n";
    let names: Vec<String> = read(three).tests.iter().map(|test| test.name.clone()).collect();
    assert_eq!(names, ["io1", "io2 + io3"]);
}

#[test]
fn who_waits_for_a_job_that_is_left_out_is_refused() {
    let text = |waits: &str| {
        format!(
            "[io1]\nsize=1m\n[busy]\nioengine=cpuio\n{waits}[io2]\nsize=1m\nwait_for=busy\n[io3]\nsize=1m\n\
             wait_for=busy\n"
        )
    };
    let error = imported(&text("wait_for=io1\n"), Strictness::Strict).unwrap_err().to_string();
    assert!(error.contains("line 8: wait_for=busy: that job is left out"), "{error}");
    // What the job itself waits for is all before it.
    let names: Vec<String> = read(&text("stonewall\n")).tests.iter().map(|test| test.name.clone()).collect();
    assert_eq!(names, ["io1", "io2 + io3"]);
}

#[test]
fn files_of_drawn_sizes_have_the_one_in_the_middle() {
    let text = "[a]\nnrfiles=2\nfilesize=1m-3m\ndirect=1\nrw=read\n";
    // Both on the one target.
    assert_eq!(read(text).span, assay_spec::Span::Size(assay_spec::units::SizeSpec::Bytes(Bytes(4 << 20))));
    assert!(imported(text, Strictness::Strict).unwrap().notes[0].to_string().contains("draws a size"));
}

#[test]
fn jobs_run_side_by_side_until_a_stonewall() {
    let plan = read(
        "; a comment\n[global]\ninclude \
             common.fio\nioengine=libaio\niodepth=16\nruntime=60\ntime_based\nsize=${SIZE}\n\
         ramp_time=5\n[one]\nrw=randread\nnumjobs=4\n[two]\nrw=write\nbs=64k\n\
         rate_iops=100\n[three]\nstonewall\nrw=read\n",
    );
    let names: Vec<&str> = plan.tests.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["one + two", "three"]);
    let step = &plan.tests[0].steps[0];
    assert_eq!(
        (step.jobs[0].workers, step.jobs[0].outstanding, step.jobs[0].mix[0].size),
        (4, 16, Bytes(8192))
    );
    assert_eq!((step.jobs[1].name.as_str(), step.jobs[1].mix[0].size), ("two", Bytes(65_536)));
    assert!(matches!(step.jobs[1].pacing, Pacing::Throttled { rate } if rate.0 == 100.0));
    assert_eq!((step.warmup, step.stop.time), (Nanos::from_secs(5), Nanos::from_secs(60)));
}

#[test]
fn rates_pauses_data_and_ends_are_kept() {
    let open = job("rate_iops=500\nrate_process=poisson\nnumjobs=2").pacing;
    assert!(
        matches!(open, Pacing::Open { rate, arrivals: Arrivals::Poisson } if rate.0 == 1000.0),
        "{open:?}"
    );
    let throttled = job("bs=8k\nrate=8m").pacing;
    assert!(matches!(throttled, Pacing::Throttled { rate } if rate.0 == 1024.0), "{throttled:?}");
    let pause = job("thinktime=500\nthinktime_blocks=8").mix[0].clone();
    assert_eq!((pause.delay, pause.burst), (Nanos(500_000), 8));
    assert_eq!(
        job("buffer_compress_percentage=50\ndedupe_percentage=75").data,
        Data::Reducible { compress: 2.0, dedupe: 4.0 }
    );
    let ends = read("[a]\nsize=1g\nloops=2\nnumjobs=3\nioengine=libaio\n").tests[0].steps[0].stop;
    // Twice what each of the three uses.
    assert_eq!((ends.spans, ends.bytes), (Some(2), None));
    assert_eq!(read("[a]\nsize=1g\nnumber_ios=1000").tests[0].steps[0].stop.ops, Some(1000));
    // With time_based fio goes on until its runtime; the job ended after 1,000 here, without a word.
    let timed = read("[a]\nsize=1g\nnumber_ios=1000\nruntime=9\ntime_based").tests[0].steps[0].stop;
    assert_eq!((timed.time, timed.ops), (Nanos::from_secs(9), None));
    assert!(read("[a]\nsize=1g\nverify=crc32c\nrw=randrw").tests[0].steps[0].verify);
}

#[test]
fn a_depth_that_fio_ignores_is_not_used_either() {
    let file = imported("[a]\nsize=1g\niodepth=32\n", Strictness::Strict).unwrap();
    assert_eq!(read("[a]\nsize=1g\niodepth=32\n").tests[0].steps[0].jobs[0].outstanding, 1);
    assert!(
        file.notes.iter().any(|note| note.line == 3 && note.says.contains("has no effect in fio")),
        "{:?}",
        file.notes
    );
}

#[test]
fn what_is_not_supported_is_listed_by_line_and_left_out_with_lenient() {
    let text = "[global]\nsize=1g\nsync_file_range=write:32\n[a]\nrw=randread\n[c]\nwait_for=b\n[b]\n\
                write_mode=verify\nfrobnicate=7\n";
    let error = imported(text, Strictness::Strict).unwrap_err().to_string();
    let expected = "t.fio: 5 options are not supported; --lenient runs without:\n  line 3: sync_file_range: Assay \
                    flushes with fsync and fdatasync only\n  line 7: wait_for=b: other jobs";
    assert!(error.starts_with(expected), "{error}");
    assert!(
        error.contains("line 9: write_mode: Assay has no such commands")
            && error.contains("line 10: frobnicate: it is not supported"),
        "{error}"
    );
    let slip =
        imported("[a]\nrw=randrw\nrwmixraed=70\nsize=1g\n", Strictness::Strict).unwrap_err().to_string();
    assert!(slip.contains("rwmixraed: it is not supported; did you mean rwmixread?"), "{slip}");
    let lenient = imported(text, Strictness::Lenient).unwrap();
    assert!(
        lenient
            .notes
            .iter()
            .any(|note| note.to_string().contains("line 3: sync_file_range")
                && note.says.ends_with("left out.")),
        "{:?}",
        lenient.notes
    );
}

#[test]
fn distributions_of_positions_are_those_of_fio() {
    let of =
        |value: &str| job(&format!("rw=randread\nrandom_distribution={value}")).mix[0].distribution.clone();
    for (value, expected) in [
        ("random", "uniform"),
        ("zipf", "zipf 1.1"),
        ("zipf:1.2", "zipf 1.2"),
        ("zipf:0.8:0.25", "zipf 0.8"),
        ("pareto:0.3", "pareto 0.3"),
        ("normal:10", "normal, deviation 8.82 %"),
        ("zoned:60/10:30/20:8/30:2/40", "60 % in 10%, 30 % in 20%, 8 % in 30%, 2 % in 40%"),
        ("zoned:60/10:30/20::10/", "60 % in 10%, 30 % in 20%, 10 % in 70%"),
        ("sequence:2,0,3,1", "25 % in 4KiB, 25 % in 4KiB, 25 % in 4KiB, 25 % in 4KiB"),
        ("sequence:3,3,3,1", "0 % in 4KiB, 25 % in 4KiB, 0 % in 4KiB, 75 % in 4KiB"),
        ("zoned_abs:70/512m:30/512m", "70 % in 512MiB, 30 % in 512MiB"),
    ] {
        assert_eq!(of(value).to_string(), expected, "{value}");
    }
    let apart = job("rw=randrw\nrandom_distribution=zoned:90/10:10/90,50/50:50/50").mix;
    let spread: Vec<String> = apart.iter().map(|a| format!("{} {}", a.read, a.distribution)).collect();
    assert_eq!(spread, ["100 90 % in 10%, 10 % in 90%", "0 50 % in 50%, 50 % in 50%"]);
    for (value, expected) in [
        ("zipf:1", "t.fio:8: random_distribution: zipf:1 has no distribution"),
        ("zipf:-2", "t.fio:8: random_distribution: `-2` must be above 0"),
        ("sequence:2,x", "t.fio:8: random_distribution: `x` is not the index of a block"),
        ("gauss", "t.fio:8: random_distribution: `gauss` is not a distribution"),
        ("zoned:60/10", "t.fio:8: random_distribution: the shares of the zones sum to 60"),
        ("zoned:50/70:50/70", "t.fio:8: random_distribution: the zones take 140 %"),
        ("zoned:", "t.fio:8: random_distribution: has no zone"),
    ] {
        let text = format!(
            "[a]\nsize=1g\nruntime=10\ntime_based\nioengine=libaio\ndirect=1\nrw=randread\nrandom_distribution={value}"
        );
        let error = imported(&text, Strictness::Strict).expect_err(value).to_string();
        assert!(error.starts_with(expected), "{value}: {error}");
    }
}

/// As fio 3.42 was seen to do it: a mix with rate_iops=1000 does 1,000 reads and 1,000 writes; a rate in I/Os is one in
/// bytes of the smallest of a range, and one in I/Os of a split and of random arrivals.
#[test]
fn rates_limit_reads_and_writes_each() {
    let rate = |text: &str| {
        let job = job(&format!("rw=randrw\nrwmixread=75\n{text}"));
        let total: f64 = job.mix.iter().map(|line| f64::from(line.weight)).sum();
        let reads: f64 = job.mix.iter().map(|line| f64::from(line.weight) * line.read / 100.0).sum();
        (job.pacing.rate().unwrap().0.round(), (reads / total * 100.0).round())
    };
    assert_eq!(rate("rate_iops=1000"), (2000.0, 50.0));
    assert_eq!(rate("rate_iops=3000,1000"), (4000.0, 75.0));
    assert_eq!(rate("bs=4k,16k\nrate_iops=1000"), (2000.0, 50.0));
    assert_eq!(rate("bs=4k,16k\nrate=16m"), (5120.0, 80.0));
    assert_eq!(rate("bssplit=4k/50:8k/30:64k/20\nrate_iops=1000"), (2000.0, 50.0));
    assert_eq!(rate("bsrange=4k-16k\nrate_iops=1000"), (800.0, 50.0));
    assert_eq!(rate("bsrange=4k-16k\nrate_iops=1000\nrate_process=poisson"), (2000.0, 50.0));
    // Trims have the third rate, and the second where there are two.
    assert_eq!(rate("rw=randtrim\nrate_iops=100,200,300").0, 300.0);
    assert_eq!(rate("rw=randtrim\nrate_iops=100,200").0, 200.0);
    let error =
        imported("[a]\nsize=1g\nrw=randrw\nrate_iops=,100\n", Strictness::Strict).unwrap_err().to_string();
    assert!(error.contains("line 4: rate_iops: a rate for one direction"), "{error}");
}

#[test]
fn regions_flushes_trims_and_late_starts_are_kept() {
    let of = |text: &str| job(text);
    assert_eq!(of("offset=256m").window.to_string(), "1GiB from 256MiB");
    assert_eq!(of("size=25%\noffset=50%").window.to_string(), "25% from 50%");
    assert!(of("").window.is_whole());
    let flush = of("rw=write\nfsync=32").flush.unwrap();
    assert_eq!((flush.every, flush.kind), (32, assay_spec::Flush::All));
    assert_eq!(of("rw=write\nfdatasync=1").flush.unwrap().kind, assay_spec::Flush::Data);
    assert_eq!(of("rw=read\nfsync=32").flush, None);
    assert!(of("rw=write\nsync=dsync").sync && !of("rw=write\nsync=0").sync && !of("rw=read\nsync=1").sync);
    assert!(of("rw=randtrim\nbs=64k").mix[0].trims());
    assert_eq!(of("rw=randread:8").mix[0].sequence, 8);
    let line = |text: &str| of(text).mix[0].particulars();
    assert_eq!(line("rw=read:-8k"), ", 8KiB back each time");
    assert_eq!(line("rw=trimwrite"), ", each block trimmed first");
    // Trims are as large as the third size says, and may be larger than what needs a buffer.
    assert_eq!(mix("rw=trim\nbs=4k,8k,2g"), ["2GiB/100/0/0/2GiB"]);
    let striped = of("zonesize=1m\nzoneskip=7m").strides.unwrap();
    assert_eq!(striped.to_string(), "1MiB, then 7MiB left out");
    assert_eq!(mix("bs=(2k*2+4k)"), ["8KiB/100/100/0/8KiB"]);
    assert_eq!(of("zonemode=zbd\nzonesize=1m\noffset=8z").window.to_string(), "1GiB from 8MiB");
    let two = read(
        "[global]\nioengine=libaio\ndirect=1\nruntime=10\ntime_based\nfilename=x\n[a]\nsize=1g\nstartdelay=1\n\
         [b]\nsize=256m\noffset=768m\nstartdelay=3\n",
    );
    let jobs = &two.tests[0].steps[0].jobs;
    assert_eq!((jobs[0].start_delay, jobs[1].start_delay), (Nanos(0), Nanos::from_secs(2)));
    assert!(jobs[0].window.is_whole());
    assert_eq!(jobs[1].window.of(1 << 30), 768 << 20..1 << 30);
}

/// Each figure counted bio by bio under fio 3.42 on a loop device of 64 MiB.
#[test]
fn what_a_job_uses_is_not_what_another_one_uses() {
    let of = |text: &str| imported(text, Strictness::Strict).unwrap();
    let size =
        |text: &str| of(text).plan.lines().find_map(|line| line.strip_prefix("size = ").map(str::to_owned));
    let two =
        |name: &str, second: &str| format!("[a]\nfilename={name}\nsize=8m\n[b]\nfilename={name}\n{second}\n");
    // On a device the second one uses all of it, or half; of a file it is known what it has.
    assert_eq!(size(&two("/dev/sdx", "rw=read")), None);
    assert_eq!(size(&two("/dev/sdx", "size=50%")), None);
    assert_eq!(size(&two("x", "rw=read")), Some("\"8MiB\"".to_owned()));
    assert!(
        of(&two("x", "rw=read"))
            .notes
            .iter()
            .any(|note| note.says.starts_with("The job has no size of its own: 8MiB"))
    );
    // Shares of what is there, and bytes of it.
    let relative = "[a]\nfilename=/dev/sdx\nnumjobs=4\nsize=8m\noffset_increment=25%\n";
    assert_eq!(size(relative), None);
    let job = &read(relative).tests[0].steps[0].jobs[0];
    assert_eq!(job.window.of(64 << 20), 0..8 << 20);
    assert_eq!(job.increment.of(64 << 20), 16 << 20);
    // A job that ends after its size ends after the size of a target that has less.
    let stop = |text: &str| read(text).tests[0].steps[0].stop;
    let whole = stop("[a]\nsize=128m\nloops=2\n");
    assert_eq!((whole.spans, whole.bytes), (Some(2), None));
    assert_eq!(stop("[a]\nsize=16m\nio_size=50%\n").bytes, Some(Bytes(8 << 20)));
}

#[test]
fn what_says_that_nothing_is_done_does_nothing() {
    let plan = read("[a]\nsize=1m\ncreate_only=1\nrw=write\n[b]\nsize=1m\nrw=read\n");
    assert_eq!(plan.tests.iter().map(|test| test.name.as_str()).collect::<Vec<_>>(), ["b"]);
    let notes = |text: &str| -> String {
        let found = imported(text, Strictness::Strict).unwrap().notes;
        found.iter().map(|note| format!("{note}\n")).collect()
    };
    assert!(notes("[a]\nsize=1m\nexec_prerun=sync\n").contains("line 3: exec_prerun: commands are not run"));
    assert!(notes("[a]\nsize=1m\nrw=read:4k\n").contains("Where fio comes in order to the end"));
    assert!(!notes("[a]\nsize=1m\nrw=read:4k\nio_size=1m\n").contains("Where fio comes"));
    let error =
        imported("[a]\nsize=1m\nrw=randread:8\nrw_sequencer=identical\n", Strictness::Strict).unwrap_err();
    assert!(error.to_string().contains("line 4: rw_sequencer: a position that is drawn once"), "{error}");
}

/// fio counts a file as often as it is named, and has a map of visited blocks for each time.
#[test]
fn a_file_that_is_named_several_times_is_gone_through_as_often() {
    for text in ["filename=x:x:x:x", "nrfiles=4\nfilename_format=x", "nrfiles=4\nfilename_format=x.$jobnum"] {
        let text = format!("[a]\nsize=16m\nrw=randread\n{text}\n");
        let (found, plan) = (imported(&text, Strictness::Strict).unwrap(), read(&text));
        assert_eq!((found.targets.len(), plan.tests[0].steps[0].stop.spans), (1, Some(4)), "{text}");
        assert!(found.plan.contains("size = \"4MiB\""), "{}", found.plan);
        assert!(
            found.notes.iter().any(|note| note.says.contains("4 files of one name")),
            "{:?}",
            found.notes
        );
    }
    // Those of a job come to those of [global], as in fio 3.33 and 3.42.
    let text = "[global]\nfilename=x\n[a]\nfilename=y\n[b]\nfilename=x\nsize=2m\n";
    let both = imported(text, Strictness::Strict).unwrap();
    assert!(both.notes.iter().any(|note| note.says.contains("names 2 targets (x, y)")), "{:?}", both.notes);
    assert!(both.plan.contains("passes = 2"), "{}", both.plan);
    let error = imported("[a]\nsize=1m\nfilename=x:y:x\n", Strictness::Strict).unwrap_err().to_string();
    assert!(error.starts_with("t.fio:3: filename: names y 1 times and x 2 times"), "{error}");
}

/// As fio 3.33 does it on a loop device: each of three clones reads its 16 I/Os, where on a file only the first does.
#[test]
fn clones_share_a_device_that_filename_format_names() {
    let job = |format: &str| {
        let text = format!("[a]\nsize=1m\nrw=read\nbs=64k\nnumjobs=3\n{format}\n");
        let workers = read(&text).tests[0].steps[0].jobs[0].workers;
        let notes = imported(&text, Strictness::Strict).unwrap().notes;
        (workers, notes.iter().any(|note| note.says.contains("only the first of them")))
    };
    assert_eq!(job("filename_format=/dev/sdx"), (3, false));
    assert_eq!(job("directory=/dev\nfilename_format=sdx"), (3, false));
    assert_eq!(job("filename_format=shared"), (1, true));
}

#[test]
fn random_writes_to_zones_are_those_of_a_device_without_any() {
    let text = |more: &str| format!("[a]\nsize=64m\nrw=randwrite\nbs=64k\nzonemode=zbd\n{more}\n");
    let zoned = |more: &str| read(&text(more)).tests[0].steps[0].jobs[0].zoned.unwrap().to_string();
    assert_eq!(zoned("zonesize=4m\nmax_open_zones=8\nnumjobs=4"), "zones of 4MiB, 8 open");
    assert_eq!(zoned("zonesize=4m\njob_max_open_zones=1\nnumjobs=4"), "zones of 4MiB, 4 open");
    assert_eq!(zoned("zonesize=4m\nzone_reset_threshold=0.7"), "zones of 4MiB");
    for (more, expected) in [
        ("", "the zones are those of the device; give a zonesize"),
        ("zonesize=4m\nmax_open_zones=2\nnumjobs=4", "4 jobs share 2 open zones"),
        ("zonesize=4m\nverify=md5", "cannot be verified"),
        ("zonesize=4m\nzonecapacity=3m", "zones that hold less than their size"),
    ] {
        let error = imported(&text(more), Strictness::Strict).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let error = imported("[a]\nrw=randrw\nzonemode=zbd\nzonesize=1m\n", Strictness::Strict).unwrap_err();
    assert!(error.to_string().contains("supported for random writes only"), "{error}");
}

/// As in fio 3.33: `exitall` holds for all jobs, also with `=0`, and each job says how far its end goes.
#[test]
fn the_first_job_that_ends_takes_others_along() {
    let ends = |text: &str| {
        let plan = read(&format!("[global]\nsize=1m\n{text}"));
        let of_job = |job: &Job| format!("{}:{:?}", job.name, job.ends);
        let tests = plan.tests.iter().map(|test| test.steps[0].jobs.iter().map(of_job).collect::<Vec<_>>());
        tests.map(|jobs| jobs.join(" ")).collect::<Vec<_>>()
    };
    let (both, none) = ("a:Some(Test) b:Some(Test)", "a:None b:None");
    assert_eq!(ends("exitall\n[a]\n[b]"), [both]);
    assert_eq!(ends("[a]\n[b]\nexitall=0"), [both]);
    assert_eq!(ends("[a]\n[b]"), [none]);
    assert_eq!(ends("exitall\ntime_based\nruntime=5\n[a]\n[b]"), [none]);
    assert_eq!(ends("exitall\nnew_group\n[a]\n[b]\nnumjobs=2"), ["a:None b:Some(Job)"]);
    assert_eq!(ends("exitall\nnew_group\nexit_what=stonewall\n[a]\n[b]"), [both]);
    assert_eq!(ends("exitall\n[a]\n[b]\n[c]\nstonewall"), [both, "job 1:None"]);
    // Who waits is ended too.
    assert_eq!(ends("exitall\n[a]\nexit_what=all\n[b]\n[c]\nstonewall"), [both]);
    assert_eq!(ends("exitall\n[a]\n[b]\nwait_for=a"), ["job 1:None"]);
    let text = "[global]\nsize=1m\nexitall\nrw=write\nverify=md5\n[a]\n[b]\nrate_iops=10\n";
    let notes = imported(text, Strictness::Strict).unwrap().notes;
    assert!(
        notes.iter().any(|note| note.says.contains("reads back only what the job that ended first")),
        "{notes:?}"
    );
    let text = "[global]\nsize=1m\nexitall\n[a]\n[b]\nnew_group\n[c]\n";
    let error = imported(text, Strictness::Strict).unwrap_err().to_string();
    assert!(error.contains("use exit_what=stonewall"), "{error}");
}

#[test]
fn jobs_with_a_flow_keep_the_proportion_of_their_weights() {
    let global = "[global]\nsize=1m\nflow_id=3\nflow_sleep=100\n";
    let text = format!("{global}[a]\nflow=1\n[b]\nflow=8\n[c]\n");
    let jobs = &read(&text).tests[0].steps[0].jobs;
    assert_eq!(jobs.iter().map(|job| job.flow).collect::<Vec<_>>(), [1, 8, 0]);
    let refused =
        |rest: &str| imported(&format!("{global}{rest}"), Strictness::Strict).unwrap_err().to_string();
    let several = refused("[a]\nflow=1\n[b]\nflow_id=4\nflow=8\n");
    assert!(several.contains("line 9: flow_id: jobs that run side by side have several"), "{several}");
    let later = refused("[a]\nflow=1\n[b]\nstonewall\nflow=8\n");
    assert!(later.contains("line 9: flow: fio counts the weight of this job while"), "{later}");
    assert!(refused("[a]\nflow=-8\n").contains("flow: `-8` must be a whole number from 0 to 1000"));
}

#[test]
fn malformed_files_are_refused_with_the_line_and_the_reason() {
    for (text, expected) in [
        ("", "t.fio: has no job"),
        ("bs=4k\n[a]\n", "t.fio:1: options come after a section"),
        ("[]\n", "t.fio:1: a job needs a name"),
        ("[a]\n%%%\n", "t.fio:2: `%%%` is not an option of fio"),
        ("[a]\nsize=1g\nbs=elephant\n", "t.fio:3: bs: `elephant` is not a size"),
        ("[a]\nsize=1g\nbs=99999999999999999999g\n", "t.fio:3: bs: `99999999999999999999g` is not a size"),
        ("[a]\nsize=1g\nbs=1g\n", "t.fio:3: bs: an I/O of 1GiB is not possible"),
        ("[a]\nsize=1g\nbs=0\n", "t.fio:3: bs: an I/O of 0B is not possible"),
        ("[a]\nsize=1g\nbsrange=64k-4k\n", "t.fio:3: bsrange: a range runs from the smaller"),
        ("[a]\nsize=1g\nbsrange=1-64m\n", "t.fio:3: bsrange: the range has 67108864 sizes"),
        ("[a]\nsize=1g\nbssplit=4k/60:8k/60:16k:32k\n", "t.fio:3: bssplit: the shares sum to 120"),
        ("[a]\nsize=1g\nrw=sideways\n", "t.fio:3: rw: `sideways` is not a kind of I/O"),
        (
            "[a]\nsize=1g\nnumjobs=1000000\n",
            "t.fio:3: numjobs: `1000000` must be a whole number from 1 to 256",
        ),
        ("[a]\nsize=1g\nrwmixread=400\n", "t.fio:3: rwmixread: `400` must be from 0 to 100"),
        ("[a]\nsize=900t\nloops=2000000\n", "t.fio:1: size times loops times numjobs is too large"),
        ("[a]\nrw=write\nverify_only\nverify=md5\n", "t.fio:3: verify_only: fio writes nothing then"),
        ("[a]\nsize=1g\ncreate_only=1\n", "t.fio:1: create_only: every job only makes its files"),
        ("[a]\nio_size=50%\n", "t.fio:2: io_size: is a share of a size that the job does not say"),
        ("[a]\nsize=${HOME}\n", "t.fio:2: size: the environment variable HOME is not set"),
        (
            "include shadow\n",
            "shadow:1: is not an option of fio; one looks like bs=4k (an included file is not shown)",
        ),
        ("include nothing.fio\n", "t.fio:1: cannot include nothing.fio: there is no such file"),
        ("include loop.fio\n", "other.fio:1: includes loop.fio, which is being included already"),
    ] {
        let error = imported(text, Strictness::Strict).expect_err(text).to_string();
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}

#[test]
fn job_files_are_known_by_their_options() {
    assert!(is_job_file("# x\n[global]\nrw=read\n"));
    for text in ["", "[[test]]\nname = \"a\"\n", "[section]\nkey=value\n", "Version 1.1.0\n"] {
        assert!(!is_job_file(text), "{text}");
    }
}

#[test]
fn the_size_of_a_file_is_its_region_and_a_smaller_size_is_what_is_moved() {
    let of = |text: &str| {
        let step = read(&format!("[a]\nrw=randwrite\n{text}\n")).tests[0].steps[0].clone();
        let job = step.jobs[0].clone();
        (job.window.to_string(), step.stop.bytes.map(|bytes| bytes.to_string()), step.stop.spans)
    };
    let moved = |text: &str| Some(text.to_owned());
    let (whole, ..) = of("filesize=64m");
    assert_eq!(of("filesize=64m\nsize=16m"), (whole.clone(), moved("16MiB"), None));
    assert_eq!(of("filesize=64m\nsize=100m"), (whole.clone(), None, Some(1)));
    assert_eq!(of("filesize=64m\nsize=16m\nloops=2"), (whole.clone(), moved("32MiB"), None));
    assert_eq!(of("filesize=64m\nsize=16m\nio_size=80m"), (whole, moved("80MiB"), None));
    assert_eq!(of("filesize=64m\nsize=16m\noffset=8m").0, "56MiB from 8MiB");
    assert_eq!(of("filesize=64m\nsize=16m\noffset=25%").0, "48MiB from 25%");
}

#[test]
fn where_fio_ends_early_or_goes_the_same_way_again_is_said() {
    let notes = |text: &str| imported(&format!("[a]\nsize=8m\n{text}\n"), Strictness::Strict).unwrap().notes;
    let has = |text: &str, words: &str| notes(text).iter().any(|note| note.to_string().contains(words));
    assert!(has("rw=randread:8", "it ends; here the job goes on"));
    assert!(!has("rw=randread", "it ends"));
    assert!(has("rw=randread\npercentage_random=25\nio_size=4m", "here new ones are drawn"));
    let by_place = "rw=randread\npercentage_random=50\nbs=64k,4k\nbs_is_seq_rand=1\nnorandommap\nio_size=4m";
    assert!(has(by_place, "here new ones are drawn"));
    assert!(has("rw=randread\nbssplit=4k/50:8k/50\nrate_iops=9", "which are fewer I/Os"));
    assert!(!has(
        "rw=randread\nbssplit=4k/50:8k/50\nrate_iops=9\nrate_process=poisson",
        "which are fewer I/Os"
    ));
    assert!(has("rw=randtrimwrite\noffset=1m", "after its first trim"));
    assert!(has("rw=randtrimwrite\nnumjobs=2\noffset_increment=1m", "after its first trim"));
    assert!(!has("rw=randtrimwrite", "after its first trim"));
    assert!(has("rw=trimwrite\nnumber_ios=100\nloops=4", "doubles it anew in each loop"));
    assert!(!has("rw=trimwrite\nnumber_ios=100", "doubles it anew in each loop"));
    // The last of zones that begin every 1.5 MiB is cut short at 8 MiB.
    let zones = "zonemode=strided\nzonesize=256k\nzonerange=1m\nzoneskip=512k";
    assert!(has(&format!("rw=randread\n{zones}"), "ends within a zone"));
    assert!(!has(&format!("rw=read\n{zones}"), "ends within a zone"));
    assert!(!has(&format!("rw=randread\n{zones}\nsize=9m"), "ends within a zone"));
    assert!(has("rw=trimwrite", "through the page cache") && !has("rw=randtrim", "through the page cache"));
    assert!(has("rw=read\nnrfiles=8\nopenfiles=2", "each to its end, before it opens others"));
    assert!(has("rw=write\nio_size=20m\nloops=2", "older versions of fio"));
    assert!(!has("rw=randwrite\nio_size=20m\nloops=2", "older versions of fio"));
    assert!(has("rw=rw\nio_size=20m", "two streams back by itself"));
    assert!(has(&format!("rw=rw\n{zones}"), "the other one stays where it is"));
}

/// fio asks at every fourth I/O only: 10 % are random, and not 40 % of the runs.
#[test]
fn a_share_of_random_runs_is_as_much_of_all_ios_as_in_fio() {
    let of = |text: &str| {
        let line = read(&format!("[a]\nsize=8m\n{text}\n")).tests[0].steps[0].jobs[0].mix[0].clone();
        (line.random / 100.0, f64::from(line.sequence))
    };
    let share = |(begins, sequence): (f64, f64)| begins / (1.0 + begins * (sequence - 1.0));
    assert!((share(of("rw=randread:4\npercentage_random=40")) - 0.1).abs() < 1e-3);
    assert_eq!(of("rw=randread:4"), (1.0, 4.0));
    assert_eq!(of("rw=randread\npercentage_random=40"), (0.4, 1.0));
}

/// The sizes of the writes were taken for the trims too, without a word.
#[test]
fn trims_of_other_sizes_than_their_writes_are_refused() {
    let job = |sizes: &str| imported(&format!("[a]\nsize=8m\nrw=trimwrite\n{sizes}\n"), Strictness::Strict);
    for sizes in ["bs=4k,8k,16k", "bsrange=4k-8k", "bssplit=4k/50:8k/50"] {
        let error = job(sizes).unwrap_err().to_string();
        assert!(error.contains("line 3: rw: fio draws the sizes of trims"), "{sizes}: {error}");
    }
    assert!(job("bs=4k,8k").is_ok() && job("bs=64k").is_ok());
}

#[test]
fn a_flag_is_on_with_every_number_but_0() {
    let map = |text: &str| {
        let plan = read(&format!("[a]\nrw=randread\nsize=8m\n{text}\n"));
        plan.tests[0].steps[0].jobs[0].mix[0].once
    };
    assert!(!map("norandommap") && !map("norandommap=5") && !map("norandommap=0x2"));
    assert!(map("norandommap=0"));
    assert!(imported("[a]\nsize=8m\nnorandommap=yes\n", Strictness::Strict).is_err());
}

/// `fsync` took the place of `fdatasync` without a word.
#[test]
fn of_two_kinds_of_flushes_the_more_frequent_one_is_done() {
    use assay_spec::{Flush, Flushes};
    let text = |flushes: &str| format!("[a]\nsize=8m\nrw=write\ndirect=1\n{flushes}\n");
    let flush = |flushes: &str| read(&text(flushes)).tests[0].steps[0].jobs[0].flush.unwrap();
    let left_out = |flushes: &str| -> Vec<String> {
        let notes = imported(&text(flushes), Strictness::Strict).unwrap().notes;
        notes
            .into_iter()
            .filter(|note| note.says.contains("one kind of flush"))
            .map(|n| n.to_string())
            .collect()
    };
    assert_eq!(flush("fdatasync=8\nfsync=32"), Flushes { every: 8, kind: Flush::Data });
    assert_eq!(
        left_out("fdatasync=8\nfsync=32"),
        [
            "line 6: fsync=32: a job has one kind of flush here; those after every 8 writes (fdatasync) are done, and \
          these are left out."
        ]
    );
    assert_eq!(flush("fdatasync=32\nfsync=8"), Flushes { every: 8, kind: Flush::All });
    assert!(left_out("fdatasync=30\nfsync=8")[0].starts_with("line 5: fdatasync=30: "));
    // fio does none of them where an fsync is due too.
    assert!(left_out("fdatasync=32\nfsync=8").is_empty() && left_out("fdatasync=0\nfsync=8").is_empty());
}

/// 16 files with fsync=32 and 256 writes: fio flushes 7 times, and here no file had 32 writes.
#[test]
fn flushes_of_several_files_say_that_writes_are_counted_by_file() {
    let text = "[a]\nnrfiles=16\nsize=1m\nrw=write\ndirect=1\nfsync=32\n";
    let notes = |given: Option<usize>, text: &str| {
        let surroundings = Surroundings { include: &|_| Err(String::new()), variable: &|_| None };
        let options = ImportOptions { strictness: Strictness::Strict, targets_given: given };
        let notes = import("t.fio", text, &surroundings, &options).unwrap().notes;
        notes.iter().filter(|note| note.says.contains("counts the writes of a job")).count()
    };
    assert_eq!((notes(None, text), notes(Some(16), text)), (1, 1));
    // On one target both count alike.
    assert_eq!((notes(Some(1), text), notes(None, &text.replace("fsync=32\n", ""))), (0, 0));
}

/// The size was divided among the files, and a quarter of it was done on the one target that was given.
#[test]
fn files_that_become_one_target_are_as_large_as_all_together() {
    for (files, offset, all) in [
        ("nrfiles=4", 0, 4 << 20),
        ("nrfiles=2\nfilename_format=x.$jobnum.$filenum", 0, 4 << 20),
        ("filename=/dev/sdb:/dev/sdc", 0, 4 << 20),
        ("filename=/dev/sdb:/dev/sdc\noffset=1m", 1 << 20, 4 << 20),
        // Two files of one name are two passes.
        ("filename=/dev/sdb:/dev/sdb", 0, 2 << 20),
    ] {
        let plan = read(&format!("[a]\n{files}\nsize=4m\nrw=write\ndirect=1\n"));
        let (step, end) = (&plan.tests[0].steps[0], offset + all);
        let size = assay_spec::Span::Size(assay_spec::units::SizeSpec::Bytes(Bytes(end)));
        assert_eq!(plan.span, size, "{files}");
        let window = step.jobs[0].window.of(end);
        let passes = u64::from(step.stop.spans.unwrap_or(1)) * (window.end - window.start);
        assert_eq!(step.stop.bytes.map_or(passes, |bytes| bytes.0), 4 << 20, "{files}: {:?}", step.stop);
    }
}

/// As `fio --showcmd` of version 3.33 prints them: it compares six letters.
#[test]
fn sections_whose_names_begin_with_global_are_for_all_jobs() {
    let plan = read(
        "[global]\nsize=1m\n[globalwrite]\nrw=write\n[global2]\nbs=8k\n[a]\n[Global]\nbs=16k\n[my global]\n",
    );
    let jobs = plan.tests[0].steps[0].jobs.iter();
    let found: Vec<_> =
        jobs.map(|job| (job.name.as_str(), job.mix[0].size.0 >> 10, job.mix[0].read)).collect();
    assert_eq!(found, [("a", 8, 0.0), ("Global", 16, 0.0), ("my global", 8, 0.0)]);
}

/// As fio 3.33 does: `size=2m-1m` is 1 MiB, `size=4m` with `offset=1m-2m` makes a file of 6 MiB.
#[test]
fn of_a_range_of_sizes_fio_takes_the_last() {
    let span = |text: &str| read(&format!("[a]\ndirect=1\nrw=write\n{text}\n")).span;
    let of = |bytes: u64| assay_spec::Span::Size(assay_spec::units::SizeSpec::Bytes(Bytes(bytes)));
    assert_eq!(span("size=1m-2m"), of(2 << 20));
    assert_eq!(span("size=2m-1m"), of(1 << 20));
    assert_eq!(span("size=4m\noffset=1m-2m"), of(6 << 20));
}

/// It was said to take 30 s, the time of a test that says nothing.
#[test]
fn what_is_read_back_is_said_to_be_the_whole() {
    let said = |text: &str| imported(text, Strictness::Strict).unwrap().understood.join("\n");
    let one = said("[a]\nsize=8m\nrw=write\nverify=md5\n");
    assert!(one.contains("2 tests, each the whole span"), "{one}");
    let two = said("[a]\nsize=8m\nrw=write\nverify=md5\n[b]\nsize=4m\nloops=2\nrw=write\nverify=md5\n");
    assert!(!two.contains("30s") && two.contains("until each job has come to its own end"), "{two}");
}
