//! What an I/O of a job looks like: kind, sizes, positions.

use assay_spec::units::{Bytes, Nanos};
use assay_spec::{Access, Change, Distribution, IO_BYTES_MAX, TRIM_BYTES_MAX};

use super::lines::OptionLine;
use super::spread::{Spread, Stride, spread};
use super::taken::Options;
use super::value::{KbBase, bytes, integer, short, time, whole_percent};
use crate::ImportError;

/// The most access lines that a range or a split of block sizes may become.
const MIX_MAX: usize = 256;

/// Values for reads, for writes and for trims.
type ByWay<T> = [T; 3];

/// Share of reads, and of random positions by way, percent.
struct Kind {
    read: f64,
    random: ByWay<f64>,
    sequence: u32,
    gap: u64,
    back: u64,
    change: Change,
}

impl Kind {
    /// Which values are those of the I/Os that are not reads.
    fn changing_way(&self) -> usize {
        if self.change == Change::Trim { 2 } else { 1 }
    }
}

fn kind(options: &mut Options<'_>) -> Result<Kind, ImportError> {
    let is_share = |option: &&OptionLine| ["rwmixread", "rwmixwrite"].contains(&option.key.as_str());
    let last = options.job.options.iter().rfind(is_share).map(|option| option.key.as_str());
    let read_share = options.read("rwmixread", whole_percent)?;
    let write_share = options.read("rwmixwrite", whole_percent)?.map(|share| 100.0 - share);
    // Each of them sets both shares, so the last one counts.
    let mixed = if last == Some("rwmixwrite") { write_share } else { read_share }.unwrap_or(50.0);
    let shares = options.read("percentage_random", |text| by_way(text, &[100.0; 3], whole_percent))?;
    let sequencer = options.take("rw_sequencer");
    let Some(option) = options.take("rw") else {
        return Ok(Kind {
            read: 100.0,
            random: [0.0; 3],
            sequence: 1,
            gap: 0,
            back: 0,
            change: Change::Write,
        });
    };
    let value = option.value.to_lowercase();
    let (word, suffix) = value.split_once(':').unwrap_or((&value, ""));
    let word = word.trim();
    let (mut sequence, mut gap, mut back) = (1, 0, 0);
    let size = |text: &str| bytes(text, options.kb_base).map_err(|why| option.complain(why));
    match (word.starts_with("rand"), suffix.strip_prefix('-')) {
        _ if suffix.is_empty() => {}
        (true, _) => {
            sequence = integer(suffix, 1, 1_000_000_000).map_err(|why| option.complain(why))?;
            // Else every I/O has a position of its own.
            if let Some(option) = sequencer.filter(|order| order.value.trim() == "identical" && sequence > 1)
            {
                options
                    .refuse(option, "a position that is drawn once and used several times is not supported");
            }
        }
        (false, Some(backwards)) => back = size(backwards)?,
        (false, None) => gap = size(suffix)?,
    }
    let (read, is_random, change) = match word {
        "read" => (100.0, false, Change::Write),
        "write" => (0.0, false, Change::Write),
        "randread" => (100.0, true, Change::Write),
        "randwrite" => (0.0, true, Change::Write),
        "rw" | "readwrite" => (mixed, false, Change::Write),
        "randrw" => (mixed, true, Change::Write),
        "trim" => (0.0, false, Change::Trim),
        "randtrim" => (0.0, true, Change::Trim),
        "trimwrite" => (0.0, false, Change::TrimWrite),
        "randtrimwrite" => (0.0, true, Change::TrimWrite),
        _ => {
            return Err(option.complain(format!(
                "`{}` is not a kind of I/O; use read, write, randread, randwrite, rw, randrw, trim, randtrim, \
                 trimwrite or randtrimwrite",
                short(word)
            )));
        }
    };
    let random = if is_random { shares.unwrap_or([100.0; 3]) } else { [0.0; 3] };
    let random = random.map(|share| begins(share, sequence as f64));
    Ok(Kind { read, random, sequence: u32::try_from(sequence).unwrap_or(1), gap, back, change })
}

/// Of I/Os that may begin a run here, the share that does, percent: fio asks once in so many I/Os whether the next is
/// random, this also after each that is not, and what is random of all I/Os must be as much.
fn begins(share: f64, sequence: f64) -> f64 {
    let share = share / 100.0;
    100.0 * share / (sequence - share * (sequence - 1.0))
}

/// A value for reads, one for writes and one for trims, as in `4k,8k`: one counts for all, the second of two for trims
/// too, and what is not given keeps its default.
fn by_way<T: Clone>(
    text: &str,
    defaults: &ByWay<T>,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<ByWay<T>, String> {
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    let [a, b, c] = match parts.as_slice() {
        [all] => [*all; 3],
        [reads, others] => [*reads, *others, *others],
        [reads, writes, trims, ..] => [*reads, *writes, *trims],
        [] => [""; 3],
    };
    let value = |part: &str, way: usize| {
        if part.is_empty() { Ok(defaults[way].clone()) } else { read(part) }
    };
    Ok([value(a, 0)?, value(b, 1)?, value(c, 2)?])
}

/// Sizes with their weights.
type Sizes = Vec<(u64, f64)>;

/// Sizes of an I/O by way.
fn sizes(options: &mut Options<'_>) -> Result<ByWay<Sizes>, ImportError> {
    let base = options.kb_base;
    let has = |option: &&OptionLine| ["bs", "blocksize", "bsrange", "bssplit"].contains(&option.key.as_str());
    let place = options.job.options.iter().rfind(has);
    if let Some(option) = options.left.get("bs").copied().filter(|option| option.value.contains(['-', ':'])) {
        let says = format!(
            "{}={}: these are the sizes of reads, of writes and of trims, as in fio; bsrange is a range.",
            option.key,
            short(&option.value)
        );
        options.note(option.line, says);
    }
    let default = [0; 3].map(|_| vec![(4096, 1.0)]);
    let one = |part: &str| Ok(vec![(bytes(first_of_range(part), base)?, 1.0)]);
    let fixed = options.read("bs", |text| by_way(&ways_of(text), &default, one))?.unwrap_or(default);
    let is_unaligned = options.is_on("bs_unaligned")?;
    let range =
        options.read("bsrange", |text| by_way(text, &fixed, |part| ranged(part, base, is_unaligned)))?;
    let split = options.read("bssplit", |text| {
        by_way(text, range.as_ref().unwrap_or(&fixed), |part| splits(part, base, is_unaligned))
    })?;
    let mut sizes = range.unwrap_or(fixed);
    // Of a split that begins with nothing fio takes none.
    for (of_way, split) in
        sizes.iter_mut().zip(split.into_iter().flatten()).filter(|(_, split)| !split.is_empty())
    {
        *of_way = split;
    }
    let fits =
        |way: usize, size: u64| (1..=[IO_BYTES_MAX, IO_BYTES_MAX, TRIM_BYTES_MAX][way]).contains(&size);
    let misfit = |(way, sizes): (usize, &Sizes)| {
        sizes.iter().map(|(size, _)| *size).find(|size| !fits(way, *size)).map(|size| (way, size))
    };
    let is_used = |way: usize| used_ways(options).contains(&way);
    match sizes.iter().enumerate().filter(|(way, _)| is_used(*way)).find_map(misfit) {
        None => Ok(sizes),
        Some((way, size)) => {
            let line = place.map_or(options.job.line, |option| option.line);
            let most = Bytes([IO_BYTES_MAX, IO_BYTES_MAX, TRIM_BYTES_MAX][way]);
            let says = format!("bs: an I/O of {} is not possible; use from 1 B to {most}", Bytes(size));
            Err(crate::complain(&options.job.file, line, says))
        }
    }
}

/// The ways of a job's I/O: 0 reads, 1 writes, 2 trims.
fn used_ways(options: &Options<'_>) -> &'static [usize] {
    let is_kind = |option: &&OptionLine| ["rw", "readwrite"].contains(&option.key.as_str());
    let word = options.job.options.iter().rfind(is_kind).map_or("read", |option| option.value.as_str());
    match word.split(':').next().unwrap_or(word).trim() {
        "read" | "randread" => &[0],
        "trim" | "randtrim" => &[2],
        "write" | "randwrite" | "trimwrite" | "randtrimwrite" => &[1],
        _ => &[0, 1],
    }
}

/// `4k-8k` as `4k,8k`: behind the last comma fio takes what stands on both sides of such a sign for two ways.
fn ways_of(text: &str) -> String {
    let (before, last) = text.rsplit_once(',').map_or((None, text), |(before, last)| (Some(before), last));
    let last = last.replace(['-', ':'], ",");
    before.map_or(last.clone(), |before| format!("{before},{last}"))
}

/// Where one size is expected, fio reads up to what separates it from another.
fn first_of_range(text: &str) -> &str {
    text.split(['-', ':', '/']).next().unwrap_or(text).trim()
}

/// Reads the mix of a job.
pub(super) fn mix(options: &mut Options<'_>) -> Result<Vec<Access>, ImportError> {
    let kind = kind(options)?;
    let sizes = sizes(options)?;
    refuse_pairs(options, &kind, &sizes);
    let base = options.kb_base;
    let align = options.read("ba", |text| {
        by_way(text, &[None; 3], |part| Ok(Some(bytes(part, base)?).filter(|align| *align > 0)))
    })?;
    let align = align.unwrap_or_default();
    let stride = if options.is_on("random_sequence_stride")? { Stride::Onward } else { Stride::Fixed };
    // The smallest of all sizes, also of those that the job does not use.
    let least = sizes.iter().flatten().map(|(size, _)| *size).min().unwrap_or(1);
    let Spread { by_direction: [of_reads, of_writes], says } = options
        .read("random_distribution", |text| spread(text, base, least, stride))?
        .unwrap_or(Spread::EVEN);
    if let Some(says) = says {
        let line = options.job.options.iter().rfind(|o| o.key == "random_distribution").map_or(0, |o| o.line);
        options.note(line, format!("random_distribution: {says}."));
    }
    // fio keeps no map where an alignment that is not the smallest size, or another distribution, is given.
    let is_other =
        |(way, align): (usize, &Option<u64>)| align.is_some_and(|align| Some(align) != least_of(&sizes[way]));
    let is_free = options.is_on("norandommap")? || align.iter().enumerate().any(is_other);
    let changing = kind.changing_way();
    let by_place = options.is_on("bs_is_seq_rand")?;
    let lines = |way: usize, share: f64, read: f64| {
        let (spread, random) = ([&of_reads, &of_writes, &of_writes][way], kind.random[way]);
        let mut lines = match by_place {
            false => access_lines(&sizes[way], share, read, random, align[way]),
            true => lines_by_place(&sizes, (share, read, random), align[way].or(least_of(&sizes[way]))),
        };
        for line in &mut lines {
            (line.sequence, line.gap, line.back) = (kind.sequence, Bytes(kind.gap), Bytes(kind.back));
            line.change = kind.change;
            // A sequential line draws no positions.
            line.distribution = if line.random > 0.0 { spread.clone() } else { Distribution::Uniform };
            line.once = line.random > 0.0 && !is_free && line.distribution.is_uniform();
        }
        lines
    };
    let is_alike = sizes[0] == sizes[1]
        && of_reads == of_writes
        && kind.random[0] == kind.random[1]
        && align[0] == align[1];
    let mut mix = match kind.read {
        0.0 => lines(changing, 1.0, 0.0),
        read if is_alike || read == 100.0 => lines(0, 1.0, read),
        read => {
            let mut mix = lines(0, read / 100.0, 100.0);
            mix.extend(lines(changing, 1.0 - read / 100.0, 0.0));
            mix
        }
    };
    // The map has units of the smallest size.
    if mix.iter().any(|line| line.once && line.align.0 > least) {
        options.note(
            options.job.line,
            "Reads, writes and trims have sizes of their own: fio counts them in one map of visited blocks, each in \
             its own unit, and may end early; here every block is visited once.",
        );
    }
    pauses(options, &mut mix)?;
    Ok(mix)
}

/// A trim and the write behind it are of the same blocks here.
fn refuse_pairs(options: &mut Options<'_>, kind: &Kind, sizes: &ByWay<Sizes>) {
    let is_kind = |option: &&OptionLine| ["rw", "readwrite"].contains(&option.key.as_str());
    let option = options.job.options.iter().rfind(is_kind);
    let are_pairs = sizes[1].len() == 1 && sizes[1] == sizes[2];
    if let Some(option) = option.filter(|_| kind.change == Change::TrimWrite && !are_pairs) {
        let says = "fio draws the sizes of trims and of the writes behind them apart, so that they are of other \
                    blocks, which is not supported; use one size for both";
        options.refuse(option, says);
    }
}

fn pauses(options: &mut Options<'_>, mix: &mut [Access]) -> Result<(), ImportError> {
    let pause = options.read("thinktime", |text| time(text, 1e3))?.unwrap_or_default();
    let burst = options.read("thinktime_blocks", |text| integer(text, 1, 1_000_000_000))?.unwrap_or(1);
    // Counted when they begin or when they end, as many are between two pauses.
    options.take("thinktime_blocks_type");
    if pause > Nanos(0) {
        for line in mix {
            (line.delay, line.burst) = (pause, u32::try_from(burst).unwrap_or(1));
        }
    }
    Ok(())
}

/// Returns the smallest of some sizes.
fn least_of(sizes: &Sizes) -> Option<u64> {
    sizes.iter().map(|(size, _)| *size).min()
}

/// Lines of `bs_is_seq_rand`: the first sizes are those of sequential I/Os, the second those of random ones.
fn lines_by_place(
    sizes: &ByWay<Sizes>,
    (share, read, random): (f64, f64, f64),
    align: Option<u64>,
) -> Vec<Access> {
    let part = random / 100.0;
    let lines = |which: usize, part: f64, random: f64| match part {
        0.0 => Vec::new(),
        part => access_lines(&sizes[which], share * part, read, random, align),
    };
    [lines(0, 1.0 - part, 0.0), lines(1, part, 100.0)].concat()
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

/// `4k/50:64k/50`, as fio reads it: shares are whole numbers, those that are missing or 0 divide what is left, and what
/// then is missing of 100 goes to the largest. Sizes are cut to multiples of the smallest.
fn splits(text: &str, base: KbBase, is_unaligned: bool) -> Result<Sizes, String> {
    let mut sizes: Vec<(u64, u64)> = Vec::new();
    for part in text.split(':').map(str::trim).take_while(|part| !part.is_empty()) {
        let (size, share) = part.split_once('/').unwrap_or((part, ""));
        let digits: String = share.trim().chars().take_while(char::is_ascii_digit).collect();
        sizes.push((bytes(first_of_range(size), base)?, digits.parse::<u64>().unwrap_or(0).min(100)));
        if sizes.len() > MIX_MAX {
            return Err(format!("has more than {MIX_MAX} sizes"));
        }
    }
    let given: u64 = sizes.iter().map(|(_, share)| share).sum();
    let open = sizes.iter().filter(|(_, share)| *share == 0).count() as u64;
    if given > 100 && open > 1 {
        return Err(format!("the shares sum to {given}; they must sum to 100"));
    }
    for (_, share) in sizes.iter_mut().filter(|(_, share)| *share == 0) {
        *share = 100_u64.saturating_sub(given) / open.max(1);
    }
    sizes.sort_by_key(|(_, share)| *share);
    let least = sizes.iter().map(|(size, _)| *size).min().unwrap_or(1).max(1);
    let (mut left, last) = (100, sizes.len().saturating_sub(1));
    let mut found = Sizes::new();
    for (index, (size, share)) in sizes.into_iter().enumerate() {
        let share = if index == last { left } else { share.min(left) };
        left -= share;
        let size = if is_unaligned { size } else { size / least * least };
        match found.iter_mut().find(|(known, _)| *known == size) {
            Some((_, sum)) => *sum += share as f64,
            None => found.push((size, share as f64)),
        }
    }
    found.retain(|(_, share)| *share > 0.0);
    found.sort_by_key(|(size, _)| *size);
    Ok(found)
}

/// `4k-64k`: fio draws a number of bytes up to the largest and rounds it up to a multiple of the smallest.
fn ranged(text: &str, base: KbBase, is_unaligned: bool) -> Result<Sizes, String> {
    let (from, to) = text.split_once(['-', ':']).unwrap_or((text, text));
    let (from, to) = (bytes(from, base)?, bytes(to, base)?);
    if from == 0 || from > to {
        return Err("a range runs from the smaller to the larger size".to_owned());
    }
    if is_unaligned && from < to {
        return Err(
            "with bs_unaligned every number of bytes of the range is a size, which is not supported; use \
                    bssplit"
                .to_owned(),
        );
    }
    let count = to / from;
    if count > MIX_MAX as u64 {
        return Err(format!("the range has {count} sizes; at most {MIX_MAX} are supported"));
    }
    let rest = (to % from > 0).then(|| (to, (to % from) as f64 / from as f64));
    Ok((1..=count).map(|times| (times * from, 1.0)).chain(rest).collect())
}
