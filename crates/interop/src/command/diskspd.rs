//! The options of DiskSpd 2.

use assay_spec::units::{Bytes, Nanos};
use assay_spec::{Data, Distribution, Extent, Zone};

use super::profile::zones_of;
use super::{Order, Refusals, complain, number, short};
use crate::{ImportError, Note, Strictness};

const NAME: &str = "diskspd";

/// DiskSpd's own defaults.
fn defaults() -> Order {
    Order {
        size: 64 << 10,
        outstanding: 2,
        threads: 1,
        read: 100.0,
        random: 0.0,
        align: None,
        burst: 1,
        delay: Nanos(0),
        run: Nanos::from_secs(10),
        warmup: Nanos::from_secs(5),
        span: None,
        rate: None,
        seed: None,
        data: Data::IometerRepeating,
        offset: 0,
        length: None,
        is_durable: false,
        distribution: Distribution::Uniform,
        files: Vec::new(),
        notes: Vec::new(),
    }
}

/// Reads the words behind the name of the program.
pub(super) fn read(words: &[String], strictness: Strictness) -> Result<Order, ImportError> {
    let mut order = defaults();
    let mut refused = Refusals::default();
    let (mut said, mut options) = (None, Vec::new());
    for word in words {
        let Some(option) = word.strip_prefix(['-', '/']).filter(|rest| is_option(word, rest)) else {
            order.files.push(word.clone());
            continue;
        };
        options.push(option);
    }
    let is_shared = options.iter().any(|option| option.starts_with("si"));
    // Rates and positions may be counted in blocks, so their size comes first, wherever it stands. Of what is random a
    // share goes before all of it, and either before -s.
    options.sort_by_key(|option| match option.as_bytes() {
        [b'b', ..] => 0,
        [b'r', b's', ..] => 2,
        [b'r', ..] => 1,
        _ => 3,
    });
    for option in options {
        if let Some(letters) = one(&mut order, option, &mut refused)? {
            said.get_or_insert_with(String::new).push_str(letters);
        }
    }
    let caching = said.map_or(Caching::Cached, |letters| caching(&letters, &mut refused));
    if is_shared && order.threads > 1 && order.random == 0.0 {
        share_position(&mut order);
    }
    order.is_durable = matches!(caching, Caching::WriteThrough | Caching::CachedWriteThrough);
    let mut note = |says: &str| order.notes.push(Note::new(0, says));
    match caching {
        Caching::Cached | Caching::CachedWriteThrough => {
            note("Without -Sh or -Su DiskSpd uses the page cache; Assay bypasses it (--cached uses it).")
        }
        Caching::Direct | Caching::WriteThrough => {}
    }
    if order.read < 100.0 && order.data == Data::IometerRepeating {
        note(
            "Writes repeat one byte, like DiskSpd's pattern, which storage compresses; -Zr writes random data.",
        );
    }
    if order.threads > 1 && order.random == 0.0 {
        note(
            "Each thread streams through its own part of the target; DiskSpd's all begin at the same \
                 place without -T.",
        );
    }
    refused.settle(NAME, strictness, &mut order.notes)?;
    Ok(order)
}

/// `-si`: the threads share one position, so that a target gets one stream, whichever of them issues the next I/O.
fn share_position(order: &mut Order) {
    order.outstanding = order.outstanding.saturating_mul(order.threads);
    order.rate = order.rate.map(|rate| rate * order.threads as f64);
    order.notes.push(Note::new(
        0,
        format!(
            "-si: the {} threads share one position; one worker with the depth of all of them makes the same stream.",
            order.threads
        ),
    ));
    order.threads = 1;
}

/// `/mnt/x` is a file, `/b8K` an option of Windows; `-rdpct10/20` is one although it has a slash.
fn is_option(word: &str, rest: &str) -> bool {
    (word.starts_with('-') || !rest.contains('/'))
        && rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '?')
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Caching {
    Cached,
    Direct,
    WriteThrough,
    /// Through the page cache, and each write to the storage at once.
    CachedWriteThrough,
}

/// Takes one option; returns what it says of caching, letters of `-S`.
fn one<'o>(
    order: &mut Order,
    option: &'o str,
    refused: &mut Refusals,
) -> Result<Option<&'o str>, ImportError> {
    let (letter, value) = option.split_at(1);
    let block = order.size;
    match letter {
        "b" => order.size = size(letter, value, block)?,
        "f" if !value.is_empty() && value.chars().all(|hint| "rst".contains(hint)) => {
            order
                .notes
                .push(Note::new(0, format!("-f{value}: hints to the cache of Windows have no effect.")));
        }
        "c" | "f" => order.span = Some(size(letter, value, block)?),
        "d" => order.run = seconds(letter, value)?,
        "W" => order.warmup = seconds(letter, value)?,
        "o" => order.outstanding = number(NAME, letter, value)?,
        "t" => order.threads = number(NAME, letter, value)?,
        "F" => {
            order.threads = number(NAME, letter, value)?;
            order.notes.push(Note::new(0, "-F: the threads are those of each target."));
        }
        // By itself it is -w0.
        "w" => order.read = 100.0 - if value.is_empty() { 0.0 } else { percent(letter, value)? },
        "r" => random(order, value)?,
        "s" => sequential(order, value, refused)?,
        "S" if value.is_empty() => return Ok(Some("u")),
        "S" => return Ok(Some(value)),
        "h" if value.is_empty() => return Ok(Some("h")),
        "Z" => order.data = data(value),
        "g" => rate(order, value)?,
        "i" => order.burst = u32::try_from(number(NAME, letter, value)?.max(1)).unwrap_or(1),
        "j" => order.delay = Nanos::from_millis(number(NAME, letter, value)?.min(86_400_000)),
        "z" => {
            order.seed =
                if value.is_empty() { None } else { Some(number(NAME, letter, value)? & (i64::MAX as u64)) }
        }
        "B" => bounds(order, value)?,
        "T" => order.notes.push(Note::new(0, "-T: the threads' parts of the target are of equal size.")),
        "C" => order.notes.push(Note::new(0, "-C: the load ends with the measured window.")),
        "I" => order.notes.push(Note::new(0, "-I: I/Os have no priority.")),
        "X" => refused.add("-X", "give the profile itself: assay run profile.xml TARGET"),
        "O" => refused
            .add("-O", "the depth of all threads together is not supported; use -o, that of each thread"),
        "p" => refused.add("-p", "several I/Os of one thread at the same position are not supported"),
        "y" => refused.add("-y", "events of Windows are not supported"),
        // Affinity, output, latency statistics, ETW, large pages: nothing that is measured here.
        "a" | "n" | "L" | "D" | "R" | "e" | "l" | "v" | "x" | "P" => {}
        _ => {
            return Err(complain(
                NAME,
                0,
                format!("-{} is not an option of DiskSpd that Assay knows", short(option)),
            ));
        }
    }
    Ok(None)
}

/// `-rdpct10/20:90/80`: 10 % of the I/Os in the first 20 % of the target, and so on; `-rdabs10/1G:90/9G` in bytes.
fn distribution(text: &str, block: u64) -> Result<Distribution, ImportError> {
    let wrong = |why: String| complain(NAME, 0, format!("-rd: {why}"));
    let (kind, list) = text.split_at_checked(3).unwrap_or((text, ""));
    let mut zones = Vec::new();
    for part in list.split(':') {
        let (share, extent) = part.split_once('/').ok_or_else(|| {
            wrong(format!("`{}` must look like pct10/20:90/80 or abs10/1G:90/9G", short(text)))
        })?;
        let extent = match kind {
            "pct" => Extent::Percent(percent("rd", extent)?),
            "abs" => Extent::Bytes(Bytes(size("rd", extent, block)?)),
            _ => return Err(wrong(format!("`{}` must begin with pct or abs", short(text)))),
        };
        zones.push(Zone { share: percent("rd", share)?, size: extent });
    }
    zones_of(zones).map_err(wrong)
}

fn random(order: &mut Order, value: &str) -> Result<(), ImportError> {
    if let Some(share) = value.strip_prefix('s') {
        order.random = percent("rs", share)?;
    } else if let Some(zones) = value.strip_prefix('d') {
        order.distribution = distribution(zones, order.size)?;
        order.random = if order.random > 0.0 { order.random } else { 100.0 };
    } else {
        order.random = 100.0;
        if !value.is_empty() {
            order.align = Some(size("r", value, order.size)?);
        }
    }
    Ok(())
}

fn sequential(order: &mut Order, value: &str, refused: &mut Refusals) -> Result<(), ImportError> {
    let stride = match value.strip_prefix('i') {
        Some(rest) => {
            if order.delay > Nanos(0) {
                refused.add("-si", "one position that all threads share is not supported together with -j");
            }
            rest
        }
        None => value,
    };
    let is_random = order.random > 0.0;
    if !stride.is_empty() && size("s", stride, order.size)? != order.size && !is_random {
        refused.add("-s", "a stride that differs from the block size is not supported");
    }
    Ok(())
}

/// What all letters say together: `u` and `h` go past the cache, `w` and `h` write through, wherever they stand.
fn caching(letters: &str, refused: &mut Refusals) -> Caching {
    if letters.contains(|c: char| !"bhruw".contains(c)) {
        refused.add("-S", "I/O through mapped memory is not supported");
    }
    match (letters.contains(['u', 'h']), letters.contains(['w', 'h'])) {
        (true, true) => Caching::WriteThrough,
        (true, false) => Caching::Direct,
        (false, true) => Caching::CachedWriteThrough,
        (false, false) => Caching::Cached,
    }
}

fn data(value: &str) -> Data {
    match value {
        "" => Data::Reducible { compress: 1000.0, dedupe: 1000.0 },
        "r" => Data::Unique,
        _ => Data::IometerFullRandom,
    }
}

/// `-B1G`: from there to the end; `-B1G:512M`: so much of it.
fn bounds(order: &mut Order, value: &str) -> Result<(), ImportError> {
    let (base, length) = value.split_once(':').map_or((value, None), |(base, length)| (base, Some(length)));
    order.offset = size("B", base, order.size)?;
    order.length = length.map(|length| size("B", length, order.size)).transpose()?;
    Ok(())
}

/// Bytes per millisecond, or I/Os per second with `i`; of each thread.
fn rate(order: &mut Order, value: &str) -> Result<(), ImportError> {
    let per_second = match value.strip_suffix('i') {
        Some(iops) => number(NAME, "g", iops)? as f64,
        None => number(NAME, "g", value)? as f64 * 1000.0 / order.size as f64,
    };
    order.rate = (per_second > 0.0).then_some(per_second);
    Ok(())
}

fn seconds(letter: &str, value: &str) -> Result<Nanos, ImportError> {
    let seconds = number(NAME, letter, value)?;
    match seconds <= 366 * 86_400 {
        true => Ok(Nanos::from_secs(seconds)),
        false => Err(complain(NAME, 0, format!("-{letter}: {seconds} s are longer than a year"))),
    }
}

fn percent(letter: &str, value: &str) -> Result<f64, ImportError> {
    match value.parse::<u32>() {
        Ok(share @ 0..=100) => Ok(f64::from(share)),
        _ => Err(complain(NAME, 0, format!("-{letter}: `{}` must be from 0 to 100", short(value)))),
    }
}

/// `8K`, `1M`, `2G`, `1T`, `4b` (blocks); a bare number is bytes.
fn size(letter: &str, value: &str, block: u64) -> Result<u64, ImportError> {
    let upper = value.to_uppercase();
    let (digits, factor) = match upper.strip_suffix(['K', 'M', 'G', 'T', 'B']) {
        None => (upper.as_str(), 1),
        Some(digits) => match &upper[digits.len()..] {
            "K" => (digits, 1 << 10),
            "M" => (digits, 1 << 20),
            "G" => (digits, 1 << 30),
            "T" => (digits, 1 << 40),
            _ => (digits, block),
        },
    };
    let bytes =
        digits.parse::<u64>().ok().and_then(|n| n.checked_mul(factor)).filter(|bytes| *bytes < 1 << 62);
    bytes.ok_or_else(|| {
        complain(NAME, 0, format!("-{letter}: `{}` is not a size; write it like 8K", short(value)))
    })
}
