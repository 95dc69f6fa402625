//! `rate` and `rate_iops` of fio, which limit reads and writes each by itself.

use assay_spec::units::PerSecond;
use assay_spec::{Access, Arrivals, Change};

use super::lines::OptionLine;
use super::taken::Options;
use super::value::{KbBase, bytes, short};
use crate::ImportError;

/// The I/Os of one direction in a mix.
struct Side {
    /// Sum of their weights.
    weight: f64,
    mean_bytes: f64,
    least_bytes: f64,
}

impl Side {
    /// `share` is that of the direction in a line.
    fn of(mix: &[Access], share: fn(&Access) -> f64) -> Option<Self> {
        let lines = || mix.iter().map(|line| (f64::from(line.weight) * share(line), line.size.0 as f64));
        let weight: f64 = lines().map(|(weight, _)| weight).sum();
        let sum: f64 = lines().map(|(weight, size)| weight * size).sum();
        let least =
            lines().filter(|(weight, _)| *weight > 0.0).map(|(_, size)| size).fold(f64::INFINITY, f64::min);
        (weight > 0.0).then(|| Self { weight, mean_bytes: sum / weight, least_bytes: least })
    }
}

/// The rate of a job, clones together; a mix gets the shares of reads that its rates give it.
pub(super) fn pace(
    options: &mut Options<'_>,
    mix: &mut [Access],
    workers: u64,
) -> Result<Option<(PerSecond, Option<Arrivals>)>, ImportError> {
    let process = options.take("rate_process");
    let arrivals = match process.map(|option| option.value.as_str()) {
        None | Some("linear") => None,
        Some("poisson") => Some(Arrivals::Poisson),
        Some(other) => {
            let says = format!("`{}` is not known; use linear or poisson", short(other));
            return Err(process.map_or_else(|| crate::complain("", 0, says.clone()), |o| o.complain(&says)));
        }
    };
    let sides = [Side::of(mix, |line| line.read / 100.0), Side::of(mix, |line| 1.0 - line.read / 100.0)];
    /// I/Os per second of one direction by the value of an option.
    type RateOf = fn(&Side, f64) -> f64;
    // fio gives a rate in I/Os the bytes of as many of the smallest, except of a split, and of random arrivals.
    let counts_ios = arrivals.is_some() || options.has("bssplit");
    let of_ios: RateOf =
        if counts_ios { |_, value| value } else { |side, value| value * side.least_bytes / side.mean_bytes };
    let readers: [(&str, RateOf); 2] =
        [("rate", |side, value| value / side.mean_bytes), ("rate_iops", of_ios)];
    let mut found = None;
    for (key, rate_of) in readers {
        let Some(option) = options.take(key) else { continue };
        let [read, write, trim] = by_direction(option, options.kb_base)?;
        let given =
            if mix.iter().any(|line| line.change == Change::Trim) { [read, trim] } else { [read, write] };
        let rates: Vec<Option<f64>> = sides
            .iter()
            .zip(given)
            .filter_map(|(side, value)| side.as_ref().map(|side| value.map(|value| rate_of(side, value))))
            .collect();
        if rates.iter().all(Option::is_none) {
            continue;
        }
        if rates.iter().any(Option::is_none) {
            options.refuse(option, "a rate for one direction of a mix only is not supported; use two jobs");
            continue;
        }
        let has_sizes = sides.iter().flatten().any(|side| side.least_bytes < side.mean_bytes);
        if key == "rate_iops" && arrivals.is_none() && counts_ios && has_sizes {
            let says = "rate_iops with bssplit: newer versions of fio (3.42), and this, count I/Os; older ones (3.33) \
                        keep the bytes of as many of the smallest, which are fewer I/Os.";
            options.note(option.line, says);
        }
        let rates: Vec<f64> = rates.into_iter().flatten().collect();
        let total: f64 = rates.iter().sum();
        if let ([reads, _], [Some(read), Some(write)]) = (rates.as_slice(), &sides) {
            share_reads(mix, reads / total, read.weight / (read.weight + write.weight));
            options.note(
                option.line,
                format!(
                    "{key}: fio limits reads and writes each by itself, so {:.0} % of the I/Os are reads while the \
                     rates are kept.",
                    reads / total * 100.0
                ),
            );
        }
        found = Some(PerSecond(total * workers as f64));
    }
    Ok(found.map(|rate| (rate, arrivals)))
}

/// `rate=1m`, or `1m,2m,3m` for reads, writes and trims, of which the last given counts for those after it; 0 and
/// nothing are no limit.
fn by_direction(option: &OptionLine, base: KbBase) -> Result<[Option<f64>; 3], ImportError> {
    let mut parts = option.value.split(',').map(str::trim);
    let first = parts.next().unwrap_or_default();
    let second = parts.next().unwrap_or(first);
    let third = parts.next().unwrap_or(second);
    let read = |text: &str| match text {
        "" => Ok(None),
        text => bytes(text, base)
            .map(|value| (value > 0).then_some(value as f64))
            .map_err(|why| option.complain(why)),
    };
    Ok([read(first)?, read(second)?, read(third)?])
}

/// Changes a mix of which `before` are reads to one of which `share` are.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "shares of weights up to 10,000")]
fn share_reads(mix: &mut [Access], share: f64, before: f64) {
    for line in mix {
        let factor = match line.read {
            read if read >= 100.0 => share / before,
            read if read <= 0.0 => (1.0 - share) / (1.0 - before),
            _ => {
                line.read = (share * 10_000.0).round() / 100.0;
                continue;
            }
        };
        line.weight = ((f64::from(line.weight) * factor).round() as u32).max(1);
    }
}
