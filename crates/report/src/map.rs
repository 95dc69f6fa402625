//! A map of a target: a picture in blocks, what it says, and the document.

use std::ops::Range;

use assay_surface::{Cell, Comparison, Finding, Order, Stripe, SurfaceMap};
use serde_json::{Value, json};

use crate::layout::wrap;
use crate::number::{long, minute, separated, short, size};
use crate::options::{Detail, TextOptions};

/// Most columns of the picture.
const COLUMNS: usize = 64;
/// Columns left of it.
const LABEL: usize = 9;
/// Columns of the label, the frame and the space between them.
const FRAME: usize = LABEL + 3;
/// Most lines in brief: with what is typed before and after, a terminal has 24.
const SCREEN_LINES: usize = 22;
/// Lines of head, legend, throughput, addresses, and blank ones.
const OTHER_LINES: usize = 6;
/// Rows of the picture in brief, however much there is to say.
const ROWS_MIN: usize = 6;
/// From few to most of the reads of a column.
const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];
/// From the slowest to the fastest column.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// A latency row of the picture is below this many ns in the first, and twice as much in each next one.
const FIRST_NS: f64 = 2048.0;
/// A read of flash with one bit in each cell is faster than one with three or four by less than this; memory by more.
const SLC_TIMES_MAX: f64 = 4.0;
/// Most sentences for findings of one kind, and as many on one screen.
pub(crate) const LISTED_MAX: usize = 8;
const LISTED_BRIEF: usize = 2;

/// Returns a map as a document, with what changed since an earlier one.
pub fn map_json(map: &SurfaceMap, since: Option<&Comparison>) -> Value {
    let mut document = json!(map);
    if let Some(since) = since {
        document["since_baseline"] = json!(since);
    }
    document
}

/// Returns a map as text: the picture, and below it what it says.
pub fn map_text(map: &SurfaceMap, since: Option<&Comparison>, options: TextOptions) -> String {
    let listed = if options.detail == Detail::Brief { LISTED_BRIEF } else { LISTED_MAX };
    let says = sentences_of(map, since, listed)
        .iter()
        .map(|one| wrap(one, options.width, "  ") + "\n")
        .collect::<String>();
    let head = wrap(&format!("{}: {}", map.target, head(map)), options.width, "  ");
    let columns = options.width.saturating_sub(FRAME).clamp(1, COLUMNS);
    let rows = match options.detail {
        Detail::Brief => {
            let lines = head.lines().count() + says.lines().count() + OTHER_LINES;
            SCREEN_LINES.saturating_sub(lines).max(ROWS_MIN)
        }
        Detail::Full => usize::MAX,
    };
    format!("{head}\n\n{}\n{says}", picture(&map.cells, columns, rows))
}

/// How much was read, and how.
pub(crate) fn head(map: &SurfaceMap) -> String {
    format!(
        "{} in {} s, {} reads ({}), {}",
        size(map.size_bytes),
        short(map.seconds),
        separated(&map.reads.to_string()),
        size(map.read_bytes),
        match map.order {
            Order::Random => "in random order",
            Order::Sequential => "from the first to the last address, again and again",
        }
    )
}

/// What a map says, and what changed since an earlier one.
pub(crate) fn sentences_of(map: &SurfaceMap, since: Option<&Comparison>, listed: usize) -> Vec<String> {
    let mut says = sentences(&map.findings, listed);
    if map.findings.iter().all(is_about_time) {
        says.push(format!(
            "No slow region, weak place or slow member: no difference between places is more than chance explains{}.",
            passing(&map.findings)
        ));
    }
    says.extend(since.map(|since| changes(since, listed)).unwrap_or_default());
    says
}

/// Whether a finding names no place.
fn is_about_time(finding: &Finding) -> bool {
    matches!(finding, Finding::Passing { .. } | Finding::Undecided { .. } | Finding::Disturbed { .. })
}

/// How it ended with places that were slow once: every map has some.
fn passing(findings: &[Finding]) -> String {
    let places = findings.iter().find_map(|finding| match finding {
        Finding::Passing { places } => Some(*places),
        _ => None,
    });
    places.map_or_else(String::new, |places| {
        format!(", and the {places} slowest places were quick when read again")
    })
}

/// Draws cells in at most so many columns and rows of latency.
fn picture(cells: &[Cell], columns: usize, rows_max: usize) -> String {
    let columns: Vec<&[Cell]> = cells.chunks(cells.len().div_ceil(columns).max(1)).collect();
    let counts: Vec<Vec<u32>> = columns.iter().map(|cells| counts(cells)).collect();
    let is_used = |row: &usize| counts.iter().any(|column| column.get(*row).is_some_and(|n| *n > 0));
    let rows = counts.iter().map(Vec::len).max().unwrap_or(0);
    let (first, last) = ((0..rows).find(is_used), (0..rows).rfind(is_used));
    let mut text = String::new();
    let (first, last) = (first.unwrap_or(0), last.unwrap_or(0));
    // Where the screen has no room for each doubling of the latency, a row has several.
    let doublings = (last - first + 1).div_ceil(rows_max).max(1);
    for top in (first..=last).rev().step_by(doublings) {
        let rows = (top + 1).saturating_sub(doublings).max(first)..top + 1;
        let line: String = counts.iter().map(|column| shade(column, rows.clone())).collect();
        text.push_str(&format!("{:>LABEL$} |{line}|\n", below(top)));
    }
    let mut range = String::new();
    let rates: Vec<Option<f64>> = columns.iter().map(|cells| mean_rate(cells)).collect();
    if let Some((least, most)) = ends(&rates) {
        let line: String = rates.iter().map(|rate| rate.map_or(' ', |rate| bar(rate / most))).collect();
        text.push_str(&format!("{:>LABEL$} |{line}|\n", "MiB/s"));
        range = format!("; MiB/s: {} to {}", long(least), long(most));
    }
    let end = cells.last().map_or(0, |cell| cell.to_bytes);
    let (middle, end) = (size(end / 2), size(end));
    let half = columns.len() / 2;
    text.push_str(&format!(
        "{:LABEL$}  {:<half$}{middle:<rest$}{end}\n",
        "",
        "0",
        rest = (columns.len() - half).saturating_sub(end.len())
    ));
    format!("{:>LABEL$}  darker: more reads{range}\n{text}", "latency")
}

fn counts(cells: &[Cell]) -> Vec<u32> {
    let rows = cells.iter().map(|cell| cell.histogram.len()).max().unwrap_or(0);
    let count = |row: usize| cells.iter().filter_map(|cell| cell.histogram.get(row)).sum();
    (0..rows).map(count).collect()
}

/// A row with any read at all is not blank.
fn shade(column: &[u32], rows: Range<usize>) -> char {
    let all: u32 = column.iter().sum();
    match rows.filter_map(|row| column.get(row)).sum::<u32>() {
        0 => SHADES[0],
        reads => SHADES[(1 + 4 * reads as usize / (all as usize).max(1)).min(SHADES.len() - 1)],
    }
}

fn bar(share: f64) -> char {
    let step = (0..BARS.len()).rfind(|step| share * 8.0 >= f64::from(u8::try_from(*step).unwrap_or(0)) + 0.5);
    BARS[step.unwrap_or(0)]
}

fn mean_rate(cells: &[Cell]) -> Option<f64> {
    let rates: Vec<f64> = cells.iter().filter_map(|cell| cell.mib_per_s).collect();
    (!rates.is_empty()).then(|| rates.iter().sum::<f64>() / rates.len() as f64)
}

fn ends(rates: &[Option<f64>]) -> Option<(f64, f64)> {
    let known = || rates.iter().flatten().copied();
    let most = known().reduce(f64::max)?;
    Some((known().reduce(f64::min)?, most))
}

/// The latency below which the reads of a row are, ns.
pub(crate) fn below_ns(row: usize) -> f64 {
    FIRST_NS * 2_f64.powf(row as f64)
}

/// The same in words.
fn below(row: usize) -> String {
    let ns = below_ns(row);
    match ns {
        ns if ns >= 1e9 => format!("<{:.1} s", ns / 1e9),
        ns if ns >= 1e7 => format!("<{:.0} ms", ns / 1e6),
        ns if ns >= 1e6 => format!("<{:.1} ms", ns / 1e6),
        ns => format!("<{:.0} µs", ns / 1e3),
    }
}

/// One sentence for each finding, a few of each kind.
fn sentences(findings: &[Finding], listed: usize) -> Vec<String> {
    let same_kind = |a: &Finding, b: &Finding| std::mem::discriminant(a) == std::mem::discriminant(b);
    let mut says = Vec::new();
    for kind in findings.chunk_by(same_kind) {
        says.extend(kind.iter().take(listed).map(sentence).filter(|says| !says.is_empty()));
        if kind.len() > listed {
            says.push(format!("… and {} more of this kind; --json has all.", kind.len() - listed));
        }
    }
    says
}

fn sentence(finding: &Finding) -> String {
    let span = |from: &u64, to: &u64| format!("{} to {}", size(*from), size(*to));
    match finding {
        Finding::SlowMember(stripe) => slow_member(stripe),
        Finding::SlowRegion { from_bytes, to_bytes, times, chance } => format!(
            "SLOW REGION: {} is {} times as slow as the rest{}. A slower tier, worn flash or a weak surface: check \
             the drive's media errors (smartctl -a), and map it again.",
            span(from_bytes, to_bytes),
            short(*times),
            by_chance(*chance)
        ),
        Finding::FastRegion { from_bytes, to_bytes, times, chance } => fast_region(
            &format!("{} ({})", span(from_bytes, to_bytes), size(to_bytes.saturating_sub(*from_bytes))),
            *times,
            *chance,
        ),
        Finding::Zeros { from_bytes, to_bytes } => format!(
            "ZEROS: {} returned only zeros: a hole, unmapped blocks or never written; its latency may not be that of \
             the storage.",
            span(from_bytes, to_bytes)
        ),
        Finding::WeakPlace { offset_bytes, times, chance } => format!(
            "WEAK PLACE: offset {} is {} times as slow as other places, each time it was read{}. Back up, and check \
             the drive's pending sectors (smartctl -a).",
            separated(&offset_bytes.to_string()),
            short(*times),
            by_chance(*chance)
        ),
        Finding::Unreadable { from_bytes, to_bytes, reads, errno } => format!(
            "UNREADABLE: {reads} {} failed between the offsets {} and {}: {}. Back up what can be read; the kernel's \
             log says what the device answered.",
            if *reads == 1 { "read" } else { "reads" },
            separated(&from_bytes.to_string()),
            separated(&to_bytes.to_string()),
            std::io::Error::from_raw_os_error(*errno)
        ),
        Finding::Zoned { first_mib_per_s, last_mib_per_s, .. } => format!(
            "ZONED: the throughput falls from {} MiB/s at the first addresses to {} MiB/s at the last, as that of \
             rotating disks does from the outer tracks to the inner ones.",
            long(*first_mib_per_s),
            long(*last_mib_per_s)
        ),
        // Said where no place is named.
        Finding::Passing { .. } => String::new(),
        Finding::Undecided { places } => format!(
            "{places} slow {} not read often enough to tell weak from noise; a larger --budget decides.",
            if *places == 1 { "place was" } else { "places were" }
        ),
        Finding::StoresNothing => {
            "This target stores nothing: the picture shows how long this program and this host \
             take for a read, and no place of it means anything."
                .to_owned()
        }
        Finding::Disturbed { share } => format!(
            "DISTURBED: for {} % of the reads everything was slow, wherever it lay: something else used the target or \
             this host. No place is blamed for that.",
            short(share * 100.0)
        ),
    }
}

fn fast_region(span: &str, times: f64, chance: f64) -> String {
    let who = match times < SLC_TIMES_MAX {
        true => "a cache or a faster tier, or on a flash drive its SLC cache, with what was written last",
        false => "a cache or a faster tier",
    };
    let (times, chance) = (short(times), by_chance(chance));
    format!("FAST REGION: {span} is {times} times as fast as the rest{chance}, and holds data: {who}.")
}

fn slow_member(stripe: &Stripe) -> String {
    let one = |index: usize| {
        let of = &stripe.slow[index];
        format!("{} ({} times slower)", of.member, short(of.times))
    };
    let of = format!("of {}, chunk {}", stripe.members, size(stripe.chunk_bytes));
    let who = match stripe.slow.as_slice() {
        [only] => format!("member {} {of}, {} times slower", only.member, short(only.times)),
        many => format!("members {} {of}", (0..many.len()).map(one).collect::<Vec<_>>().join(", ")),
    };
    format!(
        "SLOW MEMBER: {who} than the others{}. The first member is the one that holds offset 0. Look at that disk \
         (smartctl -a, its cable, its slot), and replace it.",
        by_chance(stripe.chance)
    )
}

/// How probable it is that noise looks like this.
fn by_chance(chance: f64) -> String {
    match 1.0 / chance.max(f64::MIN_POSITIVE) {
        times if times >= 1e6 => " (by chance: less than once in a million maps)".to_owned(),
        times => format!(" (by chance: once in {} maps)", separated(&format!("{times:.0}"))),
    }
}

fn changes(since: &Comparison, listed: usize) -> Vec<String> {
    let before =
        since.before_unix_ms.map_or_else(|| "baseline".to_owned(), |ms| format!("map of {}", minute(ms)));
    let mut says = vec![format!(
        "Since the {before}: the latency of the median place is {} times what it was.",
        short(since.times_all)
    )];
    if since.changed.is_empty() {
        says.push("No place changed against the others by more than chance explains.".to_owned());
    }
    for cell in since.changed.iter().take(listed) {
        let span = format!("{} to {}", size(cell.from_bytes), size(cell.to_bytes));
        says.push(match cell.times > 1.0 {
            true => format!("SLOWER: {span} takes {} times as long, apart from that.", short(cell.times)),
            false => {
                format!("FASTER: {span} takes 1/{} of the time, apart from that.", short(1.0 / cell.times))
            }
        });
    }
    if since.changed.len() > listed {
        says.push(format!("… and {} more; --json has all.", since.changed.len() - listed));
    }
    says
}
