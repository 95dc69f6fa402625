//! What ends a run of vdbench besides its time, and where its I/Os may begin.

use assay_spec::units::{Bytes, Nanos};
use assay_spec::{Access, Window};

use super::{Definition, Findings, bytes};
use crate::draft::DraftJob;
use crate::{ImportError, Note};

/// Up to this number, `maxdata` is a multiple of all storage of the run.
const MULTIPLES_MAX: u64 = 100;
/// More than this in a second is moved by nothing, bytes.
const RATE_MAX: f64 = 1e12;

/// Bytes, or passes over all that is used, that end a run before its time: those of `maxdata`, and the one pass of
/// `seekpct=eof`.
pub(super) fn ends(
    run: &Definition,
    workloads: &[&Definition],
    elapsed: Nanos,
    jobs: &mut [DraftJob],
    findings: &mut Findings,
) -> Result<(Option<u64>, Option<u32>), ImportError> {
    let ends_once = |workload: &&&Definition| {
        let of = if run.one("seekpct").is_some() { run } else { workload };
        of.one("seekpct").is_some_and(|word| word == "-1" || word.eq_ignore_ascii_case("eof"))
    };
    let once = workloads.iter().filter(ends_once).count();
    let are_all_once = once > 0 && once == jobs.len();
    if once > 0 && !are_all_once {
        for (job, _) in jobs.iter_mut().zip(workloads).filter(|(_, workload)| ends_once(workload)) {
            job.end = crate::draft::end_fields(None, None, None, Some(1));
        }
    }
    let passes = are_all_once.then_some(1);
    let Some(text) = run.one("maxdata") else { return Ok((None, passes)) };
    let most = bytes(text).map_err(|why| run.complain("maxdata", why))?;
    let is_multiple = most <= MULTIPLES_MAX;
    if !is_multiple && most as f64 > elapsed.0 as f64 / 1e9 * RATE_MAX {
        findings
            .notes
            .push(Note::new(run.line, "maxdata: more than can be moved until the end of elapsed=."));
        return Ok((None, passes));
    }
    let refused = match (jobs.len(), is_multiple) {
        (0 | 1, true) if jobs.iter().all(|job| job.window == Window::WHOLE) => None,
        (_, true) => Some("a multiple is supported for one workload on all of its storage; use elapsed="),
        (0 | 1, false) => None,
        (_, false) => Some("the sum of several workloads ends no run here; use elapsed="),
    };
    if let Some(why) = refused {
        findings.refused.push(Note::new(run.line, format!("maxdata: {why}")));
        return Ok((None, passes));
    }
    let says = "maxdata: vdbench ends with the interval in which that is reached; here the run ends at once.";
    findings.notes.push(Note::new(run.line, says));
    Ok(match u32::try_from(most).ok().filter(|_| is_multiple) {
        Some(multiple) => (None, passes.or(Some(multiple))),
        None => (Some(most), passes),
    })
}

/// `align=` of the storages: random I/Os begin at multiples of it. In order they do anyway where their sizes are.
pub(super) fn align(
    storages: &[&Definition],
    mix: &mut [Access],
    findings: &mut Findings,
) -> Result<(), ImportError> {
    let given = storages.iter().map(|sd| sd.read("align", bytes)).collect::<Result<Vec<_>, _>>()?;
    let Some(align) = given.iter().flatten().copied().next() else { return Ok(()) };
    let fits = |line: &Access| line.random >= 100.0 || line.size.0.is_multiple_of(align);
    if given.iter().any(|other| *other != Some(align)) || !mix.iter().all(fits) {
        let says = "align: it is supported where all storages have the same, and sizes of sequential I/Os are \
                    multiples of it";
        findings.refused.push(Note::new(storages[0].line, says));
        return Ok(());
    }
    for line in mix {
        line.align = Bytes(align);
    }
    Ok(())
}
