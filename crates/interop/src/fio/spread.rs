//! `random_distribution` of fio: how its random positions are spread.

use assay_spec::units::Bytes;
use assay_spec::{Distribution, Extent, Zone};

use super::value::{KbBase, bytes, percent, short};

/// Blocks of a sequence, as in fio, and the largest index that is read.
const SEQUENCE_MAX: usize = 64;
const BLOCK_MAX: u64 = 1 << 32;
/// The widest that fio makes `normal`, percent of the file.
const WIDTH_MAX: f64 = 50.0;

/// Distributions of reads and of writes, and what a reader must know.
pub(super) struct Spread {
    pub(super) by_direction: [Distribution; 2],
    pub(super) says: Option<String>,
}

impl Spread {
    pub(super) const EVEN: Self =
        Self { by_direction: [Distribution::Uniform, Distribution::Uniform], says: None };
}

/// What a fixed sequence of blocks is taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stride {
    /// Always the same blocks.
    Fixed,
    /// The group of blocks behind the one before.
    Onward,
}

/// Reads the value of the option; `block` is the smallest I/O, bytes.
pub(super) fn spread(text: &str, base: KbBase, block: u64, stride: Stride) -> Result<Spread, String> {
    let (word, rest) = text.trim().split_once(':').unwrap_or((text.trim(), ""));
    let both = |distribution: Distribution| [distribution.clone(), distribution];
    let scattered = "the hot places are scattered over the target by the seed of the plan, and are the same for all \
                     workers; fio has others for each job";
    match word {
        "random" => Ok(Spread::EVEN),
        "zipf" => {
            let theta = first(rest, 1.1, 10.0)?;
            // Where its formula has no value, fio refuses it too.
            if theta == 1.0 {
                return Err("zipf:1 has no distribution in this form; use zipf:0.99 or zipf:1.01".to_owned());
            }
            Ok(Spread { by_direction: both(Distribution::Zipf(theta)), says: Some(scattered.to_owned()) })
        }
        "pareto" => {
            let h = first(rest, 0.2, 0.999)?;
            Ok(Spread { by_direction: both(Distribution::Pareto(h)), says: Some(scattered.to_owned()) })
        }
        "normal" => {
            let width = first(rest, 10.0, 100.0)?;
            let deviation = deviation_of_fio(width);
            let says = format!(
                "fio's normal:{width} has a standard deviation of {deviation} % of the file (a twelfth of it, widened \
                 evenly by {} %); {scattered}",
                width.min(WIDTH_MAX)
            );
            Ok(Spread { by_direction: both(Distribution::Normal(deviation)), says: Some(says) })
        }
        "zoned" => zoned(rest, &|text| Ok(Extent::Percent(percent(text)?))),
        "zoned_abs" => zoned(rest, &|text| Ok(Extent::Bytes(Bytes(bytes(text, base)?)))),
        "sequence" => sequence(rest, block, stride),
        _ => Err(format!(
            "`{}` is not a distribution; use random, zipf, pareto, normal, zoned, zoned_abs or sequence",
            short(word)
        )),
    }
}

/// `2,0,1`: blocks by their index, which fio takes in this order again and again; here they are drawn, each as often.
fn sequence(text: &str, block: u64, stride: Stride) -> Result<Spread, String> {
    let says = |index: &str| {
        format!("`{}` is not the index of a block; write them like sequence:2,0,1", short(index))
    };
    let read = |index: &str| index.trim().parse::<u64>().ok().filter(|index| *index < BLOCK_MAX);
    let indices = text.split(',').map(|index| read(index).ok_or_else(|| says(index)));
    let mut indices = indices.collect::<Result<Vec<u64>, String>>()?;
    if indices.len() > SEQUENCE_MAX {
        return Err(format!("has more than {SEQUENCE_MAX} blocks"));
    }
    indices.sort_unstable();
    let order =
        "fio takes the blocks in the order that is written; here each is drawn as often, in another order";
    if stride == Stride::Onward {
        return match (0..).zip(&indices).all(|(at, index)| at == *index) {
            true => Ok(Spread { says: Some(order.to_owned()), ..Spread::EVEN }),
            false => {
                Err("with random_sequence_stride only a sequence that has each block of its group once is \
                          supported, like sequence:2,0,1"
                    .to_owned())
            }
        };
    }
    let mut zones: Vec<Zone> = Vec::new();
    let mut next = 0;
    let zone = |blocks: u64, share: f64| Zone { share, size: Extent::Bytes(Bytes(blocks * block)) };
    for same in indices.chunk_by(|a, b| a == b) {
        if same[0] > next {
            zones.push(zone(same[0] - next, 0.0));
        }
        zones.push(zone(1, same.len() as f64 * 100.0 / indices.len() as f64));
        next = same[0] + 1;
    }
    let all = Distribution::Zones(zones);
    Ok(Spread { by_direction: [all.clone(), all], says: Some(order.to_owned()) })
}

/// The parameter in front of a centre.
fn first(text: &str, default: f64, most: f64) -> Result<f64, String> {
    let number = text.split([':', '/']).next().unwrap_or_default().trim();
    if number.is_empty() {
        return Ok(default);
    }
    let value = number.parse::<f64>().ok().filter(|value| *value > 0.0 && *value <= most);
    value.ok_or_else(|| format!("`{}` must be above 0 and at most {most}", short(number)))
}

/// Measured on the positions that fio 3.33 writes to its iolog: the sum of a normal distribution with a deviation of
/// a twelfth of the file and an even one as wide as its parameter, but at most half of the file. Percent, rounded to
/// hundredths.
fn deviation_of_fio(width: f64) -> f64 {
    let variance = 1.0 / 144.0 + (width.min(WIDTH_MAX) / 100.0).powi(2) / 12.0;
    (variance.sqrt() * 10_000.0).round() / 100.0
}

/// `60/10:30/20:10/70`, for reads and, behind a comma, for writes.
fn zoned(text: &str, size: &dyn Fn(&str) -> Result<Extent, String>) -> Result<Spread, String> {
    let mut directions = text.split(',');
    let reads = zones(directions.next().unwrap_or_default(), size)?;
    let writes = directions.next().map(|text| zones(text, size)).transpose()?;
    let writes = writes.unwrap_or_else(|| reads.clone());
    Ok(Spread { by_direction: [reads, writes].map(Distribution::Zones), says: None })
}

/// Zones without a share, or without a size, divide what is left.
fn zones(text: &str, size: &dyn Fn(&str) -> Result<Extent, String>) -> Result<Vec<Zone>, String> {
    let mut parts: Vec<(Option<f64>, Option<Extent>)> = Vec::new();
    for part in text.split(':').map(str::trim).filter(|part| !part.is_empty()) {
        let (share, extent) = part.split_once('/').unwrap_or((part, ""));
        let share = if share.trim().is_empty() { None } else { Some(percent(share)?) };
        let extent = if extent.trim().is_empty() { None } else { Some(size(extent)?) };
        parts.push((share, extent));
        if parts.len() > Distribution::ZONES_MAX {
            return Err(format!("has more than {} zones", Distribution::ZONES_MAX));
        }
    }
    if parts.is_empty() {
        return Err("has no zone; write them like zoned:60/10:40/90".to_owned());
    }
    let percents = |extent: &Extent| if let Extent::Percent(percent) = extent { *percent } else { 0.0 };
    let shares: f64 = parts.iter().filter_map(|(share, _)| *share).sum();
    let sizes: f64 = parts.iter().filter_map(|(_, extent)| extent.as_ref()).map(percents).sum();
    let open = |missing: usize, sum: f64| ((100.0 - sum) / missing.max(1) as f64).max(0.0);
    let share_left = open(parts.iter().filter(|(share, _)| share.is_none()).count(), shares);
    let size_left = open(parts.iter().filter(|(_, extent)| extent.is_none()).count(), sizes);
    let zones: Vec<Zone> = parts
        .into_iter()
        .map(|(share, extent)| Zone {
            share: share.unwrap_or(share_left),
            size: extent.unwrap_or(Extent::Percent(size_left)),
        })
        .collect();
    let sum: f64 = zones.iter().map(|zone| zone.share).sum();
    if (sum - 100.0).abs() > 0.01 {
        return Err(format!("the shares of the zones sum to {sum}; they must sum to 100"));
    }
    if sizes > 100.0 {
        return Err(format!("the zones take {sizes} % of the file; at most 100 % are there"));
    }
    Ok(zones)
}
