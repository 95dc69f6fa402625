//! The answer to a sizing question: a sentence with its margin, the table of candidates, and what happens when a device
//! fails.

pub mod measured;

use assay_model::array::{Device, Level, LinkRate};
use assay_model::catalogue::cloud;
use assay_model::quantity::{Bounds, Provenance};
use assay_sizing::{
    Answer, Assessment, Candidate, Endure, LatencyKind, LatencyLimit, Need, Question, Short, State, group_max,
};
use assay_spec::units::Bytes;
use serde_json::{Value, json};

use crate::layout::wrap;
use crate::number::{long as count, rounded, short};
use crate::options::{Detail, TextOptions};
use crate::prediction::duration;
use crate::table::{Align, Cell, Column, Decimals, Format, Narrow, Table};

/// Name and version of the JSON document's form.
pub const SCHEMA: &str = "assay.size/1";
/// The table is at most this wide.
const TABLE_COLUMNS: usize = 110;

/// Sentences are no wider than this, also in a wider terminal.
const TEXT_COLUMNS: usize = 80;
/// A latency whose interval spans more than this factor says what would narrow it.
const WIDE: f64 = 5.0;

/// Disks that are busy for less of the time are nearly idle, and a latency is near its limit above this part of it.
const IDLE: f64 = 0.25;
const NEAR: f64 = 0.8;
/// Rates that differ by less are the same.
const SAME: f64 = 1.02;

/// Most lines in brief: with what is typed before and after, a terminal has 24.
const SCREEN_LINES: usize = 22;
/// Rows of the table in brief, however much there is to say.
const ROWS_MIN: usize = 3;

/// The whole page; in brief what fits a screen: the candidates, then the answer, its margin and what a failure leaves.
pub fn page(answer: &Answer, options: TextOptions) -> String {
    let need = &answer.question.need;
    let prose = options.width.min(TEXT_COLUMNS);
    let needed = wrap(&format!("Needed: {}.", needed(&answer.question)), prose, "  ");
    let mut parts = vec![wrap(&sentence(answer, Detail::Full), prose, "")];
    parts.extend(cached(answer).map(|text| wrap(&text, prose, "")));
    parts.extend(unpriced(answer).map(|text| wrap(&text, prose, "")));
    parts.extend(states(answer).map(|text| wrap(&text, prose, "")));
    parts.extend(answer.changes.iter().map(|change| {
        let before = answer.candidates.first().map(|c| &c.assessment);
        wrap(&effect(need, &change.change, before, &change.assessment), prose, "")
    }));
    let mut table = candidates(answer);
    if options.detail == Detail::Brief {
        let assumed = answer.question.assumed.join(" ");
        parts.push(wrap(assumed.trim_start(), prose, ""));
        // The title of the table with its rule, two blank lines, and the last line.
        let room =
            |says: &str| SCREEN_LINES.saturating_sub(needed.lines().count() + says.lines().count() + 5);
        let mut says = parts.join("\n");
        if room(&says) < ROWS_MIN.min(table.rows.len()) {
            parts[0] = wrap(&sentence(answer, Detail::Brief), prose, "");
            says = parts.join("\n");
        }
        let most = room(&says).max(ROWS_MIN);
        let more = table.rows.len().saturating_sub(most);
        table.rows.truncate(most);
        let more = match more {
            0 => String::new(),
            1 => "lists one more candidate, and ".to_owned(),
            more => format!("lists {more} more candidates, and "),
        };
        let table = table.render(Format::Text(options.width.min(TABLE_COLUMNS)));
        // Two blank lines tell three parts apart; more cost the screen.
        return format!("{needed}\n\n{table}\n{says}\n--explain {more}says what the numbers mean.\n");
    }
    let table = table.render(Format::Text(options.width.min(TABLE_COLUMNS)));
    let basis = wrap(&basis(answer), prose, "");
    format!("{needed}\n\n{}\n\n{}\n\n{basis}\n", parts.join("\n\n"), table.trim_end())
}

/// Returns the table of candidates in a format.
pub fn rendered(answer: &Answer, format: Format) -> String {
    match format {
        Format::Text(_) => page(answer, TextOptions::default()),
        format => candidates(answer).render(format),
    }
}

/// `2,000 IOPS, 70 % read, 8KiB, 100 % random, p99 at most 20 ms, 10TB of data`.
fn needed(question: &Question) -> String {
    let need = &question.need;
    let mut parts = vec![need.iops.map_or("the highest rate".to_owned(), |iops| rate(need, iops))];
    parts.push(format!("{} % read", short_pct(need.read_pct)));
    parts.push(need.size.to_string());
    parts.push(format!("{} % random", short_pct(need.random_pct)));
    match need.limit {
        LatencyLimit::None => {}
        LatencyLimit::MeanMs(ms) => parts.push(format!("mean latency at most {ms} ms")),
        LatencyLimit::P99Ms(ms) => parts.push(format!("p99 at most {ms} ms")),
    }
    parts.extend(need.data.map(|data| format!("{data} of data")));
    parts.extend(need.active.map(|active| format!("{active} of it active")));
    parts.extend(question.disks_least.map(|least| format!("at least {least} disks")));
    parts.extend(question.disks_most.map(|most| format!("at most {most} disks")));
    parts.join(", ")
}

/// The answer as a sentence with its margin.
pub fn sentence(answer: &Answer, detail: Detail) -> String {
    let need = &answer.question.need;
    let state = in_state(answer.question.endure);
    let Some(first) = answer.candidates.first() else {
        return "There is nothing to choose from.".to_owned();
    };
    let Some(best) = answer.best() else {
        let why = misses(need, &first.assessment);
        if first.assessment.short == Some(Short::Lost) {
            return format!("Nothing here sustains this{state}. {}: {why}.", first.name);
        }
        return format!(
            "Nothing here sustains this{state}. The nearest is {}: {why}. {}{}",
            first.name,
            most(need, &first.assessment, "It sustains", ""),
            largest(answer, first)
        );
    };
    let a = &best.assessment;
    let bound = if a.is_bound { "at best " } else { "" };
    let mut text = match need.iops {
        None if a.most_iops <= 0.0 => {
            format!("{} {bound}{} no rate{}{state}: {}", best.name, verb(best), within(need), ALONE)
        }
        None => {
            format!("{} {bound}{} {}{}{state}.", best.name, verb(best), rate(need, a.most_iops), within(need))
        }
        Some(_) => format!("{} {bound}{} this{state}: {}.", best.name, verb(best), reached(a)),
    };
    text.push_str(&format!(" It saturates at {}, limited by {}.", rates(need, a.full_iops), a.limit));
    if let Some(room) = a.head_room(need) {
        let room = head_room(room);
        text.push_str(&format!(" Headroom: {room}, up to {}{}.", rate(need, a.most_iops), within(need)));
    }
    text.push_str(idle(need, best));
    if detail == Detail::Full {
        text.push_str(&narrower(need, best));
    }
    text.push_str(&margin(need, best));
    if a.is_bound {
        text.push_str(
            " The cost of the target's software is unknown and left out; such targets have been 2 to 30 times slower \
             than their hardware. assay calibrate measures it.",
        );
    }
    text
}

/// A share of the rate, or a factor where that is large.
fn head_room(room: f64) -> String {
    if room < 2.0 { format!("{:.0} %", room * 100.0) } else { format!("a factor of {:.0}", room + 1.0) }
}

/// What may sustain the load where the nearest candidate does not.
fn largest(answer: &Answer, first: &Candidate) -> String {
    let (need, a) = (&answer.question.need, &first.assessment);
    if let Some(link) = faster_link(need, first) {
        return format!(" No number of devices helps: the load needs {link}.");
    }
    let is_proposed = first.name.starts_with(|c: char| c.is_ascii_digit());
    let is_any = answer.question.disks.is_none() && answer.question.disks_most.is_none() && is_proposed;
    let is_idle = a.short == Some(Short::Latency) && a.most_iops <= 0.0;
    if is_any && is_idle && matches!(first.array.device, Device::Hdd(_)) {
        return " No number of these disks helps; SSDs do.".to_owned();
    }
    let level = first.array.raid.level;
    let is_chosen = answer.question.disks.is_some() || !is_proposed;
    match (group_max(level), level) {
        (_, Level::Raid1) if !is_chosen => " RAID1 has two disks; ask for RAID10.".to_owned(),
        (Some(most), Level::Raid5 | Level::Raid6) if most == first.disks && !is_chosen => {
            let (name, wider) = if level == Level::Raid5 { ("RAID5", "RAID50") } else { ("RAID6", "RAID60") };
            format!(" {most} is the largest group of {name} that is proposed; ask for RAID10 or {wider}.")
        }
        _ => String::new(),
    }
}

/// The slowest link that takes the rate, where the link is what cannot.
fn faster_link(need: &Need, first: &Candidate) -> Option<&'static str> {
    let a = &first.assessment;
    let rate = first.array.link.rate;
    if a.short != Some(Short::Rate) || !a.limit.contains(&format!("{} link", rate.name())) {
        return None;
    }
    let short_by = need.iops? / (a.full_iops.value * need.busy_max());
    let wanted = |than: LinkRate| match (than, rate) {
        (LinkRate::Ethernet(gbit), LinkRate::Ethernet(now)) => gbit >= now * short_by,
        (LinkRate::FibreChannel(gfc), LinkRate::FibreChannel(now)) => {
            f64::from(gfc) >= f64::from(now) * short_by
        }
        _ => false,
    };
    LinkRate::NAMES.iter().find(|(_, rate)| wanted(*rate)).map(|(name, _)| *name)
}

/// A rate as it was asked for: in bytes of streams, in I/Os otherwise.
fn rate(need: &Need, iops: f64) -> String {
    match need.in_bytes {
        true => format!("{} MB/s", count(mb_s(need, iops))),
        false => format!("{} IOPS", count(iops)),
    }
}

/// A rate with its interval.
fn rates(need: &Need, b: Bounds) -> String {
    match need.in_bytes {
        true => {
            let [value, lo, hi] = [b.value, b.lo, b.hi].map(|iops| mb_s(need, iops));
            format!("{} MB/s", wide(Bounds { value, lo, hi }))
        }
        false => format!("{} IOPS", wide(b)),
    }
}

fn mb_s(need: &Need, iops: f64) -> f64 {
    iops * need.size.0 as f64 / 1e6
}

fn verb(candidate: &Candidate) -> &'static str {
    if candidate.name.starts_with(|c: char| c.is_ascii_digit()) { "sustain" } else { "sustains" }
}

/// What one step less would do, and what it takes at the slow end.
fn margin(need: &Need, best: &Candidate) -> String {
    let mut text = String::new();
    if let Some((disks, less)) = &best.less {
        text.push_str(&format!(" With {disks}, {}.", misses(need, less)));
    }
    match best.sure_disks {
        Some(disks) if disks > best.disks => {
            text.push_str(&format!(" At the slow end of all ranges it takes {disks}."));
        }
        Some(disks) => {
            text.push_str(&format!(" At the slow end of all ranges {disks} sustain this, too."));
        }
        None if need.iops.is_some() && !best.assessment.carries_surely(need) => {
            text.push_str(" At the slow end of all ranges it does not.");
        }
        None => {}
    }
    text
}

/// What makes an interval of a latency wide, and what would narrow it; empty where it is not.
fn narrower(need: &Need, best: &Candidate) -> String {
    let a = &best.assessment;
    let Some(ms) = a.latency_ms.filter(|ms| ms.hi > ms.lo * WIDE) else { return String::new() };
    let because = match need.iops {
        Some(iops) if iops > a.full_iops.lo => format!(
            "at the slow end of its ranges it saturates at {}, below what is asked, and I/Os then queue",
            rate(need, a.full_iops.lo)
        ),
        _ => "what its ranges leave open counts more, the busier it is".to_owned(),
    };
    let from = match &best.array.device {
        Device::Hdd(hdd) => &hdd.rpm.from,
        Device::Ssd(ssd) => &ssd.read_iops_max.from,
    };
    let drives = match from {
        Provenance::Assumed(_) => "the model of its drives (`disks = { model = \"…\", count = … }`) and ",
        _ => "",
    };
    let spans = match ms.hi.is_finite() {
        true => format!("spans a factor of {}", count(ms.hi / ms.lo.max(f64::MIN_POSITIVE))),
        false => "has no upper end".to_owned(),
    };
    format!(
        " The {} {spans}: {because}. A lower rate, {drives}one measured test (`assay calibrate`) would narrow it.",
        latency_name(a)
    )
}

/// `p99 16.9 ms (13..30), the disks 62 % busy`.
fn reached(a: &Assessment) -> String {
    let name = latency_name(a);
    let latency = a.latency_ms.map_or(String::new(), |ms| format!("{name} {} ms, ", interval(ms)));
    format!("{latency}{} % busy", count(a.busy * 100.0))
}

/// Why an array does not sustain the need, as a verb with its object; or what it reaches.
fn misses(need: &Need, a: &Assessment) -> String {
    let name = latency_name(a);
    match (a.short, a.latency_ms) {
        (Some(Short::Space), _) => {
            format!("the data do not fit: {} is usable", decimal(a.usable_bytes))
        }
        (Some(Short::Lost), _) => LOST.to_owned(),
        (Some(Short::Latency), Some(ms)) => format!("{name} is {:.2} ms", ms.value),
        (Some(_), _) => full(need, a),
        (None, Some(ms)) => format!("{name} is {:.2} ms", ms.value),
        (None, None) => format!("it sustains {}", rate(need, a.most_iops)),
    }
}

/// Why the rate is too high: above the highest one, or too near to it.
fn full(need: &Need, a: &Assessment) -> String {
    let most = a.full_iops.value;
    match need.iops {
        Some(iops) if iops <= most => {
            let (busy, allowed) = (iops / most * 100.0, need.busy_max() * 100.0);
            let digits = usize::from(busy.round() <= allowed);
            format!("{} would be {busy:.digits$} % busy (at most {allowed:.0} % are allowed)", a.limit)
        }
        _ => format!("it saturates at {}, limited by {}", rate(need, most), a.limit),
    }
}

fn latency_name(a: &Assessment) -> &'static str {
    match a.latency {
        LatencyKind::Mean => "mean latency",
        LatencyKind::P99 => "p99",
    }
}

fn within(need: &Need) -> String {
    match need.limit {
        LatencyLimit::None => " at 80 % busy".to_owned(),
        LatencyLimit::MeanMs(ms) => format!(" within a mean of {ms} ms"),
        LatencyLimit::P99Ms(ms) => format!(" within p99 {ms} ms"),
    }
}

fn in_state(endure: Endure) -> &'static str {
    match endure {
        Endure::Healthy => "",
        Endure::Failed => " with a failed device",
        Endure::Rebuilding => " while a device is rebuilt",
    }
}

/// Which of the candidates that carry the load have no price, where others have one.
fn unpriced(answer: &Answer) -> Option<String> {
    let carrying = || answer.candidates.iter().filter(|c| c.assessment.carries());
    let names: Vec<&str> = carrying().filter(|c| c.cost.is_none()).map(|c| c.name.as_str()).collect();
    (!names.is_empty() && carrying().any(|c| c.cost.is_some())).then(|| {
        format!("Without a price, and therefore listed after those that have one: {}.", names.join(", "))
    })
}

/// A sentence for each state of the best candidate, or that it does not survive one.
fn states(answer: &Answer) -> impl Iterator<Item = String> {
    let need = &answer.question.need;
    // What copies a volume of a cloud has is the provider's matter.
    let is_own = |best: &&Candidate| cloud::name_of(&best.array.device).is_none();
    let best = answer.candidates.first().filter(|best| answer.states.is_empty() && is_own(best));
    let lost = best.map(|best| match best.array.raid.failed {
        None => "If a device fails, the data are lost: there is no redundancy.".to_owned(),
        Some(_) => "If another device fails, the data are lost: no redundancy is left.".to_owned(),
    });
    // What is asked is said already.
    let others = answer.states.iter().filter(|s| s.state != answer.question.endure);
    let healthy = best_of(answer, Endure::Healthy);
    others.map(|s| in_words(need, s, healthy)).chain(lost).collect::<Vec<_>>().into_iter()
}

/// The best candidate in a state.
fn best_of(answer: &Answer, state: Endure) -> Option<&Assessment> {
    match state == answer.question.endure {
        true => answer.candidates.first().map(|c| &c.assessment),
        false => answer.states.iter().find(|s| s.state == state).map(|s| &s.assessment),
    }
}

/// `With a failed device: still enough: p99 25.1 ms, 48 % busy; 900 IOPS are left within p99 30 ms.`
fn in_words(need: &Need, s: &State, healthy: Option<&Assessment>) -> String {
    let when = match s.state {
        Endure::Healthy => "Without a failure".to_owned(),
        Endure::Failed => "With a failed device".to_owned(),
        Endure::Rebuilding => {
            let share = s.rebuild_pct.map_or(String::new(), |pct| format!(" ({pct} % of the devices' time)"));
            format!("While it is rebuilt{share}")
        }
    };
    let a = &s.assessment;
    let sustains = match need.iops {
        None => String::new(),
        Some(_) if a.carries() => format!("{}: {}; ", enough(s.state), reached(a)),
        Some(_) => format!("not enough: {}; ", misses(need, a)),
    };
    let after = if s.state == Endure::Healthy { "" } else { " are left" };
    let left = match healthy {
        // A write that waits for one device less is the quicker one, and nobody buys for that.
        Some(healthy) if s.state == Endure::Failed && a.most_iops > healthy.most_iops => {
            format!(
                "no loss{}",
                if need.read_pct < 100.0 { ": a write waits for one device less." } else { "." }
            )
        }
        _ => most(need, a, "", after),
    };
    format!("{when}: {sustains}{left}{}", rebuilt_in(s))
}

fn enough(state: Endure) -> &'static str {
    if state == Endure::Healthy { "enough" } else { "still enough" }
}

/// The shortest time of a rebuild, s: of one that has the devices to itself.
fn alone_s(s: &State) -> Option<f64> {
    Some(s.rebuild?.time_s.lo * s.rebuild_pct? / 100.0)
}

/// The time of a rebuild at its share of the devices' time, and where nothing else runs.
fn rebuilt_in(s: &State) -> String {
    let (Some(rebuild), Some(alone_s)) = (s.rebuild, alone_s(s)) else { return String::new() };
    format!(
        " The rebuild takes {}, and at least {} if nothing else runs.",
        duration(rebuild.time_s.value),
        duration(alone_s)
    )
}

/// What a protected write-back cache brings, where writes wait for disks.
fn cached(answer: &Answer) -> Option<String> {
    let need = &answer.question.need;
    let (cached, first) = (answer.cached.as_ref()?, answer.candidates.first()?);
    let (with, without) = (&cached.assessment, &first.assessment);
    let changes = match need.iops {
        None => with.most_iops > without.most_iops * SAME,
        Some(_) => with.carries() && (!without.carries() || cached.disks < first.disks),
    };
    let in_front = "With a protected write-back cache in front of the disks";
    changes.then(|| match need.iops {
        None => format!("{in_front}: {}{}.", rate(need, with.most_iops), within(need)),
        Some(_) => format!("{in_front}, {} do: {}.", cached.name, reached(with)),
    })
}

/// Says so where the limit is near the latency of an idle disk, which more disks do not shorten.
fn idle(need: &Need, best: &Candidate) -> &'static str {
    let a = &best.assessment;
    let is_near = a.latency_ms.is_some_and(|ms| ms.value > need.limit.ms() * NEAR);
    match (&best.array.device, is_near && a.busy < IDLE) {
        (Device::Hdd(_), true) => {
            " The limit is near the latency of an idle disk: more disks hardly shorten it, SSDs do."
        }
        _ => "",
    }
}

/// What a failed device does to an array without redundancy.
const LOST: &str = "a failed device loses the data";
/// What even an idle array cannot do.
const ALONE: &str = "I/Os of an idle array take longer already.";

/// `It sustains 1,234 IOPS within p99 20 ms.`
fn most(need: &Need, a: &Assessment, before: &str, after: &str) -> String {
    match a.most_iops {
        m if m <= 0.0 => format!("{before} no rate{}: {ALONE}", within(need)).trim_start().to_owned(),
        m => format!("{before} {}{after}{}.", rate(need, m), within(need)).trim_start().to_owned(),
    }
}

/// The effect of a change on the best candidate.
fn effect(need: &Need, change: &str, before: Option<&Assessment>, after: &Assessment) -> String {
    let was = before.map_or("", |b| b.limit.as_str());
    let moved = if was == after.limit {
        format!("still limited by {was}")
    } else {
        format!("the bottleneck moves from {was} to {}", after.limit)
    };
    let most = before.map_or(after.most_iops, |b| b.most_iops);
    let says = match after.most_iops / most {
        _ if most <= 0.0 && after.most_iops <= 0.0 => {
            return format!("{change} sustains no load{} either; {moved}.", within(need));
        }
        _ if most <= 0.0 => "makes it possible".to_owned(),
        _ if after.most_iops <= 0.0 => {
            return format!("{change} sustains no load{}; {moved}.", within(need));
        }
        g if (g - 1.0).abs() < 0.02 => "brings nothing".to_owned(),
        g if g >= 2.0 => format!("brings a factor of {g:.1}"),
        g if g > 1.0 => format!("brings {:.0} %", (g - 1.0) * 100.0),
        g => format!("costs {:.0} %", (1.0 - g) * 100.0),
    };
    format!("{change} {says}: {}{}; {moved}.", rate(need, after.most_iops), within(need))
}

/// A row for each candidate: what it reaches, and what breaks first.
pub fn candidates(answer: &Answer) -> Table {
    let need = &answer.question.need;
    let name = match answer.candidates.first().map(|c| c.assessment.latency) {
        Some(LatencyKind::Mean) => "Mean",
        Some(LatencyKind::P99) | None => "p99",
    };
    let costs = answer.candidates.iter().any(|c| c.cost.is_some());
    let mut columns = vec![
        Column::text("Candidate").narrow(Narrow::Cut(24)),
        Column::text("Sustains"),
        Column::number("Usable", "TB").narrow(Narrow::Drop(1)),
        Column::number(name, "ms"),
        Column::number("Most", if need.in_bytes { "MB/s" } else { "IOPS" }).decimals(Decimals::Fixed(0)),
        Column::text("Breaks first").narrow(Narrow::Words(10)),
    ];
    if costs {
        columns.push(Column::number("Cost", "").decimals(Decimals::Fixed(0)));
    }
    columns[1].align = Align::Left;
    let mut table = Table::new(columns);
    for c in &answer.candidates {
        let a = &c.assessment;
        let breaks = match a.short {
            Some(Short::Space) => "space".to_owned(),
            Some(Short::Lost) => LOST.to_owned(),
            Some(Short::Latency) => format!("{} ({})", latency_name(a), a.limit),
            Some(Short::Rate) | None => a.limit.clone(),
        };
        let mut cells: Vec<Cell> = vec![
            c.name.as_str().into(),
            if need.iops.is_none() {
                ""
            } else if a.carries() {
                "yes"
            } else {
                "no"
            }
            .into(),
            (a.usable_bytes / 1e12).into(),
            a.latency_ms.map(|ms| ms.value).into(),
            if need.in_bytes { mb_s(need, a.most_iops) } else { a.most_iops }.into(),
            breaks.as_str().into(),
        ];
        if costs {
            cells.push(c.cost.into());
        }
        table.rows.push(crate::table::Row::Cells(cells));
    }
    table
}

/// What was taken for what the question left open, and where the numbers come from.
fn basis(answer: &Answer) -> String {
    let mut text = answer.question.assumed.join(" ");
    if !text.is_empty() {
        text.push(' ');
    }
    text.push_str(
        "I/Os arrive at random times. \"Most\" is the highest rate within the limit; below the first row it is \
         approximate. Numbers in parentheses are the ends of all ranges of the array file; assay predict shows how \
         they come about.",
    );
    text
}

/// The answer as a JSON document; rates per second, times in ms.
pub fn document(answer: &Answer) -> Value {
    let need = &answer.question.need;
    json!({
        "schema": SCHEMA,
        "needed": {
            "iops": need.iops,
            "size_bytes": need.size.0,
            "read_pct": need.read_pct,
            "random_pct": need.random_pct,
            "p99_ms": match need.limit { LatencyLimit::P99Ms(ms) => Some(ms), _ => None },
            "mean_ms": match need.limit { LatencyLimit::MeanMs(ms) => Some(ms), _ => None },
            "data_bytes": need.data.map(|b| b.0),
            "active_bytes": need.active.map(|b| b.0),
            "devices_at_least": answer.question.disks_least,
            "devices_at_most": answer.question.disks_most,
        },
        "says": sentence(answer, Detail::Full),
        "carried": answer.best().is_some(),
        "candidates": answer.candidates.iter().map(|c| json!({
            "name": c.name,
            "devices": c.disks,
            "devices_at_slow_end": c.sure_disks,
            "cost": c.cost,
            "expected": assessment_json(need, &c.assessment),
            "one_step_less": c.less.as_ref().map(|(disks, a)| json!({
                "devices": disks,
                "expected": assessment_json(need, a),
            })),
        })).collect::<Vec<_>>(),
        "states": answer.states.iter().map(|s| json!({
            "state": match s.state {
                Endure::Healthy => "healthy",
                Endure::Failed => "failed",
                Endure::Rebuilding => "rebuilding",
            },
            "expected": assessment_json(need, &s.assessment),
            "rebuild_pct": s.rebuild_pct,
            "rebuild_time_s_min": alone_s(s).and_then(rounded),
        })).collect::<Vec<_>>(),
        "with_write_back": answer.cached.as_ref().map(|c| json!({
            "name": c.name,
            "devices": c.disks,
            "expected": assessment_json(need, &c.assessment),
        })),
        "changes": answer.changes.iter().map(|c| json!({
            "change": c.change,
            "expected": assessment_json(need, &c.assessment),
        })).collect::<Vec<_>>(),
        "assumed": answer.question.assumed,
    })
}

fn assessment_json(need: &Need, a: &Assessment) -> Value {
    let ends = |b: Bounds| json!({ "value": rounded(b.value), "lo": rounded(b.lo), "hi": rounded(b.hi) });
    json!({
        "carries": need.iops.map(|_| a.carries()),
        "short_of": match a.short {
            None => None,
            Some(Short::Space) => Some("space"),
            Some(Short::Lost) => Some("redundancy"),
            Some(Short::Rate) => Some("rate"),
            Some(Short::Latency) => Some("latency"),
        },
        "latency_ms": a.latency_ms.map(ends),
        "latency_is": match a.latency {
            LatencyKind::Mean => "mean",
            LatencyKind::P99 => "p99",
        },
        "most_iops": rounded(a.most_iops),
        "full_iops": ends(a.full_iops),
        "head_room": a.head_room(need).and_then(rounded),
        "busy": rounded(a.busy),
        "breaks_first": a.limit,
        "second": a.second,
        "usable_bytes": rounded(a.usable_bytes),
        "is_bound": a.is_bound,
    })
}

/// A time with its interval; never in exponent form.
fn interval(b: Bounds) -> String {
    if b.hi.is_infinite() {
        return format!("{} ({} and more)", plain(b.value), plain(b.lo));
    }
    let (lo, value, hi) = (plain(b.lo), plain(b.value), plain(b.hi));
    if lo == value && value == hi { value } else { format!("{value} ({lo}..{hi})") }
}

/// A time, ms: two digits where it is below 0.01.
fn plain(ms: f64) -> String {
    match ms {
        ms if ms > 0.0 && ms < 1e-5 => "below 0.00001".to_owned(),
        ms if ms > 0.0 && ms < 1e-3 => format!("{ms:.5}"),
        ms if ms > 0.0 && ms < 1e-2 => format!("{ms:.4}"),
        ms => count(ms),
    }
}

fn wide(b: Bounds) -> String {
    if short(b.lo) == short(b.hi) {
        return count(b.value);
    }
    format!("{} ({}..{})", count(b.value), count(b.lo), count(b.hi))
}

fn short_pct(value: f64) -> String {
    format!("{}", (value * 10.0).round() / 10.0)
}

fn decimal(bytes: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sizes of arrays fit")]
    let tenths = Bytes((bytes / 1e9).round() as u64 * 1_000_000_000);
    tenths.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(text: &str) -> String {
        let question = assay_sizing::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        let (arrays, prices) = ([], assay_sizing::Prices::new());
        let answer = assay_sizing::answer(question, &arrays, &prices, assay_sizing::Precision::Closed);
        let page = page(&answer.unwrap_or_else(|e| panic!("{text}: {e}")), TextOptions::default());
        page.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn check(text: &str, expected: &[&str], absent: &[&str]) {
        let page = says(text);
        for words in expected {
            assert!(page.contains(words), "{text}: no `{words}` in\n{page}");
        }
        for words in absent {
            assert!(!page.contains(words), "{text}: `{words}` in\n{page}");
        }
    }

    /// A link that is the limit was answered with advice about RAID, and streams in I/Os.
    #[test]
    fn streams_are_in_bytes_and_a_full_link_asks_for_a_faster_one() {
        let text = "10 TB in 1 hour over 10 GbE read NVMe RAID5";
        check(
            text,
            &["Needed: 2,778 MB/s", "No number of devices helps: the load needs 40GbE"],
            &["RAID50", "IOPS"],
        );
        check("500 MB/s sequential write, RAID6, 7200 rpm", &["Needed: 500 MB/s", "Most MB/s"], &["IOPS"]);
    }

    /// A disk less was said to leave more than before, the time of a rebuild was called the shortest, and a question
    /// about a failure said its figure twice and the healthy one never.
    #[test]
    fn failures_are_said_beside_the_healthy_array() {
        let text = "24 x 10k disks RAID10, 100% write, 8k, mean 15 ms";
        check(
            text,
            &["With a failed device: no loss: a write waits for one device less."],
            &["takes at least"],
        );
        let text = "6 x 4 TB 7200 rpm RAID5, 8k random, 70% read, with a failed disk";
        check(
            text,
            &["Without a failure:", "The rebuild takes 23.9 h, and at least 6.0 h if nothing else runs."],
            &["With a failed device:"],
        );
    }

    /// 258 disks that are 5 % busy, and no word on why.
    #[test]
    fn a_limit_near_an_idle_disk_and_a_cache_are_said() {
        let text = "2000 IOPS, 80% write, 4k, p99 10 ms, 10k rpm, RAID10, 8 TB";
        check(text, &["near the latency of an idle disk", "With a protected write-back cache"], &[]);
        check("2 TB, 1000 IOPS, 7200 rpm, 4k, RAID1", &["RAID1 has two disks; ask for RAID10."], &[]);
    }

    /// A p99 was printed as `1.0e-6 (9.1e-7..1.2e-6) ms`.
    #[test]
    fn times_have_no_exponents() {
        let shown = |lo: f64, value: f64, hi: f64| interval(Bounds { value, lo, hi });
        assert_eq!(shown(0.0022, 0.19, 22_601.0), "0.19 (0.0022..22,601)");
        assert_eq!(shown(0.000_91, 0.001, 0.0012), "0.0010 (0.00091..0.0012)");
        assert_eq!(shown(1e-6, 1e-6, 1e-6), "below 0.00001");
        // At the slow end it saturates, and I/Os wait for ever.
        assert_eq!(shown(5.0, 19.0, f64::INFINITY), "19.0 (5.00 and more)");
    }

    /// A measured curve left `10807 %`.
    #[test]
    fn large_head_room_is_a_factor() {
        assert_eq!(head_room(0.5), "50 %");
        assert_eq!(head_room(108.07), "a factor of 109");
    }
}
