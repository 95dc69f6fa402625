//! What other tools call their options and verbs: a word that is not known here is answered with the one that is.

use assay_spec::field_called;
use assay_spec::units::Bytes;
use clap::CommandFactory as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::args::Cli;

/// Words that are typed elsewhere, with blanks between them, and what is typed here.
type Called = (&'static str, &'static str);

const OPTIONS: &[Called] = &[
    ("ioengine engine", "use --io uring or --io psync"),
    (
        "direct odirect o_direct buffered nodirect no-direct invalidate oflag iflag openflags",
        "leave it out: direct I/O is the default; --cached uses the page cache",
    ),
    ("filename directory file target device lun dev", "name the target itself: assay run PLAN TARGET"),
    ("filesize file-size filesz disk-size span length lba capacity", "use --size 4GiB"),
    ("stonewall wait_for_previous new_group", "leave it out: tests run one after another"),
    ("norandommap randommap", "leave it out: random positions are drawn anew each time"),
    ("gtod_reduce clocksource unified_rw_reporting", "leave it out: latencies are always measured"),
    (
        "workload profile access-spec access spec template test suite",
        "name the suite itself: assay run vmware TARGET; assay suites lists them",
    ),
    ("read-only readonly ro", "use --set read=100; what Assay did not create is only read anyway"),
    ("verbose v debug", "use --explain for every finding in full"),
    (
        "quiet silent no-progress nolive",
        "redirect standard error: 2>/dev/null; results go to standard output",
    ),
    (
        "user username password chap-user chap-password secret",
        "write the name into the address, iscsi://NAME@host/…, and the secret into ASSAY_CHAP_SECRET",
    ),
    (
        "interval report-interval log_avg_msec livecsv live-csv write_lat_log write_bw_log write_iops_log",
        "use assay show --series 1s after the run",
    ),
    (
        "fsync sync_file fdatasync o_sync dsync end_fsync fsync_on_close conv",
        "use --sync, or the field flush of a plan",
    ),
    ("loops iterations count repetitions runs samples times", "use --repeat 3"),
    ("name tag title job-name", "use --label TEXT"),
    ("output-format format-json", "use --json, or --format csv"),
    ("json-file result-file resultfile out html csv", "use -o FILE: its ending names the format"),
    ("randrepeat randseed rand-seed", "use --seed 7"),
    ("refill_buffers buffer_compress_percentage dedupe_percentage", "use the field data of a plan"),
    ("verify do_verify", "use --set verify=true"),
    ("force yes y yes-i-know", "use --overwrite with the serial number that assay check TARGET shows"),
    (
        "dry-run parse-only showcmd",
        "use assay check TARGET, or assay convert FILE for a plan of another tool",
    ),
    (
        "thinktime think delay",
        "use the field delay of an access: access = { size = \"4KiB\", delay = \"100us\" }",
    ),
    (
        "zipf pareto hotspot distribution random_distribution",
        "use the field distribution of a plan: distribution = { zipf = 0.99 }",
    ),
    ("hosts-file hostsfile hostfile client", "use --hosts a,b with assay agent on each of them"),
    ("randalign blockalign ba", "use the field align of an access; without it, it is the size of an I/O"),
    ("nrfiles nfiles files dirs", "name several targets: assay run PLAN FILE FILE"),
    (
        "bwlimit rate_bw bandwidth throttle max-rate",
        "use --rate 500/s, in I/Os: the bandwidth divided by the size of one",
    ),
    ("bsrange bssplit", "use the field access of a plan: sizes with their weights"),
    ("unlink cleanup delete rm", "use --remove"),
    (
        "percentile_list lat_percentiles clat_percentiles percentile percentiles latency lathist latpercent histogram",
        "leave it out: assay show --json has them all",
    ),
    ("group_reporting eta status-interval minimal", "leave it out: Assay does so by itself"),
    ("cpus_allowed affinity", "use --cpus 0-3"),
];

const VERBS: &[Called] = &[
    ("list ls history results log", "use assay runs"),
    (
        "bench benchmark test start measure go perf randread randwrite randrw read write seqread seqwrite \
         iops throughput bandwidth speed",
        "use assay run vmware ./t.dat --quick",
    ),
    (
        "cdm diskmark crystal crystalmark seq1m-q8t1 seq1m rnd4k-q32t1 rnd4k-q1t1 rnd4k",
        "use assay run crystaldiskmark ./t.dat",
    ),
    ("hcibench easy-run easyrun", "use assay run hcibench-easy-run TARGET"),
    ("resume continue", "use assay run --resume RUN"),
    ("delete remove del clean cleanup purge", "use assay rm RUN"),
    (
        "info inspect status describe identify scan discover smart doctor health ping",
        "use assay check TARGET",
    ),
    ("prometheus metrics openmetrics", "use assay export --format openmetrics, or /metrics of assay serve"),
    ("html graph plot chart charts pdf", "use assay report -o FILE.html"),
    ("diff cmp versus vs", "use assay compare RUN RUN"),
    ("analyse analyze why explain bottleneck troubleshoot", "use assay diagnose TARGET"),
    ("ui web server dashboard gui", "use assay serve"),
    ("latency ioping load", "use assay curve TARGET"),
    ("rename tag note name", "use assay label RUN TEXT"),
    ("stop abort cancel kill quit", "Ctrl-C stops a run, and what was measured is kept"),
    ("watch monitor top follow tail", "use assay serve, whose page follows runs"),
    (
        "mount umount login logout connect",
        "Assay needs no mount and no login: assay iscsi://HOST or assay nfs://HOST lists what a server offers",
    ),
    ("verify scrub", "use assay run PLAN TARGET --set verify=true"),
    ("rerun repeat again redo", "use assay run PLAN TARGET --repeat 3"),
    ("csv json markdown table", "use assay show RUN --format csv, or --json"),
    ("summary result cat open print", "use assay show RUN"),
    ("upgrade update install uninstall", "the package manager does that; assay version says what this is"),
    ("recommend sizing buy", "use assay size \"2000 IOPS, 70% read, 8 KiB, 5 TB\""),
    ("create fill prepare mkfile", "assay run creates and fills its file itself"),
    ("save dump", "use assay export"),
    ("plans tests profiles workloads jobs", "use assay suites"),
    ("estimate forecast simulate model", "use assay predict ARRAY"),
    ("config settings init setup", "there is no configuration; assay ./t.dat says what to type"),
    ("disks devices lsblk", "type assay alone, which lists the disks of this host"),
];

/// Fields of a plan that are typed as options.
const FIELDS: [&str; 7] = ["outstanding", "workers", "random", "read", "run", "warmup", "flush"];

/// Letters of DiskSpd (most are elbencho's too), what they mean there, and what is typed here.
const LETTERS: &[(char, &str, &str)] = &[
    ('b', "the size of an I/O", "--set size=64KiB"),
    ('c', "the size of the file", "--size 64KiB"),
    ('d', "the seconds of a run", "--set run=30s"),
    ('t', "threads", "--set workers=4"),
    ('w', "the share of writes", "--set read=70 (100 minus the writes)"),
    ('r', "random positions", "--set random=100"),
    ('W', "the seconds before the measured ones", "--set warmup=5s"),
    ('z', "the seed", "--seed 7"),
    ('R', "the form of the result", "--json, or --format csv"),
    ('q', "the queue depth", "--set outstanding=32; to be quiet: 2>/dev/null"),
    ('s', "the size of the file", "--size 64KiB"),
    ('n', "the number of repetitions", "--repeat 3"),
    ('p', "processes", "--set workers=4"),
    ('j', "the form of the result", "--json, or --format csv"),
    (
        'f',
        "the form of the result",
        "--json, or --format csv; to overwrite: --overwrite with what assay check shows",
    ),
    ('S', "the caches", "nothing: direct I/O is the default; --cached uses the page cache"),
    ('L', "to measure latencies", "nothing: they are always measured"),
];

/// What is said of a run that is resumed with a plan, a target or settings.
const RESUME: &str = "--resume takes plan, targets and settings from that run: assay run --resume RUN; with others it \
                      is a new run, and --only NAME measures a part of its plan";

/// Tools whose name is typed as a verb; their command line is a plan.
const TOOLS: [&str; 5] = ["fio", "diskspd", "sqlio", "vdbench", "iometer"];
/// Tools whose results are read, and whose command lines are not.
const RESULTS_ONLY: [&str; 8] =
    ["elbencho", "dd", "iozone", "bonnie++", "bonnie", "yabs", "hdparm", "sysbench"];

/// Returns what to type for an option or a verb that only other tools have; `None` if the mistake is another one.
pub(crate) fn meant(error: &clap::Error, typed: &[String]) -> Option<String> {
    let word = |kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.as_str()),
        _ => None,
    };
    match error.kind() {
        ErrorKind::UnknownArgument => {
            let unknown = word(ContextKind::InvalidArg)?;
            option(unknown, typed)
                .or_else(|| letter(unknown, typed))
                .or_else(|| no_option(error, unknown, typed))
        }
        ErrorKind::ArgumentConflict => {
            let resumes = |word: &String| word == "--resume" || word.starts_with("--resume=");
            let is_verb = typed.first().is_some_and(|verb| verb == "run");
            (is_verb && typed.iter().any(resumes)).then(|| RESUME.to_owned())
        }
        ErrorKind::InvalidSubcommand => {
            // What is spelled like a verb is a slip, which the parser of the command line answers.
            let is_slip = error.get(ContextKind::SuggestedSubcommand).is_some();
            let unknown = word(ContextKind::InvalidSubcommand)?;
            // `assay journal start`: the verb is known, and what it is to do is not.
            if typed.first().is_some_and(|first| first != unknown && !first.starts_with('-')) {
                return None;
            }
            let typed = unknown;
            verb(typed).or_else(|| if is_slip { None } else { host(typed) })
        }
        _ => None,
    }
}

/// `-bs=4k`: clap takes `-b` for the option, and the word is one with a dash too few.
fn with_one_dash<'t>(unknown: &'t str, all: &'t [String]) -> &'t str {
    let word = all.iter().find(|word| word.starts_with(unknown) && !word.starts_with("--"));
    let Some(word) = word.filter(|_| unknown.len() == 2) else { return unknown };
    let name = word.trim_start_matches('-').split('=').next().unwrap_or_default();
    let is_word = name.len() > 1 && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    if is_word { word.as_str() } else { unknown }
}

fn option(typed: &str, all: &[String]) -> Option<String> {
    let typed = with_one_dash(typed, all);
    let name = typed.trim_start_matches('-').split('=').next()?.to_ascii_lowercase();
    if let Some((field, given)) = field_called(&name) {
        // A share of writes is the rest of the reads, and `rw=randread` is no share.
        let is_share = !["rw", "readwrite", "pattern"].contains(&name.as_str());
        let counted = if given.contains("100 minus") { "writes" } else { field };
        let own = value_of(&name, all).filter(|_| is_share).and_then(|value| with_value(counted, value));
        let given = own.as_deref().unwrap_or(given);
        return Some(format!("there is no option {typed}; {field} is a field of the plan: --set {given}"));
    }
    // A field by its own name.
    if FIELDS.contains(&name.as_str()) {
        let own = value_of(&name, all).and_then(|value| with_value(&name, value));
        let given = own.unwrap_or_else(|| format!("{name}=VALUE"));
        return Some(format!("there is no option {typed}; {name} is a field of the plan: --set {given}"));
    }
    let name = name.as_str();
    let (_, here) =
        OPTIONS.iter().find(|(words, _)| has(words, name) || has(words, &name.replace('_', "-")))?;
    match all.first().filter(|_| here.starts_with("use --overwrite")) {
        Some(verb) if !overwrites(verb) => {
            Some(format!("there is no option {typed}; leave it out: assay {verb} asks nothing"))
        }
        _ => Some(format!("there is no option {typed}; {here}")),
    }
}

/// Whether a word is one of these.
fn has(words: &str, word: &str) -> bool {
    words.split(' ').any(|known| known == word)
}

/// Whether a verb writes to targets; what is no verb does, as far as is known.
fn overwrites(verb: &str) -> bool {
    let all = Cli::command();
    let command = all.find_subcommand(verb);
    command.is_none_or(|command| {
        command.get_arguments().any(|argument| argument.get_long() == Some("overwrite"))
    })
}

/// Returns what to type for `bs=8k`, as dd and vdbench write it.
pub(crate) fn setting(word: &str) -> Option<String> {
    match word.split_once('=').map_or(word, |(name, _)| name) {
        "if" | "of" => return Some("name the file itself: assay run PLAN FILE".to_owned()),
        "count" => return Some("use --size 4GiB for the size of the file".to_owned()),
        "size" | "filesize" => {
            let size = word.split_once('=').map_or("4GiB", |(_, size)| size);
            return Some(format!("use --size {size} for the size of the file"));
        }
        _ => {}
    }
    let typed = format!("--{word}");
    let says = option(&typed, std::slice::from_ref(&typed))?;
    says.split_once("; ").map(|(_, here)| here.to_owned())
}

/// `-b64K`, `-d30`: letters with their values behind them.
fn letter(unknown: &str, all: &[String]) -> Option<String> {
    let mut letters = unknown.strip_prefix('-')?.chars();
    let first = letters.next().filter(|c| *c != '-' && letters.next().is_none())?;
    let (_, there, given) = LETTERS.iter().find(|(letter, ..)| *letter == first)?;
    let at = all.iter().position(|word| word.starts_with(unknown))?;
    let joined = Some(all[at][unknown.len()..].trim_start_matches('='));
    let value = joined.filter(|value| !value.is_empty()).or_else(|| all.get(at + 1).map(String::as_str));
    let field = given.strip_prefix("--set ").and_then(|given| given.split('=').next());
    let own = match (first, value) {
        ('c' | 's', Some(value)) => value.parse::<Bytes>().ok().map(|bytes| format!("--size {bytes}")),
        ('w', Some(value)) => with_value("writes", value).map(|given| format!("--set {given}")),
        (_, Some(value)) => {
            with_value(field.unwrap_or_default(), value).map(|given| format!("--set {given}"))
        }
        (_, None) => None,
    };
    let typed = &all[at];
    Some(format!("there is no option {typed}; if it is {there}: {}", own.as_deref().unwrap_or(given)))
}

/// The value that was typed with an option: `--bs=8k`, `--bs 8k`.
fn value_of<'t>(name: &str, all: &'t [String]) -> Option<&'t str> {
    let at = all.iter().position(|word| {
        let word = word.trim_start_matches('-').split('=').next().unwrap_or_default();
        word.eq_ignore_ascii_case(name)
    })?;
    let joined = all[at].split_once('=').map(|(_, value)| value);
    joined.or_else(|| all.get(at + 1).map(String::as_str)).filter(|value| !value.starts_with('-'))
}

/// The field with that value as it is written here; `None` where the value means something else elsewhere.
fn with_value(field: &str, value: &str) -> Option<String> {
    let is_count = |value: &str| !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    match field {
        "size" => value.parse::<Bytes>().ok().map(|bytes| format!("size={bytes}")),
        // Other tools count seconds.
        "run" | "warmup" if is_count(value) => Some(format!("{field}={value}s")),
        "rate" if is_count(value) => Some(format!("rate={value}/s")),
        "read" | "random" if is_count(value) => Some(format!("{field}={value}")),
        "writes" => {
            let writes = value.parse::<u32>().ok().filter(|writes| *writes <= 100)?;
            Some(format!("read={}", 100 - writes))
        }
        "outstanding" | "workers" if is_count(value) => Some(format!("{field}={value}")),
        _ => None,
    }
}

/// Whether a word may be a slip of the hand for an option. The parser finds `--hosts` like `--offset`: a slip keeps the
/// first letter, or all letters.
fn is_slip(option: &str, typed: &str) -> bool {
    let [option, typed] = [option, typed].map(|word| word.trim_start_matches('-'));
    let sorted = |word: &str| {
        let mut letters: Vec<char> = word.chars().collect();
        letters.sort_unstable();
        letters
    };
    option.chars().next() == typed.chars().next() || sorted(option) == sorted(typed)
}

/// What the parser says of an option that is like none: to type it behind `--`, where it would be a target.
fn no_option(error: &clap::Error, unknown: &str, all: &[String]) -> Option<String> {
    let is_alike =
        error.get(ContextKind::SuggestedArg).is_some_and(|alike| is_slip(&alike.to_string(), unknown));
    let verb = all.first().filter(|verb| !verb.starts_with('-'))?;
    if verb == "predict" && unknown == "--array" {
        let array = value_of("array", all).unwrap_or("ARRAY");
        let plan = all.get(1).filter(|word| !word.starts_with('-')).map_or("PLAN", String::as_str);
        return Some(format!(
            "there is no option --array; the array comes first: assay predict {array} {plan}"
        ));
    }
    (!is_alike && unknown.starts_with("--"))
        .then(|| format!("there is no option {unknown}; assay {verb} --help lists the options"))
}

/// What is said of a command line, in quotes, of a tool whose command lines are no plans.
pub(crate) fn line_of_tool(line: &str) -> Option<String> {
    let (tool, _) = line.trim().split_once(' ')?;
    RESULTS_ONLY.contains(&tool).then(|| {
        let like = if tool == "dd" { "; the suite dd-stream reads and writes as dd does" } else { "" };
        format!(
            "a command line of {tool} is no plan; what it printed is read by assay import FILE{like}: assay run {} \
             TARGET",
            if tool == "dd" { "dd-stream" } else { "vmware" }
        )
    })
}

fn verb(typed: &str) -> Option<String> {
    let name = typed.to_ascii_lowercase();
    if TOOLS.contains(&name.as_str()) {
        return Some(format!(
            "there is no verb {typed}; a job file of {typed} runs as it is: assay run FILE TARGET, and a command line \
             in quotation marks"
        ));
    }
    if RESULTS_ONLY.contains(&name.as_str()) {
        return Some(format!(
            "there is no verb {typed}; what it printed is read by assay import FILE, and a test of Assay's own is \
             assay run vmware ./t.dat --quick"
        ));
    }
    let (_, here) = VERBS.iter().find(|(words, _)| has(words, &name))?;
    Some(format!("there is no verb {typed}; {here}"))
}

/// What to type for a host or a file that stands where a verb does.
fn host(typed: &str) -> Option<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    typed.chars().all(is_name).then(|| {
        format!(
            "there is no verb {typed}; if it is a host: assay iscsi://{typed} or assay nfs://{typed} lists what it \
             offers; if it is a file: assay ./{typed}; assay -h lists the verbs"
        )
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    /// Words that people of other tools type first were answered with what is spelled alike: `list` with `validate`.
    #[test]
    fn words_of_other_tools_are_answered_with_those_of_this_one() {
        for (typed, expected) in [
            ("run vmware t.dat --runtime 60", "--set run=60s"),
            ("run vmware t.dat --runtime=15", "--set run=15s"),
            ("run vmware t.dat --bs=8k", "--set size=8KiB"),
            ("run vmware t.dat --bs many", "--set size=4KiB"),
            ("run vmware t.dat --qd 3", "--set outstanding=3"),
            ("run vmware t.dat --iodepth 3", "--set outstanding=3"),
            ("run vmware t.dat --numjobs=3", "--set workers=3"),
            ("run vmware t.dat --rw=randread", "random=100 for randread"),
            ("run vmware t.dat --ioengine=libaio", "--io uring"),
            ("run vmware t.dat --threads 4", "--set workers=4"),
            ("run vmware t.dat --ramp_time 5", "--set warmup=5s"),
            ("run vmware t.dat --rwmixread=30", "--set read=30"),
            ("run vmware t.dat --rwmixwrite 30", "--set read=70"),
            ("run vmware t.dat --rate_iops=500", "--set rate=500/s"),
            ("run vmware t.dat --direct=1", "direct I/O is the default"),
            ("run vmware t.dat -c64K", "--size 64KiB"),
            ("run vmware t.dat -d30", "--set run=30s"),
            ("run vmware t.dat -b8K", "--set size=8KiB"),
            ("run vmware t.dat -b 8K", "--set size=8KiB"),
            ("run vmware t.dat -t4", "--set workers=4"),
            ("run vmware t.dat -w30", "--set read=70"),
            ("run vmware t.dat -r", "--set random=100"),
            ("run vmware t.dat -W5", "--set warmup=5s"),
            ("run vmware t.dat -Sh", "--cached uses the page cache"),
            ("run vmware t.dat -L", "always measured"),
            ("elbencho -w t.dat", "assay import FILE"),
            ("run vmware t.dat -bs=4k", "--set size=4KiB"),
            ("run vmware t.dat -iodepth=8", "--set outstanding=8"),
            ("run vmware t.dat --outstanding-ios=16", "--set outstanding=16"),
            ("run vmware t.dat --run-time=30", "--set run=30s"),
            ("run vmware t.dat --ramp-up 10", "--set warmup=10s"),
            ("run vmware t.dat --disk-size=5g", "--size 4GiB"),
            ("run vmware t.dat --profile=vdi", "assay suites lists them"),
            ("run vmware t.dat --read-only", "--set read=100"),
            ("run vmware t.dat --verbose", "--explain"),
            ("cdm t.dat", "assay run crystaldiskmark"),
            ("hcibench", "assay run hcibench-easy-run"),
            ("iozone -a", "assay import FILE"),
            ("run vmware --filename=x", "assay run PLAN TARGET"),
            ("run vmware t.dat --loops 3", "--repeat 3"),
            ("list", "assay runs"),
            ("prometheus", "openmetrics"),
            ("bench t.dat", "assay run vmware"),
            ("delete last", "assay rm"),
            ("rm last --yes", "leave it out: assay rm asks nothing"),
            ("run vmware t.dat --yes", "--overwrite"),
            ("diff a b", "assay compare"),
            ("fio job.fio", "assay run FILE TARGET"),
            ("run vmware t.dat --sequential", "--set random=0"),
            ("run vmware t.dat --random", "--set random=VALUE"),
            ("run vmware t.dat --random=30", "--set random=30"),
            ("run vmware t.dat --outstanding 8", "--set outstanding=8"),
            ("run vmware t.dat --write", "read=0 only writes"),
            ("run vmware t.dat --mixed 70", "--set read=70"),
            ("run vmware t.dat --latency", "leave it out"),
            ("run vmware t.dat --percentile 99", "leave it out"),
            ("run vmware t.dat --thinktime 5", "delay = \"100us\""),
            ("run vmware t.dat --zipf 0.9", "distribution = { zipf = 0.99 }"),
            ("run vmware t.dat --iodepths 8", "--set outstanding=8"),
            ("run vmware t.dat --livecsv x", "--series 1s"),
            ("run vmware t.dat --lathist", "leave it out"),
            ("run vmware t.dat --hosts-file h", "--hosts a,b"),
            ("hdparm t.dat", "assay import FILE"),
            ("rnd4k t.dat", "assay run crystaldiskmark"),
            ("run vmware t.dat --bwlimit 100", "--rate"),
            ("run vmware t.dat --bssplit=4k/50:8k/50", "access of a plan"),
            ("run vmware t.dat --unlink=1", "--remove"),
            ("run vmware t.dat --end_fsync=1", "--sync"),
            ("run vmware t.dat --nodirect", "--cached"),
            ("run vmware t.dat -q 32", "--set outstanding=32"),
            ("run vmware t.dat -s 1G", "--size 1GiB"),
            ("run vmware t.dat -f json", "--json"),
            ("run vmware t.dat -j", "--json"),
            ("run vmware t.dat -n 5", "--repeat"),
            ("run vmware t.dat -p 4", "--set workers=4"),
            ("run vmware t.dat --offset=1g", "assay run --help lists the options"),
            ("stop", "Ctrl-C"),
            ("watch", "assay serve"),
            ("monitor", "assay serve"),
            ("mount", "no mount"),
            ("login iqn.x", "no login"),
            ("write t.dat", "assay run vmware"),
            ("read t.dat", "assay run vmware"),
            ("iops t.dat", "assay run vmware"),
            ("verify t.dat", "verify=true"),
            ("rerun last", "--repeat 3"),
            ("json last", "assay show RUN"),
            ("upgrade", "package manager"),
            ("doctor", "assay check"),
            ("health", "assay check"),
            ("summary", "assay show RUN"),
            ("recommend", "assay size"),
            ("fill t.dat", "creates and fills"),
            ("nas", "assay nfs://nas"),
            ("192.168.1.5", "assay iscsi://192.168.1.5"),
        ] {
            let words: Vec<String> =
                std::iter::once("assay").chain(typed.split(' ')).map(str::to_owned).collect();
            let error = Cli::try_parse_from(&words).expect_err(typed);
            let says = meant(&error, &words[1..]).unwrap_or_default();
            assert!(says.contains(expected), "{typed}: {says}");
        }
    }

    #[test]
    fn a_setting_of_another_tool_has_the_one_of_this() {
        for (word, expected) in [
            ("xfersize=8k", "--set size=8KiB"),
            ("of=t.dat", "name the file itself"),
            ("count=1000", "--size"),
            ("oflag=direct", "direct I/O is the default"),
        ] {
            assert!(setting(word).is_some_and(|says| says.contains(expected)), "{word}: {:?}", setting(word));
        }
        assert_eq!(setting("colour=red"), None);
    }

    #[test]
    fn slips_are_left_to_the_parser() {
        let words = ["assay", "journal", "start"].map(str::to_owned);
        assert_eq!(meant(&Cli::try_parse_from(&words).unwrap_err(), &words[1..]), None);
        for typed in ["--isze=4k", "--overwirte=x", "--labl=x"] {
            let words = ["assay", "run", "vmware", "t.dat", typed].map(str::to_owned);
            let error = Cli::try_parse_from(&words).expect_err(typed);
            assert_eq!(meant(&error, &words[1..]), None, "{typed}");
        }
    }

    #[test]
    fn no_word_of_this_program_is_called_foreign() {
        let command = Cli::command();
        for known in command.get_subcommands() {
            assert_eq!(verb(known.get_name()), None);
        }
        let all: Vec<&str> = OPTIONS.iter().chain(VERBS).flat_map(|(words, _)| words.split(' ')).collect();
        assert!(all.iter().all(|word| word.chars().all(|c| !c.is_uppercase())));
    }
}
