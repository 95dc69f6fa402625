//! The options of one job, and what they mean.

use assay_spec::units::{Nanos, PerSecond};
use assay_spec::{
    Access, Arrivals, Change, Data, Extent, FLOW_MAX, Flush, Flushes, OUTSTANDING_MAX, Strides, WORKERS_MAX,
    Zoned, nearest,
};

use super::blocks::mix;
use super::extent::{End, Files, files, size};
use super::known::{
    ASYNCHRONOUS, COMMON, DIFFERENT, ELSEWHERE, OF_ENGINES, SYNCHRONOUS, WITHOUT_EFFECT, ZERO_IS_SOME,
};
use super::lines::{JobLines, OptionLine};
use super::rate::pace;
use super::taken::{Findings, Options};
use super::value::{KbBase, integer, is_true, short, time, whole_percent};
use crate::ImportError;

/// A job as it is meant.
pub(super) struct FioJob {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) mix: Vec<Access>,
    pub(super) workers: u32,
    pub(super) outstanding: u32,
    pub(super) pace: Option<(PerSecond, Option<Arrivals>)>,
    pub(super) data: Data,
    pub(super) checks: Verifies,
    /// Size of each of its files, where the file says so, bytes.
    pub(super) span: Option<u64>,
    /// Whether places in its files are shares of what they have, which the file does not say.
    pub(super) is_relative: bool,
    /// Where in its files the job begins, how much of them it uses, and how much further on each clone begins.
    pub(super) offset: Extent,
    pub(super) used: Option<Extent>,
    pub(super) increment: Extent,
    pub(super) strides: Option<Strides>,
    pub(super) zoned: Option<Zoned>,
    pub(super) flush: Option<Flushes>,
    /// Whether each write waits until it is durable (`sync`).
    pub(super) is_durable: bool,
    pub(super) start_delay: Nanos,
    pub(super) end: End,
    pub(super) ramp: Nanos,
    /// Whether it begins after all jobs before it.
    pub(super) waits: bool,
    /// Whom its end takes along, where `exitall` is given.
    pub(super) exit: Scope,
    /// The line that says so, and the job that it begins after.
    pub(super) waits_for: Option<(usize, String)>,
    pub(super) files: Files,
    pub(super) flow: Option<Weight>,
    pub(super) seed: Option<u64>,
}

/// Jobs that run side by side, with their places in the file.
pub(super) type Group<'j> = Vec<(usize, &'j FioJob)>;

/// Whom the end of a job takes along: `exit_what`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// Those that are reported together.
    Reported,
    /// Those that run.
    Running,
    /// Those that wait too.
    All,
}

/// The weight of a job's I/Os among those with the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Weight {
    pub(super) line: usize,
    pub(super) weight: u32,
    pub(super) id: u64,
}

/// What a job verifies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verifies {
    Nothing,
    /// What it reads.
    Reads,
    /// What it has written, once it has written all.
    Written,
}

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
        "blocksize_unaligned" => "bs_unaligned",
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
    let numjobs = options.read("numjobs", |text| integer(text, 1, WORKERS_MAX))?.unwrap_or(1);
    let outstanding = outstanding(&mut options)?;
    let mut mix = mix(&mut options)?;
    if let Some(option) = options.take("readonly").filter(|_| mix.iter().any(Access::writes)) {
        return Err(option.complain(format!("forbids the writes of job {}", short(&lines.name))));
    }
    let files = files(&mut options, numjobs)?;
    let workers = files.workers;
    let pace = pace(&mut options, &mut mix, workers)?;
    let data = data(&mut options)?;
    let least = mix.iter().map(|line| line.size.0).min().unwrap_or(1);
    let mut size = size(&mut options, &files, workers, least)?;
    note_ends(&mut options, &mix, &size.end);
    if mix.iter().all(|line| line.change == Change::TrimWrite) {
        // fio counts the writes only; here the trims before them count too.
        size.end.bytes = size.end.bytes.map(|bytes| bytes.saturating_mul(2));
        size.end.ops = size.end.ops.map(|ops| ops.saturating_mul(2));
    }
    let checks = verified(&mut options, &mix, &size.end)?;
    if let Some(option) = options.left.get("verify_only").filter(|option| is_true(&option.value) != Ok(false))
        && mix.iter().any(Access::writes)
    {
        let says = "fio writes nothing then and reads back what an earlier run wrote, whose stamps Assay does not \
                    know; leave it out to write and read back";
        return Err(option.complain(says));
    }
    let job = FioJob {
        name: lines.name.clone(),
        line: lines.line,
        workers: u32::try_from(workers).unwrap_or(1),
        outstanding,
        pace,
        data,
        checks,
        span: size.span,
        is_relative: size.is_relative,
        offset: size.offset,
        used: size.used,
        increment: size.increment,
        strides: size.strides,
        zoned: size.zoned,
        flush: flush(&mut options)?,
        is_durable: options.take("sync").is_some_and(|option| !["0", "none"].contains(&option.value.trim())),
        start_delay: start_delay(&mut options)?,
        end: size.end,
        ramp: options.read("ramp_time", |text| time(text, 1e9))?.unwrap_or_default(),
        waits: options.is_on("stonewall")?,
        exit: scope(&mut options)?,
        waits_for: options.take("wait_for").map(|option| (option.line, option.value.clone())),
        files,
        flow: flow(&mut options)?,
        seed: options.read("randseed", |text| integer(text, 0, i64::MAX as u64))?,
        mix,
    };
    rest(&mut options)?;
    Ok(job)
}

/// Says where fio does not get through its size, or goes through the same positions again.
fn note_ends(options: &mut Options<'_>, mix: &[Access], end: &End) {
    let line = options.job.line;
    let is_mixed = |line: &Access| line.gap.0 > 0 || (line.random > 0.0 && line.random < 100.0);
    let in_turns = |line: &Access| line.random > 0.0 && line.sequence > 1;
    // Sequential and random I/Os of one direction, with sizes of their own.
    let is_both =
        |line: &Access| mix.iter().any(|other| other.read == line.read && other.random != line.random);
    let moves_all = end.bytes.is_some() || end.passes.is_some();
    let has_io_size = ["io_size", "io_limit"].iter().any(|key| options.has(key));
    let says = match (moves_all, has_io_size) {
        (true, false) if mix.iter().any(|line| is_mixed(line) || is_both(line)) => {
            "Where fio comes in order to the end of what the job uses, and the file or device is larger or ends just \
             there, it ends; here the job goes on at the beginning until its size is moved. io_size makes fio go on \
             too."
        }
        (true, false) if mix.iter().any(in_turns) => {
            "Where fio comes in order to the end of what the job uses, and the file or device is larger, it ends; here \
             the job goes on until its size is moved."
        }
        (true, true)
            if mix
                .iter()
                .any(|line| line.random > 0.0 && (is_mixed(line) || in_turns(line) || is_both(line))) =>
        {
            "Where fio comes in order to the end of what the job uses, and the file or device is larger, it begins \
             again with the positions that it had; here new ones are drawn."
        }
        _ => "",
    };
    if !says.is_empty() {
        options.note(line, says);
    }
    let is_drawn = |line: &Access| line.once && line.read > 0.0 && line.read < 100.0;
    let differs = mix.len() > 1 || mix.iter().any(is_drawn);
    let is_off = |option: &&OptionLine| {
        ["randrepeat", "allrandrepeat"].contains(&option.key.as_str()) && is_true(&option.value) == Ok(false)
    };
    let off = options.job.options.iter().rfind(is_off).map(|option| option.line);
    if let Some(line) = off.filter(|_| differs && end.passes.is_some_and(|passes| passes > 1)) {
        let says = "randrepeat=0: fio draws anew in each of its loops; here each pass repeats the draws of the first.";
        options.note(line, says);
    }
    let is_repeated = options.job.options.iter().any(|o| o.key == "loops" && o.value.trim() != "1");
    if is_repeated && end.ops.is_some() && mix.iter().all(|line| line.change == Change::TrimWrite) {
        let line = options.job.options.iter().rfind(|o| o.key == "number_ios").map_or(0, |o| o.line);
        let says =
            "number_ios: with trimwrite fio doubles it anew in each loop; here each loop counts alike.";
        options.note(line, says);
    }
    if mix.iter().any(|line| line.change == Change::TrimWrite) {
        let says = "Older versions of fio (3.33) send the writes of trimwrite through the page cache, whatever direct \
                    says, so that they reach a device in pages; those of newer ones, and of this, are direct.";
        options.note(line, says);
    }
    let has_offset = ["offset", "offset_increment"].iter().any(|key| options.has(key));
    if has_offset && mix.iter().any(|line| line.change == Change::TrimWrite && line.random > 0.0) {
        let says = "randtrimwrite with an offset ends after its first trim in older versions of fio (3.33); newer \
                    ones, and this, go on.";
        options.note(line, says);
    }
}

fn outstanding(options: &mut Options<'_>) -> Result<u32, ImportError> {
    let depth_line = options.left.get("iodepth").map_or(0, |option| option.line);
    let depth = options.read("iodepth", |text| integer(text, 1, OUTSTANDING_MAX))?.unwrap_or(1);
    let engine = options.take("ioengine");
    let name = engine.map_or("psync", |option| option.value.as_str());
    let name = name.split(':').next().unwrap_or(name);
    let is_known = SYNCHRONOUS.contains(&name) || ASYNCHRONOUS.contains(&name);
    match engine.filter(|_| !is_known) {
        Some(option) if ELSEWHERE.contains(&name) => options.note(
            option.line,
            format!("ioengine={name}: the I/Os go to TARGET, by Assay's own engine for that kind of target."),
        ),
        Some(option) => options.refuse(option, &format!("Assay has no engine like {}", short(name))),
        None => {}
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

fn data(options: &mut Options<'_>) -> Result<Data, ImportError> {
    // The largest ratio that a plan takes.
    let ratio = |share: f64| (100.0 / (100.0 - share).max(0.1)).min(1000.0);
    let compress = options.read("buffer_compress_percentage", whole_percent)?.unwrap_or(0.0);
    let dedupe = options.read("dedupe_percentage", whole_percent)?.unwrap_or(0.0);
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

/// What `verify` comes to: reads are checked as they come, and what was only written is read back.
fn verified(options: &mut Options<'_>, mix: &[Access], end: &End) -> Result<Verifies, ImportError> {
    let Some(option) = options.take("verify") else { return Ok(Verifies::Nothing) };
    if ["0", "none", "null"].contains(&option.value.as_str()) {
        return Ok(Verifies::Nothing);
    }
    let is_read_back = options.read("do_verify", is_true)?.unwrap_or(true) && mix.iter().any(Access::writes);
    let (verifies, says) = match (is_read_back, mix.iter().any(Access::reads), end.run.is_some()) {
        (false, true, _) => (Verifies::Reads, "Assay checks each read of the job against its own stamps"),
        (false, false, _) => (Verifies::Nothing, "do_verify=0: nothing is read back"),
        (true, _, true) => (
            Verifies::Reads,
            "fio reads nothing back that a runtime ends, and neither does this; reads of the job are checked against \
             Assay's own stamps",
        ),
        (true, ..) if end.is_whole && !mix.iter().any(Access::reads) => (
            Verifies::Written,
            "what was written is read back by a test of its own, and checked against Assay's own stamps",
        ),
        (true, ..) => (
            Verifies::Written,
            "all that the job uses is read back by a test of its own and checked against Assay's own stamps; fio reads \
             back only what it wrote",
        ),
    };
    options.note(option.line, format!("verify={}: {says}.", short(&option.value)));
    if verifies == Verifies::Written && mix.iter().any(|line| line.size != mix[0].size) {
        let says = "verify: what was written in several sizes is read back in order, in I/Os of the largest.";
        options.note(option.line, says);
    }
    Ok(verifies)
}

/// How often the job flushes: `fsync` and `fdatasync`, after so many writes. Of both the more frequent one is done.
fn flush(options: &mut Options<'_>) -> Result<Option<Flushes>, ImportError> {
    const KINDS: [(&str, Flush); 2] = [("fsync", Flush::All), ("fdatasync", Flush::Data)];
    let mut found = Vec::new();
    for (key, kind) in KINDS {
        let line = options.left.get(key).map_or(0, |option| option.line);
        let every = options.read(key, |text| integer(text, 0, 1_000_000_000))?.unwrap_or(0);
        if every > 0 {
            found.push((key, line, Flushes { every: u32::try_from(every).unwrap_or(u32::MAX), kind }));
        }
    }
    // Where both are due after the same write, fio does an fsync only.
    found.sort_by_key(|(.., flush)| flush.every);
    if let [(kept, _, flush), (other, line, rare)] = found.as_slice()
        && flush.every < rare.every
        && !(flush.kind == Flush::All && rare.every.is_multiple_of(flush.every))
    {
        let says = format!(
            "{other}={}: a job has one kind of flush here; those after every {} writes ({kept}) are done, and these \
             are left out.",
            rare.every, flush.every
        );
        options.note(*line, says);
    }
    Ok(found.first().map(|(.., flush)| *flush))
}

/// `flow` and `flow_id`: how many I/Os the job makes for those of others.
fn flow(options: &mut Options<'_>) -> Result<Option<Weight>, ImportError> {
    let id = options.read("flow_id", |text| integer(text, 0, u32::MAX.into()))?.unwrap_or(0);
    let line = options.left.get("flow").map_or(0, |option| option.line);
    let weight = options.read("flow", |text| integer(text, 0, FLOW_MAX))?;
    let weight = weight.and_then(|weight| u32::try_from(weight).ok()).filter(|weight| *weight > 0);
    Ok(weight.map(|weight| Weight { line, weight, id }))
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

/// Takes the options of one job. What they mean depends on all jobs.
fn scope(options: &mut Options<'_>) -> Result<Scope, ImportError> {
    options.take("exitall");
    let scope = options.read("exit_what", |text| match text {
        "group" => Ok(Scope::Reported),
        "stonewall" => Ok(Scope::Running),
        "all" => Ok(Scope::All),
        other => Err(format!("`{}` is not known; use group, stonewall or all", short(other))),
    })?;
    Ok(scope.unwrap_or(Scope::Reported))
}

/// What is left: options that change nothing, a little, or what Assay cannot do.
fn rest(options: &mut Options<'_>) -> Result<(), ImportError> {
    options.take("direct");
    options.take("buffered");
    let is_kind = |option: &&OptionLine| ["direct", "buffered"].contains(&option.key.as_str());
    let last = options.job.options.iter().rfind(is_kind);
    // One says the opposite of the other, so the last one counts.
    let is_direct = last.is_some_and(|option| match option.key.as_str() {
        "direct" => is_true(&option.value).unwrap_or(false),
        _ => !is_true(&option.value).unwrap_or(true),
    });
    if !is_direct {
        let line = last.map_or(0, |option| option.line);
        options.note(line, "fio uses the page cache here; Assay bypasses it (--cached uses it).");
    }
    let is_elsewhere = options.job.options.iter().any(|option| {
        option.key == "ioengine"
            && [&ELSEWHERE[..], &["nfs"]]
                .concat()
                .contains(&option.value.split(':').next().unwrap_or_default())
    });
    let left: Vec<(&str, &OptionLine)> = std::mem::take(&mut options.left).into_iter().collect();
    for (key, option) in left {
        let is_off = ["0", "none"].contains(&option.value.trim());
        if WITHOUT_EFFECT.contains(&key) {
            continue;
        }
        if is_elsewhere && (OF_ENGINES.contains(&key) || key.starts_with("http_")) {
            continue;
        }
        match DIFFERENT.iter().find(|(known, _)| *known == key) {
            Some(_) if is_off && !ZERO_IS_SOME.contains(&key) => {}
            Some(_) if key == "file_service_type" && option.value.trim() == "roundrobin" => {}
            Some((_, says)) => options.note(option.line, format!("{key}: {says}.")),
            None if is_off => {}
            None => {
                let why = match key {
                    "sync_file_range" => "Assay flushes with fsync and fdatasync only",
                    "thinktime_iotime" => {
                        "pauses after some time of I/O are not supported; use thinktime_blocks"
                    }
                    "thinkcycles" => "pauses in cycles of the processor are not supported; use thinktime",
                    "opendir" => {
                        "files that are found in a folder are not supported; name them with filename"
                    }
                    "file_append" => {
                        "writes behind the end of a file are not supported; a job begins at its offset"
                    }
                    "trim_percentage" | "trim_backlog" | "trim_backlog_batch" => {
                        "blocks that were verified are not trimmed; use rw=trimwrite or a job of its own"
                    }
                    "write_mode" => "Assay has no such commands of NVMe; only a plain write is one",
                    "sprandom" | "spr_op" | "spr_num_regions" => {
                        "this preconditioning is not supported; use two random passes"
                    }
                    "read_iolog" => "Assay does not replay logs of I/O",
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
