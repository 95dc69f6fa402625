//! The parameters that vdbench knows, by the kind of definition, and what becomes of those that Assay does not use.

use super::{Findings, short};
use crate::{ImportError, Note, complain, counted};

/// What becomes of a parameter.
#[derive(Clone, Copy)]
enum Meaning {
    /// It is read elsewhere, or changes nothing that is measured.
    Known,
    /// Done differently, in a sentence.
    Noted(&'static str),
    /// Not supported, for this reason.
    Refused(&'static str),
}
use Meaning::{Known, Noted, Refused};

const REPLAY: Meaning = Refused("the replay of a trace is not supported");
const COMMANDS: Meaning = Noted("commands are not run");
const JOURNAL: Meaning = Noted("there are no journals; `verify = true` in the plan checks every read");
const DURABLE: Meaning = Noted("I/O bypasses the page cache (--cached uses it)");

const OF_STORAGE: &[(&str, Meaning)] = &[
    ("lun", Known),
    ("size", Known),
    ("threads", Known),
    ("range", Known),
    ("host", Known),
    ("hd", Known),
    ("hitarea", Known),
    ("openflags", DURABLE),
    ("journal", JOURNAL),
    ("replay", REPLAY),
    ("align", Known),
    ("offset", Refused("an offset is not supported; use range=")),
    ("count", Refused("several storages of one definition are not supported; list them")),
    ("concatenatesds", Refused("storages that are one are not supported")),
    ("streams", Refused("several streams of one storage are not supported; use threads")),
    ("resetbus", Noted("nothing is reset")),
    ("resetlun", Noted("nothing is reset")),
    ("dedupratio", Known),
    ("dedupunit", Known),
    ("compratio", Known),
    ("sd", Known),
];
const OF_WORKLOAD: &[(&str, Meaning)] = &[
    ("sd", Known),
    ("host", Known),
    ("hd", Known),
    ("rdpct", Known),
    ("rhpct", Known),
    ("whpct", Known),
    ("xfersize", Known),
    ("skew", Known),
    ("seekpct", Known),
    ("range", Known),
    ("threads", Known),
    ("hotband", Known),
    ("stride", Known),
    ("streams", Known),
    ("iorate", Refused("a rate of one workload is not supported; use skew= and the iorate= of the run")),
    ("priority", Refused("priorities are not supported; use skew=")),
    ("openflags", DURABLE),
    ("compratio", Known),
    ("dedupratio", Known),
    ("wd", Known),
];
const OF_RUN: &[(&str, Meaning)] = &[
    ("wd", Known),
    ("sd", Known),
    ("host", Known),
    ("hd", Known),
    ("elapsed", Known),
    ("interval", Known),
    ("warmup", Known),
    ("iorate", Known),
    ("curve", Known),
    ("distribution", Known),
    ("pause", Known),
    ("format", Known),
    ("openflags", Known),
    ("threads", Known),
    ("rdpct", Known),
    ("rhpct", Known),
    ("whpct", Known),
    ("seekpct", Known),
    ("xfersize", Known),
    ("range", Known),
    ("skew", Known),
    ("compratio", Known),
    ("dedupratio", Known),
    ("forxfersize", Known),
    ("forthreads", Known),
    ("forrdpct", Known),
    ("foriorate", Known),
    ("forrhpct", Known),
    ("forwhpct", Known),
    ("forseekpct", Known),
    ("forhitarea", Known),
    ("forcompratio", Known),
    ("maxdata", Known),
    ("replay", REPLAY),
    ("startcmd", COMMANDS),
    ("endcmd", COMMANDS),
    ("maxerrors", Noted("a run ends after 100 failed I/Os (error_limit)")),
    ("rd", Known),
];
const GENERAL: &[(&str, Meaning)] = &[
    ("include", Known),
    ("hd", Known),
    ("host", Known),
    ("fsd", Known),
    ("fwd", Known),
    ("compratio", Known),
    ("dedupratio", Known),
    ("dedupunit", Known),
    ("dedupsets", Known),
    ("report", Known),
    ("histogram", Known),
    ("debug", Known),
    ("misc", Known),
    ("messagescan", Known),
    ("monitor", Known),
    ("javaparms", Known),
    ("loop", Refused("running the file several times is not supported; --repeat does that")),
    ("swat", Known),
    ("pattern", Noted("data are random and unlike each other")),
    ("port", Known),
    ("psrset", Known),
    ("validate", Noted("`verify = true` in the plan checks every read")),
    ("journal", JOURNAL),
    ("data_errors", Noted("a run ends after 100 failed I/Os (error_limit)")),
    ("create_anchors", Known),
    ("formatsds", Known),
    ("formatxfersize", Known),
    ("abort_failed_skew", Known),
    ("concatenate", Refused("storages that are one are not supported")),
    ("startcmd", COMMANDS),
    ("endcmd", COMMANDS),
    ("rg", REPLAY),
    ("replay", REPLAY),
];

/// Returns the full name of a parameter of a definition, `sd`, `wd` or `rd`, or of a general one. As in vdbench, the
/// start of a name is enough where no other begins like it.
///
/// # Errors
/// When vdbench has no such parameter, or several that begin so.
pub(super) fn resolved(
    place: (&str, usize),
    kind: Option<&str>,
    key: &str,
    findings: &mut Findings,
) -> Result<String, ImportError> {
    let (origin, line) = place;
    let known = match kind {
        Some("sd") => OF_STORAGE,
        Some("wd") => OF_WORKLOAD,
        Some("rd") => OF_RUN,
        _ => GENERAL,
    };
    let exact = known.iter().filter(|(name, _)| *name == key).collect::<Vec<_>>();
    let alike = known.iter().filter(|(name, _)| name.starts_with(key)).collect::<Vec<_>>();
    let [(name, meaning)] = (if exact.is_empty() { &alike } else { &exact })[..] else {
        let names: Vec<&str> = alike.iter().map(|(name, _)| *name).collect();
        let says = match names.len() {
            0 => format!("`{}` is no parameter of vdbench that Assay knows", short(key)),
            count => format!("`{}` begins {}: {}", short(key), counted(count, "parameter"), names.join(", ")),
        };
        return Err(complain(origin, line, says));
    };
    match meaning {
        Known => {}
        Noted(says) => findings.notes.push(Note::new(line, format!("{name}: {says}."))),
        Refused(why) => findings.refused.push(Note::new(line, format!("{name}: {why}"))),
    }
    Ok((*name).to_owned())
}
