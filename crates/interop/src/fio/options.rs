//! The options of one job, and what they mean.

use assay_spec::units::{Bytes, Nanos, PerSecond};
use assay_spec::{
    Access, Arrivals, Change, Data, Distribution, Extent, Flush, Flushes, IO_BYTES_MAX, OUTSTANDING_MAX,
    WORKERS_MAX, nearest,
};

use super::lines::{JobLines, OptionLine};
use super::rate::pace;
use super::spread::{Spread, spread};
use super::taken::{Findings, Options};
use super::value::{KbBase, bytes, integer, is_true, percent, short, time};
use crate::ImportError;

/// The most access lines that a range or a split of block sizes may become.
const MIX_MAX: usize = 256;

/// A job as it is meant.
#[derive(Debug)]
pub(super) struct FioJob {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) mix: Vec<Access>,
    pub(super) workers: u32,
    pub(super) outstanding: u32,
    pub(super) pace: Option<(PerSecond, Option<Arrivals>)>,
    pub(super) data: Data,
    pub(super) is_verified: bool,
    /// Size of each of its files, where the file says so, bytes.
    pub(super) span: Option<u64>,
    /// Where in its files the job begins, and how much of them it uses.
    pub(super) offset: Extent,
    pub(super) used: Option<Extent>,
    pub(super) flush: Option<Flushes>,
    /// Whether each write waits until it is durable (`sync`).
    pub(super) is_durable: bool,
    pub(super) start_delay: Nanos,
    /// All bytes that the job transfers, clones together, where that ends it.
    pub(super) bytes: Option<u64>,
    pub(super) ops: Option<u64>,
    pub(super) run: Option<Nanos>,
    pub(super) ramp: Nanos,
    /// Whether it begins after all jobs before it.
    pub(super) waits: bool,
    pub(super) files: Vec<String>,
    pub(super) seed: Option<u64>,
}

/// Options that change nothing that is measured here: logs, labels, how fio itself works.
const WITHOUT_EFFECT: [&str; 74] = [
    "name",
    "description",
    "group_reporting",
    "new_group",
    "thread",
    "randrepeat",
    "allrandrepeat",
    "fallocate",
    "fadvise_hint",
    "invalidate",
    "create_serialize",
    "create_fsync",
    "create_on_open",
    "create_only",
    "allow_file_create",
    "allow_mounted_write",
    "overwrite",
    "unlink",
    "unlink_each_loop",
    "write_bw_log",
    "write_lat_log",
    "write_iops_log",
    "write_hist_log",
    "log_avg_msec",
    "log_hist_msec",
    "log_hist_coarseness",
    "log_max_value",
    "log_window_value",
    "log_entries",
    "log_issue_time",
    "log_alternate_epoch",
    "log_offset",
    "log_compression",
    "log_store_compressed",
    "log_unix_epoch",
    "per_job_logs",
    "bwavgtime",
    "iopsavgtime",
    "gtod_reduce",
    "gtod_cpu",
    "disable_lat",
    "disable_clat",
    "disable_slat",
    "disable_bw",
    "disable_bw_measurement",
    "clocksource",
    "clat_percentiles",
    "lat_percentiles",
    "slat_percentiles",
    "percentile_list",
    "significant_figures",
    "disk_util",
    "unified_rw_reporting",
    "stats",
    "exitall",
    "exitall_on_error",
    "exit_what",
    "error_dump",
    "refill_buffers",
    "scramble_buffers",
    "mem",
    "iomem",
    "iomem_align",
    "mem_align",
    "hugepage-size",
    "lockmem",
    "kb_base",
    "unit_base",
    "lockfile",
    "openfiles",
    "userspace_reap",
    "iodepth_batch",
    "iodepth_batch_submit",
    "verify_fatal",
];

/// Options that most jobs have, for slips of the pen.
const COMMON: [&str; 22] = [
    "rwmixread",
    "rwmixwrite",
    "readwrite",
    "iodepth",
    "blocksize",
    "bsrange",
    "bssplit",
    "numjobs",
    "runtime",
    "time_based",
    "ramp_time",
    "filename",
    "directory",
    "filesize",
    "direct",
    "rate_iops",
    "thinktime",
    "startdelay",
    "percentage_random",
    "random_distribution",
    "norandommap",
    "stonewall",
];

/// What all options of fio's own verification come to.
const OWN_STAMPS: &str = "data is checked against Assay's own stamps, read by read";

/// Options that change the measurement a little, each with what Assay does.
const DIFFERENT: [(&str, &str); 38] = [
    ("ioscheduler", "the I/O scheduler of the device stays as it is"),
    ("cpus_allowed", "workers are placed by Assay; --cpus binds them"),
    ("cpumask", "workers are placed by Assay; --cpus binds them"),
    ("cpus_allowed_policy", "workers are placed by Assay; --cpus binds them"),
    ("numa_cpu_nodes", "workers are placed by Assay; --cpus binds them"),
    ("numa_mem_policy", "memory is placed by the kernel"),
    ("nice", "the priority of the process stays as it is"),
    ("prio", "I/Os have no priority"),
    ("prioclass", "I/Os have no priority"),
    ("random_generator", "Assay has its own random generator"),
    ("iodepth_batch_complete", "completions are reaped as they come"),
    ("iodepth_batch_complete_min", "completions are reaped as they come"),
    ("iodepth_batch_complete_max", "completions are reaped as they come"),
    ("iodepth_low", "the queue is kept full"),
    ("end_fsync", "nothing is flushed after the measured window"),
    ("fsync_on_close", "nothing is flushed after the measured window"),
    ("thinktime_spin", "the pause sleeps"),
    ("continue_on_error", "a run ends after 100 failed I/Os (error_limit)"),
    ("ignore_error", "a run ends after 100 failed I/Os (error_limit)"),
    ("hipri", "completions are not polled"),
    ("sqthread_poll", "the kernel does not poll the queue"),
    ("registerfiles", "Assay chooses how it submits I/O"),
    ("fixedbufs", "Assay chooses how it submits I/O"),
    ("nonvectored", "Assay chooses how it submits I/O"),
    ("do_verify", "data is checked as it is read"),
    ("verify_pattern", OWN_STAMPS),
    ("verify_interval", OWN_STAMPS),
    ("verify_offset", OWN_STAMPS),
    ("verify_async", OWN_STAMPS),
    ("verify_async_cpus", OWN_STAMPS),
    ("verify_backlog", OWN_STAMPS),
    ("verify_backlog_batch", OWN_STAMPS),
    ("verify_dump", OWN_STAMPS),
    ("verify_state_save", OWN_STAMPS),
    ("serialize_overlap", "I/Os that overlap are in flight together"),
    ("nowait", "an I/O that has to wait is no error"),
    ("rw_sequencer", "each worker goes through its own part of the target, in order"),
    ("pre_read", "files are filled, not read, before the run"),
];

/// Other names of options.
fn canonical(key: &str) -> &str {
    match key {
        "readwrite" => "rw",
        "blocksize" => "bs",
        "blocksize_range" => "bsrange",
        "blockalign" => "ba",
        "io_limit" => "io_size",
        "timeout" => "runtime",
        "wait_for_previous" => "stonewall",
        "file_size" => "filesize",
        "nr_files" => "nrfiles",
        "fileoffset" => "offset",
        "ratemin" => "rate_min",
        "ratecycle" => "rate_cycle",
        other => other,
    }
}

/// Reads the options of a job.
pub(super) fn job(lines: &JobLines, findings: &mut Findings) -> Result<FioJob, ImportError> {
    let left = lines.options.iter().map(|option| (canonical(&option.key), option)).collect();
    let mut options = Options { job: lines, left, kb_base: KbBase::default(), findings };
    if options.left.get("kb_base").is_some_and(|option| option.value.trim() == "1000") {
        options.kb_base = KbBase::Decimal;
    }
    let workers = options.read("numjobs", |text| integer(text, 1, WORKERS_MAX))?.unwrap_or(1);
    let outstanding = outstanding(&mut options)?;
    let mut mix = mix(&mut options)?;
    if let Some(option) = options.take("readonly").filter(|_| mix.iter().any(Access::writes)) {
        return Err(option.complain(format!("forbids the writes of job {}", short(&lines.name))));
    }
    let pace = pace(&mut options, &mut mix, workers)?;
    let data = data(&mut options)?;
    let is_verified = verified(&mut options)?;
    let size = size(&mut options, workers)?;
    let job = FioJob {
        name: lines.name.clone(),
        line: lines.line,
        workers: u32::try_from(workers).unwrap_or(1),
        outstanding,
        pace,
        data,
        is_verified,
        span: size.span,
        offset: size.offset,
        used: size.used,
        flush: flush(&mut options)?,
        is_durable: options.take("sync").is_some_and(|option| !["0", "none"].contains(&option.value.trim())),
        start_delay: start_delay(&mut options)?,
        bytes: size.bytes,
        ops: options.read("number_ios", |text| integer(text, 1, u64::MAX / 2))?.map(|ops| ops * workers),
        run: size.run,
        ramp: options.read("ramp_time", |text| time(text, 1e9))?.unwrap_or_default(),
        waits: options.is_on("stonewall")?,
        files: files(&mut options)?,
        seed: options.read("randseed", |text| integer(text, 0, i64::MAX as u64))?,
        mix,
    };
    rest(&mut options)?;
    Ok(job)
}

/// Engines that have one I/O in flight, whatever the depth.
const SYNCHRONOUS: [&str; 7] = ["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "splice"];
/// Engines whose I/O Assay can do.
const ASYNCHRONOUS: [&str; 9] =
    ["libaio", "io_uring", "io_uring_cmd", "posixaio", "windowsaio", "solarisaio", "null", "libiscsi", "nfs"];

fn outstanding(options: &mut Options<'_>) -> Result<u32, ImportError> {
    let depth_line = options.left.get("iodepth").map_or(0, |option| option.line);
    let depth = options.read("iodepth", |text| integer(text, 1, OUTSTANDING_MAX))?.unwrap_or(1);
    let engine = options.take("ioengine");
    let name = engine.map_or("psync", |option| option.value.as_str());
    let is_known = SYNCHRONOUS.contains(&name) || ASYNCHRONOUS.contains(&name);
    if let Some(option) = engine.filter(|_| !is_known) {
        options.refuse(option, &format!("Assay has no engine like {}", short(name)));
    }
    let is_synchronous = SYNCHRONOUS.contains(&name);
    if is_synchronous && depth > 1 {
        let default = if engine.is_none() { ", fio's default," } else { "" };
        options.note(
            depth_line,
            format!(
                "iodepth={depth} has no effect in fio, because the engine {name}{default} does one \
                 I/O at a time; 1 is used."
            ),
        );
    }
    let depth = if is_synchronous { 1 } else { depth };
    Ok(u32::try_from(depth).unwrap_or(1))
}

/// Share of reads and of random positions, percent.
struct Kind {
    read: f64,
    random: f64,
    sequence: u32,
    change: Change,
}

impl Kind {
    fn new(read: f64, random: f64) -> Self {
        Self { read, random, sequence: 1, change: Change::Write }
    }
}

fn kind(options: &mut Options<'_>) -> Result<Kind, ImportError> {
    let read_share = options.read("rwmixread", percent)?;
    let write_share = options.read("rwmixwrite", percent)?;
    let mixed = read_share.or(write_share.map(|share| 100.0 - share)).unwrap_or(50.0);
    let random_share = options.read("percentage_random", percent)?;
    let Some(option) = options.take("rw") else {
        return Ok(Kind::new(100.0, random_share.unwrap_or(0.0)));
    };
    let value = option.value.to_lowercase();
    let (word, suffix) = value.split_once(':').unwrap_or((&value, ""));
    let (mut sequence, mut change) = (1, Change::Write);
    if !suffix.is_empty() && word.trim().starts_with("rand") {
        sequence = integer(suffix, 1, 1_000_000_000).map_err(|why| option.complain(why))?;
    } else if !suffix.is_empty() {
        options.refuse(option, "gaps between sequential I/Os (the size behind `:`) are not supported");
    }
    let (read, random) = match word.trim() {
        "read" => (100.0, 0.0),
        "write" => (0.0, 0.0),
        "randread" => (100.0, 100.0),
        "randwrite" => (0.0, 100.0),
        "rw" | "readwrite" => (mixed, 0.0),
        "randrw" => (mixed, 100.0),
        word @ ("trim" | "randtrim") => {
            change = Change::Trim;
            (0.0, if word == "trim" { 0.0 } else { 100.0 })
        }
        word @ ("trimwrite" | "randtrimwrite") => {
            options.refuse(
                option,
                "a trim before the write of each block is not supported; the writes alone would be made",
            );
            (0.0, if word == "trimwrite" { 0.0 } else { 100.0 })
        }
        _ => {
            return Err(option.complain(format!(
                "`{}` is not a kind of I/O; use read, write, randread, randwrite, rw, randrw, trim or randtrim",
                short(word)
            )));
        }
    };
    let random = if random > 0.0 { random_share.unwrap_or(random) } else { random };
    let sequence = u32::try_from(sequence).unwrap_or(1);
    Ok(Kind { sequence, change, ..Kind::new(read, random) })
}

/// Sizes with their weights, of reads and of writes.
type Sizes = Vec<(u64, f64)>;

fn mix(options: &mut Options<'_>) -> Result<Vec<Access>, ImportError> {
    let kind = kind(options)?;
    let base = options.kb_base;
    let (fixed, range, split) = (options.take("bs"), options.take("bsrange"), options.take("bssplit"));
    let by_direction = |option: &OptionLine, read: &dyn Fn(&str) -> Result<Sizes, String>| {
        let mut parts = option.value.split(',').map(str::trim);
        let first = parts.next().unwrap_or_default();
        // Reads, writes, trims; the last that is given counts for those that are not.
        let second = parts.next().filter(|part| !part.is_empty()).unwrap_or(first);
        Ok::<_, ImportError>([first, second].map(|part| read(part).map_err(|why| option.complain(why))))
    };
    let [reads, writes] = match (split, range, fixed) {
        (Some(option), ..) => by_direction(option, &|part| splits(part, base))?,
        (None, Some(option), _) => by_direction(option, &|part| ranged(part, base))?,
        (None, None, Some(option)) => by_direction(option, &|part| Ok(vec![(bytes(part, base)?, 1.0)]))?,
        (None, None, None) => [Ok(vec![(4096, 1.0)]), Ok(vec![(4096, 1.0)])],
    };
    let (reads, writes) = (reads?, writes?);
    let align = options.read("ba", |text| bytes(text.split(',').next().unwrap_or_default(), base))?;
    let place = split.or(range).or(fixed);
    let Spread { by_direction: [of_reads, of_writes], says } =
        options.read("random_distribution", |text| spread(text, base))?.unwrap_or(Spread::EVEN);
    if let Some(says) = says {
        let line = options.job.options.iter().rfind(|o| o.key == "random_distribution").map_or(0, |o| o.line);
        options.note(line, format!("random_distribution: {says}."));
    }
    let lines = |sizes: &Sizes, share: f64, read: f64, distribution: &Distribution| {
        let mut lines = access_lines(sizes, share, read, kind.random, align);
        for line in &mut lines {
            (line.sequence, line.change) = (kind.sequence, kind.change);
            // A sequential line draws no positions.
            line.distribution = if kind.random > 0.0 { distribution.clone() } else { Distribution::Uniform };
        }
        lines
    };
    let mut mix = Vec::new();
    let is_alike = reads == writes && of_reads == of_writes;
    if is_alike || kind.read == 100.0 || kind.read == 0.0 {
        let (sizes, of) = if kind.read == 0.0 { (&writes, &of_writes) } else { (&reads, &of_reads) };
        mix.extend(lines(sizes, 1.0, kind.read, of));
    } else {
        mix.extend(lines(&reads, kind.read / 100.0, 100.0, &of_reads));
        mix.extend(lines(&writes, 1.0 - kind.read / 100.0, 0.0, &of_writes));
    }
    let pause = options.read("thinktime", |text| time(text, 1e3))?.unwrap_or_default();
    let burst = options.read("thinktime_blocks", |text| integer(text, 1, 1_000_000_000))?.unwrap_or(1);
    if pause > Nanos(0) {
        for line in &mut mix {
            (line.delay, line.burst) = (pause, u32::try_from(burst).unwrap_or(1));
        }
    }
    match mix.iter().find(|line| line.size.0 == 0 || line.size.0 > IO_BYTES_MAX) {
        Some(line) => {
            let says =
                format!("an I/O of {} is not possible; use from 1 B to {}", line.size, Bytes(IO_BYTES_MAX));
            Err(place.map_or_else(
                || crate::complain(&options.job.file, options.job.line, says.clone()),
                |option| option.complain(&says),
            ))
        }
        None => Ok(mix),
    }
}

/// Lines of a mix; `share` of all I/Os are theirs. fio aligns by the smallest size, whatever the size of an I/O.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "shares in [0, 1]")]
fn access_lines(sizes: &Sizes, share: f64, read: f64, random: f64, align: Option<u64>) -> Vec<Access> {
    let total: f64 = sizes.iter().map(|(_, weight)| weight).sum();
    let least = sizes.iter().map(|(size, _)| *size).min().unwrap_or(4096);
    let weight = |weight: f64| match sizes.len() {
        1 if share == 1.0 => 100,
        _ => ((weight / total * share * 10_000.0).round() as u32).max(1),
    };
    sizes
        .iter()
        .map(|(size, own)| Access {
            weight: weight(*own),
            size: Bytes(*size),
            read,
            random,
            align: Bytes(align.unwrap_or(least)),
            ..Access::default()
        })
        .collect()
}

/// `4k/50:64k/50`; entries without a share divide what is left.
fn splits(text: &str, base: KbBase) -> Result<Sizes, String> {
    let mut sizes: Vec<(u64, Option<f64>)> = Vec::new();
    for part in text.split(':') {
        let (size, share) = part.split_once('/').unwrap_or((part, ""));
        let share = if share.trim().is_empty() { None } else { Some(percent(share)?) };
        sizes.push((bytes(size, base)?, share));
        if sizes.len() > MIX_MAX {
            return Err(format!("has more than {MIX_MAX} sizes"));
        }
    }
    let given: f64 = sizes.iter().filter_map(|(_, share)| *share).sum();
    let open = sizes.iter().filter(|(_, share)| share.is_none()).count();
    if given > 100.0 || (open == 0 && (given - 100.0).abs() > 0.01) {
        return Err(format!("the shares sum to {given}; they must sum to 100"));
    }
    let rest = (100.0 - given) / open.max(1) as f64;
    let sizes = sizes.into_iter().map(|(size, share)| (size, share.unwrap_or(rest)));
    Ok(sizes.filter(|(_, share)| *share > 0.0).collect())
}

/// `4k-64k`: every multiple of the smallest is equally likely.
fn ranged(text: &str, base: KbBase) -> Result<Sizes, String> {
    let (from, to) = text.split_once('-').ok_or("a range looks like 4k-64k")?;
    let (from, to) = (bytes(from, base)?, bytes(to, base)?);
    if from == 0 || from > to {
        return Err("a range runs from the smaller to the larger size".to_owned());
    }
    let count = to / from;
    if count > MIX_MAX as u64 {
        return Err(format!("the range has {count} sizes; at most {MIX_MAX} are supported"));
    }
    Ok((1..=count).map(|times| (times * from, 1.0)).collect())
}

fn data(options: &mut Options<'_>) -> Result<Data, ImportError> {
    // The largest ratio that a plan takes.
    let ratio = |share: f64| (100.0 / (100.0 - share).max(0.1)).min(1000.0);
    let compress = options.read("buffer_compress_percentage", percent)?.unwrap_or(0.0);
    let dedupe = options.read("dedupe_percentage", percent)?.unwrap_or(0.0);
    let chunk = options.take("buffer_compress_chunk");
    if let Some(option) = chunk.filter(|_| compress > 0.0) {
        options.note(option.line, "buffer_compress_chunk: data is compressible in units of 4 KiB.");
    }
    let zero = options.is_on("zero_buffers")?;
    let compress = if zero { 1000.0 } else { ratio(compress) };
    let dedupe = ratio(dedupe);
    match compress > 1.0 || dedupe > 1.0 {
        true => Ok(Data::Reducible { compress, dedupe }),
        false => Ok(Data::Unique),
    }
}

fn verified(options: &mut Options<'_>) -> Result<bool, ImportError> {
    let Some(option) = options.take("verify") else { return Ok(false) };
    match option.value.as_str() {
        "0" | "none" | "null" => Ok(false),
        method => {
            options.note(
                option.line,
                format!(
                    "verify={}: Assay checks each read of the job against its own stamps; fio reads \
                     back what it wrote.",
                    short(method)
                ),
            );
            Ok(true)
        }
    }
}

/// How often the job flushes: `fsync` and `fdatasync`, after so many writes.
fn flush(options: &mut Options<'_>) -> Result<Option<Flushes>, ImportError> {
    let mut flush = None;
    for (key, kind) in [("fdatasync", Flush::Data), ("fsync", Flush::All)] {
        let every = options.read(key, |text| integer(text, 0, 1_000_000_000))?.unwrap_or(0);
        if every > 0 {
            flush = Some(Flushes { every: u32::try_from(every).unwrap_or(u32::MAX), kind });
        }
    }
    Ok(flush)
}

/// `startdelay=5`; of a range the shortest.
fn start_delay(options: &mut Options<'_>) -> Result<Nanos, ImportError> {
    let ranged = options.left.get("startdelay").filter(|option| option.value.contains('-')).map(|o| o.line);
    if let Some(line) = ranged {
        options.note(line, "startdelay: of a range the shortest delay is used.");
    }
    let first = |text: &str| time(text.split('-').next().unwrap_or_default(), 1e9);
    Ok(options.read("startdelay", first)?.unwrap_or_default())
}

/// How much is used, and when it ends.
struct Size {
    span: Option<u64>,
    offset: Extent,
    used: Option<Extent>,
    bytes: Option<u64>,
    run: Option<Nanos>,
}

fn size(options: &mut Options<'_>, workers: u64) -> Result<Size, ImportError> {
    let base = options.kb_base;
    let size = options.take("size");
    let percent_of = size.filter(|option| option.value.trim().ends_with('%'));
    let read = |option: &OptionLine| {
        let text = option.value.split('-').next().unwrap_or_default();
        bytes(text, base).map_err(|why| option.complain(why))
    };
    let used = size.filter(|_| percent_of.is_none()).map(read).transpose()?.filter(|bytes| *bytes > 0);
    let part = |option: &OptionLine| match option.value.trim().strip_suffix('%') {
        Some(share) => percent(share).map(Extent::Percent).map_err(|why| option.complain(why)),
        None => read(option).map(|bytes| Extent::Bytes(Bytes(bytes))),
    };
    let offset = options.take("offset").map(part).transpose()?.unwrap_or(Extent::Bytes(Bytes(0)));
    let share = percent_of.filter(|option| option.value.trim() != "100%").map(part).transpose()?;
    let file_size = options.take("filesize");
    if let Some(option) = file_size.filter(|option| option.value.contains('-')) {
        options.note(
            option.line,
            "filesize: all files have the first of the two sizes; fio draws one for each.",
        );
    }
    let file_size = file_size.map(read).transpose()?;
    if let Some(option) = options.take("offset_increment") {
        options.note(
            option.line,
            "offset_increment: each worker of a sequential job has its own part of \
             the target, of equal size.",
        );
    }
    let loops = options.read("loops", |text| integer(text, 1, 1_000_000))?.unwrap_or(1);
    let limit = options.read("io_size", |text| bytes(text, base))?.filter(|bytes| *bytes > 0);
    let is_timed = options.is_on("time_based")?;
    let run = options.read("runtime", |text| time(text, 1e9))?.filter(|run| *run > Nanos(0));
    let files = options
        .left
        .get("nrfiles")
        .map_or(Ok(1), |option| integer(&option.value, 1, 10_000).map_err(|why| option.complain(why)))?;
    let ends = limit.or(used).filter(|_| !is_timed);
    let at = |says: String| crate::complain(&options.job.file, options.job.line, says);
    let lacks = |what: &str| Err(at(format!("[{}] {what}", short(&options.job.name))));
    if is_timed && run.is_none() {
        return lacks("is time_based, but has no runtime");
    }
    if ends.is_none() && run.is_none() && !options.left.contains_key("number_ios") {
        return lacks(
            "has neither a size in bytes nor a runtime, so it has no end; add runtime=, or size= in bytes",
        );
    }
    let too_large = || at("size times loops times numjobs is too large".to_owned());
    let bytes = ends
        .map(|bytes| bytes.checked_mul(loops)?.checked_mul(workers).filter(|all| *all < 1 << 62))
        .map(|all| all.ok_or_else(too_large))
        .transpose()?;
    let own = used.map(|used| used / files);
    let behind = match offset {
        Extent::Bytes(Bytes(bytes)) => bytes,
        Extent::Percent(_) => 0,
    };
    Ok(Size {
        span: file_size.or(own.map(|own| own.saturating_add(behind))),
        offset,
        used: share.or(own.map(|own| Extent::Bytes(Bytes(own)))),
        bytes,
        run,
    })
}

fn files(options: &mut Options<'_>) -> Result<Vec<String>, ImportError> {
    /// The most files of one job.
    const FILES_MAX: u64 = 1_000;
    let directory = options.take("directory").map_or(String::new(), |option| format!("{}/", option.value));
    let count = options.read("nrfiles", |text| integer(text, 1, FILES_MAX))?.unwrap_or(1);
    if let Some(option) = options.take("filename") {
        let names: Vec<String> =
            file_names(&option.value).into_iter().map(|name| format!("{directory}{name}")).collect();
        if names.len() as u64 > FILES_MAX {
            return Err(option.complain(format!("names more than {FILES_MAX} files")));
        }
        return Ok(names);
    }
    let name = &options.job.name;
    Ok((0..count).map(|number| format!("{directory}{name}.{number}")).collect())
}

/// Splits names at `:`; a backslash before one, as in `C\:\data`, makes it part of the name.
fn file_names(list: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut chars = list.chars().peekable();
    while let Some(c) = chars.next() {
        let c = match c {
            '\\' if chars.peek() == Some(&':') => chars.next(),
            ':' => None,
            c => Some(c),
        };
        match (c, names.last_mut()) {
            (Some(c), Some(name)) => name.push(c),
            _ => names.push(String::new()),
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// What is left: options that change nothing, a little, or what Assay cannot do.
fn rest(options: &mut Options<'_>) -> Result<(), ImportError> {
    let direct = options.take("direct").map(|option| (option.line, option.value.clone()));
    let buffered = options.take("buffered").map(|option| (option.line, option.value.clone()));
    let is_direct = match (&direct, &buffered) {
        (Some((_, value)), _) => is_true(value).unwrap_or(false),
        (None, Some((_, value))) => !is_true(value).unwrap_or(true),
        (None, None) => false,
    };
    if !is_direct {
        let line = direct.or(buffered).map_or(0, |(line, _)| line);
        options.note(line, "fio uses the page cache here; Assay bypasses it (--cached uses it).");
    }
    // The note about it is one for all jobs.
    options.take("norandommap");
    let left: Vec<(&str, &OptionLine)> = std::mem::take(&mut options.left).into_iter().collect();
    for (key, option) in left {
        let is_off = ["0", "none"].contains(&option.value.trim());
        if WITHOUT_EFFECT.contains(&key) {
            continue;
        }
        match DIFFERENT.iter().find(|(known, _)| *known == key) {
            Some((_, says)) if *says == OWN_STAMPS && is_off => {}
            Some((_, says)) => options.note(option.line, format!("{key}: {says}.")),
            None if is_off => {}
            None => {
                let why = match key {
                    "sync_file_range" | "write_barrier" => "Assay flushes with fsync and fdatasync only",
                    "rate_min" | "rate_iops_min" | "rate_cycle" => {
                        "Assay reports a rate that is missed, and goes on"
                    }
                    "zonemode" | "zonesize" | "zonerange" | "zoneskip" | "zonecapacity" => {
                        "zones are not supported"
                    }
                    "read_iolog" | "write_iolog" => "Assay does not replay or write logs of I/O",
                    "wait_for" => "only stonewall runs jobs one after another",
                    "steadystate" | "ss" => {
                        "fio's criterion is not supported; `steady` of a plan ends a test when it is steady"
                    }
                    _ => "it is not supported",
                };
                match nearest(key, COMMON.into_iter()).filter(|near| *near != key) {
                    Some(near) => options.refuse(option, &format!("{why}; did you mean {near}?")),
                    None => options.refuse(option, why),
                }
            }
        }
    }
    Ok(())
}
