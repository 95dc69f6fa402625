//! A diagnosis in words.

use std::cmp::Ordering;

use assay_analysis::{RunSummary, capitalised, chunks_say, member_says, region_says, whole};
use assay_record::{Experiment, RunHeader};
use assay_statistics::student_95;

use crate::belief::{Belief, Odds, SETTLED, density};
use crate::cause::Cause;
use crate::clause;
use crate::diagnosis::{Diagnosis, Row, SeriesPoint};
use crate::evidence::evidence;
use crate::experiments::SIZE_TIMES;
use crate::hypotheses::ALL;
use crate::hypothesis::Hypothesis;
use crate::number::number;
use crate::observe::observed;
use crate::observed::{Measurement, Observed};
use crate::quantity::{Observation, Quantity};
use crate::quoted::{name_path, quote_limit, quote_states};
use crate::range::Range;
use crate::setting::Setting;

/// A hypothesis below this is ruled out.
const RULED_OUT: f64 = 0.01;
/// A hypothesis that was ever above this is drawn.
const DRAWN: f64 = 0.05;
/// The load itself differs by more than this between its repetitions: something changed. As a logarithm.
const CHANGED: f64 = 0.12;
/// Evidence that changes odds by less than this rules nothing out.
const FACTOR_LEAST: f64 = 1.5;
/// Random I/Os that a disk carries with a queue, over those without one.
const SORTED: f64 = 2.2;
/// With fewer I/Os in flight not every disk of an array has one.
const QUEUE_LEAST: f64 = 8.0;
/// Less than this is no gain.
const GAIN_LEAST: f64 = 1.05;
/// From this probability on the first hypothesis is the answer, below it a suspect.
const LIKELY: f64 = 0.5;
/// A diagnosis of this length is not worth repeating with more time, s.
const LONG_BUDGET_S: f64 = 600.0;
/// Other programs that take more of the CPU time than this are stopped before a target is looked at.
const HOST_BUSY: f64 = 0.6;
/// The same where the load waits for them for this share of the time.
const HOST_WAITS: f64 = 0.25;
/// What to do about a cause that is not in the list.
const OPEN_HELPS: &str = "Look at the statistics of the target while the load runs: latency and utilisation of each \
    disk and each member of an array, its CPU, its error counters and its log.";
/// Most hypotheses that are named as ruled out.
const NAMED_MAX: usize = 8;

/// Returns what the experiments of a run say so far; `None` for a run that is no diagnosis, or before the load itself
/// was measured.
pub fn diagnose(header: &RunHeader, summary: &RunSummary) -> Option<Diagnosis> {
    diagnose_among(&ALL, header, summary)
}

/// The same for a list of causes.
pub fn diagnose_among(
    hypotheses: &[&'static Hypothesis],
    header: &RunHeader,
    summary: &RunSummary,
) -> Option<Diagnosis> {
    let setting = Setting::of(header)?;
    let observed = observed(header, summary)?;
    let mut diagnosis = diagnosis(hypotheses, &setting, &observed);
    quote_limit(&mut diagnosis, header, summary);
    quote_states(&mut diagnosis, &setting, header);
    name_path(&mut diagnosis, header, summary);
    advise_on_doubt(&mut diagnosis, header.diagnosis.as_ref()?.budget_s);
    Some(diagnosis)
}

/// Returns the result of a diagnosis in a sentence; `None` as in [`diagnose`].
pub fn headline(header: &RunHeader, summary: &RunSummary) -> Option<String> {
    diagnose(header, summary).map(|diagnosis| diagnosis.says)
}

/// Returns what was found out.
pub(crate) fn diagnosis(hypotheses: &[&'static Hypothesis], setting: &Setting, seen: &Observed) -> Diagnosis {
    let observations = seen.observations();
    let mut belief = Belief::among(hypotheses, setting);
    observations.iter().for_each(|observation| belief.add(observation));
    let odds = belief.odds();
    // The numbers stand beside what the best of the listed causes expect.
    let listed: Vec<Cause> = odds.iter().map(|o| o.cause).filter(|c| *c != Cause::NoneOfThese).collect();
    let (first, second) = (listed.first().copied(), listed.get(1).copied());
    let misfits = first.map(|first| belief.misfits(first)).unwrap_or_default();
    let best = |cause: Option<Cause>| cause.and_then(|cause| belief.best_form(cause));
    let (best_first, best_second) = (best(first), best(second));
    let scale = belief.scale();
    let rows = observations.iter().zip(misfits).map(|(o, misfit)| {
        let expected = |of: Option<(&'static Hypothesis, usize)>| {
            of.and_then(|(hypothesis, form)| hypothesis.expected(form, o.quantity, setting))
        };
        let (a, b) = (expected(best_first), expected(best_second));
        let error = o.whole_error(scale);
        let density = |range| density(o.quantity, range, o.value.ln(), error);
        // What is counted is exact.
        let width = if o.quantity.is_counted() { 1.0 } else { (error * student_95(f64::INFINITY)).exp() };
        let measured = o.quantity.stated(o.value);
        Row {
            experiment: o.experiment,
            quantity: o.quantity.words().to_owned(),
            measured,
            interval: (measured / width, measured * width),
            expected_first: a.map(|range| o.quantity.stated_range(range)),
            expected_second: b.map(|range| o.quantity.stated_range(range)),
            factor: density(a) / density(b),
            misfit,
        }
    });
    let changed = changed(setting, seen);
    Diagnosis {
        says: match first_listed_of_open(&odds) {
            Some(nearest) => open_sentence(setting, seen, &odds, nearest),
            None => sentence(setting, seen, &odds),
        },
        evidence: evidence_and_places((setting, seen), &belief, &observations, &odds),
        load: setting.load.clone(),
        iops: seen.base_iops(),
        rows: rows.collect(),
        ruled_out: ruled_out(setting, seen, &belief, &odds),
        helps: if first_listed_of_open(&odds).is_some() {
            open_helps(&observations)
        } else {
            helps(&observations, best_first)
        },
        unknown: [unknown(best_first, best_second, &odds), disks_at_work(setting, &observations, first)]
            .join(" ")
            .trim()
            .to_owned(),
        changed,
        series: series(hypotheses, setting, seen, &odds),
        is_settled: odds.first().is_some_and(|o| o.probability >= SETTLED),
        odds,
    }
}

fn percent(probability: f64) -> String {
    match probability {
        p if p > 0.995 => "more than 99 %".to_owned(),
        p if p < 0.005 => "less than 1 %".to_owned(),
        p => format!("{:.0} %", p * 100.0),
    }
}

pub(crate) fn sentence(setting: &Setting, seen: &Observed, odds: &[Odds]) -> String {
    let Some(first) = odds.first() else {
        return "No known cause explains the rate of this load.".to_owned();
    };
    let rate = format!("{} IOPS", whole(seen.base_iops()));
    let load = &setting.load;
    let (name, probability) = (first.name, percent(first.probability));
    let is_open = first.cause == Cause::NoneOfThese;
    let mut text = if is_open && first.probability < LIKELY {
        format!(
            "The bottleneck of {load} ({rate}) is uncertain: with a probability of {probability}, it is none of the \
             causes that Assay knows."
        )
    } else if first.probability >= LIKELY {
        format!("The bottleneck of {load} ({rate}) is {name}, with a probability of {probability}.")
    } else {
        format!(
            "The bottleneck of {load} ({rate}) is uncertain; the first suspect is {name} ({probability})."
        )
    };
    match odds.get(1) {
        Some(second) if second.probability >= RULED_OUT => {
            let which = if is_open { "First" } else { "Second" };
            text.push_str(&format!(" {which} suspect: {} ({}).", second.name, percent(second.probability)));
        }
        _ => {}
    }
    text
}

/// Returns the most probable of the listed causes, where none of them is the answer.
fn first_listed_of_open(odds: &[Odds]) -> Option<Odds> {
    let first = odds.first().filter(|first| first.cause == Cause::NoneOfThese)?;
    odds.get(1).filter(|_| first.probability >= LIKELY).copied()
}

/// What was measured that speaks for the answer, and what is shown beside it: a slow place or a lost segment is a fact,
/// whatever else limits.
fn evidence_and_places(
    (setting, seen): (&Setting, &Observed),
    belief: &Belief<'_>,
    observations: &[Observation],
    odds: &[Odds],
) -> String {
    let mut text = evidence_of((setting, seen), belief, observations, odds);
    let first = odds.first().map(|first| first.cause);
    let others = [Cause::SlowMember, Cause::WeakRegion, Cause::NetworkFault].into_iter();
    let facts = others.filter(|cause| Some(*cause) != first).filter_map(|cause| match cause {
        Cause::NetworkFault => lost_segments(observations),
        place => places_say(setting, seen, place),
    });
    for says in facts {
        let before = if text.is_empty() { "No single number shows it." } else { "" };
        text.push_str(&format!("{before} Beside that: {}", uncapitalised(&says)));
    }
    text
}

/// What was measured that speaks for the answer, a sentence: for the open one the number that nobody explains.
fn evidence_of(
    (setting, seen): (&Setting, &Observed),
    belief: &Belief<'_>,
    observations: &[Observation],
    odds: &[Odds],
) -> String {
    let Some(nearest) = first_listed_of_open(odds) else {
        let value = |quantity: Quantity| {
            let of = observations.iter().find(|o| o.quantity == quantity);
            of.map(|o| quantity.stated(o.value))
        };
        let first = odds.first().map(|first| first.cause);
        let by_offsets = first.and_then(|first| places_say(setting, seen, first));
        return by_offsets.or_else(|| evidence(first?, &value)).unwrap_or_default();
    };
    let misfits = belief.misfits(nearest.cause);
    let oddest = observations.iter().zip(&misfits).max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
    oddest.map_or_else(String::new, |(o, _)| {
        let best = belief.best_form(nearest.cause);
        let expected = best.and_then(|(hypothesis, form)| hypothesis.expected(form, o.quantity, setting));
        // A cause that says nothing of a number leaves it what it usually is.
        let (range, whose) = match expected {
            Some(range) => (range, format!("{} would give", nearest.name)),
            None => (o.quantity.usual(), "usual is".to_owned()),
        };
        capitalised(&unexplained(o, o.quantity.stated_range(range), &whose))
    })
}

/// What TCP counts of lost segments, a sentence; `None` where that is no more than usual.
fn lost_segments(observations: &[Observation]) -> Option<String> {
    let is_lost = |o: &&Observation| o.quantity.shows(Cause::NetworkFault, o.value);
    let lost = observations.iter().filter(is_lost).max_by(|a, b| a.value.total_cmp(&b.value))?;
    let what = clause::measured(lost.quantity, lost.experiment, lost.value);
    Some(format!("{}; a network that loses none has a fraction of one.", capitalised(&what)))
}

/// What the offsets of the load say for a cause, a sentence.
fn places_say(setting: &Setting, seen: &Observed, cause: Cause) -> Option<String> {
    let places = seen.places.as_ref()?;
    let what = match cause {
        Cause::SlowMember if setting.is_file => chunks_say(places)?,
        Cause::SlowMember => member_says(places)?,
        Cause::WeakRegion => region_says(places.region.as_ref()?),
        _ => return None,
    };
    Some(format!("{}, by the offsets of {} I/Os of the load.", capitalised(&what), whole(places.ios as f64)))
}

/// The open answer.
fn open_sentence(setting: &Setting, seen: &Observed, odds: &[Odds], nearest: Odds) -> String {
    format!(
        "Unknown: with a probability of {}, none of the causes that Assay knows limits {} ({} IOPS). The nearest is {} \
         ({}).",
        percent(odds[0].probability),
        setting.load,
        whole(seen.base_iops()),
        nearest.name,
        percent(nearest.probability)
    )
}

/// The number that the nearest cause does not explain, a sentence.
fn unexplained(o: &Observation, expected: Range, whose: &str) -> String {
    let value = o.quantity.stated(o.value);
    let says = clause::measured(o.quantity, o.experiment, value);
    match o.quantity {
        Quantity::MedianToMean if value < expected.lo => {
            format!("{says}, so that a small part of the I/Os takes nearly all of the time.")
        }
        Quantity::Rate(Experiment::Base) => format!("{says}."),
        quantity => format!("{says}; {whose} {}.", clause::needed(quantity, expected)),
    }
}

/// For each hypothesis that is out: the number that changed its odds most against the first.
fn ruled_out(setting: &Setting, seen: &Observed, belief: &Belief<'_>, odds: &[Odds]) -> Vec<String> {
    let Some((first, first_form)) = odds.iter().find_map(|o| belief.best_form(o.cause)) else {
        return Vec::new();
    };
    // What the load itself does meanwhile is no range of a cause.
    if !load_changed(seen).is_empty() {
        return Vec::new();
    }
    let observations = seen.observations();
    let mut said: Vec<(f64, String)> = Vec::new();
    for out in odds.iter().skip(1).filter(|o| o.probability < RULED_OUT) {
        let Some((hypothesis, form)) = belief.best_form(out.cause) else { continue };
        let numbers = observations.iter().map(|o| {
            let of = |h: &Hypothesis, form: usize| {
                let error = o.whole_error(belief.scale());
                density(o.quantity, h.expected(form, o.quantity, setting), o.value.ln(), error)
            };
            let own =
                hypothesis.expected(form, o.quantity, setting).map(|range| o.quantity.stated_range(range));
            let missed = own.filter(|range| !range.contains(o.quantity.stated(o.value)));
            (of(first, first_form) / of(hypothesis, form), missed, o)
        });
        // Rather a number that contradicts the hypothesis than one that another explains better.
        let strongest = numbers.filter(|(factor, _, _)| *factor >= FACTOR_LEAST).max_by(|a, b| {
            (a.1.is_some(), a.0).partial_cmp(&(b.1.is_some(), b.0)).unwrap_or(Ordering::Equal)
        });
        let Some((factor, missed, o)) = strongest else { continue };
        let why = match (missed, first.expected(first_form, o.quantity, setting)) {
            (Some(range), _) => format!("it would give {}", clause::needed(o.quantity, range)),
            (None, Some(_)) => format!("that fits {} better", first.name),
            (None, None) => continue,
        };
        let says = format!(
            "{}: {}; {why}",
            capitalised(hypothesis.name),
            clause::measured(o.quantity, o.experiment, o.quantity.stated(o.value)),
        );
        said.push((factor, says));
    }
    said.sort_by(|a, b| b.0.total_cmp(&a.0));
    said.into_iter().take(NAMED_MAX).map(|(_, says)| says).collect()
}

/// What to do where no known cause is the answer: a host without CPU time says nothing of its target.
fn open_helps(observations: &[Observation]) -> String {
    let value =
        |quantity: Quantity| observations.iter().find(|o| o.quantity == quantity).map_or(0.0, |o| o.value);
    let (waits, busy) = (value(Quantity::WaitForOthers), value(Quantity::OthersBusy));
    if waits > HOST_WAITS {
        return format!(
            "Stop the other programs of this host (top shows them): for {:.0} % of the time this load waits for a CPU \
             that they have. Then diagnose again.",
            waits * 100.0
        );
    }
    if busy > HOST_BUSY {
        return format!(
            "Stop the other programs of this host (top shows them), which take {:.0} % of its CPU time, and diagnose \
             again.",
            busy * 100.0
        );
    }
    OPEN_HELPS.to_owned()
}

fn helps(observations: &[Observation], first: Option<(&'static Hypothesis, usize)>) -> String {
    let Some((hypothesis, _)) = first else { return String::new() };
    let measured = hypothesis.gain.and_then(|gain| {
        let of_gain = observations.iter().find(|o| o.quantity == Quantity::Rate(gain))?;
        let is_size = gain == Experiment::LargerIo;
        let (times, what) = if is_size { (SIZE_TIMES as f64, "bytes per second") } else { (1.0, "IOPS") };
        Some((gain, of_gain.value * times, what))
    });
    let by = match measured {
        Some((gain, ratio, what)) if ratio >= GAIN_LEAST => {
            format!(" Measured here: {} gives {} times the {what}.", gain.name(), number(ratio))
        }
        _ => {
            " The gain cannot be measured from here: the next limit becomes visible once this one is removed."
                .to_owned()
        }
    };
    format!("{}{by}", hypothesis.helps)
}

/// Makes the advice depend on the suspicion where the first hypothesis is no more than that, and says how to decide.
pub(crate) fn advise_on_doubt(of: &mut Diagnosis, budget_s: f64) {
    let is_suspect = of.odds.first().is_some_and(|first| first.probability < LIKELY);
    if !is_suspect || of.helps.is_empty() {
        return;
    }
    // What is not in the list has no advice, and is no suspect: that is the advice for the next one.
    of.helps = format!("If it is the first suspect: {}", uncapitalised(&of.helps));
    if budget_s < LONG_BUDGET_S {
        of.helps.push_str(" To decide, diagnose again with more time: --budget 10min.");
    }
}

/// The text without a capital at its begin, unless that is of an abbreviation.
fn uncapitalised(text: &str) -> String {
    let mut letters = text.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(next)) if next.is_lowercase() || (first == 'A' && next == ' ') => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => text.to_owned(),
    }
}

fn unknown(
    first: Option<(&'static Hypothesis, usize)>,
    second: Option<(&'static Hypothesis, usize)>,
    odds: &[Odds],
) -> String {
    let mut text = first.map_or_else(String::new, |(hypothesis, _)| hypothesis.look.to_owned());
    let is_close = odds.get(1).is_some_and(|o| o.probability >= DRAWN);
    if let Some((hypothesis, _)) = second.filter(|_| is_close) {
        text.push_str(&format!(" For the second suspect: {}", hypothesis.look));
    }
    text
}

/// Returns how many rotating disks the rate is worth: each carries one I/O in the time that one takes alone, and up to
/// [`SORTED`] times as many where it has several to choose from.
fn disks_at_work(setting: &Setting, observations: &[Observation], first: Option<Cause>) -> String {
    let is_asked =
        first == Some(Cause::RotatingRandom) && !setting.writes() && setting.outstanding >= QUEUE_LEAST;
    let alone = observations.iter().find(|o| o.quantity == Quantity::LatencyOne).filter(|_| is_asked);
    let ratio = observations.iter().find(|o| o.quantity == Quantity::Rate(Experiment::OneOutstanding));
    let Some((alone, ratio)) = alone.zip(ratio) else { return String::new() };
    // Rate of the load over that of one I/O at a time.
    let most = (1.0 / ratio.value).max(1.0);
    let least = (most / SORTED).max(1.0);
    let (least, most) = (least.round(), most.round());
    let disks = match (least, most) {
        (l, m) if l >= m && m <= 1.0 => "one disk".to_owned(),
        (l, m) if l >= m => format!("{m:.0} disks"),
        (l, m) => format!("{l:.0} to {m:.0} disks"),
    };
    let ms = alone.value / 1e3;
    format!("The rate is that of {disks}, by the latency of one I/O at a time ({} ms).", number(ms))
}

fn changed(setting: &Setting, seen: &Observed) -> String {
    let texts = [load_changed(seen), host_disturbed(setting, seen)];
    texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
}

fn load_changed(seen: &Observed) -> String {
    let bases = seen.calm_bases();
    let (lo, hi) = bases.iter().fold((f64::MAX, 0.0_f64), |(lo, hi), x| (lo.min(*x), hi.max(*x)));
    if bases.len() < 2 || (hi / lo).ln() < CHANGED {
        return String::new();
    }
    let rates: Vec<String> = bases.iter().map(|x| whole(*x)).collect();
    format!(
        "The rate of the load changed during the diagnosis: it gave {} IOPS. Every ratio is as uncertain as that, and \
         the odds take it into account.",
        rates.join(", then ")
    )
}

/// What the hypervisor took of this host is no property of the target.
fn host_disturbed(setting: &Setting, seen: &Observed) -> String {
    let disturbed: Vec<f64> = seen.made.iter().filter(|m| m.is_disturbed()).map(|m| m.stolen).collect();
    let most = disturbed.iter().copied().fold(0.0, f64::max);
    if disturbed.is_empty() {
        return String::new();
    }
    // A tester that did not run is as disturbed, whoever took the time.
    let (how, mend) = if most * 100.0 >= 0.5 {
        let how = format!("The hypervisor took up to {:.0} % of this host's CPU time", most * 100.0);
        (how, "Diagnose again when the machine under this one is less busy.")
    } else if setting.has_cpu_quota {
        let how =
            "Assay, whose control group has a limit on CPU time (cpu.max), did not run for part of the time";
        (how.to_owned(), "Lift the limit if it may be the cause, and diagnose again.")
    } else {
        let how = "Assay did not run for part of the time".to_owned();
        (how, "Diagnose again when this host, and the machine under it, are less busy.")
    };
    format!(
        "{how} during {} of {} experiments, whose intervals are wider for that. {mend}",
        disturbed.len(),
        seen.made.len(),
    )
}

fn series(
    hypotheses: &[&'static Hypothesis],
    setting: &Setting,
    seen: &Observed,
    odds: &[Odds],
) -> Vec<SeriesPoint> {
    let after = |count: usize| {
        let part = seen.until(count);
        let mut belief = Belief::among(hypotheses, setting);
        part.observations().iter().for_each(|observation| belief.add(observation));
        belief.odds()
    };
    let all: Vec<Vec<Odds>> = (1..=seen.made.len()).map(after).collect();
    let of =
        |odds: &[Odds], cause: Cause| odds.iter().find(|o| o.cause == cause).map_or(0.0, |o| o.probability);
    let was_likely = |cause: Cause| all.iter().any(|at| of(at, cause) >= DRAWN);
    let matters = |(index, odds): (usize, &Odds)| {
        let is_in = odds.probability >= RULED_OUT && (index < 2 || was_likely(odds.cause));
        (index == 0 || is_in).then_some(odds.cause)
    };
    let drawn: Vec<Cause> = odds.iter().enumerate().filter_map(matters).collect();
    let point = |(made, odds): (&Measurement, &Vec<Odds>)| SeriesPoint {
        experiment: made.experiment,
        probabilities: drawn.iter().map(|cause| (*cause, of(odds, *cause))).collect(),
    };
    seen.made.iter().zip(&all).map(point).collect()
}
