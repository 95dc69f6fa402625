//! Command lines and scripts in, plans out.

use std::collections::HashMap;

use assay_spec::units::{Bytes, Nanos, SizeSpec};
use assay_spec::{Overrides, Plan, PlanFile};

use super::Surroundings;
use super::shell::{commands, expanded};
use crate::command::{import, import_script, is_command, is_script};
use crate::{ImportError, ImportOptions, ImportedPlan};

const OPTIONS: ImportOptions =
    ImportOptions { targets_given: Some(1), strictness: crate::Strictness::Strict };

fn surrounded<T>(read: impl Fn(&Surroundings<'_>) -> T) -> T {
    let include = |path: &str| match path {
        "disk.fio" => Ok("[global]\nbs=8k\nruntime=9\nsize=1g\n[one]\nrw=read\n[two]\nrw=write\n".to_owned()),
        _ => Err("there is no such file".to_owned()),
    };
    let variable = |name: &str| (name == "HOME").then(|| "/root".to_owned());
    read(&Surroundings { include: &include, variable: &variable })
}

fn line(text: &str) -> Result<ImportedPlan, ImportError> {
    surrounded(|surroundings| import(text, surroundings, &OPTIONS))
}

fn script(text: &str) -> Result<ImportedPlan, ImportError> {
    surrounded(|surroundings| import_script("bench.sh", text, surroundings, &OPTIONS))
}

fn plan(imported: Result<ImportedPlan, ImportError>) -> Plan {
    let imported = imported.unwrap_or_else(|error| panic!("{error}"));
    PlanFile::parse("fio", &imported.plan)
        .and_then(|file| file.resolve(&Overrides::default()))
        .unwrap_or_else(|error| panic!("{error}\n{}", imported.plan))
}

/// `test: size read/random workers x outstanding` of each job, tests parted by `;`.
fn said(plan: &Plan) -> String {
    let tests = plan.tests.iter().map(|test| {
        let job = |job: &assay_spec::Job| {
            let line = &job.mix[0];
            let (workers, depth) = (job.workers, job.outstanding);
            format!("{}: {} {}/{} {workers}x{depth}", job.name, line.size, line.read, line.random)
        };
        let name = |text: String| text.replacen("job 1", &test.name, 1);
        test.steps[0].jobs.iter().map(|j| name(job(j))).collect::<Vec<_>>().join(", ")
    });
    tests.collect::<Vec<_>>().join("; ")
}

#[test]
fn lines_as_people_paste_them_become_plans() {
    for (text, expected) in [
        (
            "fio --name=x --rw=randread --bs=4k --iodepth=32 --ioengine=libaio --filename=/mnt/x --runtime=60",
            "x: 4KiB 100/100 1x32",
        ),
        // As the documents of a cloud have it: one dash, the name last.
        (
            "fio -direct=1 -iodepth=128 -rw=randwrite -ioengine=libaio -bs=4k -size=1G -numjobs=4 -runtime=1000 \
             -group_reporting -filename=/dev/vdb -name=Rand_Write_Testing",
            "Rand_Write_Testing: 4KiB 0/100 4x128",
        ),
        // Values after a blank, switches without one, what says how fio prints, a pipe.
        (
            "sudo fio --name t --rw randrw --rwmixread 75 --bs 8k --size 1g --time_based --runtime 2m --direct 1 \
             --output-format=json --output /tmp/o.json --eta=never --ioengine io_uring --iodepth 8 2>&1 | tee log",
            "t: 8KiB 75/100 1x8",
        ),
        // Several jobs side by side, then one after the other; options before the first name are global.
        (
            "$ fio --bs=64k --size=1g --runtime=5 --name=a --rw=read --name=b --rw=write",
            "a: 64KiB 100/0 1x1, b: 64KiB 0/0 1x1",
        ),
        (
            "fio --name=global --bs=16k --size=1g --name=a --rw=read --name=b --stonewall --rw=write",
            "a: 16KiB 100/0 1x1; b: 16KiB 0/0 1x1",
        ),
        // Continued lines, and one that only goes on with options.
        ("fio --name=x \\\n    --rw=read --bs=1M \\\r\n    --size=1g\n  --numjobs=2", "x: 1MiB 100/0 2x1"),
        ("fio.exe --name='my job' --rw=read \"--size=1g\" ^\n --bs=32k", "my job: 32KiB 100/0 1x1"),
        (".\\fio.exe --name=x --size=1g", "x: 4KiB 100/0 1x1"),
        ("C:\\fio\\fio.exe --name=x --size=1g --bs=8k", "x: 8KiB 100/0 1x1"),
        ("PS C:\\Users\\me> .\\fio --name=x --size=1g --bs=8k", "x: 8KiB 100/0 1x1"),
        ("PS C:\\> ..\\fio.exe --name=x --size=1g --bs=8k", "x: 8KiB 100/0 1x1"),
        ("fio --rw=read --size=1g", "fio: 4KiB 100/0 1x1"),
        ("/usr/bin/fio disk.fio --section=two --output=x", "two: 8KiB 0/0 1x1"),
        ("fio --iodepth=4 --ioengine=libaio disk.fio", "one: 8KiB 100/0 1x4, two: 8KiB 0/0 1x4"),
        ("taskset -c 0-3 fio --name=x --size=1g", "x: 4KiB 100/0 1x1"),
        ("sudo -u fio fio --name=x --size=1g", "x: 4KiB 100/0 1x1"),
        ("sudo ionice -c2 -n0 nice -n -5 numactl -N 0 fio --name=x --size=1g", "x: 4KiB 100/0 1x1"),
        (
            "fio --name=a --size=1g --rw=read && fio --name=b --size=1g --rw=write",
            "a: 4KiB 100/0 1x1; b: 4KiB 0/0 1x1",
        ),
    ] {
        assert!(is_command(text), "{text}");
        assert_eq!(said(&plan(line(text))), expected, "{text}");
    }
    assert_eq!(line("fio.exe --name=x --filename=C\\:\\x.dat --size=1g").unwrap().targets.len(), 1);
    // Behind anything else than the letter of a drive sh takes the backslash, and fio splits the name.
    for (typed, taken) in [
        ("/tmp/a\\:/tmp/b", "/tmp/a:/tmp/b"),
        ("'/tmp/a\\:/tmp/b'", "/tmp/a\\:/tmp/b"),
        ("C\\:x:D\\:y", "C\\:x:D\\:y"),
    ] {
        let words = commands(&format!("fio --filename={typed}")).unwrap().remove(0).words;
        assert_eq!(words[1], format!("--filename={taken}"));
    }
    let timed = plan(line("fio --name=x --rw=read --size=100% --runtime=60 --time_based --ramp_time=5s"));
    assert_eq!(timed.tests[0].steps[0].stop.time, Nanos::from_secs(60));
    assert_eq!(timed.tests[0].steps[0].warmup, Nanos::from_secs(5));
}

#[test]
fn a_script_of_commands_runs_them_one_after_the_other() {
    let text = "#!/bin/bash\nset -e\nDEV=/dev/sdb  # the disk\nSIZE=2g\necho start\n\
                fio --name=seq --filename=$DEV --rw=read --bs=1m --size=${SIZE} --output=seq-$(date +%F).txt\n\
                sync; echo 3 > /proc/sys/vm/drop_caches\n\
                fio --name=rand --filename=$DEV --rw=randread --bs=4k --size=$SIZE --numjobs=4\n";
    assert!(is_script(text) && !is_command("DEV=x"));
    let imported = script(text).unwrap();
    assert_eq!(imported.targets, ["/dev/sdb"]);
    let notes: Vec<String> = imported.notes.iter().map(ToString::to_string).collect();
    assert!(notes.contains(&"line 7: `sync` is not fio; it is not run.".to_owned()), "{notes:?}");
    assert_eq!(notes.iter().filter(|note| note.contains("is not run")).count(), 1, "{notes:?}");
    assert_eq!(said(&plan(Ok(imported))), "seq: 1MiB 100/0 1x1; rand: 4KiB 100/100 4x1");
    let span = |text| plan(script(text)).span;
    assert_eq!(
        span("S=3g\nfio --name=a --rw=read --size=$S"),
        assay_spec::Span::Size(SizeSpec::Bytes(Bytes(3 << 30)))
    );
    assert_eq!(
        said(&plan(script("rem a disk\r\ndiskspd -b8K -d10 -o4 -t2 -w100 x.dat\r\n"))),
        "8KiB sequential write: 8KiB 0/0 2x4"
    );
}

#[test]
fn what_cannot_be_read_of_a_command_is_refused_with_the_reason() {
    let refused = |result: Result<ImportedPlan, ImportError>| result.unwrap_err().to_string();
    for (text, expected) in [
        ("fio --name=x --rw=write --size=1g --readonly", "readonly: forbids the writes of job x"),
        ("fio --name=x --size=1g --rw=sideways", "fio: rw: `sideways` is not a kind of I/O"),
        ("fio --name=x --size=1g --frobnicate=1", "frobnicate: it is not supported"),
        ("fio --name=x --size=$MUCH", "the variable MUCH is not set"),
        ("fio --name --size=1g", "--name needs the name of a job"),
        ("fio --cmdhelp=bs", "--cmdhelp is not supported"),
        ("fio missing.fio", "cannot read the job file missing.fio: there is no such file"),
        ("fio disk.fio --section=three", "--section=three: there is no job of that name"),
        ("fio --output=x", "has no job"),
        ("fio --name='x --size=1g", "a quotation mark is not closed"),
        ("fio --name=x --size=1g 5k=", "cannot read the job file 5k="),
    ] {
        let says = refused(line(text));
        assert!(says.contains(expected), "{text}: {says}");
    }
    for (text, expected) in [
        ("while true; do\nfio --name=x --size=1g\ndone\n", "bench.sh:1: `while`: loops and conditions"),
        ("if x; then\nfio --name=x --size=1g\nfi\n", "bench.sh:1: `if`: loops and conditions"),
        (
            "\nfor i in 1 2; do\nfio --name=x --size=1g\ndone\n",
            "bench.sh:2: `for`: loops and conditions of a shell are not carried out; \
             give the commands one by one (`set -x` prints",
        ),
        ("for ((i=0;i<3;i++)); do\nfio --name=x --size=1g\ndone", "bench.sh:1: `for`: "),
    ] {
        let says = refused(script(text));
        assert!(says.contains(expected), "{text}: {says}");
    }
    let long = "fio --name=x --size=1g\n".repeat(100_000);
    assert!(refused(script(&long)).contains("a script may have 1 MiB"));
    let many = "fio --name=x --size=1g\n".repeat(501);
    assert!(refused(script(&many)).contains("bench.sh:501: there are more than 500 commands"));
    assert!(!is_command("fio") && !is_command("/usr/bin/fio") && !is_command("./fio.d/x y"));
}

#[test]
fn words_are_split_as_a_shell_does() {
    let words = |text: &str| -> Vec<Vec<String>> {
        commands(text).unwrap().into_iter().map(|command| command.words).collect()
    };
    for (text, expected) in [
        ("a  b\tc", vec![vec!["a", "b", "c"]]),
        ("a 'b c' \"d \\\"e\\\"\" f\\ g", vec![vec!["a", "b c", "d \"e\"", "f g"]]),
        ("a >x 2>&1 b | c d\ne", vec![vec!["a", "b"], vec!["e"]]),
        ("a &> x; b & c || d", vec![vec!["a"], vec!["b"], vec!["c"], vec!["d"]]),
        ("a # b\n# c\nd$(e f) g", vec![vec!["a"], vec!["d$(e f)", "g"]]),
        ("a \\\n b \\\r\n c\\", vec![vec!["a", "b", "c"]]),
    ] {
        assert_eq!(words(text), expected, "{text}");
    }
    let known = HashMap::from([("A".to_owned(), "1".to_owned())]);
    let put = |word: &str| expanded(word, &known, &|_| None);
    assert_eq!(put("${C:-/dev/x}${A:-2}"), Ok("/dev/x1".to_owned()));
    assert_eq!(put("$A-${A}b$ $(A)"), Ok("1-1b$ $(A)".to_owned()));
    assert!(put("${A").is_err() && put("$B").is_err());
}

/// What a shell would not run was run: behind `exit`, in here-documents, behind `||`.
#[test]
fn what_a_shell_would_not_run_is_not_run() {
    let a = "fio --name=a --size=1g --rw=read";
    let b = "fio --name=b --size=1g --rw=write";
    for text in [
        format!("{a}\nexit 0\n{b}\n"),
        format!("{a}\ncat <<EOF\n{b}\nEOF\n"),
        format!("cat > x <<-'E F'\nE\n{b}\nE F\n{a}\n").replace("E F", "EF"),
        format!("cat <<A <<B\n{b}\nA\n{b}\nB\n{a}\n"),
        format!("{a} || exit 1\n"),
        format!("exec {a}\n{b}\n"),
    ] {
        assert_eq!(said(&plan(script(&text))), "a: 4KiB 100/0 1x1", "{text}");
    }
    let notes = script(&format!("{a}\nexit 0\n{b}\n")).unwrap().notes;
    assert!(
        notes
            .iter()
            .any(|note| note.to_string() == "line 2: `exit` ends the script; nothing behind it is run.")
    );
    for (text, expected) in [
        (format!("{a}\nfalse || {b}\n"), "bench.sh:2: `||`: whether fio runs depends on the command before"),
        (format!("{a} ||\n{b}\n"), "bench.sh:2: `||`: whether fio runs depends"),
        (format!("test -f x && exit 1\n{a}\n"), "bench.sh:1: `&& exit`: whether fio runs behind it"),
        (format!("{a}\nyes | {b}\n"), "bench.sh:2: fio behind a pipe is not supported"),
        (format!("({a}; {b}) &\n"), "bench.sh:1: `(fio`: "),
    ] {
        let says = script(&text).unwrap_err().to_string();
        assert!(says.starts_with(expected), "{text}: {says}");
    }
}

/// They ran one after the other.
#[test]
fn commands_in_the_background_run_side_by_side_until_wait() {
    let [a, b, c] = ["a", "b", "c"].map(|name| format!("fio --name={name} --size=1g --rw=read"));
    let (a1, b1, c1) = ("a: 4KiB 100/0 1x1", "b: 4KiB 100/0 1x1", "c: 4KiB 100/0 1x1");
    for (text, expected) in [
        (format!("{a} & {b} & wait"), format!("{a1}, {b1}")),
        (format!("{a} &\n{b}\nwait\n{c}"), format!("{a1}, {b1}; {c1}")),
        (format!("{c}\n{a} > o 2>&1 &\n{b} | tee x &\nwait"), format!("{c1}; {a1}, {b1}")),
        (format!("{a} & wait; {b}"), format!("{a1}; {b1}")),
    ] {
        assert_eq!(said(&plan(script(&text))), expected, "{text}");
    }
    for (text, expected) in [
        (format!("{a} &\n{b}\n{c}\n"), "bench.sh:3: a command before it may still run in the background"),
        (format!("{a} &\nsleep 5\n{b}\n"), "bench.sh:2: `sleep` beside a command in the background"),
        (format!("{a} &\n{b} &\nwait $!\n{c}"), "bench.sh:3: `wait` for one of several commands"),
        (format!("{a} &\n{b} --name=d --stonewall &\n"), "bench.sh:2: a command that runs beside others"),
    ] {
        let says = script(&text).unwrap_err().to_string();
        assert!(says.starts_with(expected), "{text}: {says}");
    }
}
