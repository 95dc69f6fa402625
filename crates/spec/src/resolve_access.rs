//! From access lines as written to what they mean, and the rules that only one of the semantics has.

use crate::file::{AccessFile, IO_BYTES_MAX};
use crate::place::{ZONE_BYTES_MIN, Zoned};
use crate::plan::{Access, Change, Semantics};
use crate::plan_error::PlanError;
use crate::units::Bytes;

pub(crate) fn resolve_mix(
    place: &str,
    lines: &[AccessFile],
    over: &AccessFile,
    semantics: Semantics,
) -> Result<Vec<Access>, PlanError> {
    let mut mix = Vec::new();
    for line in lines {
        let mut line = line.clone();
        over.lay_over(&mut line);
        let access = resolve_access(&line, lines.len(), semantics)?;
        // Real Iometer files carry a line of weight zero before the real ones.
        if access.weight > 0 {
            mix.push(access);
        }
    }
    let total: u64 = mix.iter().map(|a| u64::from(a.weight)).sum();
    if total == 0 {
        return Err(complain(place, "access: the weights must not all be zero"));
    }
    if semantics == Semantics::Iometer && total != 100 {
        return Err(complain(
            place,
            &format!(
                "access: under Iometer semantics the weights are percent and must sum to 100, not {total}"
            ),
        ));
    }
    Ok(mix)
}

fn resolve_access(line: &AccessFile, lines: usize, semantics: Semantics) -> Result<Access, PlanError> {
    let Some(size) = line.size else {
        return Err(complain(&line.place, "needs a `size`, for example size = \"8KiB\""));
    };
    if lines > 1 && line.weight.is_none() {
        return Err(complain(&line.place, "needs a `weight`, because there are several lines"));
    }
    let access = Access {
        weight: line.weight.unwrap_or(100),
        size,
        read: line.read.unwrap_or(100.0),
        random: line.random.unwrap_or(0.0),
        align: line.align.unwrap_or(match semantics {
            Semantics::Assay | Semantics::Fio => size,
            Semantics::Iometer => Bytes(0),
        }),
        delay: line.delay.unwrap_or_default(),
        burst: line.burst.unwrap_or(1),
        reply: line.reply.unwrap_or_default(),
        distribution: line.distribution.clone().unwrap_or_default(),
        sequence: line.sequence.unwrap_or(1),
        change: line.change.unwrap_or_default(),
        once: own_rule(&line.place, "once", line.once.filter(|once| *once), semantics)?.is_some(),
        gap: own_rule(&line.place, "gap", line.gap.filter(|gap| gap.0 > 0), semantics)?.unwrap_or_default(),
        back: own_rule(&line.place, "back", line.back.filter(|back| back.0 > 0), semantics)?
            .unwrap_or_default(),
    };
    check_sizes(&line.place, &access)?;
    if semantics != Semantics::Iometer && access.align.0 == 0 {
        return Err(complain(
            &line.place,
            "align: must be more than zero (0 means the sector only under Iometer semantics)",
        ));
    }
    if semantics == Semantics::Iometer && (access.read.fract() != 0.0 || access.random.fract() != 0.0) {
        return Err(complain(&line.place, "read, random: Iometer supports whole percents only"));
    }
    if semantics == Semantics::Iometer && (!access.distribution.is_uniform() || access.sequence > 1) {
        return Err(complain(
            &line.place,
            "distribution, sequence: Iometer draws each random position evenly; use semantics = \"assay\"",
        ));
    }
    if semantics == Semantics::Fio && access.reply.0 > 0 {
        return Err(complain(&line.place, "reply: fio has no replies; use semantics = \"assay\""));
    }
    own_rule(&line.place, "change = \"trim-write\"", rewrites(access.change), semantics)?;
    if access.change == Change::Trim && access.reply.0 > 0 {
        return Err(complain(&line.place, "reply: a trim has no reply"));
    }
    Ok(access)
}

/// A value that only the rules of fio know.
pub(crate) fn own_rule<T>(
    place: &str,
    key: &str,
    value: Option<T>,
    semantics: Semantics,
) -> Result<Option<T>, PlanError> {
    match value {
        Some(_) if semantics != Semantics::Fio => {
            Err(complain(place, &format!("{key}: is a rule of fio; it needs semantics = \"fio\"")))
        }
        value => Ok(value),
    }
}

/// Zones are those of random writes, which fit into them; each worker has zones of its own.
pub(crate) fn resolve_zoned(
    place: &str,
    (zoned, workers): (Option<Zoned>, u32),
    mix: &[Access],
    semantics: Semantics,
) -> Result<Option<Zoned>, PlanError> {
    let Some(zoned) = own_rule(place, "zoned", zoned, semantics)? else { return Ok(None) };
    let is_random_write =
        |line: &Access| line.read == 0.0 && line.random == 100.0 && line.change == Change::Write;
    let says = match mix.iter().find(|line| line.size > zoned.bytes) {
        Some(line) => format!("zoned: an I/O of {} does not fit into a zone of {}", line.size, zoned.bytes),
        None if zoned.bytes < ZONE_BYTES_MIN => {
            format!("zoned: a zone of {} is too small; it has {ZONE_BYTES_MIN} at least", zoned.bytes)
        }
        None if !mix.iter().all(is_random_write) => {
            "zoned: is for random writes (read = 0, random = 100)".to_owned()
        }
        None if zoned.open > 0 && zoned.open < workers => format!(
            "zoned: {workers} workers need at least one open zone each, and {} may be open",
            zoned.open
        ),
        None => return Ok(Some(zoned)),
    };
    Err(complain(place, &says))
}

fn rewrites(change: Change) -> Option<()> {
    (change == Change::TrimWrite).then_some(())
}

/// Only what moves no data may exceed what a buffer can have.
fn check_sizes(place: &str, access: &Access) -> Result<(), PlanError> {
    let moved = [("size", access.size), ("reply", access.reply)];
    let too_large = moved.into_iter().find(|(_, size)| size.0 > IO_BYTES_MAX && access.transfers());
    match too_large {
        None => Ok(()),
        Some((key, size)) => {
            let most = Bytes(IO_BYTES_MAX);
            Err(complain(place, &format!("{key}: `{size}` must be at most {most}; only trims may be larger")))
        }
    }
}

pub(crate) fn complain(place: &str, message: &str) -> PlanError {
    PlanError::new(place, message)
}
