//! The options of SQLIO 1.5.

use assay_spec::Data;
use assay_spec::units::Nanos;

use super::{Order, Refusals, complain, number, short};
use crate::fio::Surroundings;
use crate::{ImportError, Note, Strictness};

const NAME: &str = "sqlio";
/// The most files that a parameter file may name.
const FILES_MAX: usize = 256;

/// Reads the words behind the name of the program.
pub(super) fn read(
    words: &[String],
    surroundings: &Surroundings<'_>,
    strictness: Strictness,
) -> Result<Order, ImportError> {
    let mut order = Order {
        // SQLIO's own defaults.
        size: 2 << 10,
        outstanding: 1,
        threads: 1,
        read: 100.0,
        random: 0.0,
        align: None,
        burst: 1,
        delay: Nanos(0),
        run: Nanos::from_secs(30),
        warmup: Nanos(0),
        span: None,
        rate: None,
        seed: None,
        data: Data::Unique,
        offset: 0,
        length: None,
        is_durable: false,
        distribution: assay_spec::Distribution::Uniform,
        files: Vec::new(),
        notes: Vec::new(),
    };
    let mut refused = Refusals::default();
    for word in words {
        match word.strip_prefix('-') {
            Some(option) if option.starts_with(|c: char| c.is_ascii_alphabetic()) => {
                one(&mut order, option, surroundings, &mut refused)?;
            }
            _ => order.files.push(word.clone()),
        }
    }
    refused.settle(NAME, strictness, &mut order.notes)?;
    Ok(order)
}

fn one(
    order: &mut Order,
    option: &str,
    surroundings: &Surroundings<'_>,
    refused: &mut Refusals,
) -> Result<(), ImportError> {
    let (letter, value) = option.split_at(1);
    match letter {
        "k" => match value.to_uppercase().as_str() {
            "R" => order.read = 100.0,
            "W" => order.read = 0.0,
            _ => return Err(complain(NAME, 0, format!("-k: `{}` must be R or W", short(value)))),
        },
        "s" => order.run = Nanos::from_secs(number(NAME, letter, value)?.min(u64::MAX / 2_000_000_000)),
        "b" => order.size = number(NAME, letter, value)?.saturating_mul(1024),
        "o" => order.outstanding = number(NAME, letter, value)?.max(1),
        "t" => order.threads = number(NAME, letter, value)?,
        "f" => match value.to_lowercase().as_str() {
            "random" => order.random = 100.0,
            "sequential" => order.random = 0.0,
            _ => refused.add("-f", "a stride is not supported; use random or sequential"),
        },
        "B" => match value.to_uppercase().as_str() {
            "N" | "" => {}
            "H" => order.notes.push(Note::new(0, "-BH: the cache of the device stays as it is set.")),
            _ => order.notes.push(Note::new(
                0,
                "-B: SQLIO uses the page cache here; Assay bypasses it (--cached uses it).",
            )),
        },
        "F" => parameters(order, value, surroundings)?,
        "i" | "m" | "u" => refused.add(&format!("-{letter}"), "it is not supported"),
        "R" | "d" => refused.add(&format!("-{letter}"), "name the device as a target of assay run"),
        // Latency, affinity: always on, and Assay's own.
        "L" | "a" | "D" | "U" => {}
        _ => {
            return Err(complain(
                NAME,
                0,
                format!("-{} is not an option of SQLIO that Assay knows", short(option)),
            ));
        }
    }
    Ok(())
}

/// A parameter file: `path threads mask sizeMB` on each line.
fn parameters(order: &mut Order, path: &str, surroundings: &Surroundings<'_>) -> Result<(), ImportError> {
    let text = (surroundings.include)(path)
        .map_err(|why| complain(NAME, 0, format!("-F: cannot read {}: {why}", short(path))))?;
    for (index, raw) in text.lines().enumerate() {
        let line = raw.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let mut parts = line.split_whitespace();
        let (file, threads, size) = (parts.next().unwrap_or_default(), parts.next(), parts.nth(1));
        let place = |what: &str, value: &str| {
            complain(path, index + 1, format!("{what} `{}` is not a whole number", short(value)))
        };
        if let Some(value) = threads {
            order.threads = value.parse().map_err(|_| place("the number of threads", value))?;
        }
        if let Some(value) = size {
            let mib: u64 = value.parse().map_err(|_| place("the size in MB", value))?;
            order.span = Some(order.span.unwrap_or(0).max(mib.min(1 << 40) << 20));
        }
        order.files.push(file.to_owned());
        if order.files.len() > FILES_MAX {
            return Err(complain(path, index + 1, format!("names more than {FILES_MAX} files")));
        }
    }
    Ok(())
}
