//! Parts of a target address, read alike for every protocol: numbers, switches, and what stands after the `?`.

use std::fmt::Display;

pub(crate) use crate::secret::part_without_secret as shown;
use crate::secret::{self, Place, decoded};

/// After how long an I/O over a network fails that has not ended, where the address does not say, s.
pub(crate) const TIMEOUT_S: u32 = 60;

/// Why a part of an address could not be read. The protocol's own error says how the whole is written.
#[derive(Debug)]
pub(crate) struct PartError {
    /// Which part.
    pub(crate) part: &'static str,
    /// What is wrong with it.
    pub(crate) why: String,
}

pub(crate) type Result<T> = std::result::Result<T, PartError>;

/// Refuses a part.
pub(crate) fn wrong<T>(part: &'static str, why: impl Into<String>) -> Result<T> {
    Err(PartError { part, why: why.into() })
}

/// Refuses an address with a secret in it, before any part of it can get into another message. In an address it would
/// end up in the shell's history and in every list of processes.
pub(crate) fn refuse_secret(address: &str) -> Result<()> {
    let part = match secret::find(address) {
        None => return Ok(()),
        Some((Place::User, _)) => "user",
        Some((Place::Query, _)) => "query",
    };
    wrong(part, SECRET_ADVICE)
}

/// Refuses a host or a path with pairs in it that are hidden by percent codes.
pub(crate) fn refuse_coded(part: &'static str, text: &str) -> Result<()> {
    match secret::has_coded_pair(text) {
        true => wrong(
            part,
            "it has a pair in percent codes, which are not decoded; write `?`, `&` and `=` themselves",
        ),
        false => Ok(()),
    }
}

/// What to do with a secret instead.
pub(crate) const SECRET_ADVICE: &str = "a secret does not belong here, where every user of this machine can read it \
                                        (ps, the shell's history); change it, and put the new one into a file \
                                        (chap_file=PATH or ASSAY_CHAP_FILE) or into ASSAY_CHAP_SECRET";

/// Splits `key=value&key=value` into pairs. A key must be one of `known`, and given once, unless it is `repeatable`.
pub(crate) fn query<'t>(
    text: &'t str,
    known: &[&'static str],
    repeatable: &str,
) -> Result<Vec<(&'static str, &'t str)>> {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        // What stands in a wrong place may be a secret, so neither a value nor a word without a key is repeated.
        let Some((key, value)) = pair.split_once('=') else {
            return wrong(
                "query",
                format!("a part is not of the form `key=value`; use one of the keys {}", known.join(", ")),
            );
        };
        let Some(&known) = known.iter().find(|known| **known == key) else {
            return wrong("query", format!("`{key}` is not a known key; use one of {}", known.join(", ")));
        };
        // A path may have any character in it.
        if key != "chap_file" && decoded(value).contains('=') {
            return wrong("query", format!("`{key}` has a second `=` in its value; `&` divides the pairs"));
        }
        if key != repeatable && pairs.iter().any(|(given, _)| *given == key) {
            return wrong("query", format!("`{key}` is given twice"));
        }
        pairs.push((known, value));
    }
    Ok(pairs)
}

/// Reads a number in a range.
pub(crate) fn number<N: TryFrom<u64> + PartialOrd + Display + Copy>(
    part: &'static str,
    text: &str,
    least: N,
    most: N,
) -> Result<N> {
    let read = text.parse::<u64>().ok().and_then(|value| N::try_from(value).ok());
    match read.filter(|value| *value >= least && *value <= most) {
        Some(value) => Ok(value),
        None => wrong(part, format!("`{}` is not a number from {least} to {most}", shown(text))),
    }
}

/// Reads a port number.
pub(crate) fn port(part: &'static str, text: &str) -> Result<u16> {
    number(part, text, 1, u16::MAX).or_else(|_| {
        wrong(part, format!("`{}` is not a port number (write an IPv6 address in brackets)", shown(text)))
    })
}

/// Reads `yes` or `no`.
pub(crate) fn yes_or_no(part: &'static str, text: &str) -> Result<bool> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => wrong(part, format!("`{}` is neither yes nor no", shown(text))),
    }
}

/// Returns why an address in brackets cannot be used as it stands: a link-local one is valid on every link.
pub(crate) fn lacks_zone(host: &str) -> Option<String> {
    let (inside, _) = host.strip_prefix('[')?.split_once(']')?;
    // With a zone it is no plain address.
    let address: std::net::Ipv6Addr = inside.parse().ok()?;
    address.is_unicast_link_local().then(|| {
        format!(
            "`{inside}` is a link-local address, which exists on every link; name the interface: [{inside}%eth0]"
        )
    })
}
