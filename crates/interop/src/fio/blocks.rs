//! What an I/O of a job looks like: kind, sizes, positions.

use assay_spec::units::{Bytes, Nanos};
use assay_spec::{Access, Change, Distribution, IO_BYTES_MAX};

use super::lines::OptionLine;
use super::spread::{Spread, spread};
use super::taken::Options;
use super::value::{KbBase, bytes, integer, percent, short, time};
use crate::ImportError;

/// The most access lines that a range or a split of block sizes may become.
const MIX_MAX: usize = 256;

/// Share of reads, and of random positions of reads and of writes, percent.
struct Kind {
    read: f64,
    random: [f64; 2],
    sequence: u32,
    gap: u64,
    change: Change,
}

fn kind(options: &mut Options<'_>) -> Result<Kind, ImportError> {
    let read_share = options.read("rwmixread", percent)?;
    let write_share = options.read("rwmixwrite", percent)?;
    let mixed = read_share.or(write_share.map(|share| 100.0 - share)).unwrap_or(50.0);
    let shares = options.read("percentage_random", |text| by_way(text, percent))?;
    let Some(option) = options.take("rw") else {
        return Ok(Kind { read: 100.0, random: [0.0; 2], sequence: 1, gap: 0, change: Change::Write });
    };
    let value = option.value.to_lowercase();
    let (word, suffix) = value.split_once(':').unwrap_or((&value, ""));
    let word = word.trim();
    let (mut sequence, mut gap) = (1, 0);
    if !suffix.is_empty() && word.starts_with("rand") {
        sequence = integer(suffix, 1, 1_000_000_000).map_err(|why| option.complain(why))?;
    } else if !suffix.is_empty() {
        if suffix.starts_with('-') {
            options.refuse(option, "a job that goes backwards is not supported; use a random one");
        } else {
            gap = bytes(suffix, options.kb_base).map_err(|why| option.complain(why))?;
        }
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
        "trimwrite" | "randtrimwrite" => {
            options.refuse(
                option,
                "a trim before the write of each block is not supported; the writes alone would be made",
            );
            (0.0, word == "randtrimwrite", Change::Write)
        }
        _ => {
            return Err(option.complain(format!(
                "`{}` is not a kind of I/O; use read, write, randread, randwrite, rw, randrw, trim or randtrim",
                short(word)
            )));
        }
    };
    let random = if is_random { shares.unwrap_or([100.0; 2]) } else { [0.0; 2] };
    Ok(Kind { read, random, sequence: u32::try_from(sequence).unwrap_or(1), gap, change })
}

/// A value for reads and one for writes, as in `4k,8k`; the last that is given counts for what is not, and one for
/// trims is of no effect.
fn by_way<T: Clone>(text: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<[T; 2], String> {
    let mut parts = text.split(',').map(str::trim);
    let first = parts.next().unwrap_or_default();
    let second = parts.next().filter(|part| !part.is_empty()).unwrap_or(first);
    let first = if first.is_empty() { second } else { first };
    Ok([read(first)?, read(second)?])
}

/// Sizes with their weights.
type Sizes = Vec<(u64, f64)>;

/// Sizes of reads and of writes, and the smallest of all.
fn sizes(options: &mut Options<'_>) -> Result<[Sizes; 2], ImportError> {
    let base = options.kb_base;
    // Old fio took a range for `bs` too.
    let fixed = options.read("bs", |text| by_way(text, |part| Ok(vec![(bytes(part, base)?, 1.0)])))?;
    let range = options.read("bsrange", |text| by_way(text, |part| ranged(part, base)))?;
    let split = options.read("bssplit", |text| by_way(text, |part| splits(part, base)))?;
    let has = |option: &&OptionLine| ["bs", "blocksize", "bsrange", "bssplit"].contains(&option.key.as_str());
    let place = options.job.options.iter().rfind(has);
    let sizes = split.or(range).or(fixed).unwrap_or_else(|| [vec![(4096, 1.0)], vec![(4096, 1.0)]]);
    let fits = |size: u64| (1..=IO_BYTES_MAX).contains(&size);
    match sizes.iter().flatten().find(|(size, _)| !fits(*size)) {
        None => Ok(sizes),
        Some((size, _)) => {
            let line = place.map_or(options.job.line, |option| option.line);
            let most = Bytes(IO_BYTES_MAX);
            let says = format!("bs: an I/O of {} is not possible; use from 1 B to {most}", Bytes(*size));
            Err(crate::complain(&options.job.file, line, says))
        }
    }
}

/// Reads the mix of a job.
pub(super) fn mix(options: &mut Options<'_>) -> Result<Vec<Access>, ImportError> {
    let kind = kind(options)?;
    let [reads, writes] = sizes(options)?;
    let base = options.kb_base;
    let align = options.read("ba", |text| bytes(text.split(',').next().unwrap_or_default(), base))?;
    let Spread { by_direction: [of_reads, of_writes], says } =
        options.read("random_distribution", |text| spread(text, base))?.unwrap_or(Spread::EVEN);
    if let Some(says) = says {
        let line = options.job.options.iter().rfind(|o| o.key == "random_distribution").map_or(0, |o| o.line);
        options.note(line, format!("random_distribution: {says}."));
    }
    // fio keeps no map where an alignment or another distribution is given.
    let is_free = options.is_on("norandommap")? || align.is_some();
    let lines = |way: usize, share: f64, read: f64| {
        let (sizes, spread, random) =
            ([&reads, &writes][way], [&of_reads, &of_writes][way], kind.random[way]);
        let mut lines = access_lines(sizes, share, read, random, align);
        for line in &mut lines {
            (line.sequence, line.gap, line.change) = (kind.sequence, Bytes(kind.gap), kind.change);
            // A sequential line draws no positions.
            line.distribution = if random > 0.0 { spread.clone() } else { Distribution::Uniform };
            line.once = random > 0.0 && !is_free && line.distribution.is_uniform();
        }
        lines
    };
    let is_alike = reads == writes && of_reads == of_writes && kind.random[0] == kind.random[1];
    let mut mix = match kind.read {
        0.0 => lines(1, 1.0, 0.0),
        read if is_alike || read == 100.0 => lines(0, 1.0, read),
        read => {
            let mut mix = lines(0, read / 100.0, 100.0);
            mix.extend(lines(1, 1.0 - read / 100.0, 0.0));
            mix
        }
    };
    if reads != writes
        && mix.iter().any(|line| line.once && line.read == 100.0)
        && mix.iter().any(Access::writes)
    {
        options.note(
            options.job.line,
            "Reads and writes have sizes of their own: fio counts them in one map of visited blocks, each in its own \
             unit, and may end early; here the map is in units of the smaller.",
        );
    }
    if kind.change == Change::Trim {
        let is_kind = |option: &&OptionLine| ["rw", "readwrite"].contains(&option.key.as_str());
        let line = options.job.options.iter().rfind(is_kind).map_or(0, |option| option.line);
        options.note(
            line,
            "trim: fio discards; on a block device Assay asks for the blocks to be deallocated and to read as zeroes \
             (WRITE ZEROES with deallocation), which a device may do by writing.",
        );
    }
    pauses(options, &mut mix)?;
    Ok(mix)
}

fn pauses(options: &mut Options<'_>, mix: &mut [Access]) -> Result<(), ImportError> {
    let pause = options.read("thinktime", |text| time(text, 1e3))?.unwrap_or_default();
    let burst = options.read("thinktime_blocks", |text| integer(text, 1, 1_000_000_000))?.unwrap_or(1);
    if pause > Nanos(0) {
        for line in mix {
            (line.delay, line.burst) = (pause, u32::try_from(burst).unwrap_or(1));
        }
    }
    Ok(())
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

/// `4k-64k`: fio draws a number of bytes up to the largest and rounds it up to a multiple of the smallest.
fn ranged(text: &str, base: KbBase) -> Result<Sizes, String> {
    let (from, to) = text.split_once(['-', ':']).unwrap_or((text, text));
    let (from, to) = (bytes(from, base)?, bytes(to, base)?);
    if from == 0 || from > to {
        return Err("a range runs from the smaller to the larger size".to_owned());
    }
    let count = to / from;
    if count > MIX_MAX as u64 {
        return Err(format!("the range has {count} sizes; at most {MIX_MAX} are supported"));
    }
    let rest = (to % from > 0).then(|| (to, (to % from) as f64 / from as f64));
    Ok((1..=count).map(|times| (times * from, 1.0)).chain(rest).collect())
}
