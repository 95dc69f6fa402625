//! Which files a job uses, how much of them, and when it ends.

use std::collections::HashMap;

use assay_spec::units::{Bytes, Nanos};
use assay_spec::{Extent, Strides, ZONE_BYTES_MIN, Zoned, names_device};

use super::lines::OptionLine;
use super::taken::Options;
use super::value::{self, KbBase, bytes, integer, share, short, time};
use crate::ImportError;

/// The most passes that a plan takes.
const PASSES_MAX: u32 = 1_000_000;

/// The most files of a job, clones together.
const FILES_MAX: u64 = 10_000;

/// The files of a job, by clone: one list where all clones use the same.
pub(super) struct Files {
    pub(super) by_clone: Vec<Vec<String>>,
    /// How often fio counts each of them, with a size and an order of its own each time.
    times: u64,
    /// Clones that do I/O.
    pub(super) workers: u64,
}

impl Files {
    /// Files of each clone as fio counts them.
    pub(super) fn each(&self) -> u64 {
        self.distinct() * self.times
    }

    /// Files of each clone.
    pub(super) fn distinct(&self) -> u64 {
        self.by_clone.first().map_or(1, Vec::len).max(1) as u64
    }

    /// Whether each clone has files of its own.
    pub(super) fn are_own(&self) -> bool {
        self.by_clone.len() > 1
    }
}

/// Reads which files a job uses.
pub(super) fn files(options: &mut Options<'_>, workers: u64) -> Result<Files, ImportError> {
    let folders = options.take("directory").map_or(vec![String::new()], |option| {
        split_names(&option.value).into_iter().map(|folder| format!("{folder}/")).collect()
    });
    let count = options.read("nrfiles", |text| integer(text, 1, FILES_MAX))?.unwrap_or(1);
    let format = options.take("filename_format");
    let all = named_files(options);
    let given = all.last().copied();
    // Only the first of clones lays out a file that all of them name; a device needs no layout, and all use it.
    let on_device = |name: &str| folders.iter().all(|folder| names_device(&format!("{folder}{name}")));
    let is_shared = given.is_none()
        && format.is_some_and(|option| !option.value.contains("$jobnum") && !on_device(&option.value));
    if let Some(option) = format.filter(|_| is_shared && workers > 1) {
        options.note(
            option.line,
            "filename_format: without $jobnum the clones have one set of files among them, and only the first of them \
             does I/O, as in fio.",
        );
    }
    let line = given.map_or(options.job.line, |option| option.line);
    let job = &options.job.name;
    let own = |clone: u64| -> Vec<String> {
        let folder = &folders[usize::try_from(clone).unwrap_or(0) % folders.len().max(1)];
        let names: Vec<String> = match (given, format) {
            (Some(_), _) => all.iter().flat_map(|option| split_names(&option.value)).collect(),
            (None, Some(option)) => (0..count).map(|file| named(&option.value, job, clone, file)).collect(),
            (None, None) => (0..count).map(|file| format!("{job}.{clone}.{file}")).collect(),
        };
        names.into_iter().map(|name| format!("{folder}{name}")).collect()
    };
    let place = given.or(format);
    let mut times = 1;
    let mut by_clone: Vec<Vec<String>> = Vec::new();
    let mut total = 0;
    for clone in 0..workers {
        let names;
        (names, times) = once_each(own(clone), place)?;
        total += names.len() as u64;
        if total > FILES_MAX && (clone == 0 || names != by_clone[0]) {
            let says = format!(
                "uses more than {FILES_MAX} files, which is the most here; use fewer numjobs or nrfiles"
            );
            return Err(crate::complain(&options.job.file, line, says));
        }
        by_clone.push(names);
        if by_clone.len() == 2 && by_clone[0] == by_clone[1] && folders.len() <= 1 {
            by_clone.truncate(1);
            break;
        }
    }
    if let Some(option) = place.filter(|_| times > 1) {
        let says = format!(
            "{}: fio takes {times} files of one name for {times} files, each with its share of the size, and goes \
             through them in turns, each in an order of its own; here the {times} parts follow each other.",
            option.key
        );
        options.note(option.line, says);
    }
    Ok(Files { by_clone, times, workers: if is_shared { 1 } else { workers } })
}

/// All lines that name files: fio adds the files of a job to those of `[global]`.
fn named_files<'j>(options: &mut Options<'j>) -> Vec<&'j OptionLine> {
    options.take("filename");
    let names = |option: &&OptionLine| option.key == "filename" && !option.value.trim().is_empty();
    let all: Vec<&OptionLine> = options.job.options.iter().filter(names).collect();
    if let [first, .., last] = all.as_slice()
        && first.value != last.value
    {
        let says =
            format!("filename: fio adds this to the files that line {} names, and so does this.", first.line);
        options.note(last.line, says);
    }
    all
}

/// Each name once, and how often it is named, which must be as often as every other.
fn once_each(names: Vec<String>, place: Option<&OptionLine>) -> Result<(Vec<String>, u64), ImportError> {
    let mut counts: Vec<(String, u64)> = Vec::new();
    let mut at: HashMap<String, usize> = HashMap::new();
    for name in names {
        match at.get(&name) {
            Some(index) => counts[*index].1 += 1,
            None => {
                at.insert(name.clone(), counts.len());
                counts.push((name, 1));
            }
        }
    }
    let times = counts.first().map_or(1, |(_, times)| *times);
    match (counts.iter().find(|(_, own)| *own != times), place) {
        (Some((name, own)), Some(option)) => Err(option.complain(format!(
            "names {} {own} times and {} {times} times, and fio uses the one more than the other; name each as often",
            short(name),
            short(&counts[0].0)
        ))),
        _ => Ok((counts.into_iter().map(|(name, _)| name).collect(), times)),
    }
}

/// Puts names and numbers into `$jobname.$jobnum.$filenum`.
fn named(format: &str, job: &str, clone: u64, file: u64) -> String {
    format
        .replace("$jobname", job)
        .replace("$jobnum", &clone.to_string())
        .replace("$filenum", &file.to_string())
        .replace("$clientuid", "")
}

/// Splits names at `:`; a backslash before one, as in `C\:\data`, makes it part of the name.
fn split_names(list: &str) -> Vec<String> {
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

/// How much is used, and when it ends.
pub(super) struct Size {
    /// Bytes of each file, where the job says so.
    pub(super) span: Option<u64>,
    /// Whether it begins at shares of files whose size the job does not say.
    pub(super) is_relative: bool,
    pub(super) offset: Extent,
    pub(super) used: Option<Extent>,
    pub(super) increment: Extent,
    pub(super) strides: Option<Strides>,
    pub(super) zoned: Option<Zoned>,
    pub(super) end: End,
}

/// What ends a job, clones together.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct End {
    pub(super) run: Option<Nanos>,
    pub(super) bytes: Option<u64>,
    /// So many times all that it uses.
    pub(super) passes: Option<u32>,
    pub(super) ops: Option<u64>,
    /// Whether the bytes are those of its files, each once or more: then all of them are touched.
    pub(super) is_whole: bool,
}

impl End {
    /// Whether only time ends it.
    pub(super) fn is_timed(&self) -> bool {
        self.run.is_some() && self.bytes.is_none() && self.passes.is_none() && self.ops.is_none()
    }
}

/// Reads how much of its files a job uses, and what ends it. `least` is its smallest I/O, bytes.
pub(super) fn size(
    options: &mut Options<'_>,
    files: &Files,
    workers: u64,
    least: u64,
) -> Result<Size, ImportError> {
    let base = options.kb_base;
    let mut zones = zones(options, workers)?;
    if files.each() > 1 && zones.strides.take().is_some() {
        let says = "zonemode=strided: of several files newer versions of fio use all, without zones, and so does this.";
        options.note(options.job.line, says);
    }
    let part = |option: &OptionLine| extent(option, base, zones.bytes);
    let size = options.take("size").map(part).transpose()?.filter(|size| *size != Extent::default());
    let file_size = options.take("filesize").map(|option| file_size(options, option)).transpose()?;
    let offset = options.take("offset").map(part).transpose()?.unwrap_or_default();
    let increment = options.take("offset_increment").map(part).transpose()?.unwrap_or_default();
    if let Some(option) = options.take("offset_align").filter(|_| matches!(offset, Extent::Percent(_))) {
        options
            .note(option.line, "offset_align: a share begins at a whole block, not at a multiple of this.");
    }
    // fio begins at a whole block.
    let whole = |bytes: u64| bytes.next_multiple_of(least);
    let offset = match offset {
        Extent::Bytes(Bytes(bytes)) => Extent::Bytes(Bytes(whole(bytes))),
        share => share,
    };
    let behind = match (offset, file_size) {
        (Extent::Bytes(Bytes(bytes)), _) => bytes,
        (Extent::Percent(share), Some(file)) => whole(of_share(file, share)),
        (Extent::Percent(_), None) => 0,
    };
    let clones = workers - 1;
    let onward = if let Extent::Bytes(Bytes(bytes)) = increment { bytes.saturating_mul(clones) } else { 0 };
    let of_file = match (size, file_size) {
        (Some(Extent::Bytes(Bytes(bytes))), None) => Some(bytes / files.each()),
        (Some(Extent::Percent(part)), Some(file)) => {
            Some(of_share(file, part).min(file.saturating_sub(behind)))
        }
        // All of a file whose size is given is used; `size` says how much is moved.
        (_, Some(file)) => Some(file.saturating_sub(behind)),
        (Some(Extent::Percent(_)) | None, None) => None,
    };
    // What does not fill a block is not touched.
    let own = of_file.map(|bytes| if bytes >= least { bytes / least * least } else { bytes });
    let used = match (own, size) {
        // Stripes are those of the whole file, however few are used.
        _ if zones.strides.is_some() => None,
        (Some(own), _) => Some(Extent::Bytes(Bytes(own))),
        (None, Some(Extent::Percent(share))) if share < 100.0 => Some(Extent::Percent(share)),
        (None, _) => None,
    };
    let needed = own.map(|own| own.saturating_add(behind).saturating_add(onward));
    let span = file_size.max(needed);
    let all = own.map(|own| own * files.each());
    let moved = match (size, file_size, all) {
        (Some(Extent::Bytes(Bytes(bytes))), Some(_), Some(all)) if bytes < all => Some(bytes),
        _ => None,
    };
    note_zones(options, zones.strides, span, behind);
    let own = Own { bytes: all, moved, least, has_stripes: zones.strides.is_some(), times: files.times };
    let end = end(options, &own, workers)?;
    let is_share = |part: Extent| matches!(part, Extent::Percent(share) if share > 0.0);
    let is_relative = file_size.is_none() && (is_share(offset) || is_share(increment));
    Ok(Size { span, is_relative, offset, used, increment, strides: zones.strides, zoned: zones.zoned, end })
}

/// What the options of zones come to.
struct Zones {
    /// The length of a zone, where the job says so, bytes.
    bytes: Option<u64>,
    strides: Option<Strides>,
    /// Zones of a device without any, which random writes fill as those of a zoned one.
    zoned: Option<Zoned>,
}

/// Options of zoned devices that matter nowhere else.
const OF_ZONED: [&str; 7] = [
    "zonecapacity",
    "ignore_zone_limits",
    "read_beyond_wp",
    "initial_zone_reset",
    "zone_reset_threshold",
    "zone_reset_frequency",
    "recover_zbd_write_error",
];

/// Reads `zonemode` and what belongs to it: stripes of any file, or the zones of a zoned device.
fn zones(options: &mut Options<'_>, workers: u64) -> Result<Zones, ImportError> {
    let base = options.kb_base;
    let mode = options.take("zonemode");
    let mut size =
        |key| options.read(key, |text| bytes(text, base)).map(|size| size.filter(|bytes| *bytes > 0));
    let (bytes, range, skip) = (size("zonesize")?, size("zonerange")?, size("zoneskip")?);
    match (mode.map(|option| option.value.trim()), bytes) {
        (Some("none"), _) | (None, None) => Ok(Zones { bytes, strides: None, zoned: None }),
        (kind @ (Some("strided") | None), Some(bytes)) => {
            if kind.is_none() {
                let line = options.job.options.iter().rfind(|o| o.key == "zonesize").map_or(0, |o| o.line);
                let says = "zonesize without zonemode is strided, as in older versions of fio; newer ones refuse it.";
                options.note(line, says);
            }
            let strides = Strides {
                bytes: Bytes(bytes),
                length: Bytes(range.unwrap_or(bytes)),
                skip: Bytes(skip.unwrap_or(0)),
            };
            Ok(Zones { bytes: Some(bytes), strides: Some(strides), zoned: None })
        }
        (Some("zbd"), _) => {
            let zoned = mode.map(|option| zbd(options, option, bytes, workers)).transpose()?.flatten();
            Ok(Zones { bytes, strides: None, zoned })
        }
        (Some(_), _) => Err(mode.map_or_else(
            || crate::complain(&options.job.file, options.job.line, "zonemode: is not known"),
            |option| option.complain("use none, strided with a zonesize, or zbd"),
        )),
    }
}

/// `zonemode=zbd`: fio gives a device without zones the ones of `zonesize`, and so does this for random writes.
fn zbd(
    options: &mut Options<'_>,
    mode: &OptionLine,
    bytes: Option<u64>,
    workers: u64,
) -> Result<Option<Zoned>, ImportError> {
    for key in OF_ZONED {
        match options.take(key) {
            Some(option) if option.key.starts_with("zone_reset") => {
                options.note(option.line, format!("{}: a zone begins anew when it is full.", option.key));
            }
            Some(option) if key == "zonecapacity" => {
                let capacity = value::bytes(option.known()?, options.kb_base);
                if capacity.map_err(|why| option.complain(why))? != bytes.unwrap_or(0) {
                    options.refuse(option, "zones that hold less than their size are not supported");
                }
            }
            _ => {}
        }
    }
    let mut open = |key| options.read(key, |text| integer(text, 0, u32::MAX.into()));
    let (of_all, of_each) = (open("max_open_zones")?.unwrap_or(0), open("job_max_open_zones")?.unwrap_or(0));
    let limits = [of_all, of_each.saturating_mul(workers)].into_iter().filter(|limit| *limit > 0);
    let open = limits.min().unwrap_or(0);
    let word = word(options);
    let is_verified = options.has("verify");
    match (word, bytes) {
        ("read" | "randread" | "write", _) => {
            let says = "zonemode=zbd: TARGET has no zones: reads are not limited to what was written of a zone (under \
                fio they read nothing that the same run did not write, except with read_beyond_wp), and no zone is \
                reset.";
            options.note(mode.line, says);
            Ok(None)
        }
        ("randwrite", None) => {
            options.refuse(mode, "the zones are those of the device; give a zonesize");
            Ok(None)
        }
        ("randwrite", Some(_)) if is_verified => {
            options.refuse(mode, "random writes to zones cannot be verified; leave verify out");
            Ok(None)
        }
        ("randwrite", Some(_)) if open > 0 && open < workers => {
            let says =
                format!("{workers} jobs share {open} open zones, which is not supported; use fewer numjobs");
            options.refuse(mode, &says);
            Ok(None)
        }
        ("randwrite", Some(bytes)) if bytes < ZONE_BYTES_MIN.0 => {
            options.refuse(mode, &format!("zones of less than {ZONE_BYTES_MIN} are not supported"));
            Ok(None)
        }
        ("randwrite", Some(bytes)) => {
            let says = "zonemode=zbd: TARGET has no zones: writes go to zones of zonesize as in fio, and a zone that \
                is full begins anew without a reset; each job has zones of its own.";
            options.note(mode.line, says);
            Ok(Some(Zoned { bytes: Bytes(bytes), open: u32::try_from(open).unwrap_or(0) }))
        }
        _ => {
            let says = "fio reads and trims no more of a zone than was written of it; zones with write pointers are \
                supported for random writes only";
            options.refuse(mode, says);
            Ok(None)
        }
    }
}

/// What one clone uses.
struct Own {
    /// Where the job says so.
    bytes: Option<u64>,
    /// What it moves of that, where its size is less than that of its files.
    moved: Option<u64>,
    /// Its smallest I/O.
    least: u64,
    /// Whether that is less than the stripes that it goes through.
    has_stripes: bool,
    /// How often fio counts each of its files.
    times: u64,
}

/// Reads what ends a job.
fn end(options: &mut Options<'_>, own: &Own, workers: u64) -> Result<End, ImportError> {
    let Own { bytes: own, moved, least, has_stripes, times } = *own;
    let loops = options.read("loops", |text| integer(text, 1, u32::MAX.into()))?.unwrap_or(1);
    let limit = limit(options, moved.or(own))?;
    let is_timed_at = options.left.get("time_based").map_or(0, |option| option.line);
    let is_timed = options.is_on("time_based")?;
    let run = options.read("runtime", |text| time(text, 1e9))?.filter(|run| *run > Nanos(0));
    let ops = options.read("number_ios", |text| integer(text, 1, u64::MAX / 2))?;
    if is_timed && run.is_none() {
        options.note(
            is_timed_at,
            "time_based: there is no runtime, so fio leaves it out, and the job ends after its size.",
        );
    }
    let reaches = |ops: &u64| limit.or(moved).or(own).is_some_and(|each| *ops >= each.div_ceil(least.max(1)));
    // fio counts the I/Os of all loops together; more than its size has do not end it, and of a job that goes on until
    // its runtime no number does.
    let ops = ops
        .filter(|ops| (!is_timed || run.is_none()) && !reaches(ops))
        .map(|ops| ops.saturating_mul(workers).saturating_mul(loops));
    let end = End { run, ops, ..End::default() };
    if is_timed && run.is_some() {
        return Ok(end);
    }
    // What is counted in passes ends right on a target that is smaller than the size too.
    let passes = u32::try_from(loops * times)
        .ok()
        .filter(|passes| *passes <= PASSES_MAX && (own.is_none() || !has_stripes));
    let is_other = |bytes: &u64| Some(*bytes) != own || passes.is_none();
    let each = limit.or(moved).or(own).filter(is_other);
    let Some(each) = each else {
        return Ok(End { passes, is_whole: run.is_none() && ops.is_none(), ..end });
    };
    let all = each.checked_mul(loops).map(|all| looped(options, all, limit, own, loops));
    match all.and_then(|all| all.checked_mul(workers)).filter(|all| *all < 1 << 62) {
        Some(all) => {
            let is_whole = own.is_some_and(|own| each >= own) && run.is_none() && ops.is_none();
            Ok(End { bytes: Some(all), is_whole, ..end })
        }
        None => Err(crate::complain(
            &options.job.file,
            options.job.line,
            "size times loops times numjobs is too large",
        )),
    }
}

/// What the loops of a clone move, of `all` at most: each loop goes through its files, and more of them follow until an
/// `io_size` above that is reached. Newer versions of fio move all of it where a job writes in order.
fn looped(options: &mut Options<'_>, all: u64, io_size: Option<u64>, own: Option<u64>, loops: u64) -> u64 {
    let (Some(io_size), Some(own)) = (io_size, own.filter(|own| *own > 0)) else { return all };
    if io_size <= own {
        return all;
    }
    let passes = all.min(own.saturating_mul(io_size.div_ceil(own).max(loops)));
    match word(options) {
        "write" | "trimwrite" if passes < all => {
            let says = "io_size with loops: older versions of fio (3.33) end as soon as so many loops over the size \
                        have moved it; newer ones, and this, move it in each loop.";
            options.note(options.job.line, says);
            all
        }
        "rw" | "readwrite" => {
            let says = "io_size above the size: newer versions of fio (3.42) take each of the two streams back by \
                        itself, and move it in each of the loops; older ones (3.33) take both back with the faster \
                        one, and end as soon as so many loops have moved it, and so does this.";
            options.note(options.job.line, says);
            passes
        }
        "write" | "trimwrite" => all,
        _ => passes,
    }
}

/// What a job does, without what follows a colon.
fn word<'o>(options: &Options<'o>) -> &'o str {
    let is_kind = |option: &&OptionLine| ["rw", "readwrite"].contains(&option.key.as_str());
    let word = options.job.options.iter().rfind(is_kind).map_or("read", |option| option.value.as_str());
    word.split(':').next().unwrap_or(word).trim()
}

/// Says where fio ends in a last zone that its file cuts short: as soon as it draws a position behind the file; and
/// what it does with two streams. `span` is how much of the file there is and `start` where the first zone begins,
/// bytes.
fn note_zones(options: &mut Options<'_>, strides: Option<Strides>, span: Option<u64>, start: u64) {
    let Some(strides) = strides else { return };
    if ["rw", "readwrite"].contains(&word(options)) {
        let says = "zonemode=strided: of reads and writes in order fio takes the stream on that ends a zone, and the \
                    other one stays where it is; here both go on to the next zone.";
        options.note(options.job.line, says);
    }
    if !word(options).starts_with("rand") {
        return;
    }
    let step = strides.length.0.saturating_add(strides.skip.0).max(1);
    let is_whole = span.is_some_and(|span| {
        let rest = span.saturating_sub(start) % step;
        rest == 0 || rest >= strides.length.0
    });
    if !is_whole {
        let says = "zonemode=strided: where the file or device ends within a zone, fio ends with the first position \
                    that it draws behind it; here the positions are drawn before the end, and the job goes on.";
        options.note(options.job.line, says);
    }
}

/// Reads `io_size`, which may be a share of the size; `own` is that, where it is known.
fn limit(options: &mut Options<'_>, own: Option<u64>) -> Result<Option<u64>, ImportError> {
    let base = options.kb_base;
    let Some(option) = options.take("io_size") else { return Ok(None) };
    let of_size = |share: f64| {
        own.map(|own| of_share(own, share)).ok_or("is a share of a size that the job does not say")
    };
    let read = match option.known()?.trim().strip_suffix('%') {
        Some(text) => share(text).and_then(|share| of_size(share).map_err(str::to_owned)),
        None => return Ok(Some(last_bytes(option, base)?).filter(|bytes| *bytes > 0)),
    };
    let bytes = read.map_err(|why| option.complain(why))?;
    Ok(Some(bytes).filter(|bytes| *bytes > 0))
}

/// A share of so many bytes, percent.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a number in u64")]
fn of_share(bytes: u64, share: f64) -> u64 {
    (bytes as f64 * share / 100.0) as u64
}

/// A size, a share, which is at most everything, or a number of zones.
fn extent(option: &OptionLine, base: KbBase, zone_bytes: Option<u64>) -> Result<Extent, ImportError> {
    let text = option.known()?.trim();
    let zones = text.strip_suffix(['z', 'Z']).and_then(|count| count.parse::<u64>().ok());
    if let Some(count) = zones {
        let bytes = zone_bytes.and_then(|bytes| bytes.checked_mul(count));
        let says = "counts zones, whose size is that of the device; give a zonesize or bytes";
        return bytes.map(|bytes| Extent::Bytes(Bytes(bytes))).ok_or_else(|| option.complain(says));
    }
    match text.strip_suffix('%') {
        Some(text) => {
            // Above 100 % it is everything.
            let most = text.parse::<u32>().map_or(text.to_owned(), |share| share.min(100).to_string());
            share(&most).map(Extent::Percent).map_err(|why| option.complain(why))
        }
        None => last_bytes(option, base).map(|bytes| Extent::Bytes(Bytes(bytes))),
    }
}

/// `filesize`; of a range its middle.
fn file_size(options: &mut Options<'_>, option: &OptionLine) -> Result<u64, ImportError> {
    let base = options.kb_base;
    let Some((least, most)) = option.known()?.split_once('-') else { return last_bytes(option, base) };
    let read = |text: &str| bytes(text, base).map_err(|why| option.complain(why));
    let (least, most) = (read(least)?, read(most)?);
    if least != most {
        let says =
            "filesize: fio draws a size of this range for each file; here all have the one in its middle.";
        options.note(option.line, says);
    }
    Ok(least.midpoint(most))
}

/// A size, or the last of a range of them, whichever is larger: fio takes that.
fn last_bytes(option: &OptionLine, base: KbBase) -> Result<u64, ImportError> {
    let text = option.known()?.rsplit('-').next().unwrap_or_default();
    bytes(text, base).map_err(|why| option.complain(why))
}
